//! Entries of rooms on the wire. Source: contract 2.3.

use guildhall_domain::{
    Timestamp, entries,
    ids::{AuthorId, EntryId, RoomId, SessionId, TurnId},
    mentions,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    attachments::Attachment,
    reactions::Reaction,
    request_fields::{Fields, FromFields},
    turns::Turn,
};

/// Whether an author wrote it or the room tells something.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// Written by an author.
    Post,
    /// Told by the system author.
    Notice,
}

/// What a notice tells.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// Which notice it is.
    pub code: String,
    /// Whom it is about.
    #[schema(required = true)]
    pub subject_author_id: Option<String>,
    /// What else it says.
    pub data: Value,
}

fn notice_word(code: entries::NoticeCode) -> &'static str {
    let mut words = entries::NoticeCode::WORDS.iter();
    words
        .find(|(known, _)| *known == code)
        .map_or("", |(_, word)| word)
}

/// Where a text names an author, in UTF-16 units.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MentionSpan {
    /// Units before the `@`.
    pub offset: u32,
    /// Units of the `@` and the name.
    pub length: u32,
    /// Who is named.
    #[schema(value_type = String)]
    pub author_id: AuthorId,
}

impl From<mentions::MentionSpan> for MentionSpan {
    fn from(span: mentions::MentionSpan) -> Self {
        Self {
            offset: span.offset,
            length: span.length,
            author_id: span.author_id,
        }
    }
}

/// A canvas change made with an entry.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanvasOp {
    /// What was done.
    pub change: String,
    /// To which document.
    pub document_id: String,
    /// What it shows.
    #[serde(rename = "type")]
    pub content_type: String,
    /// Its title.
    pub title: String,
}

/// One post or notice.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// UUIDv7.
    #[schema(value_type = String)]
    pub id: EntryId,
    /// Its room.
    #[schema(value_type = String)]
    pub room_id: RoomId,
    /// Its place in the room, from 1 without gaps.
    pub seq: u64,
    /// Who wrote it.
    #[schema(value_type = String)]
    pub author_id: AuthorId,
    /// Post or notice.
    pub kind: EntryKind,
    /// What it says, byte-exact.
    #[schema(example = "@ada the build is green")]
    pub text: String,
    /// Null for posts.
    #[schema(required = true)]
    pub notice: Option<Notice>,
    /// Whom it names.
    #[schema(value_type = Vec<String>)]
    pub mentions: Vec<AuthorId>,
    /// Where it names them.
    pub mention_spans: Vec<MentionSpan>,
    /// The entry it answers in a thread.
    #[schema(required = true, value_type = Option<String>)]
    pub thread_root_entry_id: Option<EntryId>,
    /// Replies in its own thread.
    pub thread_reply_count: u64,
    /// Time of the newest reply in its own thread.
    #[schema(required = true, value_type = Option<String>)]
    pub thread_last_reply_at: Option<Timestamp>,
    /// The session it came from.
    #[schema(required = true, value_type = Option<String>)]
    pub session_id: Option<SessionId>,
    /// The turn it came from.
    #[schema(required = true, value_type = Option<String>)]
    pub turn_id: Option<TurnId>,
    /// The post that began its cascade.
    #[schema(value_type = String)]
    pub cascade_root_id: EntryId,
    /// Automatic replies between that post and this one.
    pub cascade_depth: u32,
    /// Canvas changes made with it.
    pub canvas_ops: Vec<CanvasOp>,
    /// Files posted with it.
    pub attachments: Vec<Attachment>,
    /// Reactions to it.
    pub reactions: Vec<Reaction>,
    /// When its text was taken out.
    #[schema(required = true, value_type = Option<String>)]
    pub redacted_at: Option<Timestamp>,
    /// When it was written.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<entries::Entry> for Entry {
    fn from(entry: entries::Entry) -> Self {
        Self {
            id: entry.id,
            room_id: entry.room_id,
            seq: entry.seq,
            author_id: entry.author_id,
            kind: match entry.kind {
                entries::EntryKind::Post => EntryKind::Post,
                entries::EntryKind::Notice => EntryKind::Notice,
            },
            text: entry.text,
            notice: entry.notice.map(|notice| Notice {
                code: notice_word(notice.code).to_owned(),
                subject_author_id: notice.subject_author_id.map(|author| author.to_string()),
                data: notice.data,
            }),
            mentions: entry.mentions,
            mention_spans: entry.mention_spans.into_iter().map(Into::into).collect(),
            thread_root_entry_id: entry.thread_root_entry_id,
            thread_reply_count: entry.thread_reply_count,
            thread_last_reply_at: entry.thread_last_reply_at,
            session_id: entry.session_id,
            turn_id: entry.turn_id,
            cascade_root_id: entry.cascade_root_id,
            cascade_depth: entry.cascade_depth,
            canvas_ops: Vec::new(),
            attachments: entry.attachments.into_iter().map(Into::into).collect(),
            reactions: entry.reactions.into_iter().map(Into::into).collect(),
            redacted_at: entry.redacted_at,
            created_at: entry.created_at,
        }
    }
}

/// A run of a room's entries.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entries {
    /// Oldest first.
    pub entries: Vec<Entry>,
    /// Thread roots that the page names and does not hold.
    pub thread_roots: Vec<Entry>,
    /// Seq of the first one; null on an empty page.
    #[schema(required = true)]
    pub first_seq: Option<u64>,
    /// Seq of the last one; null on an empty page.
    #[schema(required = true)]
    pub last_seq: Option<u64>,
    /// Whether more lie in the direction asked for.
    pub has_more: bool,
}

impl From<entries::EntriesPage> for Entries {
    fn from(page: entries::EntriesPage) -> Self {
        Self {
            first_seq: page.entries.first().map(|entry| entry.seq),
            last_seq: page.entries.last().map(|entry| entry.seq),
            entries: page.entries.into_iter().map(Into::into).collect(),
            thread_roots: page.thread_roots.into_iter().map(Into::into).collect(),
            has_more: page.has_more,
        }
    }
}

/// Writes a post.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostEntry {
    /// 1..100,000 characters; may be `""` with attachments.
    #[schema(example = "@ada the build is green")]
    pub text: String,
    /// The entry it answers in a thread.
    pub thread_root_entry_id: Option<String>,
    /// At most 10 files that the caller uploaded to this room, each once.
    #[schema(example = json!([]))]
    pub attachment_ids: Option<Vec<String>>,
}

impl FromFields for PostEntry {
    fn read(fields: &mut Fields) -> Self {
        Self {
            text: fields.text("text"),
            thread_root_entry_id: fields.patch_text("threadRootEntryId").flatten(),
            attachment_ids: fields.maybe_texts("attachmentIds"),
        }
    }
}

/// What a post led to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PostedEntry {
    /// The entry.
    pub entry: Entry,
    /// One for each agent of the room but the author.
    pub turns: Vec<Turn>,
}

impl From<entries::PostedEntry> for PostedEntry {
    fn from(posted: entries::PostedEntry) -> Self {
        Self {
            entry: posted.entry.into(),
            turns: posted.turns.into_iter().map(Into::into).collect(),
        }
    }
}
