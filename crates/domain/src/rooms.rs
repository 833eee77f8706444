//! Rooms: channels and direct messages, their names and limits.
//! Pure: rows are `store::rooms`, deeds are `hall::rooms`.

use serde::{Deserialize, Serialize};

use crate::{
    Refusal, Timestamp,
    authors::{empty_as_none, null_as_empty},
    field_validation::FieldValidator,
    ids::{AgentId, AuthorId, RoomId},
    limits,
    members::{AuthorSummary, Member},
};

/// What kind of room it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RoomKind {
    /// A named channel.
    Channel,
    /// A direct message.
    Dm,
}

impl RoomKind {
    /// Every kind with its word.
    pub const WORDS: [(Self, &str); 2] = [(Self::Channel, "channel"), (Self::Dm, "dm")];
}

/// The slug and `wellKnown` word of the room every installation has.
pub const TEAM: &str = "team";

/// The four turn limits in force. Source: contract 2.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnLimits {
    /// Whether the room's limits count at all.
    pub turn_limits_enabled: bool,
    /// How deep automatic replies may go, 0..100.
    pub max_agent_depth: u32,
    /// Turns of one agent in one cascade, 1..100.
    pub max_turns_per_agent_per_cascade: u32,
    /// Automatic turns in an hour, 0..10,000.
    pub max_auto_turns_per_hour: u32,
}

/// The installation's limits, until a setting says otherwise. Source: contract 2.9.
pub const TURN_LIMITS_DEFAULT: TurnLimits = TurnLimits {
    turn_limits_enabled: true,
    max_agent_depth: 30,
    max_turns_per_agent_per_cascade: 10,
    max_auto_turns_per_hour: 1_000,
};

/// A room's own turn limits; `None` inherits the installation's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitOverrides {
    /// See [`TurnLimits::turn_limits_enabled`].
    pub turn_limits_enabled: Option<bool>,
    /// See [`TurnLimits::max_agent_depth`].
    pub max_agent_depth: Option<u32>,
    /// See [`TurnLimits::max_turns_per_agent_per_cascade`].
    pub max_turns_per_agent_per_cascade: Option<u32>,
    /// See [`TurnLimits::max_auto_turns_per_hour`].
    pub max_auto_turns_per_hour: Option<u32>,
}

impl LimitOverrides {
    /// The limits in force above the installation's `base`.
    pub fn over(&self, base: &TurnLimits) -> TurnLimits {
        TurnLimits {
            turn_limits_enabled: self.turn_limits_enabled.unwrap_or(base.turn_limits_enabled),
            max_agent_depth: self.max_agent_depth.unwrap_or(base.max_agent_depth),
            max_turns_per_agent_per_cascade: self
                .max_turns_per_agent_per_cascade
                .unwrap_or(base.max_turns_per_agent_per_cascade),
            max_auto_turns_per_hour: self
                .max_auto_turns_per_hour
                .unwrap_or(base.max_auto_turns_per_hour),
        }
    }
}

/// A room without anything that depends on who looks; the form events carry.
///
/// Source: spec, "Room"; contract 2.2 and 2.10.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Room {
    /// Its id.
    pub id: RoomId,
    /// Channel or direct message.
    pub kind: RoomKind,
    /// Unique among channels that are not archived; `""`, written as null, for a direct message.
    #[serde(with = "null_as_empty")]
    pub slug: String,
    /// 1..200 characters; of a direct message without one, its members' names.
    pub title: String,
    /// At most 500 characters; `""` is written as null.
    #[serde(with = "null_as_empty")]
    pub topic: String,
    /// Readable, not writable.
    pub archived: bool,
    /// How many unseen entries one agent turn is handed.
    pub ambient_max_entries: u32,
    /// `team`, or `""`, which is written as null.
    #[serde(with = "null_as_empty")]
    pub well_known: String,
    /// The agent that answers a post which addresses no other agent.
    #[serde(with = "empty_as_none")]
    pub fallback_seat_author_id: Option<AuthorId>,
    /// In force: the room's own, else the installation's.
    pub turn_limits_enabled: bool,
    /// In force.
    pub max_agent_depth: u32,
    /// In force.
    pub max_turns_per_agent_per_cascade: u32,
    /// In force.
    pub max_auto_turns_per_hour: u32,
    /// The room's own limits.
    pub limit_overrides: LimitOverrides,
    /// When it was made.
    pub created_at: Timestamp,
    /// Time of its newest entry, at birth of its making.
    pub last_activity_at: Timestamp,
    /// Always `null` until rooms can be bridged.
    pub bridge: Option<RoomBridge>,
}

