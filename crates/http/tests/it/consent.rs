//! Consent to modes that act unattended, by every entrance of the registry of agents.
//! Source: contract 3.1, 3.2, 3.6.4.

use guildhall_domain::runtimes::RuntimeDefinition;
use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

/// Every mode of the shipped table that needs a person's word.
const UNATTENDED: &[(&str, &str, &str)] = &[
    ("codex", "codex-acp", "agent-full-access"),
    ("gemini", "gemini", "yolo"),
    ("qwen", "qwen", "yolo"),
    ("vibe", "vibe-acp", "auto-approve"),
    ("rehearsal", "", "autopilot"),
];

async fn agent_in(t: &TestHall, folder: &str, more: Value) -> String {
    let mut ask = json!({"name": folder, "cwd": t.folder(folder)});
    for (field, value) in more.as_object().unwrap() {
        ask[field] = value.clone();
    }
    let made = t.owner().post("/api/agents", ask).await.ok(201);
    format!("/api/agents/{}", made["id"].as_str().unwrap())
}

async fn needs_a_word(by: &TestCaller, method: &str, path: &str, ask: &Value, mode: &str) {
    let answer = by.ask(method, path).json(ask).send().await;
    let details = answer.refused(428, "AUTONOMY_NOT_ACKNOWLEDGED");
    assert_eq!(details, json!({"mode": mode}), "{method} {path}");
}

#[tokio::test]
async fn no_unattended_mode_is_taken_without_a_persons_word_by_any_entrance() {
    let t = TestHall::open().await;
    let owner = t.owner();
    for (kind, command, mode) in UNATTENDED {
        if !command.is_empty() {
            t.install(command, "#!/bin/false\n");
        }
        let mut ask = json!({"name": kind, "cwd": t.folder(kind), "runtime": kind,
            "permissionMode": mode});
        let before = t.rows();
        for word in [Value::Null, json!(false)] {
            if !word.is_null() {
                ask["acknowledgedAutonomy"] = word;
            }
            needs_a_word(&owner, "POST", "/api/agents", &ask, mode).await;
        }
        assert_eq!(t.rows(), before, "{kind}: nothing changed");
        let path = agent_in(&t, kind, json!({"runtime": kind})).await;
        let before = t.rows();
        let ask = json!({"permissionMode": mode, "name": "Else"});
        needs_a_word(&owner, "PATCH", &path, &ask, mode).await;
        assert_eq!(t.rows(), before, "{kind}: nothing changed");
        let ask = json!({"permissionMode": mode, "acknowledgedAutonomy": true});
        assert_eq!(
            owner.patch(&path, ask).await.ok(200)["permissionMode"],
            *mode
        );
    }
}

#[tokio::test]
async fn a_word_stands_for_its_own_mode_of_its_own_agent() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let word = json!({"permissionMode": "autopilot", "acknowledgedAutonomy": true});
    let path = agent_in(&t, "ada", word).await;
    let (calm, wild) = (
        json!({"permissionMode": "plan"}),
        json!({"permissionMode": "autopilot"}),
    );
    for ask in [&calm, &wild, &wild] {
        owner.patch(&path, ask.clone()).await.ok(200);
    }
    let other = agent_in(&t, "bob", json!({})).await;
    needs_a_word(&owner, "PATCH", &other, &wild, "autopilot").await;
    // A word for a mode that needs none is none for the mode that does.
    let calm = json!({"permissionMode": "plan", "acknowledgedAutonomy": true});
    owner.patch(&other, calm).await.ok(200);
    needs_a_word(&owner, "PATCH", &other, &wild, "autopilot").await;
    // An agent that comes back to the folder starts without the word of the one before.
    owner.delete(&path).await.ok(200);
    let again = agent_in(&t, "ada", json!({})).await;
    needs_a_word(&owner, "PATCH", &again, &wild, "autopilot").await;
}

