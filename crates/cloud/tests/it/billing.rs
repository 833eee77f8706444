//! Offers and payment pages, with a stub of the payment service.

use std::time::Duration;

use guildhall_cloud::stripe::STRIPE_WAIT;
use guildhall_testkit::stripe_stub::{StripeFault, StripeStub};
use guildhall_wire::cloud::{offers::Offers, problems::CloudProblem};
use serde_json::{Value, json};

use crate::companion::{CompanionOptions, CompanionResponse, STRIPE_KEY, TestCompanion};

/// A companion with a payment service, and the key of an instance.
pub(crate) async fn companion_with_stripe() -> (TestCompanion, StripeStub, String) {
    let stub = StripeStub::open().await;
    let (cloud, key) = paid_at(&stub.url).await;
    (cloud, stub, key)
}

/// A companion whose payment service is there, and the key of an instance.
pub(crate) async fn paid_at(url: &str) -> (TestCompanion, String) {
    let options = CompanionOptions {
        stripe: Some(url.to_owned()),
        topup_price: Some("price_topup"),
        ..CompanionOptions::default()
    };
    let cloud = TestCompanion::with(options).await;
    let key = cloud.link("ada@example.org").await;
    (cloud, key)
}

/// Asks for the page of an offer.
pub(crate) async fn checkout(cloud: &TestCompanion, key: &str, sku: &str) -> CompanionResponse {
    let ask = json!({ "skuId": sku });
    cloud
        .get_with_key("POST", "/v1/checkout", key, Some(ask))
        .await
}

#[tokio::test]
async fn offers_are_the_prices_of_offered_products_over_all_pages() {
    let (cloud, stub, key) = companion_with_stripe().await;
    let answer = cloud.get_with_key("GET", "/v1/offers", &key, None).await;
    assert_eq!(answer.header("cache-control"), "no-store");
    let offers = answer.ok();
    let offer = |id: &str, interval: &str, amount: &str| {
        json!({"skuId": id, "planId": "team", "displayName": "Team", "interval": interval,
            "amountMicro": amount, "limits": {"agents": 5}})
    };
    let expected = json!({
        "offers": [
            offer("price_month", "month", "12000000"),
            offer("price_once", "once", "99000000"),
        ],
        "denomination": {"currency": "EUR", "microPerCredit": "1000000"},
    });
    assert_eq!(offers, expected);
    serde_json::from_value::<Offers>(offers).unwrap();
    let seen = stub.seen();
    let lines: Vec<&str> = seen.iter().map(|seen| seen.line.as_str()).collect();
    let first = "GET /v1/prices?active=true&expand%5B%5D=data.product&limit=100";
    let second = format!("{first}&starting_after=price_other");
    assert_eq!(lines, [first, &second]);
    assert_eq!(
        seen[0].headers["authorization"],
        format!("Bearer {STRIPE_KEY}")
    );
    assert_eq!(seen[0].headers["stripe-version"], "2025-03-31.basil");
}

