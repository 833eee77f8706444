//! Canvas documents: what a room or session has open beside its talk, in which order, and who
//! edits which.
//! Pure: rows are `store::canvas`, deeds are `hall::canvas`, files are `world::confined_fs`.

mod content;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{
    Refusal, Timestamp,
    authors::empty_as_none,
    events::EventScope,
    files::document_saves::{DocumentBinding, Incarnation},
    ids::{AuthorId, DocumentId, EntryId, RoomId, SessionId},
    limits,
};

pub use content::{Content, ContentType, DiffMediaKind};

/// Whose canvas it is; written `room:<id>` or `session:<id>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanvasScope {
    /// A room's.
    Room(RoomId),
    /// A session's.
    Session(SessionId),
}

impl CanvasScope {
    /// Reads the written form; `None` when it has another.
    pub fn parse(text: &str) -> Option<Self> {
        match EventScope::parse(text)? {
            EventScope::Room(room) => Some(Self::Room(room)),
            EventScope::Session(session) => Some(Self::Session(session)),
            EventScope::Hall | EventScope::Agent(_) => None,
        }
    }

    /// The room, when it is a room's.
    pub fn room(self) -> Option<RoomId> {
        match self {
            Self::Room(room) => Some(room),
            Self::Session(_) => None,
        }
    }
}

impl From<CanvasScope> for EventScope {
    fn from(scope: CanvasScope) -> Self {
        match scope {
            CanvasScope::Room(room) => Self::Room(room),
            CanvasScope::Session(session) => Self::Session(session),
        }
    }
}

impl std::fmt::Display for CanvasScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        EventScope::from(*self).fmt(f)
    }
}

impl Serialize for CanvasScope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CanvasScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("no canvas has this scope"))
    }
}

/// Which copy of a project a document's file lies in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeKind {
    /// The main working tree of a repository.
    RoomMain,
    /// A linked working tree of a repository.
    Worktree,
    /// The folder of the agent that opened it, in no repository.
    AgentCwd,
    /// None of these, or no file; a document leaves it out.
    #[default]
    #[serde(rename = "")]
    None,
}

impl TreeKind {
    /// Every kind with its word.
    pub const WORDS: [(Self, &str); 4] = [
        (Self::RoomMain, "room-main"),
        (Self::Worktree, "worktree"),
        (Self::AgentCwd, "agent-cwd"),
        (Self::None, ""),
    ];

    /// Whether there is nothing to say.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// Where a document's file came from when it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentSource {
    /// Which copy of its project it lies in.
    pub tree_kind: TreeKind,
    /// A short text about that copy, such as "ada's copy", or `""`.
    pub label: String,
    /// Commits that a linked working tree has and the main branch has not; `None` when that was
    /// not measured.
    pub ahead_of_main: Option<u64>,
}

/// One document of a canvas, as the interface shows it.
///
/// Source: spec, "Canvas document"; contract 2.5.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CanvasDocument {
    /// Its id.
    pub id: DocumentId,
    /// Whose canvas it stands on.
    pub scope: CanvasScope,
    /// The room, when it is a room's.
    #[serde(with = "empty_as_none")]
    pub room_id: Option<RoomId>,
    /// What it shows.
    pub content: Content,
    /// The content's title.
    pub title: String,
    /// The content's kind.
    pub content_type: ContentType,
    /// Who opened it first.
    pub author_id: AuthorId,
    /// Whether it stays when the canvas fills up.
    pub pinned: bool,
    /// Its place; lists begin with the highest.
    pub position: u64,
    /// Stored changes of it, the editing lock aside.
    pub rev: u64,
    /// Who last opened it or changed its content.
    pub last_touched_by: AuthorId,
    /// When.
    pub last_touched_at: Timestamp,
    /// Who edits it now; not written when nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "empty_as_none::deserialize")]
    pub editing_by: Option<AuthorId>,
    /// See [`DocumentSource::label`].
    pub source_label: String,
    /// See [`DocumentSource::tree_kind`].
    #[serde(default, skip_serializing_if = "TreeKind::is_none")]
    pub tree_kind: TreeKind,
    /// See [`DocumentSource::ahead_of_main`], at opening.
    pub ahead_of_main: Option<u64>,
    /// When it was opened first.
    pub opened_at: Timestamp,
    /// When it was last opened, changed in content, or activated.
    pub last_active_at: Timestamp,
    /// The entry its thread begins with.
    #[serde(with = "empty_as_none")]
    pub thread_root_entry_id: Option<EntryId>,
    /// The binding to its physical file; `None` for one without a file. Source: contract 6.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
}

impl CanvasDocument {
    /// A document opened by `by` at `position`, the highest of its canvas.
    pub fn open(
        id: DocumentId,
        scope: CanvasScope,
        ask: NewDocument,
        source: DocumentSource,
        by: AuthorId,
        position: u64,
        now: Timestamp,
    ) -> Self {
        let content = ask.content.with_default_title();
        Self {
            id,
            scope,
            room_id: scope.room(),
            title: content.title().to_owned(),
            content_type: content.content_type(),
            content,
            author_id: by,
            pinned: ask.pinned,
            position,
            rev: 1,
            last_touched_by: by,
            last_touched_at: now,
            editing_by: None,
            source_label: source.label,
            tree_kind: source.tree_kind,
            ahead_of_main: source.ahead_of_main,
            opened_at: now,
            last_active_at: now,
            thread_root_entry_id: None,
            incarnation: None,
        }
    }

