//! Threads: an entry and the replies to it, one level deep.
//! Pure: rows and counts are `store::threads`, deeds are `hall::threads`.

use crate::{Refusal, Timestamp, entries::Entry, ids::RoomId};

/// Holds a reply back from an entry that is a reply itself: threads have one level.
///
/// # Errors
/// [`Refusal::NestedThread`].
///
/// Source: contract 2.3.
pub fn may_be_root(entry: &Entry) -> Result<(), Refusal> {
    match entry.thread_root_entry_id {
        Some(_) => Err(Refusal::NestedThread),
        None => Ok(()),
    }
}

/// Which replies of a thread are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadQuery {
    /// Only replies above this seq.
    pub after: u64,
    /// 1..200.
    pub limit: u32,
}

/// A thread with a run of its replies, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The entry that is answered.
    pub root: Entry,
    /// The replies.
    pub entries: Vec<Entry>,
    /// Whether more lie behind them.
    pub has_more: bool,
}

/// A thread somebody wrote in, as that person's list shows it. Source: contract 2.3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadView {
    /// Its room.
    pub room_id: RoomId,
    /// What the room is called.
    pub room_title: String,
    /// The entry that is answered; it holds how many replies there are.
    pub root: Entry,
    /// Replies of others beyond the viewer's read cursor; 0 for one who is no member.
    pub unread_count: u64,
    /// When the newest reply was written.
    pub last_activity_at: Timestamp,
    /// The newest reply's place among all entries, by which the list is ordered.
    pub place: u64,
}

/// A page of the threads somebody wrote in, newest activity first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadsPage {
    /// The threads.
    pub threads: Vec<ThreadView>,
    /// Whether older ones follow.
    pub has_more: bool,
}
