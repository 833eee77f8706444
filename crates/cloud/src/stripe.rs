//! The client of the payment service, Stripe: the few calls that are made of it.
//! What it says in words is never passed on; what an answer means to a caller is `billing`.

use std::time::Duration;

use bytes::Bytes;
use guildhall_world::{
    http_client::{self, HttpClient},
    ids,
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use url::form_urlencoded;

use crate::{
    offers::StripePrice,
    settings::{self, HttpOrigin},
};

/// How long all that one request needs of the payment service may take together.
/// Source: contract 5.11, "timeout 20 s".
pub const STRIPE_WAIT: Duration = Duration::from_secs(20);
/// The version of the interface that the calls are written for; answers keep its shape.
const VERSION: &str = "2025-03-31.basil";
/// Bytes of one answer.
const ANSWER_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// Prices a page has, and pages that are read.
const PAGE_LEN: &str = "100";
const PAGES_MAX: usize = 20;
/// When to come back where the payment service does not say.
const USUAL_RETRY_S: u64 = 2;

/// The secret key of the payment service. It has no `Display`, and its `Debug` does not show it.
#[derive(Clone)]
pub struct StripeKey(HeaderValue);

impl StripeKey {
    /// Takes a key; `None` for what can be none.
    pub fn parse(text: &str) -> Option<Self> {
        let is_key = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let mut value = HeaderValue::from_str(&format!("Bearer {text}")).ok()?;
        value.set_sensitive(true);
        is_key.then_some(Self(value))
    }
}

impl std::fmt::Debug for StripeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey")
    }
}

/// The way to the payment service.
#[derive(Clone, Debug)]
pub struct StripeClient {
    outgoing: HttpClient,
    base: HttpOrigin,
    key: StripeKey,
    wait: Duration,
}

/// Why the payment service did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StripeError {
    /// It said no: 4xx.
    Refused(StatusCode),
    /// It does not take our key for this: 401 or 403. Whoever runs this service has to act.
    KeyRefused,
    /// It wants to be asked later.
    TooOften {
        /// When, in seconds.
        retry_after_s: u64,
    },
    /// It failed and said so, or what it said makes no sense.
    Broken,
    /// There is no answer, so nobody knows whether it was done.
    Unanswered,
}

/// What is paid for on a page, and for whom.
#[derive(Clone, Copy, Debug)]
pub struct StripeCheckout<'a> {
    /// The price's id.
    pub price: &'a str,
    /// Whether it is paid again and again.
    pub is_recurring: bool,
    /// The customer's id.
    pub customer: &'a str,
    /// The account.
    pub account: &'a str,
    /// Where the page leads when it was paid.
    pub paid: &'a str,
    /// Where it leads when it was left.
    pub left: &'a str,
}

type StripeForm<'a> = [(&'a str, &'a str)];

impl StripeClient {
    /// A way to the payment service at `base`; nothing is sent yet.
    pub fn new(outgoing: HttpClient, base: HttpOrigin, key: StripeKey) -> Self {
        Self {
            outgoing,
            base,
            key,
            wait: STRIPE_WAIT,
        }
    }

    /// The same way with another patience, for tests of what happens at its end.
    #[must_use]
    pub fn with_timeout(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// When one request has waited long enough.
    pub fn until(&self) -> Instant {
        Instant::now() + self.wait
    }

    /// All active prices with their products, in the service's order.
    ///
    /// # Errors
    /// Why they could not be listed; of very many pages the rest is left out.
    pub async fn prices(&self, until: Instant) -> Result<Vec<StripePrice>, StripeError> {
        #[derive(Deserialize)]
        struct StripePage {
            data: Vec<Value>,
            has_more: bool,
        }
        let mut prices = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let mut query = vec![
                ("active", "true"),
                ("expand[]", "data.product"),
                ("limit", PAGE_LEN),
            ];
            query.extend(after.as_deref().map(|id| ("starting_after", id)));
            let path = format!("/v1/prices?{}", encoded(&query));
            let page = self.call(Method::GET, &path, &[], None, until).await?;
            let page: StripePage = serde_json::from_value(page).map_err(|_| StripeError::Broken)?;
            let last = page.data.last().and_then(|price| price["id"].as_str());
            after = last.filter(|_| page.has_more).map(str::to_owned);
            // A price that is not understood is no offer, and spoils no other.
            let read = page.data.into_iter().map(serde_json::from_value);
            prices.extend(read.filter_map(Result::ok));
            if after.is_none() {
                return Ok(prices);
            }
        }
        tracing::warn!("there are more prices than are read");
        Ok(prices)
    }

