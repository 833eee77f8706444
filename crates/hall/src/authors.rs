//! Authors: listing them, changing their look, taking and releasing handles.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    authors::{self as rules, Author, AuthorKind, AuthorPatch, Handle, ReservedHandle},
    callers::{AnyCaller, Caller, Gate, Human},
    errors::ResourceKind,
    events::Event,
    field_validation::FieldValidator,
    ids::AuthorId,
    limits,
    revisions::{Precondition, Revised},
};
use guildhall_store::{ReadSnapshot, ReadTx, Tx, authors, rooms};

use crate::Hall;

/// Which authors are asked for.
#[derive(Clone, Debug)]
pub struct AuthorsQuery {
    /// Part of the name or handle.
    pub q: Option<String>,
    /// Only this kind.
    pub kind: Option<AuthorKind>,
    /// Retired ones too.
    pub include_retired: bool,
    /// Only ids above this one.
    pub after: Option<AuthorId>,
    /// 1..200.
    pub limit: u32,
}

/// One page of authors.
#[derive(Clone, Debug)]
pub struct AuthorsPage {
    /// The authors, by id.
    pub authors: Vec<Author>,
    /// Whether more follow.
    pub has_more: bool,
}

impl Hall {
    /// Lists authors; an agent sees itself, the system author and those it shares a room with.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn authors(
        &self,
        by: &AnyCaller,
        ask: AuthorsQuery,
    ) -> Result<ReadSnapshot<AuthorsPage>> {
        let ask = authors::AuthorsQuery {
            seen_by: (!by.caller().is_human()).then_some(by.caller().author),
            q: ask.q,
            kind: ask.kind,
            include_retired: ask.include_retired,
            after: ask.after,
            limit: ask.limit,
        };
        self.store()
            .read(move |db| {
                let mut authors = authors::list(db, &ask)?;
                let has_more = authors.len() > ask.limit as usize;
                authors.truncate(ask.limit as usize);
                Ok(AuthorsPage { authors, has_more })
            })
            .await
    }

    /// The author the caller writes as.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn own_author(&self, by: &AnyCaller) -> Result<ReadSnapshot<Revised<Author>>> {
        self.author(by, by.caller().author).await
    }

    /// One author.
    ///
    /// # Errors
    /// `NotFound` when there is none or this caller may not know of it.
    pub async fn author(
        &self,
        by: &AnyCaller,
        id: AuthorId,
    ) -> Result<ReadSnapshot<Revised<Author>>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                let author = visible(db, &by, id)?;
                revised(db, author)
            })
            .await
    }

    /// Changes an author's look.
    ///
    /// # Errors
    /// [`Refusal::Validation`], `NotFound`, [`Refusal::AuthorNotChangeable`],
    /// [`Refusal::PreconditionFailed`].
    pub async fn change_author(
        &self,
        by: &Human,
        id: AuthorId,
        precondition: Precondition,
        patch: AuthorPatch,
    ) -> Result<Revised<Author>> {
        patch.check()?;
        let (actor, now) = (by.caller().author, self.now());
        self.store()
            .write(move |tx| {
                let before = existing(tx, id)?;
                rules::changeable(&before)?;
                precondition.check(authors::rev(tx, id)?)?;
                let author = patch.apply(&before);
                if author == before {
                    return revised(tx, author);
                }
                authors::update(tx, &author)?;
                if author.display_name == before.display_name {
                    let event = Event::AuthorUpdated {
                        author: author.clone(),
                    };
                    tx.append(now, Some(actor), &event)?;
                } else {
                    append_renamed_events(tx, now, actor, &author)?;
                }
                revised(tx, author)
            })
            .await
    }

    /// The handle an author has, and those it gave up and may take back.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn handles(
        &self,
        _by: &Human,
        id: AuthorId,
    ) -> Result<ReadSnapshot<(Author, Vec<ReservedHandle>)>> {
        self.store()
            .read(move |db| Ok((existing(db, id)?, authors::reserved(db, id)?)))
            .await
    }

    /// Gives an author a handle, or takes it away when `raw` is empty after normalisation.
    ///
    /// Asking for what already is changes nothing and tells nobody.
    ///
    /// # Errors
    /// [`Refusal::Validation`], [`Refusal::InvalidHandle`], `NotFound`,
    /// [`Refusal::AuthorNotChangeable`], [`Refusal::HandleTaken`], [`Refusal::HandleReserved`],
    /// [`Refusal::PreconditionFailed`], checked in this order.
    ///
    /// Source: spec, "PATCH /api/rooms/authors/{authorId}/handle"; contract 2.1.
    pub async fn set_handle(
        &self,
        by: &Human,
        id: AuthorId,
        precondition: Precondition,
        raw: &str,
    ) -> Result<Revised<Author>> {
        let mut check = FieldValidator::new();
        check.chars("handle", raw, 0, limits::HANDLE_ASK_CHARS_MAX);
        check.finish()?;
        let handle = Handle::parse(raw)?;
        let (actor, now) = (by.caller().author, self.now());
        self.store()
            .write(move |tx| {
                let before = existing(tx, id)?;
                rules::changeable(&before)?;
                let rev = authors::rev(tx, id)?;
                if before.handle == handle {
                    precondition.check(rev)?;
                    return revised(tx, before);
                }
                match &handle {
                    Some(handle) => authors::take_handle(tx, id, handle, now)?,
                    None => authors::release_handle(tx, id, now)?,
                }
                precondition.check(rev)?;
                authors::count_change(tx, id)?;
                let author = Author { handle, ..before };
                let event = Event::AuthorUpdated {
                    author: author.clone(),
                };
                tx.append(now, Some(actor), &event)?;
                revised(tx, author)
            })
            .await
    }
}

