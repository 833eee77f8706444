//! Offers and billing pages: what the service says, what is said in its place, and that nothing
//! leaves where this instance is not linked. Source: contract 5.11 and 5.14, 11 to 13.

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::cloud_service_stub::{CloudServiceStub, becomes, linked};

const CHECKOUT: &str = "/api/cloud/billing/checkout";

async fn open(t: &TestHall, page: &str, body: Value) -> Value {
    let path = format!("/api/cloud/billing/{page}");
    let answer = t.owner().post(&path, body).await;
    assert_eq!(answer.header("cache-control"), "no-store");
    answer.ok(200)
}

#[tokio::test]
async fn nothing_leaves_where_this_instance_is_not_linked() {
    let cloud = CloudServiceStub::start().await;
    for (options, sentence) in [
        (
            guildhall_testkit::HallOptions::default(),
            "No cloud service is set up. Nothing here needs one.",
        ),
        (
            cloud.options(),
            "This instance is not linked to an account of the cloud service.",
        ),
    ] {
        let t = TestHall::open_with(options).await;
        let offers = t.owner().get("/api/cloud/offers").await;
        assert_eq!(offers.header("cache-control"), "no-store");
        let nothing = json!({"available": false, "offers": [], "denomination": null});
        assert_eq!(offers.ok(200), nothing);
        for (page, body) in [
            ("portal", json!({})),
            ("topup", json!({"any": "thing"})),
            ("checkout", json!({"skuId": "price_1"})),
        ] {
            let said = json!({"ok": false, "message": sentence});
            assert_eq!(open(&t, page, body).await, said);
        }
    }
    assert_eq!(cloud.requests(), 0);
}

#[tokio::test]
async fn a_key_that_is_refused_at_a_page_is_looked_into_at_once() {
    let cloud = CloudServiceStub::start().await;
    let t = linked(&cloud).await;
    // The service was heard a moment ago, and a check would not ask it again.
    cloud.close();
    let said = open(&t, "portal", json!({})).await;
    assert_eq!(said["ok"], false);
    becomes(&t, "unlinked").await;
}

#[tokio::test]
async fn offers_are_told_in_the_order_and_words_of_the_service() {
    let cloud = CloudServiceStub::start().await;
    let t = linked(&cloud).await;
    let nothing = json!({"available": false, "offers": [], "denomination": null});
    assert_eq!(t.owner().get("/api/cloud/offers").await.ok(200), nothing);
    let offer = |sku: &str, interval: &str| {
        json!({"skuId": sku, "planId": "team", "displayName": "Team", "interval": interval,
            "amountMicro": "12000000", "limits": {"seats": 5}})
    };
    let all = json!([
        offer("price_2", "year"),
        offer("price_1", "month"),
        offer("c", "once")
    ]);
    let denomination = json!({"currency": "EUR", "microPerCredit": "10000"});
    cloud.offers(json!({"offers": all, "denomination": denomination}));
    assert_eq!(
        t.owner().get("/api/cloud/offers").await.ok(200),
        json!({"available": true, "offers": all, "denomination": denomination})
    );
    // One that sells nothing has nothing to be counted in either.
    cloud.offers(json!({"offers": [], "denomination": denomination}));
    assert_eq!(t.owner().get("/api/cloud/offers").await.ok(200), nothing);
    for wrong in [
        json!({"offers": [offer("price_1", "fortnight")]}),
        json!({"offers": "none"}),
        json!([]),
    ] {
        cloud.offers(wrong);
        let answer = t.owner().get("/api/cloud/offers").await;
        assert_eq!(answer.header("cache-control"), "no-store");
        answer.refused(502, "CLOUD_ANSWER_INVALID");
    }
}

