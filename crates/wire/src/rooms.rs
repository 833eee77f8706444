//! Rooms on the wire. Source: spec, "Room"; contract 2.2.

use guildhall_domain::{
    Timestamp,
    ids::{AgentId, AuthorId, RoomId},
    rooms, turns,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    authors::AuthorSummary,
    members::Member,
    request_fields::{Fields, FromFields},
    turns::TurnState,
};

/// What kind of room it is.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoomKind {
    /// A named channel.
    Channel,
    /// A direct message.
    Dm,
}

impl From<rooms::RoomKind> for RoomKind {
    fn from(kind: rooms::RoomKind) -> Self {
        match kind {
            rooms::RoomKind::Channel => Self::Channel,
            rooms::RoomKind::Dm => Self::Dm,
        }
    }
}

impl From<RoomKind> for rooms::RoomKind {
    fn from(kind: RoomKind) -> Self {
        match kind {
            RoomKind::Channel => Self::Channel,
            RoomKind::Dm => Self::Dm,
        }
    }
}

/// The outside chat a room is joined to.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomBridge {
    /// `partial`, `full`, or `""` when not known.
    pub visibility: String,
    /// The outside chat's title.
    pub platform_title: String,
}

/// A room's own turn limits; null inherits the installation's.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitOverrides {
    /// Whether the room's limits count.
    #[schema(required = true)]
    pub turn_limits_enabled: Option<bool>,
    /// 0..100.
    #[schema(required = true)]
    pub max_agent_depth: Option<u32>,
    /// 1..100.
    #[schema(required = true)]
    pub max_turns_per_agent_per_cascade: Option<u32>,
    /// 0..10,000.
    #[schema(required = true)]
    pub max_auto_turns_per_hour: Option<u32>,
}

/// A room, as the caller sees it in the listing.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Room {
    /// UUIDv7.
    #[schema(value_type = String)]
    pub id: RoomId,
    /// Channel or direct message.
    pub kind: RoomKind,
    /// Unique among channels that are not archived; null for a direct message.
    #[schema(required = true)]
    pub slug: Option<String>,
    /// 1..200 characters.
    #[schema(example = "Team")]
    pub title: String,
    /// At most 500 characters; null when there is none.
    #[schema(required = true)]
    pub topic: Option<String>,
    /// Readable, not writable.
    pub archived: bool,
    /// How many unseen entries one agent turn is handed.
    pub ambient_max_entries: u32,
    /// `team` or null.
    #[schema(required = true)]
    pub well_known: Option<String>,
    /// The agent that answers when no other was named; `""` when none.
    pub fallback_seat_author_id: String,
    /// In force here.
    pub turn_limits_enabled: bool,
    /// In force here.
    pub max_agent_depth: u32,
    /// In force here.
    pub max_turns_per_agent_per_cascade: u32,
    /// In force here.
    pub max_auto_turns_per_hour: u32,
    /// The room's own limits.
    pub limit_overrides: LimitOverrides,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Time of its newest entry.
    #[schema(value_type = String, format = DateTime)]
    pub last_activity_at: Timestamp,
    /// Null: not bridged.
    #[schema(required = true)]
    pub bridge: Option<RoomBridge>,
    /// Unread posts of others; null when the caller is no member.
    #[schema(required = true)]
    pub unread_count: Option<u64>,
    /// Unread posts that name the caller; null when the caller is no member.
    #[schema(required = true)]
    pub mention_count: Option<u64>,
    /// Members of a direct message; null for channels.
    #[schema(required = true)]
    pub participants: Option<Vec<AuthorSummary>>,
    /// Agents with a running or waiting turn here.
    pub working: u64,
    /// The caller wrote at least one entry here.
    pub viewer_has_posted: bool,
}

