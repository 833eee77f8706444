//! Read cursors: how far a person has read a room, and what that leaves unread.
//! Pure: the counters behind it are `store::read_cursors`.

use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    ids::{AuthorId, RoomId},
};

/// A read cursor with what lies beyond it. Source: contract 2.3, "Read cursor".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadCursor {
    /// The room.
    pub room_id: RoomId,
    /// Whose cursor it is.
    pub author_id: AuthorId,
    /// The newest entry read.
    pub last_read_seq: u64,
    /// Posts of others beyond it.
    pub unread_count: u64,
    /// Posts of others beyond it that name the author.
    pub mention_count: u64,
    /// When it last moved.
    pub updated_at: Timestamp,
}

/// Where a cursor at `old` moves when asked to `asked` in a room whose newest entry is `newest`.
///
/// Forward only unless `allow_back`; above the newest counts as the newest.
pub fn next_position(old: u64, asked: u64, newest: u64, allow_back: bool) -> u64 {
    let target = asked.min(newest);
    if allow_back { target } else { target.max(old) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_moves_forward_and_back_only_when_allowed() {
        for (old, asked, newest, back, expected) in [
            (3, 5, 9, false, 5),
            (3, 2, 9, false, 3),
            (3, 2, 9, true, 2),
            (3, 99, 9, false, 9),
            (3, 0, 9, true, 0),
        ] {
            assert_eq!(next_position(old, asked, newest, back), expected);
        }
    }
}
