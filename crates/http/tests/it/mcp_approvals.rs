//! Tools that a person must allow first: held, granted, denied, taken back, and asked again with
//! their token. Source: contract 4.5, 4.9, 4.12 (4, 12).

use guildhall_testkit::{TestCaller, TestHall, soon};
use serde_json::{Value, json};

use crate::{
    mcp::call,
    test_values::{list, text},
};

fn server(name: &str) -> Value {
    json!({"name": name, "connection": {"transport": "stdio", "command": "/nonexistent/tool"}})
}

/// The one approval that waits.
async fn waiting(t: &TestHall) -> Value {
    let wait = async {
        loop {
            let found = t.owner().get("/api/approvals").await.ok(200);
            if let Some(approval) = list(&found["approvals"]).first() {
                return approval.clone();
            }
        }
    };
    soon("an approval", wait).await
}

async fn grant(t: &TestHall, approval: &Value) {
    let path = format!("/api/approvals/{}/grant", text(&approval["id"]));
    let digest = json!({"digest": approval["digest"]});
    t.owner().post(&path, digest).await.ok(200);
}

async fn names(by: &TestCaller) -> Vec<String> {
    let (is_refused, listed) = call(by, "mcp_list_servers", json!({})).await;
    assert!(!is_refused, "{listed}");
    let servers = list(&listed["items"]).iter();
    servers.map(|server| text(&server["name"])).collect()
}

#[tokio::test]
async fn a_held_call_does_what_a_person_allows_and_nothing_else() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let asking = call(&ada, "mcp_add_server", server("one"));
    let deciding = async {
        let approval = waiting(&t).await;
        assert_eq!(names(&ada).await, Vec::<String>::new());
        grant(&t, &approval).await;
    };
    let ((is_refused, added), ()) = tokio::join!(asking, deciding);
    assert!(!is_refused, "{added}");
    let servers = list(&added["items"]);
    assert_eq!(servers.last().unwrap()["name"], "one");
    let twin = t
        .owner()
        .get(&format!("/api/agents/{}/mcp-servers", ada.agent()))
        .await
        .ok(200);
    assert_eq!(list(&twin).len(), 1);
    assert_eq!(names(&ada).await, ["one"]);

    // What fails before anybody is asked asks nobody.
    let (is_refused, refusal) = call(&ada, "mcp_add_server", server("Guildhall")).await;
    assert!(is_refused);
    assert_eq!(refusal["code"], "RESERVED_NAME");
    let found = t.owner().get("/api/approvals").await.ok(200);
    assert_eq!(list(&found["approvals"]).len(), 0);

    // Switching off needs nobody, removing does.
    let off = json!({"name": "one", "enabled": false});
    let (is_refused, changed) = call(&ada, "mcp_update_server", off).await;
    assert!(!is_refused, "{changed}");
    assert_eq!(changed["items"][0]["enabled"], false);
    let asking = call(&ada, "mcp_remove_server", json!({"name": "one"}));
    let deciding = async { grant(&t, &waiting(&t).await).await };
    let ((is_refused, left), ()) = tokio::join!(asking, deciding);
    assert!(!is_refused, "{left}");
    assert_eq!(left, json!({"items": []}));
}

#[tokio::test]
async fn a_no_is_a_refusal_and_what_is_taken_back_is_over() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let asking = call(&ada, "mcp_add_server", server("one"));
    let deciding = async {
        let approval = waiting(&t).await;
        let path = format!("/api/approvals/{}/deny", text(&approval["id"]));
        t.owner()
            .post(&path, json!({"reason": "not here"}))
            .await
            .ok(200);
    };
    let ((is_refused, refusal), ()) = tokio::join!(asking, deciding);
    assert!(is_refused);
    assert_eq!(refusal["code"], "APPROVAL_DENIED");
    assert_eq!(refusal["details"]["reason"], "not here");

    let asking = call(&ada, "mcp_add_server", server("two"));
    let deciding = async {
        let one = json!({"approvalId": waiting(&t).await["id"]});
        let (_, standing) = call(&ada, "approval_status", one.clone()).await;
        assert_eq!(standing["state"], "pending");
        let (is_refused, of_another) = call(&bob, "approval_withdraw", one.clone()).await;
        assert!(is_refused);
        assert_eq!(of_another["code"], "APPROVAL_NOT_FOUND");
        let mut patient = one.clone();
        patient["waitSeconds"] = json!(50);
        let watching = call(&ada, "approval_status", patient);
        let taking = call(&ada, "approval_withdraw", one);
        let ((_, watched), (is_refused, taken)) = tokio::join!(watching, taking);
        assert!(!is_refused, "{taken}");
        assert_eq!(taken["approval"]["state"], "withdrawn");
        assert_eq!(watched["state"], "withdrawn");
    };
    let ((is_refused, _), ()) = tokio::join!(asking, deciding);
    assert!(is_refused);
    assert_eq!(names(&ada).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_token_makes_the_same_call_happen_and_no_other() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    // Asked over the interface, so that nothing is held.
    let path = format!("/api/agents/{}/mcp-servers", ada.agent());
    let ask = ada.ask("POST", &path).header("prefer", "wait=0");
    let required = ask.json(&server("one")).send().await.ok(202);
    grant(&t, &waiting(&t).await).await;
    let with = |name: &str, token: &Value| {
        let mut arguments = server(name);
        arguments["approvalToken"] = token.clone();
        arguments
    };
    let wrong = call(&ada, "mcp_add_server", with("one", &json!("no\ntoken"))).await;
    let (_, refusal) = wrong;
    assert!(refusal["details"]["fieldErrors"]["approvalToken"].is_array());
    let token = &required["approvalToken"];
    let (is_refused, added) = call(&ada, "mcp_add_server", with("one", token)).await;
    assert!(!is_refused, "{added}");
    assert_eq!(added["items"][0]["name"], "one");
    assert!(!added.to_string().contains(token.as_str().unwrap()));
}

/// A call with a token for its progress is answered as a stream, once there is progress to tell;
/// what is decided before that is one answer as ever.
#[tokio::test]
async fn a_call_that_wants_progress_is_answered_all_the_same() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let asking = async {
        let params = json!({"name": "mcp_add_server", "arguments": server("one"),
            "_meta": {"progressToken": "p"}});
        crate::mcp::ask(&ada, "tools/call", params).await
    };
    let deciding = async { grant(&t, &waiting(&t).await).await };
    let (result, ()) = tokio::join!(asking, deciding);
    assert_eq!(
        result["structuredContent"]["items"][0]["name"], "one",
        "{result}"
    );
}
