//! Streams: what changed, pulled from the log by seq and filtered by what the caller may see
//! at the moment of reading.
//!
//! A reader keeps `last` and loops: mark the newest event known, read one page after `last`,
//! hand it on, wait for a newer event. Live, replay, reconnect and lag are this one path.

mod log_page;
mod open_streams;
mod reader;

use std::sync::Arc;

use guildhall_domain::{
    Refusal, Result, browser,
    callers::{AnyCaller, Caller, Gate, Identity, OwnerHere},
    canvas::CanvasDocument,
    entries::EntriesPage,
    errors::ResourceKind,
    events::EventScope,
    ids::{LogId, RoomId, SessionId},
    interactions::Interaction,
    rooms::RoomDetail,
    sessions::Session,
    signals::Signal,
    transcript::Message,
    turns::Turn,
};
use guildhall_store::{ReadTx, agents, events::StoredEvent, messages::QueuedMessageRow};

use crate::{Hall, visibility};

pub use open_streams::{OpenStreams, StreamLimits};
pub use reader::Stream;

/// Seconds between heartbeats.
pub const STREAM_HEARTBEAT_S: u64 = 15;

/// What a stream is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Everything the caller may see, now and later made.
    Everything,
    /// These scopes.
    Scopes(Vec<EventScope>),
    /// One room, by its own route.
    Room(RoomId),
    /// One session, by its own route.
    Session(SessionId),
}

impl Subject {
    /// The scopes asked for; `None` is all of them.
    fn scopes(&self) -> Option<Arc<[EventScope]>> {
        match self {
            Self::Everything => None,
            Self::Scopes(scopes) => Some(scopes.as_slice().into()),
            Self::Room(room) => Some([EventScope::Room(*room)].into()),
            Self::Session(session) => Some([EventScope::Session(*session)].into()),
        }
    }
}

/// Where a client left off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// Nowhere: it wants a snapshot.
    None,
    /// Behind this event.
    At(u64),
    /// At something that is no position.
    Unreadable,
}

/// A stream, as asked for.
#[derive(Clone, Debug)]
pub struct StreamRequest {
    /// What it is about.
    pub subject: Subject,
    /// Where the client left off.
    pub cursor: Cursor,
    /// The log the cursor belongs to, as the client remembers it.
    pub log: Option<String>,
    /// Who may see the local browser: only the owner at this computer, as with its routes.
    pub here: Option<OwnerHere>,
}

/// Why a client must drop its state. Source: contract 1.10, "Resume, reset, retention".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetReason {
    /// The events after its cursor are no longer kept.
    Retention,
    /// Its cursor is not of this log.
    UnknownLog,
    /// Its cursor is no position.
    BadCursor,
}

/// One room, as it was at a cursor.
#[derive(Clone, Debug)]
pub struct RoomSnapshot {
    /// The room with its members.
    pub room: RoomDetail,
    /// Its newest entries, oldest first.
    pub entries: EntriesPage,
    /// Its canvas, in order.
    pub documents: Vec<CanvasDocument>,
    /// The turns that are not over.
    pub turns: Vec<Turn>,
}

/// One session, as it was at a cursor.
#[derive(Clone, Debug)]
pub struct SessionSnapshot {
    /// The session.
    pub session: Session,
    /// Its newest messages, oldest first.
    pub messages: Vec<Message>,
    /// Its asks that wait for a person, oldest first.
    pub pending: Vec<Interaction>,
    /// What waits, in order.
    pub queue: Vec<QueuedMessageRow>,
}

/// The state of one scope.
#[derive(Clone, Debug)]
pub enum ScopeState {
    /// A room's.
    Room(Box<RoomSnapshot>),
    /// A session's.
    Session(Box<SessionSnapshot>),
    /// The scope has none of its own.
    Nothing,
}

/// A snapshot that a stream goes on from.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Events up to here are in it.
    pub cursor: u64,
    /// The oldest event still kept.
    pub retained_from: u64,
    /// The log's id.
    pub log_id: LogId,
    /// What it holds.
    pub body: SnapshotBody,
}

/// What a snapshot holds.
#[derive(Clone, Debug)]
pub enum SnapshotBody {
    /// The named scopes.
    Scopes(Vec<(EventScope, ScopeState)>),
    /// The room of the route.
    Room(Box<RoomSnapshot>),
    /// The session of the route.
    Session(Box<SessionSnapshot>),
}

/// What a stream brings.
#[derive(Clone, Debug)]
pub enum Frame {
    /// Something happened.
    Event(Arc<StoredEvent>),
    /// Where to go on from.
    Snapshot(Box<Snapshot>),
    /// Drop what you know; a snapshot follows.
    Reset {
        /// Why.
        reason: ResetReason,
        /// The oldest event still kept.
        retained_from: u64,
        /// The newest event.
        cursor: u64,
    },
    /// Nothing to see up to here.
    Position(u64),
    /// True for a moment.
    Signal(Signal),
    /// What the local browser is now; ephemeral too. Source: contract 7.11.
    Browser(Arc<browser::BrowserState>),
    /// Still here.
    Heartbeat,
}

/// Why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The caller's credential no longer counts.
    CredentialLost,
    /// The caller no longer sees anything it asked for.
    NothingLeft,
    /// The server stops.
    ShuttingDown,
    /// The log could not be read; it is logged, and the client comes again.
    Broken,
}

impl Hall {
    /// Opens a stream.
    ///
    /// # Errors
    /// `NotFound` for the first scope that is not visible, [`Refusal::TooManyStreams`],
    /// [`Refusal::Overloaded`], [`Refusal::ShuttingDown`].
    ///
    /// Source: contract 1.10.
    pub async fn stream(&self, by: &AnyCaller, ask: StreamRequest) -> Result<Stream> {
        let by = *by.caller();
        let scopes = ask.subject.scopes();
        let wanted = scopes.clone().unwrap_or_default();
        self.store()
            .read(move |db| wanted.iter().try_for_each(|scope| require(db, &by, *scope)))
            .await?;
        if *self.tasks().stopping().borrow() {
            return Err(Refusal::ShuttingDown.into());
        }
        let place = self.inner.streams.enter(by.identity)?;
        Stream::begin(self.clone(), by, ask, place).await
    }
}

fn require(db: &ReadTx<'_>, by: &Caller, scope: EventScope) -> Result<()> {
    match scope {
        EventScope::Hall => Ok(()),
        EventScope::Room(room) => visibility::room(db, by, room).map(|_| ()),
        EventScope::Session(session) => visibility::session(db, by, session).map(|_| ()),
        EventScope::Agent(agent) => {
            let known = match by.identity {
                Identity::Owner | Identity::Person(_) => agents::by_id(db, agent)?.is_some(),
                Identity::Agent(own) => own == agent,
            };
            if known {
                Ok(())
            } else {
                Err(Refusal::NotFound(ResourceKind::Agent).into())
            }
        }
    }
}
