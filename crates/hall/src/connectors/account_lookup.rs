//! Whose account it is: read once from the service, where the toolkit says how.
//! Source: contract 5.3, "account", and 5.4.

use std::time::Duration;

use guildhall_domain::{
    Result,
    connectors::{
        operations::{HttpBinding, HttpMethod, OperationBinding},
        providers::ProviderType,
        send_result::SendResult,
        toolkits::AccountProbe,
    },
    limits::connectors as limits,
};
use guildhall_world::connectors::OutgoingOperation;
use serde_json::{Map, Value};

use super::{secrets::Credentials, toolkit_targets::ToolkitTarget};
use crate::Hall;

/// Why nobody said whose an account is.
pub(super) enum AccountLookupError {
    /// The service said no; holds what people are told of it.
    Refused(String),
    /// Nobody answered.
    Nobody,
}

impl Hall {
    /// What the service calls the account; `None` where the toolkit does not say how to ask.
    pub(super) async fn read_account(
        &self,
        target: &ToolkitTarget,
        credentials: &Credentials,
    ) -> Result<Result<Option<String>, AccountLookupError>> {
        let Some(probe) = &target.toolkit.account else {
            return Ok(Ok(None));
        };
        let services = self.services().await?;
        let sending = OutgoingOperation {
            toolkit: &target.toolkit,
            binding: &binding(target.provider.provider_type, probe),
            arguments: &Map::new(),
            credentials: &credentials.for_request(),
            key: None,
            within: Duration::from_secs(limits::CONNECTOR_ATTEMPT_WAIT_S),
        };
        Ok(named(services.send(sending).await, &probe.pointer).map(Some))
    }
}

/// The read that a toolkit names.
fn binding(of: ProviderType, probe: &AccountProbe) -> OperationBinding {
    match of {
        ProviderType::Mcp => OperationBinding::Mcp {
            tool: probe.path.clone(),
        },
        ProviderType::Openapi | ProviderType::Rehearsal => OperationBinding::Http(HttpBinding {
            method: HttpMethod::Get,
            path: probe.path.clone(),
            parameters: Vec::new(),
            body: None,
            takes_key: false,
        }),
    }
}

/// What an answer calls the account.
fn named(sent: SendResult, pointer: &str) -> Result<String, AccountLookupError> {
    match sent {
        SendResult::Done { data } => {
            let name = data.as_ref().and_then(|data| data.pointer(pointer));
            let name = match name {
                Some(Value::String(name)) => Some(name.clone()),
                Some(Value::Number(name)) => Some(name.to_string()),
                _ => None,
            };
            let name = name.map(|name| {
                let shown = name.chars().filter(|c| !c.is_control());
                let most = *limits::CONNECTOR_LABEL_CHARS.end();
                shown.take(most).collect::<String>()
            });
            let is_nameless = || AccountLookupError::Refused(NAMELESS.to_owned());
            name.filter(|name| !name.is_empty()).ok_or_else(is_nameless)
        }
        SendResult::Refused {
            status: Some(401 | 403),
            ..
        } => Err(AccountLookupError::Refused(NOT_TAKEN.to_owned())),
        SendResult::Refused {
            status: Some(408 | 429 | 500..),
            ..
        }
        | SendResult::NotSent { .. }
        | SendResult::Lost { .. } => Err(AccountLookupError::Nobody),
        SendResult::Refused { .. } => Err(AccountLookupError::Refused(NAMELESS.to_owned())),
        SendResult::Unsupported { reason } => Err(AccountLookupError::Refused(reason)),
    }
}

const NAMELESS: &str = "The service does not say whose account it is where the toolkit says so.";
const NOT_TAKEN: &str = "The service does not take the credentials.";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(sent: SendResult, pointer: &str) -> Result<String, Option<String>> {
        named(sent, pointer).map_err(|why| match why {
            AccountLookupError::Refused(why) => Some(why),
            AccountLookupError::Nobody => None,
        })
    }

    #[test]
    fn an_account_is_called_what_stands_at_its_pointer() {
        let done = |data| SendResult::Done { data: Some(data) };
        let nameless = Err(Some(NAMELESS.to_owned()));
        let rows = [
            (
                json!({"user": {"login": "ada"}}),
                "/user/login",
                Ok("ada".to_owned()),
            ),
            (json!({"id": 7}), "/id", Ok("7".to_owned())),
            (json!("ada\u{7}"), "", Ok("ada".to_owned())),
            (json!("x".repeat(300)), "", Ok("x".repeat(200))),
            (json!({"id": ""}), "/id", nameless.clone()),
            (json!({"id": null}), "/id", nameless.clone()),
            (json!({"id": {"a": 1}}), "/id", nameless.clone()),
            (json!({}), "/id", nameless.clone()),
        ];
        for (data, pointer, expected) in rows {
            assert_eq!(told(done(data.clone()), pointer), expected, "{data}");
        }
        assert_eq!(told(SendResult::Done { data: None }, ""), nameless);
    }

    #[test]
    fn a_no_ends_the_sign_in_and_silence_does_not() {
        let refused = |status| SendResult::Refused {
            status,
            message: "no".to_owned(),
            retry_after_s: None,
        };
        let silent = || "late".to_owned();
        for status in [Some(401), Some(403)] {
            assert_eq!(told(refused(status), ""), Err(Some(NOT_TAKEN.to_owned())));
        }
        for status in [Some(404), Some(400), None] {
            assert_eq!(told(refused(status), ""), Err(Some(NAMELESS.to_owned())));
        }
        for sent in [
            refused(Some(503)),
            refused(Some(429)),
            SendResult::Lost { message: silent() },
            SendResult::NotSent { message: silent() },
        ] {
            assert_eq!(told(sent, ""), Err(None));
        }
    }
}
