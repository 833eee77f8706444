//! The dispatcher: starts what is due, tells what takes long, ends what takes too long, stops
//! the sessions of stopped turns, and says who works.
//!
//! It is nudged after commits and follows the hall's clock; what it knows stands in the store.

use crate::runtimes::Registry;
use std::sync::Arc;
use std::{collections::BTreeMap, time::Duration};

use guildhall_domain::{
    Error, Result, Timestamp,
    entries::NoticeCode,
    ids::{AuthorId, RoomId, SessionId, TurnId},
    limits,
    signals::{Signal, SignalData, SignalKind},
    turns::{TurnRule, TurnState},
};
use guildhall_store::{
    Tx,
    turns::{self, TurnRow},
};
use serde_json::json;

use super::{ledger, session_dispatch, turn_end, turn_start};
use crate::Hall;

/// The shortest rest between two looks.
const REST_MIN: Duration = Duration::from_millis(10);
/// The longest rest while something waits or works.
const REST_MAX: Duration = Duration::from_secs(1);

/// What one look did, and what is left.
#[derive(Debug, Default)]
struct DispatchRound {
    /// Sessions that were handed a turn.
    wake: Vec<SessionId>,
    /// Turns that ended before their sessions did.
    cancel: Vec<(SessionId, TurnId)>,
    /// Who works, and where.
    working: Vec<(TurnId, RoomId, AuthorId)>,
    /// When something is due; `None` while nothing is left.
    next: Option<Timestamp>,
}

impl Hall {
    /// Does everything that is due of rooms' turns now; answers when something is due next.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub async fn dispatch_turns(&self) -> Result<Option<Timestamp>> {
        Ok(self.dispatch_round().await?.next)
    }

    async fn dispatch_round(&self) -> Result<DispatchRound> {
        let now = self.now();
        let quiet = self
            .store()
            .read(|db| {
                Ok(turns::pending(db)?.is_empty()
                    && turns::live(db)?.is_empty()
                    && turns::to_cancel(db)?.is_empty())
            })
            .await?;
        if quiet.value {
            return Ok(DispatchRound::default());
        }
        self.rescan_runtimes().await?;
        let registry = Arc::clone(self.runtimes());
        let mut look = self
            .store()
            .write(move |tx| run_round(tx, &registry, now))
            .await?;
        // A session is told to stop before it is told of its next turn.
        for (session, turn) in &look.cancel {
            if let Err(error) = session_dispatch::cancel(self, *session, *turn).await {
                tracing::error!(%turn, ?error, "a session was not stopped; trying again");
                let again = now.plus_seconds(1);
                look.next = Some(look.next.map_or(again, |next| next.min(again)));
            }
        }
        for session in &look.wake {
            session_dispatch::wake(self, *session);
        }
        Ok(look)
    }
}

fn run_round(tx: &mut Tx<'_>, registry: &Registry, now: Timestamp) -> Result<DispatchRound> {
    let mut look = DispatchRound::default();
    for kept in turns::live(tx)? {
        check_duration(tx, kept, now)?;
    }
    for kept in turns::to_cancel(tx)? {
        let session = kept.turn.session_id;
        look.cancel
            .extend(session.map(|session| (session, kept.id)));
    }
    let mut dues = Vec::new();
    for mut kept in turns::pending(tx)? {
        match kept.due_at {
            Some(due) if kept.turn.state == TurnState::Collecting && due > now => dues.push(due),
            _ => {
                look.wake
                    .extend(turn_start::when_due(tx, registry, &mut kept, now)?);
                // A held one is looked at again when another turn ends, and now and then.
                if kept.turn.state == TurnState::Held {
                    dues.push(now.plus_seconds(limits::WORKING_RESTATED_S));
                }
            }
        }
    }
    for kept in turns::live(tx)? {
        let turn = &kept.turn;
        look.working
            .push((kept.id, turn.room_id, turn.agent_author_id));
        let mark = if kept.is_late {
            limits::TURN_MAX_MS
        } else {
            limits::TURN_LATE_MS
        };
        dues.extend(kept.clock.shows_at(mark));
        dues.push(now.plus_seconds(limits::WORKING_RESTATED_S));
    }
    look.next = dues.into_iter().min();
    Ok(look)
}

