//! Tool servers as agents and programs ask for them: nothing runs before a person approved
//! exactly that. Source: contract 4.3 to 4.5, 4.12.

use guildhall_testkit::{LOCAL_TOKEN, TestCaller, TestHall, TestResponse, soon};
use serde_json::{Value, json};

use crate::{
    mcp_servers::{CANARY, address, ask, at, program},
    test_values::{column, list, text},
};

/// Asks, and waits for nobody.
async fn asked(
    by: &TestCaller,
    method: &str,
    path: &str,
    body: &Value,
    token: &str,
) -> TestResponse {
    let ask = by.ask(method, path).header("prefer", "wait=0");
    let ask = match token {
        "" => ask,
        token => ask.header("x-service-approval", token),
    };
    match body {
        Value::Null => ask.send().await,
        body => ask.json(body).send().await,
    }
}

/// The 202 of a request that must wait for a person.
async fn required(by: &TestCaller, method: &str, path: &str, body: &Value) -> Value {
    asked(by, method, path, body, "").await.ok(202)
}

/// What waits for the owner.
async fn waiting(t: &TestHall) -> Vec<Value> {
    let listed = t.owner().get("/api/approvals").await.ok(200);
    list(&listed["approvals"]).clone()
}

async fn decide(t: &TestHall, required: &Value, deed: &str) {
    let path = format!("/api/approvals/{}", text(&required["approvalId"]));
    let approval = t.owner().get(&path).await.ok(200);
    let body = match deed {
        "grant" => json!({"digest": approval["digest"]}),
        _ => json!({"reason": "not this one"}),
    };
    t.owner()
        .post(&format!("{path}/{deed}"), body)
        .await
        .ok(200);
}

#[tokio::test]
async fn an_agent_gets_exactly_what_a_person_saw_and_once() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let body = ask("files", &program(&t));
    let mut events = t.events();
    let first = required(&ada, "POST", &at(&ada), &body).await;
    assert_eq!(
        (&first["capability"], &first["tier"], &first["reason"]),
        (
            &json!("mcp.add"),
            &json!("destructive"),
            &json!("no_approval")
        )
    );
    assert_eq!(events.names(), ["approval_requested"]);
    let card = &waiting(&t).await[0]["card"];
    let path = t.programs().join("tool").canonicalize().unwrap();
    let expected = json!({
        "agentId": ada.agent(), "agentName": "ada", "name": "files", "transport": "stdio",
        "command": t.programs().join("tool"), "args": ["--x"], "cwd": t.folder("ada"),
        "resolvedPath": path,
        "executableSha256": "a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf",
        "scriptPath": null, "scriptSha256": null,
        "env": [{"name": "KEY", "value": null, "loadsCode": false}],
        "url": null, "headerNames": [],
    });
    assert_eq!(card, &expected);
    let token = text(&first["approvalToken"]);
    let pending = asked(&ada, "POST", &at(&ada), &body, &token).await.ok(202);
    assert_eq!(pending["reason"], "awaiting_decision");
    decide(&t, &first, "grant").await;
    events.all();
    let added = asked(&ada, "POST", &at(&ada), &body, &token).await.ok(200);
    assert_eq!(added[0]["addedBy"], ada.author());
    assert_eq!(added[0]["connection"]["env"], json!({"KEY": "***"}));
    assert_eq!(
        events.names(),
        ["approval_consumed", "mcp_server_added", "mcp_server_pinned"]
    );
    // Used up: the same again is another question, asked only where it could be done.
    asked(&ada, "POST", &at(&ada), &body, &token)
        .await
        .refused(409, "DUPLICATE_NAME");
    t.owner()
        .delete(&format!("{}/files", at(&ada)))
        .await
        .ok(200);
    let again = asked(&ada, "POST", &at(&ada), &body, &token).await.ok(202);
    assert_eq!(again["reason"], "already_used");
}

