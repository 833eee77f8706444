//! Members: who belongs to a room; joining, answering modes, leaving.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    agents::{AgentState, ResponseMode},
    authors::{Author, AuthorKind},
    callers::{AnyCaller, Gate, Human},
    errors::ResourceKind,
    events::Event,
    ids::{AgentId, AuthorId, RoomId},
    limits,
    members::{self as rules, Member},
    rooms::RoomKind,
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx, agents, authors, installation,
    members::{self, NewMember},
};

use crate::{
    Hall,
    idempotency::IdempotentWrite,
    turns,
    visibility::{self, RoomAccess},
};

/// Whom a request names: an author, or an agent by its registry id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorOrAgent {
    /// An author.
    Author(AuthorId),
    /// An agent.
    Agent(AgentId),
}

/// The member an ask led to, and whether the ask made it.
#[derive(Clone, Debug)]
pub struct AddedMember {
    /// The member.
    pub member: Member,
    /// False when it belonged to the room already.
    pub is_new: bool,
}

impl Hall {
    /// A room's members by joining.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn members(&self, by: &AnyCaller, room: RoomId) -> Result<ReadSnapshot<Vec<Member>>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                visibility::room(db, &by, room)?;
                members::of_room(db, room)
            })
            .await
    }

    /// Makes somebody a member; who is one already stays as it is.
    ///
    /// # Errors
    /// `NotFound` for room, author or agent, [`Refusal::AuthorRetired`],
    /// [`Refusal::OwnerMustBePresent`], [`Refusal::LimitReached`].
    pub async fn add_member(
        &self,
        by: &Human,
        room: RoomId,
        named: AuthorOrAgent,
        mode: Option<ResponseMode>,
        once: IdempotentWrite<AddedMember>,
    ) -> Result<AddedMember> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    let sight = visibility::room(tx, &by, room)?;
                    let author = resolve_author(tx, named)?;
                    if let Some(member) = members::find(tx, room, author.id)? {
                        return Ok(AddedMember {
                            member,
                            is_new: false,
                        });
                    }
                    require_room_for(tx, room, &author, &sight)?;
                    let before = crate::rooms::existing(tx, room)?;
                    let member = join(tx, Some(by.author), room, &author, mode, now)?;
                    crate::rooms::append_if_changed(tx, now, Some(by.author), &before)?;
                    Ok(AddedMember {
                        member,
                        is_new: true,
                    })
                })
            })
            .await
    }

    /// Sets when a member answers.
    ///
    /// # Errors
    /// `NotFound` for room or member.
    pub async fn change_member(
        &self,
        by: &Human,
        room: RoomId,
        author: AuthorId,
        mode: ResponseMode,
    ) -> Result<Member> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                visibility::room(tx, &by, room)?;
                let before = existing(tx, room, author)?;
                if before.response_mode == mode {
                    return Ok(before);
                }
                members::set_response_mode(tx, room, author, mode)?;
                if mode == ResponseMode::Silent {
                    turns::drop_silenced(tx, room, author, now)?;
                }
                let member = Member {
                    response_mode: mode,
                    ..before
                };
                let event = Event::RoomMemberUpdated {
                    member: member.clone(),
                };
                tx.append(now, Some(by.author), &event)?;
                Ok(member)
            })
            .await
    }

    /// Ends a membership.
    ///
    /// # Errors
    /// `NotFound` for room or member, [`Refusal::SystemRoom`] for the owner in `team`,
    /// [`Refusal::OwnerMustBePresent`].
    pub async fn remove_member(&self, by: &Human, room: RoomId, author: AuthorId) -> Result<()> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                let standing = visibility::room(tx, &by, room)?.standing;
                existing(tx, room, author)?;
                if installation::owner(tx)? == Some(author) {
                    if standing.is_team {
                        return Err(Refusal::SystemRoom.into());
                    }
                    let agents = members::headcount(tx, room)?.agents;
                    rules::owner_present(agents, false, standing.made_by_agent)?;
                }
                leave(tx, Some(by.author), room, author, now)
            })
            .await?;
        self.wake_turns();
        Ok(())
    }
}

