//! The gateway: agents reach their tool servers through it and no other way. One connection an
//! entry serves all sessions of its agent; what an entry is allowed to be is looked at before
//! each use. What an entry is, and what is written of it, is `mcp_servers`.
//! Source: contract 4.4, "What runs, and when"; 4.6.

mod connection_lifecycle;
mod elicitation;
mod mcp_connections;
mod session_servers;

use std::sync::Arc;

use guildhall_domain::{
    Error, Refusal, Result,
    callers::{Agent, Gate},
    errors::ResourceKind,
    ids::{AgentId, SessionId},
    mcp_gateway::{self as rules, ServerDescription},
    mcp_servers::{
        McpServer, PinComparison, ServerName, ServerStatus, TestBlocker,
        server_test::without_values,
    },
};
use guildhall_world::mcp::{McpError, RequestOptions, RequestTimeouts};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use self::{
    connection_lifecycle::ListingPolicy,
    mcp_connections::{ConnectStep, DisconnectReason, McpConnection, ServerKey, ServerVersion},
};
pub(crate) use self::{mcp_connections::McpConnections, session_servers::ServerSet};
use crate::{
    Hall,
    approvals::ClientPresence,
    mcp_servers::{ConfiguredServer, Observation, ObservationOutcome, session_of},
};

/// How far a server is with a call.
pub use guildhall_world::mcp::ProgressUpdate;

/// A question of a client to a tool server.
#[derive(Debug)]
pub struct ClientRequest {
    /// What is asked.
    pub method: String,
    /// About what; null for nothing.
    pub params: Value,
    /// The revision of the protocol that the client speaks, where it says so.
    pub revision: Option<String>,
    /// Where progress goes, when the client wants to hear of it.
    pub progress: Option<mpsc::Sender<ProgressUpdate>>,
    /// Whether the client still waits for the answer.
    pub listening: ClientPresence,
}

/// What a client is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientResponse {
    /// The result.
    Result(Value),
    /// An error of the protocol.
    Error {
        /// Its number.
        code: i64,
        /// A sentence.
        message: String,
        /// More of it; null for nothing.
        data: Value,
    },
}

/// Errors of the protocol. Source: JSON-RPC 2.0, "Error object".
const UNKNOWN_METHOD: i64 = -32_601;
const WRONG_PARAMS: i64 = -32_602;
const NOT_REACHED: i64 = -32_000;

/// Why a server is not used: a word for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerUnavailable {
    pub(crate) code: String,
    pub(crate) sentence: String,
}

impl ServerUnavailable {
    fn new(code: &str, sentence: &str) -> Self {
        Self {
            code: code.to_owned(),
            sentence: sentence.to_owned(),
        }
    }

    fn held_back(why: TestBlocker) -> Self {
        let (code, sentence) = why.code_and_message();
        Self::new(code, sentence)
    }

    fn gone() -> Self {
        Self::new("SERVER_NOT_FOUND", "There is no such tool server any more.")
    }

    fn unheard() -> Self {
        Self::new("CANCELLED", "Whoever called is gone.")
    }

    fn moved() -> Self {
        Self::new("CHANGED", "The tool server was changed; try again.")
    }

    fn sign_in() -> Self {
        Self::new(
            "NEEDS_SIGN_IN",
            "Somebody has to sign in to this tool server first.",
        )
    }

    fn of(entry: &ConfiguredServer, error: &McpError) -> Self {
        if error.needs_sign_in() {
            return Self::sign_in();
        }
        let text = without_values(&entry.kept.server, &error.to_string());
        let mut letters = text.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        let sentence: String = first.into_iter().chain(letters).collect();
        Self::new(error.code(), &format!("{sentence}."))
    }
}

/// An agent that speaks for one of its sessions: it showed that session's token.
#[derive(Clone, Copy, Debug)]
pub struct SessionAgent {
    agent: AgentId,
    session: SessionId,
}

impl SessionAgent {
    /// The agent.
    pub fn agent(&self) -> AgentId {
        self.agent
    }
}

/// Who asks, and of which entry.
#[derive(Clone, Debug)]
struct ServerRequestTarget {
    entry: ConfiguredServer,
    session: SessionId,
}

impl ServerRequestTarget {
    fn key(&self) -> ServerKey {
        ServerKey::of(&self.entry)
    }
}

