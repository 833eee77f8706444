//! The start after a stop or crash: turns that ran are over, what waits goes on waiting.

use guildhall_domain::{
    Moment, Result,
    sessions::{Origin, Session, SessionState, TurnOutcome},
};
use guildhall_store::{Tx, sessions};

use super::{messages, touch, turn};
use crate::interactions;

/// Ends every turn that was on its way when the server ended.
///
/// A person's queue is held until a person acts; in a room's session the room's dispatcher sends
/// again what is to be sent. Source: contract 3.6.2, 2.10.
pub(crate) fn recover(tx: &mut Tx<'_>, now: Moment) -> Result<()> {
    for session in sessions::busy(tx)? {
        turn::interrupt(tx, &session, TurnOutcome::Interrupted, now)?;
        interactions::detach_all(tx, session.id, now)?;
        match session.origin {
            Origin::Room => {
                messages::clear_queue(tx, &session, None, now)?;
            }
            Origin::Person | Origin::Terminal => sessions::hold(tx, session.id, true)?,
        }
        let idle = Session {
            state: SessionState::Idle,
            state_reason: "the server was restarted".to_owned(),
            ..session
        };
        touch(tx, idle, None, now)?;
    }
    Ok(())
}