/// Holds back authors that may not join the room as it is.
fn require_room_for(
    db: &ReadTx<'_>,
    room: RoomId,
    author: &Author,
    sight: &RoomAccess,
) -> Result<()> {
    if author.retired {
        return Err(Refusal::AuthorRetired.into());
    }
    let count = members::headcount(db, room)?;
    if count.members >= limits::MEMBERS_MAX {
        return Err(Refusal::LimitReached("members").into());
    }
    let is_agent = u64::from(author.kind == AuthorKind::Agent);
    let owner_joins = installation::owner(db)? == Some(author.id);
    let owner_present = owner_joins || owner_is_member(db, room)?;
    Ok(rules::owner_present(
        count.agents + is_agent,
        owner_present,
        sight.standing.made_by_agent,
    )?)
}

/// The author a request names.
///
/// # Errors
/// `NotFound` for an unknown or system author, and for an unknown or retired agent.
pub(crate) fn resolve_author(db: &ReadTx<'_>, named: AuthorOrAgent) -> Result<Author> {
    let id = match named {
        AuthorOrAgent::Author(id) => id,
        AuthorOrAgent::Agent(agent) => {
            let agent = agents::by_id(db, agent)?
                .filter(|agent| agent.state != AgentState::Retired)
                .ok_or(Refusal::NotFound(ResourceKind::Agent))?;
            agent.author_id
        }
    };
    let author = authors::by_id(db, id)?
        .filter(|author| author.kind != AuthorKind::System)
        .ok_or(Refusal::NotFound(ResourceKind::Author))?;
    Ok(author)
}

/// Makes an author a member and tells of it.
pub(crate) fn join(
    tx: &mut Tx<'_>,
    actor: Option<AuthorId>,
    room: RoomId,
    author: &Author,
    mode: Option<ResponseMode>,
    now: Timestamp,
) -> Result<Member> {
    let kind = crate::rooms::existing(tx, room)?.kind;
    let response_mode = response_mode(tx, kind, author, mode)?;
    let seen_from = tx.next_event();
    let joining = NewMember {
        room,
        author: author.id,
        response_mode,
        seen_from,
        now,
    };
    let member = members::insert(tx, &joining)?;
    tx.append(
        now,
        actor,
        &Event::RoomMemberAdded {
            member: member.clone(),
        },
    )?;
    Ok(member)
}

/// Makes the first members of a new room, in this order; the room's own event comes next,
/// then theirs.
pub(crate) fn insert_first_members(
    tx: &mut Tx<'_>,
    room: RoomId,
    kind: RoomKind,
    people: &[Author],
    now: Timestamp,
) -> Result<Vec<Member>> {
    let mut members = Vec::with_capacity(people.len());
    for (author, seen_from) in people.iter().zip(tx.next_event() + 1..) {
        let response_mode = response_mode(tx, kind, author, None)?;
        let joining = NewMember {
            room,
            author: author.id,
            response_mode,
            seen_from,
            now,
        };
        members.push(members::insert(tx, &joining)?);
    }
    Ok(members)
}

fn response_mode(
    db: &ReadTx<'_>,
    kind: RoomKind,
    author: &Author,
    asked: Option<ResponseMode>,
) -> Result<ResponseMode> {
    let own = match author.agent_ref {
        Some(agent) => agents::by_id(db, agent)?.map(|agent| agent.response_mode),
        None => None,
    };
    Ok(asked.unwrap_or_else(|| rules::default_response_mode(kind, own)))
}

/// Ends a membership and what hangs on it, locks and the seat it may hold, and tells of all.
pub(crate) fn leave(
    tx: &mut Tx<'_>,
    actor: Option<AuthorId>,
    room: RoomId,
    author: AuthorId,
    now: Timestamp,
) -> Result<()> {
    let before = crate::rooms::existing(tx, room)?;
    crate::canvas::end_edits_of(tx, actor, room, author, now)?;
    turns::dismiss(tx, room, author, now)?;
    members::remove(tx, room, author)?;
    tx.append(
        now,
        actor,
        &Event::RoomMemberRemoved {
            room_id: room,
            author_id: author,
        },
    )?;
    guildhall_store::rooms::clear_fallback_seat(tx, room, author)?;
    crate::rooms::append_if_changed(tx, now, actor, &before)
}

pub(crate) fn owner_is_member(db: &ReadTx<'_>, room: RoomId) -> Result<bool> {
    match installation::owner(db)? {
        Some(owner) => members::is_member(db, room, owner),
        None => Ok(false),
    }
}

fn existing(db: &ReadTx<'_>, room: RoomId, author: AuthorId) -> Result<Member> {
    Ok(members::find(db, room, author)?.ok_or(Refusal::NotFound(ResourceKind::Member))?)
}
