//! Accounts as whoever runs the service sees them.

use guildhall_cloud::{accounts, store::Store};

use crate::{
    billing::{checkout, companion_with_stripe},
    companion::PASSWORD,
};

#[tokio::test]
async fn an_account_that_is_removed_takes_its_sign_ins_and_instances_along() {
    let (cloud, _stub, key) = companion_with_stripe().await;
    checkout(&cloud, &key, "price_month").await.ok();
    cloud.heartbeat(&key).await.ok();
    cloud.invite("bob@example.org").await;
    let browser = cloud.strangers_browser("192.0.2.1");
    browser.sign_in("ada@example.org", PASSWORD).await;
    let device = cloud.device("").await;
    browser
        .decide(&device, "approve")
        .await
        .shows(200, "It is linked");
    let store = Store::open(&cloud.database).unwrap();
    let bob = "bob@example.org: no password chosen yet";
    assert_eq!(
        accounts::list(&store).await.unwrap(),
        [
            "ada@example.org: 1 linked, last seen 2026-11-21T03:37:32.114Z",
            bob
        ]
    );

    let said = accounts::remove(&store, " Ada@example.org").await.unwrap();
    assert!(said.starts_with("ada@example.org is removed; "), "{said}");
    assert!(said.ends_with("at Stripe, where it is cus_1"), "{said}");
    let beat = cloud.heartbeat(&key).await;
    beat.problem(401, "UNAUTHENTICATED");
    cloud.poll(&device).await.error(400, "invalid_grant");
    assert_eq!(browser.get("/activate").await.header("location"), "/login");
    browser
        .sign_in("ada@example.org", PASSWORD)
        .await
        .shows(401, "is wrong");
    assert_eq!(accounts::list(&store).await.unwrap(), [bob]);

    // Who has the address later knows nothing of the first.
    let key = cloud.link("ada@example.org").await;
    let portal = cloud.get_with_key("POST", "/v1/portal", &key, None).await;
    portal.problem(404, "NOT_FOUND");
}
