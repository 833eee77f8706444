//! `guildhall rooms`.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{
    cli_context::{Desk, name_of, room_name},
    common_args::{self, IfMatch, Once, Switch},
    events,
    failure::Failure,
    output::{Cell, View},
    request_bodies::{changes, given},
    request_target::Target,
    room_export, turns,
};

/// What can be done with rooms.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the rooms you can see, newest activity first
    #[command(after_help = "Example:\n  guildhall rooms list --kind channel")]
    List(List),
    /// Shows a room with its members
    #[command(after_help = "Example:\n  guildhall rooms show ops")]
    Show(common_args::Room),
    /// Makes a channel or a direct message
    #[command(
        after_help = "Examples:\n  guildhall rooms create Operations --slug ops\n  guildhall rooms create --dm --member ada"
    )]
    Create(Create),
    /// Changes a room
    #[command(
        after_help = "Example:\n  guildhall rooms update ops --topic 'What runs, and why not'"
    )]
    Update(Update),
    /// Makes a room readable only
    #[command(after_help = "Example:\n  guildhall rooms archive ops")]
    Archive(Archive),
    /// Makes an archived room writable again
    #[command(after_help = "Example:\n  guildhall rooms restore ops")]
    Restore(Archive),
    /// Follows what happens in one room; it begins with the room as it is
    #[command(after_help = "Example:\n  guildhall rooms events ops --jsonl")]
    Events(RoomEvents),
    /// Writes a whole room as lines of JSON, and checks that they are whole
    #[command(after_help = "Example:\n  guildhall rooms export ops --out ops.jsonl")]
    Export(room_export::Ask),
    /// Stops every agent in a room; what they write later is not taken
    #[command(after_help = "Example:\n  guildhall rooms halt ops")]
    Halt(Halt),
    /// Lists the sessions in which the room's turns run
    #[command(after_help = "Example:\n  guildhall rooms sessions ops")]
    Sessions(common_args::Room),
}

/// A room whose agents shall stop.
#[derive(Clone, Debug, Args)]
pub(crate) struct Halt {
    #[command(flatten)]
    room: common_args::Room,
    #[command(flatten)]
    once: Once,
}

/// Which rooms to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct List {
    /// Only channels or only direct messages
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// Archived rooms too
    #[arg(long)]
    include_archived: bool,
}

/// What kind of room.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// A channel.
    Channel,
    /// A direct message.
    Dm,
}

/// A new room.
#[derive(Clone, Debug, Args)]
pub(crate) struct Create {
    /// Its title; a direct message without one follows its members' names
    title: Option<String>,
    /// Make a direct message, or find the one with exactly these members
    #[arg(long)]
    dm: bool,
    /// A channel's slug [default: made from the title]
    #[arg(long)]
    slug: Option<String>,
    /// What it is for
    #[arg(long)]
    topic: Option<String>,
    /// An author who becomes a member; may be given more than once
    #[arg(long = "member", value_name = "AUTHOR")]
    members: Vec<String>,
    /// An agent that becomes a member; may be given more than once
    #[arg(long = "agent", value_name = "AGENT")]
    agents: Vec<String>,
    #[command(flatten)]
    once: Once,
}

/// A room and what becomes of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    room: common_args::Room,
    #[command(flatten)]
    change: Change,
    #[command(flatten)]
    if_match: IfMatch,
}

/// A room that is archived or restored.
#[derive(Clone, Debug, Args)]
pub(crate) struct Archive {
    #[command(flatten)]
    room: common_args::Room,
    #[command(flatten)]
    if_match: IfMatch,
}

