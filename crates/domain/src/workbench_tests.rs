//! Tables of what addresses ask for.

use super::*;

fn asked(path: &str, is_folder: bool) -> Result<ServedPath, Refusal> {
    let path = path.to_owned();
    Ok(ServedPath { path, is_folder })
}

#[test]
fn an_address_asks_for_what_stands_behind_its_token() {
    for (raw, expected) in [
        ("", asked("", true)),
        ("/", asked("", true)),
        ("a.html", asked("a.html", false)),
        ("a/b.js", asked("a/b.js", false)),
        ("a/", asked("a", true)),
        // Nothing is absolute, however many slashes lead to it.
        ("/etc/passwd", asked("etc/passwd", false)),
        ("//etc//passwd", asked("etc/passwd", false)),
        ("a%20b/%C3%BC.txt", asked("a b/ü.txt", false)),
        ("%2e%2e/x", asked("../x", false)),
        ("..", asked("..", false)),
        ("a%2Fb", Err(Refusal::InvalidPath("EINVAL"))),
        ("%2fetc", Err(Refusal::InvalidPath("EINVAL"))),
        ("a%00b", Err(Refusal::NullByte)),
        ("a%", Err(Refusal::InvalidPath("EILSEQ"))),
        ("a%2", Err(Refusal::InvalidPath("EILSEQ"))),
        ("a%zz", Err(Refusal::InvalidPath("EILSEQ"))),
        ("a%+1", Err(Refusal::InvalidPath("EILSEQ"))),
        ("%ff", Err(Refusal::InvalidPath("EILSEQ"))),
    ] {
        assert_eq!(ServedPath::read(raw), expected, "{raw}");
    }
    for (raw, file) in [("", "index.html"), ("a/", "a/index.html"), ("a", "a")] {
        assert_eq!(ServedPath::read(raw).unwrap().file(), file, "{raw}");
    }
}

#[test]
fn the_first_file_stays_in_its_folder() {
    for (path, expected) in [
        ("", Ok("")),
        (".", Ok("")),
        ("a b/ü?#%.html", Ok("a%20b/%C3%BC%3F%23%25.html")),
        ("a/./b/../c", Ok("a/c")),
        ("docs/", Ok("docs/")),
        ("docs/sub/..", Ok("docs/")),
        ("/srv/site/a.html", Ok("a.html")),
        ("/srv/site", Ok("")),
        ("/srv/sites/a", Err(Refusal::OutsideBoundary)),
        ("/etc/passwd", Err(Refusal::OutsideBoundary)),
        ("..", Err(Refusal::OutsideBoundary)),
        ("a/../../b", Err(Refusal::OutsideBoundary)),
        ("a\0", Err(Refusal::NullByte)),
    ] {
        let expected = expected.map(str::to_owned);
        assert_eq!(first_file("/srv/site", path), expected, "{path}");
    }
}

#[test]
fn what_is_named_for_the_first_file_is_what_is_asked_for() {
    for path in ["a", "a b", "ü/%2F", "x?y#z", "%00", "a:b@c", "\u{1f600}"] {
        let address = first_file("/", path).unwrap();
        assert!(address.is_ascii() && !address.contains(['?', '#', ' ']));
        assert_eq!(ServedPath::read(&address).unwrap().path, path);
    }
}

#[test]
fn a_repositorys_own_files_are_known_by_their_folder() {
    for (path, is_own) in [
        (".git/config", true),
        ("a/.git", true),
        ("a/.GIT/x", true),
        (".gitignore", false),
        ("a.git/x", false),
        ("", false),
    ] {
        assert_eq!(is_git_internal(path), is_own, "{path}");
    }
}

#[test]
fn types_follow_from_endings() {
    for (path, expected) in [
        ("a/index.HTML", "text/html; charset=utf-8"),
        ("a.mjs", "text/javascript; charset=utf-8"),
        ("a.js.map", "application/json; charset=utf-8"),
        ("a.svg", "image/svg+xml; charset=utf-8"),
        ("a.woff2", "font/woff2"),
        ("a.exe", "application/octet-stream"),
        ("js", "application/octet-stream"),
        ("a.js/b", "application/octet-stream"),
        ("", "application/octet-stream"),
    ] {
        assert_eq!(media_type(path), expected, "{path}");
    }
}

#[test]
fn ports_are_tried_so_that_nobody_gets_anothers_without_need() {
    let tried = |range, port, shown: &[(u16, u16)]| {
        let shown = shown
            .iter()
            .map(|&(listen_port, port)| PreviewPort { listen_port, port })
            .collect::<Vec<_>>();
        PreviewPorts::parse(range).unwrap().tried(port, &shown)
    };
    assert_eq!(tried("5-7", 1, &[]), [5, 6, 7]);
    assert_eq!(tried("5-7", 1, &[(7, 1)]), [7, 5, 6]);
    assert_eq!(tried("5-7", 1, &[(5, 2)]), [6, 7, 5]);
    assert_eq!(tried("5-7", 1, &[(5, 2), (6, 1)]), [6, 7, 5]);
    // Its own latest one, and another's oldest one.
    assert_eq!(tried("5-7", 1, &[(5, 1), (7, 1)]), [7, 5, 6]);
    assert_eq!(tried("5-7", 1, &[(6, 2), (7, 3), (5, 4)]), [6, 7, 5]);
    // What is no longer in the range is nobody's here.
    assert_eq!(tried("5-7", 1, &[(8, 1), (4, 2)]), [5, 6, 7]);
    assert_eq!(tried("65535", 1, &[(65_535, 2)]), [65_535]);
    assert_eq!(tried(PreviewPorts::DEFAULT, 1, &[]).len(), 32);
    assert_eq!(tried("1000-1063", 1, &[]).len(), 64);
}

#[test]
fn ports_are_a_small_range() {
    for wrong in [
        "",
        "-",
        "0-5",
        "7-5",
        "1000-1064",
        "70000",
        "+5-7",
        "5 - 7",
        "5-",
        "a",
    ] {
        assert!(PreviewPorts::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_grant_counts_for_half_an_hour_and_says_with_what_it_ends() {
    use crate::callers::Identity;
    let now = Timestamp::from_millis(1_000);
    let by = |credential| Caller {
        identity: Identity::Owner,
        author: AuthorId::from_bytes([1; 16]),
        credential,
        is_invited: false,
    };
    let grant =
        |credential| AddressClaims::new(AddressTarget::Proxy { port: 5173 }, &by(credential), now);
    let id = SignInId::from_bytes([2; 16]);
    assert_eq!(grant(Credential::Cookie(id)).sign_in, Some(id));
    let key = ApiKeyId::from_bytes([3; 16]);
    assert_eq!(grant(Credential::ApiKey(key)).key, Some(key));
    let local = grant(Credential::Loopback);
    assert_eq!((local.sign_in, local.key), (None, None));
    assert!(local.is_live(now) && local.is_live(now.plus_seconds(1_799)));
    assert!(!local.is_live(now.plus_seconds(1_800)));
}

#[test]
fn what_keeps_a_preview_away_is_told_in_order() {
    for (tunnel, secure, expected) in [
        (true, true, Some("tunnel")),
        (true, false, Some("tunnel")),
        (false, true, Some("insecure")),
        (false, false, None),
    ] {
        let found = PreviewUnavailable::of(tunnel, secure).map(PreviewUnavailable::as_str);
        assert_eq!(found, expected);
    }
}
