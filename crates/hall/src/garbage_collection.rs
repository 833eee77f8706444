//! Sweep: the chore that drops uploads nobody posted, and blobs that no row names.
//! The latter come from a server that ended between keeping a file and writing its row, or
//! between deleting the row and removing the file.

use std::time::Duration;

use guildhall_domain::{Error, Result, limits};
use guildhall_store::attachments;

use crate::Hall;

/// How often the chore looks, beside once at the start.
const PERIOD: Duration = Duration::from_secs(3_600);

/// Starts the chore.
pub(crate) fn start(hall: &Hall) {
    let mut stopping = hall.tasks().stopping();
    let chore = hall.clone();
    hall.tasks()
        .spawn("attachment sweep", hall.now(), async move {
            let mut period = tokio::time::interval(PERIOD);
            loop {
                tokio::select! {
                    _ = period.tick() => {}
                    _ = stopping.wait_for(|stop| *stop) => return,
                }
                // What a damaged store does not name may be needed.
                tokio::select! {
                    () = chore.store_was_checked() => {}
                    _ = stopping.wait_for(|stop| *stop) => return,
                }
                if chore.require_undamaged_store().is_err() {
                    continue;
                }
                if let Err(Error::Fault(fault)) = chore.collect_attachment_garbage().await {
                    tracing::error!(error = ?fault, "attachments could not be swept");
                }
            }
        });
}

impl Hall {
    /// Drops uploads that nobody posted in time, and the files of attachments that no row names.
    ///
    /// # Errors
    /// Faults alone: of kind `StoreDamaged` while the store is damaged, and nothing is removed
    /// then.
    pub async fn collect_attachment_garbage(&self) -> Result<()> {
        drop_unposted(self).await?;
        for first in 0..=u8::MAX {
            drop_orphans(self, first).await?;
        }
        Ok(())
    }
}

/// Drops every upload that waited too long.
async fn drop_unposted(hall: &Hall) -> Result<()> {
    let before = hall.now().plus_seconds(-limits::ATTACHMENT_UNPOSTED_S);
    loop {
        let batch = limits::ATTACHMENT_SWEEP_BATCH;
        let (dropped, free) = hall
            .store()
            .write(move |tx| attachments::forget_unposted(tx, before, batch))
            .await?;
        hall.drop_blobs(free).await;
        if dropped < batch as usize {
            return Ok(());
        }
    }
}

/// Removes the blobs of one shelf that no row names.
async fn drop_orphans(hall: &Hall, first: u8) -> Result<()> {
    let shelved = hall
        .with_blobs(move |blobs| Ok(blobs.schedule_removal(blobs.list_digests(first)?)))
        .await?;
    if shelved.digests().is_empty() {
        return Ok(());
    }
    let needed = hall
        .store()
        .read(move |db| attachments::needed_on_shelf(db, first))
        .await?
        .value;
    // Behind the reading, which may be what noticed the damage.
    hall.require_undamaged_store()?;
    hall.with_blobs(move |blobs| blobs.remove(&shelved, &needed))
        .await
}