/// The outside chat a room is joined to; no room is until bridges come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomBridge {
    /// How much of the outside chat the bridge sees.
    pub visibility: String,
    /// The outside chat's title.
    pub platform_title: String,
}

/// A room as one caller sees it in the listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomView {
    /// The room.
    pub room: Room,
    /// Unread posts of others; `None` when the caller is no member.
    pub unread_count: Option<u64>,
    /// Unread posts of others that name the caller; `None` when the caller is no member.
    pub mention_count: Option<u64>,
    /// Members of a direct message by joining; `None` for channels.
    pub participants: Option<Vec<AuthorSummary>>,
    /// Agents with a running or waiting turn here.
    pub working: u64,
    /// Whether the caller wrote at least one entry here.
    pub viewer_has_posted: bool,
}

/// A room with its members, as one caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomDetail {
    /// The listing's view.
    pub seen: RoomView,
    /// Its members by joining.
    pub members: Vec<Member>,
    /// Authors who wrote here and are no members.
    pub former_authors: Vec<AuthorSummary>,
    /// The author the caller writes as.
    pub viewer_author_id: AuthorId,
    /// Whether the caller owns the installation.
    pub viewer_is_owner: bool,
    /// How often its stored fields changed; the entity tag.
    pub rev: u64,
    /// The turns that run or wait here.
    pub working: Vec<crate::turns::Turn>,
}

/// A new room, as asked for.
#[derive(Clone, Debug)]
pub struct NewRoom {
    /// Channel or direct message.
    pub kind: RoomKind,
    /// 1..200 characters.
    pub title: Option<String>,
    /// For a channel; made from the title when absent.
    pub slug: Option<String>,
    /// At most 500 characters.
    pub topic: String,
    /// Further members.
    pub member_ids: Vec<AuthorId>,
    /// Agents to make members.
    pub agent_ids: Vec<AgentId>,
}

impl NewRoom {
    /// Checks the shape of every field.
    ///
    /// # Errors
    /// [`Refusal::Validation`] with all fields that are wrong.
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        if let Some(title) = &self.title {
            check_title(&mut check, title);
        }
        let alone = self.member_ids.is_empty() && self.agent_ids.is_empty();
        match self.kind {
            RoomKind::Channel if self.title.is_none() && self.slug.is_none() => {
                check.fail("title", "a channel needs a title or a slug");
            }
            RoomKind::Dm if self.title.is_none() && alone => {
                check.fail("title", "a direct message needs members or a title");
            }
            RoomKind::Dm if self.slug.as_ref().is_some_and(|slug| !slug.is_empty()) => {
                check.fail("slug", "only channels have a slug");
            }
            RoomKind::Channel | RoomKind::Dm => {}
        }
        check_topic(&mut check, &self.topic);
        if self.member_ids.len() > limits::ROOM_MEMBER_IDS_MAX {
            check.fail(
                "memberIds",
                format!("at most {}", limits::ROOM_MEMBER_IDS_MAX),
            );
        }
        if self.agent_ids.len() > limits::ROOM_AGENT_IDS_MAX {
            check.fail(
                "agentIds",
                format!("at most {}", limits::ROOM_AGENT_IDS_MAX),
            );
        }
        check.finish()
    }

    /// The slug and title the room gets; `title` is `None` when it follows the members' names.
    ///
    /// # Errors
    /// [`Refusal::InvalidSlug`] when the given slug breaks the grammar or none can be made.
    pub fn naming(&self) -> Result<RoomName, Refusal> {
        let title = self.title.as_ref().map(|title| title.trim().to_owned());
        match self.kind {
            RoomKind::Dm => Ok(RoomName {
                slug: String::new(),
                title,
            }),
            RoomKind::Channel => {
                let slug = match &self.slug {
                    Some(slug) => slug_given(slug)?,
                    None => slug_from_title(title.as_deref().unwrap_or_default())?,
                };
                let title = title.unwrap_or_else(|| format!("#{slug}"));
                Ok(RoomName {
                    slug,
                    title: Some(title),
                })
            }
        }
    }
}

/// What a room is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomName {
    /// `""` for a direct message.
    pub slug: String,
    /// `None` when the title follows the members' names.
    pub title: Option<String>,
}

