//! Threads on the wire. Source: contract 2.3.

use guildhall_domain::{Timestamp, ids::RoomId, threads};
use serde::Serialize;
use utoipa::ToSchema;

use crate::entries::Entry;

/// An entry with a run of the replies to it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// The entry that is answered.
    pub root: Entry,
    /// The replies, oldest first.
    pub entries: Vec<Entry>,
    /// Whether more lie behind them.
    pub has_more: bool,
}

impl From<threads::Thread> for Thread {
    fn from(thread: threads::Thread) -> Self {
        Self {
            root: thread.root.into(),
            entries: thread.entries.into_iter().map(Into::into).collect(),
            has_more: thread.has_more,
        }
    }
}

/// A thread the caller wrote in.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadView {
    /// Its room.
    #[schema(value_type = String)]
    pub room_id: RoomId,
    /// What the room is called.
    #[schema(example = "Team")]
    pub room_title: String,
    /// The entry that is answered.
    pub root: Entry,
    /// How many replies there are.
    pub reply_count: u64,
    /// Replies of others beyond the caller's read cursor; 0 for one who is no member.
    pub unread_count: u64,
    /// When the newest reply was written.
    #[schema(value_type = String, format = DateTime)]
    pub last_activity_at: Timestamp,
}

impl From<threads::ThreadView> for ThreadView {
    fn from(thread: threads::ThreadView) -> Self {
        Self {
            room_id: thread.room_id,
            room_title: thread.room_title,
            reply_count: thread.root.thread_reply_count,
            root: thread.root.into(),
            unread_count: thread.unread_count,
            last_activity_at: thread.last_activity_at,
        }
    }
}

/// A page of the threads the caller wrote in.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Threads {
    /// Newest activity first.
    pub threads: Vec<ThreadView>,
    /// Names the next page; null on the last one.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
}
