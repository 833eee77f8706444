//! Canvas: opening, changing, closing and editing the documents of a room or session.

mod edit_locks;
mod reload;

use std::path::Path;

use guildhall_domain::{
    Refusal, Result, Timestamp,
    callers::{AnyCaller, Caller, Gate},
    canvas::{
        self as rules, CanvasChange, CanvasDocument, CanvasScope, ClosedReason, Content,
        DocumentPatch, DocumentSource, NewDocument, TreeKind,
    },
    errors::ResourceKind,
    events::Event,
    files::{FileIdentity, document_saves::DocumentBinding},
    ids::{AuthorId, DocumentId, EntryId, RoomId},
    limits,
    revisions::Precondition,
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx, authors,
    canvas::{self, CanvasDocumentRow},
    entries::NewPost,
    files, rooms, sessions,
};
use guildhall_world::git;

pub(crate) use edit_locks::{end_edits_of, start};
pub use reload::DocumentReload;

use crate::{Hall, files::FileLockGuard, idempotency::IdempotentWrite, turns, visibility};

/// The document an ask led to, and whether the ask made it.
#[derive(Clone, Debug)]
pub struct OpenedDocument {
    /// The document.
    pub document: CanvasDocument,
    /// False when it was opened again.
    pub is_new: bool,
}

/// The thread of a document, and whether the ask began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartedThread {
    /// The entry it begins with.
    pub root: EntryId,
    /// False when it had begun already.
    pub is_new: bool,
    /// The document's revision.
    pub rev: u64,
}

