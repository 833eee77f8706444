//! Threads, reactions, redaction and search, from the terminal.

use serde_json::json;

use crate::cli_server::ServerForCli;

#[test]
fn a_reply_stands_in_the_thread_of_what_it_answers() {
    let house = ServerForCli::open();
    house.done(&["post", "team", "why is it red?"]);
    house.done(&["post", "team", "--thread", "1", "it was the cache"]);
    let text = house.file("answer.txt", "and the\ndisk\n");
    let root = house.json(&["entries", "show", "team", "1"])["id"].clone();
    let id = root.as_str().unwrap();
    let posted = house.json(&["entries", "post", "team", "--thread", id, "--from", &text]);
    assert_eq!(posted["entry"]["text"], "and the\ndisk");
    assert_eq!(posted["entry"]["threadRootEntryId"], root);

    let thread = house.json(&["threads", "show", "team", "1"]);
    assert_eq!(thread["root"]["threadReplyCount"], 2);
    assert_eq!(thread["entries"].as_array().unwrap().len(), 2);
    let shown = house.done(&["threads", "show", "team", id]);
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines[1].contains("why is it red?"), "{shown}");
    assert!(lines[2].contains("it was the cache"), "{shown}");
    let first = house.run(&["threads", "show", "team", "1", "--limit", "1"]);
    assert_eq!(first.stderr, "There are more: --after 2\n");
    let rest = house.done(&["threads", "show", "team", "1", "--after", "2", "-q"]);
    assert_eq!(rest.trim(), posted["entry"]["id"]);

    let threads = house.json(&["threads", "list"]);
    assert_eq!(threads["threads"][0]["root"]["id"], root);
    assert!(house.done(&["threads", "list"]).contains("why is it red?"));
    assert_eq!(
        house.refused(&["post", "team", "--thread", "2", "deeper"]),
        "NESTED_THREAD"
    );
    assert_eq!(
        house.refused(&["post", "team", "--thread", "77", "to nobody"]),
        "ENTRY_NOT_FOUND"
    );
}

#[test]
fn a_reaction_is_given_once_and_taken_back() {
    let house = ServerForCli::open();
    house.done(&["post", "team", "it is green"]);
    let me = house.json(&["authors", "me"])["id"].clone();
    for _ in 0..2 {
        let reactions = house.json(&["reactions", "add", "team", "1", "👍"]);
        assert_eq!(reactions["reactions"][0]["emoji"], "👍");
        assert_eq!(reactions["reactions"][0]["authorIds"], json!([me]));
    }
    assert_eq!(
        house.done(&["reactions", "add", "team", "1", "🎉", "-q"]),
        "👍\n🎉\n"
    );
    let shown = house.done(&["entries", "show", "team", "1"]);
    assert!(shown.contains("👍 1, 🎉 1"), "{shown}");
    let left = house.json(&["reactions", "remove", "team", "1", "👍"]);
    assert_eq!(left["reactions"].as_array().unwrap().len(), 1);
    assert_eq!(
        house.refused(&["reactions", "add", "team", "1", "yes"]),
        "INVALID_EMOJI"
    );
}

#[test]
fn a_redaction_asks_first_and_takes_the_text_for_good() {
    let house = ServerForCli::open();
    house.done(&["post", "team", "the password is swordfish"]);
    // Nobody is there to be asked.
    let unasked = house.run(&["entries", "redact", "team", "1"]);
    assert_eq!((unasked.code, &*unasked.stdout), (2, ""));
    assert!(unasked.stderr.contains("--yes"), "{unasked:?}");
    let unasked = house.run_with(b"y\n", &["entries", "redact", "team", "1"]);
    assert_eq!(unasked.code, 2);
    assert_ne!(house.json(&["entries", "show", "team", "1"])["text"], "");

    for _ in 0..2 {
        let redacted = house.json(&["entries", "redact", "team", "1", "--yes"]);
        assert_eq!(redacted["text"], "");
        assert_ne!(redacted["redactedAt"], json!(null));
    }
    assert!(
        house
            .done(&["entries", "list", "team"])
            .contains("(redacted)")
    );
    assert_eq!(house.done(&["search", "swordfish", "-q"]), "");
}

#[test]
fn a_search_finds_words_in_all_rooms_or_in_one() {
    let house = ServerForCli::open();
    house.done(&["rooms", "create", "Ops"]);
    for room in ["team", "ops"] {
        house.done(&["post", room, "the build is green"]);
        house.done(&["post", room, "nothing to see"]);
    }
    let found = house.json(&["search", "green", "build"]);
    assert_eq!(found["results"].as_array().unwrap().len(), 2);
    let here = house.done(&["search", "green", "--room", "ops"]);
    assert!(here.contains("#ops") && !here.contains("#team"), "{here}");
    let first = house.run(&["search", "green", "--limit", "1"]);
    let next = first
        .stderr
        .trim()
        .strip_prefix("There are more: --cursor ");
    let rest = house.done(&["search", "green", "--limit", "1", "--cursor", next.unwrap()]);
    assert!(rest.contains("#team"), "{rest}");
    assert_eq!(house.refused(&["search", "x"]), "VALIDATION_FAILED");
}
