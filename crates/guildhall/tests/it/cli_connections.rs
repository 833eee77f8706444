//! Connections and executions, from the terminal.

use serde_json::Value;

use crate::cli_server::ServerForCli;

/// The scripted service, connected; the connection's id.
fn connected(house: &ServerForCli) -> String {
    let mut events = house.follow(&["events", "--jsonl"]);
    assert_eq!(events.json()["type"], "snapshot");
    let providers = house.json(&["connections", "providers", "list"]);
    let provider = providers["providers"][0]["id"].as_str().unwrap();
    let flow = house.json(&["connections", "connect", provider, "rehearsal"]);
    loop {
        let event = events.json();
        if event["data"]["state"] == "connected" {
            assert_eq!(event["data"]["flowId"], flow["flowId"]);
            return event["data"]["connectionId"].as_str().unwrap().to_owned();
        }
    }
}

/// The id of an operation that a review of the connection shows and that Ada is granted.
fn granted(house: &ServerForCli, connection: &str, slug: &str) -> String {
    let review = house.json(&["connections", "reviews", "open", connection]);
    let mut all = review["operations"].as_array().unwrap().iter();
    let found = all.find(|one| one["operationSlug"] == slug).unwrap();
    let id = found["id"].as_str().unwrap().to_owned();
    let (review, grant) = (review["reviewId"].as_str().unwrap(), format!("ada={id}"));
    house.done(&["connections", "reviews", "apply", review, "--grant", &grant]);
    id
}

#[test]
fn an_execution_exits_with_one_unless_it_succeeds() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let connection = connected(&house);
    let read = granted(&house, &connection, "list_notes");
    let flows = house.json(&["connections", "flows", "list"]);
    assert_eq!(flows["flows"][0]["state"], "connected");

    let run = |more: &[&str]| {
        let args = ["exec", "ada", &connection, &read, "--json"];
        let ran = house.run(&[&args, more].concat());
        assert_eq!(ran.stderr, "");
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        (ran.code, answer["result"]["status"].clone())
    };
    assert_eq!(run(&[]), (0, "success".into()));
    let no = run(&["--arguments", r#"{"play":"error"}"#]);
    assert_eq!(no, (1, "error".into()));
    let args = ["connections", "execute", "ada", &connection, &read];
    let args = [&args[..], &["--arguments", r#"{"play":"lost"}"#]].concat();
    let lost = house.run(&args);
    assert_eq!((lost.code, &*lost.stderr), (1, ""));
    assert!(
        lost.stdout.contains("PROVIDER_UNREACHABLE"),
        "{}",
        lost.stdout
    );

    let listed = house.done(&["connections", "usage"]);
    assert_eq!(listed.matches("list_notes").count(), 3, "{listed}");
    assert_eq!(listed.matches(" cli ").count(), 2, "{listed}");
}

#[test]
fn a_connection_is_turned_off_for_one_session() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let connection = connected(&house);
    granted(&house, &connection, "list_notes");
    let session = house.json(&["sessions", "open", "--agent", "ada"])["id"].clone();
    let session = session.as_str().unwrap();
    let says = || {
        let shown = house.json(&["connections", "sessions", "show", session]);
        assert_eq!(shown["connections"][0]["connectionId"], *connection);
        shown["connections"][0]["on"].clone()
    };
    assert_eq!(says(), Value::Null);
    for (word, on) in [
        ("off", false.into()),
        ("on", true.into()),
        ("default", Value::Null),
    ] {
        house.done(&[
            "connections",
            "sessions",
            "switch",
            session,
            &connection,
            word,
        ]);
        assert_eq!(says(), on);
    }
}
