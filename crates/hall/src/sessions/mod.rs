//! Sessions: opening one with an agent, finding it again, changing and closing it.
//! What runs in them is `driver`, what is said is `messages`.

mod agent_processes;
mod creation;
mod driver;
mod live_sessions;
mod messages;
mod permission_modes;
mod recovery;
mod session_tokens;
mod terminal_sessions;
mod transcript_builder;
mod turn_loop;
mod turn_rows;
mod turn_setup;

use guildhall_domain::{
    Refusal, Result, Timestamp,
    callers::{AnyCaller, Caller, Gate, Human},
    errors::ResourceKind,
    events::{ChangedBy, Event},
    ids::{ApprovalId, AuthorId, RoomId, SessionId},
    interactions::InteractionResponse,
    limits,
    revisions::{Precondition, Revised},
    runtimes::Capabilities,
    sessions::{RoomSession, Session, SessionPatch, SessionState, TurnOutcome},
};
use guildhall_store::{ReadSnapshot, ReadTx, Tx, sessions};
pub use guildhall_store::{
    messages::QueuedMessageRow,
    sessions::{SessionFilter, SessionsCursor},
};

pub(crate) use agent_processes::AgentProcesses;
pub use creation::CreatedSession;
pub(crate) use creation::of_room;
pub(crate) use live_sessions::LiveSessions;
pub use messages::{MessagesPage, SendReceipt};
pub(crate) use messages::{NewMessage, QueueRank, enqueue};
use permission_modes::{allow_mode, autonomy_consents, has_consent};
pub(crate) use recovery::recover;

use crate::{
    Hall, interactions,
    runtimes::{capabilities_of, require_offered},
    visibility,
};

/// Which sessions are listed: ours, those of the agents' own command lines, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionSource {
    /// Ours.
    #[default]
    Guildhall,
    /// The agents' own.
    Terminal,
    /// Both.
    All,
}

impl SessionSource {
    /// Every source with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Guildhall, "guildhall"),
        (Self::Terminal, "terminal"),
        (Self::All, "all"),
    ];
}

/// A run of sessions.
#[derive(Clone, Debug, Default)]
pub struct SessionsPage {
    /// The newest change first.
    pub sessions: Vec<Session>,
    /// Whether more follow.
    pub has_more: bool,
    /// What could not be read.
    pub warnings: Vec<String>,
}

