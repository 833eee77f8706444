//! The local browser from the terminal.

use crate::cli_server::ServerForCli;

/// A house whose server is told of a browser that is not there.
fn without_browser() -> ServerForCli {
    let mut house = ServerForCli::empty();
    let missing = format!("{}/no-browser", house.folder());
    house.start_where(&[("GUILDHALL_BROWSER", &missing)]);
    house
}

#[test]
fn a_browser_that_cannot_open_is_a_failure_that_says_why() {
    let house = without_browser();
    let outcome = house.run(&["browser", "open"]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.stdout.contains("failed"), "{outcome:?}");
    assert!(
        outcome.stderr.contains("No Chromium was found"),
        "{outcome:?}"
    );
    let state = house.json(&["browser", "state"]);
    assert_eq!(state["lastError"]["code"], "BROWSER_NOT_INSTALLED");
    let searched = &state["lastError"]["details"]["searched"][0];
    assert!(searched.as_str().unwrap().ends_with("/no-browser"));
}

#[test]
fn who_does_not_wait_is_told_how_far_it_is() {
    let house = without_browser();
    let state = house.json(&["browser", "open", "--wait", "0"]);
    assert_eq!(state["preparation"]["component"], "chromium");
    assert_eq!(state["connectionId"], "");
}

#[test]
fn what_needs_a_browser_says_that_there_is_none() {
    let house = without_browser();
    let tab = "01920000-0000-7000-8000-000000000000";
    assert_eq!(
        house.refused(&["browser", "tab", "https://example.org"]),
        "NOT_CONNECTED"
    );
    assert_eq!(
        house.refused(&["browser", "screenshot", tab, "--out", "page.jpeg"]),
        "TAB_NOT_FOUND"
    );
    assert_eq!(
        house.refused(&["browser", "go", tab, "file:///etc/passwd"]),
        "URL_NOT_ALLOWED"
    );
    assert_eq!(
        house.refused(&["browser", "open", "file:///etc/passwd"]),
        "URL_NOT_ALLOWED"
    );
    let closed = house.json(&["browser", "close"]);
    assert_eq!(closed["status"], "disconnected");
}
