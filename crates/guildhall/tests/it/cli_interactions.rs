//! Approvals and questions, from the terminal; what decisions do is tested at the HTTP routes.

use crate::cli_server::ServerForCli;

#[test]
fn what_waits_is_listed_and_what_does_not_is_not_decided() {
    let house = ServerForCli::open();
    let nothing = serde_json::json!([]);
    // The second one is what the command was called before.
    for noun in ["approvals", "asks"] {
        assert_eq!(house.json(&[noun, "list"])["approvals"], nothing);
    }
    assert_eq!(house.json(&["approvals", "calls"])["interactions"], nothing);
    // What can be the id of a deed is looked for among those as well.
    let deed = "01920000-0000-7000-8000-000000000001";
    for args in [
        &["approvals", "show", deed][..],
        &["approvals", "approve", deed, "--digest", "0123abcd"],
        &["approvals", "deny", deed],
        &["approvals", "grant", deed, "--digest", "0123abcd"],
        &["approvals", "refuse", deed, "--reason", "no"],
        &["approvals", "withdraw", deed],
    ] {
        assert_eq!(house.refused(args), "APPROVAL_NOT_FOUND", "{args:?}");
    }
    for args in [
        &["approvals", "approve", "call_1"][..],
        &["approvals", "approve", "call_1", "--digest", "0123abcd"],
        &["approvals", "deny", "call_1"],
        &["approvals", "show", "call_1"],
        &["approvals", "answer", "call_1", "a=b"],
        &[
            "approvals",
            "batch-approve",
            "call_1",
            "--digest",
            "0123abcd",
        ],
        &["approvals", "batch-deny", "call_1"],
    ] {
        let outcome = house.run(args);
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{args:?}");
        assert!(outcome.stderr.contains("approvals list"), "{outcome:?}");
    }
    // A yes names what was seen, or is said at a terminal; nothing says it blindly.
    for args in [
        &["approvals", "approve", deed, "--yes"][..],
        &["approvals", "grant", deed, "--yes"],
        &["approvals", "batch-approve", "call_1", "--yes"],
        &["approvals", "approve", deed, "--digest", "0123abc"],
        &["approvals", "grant", deed, "--digest", "01234xyz"],
    ] {
        let outcome = house.run(args);
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{args:?}");
    }
    // With its session named, the server says what became of it.
    let session = "01920000-0000-7000-8000-000000000000";
    let digest = "0".repeat(64);
    for (args, code) in [
        (
            &["approvals", "approve", "c", "--digest", &digest][..],
            "NO_PENDING_APPROVAL",
        ),
        (&["approvals", "deny", "c"], "NO_PENDING_APPROVAL"),
        (
            &["approvals", "answer", "c", "--decline"],
            "NO_PENDING_QUESTION",
        ),
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
    let mut watch = house.follow(&["approvals", "watch", "--jsonl", "--after", "0"]);
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
    let wrong = house.run(&["approvals", "approve", id, "--digest", other]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("not what you saw"), "{wrong:?}");
    let granted = house.json(&["approvals", "approve", id, "--digest", &digest[..8]]);
    assert_eq!(granted["approval"]["state"], "granted");
    assert_eq!(watch.json()["type"], "approval_decided");
}
