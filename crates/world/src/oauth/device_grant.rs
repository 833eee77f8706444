//! The device grant: a code that a person types elsewhere, and asking whether they did. One
//! request each; who asks again, and when, is `hall::connectors`. Source: RFC 8628.

use guildhall_domain::mcp_signins::SigninFailure;
use http::{Response, StatusCode, header::RETRY_AFTER};
use oauth2::basic::BasicTokenResponse;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    IssuedTokens, OauthHttpClient, PreparationError, PreparedTokenEndpoint, TokenEndpointAccess,
    token_requests::{form_of, tokens_of},
};

/// The grant's name where tokens are asked for (RFC 8628 §3.4).
pub(super) const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Characters of a word of an error that are told.
const WORD_CHARS_MAX: usize = 60;

/// What a service answers who asks for a code. Without `Debug`, because it is secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct DeviceCodeResponse {
    /// What is shown when tokens are asked for.
    pub device_code: String,
    /// What a person types.
    pub user_code: String,
    /// Where.
    pub verification_uri: String,
    /// The same with the code in it.
    #[serde(default)]
    pub verification_uri_complete: Option<String>,
    /// For how many seconds the codes count.
    #[serde(default)]
    pub expires_in: Option<i64>,
    /// Seconds between two polls.
    #[serde(default)]
    pub interval: Option<i64>,
}

/// What came of asking whether the person has typed the code.
pub enum DevicePollResult {
    /// They have, and agreed.
    Granted(IssuedTokens),
    /// Not yet.
    Waiting,
    /// Not yet, and one asks too often.
    TooOften,
    /// It was a no; holds its word.
    Refused(String),
    /// Nobody answered, or not well; holds the seconds the service wants to be left alone.
    Nobody(Option<i64>),
}

#[derive(Deserialize)]
struct DeviceErrorBody {
    error: String,
}

impl OauthHttpClient {
    /// Asks for a code that a person types elsewhere; `more` goes along.
    ///
    /// # Errors
    /// See [`PreparationError`].
    pub async fn request_device_code(
        &self,
        arranged: &PreparedTokenEndpoint,
        more: &[(&str, &str)],
    ) -> Result<DeviceCodeResponse, PreparationError> {
        let endpoint = arranged.metadata.device_authorization_endpoint.as_deref();
        let endpoint = self.checked(endpoint.ok_or(SigninFailure::NoSigninSupport)?)?;
        let access = &arranged.access;
        let scope = arranged.scope.as_deref().map(|scope| ("scope", scope));
        let resource = access.resource.as_deref().map(|it| ("resource", it));
        let pairs: Vec<(&str, &str)> = scope
            .into_iter()
            .chain(resource)
            .chain(more.iter().copied())
            .collect();
        let asked = form_of(&access.client, &endpoint, &pairs)?;
        let answer = self.ask(asked).await.map_err(|why| match why {
            SigninFailure::Unreachable => PreparationError::Lost,
            why => PreparationError::NotSent(why),
        })?;
        if answer.status().is_server_error() {
            return Err(PreparationError::Lost);
        }
        let unusable = || PreparationError::Refused("unusable_answer".to_owned());
        if !answer.status().is_success() {
            return Err(word_of(&answer).map_or_else(unusable, PreparationError::Refused));
        }
        let device: DeviceCodeResponse = json_of(&answer).ok_or_else(unusable)?;
        // A person is sent there, so that it must be a place one may be sent to.
        let complete = device.verification_uri_complete.iter();
        for place in complete.chain([&device.verification_uri]) {
            self.checked(place).map_err(|_| unusable())?;
        }
        Ok(device)
    }

    /// Asks once whether the person has typed the code.
    pub async fn poll_device(
        &self,
        access: &TokenEndpointAccess,
        device_code: &str,
    ) -> DevicePollResult {
        let pairs = [("grant_type", DEVICE_GRANT), ("device_code", device_code)];
        let asked = self.checked(&access.token_endpoint);
        let asked = asked.and_then(|endpoint| form_of(&access.client, &endpoint, &pairs));
        let answer = match asked {
            Ok(asked) => self.ask(asked).await,
            Err(why) => return DevicePollResult::Refused(why.code().to_owned()),
        };
        let Ok(answer) = answer else {
            return DevicePollResult::Nobody(None);
        };
        let status = answer.status();
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return DevicePollResult::Nobody(retry_after(&answer));
        }
        if status.is_success() {
            return match json_of::<BasicTokenResponse>(&answer) {
                Some(told) => DevicePollResult::Granted(tokens_of(&told)),
                None => DevicePollResult::Refused("unusable_answer".to_owned()),
            };
        }
        match word_of(&answer).as_deref() {
            Some("authorization_pending") => DevicePollResult::Waiting,
            Some("slow_down") => DevicePollResult::TooOften,
            Some("temporarily_unavailable" | "server_error") => {
                DevicePollResult::Nobody(retry_after(&answer))
            }
            Some(word) => DevicePollResult::Refused(word.to_owned()),
            None => DevicePollResult::Refused("unusable_answer".to_owned()),
        }
    }
}

fn json_of<T: DeserializeOwned>(answer: &Response<Vec<u8>>) -> Option<T> {
    serde_json::from_slice(answer.body()).ok()
}

/// The word of an error, as far as it is one.
fn word_of(answer: &Response<Vec<u8>>) -> Option<String> {
    let told: DeviceErrorBody = json_of(answer)?;
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let word: String = told.error.chars().take(WORD_CHARS_MAX).collect();
    (!word.is_empty() && word.chars().all(is_word)).then_some(word)
}

fn retry_after(answer: &Response<Vec<u8>>) -> Option<i64> {
    let value = answer.headers().get(RETRY_AFTER)?.to_str().ok()?;
    value.trim().parse().ok()
}