    /// Makes a customer for an account; `wish` names the wish, so that a repeat makes no second one.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn customer(
        &self,
        account: &str,
        wish: &str,
        until: Instant,
    ) -> Result<String, StripeError> {
        let form = [("metadata[account_id]", account)];
        let key = Some(wish);
        let customer = self.call(Method::POST, "/v1/customers", &form, key, until);
        let customer = customer.await?;
        let id = customer["id"].as_str().filter(|id| !id.is_empty());
        id.map(str::to_owned).ok_or(StripeError::Broken)
    }

    /// The address of a page where something is paid.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn checkout(
        &self,
        paying: StripeCheckout<'_>,
        until: Instant,
    ) -> Result<String, StripeError> {
        let mode = match paying.is_recurring {
            true => "subscription",
            false => "payment",
        };
        let form = [
            ("mode", mode),
            ("line_items[0][price]", paying.price),
            ("line_items[0][quantity]", "1"),
            ("customer", paying.customer),
            ("client_reference_id", paying.account),
            ("success_url", paying.paid),
            ("cancel_url", paying.left),
        ];
        self.page("/v1/checkout/sessions", &form, until).await
    }

    /// The address of a page where a customer sees and ends what is paid again and again.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn portal(
        &self,
        customer: &str,
        back: &str,
        until: Instant,
    ) -> Result<String, StripeError> {
        let form = [("customer", customer), ("return_url", back)];
        self.page("/v1/billing_portal/sessions", &form, until).await
    }

    async fn page(
        &self,
        path: &str,
        form: &StripeForm<'_>,
        until: Instant,
    ) -> Result<String, StripeError> {
        let key = ids::new().to_string();
        let session = self.call(Method::POST, path, form, Some(&key), until);
        let session = session.await?;
        let address = session["url"].as_str().unwrap_or_default();
        match settings::is_page_address(address, self.base.is_loopback()) {
            true => Ok(address.to_owned()),
            false => Err(StripeError::Broken),
        }
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        form: &StripeForm<'_>,
        key: Option<&str>,
        until: Instant,
    ) -> Result<Value, StripeError> {
        let mut request = Request::builder()
            .method(method)
            .uri(self.base.address(path))
            .header(header::AUTHORIZATION, self.key.0.clone())
            .header("stripe-version", VERSION)
            .header(header::ACCEPT, "application/json");
        if let Some(key) = key {
            request = request
                .header("idempotency-key", key)
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        let request = request.body(Bytes::from(encoded(form)));
        let request = request.map_err(|_| StripeError::Broken)?;
        let answer = self
            .outgoing
            .traced(request, until)
            .await
            .map_err(|undone| {
                tracing::warn!(%undone, "the payment service did not answer");
                StripeError::Unanswered
            })?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = timeout_at(
            until,
            http_client::read(answer.into_body(), ANSWER_BYTES_MAX),
        )
        .await;
        let body = body.map_err(|_| StripeError::Unanswered)?;
        let body = body.map_err(|_| StripeError::Unanswered)?;
        judge(status, &headers)?;
        serde_json::from_slice(&body).map_err(|_| StripeError::Broken)
    }
}

/// What a status means; its words stay here, and in the log only what names the request.
fn judge(status: StatusCode, headers: &HeaderMap) -> Result<(), StripeError> {
    if status.is_success() {
        return Ok(());
    }
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let request = text("request-id").unwrap_or_default();
    tracing::warn!(%status, request, "the payment service refused");
    Err(match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            tracing::error!("nobody can pay: the payment service does not take the secret key");
            StripeError::KeyRefused
        }
        StatusCode::TOO_MANY_REQUESTS => StripeError::TooOften {
            retry_after_s: text("retry-after")
                .and_then(|seconds| seconds.trim().parse().ok())
                .map_or(USUAL_RETRY_S, |seconds: u64| seconds.clamp(1, 3_600)),
        },
        refused if refused.is_client_error() => StripeError::Refused(refused),
        _ => StripeError::Broken,
    })
}

fn encoded(form: &StripeForm<'_>) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_its_meaning() {
        let later = |text: &'static str| {
            HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_static(text))])
        };
        let too_often = |retry_after_s| Err(StripeError::TooOften { retry_after_s });
        let none = HeaderMap::new();
        assert_eq!(judge(StatusCode::OK, &none), Ok(()));
        for status in [StatusCode::BAD_REQUEST, StatusCode::PAYMENT_REQUIRED] {
            assert_eq!(judge(status, &none), Err(StripeError::Refused(status)));
        }
        for status in [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN] {
            assert_eq!(judge(status, &none), Err(StripeError::KeyRefused));
        }
        for status in [StatusCode::BAD_GATEWAY, StatusCode::FOUND] {
            assert_eq!(judge(status, &none), Err(StripeError::Broken));
        }
        let busy = StatusCode::TOO_MANY_REQUESTS;
        assert_eq!(judge(busy, &none), too_often(USUAL_RETRY_S));
        assert_eq!(judge(busy, &later("7")), too_often(7));
        assert_eq!(judge(busy, &later("soon")), too_often(USUAL_RETRY_S));
        assert_eq!(judge(busy, &later("999999")), too_often(3_600));
    }

    #[test]
    fn a_key_is_one_word_and_is_not_shown() {
        let key = StripeKey::parse("sk_test_canary").unwrap();
        assert!(!format!("{key:?} {:?}", key.0).contains("canary"));
        assert!(StripeKey::parse("").is_none() && StripeKey::parse("a b").is_none());
    }
}
