//! Tool servers of agents as their people manage them. Source: contract 4.2 to 4.4, 4.12.

use guildhall_testkit::{APPROVED, TestCaller, TestHall};
use serde_json::{Value, json};

use crate::test_values::{column, text, wrong_fields};

/// A value that must show nowhere but to the owner at a screen.
pub(crate) const CANARY: &str = "canary-6f1d-value";

/// Where the servers of an agent are.
pub(crate) fn at(agent: &TestCaller) -> String {
    format!("/api/agents/{}/mcp-servers", agent.agent())
}

/// An address nobody dials before it is used: it brings its own word about who asks.
pub(crate) fn address() -> Value {
    json!({"transport": "http", "url": "http://127.0.0.1:9/mcp",
        "headers": {"Authorization": format!("Bearer {CANARY}")}})
}

/// A program that is there.
pub(crate) fn program(t: &TestHall) -> Value {
    t.install("tool", "#!/bin/sh\n");
    let command = t.programs().join("tool");
    json!({"transport": "stdio", "command": command, "args": ["--x"], "env": {"KEY": CANARY}})
}

pub(crate) fn ask(name: &str, connection: &Value) -> Value {
    json!({"name": name, "connection": connection})
}

/// Every row that a deed could have left behind.
fn kept(t: &TestHall) -> Vec<String> {
    let rows = t.rows();
    let rows = rows.lines().map(str::to_owned);
    rows.filter(|row| !row.starts_with("tokens\t")).collect()
}

#[tokio::test]
async fn an_add_answers_the_whole_list_with_the_new_server_last() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let mut events = t.events();
    let first = owner
        .post_approved(&at(&ada), ask("files", &program(&t)))
        .await;
    assert_eq!(first.header("etag"), "\"1\"");
    let first = first.ok(200);
    let path = t.programs().join("tool").canonicalize().unwrap();
    let expected = json!([{
        "name": "files", "enabled": true, "connection": program(&t),
        "addedAt": "2026-09-21T14:13:20.000Z", "addedBy": owner.author(), "rev": 1,
        "status": "unknown", "statusDetail": null, "authStatus": null, "authClientOrigin": null,
        "approvalId": null, "toolCount": null,
        "pin": {
            "executablePath": path,
            "executableSha256": "a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf",
            "scriptPath": null, "scriptSha256": null, "toolsSha256": null,
            "pinnedAt": "2026-09-21T14:13:20.000Z",
        },
    }]);
    assert_eq!(first, expected);
    assert_eq!(
        events.names(),
        [&APPROVED[..], &["mcp_server_added", "mcp_server_pinned"]].concat()
    );
    // The body may name the agent; unknown fields and `enabled` take no effect.
    let body = json!({"agentId": ada.agent(), "name": "Web.2", "connection": address(),
        "enabled": false, "status": "ready"});
    let both = owner.post_approved(&at(&ada), body).await.ok(200);
    assert_eq!(column(&both, "name"), ["files", "Web.2"]);
    assert_eq!(both[1]["enabled"], true);
    assert_eq!(both[1]["pin"]["pinnedAt"], Value::Null);
    let listed = owner.get(&at(&ada)).await.ok(200);
    assert_eq!(listed, both);
    let one = owner.get(&format!("{}/web.2", at(&ada))).await;
    assert_eq!(one.header("etag"), "\"1\"");
    assert_eq!(one.ok(200), both[1]);
    owner
        .get(&format!("{}/none", at(&ada)))
        .await
        .refused(404, "SERVER_NOT_FOUND");
    // Another agent's list is its own.
    let bob = t.agent("bob").await;
    assert_eq!(owner.get(&at(&bob)).await.ok(200), json!([]));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_accepted_and_says_so() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let missing = json!({"transport": "stdio", "command": "/none/tool"});
    let listed = owner
        .post_approved(&at(&ada), ask("x", &missing))
        .await
        .ok(200);
    assert_eq!(listed[0]["status"], "commandMissing");
    assert_eq!(listed[0]["connection"]["args"], json!([]));
    // Beside the agent's own PATH the entry's counts, and its folder for a path.
    std::fs::copy("/bin/true", format!("{}/own", t.folder("ada"))).unwrap();
    let own = json!({"transport": "stdio", "command": "./own"});
    let listed = owner.post_approved(&at(&ada), ask("y", &own)).await.ok(200);
    assert_eq!(listed[1]["status"], "unknown");
    t.install("tool", "#!/bin/sh\n");
    let by_path = json!({"transport": "stdio", "command": "tool", "env": {"PATH": t.programs()}});
    let listed = owner
        .post_approved(&at(&ada), ask("z", &by_path))
        .await
        .ok(200);
    assert_eq!(listed[2]["status"], "unknown");
}

