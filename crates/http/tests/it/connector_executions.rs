//! Running operations: in which order what is asked is checked, and what comes of it.
//! Source: contract 5.6, 5.7 and 5.14.

use guildhall_testkit::{TestCaller, TestHall, TestResponse};
use serde_json::{Value, json};

use crate::{
    connector_fixtures::{RUN, apply, grant, program, review, revision, running, scripted},
    test_values::{column, list, text},
};

const FROM_CLI: &str = "/api/connectors/cli/executions";

async fn run(
    by: &TestCaller,
    agent: &TestCaller,
    on: &str,
    revision: &str,
    with: Value,
) -> TestResponse {
    by.post(RUN, running(agent, on, revision, &with)).await
}

#[tokio::test]
async fn an_operation_that_is_granted_runs_and_is_told() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let review = grant(&t, &connection, &ada, &["list_notes"]).await;
    let read = revision(&review, "list_notes");
    let mut events = t.events();
    let body = running(&ada, &connection, &read, &json!({}));
    let ran = t.owner().post(FROM_CLI, body).await.ok(200);
    let id = text(&ran["logicalOperationId"]);
    assert_eq!(ran["attemptCount"], 1);
    assert_eq!(ran["result"]["status"], "success");
    assert_eq!(ran["result"].get("dataOmitted"), None);
    assert_eq!(list(&ran["result"]["data"]["notes"]).len(), 2);
    let all = events.all();
    let told: Vec<_> = all.iter().map(|event| &event["data"]).collect();
    let about = json!({"logicalOperationId": id, "agentId": ada.agent(),
        "connectionId": connection, "operationRevisionId": read, "surface": "cli", "attempt": 1});
    let mut over = about.clone();
    over["status"] = json!("success");
    over["code"] = Value::Null;
    over["attemptCount"] = json!(1);
    assert_eq!(told, [&about, &over]);
}

#[tokio::test]
async fn a_no_and_a_lost_answer_are_results() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let review = grant(&t, &connection, &ada, &["list_notes", "add_note"]).await;
    let (read, write) = (
        revision(&review, "list_notes"),
        revision(&review, "add_note"),
    );
    for (id, with, status, code) in [
        (
            &read,
            json!({"play": "error"}),
            "error",
            "PROVIDER_TOOL_ERROR",
        ),
        (
            &read,
            json!({"play": "lost"}),
            "error",
            "PROVIDER_UNREACHABLE",
        ),
        (
            &write,
            json!({"text": "a", "play": "lost"}),
            "outcome_unknown",
            "PROVIDER_OUTCOME_UNKNOWN",
        ),
    ] {
        let ran = run(&t.owner(), &ada, &connection, id, with).await.ok(200);
        assert_eq!(ran["attemptCount"], 1);
        assert_eq!(ran["result"]["status"], status);
        assert_eq!(ran["result"]["code"], code);
        assert_eq!(ran["result"]["data"], Value::Null);
        assert!(!text(&ran["result"]["message"]).is_empty());
    }
}

#[tokio::test]
async fn what_stands_against_it_is_told_in_the_order_of_the_checks() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let owner = t.owner();
    let connection = scripted(&t).await;
    let review = grant(&t, &connection, &ada, &["add_note"]).await;
    let (read, write) = (
        revision(&review, "list_notes"),
        revision(&review, "add_note"),
    );
    let wrong = json!({"agentId": "", "connectionId": 1, "arguments": [], "more": 1});
    let refused = owner
        .post(RUN, wrong)
        .await
        .refused(400, "VALIDATION_FAILED");
    let fields = crate::test_values::wrong_fields(&refused);
    let expected = [
        "agentId",
        "arguments",
        "connectionId",
        "more",
        "operationRevisionId",
    ];
    assert_eq!(fields, expected);
    let fits = json!({"text": "a"});
    let at = |agent: &str, on: &str, revision: &str| {
        json!({"agentId": agent, "connectionId": on, "operationRevisionId": revision,
            "arguments": {"text": 1}})
    };
    for (body, status, code) in [
        (at("x", "x", "x"), 404, "AGENT_NOT_FOUND"),
        (
            at(ada.agent(), "x", &write),
            404,
            "CONNECTOR_TARGET_NOT_FOUND",
        ),
        (
            at(ada.agent(), &connection, "x"),
            404,
            "CONNECTOR_TARGET_NOT_FOUND",
        ),
        (
            at(ada.agent(), &connection, &read),
            403,
            "CONNECTOR_GRANT_REQUIRED",
        ),
        (
            at(bob.agent(), &connection, &write),
            403,
            "CONNECTOR_GRANT_REQUIRED",
        ),
        (
            at(ada.agent(), &connection, &write),
            422,
            "CONNECTOR_ARGUMENTS_INVALID",
        ),
    ] {
        owner.post(RUN, body).await.refused(status, code);
    }
    run(&owner, &ada, &connection, &write, fits.clone())
        .await
        .ok(200);
    let pause = format!("/api/connectors/connections/{connection}/pause");
    owner.post(&pause, json!({})).await.ok(200);
    let refused = run(&owner, &bob, &connection, &write, json!({})).await;
    let refused = refused.refused(409, "CONNECTOR_NOT_EXECUTABLE");
    assert_eq!(refused["readiness"]["state"], "paused");
}

