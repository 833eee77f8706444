//! Attachment checks: the background job that reads all attachments once a day, tells of those
//! that are damaged, and restores them from the backups' copies where these are whole.

use std::time::Duration;

use guildhall_domain::{Result, attachments::Digest, limits};

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
    Whole,
    /// It was damaged; the backups' copy is in its place.
    Restored,
    Damaged,
}

impl Hall {
    /// Reads every attachment, in small steps with rests; restores what is damaged, and keeps
    /// what could not be.
    ///
    /// # Errors
    /// A fault when the folder of attachments cannot be reached.
    pub async fn check_attachments(&self) -> Result<()> {
        let mut damaged = Vec::new();
        for first in 0..=u8::MAX {
            let shelved = self
                .with_blobs(move |blobs| blobs.list_digests(first))
                .await?;
            for digest in shelved {
                match self.check_attachment(digest).await? {
                    Found::Whole => {}
                    Found::Restored => {
                        tracing::warn!(%digest, "an attachment was damaged and is restored from the backups");
                    }
                    Found::Damaged => {
                        tracing::error!(%digest, "an attachment is damaged; upload the file again");
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

    async fn check_attachment(&self, digest: Digest) -> Result<Found> {
        let (backups, stopping) = (self.backup_files(), self.tasks().stopping());
        self.with_blobs(move |blobs| {
            let go_on = |worked: Duration| {
                std::thread::park_timeout((worked * REST_FACTOR).min(REST_MAX));
                !*stopping.borrow()
            };
            if blobs.is_whole(digest, &go_on)? {
                return Ok(Found::Whole);
            }
            // A second name for the same file is damaged as well, and left alone.
            match blobs.replace(digest, &backups.attachment(digest))? {
                true => Ok(Found::Restored),
                false => Ok(Found::Damaged),
            }
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
