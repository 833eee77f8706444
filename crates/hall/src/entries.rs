//! Entries: posting in a room, reading what was posted, and taking its text out.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    attachments::Attachment,
    callers::{AnyCaller, Caller, Gate, Human},
    entries::{EntriesPage, EntriesQuery, Entry, Notice, PostDraft, PostedEntry, may_redact},
    errors::ResourceKind,
    events::Event,
    ids::{EntryId, RoomId},
    mentions::{self, MentionSpan},
    threads::may_be_root,
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx, attachments as file_rows, authors,
    entries::{self, Cascade, NewNotice, NewPost},
    members, settings,
};

use crate::{
    Hall, attachments,
    idempotency::IdempotentWrite,
    turns,
    visibility::{self, RoomAccess},
};

impl Hall {
    /// Writes a post; its mentions are resolved now and for good. Each agent of the room is
    /// considered for a turn.
    ///
    /// # Errors
    /// `NotFound` for the room, the thread root or a file, [`Refusal::RoomArchived`],
    /// [`Refusal::NotAMember`], [`Refusal::NestedThread`], [`Refusal::AttachmentAlreadyPosted`],
    /// [`Refusal::Validation`] for too many files, [`Refusal::TurnWasStopped`],
    /// [`Refusal::TooManyPostsThisTurn`].
    pub async fn post(
        &self,
        by: &AnyCaller,
        room: RoomId,
        posting: PostDraft,
        once: IdempotentWrite<PostedEntry>,
    ) -> Result<PostedEntry> {
        self.may_add()?;
        let (by, now) = (*by.caller(), self.now());
        let id = Self::new_id(EntryId::from_bytes);
        let posted = self
            .store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    attachments::require_count_allowed(tx, &posting.files)?;
                    let sight = visibility::room(tx, &by, room)?;
                    let root = match posting.thread_root {
                        Some(root) => Some(visible(tx, room, &sight, root)?),
                        None => None,
                    };
                    let files = attachments::attachments_to_post(tx, &by, room, &posting.files)?;
                    sight.require_writable()?;
                    root.as_ref().map_or(Ok(()), may_be_root)?;
                    let files = attachments::unposted(files)?;
                    let text = posting.text;
                    let post = NewPost {
                        id,
                        room,
                        author: by.author,
                        mention_spans: resolve_mentions(tx, room, text.as_str())?,
                        text: text.into_string(),
                        thread_root: root,
                        cascade: cascade(tx, &by, &sight)?,
                        now,
                    };
                    publish_post(tx, post, files)
                })
            })
            .await?;
        if posted.turns.iter().any(|turn| turn.id.is_some()) {
            self.wake_turns();
        }
        Ok(posted)
    }

    /// A run of a room's entries, oldest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn entries(
        &self,
        by: &AnyCaller,
        room: RoomId,
        ask: EntriesQuery,
    ) -> Result<ReadSnapshot<EntriesPage>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                let floor = visibility::room(db, &by, room)?.floor;
                entries::page(db, room, floor, ask)
            })
            .await
    }

    /// One entry of a room.
    ///
    /// # Errors
    /// `NotFound` for room or entry.
    pub async fn entry(
        &self,
        by: &AnyCaller,
        room: RoomId,
        id: EntryId,
    ) -> Result<ReadSnapshot<Entry>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                let sight = visibility::room(db, &by, room)?;
                visible(db, room, &sight, id)
            })
            .await
    }

    /// Takes an entry's text and files out for good; one without its text already stays as it is.
    ///
    /// Archived rooms are no obstacle: what must not be read must not be read there either.
    ///
    /// # Errors
    /// `NotFound` for room or entry, [`Refusal::OwnerOnly`] for what somebody else wrote.
    ///
    /// Source: contract 2.3.
    pub async fn redact(&self, by: &Human, room: RoomId, id: EntryId) -> Result<Entry> {
        let (by, now) = (*by.caller(), self.now());
        let (entry, files) = self
            .store()
            .write(move |tx| {
                let sight = visibility::room(tx, &by, room)?;
                let mut entry = visible(tx, room, &sight, id)?;
                may_redact(&by, entry.author_id)?;
                if entry.redacted_at.is_some() {
                    return Ok((entry, Vec::new()));
                }
                let files = entries::redact(tx, &mut entry, now)?;
                let event = Event::EntryRedacted {
                    entry: entry.clone(),
                };
                tx.append(now, Some(by.author), &event)?;
                Ok((entry, files))
            })
            .await?;
        self.drop_blobs(files).await;
        Ok(entry)
    }
}

/// Writes a post with its files, tells of it, and has the room's agents hear it.
pub(crate) fn publish_post(
    tx: &mut Tx<'_>,
    post: NewPost,
    files: Vec<Attachment>,
) -> Result<PostedEntry> {
    let now = post.now;
    let entry = insert_post(tx, post, files)?;
    let turns = turns::record_addressed_turns(tx, &entry, now)?;
    Ok(PostedEntry { entry, turns })
}

/// Writes a notice of the house, and tells of it.
pub(crate) fn insert_notice(
    tx: &mut Tx<'_>,
    room: RoomId,
    text: String,
    notice: Notice,
    now: Timestamp,
) -> Result<()> {
    let author = authors::system(tx)?;
    let id = Hall::new_id(EntryId::from_bytes);
    let notice = NewNotice {
        id,
        room,
        author,
        text,
        notice,
        now,
    };
    let entry = entries::insert_notice(tx, notice)?;
    tx.append(now, Some(author), &Event::EntryAdded { entry })?;
    Ok(())
}

/// Writes a post with its files, and tells of it; nobody is considered for a turn.
pub(crate) fn insert_post(tx: &mut Tx<'_>, post: NewPost, files: Vec<Attachment>) -> Result<Entry> {
    let (now, author) = (post.now, post.author);
    let mut entry = entries::insert(tx, post)?;
    file_rows::post(tx, &mut entry, files)?;
    let event = Event::EntryAdded {
        entry: entry.clone(),
    };
    tx.append(now, Some(author), &event)?;
    Ok(entry)
}

/// An entry that the caller may read.
fn visible(db: &ReadTx<'_>, room: RoomId, sight: &RoomAccess, id: EntryId) -> Result<Entry> {
    let entry = entries::find(db, room, sight.floor, id)?;
    Ok(entry.ok_or(Refusal::NotFound(ResourceKind::Entry))?)
}

/// Whom the text names among the room's members.
pub(crate) fn resolve_mentions(
    db: &ReadTx<'_>,
    room: RoomId,
    text: &str,
) -> Result<Vec<MentionSpan>> {
    if !text.contains('@') {
        return Ok(Vec::new());
    }
    let members = members::by_handle(db, room)?;
    Ok(mentions::find(text, |name| {
        name.parse()
            .ok()
            .and_then(|handle| members.get(&handle).copied())
    }))
}

/// A person's post begins a cascade, an agent's post in a turn belongs to the turn's, and one
/// outside a turn ends its own, so that it starts nobody.
///
/// # Errors
/// [`Refusal::TurnWasStopped`], [`Refusal::TooManyPostsThisTurn`].
pub(crate) fn cascade(tx: &mut Tx<'_>, by: &Caller, sight: &RoomAccess) -> Result<Cascade> {
    if by.is_human() {
        return Ok(Cascade::default());
    }
    if let Some(joined) = turns::attribute_post(tx, by)? {
        return Ok(joined);
    }
    let depth = match sight.standing.max_agent_depth {
        Some(depth) => depth,
        None => settings::turn_limits(tx)?.max_agent_depth,
    };
    Ok(Cascade {
        depth,
        ..Cascade::default()
    })
}
