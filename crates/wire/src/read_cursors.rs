//! Read cursors on the wire. Source: contract 2.3, "Read cursor".

use guildhall_domain::{
    Timestamp,
    ids::{AuthorId, RoomId},
    read_cursors,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// How far a person has read a room.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadCursor {
    /// The room.
    #[schema(value_type = String)]
    pub room_id: RoomId,
    /// Whose cursor it is.
    #[schema(value_type = String)]
    pub author_id: AuthorId,
    /// The newest entry read.
    pub last_read_seq: u64,
    /// Posts of others beyond it.
    pub unread_count: u64,
    /// Posts of others beyond it that name the author.
    pub mention_count: u64,
    /// When it last moved.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<read_cursors::ReadCursor> for ReadCursor {
    fn from(cursor: read_cursors::ReadCursor) -> Self {
        Self {
            room_id: cursor.room_id,
            author_id: cursor.author_id,
            last_read_seq: cursor.last_read_seq,
            unread_count: cursor.unread_count,
            mention_count: cursor.mention_count,
            updated_at: cursor.updated_at,
        }
    }
}

/// Moves a read cursor.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MoveReadCursor {
    /// The newest entry read; above the room's newest counts as the newest.
    pub last_read_seq: u64,
    /// Whether the cursor may move back, to mark entries unread.
    #[schema(nullable = false)]
    pub allow_back: Option<bool>,
}

impl FromFields for MoveReadCursor {
    fn read(fields: &mut Fields) -> Self {
        Self {
            last_read_seq: fields.number("lastReadSeq"),
            allow_back: fields.maybe_flag("allowBack"),
        }
    }
}
