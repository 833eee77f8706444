//! A client of others, the `oauth2` crate, takes the whole way of the device grant.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use guildhall_domain::Timestamp;
use oauth2::{
    AuthType, ClientId, DeviceAuthorizationUrl, HttpRequest, HttpResponse, Scope,
    StandardDeviceAuthorizationResponse, TokenResponse, TokenUrl, basic::BasicClient,
};
use serde_json::json;

use crate::{
    companion::{TestCompanion, send},
    soon,
};

#[tokio::test]
async fn a_foreign_client_of_the_device_grant_gets_its_key() {
    let cloud = TestCompanion::open().await;
    let browser = cloud.browser("ada@example.org").await;
    let metadata = cloud
        .get("/.well-known/oauth-authorization-server")
        .await
        .ok();
    let place = |name: &str| metadata[name].as_str().unwrap().to_owned();
    let client = BasicClient::new(ClientId::new("guildhall-instance".to_owned()))
        .set_auth_type(AuthType::RequestBody)
        .set_token_uri(TokenUrl::new(place("token_endpoint")).unwrap())
        .set_device_authorization_url(
            DeviceAuthorizationUrl::new(place("device_authorization_endpoint")).unwrap(),
        );
    let address = cloud.address;
    let http = async |asked: HttpRequest| -> Result<HttpResponse, Infallible> {
        let (mut head, body) = asked.into_parts();
        head.uri = head.uri.path().parse().unwrap();
        let answer = send(address, http::Request::from_parts(head, body.into())).await;
        let mut response = HttpResponse::new(answer.body.into_bytes());
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        Ok(response)
    };
    let http = |asked| Box::pin(http(asked));
    let begun = client
        .exchange_device_code()
        .add_scope(Scope::new("instance".to_owned()))
        .request_async(&http);
    let device: StandardDeviceAuthorizationResponse = begun.await.unwrap();
    assert_eq!(device.interval(), Duration::from_secs(5));
    let complete = device.verification_uri_complete().unwrap().secret().clone();
    let shown = json!({ "verification_uri_complete": complete });
    // It waits by the test's clock, and somebody says yes while it waits for the second time.
    let (waits, begun_at) = (AtomicUsize::new(0), cloud.clock.now());
    let wait = async |time: Duration| {
        cloud.clock.advance(i64::try_from(time.as_secs()).unwrap());
        if waits.fetch_add(1, Ordering::SeqCst) == 1 {
            browser
                .decide(&shown, "approve")
                .await
                .shows(200, "It is linked");
        }
    };
    let asking = client
        .exchange_device_access_token(&device)
        .request_async(&http, wait, None);
    let token = soon("the key", asking).await.unwrap();
    assert_eq!(waits.load(Ordering::SeqCst), 2);
    assert_eq!(cloud.clock.now(), Timestamp::plus_seconds(begun_at, 10));
    assert_eq!(token.expires_in(), None);
    let key = token.access_token().secret();
    assert_eq!(
        cloud.heartbeat(key).await.ok()["accountLabel"],
        "ada@example.org"
    );
}
