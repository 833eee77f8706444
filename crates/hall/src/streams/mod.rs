//! Streams: what changed, pulled from the log by seq and filtered by what the caller may see
//! at the moment of reading.
//!
//! A reader keeps `last` and loops: mark the newest event known, read one page after `last`,
//! hand it on, wait for a newer event. Live, replay, reconnect and lag are this one path.

mod open;
mod page;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use guildhall_domain::{
    Refusal, Result,
    callers::{AnyCaller, Caller, Gate, Identity},
    entries::{EntriesAsk, EntriesPage},
    events::Scope,
    ids::{LogId, RoomId},
    limits,
    outcome::Thing,
    rooms::RoomDetail,
    signals::Signal,
};
use guildhall_store::{Rx, agents, entries, events::Stored};
use tokio::{
    sync::{broadcast, watch},
    time::{Instant, Interval, MissedTickBehavior},
};

use crate::{Hall, rooms, sight};

pub use open::{Open, StreamLimits};

/// Seconds between heartbeats.
pub const STREAM_HEARTBEAT_S: u64 = 15;

/// What a stream is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Everything the caller may see, now and later made.
    Everything,
    /// These scopes.
    Scopes(Vec<Scope>),
    /// One room, by its own route.
    Room(RoomId),
}

impl Subject {
    /// The scopes asked for; `None` is all of them.
    fn scopes(&self) -> Option<Arc<[Scope]>> {
        match self {
            Self::Everything => None,
            Self::Scopes(scopes) => Some(scopes.as_slice().into()),
            Self::Room(room) => Some([Scope::Room(*room)].into()),
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
pub struct StreamAsk {
    /// What it is about.
    pub subject: Subject,
    /// Where the client left off.
    pub cursor: Cursor,
    /// The log the cursor belongs to, as the client remembers it.
    pub log: Option<String>,
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
    /// The named scopes; only rooms have a state of their own.
    Scopes(Vec<(Scope, Option<RoomSnapshot>)>),
    /// The room of the route.
    Room(Box<RoomSnapshot>),
}

/// What a stream brings.
#[derive(Clone, Debug)]
pub enum Frame {
    /// Something happened.
    Event(Arc<Stored>),
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
    /// Still here.
    Heartbeat,
}

/// Why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The caller's credential no longer counts.
    CredentialLost,
    /// The caller no longer sees anything it asked for.
    NothingLeft,
    /// The server stops.
    ShuttingDown,
    /// The log could not be read; it is logged, and the client comes again.
    Broken,
}

/// An open stream; dropping it frees its place.
pub struct Stream {
    hall: Hall,
    by: Caller,
    subject: Subject,
    scopes: Option<Arc<[Scope]>>,
    /// Everything up to here was handed on or is hidden.
    last: u64,
    /// The last position the client was told.
    told: u64,
    /// Frames read and not yet handed on; at most one page.
    ready: VecDeque<Frame>,
    ended: Option<End>,
    head: watch::Receiver<u64>,
    signals: broadcast::Receiver<Signal>,
    stopping: watch::Receiver<bool>,
    heartbeat: Interval,
    _place: open::Place,
}

/// What woke a waiting stream.
enum Woken {
    Head,
    Signal(Signal),
    Heartbeat,
    Stop,
}

impl Hall {
    /// Opens a stream.
    ///
    /// # Errors
    /// `NotFound` for the first scope that is not visible, [`Refusal::TooManyStreams`],
    /// [`Refusal::Overloaded`], [`Refusal::ShuttingDown`].
    ///
    /// Source: contract 1.10.
    pub async fn stream(&self, by: &AnyCaller, ask: StreamAsk) -> Result<Stream> {
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
        let period = Duration::from_secs(STREAM_HEARTBEAT_S);
        let mut heartbeat = tokio::time::interval_at(Instant::now() + period, period);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stream = Stream {
            head: self.store().head(),
            signals: self.inner.signals.subscribe(),
            stopping: self.tasks().stopping(),
            hall: self.clone(),
            by,
            subject: ask.subject,
            scopes,
            last: 0,
            told: 0,
            ready: VecDeque::new(),
            ended: None,
            heartbeat,
            _place: place,
        };
        stream.begin(ask.cursor, ask.log).await?;
        Ok(stream)
    }
}

impl Stream {
    /// The next frame; an `Err` is the end.
    ///
    /// Cancel-safe: what was read is kept until it is handed on.
    ///
    /// # Errors
    /// Why the stream ended.
    pub async fn next(&mut self) -> Result<Frame, End> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(frame);
            }
            if let Some(end) = self.ended {
                return Err(end);
            }
            if self.last < *self.head.borrow_and_update() {
                self.pull(false).await?;
                continue;
            }
            match self.wake().await {
                Woken::Head => {}
                Woken::Signal(signal) => self.offer(signal).await?,
                Woken::Heartbeat => self.pull(true).await?,
                Woken::Stop => return Err(End::ShuttingDown),
            }
        }
    }

    /// Waits until there is something to do.
    async fn wake(&mut self) -> Woken {
        loop {
            return tokio::select! {
                changed = self.head.changed() => changed.map_or(Woken::Stop, |()| Woken::Head),
                _ = self.stopping.wait_for(|stop| *stop) => Woken::Stop,
                signal = self.signals.recv() => match signal {
                    Ok(signal) => Woken::Signal(signal),
                    // A slow reader loses signals, never events.
                    Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => Woken::Stop,
                },
                _ = self.heartbeat.tick() => Woken::Heartbeat,
            };
        }
    }

    /// Finds the place to go on from, or takes a snapshot.
    async fn begin(&mut self, cursor: Cursor, log: Option<String>) -> Result<()> {
        let known_log = log.is_none_or(|log| log == self.hall.log_id().to_string());
        let bounds = self
            .hall
            .store()
            .read(guildhall_store::events::retained_from)
            .await?;
        let (newest, retained_from) = (bounds.seq, bounds.value);
        let reset = match cursor {
            Cursor::None => None,
            Cursor::Unreadable => Some(ResetReason::BadCursor),
            Cursor::At(seq) if seq > newest || !known_log => Some(ResetReason::UnknownLog),
            Cursor::At(seq) if seq + 1 < retained_from => Some(ResetReason::Retention),
            Cursor::At(seq) => {
                (self.last, self.told) = (seq, seq);
                return Ok(());
            }
        };
        self.snapshot(reset).await
    }

    async fn snapshot(&mut self, reset: Option<ResetReason>) -> Result<()> {
        let (by, subject, log_id) = (self.by, self.subject.clone(), self.hall.log_id());
        let seen = self
            .hall
            .store()
            .read(move |db| {
                let body = match &subject {
                    Subject::Everything => SnapshotBody::Scopes(Vec::new()),
                    Subject::Scopes(scopes) => SnapshotBody::Scopes(
                        scopes
                            .iter()
                            .map(|scope| Ok((*scope, scope_snapshot(db, &by, *scope)?)))
                            .collect::<Result<_>>()?,
                    ),
                    Subject::Room(room) => {
                        SnapshotBody::Room(Box::new(room_snapshot(db, &by, *room)?))
                    }
                };
                Ok((body, guildhall_store::events::retained_from(db)?))
            })
            .await?;
        let (cursor, (body, retained_from)) = (seen.seq, seen.value);
        if let Some(reason) = reset {
            self.ready.push_back(Frame::Reset {
                reason,
                retained_from,
                cursor,
            });
        }
        let snapshot = Snapshot {
            cursor,
            retained_from,
            log_id,
            body,
        };
        self.ready.push_back(Frame::Snapshot(Box::new(snapshot)));
        (self.last, self.told) = (cursor, cursor);
        Ok(())
    }

    /// Reads one page; on a heartbeat also tells the position and that the server is there.
    async fn pull(&mut self, is_heartbeat: bool) -> Result<(), End> {
        let (by, now) = (self.by, self.hall.now());
        let (scopes, last) = (self.scopes.clone(), self.last);
        let hall = self.hall.clone();
        let turn = hall.inner.streams.turn().await;
        let read = hall
            .store()
            .read(move |db| page::read(db, &by, scopes.as_deref(), last, now));
        let read = read.await;
        drop(turn);
        let page = match read {
            Ok(seen) => seen.value,
            Err(error) => {
                tracing::warn!(?error, "a stream could not read the log");
                return Err(End::Broken);
            }
        };
        match page {
            page::Page::CredentialLost => self.ended = Some(End::CredentialLost),
            page::Page::Dropped => {
                if let Err(error) = self.snapshot(Some(ResetReason::Retention)).await {
                    tracing::warn!(?error, "a stream could not take a snapshot");
                    self.ended = Some(End::NothingLeft);
                }
            }
            page::Page::Events {
                events,
                position,
                nothing_left,
            } => {
                self.told = events.last().map_or(self.told, |event| event.seq);
                self.last = position;
                self.ready.extend(events.into_iter().map(Frame::Event));
                self.ended = nothing_left.then_some(End::NothingLeft);
            }
        }
        if is_heartbeat {
            if self.told < self.last {
                self.told = self.last;
                self.ready.push_back(Frame::Position(self.last));
            }
            self.ready.push_back(Frame::Heartbeat);
        }
        Ok(())
    }

    /// Hands a signal on, if the caller asked for its room and may see it now.
    async fn offer(&mut self, signal: Signal) -> Result<(), End> {
        let scope = Scope::Room(signal.room_id);
        if self
            .scopes
            .as_ref()
            .is_some_and(|asked| !asked.contains(&scope))
        {
            return Ok(());
        }
        let (by, room) = (self.by, signal.room_id);
        let visible = by.is_human()
            || self
                .hall
                .store()
                .read(move |db| sight::room(db, &by, room))
                .await
                .is_ok();
        if visible {
            self.ready.push_back(Frame::Signal(signal));
        }
        Ok(())
    }
}

