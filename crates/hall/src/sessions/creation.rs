//! Making sessions: by a person with an agent or its folder, and for an agent's turns of a room.

use std::path::Path;

use guildhall_domain::{
    Error, Refusal, Result, Timestamp,
    agents::{Agent, AgentState, NewAgent},
    callers::{AnyCaller, Caller, Gate, Human, Owner},
    errors::ResourceKind,
    events::Event,
    ids::{AgentId, RoomId, SessionId},
    limits,
    revisions::Revised,
    runtimes::Capabilities,
    sessions::{NewSession, Session, SessionOrigin, SessionState},
    settings::DEFAULT_RUNTIME,
    usage::Usage,
};
use guildhall_store::{ReadTx, Tx, agents, sessions, settings};

use super::{allow_mode, revised};
use crate::{
    Hall, agents as registry, idempotency::IdempotentWrite, runtimes::require_offered, visibility,
};

/// What became of a request for a session.
#[derive(Clone, Debug)]
pub struct CreatedSession {
    /// The session.
    pub session: Revised<Session>,
    /// Whether the same request had opened it before under its id.
    pub was_there: bool,
}

/// A request for a session after what it names outside the store was looked at.
struct ResolvedRequest {
    /// With the canonical folder, and the runtime of a session that is gone on with.
    ask: NewSession,
    /// The runtime's own id of the session to go on with.
    resumed: Option<String>,
}

/// Whose a new session is to be.
enum AgentChoice {
    /// An agent's of the registry.
    Known(Agent),
    /// That of an agent which is registered for the folder with it.
    New { cwd: String, runtime: String },
}

impl AgentChoice {
    fn runtime(&self) -> &str {
        match self {
            Self::Known(agent) => &agent.runtime,
            Self::New { runtime, .. } => runtime,
        }
    }

    fn cwd(&self) -> &str {
        match self {
            Self::Known(agent) => &agent.cwd,
            Self::New { cwd, .. } => cwd,
        }
    }
}

