//! `guildhall sessions`: conversations with agents.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    cli_context::CliContext,
    common_args::{self, IdempotencyArgs, IfMatchArg},
    events::{self, StreamPositionArgs},
    failure::Failure,
    output::{CellSource, TableLayout},
    request_bodies::{absolute, changes, only_given},
    request_target::RequestTarget,
    session_canvas, session_tasks, terminal_input,
};

/// What can be done with sessions.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists sessions, the newest change first
    #[command(
        after_help = "Examples:\n  guildhall sessions list\n  guildhall sessions list --state waiting --agent ada"
    )]
    List(ListSessionsArgs),
    /// Opens a session with an agent, or with the agent of a folder
    #[command(
        after_help = "Examples:\n  guildhall sessions open --agent ada\n  guildhall sessions open --cwd . --runtime rehearsal"
    )]
    Open(Box<OpenSessionArgs>),
    /// Shows one session
    #[command(after_help = "Example:\n  guildhall sessions show 0199…")]
    Show(SessionArg),
    /// Changes a session's title, mode, model or effort
    #[command(after_help = "Example:\n  guildhall sessions update 0199… --permission-mode plan")]
    Update(UpdateSessionArgs),
    /// Closes a session: its turn is stopped, its queue and asks go
    #[command(after_help = "Example:\n  guildhall sessions close 0199…")]
    Close(CloseSessionArgs),
    /// Sends a message; `-` reads it from the standard input
    #[command(
        after_help = "Examples:\n  guildhall sessions send 0199… 'run the tests'\n  cat plan.md | guildhall sessions send 0199… -"
    )]
    Send(SendMessageArgs),
    /// Shows what was said last, oldest first; a cursor leads to what was said before
    #[command(after_help = "Example:\n  guildhall sessions messages 0199…")]
    Messages(SessionPageArgs),
    /// Shows what a session asked and what became of it; a cursor leads to what was asked before
    #[command(after_help = "Example:\n  guildhall sessions asks 0199…")]
    Asks(SessionPageArgs),
    /// Shows what waits for its turn
    #[command(after_help = "Example:\n  guildhall sessions queue 0199…")]
    Queue(SessionArg),
    /// Changes the words of a message that waits
    #[command(after_help = "Example:\n  guildhall sessions reword 0199… 019a… 'run all tests'")]
    Reword(EditQueuedArgs),
    /// Takes a message out of the queue
    #[command(after_help = "Example:\n  guildhall sessions remove 0199… 019a…")]
    Remove(QueuedMessageArg),
    /// Stops the turn that runs, and drops what waits
    #[command(after_help = "Example:\n  guildhall sessions cancel 0199… --keep-queue")]
    Cancel(CancelTurnArgs),
    /// Lists what the agent of a session means to do
    #[command(
        after_help = "Example:\n  guildhall sessions tasks 5b1f7c2e-8d34-4e0a-9c61-2f7d0a4be913"
    )]
    Tasks(session_tasks::SessionTasksArgs),
    /// The documents of a session
    #[command(subcommand)]
    Canvas(session_canvas::Verb),
    /// Follows what happens in a session
    #[command(after_help = "Example:\n  guildhall sessions events 0199… --jsonl")]
    Events(SessionEventsArgs),
}

/// Which session is meant.
#[derive(Clone, Debug, Args)]
pub(crate) struct SessionArg {
    /// Its id
    session: String,
}

/// Which sessions to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListSessionsArgs {
    /// idle, starting, running, waiting, cancelling, failed or closed
    #[arg(long)]
    state: Option<String>,
    /// Of this agent
    #[arg(long)]
    agent: Option<String>,
    /// In this folder
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// guildhall, terminal (the agents' own command lines) or all [default: guildhall]
    #[arg(long)]
    source: Option<String>,
    #[command(flatten)]
    page: common_args::PageArgs,
}