/// Each row of the order of checks by a request that breaks it and every row below that it can.
#[tokio::test]
async fn an_add_is_refused_in_order_and_leaves_nothing() {
    let t = TestHall::open().await;
    let (owner, ada, bob) = (t.owner(), t.agent("ada").await, t.agent("bob").await);
    let key = t.key(&owner, "program").await;
    let program_caller = owner.clone().with_key(&key);
    owner
        .post_approved(&at(&ada), ask("taken", &address()))
        .await
        .ok(200);
    for caller in [&owner, &ada, &program_caller] {
        caller.get(&at(&ada)).await.ok(200);
    }
    let (before, mut events) = (kept(&t), t.events());
    let nowhere = "/api/agents/none/mcp-servers";
    let shapeless = json!({"agentId": "none", "name": "guildhall", "connection": {}});
    let mismatch = json!({"agentId": bob.agent(), "name": "guildhall", "connection": address()});
    // 1: who is calling.
    t.unverifiable()
        .post(nowhere, shapeless.clone())
        .await
        .refused(401, "AGENT_IDENTITY_UNVERIFIED");
    t.stranger()
        .post(nowhere, shapeless.clone())
        .await
        .refused(401, "NOT_THE_OWNER");
    // 2: another agent, there or not, before the body is read.
    for path in [at(&bob), nowhere.to_owned()] {
        ada.post(&path, shapeless.clone())
            .await
            .refused(403, "AGENT_SELF_ONLY");
        t.process_of(&ada)
            .post(&path, shapeless.clone())
            .await
            .refused(403, "AGENT_SELF_ONLY");
    }
    for caller in [&owner, &program_caller] {
        // 3 to 6.
        caller
            .post(nowhere, shapeless.clone())
            .await
            .refused(400, "VALIDATION_FAILED");
        caller
            .post(&at(&ada), mismatch.clone())
            .await
            .refused(400, "AGENT_ID_MISMATCH");
        for name in ["guildhall", "Guildhall", "GUILDHALL"] {
            caller
                .post(nowhere, ask(name, &address()))
                .await
                .refused(400, "RESERVED_NAME");
        }
        caller
            .post(nowhere, ask("taken", &address()))
            .await
            .refused(404, "AGENT_NOT_FOUND");
    }
    for caller in [&owner, &ada, &program_caller] {
        // 7.
        for name in ["taken", "TAKEN"] {
            caller
                .post(&at(&ada), ask(name, &address()))
                .await
                .refused(409, "DUPLICATE_NAME");
        }
    }
    assert_eq!(kept(&t), before, "no row, of approvals neither");
    events.none();
    assert!(t.hall().process_trees().is_empty(), "no process");
}

#[tokio::test]
async fn the_shape_of_a_connection_is_told_field_by_field() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    for (connection, wrong) in [
        (json!({}), &["connection.transport"][..]),
        (json!("stdio"), &["connection"]),
        (json!({"transport": "tcp"}), &["connection.transport"]),
        (json!({"transport": "stdio"}), &["connection.command"]),
        (json!({"transport": "http"}), &["connection.url"]),
        (
            json!({"transport": "stdio", "command": "x", "url": "http://x", "headers": {}}),
            &["connection.headers", "connection.url"],
        ),
        (
            json!({"transport": "sse", "url": "http://x", "command": "x", "args": [], "env": null}),
            &["connection.args", "connection.command", "connection.env"],
        ),
        (
            json!({"transport": "stdio", "command": 1, "args": [1], "env": {"A": 1}}),
            &[
                "connection.args.0",
                "connection.command",
                "connection.env.A",
            ],
        ),
        (
            json!({"transport": "http", "url": "http://u@x", "headers": {"Host": "y"}}),
            &["connection.headers.Host", "connection.url"],
        ),
        (
            json!({"transport": "stdio", "command": "x", "env": {"A": "***", "GUILDHALL_A": ""}}),
            &["connection.env.A", "connection.env.GUILDHALL_A"],
        ),
    ] {
        let answer = owner.post_approved(&at(&ada), ask("x", &connection)).await;
        let details = answer.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), wrong, "{connection}");
    }
    // A sign-in kind is ignored, a fragment is dropped.
    let remote = json!({"transport": "sse", "url": "http://127.0.0.1:9/a#b", "authKind": "oauth2",
        "headers": {"authorization": "x"}});
    let listed = owner
        .post_approved(&at(&ada), ask("x", &remote))
        .await
        .ok(200);
    let expected = json!({"transport": "sse", "url": "http://127.0.0.1:9/a",
        "headers": {"authorization": "x"}});
    assert_eq!(listed[0]["connection"], expected);
}

