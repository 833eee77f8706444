//! The start after a stop or crash: turns that ran are over, what waits goes on waiting.

use std::collections::HashSet;

use guildhall_domain::{
    Result, Timestamp,
    ids::{SessionId, TurnId},
    sessions::{Session, SessionState, TurnOutcome},
};
use guildhall_store::{
    Tx, interactions as ask_rows, messages, messages::QueuedMessageRow, sessions,
};

use super::{messages::remove, reload, turn_rows, write_session};
use crate::{interactions, turns};

/// Ends every turn that was on its way when the server ended, and answers the sessions to be
/// woken: those whose next message tells of a decision, which a person made for it to be told.
///
/// What else waits is held until a person acts; what waits for a turn of a room that is over
/// goes, because the room's dispatcher alone sends its prompts again.
///
/// Source: contract 3.6.2, 2.10.
pub(crate) fn recover(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<SessionId>> {
    let told = ask_rows::queued_resume_messages(tx, now)?;
    let waiting = messages::queues(tx)?;
    let resumed: HashSet<TurnId> = waiting
        .iter()
        .filter(|message| told.contains(&message.id))
        .filter_map(|message| message.room_turn)
        .collect();
    turns::recover(tx, &resumed, now)?;
    for session in sessions::busy(tx)? {
        turn_rows::interrupt(tx, &session, TurnOutcome::Interrupted, now)?;
        interactions::detach_all(tx, session.id, now)?;
        let idle = Session {
            state: SessionState::Idle,
            state_reason: "the server was restarted".to_owned(),
            ..session
        };
        write_session(tx, idle, None, now)?;
    }
    let mut woken = Vec::new();
    for queue in waiting.chunk_by(|one, next| one.session_id == next.session_id) {
        let Some(head) = settle(tx, queue, &resumed, now)? else {
            continue;
        };
        let id = head.session_id;
        if told.contains(&head.id) && !sessions::is_held(tx, id)? {
            woken.push(id);
        } else {
            sessions::hold(tx, id, true)?;
        }
    }
    Ok(woken)
}

/// Takes what waits for turns of rooms that are over out of a session's queue; answers what
/// comes next there.
fn settle<'a>(
    tx: &mut Tx<'_>,
    queue: &'a [QueuedMessageRow],
    resumed: &HashSet<TurnId>,
    now: Timestamp,
) -> Result<Option<&'a QueuedMessageRow>> {
    let is_over = |message: &&QueuedMessageRow| {
        let turn = message.room_turn;
        turn.is_some_and(|turn| !resumed.contains(&turn))
    };
    let mut removed = 0;
    for (place, message) in (1..).zip(queue).filter(|(_, message)| is_over(message)) {
        remove(tx, message, place - removed, None, now)?;
        removed += 1;
    }
    if removed > 0
        && let Some(message) = queue.first()
    {
        write_session(tx, reload(tx, message.session_id)?, None, now)?;
    }
    Ok(queue.iter().find(|message| !is_over(message)))
}
