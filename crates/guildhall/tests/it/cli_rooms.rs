//! A day in a room, from the terminal.

use serde_json::json;

use crate::cli_server::ServerForCli;

#[test]
fn a_room_is_made_filled_read_changed_and_closed() {
    let house = ServerForCli::open();
    let made = house.done(&["rooms", "create", "Operations", "--slug", "ops"]);
    assert!(made.contains("#ops"), "{made}");
    assert!(house.done(&["rooms", "list"]).contains("Operations"));

    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let added = house.json(&["members", "add", "#ops", "@ada", "--mode", "mention-only"]);
    assert_eq!(added["responseMode"], "mention-only");
    house.done(&["members", "update", "ops", "Ada", "--mode", "always"]);
    let members = house.done(&["members", "list", "ops"]);
    assert!(
        members.contains("@ada") && members.contains("always"),
        "{members}"
    );

    house.done(&["post", "ops", "hello @ada"]);
    assert_eq!(
        house.run_with(b"two\nlines\n", &["post", "#ops", "-"]).code,
        0
    );
    assert_eq!(house.run_with(b"piped", &["post", "Operations"]).code, 0);
    let page = house.json(&["entries", "list", "ops"]);
    let texts = page["entries"].as_array().unwrap().iter();
    let texts: Vec<_> = texts.map(|entry| &entry["text"]).collect();
    assert_eq!(json!(texts), json!(["hello @ada", "two\nlines", "piped"]));
    assert_eq!(
        house.json(&["entries", "show", "ops", "2"])["text"],
        "two\nlines"
    );
    let id = page["entries"][2]["id"].as_str().unwrap();
    assert_eq!(house.json(&["entries", "show", "ops", id])["seq"], 3);

    let older = house.run(&["entries", "list", "ops", "--limit", "1"]);
    assert!(older.stdout.contains("piped"), "{older:?}");
    assert_eq!(older.stderr, "There are more: --before 3\n");

    let changed = house.json(&["rooms", "update", "ops", "--max-agent-depth", "3"]);
    assert_eq!(changed["limitOverrides"]["maxAgentDepth"], 3);
    let room = ["rooms", "update", "ops", "--max-agent-depth", "inherit"];
    let changed = house.json(&[&room[..], &["--topic", "x", "--fallback-seat", "ada"]].concat());
    assert_eq!(changed["limitOverrides"]["maxAgentDepth"], json!(null));
    assert_eq!(changed["topic"], "x");
    assert_ne!(changed["fallbackSeatAuthorId"], "");

    assert_eq!(house.json(&["rooms", "archive", "ops"])["archived"], true);
    assert_eq!(house.run(&["post", "ops", "late"]).code, 1);
    assert_eq!(house.json(&["rooms", "restore", "ops"])["archived"], false);
    let removed = house.done(&["members", "remove", "ops", "ada"]);
    assert_eq!(removed, "ada is no member of ops any more.\n");
    assert_eq!(
        house.json(&["members", "list", "ops"])["members"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_reader_marks_read_and_unread_and_tells_what_it_does() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let token = house
        .run(&["tokens", "mint", "ada", "--label", "test"])
        .stdout;
    for text in ["one", "two", "three"] {
        assert_eq!(house.run_as(token.trim(), &["post", "team", text]).code, 0);
    }
    let unread = |args: &[&str]| house.json(args)["unreadCount"].as_u64().unwrap();
    assert_eq!(unread(&["read-cursor", "show", "team"]), 3);
    assert_eq!(unread(&["read-cursor", "set", "team", "--seq", "1"]), 2);
    assert_eq!(unread(&["read-cursor", "set", "team"]), 0);
    assert_eq!(
        unread(&["read-cursor", "set", "team", "--unread-from", "2"]),
        2
    );
    assert_eq!(
        house.done(&["signal", "team", "typing", "on"]),
        "Signal sent.\n"
    );
}

#[test]
fn a_direct_message_is_found_again() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let first = house.done(&["rooms", "create", "--dm", "--member", "ada", "-q"]);
    let again = house.done(&["rooms", "create", "--dm", "--agent", "ada", "-q"]);
    assert_eq!(first, again);
    let title = house.json(&["rooms", "show", first.trim()])["title"].clone();
    house.done(&["post", title.as_str().unwrap(), "to you alone"]);
    assert!(
        house
            .done(&["entries", "list", first.trim()])
            .contains("to you alone")
    );
}

#[test]
fn authors_are_looked_at_and_dressed() {
    let house = ServerForCli::open();
    let me = house.json(&["authors", "me"]);
    let name = me["displayName"].as_str().unwrap();
    assert_eq!(
        house.json(&["authors", "handle", "me", "@Boss"])["handle"],
        "boss"
    );
    assert_eq!(house.json(&["authors", "show", name])["handle"], "boss");
    let dressed = house.json(&["authors", "update", "@boss", "--color", "#3366cc"]);
    assert_eq!(dressed["color"], "#3366cc");
    assert_eq!(house.json(&["authors", "show", "boss"]), dressed);
    assert_eq!(
        house.json(&["authors", "handle", "boss", "--clear"])["handle"],
        ""
    );
    let handles = house.json(&["authors", "handles", me["id"].as_str().unwrap()]);
    assert_eq!(handles["reserved"][0]["handle"], "boss");
    let people = house.json(&["authors", "list", "--kind", "human"]);
    assert_eq!(people["authors"].as_array().unwrap().len(), 1);
}
