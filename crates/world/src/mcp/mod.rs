//! Speaking with an MCP server: a program below its keeper, or an address over Streamable HTTP
//! or the older two-endpoint transport. Finds out whether a server wants to be greeted, bounds
//! what it may send, and passes on what it says as it was written. Which servers there are, who
//! may use them and what their tools may be is `hall`.
//!
//! The protocol itself is crate `rmcp`; no type of it leaves this module. It runs tasks of its
//! own, which end with the connection.

mod client;
mod connect;
mod elicitation_forms;
mod errors;
mod http_endpoint;
mod line_reader;
mod message_id_scan;
mod raw_message_tap;
mod server_check;
mod server_requests;
mod sse_parser;
mod sse_transport;
mod stdio_transport;
mod streamable_http;

use std::{
    fmt,
    future::Future,
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use guildhall_domain::{ids::AgentId, limits, mcp_tools::ToolDefinition};
use http::HeaderValue;
use serde_json::Value;
use tokio::sync::mpsc;

pub(crate) use self::server_check::drive_while;
pub use self::{
    client::McpClient,
    connect::connect,
    elicitation_forms::form,
    errors::McpError,
    raw_message_tap::{ProgressUpdate, RawNotification, RawNotifications},
    server_check::{check, list_until_settled},
};
use crate::{
    enclosure::Enclosure, http_client::HttpClient, process_guard::GuardCommand,
    process_tree::ProcessTrees,
};

/// What the caller knows a question by, such as a call of a session.
pub type RequestTag = u64;

/// A server and the way to it.
#[derive(Clone)]
pub enum ServerTarget {
    /// A program that speaks over its standard streams.
    Stdio {
        /// The program, a path or a name looked for in `PATH` of `env`.
        program: PathBuf,
        /// The name it is called by, where that is not its path: the link that led to it.
        name: Option<PathBuf>,
        /// Its arguments.
        args: Vec<String>,
        /// Its complete environment.
        env: Vec<(String, String)>,
        /// The folder it starts in; absolute.
        cwd: PathBuf,
        /// The program it is kept by.
        keeper: GuardCommand,
        /// What it is kept from.
        enclosure: Enclosure,
        /// The agent it counts as.
        agent: Option<AgentId>,
        /// Where the keeper is entered before the program takes its first step.
        trees: ProcessTrees,
    },
    /// An address that speaks Streamable HTTP.
    Http(ServerAddress),
    /// An address that speaks the two-endpoint transport of revision 2024-11-05.
    Sse(ServerAddress),
}

/// Where a server is.
#[derive(Clone)]
pub struct ServerAddress {
    /// An absolute `http` or `https` address without user info.
    pub url: String,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// A token of a sign-in; with one, an `Authorization` among the headers is dropped.
    pub bearer: SharedBearerToken,
    /// The way out.
    pub outgoing: HttpClient,
}

/// The token of a sign-in, if there is one. Clones share it: what one is given, requests of the
/// others show from then on.
#[derive(Clone, Default)]
pub struct SharedBearerToken(Arc<Mutex<Option<String>>>);

impl SharedBearerToken {
    /// One that shows this token.
    pub fn of(token: Option<String>) -> Self {
        Self(Arc::new(Mutex::new(token)))
    }

    /// Shows another token from the next request on.
    pub fn renew(&self, token: String) {
        *self.held() = Some(token);
    }

    /// The header that shows it; `None` where there is none, or none that can be sent.
    fn header(&self) -> Option<HeaderValue> {
        let held = self.held();
        let mut value: HeaderValue = format!("Bearer {}", held.as_deref()?).parse().ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    fn held(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SharedBearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.held().is_some() {
            "shown"
        } else {
            "none"
        })
    }
}

impl ServerTarget {
    /// The token that its requests show; `None` for a program.
    pub fn bearer(&self) -> Option<&SharedBearerToken> {
        match self {
            Self::Stdio { .. } => None,
            Self::Http(address) | Self::Sse(address) => Some(&address.bearer),
        }
    }
}

impl fmt::Debug for ServerTarget {
    /// Without values, arguments and addresses: each may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio {
                program,
                env,
                cwd,
                agent,
                ..
            } => f
                .debug_struct("Stdio")
                .field("program", program)
                .field("env", &names(env))
                .field("cwd", cwd)
                .field("agent", agent)
                .finish_non_exhaustive(),
            Self::Http(address) => f.debug_tuple("Http").field(address).finish(),
            Self::Sse(address) => f.debug_tuple("Sse").field(address).finish(),
        }
    }
}

impl fmt::Debug for ServerAddress {
    /// Without values and the address: each may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("headers", &names(&self.headers))
            .field("bearer", &self.bearer)
            .finish_non_exhaustive()
    }
}

fn names(pairs: &[(String, String)]) -> Vec<&str> {
    pairs.iter().map(|(name, _)| name.as_str()).collect()
}

/// How a server begins; found out once and then remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitializeMode {
    /// With the `initialize` handshake, as revisions up to 2025-11-25 have it.
    Handshake,
    /// Without: each request says all there is to know, as from revision 2026-07-28.
    Direct,
}

impl InitializeMode {
    /// The word it is stored under.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Direct => "direct",
        }
    }

    /// The one of this word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Handshake, Self::Direct]
            .into_iter()
            .find(|lifecycle| lifecycle.as_str() == word)
    }
}

/// A question of a server to a person.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitationRequest {
    /// The params of `elicitation/create`, as far as they were understood.
    pub params: Value,
    /// The questions it may have come from, all that wait for an answer unless it is known.
    pub tags: Vec<RequestTag>,
}

