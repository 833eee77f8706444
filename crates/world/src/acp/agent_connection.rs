//! The link to one running agent: what can be asked of it, from any task.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agent_client_protocol::{
    self as acp, Agent, JsonRpcRequest,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo,
        schema::{
            CancelNotification, ClientCapabilities, CloseSessionRequest, ContentBlock,
            ElicitationCapabilities, ElicitationFormCapabilities, ElicitationUrlCapabilities,
            EnvVariable, HttpHeader, Implementation, InitializeRequest, InitializeResponse,
            LoadSessionRequest, McpServer as ServerEntry, McpServerHttp, McpServerStdio,
            NewSessionRequest, PromptRequest, ResumeSessionRequest, SetSessionConfigOptionRequest,
            SetSessionModeRequest, TextContent,
        },
    },
};
use tokio::sync::{oneshot, watch};

use super::{
    AgentCallError, AgentCapabilities, AgentExit, ExitCause, OpenMode, OpenSessionRequest,
    OpenedSession, OptionCategory, PromptPart, PromptResult, SessionMcpServer, from_acp, mode_of,
    session_registry::{SessionRegistry, SetOptionMethod},
};
use crate::stderr_tail::StderrTail;

/// Bytes of its standard error that are kept.
const TAIL_BYTES_MAX: usize = 8 * 1_024;
/// How long a question that the end cut off waits to hear why the process ended.
const REASON_WAIT: Duration = Duration::from_millis(500);

/// A running agent. Cheap to clone; all clones share the process.
///
/// What it says unasked comes through the receiver of [`super::launch`], which must be read all
/// the while: a full one blocks the agent, and with it every answer. Updates of a session may
/// come before `open` answers.
#[derive(Clone, Debug)]
pub struct AgentConnection {
    pub(super) shared: Arc<SharedConnection>,
}

/// What all clones, the driver and the handlers share.
#[derive(Debug)]
pub(super) struct SharedConnection {
    pub(super) keeper_pid: u32,
    /// The connection, once the driver has begun.
    pub(super) connection: watch::Sender<Option<ConnectionTo<Agent>>>,
    /// Turns true when the process shall end.
    pub(super) stop: watch::Sender<bool>,
    /// Turns true when the connection is over, which may be long before the process has ended.
    pub(super) is_over: AtomicBool,
    pub(super) ended: watch::Sender<Option<AgentExit>>,
    pub(super) sessions: SessionRegistry,
    pub(super) tail: StderrTail,
    agent: OnceLock<AgentCapabilities>,
}

impl SharedConnection {
    pub(super) fn new(keeper_pid: u32) -> Self {
        Self {
            keeper_pid,
            connection: watch::Sender::new(None),
            stop: watch::Sender::new(false),
            is_over: AtomicBool::new(false),
            ended: watch::Sender::new(None),
            sessions: SessionRegistry::default(),
            tail: StderrTail::keeping(TAIL_BYTES_MAX),
            agent: OnceLock::new(),
        }
    }
}

impl AgentConnection {
    /// The process everything of this agent is below.
    pub fn guard_pid(&self) -> u32 {
        self.shared.keeper_pid
    }

    /// Greets the agent; to be done once, before anything else.
    ///
    /// # Errors
    /// [`AgentCallError::Protocol`] when it speaks another version; else as for every question.
    pub async fn initialize(&self) -> Result<AgentCapabilities, AgentCallError> {
        let capabilities = ClientCapabilities::new().elicitation(
            ElicitationCapabilities::new()
                .form(ElicitationFormCapabilities::new())
                .url(ElicitationUrlCapabilities::new()),
        );
        let ask = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(capabilities)
            .client_info(
                Implementation::new("guildhall", env!("CARGO_PKG_VERSION"))
                    .title("guildhall".to_owned()),
            );
        let answer = self.ask(ask).await?;
        if answer.protocol_version != ProtocolVersion::V1 {
            return Err(AgentCallError::Protocol(format!(
                "the agent speaks version {} of the protocol, not 1",
                answer.protocol_version
            )));
        }
        let initialized = initialized(answer);
        // A second greeting changes nothing of what the agent can do.
        let _ = self.shared.agent.set(initialized.clone());
        Ok(initialized)
    }

