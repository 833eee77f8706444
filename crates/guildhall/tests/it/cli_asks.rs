//! Asks, from the terminal; what they decide is told in the tests of the front door.

use crate::cli_house::House;

#[test]
fn what_waits_is_listed_and_what_does_not_is_not_decided() {
    let house = House::open();
    let nothing = serde_json::json!([]);
    assert_eq!(house.json(&["asks", "list"])["approvals"], nothing);
    assert_eq!(house.json(&["asks", "calls"])["interactions"], nothing);
    // What can be the id of a deed is looked for among those as well.
    let deed = "01920000-0000-7000-8000-000000000001";
    for args in [
        &["asks", "show", deed][..],
        &["asks", "approve", deed, "--yes"],
        &["asks", "deny", deed],
        &["asks", "grant", deed, "--yes"],
        &["asks", "refuse", deed, "--reason", "no"],
        &["asks", "withdraw", deed],
    ] {
        assert_eq!(house.refused(args), "APPROVAL_NOT_FOUND", "{args:?}");
    }
    for args in [
        &["asks", "approve", "call_1"][..],
        &["asks", "approve", "call_1", "--yes"],
        &["asks", "deny", "call_1"],
        &["asks", "show", "call_1"],
        &["asks", "answer", "call_1", "a=b"],
        &["asks", "batch-approve", "call_1", "--yes"],
        &["asks", "batch-deny", "call_1"],
    ] {
        let outcome = house.run(args);
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{args:?}");
        assert!(outcome.stderr.contains("asks list"), "{outcome:?}");
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
