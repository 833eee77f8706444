//! Turns, from the terminal.

use crate::cli_server::ServerForCli;

#[test]
fn the_ledger_is_read_and_turns_are_stopped() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    // Nothing starts by itself, so that what is shown stands still.
    house.done(&["rooms", "update", "team", "--max-agent-depth", "0"]);
    house.done(&["post", "team", "hello"]);
    let shown = house.done(&["turns", "list", "team"]);
    assert!(
        shown.contains("refused") && shown.contains("depth: 0 of 0"),
        "{shown}"
    );
    assert!(shown.contains("ada"), "{shown}");
    let asked = [
        "turns", "list", "team", "--entry", "1", "--agent", "ada", "--state", "refused",
    ];
    let turns = house.json(&asked);
    let id = turns["turns"][0]["id"].as_str().unwrap();
    assert_eq!(
        house.json(&["turns", "show", "team", id]),
        turns["turns"][0]
    );
    assert_eq!(house.json(&["turns", "get", "team", id]), turns["turns"][0]);
    let none = house.json(&["turns", "list", "team", "--state", "not_addressed"]);
    assert_eq!(none["turns"].as_array().unwrap().len(), 0);
    assert_eq!(house.json(&["rooms", "halt", "team"])["stopped"], 0);
    assert_eq!(
        house.json(&["members", "halt", "team", "ada"])["stopped"],
        0
    );
    assert_eq!(
        house.refused(&["turns", "run", "team", "nothing"]),
        "TURN_NOT_FOUND"
    );
    house.done(&["settings", "set", "rooms.maxAutoTurnsTotalPerHour", "0"]);
    assert_eq!(
        house.refused(&["turns", "run", "team", id]),
        "TURN_BUDGET_REACHED"
    );
}