impl Hall {
    /// Opens a session with an agent; a folder without an agent gets one.
    ///
    /// `fingerprint` is that of the request: the same one under the same id finds its session,
    /// whatever became of what it names.
    ///
    /// # Errors
    /// In this order: [`Refusal::Validation`], [`Refusal::UnknownRuntime`],
    /// [`Refusal::UnsupportedPermissionMode`] as soon as the runtime is known, the refusals of a
    /// folder, `NotFound` for the agent or the session to resume, [`Refusal::SessionExists`],
    /// [`Refusal::AgentRetired`], [`Refusal::RuntimeCannotResume`],
    /// [`Refusal::AutonomyNotAcknowledged`]. [`Refusal::OwnerOnly`] comes when a folder turns out
    /// to have no agent.
    ///
    /// Source: contract 3.5.
    pub async fn open_session(
        &self,
        by: &Human,
        ask: NewSession,
        fingerprint: [u8; 32],
        once: IdempotentWrite<CreatedSession>,
    ) -> Result<CreatedSession> {
        ask.check()?;
        let id = ask.id.or(ask.resume);
        let id = id.unwrap_or_else(|| Self::new_id(SessionId::from_bytes));
        // A repeat is answered as before, whatever became of folder and agent.
        let prepared = self.prepare(by, ask).await;
        let (by, now, hall) = (*by.caller(), self.now(), self.clone());
        self.store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    let known = sessions::by_id(tx, id)?;
                    let is_same = known.is_some() && sessions::asked(tx, id)? == Some(fingerprint);
                    if let Some(known) = known.clone().filter(|_| is_same) {
                        return opened(tx, known, true);
                    }
                    let ResolvedRequest { ask, resumed } = prepared?;
                    let whose = hall.choose_agent(tx, &by, &ask)?;
                    if known.is_some() {
                        return Err(Refusal::SessionExists.into());
                    }
                    let agent = hall.ensure_agent(tx, &by, whose, &ask, now)?;
                    let session = from_request(id, &agent, &ask, resumed, now);
                    sessions::insert(tx, &session, None, Some(&fingerprint))?;
                    hall.allow_first_mode(tx, &by, &session, ask.acknowledged_autonomy, now)?;
                    let event = Event::SessionCreated {
                        session: session.clone(),
                    };
                    tx.append(now, Some(by.author), &event)?;
                    opened(tx, session, false)
                })
            })
            .await
    }

    /// Looks at everything a request names that can be gone when it comes again.
    async fn prepare(&self, by: &Human, ask: NewSession) -> Result<ResolvedRequest> {
        self.rescan_runtimes().await?;
        let mut ask = ask;
        if let Some(kind) = ask.runtime.clone() {
            let (hall, asked) = (self.clone(), ask.clone());
            self.store()
                .read(move |db| hall.require_fitting(db, &kind, &asked))
                .await?;
        }
        if let Some(cwd) = ask.cwd.take() {
            let caller = *by.caller();
            let reach = self
                .store()
                .read(move |db| visibility::file_scope(db, &caller))
                .await;
            ask.cwd = Some(match reach {
                Ok(_) => self.working_folder(cwd).await?,
                // Who may not look at folders names that of an agent, and learns of no other one.
                Err(Error::Refusal(Refusal::OwnerOnly)) => cwd,
                Err(error) => return Err(error),
            });
        }
        let resumed = self.resumable(by, &mut ask).await?;
        Ok(ResolvedRequest { ask, resumed })
    }

    /// The runtime's own id of the session to go on with, which must be of the agent's folder and
    /// runtime; a folder named without a runtime is taken with that of the session.
    async fn resumable(&self, by: &Human, ask: &mut NewSession) -> Result<Option<String>> {
        let Some(id) = ask.resume else {
            return Ok(None);
        };
        let (caller, hall) = (*by.caller(), self.clone());
        let on_disk = self.terminal_sessions(&AnyCaller::admit(caller)?).await?;
        let known = on_disk.into_iter().find(|session| session.id == id);
        if let (Some(known), Some(_), None) = (&known, &ask.cwd, &ask.runtime) {
            ask.runtime = Some(known.runtime.clone());
        }
        let asked = ask.clone();
        let whose = self
            .store()
            .read(move |db| hall.choose_agent(db, &caller, &asked))
            .await?
            .value;
        let missing = Refusal::NotFound(ResourceKind::Session);
        let known = known.ok_or_else(|| missing.clone())?;
        let is_its_folder = known.cwd == whose.cwd()
            || self.working_folder(known.cwd).await.ok().as_deref() == Some(whose.cwd());
        if known.runtime != whose.runtime() || !is_its_folder {
            return Err(missing.into());
        }
        Ok(Some(known.runtime_session_id))
    }

    /// Whose the session is to be, after what is asked was held against the runtime.
    ///
    /// Registering the agent of a folder is the owner's to do.
    fn choose_agent(&self, db: &ReadTx<'_>, by: &Caller, ask: &NewSession) -> Result<AgentChoice> {
        let agent = match (ask.agent, &ask.cwd, &ask.runtime) {
            (Some(agent), _, _) => Some(agent),
            (None, Some(cwd), Some(runtime)) => agents::by_folder(db, cwd, runtime)?,
            (None, Some(cwd), None) => agents::first_of_folder(db, cwd)?,
            (None, None, _) => None,
        };
        let known = match agent {
            Some(agent) => agents::by_id(db, agent)?,
            None => None,
        };
        let whose = match (known, &ask.cwd) {
            (Some(agent), _) => AgentChoice::Known(agent),
            (None, Some(cwd)) => {
                Owner::admit(*by)?;
                let configured = settings::get(db, &DEFAULT_RUNTIME)?.value;
                let kind = ask.runtime.as_deref();
                let kind = kind.unwrap_or_else(|| self.runtimes().default_kind(configured.text()));
                AgentChoice::New {
                    cwd: cwd.clone(),
                    runtime: kind.to_owned(),
                }
            }
            (None, None) => return Err(Refusal::NotFound(ResourceKind::Agent).into()),
        };
        if ask
            .runtime
            .as_ref()
            .is_some_and(|kind| kind != whose.runtime())
        {
            let problem = format!("the agent is run by {}", whose.runtime());
            return Err(Refusal::field("runtime", problem).into());
        }
        self.require_fitting(db, whose.runtime(), ask)?;
        Ok(whose)
    }

    /// Holds what is asked for against what the runtime can do.
    ///
    /// # Errors
    /// [`Refusal::UnknownRuntime`], [`Refusal::Validation`] on `model` and `effort`,
    /// [`Refusal::UnsupportedPermissionMode`].
    fn require_fitting(
        &self,
        db: &ReadTx<'_>,
        kind: &str,
        ask: &NewSession,
    ) -> Result<Capabilities> {
        let capabilities = self.capabilities_in(db, kind)?;
        let (model, effort) = (ask.model.as_deref(), ask.effort.as_deref());
        require_offered(db, self.runtimes(), kind, model, effort)?;
        if let Some(mode) = &ask.permission_mode {
            capabilities.mode(mode)?;
        }
        Ok(capabilities)
    }

    /// The agent of the new session, registered where there is none.
    fn ensure_agent(
        &self,
        tx: &mut Tx<'_>,
        by: &Caller,
        whose: AgentChoice,
        ask: &NewSession,
        now: Timestamp,
    ) -> Result<Agent> {
        if let AgentChoice::Known(agent) = &whose
            && agent.state == AgentState::Retired
        {
            return Err(Refusal::AgentRetired.into());
        }
        let capabilities = self.capabilities_in(tx, whose.runtime())?;
        if ask.resume.is_some() && !capabilities.supports_resume {
            return Err(Refusal::RuntimeCannotResume.into());
        }
        match whose {
            AgentChoice::Known(agent) => Ok(agent),
            AgentChoice::New { cwd, runtime } => {
                // The mode that is asked for is the session's; the agent begins as its runtime does.
                let mode = capabilities.mode(&capabilities.default_mode)?;
                let new = NewAgent {
                    acknowledged_autonomy: ask.acknowledged_autonomy,
                    ..NewAgent::named(name_of(&cwd))
                };
                let place = registry::AgentPlacement {
                    runtime,
                    mode: mode.clone(),
                    cwd,
                };
                registry::register(tx, by, new, place, now)
            }
        }
    }

    /// Lets a new session run in its mode.
    fn allow_first_mode(
        &self,
        tx: &mut Tx<'_>,
        by: &Caller,
        session: &Session,
        is_said: bool,
        now: Timestamp,
    ) -> Result<()> {
        let capabilities = self.capabilities_in(tx, &session.runtime)?;
        let mode = &session.permission_mode;
        allow_mode(tx, by, session, &capabilities, mode, is_said, now)
    }
}

