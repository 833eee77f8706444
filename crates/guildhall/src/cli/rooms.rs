//! `guildhall rooms`.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{
    cli_context::{CliContext, name_of, room_name},
    common_args::{self, IdempotencyArgs, IfMatchArg, OnOff},
    events,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_bodies::{changes, only_given},
    request_target::RequestTarget,
    room_export, turns,
};

/// What can be done with rooms.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the rooms you can see, newest activity first
    #[command(after_help = "Example:\n  guildhall rooms list --kind channel")]
    List(ListRoomsArgs),
    /// Shows a room with its members
    #[command(after_help = "Example:\n  guildhall rooms show ops")]
    Show(common_args::RoomArg),
    /// Makes a channel or a direct message
    #[command(
        after_help = "Examples:\n  guildhall rooms create Operations --slug ops\n  guildhall rooms create --dm --member ada"
    )]
    Create(CreateRoomArgs),
    /// Changes a room
    #[command(
        after_help = "Example:\n  guildhall rooms update ops --topic 'What runs, and why not'"
    )]
    Update(UpdateRoomArgs),
    /// Makes a room readable only
    #[command(after_help = "Example:\n  guildhall rooms archive ops")]
    Archive(ArchiveRoomArgs),
    /// Makes an archived room writable again
    #[command(after_help = "Example:\n  guildhall rooms restore ops")]
    Restore(ArchiveRoomArgs),
    /// Follows what happens in one room; it begins with the room as it is
    #[command(after_help = "Example:\n  guildhall rooms events ops --jsonl")]
    Events(RoomEventsArgs),
    /// Writes a whole room as lines of JSON, and checks that they are whole
    #[command(after_help = "Example:\n  guildhall rooms export ops --out ops.jsonl")]
    Export(room_export::ExportArgs),
    /// Stops every agent in a room; what they write later is not taken
    #[command(after_help = "Example:\n  guildhall rooms halt ops")]
    Halt(HaltRoomArgs),
    /// Lists the sessions in which the room's turns run
    #[command(after_help = "Example:\n  guildhall rooms sessions ops")]
    Sessions(common_args::RoomArg),
}

/// A room whose agents shall stop.
#[derive(Clone, Debug, Args)]
pub(crate) struct HaltRoomArgs {
    #[command(flatten)]
    room: common_args::RoomArg,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// Which rooms to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListRoomsArgs {
    /// Only channels or only direct messages
    #[arg(long, value_enum)]
    kind: Option<RoomKindFilter>,
    /// Archived rooms too
    #[arg(long)]
    include_archived: bool,
}

/// What kind of room.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum RoomKindFilter {
    /// A channel.
    Channel,
    /// A direct message.
    Dm,
}

/// A new room.
#[derive(Clone, Debug, Args)]
pub(crate) struct CreateRoomArgs {
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
    once: IdempotencyArgs,
}

/// A room and what becomes of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct UpdateRoomArgs {
    #[command(flatten)]
    room: common_args::RoomArg,
    #[command(flatten)]
    change: RoomChangeArgs,
    #[command(flatten)]
    if_match: IfMatchArg,
}

/// A room that is archived or restored.
#[derive(Clone, Debug, Args)]
pub(crate) struct ArchiveRoomArgs {
    #[command(flatten)]
    room: common_args::RoomArg,
    #[command(flatten)]
    if_match: IfMatchArg,
}

#[derive(Clone, Debug, Args)]
struct RoomChangeArgs {
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
    turn_limits: Option<TurnLimitsSwitch>,
    /// 0 to 100, or `inherit`
    #[arg(long, value_name = "N", value_parser = limit)]
    max_agent_depth: Option<TurnLimitArg>,
    /// 1 to 100, or `inherit`
    #[arg(long, value_name = "N", value_parser = limit)]
    max_turns_per_agent_per_cascade: Option<TurnLimitArg>,
    /// 0 to 10,000, or `inherit`
    #[arg(long, value_name = "N", value_parser = limit)]
    max_auto_turns_per_hour: Option<TurnLimitArg>,
    /// Whether notices go to the outside chat of a bridged room
    #[arg(long, value_enum)]
    deliver_notices: Option<OnOff>,
}

/// Whether limits count.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum TurnLimitsSwitch {
    /// They count.
    On,
    /// They do not.
    Off,
    /// As the installation says.
    Inherit,
}

/// A limit of the room's own, or the installation's.
#[derive(Clone, Copy, Debug)]
enum TurnLimitArg {
    Own(u32),
    Inherit,
}

/// The stream of one room.
#[derive(Clone, Debug, Args)]
pub(crate) struct RoomEventsArgs {
    #[command(flatten)]
    room: common_args::RoomArg,
    #[command(flatten)]
    position: events::StreamPositionArgs,
}

