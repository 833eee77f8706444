//! What goes to which stream, in which words, with which exit code.

use std::{io::Read, net::TcpListener};

use serde_json::Value;

use crate::cli_server::ServerForCli;

#[test]
fn json_is_the_servers_answer_byte_for_byte() {
    let house = ServerForCli::open();
    // Before there is an agent, who would answer in the middle of all that is compared.
    house.done(&["post", "team", "tab\there, \u{202e}turned\u{9b}, 漢"]);
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    house.run(&["tokens", "mint", "ada", "--label", "x"]);
    house.done(&["canvas", "open", "team", "json", "[]", "--title", "Plan"]);
    let room = house.done(&["rooms", "list", "-q"]).trim().to_owned();
    let document = house
        .done(&["canvas", "list", "team", "-q"])
        .trim()
        .to_owned();
    let agent = house.done(&["agents", "list", "-q"]).trim().to_owned();
    let author = house
        .done(&["authors", "show", "ada", "-q"])
        .trim()
        .to_owned();
    let entry = house
        .done(&["entries", "list", "team", "-q"])
        .trim()
        .to_owned();
    for (words, path) in [
        ("status", "/api/health".to_owned()),
        ("status health", "/api/health".to_owned()),
        ("status ready", "/readyz".to_owned()),
        ("status alive", "/healthz".to_owned()),
        ("whoami", "/api/auth/whoami".to_owned()),
        ("openapi", "/api/openapi.json".to_owned()),
        ("rooms list", "/api/rooms".to_owned()),
        ("rooms show team", format!("/api/rooms/{room}")),
        ("members list team", format!("/api/rooms/{room}/members")),
        ("entries list team", format!("/api/rooms/{room}/entries")),
        (
            "entries show team 1",
            format!("/api/rooms/{room}/entries/{entry}"),
        ),
        (
            "read-cursor show team",
            format!("/api/rooms/{room}/read-cursor"),
        ),
        ("authors list", "/api/rooms/authors".to_owned()),
        ("authors me", "/api/rooms/authors/me".to_owned()),
        ("authors show ada", format!("/api/rooms/authors/{author}")),
        (
            "authors handles ada",
            format!("/api/rooms/authors/{author}/handles"),
        ),
        ("agents list", "/api/agents".to_owned()),
        ("agents show ada", format!("/api/agents/{agent}")),
        ("tokens list ada", format!("/api/agents/{agent}/tokens")),
        ("keys list", "/api/auth/keys".to_owned()),
        ("settings list", "/api/settings".to_owned()),
        ("threads list", "/api/rooms/threads".to_owned()),
        (
            "threads show team 1",
            format!("/api/rooms/{room}/threads/{entry}"),
        ),
        ("search turned", "/api/search?q=turned".to_owned()),
        ("canvas list team", format!("/api/rooms/{room}/canvas")),
        (
            "canvas show team Plan",
            format!("/api/rooms/{room}/canvas/{document}"),
        ),
    ] {
        let words: Vec<_> = words.split(' ').chain(["--json"]).collect();
        assert_eq!(house.done(&words), house.body(&path), "{words:?}");
        assert_eq!(house.done(&["api", "get", &path]), house.body(&path));
    }
    assert!(house.done(&["metrics"]).contains("guildhall_"));
}

