//! Blobs: removing those that nobody needs any more, and reaching the disk without making a
//! worker of the runtime wait for it.

use std::sync::Arc;

use guildhall_domain::{Error, Fault, Result, attachments::Digest};
use guildhall_store::attachments;
use guildhall_world::blobs::Blobs;

use crate::Hall;

impl Hall {
    /// Does something that may wait for the disk.
    pub(crate) async fn with_blobs<T: Send + 'static>(
        &self,
        deed: impl FnOnce(&Arc<Blobs>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let blobs = Arc::clone(&self.inner.blobs);
        let done = tokio::task::spawn_blocking(move || deed(&blobs)).await;
        Ok(done.map_err(|error| Fault::broken("reaching the attachments", error))??)
    }

    /// Removes those of these blobs that no row names; asked for after the commit that forgot
    /// them. What cannot be removed now is left to the sweep.
    pub(crate) async fn drop_blobs(&self, digests: Vec<Digest>) {
        if digests.is_empty() {
            return;
        }
        if let Err(Error::Fault(fault)) = self.try_drop_blobs(digests).await {
            tracing::error!(error = ?fault, "attachments could not be removed");
        }
    }

    async fn try_drop_blobs(&self, digests: Vec<Digest>) -> Result<()> {
        let doom = self.inner.blobs.schedule_removal(digests);
        let asked = doom.digests().to_vec();
        let needed = self
            .store()
            .read(move |db| attachments::needed(db, &asked))
            .await?
            .value;
        self.with_blobs(move |blobs| blobs.remove(&doom, &needed))
            .await
    }
}