/// The changes the owner may make to a room; the outer `None` leaves, the inner one clears.
#[derive(Clone, Debug, Default)]
pub struct RoomPatch {
    /// 1..200 characters; renaming a channel changes its slug.
    pub title: Option<String>,
    /// At most 500 characters.
    pub topic: Option<String>,
    /// Whether it is archived.
    pub archived: Option<bool>,
    /// 0..200.
    pub ambient_max_entries: Option<u32>,
    /// A member agent; clearing falls back to the default.
    pub fallback_seat_author_id: Option<Option<AuthorId>>,
    /// Whether the caller asked to change the delivery of notices, which only bridged rooms have.
    pub deliver_notices: bool,
    /// `Some(None)` inherits.
    pub turn_limits_enabled: Option<Option<bool>>,
    /// `Some(None)` inherits.
    pub max_agent_depth: Option<Option<u32>>,
    /// `Some(None)` inherits.
    pub max_turns_per_agent_per_cascade: Option<Option<u32>>,
    /// `Some(None)` inherits.
    pub max_auto_turns_per_hour: Option<Option<u32>>,
}

impl RoomPatch {
    /// Checks the shape of every given field.
    ///
    /// # Errors
    /// [`Refusal::Validation`] with all fields that are wrong.
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        if let Some(title) = &self.title {
            check_title(&mut check, title);
        }
        if let Some(topic) = &self.topic {
            check_topic(&mut check, topic);
        }
        let numbers = [
            (
                "ambientMaxEntries",
                self.ambient_max_entries.map(Some),
                limits::AMBIENT_ENTRIES,
            ),
            ("maxAgentDepth", self.max_agent_depth, limits::AGENT_DEPTH),
            (
                "maxTurnsPerAgentPerCascade",
                self.max_turns_per_agent_per_cascade,
                limits::TURNS_PER_CASCADE,
            ),
            (
                "maxAutoTurnsPerHour",
                self.max_auto_turns_per_hour,
                limits::AUTO_TURNS_PER_HOUR,
            ),
        ];
        for (field, number, range) in numbers {
            if let Some(Some(number)) = number {
                check.number(field, number, &range);
            }
        }
        check.finish()
    }

    /// The room's own limits after the change.
    pub fn overrides(&self, old: &LimitOverrides) -> LimitOverrides {
        LimitOverrides {
            turn_limits_enabled: self.turn_limits_enabled.unwrap_or(old.turn_limits_enabled),
            max_agent_depth: self.max_agent_depth.unwrap_or(old.max_agent_depth),
            max_turns_per_agent_per_cascade: self
                .max_turns_per_agent_per_cascade
                .unwrap_or(old.max_turns_per_agent_per_cascade),
            max_auto_turns_per_hour: self
                .max_auto_turns_per_hour
                .unwrap_or(old.max_auto_turns_per_hour),
        }
    }
}

/// Makes a channel's slug from its title: lower case, other characters as `-`.
///
/// # Errors
/// [`Refusal::InvalidSlug`] when nothing legal is left.
///
/// Source: contract 2.2, "Rules".
pub fn slug_from_title(title: &str) -> Result<String, Refusal> {
    let mut slug = String::new();
    for c in title.trim().trim_start_matches('#').to_lowercase().chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug: String = slug.chars().take(limits::SLUG_CHARS_MAX).collect();
    slug_given(slug.trim_end_matches('-'))
}

fn slug_given(slug: &str) -> Result<String, Refusal> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let grammatical = !slug.is_empty()
        && slug.len() <= limits::SLUG_CHARS_MAX
        && !slug.starts_with('-')
        && slug.chars().all(legal);
    if grammatical {
        Ok(slug.to_owned())
    } else {
        Err(Refusal::InvalidSlug)
    }
}

fn check_title(check: &mut FieldValidator, title: &str) {
    let range = limits::ROOM_TITLE_CHARS;
    check.chars("title", title.trim(), *range.start(), *range.end());
    check.one_line("title", title);
}

fn check_topic(check: &mut FieldValidator, topic: &str) {
    check.chars("topic", topic, 0, limits::ROOM_TOPIC_CHARS_MAX);
    check.no_null("topic", topic);
}