fn revised(db: &ReadTx<'_>, author: Author) -> Result<Revised<Author>> {
    Ok(Revised {
        rev: authors::rev(db, author.id)?,
        value: author,
    })
}

/// Tells of an author's new name, and of the rooms whose titles follow it.
pub(crate) fn append_renamed_events(
    tx: &mut Tx<'_>,
    now: Timestamp,
    actor: AuthorId,
    author: &Author,
) -> Result<()> {
    tx.append(
        now,
        Some(actor),
        &Event::AuthorUpdated {
            author: author.clone(),
        },
    )?;
    for room in rooms::untitled_with(tx, author.id)? {
        crate::rooms::append_changed(tx, now, Some(actor), room)?;
    }
    Ok(())
}

/// Retires an author and keeps its handle for it.
pub(crate) fn retire(tx: &mut Tx<'_>, actor: AuthorId, id: AuthorId, now: Timestamp) -> Result<()> {
    authors::release_handle(tx, id, now)?;
    let author = Author {
        retired: true,
        handle: None,
        ..existing(tx, id)?
    };
    authors::update(tx, &author)?;
    tx.append(now, Some(actor), &Event::AuthorUpdated { author })?;
    Ok(())
}

/// Gives a new agent's author the first free handle made from its name, if any is legal.
pub(crate) fn derive_handle(
    tx: &mut Tx<'_>,
    author: AuthorId,
    name: &str,
    now: Timestamp,
) -> Result<Option<Handle>> {
    let Some(first) = Handle::derive(name) else {
        return Ok(None);
    };
    let mut candidate = Some(first.clone());
    for n in 2.. {
        let Some(handle) = candidate else { break };
        if authors::is_free_for(tx, &handle, author)? {
            authors::take_handle(tx, author, &handle, now)?;
            return Ok(Some(handle));
        }
        candidate = first.numbered(n);
    }
    Ok(None)
}

fn existing(db: &ReadTx<'_>, id: AuthorId) -> Result<Author> {
    Ok(authors::by_id(db, id)?.ok_or(Refusal::NotFound(ResourceKind::Author))?)
}

fn visible(db: &ReadTx<'_>, by: &Caller, id: AuthorId) -> Result<Author> {
    if !by.is_human() && !authors::is_visible_to(db, id, by.author)? {
        return Err(Refusal::NotFound(ResourceKind::Author).into());
    }
    existing(db, id)
}
