//! The stage of a turn: the agent's process runs, the session is open in it, and mode, model and
//! effort are in force.

use std::{future::Future, iter, path::PathBuf, pin::pin};

use guildhall_domain::{
    Error, Refusal, Result,
    errors::ResourceKind,
    ids::{AuthorId, SessionId},
    runtimes::may_use,
    sessions::Session,
    usage::UsageScope,
};
use guildhall_store::agents;
use guildhall_world::acp::{
    self, AgentCallError, AgentMessage, OpenMode, OpenSessionRequest, OptionCategory,
    SessionMcpServer,
};
use tokio::sync::mpsc;

use super::{
    agent_processes::{AgentProcess, ProcessLease, ProcessSession},
    autonomy_consents, reload,
};
use crate::{Hall, mcp_gateway::ServerSet, runtimes::record_reported};

/// What is in force at the agent for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AppliedSettings {
    mode: String,
    model: String,
    effort: String,
    /// The agent's own id of the mode; `None` where none was set.
    native: Option<String>,
}

impl AppliedSettings {
    /// What `session` wants, under the agent's own id of its mode.
    fn of(session: &Session, native: Option<String>) -> Self {
        Self {
            mode: session.permission_mode.clone(),
            model: session.model.clone(),
            effort: session.effort.clone(),
            native,
        }
    }

    /// Whether this is what `session` wants.
    pub(super) fn is_for(&self, session: &Session) -> bool {
        *self == Self::of(session, self.native.clone())
    }
}

/// An agent that is ready for a turn of a session; dropped, nobody listens to the session.
pub(super) struct TurnSetup {
    session: SessionId,
    pub(super) process: AgentProcess,
    /// The agent's id of the session.
    pub(super) native: String,
    /// The agent's author.
    pub(super) author: AuthorId,
    pub(super) usage_scope: UsageScope,
    /// What was put in force.
    pub(super) applied: AppliedSettings,
    /// What the agent says in the session.
    pub(super) inbox: mpsc::Receiver<AgentMessage>,
    /// Keeps the process from idling.
    _place: ProcessLease,
}

impl Drop for TurnSetup {
    fn drop(&mut self) {
        self.process.leave(&self.native);
    }
}

impl TurnSetup {
    /// Passes over what the agent said before its turn, as far as it came: there is no message
    /// it could stand in.
    pub(super) async fn discard_early_messages(&mut self) {
        let barrier = self.process.barrier();
        // An error is a barrier as well: nobody hands anything on any more.
        let _ = discarding(&mut self.inbox, barrier).await;
        while self.inbox.try_recv().is_ok() {}
    }

