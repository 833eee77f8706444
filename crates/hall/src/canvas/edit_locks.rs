//! Who edits which document: taking and giving back locks, and the chore that tells when one
//! has expired.

use std::time::Duration;

use guildhall_domain::{
    Error, Result, Timestamp,
    callers::{AnyCaller, Gate},
    canvas::{self as rules, CanvasChange, CanvasScope, EditLock},
    ids::{AuthorId, DocumentId, RoomId},
};
use guildhall_store::{
    Tx,
    canvas::{self, CanvasDocumentRow},
};
use tokio::time::MissedTickBehavior;

use super::{append_changed, writable};
use crate::{Hall, idempotency::IdempotentWrite};

impl Hall {
    /// Begins, prolongs or ends editing; answers the lock that holds now, whoever holds it.
    ///
    /// # Errors
    /// `NotFound` for room or session, then for the document, `RoomArchived`,
    /// `NotAMember`, `CanvasBeingEdited`.
    ///
    /// Source: contract 2.5, the table of locks.
    pub async fn edit_document(
        &self,
        by: &AnyCaller,
        scope: CanvasScope,
        id: DocumentId,
        editing: bool,
        once: IdempotentWrite<Option<EditLock>>,
    ) -> Result<Option<EditLock>> {
        let (by, now) = (*by.caller(), self.now());
        let lock = self
            .store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    let kept = writable(tx, &by, scope, id, now)?;
                    let lock = rules::edit(kept.lock, by.author, editing, now)?;
                    set_lock(tx, Some(by.author), kept, lock, now)?;
                    Ok(lock)
                })
            })
            .await?;
        if lock.is_some() {
            self.inner.editing.notify_one();
        }
        Ok(lock)
    }

    /// Ends every edit whose time is over and tells of it; answers whether others go on.
    ///
    /// What is read shows an expired edit as ended already; this tells it to those who listen.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub async fn end_expired_edits(&self) -> Result<bool> {
        let now = self.now();
        match self.store().read(canvas::next_expiry).await?.value {
            None => return Ok(false),
            Some(expiry) if expiry > now => return Ok(true),
            Some(_) => {}
        }
        self.store()
            .write(move |tx| {
                for kept in canvas::expired(tx, now)? {
                    set_lock(tx, None, kept, None, now)?;
                }
                Ok(canvas::next_expiry(tx)?.is_some())
            })
            .await
    }
}

/// How often the chore looks while somebody edits.
const PERIOD: Duration = Duration::from_secs(1);

/// Starts the chore that tells when an edit's time is over; it rests while nobody edits.
pub(crate) fn start(hall: &Hall) {
    let mut stopping = hall.tasks().stopping();
    let chore = hall.clone();
    hall.tasks().spawn("canvas locks", hall.now(), async move {
        let mut period = tokio::time::interval(PERIOD);
        period.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let others_go_on = chore.end_expired_edits().await.unwrap_or_else(|error| {
                if let Error::Fault(fault) = error {
                    tracing::error!(error = ?fault, "expired edits could not be ended");
                }
                true
            });
            tokio::select! {
                _ = period.tick(), if others_go_on => {}
                () = chore.inner.editing.notified(), if !others_go_on => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
        }
    });
}

/// Ends what somebody who leaves a room edits there.
pub(crate) fn end_edits_of(
    tx: &mut Tx<'_>,
    actor: Option<AuthorId>,
    room: RoomId,
    author: AuthorId,
    now: Timestamp,
) -> Result<()> {
    for kept in canvas::edited_by(tx, CanvasScope::Room(room), author, now)? {
        set_lock(tx, actor, kept, None, now)?;
    }
    Ok(())
}

/// Sets a lock, and tells when it is another's or nobody's now; a mere prolongation is not told.
fn set_lock(
    tx: &mut Tx<'_>,
    actor: Option<AuthorId>,
    kept: CanvasDocumentRow,
    lock: Option<EditLock>,
    now: Timestamp,
) -> Result<()> {
    let CanvasDocumentRow {
        mut document,
        lock: before,
        binding: _,
    } = kept;
    if lock == before {
        return Ok(());
    }
    canvas::set_lock(tx, document.id, lock)?;
    let by = lock.map(|lock| lock.by);
    if by == before.map(|before| before.by) {
        return Ok(());
    }
    document.editing_by = by;
    append_changed(tx, actor, &document, CanvasChange::Editing, now)
}