    /// Opens a session, new or old.
    ///
    /// # Errors
    /// [`AgentCallError::NotOffered`] for an old one when the agent can take up none.
    pub async fn open(&self, ask: OpenSessionRequest) -> Result<OpenedSession, AgentCallError> {
        let servers: Vec<_> = ask.mcp_servers.into_iter().map(server_entry).collect();
        let can = self.shared.agent.get().cloned().unwrap_or_default();
        let opened = match ask.how {
            OpenMode::New => {
                let answer = self
                    .ask(NewSessionRequest::new(ask.cwd).mcp_servers(servers))
                    .await?;
                from_acp::opened(
                    answer.session_id.to_string(),
                    answer.modes,
                    answer.config_options,
                )
            }
            OpenMode::Resume(id) if can.resume_session => {
                let ask = ResumeSessionRequest::new(id.clone(), ask.cwd).mcp_servers(servers);
                let answer = self.ask(ask).await?;
                from_acp::opened(id, answer.modes, answer.config_options)
            }
            OpenMode::Resume(id) if can.load_session => {
                let ask = LoadSessionRequest::new(id.clone(), ask.cwd).mcp_servers(servers);
                self.load(id, ask, true).await?
            }
            OpenMode::Load(id) if can.load_session => {
                let ask = LoadSessionRequest::new(id.clone(), ask.cwd).mcp_servers(servers);
                self.load(id, ask, false).await?
            }
            OpenMode::Resume(_) | OpenMode::Load(_) => {
                return Err(AgentCallError::NotOffered(
                    "way to take up a session".to_owned(),
                ));
            }
        };
        self.shared.sessions.opened(&opened);
        Ok(opened)
    }

    /// Loads an old session. Whether its replay is dropped ends within the dispatch of the
    /// answer, so that no update behind the answer is lost.
    async fn load(
        &self,
        id: String,
        ask: LoadSessionRequest,
        is_replay_dropped: bool,
    ) -> Result<OpenedSession, AgentCallError> {
        self.shared.sessions.replays(&id, is_replay_dropped);
        let (shared, session) = (Arc::clone(&self.shared), id.clone());
        let answer = self
            .ask_noting(ask, move |_| shared.sessions.replays(&session, false))
            .await?;
        Ok(from_acp::opened(id, answer.modes, answer.config_options))
    }

    /// Sets the mode by the agent's own id of it: by `session/set_mode`, else by the config
    /// option of category `mode`.
    ///
    /// # Errors
    /// [`AgentCallError::NotOffered`] when the session has neither.
    pub async fn set_mode(&self, session: &str, native: &str) -> Result<(), AgentCallError> {
        let Some(way) = self.shared.sessions.set_mode_method(session) else {
            return Err(AgentCallError::NotOffered("modes".to_owned()));
        };
        self.shared.sessions.mode_changed(session, None);
        self.set(session, way, native, Some(native.to_owned()))
            .await
    }

    /// The mode in force in `session`, by the agent's id and by what it said last; `None` where
    /// it is not known, as while it is being set.
    pub fn mode(&self, session: &str) -> Option<String> {
        self.shared.sessions.mode(session)
    }

    /// Sets the model or the effort to one of the values offered.
    ///
    /// # Errors
    /// [`AgentCallError::NotOffered`] when the session has no such option, or not that value.
    pub async fn set_option(
        &self,
        session: &str,
        category: OptionCategory,
        value: &str,
    ) -> Result<(), AgentCallError> {
        match self
            .shared
            .sessions
            .set_option_method(session, category, Some(value))
        {
            Some(way) => self.set(session, way, value, None).await,
            None => Err(AgentCallError::NotOffered(format!("such value: {value}"))),
        }
    }