impl Hall {
    /// The session that an agent speaks for.
    ///
    /// # Errors
    /// [`Refusal::AgentTokenRequired`] for a credential of no session.
    ///
    /// Source: contract 4.9, `/mcp/servers/{name}`.
    pub async fn session_of_agent(&self, by: &Agent) -> Result<SessionAgent> {
        let by = *by.caller();
        let found = self
            .store()
            .read(move |db| {
                let session = session_of(db, &by)?;
                Ok(by.agent().zip(session).ok_or(Refusal::AgentTokenRequired)?)
            })
            .await?;
        let (agent, session) = found.value;
        Ok(SessionAgent { agent, session })
    }

    /// Answers a client's question to the tool server `name` of an agent. Dropped, the question is taken back at the server.
    ///
    /// A call of a tool is always answered with a result; why it came to nothing stands in it.
    ///
    /// # Errors
    /// `NotFound`.
    ///
    /// Source: contract 4.4, 4.9.
    pub async fn forward_mcp_request(
        &self,
        by: SessionAgent,
        name: &str,
        question: ClientRequest,
    ) -> Result<ClientResponse> {
        let is_call = question.method == "tools/call";
        let entry = match self.configured_server(by.agent, name).await {
            Ok(found) => found,
            Err(Error::Refusal(Refusal::NotFound(ResourceKind::McpServer))) if is_call => {
                return Ok(ClientResponse::Result(rules::tool_error_result(
                    &ServerUnavailable::gone().sentence,
                )));
            }
            Err(error) => return Err(error),
        };
        let visit = ServerRequestTarget {
            entry,
            session: by.session,
        };
        let told = match question.method.as_str() {
            "ping" => Ok(ClientResponse::Result(json!({}))),
            "initialize" => self.initialize(&visit, &question.params).await,
            "tools/list" => self.list(&visit, &question.params).await,
            "tools/call" => self.call(&visit, question).await,
            method if rules::is_forwarded(method) => self.forward(&visit, question).await,
            method => {
                return Ok(ClientResponse::Error {
                    code: UNKNOWN_METHOD,
                    message: format!("{method} is not offered here"),
                    data: Value::Null,
                });
            }
        };
        Ok(told.unwrap_or_else(|closed| match is_call {
            true => ClientResponse::Result(rules::tool_error_result(&closed.sentence)),
            false => ClientResponse::Error {
                code: NOT_REACHED,
                message: closed.sentence,
                data: json!({"code": closed.code}),
            },
        }))
    }

    /// Answers a greeting by what the server said of itself.
    async fn initialize(
        &self,
        visit: &ServerRequestTarget,
        params: &Value,
    ) -> Result<ClientResponse, ServerUnavailable> {
        let up = match self.open_connection(visit).await {
            Ok(up) => up,
            Err(closed) => {
                self.inner
                    .gateways
                    .client_failed(&visit.key(), visit.session);
                return Err(closed);
            }
        };
        self.inner
            .gateways
            .client_attached(&visit.key(), visit.session);
        let server = up.client.server();
        let said = ServerDescription {
            name: &server.name,
            version: &server.version,
            capabilities: &server.capabilities,
            instructions: &server.instructions,
        };
        let asked = params["protocolVersion"].as_str().unwrap_or_default();
        Ok(ClientResponse::Result(rules::initialize_result(
            said, asked,
        )))
    }

    /// Lists the tools, all on one page: a listing is looked at as a whole.
    async fn list(
        &self,
        visit: &ServerRequestTarget,
        params: &Value,
    ) -> Result<ClientResponse, ServerUnavailable> {
        if !params["cursor"].is_null() {
            return Ok(ClientResponse::Error {
                code: WRONG_PARAMS,
                message: "there is no such page".to_owned(),
                data: Value::Null,
            });
        }
        let up = self.open_connection(visit).await?;
        let seen = self
            .check_tools(&visit.entry, &up, ListingPolicy::Now)
            .await?;
        Ok(ClientResponse::Result(json!({"tools": seen.written})))
    }

    /// Calls a tool, once its server was seen to be what was approved.
    async fn call(
        &self,
        visit: &ServerRequestTarget,
        question: ClientRequest,
    ) -> Result<ClientResponse, ServerUnavailable> {
        let up = self.open_connection(visit).await?;
        let seen = self
            .check_tools(&visit.entry, &up, ListingPolicy::IfDue)
            .await?;
        let name = question.params["name"].as_str().unwrap_or_default();
        if !seen.tools.iter().any(|tool| tool.name == name) {
            return Ok(ClientResponse::Error {
                code: WRONG_PARAMS,
                message: format!("there is no tool {name}"),
                data: Value::Null,
            });
        }
        self.send_request(visit, &up, question).await
    }

