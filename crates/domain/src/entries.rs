//! Entries: the posts and notices of a room.
//! Pure: rows and counts are `store::entries`, deeds are `hall::entries`.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Refusal, Timestamp,
    attachments::Attachment,
    callers::{Caller, Identity},
    field_validation::FieldValidator,
    ids::{AttachmentId, AuthorId, EntryId, RoomId, SessionId, TurnId},
    limits,
    mentions::MentionSpan,
    reactions::Reaction,
};

/// Whether an author wrote it or the room tells something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// Written by an author.
    Post,
    /// Told by the system author; counts in no badge.
    Notice,
}

impl EntryKind {
    /// Every kind with its word.
    pub const WORDS: [(Self, &str); 2] = [(Self::Post, "post"), (Self::Notice, "notice")];
}

/// Which notice it is. Source: contract 2.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeCode {
    /// A limit ended a chain of automatic turns.
    CascadeStopped,
    /// The hour's automatic turns are used up.
    BudgetReached,
    /// An agent works on a turn for long.
    AgentBusy,
    /// A turn failed.
    TurnFailed,
    /// An agent cannot be handed its turn.
    AgentUnavailable,
    /// An agent was taken off the registry.
    AgentGone,
    /// An agent's runtime is not registered here.
    RuntimeGone,
    /// An agent waits for a person.
    AwaitingApproval,
    /// A person stopped turns.
    Halted,
}

impl NoticeCode {
    /// Every code with its word.
    pub const WORDS: [(Self, &str); 9] = [
        (Self::CascadeStopped, "cascade_stopped"),
        (Self::BudgetReached, "budget_reached"),
        (Self::AgentBusy, "agent_busy"),
        (Self::TurnFailed, "turn_failed"),
        (Self::AgentUnavailable, "agent_unavailable"),
        (Self::AgentGone, "agent_gone"),
        (Self::RuntimeGone, "runtime_gone"),
        (Self::AwaitingApproval, "awaiting_approval"),
        (Self::Halted, "halted"),
    ];
}

/// What a notice tells, for programs; its entry's text says it for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// Which one.
    pub code: NoticeCode,
    /// Whom it is about.
    pub subject_author_id: Option<AuthorId>,
    /// What else it says.
    pub data: Value,
}

/// A list of the entry's shape that stays empty until the rooms it belongs to are built.
pub type AlwaysEmpty = [(); 0];

/// One entry, as the interface shows it. Source: contract 2.3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its id.
    pub id: EntryId,
    /// Its room.
    pub room_id: RoomId,
    /// Its place in the room, from 1 without gaps.
    pub seq: u64,
    /// Who wrote it.
    pub author_id: AuthorId,
    /// Post or notice.
    pub kind: EntryKind,
    /// What it says, byte-exact.
    pub text: String,
    /// What a notice tells; `null` for posts.
    pub notice: Option<Notice>,
    /// Whom it names, each once, in order of first mention.
    pub mentions: Vec<AuthorId>,
    /// Where it names them.
    pub mention_spans: Vec<MentionSpan>,
    /// The entry it answers in a thread.
    pub thread_root_entry_id: Option<EntryId>,
    /// Replies in its own thread.
    pub thread_reply_count: u64,
    /// Time of the newest reply in its own thread.
    pub thread_last_reply_at: Option<Timestamp>,
    /// The session it came from.
    pub session_id: Option<SessionId>,
    /// The turn it came from.
    pub turn_id: Option<TurnId>,
    /// The post that began its cascade: itself, for a person's.
    pub cascade_root_id: EntryId,
    /// Automatic replies between that post and this one.
    pub cascade_depth: u32,
    /// Canvas changes made with it.
    pub canvas_ops: AlwaysEmpty,
    /// Files posted with it.
    pub attachments: Vec<Attachment>,
    /// Reactions to it.
    pub reactions: Vec<Reaction>,
    /// When its text was taken out.
    pub redacted_at: Option<Timestamp>,
    /// When it was written.
    pub created_at: Timestamp,
}

impl Entry {
    /// Takes the text out, and with it the places of its mentions; whom it named stays, as does
    /// every count that follows from it.
    ///
    /// Source: contract 2.3, "DELETE …/entries/{entryId}".
    pub fn redact(&mut self, at: Timestamp) {
        self.text.clear();
        self.mention_spans.clear();
        self.attachments.clear();
        self.redacted_at = Some(at);
    }
}