#[tokio::test]
async fn a_runtime_nobody_knows_needs_a_word_for_every_mode_and_default() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let mine = |mode: Option<&str>| RuntimeDefinition {
        kind: "mine".to_owned(),
        command: Some("mine".to_owned()),
        default_mode: mode.map(str::to_owned),
        ..RuntimeDefinition::default()
    };
    for (mode, default) in [(None, "default"), (Some("careful"), "careful")] {
        t.restart_with_runtimes(vec![mine(mode)]).await;
        let ask = json!({"name": "x", "cwd": t.folder(default), "runtime": "mine"});
        needs_a_word(&owner, "POST", "/api/agents", &ask, default).await;
    }
    // A default that the configuration made unattended is asked about like any other.
    let codex = RuntimeDefinition {
        kind: "codex".to_owned(),
        default_mode: Some("agent-full-access".to_owned()),
        ..RuntimeDefinition::default()
    };
    t.restart_with_runtimes(vec![codex]).await;
    let ask = json!({"name": "x", "cwd": t.folder("codex"), "runtime": "codex"});
    needs_a_word(&owner, "POST", "/api/agents", &ask, "agent-full-access").await;
}

#[tokio::test]
async fn a_session_that_brings_its_agent_takes_the_word_for_both() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let careful = RuntimeDefinition {
        kind: "mine".to_owned(),
        command: Some("mine".to_owned()),
        default_mode: Some("careful".to_owned()),
        ..RuntimeDefinition::default()
    };
    t.restart_with_runtimes(vec![careful]).await;
    let mut ask = json!({"cwd": t.folder("new"), "runtime": "mine"});
    let before = t.rows();
    needs_a_word(&owner, "POST", "/api/sessions", &ask, "careful").await;
    assert_eq!(t.rows(), before, "nothing changed");
    ask["acknowledgedAutonomy"] = json!(true);
    let opened = owner.post("/api/sessions", ask).await.ok(201);
    assert_eq!(opened["permissionMode"], "careful");
}

#[tokio::test]
async fn only_a_person_at_a_screen_gives_the_word() {
    let t = TestHall::open_login().await;
    let owner = t.owner();
    let key = t.key(&owner, "program").await;
    let program = t.stranger().with_key(&key);
    let path = agent_in(&t, "ada", json!({})).await;
    let (wild, calm) = (
        json!({"permissionMode": "autopilot", "acknowledgedAutonomy": true}),
        json!({"permissionMode": "plan", "acknowledgedAutonomy": true}),
    );
    program
        .patch(&path, wild.clone())
        .await
        .refused(403, "INTERACTIVE_ONLY");
    let ask = json!({"name": "x", "cwd": t.folder("x"), "permissionMode": "autopilot",
        "acknowledgedAutonomy": true});
    program
        .post("/api/agents", ask)
        .await
        .refused(403, "INTERACTIVE_ONLY");
    program.patch(&path, calm).await.ok(200);
    owner.patch(&path, wild.clone()).await.ok(200);
    // What a person allowed, the program may use.
    for ask in [json!({"permissionMode": "default"}), wild] {
        program.patch(&path, ask).await.ok(200);
    }
}

#[tokio::test]
async fn a_change_is_refused_in_the_order_of_the_table() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let path = agent_in(&t, "ada", json!({})).await;
    owner.delete(&path).await.ok(200);
    let wild = json!({"permissionMode": "autopilot"});
    for (path, ask, status, code) in [
        (
            "/api/agents/x",
            json!({"name": ""}),
            400,
            "VALIDATION_FAILED",
        ),
        ("/api/agents/x", wild.clone(), 404, "AGENT_NOT_FOUND"),
        (
            &path,
            json!({"permissionMode": "none"}),
            400,
            "UNSUPPORTED_PERMISSION_MODE",
        ),
        (&path, wild, 409, "AGENT_RETIRED"),
    ] {
        owner.patch(path, ask).await.refused(status, code);
    }
}
