//! Attachment checks: the background job that reads all attachments once a day, tells of those
//! that are damaged or missing, restores them from the backups' copies where these are whole, and
//! renews copies that are damaged.

use std::{collections::BTreeSet, time::Duration};

use guildhall_domain::{Result, attachments::Digest, limits};
use guildhall_store::attachments;
use guildhall_world::blobs::BlobState;

use crate::Hall;

/// How often the job looks whether a check is due.
const PERIOD: Duration = Duration::from_secs(10 * 60);

/// How many times as long as it read the check rests: it takes a fifth of the disk's time.
const REST_FACTOR: u32 = 4;
/// How long one rest lasts at most.
const REST_MAX: Duration = Duration::from_millis(500);
/// Damaged attachments that are told.
const DAMAGED_TOLD_MAX: usize = 100;

/// What was found of one attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// It is whole, or nobody needs it any more.
    Whole,
    /// It was damaged or missing; the backups' copy is in its place.
    Restored,
    /// Neither it nor a copy is whole.
    Lost,
}

impl Hall {
    /// Reads every attachment, in small steps with rests; restores what is damaged or missing, and
    /// keeps what could not be. Copies beside the backups that are damaged are renewed.
    ///
    /// # Errors
    /// A fault when the store cannot be read.
    pub async fn check_attachments(&self) -> Result<()> {
        let mut damaged = Vec::new();
        for first in 0..=u8::MAX {
            let shelved = self
                .with_blobs(move |blobs| blobs.list_digests(first))
                .await;
            let mut all: BTreeSet<Digest> = match shelved {
                Ok(shelved) => shelved.into_iter().collect(),
                Err(error) => {
                    tracing::error!(?error, "a folder of attachments cannot be read");
                    BTreeSet::new()
                }
            };
            all.extend(self.attachments_needed(first).await?);
            for digest in all {
                let found = match self.check_attachment(digest).await? {
                    BlobState::Whole => Found::Whole,
                    // Removed since, with its entry.
                    BlobState::Missing
                        if !self.attachments_needed(first).await?.contains(&digest) =>
                    {
                        Found::Whole
                    }
                    BlobState::Damaged | BlobState::Missing => {
                        self.restore_attachment(digest).await?
                    }
                };
                match found {
                    Found::Whole => {}
                    Found::Restored => {
                        tracing::warn!(%digest, "an attachment was damaged or missing and is restored from the backups");
                    }
                    Found::Lost => {
                        tracing::error!(%digest, "an attachment is damaged or missing; upload the file again");
                        damaged.push(digest.to_string());
                    }
                }
            }
        }
        if *self.tasks().stopping().borrow() {
            return Ok(());
        }
        damaged.truncate(DAMAGED_TOLD_MAX);
        let now = self.now();
        self.update_health(|state| {
            state.attachments_checked_at_ms = now.as_millis();
            state.attachments_damaged = damaged;
        });
        Ok(())
    }

    /// The attachments that rows name and whose digests begin with `first`.
    async fn attachments_needed(&self, first: u8) -> Result<Vec<Digest>> {
        let needed = self
            .store()
            .read(move |db| attachments::needed_on_shelf(db, first))
            .await?;
        Ok(needed.value)
    }

    /// Reads an attachment; of a whole one, the backups' copy as well.
    async fn check_attachment(&self, digest: Digest) -> Result<BlobState> {
        let (backups, stopping) = (self.backup_files(), self.tasks().stopping());
        self.with_blobs(move |blobs| {
            let go_on = |worked: Duration| {
                std::thread::park_timeout((worked * REST_FACTOR).min(REST_MAX));
                !*stopping.borrow()
            };
            let state = blobs.check(digest, &go_on);
            if state == BlobState::Whole
                && let Err(fault) = backups.renew_attachment(digest, &go_on)
            {
                tracing::warn!(%digest, error = ?fault, "a backup's copy could not be renewed");
            }
            Ok(state)
        })
        .await
    }

    /// Puts the backups' copy in the place of an attachment, where that is another file and whole.
    async fn restore_attachment(&self, digest: Digest) -> Result<Found> {
        let backups = self.backup_files();
        self.with_blobs(move |blobs| {
            let replaced = blobs.replace(digest, &backups.attachment(digest));
            Ok(match replaced {
                Ok(true) => Found::Restored,
                Ok(false) => Found::Lost,
                Err(fault) => {
                    tracing::warn!(%digest, error = ?fault, "an attachment could not be restored");
                    Found::Lost
                }
            })
        })
        .await
    }
}

/// Starts the job.
pub(crate) fn start(hall: &Hall) {
    let mut stopping = hall.tasks().stopping();
    let job = hall.clone();
    let begun = hall.now();
    hall.tasks().spawn("attachment checks", begun, async move {
        let mut period = tokio::time::interval(PERIOD);
        loop {
            tokio::select! {
                _ = period.tick() => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
            // A new server has nothing old to check.
            let last = job.store_state().attachments_checked_at().unwrap_or(begun);
            if job.now() < last.plus_seconds(limits::DATA_CHECK_S) {
                continue;
            }
            if let Err(error) = job.check_attachments().await {
                tracing::error!(?error, "the attachments could not be checked");
            }
        }
    });
}