/// Whether `by` may take out what `author` wrote: a person its own, the owner everything.
///
/// # Errors
/// [`Refusal::OwnerOnly`].
///
/// Source: contract 2.3.
pub fn may_redact(by: &Caller, author: AuthorId) -> Result<(), Refusal> {
    if by.author == author || by.identity == Identity::Owner {
        Ok(())
    } else {
        Err(Refusal::OwnerOnly)
    }
}

/// A post with the turns it led to: one for each agent of the room but its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedEntry {
    /// The post.
    pub entry: Entry,
    /// The turns, those of agents that were not meant among them.
    pub turns: Vec<crate::turns::Turn>,
}

/// What somebody writes in a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostDraft {
    /// The text.
    pub text: PostText,
    /// The entry it answers in a thread.
    pub thread_root: Option<EntryId>,
    /// The files that go with it, each once.
    pub files: Vec<AttachmentId>,
}

/// The text of a post, within its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostText(String);

impl PostText {
    /// Takes a post's text as it is: 1..100,000 characters, kept byte-exact; it may be `""`
    /// beside attachments, which are named each once.
    ///
    /// # Errors
    /// [`Refusal::Validation`] on `field_validation` and `attachmentIds`.
    ///
    /// Source: contract 2.3.
    pub fn parse(text: String, attachment_ids: &[String]) -> Result<Self, Refusal> {
        let mut check = FieldValidator::new();
        let range = limits::ENTRY_CHARS;
        let least = if attachment_ids.is_empty() {
            *range.start()
        } else {
            0
        };
        check.chars("text", &text, least, *range.end());
        let distinct: HashSet<&String> = attachment_ids.iter().collect();
        if distinct.len() < attachment_ids.len() {
            check.fail("attachmentIds", "must name each file once");
        }
        check.finish()?;
        Ok(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, given away.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Which entries of a room are asked for, by seq.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntriesQuery {
    /// Only entries below this seq; the newest of them.
    pub before: Option<u64>,
    /// Only entries above this seq; the oldest of them, unless `before` is given too.
    pub after: Option<u64>,
    /// 1..200.
    pub limit: u32,
}

/// A run of a room's entries, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntriesPage {
    /// The entries.
    pub entries: Vec<Entry>,
    /// The roots that these entries answer and that are not among them, oldest first.
    pub thread_roots: Vec<Entry>,
    /// Whether more lie in the direction asked for.
    pub has_more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{callers::Credential, ids::AccountId};

    #[test]
    fn one_takes_out_what_one_wrote_and_the_owner_everything() {
        let author = |n| AuthorId::from_bytes([n; 16]);
        let caller = |identity| Caller {
            identity,
            author: author(1),
            credential: Credential::Loopback,
            is_invited: false,
        };
        let other = caller(Identity::Person(AccountId::from_bytes([9; 16])));
        assert_eq!(may_redact(&other, author(1)), Ok(()));
        assert_eq!(may_redact(&other, author(2)), Err(Refusal::OwnerOnly));
        assert_eq!(may_redact(&caller(Identity::Owner), author(2)), Ok(()));
    }

    #[test]
    fn a_post_has_at_least_one_and_at_most_100_000_characters() {
        for (text, fits) in [
            (String::new(), false),
            (" ".to_owned(), true),
            ("é".repeat(100_000), true),
            ("é".repeat(100_001), false),
            ("a\0b".to_owned(), false),
        ] {
            assert_eq!(
                PostText::parse(text.clone(), &[]).is_ok(),
                fits,
                "{}",
                text.len()
            );
        }
    }
    #[test]
    fn a_post_may_be_silent_beside_files_which_it_names_once() {
        let ids = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        for (text, names, wrong) in [
            ("", ids(&["a"]), vec![]),
            ("look", ids(&["a", "b"]), vec![]),
            ("", ids(&[]), vec!["text"]),
            ("look", ids(&["a", "a"]), vec!["attachmentIds"]),
            ("a\0b", ids(&["a", "a"]), vec!["attachmentIds", "text"]),
        ] {
            let found = match PostText::parse(text.to_owned(), &names) {
                Ok(_) => Vec::new(),
                Err(Refusal::Validation(invalid)) => invalid.field_errors.into_keys().collect(),
                Err(other) => panic!("{other:?}"),
            };
            assert_eq!(found, wrong, "{text:?} {names:?}");
        }
    }
}