    /// Whether the agent is in another mode than was put in force; it is noted.
    pub(super) fn is_switched(&mut self) -> bool {
        match self.process.mode(self.session) {
            Some(native) if self.applied.native.as_ref() != Some(&native) => {
                self.applied.native = Some(native);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Puts in force what the session wants now.
    pub(super) async fn prepare(&mut self, hall: &Hall) -> Result<(), String> {
        let applying = hall.apply(&self.process, self.session);
        self.applied = discarding(&mut self.inbox, applying).await?;
        Ok(())
    }
}

/// Waits for something while all that comes in is dropped: unheard, it would keep the agent from
/// its other sessions, and from answering. Asks are answered "cancelled".
async fn discarding<T>(
    inbox: &mut mpsc::Receiver<AgentMessage>,
    done: impl Future<Output = T>,
) -> T {
    let mut done = pin!(done);
    loop {
        tokio::select! {
            biased;
            done = &mut done => return done,
            Some(_) = inbox.recv() => {}
        }
    }
}

impl Hall {
    /// Gets the session's agent ready.
    ///
    /// # Errors
    /// Why it is not, for a person.
    pub(super) async fn set_up_turn(
        &self,
        place: ProcessLease,
        session: &Session,
    ) -> Result<TurnSetup, String> {
        let id = session.agent_id;
        let agent = self.store().read(move |db| {
            Ok(agents::by_id(db, id)?.ok_or(Refusal::NotFound(ResourceKind::Agent))?)
        });
        let agent = agent.await.map_err(said)?.value;
        let profile = self.runtimes().find(&session.runtime);
        let profile = profile.map_err(|refusal| said(refusal.into()))?;
        let process = self.process_for(&place, &agent).await?;
        let servers = self
            .next_server_set(&agent, session.id)
            .await
            .map_err(said)?;
        // Where it cannot take the session up, a list of tools is not worth its memory.
        let can_reopen = process.facts.load_session || process.facts.resume_session;
        let is_stale = servers.is_stale || can_reopen && self.is_browser_list_stale(session.id);
        // What another session was handed later would act in its name.
        let is_overlaid = profile.shares_servers && !process.is_newest(session.id);
        let (native, inbox) = match process.session(session.id) {
            Some(seat) if seat.handed == servers.set && !is_stale && !is_overlaid => {
                let inbox = process.listen(session.id, &seat.native);
                (seat.native, inbox)
            }
            Some(seat) => {
                self.reopen_with_servers(&process, session, &seat, servers.set)
                    .await?
            }
            None => self.open_in_process(&process, session, servers.set).await?,
        };
        let mut stage = TurnSetup {
            session: session.id,
            native,
            author: agent.author_id,
            usage_scope: profile.usage_scope,
            applied: AppliedSettings::of(session, None),
            inbox,
            process,
            _place: place,
        };
        stage.prepare(self).await?;
        Ok(stage)
    }

    /// Opens the session in its agent's process, with the tool server through which its agent
    /// reaches the house and the agent's own ones.
    async fn open_in_process(
        &self,
        process: &AgentProcess,
        session: &Session,
        set: ServerSet,
    ) -> Result<(String, mpsc::Receiver<AgentMessage>), String> {
        let (agent, id) = (session.agent_id, session.id);
        process.expect(id);
        let secret = self.mint_session_token(agent, id).await.map_err(said)?;
        let token = secret.reveal();
        let seated = self.open_with_token(process, session, (&token, set)).await;
        match &seated {
            Ok(_) => process.keep_token(id, token),
            Err(_) => self.revoke_session_token(agent, id).await,
        }
        seated
    }

    /// Hands other tool servers to a session that is open: it is closed, where its agent knows
    /// that, and taken up again in the same process, with the token it has.
    ///
    /// Source: contract 4.4, "At the start of each turn".
    async fn reopen_with_servers(
        &self,
        process: &AgentProcess,
        session: &Session,
        seat: &ProcessSession,
        set: ServerSet,
    ) -> Result<(String, mpsc::Receiver<AgentMessage>), String> {
        let Some(token) = process.token(session.id) else {
            return self.open_in_process(process, session, set).await;
        };
        // Some agents take a session that is open as it is, with the servers it has.
        process.link.close_session(&seat.native).await;
        let seated = self.open_with_token(process, session, (&token, set)).await;
        if seated.is_err() {
            process.remove_session(session.id);
            self.revoke_session_token(session.agent_id, session.id)
                .await;
        }
        seated
    }

    /// Opens the session in its agent's process: the one of before where the agent can, else a
    /// new one, which a notice says.
    async fn open_with_token(
        &self,
        process: &AgentProcess,
        session: &Session,
        (token, set): (&str, ServerSet),
    ) -> Result<(String, mpsc::Receiver<AgentMessage>), String> {
        let (link, facts) = (&process.link, &process.facts);
        let others = set
            .names()
            .map(|name| self.tool_server(name.as_str(), token));
        let mcp_servers: Vec<SessionMcpServer> = iter::once(self.own_tool_server(token))
            .chain(others)
            .collect();
        let known = &session.runtime_session_id;
        let can_resume = facts.load_session || facts.resume_session;
        let ask = |how| OpenSessionRequest {
            cwd: PathBuf::from(&session.cwd),
            how,
            mcp_servers: mcp_servers.clone(),
        };
        self.record_servers_handed(session.id);
        self.forget_browser_list(session.id);
        let resumed = if !known.is_empty() && can_resume {
            link.open(ask(OpenMode::Resume(known.clone()))).await.ok()
        } else {
            None
        };
        let opened = match resumed {
            Some(opened) => opened,
            None => {
                let opened = link.open(ask(OpenMode::New)).await;
                let opened = opened.map_err(|error| error.to_string())?;
                if !known.is_empty() {
                    self.notice_new_context(session.id).await;
                }
                opened
            }
        };
        // Heard from the first moment on: an agent may switch its mode before it is asked anything.
        let inbox = process.listen(session.id, &opened.session);
        let own = |category: OptionCategory| {
            let option = opened
                .options
                .iter()
                .find(|one| category.names(&one.category));
            option
                .map(|option| option.current.clone())
                .unwrap_or_default()
        };
        // What mode an agent begins with, and what it says of it, differs: it is always set.
        let seat = ProcessSession {
            native: opened.session.clone(),
            own_model: own(OptionCategory::Model),
            own_effort: own(OptionCategory::Effort),
            handed: set,
            ..ProcessSession::default()
        };
        process.add_session(session.id, seat);
        if let Some(commands) = process.early_commands(&opened.session) {
            let noted =
                self.record_agent_commands(session.id, &session.runtime, &session.cwd, commands);
            noted.await.map_err(said)?;
        }
        self.record_reported(&session.runtime, facts, &opened)
            .await?;
        Ok((opened.session, inbox))
    }

    /// Puts the session's mode, model and effort in force as they are wanted now; a mode that
    /// acts unattended only with a person's word for it, as wide as it reads now.
    ///
    /// # Errors
    /// Why it was not done, for a person.
    ///
    /// Source: contract 3.3.3, 3.6.4.
    pub(super) async fn apply(
        &self,
        process: &AgentProcess,
        id: SessionId,
    ) -> Result<AppliedSettings, String> {
        let hall = self.clone();
        let found = self.store().read(move |db| {
            let session = reload(db, id)?;
            let capabilities = hall.capabilities_in(db, &session.runtime)?;
            let standing = autonomy_consents(db, &session)?;
            Ok((session, capabilities, standing))
        });
        let (session, capabilities, standing) = found.await.map_err(said)?.value;
        let mut in_force = None;
        if !session.permission_mode.is_empty() {
            let mode = capabilities.mode(&session.permission_mode);
            let mode = mode.map_err(|refusal| said(refusal.into()))?;
            may_use(mode, false, &standing).map_err(|_| {
                let mode = &mode.label;
                format!(
                    "AUTONOMY_NOT_ACKNOWLEDGED: the mode {mode} acts unattended, and nobody said \
                     that it may; choose it once more or another one"
                )
            })?;
            set_mode(process, id, &mode.native).await?;
            in_force = Some(mode.native.clone()).filter(|native| !native.is_empty());
        }
        let seat = process.session(id).unwrap_or_default();
        for (category, wanted, known, own) in [
            (
                OptionCategory::Model,
                &session.model,
                seat.model,
                seat.own_model,
            ),
            (
                OptionCategory::Effort,
                &session.effort,
                seat.effort,
                seat.own_effort,
            ),
        ] {
            if *wanted != known {
                let value = if wanted.is_empty() { &own } else { wanted };
                set_option(process, id, category, (wanted, value)).await?;
            }
        }
        Ok(AppliedSettings::of(&session, in_force))
    }

    async fn notice_new_context(&self, session: SessionId) {
        let now = self.now();
        let text = "The agent could not take its earlier conversation up again; it does not \
                    remember what was said before.";
        let told = self
            .write_until_accepted(move |tx| super::notice(tx, session, "history_lost", text, now));
        if told.await.is_err() {
            tracing::warn!(%session, "a lost history could not be told");
        }
    }

    /// Keeps what a runtime said of itself.
    async fn record_reported(
        &self,
        kind: &str,
        facts: &acp::AgentCapabilities,
        opened: &acp::OpenedSession,
    ) -> Result<(), String> {
        let probed = crate::runtimes::reported_capabilities(facts, opened);
        let (hall, kind, now) = (self.clone(), kind.to_owned(), self.now());
        self.store()
            .write(move |tx| {
                record_reported(tx, hall.runtimes(), &kind, probed, None, now).map(|_| ())
            })
            .await
            .map_err(said)
    }
}

/// Sets the mode at the agent, unless it is known to be in force; a runtime without modes of its
/// own has none to set.
async fn set_mode(process: &AgentProcess, id: SessionId, native: &str) -> Result<(), String> {
    let Some(seat) = process.session(id) else {
        return Err("the session is not open in its agent".to_owned());
    };
    if native.is_empty() || process.mode(id).as_deref() == Some(native) {
        return Ok(());
    }
    let set = process.link.set_mode(&seat.native, native).await;
    set.map_err(|error| {
        format!("MODE_NOT_APPLIED: the agent did not take the mode {native}: {error}")
    })
}

/// Sets a model or effort at the agent: `value`, which stands for what is `wanted`.
async fn set_option(
    process: &AgentProcess,
    id: SessionId,
    category: OptionCategory,
    (wanted, value): (&str, &str),
) -> Result<(), String> {
    let seat = process.session(id).unwrap_or_default();
    let set = process.link.set_option(&seat.native, category, value).await;
    match set {
        Ok(()) => {}
        Err(AgentCallError::NotOffered(what)) => {
            return Err(format!("the agent does not let {what} be chosen"));
        }
        Err(error) => return Err(format!("the agent did not take {value}: {error}")),
    }
    process.update_session(id, |seat| match category {
        OptionCategory::Effort => seat.effort = wanted.to_owned(),
        OptionCategory::Model | OptionCategory::Mode => seat.model = wanted.to_owned(),
    });
    Ok(())
}

/// What a refusal or fault says to a person who looks at a session.
fn said(error: Error) -> String {
    match error {
        Error::Refusal(refusal) => format!("{refusal:?}"),
        Error::Fault(fault) => fault.to_string(),
        Error::Repeated(_) => String::new(),
    }
}
