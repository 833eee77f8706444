//! MCP servers as services: listing their tools and calling one. A connection lasts as long as
//! what is asked; how a server was spoken with is remembered.

use std::time::Duration;

use guildhall_domain::{
    connectors::{send_result::SendResult, toolkits::Toolkit},
    mcp_tools::ToolDefinition,
};
use serde_json::{Value, json};
use tokio::time::Instant;
use url::Url;

use super::{
    AccountCredentials, OutgoingOperation, ServiceClients, hidden,
    http_execution::{AccountCredential, plain_reason, signed},
};
use crate::mcp::{
    self, ClientCallbacks, ConnectOptions, ConnectedServer, InitializeMode, McpError,
    RequestOptions, RequestTimeouts, ServerAddress, ServerTarget, SharedBearerToken,
};

/// Servers whose way of speaking is remembered.
const SPOKEN_MAX: usize = 1_000;

/// How a server was spoken with before.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownTransport {
    transport: Transport,
    lifecycle: InitializeMode,
}

/// The two transports that an address may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Streamable,
    TwoEndpoints,
}

/// Why there is no list of tools.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolListError {
    /// It wants a sign-in first.
    #[error("the server asks for a sign-in")]
    SignInNeeded,
    /// It lists more than is read.
    #[error("the server lists more tools than are read")]
    TooMany,
    /// It could not be reached, or does not speak MCP.
    #[error("{0}")]
    Unreachable(String),
}

impl ServiceClients {
    /// The tools of an MCP server.
    ///
    /// # Errors
    /// See [`ToolListError`].
    pub async fn tools(
        &self,
        toolkit: &Toolkit,
        credentials: &AccountCredentials,
        within: Duration,
    ) -> Result<Vec<ToolDefinition>, ToolListError> {
        let until = Instant::now() + within;
        let connected = self.reach(toolkit, credentials, until).await?;
        let ConnectedServer {
            client,
            notices,
            running,
        } = connected;
        let left = until.saturating_duration_since(Instant::now());
        let listing = mcp::list_until_settled(&client, &notices, |_| false, left);
        Ok(mcp::drive_while(&client, running, listing).await?.tools)
    }

    pub(super) async fn call(&self, tool: &str, sending: &OutgoingOperation<'_>) -> SendResult {
        let until = Instant::now() + sending.within;
        let reached = self.reach(sending.toolkit, sending.credentials, until);
        let connected = match reached.await {
            Ok(connected) => connected,
            // Nothing of the operation was said yet.
            Err(error) => return not_begun(&error),
        };
        let ConnectedServer {
            client,
            notices: _notices,
            running,
        } = connected;
        let asking = RequestOptions {
            waits: RequestTimeouts::at_most(until.saturating_duration_since(Instant::now())),
            ..RequestOptions::default()
        };
        let call = client.call(tool, sending.arguments.clone(), asking);
        let answer = mcp::drive_while(&client, running, call).await;
        answered(answer, sending.credentials)
    }

    /// A connection to the server of a toolkit.
    async fn reach(
        &self,
        toolkit: &Toolkit,
        credentials: &AccountCredentials,
        until: Instant,
    ) -> Result<ConnectedServer, McpError> {
        let nowhere = || McpError::Unreachable("its address is none that may be asked".to_owned());
        let url = toolkit.url.as_deref().unwrap_or_default();
        let parsed = Url::parse(url).map_err(|_| nowhere())?;
        let outgoing = self.way(&parsed).ok_or_else(nowhere)?.clone();
        let (headers, bearer) = match signed(&toolkit.auth, credentials) {
            Some(AccountCredential::Header(name, value)) => match credentials {
                AccountCredentials::Token(token) => (Vec::new(), Some(token.clone())),
                AccountCredentials::None | AccountCredentials::Key(_) => {
                    (vec![(name, value)], None)
                }
            },
            Some(AccountCredential::Query(..)) | None => (Vec::new(), None),
        };
        let address = ServerAddress {
            url: url.to_owned(),
            headers,
            bearer: SharedBearerToken::of(bearer),
            outgoing,
        };
        let known = self.spoken().get(url).copied();
        let first = known.map_or(Transport::Streamable, |known| known.transport);
        let lifecycle = known.map(|known| known.lifecycle);
        let reached = connect(first, &address, lifecycle, until).await;
        let (transport, connected) = match reached {
            Ok(connected) => (first, connected),
            // What a server of the older transport says to a post of the newer one.
            Err(McpError::Status {
                status: 400 | 404 | 405,
            }) => {
                let other = match first {
                    Transport::Streamable => Transport::TwoEndpoints,
                    Transport::TwoEndpoints => Transport::Streamable,
                };
                (other, connect(other, &address, None, until).await?)
            }
            Err(error) => return Err(error),
        };
        let lifecycle = connected.client.server().lifecycle;
        self.remember(
            url,
            KnownTransport {
                transport,
                lifecycle,
            },
        );
        Ok(connected)
    }
}

