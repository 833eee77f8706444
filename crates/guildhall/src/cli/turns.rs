//! `guildhall turns`, and stopping turns.

use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use serde_json::Value;

use super::{
    cli_context::Desk,
    common_args::{self, Once},
    failure::Failure,
    output::{Cell, View},
    request_target::Target,
};

/// What can be done with turns.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the agents that posts of a room meant or not, and why, newest first
    #[command(
        after_help = "Examples:\n  guildhall turns list ops\n  guildhall turns list ops --entry 12\n  guildhall turns list ops --agent ada --state refused"
    )]
    List(List),
    /// Shows one turn
    #[command(
        visible_alias = "get",
        after_help = "Example:\n  guildhall turns show ops 01a1fe26-ce7a-77e6-9c51-69b26c991bbe"
    )]
    Show(Turn),
    /// Has a refused or held turn run now
    #[command(
        after_help = "Example:\n  guildhall turns run ops 01a1fe26-ce7a-77e6-9c51-69b26c991bbe"
    )]
    Run(Run),
}

/// Which turns to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    room: common_args::Room,
    /// Only those that answer this entry: its id or its number in the room
    #[arg(long, value_name = "ENTRY")]
    entry: Option<String>,
    /// Only this agent's: its author's id, its handle, or its name
    #[arg(long, value_name = "AUTHOR")]
    agent: Option<String>,
    /// Only in this state
    #[arg(long, value_enum)]
    state: Option<State>,
    #[command(flatten)]
    page: common_args::Page,
}

/// Where a turn stands.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum State {
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
pub(crate) struct Turn {
    #[command(flatten)]
    room: common_args::Room,
    /// The turn's id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    turn: String,
}

/// A turn that shall run.
#[derive(Clone, Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    turn: Turn,
    #[command(flatten)]
    once: Once,
}

const LIST: View = View {
    list: Some("turns"),
    id: "/id",
    columns: &[
        ("AGENT", Cell::Of(agent)),
        ("STATE", Cell::At("/state")),
        ("RULE", Cell::Of(rule)),
        ("POSTS", Cell::Of(posts)),
        ("CREATED", Cell::At("/createdAt")),
        ("ID", Cell::At("/id")),
    ],
};

const TURN: View = View {
    list: None,
    id: "/id",
    columns: &[
        ("Agent", Cell::Of(agent)),
        ("State", Cell::At("/state")),
        ("Rule", Cell::Of(rule)),
        ("Depth", Cell::At("/depth")),
        ("Posts", Cell::Of(posts)),
        ("Session", Cell::At("/sessionId")),
        ("Reply", Cell::At("/replyEntryId")),
        ("Created", Cell::At("/createdAt")),
        ("Started", Cell::At("/startedAt")),
        ("Ended", Cell::At("/endedAt")),
        ("Id", Cell::At("/id")),
    ],
};

const HALTED: View = View {
    list: None,
    id: "/stopped",
    columns: &[("Turns stopped", Cell::At("/stopped"))],
};

pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(ask) => list(desk, ask).await,
        Verb::Show(ask) => {
            let target = turn(desk, &ask).await?;
            show(desk, desk.get(&target).await?).await
        }
        Verb::Run(ask) => {
            let target = turn(desk, &ask.turn).await?.then("run");
            show(desk, desk.post(&target, None, &ask.once).await?).await
        }
    }
}

/// Stops every turn of a room, or of one agent there.
pub(super) async fn halt(
    desk: &Desk,
    room: &common_args::Room,
    agent: Option<&common_args::Author>,
    once: &Once,
) -> Result<(), Failure> {
    let mut target = Target::room(&desk.room_id(&room.room).await?).then("halt");
    if let Some(agent) = agent {
        target = target.then(&desk.author_id(&agent.author).await?);
    }
    let answer = desk.post(&target, None, once).await?;
    desk.output.show(&answer, &HALTED)
}

async fn list(desk: &Desk, ask: List) -> Result<(), Failure> {
    let room = desk.room_id(&ask.room.room).await?;
    let entry = match &ask.entry {
        Some(entry) => Some(desk.entry_id(&room, entry).await?),
        None => None,
    };
    let agent = match &ask.agent {
        Some(agent) => Some(desk.author_id(agent).await?),
        None => None,
    };
    let target = Target::room(&room)
        .then("turns")
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

async fn show(desk: &Desk, answer: super::http_client::Answer) -> Result<(), Failure> {
    if !desk.output.is_for_people() {
        return desk.output.show(&answer, &TURN);
    }
    let mut turn: Value = answer.json()?;
    name_agents(desk, [&mut turn]).await?;
    desk.output.show_value(&turn, &TURN)
}

/// Adds what people call the agents of these turns.
async fn name_agents(
    desk: &Desk,
    turns: impl IntoIterator<Item = &mut Value>,
) -> Result<(), Failure> {
    let names = desk.author_names().await?;
    for turn in turns {
        let agent = turn["agentAuthorId"].as_str().unwrap_or_default();
        turn["agentName"] = names.get(agent).map_or(agent, String::as_str).into();
    }
    Ok(())
}

async fn turn(desk: &Desk, ask: &Turn) -> Result<Target, Failure> {
    let room = desk.room_id(&ask.room.room).await?;
    Ok(Target::room(&room).then("turns").then(&ask.turn))
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
