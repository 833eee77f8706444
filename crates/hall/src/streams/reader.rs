//! One open stream: finding its place in the log, reading on, waiting.

use std::{
    collections::VecDeque,
    future::{pending, poll_fn},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use guildhall_domain::{
    Result, Timestamp, browser,
    callers::Caller,
    canvas::CanvasScope,
    entries::EntriesQuery,
    events::EventScope,
    ids::{RoomId, SessionId},
    limits,
    signals::Signal,
};
use guildhall_store::{ReadTx, canvas, entries, events, messages, turns};
use tokio::{
    sync::{broadcast, watch},
    time::{Instant, Interval, MissedTickBehavior},
};

use super::{
    Cursor, Frame, ResetReason, RoomSnapshot, STREAM_HEARTBEAT_S, ScopeState, SessionSnapshot,
    Snapshot, SnapshotBody, StreamEnd, StreamRequest, Subject,
    log_page::{self, VisiblePage},
    open_streams::StreamSlot,
};
use crate::{Hall, interactions, rooms, visibility};

/// An open stream; dropping it frees its place.
pub struct Stream {
    hall: Hall,
    by: Caller,
    subject: Subject,
    scopes: Option<Arc<[EventScope]>>,
    /// Everything up to here was handed on or is hidden.
    last: u64,
    /// The last position the client was told.
    told: u64,
    /// Frames read and not yet handed on; at most one page.
    ready: VecDeque<Frame>,
    ended: Option<StreamEnd>,
    /// What woke the stream, kept until it was dealt with.
    woken: Option<WakeReason>,
    head: watch::Receiver<u64>,
    signals: broadcast::Receiver<Signal>,
    /// The local browser, for who may see it and asked for its scope.
    browser: Option<watch::Receiver<Arc<browser::BrowserState>>>,
    stopping: watch::Receiver<bool>,
    heartbeat: Interval,
    _place: StreamSlot,
}

/// What woke a waiting stream.
#[derive(Clone)]
enum WakeReason {
    Head,
    Signal(Signal),
    Browser(Arc<browser::BrowserState>),
    Heartbeat,
    Stop,
}

impl Stream {
    /// Opens a stream at the place its reader left off, or at a snapshot.
    pub(super) async fn begin(
        hall: Hall,
        by: Caller,
        ask: StreamRequest,
        place: StreamSlot,
    ) -> Result<Self> {
        let period = Duration::from_secs(STREAM_HEARTBEAT_S);
        let mut heartbeat = tokio::time::interval_at(Instant::now() + period, period);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let scopes = ask.subject.scopes();
        let sees_hall = scopes
            .as_ref()
            .is_none_or(|asked| asked.contains(&EventScope::Hall));
        let browser = ask.here.filter(|_| sees_hall);
        let mut stream = Self {
            browser: browser.map(|_| hall.browser_states()),
            head: hall.store().head(),
            signals: hall.inner.signals.subscribe(),
            stopping: hall.tasks().stopping(),
            hall,
            by,
            scopes,
            subject: ask.subject,
            last: 0,
            told: 0,
            ready: VecDeque::new(),
            ended: None,
            woken: None,
            heartbeat,
            _place: place,
        };
        stream.find_place(ask.cursor, ask.log).await?;
        Ok(stream)
    }

    /// The next frame; an `Err` is the end.
    ///
    /// Cancel-safe: what was read is kept until it is handed on.
    ///
    /// # Errors
    /// Why the stream ended.
    pub async fn next(&mut self) -> Result<Frame, StreamEnd> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(frame);
            }
            if let Some(end) = self.ended {
                return Err(end);
            }
            if *self.stopping.borrow() {
                return Err(StreamEnd::ShuttingDown);
            }
            // A busy stream never waits, so its heartbeat is looked for on the way.
            let is_behind = self.last < *self.head.borrow_and_update();
            if self.woken.is_none() && is_behind {
                let is_due = self.heartbeat_is_due().await;
                self.woken = Some(if is_due {
                    WakeReason::Heartbeat
                } else {
                    WakeReason::Head
                });
            }
            if self.woken.is_none() {
                self.woken = Some(self.wake().await);
            }
            match self.woken.clone() {
                Some(WakeReason::Head) => self.read_page(false).await?,
                Some(WakeReason::Heartbeat) => self.read_page(true).await?,
                Some(WakeReason::Signal(signal)) => self.offer_signal(signal).await?,
                Some(WakeReason::Browser(state)) => self.ready.push_back(Frame::Browser(state)),
                Some(WakeReason::Stop) | None => return Err(StreamEnd::ShuttingDown),
            }
            self.woken = None;
        }
    }

    async fn heartbeat_is_due(&mut self) -> bool {
        poll_fn(|cx| Poll::Ready(self.heartbeat.poll_tick(cx).is_ready())).await
    }

    /// Waits until there is something to do.
    async fn wake(&mut self) -> WakeReason {
        loop {
            return tokio::select! {
                changed = self.head.changed() => changed.map_or(WakeReason::Stop, |()| WakeReason::Head),
                _ = self.stopping.wait_for(|stop| *stop) => WakeReason::Stop,
                signal = self.signals.recv() => match signal {
                    Ok(signal) => WakeReason::Signal(signal),
                    // A slow reader loses signals, never events.
                    Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => WakeReason::Stop,
                },
                state = next_state(&mut self.browser) => WakeReason::Browser(state),
                _ = self.heartbeat.tick() => WakeReason::Heartbeat,
            };
        }
    }

    /// Finds the place to go on from, or takes a snapshot.
    async fn find_place(&mut self, cursor: Cursor, log: Option<String>) -> Result<()> {
        let known_log = log.is_none_or(|log| log == self.hall.log_id().to_string());
        let bounds = self.hall.store().read(events::retained_from).await?;
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
        let now = self.hall.now();
        let seen = self
            .hall
            .store()
            .read(move |db| {
                let body = match &subject {
                    Subject::Everything => SnapshotBody::Scopes(Vec::new()),
                    Subject::Scopes(scopes) => SnapshotBody::Scopes(
                        scopes
                            .iter()
                            .map(|scope| Ok((*scope, scope_snapshot(db, &by, *scope, now)?)))
                            .collect::<Result<_>>()?,
                    ),
                    Subject::Room(room) => {
                        SnapshotBody::Room(Box::new(room_snapshot(db, &by, *room, now)?))
                    }
                    Subject::Session(session) => {
                        SnapshotBody::Session(Box::new(session_snapshot(db, &by, *session, now)?))
                    }
                };
                Ok((body, events::retained_from(db)?))
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
    async fn read_page(&mut self, is_heartbeat: bool) -> Result<(), StreamEnd> {
        let (by, now) = (self.by, self.hall.now());
        let (scopes, last) = (self.scopes.clone(), self.last);
        let hall = self.hall.clone();
        let turn = hall.inner.streams.page_permit().await;
        let read = hall
            .store()
            .read(move |db| log_page::read(db, &by, scopes.as_deref(), last, now));
        let read = read.await;
        drop(turn);
        let page = match read {
            Ok(seen) => seen.value,
            Err(error) => {
                tracing::warn!(?error, "a stream could not read the log");
                return Err(StreamEnd::Broken);
            }
        };
        match page {
            VisiblePage::CredentialLost => self.ended = Some(StreamEnd::CredentialLost),
            VisiblePage::Dropped => {
                if let Err(error) = self.snapshot(Some(ResetReason::Retention)).await {
                    tracing::warn!(?error, "a stream could not take a snapshot");
                    self.ended = Some(StreamEnd::NothingLeft);
                }
            }
            VisiblePage::Events {
                events,
                position,
                nothing_left,
            } => {
                self.told = events.last().map_or(self.told, |event| event.seq);
                self.last = position;
                self.ready.extend(events.into_iter().map(Frame::Event));
                self.ended = nothing_left.then_some(StreamEnd::NothingLeft);
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
    async fn offer_signal(&mut self, signal: Signal) -> Result<(), StreamEnd> {
        let scope = EventScope::Room(signal.room_id);
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
                .read(move |db| visibility::room(db, &by, room))
                .await
                .is_ok();
        if visible {
            self.ready.push_back(Frame::Signal(signal));
        }
        Ok(())
    }
}

/// The next state of the browser, for who may see it; one that was overtaken is left out.
async fn next_state(
    browser: &mut Option<watch::Receiver<Arc<browser::BrowserState>>>,
) -> Arc<browser::BrowserState> {
    if let Some(states) = browser
        && states.changed().await.is_ok()
    {
        return Arc::clone(&states.borrow_and_update());
    }
    // Its actor is gone only when the server stops, which ends the stream by itself.
    *browser = None;
    pending().await
}

fn scope_snapshot(
    db: &ReadTx<'_>,
    by: &Caller,
    scope: EventScope,
    now: Timestamp,
) -> Result<ScopeState> {
    Ok(match scope {
        EventScope::Room(room) => ScopeState::Room(Box::new(room_snapshot(db, by, room, now)?)),
        EventScope::Session(session) => {
            ScopeState::Session(Box::new(session_snapshot(db, by, session, now)?))
        }
        EventScope::Hall | EventScope::Agent(_) => ScopeState::Nothing,
    })
}

fn session_snapshot(
    db: &ReadTx<'_>,
    by: &Caller,
    session: SessionId,
    now: Timestamp,
) -> Result<SessionSnapshot> {
    Ok(SessionSnapshot {
        session: visibility::session(db, by, session)?,
        messages: messages::newest(db, session, limits::SNAPSHOT_MESSAGES)?,
        pending: interactions::pending_in_session(db, session, now)?,
        queue: messages::queue(db, session)?,
    })
}

fn room_snapshot(
    db: &ReadTx<'_>,
    by: &Caller,
    room: RoomId,
    now: Timestamp,
) -> Result<RoomSnapshot> {
    let floor = visibility::room(db, by, room)?.floor;
    let ask = EntriesQuery {
        before: None,
        after: None,
        limit: limits::SNAPSHOT_ENTRIES,
    };
    let entries = entries::page(db, room, floor, ask)?;
    let first = entries.entries.first().map_or(0, |entry| entry.seq);
    Ok(RoomSnapshot {
        room: rooms::detail(db, by, room)?,
        entries,
        turns: turns::unfinished(db, room, floor, first)?,
        documents: canvas::list(db, CanvasScope::Room(room), now)?,
    })
}
