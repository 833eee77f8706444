//! Signals: what is true only for a moment, such as typing; never stored, never replayed.

use serde::Serialize;

use crate::{
    Timestamp,
    ids::{AuthorId, RoomId, TurnId},
};

/// What a signal tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SignalKind {
    /// The author writes.
    Typing,
    /// The author looks at the room.
    Viewing,
    /// The agent works on a turn; the server alone says so.
    Working,
}

/// One ephemeral signal of a room. Source: contract 2.10.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The room it belongs to.
    pub room_id: RoomId,
    /// When it was sent.
    pub at: Timestamp,
    /// What it says.
    pub data: SignalData,
}

/// The `data` of a signal frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SignalData {
    /// Typing, viewing or working.
    pub kind: SignalKind,
    /// Who.
    pub author_id: AuthorId,
    /// Begins or ends.
    pub on: bool,
    /// The document looked at, as the sender named it.
    pub document_id: Option<String>,
    /// The turn that works.
    pub turn_id: Option<TurnId>,
    /// When it ends unless restated.
    pub until: Timestamp,
}