impl Hall {
    /// The documents of a canvas in its order.
    ///
    /// # Errors
    /// `NotFound` for room or session.
    pub async fn documents(
        &self,
        by: &AnyCaller,
        scope: CanvasScope,
    ) -> Result<ReadSnapshot<Vec<CanvasDocument>>> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .read(move |db| {
                visibility::canvas(db, &by, scope)?;
                canvas::list(db, scope, now)
            })
            .await
    }

    /// One document.
    ///
    /// # Errors
    /// `NotFound` for room, session or document.
    pub async fn document(
        &self,
        by: &AnyCaller,
        scope: CanvasScope,
        id: DocumentId,
    ) -> Result<ReadSnapshot<CanvasDocument>> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .read(move |db| {
                visibility::canvas(db, &by, scope)?;
                Ok(existing(db, scope, id, now)?.document)
            })
            .await
    }

    /// Opens a document in front of the others; what was opened before with the same key is
    /// opened again. A full canvas gives up its last documents.
    ///
    /// # Errors
    /// In this order: [`Refusal::Validation`], `NotFound` for room or session,
    /// [`Refusal::RoomArchived`], [`Refusal::NotAMember`], the refusals of a file and of the gate
    /// of its saves, [`Refusal::CanvasBeingEdited`], [`Refusal::LimitReached`].
    ///
    /// Source: contract 2.5.
    pub async fn open_document(
        &self,
        by: &AnyCaller,
        scope: CanvasScope,
        ask: NewDocument,
        once: IdempotentWrite<OpenedDocument>,
    ) -> Result<OpenedDocument> {
        ask.content.check()?;
        let (by, now) = (*by.caller(), self.now());
        let may =
            move |db: &ReadTx<'_>| Ok(visibility::canvas(db, &by, scope)?.require_writable()?);
        let NewDocument { content, pinned } = ask;
        // A repeat is answered as before, whatever became of the file.
        let located = self.located(by, content, may).await;
        let located = measured(located).await;
        let id = Self::new_id(DocumentId::from_bytes);
        self.store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    let LocatedContent {
                        content,
                        source,
                        identity,
                        held: _held,
                    } = located?;
                    may(tx)?;
                    turns::attribute_canvas_change(tx, &by)?;
                    let front = canvas::front(tx, scope)?;
                    let key = content.key();
                    let known = match &key {
                        Some(key) => canvas::by_key(tx, scope, key, now)?,
                        None => None,
                    };
                    if let Some(kept) = known {
                        return reopen(tx, &by, kept, content, identity, front, now);
                    }
                    if canvas::count_of(tx, scope)? >= limits::CANVAS_DOCUMENTS_MAX {
                        return Err(Refusal::LimitReached("canvas documents").into());
                    }
                    let ask = NewDocument { content, pinned };
                    let mut document =
                        CanvasDocument::open(id, scope, ask, source, by.author, front, now);
                    let binding = bound(tx, &document, None, identity, now)?;
                    document.bind(binding.as_ref());
                    canvas::insert(tx, &document, key.as_deref())?;
                    canvas::bind(tx, document.id, binding.as_ref())?;
                    append_changed(tx, Some(by.author), &document, CanvasChange::Opened, now)?;
                    close_overflow(tx, &by, &document, now)?;
                    Ok(OpenedDocument {
                        document,
                        is_new: true,
                    })
                })
            })
            .await
    }

    /// Changes a document: all that `patch` asks for, or nothing.
    ///
    /// # Errors
    /// In this order: [`Refusal::Validation`], `NotFound` for room or session, then for the
    /// document, [`Refusal::RoomArchived`], [`Refusal::NotAMember`],
    /// [`Refusal::CanvasBeingEdited`], [`Refusal::PreconditionFailed`], the refusals of a file
    /// and of the gate of its saves.
    ///
    /// Source: contract 2.5.
    pub async fn change_document(
        &self,
        by: &AnyCaller,
        scope: CanvasScope,
        id: DocumentId,
        precondition: Precondition,
        mut patch: DocumentPatch,
    ) -> Result<CanvasDocument> {
        let (by, now) = (*by.caller(), self.now());
        let mut shown = None;
        if let Some(content) = patch.content.take() {
            content.check()?;
            let precondition = precondition.clone();
            let may = move |db: &ReadTx<'_>| {
                changeable(db, &by, scope, id, &precondition, now).map(|_| ())
            };
            let located = self.located(by, content, may).await?;
            patch.content = Some(located.content);
            shown = Some((located.identity, located.held));
        }
        self.store()
            .write(move |tx| {
                let mut kept = changeable(tx, &by, scope, id, &precondition, now)?;
                let front = canvas::front(tx, scope)?;
                let change = kept.document.change(patch, by.author, front, now);
                if let Some((identity, _held)) = shown {
                    bind(tx, &mut kept, identity, now)?;
                }
                if let Some(change) = change {
                    turns::attribute_canvas_change(tx, &by)?;
                    store_document(tx, &by, &kept, change, now)?;
                    close_overflow(tx, &by, &kept.document, now)?;
                }
                Ok(kept.document)
            })
            .await
    }

    /// Closes a document.
    ///
    /// # Errors
    /// Those of [`Hall::change_document`].
    pub async fn close_document(
        &self,
        by: &AnyCaller,
        scope: CanvasScope,
        id: DocumentId,
        precondition: Precondition,
    ) -> Result<()> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                changeable(tx, &by, scope, id, &precondition, now)?;
                turns::attribute_canvas_change(tx, &by)?;
                close(tx, &by, scope, id, ClosedReason::Closed, now)
            })
            .await
    }

    /// Begins the thread of a document with a post of the caller that names it; once.
    ///
    /// # Errors
    /// `NotFound` for room or session, then for the document, [`Refusal::RoomArchived`],
    /// [`Refusal::NotAMember`].
    pub async fn start_document_thread(
        &self,
        by: &AnyCaller,
        room: RoomId,
        id: DocumentId,
        once: IdempotentWrite<StartedThread>,
    ) -> Result<StartedThread> {
        let (by, now) = (*by.caller(), self.now());
        let scope = CanvasScope::Room(room);
        let root = Self::new_id(EntryId::from_bytes);
        self.store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    let mut kept = writable(tx, &by, scope, id, now)?;
                    if let Some(root) = kept.document.thread_root_entry_id {
                        return Ok(StartedThread {
                            root,
                            is_new: false,
                            rev: kept.document.rev,
                        });
                    }
                    let sight = visibility::room(tx, &by, room)?;
                    let post = NewPost {
                        id: root,
                        room,
                        thread_root: None,
                        author: by.author,
                        text: format!("Discussion of \"{}\"", kept.document.title),
                        mention_spans: Vec::new(),
                        cascade: crate::entries::cascade(tx, &by, &sight)?,
                        now,
                    };
                    crate::entries::insert_post(tx, post, Vec::new())?;
                    kept.document.begin_thread(root);
                    store_document(tx, &by, &kept, CanvasChange::Threaded, now)?;
                    Ok(StartedThread {
                        root,
                        is_new: true,
                        rev: kept.document.rev,
                    })
                })
            })
            .await
    }

    /// The content with its file found and named without links, and where that file came from.
    ///
    /// `may` is asked first, so that whether a file is there is told only to those who may show
    /// it here.
    async fn located(
        &self,
        by: Caller,
        content: Content,
        may: impl FnOnce(&ReadTx<'_>) -> Result<()> + Send + 'static,
    ) -> Result<LocatedContent> {
        let Some(path) = content.path().map(str::to_owned) else {
            return Ok(LocatedContent {
                content,
                source: DocumentSource::default(),
                identity: None,
                held: None,
            });
        };
        let opener = self
            .store()
            .read(move |db| {
                may(db)?;
                let author = authors::by_id(db, by.author)?;
                let name = author.map(|author| author.display_name).unwrap_or_default();
                Ok((visibility::file_scope(db, &by)?, name))
            })
            .await?;
        let (reach, name) = opener.value;
        let (within, asked) = (reach.clone(), path.clone());
        let seen = self
            .with_files(move |confined, _| confined.file(&within, &asked))
            .await?;
        let held = self.lock_file(&seen.path).await?;
        let found = self
            .with_files(move |confined, _| confined.file(&reach, &path))
            .await?;
        Ok(LocatedContent {
            content: content.at(found.path),
            source: source(&by, &name, found.tree),
            identity: Some(FileIdentity::new(found.identity)),
            held: Some(held),
        })
    }
}