    async fn forward(
        &self,
        visit: &ServerRequestTarget,
        question: ClientRequest,
    ) -> Result<ClientResponse, ServerUnavailable> {
        let up = self.open_connection(visit).await?;
        self.send_request(visit, &up, question).await
    }

    /// Hands a question on; it ends with the line, also while the server works on it.
    async fn send_request(
        &self,
        visit: &ServerRequestTarget,
        up: &McpConnection,
        question: ClientRequest,
    ) -> Result<ClientResponse, ServerUnavailable> {
        let ClientRequest {
            method,
            params,
            revision,
            progress,
            mut listening,
        } = question;
        let tag = up.begin_call(visit.session);
        let asking = RequestOptions {
            tag: tag.number(),
            waits: RequestTimeouts::default(),
            progress,
        };
        let answer = tokio::select! {
            biased;
            closed = disconnected(up.cut.subscribe()) => return Err(closed),
            // The server hears that it was cancelled.
            () = listening.ended() => return Err(ServerUnavailable::unheard()),
            answer = up.client.forward(&method, rules::forwarded_params(params), asking) => answer,
        };
        match answer {
            Ok(result) => {
                let result = rules::forwarded_result(result, revision.as_deref());
                Ok(ClientResponse::Result(result))
            }
            Err(McpError::Refused {
                code,
                message,
                data,
            }) => Ok(ClientResponse::Error {
                code: code.into(),
                message,
                data: data.unwrap_or_default(),
            }),
            Err(error) => {
                // How it ended is told by whoever ended it.
                let cut = up.cut.borrow().clone();
                self.record_failure(&visit.entry, &error).await;
                Err(cut.unwrap_or_else(|| ServerUnavailable::of(&visit.entry, &error)))
            }
        }
    }

    /// The line to an entry's server, opened if it is not; only where the entry may be used and
    /// its program is the approved one.
    async fn open_connection(
        &self,
        visit: &ServerRequestTarget,
    ) -> Result<McpConnection, ServerUnavailable> {
        let (entry, key) = (&visit.entry, visit.key());
        self.may_be_used(entry, &key).await?;
        self.is_approved_program(entry, &key).await?;
        loop {
            let mark = ServerVersion::of(entry);
            let mut told = match self.inner.gateways.next_step(&key, mark, visit.session) {
                ConnectStep::Take(up) => return self.with_token(entry, up).await,
                ConnectStep::Hear(told) => told,
                ConnectStep::Start(starting, told) => {
                    self.start_connection(entry.clone(), key.clone(), starting);
                    told
                }
            };
            let started = told.wait_for(Option::is_some).await;
            match started.ok().and_then(|started| started.clone()) {
                Some(Ok(up)) if !up.is_over() => return Ok(up),
                Some(Ok(_)) => {}
                Some(Err(closed)) => return Err(closed),
                None => return Err(ServerUnavailable::moved()),
            }
        }
    }

    /// A line whose requests show the token of today: they outlive the one it was opened with.
    async fn with_token(
        &self,
        entry: &ConfiguredServer,
        up: McpConnection,
    ) -> Result<McpConnection, ServerUnavailable> {
        let server = &entry.kept.server;
        let Some(bearer) = up.bearer.as_ref().filter(|_| server.is_signed_in()) else {
            return Ok(up);
        };
        match self.mcp_bearer(entry.agent.id, server).await {
            Ok(Some(token)) => bearer.renew(token),
            Ok(None) => return Err(ServerUnavailable::sign_in()),
            Err(error) => return Err(broken(&error)),
        }
        Ok(up)
    }

    /// Holds back what is off, what a person has to look at, and what failed too often.
    async fn may_be_used(
        &self,
        entry: &ConfiguredServer,
        key: &ServerKey,
    ) -> Result<(), ServerUnavailable> {
        let server = &entry.kept.server;
        if let Some(why) = TestBlocker::of(server) {
            if why == TestBlocker::NeedsApproval {
                // Where nobody can answer the question any more it is asked once more.
                self.try_record_observation(entry, Observation::Lapsed)
                    .await;
            }
            return Err(ServerUnavailable::held_back(why));
        }
        if server.status == ServerStatus::NeedsSignIn {
            return Err(ServerUnavailable::sign_in());
        }
        if server.status == ServerStatus::Failing && self.inner.gateways.is_resting(key) {
            let why = server.status_detail.as_deref().unwrap_or_default();
            let sentence = format!("It failed several times and is tried again next turn. {why}");
            return Err(ServerUnavailable::new("FAILING", sentence.trim()));
        }
        Ok(())
    }

