//! What agents' turns used. Source: contract 3.10.

use guildhall_testkit::TestHall;
use serde_json::json;

#[tokio::test]
async fn a_listing_covers_thirty_days_up_to_now_unless_it_is_named() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let listed = owner.get("/api/usage").await.ok(200);
    let expected = json!({"from": "2026-08-22T14:13:20.001Z", "to": "2026-09-21T14:13:20.001Z",
        "rows": []});
    assert_eq!(listed, expected);
    let named = "/api/usage?from=2026-01-01T00:00:00%2B01:00&to=2026-02-01T00:00:00Z&groupBy=room";
    let listed = owner.get(named).await.ok(200);
    let expected = json!({"from": "2025-12-31T23:00:00.000Z", "to": "2026-02-01T00:00:00.000Z",
        "rows": []});
    assert_eq!(listed, expected);
    for wrong in [
        "from=2026-02-01T00:00:00Z&to=2026-02-01T00:00:00Z",
        "from=2026-02-02T00:00:00Z&to=2026-02-01T00:00:00Z",
        "from=2030-01-01T00:00:00Z",
        "from=yesterday",
        "to=2026-02-01",
        "groupBy=moon",
    ] {
        let answer = owner.get(&format!("/api/usage?{wrong}")).await;
        answer.refused(400, "VALIDATION_FAILED");
    }
}
