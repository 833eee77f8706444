//! Runtimes: which there are, and trying one out. Source: contract 3.3.1.

use guildhall_domain::runtimes::RuntimeDefinition;
use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::test_values::column;

fn of<'a>(list: &'a Value, kind: &str) -> &'a Value {
    let mut all = list["runtimes"].as_array().unwrap().iter();
    all.find(|runtime| runtime["type"] == kind).unwrap()
}

#[tokio::test]
async fn every_runtime_there_can_be_is_listed_whether_it_is_here_or_not() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let list = owner.get("/api/runtimes").await.ok(200);
    let kinds = [
        "claude-code",
        "codex",
        "gemini",
        "opencode",
        "qwen",
        "vibe",
        "rehearsal",
    ];
    assert_eq!(column(&list["runtimes"], "type"), kinds);
    let codex = json!({
        "type": "codex", "label": "Codex", "registered": false, "installed": false,
        "command": "codex-acp", "version": "", "problem": "", "checkedAt": null,
        "installHint": "npm install -g @agentclientprotocol/codex-acp",
    });
    assert_eq!(*of(&list, "codex"), codex);
    let rehearsal = of(&list, "rehearsal");
    assert_eq!(rehearsal["label"], "Rehearsal (scripted)");
    let here = (
        &rehearsal["registered"],
        &rehearsal["installed"],
        &rehearsal["installHint"],
    );
    assert_eq!(here, (&json!(true), &json!(true), &json!("")));
    // Installed while the server runs, it is there at once.
    t.install("codex-acp", "#!/bin/false\n");
    std::fs::write(t.programs().join("package.json"), r#"{"version": "2.6.0"}"#).unwrap();
    let list = owner.get("/api/runtimes").await.ok(200);
    let mut codex = codex;
    for (field, value) in [
        ("registered", json!(true)),
        ("installed", json!(true)),
        ("version", json!("2.6.0")),
    ] {
        codex[field] = value;
    }
    assert_eq!(*of(&list, "codex"), codex);
    let mine = RuntimeDefinition {
        kind: "mine".to_owned(),
        command: Some("nowhere".to_owned()),
        args: Some(vec!["acp".to_owned()]),
        ..RuntimeDefinition::default()
    };
    t.restart_with_runtimes(vec![mine]).await;
    let list = owner.get("/api/runtimes").await.ok(200);
    let expected = json!({
        "type": "mine", "label": "mine", "registered": true, "installed": false,
        "command": "nowhere acp", "version": "", "installHint": "", "checkedAt": null,
        "problem": "The command nowhere is not found here.",
    });
    assert_eq!(*of(&list, "mine"), expected);
}

#[tokio::test]
async fn a_check_that_fails_is_an_answer_with_a_problem() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let mut events = t.events();
    owner
        .post("/api/runtimes/none/check", json!({}))
        .await
        .refused(404, "UNKNOWN_RUNTIME");
    let checked = owner
        .post("/api/runtimes/codex/check", json!({}))
        .await
        .ok(200);
    let missing = "The command codex-acp is not found here; install it with: \
        npm install -g @agentclientprotocol/codex-acp";
    assert_eq!(checked["problem"], missing);
    assert_eq!(checked["checkedAt"], "2026-09-21T14:13:20.000Z");
    events.none();
    // It is there, and what starts it is not: the test has no binary of ours.
    t.install("codex-acp", "#!/bin/false\n");
    t.advance(1);
    let checked = owner
        .post("/api/runtimes/codex/check", json!({}))
        .await
        .ok(200);
    assert_eq!(
        (&checked["installed"], &checked["registered"]),
        (&json!(true), &json!(true))
    );
    assert!(
        checked["problem"].as_str().unwrap().ends_with('.'),
        "{checked}"
    );
    let told = events.next("runtime_changed");
    assert_eq!(
        told,
        json!({"type": "codex", "installed": true, "version": ""})
    );
    owner
        .post("/api/runtimes/codex/check", json!({}))
        .await
        .ok(200);
    events.none();
    let again = t.owner().with("idempotency-key", "once");
    let first = again.post("/api/runtimes/codex/check", json!({})).await;
    t.advance(1);
    let second = again.post("/api/runtimes/codex/check", json!({})).await;
    assert_eq!(second.header("idempotency-replayed"), "true");
    let checked = first.ok(200);
    assert_eq!(second.ok(200), checked);
    // What was found stays known across a restart.
    t.restart_with_runtimes(Vec::new()).await;
    let list = owner.get("/api/runtimes").await.ok(200);
    assert_eq!(*of(&list, "codex"), checked);
    std::fs::remove_file(t.programs().join("codex-acp")).unwrap();
    let checked = owner
        .post("/api/runtimes/codex/check", json!({}))
        .await
        .ok(200);
    assert_eq!(
        (&checked["installed"], &checked["problem"]),
        (&json!(false), &json!(missing))
    );
    let told = events.next("runtime_changed");
    assert_eq!(
        told,
        json!({"type": "codex", "installed": false, "version": ""})
    );
    let entries = owner.get("/api/capabilities").await.ok(200);
    assert_eq!(entries["capabilities"]["codex"], Value::Null);
}

#[tokio::test]
async fn an_agent_whose_runtime_is_gone_says_so_and_comes_back_with_it() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    t.install("codex-acp", "#!/bin/false\n");
    let ask = json!({"name": "Cody", "cwd": t.folder("cody"), "runtime": "codex"});
    let cody = owner.post("/api/agents", ask).await.ok(201);
    assert_eq!(
        (&cody["state"], &cody["permissionMode"]),
        (&json!("ready"), &json!("read-only"))
    );
    let list = owner.get("/api/agents").await.ok(200);
    assert_eq!(list["warnings"], json!([]));
    std::fs::remove_file(t.programs().join("codex-acp")).unwrap();
    let list = owner.get("/api/agents").await.ok(200);
    assert_eq!(
        column(&list["agents"], "state"),
        ["ready", "runtime-missing"]
    );
    let warning = "Codex: The command codex-acp is not found here; install it with: \
        npm install -g @agentclientprotocol/codex-acp";
    assert_eq!(list["warnings"], json!([warning]));
    // An agent hears of what concerns itself.
    let own = ada.get("/api/agents").await.ok(200);
    assert_eq!(own["warnings"], json!([]));
    let path = format!("/api/agents/{}", cody["id"].as_str().unwrap());
    assert_eq!(owner.get(&path).await.ok(200)["state"], "runtime-missing");
    let renamed = owner.patch(&path, json!({"name": "Co"})).await.ok(200);
    assert_eq!(renamed["state"], "runtime-missing");
    owner
        .patch(&path, json!({"permissionMode": "agent"}))
        .await
        .refused(400, "UNKNOWN_RUNTIME");
    t.install("codex-acp", "#!/bin/false\n");
    assert_eq!(owner.get(&path).await.ok(200)["state"], "ready");
    let retired = owner.delete(&path).await.ok(200);
    assert_eq!(retired["state"], "retired");
}