    /// Sets a value; `mode` is the mode in force when the agent agrees.
    async fn set(
        &self,
        session: &str,
        way: SetOptionMethod,
        value: &str,
        mode: Option<String>,
    ) -> Result<(), AgentCallError> {
        use acp::v1::schema::SessionConfigOptionValue as Value;
        let session_id = session.to_owned();
        let (shared, noted) = (Arc::clone(&self.shared), session_id.clone());
        let note_mode = move |mode: Option<String>| {
            if mode.is_some() {
                shared.sessions.mode_changed(&noted, mode);
            }
        };
        let (id, value) = match way {
            SetOptionMethod::Mode => {
                let ask = SetSessionModeRequest::new(session_id, value.to_owned());
                let noting = move |is_done| note_mode(mode.filter(|_| is_done));
                self.ask_noting(ask, move |answer| noting(answer.is_ok()))
                    .await?;
                return Ok(());
            }
            SetOptionMethod::Option(id) => (id, Value::value_id(value.to_owned())),
            SetOptionMethod::Switch(id) => (id, Value::boolean(value == "true")),
        };
        let ask = SetSessionConfigOptionRequest::new(session_id, id, value);
        let (shared, session) = (Arc::clone(&self.shared), session.to_owned());
        self.ask_noting(ask, move |answer| {
            if let Ok(answer) = answer {
                let options = from_acp::options(answer.config_options.clone());
                shared.sessions.options_changed(&session, &options);
                note_mode(mode_of(&options).or(mode));
            }
        })
        .await?;
        Ok(())
    }

    /// Hands the agent a prompt and waits for the end of its turn, however long it takes.
    /// Every update of the turn was handed on before this answers.
    ///
    /// # Errors
    /// [`AgentCallError::Refused`] when the turn failed, [`AgentCallError::Gone`] when the process ended.
    pub async fn prompt(
        &self,
        session: &str,
        pieces: Vec<PromptPart>,
    ) -> Result<PromptResult, AgentCallError> {
        let blocks = pieces.into_iter().map(|piece| match piece {
            PromptPart::Context(text) | PromptPart::Text(text) => {
                ContentBlock::Text(TextContent::new(text))
            }
        });
        let ask = PromptRequest::new(session.to_owned(), blocks.collect::<Vec<_>>());
        let answer = self.ask(ask).await?;
        from_acp::prompt_end(answer).ok_or_else(|| {
            AgentCallError::Protocol(
                "the turn ended for a reason this version does not know".to_owned(),
            )
        })
    }

    /// Asks the agent to end the turn of `session`; its prompt then ends as cancelled. Questions
    /// of that turn are for the caller to answer as cancelled. Never waits.
    pub fn cancel(&self, session: &str) {
        if let Some(connection) = self.shared.connection.borrow().as_ref() {
            // An error means that the connection is over, and with it the turn.
            let _ = connection.send_notification(CancelNotification::new(session.to_owned()));
        }
    }

    /// Tells the agent that `session` is over, where it wants to know; waits for its answer, or
    /// for its end.
    pub async fn close_session(&self, session: &str) {
        let wants_to_know = self
            .shared
            .agent
            .get()
            .is_some_and(|agent| agent.close_session);
        // First, so that nothing of it stays when nobody waits for the answer any more.
        self.shared.sessions.closed(session);
        if wants_to_know {
            // The session is over for us in any case.
            let _ = self.ask(CloseSessionRequest::new(session.to_owned())).await;
        }
    }

    /// Begins the orderly end: standard input closes, then the signals of contract 3.3.2.
    /// [`super::AgentDriver`] ends when nothing of the tree lives any more. Never waits.
    pub fn stop(&self) {
        self.shared.stop.send_replace(true);
    }

    /// Whether it may be asked things: it was not told to stop, and its connection is open.
    pub fn is_usable(&self) -> bool {
        let is_over = self.shared.is_over.load(Ordering::Acquire);
        !is_over && !*self.shared.stop.borrow() && self.shared.ended.borrow().is_none()
    }

    /// How it ended; `None` while it runs.
    pub fn ended(&self) -> Option<AgentExit> {
        self.shared.ended.borrow().clone()
    }

