//! Why something asked of an MCP server did not happen.

use std::error::Error;

use guildhall_domain::limits::MCP_UPSTREAM_CHARS_MAX;
use rmcp::{
    ServiceError,
    model::ErrorData,
    service::ClientInitializeError,
    transport::streamable_http_client::{
        AuthRequiredError, InsufficientScopeError, StreamableHttpError,
    },
};
use serde_json::Value;

use crate::http_client::{HttpClientError, plain};

/// Why something asked of an MCP server did not happen. What servers say is cut to
/// [`MCP_UPSTREAM_CHARS_MAX`] characters; the texts hold no header and no address.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum McpError {
    /// There is no such program.
    #[error("the program cannot be found")]
    NotFound,
    /// It could not be started for another reason.
    #[error("the program could not be started: {0}")]
    NotStarted(String),
    /// Nobody answers at the address.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// HTTP 401: it wants a sign-in.
    #[error("the server asks for a sign-in")]
    NeedsAuth {
        /// The challenge, where there is one.
        www_authenticate: Option<String>,
    },
    /// HTTP 403 with `insufficient_scope`: the sign-in allows too little.
    #[error("the sign-in allows too little")]
    InsufficientScope {
        /// The challenge.
        www_authenticate: String,
    },
    /// Another status of HTTP that is no success.
    #[error("the server answered with HTTP status {status}")]
    Status {
        /// Its number.
        status: u16,
    },
    /// The server answered with an error of its own.
    #[error("the server answered: {message}")]
    Refused {
        /// The number of JSON-RPC.
        code: i32,
        /// What it said.
        message: String,
        /// What it added, as it was written.
        data: Option<Value>,
    },
    /// The time is over.
    #[error("the server did not answer in time")]
    Timeout,
    /// An answer or a list is beyond its bound.
    #[error("the server answered more than can be taken")]
    TooLarge,
    /// It does not speak MCP, or not well.
    #[error("the server does not keep to the protocol: {0}")]
    Protocol(String),
    /// The connection is over.
    #[error("the server ended{}", code_shown(*.code))]
    Ended {
        /// The program's exit code, 128 and the signal when one ended it.
        code: Option<i32>,
        /// The last it wrote to its standard error, which may hold anything.
        stderr: String,
    },
}

fn code_shown(code: Option<i32>) -> String {
    code.map_or_else(String::new, |code| format!(" with exit code {code}"))
}

impl McpError {
    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound => "COMMAND_NOT_FOUND",
            Self::NotStarted(_) => "NOT_STARTED",
            Self::Unreachable(_) => "UNREACHABLE",
            Self::NeedsAuth { .. } => "NEEDS_SIGN_IN",
            Self::InsufficientScope { .. } => "INSUFFICIENT_SCOPE",
            Self::Status { .. } => "HTTP_STATUS",
            Self::Refused { .. } => "REFUSED",
            Self::Timeout => "TIMEOUT",
            Self::TooLarge => "TOO_LARGE",
            Self::Protocol(_) => "PROTOCOL_ERROR",
            Self::Ended { .. } => "ENDED",
        }
    }

    /// Whether a sign-in would help.
    pub fn needs_sign_in(&self) -> bool {
        matches!(
            self,
            Self::NeedsAuth { .. } | Self::InsufficientScope { .. }
        )
    }

    pub(super) fn protocol(what: impl AsRef<str>) -> Self {
        Self::Protocol(plain_upstream(what.as_ref()))
    }

    pub(super) fn ended() -> Self {
        Self::Ended {
            code: None,
            stderr: String::new(),
        }
    }

    pub(super) fn of_answer(error: &ErrorData) -> Self {
        Self::Refused {
            code: error.code.0,
            message: plain_upstream(&error.message),
            data: error.data.clone(),
        }
    }

    pub(super) fn of_question(error: &ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) => Self::of_answer(error),
            ServiceError::TransportSend(error) => Self::of_transport(error.error.as_ref()),
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => Self::ended(),
            ServiceError::Timeout { .. } => Self::Timeout,
            other => Self::protocol(other.to_string()),
        }
    }

    pub(super) fn of_start(error: &ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::TransportError { error, .. } => {
                Self::of_transport(error.error.as_ref())
            }
            ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::Cancelled => {
                Self::ended()
            }
            ClientInitializeError::JsonRpcError(error) => Self::of_answer(error),
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                Self::of_start(fallback)
            }
            ClientInitializeError::NoCompatibleProtocolVersion {
                server_supported, ..
            } => {
                let versions: Vec<_> = server_supported.iter().map(ToString::to_string).collect();
                Self::protocol(format!("it speaks version {}", versions.join(", ")))
            }
            ClientInitializeError::ExpectedInitResponse(_)
            | ClientInitializeError::ExpectedInitResult(_) => {
                Self::protocol("it answered something else to the greeting")
            }
            other => Self::protocol(other.to_string()),
        }
    }

    pub(super) fn of_transport(error: &(dyn Error + 'static)) -> Self {
        let mut reason = Some(error);
        while let Some(error) = reason {
            if let Some(known) = Self::known(error) {
                return known;
            }
            reason = error.source();
        }
        Self::protocol(error.to_string())
    }

    fn known(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(own) = error.downcast_ref::<Self>() {
            return Some(own.clone());
        }
        if let Some(error) = error.downcast_ref::<HttpClientError>() {
            return Some(error.clone().into());
        }
        if let Some(error) = error.downcast_ref::<AuthRequiredError>() {
            let challenge = &error.www_authenticate_header;
            return Some(Self::NeedsAuth {
                www_authenticate: Some(challenge.clone()).filter(|text| !text.is_empty()),
            });
        }
        if let Some(error) = error.downcast_ref::<InsufficientScopeError>() {
            return Some(Self::InsufficientScope {
                www_authenticate: error.www_authenticate_header.clone(),
            });
        }
        match error.downcast_ref::<StreamableHttpError<Self>>()? {
            StreamableHttpError::HttpStatus(error) => Some(Self::Status {
                status: error.status,
            }),
            StreamableHttpError::SessionExpired => Some(Self::Status { status: 404 }),
            StreamableHttpError::Client(error) => Some(error.clone()),
            StreamableHttpError::TransportChannelClosed => Some(Self::ended()),
            _ => None,
        }
    }
}

impl From<HttpClientError> for McpError {
    fn from(error: HttpClientError) -> Self {
        match error {
            HttpClientError::TooLarge => Self::TooLarge,
            HttpClientError::Unreachable(why) => Self::Unreachable(plain_upstream(&why)),
            HttpClientError::Elsewhere(_) | HttpClientError::Circles => {
                Self::Unreachable(plain_upstream(&error.to_string()))
            }
        }
    }
}

/// Text of a server as a person may be shown it.
pub(super) fn plain_upstream(text: &str) -> String {
    plain(text, MCP_UPSTREAM_CHARS_MAX)
}