#[tokio::test]
async fn a_checkout_names_offer_customer_and_account_and_the_customer_is_made_once() {
    let (cloud, stub, key) = companion_with_stripe().await;
    let answer = checkout(&cloud, &key, "price_month").await.ok();
    assert_eq!(
        answer,
        json!({"url": "https://checkout.stripe.com/c/pay/1"})
    );
    let seen = stub.seen();
    let (made, paid) = (&seen[2], &seen[3]);
    assert_eq!((seen.len(), made.line.as_str()), (4, "POST /v1/customers"));
    let account = made.field("metadata[account_id]").unwrap();
    let origin = format!("http://{}", cloud.address);
    let expected = [
        ("mode", "subscription".to_owned()),
        ("line_items[0][price]", "price_month".to_owned()),
        ("line_items[0][quantity]", "1".to_owned()),
        ("customer", "cus_1".to_owned()),
        ("client_reference_id", account.to_owned()),
        ("success_url", format!("{origin}/billing/paid")),
        ("cancel_url", format!("{origin}/billing/left")),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    assert_eq!(paid.form, expected);
    assert_ne!(
        made.headers["idempotency-key"],
        paid.headers["idempotency-key"]
    );
    for page in ["paid", "left", "seen"] {
        cloud
            .get(&format!("/billing/{page}"))
            .await
            .shows(200, "You can close this page");
    }
    cloud.get("/billing/other").await.problem(404, "NOT_FOUND");

    checkout(&cloud, &key, "price_once").await.ok();
    let seen = stub.seen();
    assert_eq!(seen.last().unwrap().field("mode"), Some("payment"));
    assert_eq!((seen.len(), stub.customers()), (3, 1));
}

#[tokio::test]
async fn top_up_and_portal_have_their_pages() {
    let (cloud, stub, key) = companion_with_stripe().await;
    let portal = || cloud.get_with_key("POST", "/v1/portal", &key, None);
    portal().await.problem(404, "NOT_FOUND");
    assert!(stub.seen().is_empty(), "who never paid is not asked for");
    let sent = json!({"amountMicro": "5", "anything": []});
    cloud
        .get_with_key("POST", "/v1/topup", &key, Some(sent))
        .await
        .ok();
    let seen = stub.seen();
    let page = &seen[1];
    assert_eq!(page.field("mode"), Some("payment"));
    assert_eq!(page.field("line_items[0][price]"), Some("price_topup"));
    assert_eq!(
        portal().await.ok(),
        json!({"url": "https://billing.stripe.com/p/1"})
    );
    let seen = stub.seen();
    let back = format!("http://{}/billing/seen", cloud.address);
    assert_eq!(seen[0].field("customer"), Some("cus_1"));
    assert_eq!(seen[0].field("return_url"), Some(back.as_str()));
}

#[tokio::test]
async fn what_cannot_be_bought_is_a_problem() {
    let (cloud, stub, key) = companion_with_stripe().await;
    for sku in ["price_nobodys", "price_other", "price_topup"] {
        checkout(&cloud, &key, sku).await.problem(404, "NOT_FOUND");
    }
    stub.seen();
    for ask in [
        json!({}),
        json!({"skuId": ""}),
        json!({"skuId": 1}),
        json!([]),
    ] {
        let answer = cloud
            .get_with_key("POST", "/v1/checkout", &key, Some(ask))
            .await;
        answer.problem(400, "MALFORMED_REQUEST");
    }
    for (method, path) in [
        ("GET", "/v1/offers"),
        ("POST", "/v1/checkout"),
        ("POST", "/v1/topup"),
        ("POST", "/v1/portal"),
        ("POST", "/v1/instances/heartbeat"),
    ] {
        for key in ["", "ghc_nobodys", "gha_other"] {
            let answer = cloud.get_with_key(method, path, key, None).await;
            answer.problem(401, "UNAUTHENTICATED");
        }
    }
    assert!(
        stub.seen().is_empty(),
        "the payment service heard nothing of it"
    );
}

#[tokio::test]
async fn without_a_key_of_the_payment_service_there_are_no_offers_and_pages_are_a_problem() {
    let cloud = TestCompanion::open().await;
    let key = cloud.link("ada@example.org").await;
    let offers = cloud
        .get_with_key("GET", "/v1/offers", &key, None)
        .await
        .ok();
    assert_eq!(offers, json!({"offers": [], "denomination": null}));
    checkout(&cloud, &key, "x")
        .await
        .problem(503, "PAYMENT_SERVICE_UNAVAILABLE");
    for path in ["/v1/topup", "/v1/portal"] {
        let answer = cloud.get_with_key("POST", path, &key, None).await;
        answer.problem(503, "PAYMENT_SERVICE_UNAVAILABLE");
    }
    let stub = StripeStub::open().await;
    let options = CompanionOptions {
        stripe: Some(stub.url.clone()),
        ..CompanionOptions::default()
    };
    let cloud = TestCompanion::with(options).await;
    let key = cloud.link("ada@example.org").await;
    let answer = cloud.get_with_key("POST", "/v1/topup", &key, None).await;
    answer.problem(404, "TOPUP_UNAVAILABLE");
}

#[tokio::test]
async fn each_failure_of_the_payment_service_is_a_problem_in_our_own_words() {
    let (cloud, stub, key) = companion_with_stripe().await;
    checkout(&cloud, &key, "price_month").await.ok();
    for (play, status, code) in [
        (StripeFault::Refuse(402), 409, "CONFLICT"),
        (StripeFault::Refuse(400), 400, "MALFORMED_REQUEST"),
        (StripeFault::Refuse(401), 503, "PAYMENT_SERVICE_UNAVAILABLE"),
        (StripeFault::Refuse(403), 503, "PAYMENT_SERVICE_UNAVAILABLE"),
        (StripeFault::Refuse(500), 503, "PAYMENT_SERVICE_UNAVAILABLE"),
        (StripeFault::Later(7), 429, "RATE_LIMITED"),
        (StripeFault::HangUp, 503, "PAYMENT_SERVICE_UNAVAILABLE"),
    ] {
        // At each call of a checkout: two pages of prices, then the page, for the customer is known.
        for well in 0..3 {
            stub.then(&vec![StripeFault::Well; well]);
            stub.then(&[play]);
            let answer = checkout(&cloud, &key, "price_month").await;
            assert!(!answer.body.contains("canary-words"), "{answer:?}");
            assert!(!answer.body.contains(STRIPE_KEY), "{answer:?}");
            let retry = answer.header("retry-after").to_owned();
            let problem = answer.problem(status, code);
            let known: CloudProblem = serde_json::from_value(problem.clone()).unwrap();
            let is_later = play == StripeFault::Later(7);
            assert_eq!(known.retry_after_ms, is_later.then_some(7_000));
            assert_eq!(retry, if is_later { "7" } else { "" });
            assert_eq!(problem.get("actionUrl"), None::<&Value>);
        }
    }
    checkout(&cloud, &key, "price_month").await.ok();
    assert_eq!(stub.customers(), 1);
}

#[tokio::test]
async fn a_payment_service_that_says_nothing_is_given_up_in_time() {
    let stub = StripeStub::open().await;
    let options = CompanionOptions {
        stripe: Some(stub.url.clone()),
        patience: Some(Duration::from_millis(200)),
        ..CompanionOptions::default()
    };
    let cloud = TestCompanion::with(options).await;
    let key = cloud.link("ada@example.org").await;
    stub.then(&[StripeFault::Silence]);
    let answer = cloud.get_with_key("GET", "/v1/offers", &key, None).await;
    answer.problem(503, "PAYMENT_SERVICE_UNAVAILABLE");
    assert_eq!(stub.seen().len(), 1, "it is not asked again");
    assert_eq!(STRIPE_WAIT, Duration::from_secs(20));
}

#[tokio::test]
async fn two_first_payments_at_once_make_one_customer() {
    let (cloud, stub, key) = companion_with_stripe().await;
    let (first, second) = tokio::join!(
        checkout(&cloud, &key, "price_month"),
        checkout(&cloud, &key, "price_once")
    );
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200));
    assert_eq!(stub.customers(), 1);
}

