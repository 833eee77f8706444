//! The agent's side of the protocol: opening sessions, modes, prompts and cancels.
//! Handlers only look up and start; a turn runs beside them, one at a time a session.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use agent_client_protocol::{
    Agent as Role, Error, ErrorCode, on_receive_notification, on_receive_request,
    v1::{ConnectionTo, Responder, schema},
};
use futures_util::{Sink, Stream};
use schema::{
    AgentCapabilities, CancelNotification, CloseSessionRequest, CloseSessionResponse, ContentBlock,
    Implementation, InitializeRequest, InitializeResponse, LoadSessionRequest, LoadSessionResponse,
    McpServer, NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest,
    PromptResponse, ResumeSessionRequest, ResumeSessionResponse, SessionCapabilities,
    SessionCloseCapabilities, SessionNotification, SessionResumeCapabilities, SessionUpdate,
    SetSessionModeRequest, SetSessionModeResponse, StopReason, Usage,
};
use serde_json::Value;
use tokio::sync::watch;

use crate::{
    NAME, clock,
    connection::{ClientConnection, ClientRole, ConnectionEnd},
    directives,
    modes::AgentMode,
    session_history::{self, HistoryFolder, SessionRecord},
    tool_servers::ToolServers,
    tools::SessionFolder,
    turn::{self, TurnRun},
};

/// A session that is open.
pub(crate) struct AgentSession {
    /// Its id.
    pub(crate) id: String,
    /// Its folder.
    pub(crate) workspace: SessionFolder,
    /// The tool servers it was given when it was opened last.
    pub(crate) servers: ToolServers,
    // Std mutexes: held for a few assignments or the writing of one file, never over an await.
    record: Mutex<SessionRecord>,
    mode: Mutex<AgentMode>,
    is_busy: AtomicBool,
    cancel: watch::Sender<bool>,
}

impl AgentSession {
    fn open(record: SessionRecord, servers: Vec<McpServer>) -> io::Result<Self> {
        Ok(Self {
            id: record.id.clone(),
            workspace: SessionFolder::at(&record.cwd)?,
            servers: ToolServers::of(record.cwd.clone(), servers),
            record: Mutex::new(record),
            mode: Mutex::new(AgentMode::default()),
            is_busy: AtomicBool::new(false),
            cancel: watch::Sender::new(false),
        })
    }

    /// Reads or changes what is stored of it.
    pub(crate) fn with_record<T>(&self, change: impl FnOnce(&mut SessionRecord) -> T) -> T {
        change(&mut held(&self.record))
    }

    /// Keeps an update for the next replay.
    pub(crate) fn note(&self, update: Value) {
        self.with_record(|record| record.note(update));
    }

    /// The mode in force.
    pub(crate) fn mode(&self) -> AgentMode {
        *held(&self.mode)
    }

    /// Puts a mode in force.
    pub(crate) fn set_mode(&self, mode: AgentMode) {
        *held(&self.mode) = mode;
    }

    /// Whether the present turn is cancelled.
    pub(crate) fn cancelled(&self) -> watch::Receiver<bool> {
        self.cancel.subscribe()
    }
}

/// A thread that panicked with the lock leaves values that are whole, each set by one assignment.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all handlers share.
#[derive(Clone)]
struct ScriptedAgent {
    history: HistoryFolder,
    sessions: Arc<Mutex<HashMap<String, Arc<AgentSession>>>>,
    has_forms: Arc<AtomicBool>,
}