#[tokio::test]
async fn arguments_that_need_a_default_or_a_conversion_are_refused() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let review = grant(&t, &connection, &ada, &["add_note"]).await;
    let write = revision(&review, "add_note");
    let mut events = t.events();
    for (with, pointer) in [
        (json!({}), ""),
        (json!({"text": 1}), "/text"),
        (json!({"text": "a", "play": "maybe"}), "/play"),
        (json!({"text": "a", "more": true}), ""),
    ] {
        let refused = run(&t.owner(), &ada, &connection, &write, with).await;
        let refused = refused.refused(422, "CONNECTOR_ARGUMENTS_INVALID");
        assert_eq!(column(&refused["problems"], "pointer"), [pointer]);
    }
    events.none();
}

#[tokio::test]
async fn a_repeat_with_its_key_runs_nothing_and_says_the_same() {
    let mut t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let review = grant(&t, &connection, &ada, &["add_note"]).await;
    let write = revision(&review, "add_note");
    let body = running(
        &ada,
        &connection,
        &write,
        &json!({"text": "a", "play": "lost"}),
    );
    let ask = |by: TestCaller, body: Value| async move {
        let ask = by.ask("POST", RUN).header("idempotency-key", "k1");
        ask.json(&body).send().await
    };
    let first = ask(t.owner(), body.clone()).await.ok(200);
    assert_eq!(first["result"]["status"], "outcome_unknown");
    t.restart().await;
    let mut events = t.events();
    let again = ask(t.owner(), body).await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.ok(200), first);
    events.none();
    let other = running(&ada, &connection, &write, &json!({"text": "b"}));
    ask(t.owner(), other)
        .await
        .refused(422, "IDEMPOTENCY_KEY_REUSED");
}

#[tokio::test]
async fn a_program_needs_a_persons_word_for_what_destroys_and_a_person_does_not() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let review = grant(&t, &connection, &ada, &["clear_notes"]).await;
    let destroy = revision(&review, "clear_notes");
    let program = program(&t, "script").await;
    let body = running(&ada, &connection, &destroy, &json!({}));
    let ask = |body: Value, token: String| {
        let ask = program.ask("POST", RUN).header("prefer", "wait=0");
        let ask = match token.as_str() {
            "" => ask,
            token => ask.header("x-service-approval", token),
        };
        async move { ask.json(&body).send().await }
    };
    let required = ask(body.clone(), String::new()).await.ok(202);
    assert_eq!(required["capability"], "connectors.execute");
    let path = format!("/api/approvals/{}", text(&required["approvalId"]));
    let approval = t.owner().get(&path).await.ok(200);
    assert_eq!(approval["card"]["operation"], "clear_notes");
    assert_eq!(approval["card"]["arguments"], json!({}));
    let digest = json!({"digest": approval["digest"]});
    t.owner()
        .post(&format!("{path}/grant"), digest)
        .await
        .ok(200);
    let token = text(&required["approvalToken"]);
    let other = running(&ada, &connection, &destroy, &json!({"play": "error"}));
    let another = ask(other, token.clone()).await.ok(202);
    assert_eq!(another["reason"], "wrong_action");
    let ran = ask(body.clone(), token.clone()).await.ok(200);
    assert_eq!(ran["result"]["status"], "success");
    let used = ask(body.clone(), token).await.ok(202);
    assert_eq!(used["reason"], "already_used");
    t.owner().post(RUN, body).await.ok(200);
}

