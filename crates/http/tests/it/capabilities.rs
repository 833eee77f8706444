//! What runtimes can do. Source: spec, "Runtime capabilities entry"; contract 3.4.

use guildhall_domain::runtimes::RuntimeDefinition;
use guildhall_testkit::TestHall;
use serde_json::{Value, json};

const FLAGS: [&str; 7] = [
    "supportsToolApproval",
    "supportsCostTracking",
    "supportsResume",
    "supportsMcp",
    "supportsManagedMcpServers",
    "supportsQuestionPrompt",
    "supportsPlugins",
];

/// A command for every built-in runtime but our own.
const COMMANDS: [&str; 6] = [
    "claude-agent-acp",
    "codex-acp",
    "gemini",
    "opencode",
    "qwen",
    "vibe-acp",
];

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

fn is_one_of(value: &Value, words: &[&str]) -> bool {
    value.as_str().is_some_and(|word| words.contains(&word))
}

/// Every field of the specification and no other, each from its closed set.
fn assert_whole(kind: &str, entry: &Value) {
    let mut fields = FLAGS.to_vec();
    fields.extend(["features", "permissionModes", "settings", "type"]);
    fields.sort_unstable();
    assert_eq!(keys(entry), fields, "{kind}");
    assert_eq!(entry["type"], kind);
    assert!(FLAGS.iter().all(|flag| entry[flag].is_boolean()), "{kind}");
    let modes = &entry["permissionModes"];
    assert_eq!(keys(modes), ["default", "supported", "values"]);
    assert_eq!(modes["supported"], true);
    let values = modes["values"].as_array().unwrap();
    assert_eq!(
        values[0]["id"], modes["default"],
        "{kind}: the default stands first"
    );
    for mode in values {
        let all = [
            "asks",
            "axis",
            "description",
            "id",
            "label",
            "native",
            "promise",
            "reach",
            "stop",
        ];
        assert_eq!(keys(mode), all, "{mode}");
        assert!(all.iter().all(|field| mode[field].is_string()), "{mode}");
        assert!(
            is_one_of(&mode["stop"], &["ask", "act", "autonomy"]),
            "{mode}"
        );
        assert!(
            is_one_of(&mode["asks"], &["always", "when-risky", "never"]),
            "{mode}"
        );
        assert!(
            is_one_of(&mode["reach"], &["read", "edit", "workspace", "everything"]),
            "{mode}"
        );
        assert!(is_one_of(&mode["axis"], &["trust", "working"]), "{mode}");
        assert!(!mode["promise"].as_str().unwrap().is_empty(), "{mode}");
    }
    let settings = &entry["settings"];
    assert_eq!(
        keys(settings),
        ["configSection", "sections", "supportsEffort"]
    );
    assert!(settings["configSection"].is_string() && settings["supportsEffort"].is_boolean());
    for section in settings["sections"].as_array().unwrap() {
        assert_eq!(keys(section), ["kind"]);
        assert!(is_one_of(
            &section["kind"],
            &["command", "account", "endpoint", "usage"]
        ));
    }
    let features = &entry["features"];
    let all = [
        "agentVersion",
        "denyReason",
        "probed",
        "scripted",
        "steer",
        "transcript",
    ];
    assert_eq!(keys(features), all);
    assert!(is_one_of(
        &features["transcript"],
        &["none", "claude-jsonl", "codex-rollout"]
    ));
    assert_eq!(features["scripted"], kind == "rehearsal");
    assert_eq!(
        (&features["denyReason"], &features["steer"]),
        (&json!(false), &json!(false))
    );
}

#[tokio::test]
async fn every_registered_runtime_has_a_whole_entry() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let alone = owner.get("/api/capabilities").await.ok(200);
    assert_eq!(keys(&alone), ["capabilities", "defaultRuntime"]);
    assert_eq!(
        keys(&alone["capabilities"]),
        ["rehearsal"],
        "nothing else is installed"
    );
    assert_eq!(alone["defaultRuntime"], "rehearsal");
    for command in COMMANDS {
        t.install(command, "#!/bin/false\n");
    }
    let mine = RuntimeDefinition {
        kind: "mine".to_owned(),
        command: Some("nowhere".to_owned()),
        ..RuntimeDefinition::default()
    };
    t.restart_with_runtimes(vec![mine]).await;
    let all = owner.get("/api/capabilities").await.ok(200);
    let kinds = [
        "claude-code",
        "codex",
        "gemini",
        "mine",
        "opencode",
        "qwen",
        "rehearsal",
        "vibe",
    ];
    assert_eq!(keys(&all["capabilities"]), kinds);
    for kind in kinds {
        let entry = &all["capabilities"][kind];
        assert_whole(kind, entry);
        let default = &entry["permissionModes"]["values"][0];
        if kind != "mine" {
            assert_ne!(default["stop"], "autonomy", "{kind}");
            assert!(
                default["asks"] != "never" || default["reach"] == "read",
                "{kind}"
            );
        }
    }
    assert_eq!(
        all["capabilities"]["rehearsal"],
        alone["capabilities"]["rehearsal"]
    );
    assert_eq!(
        all["defaultRuntime"], "claude-code",
        "the first installed one of the table"
    );
}

#[tokio::test]
async fn the_default_runtime_is_the_configured_one_else_the_first_installed() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let default = async || {
        let all = owner.get("/api/capabilities").await.ok(200);
        all["defaultRuntime"].as_str().unwrap().to_owned()
    };
    assert_eq!(default().await, "rehearsal");
    let ask = |kind: &str| json!({"runtimes.default": kind});
    owner
        .patch("/api/settings", ask("codex"))
        .await
        .refused(400, "VALIDATION_FAILED");
    t.install("vibe-acp", "#!/bin/false\n");
    t.install("codex-acp", "#!/bin/false\n");
    assert_eq!(default().await, "codex");
    owner.patch("/api/settings", ask("vibe")).await.ok(200);
    assert_eq!(default().await, "vibe");
    let made = owner
        .post("/api/agents", json!({"name": "Vi", "cwd": t.folder("vi")}))
        .await
        .ok(201);
    assert_eq!(
        (&made["runtime"], &made["permissionMode"]),
        (&json!("vibe"), &json!("ask"))
    );
    // One that is gone is no default any more.
    std::fs::remove_file(t.programs().join("vibe-acp")).unwrap();
    assert_eq!(default().await, "codex");
}

#[tokio::test]
async fn an_answer_that_is_known_is_not_sent_again() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let first = owner.get("/api/capabilities").await;
    let tag = first.header("etag").to_owned();
    assert_eq!(tag.len(), 34);
    let known = owner.with("if-none-match", &tag);
    assert_eq!(known.get("/api/capabilities").await.status, 304);
    t.install("codex-acp", "#!/bin/false\n");
    known.get("/api/capabilities").await.ok(200);
}