/// One byte of any input, an env value or the program's own bytes included, is another action.
#[tokio::test]
async fn what_differs_from_the_card_in_one_byte_does_not_run() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let body = ask("files", &program(&t));
    let first = required(&ada, "POST", &at(&ada), &body).await;
    decide(&t, &first, "grant").await;
    let token = text(&first["approvalToken"]);
    let change = |change: &dyn Fn(&mut Value)| {
        let mut other = body.clone();
        change(&mut other);
        other
    };
    for other in [
        change(&|it| it["name"] = json!("Files")),
        change(&|it| it["connection"]["env"]["KEY"] = json!(format!("{CANARY}."))),
        change(&|it| it["connection"]["env"]["MORE"] = json!("")),
        change(&|it| it["connection"]["args"] = json!(["--x", ""])),
        change(&|it| it["connection"]["command"] = json!("tool")),
        change(&|it| it["connection"] = address()),
    ] {
        let answer = asked(&ada, "POST", &at(&ada), &other, &token).await.ok(202);
        assert_eq!(answer["reason"], "wrong_action", "{other}");
    }
    t.install("tool", "#!/bin/sh\n# another\n");
    let answer = asked(&ada, "POST", &at(&ada), &body, &token).await.ok(202);
    assert_eq!(answer["reason"], "wrong_action", "another program");
    assert_eq!(t.owner().get(&at(&ada)).await.ok(200), json!([]));
    // With the program that was seen, it runs.
    t.install("tool", "#!/bin/sh\n");
    asked(&ada, "POST", &at(&ada), &body, &token).await.ok(200);
}

#[tokio::test]
async fn everybody_must_ask_the_owner_too() {
    let t = TestHall::open_login().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let key = t.key(&owner, "program").await;
    let pia = t.person("Pia").await;
    let local = format!("Bearer {LOCAL_TOKEN}");
    let mut asking = 0;
    for by in [
        &owner.clone().with_key(&key),
        &pia,
        &ada,
        &t.process_of(&ada),
        &owner,
        &owner.clone().on_loopback().with("authorization", &local),
    ] {
        let name = format!("s{asking}");
        required(by, "POST", &at(&ada), &ask(&name, &address())).await;
        asking += 1;
    }
    assert_eq!(waiting(&t).await.len(), asking);
    let local = TestHall::open().await;
    let bob = local.agent("bob").await;
    let owner = local.owner();
    required(&owner, "POST", &at(&bob), &ask("x", &address())).await;
    assert_eq!(owner.get(&at(&bob)).await.ok(200), json!([]));
    // Who asked may decide: it is a person.
    let added = owner.post_approved(&at(&bob), ask("y", &address())).await;
    assert_eq!(column(&added.ok(200), "name"), ["y"]);
}

#[tokio::test]
async fn a_refused_add_asks_nobody() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    t.owner()
        .post_approved(&at(&ada), ask("taken", &address()))
        .await
        .ok(200);
    let key = t.owner().with_key(&t.key(&t.owner(), "program").await);
    let mut events = t.events();
    for by in [&ada, &key] {
        for (body, status, code) in [
            (ask("a b", &address()), 400, "VALIDATION_FAILED"),
            (
                ask("x", &json!({"transport": "stdio"})),
                400,
                "VALIDATION_FAILED",
            ),
            (
                json!({"agentId": "none", "name": "x", "connection": address()}),
                400,
                "AGENT_ID_MISMATCH",
            ),
            (ask("Guildhall", &address()), 400, "RESERVED_NAME"),
            (ask("TAKEN", &address()), 409, "DUPLICATE_NAME"),
        ] {
            by.post(&at(&ada), body).await.refused(status, code);
        }
    }
    events.none();
    assert!(waiting(&t).await.is_empty());
}

#[tokio::test]
async fn a_held_request_runs_when_it_is_granted_and_only_one_of_two_does() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let body = ask("files", &program(&t));
    let first = required(&ada, "POST", &at(&ada), &body).await;
    let token = text(&first["approvalToken"]);
    let hold = || {
        let held = ada.ask("POST", &at(&ada)).header("prefer", "wait=60");
        held.header("x-service-approval", &token).json(&body).send()
    };
    let granted = async {
        let at = format!("/api/approvals/{}", text(&first["approvalId"]));
        let approval = t.owner().get(&at).await.ok(200);
        let digest = json!({"digest": approval["digest"]});
        t.owner().post(&format!("{at}/grant"), digest).await.ok(200);
    };
    let (one, other, ()) = soon("both ends", async { tokio::join!(hold(), hold(), granted) }).await;
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses[0], 200, "{one:?} {other:?}");
    assert_ne!(statuses[1], 200, "an approval is used once");
    assert_eq!(
        column(&t.owner().get(&at(&ada)).await.ok(200), "name"),
        ["files"]
    );
}