/// A text, null where it says nothing.
fn or_null(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

impl From<rooms::RoomView> for Room {
    fn from(seen: rooms::RoomView) -> Self {
        let room = seen.room;
        Self {
            id: room.id,
            kind: room.kind.into(),
            slug: or_null(room.slug),
            title: room.title,
            topic: or_null(room.topic),
            archived: room.archived,
            ambient_max_entries: room.ambient_max_entries,
            well_known: or_null(room.well_known),
            fallback_seat_author_id: room
                .fallback_seat_author_id
                .map(|id| id.to_string())
                .unwrap_or_default(),
            turn_limits_enabled: room.turn_limits_enabled,
            max_agent_depth: room.max_agent_depth,
            max_turns_per_agent_per_cascade: room.max_turns_per_agent_per_cascade,
            max_auto_turns_per_hour: room.max_auto_turns_per_hour,
            limit_overrides: LimitOverrides {
                turn_limits_enabled: room.limit_overrides.turn_limits_enabled,
                max_agent_depth: room.limit_overrides.max_agent_depth,
                max_turns_per_agent_per_cascade: room
                    .limit_overrides
                    .max_turns_per_agent_per_cascade,
                max_auto_turns_per_hour: room.limit_overrides.max_auto_turns_per_hour,
            },
            created_at: room.created_at,
            last_activity_at: room.last_activity_at,
            bridge: room.bridge.map(|bridge| RoomBridge {
                visibility: bridge.visibility,
                platform_title: bridge.platform_title,
            }),
            unread_count: seen.unread_count,
            mention_count: seen.mention_count,
            participants: seen
                .participants
                .map(|people| people.into_iter().map(Into::into).collect()),
            working: seen.working,
            viewer_has_posted: seen.viewer_has_posted,
        }
    }
}

/// One outside community that could not contribute fully to a listing.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ListingWarning {
    /// Its id.
    pub community: String,
    /// Its name.
    pub label: String,
    /// What is wrong, in one sentence.
    pub message: String,
}

/// The rooms visible to the caller.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Rooms {
    /// Newest activity first.
    pub rooms: Vec<Room>,
    /// Empty until rooms can be bridged.
    pub warnings: Vec<ListingWarning>,
}

/// A turn that runs or waits for a person.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkingAgent {
    /// Who works.
    #[schema(value_type = String)]
    pub author_id: AuthorId,
    /// Its turn.
    pub turn_id: String,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Running or waiting.
    pub state: TurnState,
}

impl From<turns::Turn> for WorkingAgent {
    fn from(turn: turns::Turn) -> Self {
        Self {
            author_id: turn.agent_author_id,
            turn_id: turn.id.map(|id| id.to_string()).unwrap_or_default(),
            since: turn.started_at.unwrap_or(turn.created_at),
            state: turn.state.into(),
        }
    }
}

/// A room with its members.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomDetail {
    /// The room.
    #[serde(flatten)]
    pub room: Room,
    /// By joining.
    pub members: Vec<Member>,
    /// Authors who wrote here and are no members.
    pub former_authors: Vec<AuthorSummary>,
    /// The author the caller writes as.
    #[schema(value_type = String)]
    pub viewer_author_id: AuthorId,
    /// Whether the caller owns the installation.
    pub viewer_is_owner: bool,
    /// Null unless bridged.
    #[schema(required = true)]
    pub deliver_notices: Option<bool>,
    /// Agents with a running or waiting turn here.
    pub working_agents: Vec<WorkingAgent>,
}

impl From<rooms::RoomDetail> for RoomDetail {
    fn from(detail: rooms::RoomDetail) -> Self {
        Self {
            room: detail.seen.into(),
            members: detail.members.into_iter().map(Into::into).collect(),
            former_authors: detail.former_authors.into_iter().map(Into::into).collect(),
            viewer_author_id: detail.viewer_author_id,
            viewer_is_owner: detail.viewer_is_owner,
            deliver_notices: None,
            working_agents: detail.working.into_iter().map(Into::into).collect(),
        }
    }
}

/// Makes a room.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"kind": "channel", "title": "Release", "topic": "What ships next"}))]
pub struct CreateRoom {
    /// Channel or direct message.
    pub kind: RoomKind,
    /// 1..200 characters; a direct message without one follows its members' names.
    #[schema(nullable = false)]
    pub title: Option<String>,
    /// For a channel; made from the title when absent.
    #[schema(nullable = false)]
    pub slug: Option<String>,
    /// At most 500 characters.
    #[schema(nullable = false)]
    pub topic: Option<String>,
    /// Authors who become members beside the caller, at most 100.
    #[schema(required = false)]
    pub member_ids: Vec<String>,
    /// Agents that become members, at most 50.
    #[schema(required = false)]
    pub agent_ids: Vec<String>,
}