#[tokio::test]
async fn a_customer_whose_making_got_no_answer_is_not_made_twice() {
    let (cloud, stub, key) = companion_with_stripe().await;
    let lost = [StripeFault::Well, StripeFault::Well, StripeFault::HangUp];
    for _ in 0..2 {
        stub.then(&lost);
        let answer = checkout(&cloud, &key, "price_month").await;
        answer.problem(503, "PAYMENT_SERVICE_UNAVAILABLE");
    }
    checkout(&cloud, &key, "price_month").await.ok();
    assert_eq!(stub.customers(), 1);
    let seen = stub.seen();
    let wishes = seen.iter().filter(|seen| seen.line == "POST /v1/customers");
    let mut keys: Vec<&String> = wishes
        .map(|seen| &seen.headers["idempotency-key"])
        .collect();
    assert_eq!(keys.len(), 3);
    keys.dedup();
    assert_eq!(keys.len(), 1, "one wish, by one name");
}

#[tokio::test]
async fn a_customer_whose_making_failed_is_asked_for_anew() {
    let (cloud, stub, key) = companion_with_stripe().await;
    stub.then(&[
        StripeFault::Well,
        StripeFault::Well,
        StripeFault::Refuse(500),
    ]);
    let answer = checkout(&cloud, &key, "price_month").await;
    answer.problem(503, "PAYMENT_SERVICE_UNAVAILABLE");
    // Stripe keeps that failure under the wish's name for a day.
    checkout(&cloud, &key, "price_month").await.ok();
}

#[tokio::test]
async fn a_key_that_the_payment_service_refuses_is_the_operators_to_mend_and_costs_no_wish() {
    let (cloud, stub, key) = companion_with_stripe().await;
    stub.then(&[
        StripeFault::Well,
        StripeFault::Well,
        StripeFault::Refuse(401),
    ]);
    let problem = checkout(&cloud, &key, "price_month")
        .await
        .problem(503, "PAYMENT_SERVICE_UNAVAILABLE");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("whoever runs it"), "{detail}");
    checkout(&cloud, &key, "price_month").await.ok();
    let seen = stub.seen();
    let wishes: Vec<&str> = seen
        .iter()
        .filter(|seen| seen.call() == "POST /v1/customers")
        .map(|seen| seen.headers["idempotency-key"].as_str())
        .collect();
    assert_eq!((wishes.len(), wishes[0]), (2, wishes[1]));
}

#[tokio::test]
async fn no_address_is_handed_out_that_nobody_should_follow() {
    let (cloud, stub, key) = companion_with_stripe().await;
    checkout(&cloud, &key, "price_month").await.ok();
    for address in [
        "javascript:alert(1)",
        "data:text/html,x",
        "http://pay.example/1",
        "https://a:b@pay.example/1",
        "",
    ] {
        stub.then(&[
            StripeFault::Well,
            StripeFault::Well,
            StripeFault::Mislead(address),
        ]);
        let answer = checkout(&cloud, &key, "price_month").await;
        answer.problem(503, "PAYMENT_SERVICE_UNAVAILABLE");
    }
}
