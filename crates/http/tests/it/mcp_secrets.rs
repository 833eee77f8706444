//! Secrets of tool servers: who reads them, where they lie, and what is left when their key is
//! lost; and what an agent's folder names. Source: contract 4.3, 4.4, 4.11, 4.12.

use guildhall_testkit::{APPROVED, TestCaller, TestHall};
use serde_json::json;

use crate::{
    agent_tokens::is_at_rest,
    mcp_servers::{CANARY, address, ask, at, program},
    test_values::{column, list, text},
};

#[tokio::test]
async fn values_are_the_owners_to_read_and_nobody_elses() {
    let t = TestHall::open_login().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let key = t.key(&owner, "program").await;
    let pia = t.person("Pia").await;
    let others = [
        owner.clone().with_key(&key),
        pia,
        ada.clone(),
        t.process_of(&ada),
    ];
    for (name, connection) in [("files", program(&t)), ("web", address())] {
        let answer = owner
            .ask("POST", &at(&ada))
            .header("idempotency-key", name)
            .json(&ask(name, &connection))
            .approved()
            .await
            .ok(200);
        assert_eq!(
            answer.as_array().unwrap().last().unwrap()["connection"],
            connection
        );
    }
    let discovered = format!("/api/agents/{}/mcp-discovered", ada.agent());
    let project = json!({"mcpServers": {"own": {"command": "x", "env": {"K": CANARY}}}});
    let file = format!("{}/.mcp.json", t.folder("ada"));
    std::fs::write(&file, project.to_string()).unwrap();
    for other in &others {
        let listed = other.get(&at(&ada)).await.ok(200);
        assert_eq!(listed[0]["connection"]["env"], json!({"KEY": "***"}));
        assert_eq!(
            listed[1]["connection"]["headers"],
            json!({"Authorization": "***"})
        );
        let one = other.get(&format!("{}/web", at(&ada))).await.ok(200);
        assert_eq!(one, listed[1]);
    }
    for caller in others.iter().chain([&owner]) {
        assert!(!caller.get(&discovered).await.text().contains(CANARY));
    }
    std::fs::remove_file(file).unwrap();
    // Answers to others, events and the disk.
    let off = format!("{}/files/disable", at(&ada));
    for other in &others {
        let listed = other.post(&off, json!({})).await.ok(200);
        assert!(!listed.to_string().contains(CANARY));
    }
    let body = json!({"connection": address()});
    owner
        .patch_approved(&format!("{}/web", at(&ada)), body)
        .await
        .ok(200);
    assert!(!t.rows().contains(CANARY));
    assert!(!is_at_rest(&t.scratch().join("data"), CANARY));
    let tail = t.scratch().join("data");
    assert!(
        is_at_rest(&tail, "127.0.0.1:9"),
        "the search finds what is there"
    );
    assert!(!owner.get("/metrics").await.text().contains(CANARY));
    // What was answered to the owner is not answered to the owner's programs.
    let again = |caller: &TestCaller| {
        caller
            .ask("POST", &at(&ada))
            .header("idempotency-key", "web")
            .json(&ask("web", &address()))
            .send()
    };
    let repeated = again(&owner).await;
    assert_eq!(repeated.header("idempotency-replayed"), "true");
    assert_eq!(repeated.ok(200)[1]["connection"], address());
    let program = again(&others[0]).await;
    assert_eq!(program.header("idempotency-replayed"), "");
    program.refused(409, "DUPLICATE_NAME");
}

#[tokio::test]
async fn an_add_with_its_key_happens_once_also_after_a_restart() {
    let mut t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let add = |url: &str| {
        let mut connection = address();
        connection["url"] = url.into();
        owner
            .ask("POST", &at(&ada))
            .header("idempotency-key", "once")
            .json(&ask("web", &connection))
    };
    let first = add("http://127.0.0.1:9/a").approved().await.ok(200);
    t.restart().await;
    let mut events = t.events();
    let again = add("http://127.0.0.1:9/a").send().await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.ok(200), first);
    add("http://127.0.0.1:9/b")
        .send()
        .await
        .refused(422, "IDEMPOTENCY_KEY_REUSED");
    // A person who lost the key of the secrets is told, and nothing is done twice.
    std::fs::remove_file(t.data_dir().join("seal-key")).unwrap();
    t.restart().await;
    add("http://127.0.0.1:9/a")
        .send()
        .await
        .refused(409, "SECRET_ALREADY_SHOWN");
    events.none();
}