#[tokio::test]
async fn what_was_allowed_and_is_allowed_no_more_is_not_sent() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let first = grant(&t, &connection, &ada, &["clear_notes"]).await;
    let destroy = revision(&first, "clear_notes");
    let program = program(&t, "script").await;
    let body = running(&ada, &connection, &destroy, &json!({}));
    let held = program.ask("POST", RUN).json(&body).send();
    let deciding = async {
        let pending = || async { t.owner().get("/api/approvals").await.ok(200) };
        let mut listed = pending().await;
        while list(&listed["approvals"]).is_empty() {
            tokio::task::yield_now().await;
            listed = pending().await;
        }
        // The grant is taken away while a person looks at the card.
        let second = review(&t, &connection).await;
        apply(&t, &second, json!({"grants": []})).await.ok(200);
        let approval = &listed["approvals"][0];
        let path = format!("/api/approvals/{}/grant", text(&approval["id"]));
        let digest = json!({"digest": approval["digest"]});
        t.owner().post(&path, digest).await.ok(200);
        text(&approval["id"])
    };
    let (answer, approval) = tokio::join!(held, deciding);
    answer.refused(409, "CONNECTOR_AUTHORITY_CHANGED");
    let path = format!("/api/approvals/{approval}");
    let approval = t.owner().get(&path).await.ok(200);
    assert_eq!(approval["state"], "granted", "it is not used up");
    let used = t.owner().get("/api/connectors/usage").await.ok(200);
    assert_eq!(used["attempts"], json!([]));
}

#[tokio::test]
async fn usage_lists_attempts_without_arguments_and_a_program_sees_its_own() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let connection = scripted(&t).await;
    let review = review(&t, &connection).await;
    let id = revision(&review, "add_note");
    let body = json!({"grants": [], "everyAgent": [id]});
    apply(&t, &review, body).await.ok(200);
    let (program, other) = (program(&t, "one").await, program(&t, "two").await);
    let said = json!({"text": "canary-argument"});
    run(&t.owner(), &ada, &connection, &id, said.clone())
        .await
        .ok(200);
    run(&program, &bob, &connection, &id, said).await.ok(200);
    let path = "/api/connectors/usage";
    let all = t.owner().get(path).await.ok(200);
    assert_eq!(
        column(&all["attempts"], "agentId"),
        [bob.agent(), ada.agent()]
    );
    assert_eq!(column(&all["attempts"], "status"), ["success", "success"]);
    assert_eq!(
        column(&all["attempts"], "classification"),
        ["write", "write"]
    );
    let of_ada = format!("{path}?agentId={}&connectionId={connection}", ada.agent());
    let of_ada = t.owner().get(&of_ada).await.ok(200);
    assert_eq!(list(&of_ada["attempts"]).len(), 1);
    let own = program.get(path).await.ok(200);
    assert_eq!(column(&own["attempts"], "agentId"), [bob.agent()]);
    assert_eq!(other.get(path).await.ok(200)["attempts"], json!([]));
    let first = t.owner().get(&format!("{path}?limit=1")).await.ok(200);
    assert_eq!(first["attempts"], json!([all["attempts"][0]]));
    let next = format!("{path}?limit=1&cursor={}", text(&first["nextCursor"]));
    let second = t.owner().get(&next).await.ok(200);
    assert_eq!(second["attempts"], json!([all["attempts"][1]]));
    assert_eq!(second["nextCursor"], Value::Null);
    assert!(!t.rows().contains("canary-argument"));
}

#[tokio::test]
async fn no_agent_header_reaches_the_parser_of_a_body() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    for path in [RUN, FROM_CLI] {
        let broken = |by: &TestCaller| by.ask("POST", path).body("{").send();
        broken(&ada).await.refused(403, "OWNER_ONLY");
        let dead = broken(&t.unverifiable()).await;
        dead.refused(401, "AGENT_IDENTITY_UNVERIFIED");
    }
}
