//! Damage: whether the store's file is known to be damaged.
//! The first error that tells of it counts from then on: no change is acknowledged any more,
//! and reading goes on where it can.

use std::sync::Arc;

use guildhall_domain::{Fault, errors::FaultKind};
use tokio::sync::watch;

/// What is known of damage, shared by everything that uses the file.
#[derive(Clone, Debug)]
pub(crate) struct Damage(Arc<watch::Sender<Option<String>>>);

impl Default for Damage {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Damage {
    /// Notices damage; the first reason stays.
    pub(crate) fn notice(&self, why: &str) {
        self.0.send_if_modified(|known| {
            if known.is_some() {
                return false;
            }
            tracing::error!(
                why,
                "the store is damaged; nothing is written any more, restore a backup"
            );
            *known = Some(why.to_owned());
            true
        });
    }

    pub(crate) fn forget(&self) {
        self.0.send_replace(None);
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Option<String>> {
        self.0.subscribe()
    }

    /// Holds back a change of a damaged store.
    pub(crate) fn require_none(&self) -> Result<(), Fault> {
        match self.0.borrow().as_ref() {
            None => Ok(()),
            Some(why) => Err(Fault::new(
                FaultKind::StoreDamaged,
                "committing to the store",
                why.clone(),
            )),
        }
    }
}
