//! The tools for a shared tab where nothing is shared: nobody has them, and who calls one all the
//! same learns that alone. With Chromium: `guildhall/tests/it/browser_tools.rs`.

use guildhall_domain::browser::tools::BrowserTool;
use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::{
    mcp::{call, tools},
    test_values::text,
};

#[tokio::test]
async fn without_a_share_nobody_has_the_tools_of_the_browser() {
    let t = TestHall::open().await;
    let [ada, bound] = [t.agent("ada").await, t.agent("bo").await];
    let session = t.session(&bound);
    t.bind_tokens(&bound, &session.id.to_string());
    let before = t.events().place();
    for by in [&ada, &bound, &t.process_of(&ada)] {
        let listed = tools(by).await;
        let is_browser = |tool: &&Value| text(&tool["name"]).starts_with("browser_");
        assert_eq!(listed.iter().filter(is_browser).count(), 0);
        for (_, name) in BrowserTool::NAMES {
            // What it takes is told to nobody either.
            for arguments in [json!({}), json!({"ref": 1, "tabId": "x", "ms": -1})] {
                let (is_refused, body) = call(by, name, arguments).await;
                assert!(is_refused, "{name}");
                assert_eq!(body["code"], "NOT_SHARED", "{name}: {body}");
                assert_eq!(body["details"], json!({"outcome": "rejected"}));
            }
        }
    }
    let after = t.events().place();
    assert_eq!(after, before, "what nobody did is not told of");
    t.close().await;
}

#[tokio::test]
async fn the_origins_of_agents_are_origins() {
    let t = TestHall::open().await;
    let set = |origins: Value| {
        let owner = t.owner();
        async move {
            let patch = json!({ "browser.agentOrigins": origins });
            owner.patch("/api/settings", patch).await
        }
    };
    for wrong in [
        json!(["example.org"]),
        json!(["https://example.org/a"]),
        json!(["file:///etc"]),
        json!(["*"]),
        json!("https://example.org"),
    ] {
        let refused = set(wrong).await.refused(400, "VALIDATION_FAILED");
        let fields = refused["fieldErrors"].as_object().unwrap();
        assert!(fields.contains_key("browser.agentOrigins"), "{refused}");
    }
    set(json!(["https://example.org", "http://localhost:3000"]))
        .await
        .ok(200);
    set(Value::Null).await.ok(200);
    t.close().await;
}