/// The title of a direct message nobody named: its members' names in joining order,
/// cut to the longest title there is.
pub fn title_from_members<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let joined = names.collect::<Vec<_>>().join(", ");
    joined
        .chars()
        .take(*limits::ROOM_TITLE_CHARS.end())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(title: Option<&str>, slug: Option<&str>) -> NewRoom {
        NewRoom {
            kind: RoomKind::Channel,
            title: title.map(str::to_owned),
            slug: slug.map(str::to_owned),
            topic: String::new(),
            member_ids: Vec::new(),
            agent_ids: Vec::new(),
        }
    }

    #[test]
    fn texts_that_say_nothing_are_null_and_are_read_as_they_were_stored_before() {
        let id = "0192f0c1-2d3e-7abc-8def-0123456789ab";
        let stored = serde_json::json!({
            "id": id, "kind": "dm", "slug": "", "title": "Ada", "topic": "", "archived": false,
            "ambientMaxEntries": 30, "wellKnown": "", "fallbackSeatAuthorId": "",
            "turnLimitsEnabled": true, "maxAgentDepth": 30, "maxTurnsPerAgentPerCascade": 10,
            "maxAutoTurnsPerHour": 1000, "createdAt": "2026-09-21T14:13:20.000Z",
            "lastActivityAt": "2026-09-21T14:13:20.000Z", "bridge": null,
            "limitOverrides": {"turnLimitsEnabled": null, "maxAgentDepth": null,
                "maxTurnsPerAgentPerCascade": null, "maxAutoTurnsPerHour": null},
        });
        let mut expected = stored.clone();
        let room: Room = serde_json::from_value(stored).unwrap();
        for member in ["slug", "topic", "wellKnown"] {
            expected[member] = serde_json::Value::Null;
        }
        assert_eq!(serde_json::to_value(&room).unwrap(), expected);
        assert_eq!(serde_json::from_value::<Room>(expected).unwrap(), room);
    }

    #[test]
    fn a_channel_gets_its_slug_from_the_ask_or_its_title() {
        let named = |slug: &str, title: &str| {
            Ok(RoomName {
                slug: slug.to_owned(),
                title: Some(title.to_owned()),
            })
        };
        for (title, slug, expected) in [
            (
                Some("Release  Train!"),
                None,
                named("release-train", "Release  Train!"),
            ),
            (Some("#ops"), None, named("ops", "#ops")),
            (None, Some("ops"), named("ops", "#ops")),
            (
                Some("Ops"),
                Some("night-shift"),
                named("night-shift", "Ops"),
            ),
            (Some("日本"), None, Err(Refusal::InvalidSlug)),
            (Some("Ops"), Some("-ops"), Err(Refusal::InvalidSlug)),
            (Some("Ops"), Some("Ops"), Err(Refusal::InvalidSlug)),
            (Some("Ops"), Some(""), Err(Refusal::InvalidSlug)),
        ] {
            assert_eq!(
                channel(title, slug).naming(),
                expected,
                "{title:?} {slug:?}"
            );
        }
        assert_eq!(
            slug_from_title(&"a".repeat(200)).unwrap().len(),
            limits::SLUG_CHARS_MAX
        );
    }

    #[test]
    fn everything_wrong_with_a_patch_is_answered_at_once() {
        let patch = RoomPatch {
            title: Some("  ".to_owned()),
            ambient_max_entries: Some(201),
            max_agent_depth: Some(Some(101)),
            max_turns_per_agent_per_cascade: Some(Some(0)),
            max_auto_turns_per_hour: Some(None),
            ..RoomPatch::default()
        };
        let Err(Refusal::Validation(invalid)) = patch.check() else {
            panic!("must be refused")
        };
        assert_eq!(
            invalid
                .field_errors
                .keys()
                .map(String::as_str)
                .collect::<Vec<_>>(),
            [
                "ambientMaxEntries",
                "maxAgentDepth",
                "maxTurnsPerAgentPerCascade",
                "title"
            ],
        );
    }

    #[test]
    fn a_rooms_own_limits_come_before_the_installations() {
        let overrides = LimitOverrides {
            max_agent_depth: Some(0),
            ..LimitOverrides::default()
        };
        let limits = overrides.over(&TURN_LIMITS_DEFAULT);
        assert_eq!(limits.max_agent_depth, 0);
        assert_eq!(
            limits.max_auto_turns_per_hour,
            TURN_LIMITS_DEFAULT.max_auto_turns_per_hour
        );
    }
}