    /// Opens it again: other content, the same pin and origin, and `position`, the highest.
    pub fn reopen(&mut self, content: Content, by: AuthorId, position: u64, now: Timestamp) {
        self.show(content, by, now);
        self.position = position;
        self.rev += 1;
    }

    /// Changes it as `patch` asks; `position` is one above the highest of its canvas.
    ///
    /// Answers the last change made, in the order content, pinned, activate; `None` when
    /// nothing is to be stored, which is so for a pin that is as asked already.
    ///
    /// Source: contract 2.5, "PATCH", and 2.10.
    pub fn change(
        &mut self,
        patch: DocumentPatch,
        by: AuthorId,
        position: u64,
        now: Timestamp,
    ) -> Option<CanvasChange> {
        let mut change = None;
        if let Some(content) = patch.content {
            self.show(content, by, now);
            change = Some(CanvasChange::Updated);
        }
        if let Some(pinned) = patch.pinned.filter(|pinned| *pinned != self.pinned) {
            self.pinned = pinned;
            change = Some(CanvasChange::Pinned);
        }
        if patch.activate {
            self.position = position;
            self.last_active_at = now;
            change = Some(CanvasChange::Activated);
        }
        self.rev += u64::from(change.is_some());
        change
    }

    /// Shows that it is bound to its file otherwise, or to another one, or to none.
    pub fn bind(&mut self, binding: Option<&DocumentBinding>) {
        self.incarnation = binding.map(|binding| binding.incarnation.clone());
    }

    /// Its file was read anew, and was another one.
    pub fn rebind(&mut self, binding: &DocumentBinding) {
        self.bind(Some(binding));
        self.rev += 1;
    }

    /// Begins its thread.
    pub fn begin_thread(&mut self, root: EntryId) {
        self.thread_root_entry_id = Some(root);
        self.rev += 1;
    }

    fn show(&mut self, content: Content, by: AuthorId, now: Timestamp) {
        self.content = content.with_default_title();
        self.content.title().clone_into(&mut self.title);
        self.content_type = self.content.content_type();
        self.last_touched_by = by;
        self.last_touched_at = now;
        self.last_active_at = now;
    }
}

/// A document about to be opened.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// What it shows.
    pub content: Content,
    /// Whether it is pinned; a document opened again keeps its pin.
    pub pinned: bool,
}

/// The changes one request asks for.
#[derive(Clone, Debug, Default)]
pub struct DocumentPatch {
    /// What it shows from now on.
    pub content: Option<Content>,
    /// Whether it is pinned.
    pub pinned: Option<bool>,
    /// Whether it moves to the front.
    pub activate: bool,
}

/// What happened to a document. Source: contract 2.10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CanvasChange {
    /// Opened, or opened again.
    Opened,
    /// It shows something else.
    Updated,
    /// Pinned or unpinned.
    Pinned,
    /// Moved to the front.
    Activated,
    /// Somebody began or ended editing.
    Editing,
    /// Its thread began.
    Threaded,
}

/// Why a document is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClosedReason {
    /// Somebody closed it.
    Closed,
    /// The canvas was full.
    Evicted,
}

/// A member's claim to edit a document alone, for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditLock {
    /// Who edits.
    pub by: AuthorId,
    /// Until when, unless prolonged.
    pub until: Timestamp,
}

impl EditLock {
    /// Whether it still holds.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.until
    }
}

/// Lets `by` change a document, unless another holds a live lock.
///
/// # Errors
/// [`Refusal::CanvasBeingEdited`].
///
/// Source: contract 2.5, the table of locks.
pub fn check_edit_lock(
    lock: Option<EditLock>,
    by: AuthorId,
    now: Timestamp,
) -> Result<(), Refusal> {
    match lock {
        Some(lock) if lock.by != by && lock.is_live(now) => Err(Refusal::CanvasBeingEdited(lock)),
        _ => Ok(()),
    }
}

/// The lock after `by` begins, goes on, or ends editing; ending another's changes nothing.
///
/// # Errors
/// [`Refusal::CanvasBeingEdited`] when another holds a live lock and `by` wants it.
///
/// Source: contract 2.5, the table of locks.
pub fn edit(
    lock: Option<EditLock>,
    by: AuthorId,
    editing: bool,
    now: Timestamp,
) -> Result<Option<EditLock>, Refusal> {
    if editing {
        check_edit_lock(lock, by, now)?;
        let until = now.plus_seconds(limits::EDIT_LOCK_S);
        return Ok(Some(EditLock { by, until }));
    }
    Ok(lock.filter(|lock| lock.is_live(now) && lock.by != by))
}

