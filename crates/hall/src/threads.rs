//! Threads: reading one, and the threads a person wrote in.

use guildhall_domain::{
    Refusal, Result,
    callers::{AnyCaller, Gate, Human},
    errors::ResourceKind,
    ids::{EntryId, RoomId},
    threads::{Thread, ThreadQuery, ThreadsPage},
};
use guildhall_store::{ReadSnapshot, entries, threads};

use crate::{Hall, visibility};

impl Hall {
    /// An entry with a run of the replies to it, oldest first.
    ///
    /// # Errors
    /// `NotFound` for the room, and for an entry that this caller may not read or that is a
    /// reply itself.
    pub async fn thread(
        &self,
        by: &AnyCaller,
        room: RoomId,
        root: EntryId,
        ask: ThreadQuery,
    ) -> Result<ReadSnapshot<Thread>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                let floor = visibility::room(db, &by, room)?.floor;
                let root = entries::find(db, room, floor, root)?
                    .filter(|root| root.thread_root_entry_id.is_none())
                    .ok_or(Refusal::NotFound(ResourceKind::Entry))?;
                let (entries, has_more) = threads::replies(db, root.id, ask)?;
                Ok(Thread {
                    root,
                    entries,
                    has_more,
                })
            })
            .await
    }

    /// The threads the caller wrote in, newest activity first; those whose newest reply lies
    /// below the place `below`.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn threads(
        &self,
        by: &Human,
        below: Option<u64>,
        limit: u32,
    ) -> Result<ReadSnapshot<ThreadsPage>> {
        let by = *by.caller();
        let below = below.unwrap_or(u64::MAX);
        self.store()
            .read(move |db| threads::participated_by(db, by.author, below, limit))
            .await
    }
}
