//! Rooms: listing, making and changing them.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    agents::AgentState,
    authors::{Author, AuthorKind},
    callers::{AnyCaller, Caller, Gate, Identity, Owner},
    errors::ResourceKind,
    events::Event,
    ids::{AuthorId, RoomId},
    limits,
    members::owner_present,
    revisions::Precondition,
    rooms::{
        LimitOverrides, NewRoom, Room, RoomDetail, RoomKind, RoomPatch, RoomView,
        TURN_LIMITS_DEFAULT,
    },
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx, agents, authors, installation, members as member_rows,
    rooms::{self, RoomChange},
};

use crate::{
    Hall,
    idempotency::IdempotentWrite,
    members::{self, AuthorOrAgent},
    turns, visibility,
};

/// Which rooms are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoomsQuery {
    /// Only this kind.
    pub kind: Option<RoomKind>,
    /// Archived ones too.
    pub include_archived: bool,
}

/// The room an ask led to, and whether the ask made it.
#[derive(Clone, Debug)]
pub struct CreatedRoom {
    /// The room.
    pub room: RoomDetail,
    /// False for a direct message that existed already.
    pub is_new: bool,
}

impl Hall {
    /// The rooms the caller may see, newest activity first: every room for a person, its own
    /// rooms for an agent.
    ///
    /// # Errors
    /// Faults alone.
    ///
    /// Source: spec, "GET /api/rooms".
    pub async fn rooms(
        &self,
        by: &AnyCaller,
        ask: RoomsQuery,
    ) -> Result<ReadSnapshot<Vec<RoomView>>> {
        let caller = *by.caller();
        let ask = rooms::RoomsQuery {
            kind: ask.kind,
            include_archived: ask.include_archived,
            only_own: !caller.is_human(),
        };
        self.store()
            .read(move |db| rooms::list(db, caller.author, ask))
            .await
    }

    /// One room with its members.
    ///
    /// # Errors
    /// `NotFound` when there is none or this caller may not know of it.
    pub async fn room(&self, by: &AnyCaller, id: RoomId) -> Result<ReadSnapshot<RoomDetail>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                visibility::room(db, &by, id)?;
                detail(db, &by, id)
            })
            .await
    }

    /// Makes a room whose first member is the caller, or finds the direct message that has
    /// exactly these members.
    ///
    /// # Errors
    /// [`Refusal::Validation`], [`Refusal::InvalidSlug`], `NotFound` for authors and agents,
    /// [`Refusal::AuthorRetired`], [`Refusal::SlugTaken`], [`Refusal::OwnerMustBePresent`],
    /// [`Refusal::LimitReached`].
    pub async fn make_room(
        &self,
        by: &AnyCaller,
        ask: NewRoom,
        once: IdempotentWrite<CreatedRoom>,
    ) -> Result<CreatedRoom> {
        self.may_add()?;
        ask.check()?;
        let naming = ask.naming()?;
        let (by, now) = (*by.caller(), self.now());
        let id = Self::new_id(RoomId::from_bytes);
        self.store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    let people = first_authors(tx, &by, &ask)?;
                    if ask.kind == RoomKind::Dm
                        && let Some(known) = rooms::dm_of(tx, &ids(&people))?
                    {
                        reopen(tx, &by, known, now)?;
                        return Ok(CreatedRoom {
                            room: detail(tx, &by, known)?,
                            is_new: false,
                        });
                    }
                    if rooms::count_all(tx)? >= limits::ROOMS_MAX {
                        return Err(Refusal::LimitReached("rooms").into());
                    }
                    let room = new_room(id, &ask, naming.slug.clone(), now);
                    rooms::insert(tx, &room, naming.title.as_deref(), !by.is_human())?;
                    require_owner(tx, &by, &people)?;
                    insert_first_members(tx, &by, &room, &people, now)?;
                    Ok(CreatedRoom {
                        room: detail(tx, &by, id)?,
                        is_new: true,
                    })
                })
            })
            .await
    }

    /// Changes a room.
    ///
    /// # Errors
    /// [`Refusal::Validation`], `NotFound` for the room, or for a seat that is no agent member,
    /// [`Refusal::SystemRoom`], [`Refusal::SlugTaken`], [`Refusal::NotABridgedRoom`],
    /// [`Refusal::InvalidSlug`], [`Refusal::PreconditionFailed`].
    pub async fn change_room(
        &self,
        by: &Owner,
        id: RoomId,
        precondition: Precondition,
        patch: RoomPatch,
    ) -> Result<RoomDetail> {
        patch.check()?;
        let (by, now) = (*by.caller(), self.now());
        let changed = self
            .store()
            .write(move |tx| {
                let before = rooms::by_id(tx, id)?.ok_or(Refusal::NotFound(ResourceKind::Room))?;
                require_fallback_agent(tx, id, &patch)?;
                if patch.archived == Some(true) && !before.well_known.is_empty() {
                    return Err(Refusal::SystemRoom.into());
                }
                let change = change(&before, &patch)?;
                rooms::require_free_slug(tx, &change.room)?;
                if patch.deliver_notices {
                    return Err(Refusal::NotABridgedRoom.into());
                }
                precondition.check(rooms::rev(tx, id)?)?;
                rooms::update(tx, &change)?;
                count_if_changed(tx, &before)?;
                append_if_changed(tx, now, Some(by.author), &before)?;
                if change.room.archived && !before.archived {
                    turns::dismiss_room(tx, id, now)?;
                }
                detail(tx, &by, id)
            })
            .await?;
        self.wake_turns();
        Ok(changed)
    }
}

