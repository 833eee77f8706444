//! The cloud service: linking by the device grant, and what an instance that is linked asks it.
//! One request each, no redirect followed; who asks again, and when, is `hall::cloud`.
//! Source: contract 5.10, 5.11 and part C.

use bytes::Bytes;
use guildhall_domain::{
    Timestamp,
    cloud::{
        billing::BillingPage,
        link::{HeartbeatResult, LinkCode, LinkPollResult},
        offers::{BillingInterval, Denomination, MicroAmount, Offer, Offers},
        urls::CloudUrl,
    },
    device_grant::{PollStatus, PollingPace},
    limits::cloud::{CLOUD_OFFERS_MAX, CLOUD_PROBLEM_BYTES_MAX, CLOUD_WORD_CHARS_MAX},
    mcp_signins::SigninFailure,
};
use http::{
    HeaderValue, Method, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use url::Url;

use crate::{
    http_client::HttpClient,
    oauth::{
        AuthorizationServerSource, ConnectorClientOptions, DevicePollResult, OauthHttpClient,
        PreparationError, TokenEndpointAccess, request,
    },
};

/// Who we are to the service. Source: contract 5.10, "Client rules".
const CLIENT: &str = "guildhall-instance";
/// What we ask for.
const SCOPE: &str = "instance";
/// Seconds a code counts, where the service does not say.
const CODE_S: i64 = 30 * 60;
/// Seconds a code counts at most.
const CODE_S_MAX: i64 = 24 * 3_600;

/// The way to one cloud service. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CloudClient {
    url: CloudUrl,
    outgoing: HttpClient,
}

/// What the service is asked with while a code waits. Without `Debug`, because it is secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct PendingLink {
    access: TokenEndpointAccess,
    device_code: String,
}

/// A key of the service, and where it is given back. Without `Debug`, because it is secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct CloudKey {
    access: TokenEndpointAccess,
    token: String,
}

/// Why the service said nothing that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloudCallError {
    /// Nobody answered, or it is out of order.
    Unreachable,
    /// The answer is of no use.
    Invalid,
    /// It does not take the key.
    NotTaken,
}

