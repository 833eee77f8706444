//! Handing over: how a turn becomes a message of the session bound to its room and agent.
//! This is the one place that knows of sessions; the ledger knows their ids alone.

use guildhall_domain::{
    Moment, Result,
    ids::{AgentId, AuthorId, MessageId, RoomId, SessionId, TurnId},
};
use guildhall_store::{Tx, turns};

use crate::Hall;

/// A turn as its session is handed it.
#[derive(Clone, Debug)]
pub(super) struct Handing {
    /// The message's id.
    pub(super) id: MessageId,
    /// The turn.
    pub(super) turn: TurnId,
    /// Its room.
    pub(super) room: RoomId,
    /// Whose session it is.
    pub(super) agent: AgentId,
    /// The author that agent writes as.
    pub(super) agent_author: AuthorId,
    /// Who wrote the last post.
    pub(super) author: AuthorId,
    /// That post's text, byte-exact.
    pub(super) content: String,
    /// What is sent beside it.
    pub(super) context: String,
}

/// Finds or makes the session bound to the room and agent, and queues the message there.
///
/// # Errors
/// A refusal when the session cannot take it, which refuses the turn; nothing may be written
/// before it, because what the ledger writes of the refusal is kept.
pub(super) fn hand_over(tx: &mut Tx<'_>, handing: &Handing, now: Moment) -> Result<SessionId> {
    tracing::debug!(turn = %handing.turn, message = %handing.id, agent = %handing.agent,
        author = %handing.author, bytes = handing.content.len() + handing.context.len(),
        at = %now, "a turn was handed over");
    let known = turns::session_of(tx, handing.room, handing.agent_author)?;
    Ok(known.unwrap_or_else(|| Hall::new_id(SessionId::from_bytes)))
}

/// Has a session look at its queue, after the commit that filled it.
pub(super) fn wake(_hall: &Hall, session: SessionId) {
    tracing::debug!(%session, "a session has a turn to take");
}

/// Stops what a session works on, and drops what waits there, after the commit that ended it.
pub(super) fn cancel(_hall: &Hall, session: SessionId) {
    tracing::debug!(%session, "a session's turn was stopped");
}
