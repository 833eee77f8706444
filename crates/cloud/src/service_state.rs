//! What all requests share: the store, the clock, the counted attempts and the way to be paid.

use std::sync::Arc;

use guildhall_domain::{Fault, accounts::Password, attempt_limiter::AttemptLimiter};
use guildhall_world::{clock::Clock, passwords};
use tokio::sync::Semaphore;

use crate::{settings::HttpOrigin, store::Store, stripe::StripeClient};

/// Passwords that are hashed at one moment; each takes 19 MiB and a processor.
const HASHES_AT_ONCE: usize = 2;

/// Cheap to clone; all clones share the same.
#[derive(Clone, Debug)]
pub struct ServiceState {
    /// What is kept.
    pub store: Arc<Store>,
    /// What time it is.
    pub clock: Clock,
    /// Where people and instances reach the service.
    pub public: Arc<HttpOrigin>,
    /// Wrong passwords.
    pub passwords: Arc<AttemptLimiter>,
    /// Wrong user codes.
    pub codes: Arc<AttemptLimiter>,
    /// The way to be paid, if there is one.
    pub paid: Option<PaymentSetup>,
    hashing: Arc<Semaphore>,
}

/// The way to be paid.
#[derive(Clone, Debug)]
pub struct PaymentSetup {
    /// The payment service.
    pub stripe: StripeClient,
    /// The price whose amount is chosen on the page, if top-ups are offered.
    pub topup_price: Option<Arc<str>>,
}

impl ServiceState {
    /// One that has counted no attempts.
    pub fn new(store: Store, clock: Clock, public: HttpOrigin, paid: Option<PaymentSetup>) -> Self {
        Self {
            store: Arc::new(store),
            clock,
            public: Arc::new(public),
            passwords: Arc::default(),
            codes: Arc::default(),
            paid,
            hashing: Arc::new(Semaphore::new(HASHES_AT_ONCE)),
        }
    }

    /// The hash of a new password.
    pub(crate) async fn hash(&self, password: Password) -> Result<String, Fault> {
        self.slowly(move || passwords::hash(&password)).await
    }

    /// Whether a password has this hash; without one it takes as long and is false.
    pub(crate) async fn verify(
        &self,
        password: Password,
        stored: Option<String>,
    ) -> Result<bool, Fault> {
        self.slowly(move || passwords::verify(&password, stored.as_deref()))
            .await
    }

    async fn slowly<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let during = "hashing a password";
        let place = Arc::clone(&self.hashing).acquire_owned().await;
        let place = place.map_err(|error| Fault::broken(during, error))?;
        let work = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(place);
            done
        });
        work.await.map_err(|error| Fault::broken(during, error))?
    }
}