/// What a person did about it.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationResult {
    /// Answered; null for an address that was opened.
    Accept(Value),
    /// Said no.
    Decline,
    /// Went away.
    Cancel,
}

/// Puts a question to a person. Dropped when the server no longer waits.
pub type ElicitationHandler = Arc<
    dyn Fn(ElicitationRequest) -> Pin<Box<dyn Future<Output = ElicitationResult> + Send>>
        + Send
        + Sync,
>;

/// What a server may ask back. Sampling is refused always.
#[derive(Clone, Default)]
pub struct ClientCallbacks {
    /// The folder named as the only root; absolute.
    pub root: Option<PathBuf>,
    /// Whom questions go to; without, the server is told that nobody answers any.
    pub elicit: Option<ElicitationHandler>,
}

impl fmt::Debug for ClientCallbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("root", &self.root)
            .field("elicits", &self.elicit.is_some())
            .finish()
    }
}

/// How to connect.
#[derive(Clone, Copy, Debug)]
pub struct ConnectOptions {
    /// How the server begins, where that is known.
    pub lifecycle: Option<InitializeMode>,
    /// How long it may take.
    pub within: Duration,
}

/// A connection that stands.
#[derive(Debug)]
pub struct ConnectedServer {
    /// What can be asked.
    pub client: McpClient,
    /// What it says unasked.
    pub notices: RawNotifications,
    /// To be driven until it ends.
    pub running: ConnectionDriver,
}

/// What a server said of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct InitializedServer {
    /// Its name; `""` when it told none.
    pub name: String,
    /// Its version; `""` when it told none.
    pub version: String,
    /// The revision of the protocol that is spoken.
    pub revision: String,
    /// How it begins, to be remembered.
    pub lifecycle: InitializeMode,
    /// What it can do, as it was understood.
    pub capabilities: Value,
    /// How a model should use it; `""` when it told nothing.
    pub instructions: String,
}

/// The tools of a server, of all pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolListing {
    /// What is compared of each.
    pub tools: Vec<ToolDefinition>,
    /// The same in the same order, as they were written.
    pub written: Vec<Value>,
}

/// How a connection ended; of a program, nothing of its tree lives any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionEnd {
    /// The program's exit code, 128 and the signal when one ended it.
    pub code: Option<i32>,
    /// The last it wrote to its standard error, [`limits::MCP_STDERR_KEPT_BYTES`] at most.
    pub stderr: String,
    /// Whether it was asked to end.
    pub is_asked: bool,
}

/// Drives a connection until it has ended. Must be polled for a program to be seen out and for
/// questions to be taken back; dropped, it ends the connection.
#[must_use = "nothing ends in order unless it is driven"]
pub struct ConnectionDriver(Pin<Box<dyn Future<Output = ConnectionEnd> + Send>>);

impl fmt::Debug for ConnectionDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Running")
    }
}

impl Future for ConnectionDriver {
    type Output = ConnectionEnd;

    fn poll(
        mut self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

/// How long an answer may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTimeouts {
    /// Without any progress.
    pub idle: Duration,
    /// In all.
    pub total: Duration,
}

impl Default for RequestTimeouts {
    /// Those of a call. Source: contract 4.10.
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(limits::MCP_CALL_WAIT_S),
            total: Duration::from_secs(limits::MCP_CALL_TOTAL_S),
        }
    }
}

impl RequestTimeouts {
    /// So long and no longer.
    pub fn at_most(total: Duration) -> Self {
        Self { idle: total, total }
    }
}

/// How something is asked.
#[derive(Debug, Default)]
pub struct RequestOptions {
    /// What the caller knows it by.
    pub tag: RequestTag,
    /// How long the answer may take.
    pub waits: RequestTimeouts,
    /// Where progress goes; what finds no room is dropped.
    pub progress: Option<mpsc::Sender<ProgressUpdate>>,
}

/// What a check of a server showed.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckResult {
    /// Its tools, or why there are none.
    pub tools: Result<Vec<ToolDefinition>, McpError>,
    /// What it said of itself, where it came to that.
    pub server: Option<InitializedServer>,
    /// How long it took.
    pub duration: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_printed_of_a_target_holds_no_secret() {
        let secret = |name: &str| vec![(name.to_owned(), "hush".to_owned())];
        let stdio = ServerTarget::Stdio {
            program: "server".into(),
            name: None,
            args: vec!["hush".to_owned()],
            env: secret("API_KEY"),
            cwd: "/work".into(),
            keeper: GuardCommand::own(),
            enclosure: Enclosure::disabled(),
            agent: None,
            trees: ProcessTrees::default(),
        };
        let address = ServerAddress {
            url: "https://example.org/?key=hush".to_owned(),
            headers: secret("X-Key"),
            bearer: SharedBearerToken::of(Some("hush".to_owned())),
            outgoing: HttpClient::open(crate::http_client::ListenerPorts::default()).unwrap(),
        };
        let printed = format!(
            "{stdio:?} {:?} {:?}",
            ServerTarget::Http(address.clone()),
            ServerTarget::Sse(address)
        );
        assert!(!printed.contains("hush"), "{printed}");
        assert!(printed.contains("API_KEY") && printed.contains("X-Key"));
    }

    #[test]
    fn a_lifecycle_is_found_by_its_word() {
        for lifecycle in [InitializeMode::Handshake, InitializeMode::Direct] {
            assert_eq!(InitializeMode::parse(lifecycle.as_str()), Some(lifecycle));
        }
        assert_eq!(InitializeMode::parse("other"), None);
    }
}
