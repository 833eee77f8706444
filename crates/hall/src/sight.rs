//! Sight: which rooms a caller may know of, what of them it may read, and which files it may name.
//! An agent sees the rooms it belongs to, from its joining on; a person sees every room.

use guildhall_domain::{
    Refusal, Result,
    callers::{Caller, Identity},
    ids::RoomId,
    outcome::Thing,
    settings::FILES_PEOPLE,
};
use guildhall_store::{
    Rx, agents,
    members::Window,
    rooms::{self, Standing},
    settings,
};
use guildhall_world::confined::Reach;

/// A room the caller may know of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    /// How the caller stands to it.
    pub(crate) standing: Standing,
    /// Entries at or below this seq are hidden.
    pub(crate) floor: u64,
}

impl Sight {
    /// The caller's membership.
    ///
    /// # Errors
    /// [`Refusal::NotAMember`].
    pub(crate) fn member(&self) -> Result<Window, Refusal> {
        self.standing.window.ok_or(Refusal::NotAMember)
    }

    /// Holds every change back from an archived room, then from those who are no members.
    ///
    /// # Errors
    /// [`Refusal::RoomArchived`], [`Refusal::NotAMember`].
    pub(crate) fn writable(&self) -> Result<(), Refusal> {
        if self.standing.archived {
            return Err(Refusal::RoomArchived);
        }
        self.member().map(|_| ())
    }
}

/// The room, as far as the caller may see it.
///
/// # Errors
/// `NotFound` when there is no such room or this caller may not know of it: one answer.
pub(crate) fn room(db: &Rx<'_>, by: &Caller, id: RoomId) -> Result<Sight> {
    let missing = Refusal::NotFound(Thing::Room);
    let standing = rooms::standing(db, id, by.author)?.ok_or_else(|| missing.clone())?;
    match (by.is_human(), standing.window) {
        (true, _) => Ok(Sight { standing, floor: 0 }),
        (false, Some(window)) => Ok(Sight {
            standing,
            floor: window.joined_seq,
        }),
        (false, None) => Err(missing.into()),
    }
}

/// Which files the caller may name: the owner those beneath the roots, an agent those of its own
/// folder, and other people none, unless a setting opens the owner's to them.
///
/// # Errors
/// [`Refusal::OwnerOnly`] for other people; `NotFound` for an agent that is gone.
///
/// Source: contract 6.1.
pub(crate) fn reach(db: &Rx<'_>, by: &Caller) -> Result<Reach> {
    match by.identity {
        Identity::Owner => Ok(Reach::Roots),
        Identity::Person(_) => match settings::get(db, &FILES_PEOPLE)?.value.text() {
            "boundary" => Ok(Reach::Roots),
            _ => Err(Refusal::OwnerOnly.into()),
        },
        Identity::Agent(agent) => {
            let agent = agents::by_id(db, agent)?.ok_or(Refusal::NotFound(Thing::Agent))?;
            Ok(Reach::Folder(agent.cwd))
        }
    }
}