impl FromFields for CreateRoom {
    fn read(fields: &mut Fields) -> Self {
        Self {
            kind: fields
                .choice("kind", &rooms::RoomKind::WORDS, rooms::RoomKind::Channel)
                .into(),
            title: fields.maybe_text("title"),
            slug: fields.maybe_text("slug"),
            topic: fields.maybe_text("topic"),
            member_ids: fields.texts("memberIds"),
            agent_ids: fields.texts("agentIds"),
        }
    }
}

impl From<CreateRoom> for rooms::NewRoom {
    fn from(ask: CreateRoom) -> Self {
        Self {
            kind: ask.kind.into(),
            title: ask.title,
            slug: ask.slug,
            topic: ask.topic.unwrap_or_default(),
            member_ids: ask
                .member_ids
                .iter()
                .map(|id| AuthorId::named(id))
                .collect(),
            agent_ids: ask.agent_ids.iter().map(|id| AgentId::named(id)).collect(),
        }
    }
}

/// Changes a room; absent fields stay, null clears where a field says so.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"title": "Release", "topic": "What ships next"}))]
pub struct UpdateRoom {
    /// 1..200 characters; renaming a channel changes its slug.
    #[schema(nullable = false)]
    pub title: Option<String>,
    /// At most 500 characters; `""` or null clears.
    #[schema(value_type = Option<String>)]
    pub topic: Option<Option<String>>,
    /// Readable, not writable.
    #[schema(nullable = false)]
    pub archived: Option<bool>,
    /// 0..200.
    #[schema(nullable = false)]
    pub ambient_max_entries: Option<u32>,
    /// A member agent; `""` or null clears.
    #[schema(value_type = Option<String>)]
    pub fallback_seat_author_id: Option<Option<String>>,
    /// Only for bridged rooms.
    #[schema(value_type = Option<bool>)]
    pub deliver_notices: Option<Option<bool>>,
    /// Null inherits.
    #[schema(value_type = Option<bool>)]
    pub turn_limits_enabled: Option<Option<bool>>,
    /// 0..100; null inherits.
    #[schema(value_type = Option<u32>)]
    pub max_agent_depth: Option<Option<u32>>,
    /// 1..100; null inherits.
    #[schema(value_type = Option<u32>)]
    pub max_turns_per_agent_per_cascade: Option<Option<u32>>,
    /// 0..10,000; null inherits.
    #[schema(value_type = Option<u32>)]
    pub max_auto_turns_per_hour: Option<Option<u32>>,
}

impl FromFields for UpdateRoom {
    fn read(fields: &mut Fields) -> Self {
        Self {
            title: fields.maybe_text("title"),
            topic: fields.patch_text("topic"),
            archived: fields.maybe_flag("archived"),
            ambient_max_entries: fields.maybe_number("ambientMaxEntries"),
            fallback_seat_author_id: fields.patch_text("fallbackSeatAuthorId"),
            deliver_notices: fields.patch_flag("deliverNotices"),
            turn_limits_enabled: fields.patch_flag("turnLimitsEnabled"),
            max_agent_depth: fields.patch_number("maxAgentDepth"),
            max_turns_per_agent_per_cascade: fields.patch_number("maxTurnsPerAgentPerCascade"),
            max_auto_turns_per_hour: fields.patch_number("maxAutoTurnsPerHour"),
        }
    }
}

impl From<UpdateRoom> for rooms::RoomPatch {
    fn from(ask: UpdateRoom) -> Self {
        Self {
            title: ask.title,
            topic: ask.topic.map(Option::unwrap_or_default),
            archived: ask.archived,
            ambient_max_entries: ask.ambient_max_entries,
            fallback_seat_author_id: ask
                .fallback_seat_author_id
                .map(|seat| seat.map(|id| AuthorId::named(&id))),
            deliver_notices: ask.deliver_notices.is_some(),
            turn_limits_enabled: ask.turn_limits_enabled,
            max_agent_depth: ask.max_agent_depth,
            max_turns_per_agent_per_cascade: ask.max_turns_per_agent_per_cascade,
            max_auto_turns_per_hour: ask.max_auto_turns_per_hour,
        }
    }
}
