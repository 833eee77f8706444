//! Handing over: how a turn becomes a message of the session bound to its room and agent.
//! This is the one place that knows of sessions; the ledger knows their ids alone.

use guildhall_domain::{
    Result, Timestamp,
    ids::{AgentId, AuthorId, MessageId, RoomId, SessionId, TurnId},
};
use guildhall_store::{Tx, turns};

use crate::{
    Hall,
    sessions::{self, NewMessage, QueueRank},
};

/// A turn as its session is handed it.
#[derive(Clone, Debug)]
pub(super) struct SessionDispatch {
    /// The message's id.
    pub(super) id: MessageId,
    /// The turn.
    pub(super) turn: TurnId,
    /// Its room.
    pub(super) room: RoomId,
    /// Whose session it is.
    pub(super) agent: AgentId,
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
pub(super) fn dispatch_to_session(
    tx: &mut Tx<'_>,
    handing: &SessionDispatch,
    now: Timestamp,
) -> Result<SessionId> {
    let session = sessions::of_room(tx, handing.room, handing.agent, now)?;
    let message = NewMessage {
        id: handing.id,
        session: session.id,
        author: handing.author,
        content: handing.content.clone(),
        context: handing.context.clone(),
        room_turn: Some(handing.turn),
        rank: QueueRank::Usual,
    };
    sessions::enqueue(tx, message, now)?;
    Ok(session.id)
}

/// Has a session look at its queue, after the commit that filled it.
pub(super) fn wake(hall: &Hall, session: SessionId) {
    hall.wake_session(session);
}

/// Stops what a session works on for a turn that ended before it did, and takes what waits for
/// that turn out of its queue; what it does for others goes on.
pub(super) async fn cancel(hall: &Hall, session: SessionId, turn: TurnId) -> Result<()> {
    hall.stop_room_turn(session, turn, move |tx| {
        let Some(mut kept) = turns::by_id(tx, turn)? else {
            return Ok(());
        };
        kept.to_cancel = false;
        turns::update(tx, &kept)
    })
    .await
}
