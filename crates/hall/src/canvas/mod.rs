//! Canvas: opening, changing, closing and editing the documents of a room or session.

mod locks;

use std::sync::Arc;

use guildhall_domain::{
    Fault, Moment, Refusal, Result,
    callers::{AnyCaller, Caller, Gate},
    canvas::{
        self as rules, CanvasChange, CanvasDocument, CanvasScope, ClosedReason, Content,
        DocumentPatch, NewDocument, Source, TreeKind,
    },
    events::Event,
    ids::{AuthorId, DocumentId, EntryId, RoomId},
    limits,
    outcome::Thing,
    revisions::Precondition,
};
use guildhall_store::{
    Rx, Seen, Tx, authors,
    canvas::{self, Kept},
    entries::NewPost,
};

pub(crate) use locks::{end_edits_of, start};

use crate::{
    Hall,
    repeats::Once,
    sight::{self, Sight},
    turns,
};

/// The document an ask led to, and whether the ask made it.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The document.
    pub document: CanvasDocument,
    /// False when it was opened again.
    pub is_new: bool,
}

/// The thread of a document, and whether the ask began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threaded {
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
    ) -> Result<Seen<Vec<CanvasDocument>>> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .read(move |db| {
                seen(db, &by, scope)?;
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
    ) -> Result<Seen<CanvasDocument>> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .read(move |db| {
                seen(db, &by, scope)?;
                Ok(existing(db, scope, id, now)?.document)
            })
            .await
    }

    /// Opens a document in front of the others; what was opened before with the same key is
    /// opened again. A full canvas gives up its last documents.
    ///
    /// # Errors
    /// In this order: [`Refusal::Validation`], `NotFound` for room or session,
    /// [`Refusal::RoomArchived`], [`Refusal::NotAMember`], the refusals of a file,
    /// [`Refusal::CanvasBeingEdited`], [`Refusal::LimitReached`].
    ///
    /// Source: contract 2.5.
    pub async fn open_document(
        &self,
        by: &AnyCaller,
        scope: CanvasScope,
        ask: NewDocument,
        once: Once<Opened>,
    ) -> Result<Opened> {
        ask.content.check()?;
        let (by, now) = (*by.caller(), self.now());
        let may = move |db: &Rx<'_>| Ok(seen(db, &by, scope)?.writable()?);
        let NewDocument { content, pinned } = ask;
        // A repeat is answered as before, whatever became of the file.
        let located = self.located(by, content, may).await;
        let id = Self::new_id(DocumentId::from_bytes);
        self.store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    let (content, source) = located?;
                    may(tx)?;
                    turns::join_canvas_op(tx, &by)?;
                    let front = canvas::front(tx, scope)?;
                    let key = content.key();
                    let known = match &key {
                        Some(key) => canvas::by_key(tx, scope, key, now)?,
                        None => None,
                    };
                    if let Some(kept) = known {
                        return reopen(tx, &by, kept, content, front, now);
                    }
                    if canvas::count_of(tx, scope)? >= limits::CANVAS_DOCUMENTS_MAX {
                        return Err(Refusal::LimitReached("canvas documents").into());
                    }
                    let ask = NewDocument { content, pinned };
                    let document =
                        CanvasDocument::open(id, scope, ask, source, by.author, front, now);
                    canvas::insert(tx, &document, key.as_deref())?;
                    tell(tx, Some(by.author), &document, CanvasChange::Opened, now)?;
                    make_room(tx, &by, &document, now)?;
                    Ok(Opened {
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
    /// [`Refusal::CanvasBeingEdited`], [`Refusal::PreconditionFailed`], the refusals of a file.
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
        if let Some(content) = patch.content.take() {
            content.check()?;
            let precondition = precondition.clone();
            let may =
                move |db: &Rx<'_>| changeable(db, &by, scope, id, &precondition, now).map(|_| ());
            let (content, _) = self.located(by, content, may).await?;
            patch.content = Some(content);
        }
        self.store()
            .write(move |tx| {
                let mut kept = changeable(tx, &by, scope, id, &precondition, now)?;
                let front = canvas::front(tx, scope)?;
                let change = kept.document.change(patch, by.author, front, now);
                if let Some(change) = change {
                    turns::join_canvas_op(tx, &by)?;
                    keep(tx, &by, &kept, change, now)?;
                    make_room(tx, &by, &kept.document, now)?;
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
                turns::join_canvas_op(tx, &by)?;
                close(tx, &by, scope, id, ClosedReason::Closed, now)
            })
            .await
    }

    /// Begins the thread of a document with a post of the caller that names it; once.
    ///
    /// # Errors
    /// `NotFound` for room or session, then for the document, [`Refusal::RoomArchived`],
    /// [`Refusal::NotAMember`].
    pub async fn thread_document(
        &self,
        by: &AnyCaller,
        room: RoomId,
        id: DocumentId,
        once: Once<Threaded>,
    ) -> Result<Threaded> {
        let (by, now) = (*by.caller(), self.now());
        let scope = CanvasScope::Room(room);
        let root = Self::new_id(EntryId::from_bytes);
        self.store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    let mut kept = writable(tx, &by, scope, id, now)?;
                    if let Some(root) = kept.document.thread_root_entry_id {
                        return Ok(Threaded {
                            root,
                            is_new: false,
                            rev: kept.document.rev,
                        });
                    }
                    let sight = seen(tx, &by, scope)?;
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
                    crate::entries::write(tx, post, Vec::new())?;
                    kept.document.begin_thread(root);
                    keep(tx, &by, &kept, CanvasChange::Threaded, now)?;
                    Ok(Threaded {
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
        may: impl FnOnce(&Rx<'_>) -> Result<()> + Send + 'static,
    ) -> Result<(Content, Source)> {
        let Some(path) = content.path().map(str::to_owned) else {
            return Ok((content, Source::default()));
        };
        let opener = self
            .store()
            .read(move |db| {
                may(db)?;
                let author = authors::by_id(db, by.author)?;
                let name = author.map(|author| author.display_name).unwrap_or_default();
                Ok((sight::reach(db, &by)?, name))
            })
            .await?;
        let (reach, name) = opener.value;
        let confined = Arc::clone(&self.inner.confined);
        let found = tokio::task::spawn_blocking(move || confined.file(&reach, &path))
            .await
            .map_err(|error| Fault::broken("finding a canvas document's file", error))??;
        Ok((content.at(found.path), source(&by, &name, found.tree)))
    }
}

/// The canvas, as far as the caller may see it; sessions are not there yet.
fn seen(db: &Rx<'_>, by: &Caller, scope: CanvasScope) -> Result<Sight> {
    match scope {
        CanvasScope::Room(room) => sight::room(db, by, room),
        CanvasScope::Session(_) => Err(Refusal::NotFound(Thing::Session).into()),
    }
}

fn existing(db: &Rx<'_>, scope: CanvasScope, id: DocumentId, now: Moment) -> Result<Kept> {
    Ok(canvas::find(db, scope, id, now)?.ok_or(Refusal::NotFound(Thing::Document))?)
}

/// A document of a canvas the caller may write on.
fn writable(
    db: &Rx<'_>,
    by: &Caller,
    scope: CanvasScope,
    id: DocumentId,
    now: Moment,
) -> Result<Kept> {
    let sight = seen(db, by, scope)?;
    let kept = existing(db, scope, id, now)?;
    sight.writable()?;
    Ok(kept)
}

/// A document that nobody else edits, of a canvas the caller may write on, at the revision the
/// change waits for.
fn changeable(
    db: &Rx<'_>,
    by: &Caller,
    scope: CanvasScope,
    id: DocumentId,
    precondition: &Precondition,
    now: Moment,
) -> Result<Kept> {
    let kept = writable(db, by, scope, id, now)?;
    rules::unhindered(kept.lock, by.author, now)?;
    precondition.check(kept.document.rev)?;
    Ok(kept)
}

/// Opens a document again, in front of the others.
fn reopen(
    tx: &mut Tx<'_>,
    by: &Caller,
    mut kept: Kept,
    content: Content,
    front: u64,
    now: Moment,
) -> Result<Opened> {
    rules::unhindered(kept.lock, by.author, now)?;
    kept.document.reopen(content, by.author, front, now);
    keep(tx, by, &kept, CanvasChange::Opened, now)?;
    Ok(Opened {
        document: kept.document,
        is_new: false,
    })
}

/// Where a file came from, in a word and in a short text that names its opener.
fn source(by: &Caller, name: &str, tree: TreeKind) -> Source {
    let (tree_kind, label) = match tree {
        TreeKind::Worktree => (tree, format!("{name}'s copy")),
        TreeKind::None if by.agent().is_some() => (TreeKind::AgentCwd, format!("{name}'s folder")),
        TreeKind::RoomMain | TreeKind::AgentCwd | TreeKind::None => (tree, String::new()),
    };
    Source { tree_kind, label }
}

/// Writes a changed document and tells of it; a lock that has expired goes with it, because
/// what is told shows it ended.
fn keep(
    tx: &mut Tx<'_>,
    by: &Caller,
    kept: &Kept,
    change: CanvasChange,
    now: Moment,
) -> Result<()> {
    canvas::update(tx, &kept.document)?;
    if kept.lock.is_some_and(|lock| !lock.is_live(now)) {
        canvas::set_lock(tx, kept.document.id, None)?;
    }
    tell(tx, Some(by.author), &kept.document, change, now)
}

fn tell(
    tx: &mut Tx<'_>,
    actor: Option<AuthorId>,
    document: &CanvasDocument,
    change: CanvasChange,
    now: Moment,
) -> Result<()> {
    let document = document.clone();
    tx.append(now, actor, &Event::CanvasDocument { document, change })?;
    Ok(())
}

/// Closes what a full canvas gives up for the document just written.
fn make_room(
    tx: &mut Tx<'_>,
    by: &Caller,
    just_written: &CanvasDocument,
    now: Moment,
) -> Result<()> {
    let scope = just_written.scope;
    let unpinned = canvas::unpinned(tx, scope, now)?;
    for id in rules::evicted(&unpinned, just_written.id) {
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
    now: Moment,
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