    /// Looks whether the program of an entry is the approved one, and cuts the entry off if not.
    async fn is_approved_program(
        &self,
        entry: &ConfiguredServer,
        key: &ServerKey,
    ) -> Result<(), ServerUnavailable> {
        let connection = &entry.kept.server.connection;
        if connection.stdio().is_none() {
            return Ok(());
        }
        let found = self.program_of(&entry.agent, connection).await;
        let found = found.map_err(|fault| broken(&fault.into()))?;
        let learned = match (entry.kept.server.pin.compare(found.as_ref()), found) {
            (PinComparison::Same, _) => return Ok(()),
            (PinComparison::Missing, _) | (_, None) => Observation::Missing,
            (PinComparison::Unseen | PinComparison::Differs, Some(program)) => {
                Observation::Program(program)
            }
        };
        let closed = match self.try_record_observation(entry, learned).await {
            ObservationOutcome::Held(why) => ServerUnavailable::held_back(why),
            ObservationOutcome::Fine | ObservationOutcome::Moved => ServerUnavailable::moved(),
        };
        self.inner.gateways.disconnect(key, &closed);
        Err(closed)
    }

    /// Notes that a server wants a sign-in, which ends its line; other failures are no news.
    async fn record_failure(&self, entry: &ConfiguredServer, error: &McpError) {
        let learned = match error {
            McpError::NeedsAuth { www_authenticate } => {
                Observation::SignIn(www_authenticate.clone())
            }
            McpError::InsufficientScope { www_authenticate } => {
                Observation::WiderScope(www_authenticate.clone())
            }
            _ => return,
        };
        self.try_record_observation(entry, learned).await;
        self.inner
            .gateways
            .disconnect(&ServerKey::of(entry), &ServerUnavailable::sign_in());
    }

    /// Notes what was learned of an entry; what cannot be written is logged, and the entry is
    /// held back as one that changed.
    async fn try_record_observation(
        &self,
        entry: &ConfiguredServer,
        learned: Observation,
    ) -> ObservationOutcome {
        match self.record_observation(entry, learned).await {
            Ok(noted) => noted,
            Err(error) => {
                tracing::error!(?error, "what was learned of a tool server was not written");
                ObservationOutcome::Moved
            }
        }
    }

    /// Ends what the entry of this name stood for, because somebody changed it; `now` is what it
    /// is after that.
    pub(crate) fn tool_server_changed(
        &self,
        agent: AgentId,
        name: &ServerName,
        now: Option<&McpServer>,
    ) {
        let key = ServerKey::named(agent, name);
        match now {
            None => self.inner.gateways.forget(&key, &ServerUnavailable::gone()),
            Some(server) => match TestBlocker::of(server) {
                Some(why) => self
                    .inner
                    .gateways
                    .disconnect(&key, &ServerUnavailable::held_back(why)),
                None => {
                    let mark = ServerVersion::of_server(server);
                    self.inner
                        .gateways
                        .disconnect_stale(&key, mark, &ServerUnavailable::moved());
                }
            },
        }
    }

    /// Nobody is signed in to this server any more.
    pub(crate) fn tool_server_signed_out(&self, agent: AgentId, name: &ServerName) {
        let key = ServerKey::named(agent, name);
        self.inner
            .gateways
            .disconnect(&key, &ServerUnavailable::sign_in());
    }

    /// How many tool servers are connected to now.
    pub fn tool_servers_open(&self) -> usize {
        self.inner.gateways.open()
    }

    /// A session of an agent is over, and uses no server any more.
    pub(crate) fn leave_tool_servers(&self, session: SessionId) {
        self.inner.gateways.leave(session);
    }
}

/// Waits until a line is cut.
async fn disconnected(mut cut: watch::Receiver<Option<ServerUnavailable>>) -> ServerUnavailable {
    let why = cut.wait_for(Option::is_some).await;
    why.ok()
        .and_then(|why| why.clone())
        .unwrap_or_else(ServerUnavailable::moved)
}

fn broken(error: &Error) -> ServerUnavailable {
    tracing::error!(?error, "a tool server could not be looked at");
    ServerUnavailable::new("INTERNAL", "The tool server could not be looked at.")
}

/// Shared by whoever may cut a line.
type DisconnectSender = Arc<watch::Sender<DisconnectReason>>;