#[tokio::test]
async fn an_approval_is_not_used_up_by_an_add_that_can_no_longer_be_done() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let body = ask("files", &program(&t));
    let first = required(&ada, "POST", &at(&ada), &body).await;
    decide(&t, &first, "grant").await;
    let token = text(&first["approvalToken"]);
    t.owner()
        .post_approved(&at(&ada), ask("FILES", &address()))
        .await
        .ok(200);
    asked(&ada, "POST", &at(&ada), &body, &token)
        .await
        .refused(409, "DUPLICATE_NAME");
    t.owner()
        .delete(&format!("{}/files", at(&ada)))
        .await
        .ok(200);
    asked(&ada, "POST", &at(&ada), &body, &token).await.ok(200);
}

#[tokio::test]
async fn a_denied_add_is_answered_so_without_asking_again() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let body = ask("files", &address());
    let first = required(&ada, "POST", &at(&ada), &body).await;
    decide(&t, &first, "deny").await;
    let details = ada
        .post(&at(&ada), body)
        .await
        .refused(403, "APPROVAL_DENIED");
    assert_eq!(details["reason"], "not this one");
    assert!(waiting(&t).await.is_empty());
}

#[tokio::test]
async fn an_agent_may_switch_off_and_on_again_only_with_a_card() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    owner
        .post_approved(&at(&ada), ask("web", &address()))
        .await
        .ok(200);
    let path = format!("{}/web", at(&ada));
    let (on, off) = (format!("{path}/enable"), format!("{path}/disable"));
    let none = json!({});
    // Also when it was the one who switched it off.
    ada.post(&off, none.clone()).await.ok(200);
    let asks = required(&ada, "POST", &on, &none).await;
    assert_eq!(asks["capability"], "mcp.update");
    let by_patch = required(&ada, "PATCH", &path, &json!({"enabled": true})).await;
    assert_eq!(
        by_patch["approvalId"], asks["approvalId"],
        "one deed, one question"
    );
    ada.patch(&path, json!({"enabled": false})).await.ok(200);
    decide(&t, &asks, "grant").await;
    let token = text(&asks["approvalToken"]);
    // What a person changes after the card was shown is not what was approved.
    let mut other = address();
    other["url"] = json!("http://127.0.0.1:9/other");
    owner
        .patch_approved(&path, json!({"connection": other}))
        .await
        .ok(200);
    let stale = asked(&ada, "POST", &on, &none, &token).await.ok(202);
    assert_eq!(stale["reason"], "wrong_action");
    decide(&t, &stale, "grant").await;
    let token = text(&stale["approvalToken"]);
    let listed = asked(&ada, "POST", &on, &none, &token).await.ok(200);
    assert_eq!(listed[0]["enabled"], true);
}

#[tokio::test]
async fn another_connection_always_needs_a_person_also_the_same_one() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    owner
        .post_approved(&at(&ada), ask("web", &address()))
        .await
        .ok(200);
    let path = format!("{}/web", at(&ada));
    let mut guess = address();
    // A right guess at a hidden value is answered like a wrong one.
    for value in [
        format!("Bearer {CANARY}"),
        "Bearer wrong".to_owned(),
        "***".to_owned(),
    ] {
        guess["headers"]["Authorization"] = json!(value);
        let asks = required(&ada, "PATCH", &path, &json!({"connection": guess})).await;
        assert_eq!(asks["capability"], "mcp.update");
    }
    for approval in waiting(&t).await {
        assert!(!approval.to_string().contains(CANARY));
        assert_eq!(approval["card"]["headerNames"], json!(["Authorization"]));
    }
    // Kept by its three stars, the value goes on without having been seen.
    let mut moved = address();
    moved["headers"]["Authorization"] = json!("***");
    moved["url"] = json!("http://127.0.0.1:9/moved");
    let body = json!({"connection": moved});
    let asks = required(&ada, "PATCH", &path, &body).await;
    decide(&t, &asks, "grant").await;
    let token = text(&asks["approvalToken"]);
    let stale = ada
        .ask("PATCH", &path)
        .header("if-match", "\"7\"")
        .header("x-service-approval", &token)
        .json(&body);
    stale.send().await.refused(412, "PRECONDITION_FAILED");
    let listed = asked(&ada, "PATCH", &path, &body, &token).await.ok(200);
    assert_eq!(listed[0]["connection"]["url"], "http://127.0.0.1:9/moved");
    let whole = owner.get(&path).await.ok(200);
    assert_eq!(whole["connection"]["headers"], address()["headers"]);
    assert!(!t.rows().contains(CANARY));
}