impl Hall {
    /// The sessions of `filter`, the newest change first; an agent sees its own.
    ///
    /// A session that changes while somebody pages moves to the front, past the place where the
    /// next page begins; its event tells of it.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn sessions(
        &self,
        by: &AnyCaller,
        filter: SessionFilter,
        source: SessionSource,
        place: Option<SessionsCursor>,
        limit: u32,
    ) -> Result<ReadSnapshot<SessionsPage>> {
        let own = by.caller().agent();
        if own.is_some_and(|own| filter.agent.is_some_and(|asked| asked != own)) {
            return self.store().read(|_| Ok(SessionsPage::default())).await;
        }
        // A folder that is there goes by its canonical name, as sessions have it.
        let cwd = match filter.cwd {
            Some(cwd) => Some(self.working_folder(cwd.clone()).await.unwrap_or(cwd)),
            None => None,
        };
        let filter = SessionFilter {
            agent: own.or(filter.agent),
            cwd,
            ..filter
        };
        // An agent is told of none but its own, and none of the terminal's is known to be.
        let of_terminal = match source {
            SessionSource::Terminal | SessionSource::All if own.is_none() => {
                let mut sessions = self.terminal_sessions(by).await?;
                sessions.retain(|session| filter.matches(session) && is_after(session, place));
                sessions
            }
            SessionSource::Guildhall | SessionSource::Terminal | SessionSource::All => Vec::new(),
        };
        self.store()
            .read(move |db| {
                let mut sessions = match source {
                    SessionSource::Guildhall | SessionSource::All => {
                        sessions::page(db, &filter, place, limit)?
                    }
                    SessionSource::Terminal => Vec::new(),
                };
                sessions.extend(without_known(db, of_terminal)?);
                sessions.sort_by_key(|session| std::cmp::Reverse((session.updated_at, session.id)));
                let has_more = sessions.len() > limit as usize;
                sessions.truncate(limit as usize);
                Ok(SessionsPage {
                    sessions,
                    has_more,
                    warnings: Vec::new(),
                })
            })
            .await
    }

    /// What the session's runtime can do.
    fn capabilities_in(&self, db: &ReadTx<'_>, kind: &str) -> Result<Capabilities> {
        capabilities_of(db, self.runtimes(), kind)
    }

    /// One session; of the agents' own command lines too, for people.
    ///
    /// # Errors
    /// `NotFound` when there is none or this caller may not know of it.
    pub async fn session(
        &self,
        by: &AnyCaller,
        id: SessionId,
    ) -> Result<ReadSnapshot<Revised<Session>>> {
        let by = *by.caller();
        let found = self
            .store()
            .read(move |db| revised(db, visibility::session(db, &by, id)?))
            .await;
        self.or_of_terminal(by, id, found, terminal_sessions::with_file_revision)
            .await
    }

    /// Changes a session; a new mode counts at once where the agent runs.
    ///
    /// # Errors
    /// In this order: [`Refusal::Validation`] of the body's shape, `NotFound`,
    /// [`Refusal::SessionReadOnly`] of a session on disk, [`Refusal::UnknownRuntime`] of a
    /// runtime that is gone, [`Refusal::Validation`] on `model` and `effort`,
    /// [`Refusal::UnsupportedPermissionMode`], [`Refusal::SessionClosed`],
    /// [`Refusal::AutonomyNotAcknowledged`], [`Refusal::PreconditionFailed`].
    ///
    /// Source: contract 3.5, 3.6.4.
    pub async fn change_session(
        &self,
        by: &Human,
        id: SessionId,
        precondition: Precondition,
        patch: SessionPatch,
    ) -> Result<Revised<Session>> {
        patch.check()?;
        let (by, now) = (*by.caller(), self.now());
        let hall = self.clone();
        let changed = self
            .store()
            .write(move |tx| hall.change(tx, &by, id, &precondition, &patch, now))
            .await;
        let changed = self.refuse_of_terminal(by, id, changed).await?;
        self.inner.live.settings_changed(id);
        Ok(changed)
    }

    fn change(
        &self,
        tx: &mut Tx<'_>,
        by: &Caller,
        id: SessionId,
        precondition: &Precondition,
        patch: &SessionPatch,
        now: Timestamp,
    ) -> Result<Revised<Session>> {
        let before = visibility::session(tx, by, id)?;
        let (model, effort) = (patch.model.as_deref(), patch.effort.as_deref());
        require_offered(tx, self.runtimes(), &before.runtime, model, effort)?;
        let mut is_allowed = false;
        if let Some(mode) = &patch.permission_mode {
            let capabilities = self.capabilities_in(tx, &before.runtime)?;
            capabilities.mode(mode)?;
            require_open(&before)?;
            let is_said = patch.acknowledged_autonomy;
            allow_mode(tx, by, &before, &capabilities, mode, is_said, now)?;
            is_allowed = has_consent(&capabilities, mode, &autonomy_consents(tx, &before)?);
        }
        require_open(&before)?;
        precondition.check(sessions::rev(tx, id)?)?;
        let after = patch.apply(&before);
        if patch.title.is_some() {
            sessions::name(tx, id, &after.title)?;
        }
        if after == before {
            return revised(tx, before);
        }
        if after.permission_mode != before.permission_mode {
            interactions::withdraw_grants(tx, id, Some(by.author), now)?;
            let event = Event::SessionModeChanged {
                session_id: id,
                from: before.permission_mode,
                to: after.permission_mode.clone(),
                by: ChangedBy::Person,
                acknowledged: is_allowed,
            };
            tx.append(now, Some(by.author), &event)?;
        }
        let after = write_session(tx, after, Some(by.author), now)?;
        revised(tx, after)
    }

    /// Closes a session: its turn is stopped, its queue and asks go; a closed one stays as it is.
    ///
    /// # Errors
    /// `NotFound`, [`Refusal::SessionReadOnly`] of a session on disk,
    /// [`Refusal::PreconditionFailed`].
    pub async fn close_session(
        &self,
        by: &Human,
        id: SessionId,
        precondition: Precondition,
    ) -> Result<Revised<Session>> {
        let (by, now) = (*by.caller(), self.now());
        let closed = self
            .store()
            .write(move |tx| {
                let session = visibility::session(tx, &by, id)?;
                precondition.check(sessions::rev(tx, id)?)?;
                let (session, ended) = close(tx, session, Some(by.author), now)?;
                Ok((revised(tx, session)?, ended))
            })
            .await;
        let (closed, ended) = self.refuse_of_terminal(by, id, closed).await?;
        self.answer_withdrawn(id, &ended);
        self.inner.live.close(id);
        self.forget_session(closed.value.agent_id, id);
        self.unshare_browser_of(id).await;
        Ok(closed)
    }

    /// The sessions in which the turns of a room run, one for each agent that had one.
    ///
    /// # Errors
    /// `NotFound` for the room.
    ///
    /// Source: contract 2.2.
    pub async fn room_sessions(
        &self,
        by: &Human,
        room: RoomId,
    ) -> Result<ReadSnapshot<Vec<RoomSession>>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                visibility::room(db, &by, room)?;
                sessions::bindings(db, room)
            })
            .await
    }
}