/// A new session.
#[derive(Clone, Debug, Args)]
pub(crate) struct OpenSessionArgs {
    /// The agent
    #[arg(long, conflicts_with = "cwd", required_unless_present = "cwd")]
    agent: Option<String>,
    /// Its folder; a folder without an agent gets one
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// What runs the agent of that folder
    #[arg(long)]
    runtime: Option<String>,
    /// A session of the agent's own command line to go on with
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    /// Its id, a UUID; opened twice with the same words, it is one session
    #[arg(long)]
    id: Option<String>,
    #[command(flatten)]
    traits: SessionOptions,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A session and what becomes of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct UpdateSessionArgs {
    #[command(flatten)]
    session: SessionArg,
    #[command(flatten)]
    traits: SessionOptions,
    #[command(flatten)]
    if_match: IfMatchArg,
}

/// A session that is to end.
#[derive(Clone, Debug, Args)]
pub(crate) struct CloseSessionArgs {
    #[command(flatten)]
    session: SessionArg,
    #[command(flatten)]
    if_match: IfMatchArg,
}

/// What can be said about a session when it is opened and later.
#[derive(Clone, Debug, Args)]
struct SessionOptions {
    /// Its title, 1 to 200 characters
    #[arg(long)]
    title: Option<String>,
    /// What it may do without asking
    #[arg(long, value_name = "MODE")]
    permission_mode: Option<String>,
    /// Its model
    #[arg(long)]
    model: Option<String>,
    /// How hard it thinks
    #[arg(long)]
    effort: Option<String>,
    /// I know that the permission mode lets it act unattended
    #[arg(long)]
    acknowledge_autonomy: bool,
}

/// A message and where it goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct SendMessageArgs {
    #[command(flatten)]
    session: SessionArg,
    /// Its words; `-` reads them from the standard input
    content: String,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A session, and which part of its list to show.
#[derive(Clone, Debug, Args)]
pub(crate) struct SessionPageArgs {
    #[command(flatten)]
    session: SessionArg,
    #[command(flatten)]
    page: common_args::PageArgs,
}

/// A message that waits.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueuedMessageArg {
    #[command(flatten)]
    session: SessionArg,
    /// The message's id
    message: String,
}

/// A message that waits, and its new words.
#[derive(Clone, Debug, Args)]
pub(crate) struct EditQueuedArgs {
    #[command(flatten)]
    queued: QueuedMessageArg,
    /// Its words; `-` reads them from the standard input
    content: String,
}

