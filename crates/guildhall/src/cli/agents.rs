//! `guildhall agents`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    cli_context::{CliContext, name_of},
    common_args::{self, IdempotencyArgs, IfMatchArg, ResponseMode},
    failure::Failure,
    output::{CellSource, TableLayout},
    request_bodies::{absolute, changes, only_given},
    request_target::RequestTarget,
};

/// What can be done with agents.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists agents, in the order of registration
    #[command(after_help = "Example:\n  guildhall agents list")]
    List(ListAgentsArgs),
    /// Registers an agent
    #[command(after_help = "Example:\n  guildhall agents add Ada --cwd ~/work --runtime rehearsal")]
    Add(AddAgentArgs),
    /// Shows one agent
    #[command(after_help = "Example:\n  guildhall agents show ada")]
    Show(common_args::AgentArg),
    /// Changes an agent
    #[command(
        after_help = "Example:\n  guildhall agents update ada --description 'Keeps the build green'"
    )]
    Update(UpdateAgentArgs),
    /// Retires an agent: its tokens die, what it wrote stays
    #[command(after_help = "Example:\n  guildhall agents retire ada")]
    Retire(RetireAgentArgs),
}

/// Which agents to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListAgentsArgs {
    /// Retired ones too
    #[arg(long)]
    include_retired: bool,
}

/// A new agent.
#[derive(Clone, Debug, Args)]
pub(crate) struct AddAgentArgs {
    /// Its name, 1 to 64 characters
    name: String,
    /// Its working folder
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    cwd: PathBuf,
    /// What runs it [default: the server's default runtime]
    #[arg(long)]
    runtime: Option<String>,
    #[command(flatten)]
    traits: AgentOptions,
    /// Do not make it a member of the room `team`
    #[arg(long)]
    no_team: bool,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// An agent and what becomes of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct UpdateAgentArgs {
    #[command(flatten)]
    agent: common_args::AgentArg,
    /// A new name, 1 to 64 characters
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    traits: AgentOptions,
    /// Whether it is kept from the server's ports and files, from its next start on
    #[arg(long, value_name = "BOOL")]
    enclosed: Option<bool>,
    #[command(flatten)]
    if_match: IfMatchArg,
}

/// An agent that goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct RetireAgentArgs {
    #[command(flatten)]
    agent: common_args::AgentArg,
    #[command(flatten)]
    if_match: IfMatchArg,
}

/// What can be said about an agent at its registration and later.
#[derive(Clone, Debug, Args)]
struct AgentOptions {
    /// What it is for, at most 500 characters
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// When it answers in channels
    #[arg(long, value_enum)]
    mode: Option<ResponseMode>,
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

const LIST: TableLayout = TableLayout {
    list: Some("agents"),
    id: "/id",
    columns: &[
        ("AGENT", CellSource::Of(name)),
        ("NAME", CellSource::At("/name")),
        ("RUNTIME", CellSource::At("/runtime")),
        ("STATE", CellSource::At("/state")),
        ("ANSWERS", CellSource::At("/responseMode")),
        ("FOLDER", CellSource::At("/cwd")),
        ("ID", CellSource::At("/id")),
    ],
};

const AGENT: TableLayout = TableLayout {
    list: None,
    id: "/id",
    columns: &[
        ("Name", CellSource::At("/name")),
        ("Handle", CellSource::At("/handle")),
        ("Description", CellSource::At("/description")),
        ("Runtime", CellSource::At("/runtime")),
        ("State", CellSource::At("/state")),
        ("Folder", CellSource::At("/cwd")),
        ("Answers", CellSource::At("/responseMode")),
        ("Permission mode", CellSource::At("/permissionMode")),
        ("Model", CellSource::At("/model")),
        ("Effort", CellSource::At("/effort")),
        ("Enclosed", CellSource::At("/enclosed")),
        ("Process", CellSource::At("/liveProcess")),
        ("Author", CellSource::At("/authorId")),
        ("Created", CellSource::At("/createdAt")),
        ("ETag", CellSource::Tag),
        ("Id", CellSource::At("/id")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    let answer = match verb {
        Verb::List(ask) => return list(desk, &ask).await,
        Verb::Add(ask) => {
            let once = ask.once.clone();
            let body = registration(ask)?;
            desk.post(&RequestTarget::new("/api/agents"), Some(&body), &once)
                .await?
        }
        Verb::Show(agent) => desk.get(&target(desk, &agent).await?).await?,
        Verb::Update(ask) => {
            let mut body = traits(&ask.traits);
            if let Some(name) = ask.name {
                body["name"] = name.into();
            }
            if let Some(enclosed) = ask.enclosed {
                body["enclosed"] = enclosed.into();
            }
            let body = changes(body, "agents update")?;
            let target = target(desk, &ask.agent).await?;
            desk.patch(&target, &body, Some(&ask.if_match)).await?
        }
        Verb::Retire(ask) => {
            let target = target(desk, &ask.agent).await?;
            desk.delete(&target, Some(&ask.if_match)).await?
        }
    };
    desk.output.show(&answer, &AGENT)
}

async fn list(desk: &CliContext, ask: &ListAgentsArgs) -> Result<(), Failure> {
    let target = RequestTarget::new("/api/agents")
        .query("includeRetired", ask.include_retired.then_some(true));
    let answer = desk.get(&target).await?;
    desk.output.show(&answer, &LIST)?;
    if desk.output.is_for_people() {
        let listing: Value = answer.json()?;
        let warnings = listing["warnings"].as_array().into_iter().flatten();
        for warning in warnings.filter_map(Value::as_str) {
            desk.output.note(warning);
        }
    }
    Ok(())
}

fn registration(ask: AddAgentArgs) -> Result<Value, Failure> {
    let cwd = absolute(&ask.cwd)?;
    let mut body = traits(&ask.traits);
    body["name"] = ask.name.into();
    body["cwd"] = cwd.into();
    if let Some(runtime) = ask.runtime {
        body["runtime"] = runtime.into();
    }
    if ask.no_team {
        body["joinTeam"] = false.into();
    }
    Ok(body)
}

fn traits(traits: &AgentOptions) -> Value {
    only_given(json!({
        "description": traits.description,
        "responseMode": traits.mode.and_then(common_args::word),
        "permissionMode": traits.permission_mode,
        "model": traits.model,
        "effort": traits.effort,
        "acknowledgedAutonomy": traits.acknowledge_autonomy.then_some(true),
    }))
}

async fn target(
    desk: &CliContext,
    agent: &common_args::AgentArg,
) -> Result<RequestTarget, Failure> {
    Ok(RequestTarget::agent(&desk.agent_id(&agent.agent).await?))
}

fn name(agent: &Value) -> String {
    name_of(&json!({"handle": agent["handle"], "displayName": agent["name"]}))
}