/// Lets the first members into a new room, and tells of it and of them.
fn insert_first_members(
    tx: &mut Tx<'_>,
    by: &Caller,
    room: &Room,
    people: &[Author],
    now: Timestamp,
) -> Result<()> {
    let members = members::insert_first_members(tx, room.id, room.kind, people, now)?;
    let room = existing(tx, room.id)?;
    tx.append(now, Some(by.author), &Event::RoomCreated { room })?;
    for member in members {
        tx.append(now, Some(by.author), &Event::RoomMemberAdded { member })?;
    }
    Ok(())
}

/// The room as it is now.
pub(crate) fn existing(db: &ReadTx<'_>, id: RoomId) -> Result<Room> {
    Ok(rooms::by_id(db, id)?.ok_or(Refusal::NotFound(ResourceKind::Room))?)
}

/// Tells that a room is not as it was.
pub(crate) fn append_changed(
    tx: &mut Tx<'_>,
    now: Timestamp,
    actor: Option<AuthorId>,
    id: RoomId,
) -> Result<()> {
    let room = existing(tx, id)?;
    tx.append(now, actor, &Event::RoomUpdated { room })?;
    Ok(())
}

/// Counts a change of a room's stored fields if it is not as it was `before`.
fn count_if_changed(tx: &mut Tx<'_>, before: &Room) -> Result<()> {
    if existing(tx, before.id)? != *before {
        rooms::count_change(tx, before.id)?;
    }
    Ok(())
}

/// Tells of a room if it is not as it was `before`.
pub(crate) fn append_if_changed(
    tx: &mut Tx<'_>,
    now: Timestamp,
    actor: Option<AuthorId>,
    before: &Room,
) -> Result<()> {
    let room = existing(tx, before.id)?;
    if room != *before {
        tx.append(now, actor, &Event::RoomUpdated { room })?;
    }
    Ok(())
}

/// The room with its members, as the caller sees it.
pub(crate) fn detail(db: &ReadTx<'_>, by: &Caller, id: RoomId) -> Result<RoomDetail> {
    let seen = rooms::view_for(db, id, by.author)?.ok_or(Refusal::NotFound(ResourceKind::Room))?;
    Ok(RoomDetail {
        seen,
        members: member_rows::of_room(db, id)?,
        former_authors: member_rows::former(db, id)?,
        viewer_author_id: by.author,
        viewer_is_owner: by.identity == Identity::Owner,
        rev: rooms::rev(db, id)?,
        working: guildhall_store::turns::live_in(db, id)?,
    })
}

