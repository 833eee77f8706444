//! Agents and their tokens, from the terminal.

use crate::cli_server::ServerForCli;

#[test]
fn an_agent_is_registered_changed_and_retired() {
    let house = ServerForCli::open();
    let made = house.json(&["agents", "add", "Ada", "--cwd", house.folder(), "--no-team"]);
    assert_eq!(made["cwd"], house.folder());
    let team = house.json(&["members", "list", "team"]);
    assert_eq!(team["members"].as_array().unwrap().len(), 1);
    let changed = house.json(&[
        "agents",
        "update",
        "ada",
        "--description",
        "d",
        "--mode",
        "silent",
    ]);
    assert_eq!(
        (&changed["description"], &changed["responseMode"]),
        (&"d".into(), &"silent".into())
    );
    assert_eq!(house.json(&["agents", "show", "Ada"]), changed);
    assert_eq!(house.run(&["agents", "update", "ada"]).code, 2);
    assert_eq!(house.json(&["agents", "retire", "ada"])["state"], "retired");
    assert_eq!(house.done(&["agents", "list", "-q"]), "");
    let retired = house.done(&["agents", "list", "--include-retired", "-q"]);
    assert_eq!(retired.trim(), made["id"].as_str().unwrap());
}

#[test]
fn a_folder_is_taken_from_where_the_command_runs() {
    let house = ServerForCli::open();
    let mut command = house.command(&["agents", "add", "Ada", "--json"]);
    let output = command.current_dir(house.folder()).output().unwrap();
    let made: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(made["cwd"], house.folder());
}

#[test]
fn a_token_speaks_as_its_agent_until_it_is_revoked() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let minted = house.run(&["tokens", "mint", "ada", "--label", "laptop"]);
    let token = minted.stdout.trim().to_owned();
    assert_eq!((minted.code, token.len()), (0, 47));
    assert!(minted.stderr.contains("this once") && !minted.stderr.contains(&token));

    let whoami = house.run_as(&token, &["whoami"]);
    assert!(
        whoami.stdout.contains("Ada") && whoami.stdout.contains("agent-token"),
        "{whoami:?}"
    );
    assert_eq!(house.run_as(&token, &["post", "team", "it is me"]).code, 0);
    let ada = house.json(&["authors", "show", "ada"]);
    assert_eq!(
        house.json(&["entries", "show", "team", "1"])["authorId"],
        ada["id"]
    );
    let refused = house.run_as(&token, &["tokens", "list", "ada"]);
    assert_eq!((refused.code, &*refused.stdout), (1, ""));

    let tokens = house.done(&["tokens", "list", "ada"]);
    assert!(tokens.contains("laptop") && !tokens.contains(&token));
    let id = house.done(&["tokens", "list", "ada", "-q"]);
    house.done(&["tokens", "revoke", "ada", id.trim()]);
    let dead = house.run_as(&token, &["rooms", "list"]);
    assert_eq!((dead.code, &*dead.stdout), (1, ""));
    assert!(
        dead.stderr.contains("AGENT_IDENTITY_UNVERIFIED"),
        "{dead:?}"
    );
}

#[test]
fn a_token_is_never_shown_again_whatever_fails() {
    let house = ServerForCli::open();
    let canary = "gha_canary-canary-canary-canary-canary-canary-";
    for args in [
        &["rooms", "list"][..],
        &["rooms", "list", "--json"],
        &["events"],
        &["rooms", "list", "--url", "http://127.0.0.1:1"],
        &["whoami", "--help"],
        &["tokens", "revoke", "ada", canary],
        &["api", "GET", "/api/rooms"],
    ] {
        let outcome = house.run_as(canary, args);
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(!said.contains("canary"), "{args:?}: {said}");
    }
    // What cannot be a token is refused before anything is sent, and does not count as none.
    let broken = house.run_as("two\nlines", &["whoami"]);
    assert_eq!((broken.code, &*broken.stdout), (2, ""));
    let empty = house.run_as("", &["rooms", "list"]);
    assert_eq!(empty.code, 1, "{empty:?}");
}
