//! Trying a runtime out: it is started, asked who it is, and opens a session in an empty folder.

use std::sync::Arc;

use guildhall_domain::{
    Refusal, Result,
    callers::{Gate, Owner},
    outcome::Thing,
    runtimes::{Probed, Profile, RuntimeStatus},
};
use guildhall_store::runtimes as rows;

use super::{note_probed, status, tell};
use crate::Hall;

impl Hall {
    /// Starts a runtime, opens a session in an empty folder, and keeps what it said.
    ///
    /// What goes wrong is told in the answer's `problem` and is no error.
    ///
    /// # Errors
    /// `NotFound` when there can be no such runtime.
    ///
    /// Source: contract 3.3.1.
    pub async fn check_runtime(&self, by: &Owner, kind: &str) -> Result<RuntimeStatus> {
        self.look_for_runtimes().await?;
        let registry = Arc::clone(self.runtimes());
        let profile = registry
            .profile(kind)
            .ok_or(Refusal::NotFound(Thing::Runtime))?;
        let profile = profile.clone();
        let permit = registry.checks.acquire().await;
        let tried = self.try_runtime(&profile).await;
        drop(permit);
        let (actor, now) = (by.caller().author, self.now());
        let of = Arc::clone(&registry);
        self.store()
            .write(move |tx| {
                let problem = match tried {
                    Ok(probed) => {
                        note_probed(tx, &of, &profile.kind, probed, Some(actor), now)?;
                        String::new()
                    }
                    Err(problem) => problem,
                };
                tell(
                    tx,
                    &of,
                    &profile.kind,
                    (Some(now), problem),
                    Some(actor),
                    now,
                )?;
                let version = of.installed_version(&profile.kind);
                let probed = rows::probed(tx, &profile.kind, &version)?;
                let told = rows::told(tx, &profile.kind)?;
                Ok(status(&of, &profile, probed.as_ref(), told.as_ref()))
            })
            .await
    }

    /// What the runtime says of itself, or one sentence on why it says nothing.
    async fn try_runtime(&self, profile: &Profile) -> Result<Probed, String> {
        Err(profile.missing())
    }
}
