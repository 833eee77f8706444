//! Turns: how posts become work of a room's agents, and the ledger that says why or why not.
//!
//! A post is considered in the transaction that writes it (`record_addressed_turns`); the dispatcher starts
//! what is due; the session a turn runs in tells how it goes (`record_begun`, `record_waiting`,
//! `record_resumed`, `record_ended`). Source: contract 2.6, 2.7.

mod addressing;
mod attribution;
mod dispatcher;
mod ledger;
mod listing;
mod session_dispatch;
mod turn_end;
mod turn_reporting;
mod turn_start;

pub(crate) use addressing::record_addressed_turns;
pub(crate) use attribution::{attribute_canvas_change, attribute_post};
pub(crate) use dispatcher::start;
pub(crate) use turn_end::{dismiss, dismiss_agent, dismiss_room, drop_silenced, recover};
pub(crate) use turn_end::{
    record_begun, record_ended, record_resumed, record_waiting, reopen_by_person,
};
pub use turn_reporting::SessionReport;

use guildhall_domain::{
    Refusal, Result, Timestamp,
    callers::{AnyCaller, Gate, Human},
    errors::ResourceKind,
    ids::{AuthorId, RoomId, TurnId},
    turns::{Turn, TurnState, TurnsPage, TurnsQuery},
};
use guildhall_store::{ReadSnapshot, ReadTx, turns};

use crate::{Hall, idempotency::IdempotentWrite, visibility};

impl Hall {
    /// A run of a room's ledger, newest first, with what the hour has used.
    ///
    /// The turns of agents that a post did not mean are made up now, for the newest posts.
    ///
    /// # Errors
    /// `NotFound` for the room.
    ///
    /// Source: contract 2.7.
    pub async fn turns(
        &self,
        by: &AnyCaller,
        room: RoomId,
        ask: TurnsQuery,
    ) -> Result<ReadSnapshot<TurnsPage>> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .read(move |db| {
                let floor = visibility::room(db, &by, room)?.floor;
                listing::page(db, room, floor, &ask, now)
            })
            .await
    }

    /// One turn of a room.
    ///
    /// # Errors
    /// `NotFound` for room or turn.
    pub async fn turn(
        &self,
        by: &AnyCaller,
        room: RoomId,
        id: TurnId,
    ) -> Result<ReadSnapshot<Turn>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                let floor = visibility::room(db, &by, room)?.floor;
                let kept = turns::find(db, room, floor, id)?;
                Ok(kept.ok_or(Refusal::NotFound(ResourceKind::Turn))?.turn)
            })
            .await
    }

    /// Has a refused or held turn run now, whatever its depth, how often the agent answered, and
    /// how busy it is; the hourly budgets count.
    ///
    /// # Errors
    /// `NotFound` for room or turn, [`Refusal::TurnNotRunnable`], [`Refusal::RoomArchived`],
    /// [`Refusal::TurnBudgetReached`].
    ///
    /// Source: contract 2.7.
    pub async fn run_turn(
        &self,
        by: &Human,
        room: RoomId,
        id: TurnId,
        once: IdempotentWrite<Turn>,
    ) -> Result<Turn> {
        let (by, now) = (*by.caller(), self.now());
        let registry = std::sync::Arc::clone(self.runtimes());
        let turn = self
            .store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    visibility::room(tx, &by, room)?;
                    let mut kept = turns::find(tx, room, 0, id)?
                        .ok_or(Refusal::NotFound(ResourceKind::Turn))?;
                    let waits = matches!(kept.turn.state, TurnState::Refused | TurnState::Held);
                    if !waits || kept.is_dispatched() {
                        return Err(Refusal::TurnNotRunnable.into());
                    }
                    turn_start::start_by_person(tx, &registry, &mut kept, now)?;
                    Ok(kept.turn)
                })
            })
            .await?;
        if let Some(session) = turn.session_id {
            session_dispatch::wake(self, session);
        }
        self.wake_turns();
        Ok(turn)
    }

    /// Stops every turn of a room, or of one agent there, that runs, waits or has yet to start;
    /// answers how many these were. Nothing they write later is taken.
    ///
    /// # Errors
    /// `NotFound` for the room, then for a member.
    ///
    /// Source: contract 2.3, "Halt".
    pub async fn halt(
        &self,
        by: &Human,
        room: RoomId,
        agent: Option<AuthorId>,
        once: IdempotentWrite<u64>,
    ) -> Result<u64> {
        let (by, now) = (*by.caller(), self.now());
        let stopped = self
            .store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    visibility::room(tx, &by, room)?;
                    if let Some(agent) = agent {
                        require_member(tx, room, agent)?;
                    }
                    turn_end::halt(tx, by.author, room, agent, now)
                })
            })
            .await?;
        self.wake_turns();
        Ok(stopped)
    }

    /// Has the dispatcher look: something may be due, or a turn went on.
    pub(crate) fn wake_turns(&self) {
        self.inner.turning.notify_one();
    }
}

fn require_member(db: &ReadTx<'_>, room: RoomId, author: AuthorId) -> Result<()> {
    if guildhall_store::members::is_member(db, room, author)? {
        Ok(())
    } else {
        Err(Refusal::NotFound(ResourceKind::Member).into())
    }
}

/// When the window of the hourly budgets that ends now began.
fn window(now: Timestamp) -> Timestamp {
    now.plus_seconds(-guildhall_domain::limits::TURN_WINDOW_S)
}