/// What the service said when it was asked for a billing page.
#[derive(Clone, Debug, PartialEq)]
pub enum BillingPageResult {
    /// Where it is; an address to which a person may be sent.
    Url(Url),
    /// Its own problem (RFC 9457), without an address to which nobody may be sent.
    Problem(Map<String, Value>),
    /// It has no such page for this account.
    Missing,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeartbeatBody {
    #[serde(default)]
    account_label: Option<String>,
}

#[derive(Deserialize)]
struct BillingPageBody {
    url: String,
}

#[derive(Deserialize)]
struct OffersBody {
    offers: Vec<OfferBody>,
    #[serde(default)]
    denomination: Option<DenominationBody>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfferBody {
    sku_id: String,
    plan_id: String,
    display_name: String,
    interval: BillingInterval,
    amount_micro: String,
    #[serde(default)]
    limits: std::collections::BTreeMap<String, i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DenominationBody {
    currency: String,
    micro_per_credit: String,
}

impl CloudClient {
    /// The service at `url`, by this way out.
    pub fn new(url: CloudUrl, outgoing: HttpClient) -> Self {
        Self { url, outgoing }
    }

    /// Asks for a code that a person types in a browser; `name` is what people call this
    /// instance.
    ///
    /// # Errors
    /// [`CloudCallError::Unreachable`], [`CloudCallError::Invalid`].
    pub async fn request_device_code(
        &self,
        name: &str,
        now: Timestamp,
    ) -> Result<(LinkCode, PollingPace, PendingLink), CloudCallError> {
        let talk = self.talk().await?;
        let authority = AuthorizationServerSource::Issuer(self.url.as_url());
        let asker = ConnectorClientOptions {
            typed: Some((CLIENT.to_owned(), None)),
            kept: None,
            redirect_uri: None,
            document: None,
        };
        let scopes = [SCOPE.to_owned()];
        let arranging = talk.prepare_connector(authority, (None, &scopes), asker);
        let (arranged, _) = arranging.await.map_err(|why| unanswered(&why))?;
        let told = talk.request_device_code(&arranged, &[("name", name)]).await;
        let told = told.map_err(|why| unanswered(&why))?;
        let uri = self.fit(&told.verification_uri)?;
        let complete = told.verification_uri_complete.as_deref();
        let complete = complete.map(|text| self.fit(text)).transpose()?;
        let expires_in_s = told.expires_in.unwrap_or(CODE_S).min(CODE_S_MAX);
        let is_fit = expires_in_s > 0 && is_word(&told.user_code) && !told.device_code.is_empty();
        if !is_fit {
            return Err(CloudCallError::Invalid);
        }
        let code = LinkCode {
            user_code: told.user_code,
            verification_uri_complete: complete.unwrap_or_else(|| uri.clone()),
            verification_uri: uri,
            expires_at: now.plus_seconds(expires_in_s),
        };
        let device = PendingLink {
            access: arranged.access,
            device_code: told.device_code,
        };
        Ok((code, PollingPace::new(told.interval), device))
    }

    /// Asks once whether the code was typed; answers the key beside [`LinkPollResult::Key`].
    pub async fn poll(&self, device: &PendingLink) -> (LinkPollResult, Option<CloudKey>) {
        let Ok(talk) = self.talk().await else {
            return (LinkPollResult::Again(PollStatus::Nobody(None)), None);
        };
        let answer = match talk.poll_device(&device.access, &device.device_code).await {
            DevicePollResult::Granted(tokens) => {
                let access = device.access.clone();
                let token = tokens.access;
                return (LinkPollResult::Key, Some(CloudKey { access, token }));
            }
            DevicePollResult::Waiting => LinkPollResult::Again(PollStatus::Waiting),
            DevicePollResult::TooOften => LinkPollResult::Again(PollStatus::TooOften),
            DevicePollResult::Nobody(wanted_s) => {
                LinkPollResult::Again(PollStatus::Nobody(wanted_s))
            }
            DevicePollResult::Refused(word) => match word.as_str() {
                "access_denied" => LinkPollResult::Denied,
                "expired_token" | "invalid_grant" => LinkPollResult::Over,
                _ => LinkPollResult::Failed,
            },
        };
        (answer, None)
    }

    /// Gives a key back (RFC 7009).
    ///
    /// # Errors
    /// Why nobody was told.
    pub async fn revoke_key(&self, key: &CloudKey) -> Result<(), SigninFailure> {
        let talk = OauthHttpClient::for_server(&self.outgoing, self.url.as_url()).await?;
        talk.revoke(&key.access, &key.token).await
    }

    /// Says that this instance lives; `name` is what people call it.
    pub async fn heartbeat(&self, key: &CloudKey, name: &str) -> HeartbeatResult {
        let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
        let version = env!("CARGO_PKG_VERSION");
        let body = json!({"name": name, "platform": platform, "version": version});
        let told = self.post("/v1/instances/heartbeat", key, &body).await;
        match told.and_then(|answer| read::<HeartbeatBody>(&answer)) {
            Ok(told) => HeartbeatResult::Taken {
                account_label: told.account_label.filter(|label| is_word(label)),
            },
            Err(CloudCallError::NotTaken) => HeartbeatResult::NotTaken,
            Err(CloudCallError::Unreachable | CloudCallError::Invalid) => HeartbeatResult::Nothing,
        }
    }

    /// What the service sells; `None` where it sells nothing at all.
    ///
    /// # Errors
    /// See [`CloudCallError`].
    pub async fn offers(&self, key: &CloudKey) -> Result<Option<Offers>, CloudCallError> {
        let answer = self
            .send(Method::GET, "/v1/offers", key, Bytes::new())
            .await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let told: OffersBody = read(&answer)?;
        if told.offers.len() > CLOUD_OFFERS_MAX {
            return Err(CloudCallError::Invalid);
        }
        let offers = told.offers.into_iter().map(|told| {
            Some(Offer {
                amount: MicroAmount::parse(&told.amount_micro)?,
                sku_id: told.sku_id,
                plan_id: told.plan_id,
                display_name: told.display_name,
                interval: told.interval,
                limits: told.limits,
            })
        });
        let offers: Option<Vec<Offer>> = offers.collect();
        let denomination = match told.denomination {
            None => None,
            Some(told) => Some(Denomination {
                micro_per_credit: MicroAmount::parse(&told.micro_per_credit)
                    .ok_or(CloudCallError::Invalid)?,
                currency: told.currency,
            }),
        };
        Ok(Some(Offers {
            offers: offers.ok_or(CloudCallError::Invalid)?,
            denomination,
        }))
    }

    /// Asks for the address of a billing page.
    ///
    /// # Errors
    /// See [`CloudCallError`]; also when the address is one to which nobody may be sent.
    pub async fn page(
        &self,
        key: &CloudKey,
        page: BillingPage,
        sku_id: Option<&str>,
    ) -> Result<BillingPageResult, CloudCallError> {
        let path = match page {
            BillingPage::Portal => "/v1/portal",
            BillingPage::Checkout => "/v1/checkout",
            BillingPage::Topup => "/v1/topup",
        };
        let body = sku_id.map_or_else(|| json!({}), |sku_id| json!({"skuId": sku_id}));
        let answer = self.post(path, key, &body).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(BillingPageResult::Missing);
        }
        if let Some(problem) = problem_in(&answer) {
            return Ok(BillingPageResult::Problem(problem));
        }
        if answer.status().is_server_error() {
            return Err(CloudCallError::Unreachable);
        }
        let told: BillingPageBody = read(&answer)?;
        let url = self.url.acceptable(&told.url);
        url.map(BillingPageResult::Url)
            .ok_or(CloudCallError::Invalid)
    }

    async fn post(
        &self,
        path: &str,
        key: &CloudKey,
        body: &Value,
    ) -> Result<Response<Vec<u8>>, CloudCallError> {
        self.send(Method::POST, path, key, Bytes::from(body.to_string()))
            .await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        key: &CloudKey,
        body: Bytes,
    ) -> Result<Response<Vec<u8>>, CloudCallError> {
        let talk = self.talk().await?;
        let mut asked = request(method, &self.url.route(path), body).map_err(of_failure)?;
        let shown = format!("Bearer {}", key.token);
        let mut shown = HeaderValue::from_str(&shown).map_err(|_| CloudCallError::NotTaken)?;
        shown.set_sensitive(true);
        asked.headers_mut().insert(AUTHORIZATION, shown);
        let answer = talk.ask(asked).await.map_err(of_failure)?;
        match answer.status() {
            StatusCode::UNAUTHORIZED => Err(CloudCallError::NotTaken),
            _ => Ok(answer),
        }
    }

    async fn talk(&self) -> Result<OauthHttpClient, CloudCallError> {
        let talk = OauthHttpClient::for_server(&self.outgoing, self.url.as_url()).await;
        talk.map_err(of_failure)
    }

    fn fit(&self, text: &str) -> Result<String, CloudCallError> {
        let url = self.url.acceptable(text).ok_or(CloudCallError::Invalid)?;
        Ok(url.to_string())
    }
}

/// The problem that an answer is (RFC 9457), where it is one, as it came: whoever shows it decides
/// which of its addresses somebody may be sent to.
fn problem_in(answer: &Response<Vec<u8>>) -> Option<Map<String, Value>> {
    let media_type = answer.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    let is_problem = media_type.split(';').next()?.trim() == "application/problem+json";
    let is_short = answer.body().len() <= CLOUD_PROBLEM_BYTES_MAX;
    if answer.status().is_success() || !is_problem || !is_short {
        return None;
    }
    serde_json::from_slice(answer.body()).ok()
}

/// What an answer of status 2xx says.
fn read<T: DeserializeOwned>(answer: &Response<Vec<u8>>) -> Result<T, CloudCallError> {
    match answer.status() {
        status if status.is_success() => {
            serde_json::from_slice(answer.body()).map_err(|_| CloudCallError::Invalid)
        }
        status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            Err(CloudCallError::Unreachable)
        }
        _ => Err(CloudCallError::Invalid),
    }
}

fn of_failure(why: SigninFailure) -> CloudCallError {
    match why {
        SigninFailure::Unreachable => CloudCallError::Unreachable,
        _ => CloudCallError::Invalid,
    }
}

fn unanswered(why: &PreparationError) -> CloudCallError {
    match why {
        PreparationError::NotSent(why) => of_failure(*why),
        PreparationError::Lost => CloudCallError::Unreachable,
        PreparationError::Refused(_) => CloudCallError::Invalid,
    }
}

/// Whether a text of the service can be shown in a line.
fn is_word(text: &str) -> bool {
    let length = text.chars().count();
    (1..=CLOUD_WORD_CHARS_MAX).contains(&length) && !text.chars().any(char::is_control)
}
