//! Members of rooms on the wire. Source: contract 2.2, "Members".

use guildhall_domain::{
    Timestamp, agents,
    ids::{AuthorId, RoomId},
    members,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    authors::AuthorSummary,
    request_fields::{Fields, FromFields},
};

/// When an agent answers.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResponseMode {
    /// Every post.
    Always,
    /// When named, and for a while after.
    Engaged,
    /// In a direct message, or when named.
    DirectOnly,
    /// When named.
    MentionOnly,
    /// Never.
    Silent,
}

impl From<agents::ResponseMode> for ResponseMode {
    fn from(mode: agents::ResponseMode) -> Self {
        match mode {
            agents::ResponseMode::Always => Self::Always,
            agents::ResponseMode::Engaged => Self::Engaged,
            agents::ResponseMode::DirectOnly => Self::DirectOnly,
            agents::ResponseMode::MentionOnly => Self::MentionOnly,
            agents::ResponseMode::Silent => Self::Silent,
        }
    }
}

impl From<ResponseMode> for agents::ResponseMode {
    fn from(mode: ResponseMode) -> Self {
        match mode {
            ResponseMode::Always => Self::Always,
            ResponseMode::Engaged => Self::Engaged,
            ResponseMode::DirectOnly => Self::DirectOnly,
            ResponseMode::MentionOnly => Self::MentionOnly,
            ResponseMode::Silent => Self::Silent,
        }
    }
}

/// Reads a response mode.
pub(crate) fn maybe_mode(fields: &mut Fields) -> Option<ResponseMode> {
    fields
        .maybe_choice("responseMode", &agents::ResponseMode::WORDS)
        .map(Into::into)
}

/// Where a member comes from.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemberOrigin {
    /// An author of this installation.
    Local,
}

/// A member of a room.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// The room.
    #[schema(value_type = String)]
    pub room_id: RoomId,
    /// Who belongs to it.
    #[schema(value_type = String)]
    pub author_id: AuthorId,
    /// The same, for show.
    pub author: AuthorSummary,
    /// When an agent answers here; inert for people.
    pub response_mode: ResponseMode,
    /// When it joined.
    #[schema(value_type = String, format = DateTime)]
    pub joined_at: Timestamp,
    /// The newest entry when it joined.
    pub joined_seq: u64,
    /// Its read cursor.
    pub last_read_seq: u64,
    /// Where it comes from.
    pub origin: MemberOrigin,
}

impl From<members::Member> for Member {
    fn from(member: members::Member) -> Self {
        Self {
            room_id: member.room_id,
            author_id: member.author_id,
            author: member.author.into(),
            response_mode: member.response_mode.into(),
            joined_at: member.joined_at,
            joined_seq: member.joined_seq,
            last_read_seq: member.last_read_seq,
            origin: match member.origin {
                members::MemberOrigin::Local => MemberOrigin::Local,
            },
        }
    }
}

/// A room's members.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Members {
    /// By joining.
    pub members: Vec<Member>,
}

/// Adds a member: exactly one of `authorId` and `agentId`.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"agentId": "01a1fe26-ce7a-77e6-9c51-69b26c991bbe", "responseMode": "engaged"}))]
pub struct AddMember {
    /// The author to add.
    #[schema(nullable = false)]
    pub author_id: Option<String>,
    /// The agent to add.
    #[schema(nullable = false)]
    pub agent_id: Option<String>,
    /// When an agent answers here; its own mode in a channel, `always` in a direct message.
    #[schema(nullable = false)]
    pub response_mode: Option<ResponseMode>,
}

impl FromFields for AddMember {
    fn read(fields: &mut Fields) -> Self {
        let ask = Self {
            author_id: fields.maybe_text("authorId"),
            agent_id: fields.maybe_text("agentId"),
            response_mode: maybe_mode(fields),
        };
        if ask.author_id.is_some() == ask.agent_id.is_some() {
            fields.fail("name either an authorId or an agentId");
        }
        ask
    }
}

/// Changes a member.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateMember {
    /// When an agent answers here.
    pub response_mode: ResponseMode,
}

impl FromFields for UpdateMember {
    fn read(fields: &mut Fields) -> Self {
        let words = &agents::ResponseMode::WORDS;
        let mode = fields.choice("responseMode", words, agents::ResponseMode::Engaged);
        Self {
            response_mode: mode.into(),
        }
    }
}
