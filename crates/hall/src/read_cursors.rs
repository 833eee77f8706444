//! Read cursors: how far a person has read a room.

use guildhall_domain::{
    Refusal, Result,
    callers::{Gate, Human},
    events::Event,
    ids::RoomId,
    read_cursors::ReadCursor,
};
use guildhall_store::{ReadSnapshot, read_cursors};

use crate::{Hall, visibility};

impl Hall {
    /// The caller's cursor in a room.
    ///
    /// # Errors
    /// `NotFound`, [`Refusal::NotAMember`].
    pub async fn read_cursor(&self, by: &Human, room: RoomId) -> Result<ReadSnapshot<ReadCursor>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                visibility::room(db, &by, room)?;
                let cursor = read_cursors::find(db, room, by.author)?;
                Ok(cursor.ok_or(Refusal::NotAMember)?)
            })
            .await
    }

    /// Moves the caller's cursor: forward, or back too when `allow_back`.
    ///
    /// # Errors
    /// `NotFound`, [`Refusal::NotAMember`].
    pub async fn move_read_cursor(
        &self,
        by: &Human,
        room: RoomId,
        last_read_seq: u64,
        allow_back: bool,
    ) -> Result<ReadCursor> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                visibility::room(tx, &by, room)?;
                let moved = read_cursors::set(tx, room, by.author, last_read_seq, allow_back, now)?;
                let (cursor, changed) = moved.ok_or(Refusal::NotAMember)?;
                if changed {
                    tx.append(now, Some(by.author), &Event::ReadCursor(cursor.clone()))?;
                }
                Ok(cursor)
            })
            .await
    }
}