/// What is to be shown, with its file found.
struct LocatedContent {
    /// The content; its file is named without links.
    content: Content,
    /// Where the file came from.
    source: DocumentSource,
    /// Which file it is; `None` when it shows none.
    identity: Option<FileIdentity>,
    /// Holds back saves of the file until it is bound.
    held: Option<FileLockGuard>,
}

/// What a document is bound to that shows the file `identity`, when it was bound to `before`.
fn bound(
    db: &ReadTx<'_>,
    document: &CanvasDocument,
    before: Option<DocumentBinding>,
    identity: Option<FileIdentity>,
    now: Timestamp,
) -> Result<Option<DocumentBinding>> {
    let (Some(identity), Some(path)) = (identity, document.content.path()) else {
        return Ok(None);
    };
    let path = path.to_owned();
    let Some(before) = before else {
        let made_at = made_at(db, document.scope)?;
        let first = DocumentBinding::first(document.id, path, identity, made_at, now);
        return Ok(Some(first));
    };
    let lineage = files::lineage(db, &identity, std::slice::from_ref(&before.identity))?;
    Ok(Some(before.renewed(path, &identity, &lineage, now)))
}

/// When the room or session of a canvas was made.
fn made_at(db: &ReadTx<'_>, scope: CanvasScope) -> Result<Timestamp> {
    let (made_at, thing) = match scope {
        CanvasScope::Room(room) => (rooms::made_at(db, room)?, ResourceKind::Room),
        CanvasScope::Session(session) => (sessions::made_at(db, session)?, ResourceKind::Session),
    };
    Ok(made_at.ok_or(Refusal::NotFound(thing))?)
}

/// Binds a document to the file it shows now.
fn bind(
    tx: &mut Tx<'_>,
    kept: &mut CanvasDocumentRow,
    identity: Option<FileIdentity>,
    now: Timestamp,
) -> Result<()> {
    let binding = bound(tx, &kept.document, kept.binding.take(), identity, now)?;
    kept.document.bind(binding.as_ref());
    canvas::bind(tx, kept.document.id, binding.as_ref())?;
    kept.binding = binding;
    Ok(())
}

fn existing(
    db: &ReadTx<'_>,
    scope: CanvasScope,
    id: DocumentId,
    now: Timestamp,
) -> Result<CanvasDocumentRow> {
    Ok(canvas::find(db, scope, id, now)?.ok_or(Refusal::NotFound(ResourceKind::Document))?)
}

/// A document of a canvas the caller may write on.
fn writable(
    db: &ReadTx<'_>,
    by: &Caller,
    scope: CanvasScope,
    id: DocumentId,
    now: Timestamp,
) -> Result<CanvasDocumentRow> {
    let sight = visibility::canvas(db, by, scope)?;
    let kept = existing(db, scope, id, now)?;
    sight.require_writable()?;
    Ok(kept)
}

