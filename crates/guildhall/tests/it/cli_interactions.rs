//! Asks, from the terminal; what they decide is told in the tests of the front door.

use crate::cli_server::ServerForCli;

#[test]
fn what_waits_is_listed_and_what_does_not_is_not_decided() {
    let house = ServerForCli::open();
    let nothing = serde_json::json!([]);
    assert_eq!(house.json(&["asks", "list"])["approvals"], nothing);
    assert_eq!(house.json(&["asks", "calls"])["interactions"], nothing);
    // What can be the id of a deed is looked for among those as well.
    let deed = "01920000-0000-7000-8000-000000000001";
    for args in [
        &["asks", "show", deed][..],
        &["asks", "approve", deed, "--digest", "0123abcd"],
        &["asks", "deny", deed],
        &["asks", "grant", deed, "--digest", "0123abcd"],
        &["asks", "refuse", deed, "--reason", "no"],
        &["asks", "withdraw", deed],
    ] {
        assert_eq!(house.refused(args), "APPROVAL_NOT_FOUND", "{args:?}");
    }
    for args in [
        &["asks", "approve", "call_1"][..],
        &["asks", "approve", "call_1", "--digest", "0123abcd"],
        &["asks", "deny", "call_1"],
        &["asks", "show", "call_1"],
        &["asks", "answer", "call_1", "a=b"],
        &["asks", "batch-approve", "call_1", "--digest", "0123abcd"],
        &["asks", "batch-deny", "call_1"],
    ] {
        let outcome = house.run(args);
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{args:?}");
        assert!(outcome.stderr.contains("asks list"), "{outcome:?}");
    }
    // A yes names what was seen, or is said at a terminal; nothing says it blindly.
    for args in [
        &["asks", "approve", deed, "--yes"][..],
        &["asks", "grant", deed, "--yes"],
        &["asks", "batch-approve", "call_1", "--yes"],
        &["asks", "approve", deed, "--digest", "0123abc"],
        &["asks", "grant", deed, "--digest", "01234xyz"],
    ] {
        let outcome = house.run(args);
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{args:?}");
    }
    // With its session named, the server says what became of it.
    let session = "01920000-0000-7000-8000-000000000000";
    let digest = "0".repeat(64);
    for (args, code) in [
        (
            &["asks", "approve", "c", "--digest", &digest][..],
            "NO_PENDING_APPROVAL",
        ),
        (&["asks", "deny", "c"], "NO_PENDING_APPROVAL"),
        (&["asks", "answer", "c", "--decline"], "NO_PENDING_QUESTION"),
    ] {
        let args = [args, &["--session", session]].concat();
        assert_eq!(house.refused(&args), code, "{args:?}");
    }
}

#[test]
fn what_begins_to_wait_is_watched_and_a_yes_names_the_beginning_of_its_digest() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let token = house.run(&["tokens", "mint", "ada", "--label", "x"]).stdout;
    let mut watch = house.follow(&["asks", "watch", "--jsonl", "--after", "0"]);
    house.done(&["post", "team", "nothing is asked here"]);
    let add = [
        "mcp",
        "add",
        "ada",
        "files",
        "--wait",
        "0",
        "--",
        "/bin/true",
    ];
    assert_eq!(house.run_as(token.trim(), &add).code, 5);
    let opened = watch.json();
    assert_eq!(opened["type"], "approval_requested");
    let approval = &opened["data"]["approval"];
    let text = |member: &str| approval[member].as_str().unwrap();
    let (id, digest) = (text("id"), text("digest"));
    let other = if digest.starts_with('0') {
        "11111111"
    } else {
        "00000000"
    };
    let wrong = house.run(&["asks", "approve", id, "--digest", other]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("not what you saw"), "{wrong:?}");
    let granted = house.json(&["asks", "approve", id, "--digest", &digest[..8]]);
    assert_eq!(granted["approval"]["state"], "granted");
    assert_eq!(watch.json()["type"], "approval_decided");
}