#[derive(Clone, Debug, Args)]
struct Change {
    /// A new title; a channel's slug follows it
    #[arg(long)]
    title: Option<String>,
    /// What it is for
    #[arg(long)]
    topic: Option<String>,
    /// How many unseen entries one agent turn is handed, 0 to 200
    #[arg(long, value_name = "N")]
    ambient_max_entries: Option<u32>,
    /// The agent member that answers when nobody was named, or `none`
    #[arg(long, value_name = "AUTHOR")]
    fallback_seat: Option<String>,
    /// Whether the room's turn limits count
    #[arg(long, value_enum, value_name = "HOW")]
    turn_limits: Option<Limits>,
    /// 0 to 100, or `inherit`
    #[arg(long, value_name = "N", value_parser = limit)]
    max_agent_depth: Option<Limit>,
    /// 1 to 100, or `inherit`
    #[arg(long, value_name = "N", value_parser = limit)]
    max_turns_per_agent_per_cascade: Option<Limit>,
    /// 0 to 10,000, or `inherit`
    #[arg(long, value_name = "N", value_parser = limit)]
    max_auto_turns_per_hour: Option<Limit>,
    /// Whether notices go to the outside chat of a bridged room
    #[arg(long, value_enum)]
    deliver_notices: Option<Switch>,
}

/// Whether limits count.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Limits {
    /// They count.
    On,
    /// They do not.
    Off,
    /// As the installation says.
    Inherit,
}

/// A limit of the room's own, or the installation's.
#[derive(Clone, Copy, Debug)]
enum Limit {
    Own(u32),
    Inherit,
}

/// The stream of one room.
#[derive(Clone, Debug, Args)]
pub(crate) struct RoomEvents {
    #[command(flatten)]
    room: common_args::Room,
    #[command(flatten)]
    position: events::Position,
}

const LIST: View = View {
    list: Some("rooms"),
    id: "/id",
    columns: &[
        ("ROOM", Cell::Of(room_name)),
        ("TITLE", Cell::At("/title")),
        ("UNREAD", Cell::At("/unreadCount")),
        ("MENTIONS", Cell::At("/mentionCount")),
        ("LAST ACTIVITY", Cell::At("/lastActivityAt")),
        ("STATE", Cell::Of(state)),
        ("ID", Cell::At("/id")),
    ],
};

const ROOM: View = View {
    list: None,
    id: "/id",
    columns: &[
        ("Room", Cell::Of(room_name)),
        ("Title", Cell::At("/title")),
        ("Topic", Cell::At("/topic")),
        ("State", Cell::Of(state)),
        ("Members", Cell::Of(members)),
        ("Unread", Cell::At("/unreadCount")),
        ("Mentions", Cell::At("/mentionCount")),
        ("Ambient entries", Cell::At("/ambientMaxEntries")),
        ("Turn limits", Cell::At("/turnLimitsEnabled")),
        ("Agent depth", Cell::At("/maxAgentDepth")),
        ("Turns per cascade", Cell::At("/maxTurnsPerAgentPerCascade")),
        ("Turns per hour", Cell::At("/maxAutoTurnsPerHour")),
        ("Created", Cell::At("/createdAt")),
        ("Last activity", Cell::At("/lastActivityAt")),
        ("ETag", Cell::Tag),
        ("Id", Cell::At("/id")),
    ],
};

const SESSIONS: View = View {
    list: Some("bindings"),
    id: "/sessionId",
    columns: &[
        ("AUTHOR", Cell::At("/authorId")),
        ("SESSION", Cell::At("/sessionId")),
    ],
};

pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(ask) => list(desk, &ask).await,
        Verb::Show(room) => {
            let id = desk.room_id(&room.room).await?;
            desk.output
                .show(&desk.get(&Target::room(&id)).await?, &ROOM)
        }
        Verb::Create(ask) => create(desk, ask).await,
        Verb::Update(ask) => {
            let change = change(desk, ask.change).await?;
            patch(desk, &ask.room, &change, &ask.if_match).await
        }
        Verb::Archive(ask) => archive(desk, &ask, true).await,
        Verb::Restore(ask) => archive(desk, &ask, false).await,
        Verb::Events(ask) => {
            let id = desk.room_id(&ask.room.room).await?;
            events::follow(desk, Target::room(&id).then("events"), ask.position).await
        }
        Verb::Export(ask) => room_export::run(desk, ask).await,
        Verb::Halt(ask) => turns::halt(desk, &ask.room, None, &ask.once).await,
        Verb::Sessions(room) => {
            let target = Target::room(&desk.room_id(&room.room).await?).then("sessions");
            desk.output.show(&desk.get(&target).await?, &SESSIONS)
        }
    }
}