#[tokio::test]
async fn an_agent_has_at_most_sixty_four_servers() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    for n in 0..64 {
        let name = format!("s{n}");
        owner
            .post_approved(&at(&ada), ask(&name, &address()))
            .await
            .ok(200);
    }
    owner
        .post(&at(&ada), ask("s64", &address()))
        .await
        .refused(409, "TOO_MANY_SERVERS");
    owner
        .post(&at(&ada), ask("S1", &address()))
        .await
        .refused(409, "DUPLICATE_NAME");
    let last = format!("{}/s63", at(&ada));
    owner.delete(&last).await.ok(200);
    owner
        .post_approved(&at(&ada), ask("s64", &address()))
        .await
        .ok(200);
}

/// Values are shown to the owner at a screen alone, and lie nowhere in clear.
#[tokio::test]
async fn a_change_keeps_what_it_does_not_name_and_counts_once() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    owner
        .post_approved(&at(&ada), ask("files", &program(&t)))
        .await
        .ok(200);
    let path = format!("{}/FILES", at(&ada));
    let mut events = t.events();
    owner.patch(&path, json!({})).await.ok(200);
    let same = json!({"connection": program(&t), "enabled": true});
    assert_eq!(
        owner.patch_approved(&path, same).await.header("etag"),
        "\"1\""
    );
    assert_eq!(events.names(), APPROVED, "and nothing of the server");
    t.advance(1);
    let mut next = program(&t);
    next["env"] = json!({"KEY": "***", "MORE": "m"});
    next["args"] = json!([]);
    let answer = owner
        .patch_approved(&path, json!({"connection": next}))
        .await;
    assert_eq!(answer.header("etag"), "\"2\"");
    let server = &answer.ok(200)[0];
    assert_eq!(
        server["connection"]["env"],
        json!({"KEY": CANARY, "MORE": "m"})
    );
    assert_eq!(
        (&server["rev"], &server["addedBy"]),
        (&json!(2), &json!(owner.author()))
    );
    let told = events.all();
    let names: Vec<String> = column(&json!(told), "type");
    let (approved, told) = told.split_at(APPROVED.len());
    assert!(!json!(approved).to_string().contains(CANARY));
    assert_eq!(
        names,
        [&APPROVED[..], &["mcp_server_updated", "mcp_server_pinned"]].concat()
    );
    assert_eq!(told[0]["data"]["changed"], json!(["connection"]));
    assert_eq!(
        told[0]["data"]["server"]["connection"]["env"],
        json!({"KEY": "***", "MORE": "***"})
    );
    assert_eq!(told[0]["scope"], format!("agent:{}", ada.agent()));
    // A value that is not there cannot be kept, whatever field it was sent for.
    for connection in [
        json!({"transport": "stdio", "command": "x", "env": {"OTHER": "***"}}),
        json!({"transport": "http", "url": "http://x", "headers": {"KEY": "***"}}),
    ] {
        let answer = owner
            .patch_approved(&path, json!({"connection": connection}))
            .await;
        answer.refused(400, "VALIDATION_FAILED");
    }
    // If-Match holds for changes and removal.
    for method in ["PATCH", "DELETE"] {
        let stale = owner.ask(method, &path).header("if-match", "\"1\"");
        let stale = match method {
            "PATCH" => stale.json(&json!({"enabled": false})),
            _ => stale,
        };
        let details = stale.send().await.refused(412, "PRECONDITION_FAILED");
        assert_eq!(details, json!({"currentETag": "\"2\""}));
    }
    events.none();
    let fresh = owner.ask("PATCH", &path).header("if-match", "\"2\"");
    let off = fresh.json(&json!({"enabled": false})).send().await;
    assert_eq!(off.ok(200)[0]["status"], "disabled");
}

