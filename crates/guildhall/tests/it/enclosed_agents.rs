//! Agents of a running server: enclosed unless a person opened them, and what a person is told.

use serde_json::{Value, json};

use crate::workspace::Workspace;

/// The scripted agent runs a shell script.
fn run(script: &str) -> String {
    format!(
        "#call run_command {}",
        json!({"command": ["sh", "-c", script]})
    )
}

/// What the session's last call put out.
fn output(t: &Workspace, session: &str) -> String {
    let messages = t.messages(session);
    let parts = messages
        .iter()
        .flat_map(|message| message["parts"].as_array().unwrap());
    let last = parts.filter(|part| part["type"] == "tool_call").last();
    last.unwrap().to_string()
}

#[test]
fn an_agent_sees_the_data_folder_only_once_a_person_opened_its_enclosure() {
    let mut t = Workspace::open("enclosed");
    let session = t.unattended();
    let agent = t.look(&session)["agentId"].as_str().unwrap().to_owned();
    let path = format!("/api/agents/{agent}");
    let look = run(&format!("ls {}", t.data_dir().display()));
    for (turn, enclosed) in [(1, true), (2, false), (3, true)] {
        let ask = json!({"enclosed": enclosed});
        let (status, agent) = t.server.ask("PATCH", &path, Some(&ask));
        assert_eq!((status, &agent["enclosed"]), (200, &json!(enclosed)));
        // From its next start on.
        t = t.crash();
        t.send(&session, &[&look]);
        assert_eq!(t.turn_ended(&session, turn)["outcome"], "end_turn");
        let sees = output(&t, &session).contains("guildhall.sqlite");
        assert_eq!(sees, !enclosed, "{}", output(&t, &session));
    }
}

#[test]
fn that_programs_get_no_rights_of_others_is_said_once() {
    let t = Workspace::open("rights");
    let session = t.unattended();
    // As sudo says it, which need not be here.
    let sudo =
        run(r#"echo 'sudo: The "no new privileges" flag is set, which prevents it' >&2; exit 1"#);
    for turn in [1, 2] {
        t.send(&session, &[&sudo]);
        t.turn_ended(&session, turn);
    }
    let mut ends = 0;
    let events = t.follow(&session, 0, |event| {
        ends += u32::from(event["type"] == "turn_ended");
        ends == 2
    });
    let notices: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "session_notice")
        .map(|event| &event["data"]["code"])
        .collect();
    assert_eq!(notices, [&json!("privileges_unavailable")]);
    let messages = t.messages(&session);
    let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "notice", "user", "assistant"]);
}

#[test]
fn what_is_in_force_is_said_for_each_mechanism_and_a_port_outside_the_reserved_ones_is_told() {
    let t = Workspace::open_configured("reported", "[workbench]\npreviewPorts = \"5000-5010\"\n");
    let checks = |t: &Workspace| {
        let (_, ready) = t.server.ask("GET", "/readyz", None);
        ready["checks"]["enclosure"].clone()
    };
    let told = checks(&t);
    let ports = told["ports"].as_str().unwrap();
    assert!(
        ports.contains("because port 5000 of workbench.previewPorts"),
        "{told}"
    );
    let ask = json!({"workbench.previewPorts": "4748-4779"});
    t.server.ask("PATCH", "/api/settings", Some(&ask));
    let all = json!({"ports": "ok", "files": "ok", "scopes": "ok", "calls": "ok"});
    assert_eq!(checks(&t), all);
    let ask = json!({"agents.enclosure": "off"});
    t.server.ask("PATCH", "/api/settings", Some(&ask));
    let off = "Agents on this computer are not enclosed: agents.enclosure is off.";
    assert_eq!(checks(&t)["files"], off);
}