fn opened(db: &ReadTx<'_>, session: Session, was_there: bool) -> Result<CreatedSession> {
    Ok(CreatedSession {
        session: revised(db, session)?,
        was_there,
    })
}

/// What the agent of a folder is called: as the folder.
fn name_of(cwd: &str) -> String {
    let name = Path::new(cwd).file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    let longest = *limits::AGENT_NAME_CHARS.end();
    let name: String = name.trim().chars().take(longest).collect();
    match name.trim() {
        "" => "agent".to_owned(),
        name => name.to_owned(),
    }
}

/// The session in which an agent's turns of a room run, opened when there is none.
///
/// # Errors
/// `NotFound` for the agent.
pub(crate) fn of_room(
    tx: &mut Tx<'_>,
    room: RoomId,
    agent: AgentId,
    now: Timestamp,
) -> Result<Session> {
    if let Some(known) = sessions::of_room(tx, room, agent)? {
        return Ok(known);
    }
    let agent = agents::by_id(tx, agent)?.ok_or(Refusal::NotFound(ResourceKind::Agent))?;
    let session = Session {
        room_id: Some(room),
        origin: SessionOrigin::Room,
        ..from_agent(Hall::new_id(SessionId::from_bytes), &agent, now)
    };
    sessions::insert(tx, &session, None, None)?;
    let event = Event::SessionCreated {
        session: session.clone(),
    };
    tx.append(now, None, &event)?;
    Ok(session)
}

/// A session as a person asks for it.
fn from_request(
    id: SessionId,
    agent: &Agent,
    ask: &NewSession,
    resumed: Option<String>,
    now: Timestamp,
) -> Session {
    let own = from_agent(id, agent, now);
    let take = |asked: &Option<String>, own: String| asked.clone().unwrap_or(own);
    Session {
        runtime_session_id: resumed.unwrap_or_default(),
        title: ask.title.as_deref().unwrap_or_default().trim().to_owned(),
        permission_mode: take(&ask.permission_mode, own.permission_mode),
        model: take(&ask.model, own.model),
        effort: take(&ask.effort, own.effort),
        ..from_agent(id, agent, now)
    }
}

/// A session of an agent as the agent's row has it.
fn from_agent(id: SessionId, agent: &Agent, now: Timestamp) -> Session {
    Session {
        id,
        agent_id: agent.id,
        runtime: agent.runtime.clone(),
        runtime_session_id: String::new(),
        title: String::new(),
        cwd: agent.cwd.clone(),
        permission_mode: agent.permission_mode.clone(),
        model: agent.model.clone(),
        effort: agent.effort.clone(),
        state: SessionState::Idle,
        state_reason: String::new(),
        origin: SessionOrigin::Person,
        room_id: None,
        read_only: false,
        queued_count: 0,
        pending_count: 0,
        last_message_preview: String::new(),
        created_at: now,
        updated_at: now,
        usage: Usage::default(),
    }
}