/// Tells that a turn takes long, and ends one that takes too long.
///
/// Source: contract 2.6, step 7.
fn check_duration(tx: &mut Tx<'_>, mut kept: TurnRow, now: Timestamp) -> Result<()> {
    let spent = kept.clock.at(now);
    if spent >= limits::TURN_MAX_MS {
        kept.to_cancel = kept.turn.session_id.is_some();
        return turn_end::fail(
            tx,
            kept,
            TurnRule::Timeout,
            "it took more than an hour",
            now,
        );
    }
    if kept.is_late || spent < limits::TURN_LATE_MS {
        return Ok(());
    }
    kept.is_late = true;
    turns::update(tx, &kept)?;
    let agent = kept.turn.agent_author_id;
    let text = format!("{} is working late.", ledger::name_of(tx, agent)?);
    let minutes = spent / 60_000;
    let data = ledger::notice_data(&kept.turn, json!({"minutes": minutes}));
    let (room, code) = (kept.turn.room_id, NoticeCode::AgentBusy);
    ledger::notice(tx, room, code, Some(agent), text, data, now)
}

/// Starts the dispatcher; it rests while nothing waits and nobody works.
pub(crate) fn start(hall: &Hall) {
    let mut stopping = hall.tasks().stopping();
    let chore = hall.clone();
    hall.tasks().spawn("turns", hall.now(), async move {
        let mut told = WorkingSignals::default();
        loop {
            let rest = match chore.dispatch_round().await {
                Ok(look) => {
                    told.tell(&chore, &look.working);
                    look.next.map(|next| rest_until(chore.now(), next))
                }
                Err(error) => {
                    if let Error::Fault(fault) = error {
                        tracing::error!(error = ?fault, "turns could not be looked at");
                    }
                    Some(REST_MAX)
                }
            };
            let nudged = chore.inner.turning.notified();
            let rested = async {
                match rest {
                    // Whether it was nudged or the time is over, it looks again.
                    Some(rest) => drop(tokio::time::timeout(rest, nudged).await),
                    None => nudged.await,
                }
            };
            tokio::select! {
                () = rested => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
        }
    });
}

/// How long to rest until `next` comes, in the time of the clock that `now` was read from.
fn rest_until(now: Timestamp, next: Timestamp) -> Duration {
    let ms = next.as_millis().saturating_sub(now.as_millis());
    Duration::from_millis(u64::try_from(ms).unwrap_or(0)).clamp(REST_MIN, REST_MAX)
}

/// Of whom the rooms were told that they work, and when.
#[derive(Debug, Default)]
struct WorkingSignals {
    turns: BTreeMap<TurnId, (RoomId, AuthorId, Timestamp)>,
}

impl WorkingSignals {
    /// Tells who works now: at once, again and again, and when it is over.
    fn tell(&mut self, hall: &Hall, working: &[(TurnId, RoomId, AuthorId)]) {
        let now = hall.now();
        for (turn, room, author) in working {
            let known = self.turns.get(turn);
            let is_fresh =
                known.is_some_and(|(.., at)| now < at.plus_seconds(limits::WORKING_RESTATED_S));
            if !is_fresh {
                self.turns.insert(*turn, (*room, *author, now));
                signal(hall, *turn, *room, *author, true, now);
            }
        }
        self.turns.retain(|turn, (room, author, _)| {
            let works = working.iter().any(|(working, ..)| working == turn);
            if !works {
                signal(hall, *turn, *room, *author, false, now);
            }
            works
        });
    }
}

fn signal(
    hall: &Hall,
    turn: TurnId,
    room_id: RoomId,
    author_id: AuthorId,
    on: bool,
    at: Timestamp,
) {
    let data = SignalData {
        kind: SignalKind::Working,
        author_id,
        on,
        document_id: None,
        turn_id: Some(turn),
        until: at.plus_seconds(limits::SIGNAL_HOLDS_S),
    };
    // An error only says that nobody listens.
    let _ = hall.inner.signals.send(Signal { room_id, at, data });
}