    async fn ask<Req>(&self, ask: Req) -> Result<Req::Response, AgentCallError>
    where
        Req: JsonRpcRequest,
        Req::Response: Send,
    {
        let connection = self.connection().await?;
        match connection.send_request(ask).block_task().await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.error(&error).await),
        }
    }

    /// Asks, and has the answer noted in its place among all that the agent says.
    async fn ask_noting<Req>(
        &self,
        ask: Req,
        note: impl FnOnce(&Result<Req::Response, acp::Error>) + Send + 'static,
    ) -> Result<Req::Response, AgentCallError>
    where
        Req: JsonRpcRequest,
        Req::Response: Send,
    {
        let connection = self.connection().await?;
        let (tell, told) = oneshot::channel();
        let sent = connection
            .prepare_request(ask)
            .on_receiving_result(move |answer| {
                note(&answer);
                // Whoever asked may have given up.
                let _ = tell.send(answer);
                std::future::ready(Ok(()))
            });
        match (sent, told.await) {
            (Ok(()), Ok(Ok(answer))) => Ok(answer),
            (Ok(()), Ok(Err(error))) => Err(self.error(&error).await),
            (Ok(()), Err(_)) | (Err(_), _) => Err(self.gone().await),
        }
    }

    /// The connection, as soon as the driver has begun.
    async fn connection(&self) -> Result<ConnectionTo<Agent>, AgentCallError> {
        let mut connection = self.shared.connection.subscribe();
        let mut ended = self.shared.ended.subscribe();
        tokio::select! {
            // Nothing is asked of an agent that is gone.
            biased;
            _ = ended.wait_for(Option::is_some) => {}
            found = connection.wait_for(Option::is_some) => {
                if let Some(connection) = found.ok().and_then(|found| found.clone()) {
                    return Ok(connection);
                }
            }
        }
        Err(self.gone().await)
    }

    async fn error(&self, error: &acp::Error) -> AgentCallError {
        match AgentCallError::of(error) {
            Some(error) => error,
            None => self.gone().await,
        }
    }

    /// Why the agent is gone, as far as that is known soon.
    async fn gone(&self) -> AgentCallError {
        let mut ended = self.shared.ended.subscribe();
        let wait = ended.wait_for(Option::is_some);
        let known = match tokio::time::timeout(REASON_WAIT, wait).await {
            Ok(Ok(ended)) => ended.clone(),
            Ok(Err(_)) | Err(_) => None,
        };
        match known {
            Some(AgentExit {
                kind: ExitCause::Protocol,
                why,
                ..
            }) => AgentCallError::Protocol(why),
            Some(ended) => AgentCallError::Gone(ended.why),
            None => AgentCallError::Gone("the agent does not answer any more".to_owned()),
        }
    }
}

fn initialized(answer: InitializeResponse) -> AgentCapabilities {
    let can = answer.agent_capabilities;
    let (name, version) = match answer.agent_info {
        Some(info) => (info.name, info.version),
        None => (String::new(), String::new()),
    };
    AgentCapabilities {
        name,
        version,
        load_session: can.load_session,
        resume_session: can.session_capabilities.resume.is_some(),
        close_session: can.session_capabilities.close.is_some(),
        embedded_context: can.prompt_capabilities.embedded_context,
        image: can.prompt_capabilities.image,
        mcp_http: can.mcp_capabilities.http,
        mcp_sse: can.mcp_capabilities.sse,
    }
}

fn server_entry(server: SessionMcpServer) -> ServerEntry {
    match server {
        SessionMcpServer::Stdio {
            name,
            command,
            args,
            env,
        } => ServerEntry::Stdio(
            McpServerStdio::new(name, command).args(args).env(
                env.into_iter()
                    .map(|(name, value)| EnvVariable::new(name, value))
                    .collect(),
            ),
        ),
        SessionMcpServer::Http { name, url, headers } => ServerEntry::Http(
            McpServerHttp::new(name, url).headers(
                headers
                    .into_iter()
                    .map(|(name, value)| HttpHeader::new(name, value))
                    .collect(),
            ),
        ),
    }
}