#[tokio::test]
async fn a_billing_page_is_an_address_or_says_why_not() {
    let cloud = CloudServiceStub::start().await;
    let t = linked(&cloud).await;
    let json_type = "application/json";
    cloud.page(200, json_type, json!({"url": "https://pay.example/s/1"}));
    let mut log = t.events();
    let paid = open(&t, "checkout", json!({"skuId": "price_1"})).await;
    let opened = json!({"page": "checkout", "outcome": "url"});
    assert_eq!(log.next("cloud_billing_opened"), opened);
    assert_eq!(paid, json!({"ok": true, "url": "https://pay.example/s/1"}));
    assert_eq!(cloud.last("/v1/checkout"), r#"{"skuId":"price_1"}"#);
    let there = json!({"ok": true, "url": "https://pay.example/s/1"});
    assert_eq!(open(&t, "topup", json!({"amount": 5})).await, there);
    assert_eq!(cloud.last("/v1/topup"), "{}");
    // The service is on this computer, so that an address here is one, too.
    cloud.page(200, json_type, json!({"url": "http://127.0.0.1:9/pay"}));
    assert_eq!(open(&t, "portal", json!({})).await["ok"], true);
    let sentence = |said: &Value| said["message"].as_str().unwrap_or_default().to_owned();
    for wrong in [
        "javascript:alert(1)",
        "data:text/html,x",
        "http://pay.example/",
        "https://a:b@pay.example/",
        "",
    ] {
        cloud.page(200, json_type, json!({ "url": wrong }));
        let said = open(&t, "portal", json!({})).await;
        assert_eq!(said["ok"], false, "{wrong}");
        assert!(sentence(&said).contains("nothing that can be opened"));
        assert!(wrong.is_empty() || !said.to_string().contains(wrong));
    }
    cloud.page(
        404,
        "application/problem+json",
        json!({"code": "NOT_FOUND"}),
    );
    assert!(sentence(&open(&t, "portal", json!({})).await).contains("no plan yet"));
    assert!(sentence(&open(&t, "topup", json!({})).await).contains("no credits"));
    cloud.page(503, "text/html", json!("<b>secret of the upstream</b>"));
    let said = open(&t, "portal", json!({})).await;
    assert!(sentence(&said).contains("could not be reached"));
    assert!(!json!(log.all()).to_string().contains("pay.example"));
}

#[tokio::test]
async fn a_problem_of_the_service_is_handed_on_word_for_word() {
    let cloud = CloudServiceStub::start().await;
    let t = linked(&cloud).await;
    let problem = json!({"type": "about:blank", "title": "Not yet", "status": 409,
        "detail": "Verify your e-mail first.", "instance": "/p/1", "code": "CONFLICT",
        "requiredPlanId": "team", "actionUrl": "https://cloud.example/verify",
        "actionLabel": "Verify", "unknown": {"member": 1}});
    let media_type = "application/problem+json; charset=utf-8";
    cloud.page(409, media_type, problem.clone());
    let said = open(&t, "portal", json!({})).await;
    assert_eq!(said, json!({"ok": false, "problem": problem}));
    let mut bad = problem.clone();
    bad["actionUrl"] = json!("javascript:alert(1)");
    cloud.page(503, media_type, bad.clone());
    assert_eq!(
        open(&t, "portal", json!({})).await,
        json!({"ok": false, "problem": bad})
    );
    let mut long = problem;
    long["detail"] = json!("x".repeat(16 << 10));
    cloud.page(409, media_type, long);
    assert!(open(&t, "portal", json!({})).await["message"].is_string());
}

#[tokio::test]
async fn a_page_is_looked_at_before_its_body_and_a_checkout_names_its_offer() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let answer = owner
        .ask("POST", "/api/cloud/billing/other")
        .body("{")
        .send()
        .await;
    assert_eq!(answer.header("cache-control"), "no-store");
    answer.refused(404, "BILLING_PAGE_NOT_FOUND");
    let post = async |body: Value| owner.post(CHECKOUT, body).await;
    for wrong in [
        json!({}),
        json!({"skuId": ""}),
        json!({"skuId": 5}),
        json!({"skuId": "x".repeat(201)}),
    ] {
        let answer = post(wrong).await;
        assert_eq!(answer.header("cache-control"), "no-store");
        answer.refused(400, "VALIDATION_FAILED");
    }
    // Whatever the page, a body is an object.
    for page in ["portal", "topup", "checkout"] {
        let path = format!("/api/cloud/billing/{page}");
        for wrong in [json!([1]), json!("x"), Value::Null] {
            let answer = owner.post(&path, wrong).await;
            answer.refused(400, "VALIDATION_FAILED");
        }
    }
    // An absent body is an empty one.
    owner
        .ask("POST", CHECKOUT)
        .send()
        .await
        .refused(400, "VALIDATION_FAILED");
    let portal = owner
        .ask("POST", "/api/cloud/billing/portal")
        .send()
        .await
        .ok(200);
    assert_eq!(portal["ok"], false);
}