/// Whether a session lies behind the place where a page begins.
fn is_after(session: &Session, place: Option<SessionsCursor>) -> bool {
    place.is_none_or(|place| (session.updated_at, session.id) < place)
}

/// The sessions of the terminal that are none of ours.
fn without_known(db: &ReadTx<'_>, mut of_terminal: Vec<Session>) -> Result<Vec<Session>> {
    let names = of_terminal
        .iter()
        .map(|session| session.runtime_session_id.as_str());
    let ours = sessions::runtime_ids_among(db, names)?;
    of_terminal.retain(|session| !ours.contains(&session.runtime_session_id));
    Ok(of_terminal)
}

/// Closes a session in a transaction; answers its asks that ended with it.
pub(crate) fn close(
    tx: &mut Tx<'_>,
    session: Session,
    actor: Option<AuthorId>,
    now: Timestamp,
) -> Result<(Session, Vec<ApprovalId>)> {
    if session.state == SessionState::Closed {
        return Ok((session, Vec::new()));
    }
    messages::clear_queue(tx, &session, actor, now)?;
    let ended = interactions::withdraw_all(tx, session.id, actor, now)?;
    turn_rows::interrupt(tx, &session, TurnOutcome::Cancelled, now)?;
    session_tokens::revoke_of_session(tx, session.agent_id, session.id, now)?;
    let closed = Session {
        state: SessionState::Closed,
        state_reason: String::new(),
        updated_at: now,
        ..session
    };
    sessions::update(tx, &closed)?;
    let closed = reload(tx, closed.id)?;
    let event = Event::SessionClosed {
        session: closed.clone(),
    };
    tx.append(now, actor, &event)?;
    Ok((closed, ended))
}

impl Hall {
    /// Tells agents that what they asked no longer matters.
    pub(crate) fn answer_withdrawn(&self, session: SessionId, asks: &[ApprovalId]) {
        for ask in asks {
            self.answer_agent(session, *ask, InteractionResponse::Cancelled);
        }
    }
}

/// Writes a session's change and tells of it; answers it with its counts as they are now.
pub(crate) fn write_session(
    tx: &mut Tx<'_>,
    session: Session,
    actor: Option<AuthorId>,
    now: Timestamp,
) -> Result<Session> {
    let session = Session {
        updated_at: now.max(session.updated_at),
        ..session
    };
    sessions::update(tx, &session)?;
    let session = reload(tx, session.id)?;
    let event = Event::SessionUpdated {
        session: session.clone(),
    };
    tx.append(now, actor, &event)?;
    Ok(session)
}

/// Tells that a session waits for another number of answers.
pub(crate) fn append_counts_changed(
    tx: &mut Tx<'_>,
    id: SessionId,
    actor: Option<AuthorId>,
    now: Timestamp,
) -> Result<()> {
    let session = reload(tx, id)?;
    write_session(tx, session, actor, now).map(|_| ())
}

/// Calls a session as its agent does.
fn set_title(tx: &mut Tx<'_>, id: SessionId, title: &str, now: Timestamp) -> Result<()> {
    let session = reload(tx, id)?;
    if session.title == title || session.state == SessionState::Closed {
        return Ok(());
    }
    let titled = Session {
        title: title.to_owned(),
        ..session
    };
    write_session(tx, titled, None, now).map(|_| ())
}

/// Says something to the people who read a session.
fn notice(tx: &mut Tx<'_>, id: SessionId, code: &str, text: &str, now: Timestamp) -> Result<()> {
    let event = Event::SessionNotice {
        session_id: id,
        code: code.to_owned(),
        text: text.to_owned(),
    };
    tx.append(now, None, &event).map(|_| ())
}

/// A session that is there for certain.
pub(crate) fn reload(db: &ReadTx<'_>, id: SessionId) -> Result<Session> {
    Ok(sessions::by_id(db, id)?.ok_or(Refusal::NotFound(ResourceKind::Session))?)
}

/// Holds a change of a session back that takes none.
fn require_open(session: &Session) -> Result<(), Refusal> {
    if session.state == SessionState::Closed {
        return Err(Refusal::SessionClosed);
    }
    if session.read_only {
        return Err(Refusal::SessionReadOnly);
    }
    Ok(())
}

fn revised(db: &ReadTx<'_>, session: Session) -> Result<Revised<Session>> {
    Ok(Revised {
        rev: sessions::rev(db, session.id)?,
        value: session,
    })
}

/// The first line of a text, as a title.
fn title_of(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim();
    line.chars()
        .filter(|c| !c.is_control())
        .take(*limits::SESSION_TITLE_CHARS.end())
        .collect()
}

/// The beginning of a text, on one line.
fn preview(text: &str) -> String {
    let words = text.split_whitespace();
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.chars().count() >= limits::SESSION_PREVIEW_CHARS {
            break;
        }
    }
    line.chars().take(limits::SESSION_PREVIEW_CHARS).collect()
}
