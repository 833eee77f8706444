//! `guildhall turns`, and stopping turns.

use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use serde_json::Value;

use super::{
    cli_context::CliContext,
    common_args::{self, IdempotencyArgs},
    failure::Failure,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

/// What can be done with turns.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the agents that posts of a room meant or not, and why, newest first
    #[command(
        after_help = "Examples:\n  guildhall turns list ops\n  guildhall turns list ops --entry 12\n  guildhall turns list ops --agent ada --state refused"
    )]
    List(ListTurnsArgs),
    /// Shows one turn
    #[command(
        visible_alias = "get",
        after_help = "Example:\n  guildhall turns show ops 01a1fe26-ce7a-77e6-9c51-69b26c991bbe"
    )]
    Show(TurnArg),
    /// Has a refused or held turn run now
    #[command(
        after_help = "Example:\n  guildhall turns run ops 01a1fe26-ce7a-77e6-9c51-69b26c991bbe"
    )]
    Run(RunTurnArgs),
}

/// Which turns to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListTurnsArgs {
    #[command(flatten)]
    room: common_args::RoomArg,
    /// Only those that answer this entry: its id or its number in the room
    #[arg(long, value_name = "ENTRY")]
    entry: Option<String>,
    /// Only this agent's: its author's id, its handle, or its name
    #[arg(long, value_name = "AUTHOR")]
    agent: Option<String>,
    /// Only in this state
    #[arg(long, value_enum)]
    state: Option<TurnStateFilter>,
    #[command(flatten)]
    page: common_args::PageArgs,
}

/// Where a turn stands.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum TurnStateFilter {
    /// The agent was not meant.
    NotAddressed,
    /// A limit or the room said no.
    Refused,
    /// More posts may join it.
    Collecting,
    /// It waits for the agent.
    Held,
    /// The agent works on it.
    Running,
    /// A person must answer the agent.
    Waiting,
    /// The agent replied.
    Answered,
    /// The agent said nothing.
    Silent,
    /// It broke off.
    Failed,
    /// A person stopped it.
    Stopped,
}

/// A turn of a room.
#[derive(Clone, Debug, Args)]
pub(crate) struct TurnArg {
    #[command(flatten)]
    room: common_args::RoomArg,
    /// The turn's id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    turn: String,
}

/// A turn that shall run.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunTurnArgs {
    #[command(flatten)]
    turn: TurnArg,
    #[command(flatten)]
    once: IdempotencyArgs,
}

const LIST: TableLayout = TableLayout {
    list: Some("turns"),
    id: "/id",
    columns: &[
        ("AGENT", CellSource::Of(agent)),
        ("STATE", CellSource::At("/state")),
        ("RULE", CellSource::Of(rule)),
        ("POSTS", CellSource::Of(posts)),
        ("CREATED", CellSource::At("/createdAt")),
        ("ID", CellSource::At("/id")),
    ],
};

const TURN: TableLayout = TableLayout {
    list: None,
    id: "/id",
    columns: &[
        ("Agent", CellSource::Of(agent)),
        ("State", CellSource::At("/state")),
        ("Rule", CellSource::Of(rule)),
        ("Depth", CellSource::At("/depth")),
        ("Posts", CellSource::Of(posts)),
        ("Session", CellSource::At("/sessionId")),
        ("Reply", CellSource::At("/replyEntryId")),
        ("Created", CellSource::At("/createdAt")),
        ("Started", CellSource::At("/startedAt")),
        ("Ended", CellSource::At("/endedAt")),
        ("Id", CellSource::At("/id")),
    ],
};

const HALTED: TableLayout = TableLayout {
    list: None,
    id: "/stopped",
    columns: &[("Turns stopped", CellSource::At("/stopped"))],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(ask) => list(desk, ask).await,
        Verb::Show(ask) => {
            let target = turn(desk, &ask).await?;
            show(desk, desk.get(&target).await?).await
        }
        Verb::Run(ask) => {
            let target = turn(desk, &ask.turn).await?.push_segment("run");
            show(desk, desk.post(&target, None, &ask.once).await?).await
        }
    }
}

/// Stops every turn of a room, or of one agent there.
pub(super) async fn halt(
    desk: &CliContext,
    room: &common_args::RoomArg,
    agent: Option<&common_args::AuthorArg>,
    once: &IdempotencyArgs,
) -> Result<(), Failure> {
    let mut target = RequestTarget::room(&desk.room_id(&room.room).await?).push_segment("halt");
    if let Some(agent) = agent {
        target = target.push_segment(&desk.author_id(&agent.author).await?);
    }
    let answer = desk.post(&target, None, once).await?;
    desk.output.show(&answer, &HALTED)
}

async fn list(desk: &CliContext, ask: ListTurnsArgs) -> Result<(), Failure> {
    let room = desk.room_id(&ask.room.room).await?;
    let entry = match &ask.entry {
        Some(entry) => Some(desk.entry_id(&room, entry).await?),
        None => None,
    };
    let agent = match &ask.agent {
        Some(agent) => Some(desk.author_id(agent).await?),
        None => None,
    };
    let target = RequestTarget::room(&room)
        .push_segment("turns")
        .query("entryId", entry)
        .query("agentAuthorId", agent)
        .query("state", ask.state.and_then(common_args::word))
        .page(ask.page);
    let answer = desk.get(&target).await?;
    if !desk.output.is_for_people() {
        return desk.output.show_page(&answer, &LIST);
    }
    let mut page: Value = answer.json()?;
    name_agents(desk, page["turns"].as_array_mut().into_iter().flatten()).await?;
    desk.output.show_value(&page, &LIST)?;
    if let Some(cursor) = page["nextCursor"].as_str() {
        desk.output
            .note(&format!("There are more: --cursor {cursor}"));
    }
    Ok(())
}

async fn show(desk: &CliContext, answer: super::http_client::HttpResponse) -> Result<(), Failure> {
    if !desk.output.is_for_people() {
        return desk.output.show(&answer, &TURN);
    }
    let mut turn: Value = answer.json()?;
    name_agents(desk, [&mut turn]).await?;
    desk.output.show_value(&turn, &TURN)
}

/// Adds what people call the agents of these turns.
async fn name_agents(
    desk: &CliContext,
    turns: impl IntoIterator<Item = &mut Value>,
) -> Result<(), Failure> {
    let names = desk.author_names().await?;
    for turn in turns {
        let agent = turn["agentAuthorId"].as_str().unwrap_or_default();
        turn["agentName"] = names.get(agent).map_or(agent, String::as_str).into();
    }
    Ok(())
}

async fn turn(desk: &CliContext, ask: &TurnArg) -> Result<RequestTarget, Failure> {
    let room = desk.room_id(&ask.room.room).await?;
    Ok(RequestTarget::room(&room)
        .push_segment("turns")
        .push_segment(&ask.turn))
}

fn agent(turn: &Value) -> String {
    turn["agentName"].as_str().unwrap_or_default().to_owned()
}

/// The rule, with the counter of the limit it met.
fn rule(turn: &Value) -> String {
    let rule = turn["rule"].as_str().unwrap_or_default();
    match &turn["limit"] {
        Value::Null => rule.to_owned(),
        limit => format!("{rule}: {} of {}", limit["used"], limit["value"]),
    }
}

fn posts(turn: &Value) -> String {
    let posts = turn["triggerEntryIds"].as_array();
    posts.map_or(0, Vec::len).to_string()
}
