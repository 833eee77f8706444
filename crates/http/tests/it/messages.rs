//! Messages of sessions: sending, the queue, and the pages of what was said.
//! No agent starts here, so that what is sent waits, held until a person acts.
//! Source: contract 3.5, 3.6.1, 3.6.2.

use guildhall_testkit::{EventLog, TestCaller, TestHall, until};
use serde_json::{Value, json};

use crate::{
    sessions::{at, open},
    test_values::{column, text},
};

const NOWHERE: &str = "7d0a4be9-1b2c-4d3e-8f90-a1b2c3d4e5f6";

/// Sends `content` and waits until the agent failed to start.
async fn send(by: &TestCaller, log: &mut EventLog, session: &str, content: &str) -> Value {
    let path = format!("{session}/messages");
    let sent = by.post(&path, json!({"content": content})).await.ok(202);
    let mut state = Value::Null;
    until("the failed start", || {
        for event in log.all() {
            if event["type"] == "session_updated" {
                state = event["data"]["session"]["state"].clone();
            }
        }
        state == "failed"
    })
    .await;
    sent
}

async fn queue(by: &TestCaller, session: &str) -> Vec<Value> {
    let queue = by.get(&format!("{session}/queue")).await.ok(200);
    queue["queue"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_an_agent_that_does_not_start_was_sent_waits_in_order_and_can_be_changed() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let opened = open(&owner, &ada, json!({})).await;
    let session = at(&opened);
    let mut log = t.events();
    let first = send(&owner, &mut log, &session, "one").await;
    assert_eq!(
        (
            &first["outcome"],
            &first["queuePosition"],
            &first["sessionId"]
        ),
        (&json!("started"), &json!(1), &opened["id"])
    );
    let failed = owner.get(&session).await.ok(200);
    assert_eq!(
        (&failed["state"], &failed["queuedCount"]),
        (&json!("failed"), &json!(1))
    );
    assert_ne!(failed["stateReason"], "");
    let second = send(&owner, &mut log, &session, " two\r\n").await;
    assert_eq!(
        (&second["outcome"], &second["queuePosition"]),
        (&json!("queued"), &json!(2))
    );
    let waiting = queue(&owner, &session).await;
    for (message, (sent, content)) in waiting.iter().zip([(&first, "one"), (&second, " two\r\n")]) {
        assert_eq!(message["id"], sent["messageId"]);
        assert_eq!(message["content"], content, "byte for byte");
        assert_eq!(message["enqueuedBy"], owner.author());
    }
    assert_eq!(queue(&ada, &session).await, waiting);
    let one = format!("{session}/queue/{}", text(&first["messageId"]));
    let reworded = owner.patch(&one, json!({"content": "uno"})).await.ok(200);
    assert_eq!(column(&reworded["queue"], "content"), ["uno", " two\r\n"]);
    let left = owner.delete(&one).await.ok(200);
    assert_eq!(column(&left["queue"], "content"), [" two\r\n"]);
    for answer in [
        owner.delete(&one).await,
        owner.patch(&one, json!({"content": "x"})).await,
        owner.delete(&format!("{session}/queue/x")).await,
    ] {
        answer.refused(404, "QUEUED_MESSAGE_NOT_FOUND");
    }
    // Nothing that waits was said yet.
    let said = owner.get(&format!("{session}/messages")).await.ok(200);
    assert_eq!(said, json!({"messages": [], "nextCursor": null}));
}

#[tokio::test]
async fn sending_is_refused_in_the_order_of_the_table() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let opened = at(&open(&owner, &ada, json!({})).await);
    let closed = at(&open(&owner, &ada, json!({})).await);
    owner.delete(&closed).await.ok(200);
    let nowhere = format!("/api/sessions/{NOWHERE}");
    let long = "x".repeat(100_001);
    for (session, ask, status, code) in [
        (nowhere.as_str(), json!({}), 400, "VALIDATION_FAILED"),
        (&nowhere, json!({"content": ""}), 400, "VALIDATION_FAILED"),
        (
            &nowhere,
            json!({"content": " \n"}),
            400,
            "VALIDATION_FAILED",
        ),
        (&nowhere, json!({"content": long}), 400, "VALIDATION_FAILED"),
        (
            &closed,
            json!({"content": "x", "attachments": ["a"]}),
            400,
            "VALIDATION_FAILED",
        ),
        (
            "/api/sessions/x",
            json!({"content": "x"}),
            400,
            "VALIDATION_FAILED",
        ),
        (&nowhere, json!({"content": "x"}), 404, "SESSION_NOT_FOUND"),
        (&closed, json!({"content": "x"}), 409, "SESSION_CLOSED"),
    ] {
        let path = format!("{session}/messages");
        owner.post(&path, ask).await.refused(status, code);
    }
    let path = format!("{opened}/messages");
    let ask = json!({"content": "x", "attachments": []});
    ada.post(&path, ask.clone())
        .await
        .refused(403, "HUMANS_ONLY");
    for _ in 0..50 {
        owner.post(&path, ask.clone()).await.ok(202);
    }
    owner.post(&path, ask).await.refused(409, "QUEUE_FULL");
}

