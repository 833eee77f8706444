//! Playing a session's part: what one tells of its turn, told from outside.

use guildhall_domain::{Refusal, Result, errors::ResourceKind, ids::TurnId, sessions::TurnOutcome};
use guildhall_store::ReadTx;

use super::{turn_end, turn_start};
use crate::Hall;

/// What a session tells of the turn it was handed.
#[derive(Clone, Debug)]
pub enum SessionReport {
    /// The agent was handed the message.
    Began,
    /// The agent asks a person.
    Awaits,
    /// The person answered.
    GoesOn,
    /// The turn is over.
    Ended {
        /// How.
        outcome: TurnOutcome,
        /// What the agent said.
        reply: String,
        /// What went wrong.
        error: Option<String>,
    },
    /// The agent's process was gone and a person approved what it had asked.
    Reopened,
}

impl Hall {
    /// What the session of a turn that has yet to start would be handed: the message's text, and
    /// what is sent beside it.
    ///
    /// # Errors
    /// `NotFound` for a turn that is not there, or whose agent is not.
    #[doc(hidden)]
    pub async fn preview_turn(&self, turn: TurnId) -> Result<(String, String)> {
        let missing = || Refusal::NotFound(ResourceKind::Turn);
        let read = move |db: &ReadTx<'_>| {
            let kept = guildhall_store::turns::by_id(db, turn)?.ok_or_else(missing)?;
            Ok(turn_start::preview(db, &kept)?.ok_or_else(missing)?)
        };
        let handing = self.store().read(read).await?.value;
        Ok((handing.content, handing.context))
    }

    /// Tells the ledger what the session of a turn would, so that a test needs no agent.
    ///
    /// # Errors
    /// Faults alone.
    #[doc(hidden)]
    pub async fn report_turn(&self, turn: TurnId, played: SessionReport) -> Result<()> {
        let now = self.now();
        self.store()
            .write(move |tx| match played {
                SessionReport::Began => turn_end::record_begun(tx, turn, now),
                SessionReport::Awaits => turn_end::record_waiting(tx, turn, now),
                SessionReport::GoesOn => turn_end::record_resumed(tx, turn, now),
                SessionReport::Ended {
                    outcome,
                    reply,
                    error,
                } => turn_end::record_ended(tx, turn, outcome, &reply, error.as_deref(), now),
                SessionReport::Reopened => turn_end::reopen_by_person(tx, turn, now).map(|_| ()),
            })
            .await?;
        self.wake_turns();
        Ok(())
    }
}
