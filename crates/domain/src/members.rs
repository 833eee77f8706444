//! Members: who belongs to a room, since when, and how an agent answers there.
//! Pure: rows are `store::members`, deeds are `hall::members`.

use serde::{Deserialize, Serialize};

use crate::{
    Refusal, Timestamp,
    agents::ResponseMode,
    authors::{AuthorKind, Handle, empty_as_none},
    ids::{AgentId, AuthorId, RoomId},
    rooms::RoomKind,
};

/// An author without `retired`. Source: spec, "author summary".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthorSummary {
    /// Its id.
    pub id: AuthorId,
    /// Person, agent or system.
    pub kind: AuthorKind,
    /// A label.
    pub display_name: String,
    /// One emoji or `""`.
    pub emoji: String,
    /// `#rrggbb` or `""`.
    pub color: String,
    /// An address or `""`.
    pub image_url: String,
    /// The agent behind an agent author.
    #[serde(with = "empty_as_none")]
    pub agent_ref: Option<AgentId>,
    /// Its handle.
    #[serde(with = "empty_as_none")]
    pub handle: Option<Handle>,
}

impl From<crate::authors::Author> for AuthorSummary {
    fn from(author: crate::authors::Author) -> Self {
        Self {
            id: author.id,
            kind: author.kind,
            display_name: author.display_name,
            emoji: author.emoji,
            color: author.color,
            image_url: author.image_url,
            agent_ref: author.agent_ref,
            handle: author.handle,
        }
    }
}

/// Where a member comes from; bridges add platforms later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberOrigin {
    /// An author of this installation.
    Local,
}

/// A member of a room, as the interface shows it. Source: contract 2.2, "Members".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// The room.
    pub room_id: RoomId,
    /// The author who belongs to it.
    pub author_id: AuthorId,
    /// That author, for show.
    pub author: AuthorSummary,
    /// When an agent answers here; inert for people.
    pub response_mode: ResponseMode,
    /// When it joined.
    pub joined_at: Timestamp,
    /// The room's newest entry when it joined.
    pub joined_seq: u64,
    /// Its read cursor.
    pub last_read_seq: u64,
    /// Where it comes from.
    pub origin: MemberOrigin,
}

/// The mode a new member gets when none is asked for.
///
/// `own` is the agent's own mode, `None` for people.
///
/// Source: contract 2.2, "Members".
pub fn default_response_mode(kind: RoomKind, own: Option<ResponseMode>) -> ResponseMode {
    match (kind, own) {
        (RoomKind::Channel, Some(mode)) => mode,
        (RoomKind::Channel, None) => ResponseMode::Engaged,
        (RoomKind::Dm, _) => ResponseMode::Always,
    }
}

/// Whether a room may hold these members: with two or more agents, and in every room an
/// agent made, the owner must be present.
///
/// # Errors
/// [`Refusal::OwnerMustBePresent`].
///
/// Source: contract 2.2, "Rules".
pub fn owner_present(
    agents: u64,
    owner_is_member: bool,
    made_by_agent: bool,
) -> Result<(), Refusal> {
    if (agents >= 2 || made_by_agent) && !owner_is_member {
        Err(Refusal::OwnerMustBePresent)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_agents_never_meet_without_the_owner() {
        for (agents, owner, made_by_agent, allowed) in [
            (0, false, false, true),
            (1, false, false, true),
            (2, false, false, false),
            (2, true, false, true),
            (1, false, true, false),
            (1, true, true, true),
        ] {
            assert_eq!(owner_present(agents, owner, made_by_agent).is_ok(), allowed);
        }
    }

    #[test]
    fn a_new_member_answers_as_its_room_and_agent_say() {
        use ResponseMode::{Always, Engaged, Silent};
        for (kind, own, expected) in [
            (RoomKind::Channel, Some(Silent), Silent),
            (RoomKind::Channel, None, Engaged),
            (RoomKind::Dm, Some(Silent), Always),
            (RoomKind::Dm, None, Always),
        ] {
            assert_eq!(default_response_mode(kind, own), expected);
        }
    }
}