#[tokio::test]
async fn another_connection_has_another_pin_and_none_of_the_sign_in() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let added = owner
        .post_approved(&at(&ada), ask("files", &program(&t)))
        .await
        .ok(200);
    let path = format!("{}/files", at(&ada));
    t.install("tool", "#!/bin/sh\nexit 1\n");
    // A person who sends the connection again has seen the program as it is now.
    let connection = program(&t);
    t.install("tool", "#!/bin/sh\nexit 2\n");
    let patched = owner
        .patch_approved(&path, json!({"connection": connection}))
        .await;
    assert_eq!(
        patched.header("etag"),
        "\"1\"",
        "nothing of the entry itself changed"
    );
    let pin = |listed: &Value| text(&listed[0]["pin"]["executableSha256"]);
    assert_ne!(pin(&patched.ok(200)), pin(&added));
    let remote = owner
        .patch_approved(&path, json!({"connection": address()}))
        .await
        .ok(200);
    assert_eq!(remote[0]["connection"], address());
    assert_eq!(remote[0]["pin"]["executableSha256"], Value::Null);
    let missing = json!({"transport": "stdio", "command": "/none"});
    let mut events = t.events();
    let gone = owner
        .patch_approved(&path, json!({"connection": missing}))
        .await
        .ok(200);
    assert_eq!(gone[0]["status"], "commandMissing");
    let changed = ["mcp_server_updated", "mcp_server_status_changed"];
    assert_eq!(events.names(), [&APPROVED[..], &changed].concat());
}

#[tokio::test]
async fn switching_off_and_on_is_told_once_each() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    owner
        .post_approved(&at(&ada), ask("web", &address()))
        .await
        .ok(200);
    let (on, off) = (
        format!("{}/web/enable", at(&ada)),
        format!("{}/web/disable", at(&ada)),
    );
    let mut events = t.events();
    let listed = ada.post(&off, json!({})).await;
    assert_eq!(listed.header("etag"), "\"2\"");
    assert_eq!(listed.ok(200)[0]["status"], "disabled");
    let told = events.all();
    let told_types = ["mcp_server_updated", "mcp_server_status_changed"];
    assert_eq!(column(&json!(told), "type"), told_types);
    assert_eq!(told[0]["data"]["by"], ada.author());
    assert_eq!(told[1]["data"]["status"], "disabled");
    ada.post(&off, json!({})).await.ok(200);
    events.none();
    let listed = owner.post_approved(&on, json!({})).await.ok(200);
    assert_eq!(listed[0]["status"], "unknown");
    assert_eq!(
        (&listed[0]["enabled"], &listed[0]["rev"]),
        (&json!(true), &json!(3))
    );
    assert_eq!(events.names(), [&APPROVED[..], &told_types].concat());
    for deed in ["enable", "disable"] {
        let path = format!("{}/none/{deed}", at(&ada));
        owner
            .post(&path, json!({}))
            .await
            .refused(404, "SERVER_NOT_FOUND");
    }
}

#[tokio::test]
async fn a_removed_server_leaves_no_secret_and_its_name() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    owner
        .post_approved(&at(&ada), ask("files", &program(&t)))
        .await
        .ok(200);
    owner
        .post_approved(&at(&ada), ask("web", &address()))
        .await
        .ok(200);
    let path = format!("{}/Files", at(&ada));
    let mut events = t.events();
    let left = owner.delete(&path).await.ok(200);
    assert_eq!(column(&left, "name"), ["web"]);
    let told = events.next("mcp_server_removed");
    let expected = json!({"agentId": ada.agent(), "name": "files", "by": owner.author()});
    assert_eq!(told, expected);
    owner.delete(&path).await.refused(404, "SERVER_NOT_FOUND");
    let again = owner
        .post_approved(&at(&ada), ask("files", &program(&t)))
        .await
        .ok(200);
    assert_eq!(column(&again, "name"), ["web", "files"]);
    // An agent that is taken off the registry takes its servers along.
    events.all();
    let agent = format!("/api/agents/{}", ada.agent());
    owner.delete(&agent).await.ok(200);
    let removed = events
        .names()
        .iter()
        .filter(|name| *name == "mcp_server_removed")
        .count();
    assert_eq!(removed, 2);
    assert!(!t.rows().contains("mcp_servers\t"));
    assert_eq!(owner.get(&at(&ada)).await.ok(200), json!([]));
    owner
        .post(&at(&ada), ask("files", &address()))
        .await
        .refused(404, "AGENT_NOT_FOUND");
}