fn require(db: &Rx<'_>, by: &Caller, scope: Scope) -> Result<()> {
    match scope {
        Scope::Hall => Ok(()),
        Scope::Room(room) => sight::room(db, by, room).map(|_| ()),
        Scope::Agent(agent) => {
            let known = match by.identity {
                Identity::Owner => agents::by_id(db, agent)?.is_some(),
                Identity::Agent(own) => own == agent,
            };
            if known {
                Ok(())
            } else {
                Err(Refusal::NotFound(Thing::Agent).into())
            }
        }
    }
}

fn scope_snapshot(db: &Rx<'_>, by: &Caller, scope: Scope) -> Result<Option<RoomSnapshot>> {
    match scope {
        Scope::Room(room) => room_snapshot(db, by, room).map(Some),
        Scope::Hall | Scope::Agent(_) => Ok(None),
    }
}

fn room_snapshot(db: &Rx<'_>, by: &Caller, room: RoomId) -> Result<RoomSnapshot> {
    let floor = sight::room(db, by, room)?.floor;
    let ask = EntriesAsk {
        before: None,
        after: None,
        limit: limits::SNAPSHOT_ENTRIES,
    };
    Ok(RoomSnapshot {
        room: rooms::detail(db, by, room)?,
        entries: entries::page(db, room, floor, ask)?,
    })
}