#[tokio::test]
async fn a_message_sent_again_under_its_key_waits_once() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let session = at(&open(&owner, &ada, json!({})).await);
    let path = format!("{session}/messages");
    let send = async || {
        let ask = owner.ask("POST", &path).json(&json!({"content": "once"}));
        ask.header("idempotency-key", "k").send().await
    };
    let first = send().await.ok(202);
    let again = send().await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.ok(202), first);
    assert_eq!(queue(&owner, &session).await.len(), 1);
}

#[tokio::test]
async fn a_stop_with_nothing_running_takes_what_waits_unless_it_shall_stay() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let session = at(&open(&owner, &ada, json!({})).await);
    let mut log = t.events();
    send(&owner, &mut log, &session, "one").await;
    let path = format!("{session}/cancel");
    for (ask, dropped, left) in [
        (json!({"keepQueue": true}), 0, 1),
        (json!({}), 1, 0),
        (json!({}), 0, 0),
    ] {
        let answer = owner.post(&path, ask).await.ok(200);
        assert_eq!(answer, json!({"ok": false, "cancelledQueued": dropped}));
        assert_eq!(queue(&owner, &session).await.len(), left);
    }
}

#[tokio::test]
async fn pages_begin_with_what_was_said_last_and_each_is_oldest_first() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let session = t.session(&ada);
    t.seed_agent_text(&session, 5);
    let path = format!("/api/sessions/{}/messages", session.id);
    let words = |page: &Value| -> Vec<String> {
        let messages = page["messages"].as_array().unwrap();
        let word = |message: &Value| text(&message["parts"][0]["text"]);
        messages.iter().map(word).collect()
    };
    for caller in [&t.owner(), &ada] {
        let (mut query, mut pages) = ("?limit=2".to_owned(), Vec::new());
        loop {
            let page = caller.get(&format!("{path}{query}")).await.ok(200);
            pages.push(words(&page));
            match page["nextCursor"].as_str() {
                Some(next) => query = format!("?limit=2&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(pages, [vec!["4", "5"], vec!["2", "3"], vec!["1"]]);
    }
    let whole = t.owner().get(&format!("{path}?limit=5")).await;
    let tag = whole.header("etag").to_owned();
    let whole = whole.ok(200);
    assert_eq!(words(&whole), ["1", "2", "3", "4", "5"]);
    assert_eq!(whole["nextCursor"], Value::Null);
    let ask = t.owner().ask("GET", &format!("{path}?limit=5"));
    assert_eq!(ask.header("if-none-match", &tag).send().await.status, 304);
    for query in ["?cursor=x", "?limit=0", "?limit=201"] {
        let refused = t.owner().get(&format!("{path}{query}")).await;
        refused.refused(400, "VALIDATION_FAILED");
    }
    let bob = t.agent("bob").await;
    bob.get(&path).await.refused(404, "SESSION_NOT_FOUND");
}