impl ServiceClients {
    fn remember(&self, url: &str, how: KnownTransport) {
        let mut spoken = self.spoken();
        if spoken.len() >= SPOKEN_MAX {
            spoken.clear();
        }
        spoken.insert(url.to_owned(), how);
    }
}

async fn connect(
    transport: Transport,
    address: &ServerAddress,
    lifecycle: Option<InitializeMode>,
    until: Instant,
) -> Result<ConnectedServer, McpError> {
    let target = match transport {
        Transport::Streamable => ServerTarget::Http(address.clone()),
        Transport::TwoEndpoints => ServerTarget::Sse(address.clone()),
    };
    let greeting = ConnectOptions {
        lifecycle,
        within: until.saturating_duration_since(Instant::now()),
    };
    mcp::connect(&target, ClientCallbacks::default(), greeting).await
}

impl From<McpError> for ToolListError {
    fn from(error: McpError) -> Self {
        match error {
            error if error.needs_sign_in() => Self::SignInNeeded,
            McpError::TooLarge => Self::TooMany,
            error => Self::Unreachable(error.to_string()),
        }
    }
}

/// What came of a call that never began.
fn not_begun(error: &McpError) -> SendResult {
    match no(error) {
        Some(sent) => sent,
        None => SendResult::NotSent {
            message: error.to_string(),
        },
    }
}

/// The no of a server, where it said one.
fn no(error: &McpError) -> Option<SendResult> {
    let status = match error {
        McpError::NeedsAuth { .. } => Some(401),
        McpError::InsufficientScope { .. } => Some(403),
        McpError::Status { status } => Some(*status),
        McpError::Refused { .. } => None,
        McpError::NotFound
        | McpError::NotStarted(_)
        | McpError::Unreachable(_)
        | McpError::Timeout
        | McpError::TooLarge
        | McpError::Protocol(_)
        | McpError::Ended { .. } => return None,
    };
    Some(SendResult::Refused {
        status,
        message: plain_reason(&error.to_string()),
        retry_after_s: None,
    })
}

/// What came of a call that was sent.
fn answered(answer: Result<Value, McpError>, credentials: &AccountCredentials) -> SendResult {
    let mut result = match answer {
        Ok(result) => result,
        Err(error) => {
            return no(&error).unwrap_or_else(|| SendResult::Lost {
                message: error.to_string(),
            });
        }
    };
    let is_error = result["isError"] == json!(true);
    if let Some(members) = result.as_object_mut() {
        members.retain(|name, _| name == "content" || name == "structuredContent");
    }
    let text = hidden(result.to_string().into_bytes(), credentials);
    let result: Value = serde_json::from_slice(&text).unwrap_or_default();
    match is_error {
        false => SendResult::Done { data: Some(result) },
        true => {
            let parts = result["content"].as_array().into_iter().flatten();
            let texts: Vec<_> = parts.filter_map(|part| part["text"].as_str()).collect();
            let message = match texts.is_empty() {
                true => "the tool said no".to_owned(),
                false => plain_reason(&texts.join(" ")),
            };
            SendResult::Refused {
                status: None,
                message,
                retry_after_s: None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_server_said_is_known_to_have_come_to_nothing() {
        let lost = |error: McpError| {
            matches!(
                answered(Err(error), &AccountCredentials::None),
                SendResult::Lost { .. }
            )
        };
        assert!(lost(McpError::Timeout));
        assert!(lost(McpError::Unreachable("x".to_owned())));
        assert!(lost(McpError::Ended {
            code: None,
            stderr: String::new()
        }));
        assert!(lost(McpError::TooLarge));
        assert!(!lost(McpError::Status { status: 500 }));
        assert!(!lost(McpError::NeedsAuth {
            www_authenticate: None
        }));
        let unbegun = not_begun(&McpError::Timeout);
        assert!(matches!(unbegun, SendResult::NotSent { .. }));
    }

    #[test]
    fn a_tool_says_no_in_its_own_words_and_without_secrets() {
        let credentials = AccountCredentials::Token("canary-canary".to_owned());
        let answer = json!({"isError": true, "_meta": {"x": 1},
            "content": [{"type": "text", "text": "not canary-canary"}]});
        assert_eq!(
            answered(Ok(answer), &credentials),
            SendResult::Refused {
                status: None,
                message: "not [hidden]".to_owned(),
                retry_after_s: None,
            }
        );
        let answer = json!({"content": [], "structuredContent": {"a": 1}, "_meta": {}});
        assert_eq!(
            answered(Ok(answer), &credentials),
            SendResult::Done {
                data: Some(json!({"content": [], "structuredContent": {"a": 1}}))
            }
        );
    }
}
