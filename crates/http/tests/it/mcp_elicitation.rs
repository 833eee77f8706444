//! What a tool server asks people: with the call it came of it begins, and with it it ends.
//! Source: contract 4.4.

use guildhall_domain::sessions::Session;
use guildhall_testkit::{TestCaller, TestHall, TestResponse, soon, until};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    mcp_gateway::{add, hall, send},
    mcp_server_stub::{McpServerStub, tool},
};

/// Lets the server ask in a call of `ada`; answers the call and the question.
async fn asked(
    t: &TestHall,
    ada: &TestCaller,
    session: &Session,
) -> (JoinSet<TestResponse>, Value) {
    t.begin_turn(session);
    t.bind_tokens(ada, &session.id.to_string());
    let (by, mut calls) = (ada.clone(), JoinSet::new());
    calls.spawn(async move {
        let params = json!({"name": "ask", "arguments": {}});
        send(&by, "web", "tools/call", params).await
    });
    let question = soon("a question", async {
        loop {
            if let Some(question) = t.pending().await.pop() {
                return question;
            }
            tokio::task::yield_now().await;
        }
    });
    let question = question.await;
    assert_eq!(question["title"], "web asks: Who?", "{question}");
    (calls, question)
}

#[tokio::test]
async fn a_servers_question_goes_with_the_call_it_came_of() {
    let (t, ada) = hall().await;
    let there = McpServerStub::start(&[tool("ask", "a")]).await;
    add(&t, &ada, "web", &there.connection()).await;
    let session = t.session(&ada);
    let mut events = t.events();
    let (mut calls, question) = asked(&t, &ada, &session).await;
    // The server asks on as if nothing were; nobody hears its answer.
    calls.abort_all();
    while calls.join_next().await.is_some() {}
    until("the end of the call at the server", || {
        let told = there.is.told.lock().unwrap();
        told.iter()
            .any(|method| method == "notifications/cancelled")
    })
    .await;
    soon("the end of the question", async {
        while !t.pending().await.is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let resolved = events.single_event("interaction_resolved");
    assert_eq!(resolved["resolution"], "cancelled", "{resolved}");
    let late = json!({"toolCallId": question["toolCallId"], "digest": question["digest"],
        "answers": {"name": "Ada"}});
    let path = format!("/api/sessions/{}/submit-answers", session.id);
    let late = t.owner().post(&path, late).await;
    late.refused(409, "INTERACTION_ALREADY_RESOLVED");
}

#[tokio::test]
async fn a_servers_question_does_not_wait_for_an_agent_that_is_gone() {
    let (t, ada) = hall().await;
    let there = McpServerStub::start(&[tool("ask", "a")]).await;
    add(&t, &ada, "web", &there.connection()).await;
    let session = t.session(&ada);
    let (_calls, _) = asked(&t, &ada, &session).await;
    let mut events = t.events();
    t.hall().detach_session(session.id).await.unwrap();
    assert_eq!(
        events.single_event("interaction_resolved")["resolution"],
        "cancelled"
    );
    assert!(t.pending().await.is_empty());
    // The server is told, and may end its call.
    until("the server's answer", || {
        let answers = there.is.answers.lock().unwrap();
        answers
            .iter()
            .any(|answer| answer["result"]["action"] == "cancel")
    })
    .await;
}
