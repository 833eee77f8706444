//! Modes with the scripted agent, from outside: what is in force is what a person's word allows.
//! Source: contract 3.6.3, 3.6.4.

use serde_json::{Value, json};

use crate::workspace::ServerWithFolder;

const EDIT: &str = r#"#call edit_file {"path":"notes.md","old":"red","new":"green"}"#;

#[test]
fn no_mode_that_acts_unattended_is_in_force_without_a_persons_word() {
    let t = ServerWithFolder::open("consent");
    let ask = |extra: Value| {
        let mut body = json!({"cwd": t.folder, "runtime": "rehearsal"});
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        t.server.ask("POST", "/api/sessions", Some(&body))
    };
    let (status, refused) = ask(json!({"permissionMode": "autopilot"}));
    assert_eq!(
        (status, &refused["details"]),
        (428, &json!({"mode": "autopilot"}))
    );
    let (status, unknown) = ask(json!({"permissionMode": "yolo"}));
    assert_eq!(
        (status, &unknown["code"]),
        (400, &json!("UNSUPPORTED_PERMISSION_MODE"))
    );
    assert_eq!(
        unknown["details"]["supported"],
        json!(["default", "accept-edits", "plan", "autopilot"])
    );
    let session = t.session();
    let path = format!("/api/sessions/{session}");
    let change = |body: Value| t.server.ask("PATCH", &path, Some(&body));
    assert_eq!(change(json!({"permissionMode": "autopilot"})).0, 428);
    assert_eq!(t.look(&session)["permissionMode"], "default");

    t.write("notes.md", "red\n");
    t.send(&session, &["#mode autopilot"]);
    let refused = t.until(&session, "session_mode_refused", |_| true);
    assert_eq!(
        (&refused["attempted"], &refused["kept"]),
        (&json!("autopilot"), &json!("default"))
    );
    t.turn_ended(&session, 1);
    t.send(&session, &[EDIT]);
    let asked = t.ask(&session);
    assert_eq!(asked["mode"], "default", "it asks as before");
    t.decide(
        &session,
        "deny",
        &json!({"toolCallId": asked["toolCallId"]}),
    );
    t.turn_ended(&session, 2);

    let (status, changed) =
        change(json!({"permissionMode": "autopilot", "acknowledgedAutonomy": true}));
    assert_eq!(
        (status, &changed["permissionMode"]),
        (200, &json!("autopilot"))
    );
    t.send(&session, &[EDIT]);
    t.turn_ended(&session, 3);
    assert_eq!(t.file("notes.md").as_deref(), Some("green\n"));
}

#[test]
fn a_mode_that_the_agent_takes_stays_where_a_persons_word_stands_for_it() {
    let t = ServerWithFolder::open("own-mode");
    t.write("notes.md", "red\n");
    let ask = json!({
        "cwd": t.folder, "runtime": "rehearsal",
        "permissionMode": "autopilot", "acknowledgedAutonomy": true,
    });
    let session = t.session_of(&ask);
    let path = format!("/api/sessions/{session}");
    let attended = json!({"permissionMode": "default"});
    assert_eq!(t.server.ask("PATCH", &path, Some(&attended)).0, 200);
    t.send(&session, &["#mode autopilot", EDIT]);
    let changed = t.until(&session, "session_mode_changed", |data| {
        data["by"] == "agent"
    });
    let expected = json!({
        "sessionId": session, "from": "default", "to": "autopilot",
        "by": "agent", "acknowledged": true,
    });
    assert_eq!(changed, expected);
    t.turn_ended(&session, 1);
    assert_eq!(t.file("notes.md").as_deref(), Some("green\n"));
    assert_eq!(t.look(&session)["permissionMode"], "autopilot");
}

#[test]
fn without_the_mode_that_was_chosen_no_prompt_is_sent() {
    let configuration = format!(
        "[runtimes.mine]\ncommand = \"{}\"\nargs = [\"rehearsal-agent\"]\n\
         default_mode = \"nowhere\"\n",
        env!("CARGO_BIN_EXE_guildhall")
    );
    let t = ServerWithFolder::open_configured("no-mode", &configuration);
    let ask = json!({"cwd": t.folder, "runtime": "mine", "acknowledgedAutonomy": true});
    let session = t.session_of(&ask);
    assert_eq!(t.look(&session)["permissionMode"], "nowhere");
    let write = r#"#call write_file {"path":"written","content":"x"}"#;
    t.send(&session, &["#say Heard.", write]);
    let failed = t.until(&session, "session_updated", |data| {
        data["session"]["state"] == "failed"
    });
    let why = failed["session"]["stateReason"].as_str().unwrap();
    assert!(why.starts_with("MODE_NOT_APPLIED"), "{why}");
    assert_eq!(failed["session"]["queuedCount"], 1, "the message waits");
    assert_eq!(t.words(&session), "", "the agent heard nothing");
    assert_eq!(t.file("written"), None);
}
