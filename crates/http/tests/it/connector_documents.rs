//! OpenAPI documents that come in a toolkit's body: how long and how deep they may be.
//! Source: contract 5.3.

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::test_values::text;

/// A document of one operation, beside which stands `more`.
fn toolkit(more: &Value) -> Value {
    json!({"displayName": "Pets", "auth": {"kind": "none"}, "document": {
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "7"},
        "servers": [{"url": "https://pets.example/v1"}],
        "paths": {"/pets": {"get": {"operationId": "listPets"}}},
        "x-more": more,
    }})
}

#[tokio::test]
async fn a_document_is_bounded_by_its_bytes_and_depth_and_not_by_its_values() {
    let t = TestHall::open().await;
    let body = json!({"type": "openapi", "label": "Shops"});
    let made = t.owner().post("/api/connectors/providers", body).await;
    let path = format!(
        "/api/connectors/providers/{}/toolkits/pets",
        text(&made.ok(201)["id"])
    );
    let many = toolkit(&json!(vec![json!([]); 200_000]));
    let put = t.owner().put(&path, many).await.ok(200);
    assert_eq!(put["operationCount"], 1);
    let long = toolkit(&json!("x".repeat(5 << 20)));
    t.owner()
        .put(&path, long)
        .await
        .refused(413, "PAYLOAD_TOO_LARGE");
    let deep = (0..130).fold(json!(1), |inner, _| json!([inner]));
    t.owner()
        .put(&path, toolkit(&deep))
        .await
        .refused(400, "INVALID_JSON");
}