/// An unpinned document, as eviction looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictionCandidate {
    /// Which one.
    pub id: DocumentId,
    /// Whether somebody edits it.
    pub locked: bool,
}

/// The documents a full canvas gives up: of `unpinned`, lowest position first, as many as there
/// are too many, but none that is locked and not `just_written`.
///
/// Source: contract 2.5, "Capacity".
pub fn documents_to_evict(
    unpinned: &[EvictionCandidate],
    just_written: DocumentId,
) -> Vec<DocumentId> {
    let too_many = unpinned.len().saturating_sub(limits::CANVAS_UNPINNED_MAX);
    unpinned
        .iter()
        .filter(|document| !document.locked && document.id != just_written)
        .take(too_many)
        .map(|document| document.id)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: AuthorId = AuthorId::from_bytes([1; 16]);
    const BOB: AuthorId = AuthorId::from_bytes([2; 16]);
    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn held(by: AuthorId, seconds: i64) -> Option<EditLock> {
        Some(EditLock {
            by,
            until: NOW.plus_seconds(seconds),
        })
    }

    #[test]
    fn members_that_say_nothing_are_absent_and_are_read_as_they_were_stored_before() {
        let room = "0192f0c1-2d3e-7abc-8def-0123456789ab";
        let now = "2026-09-21T14:13:20.000Z";
        let mut stored = serde_json::json!({
            "id": room, "scope": format!("room:{room}"), "roomId": room,
            "content": {"type": "url", "url": "https://a", "title": "a"}, "title": "a",
            "contentType": "url", "authorId": room, "pinned": true, "position": 1, "rev": 1,
            "lastTouchedBy": room, "lastTouchedAt": now, "editingBy": "", "sourceLabel": "",
            "treeKind": "", "aheadOfMain": 0, "openedAt": now, "lastActiveAt": now,
            "threadRootEntryId": "",
        });
        let document: CanvasDocument = serde_json::from_value(stored.clone()).unwrap();
        let members = stored.as_object_mut().unwrap();
        members.remove("editingBy");
        members.remove("treeKind");
        assert_eq!(serde_json::to_value(&document).unwrap(), stored);
        assert_eq!(
            serde_json::from_value::<CanvasDocument>(stored).unwrap(),
            document
        );
    }

    #[test]
    fn a_lock_hinders_others_until_it_is_given_back_or_expires() {
        let being_edited = || Err(Refusal::CanvasBeingEdited(held(ADA, 1).unwrap()));
        for (lock, by, editing, after) in [
            (None, ADA, true, Ok(held(ADA, 45))),
            (None, ADA, false, Ok(None)),
            (held(ADA, 1), ADA, true, Ok(held(ADA, 45))),
            (held(ADA, 1), ADA, false, Ok(None)),
            (held(ADA, 1), BOB, true, being_edited()),
            (held(ADA, 1), BOB, false, Ok(held(ADA, 1))),
            (held(ADA, 0), BOB, true, Ok(held(BOB, 45))),
            (held(ADA, 0), BOB, false, Ok(None)),
            (held(ADA, 0), ADA, true, Ok(held(ADA, 45))),
        ] {
            assert_eq!(
                edit(lock, by, editing, NOW),
                after,
                "{lock:?} {by:?} {editing}"
            );
            let free = check_edit_lock(lock, by, NOW).is_ok();
            assert_eq!(free, lock != held(ADA, 1) || by == ADA, "{lock:?} {by:?}");
        }
    }

    #[test]
    fn a_full_canvas_gives_up_its_last_documents_that_nobody_edits() {
        let document = |n: u8, locked| EvictionCandidate {
            id: DocumentId::from_bytes([n; 16]),
            locked,
        };
        let gone = |locked: &[u8], count: u8, just_written: u8| -> Vec<u8> {
            let unpinned: Vec<_> = (1..=count)
                .map(|n| document(n, locked.contains(&n)))
                .collect();
            let gone = documents_to_evict(&unpinned, DocumentId::from_bytes([just_written; 16]));
            gone.iter().map(|id| id.as_bytes()[0]).collect()
        };
        assert_eq!(gone(&[], 12, 12), [0; 0]);
        assert_eq!(gone(&[], 13, 13), [1]);
        assert_eq!(gone(&[1, 2], 13, 13), [3]);
        assert_eq!(gone(&[1], 14, 2), [3, 4]);
        let all: Vec<u8> = (1..=13).collect();
        assert_eq!(gone(&all, 13, 13), [0; 0]);
    }

    #[test]
    fn a_scope_reads_back_and_only_rooms_and_sessions_have_a_canvas() {
        let room = CanvasScope::Room(RoomId::from_bytes([7; 16]));
        let session = CanvasScope::Session(SessionId::from_bytes([7; 16]));
        for scope in [room, session] {
            assert_eq!(CanvasScope::parse(&scope.to_string()), Some(scope));
        }
        for text in ["hall", "agent:x", "room", ""] {
            assert_eq!(CanvasScope::parse(text), None, "{text}");
        }
    }
}
