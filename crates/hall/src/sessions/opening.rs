//! Opening: getting a session's agent ready for a turn.

use std::path::Path;

use guildhall_domain::{
    Moment, Refusal, Result,
    agents::{Agent, AgentState, NewAgent},
    callers::{AnyCaller, Caller, Gate, Human, Owner},
    events::Event,
    ids::{AgentId, RoomId, SessionId},
    limits,
    outcome::Thing,
    revisions::Revised,
    sessions::{NewSession, Origin, Session, SessionState},
    settings::DEFAULT_RUNTIME,
    usage::Usage,
};
use guildhall_store::{Tx, agents, sessions, settings};

use super::{allow_mode, require_offered, revised};
use crate::{Hall, repeats::Once};

impl Hall {
use super::{
    allow_mode,
    processes::{Process, Seat, Use},
    require_offered, revised,
};
use crate::{Hall, repeats::Once, runtimes::note_probed};
use std::path::PathBuf;

    Error, Refusal, Result,
    ids::{AuthorId, SessionId},
    runtimes::Capabilities,
    sessions::Session,
    usage::UsageScope,
use guildhall_store::agents;
use guildhall_world::acp::{self, How, LinkError, OpenSession, OptionCategory};

use super::processes::{Process, Seat, Use};
use crate::{Hall, runtimes::note_probed};

/// An agent that is ready for a turn of a session.
pub(super) struct Stage {
    pub(super) process: Process,
    /// The agent's id of the session.
    pub(super) native: String,
    /// The agent's author.
    pub(super) author: AuthorId,
    pub(super) capabilities: Capabilities,
    pub(super) usage_scope: UsageScope,
    /// Keeps the process from idling.
    _use: Use,
}

impl Stage {
    /// Notes the mode that is in force.
    pub(super) fn note_mode(&self, session: SessionId, native: String) {
        self.process
            .amend_seat(session, |seat| seat.mode = Some(native));
    }
}

    /// Gets the session's agent ready: its process runs, the session is open in it, and mode,
    /// model and effort are in force.
    ///
    /// # Errors
    /// Why it is not, for a person.
    pub(super) async fn open_stage(&self, session: &Session) -> Result<Stage, String> {
        let (id, kind) = (session.agent_id, session.runtime.clone());
        let hall = self.clone();
        let found = self.store().read(move |db| {
            let agent = agents::by_id(db, id)?.ok_or(Refusal::NotFound(Thing::Agent))?;
            Ok((agent, hall.capabilities_in(db, &kind)?))
        });
        let (agent, capabilities) = found.await.map_err(said)?.value;
        let profile = self
            .runtimes()
            .find(&session.runtime)
            .map_err(|refusal| said(refusal.into()))?;
        let usage_scope = profile.usage_scope;
        let in_use = self.place_for(agent.id).await;
        let process = self.process_in(&in_use, &agent).await?;
        let mut stage = Stage {
            native: String::new(),
            author: agent.author_id,
            capabilities,
            usage_scope,
            process,
            _use: in_use,
        };
        match stage.process.seat(session.id) {
            Some(seat) => stage.native = seat.native,
            None => self.seat(&mut stage, session).await?,
        }
        self.apply(&mut stage, session).await?;
        Ok(stage)
    }

    /// Opens the session in its agent's process: the one of before where the agent can, else a
    /// new one, which a notice says.
    async fn seat(&self, stage: &mut Stage, session: &Session) -> Result<(), String> {
        let facts = &stage.process.facts;
        let known = &session.runtime_session_id;
        let can_resume = facts.load_session || facts.resume_session;
        let ask = |how| OpenSession {
            cwd: PathBuf::from(&session.cwd),
            how,
            mcp_servers: Vec::new(),
        };
        let link = &stage.process.link;
        let resumed = if !known.is_empty() && can_resume {
            link.open(ask(How::Resume(known.clone()))).await.ok()
        } else {
            None
        };
        let opened = match resumed {
            // What mode an agent takes up again, and what it says of it, differs.
            Some(opened) => acp::Opened {
                current_mode: None,
                ..opened
            },
            None => {
                let opened = link
                    .open(ask(How::New))
                    .await
                    .map_err(|error| error.to_string())?;
                if !known.is_empty() {
                    self.say_forgotten(session.id).await;
                }
                opened
            }
        };
        stage.capabilities = self.learn(&session.runtime, facts, &opened).await?;
        stage.native = opened.session.clone();
        let seat = Seat {
            native: opened.session,
            mode: opened.current_mode,
            ..Seat::default()
        };
        stage.process.take_seat(session.id, seat);
        Ok(())
    }

