//! The interface document as it is checked in.

/// Where the checked-in document lies.
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.json");

#[test]
fn the_checked_in_document_is_the_one_the_code_makes() {
    let made = guildhall_http::openapi::text();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(PATH, &made).unwrap();
    }
    let kept = std::fs::read_to_string(PATH).unwrap();
    assert!(
        kept == made,
        "openapi.json differs from the code: run `UPDATE_OPENAPI=1 cargo test -p guildhall-http --test it openapi`"
    );
}

#[tokio::test]
async fn the_served_document_is_the_checked_in_one() {
    let t = guildhall_testkit::TestHall::open().await;
    let served = t.stranger().get("/api/openapi.json").await.ok(200);
    let kept: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(PATH).unwrap()).unwrap();
    assert_eq!(served, kept);
}
