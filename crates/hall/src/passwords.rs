//! Passwords: hashing and verifying them off the async threads, a few at a time.
//! Each takes 19 MiB and a processor, so that a crowd at the door must wait for its turn.

use std::sync::Arc;

use guildhall_domain::{Fault, Refusal, Result, accounts::Password};
use guildhall_world::passwords;
use tokio::sync::Semaphore;

/// Hashes made at one moment.
const PASSWORDS_AT_ONCE: usize = 4;

/// The turns in which passwords are hashed.
#[derive(Debug)]
pub(crate) struct PasswordHasher {
    turns: Arc<Semaphore>,
}

impl PasswordHasher {
    pub(crate) fn new() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(PASSWORDS_AT_ONCE)),
        }
    }

    /// The hash under which a password is kept.
    ///
    /// # Errors
    /// Faults alone.
    pub(crate) async fn hash(&self, password: Password) -> Result<String> {
        self.run_with_permit(move || passwords::hash(&password))
            .await
    }

    /// Whether a password has the hash `stored`; where there is none it takes as long.
    ///
    /// # Errors
    /// Faults alone.
    pub(crate) async fn verify(&self, password: Password, stored: Option<String>) -> Result<bool> {
        self.run_with_permit(move || passwords::verify(&password, stored.as_deref()))
            .await
    }

    async fn run_with_permit<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        // The gate is never closed; were it, the server would be stopping.
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let turn = turn.map_err(|_| Refusal::ShuttingDown)?;
        // The work keeps its turn also when nobody waits for it any more.
        let work = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        let done = work.await;
        Ok(done.map_err(|error| Fault::broken("hashing a password", error))??)
    }
}