#[test]
fn lists_come_one_object_a_line_as_the_server_wrote_them() {
    let house = ServerForCli::open();
    house.done(&["rooms", "create", "Ops"]);
    let lines = house.done(&["rooms", "list", "--jsonl"]);
    let whole = house.body("/api/rooms");
    assert_eq!(lines.lines().count(), 2);
    assert!(lines.lines().all(|line| whole.contains(line)), "{lines}");
    let ids = house.done(&["rooms", "list", "-q"]);
    let named = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let named: Vec<_> = named
        .map(|room| room["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.lines().collect::<Vec<_>>(), named);
}

#[test]
fn text_from_others_does_not_steer_the_terminal() {
    let house = ServerForCli::open();
    house.done(&["post", "team", "a\u{1b}[31mb\u{202e}c\u{9b}d"]);
    let shown = house.done(&["entries", "list", "team"]);
    assert!(shown.contains("a\\u{1b}[31mb\\u{202e}c\\u{9b}d"), "{shown}");
    let raw = house.done(&["entries", "list", "team", "--raw"]);
    assert!(raw.contains("a\u{1b}[31mb\u{202e}c\u{9b}d"), "{raw}");
}

#[test]
fn a_refusal_is_told_on_standard_error_alone() {
    let house = ServerForCli::open();
    let refused = house.run(&["rooms", "show", "nowhere"]);
    assert_eq!((refused.code, &*refused.stdout), (1, ""));
    let told = refused.stderr.lines().collect::<Vec<_>>();
    assert_eq!(told[0], "guildhall: There is no such room.");
    assert!(
        told[1].starts_with("  code ROOM_NOT_FOUND, request "),
        "{told:?}"
    );

    let envelope = house.run(&["rooms", "show", "nowhere", "--json"]);
    assert_eq!((envelope.code, &*envelope.stdout), (1, ""));
    assert_eq!(envelope.stderr, house.body("/api/rooms/nowhere") + "\n");

    let wrong = house.run(&[
        "api",
        "POST",
        "/api/rooms",
        "--data",
        "{\"kind\":\"channel\",\"title\":\"\"}",
    ]);
    assert_eq!(wrong.code, 1);
    assert!(wrong.stderr.contains("\n  title: "), "{wrong:?}");
    let wrong = house.run_with(
        b"{",
        &["api", "POST", "/api/rooms", "--data", "-", "--json"],
    );
    assert_eq!(wrong.code, 1);
    assert!(wrong.stderr.contains("INVALID_JSON"), "{wrong:?}");
}

#[test]
fn wrong_usage_is_two_and_no_server_three() {
    let house = ServerForCli::empty();
    for args in [
        &["rooms", "bogus"][..],
        &["rooms", "show"],
        &["rooms", "show", ""],
        &["rooms", "update", "ops"],
        &["authors", "update", "ada"],
        &["agents", "update", "ada"],
        &["rooms", "list", "--json", "-q"],
        &["rooms", "list", "--url", "https://localhost"],
        &["api", "GET", "api/rooms"],
    ] {
        let outcome = house.run(args);
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{args:?}");
        assert_ne!(outcome.stderr, "", "{args:?}");
    }
    for args in [
        &["rooms", "list"][..],
        &["status", "--json"],
        &["events"],
        &["post", "ops", "x", "--url", "http://127.0.0.1:1"],
    ] {
        let outcome = house.run(args);
        assert_eq!((outcome.code, &*outcome.stdout), (3, ""), "{args:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    }
}

#[test]
fn the_address_comes_before_the_data_folder_and_the_flag_before_the_environment() {
    let house = ServerForCli::open();
    let nowhere = "http://127.0.0.1:1";
    let code = |command: &mut std::process::Command| command.output().unwrap().status.code();
    let mut command = house.command(&["rooms", "list"]);
    assert_eq!(code(command.env("GUILDHALL_URL", nowhere)), Some(3));
    let folder = format!("{}/data", house.folder());
    let discovery = std::fs::read(format!("{folder}/run/server.json")).unwrap();
    let server: Value = serde_json::from_slice(&discovery).unwrap();
    let url = server["url"].as_str().unwrap();
    let mut command = house.command(&["rooms", "list", "--url", url]);
    assert_eq!(code(command.env("GUILDHALL_URL", nowhere)), Some(0));
    let mut command = house.command(&["rooms", "--data-dir", &folder, "list"]);
    assert_eq!(code(command.env("GUILDHALL_DATA_DIR", "/nowhere")), Some(0));
}

#[test]
fn what_does_not_fit_a_post_is_refused_before_it_is_sent() {
    let house = ServerForCli::open();
    let long = vec![b'x'; 1024 * 1024 + 1];
    for input in [&long[..], &[0xff]] {
        let outcome = house.run_with(input, &["post", "team", "-"]);
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""));
    }
    assert_eq!(house.done(&["entries", "list", "team", "-q"]), "");
}

#[test]
fn a_post_whose_answer_is_cut_off_says_how_to_send_it_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let length = socket.read(&mut request).unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let room = "01920000-0000-7000-8000-000000000000";
    let outcome = ServerForCli::empty().run(&["post", room, "hello", "--url", &url]);
    let request = server.join().unwrap();
    assert_eq!((outcome.code, &*outcome.stdout), (3, ""));
    let key = request
        .lines()
        .find_map(|line| line.strip_prefix("idempotency-key: "));
    let advice = format!("Send it again with --idempotency-key {}:", key.unwrap());
    assert!(outcome.stderr.contains(&advice), "{outcome:?}");
}
