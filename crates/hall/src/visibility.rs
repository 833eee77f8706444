//! Sight: which rooms and sessions a caller may know of, what of them it may read, and which files
//! it may name.
//! An agent sees the rooms it belongs to, from its joining on, and its own sessions; a person sees
//! every room and session.

use guildhall_domain::{
    Refusal, Result,
    callers::{Caller, Identity},
    canvas::CanvasScope,
    errors::ResourceKind,
    ids::{RoomId, SessionId},
    sessions::Session,
    settings::FILES_PEOPLE,
};
use guildhall_store::{
    ReadTx, agents,
    members::MembershipWindow,
    rooms::{self, RoomAccessRow},
    sessions, settings,
};
use guildhall_world::confined_fs::FileScope;

/// A room the caller may know of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoomAccess {
    /// How the caller stands to it.
    pub(crate) standing: RoomAccessRow,
    /// Entries at or below this seq are hidden.
    pub(crate) floor: u64,
}

impl RoomAccess {
    /// The caller's membership.
    ///
    /// # Errors
    /// [`Refusal::NotAMember`].
    pub(crate) fn require_member(&self) -> Result<MembershipWindow, Refusal> {
        self.standing.window.ok_or(Refusal::NotAMember)
    }

    /// Holds every change back from an archived room, then from those who are no members.
    ///
    /// # Errors
    /// [`Refusal::RoomArchived`], [`Refusal::NotAMember`].
    pub(crate) fn require_writable(&self) -> Result<(), Refusal> {
        if self.standing.archived {
            return Err(Refusal::RoomArchived);
        }
        self.require_member().map(|_| ())
    }
}

/// The room, as far as the caller may see it.
///
/// # Errors
/// `NotFound` when there is no such room or this caller may not know of it: one answer.
pub(crate) fn room(db: &ReadTx<'_>, by: &Caller, id: RoomId) -> Result<RoomAccess> {
    let missing = Refusal::NotFound(ResourceKind::Room);
    let standing = rooms::access(db, id, by.author)?.ok_or_else(|| missing.clone())?;
    match (by.is_human(), standing.window) {
        (true, _) => Ok(RoomAccess { standing, floor: 0 }),
        (false, Some(window)) => Ok(RoomAccess {
            standing,
            floor: window.joined_seq,
        }),
        (false, None) => Err(missing.into()),
    }
}

/// The session, as far as the caller may know of it.
///
/// # Errors
/// `NotFound` when there is no such session or this caller may not know of it: one answer.
pub(crate) fn session(db: &ReadTx<'_>, by: &Caller, id: SessionId) -> Result<Session> {
    let found = sessions::by_id(db, id)?.filter(|session| match by.identity {
        Identity::Owner | Identity::Person(_) => true,
        Identity::Agent(agent) => session.agent_id == agent,
    });
    Ok(found.ok_or(Refusal::NotFound(ResourceKind::Session))?)
}

/// A canvas the caller may know of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CanvasAccess {
    /// A room's.
    Room(RoomAccess),
    /// A session's.
    Session,
}

impl CanvasAccess {
    /// Holds every change back that the room does; a session, which has neither members nor an
    /// archive, holds back none.
    ///
    /// # Errors
    /// Those of [`RoomAccess::require_writable`].
    pub(crate) fn require_writable(&self) -> Result<(), Refusal> {
        match self {
            Self::Room(sight) => sight.require_writable(),
            Self::Session => Ok(()),
        }
    }
}

/// The canvas of a room or session, as far as the caller may see it.
///
/// # Errors
/// Those of [`room`] or [`session`].
///
/// Source: contract 2.5: a session's is for people and the session's own agent.
pub(crate) fn canvas(db: &ReadTx<'_>, by: &Caller, scope: CanvasScope) -> Result<CanvasAccess> {
    match scope {
        CanvasScope::Room(id) => room(db, by, id).map(CanvasAccess::Room),
        CanvasScope::Session(id) => session(db, by, id).map(|_| CanvasAccess::Session),
    }
}

/// Which files the caller may name: the owner those beneath the roots, an agent those of its own
/// folder, and other people none, unless a setting opens the owner's to them.
///
/// # Errors
/// [`Refusal::OwnerOnly`] for other people; `NotFound` for an agent that is gone.
///
/// Source: contract 6.1.
pub(crate) fn file_scope(db: &ReadTx<'_>, by: &Caller) -> Result<FileScope> {
    scope_within(db, by, FileScope::Roots, FileScope::Folder)
}

/// Whether the caller may name any file at all, however far it reaches.
///
/// # Errors
/// [`Refusal::OwnerOnly`] for other people, unless the owner's files are opened to them.
pub(crate) fn require_file_access(db: &ReadTx<'_>, by: &Caller) -> Result<()> {
    let is_closed = match by.identity {
        Identity::Owner | Identity::Agent(_) => false,
        Identity::Person(_) => settings::get(db, &FILES_PEOPLE)?.value.text() != "boundary",
    };
    match is_closed {
        true => Err(Refusal::OwnerOnly.into()),
        false => Ok(()),
    }
}

/// Which folders the caller may look into: the owner those of home, an agent its own and what
/// lies in it, wherever that is.
///
/// # Errors
/// As [`file_scope`].
pub(crate) fn directory_scope(db: &ReadTx<'_>, by: &Caller) -> Result<FileScope> {
    scope_within(db, by, FileScope::Home, FileScope::Own)
}

/// Where the caller may make a folder: the owner in home, an agent in its own folder while that
/// lies in home.
///
/// # Errors
/// As [`file_scope`].
pub(crate) fn new_folder_scope(db: &ReadTx<'_>, by: &Caller) -> Result<FileScope> {
    scope_within(db, by, FileScope::Home, FileScope::FolderAtHome)
}

/// `boundary` for the owner and those it is opened to, for an agent what `own` makes of its
/// folder.
fn scope_within(
    db: &ReadTx<'_>,
    by: &Caller,
    boundary: FileScope,
    own: fn(String) -> FileScope,
) -> Result<FileScope> {
    require_file_access(db, by)?;
    match by.identity {
        Identity::Owner | Identity::Person(_) => Ok(boundary),
        Identity::Agent(agent) => {
            let agent = agents::by_id(db, agent)?.ok_or(Refusal::NotFound(ResourceKind::Agent))?;
            Ok(own(agent.cwd))
        }
    }
}