    /// Puts the session's mode, model and effort in force. Source: contract 3.3.3, 3.6.4.
    pub(super) async fn apply(&self, stage: &mut Stage, session: &Session) -> Result<(), String> {
        let Some(mut seat) = stage.process.seat(session.id) else {
            return Err("the session is not open in its agent".to_owned());
        };
        let link = &stage.process.link;
        if !session.permission_mode.is_empty() {
            let mode = stage.capabilities.mode(&session.permission_mode);
            let native = mode.map_err(|refusal| said(refusal.into()))?.native.clone();
            if seat.mode.as_deref() != Some(native.as_str()) {
                link.set_mode(&seat.native, &native)
                    .await
                    .map_err(|error| {
                        let mode = &session.permission_mode;
                        format!("MODE_NOT_APPLIED: the agent did not take the mode {mode}: {error}")
                    })?;
                seat.mode = Some(native);
                stage.process.take_seat(session.id, seat.clone());
            }
        }
        for (category, wanted, what) in [
            (OptionCategory::Model, &session.model, "model"),
            (OptionCategory::Effort, &session.effort, "effort"),
        ] {
            let known = match category {
                OptionCategory::Effort => &mut seat.effort,
                OptionCategory::Model | OptionCategory::Mode => &mut seat.model,
            };
            if wanted.is_empty() || known == wanted {
                continue;
            }
            match link.set_option(&seat.native, category, wanted).await {
                Ok(()) => known.clone_from(wanted),
                Err(LinkError::NotOffered(_)) => {
                    return Err(format!("the agent does not let its {what} be chosen"));
                }
                Err(error) => {
                    return Err(format!(
                        "the agent did not take the {what} {wanted}: {error}"
                    ));
                }
            }
            stage.process.take_seat(session.id, seat.clone());
        }
        Ok(())
    }

    async fn say_forgotten(&self, session: SessionId) {
        let now = self.now();
        let text = "The agent could not take its earlier conversation up again; it does not \
                    remember what was said before.";
        self.insist(move |tx| super::notice(tx, session, "history_lost", text, now))
            .await;
    }

    /// Opens a session with an agent; a folder without an agent gets one.
    ///
    /// Answers the session, and whether it was there before under this id.
    ///
    /// # Errors
    /// In this order: [`Refusal::Validation`], [`Refusal::UnknownRuntime`],
    /// [`Refusal::UnsupportedPermissionMode`], the refusals of a folder, `NotFound` for the agent
    /// or the session to resume, [`Refusal::SessionExists`], [`Refusal::AgentRetired`],
    /// [`Refusal::AutonomyNotAcknowledged`].
    ///
    /// Source: contract 3.5.
    pub async fn open_session(
        &self,
        by: &Human,
        ask: NewSession,
        fingerprint: [u8; 32],
        once: Once<Session>,
    ) -> Result<(Revised<Session>, bool)> {
        ask.check()?;
        if let Some(kind) = &ask.runtime {
            self.runtimes().find(kind)?;
        }
        let mut ask = ask;
        if let Some(cwd) = ask.cwd.take() {
            ask.cwd = Some(self.working_folder(cwd).await?);
        }
        self.look_for_runtimes().await?;
        let resumed = self.resumable(by, &ask).await?;
        let id = ask.id.or(ask.resume);
        let id = id.unwrap_or_else(|| Self::new_id(SessionId::from_bytes));
        let (by, now, hall) = (*by.caller(), self.now(), self.clone());
        self.store()
            .write(move |tx| {
                if let Some(known) = sessions::by_id(tx, id)? {
                    let is_same = sessions::asked(tx, id)? == Some(fingerprint);
                    return match is_same {
                        true => Ok((revised(tx, known)?, true)),
                        false => Err(Refusal::SessionExists.into()),
                    };
                }
                let session = once.run(tx, now, |tx| {
                    hall.insert_session(tx, &by, &ask, (id, resumed), fingerprint, now)
                })?;
                Ok((revised(tx, session)?, false))
            })
            .await
    }

    /// Makes the session's row, and its agent's where the folder has none.
    fn insert_session(
        &self,
        tx: &mut Tx<'_>,
        by: &Caller,
        ask: &NewSession,
        (id, resumed): (SessionId, Option<String>),
        fingerprint: [u8; 32],
        now: Moment,
    ) -> Result<Session> {
        let agent = match (ask.agent, &ask.cwd) {
            (Some(agent), _) => agents::by_id(tx, agent)?,
            (None, Some(cwd)) => Some(self.agent_in(tx, by, cwd, ask.runtime.as_deref(), now)?),
            (None, None) => None,
        };
        let agent = agent.ok_or(Refusal::NotFound(Thing::Agent))?;
        let capabilities = self.capabilities_in(tx, &agent.runtime)?;
        if let Some(mode) = &ask.permission_mode {
            capabilities.mode(mode)?;
        }
        if agent.state == AgentState::Retired {
            return Err(Refusal::AgentRetired.into());
        }
        if resumed.is_some() && !capabilities.supports_resume {
            return Err(Refusal::RuntimeCannotResume.into());
        }
        let probed = self.probed_in(tx, &agent.runtime)?;
        require_offered(probed.as_ref(), ask.model.as_deref(), ask.effort.as_deref())?;
        let own = fresh(id, &agent, now);
        let session = Session {
            runtime_session_id: resumed.unwrap_or_default(),
            title: ask.title.as_deref().unwrap_or_default().trim().to_owned(),
            permission_mode: ask
                .permission_mode
                .clone()
                .unwrap_or(own.permission_mode.clone()),
            model: ask.model.clone().unwrap_or(own.model.clone()),
            effort: ask.effort.clone().unwrap_or(own.effort.clone()),
            ..own
        };
        sessions::insert(tx, &session, None, Some(&fingerprint))?;
        let mode = session.permission_mode.clone();
        let said = ask.acknowledged_autonomy;
        allow_mode(tx, by, &session, &capabilities, &mode, said, now)?;
        let event = Event::SessionCreated {
            session: session.clone(),
        };
        tx.append(now, Some(by.author), &event)?;
        Ok(session)
    }

