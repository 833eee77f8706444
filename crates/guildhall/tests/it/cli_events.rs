//! Following what happens, from the terminal.

use crate::cli_server::ServerForCli;

#[test]
fn a_follower_hears_every_event_once_also_across_a_restart() {
    let mut house = ServerForCli::open();
    let mut follower = house.follow(&["events", "--jsonl"]);
    let snapshot = follower.json();
    assert_eq!(snapshot["type"], "snapshot");
    let begin = snapshot["data"]["cursor"].as_u64().unwrap();

    house.done(&["post", "team", "before"]);
    let heard = follower.json();
    assert_eq!(
        (&heard["type"], &heard["seq"]),
        (&"entry_added".into(), &(begin + 1).into())
    );

    house.stop();
    house.start();
    house.done(&["post", "team", "after"]);
    house.done(&["post", "team", "and after"]);
    for (at, text) in [(2, "after"), (3, "and after")] {
        let heard = follower.json();
        assert_eq!(heard["seq"], begin + at);
        assert_eq!(heard["data"]["entry"]["text"], text);
    }

    let (code, said) = follower.interrupt();
    assert_eq!(code, Some(0));
    let last = format!("guildhall: go on with --after {}", begin + 3);
    assert_eq!(said.lines().last(), Some(&*last));

    let after = (begin + 1).to_string();
    let mut again = house.follow(&["events", "-q", "--after", &after]);
    assert_eq!(
        [again.line(), again.line()],
        [begin + 2, begin + 3].map(|seq| seq.to_string())
    );
}

#[test]
fn people_read_one_line_an_event() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let mut follower = house.follow(&["events", "--scope", "room:team", "--after", "0"]);
    let mut lines = Vec::new();
    house.done(&["post", "team", "two\nlines \u{1b}[0m"]);
    while !lines
        .last()
        .is_some_and(|line: &String| line.contains("entry_added"))
    {
        lines.push(follower.line());
    }
    assert!(lines.iter().any(|line| line.ends_with("@ada")), "{lines:?}");
    let last = lines.last().unwrap();
    assert!(
        last.contains("#team") && last.ends_with("two\\nlines \\u{1b}[0m"),
        "{last}"
    );
    assert_eq!(follower.interrupt().0, Some(0));
}

#[test]
fn one_room_is_followed_with_its_state_first() {
    let house = ServerForCli::open();
    house.done(&["rooms", "create", "Ops"]);
    let mut follower = house.follow(&["rooms", "events", "ops", "--jsonl"]);
    assert_eq!(follower.json()["data"]["room"]["slug"], "ops");
    house.done(&["post", "team", "elsewhere"]);
    house.done(&["post", "ops", "here"]);
    assert_eq!(follower.json()["data"]["entry"]["text"], "here");
}

#[test]
fn a_follower_whose_token_dies_ends_with_a_refusal() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let token = house.run(&["tokens", "mint", "ada", "--label", "x"]).stdout;
    let mut command = house.command(&["events", "--jsonl"]);
    command.env("GUILDHALL_AGENT_TOKEN", token.trim());
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdout = child.stdout.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stdout));
    assert!(lines.next().unwrap().unwrap().contains("snapshot"));
    let id = house.done(&["tokens", "list", "ada", "-q"]);
    house.done(&["tokens", "revoke", "ada", id.trim()]);
    assert!(lines.all(|line| line.unwrap().contains("agent_token_revoked")));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("AGENT_IDENTITY_UNVERIFIED"));
}

#[test]
fn a_bad_scope_is_refused_by_the_server() {
    let house = ServerForCli::open();
    let refused = house.run(&["events", "--scope", "cellar"]);
    assert_eq!((refused.code, &*refused.stdout), (1, ""));
    assert_eq!(house.run(&["events", "--scope", "room:nowhere"]).code, 1);
}

#[test]
fn a_follower_nobody_reads_any_more_ends_in_peace() {
    let house = ServerForCli::open();
    let mut follower = house.follow(&["api", "GET", "/api/events"]);
    assert_eq!(follower.line(), ": connected");
    let closed = follower.close();
    house.done(&["post", "team", "is anybody there?"]);
    assert_eq!(closed.ended(), (Some(0), String::new()));
}

#[test]
fn people_read_what_became_of_entries_documents_and_settings() {
    let house = ServerForCli::open();
    house.done(&["post", "team", "a secret"]);
    house.done(&["reactions", "add", "team", "1", "🎉"]);
    house.done(&["entries", "redact", "team", "1", "--yes"]);
    house.done(&["canvas", "open", "team", "json", "[]", "--title", "Plan"]);
    house.done(&["settings", "set", "rooms.maxAgentDepth", "5"]);
    let mut follower = house.follow(&["events", "--after", "0"]);
    for (event, told) in [
        ("entry_reactions", "🎉 1"),
        ("entry_redacted", "(redacted)"),
        ("canvas_document", "opened Plan"),
        ("settings_changed", "rooms.maxAgentDepth"),
    ] {
        let line = loop {
            let line = follower.line();
            assert!(!line.contains("a secret"), "{line}");
            if line.contains(event) {
                break line;
            }
        };
        assert!(line.ends_with(told), "{line}");
    }
}