#[tokio::test]
async fn without_their_key_secrets_are_asked_for_again() {
    let mut t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    owner
        .post_approved(&at(&ada), ask("web", &address()))
        .await
        .ok(200);
    let bare = json!({"transport": "http", "url": "http://127.0.0.1:9/b"});
    owner
        .post_approved(&at(&ada), ask("bare", &bare))
        .await
        .ok(200);
    t.restart().await;
    let whole = owner.get(&at(&ada)).await.ok(200);
    assert_eq!(whole[0]["connection"], address());
    std::fs::remove_file(t.data_dir().join("seal-key")).unwrap();
    t.restart().await;
    let lost = owner.get(&at(&ada)).await.ok(200);
    assert_eq!(lost[0]["status"], "failing");
    let detail = text(&lost[0]["statusDetail"]);
    assert!(detail.contains("Authorization"), "{detail}");
    assert_eq!(
        lost[0]["connection"]["headers"],
        json!({"Authorization": "***"})
    );
    assert_eq!(lost[1], whole[1], "what has no secret stands as it did");
    let path = format!("{}/web", at(&ada));
    let mut kept = address();
    kept["headers"] = json!({"Authorization": "***"});
    owner
        .patch(&path, json!({"connection": kept}))
        .await
        .refused(400, "VALIDATION_FAILED");
    let mended = owner
        .patch_approved(&path, json!({"connection": address()}))
        .await
        .ok(200);
    assert_eq!(mended[0]["connection"], address());
    assert_eq!(mended[0]["status"], "unknown");
}

#[tokio::test]
async fn what_a_folder_names_is_listed_and_imported() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let discovered = format!("/api/agents/{}/mcp-discovered", ada.agent());
    let import = format!("/api/agents/{}/mcp-import", ada.agent());
    let nothing = json!({"servers": [], "warnings": []});
    assert_eq!(owner.get(&discovered).await.ok(200), nothing);
    let project = json!({"mcpServers": {
        "guildhall": {"command": "x"},
        "tool": {"command": "./tool", "args": ["${HOME}"], "env": {"K": CANARY}},
        "web": {"type": "sse", "url": "http://127.0.0.1:9/sse", "headers": {"authorization": "x"}},
    }});
    std::fs::write(
        format!("{}/.mcp.json", t.folder("ada")),
        project.to_string(),
    )
    .unwrap();
    let listed = owner.get(&discovered).await.ok(200);
    let tool = json!({"name": "tool", "alreadyAdded": false, "connection": {"transport": "stdio",
        "command": "./tool", "args": ["${HOME}"], "env": {"K": "***"}}});
    assert_eq!(listed["servers"][0], tool);
    assert_eq!(column(&listed["servers"], "name"), ["tool", "web"]);
    assert_eq!(list(&listed["warnings"]).len(), 1);
    let mut events = t.events();
    for (name, status, code) in [
        ("", 400, "VALIDATION_FAILED"),
        ("Guildhall", 400, "RESERVED_NAME"),
        ("none", 404, "SERVER_NOT_FOUND"),
    ] {
        owner
            .post(&import, json!({"name": name}))
            .await
            .refused(status, code);
    }
    let nowhere = "/api/agents/none/mcp-import";
    owner
        .post(nowhere, json!({"name": "tool"}))
        .await
        .refused(404, "AGENT_NOT_FOUND");
    events.none();
    let imported = owner
        .post_approved(&import, json!({"name": "tool"}))
        .await
        .ok(200);
    assert_eq!(imported[0]["connection"]["env"], json!({"K": CANARY}));
    assert_eq!(imported[0]["status"], "commandMissing");
    assert_eq!(
        events.names(),
        [&APPROVED[..], &["mcp_server_added"]].concat()
    );
    owner
        .post(&import, json!({"name": "TOOL"}))
        .await
        .refused(409, "DUPLICATE_NAME");
    let listed = owner.get(&discovered).await.ok(200);
    assert_eq!(listed["servers"][0]["alreadyAdded"], true);
    // Another agent's folder is not an agent's to look at.
    let bob = t.agent("bob").await;
    bob.get(&discovered).await.refused(403, "AGENT_SELF_ONLY");
    ada.get(&discovered).await.ok(200);
}