async fn list(desk: &Desk, ask: &List) -> Result<(), Failure> {
    let target = Target::new("/api/rooms")
        .query("kind", ask.kind.and_then(common_args::word))
        .query("includeArchived", ask.include_archived.then_some(true));
    let answer = desk.get(&target).await?;
    desk.output.show(&answer, &LIST)
}

async fn create(desk: &Desk, ask: Create) -> Result<(), Failure> {
    let mut member_ids = Vec::new();
    for member in &ask.members {
        member_ids.push(desk.author_id(member).await?);
    }
    let mut agent_ids = Vec::new();
    for agent in &ask.agents {
        agent_ids.push(desk.agent_id(agent).await?);
    }
    let body = json!({
        "kind": if ask.dm { "dm" } else { "channel" },
        "title": ask.title,
        "slug": ask.slug,
        "topic": ask.topic,
        "memberIds": member_ids,
        "agentIds": agent_ids,
    });
    let body = given(body);
    let answer = desk
        .post(&Target::new("/api/rooms"), Some(&body), &ask.once)
        .await?;
    desk.output.show(&answer, &ROOM)
}

async fn change(desk: &Desk, change: Change) -> Result<Value, Failure> {
    let mut body = given(json!({
        "title": change.title,
        "topic": change.topic,
        "ambientMaxEntries": change.ambient_max_entries,
        "deliverNotices": change.deliver_notices.map(|switch| switch == Switch::On),
    }));
    let seat = match change.fallback_seat {
        Some(seat) if seat == "none" => Some(Value::Null),
        Some(seat) => Some(desk.author_id(&seat).await?.into()),
        None => None,
    };
    let turn_limits = change.turn_limits.map(|limits| match limits {
        Limits::On => json!(true),
        Limits::Off => json!(false),
        Limits::Inherit => Value::Null,
    });
    let limit = |limit: Option<Limit>| {
        limit.map(|limit| match limit {
            Limit::Own(number) => number.into(),
            Limit::Inherit => Value::Null,
        })
    };
    // Null clears in these fields, so only they are sent when they are null.
    for (field, value) in [
        ("fallbackSeatAuthorId", seat),
        ("turnLimitsEnabled", turn_limits),
        ("maxAgentDepth", limit(change.max_agent_depth)),
        (
            "maxTurnsPerAgentPerCascade",
            limit(change.max_turns_per_agent_per_cascade),
        ),
        ("maxAutoTurnsPerHour", limit(change.max_auto_turns_per_hour)),
    ] {
        if let Some(value) = value {
            body[field] = value;
        }
    }
    changes(body, "rooms update")
}

async fn archive(desk: &Desk, ask: &Archive, archived: bool) -> Result<(), Failure> {
    let change = json!({"archived": archived});
    patch(desk, &ask.room, &change, &ask.if_match).await
}

async fn patch(
    desk: &Desk,
    room: &common_args::Room,
    change: &Value,
    if_match: &IfMatch,
) -> Result<(), Failure> {
    let target = Target::room(&desk.room_id(&room.room).await?);
    let answer = desk.patch(&target, change, Some(if_match)).await?;
    desk.output.show(&answer, &ROOM)
}

fn limit(text: &str) -> Result<Limit, String> {
    if text == "inherit" {
        return Ok(Limit::Inherit);
    }
    let number = text.parse();
    number
        .map(Limit::Own)
        .map_err(|_| "must be a whole number or `inherit`".to_owned())
}

fn state(room: &Value) -> String {
    let archived = room["archived"] == Value::Bool(true);
    if archived { "archived" } else { "open" }.to_owned()
}

fn members(room: &Value) -> String {
    let members = room["members"].as_array().into_iter().flatten();
    let names: Vec<_> = members.map(|member| name_of(&member["author"])).collect();
    names.join(", ")
}
