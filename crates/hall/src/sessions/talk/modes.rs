//! The mode while a turn runs: changed from outside, or by the agent itself.

use std::time::Duration;

use guildhall_domain::{
    Moment, Result,
    events::{ChangedBy, Event},
    ids::SessionId,
    limits,
    runtimes::{Mode, may_use},
    sessions::Session,
};
use guildhall_store::Tx;

use super::{
    super::{again, driver::Told, stage::Applied, standing, touch},
    Talk,
};
use crate::interactions;

impl Talk {
    /// Puts mode, model and effort in force as they are wanted now, while the agent goes on.
    pub(super) fn reconsider(&mut self) {
        if self.applying.is_some() {
            self.applies_again = true;
            return;
        }
        let (hall, process, id) = (
            self.hall.clone(),
            self.stage.process.clone(),
            self.job.session.id,
        );
        let grace = Duration::from_secs(limits::CANCEL_GRACE_S);
        self.applying = Some(Box::pin(async move {
            let applied = tokio::time::timeout(grace, hall.apply(&process, id)).await;
            applied.unwrap_or_else(|_| Err("MODE_NOT_APPLIED: the agent did not answer".to_owned()))
        }));
    }

    /// A mode that could not be put in force ends the turn: the record says that it is.
    pub(super) async fn applied(&mut self, applied: Result<Applied, String>) -> Told<()> {
        self.applying = None;
        match applied {
            Ok(applied) => self.stage.applied = applied,
            Err(why) => return self.stop(why).await,
        }
        if std::mem::take(&mut self.applies_again) {
            self.reconsider();
        }
        Ok(())
    }

    /// The agent switched its mode by itself: it stays only where a person's word allows it.
    pub(super) async fn mode_switched(&mut self, native: String) -> Told<()> {
        let id = self.job.session.id;
        let seat = self.stage.process.seat(id);
        if self.applying.is_some() || seat.is_none_or(|seat| seat.mode.as_ref() == Some(&native)) {
            return Ok(());
        }
        self.stage
            .process
            .amend_seat(id, |seat| seat.mode = Some(native.clone()));
        let (to, now) = (
            self.stage.capabilities.mode_of_native(&native),
            self.hall.now(),
        );
        let is_allowed = self
            .hall
            .insist(move |tx| follow_mode(tx, id, &to, now))
            .await?;
        if !is_allowed {
            self.reconsider();
        }
        Ok(())
    }
}

/// Takes over the mode an agent took by itself; answers false when no person's word allows it,
/// and it has to be set back.
fn follow_mode(tx: &mut Tx<'_>, id: SessionId, to: &Mode, now: Moment) -> Result<bool> {
    let session = again(tx, id)?;
    if session.permission_mode == to.id {
        return Ok(true);
    }
    let standing = standing(tx, &session)?;
    if may_use(to, false, &standing).is_err() {
        let event = Event::SessionModeRefused {
            session_id: id,
            attempted: to.id.clone(),
            kept: session.permission_mode,
        };
        tx.append(now, None, &event)?;
        return Ok(false);
    }
    let event = Event::SessionModeChanged {
        session_id: id,
        from: session.permission_mode.clone(),
        to: to.id.clone(),
        by: ChangedBy::Agent,
        acknowledged: to.width.needs_consent(),
    };
    tx.append(now, None, &event)?;
    interactions::withdraw_grants(tx, id, None, now)?;
    let session = Session {
        permission_mode: to.id.clone(),
        ..session
    };
    touch(tx, session, None, now).map(|_| true)
}
