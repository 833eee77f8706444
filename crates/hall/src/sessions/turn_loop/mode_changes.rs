//! The mode while a turn runs: changed from outside, or by the agent itself.

use std::time::Duration;

use guildhall_domain::limits;

use super::{
    super::{driver::WriteResult, turn_setup::AppliedSettings},
    TurnLoop,
};
impl TurnLoop {
    /// Puts mode, model and effort in force as they are wanted now, while the agent goes on.
    pub(super) fn apply_settings(&mut self) {
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
    pub(super) async fn applied(
        &mut self,
        applied: Result<AppliedSettings, String>,
    ) -> WriteResult<()> {
        self.applying = None;
        match applied {
            Ok(applied) => self.stage.applied = applied,
            Err(why) => return self.stop(why).await,
        }
        if std::mem::take(&mut self.applies_again) {
            self.apply_settings();
            return Ok(());
        }
        // The agent may have switched it while it was being set.
        self.mode_switched().await
    }

    /// The agent switched its mode by itself: it stays only where a person's word allows it.
    pub(super) async fn mode_switched(&mut self) -> WriteResult<()> {
        if self.applying.is_some() || !self.stage.is_switched() {
            return Ok(());
        }
        let (process, id) = (&self.stage.process, self.job.session.id);
        let is_allowed = self.hall.agent_switched(process, id).await?;
        // One that has to stop is set back before its next turn.
        if !is_allowed && self.stopping.is_none() {
            self.apply_settings();
        }
        Ok(())
    }
}
