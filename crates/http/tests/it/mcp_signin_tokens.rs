//! Tokens of sign-ins at work: what connections to tool servers show.
//! Source: contract 4.8, "refresh" and "outgoing header".

use guildhall_testkit::until;
use serde_json::{Value, json};

use crate::{
    mcp_gateway::told,
    mcp_signin::AgentWithSigninServer,
    sessions,
    signin_server_stub::{RecordedRequest, SigninServerStub},
    test_values::text,
};

async fn tools(scene: &AgentWithSigninServer) -> Value {
    told(&scene.ada, "web", "tools/list", json!({})).await
}

/// What the server was asked, and how often it was greeted.
fn heard(place: &SigninServerStub) -> (Vec<RecordedRequest>, usize) {
    let asked = place.asked_of("POST /mcp");
    let is_greeting = |one: &&RecordedRequest| one.body.contains("\"initialize\"");
    let greetings = asked.iter().filter(is_greeting).count();
    (asked, greetings)
}

#[tokio::test]
async fn a_connection_shows_the_token_of_today_and_ends_with_the_sign_in() {
    let scene = AgentWithSigninServer::signed_in().await;
    let session = sessions::open(&scene.t.owner(), &scene.ada, json!({})).await;
    scene.t.bind_tokens(&scene.ada, &text(&session["id"]));
    assert_eq!(tools(&scene).await["result"]["tools"][0]["name"], "read");
    let (asked, greetings) = heard(&scene.place);
    assert_eq!(
        asked.last().unwrap().authorization,
        "Bearer canary-access-1"
    );
    scene.t.advance(3_541);
    assert_eq!(tools(&scene).await["result"]["tools"][0]["name"], "read");
    let (asked, now) = heard(&scene.place);
    assert_eq!(
        asked.last().unwrap().authorization,
        "Bearer canary-access-2"
    );
    assert_eq!(now, greetings, "the connection is the same");
    let path = format!("{}/signin", scene.server());
    let answer: Value = scene.t.owner().delete(&path).await.ok(200);
    assert_eq!(answer, json!({"signedOut": true}));
    let refused = tools(&scene).await;
    assert_eq!(refused["error"]["data"]["code"], "NEEDS_SIGN_IN");
    assert_eq!(heard(&scene.place).0.len(), asked.len());
    let started = scene.start(&scene.ada).await;
    let away = scene.sent(&started).await;
    assert_eq!(scene.back(&away, "code=good").await.status, 200);
    assert_eq!(tools(&scene).await["result"]["tools"][0]["name"], "read");
    let (asked, _) = heard(&scene.place);
    assert_eq!(
        asked.last().unwrap().authorization,
        "Bearer canary-access-3"
    );
}

#[tokio::test]
async fn a_call_that_wants_more_than_the_sign_in_allows_leads_to_a_wider_one() {
    let scene = AgentWithSigninServer::signed_in().await;
    let session = sessions::open(&scene.t.owner(), &scene.ada, json!({})).await;
    scene.t.bind_tokens(&scene.ada, &text(&session["id"]));
    let params = json!({"name": "read", "arguments": {}});
    scene.place.wants_scope(Some("tools write"));
    let refused = told(&scene.ada, "web", "tools/call", params.clone()).await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert_eq!(scene.entry().await["authStatus"], "needs-auth");
    // The tools can still be listed with the token there is, which says nothing of calls.
    let started = scene.start(&scene.ada).await;
    assert_eq!(started["alreadyConnected"], false);
    let away = scene.sent(&started).await;
    assert_eq!(away.parameter("scope"), "tools+write");
    scene.place.wants_scope(None);
    assert_eq!(scene.back(&away, "code=wide").await.status, 200);
    let answer = told(&scene.ada, "web", "tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    let started = scene.start(&scene.ada).await;
    assert_eq!(started["alreadyConnected"], true);
}

#[tokio::test]
async fn a_sign_in_of_meanwhile_outlives_the_refresh_of_the_one_before() {
    let refused = (400, json!({"error": "invalid_grant"}));
    for answer in [Some(refused), None] {
        let scene = AgentWithSigninServer::signed_in().await;
        scene.t.advance(3_590);
        scene.place.holds(Some("grant_type=refresh_token"));
        let signing = async {
            let is_asked = || scene.place.asked_of("POST /token").len() == 2;
            until("the refresh", is_asked).await;
            let path = format!("{}/signin", scene.server());
            let _: Value = scene.t.owner().delete(&path).await.ok(200);
            let started = scene.start(&scene.ada).await;
            let away = scene.sent(&started).await;
            assert_eq!(scene.back(&away, "code=good").await.status, 200);
            if let Some((status, body)) = &answer {
                scene.place.answers("/token", *status, body.clone());
            }
            scene.place.holds(None);
        };
        futures_util::future::join(scene.test(), signing).await;
        assert_eq!(scene.entry().await["authStatus"], "connected", "{answer:?}");
        assert_eq!(scene.test().await["ok"], true);
        let (asked, _) = heard(&scene.place);
        let shown = &asked.last().unwrap().authorization;
        assert_eq!(shown, "Bearer canary-access-2", "{answer:?}");
    }
}

#[tokio::test]
async fn a_sign_in_that_the_server_takes_after_all_is_taken_up_again() {
    let scene = AgentWithSigninServer::signed_in().await;
    let session = sessions::open(&scene.t.owner(), &scene.ada, json!({})).await;
    scene.t.bind_tokens(&scene.ada, &text(&session["id"]));
    scene.place.answers("/mcp", 401, json!({}));
    let refused = tools(&scene).await;
    assert_eq!(refused["error"]["data"]["code"], "NEEDS_SIGN_IN");
    assert_eq!(scene.entry().await["status"], "needsSignIn");
    scene.place.answers_as_usual("/mcp");
    let started = scene.start(&scene.ada).await;
    assert_eq!(started["alreadyConnected"], true);
    let now = scene.entry().await;
    assert_eq!(
        (&now["status"], &now["authStatus"]),
        (&json!("ready"), &json!("connected"))
    );
    assert_eq!(tools(&scene).await["result"]["tools"][0]["name"], "read");
}

#[tokio::test]
async fn what_a_server_has_for_those_who_signed_in_is_held_against_what_was_approved() {
    let scene = AgentWithSigninServer::signed_in().await;
    let path = format!("{}/signin", scene.server());
    let _: Value = scene.t.owner().delete(&path).await.ok(200);
    scene.place.rewords("another one");
    let started = scene.start(&scene.ada).await;
    let away = scene.sent(&started).await;
    assert_eq!(scene.back(&away, "code=good").await.status, 200);
    let now = scene.entry().await;
    assert_eq!(
        (&now["status"], &now["authStatus"]),
        (&json!("needsApproval"), &json!("connected"))
    );
    let question = text(&now["approvalId"]);
    let path = format!("/api/approvals/{question}");
    let card = scene.t.owner().get(&path).await.ok(200);
    assert_eq!(card["kind"], "repin");
}

#[tokio::test]
async fn signing_out_answers_no_question_to_a_person() {
    let scene = AgentWithSigninServer::signed_in().await;
    scene.place.rewords("another one");
    assert_eq!(scene.test().await["pinChanged"], true);
    let held = scene.entry().await;
    let path = format!("{}/signin", scene.server());
    let _: Value = scene.t.owner().delete(&path).await.ok(200);
    let now = scene.entry().await;
    assert_eq!(
        json!([now["status"], now["authStatus"], now["approvalId"]]),
        json!(["needsApproval", "needs-auth", held["approvalId"]])
    );
}
