//! Signals: telling the others of a room what is true only for a moment.

use guildhall_domain::{
    Result,
    callers::{AnyCaller, Gate},
    ids::RoomId,
    limits,
    signals::{Signal, SignalData, SignalKind},
};

use crate::{Hall, visibility};

impl Hall {
    /// Sends a signal to whoever listens now; nothing is stored.
    ///
    /// # Errors
    /// `NotFound`, [`guildhall_domain::Refusal::NotAMember`].
    pub async fn signal(
        &self,
        by: &AnyCaller,
        room: RoomId,
        kind: SignalKind,
        on: bool,
        document_id: Option<String>,
    ) -> Result<()> {
        let (by, at) = (*by.caller(), self.now());
        self.store()
            .read(move |db| {
                Ok(visibility::room(db, &by, room)?
                    .require_member()
                    .map(|_| ())?)
            })
            .await?;
        let until = at.plus_seconds(limits::SIGNAL_HOLDS_S);
        let author_id = by.author;
        let data = SignalData {
            kind,
            author_id,
            on,
            document_id,
            turn_id: None,
            until,
        };
        // An error only says that nobody listens.
        let _ = self.inner.signals.send(Signal {
            room_id: room,
            at,
            data,
        });
        Ok(())
    }
}