/// Serves one client until it is gone.
pub(crate) async fn serve<Out, In>(
    ports: ClientConnection<Out, In>,
    state_dir: Option<PathBuf>,
) -> ConnectionEnd
where
    Out: Sink<String, Error = io::Error> + Send + 'static,
    In: Stream<Item = io::Result<String>> + Send + 'static,
{
    let agent = ScriptedAgent {
        history: HistoryFolder::in_folder(state_dir),
        sessions: Arc::default(),
        has_forms: Arc::default(),
    };
    let (opens, loads, resumes, closes) =
        (agent.clone(), agent.clone(), agent.clone(), agent.clone());
    let (modes, prompts, cancels) = (agent.clone(), agent.clone(), agent.clone());
    let builder = Role
        .v1()
        .name(NAME)
        .on_receive_request(
            async move |ask: InitializeRequest, to: Responder<InitializeResponse>, _| {
                to.respond(agent.initialize(&ask))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |ask: NewSessionRequest, to: Responder<NewSessionResponse>, _| {
                to.respond_with_result(opens.open(ask))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |ask: LoadSessionRequest, to: Responder<LoadSessionResponse>, client| {
                to.respond_with_result(loads.load(ask, &client))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |ask: ResumeSessionRequest, to: Responder<ResumeSessionResponse>, _| {
                to.respond_with_result(resumes.resume(ask))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |ask: CloseSessionRequest, to: Responder<CloseSessionResponse>, _| {
                to.respond(closes.close(&ask))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |ask: SetSessionModeRequest, to: Responder<SetSessionModeResponse>, _| {
                to.respond_with_result(modes.set_mode(&ask))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |ask: PromptRequest,
                        to: Responder<PromptResponse>,
                        client: ConnectionTo<ClientRole>| {
                prompts.prompt(ask, to, &client)
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |ask: CancelNotification, _| {
                cancels.cancel(&ask);
                Ok(())
            },
            on_receive_notification!(),
        );
    ports.serve(builder).await
}

impl ScriptedAgent {
    fn initialize(&self, ask: &InitializeRequest) -> InitializeResponse {
        let elicitation = ask.client_capabilities.elicitation.as_ref();
        let has_forms = elicitation.is_some_and(|modes| modes.form.is_some());
        self.has_forms.store(has_forms, Ordering::Relaxed);
        let sessions = SessionCapabilities::new()
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().embedded_context(true))
            .session_capabilities(sessions);
        let own = Implementation::new(NAME, env!("CARGO_PKG_VERSION"))
            .title("Rehearsal (scripted)".to_owned());
        InitializeResponse::new(agent_client_protocol::schema::ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(own)
    }

    fn open(&self, ask: NewSessionRequest) -> Result<NewSessionResponse, Error> {
        let record = SessionRecord {
            id: session_history::fresh_id().map_err(Error::into_internal_error)?,
            cwd: ask.cwd,
            ..SessionRecord::default()
        };
        let session = self.opened(record, ask.mcp_servers)?;
        // Without its history an agent still works, so a full disk is no reason to refuse.
        let _ = session.with_record(|record| self.history.save(record));
        Ok(NewSessionResponse::new(session.id.clone()).modes(session.mode().state()))
    }

    fn load(
        &self,
        ask: LoadSessionRequest,
        client: &ConnectionTo<ClientRole>,
    ) -> Result<LoadSessionResponse, Error> {
        let session = self.reopened(&ask.session_id.to_string(), ask.cwd, ask.mcp_servers)?;
        for update in session.with_record(|record| record.updates.clone()) {
            let update: SessionUpdate = serde_json::from_value(update)?;
            client.send_notification(SessionNotification::new(session.id.clone(), update))?;
        }
        Ok(LoadSessionResponse::new().modes(session.mode().state()))
    }

    fn resume(&self, ask: ResumeSessionRequest) -> Result<ResumeSessionResponse, Error> {
        let session = self.reopened(&ask.session_id.to_string(), ask.cwd, ask.mcp_servers)?;
        Ok(ResumeSessionResponse::new().modes(session.mode().state()))
    }

    /// Takes up a session where it was stored last; the mode is the default again.
    fn reopened(
        &self,
        id: &str,
        cwd: PathBuf,
        servers: Vec<McpServer>,
    ) -> Result<Arc<AgentSession>, Error> {
        let open = held(&self.sessions).get(id).cloned();
        let record = match open {
            Some(session) => Some(session.with_record(|record| record.clone())),
            None => self.history.find(id),
        };
        let record = record.ok_or_else(|| {
            Error::new(
                ErrorCode::RESOURCE_NOT_FOUND.value(),
                format!("there is no session {id}"),
            )
        })?;
        self.opened(SessionRecord { cwd, ..record }, servers)
    }

    fn opened(
        &self,
        record: SessionRecord,
        servers: Vec<McpServer>,
    ) -> Result<Arc<AgentSession>, Error> {
        let cwd = record.cwd.clone();
        let session =
            AgentSession::open(record, servers).map_err(|error| refused_folder(&cwd, &error))?;
        let session = Arc::new(session);
        held(&self.sessions).insert(session.id.clone(), Arc::clone(&session));
        Ok(session)
    }

    fn found(&self, id: &str) -> Result<Arc<AgentSession>, Error> {
        let found = held(&self.sessions).get(id).cloned();
        found.ok_or_else(|| invalid(format!("the session {id} is not open")))
    }

    fn close(&self, ask: &CloseSessionRequest) -> CloseSessionResponse {
        if let Some(session) = held(&self.sessions).remove(&ask.session_id.to_string()) {
            session.cancel.send_replace(true);
        }
        CloseSessionResponse::new()
    }

    fn set_mode(&self, ask: &SetSessionModeRequest) -> Result<SetSessionModeResponse, Error> {
        let session = self.found(&ask.session_id.to_string())?;
        let id = ask.mode_id.to_string();
        let mode =
            AgentMode::named(&id).ok_or_else(|| invalid(format!("there is no mode {id}")))?;
        session.set_mode(mode);
        Ok(SetSessionModeResponse::new())
    }

    fn cancel(&self, ask: &CancelNotification) {
        if let Ok(session) = self.found(&ask.session_id.to_string()) {
            session.cancel.send_replace(true);
        }
    }

    /// Starts a turn beside the handlers; it answers when it is over.
    fn prompt(
        &self,
        ask: PromptRequest,
        to: Responder<PromptResponse>,
        client: &ConnectionTo<ClientRole>,
    ) -> Result<(), Error> {
        let came_ns = clock::now_ns();
        let session = match self.found(&ask.session_id.to_string()) {
            Ok(session) => session,
            Err(error) => return to.respond_with_error(error),
        };
        if session.is_busy.swap(true, Ordering::AcqRel) {
            return to.respond_with_error(invalid(
                "a turn of this session is still running".to_owned(),
            ));
        }
        session.cancel.send_replace(false);
        let (agent, client) = (self.clone(), client.clone());
        client.clone().spawn(async move {
            let ended = agent.turn(&session, &ask.prompt, &client, came_ns).await;
            session.is_busy.store(false, Ordering::Release);
            let is_late = ended.as_ref().is_ok_and(|ended| ended.is_late);
            to.respond_with_result(ended.map(|ended| answer(&ended)))?;
            if is_late {
                turn::send_after_end(&client, &session.id)?;
            }
            Ok(())
        })
    }

    async fn turn(
        &self,
        session: &AgentSession,
        prompt: &[ContentBlock],
        client: &ConnectionTo<ClientRole>,
        came_ns: u64,
    ) -> Result<turn::TurnResult, Error> {
        let texts: Vec<&str> = prompt.iter().filter_map(text_of).collect();
        let said = texts.join("\n");
        let update = SessionUpdate::UserMessageChunk(turn::chunk(&said));
        session.note(serde_json::to_value(update)?);
        // What stands before the last text frames it: a room's words must not become directives.
        let script = texts.last().copied().unwrap_or_default();
        let has_forms = self.has_forms.load(Ordering::Relaxed);
        TurnRun::new(session, &self.history, client, has_forms, came_ns)
            .run_directives(script, &said)
            .await
    }
}

fn text_of(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(&text.text),
        _ => None,
    }
}

fn answer(ended: &turn::TurnResult) -> PromptResponse {
    let figures = ended.figures;
    let total = figures.input.saturating_add(figures.output);
    let reason = match ended.reason {
        directives::StopReason::EndTurn => StopReason::EndTurn,
        directives::StopReason::MaxTokens => StopReason::MaxTokens,
        directives::StopReason::MaxTurnRequests => StopReason::MaxTurnRequests,
        directives::StopReason::Refusal => StopReason::Refusal,
        directives::StopReason::Cancelled => StopReason::Cancelled,
    };
    PromptResponse::new(reason).usage(Usage::new(total, figures.input, figures.output))
}

fn invalid(why: String) -> Error {
    Error::new(ErrorCode::INVALID_PARAMS.value(), why)
}

fn refused_folder(cwd: &Path, error: &io::Error) -> Error {
    invalid(format!("cannot work in {}: {error}", cwd.display()))
}