#[tokio::test]
async fn an_agent_removes_with_a_persons_word_and_a_program_without() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    for name in ["one", "two"] {
        owner
            .post_approved(&at(&ada), ask(name, &program(&t)))
            .await
            .ok(200);
    }
    let path = |name: &str| format!("{}/{name}", at(&ada));
    let key = owner.clone().with_key(&t.key(&owner, "program").await);
    let left = key.delete(&path("one")).await.ok(200);
    assert_eq!(column(&left, "name"), ["two"]);
    let asks = required(&ada, "DELETE", &path("two"), &Value::Null).await;
    assert_eq!(asks["capability"], "mcp.remove");
    decide(&t, &asks, "grant").await;
    let token = text(&asks["approvalToken"]);
    let left = asked(&ada, "DELETE", &path("two"), &Value::Null, &token).await;
    assert_eq!(left.ok(200), json!([]));
}

#[tokio::test]
async fn an_import_is_of_the_file_as_it_was_shown() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let import = format!("/api/agents/{}/mcp-import", ada.agent());
    let write = |value: &str| {
        let project = json!({"mcpServers": {"own": {"command": "./own", "env": {"K": value}}}});
        std::fs::write(
            format!("{}/.mcp.json", t.folder("ada")),
            project.to_string(),
        )
        .unwrap();
    };
    write(CANARY);
    let body = json!({"name": "own"});
    let asks = required(&ada, "POST", &import, &body).await;
    assert_eq!(asks["capability"], "mcp.import");
    decide(&t, &asks, "grant").await;
    let token = text(&asks["approvalToken"]);
    write("another");
    let changed = asked(&ada, "POST", &import, &body, &token).await.ok(202);
    assert_eq!(changed["reason"], "wrong_action");
    write(CANARY);
    let added = asked(&ada, "POST", &import, &body, &token).await.ok(200);
    assert_eq!(added[0]["status"], "commandMissing");
    assert!(!t.rows().contains(CANARY));
}

/// A repeat of what was done is answered as then, and asks nobody.
#[tokio::test]
async fn a_repeat_with_its_key_asks_nobody() {
    let mut t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let body = ask("files", &program(&t));
    let send = |token: &str| {
        let ask = ada.ask("POST", &at(&ada)).header("idempotency-key", "k");
        let ask = ask.header("prefer", "wait=0").json(&body);
        match token {
            "" => ask,
            token => ask.header("x-service-approval", token),
        }
        .send()
    };
    // A question is no answer that is kept: its repeat is judged anew.
    let first = send("").await.ok(202);
    assert_eq!(send("").await.ok(202)["reason"], "awaiting_decision");
    decide(&t, &first, "grant").await;
    let added = send(&text(&first["approvalToken"])).await.ok(200);
    let mut events = t.events();
    for token in ["", "gap_other", &text(&first["approvalToken"])] {
        let again = send(token).await;
        assert_eq!(again.header("idempotency-replayed"), "true");
        assert_eq!(again.ok(200), added);
    }
    events.none();
    t.restart().await;
    assert!(waiting(&t).await.is_empty());
}

#[tokio::test]
async fn an_approval_outlives_a_restart_and_its_agent_does_not() {
    let mut t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let body = ask("files", &address());
    let of_ada = required(&ada, "POST", &at(&ada), &body).await;
    let of_bob = required(&bob, "POST", &at(&bob), &body).await;
    let before = waiting(&t).await;
    t.restart().await;
    assert_eq!(waiting(&t).await, before);
    let agent = format!("/api/agents/{}", bob.agent());
    t.owner().delete(&agent).await.ok(200);
    let path = format!("/api/approvals/{}", text(&of_bob["approvalId"]));
    assert_eq!(t.owner().get(&path).await.ok(200)["state"], "withdrawn");
    decide(&t, &of_ada, "grant").await;
    let token = text(&of_ada["approvalToken"]);
    asked(&ada, "POST", &at(&ada), &body, &token).await.ok(200);
}
