//! Sessions: changing and closing them, and those of the agents' own command lines.
//! Source: contract 3.5, 3.6.4, 3.7.

use guildhall_testkit::TestHall;
use serde_json::json;

use crate::sessions::{ON_DISK, at, on_disk, open};

const NOWHERE: &str = "7d0a4be9-1b2c-4d3e-8f90-a1b2c3d4e5f6";

#[tokio::test]
async fn a_change_is_refused_in_this_order() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    on_disk(&t, "/projects/tally");
    let (open_one, closed) = (
        at(&open(&owner, &ada, json!({})).await),
        at(&open(&owner, &ada, json!({})).await),
    );
    owner.delete(&closed).await.ok(200);
    let nowhere = format!("/api/sessions/{NOWHERE}");
    let read_only = format!("/api/sessions/{ON_DISK}");
    let before = t.rows();
    for (path, ask, status, code) in [
        (&nowhere, json!({"title": ""}), 400, "VALIDATION_FAILED"),
        (
            &nowhere,
            json!({"permissionMode": "none"}),
            404,
            "SESSION_NOT_FOUND",
        ),
        (
            &read_only,
            json!({"permissionMode": "none"}),
            409,
            "SESSION_READ_ONLY",
        ),
        (
            &closed,
            json!({"permissionMode": "none"}),
            400,
            "UNSUPPORTED_PERMISSION_MODE",
        ),
        (
            &closed,
            json!({"permissionMode": "autopilot"}),
            409,
            "SESSION_CLOSED",
        ),
        (&closed, json!({"title": "x"}), 409, "SESSION_CLOSED"),
        (
            &open_one,
            json!({"permissionMode": "autopilot"}),
            428,
            "AUTONOMY_NOT_ACKNOWLEDGED",
        ),
    ] {
        let ask = owner.ask("PATCH", path).json(&ask);
        // What does not fit the revision comes last.
        let answer = ask.header("if-match", "\"7\"").send().await;
        answer.refused(status, code);
    }
    let title = owner.ask("PATCH", &open_one).json(&json!({"title": "x"}));
    let answer = title.header("if-match", "\"7\"").send().await;
    answer.refused(412, "PRECONDITION_FAILED");
    assert_eq!(t.rows(), before);
    ada.patch(&open_one, json!({"title": "x"}))
        .await
        .refused(403, "HUMANS_ONLY");
}

#[tokio::test]
async fn a_session_is_closed_once_by_whoever_knows_how_it_stands() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let session = at(&open(&owner, &ada, json!({})).await);
    let close = async |tag: &str| {
        let ask = owner.ask("DELETE", &session).header("if-match", tag);
        ask.send().await
    };
    close("\"7\"").await.refused(412, "PRECONDITION_FAILED");
    let mut log = t.events();
    let closed = close("\"1\"").await.ok(200);
    assert_eq!(closed["state"], "closed");
    assert_eq!(log.next("session_closed")["session"], closed);
    assert_eq!(owner.delete(&session).await.ok(200), closed);
    log.none();
    let message = json!({"content": "hello"});
    owner
        .post(&format!("{session}/messages"), message)
        .await
        .refused(409, "SESSION_CLOSED");
}

#[tokio::test]
async fn a_session_of_the_terminal_is_read_and_never_changed() {
    let t = TestHall::open().await;
    on_disk(&t, "/projects/tally");
    let owner = t.owner();
    let path = format!("/api/sessions/{ON_DISK}");
    let session = owner.get(&path).await.ok(200);
    for (field, value) in [
        ("id", json!(ON_DISK)),
        ("readOnly", json!(true)),
        ("origin", json!("terminal")),
        ("runtime", json!("claude-code")),
        ("title", json!("Count the words")),
    ] {
        assert_eq!(session[field], value, "{field}");
    }
    let messages = owner.get(&format!("{path}/messages")).await.ok(200);
    assert_eq!(messages, json!({"messages": [], "nextCursor": null}));
    let queue = owner.get(&format!("{path}/queue")).await.ok(200);
    assert_eq!(queue, json!({"queue": []}));
    for (method, path, ask) in [
        ("PATCH", path.clone(), json!({"title": "x"})),
        ("POST", format!("{path}/messages"), json!({"content": "x"})),
    ] {
        let answer = owner.ask(method, &path).json(&ask).send().await;
        answer.refused(409, "SESSION_READ_ONLY");
    }
    owner.delete(&path).await.refused(409, "SESSION_READ_ONLY");
    let ada = t.agent("ada").await;
    for path in [&path, &format!("{path}/messages"), &format!("{path}/queue")] {
        ada.get(path).await.refused(404, "SESSION_NOT_FOUND");
    }
}

#[tokio::test]
async fn a_session_of_the_terminal_goes_on_with_an_agent_of_its_folder_and_runtime() {
    let t = TestHall::open().await;
    let owner = t.owner();
    t.install("claude-agent-acp", "#!/bin/false\n");
    let folder = t.folder("tally");
    on_disk(&t, &folder);
    let agent = async |name: &str, cwd: &str, runtime: &str| {
        let ask = json!({"name": name, "cwd": cwd, "runtime": runtime});
        t.agent_of(ask).await
    };
    let elsewhere = agent("elsewhere", &t.folder("other"), "claude-code").await;
    let scripted = agent("scripted", &folder, "rehearsal").await;
    for other in [&elsewhere, &scripted] {
        let ask = json!({"agentId": other.agent(), "resumeId": ON_DISK});
        owner
            .post("/api/sessions", ask)
            .await
            .refused(404, "SESSION_NOT_FOUND");
    }
    // The folder's agent of the session's own runtime is meant, and registered where it has none.
    let ask = json!({"cwd": folder, "resumeId": ON_DISK});
    let session = owner.post("/api/sessions", ask.clone()).await.ok(201);
    for (field, value) in [
        ("id", ON_DISK),
        ("runtimeSessionId", ON_DISK),
        ("runtime", "claude-code"),
        ("origin", "person"),
    ] {
        assert_eq!(session[field], value, "{field}");
    }
    assert_eq!(owner.post("/api/sessions", ask).await.ok(200), session);
    let again = json!({"cwd": folder, "resumeId": ON_DISK, "title": "x"});
    owner
        .post("/api/sessions", again)
        .await
        .refused(409, "SESSION_EXISTS");
    // It is one of ours from now on.
    let shown = owner.get("/api/sessions?source=terminal").await.ok(200);
    assert_eq!(shown["sessions"], json!([]));
    assert_eq!(owner.get(&at(&session)).await.ok(200), session);
}

#[tokio::test]
async fn a_persons_title_stays_when_the_first_message_comes() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let (named, unnamed) = (
        open(&owner, &ada, json!({"title": "Mine"})).await,
        open(&owner, &ada, json!({})).await,
    );
    for (session, title) in [(&named, "Mine"), (&unnamed, "Count the words")] {
        let ask = json!({"content": "\nCount the words\nand print them"});
        let path = format!("{}/messages", at(session));
        owner.post(&path, ask).await.ok(202);
        assert_eq!(owner.get(&at(session)).await.ok(200)["title"], title);
    }
    let renamed = json!({"title": " New "});
    let renamed = owner.patch(&at(&unnamed), renamed).await.ok(200);
    assert_eq!(renamed["title"], "New");
}