/// A turn that is to stop.
#[derive(Clone, Debug, Args)]
pub(crate) struct CancelTurnArgs {
    #[command(flatten)]
    session: SessionArg,
    /// What waits stays and goes on
    #[arg(long)]
    keep_queue: bool,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A session to follow.
#[derive(Clone, Debug, Args)]
pub(crate) struct SessionEventsArgs {
    #[command(flatten)]
    session: SessionArg,
    #[command(flatten)]
    position: StreamPositionArgs,
}

const LIST: TableLayout = TableLayout {
    list: Some("sessions"),
    id: "/id",
    columns: &[
        ("TITLE", CellSource::At("/title")),
        ("STATE", CellSource::At("/state")),
        ("ASKS", CellSource::At("/pendingCount")),
        ("QUEUED", CellSource::At("/queuedCount")),
        ("RUNTIME", CellSource::At("/runtime")),
        ("MODE", CellSource::At("/permissionMode")),
        ("CHANGED", CellSource::At("/updatedAt")),
        ("FOLDER", CellSource::At("/cwd")),
        ("ID", CellSource::At("/id")),
    ],
};

const SESSION: TableLayout = TableLayout {
    list: None,
    id: "/id",
    columns: &[
        ("Title", CellSource::At("/title")),
        ("State", CellSource::At("/state")),
        ("Reason", CellSource::At("/stateReason")),
        ("Runtime", CellSource::At("/runtime")),
        ("Permission mode", CellSource::At("/permissionMode")),
        ("Model", CellSource::At("/model")),
        ("Effort", CellSource::At("/effort")),
        ("Folder", CellSource::At("/cwd")),
        ("Origin", CellSource::At("/origin")),
        ("Asks", CellSource::At("/pendingCount")),
        ("Queued", CellSource::At("/queuedCount")),
        ("Turns", CellSource::At("/usage/turns")),
        ("Tokens", CellSource::At("/usage/totalTokens")),
        ("Last message", CellSource::At("/lastMessagePreview")),
        ("Changed", CellSource::At("/updatedAt")),
        ("Agent", CellSource::At("/agentId")),
        ("ETag", CellSource::Tag),
        ("Id", CellSource::At("/id")),
    ],
};

const MESSAGES: TableLayout = TableLayout {
    list: Some("messages"),
    id: "/id",
    columns: &[
        ("SEQ", CellSource::At("/seq")),
        ("ROLE", CellSource::At("/role")),
        ("STATE", CellSource::At("/state")),
        ("SAYS", CellSource::Of(words)),
        ("ID", CellSource::At("/id")),
    ],
};

const ASKS: TableLayout = TableLayout {
    list: Some("interactions"),
    id: "/id",
    columns: &[
        ("ASKED", CellSource::At("/openedAt")),
        ("KIND", CellSource::At("/kind")),
        ("TITLE", CellSource::At("/title")),
        ("RESULT", CellSource::At("/resolution")),
        ("OPTION", CellSource::At("/reply/option/name")),
        ("REASON", CellSource::At("/reply/denyReason")),
        ("CALL", CellSource::At("/toolCallId")),
        ("ID", CellSource::At("/id")),
    ],
};

const QUEUE: TableLayout = TableLayout {
    list: Some("queue"),
    id: "/id",
    columns: &[
        ("SINCE", CellSource::At("/enqueuedAt")),
        ("TEXT", CellSource::At("/content")),
        ("ID", CellSource::At("/id")),
    ],
};

const SENT: TableLayout = TableLayout {
    list: None,
    id: "/messageId",
    columns: &[
        ("Outcome", CellSource::At("/outcome")),
        ("Place", CellSource::At("/queuePosition")),
        ("Id", CellSource::At("/messageId")),
    ],
};

const CANCELLED: TableLayout = TableLayout {
    list: None,
    id: "",
    columns: &[
        ("Stopped", CellSource::At("/ok")),
        ("Dropped", CellSource::At("/cancelledQueued")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(ask) => list(desk, ask).await,
        Verb::Open(ask) => open(desk, *ask).await,
        Verb::Show(session) => {
            let answer = desk.get(&target(&session)).await?;
            desk.output.show(&answer, &SESSION)
        }
        Verb::Update(ask) => {
            let body = changes(traits(&ask.traits), "sessions update")?;
            let target = target(&ask.session);
            let answer = desk.patch(&target, &body, Some(&ask.if_match)).await?;
            desk.output.show(&answer, &SESSION)
        }
        Verb::Close(ask) => {
            let target = target(&ask.session);
            let answer = desk.delete(&target, Some(&ask.if_match)).await?;
            desk.output.show(&answer, &SESSION)
        }
        Verb::Send(ask) => {
            let body = json!({ "content": text(ask.content)? });
            let target = target(&ask.session).push_segment("messages");
            let answer = desk.post(&target, Some(&body), &ask.once).await?;
            desk.output.show(&answer, &SENT)
        }
        Verb::Messages(ask) => {
            let target = target(&ask.session).push_segment("messages").page(ask.page);
            desk.output.show_page(&desk.get(&target).await?, &MESSAGES)
        }
        Verb::Asks(ask) => {
            let target = target(&ask.session)
                .push_segment("interactions")
                .page(ask.page);
            desk.output.show_page(&desk.get(&target).await?, &ASKS)
        }
        Verb::Queue(session) => {
            let answer = desk.get(&target(&session).push_segment("queue")).await?;
            desk.output.show(&answer, &QUEUE)
        }
        Verb::Reword(ask) => {
            let body = json!({ "content": text(ask.content)? });
            let answer = desk.patch(&queued(&ask.queued), &body, None).await?;
            desk.output.show(&answer, &QUEUE)
        }
        Verb::Remove(ask) => {
            let answer = desk.delete(&queued(&ask), None).await?;
            desk.output.show(&answer, &QUEUE)
        }
        Verb::Cancel(ask) => {
            let body = json!({ "keepQueue": ask.keep_queue });
            let target = target(&ask.session).push_segment("cancel");
            let answer = desk.post(&target, Some(&body), &ask.once).await?;
            desk.output.show(&answer, &CANCELLED)
        }
        Verb::Tasks(ask) => session_tasks::run(desk, &ask).await,
        Verb::Canvas(verb) => session_canvas::run(desk, verb).await,
        Verb::Events(ask) => {
            let target = target(&ask.session).push_segment("events");
            events::follow(desk, target, ask.position).await
        }
    }
}

async fn list(desk: &CliContext, ask: ListSessionsArgs) -> Result<(), Failure> {
    let agent = match &ask.agent {
        Some(agent) => Some(desk.agent_id(agent).await?),
        None => None,
    };
    let cwd = ask.cwd.as_deref().map(absolute).transpose()?;
    let target = RequestTarget::new("/api/sessions")
        .query("state", ask.state)
        .query("agentId", agent)
        .query("cwd", cwd)
        .query("source", ask.source)
        .page(ask.page);
    desk.output.show_page(&desk.get(&target).await?, &LIST)
}

async fn open(desk: &CliContext, ask: OpenSessionArgs) -> Result<(), Failure> {
    let mut body = traits(&ask.traits);
    if let Some(agent) = &ask.agent {
        body["agentId"] = desk.agent_id(agent).await?.into();
    }
    if let Some(cwd) = &ask.cwd {
        body["cwd"] = absolute(cwd)?.into();
    }
    for (name, value) in [
        ("id", ask.id),
        ("runtime", ask.runtime),
        ("resumeId", ask.resume),
    ] {
        if let Some(value) = value {
            body[name] = value.into();
        }
    }
    let target = RequestTarget::new("/api/sessions");
    let answer = desk.post(&target, Some(&body), &ask.once).await?;
    desk.output.show(&answer, &SESSION)
}

fn traits(traits: &SessionOptions) -> Value {
    only_given(json!({
        "title": traits.title,
        "permissionMode": traits.permission_mode,
        "model": traits.model,
        "effort": traits.effort,
        "acknowledgedAutonomy": traits.acknowledge_autonomy.then_some(true),
    }))
}

pub(super) fn target(session: &SessionArg) -> RequestTarget {
    RequestTarget::new("/api/sessions").push_segment(&session.session)
}

fn queued(message: &QueuedMessageArg) -> RequestTarget {
    target(&message.session)
        .push_segment("queue")
        .push_segment(&message.message)
}

fn text(argument: String) -> Result<String, Failure> {
    if argument == "-" {
        return terminal_input::text_of("-".as_ref());
    }
    Ok(argument)
}

/// What a message says, in words; tools and plans by a word each.
fn words(message: &Value) -> String {
    let parts = message["parts"].as_array().into_iter().flatten();
    let said = parts.filter_map(|part| match part["type"].as_str()? {
        "text" => Some(part["text"].as_str()?.to_owned()),
        "tool_call" => {
            let (title, status) = (part["title"].as_str()?, part["status"].as_str()?);
            Some(format!("[{title}: {status}]"))
        }
        "plan" => Some(format!("[plan of {}]", part["entries"].as_array()?.len())),
        _ => None,
    });
    said.collect::<Vec<_>>().join(" ")
}