/// A document that nobody else edits, of a canvas the caller may write on, at the revision the
/// change waits for.
fn changeable(
    db: &ReadTx<'_>,
    by: &Caller,
    scope: CanvasScope,
    id: DocumentId,
    precondition: &Precondition,
    now: Timestamp,
) -> Result<CanvasDocumentRow> {
    let kept = writable(db, by, scope, id, now)?;
    rules::check_edit_lock(kept.lock, by.author, now)?;
    precondition.check(kept.document.rev)?;
    Ok(kept)
}

/// Opens a document again, in front of the others.
fn reopen(
    tx: &mut Tx<'_>,
    by: &Caller,
    mut kept: CanvasDocumentRow,
    content: Content,
    identity: Option<FileIdentity>,
    front: u64,
    now: Timestamp,
) -> Result<OpenedDocument> {
    rules::check_edit_lock(kept.lock, by.author, now)?;
    kept.document.reopen(content, by.author, front, now);
    bind(tx, &mut kept, identity, now)?;
    store_document(tx, by, &kept, CanvasChange::Opened, now)?;
    Ok(OpenedDocument {
        document: kept.document,
        is_new: false,
    })
}

/// Where a file came from, in a word and in a short text that names its opener.
fn source(by: &Caller, name: &str, tree: TreeKind) -> DocumentSource {
    let (tree_kind, label) = match tree {
        TreeKind::Worktree => (tree, format!("{name}'s copy")),
        TreeKind::None if by.agent().is_some() => (TreeKind::AgentCwd, format!("{name}'s folder")),
        TreeKind::RoomMain | TreeKind::AgentCwd | TreeKind::None => (tree, String::new()),
    };
    DocumentSource {
        tree_kind,
        label,
        ahead_of_main: None,
    }
}

/// The same, with how far a linked working tree is ahead of the main branch.
async fn measured(located: Result<LocatedContent>) -> Result<LocatedContent> {
    let mut located = located?;
    let folder = located
        .content
        .path()
        .and_then(|path| Path::new(path).parent());
    if let (TreeKind::Worktree, Some(folder)) = (located.source.tree_kind, folder) {
        located.source.ahead_of_main = git::ahead_of_main(folder).await;
    }
    Ok(located)
}

/// Writes a changed document and tells of it; a lock that has expired goes with it, because
/// what is told shows it ended.
fn store_document(
    tx: &mut Tx<'_>,
    by: &Caller,
    kept: &CanvasDocumentRow,
    change: CanvasChange,
    now: Timestamp,
) -> Result<()> {
    canvas::update(tx, &kept.document)?;
    if kept.lock.is_some_and(|lock| !lock.is_live(now)) {
        canvas::set_lock(tx, kept.document.id, None)?;
    }
    append_changed(tx, Some(by.author), &kept.document, change, now)
}

fn append_changed(
    tx: &mut Tx<'_>,
    actor: Option<AuthorId>,
    document: &CanvasDocument,
    change: CanvasChange,
    now: Timestamp,
) -> Result<()> {
    let document = document.clone();
    tx.append(now, actor, &Event::CanvasDocument { document, change })?;
    Ok(())
}

/// Closes what a full canvas gives up for the document just written.
fn close_overflow(
    tx: &mut Tx<'_>,
    by: &Caller,
    just_written: &CanvasDocument,
    now: Timestamp,
) -> Result<()> {
    let scope = just_written.scope;
    let unpinned = canvas::unpinned(tx, scope, now)?;
    for id in rules::documents_to_evict(&unpinned, just_written.id) {
        close(tx, by, scope, id, ClosedReason::Evicted, now)?;
    }
    Ok(())
}

fn close(
    tx: &mut Tx<'_>,
    by: &Caller,
    scope: CanvasScope,
    document_id: DocumentId,
    reason: ClosedReason,
    now: Timestamp,
) -> Result<()> {
    canvas::delete(tx, document_id)?;
    let event = Event::CanvasDocumentClosed {
        document_id,
        scope,
        reason,
    };
    tx.append(now, Some(by.author), &event)?;
    Ok(())
}