/// The creator and everybody named, each once.
fn first_authors(db: &ReadTx<'_>, by: &Caller, ask: &NewRoom) -> Result<Vec<Author>> {
    let named = std::iter::once(AuthorOrAgent::Author(by.author))
        .chain(ask.member_ids.iter().copied().map(AuthorOrAgent::Author))
        .chain(ask.agent_ids.iter().copied().map(AuthorOrAgent::Agent));
    let mut people: Vec<Author> = Vec::new();
    for named in named {
        let author = members::resolve_author(db, named)?;
        if !by.is_human() && !authors::is_visible_to(db, author.id, by.author)? {
            let thing = match named {
                AuthorOrAgent::Author(_) => ResourceKind::Author,
                AuthorOrAgent::Agent(_) => ResourceKind::Agent,
            };
            return Err(Refusal::NotFound(thing).into());
        }
        if author.retired {
            return Err(Refusal::AuthorRetired.into());
        }
        if !people.iter().any(|known| known.id == author.id) {
            people.push(author);
        }
    }
    Ok(people)
}

fn ids(people: &[Author]) -> Vec<AuthorId> {
    people.iter().map(|author| author.id).collect()
}

fn require_owner(db: &ReadTx<'_>, by: &Caller, people: &[Author]) -> Result<()> {
    let owner = installation::owner(db)?;
    let present = people.iter().any(|author| Some(author.id) == owner);
    let agents = people
        .iter()
        .filter(|author| author.kind == AuthorKind::Agent)
        .count();
    Ok(owner_present(agents as u64, present, !by.is_human())?)
}

/// Takes an archived direct message out of the archive.
fn reopen(tx: &mut Tx<'_>, by: &Caller, id: RoomId, now: Timestamp) -> Result<()> {
    let before = existing(tx, id)?;
    if before.archived {
        let patch = RoomPatch {
            archived: Some(false),
            ..RoomPatch::default()
        };
        rooms::update(tx, &change(&before, &patch)?)?;
        count_if_changed(tx, &before)?;
        append_if_changed(tx, now, Some(by.author), &before)?;
    }
    Ok(())
}

/// Holds back a fallback seat that is no agent member of the room.
fn require_fallback_agent(db: &ReadTx<'_>, room: RoomId, patch: &RoomPatch) -> Result<()> {
    let Some(Some(seat)) = patch.fallback_seat_author_id else {
        return Ok(());
    };
    let member = member_rows::find(db, room, seat)?;
    let agent = match member.and_then(|member| member.author.agent_ref) {
        Some(agent) => agents::by_id(db, agent)?,
        None => None,
    };
    match agent {
        Some(agent) if agent.state != AgentState::Retired => Ok(()),
        _ => Err(Refusal::NotFound(ResourceKind::Member).into()),
    }
}

/// The room after the patch; renaming a channel changes its slug.
fn change(before: &Room, patch: &RoomPatch) -> Result<RoomChange, Refusal> {
    let title = patch.title.as_ref().map(|title| title.trim().to_owned());
    let slug = match (&title, before.kind) {
        (Some(title), RoomKind::Channel) if *title != before.title => {
            guildhall_domain::rooms::slug_from_title(title)?
        }
        _ => before.slug.clone(),
    };
    let room = Room {
        slug,
        topic: patch.topic.clone().unwrap_or_else(|| before.topic.clone()),
        archived: patch.archived.unwrap_or(before.archived),
        ambient_max_entries: patch
            .ambient_max_entries
            .unwrap_or(before.ambient_max_entries),
        ..before.clone()
    };
    Ok(RoomChange {
        room,
        title,
        fallback_seat: patch.fallback_seat_author_id,
        overrides: patch.overrides(&before.limit_overrides),
    })
}

fn new_room(id: RoomId, ask: &NewRoom, slug: String, now: Timestamp) -> Room {
    let limits = TURN_LIMITS_DEFAULT;
    Room {
        id,
        kind: ask.kind,
        slug,
        title: String::new(),
        topic: ask.topic.clone(),
        archived: false,
        ambient_max_entries: limits::AMBIENT_ENTRIES_DEFAULT,
        well_known: String::new(),
        fallback_seat_author_id: None,
        turn_limits_enabled: limits.turn_limits_enabled,
        max_agent_depth: limits.max_agent_depth,
        max_turns_per_agent_per_cascade: limits.max_turns_per_agent_per_cascade,
        max_auto_turns_per_hour: limits.max_auto_turns_per_hour,
        limit_overrides: LimitOverrides::default(),
        created_at: now,
        last_activity_at: now,
        bridge: None,
    }
}