    /// The agent of a folder; one is registered where there is none, which is the owner's to do.
    fn agent_in(
        &self,
        tx: &mut Tx<'_>,
        by: &Caller,
        cwd: &str,
        runtime: Option<&str>,
        now: Moment,
    ) -> Result<Agent> {
        let known = match runtime {
            Some(runtime) => agents::by_folder(tx, cwd, runtime)?,
            None => agents::first_of_folder(tx, cwd)?,
        };
        if let Some(known) = known {
            return Ok(agents::by_id(tx, known)?.ok_or(Refusal::NotFound(Thing::Agent))?);
        }
        Owner::admit(*by)?;
        let configured = settings::get(tx, &DEFAULT_RUNTIME)?.value;
        let kind = runtime.unwrap_or_else(|| self.runtimes().default_kind(configured.text()));
        let capabilities = self.capabilities_in(tx, kind)?;
        let name = Path::new(cwd)
            .file_name()
            .map(|name| name.to_string_lossy());
        let name: String = name
            .unwrap_or_default()
            .chars()
            .filter(|c| !c.is_control())
            .collect();
        let name: String = name
            .trim()
            .chars()
            .take(*limits::AGENT_NAME_CHARS.end())
            .collect();
        let ask = NewAgent::named(if name.is_empty() {
            "agent".to_owned()
        } else {
            name
        });
        let place = crate::agents::Place {
            runtime: kind.to_owned(),
            mode: capabilities.mode(&capabilities.default_mode)?.clone(),
            cwd: cwd.to_owned(),
        };
        crate::agents::register(tx, by, ask, place, now)
    }

    /// The runtime's own id of the session to go on with.
    async fn resumable(&self, by: &Human, ask: &NewSession) -> Result<Option<String>> {
        let Some(id) = ask.resume else {
            return Ok(None);
        };
        let by = AnyCaller::admit(*by.caller())?;
        let on_disk = self.terminal_sessions(&by).await?;
        let known = on_disk.into_iter().find(|session| session.id == id);
        let known = known.ok_or(Refusal::NotFound(Thing::Session))?;
        Ok(Some(known.runtime_session_id))
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
    now: Moment,
) -> Result<Session> {
    if let Some(known) = sessions::of_room(tx, room, agent)? {
        return Ok(known);
    }
    let agent = agents::by_id(tx, agent)?.ok_or(Refusal::NotFound(Thing::Agent))?;
    let session = Session {
        room_id: Some(room),
        origin: Origin::Room,
        ..fresh(Hall::new_id(SessionId::from_bytes), &agent, now)
    };
    sessions::insert(tx, &session, None, None)?;
    let event = Event::SessionCreated {
        session: session.clone(),
    };
    tx.append(now, None, &event)?;
    Ok(session)
}

/// A session of an agent as the agent's row has it.
fn fresh(id: SessionId, agent: &Agent, now: Moment) -> Session {
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
        origin: Origin::Person,
        room_id: None,
        read_only: false,
        queued_count: 0,
        pending_count: 0,
        last_message_preview: String::new(),
        created_at: now,
        updated_at: now,
        usage: Usage::default(),
    /// Keeps what a runtime said of itself; answers what it can do.
    async fn learn(
        kind: &str,
        facts: &acp::Initialized,
        opened: &acp::Opened,
    ) -> Result<Capabilities, String> {
        let probed = crate::runtimes::probed(facts, opened);
        let (hall, kind, now) = (self.clone(), kind.to_owned(), self.now());
                note_probed(tx, hall.runtimes(), &kind, probed, None, now)?;
                hall.capabilities_in(tx, &kind)
            .map_err(said)
    }
}

/// What a refusal or fault says to a person who looks at a session.
fn said(error: Error) -> String {
    match error {
        Error::Refusal(refusal) => format!("{refusal:?}"),
        Error::Fault(fault) => fault.to_string(),
        Error::Repeated(_) => String::new(),
    }
}