const LIST: TableLayout = TableLayout {
    list: Some("rooms"),
    id: "/id",
    columns: &[
        ("ROOM", CellSource::Of(room_name)),
        ("TITLE", CellSource::At("/title")),
        ("UNREAD", CellSource::At("/unreadCount")),
        ("MENTIONS", CellSource::At("/mentionCount")),
        ("LAST ACTIVITY", CellSource::At("/lastActivityAt")),
        ("STATE", CellSource::Of(state)),
        ("ID", CellSource::At("/id")),
    ],
};

const ROOM: TableLayout = TableLayout {
    list: None,
    id: "/id",
    columns: &[
        ("Room", CellSource::Of(room_name)),
        ("Title", CellSource::At("/title")),
        ("Topic", CellSource::At("/topic")),
        ("State", CellSource::Of(state)),
        ("Members", CellSource::Of(members)),
        ("Unread", CellSource::At("/unreadCount")),
        ("Mentions", CellSource::At("/mentionCount")),
        ("Ambient entries", CellSource::At("/ambientMaxEntries")),
        ("Turn limits", CellSource::At("/turnLimitsEnabled")),
        ("Agent depth", CellSource::At("/maxAgentDepth")),
        (
            "Turns per cascade",
            CellSource::At("/maxTurnsPerAgentPerCascade"),
        ),
        ("Turns per hour", CellSource::At("/maxAutoTurnsPerHour")),
        ("Created", CellSource::At("/createdAt")),
        ("Last activity", CellSource::At("/lastActivityAt")),
        ("ETag", CellSource::Tag),
        ("Id", CellSource::At("/id")),
    ],
};

const SESSIONS: TableLayout = TableLayout {
    list: Some("bindings"),
    id: "/sessionId",
    columns: &[
        ("AUTHOR", CellSource::At("/authorId")),
        ("SESSION", CellSource::At("/sessionId")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(ask) => list(desk, &ask).await,
        Verb::Show(room) => {
            let id = desk.room_id(&room.room).await?;
            desk.output
                .show(&desk.get(&RequestTarget::room(&id)).await?, &ROOM)
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
            events::follow(
                desk,
                RequestTarget::room(&id).push_segment("events"),
                ask.position,
            )
            .await
        }
        Verb::Export(ask) => room_export::run(desk, ask).await,
        Verb::Halt(ask) => turns::halt(desk, &ask.room, None, &ask.once).await,
        Verb::Sessions(room) => {
            let target =
                RequestTarget::room(&desk.room_id(&room.room).await?).push_segment("sessions");
            desk.output.show(&desk.get(&target).await?, &SESSIONS)
        }
    }
}

async fn list(desk: &CliContext, ask: &ListRoomsArgs) -> Result<(), Failure> {
    let target = RequestTarget::new("/api/rooms")
        .query("kind", ask.kind.and_then(common_args::word))
        .query("includeArchived", ask.include_archived.then_some(true));
    let answer = desk.get(&target).await?;
    desk.output.show(&answer, &LIST)
}

async fn create(desk: &CliContext, ask: CreateRoomArgs) -> Result<(), Failure> {
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
    let body = only_given(body);
    let answer = desk
        .post(&RequestTarget::new("/api/rooms"), Some(&body), &ask.once)
        .await?;
    desk.output.show(&answer, &ROOM)
}

async fn change(desk: &CliContext, change: RoomChangeArgs) -> Result<Value, Failure> {
    let mut body = only_given(json!({
        "title": change.title,
        "topic": change.topic,
        "ambientMaxEntries": change.ambient_max_entries,
        "deliverNotices": change.deliver_notices.map(|switch| switch == OnOff::On),
    }));
    let seat = match change.fallback_seat {
        Some(seat) if seat == "none" => Some(Value::Null),
        Some(seat) => Some(desk.author_id(&seat).await?.into()),
        None => None,
    };
    let turn_limits = change.turn_limits.map(|limits| match limits {
        TurnLimitsSwitch::On => json!(true),
        TurnLimitsSwitch::Off => json!(false),
        TurnLimitsSwitch::Inherit => Value::Null,
    });
    let limit = |limit: Option<TurnLimitArg>| {
        limit.map(|limit| match limit {
            TurnLimitArg::Own(number) => number.into(),
            TurnLimitArg::Inherit => Value::Null,
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

async fn archive(desk: &CliContext, ask: &ArchiveRoomArgs, archived: bool) -> Result<(), Failure> {
    let change = json!({"archived": archived});
    patch(desk, &ask.room, &change, &ask.if_match).await
}

async fn patch(
    desk: &CliContext,
    room: &common_args::RoomArg,
    change: &Value,
    if_match: &IfMatchArg,
) -> Result<(), Failure> {
    let target = RequestTarget::room(&desk.room_id(&room.room).await?);
    let answer = desk.patch(&target, change, Some(if_match)).await?;
    desk.output.show(&answer, &ROOM)
}

fn limit(text: &str) -> Result<TurnLimitArg, String> {
    if text == "inherit" {
        return Ok(TurnLimitArg::Inherit);
    }
    let number = text.parse();
    number
        .map(TurnLimitArg::Own)
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
