//! `guildhall agents`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    cli_context::{Desk, name_of},
    common_args::{self, IfMatch, Once, ResponseMode},
    failure::Failure,
    output::{Cell, View},
    request_bodies::{absolute, changes, given},
    request_target::Target,
};

/// What can be done with agents.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists agents, in the order of registration
    #[command(after_help = "Example:\n  guildhall agents list")]
    List(List),
    /// Registers an agent
    #[command(after_help = "Example:\n  guildhall agents add Ada --cwd ~/work --runtime rehearsal")]
    Add(Add),
    /// Shows one agent
    #[command(after_help = "Example:\n  guildhall agents show ada")]
    Show(common_args::Agent),
    /// Changes an agent
    #[command(
        after_help = "Example:\n  guildhall agents update ada --description 'Keeps the build green'"
    )]
    Update(Update),
    /// Retires an agent: its tokens die, what it wrote stays
    #[command(after_help = "Example:\n  guildhall agents retire ada")]
    Retire(Retire),
}

/// Which agents to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct List {
    /// Retired ones too
    #[arg(long)]
    include_retired: bool,
}

/// A new agent.
#[derive(Clone, Debug, Args)]
pub(crate) struct Add {
    /// Its name, 1 to 64 characters
    name: String,
    /// Its working folder
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    cwd: PathBuf,
    /// What runs it [default: the server's default runtime]
    #[arg(long)]
    runtime: Option<String>,
    #[command(flatten)]
    traits: Traits,
    /// Do not make it a member of the room `team`
    #[arg(long)]
    no_team: bool,
    #[command(flatten)]
    once: Once,
}

/// An agent and what becomes of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    agent: common_args::Agent,
    /// A new name, 1 to 64 characters
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    traits: Traits,
    /// Whether it is kept from the server's ports and files, from its next start on
    #[arg(long, value_name = "BOOL")]
    enclosed: Option<bool>,
    #[command(flatten)]
    if_match: IfMatch,
}

/// An agent that goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Retire {
    #[command(flatten)]
    agent: common_args::Agent,
    #[command(flatten)]
    if_match: IfMatch,
}

/// What can be said about an agent at its registration and later.
#[derive(Clone, Debug, Args)]
struct Traits {
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

const LIST: View = View {
    list: Some("agents"),
    id: "/id",
    columns: &[
        ("AGENT", Cell::Of(name)),
        ("NAME", Cell::At("/name")),
        ("RUNTIME", Cell::At("/runtime")),
        ("STATE", Cell::At("/state")),
        ("ANSWERS", Cell::At("/responseMode")),
        ("FOLDER", Cell::At("/cwd")),
        ("ID", Cell::At("/id")),
    ],
};

const AGENT: View = View {
    list: None,
    id: "/id",
    columns: &[
        ("Name", Cell::At("/name")),
        ("Handle", Cell::At("/handle")),
        ("Description", Cell::At("/description")),
        ("Runtime", Cell::At("/runtime")),
        ("State", Cell::At("/state")),
        ("Folder", Cell::At("/cwd")),
        ("Answers", Cell::At("/responseMode")),
        ("Permission mode", Cell::At("/permissionMode")),
        ("Model", Cell::At("/model")),
        ("Effort", Cell::At("/effort")),
        ("Enclosed", Cell::At("/enclosed")),
        ("Process", Cell::At("/liveProcess")),
        ("Author", Cell::At("/authorId")),
        ("Created", Cell::At("/createdAt")),
        ("ETag", Cell::Tag),
        ("Id", Cell::At("/id")),
    ],
};

pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<(), Failure> {
    let answer = match verb {
        Verb::List(ask) => return list(desk, &ask).await,
        Verb::Add(ask) => {
            let once = ask.once.clone();
            let body = registration(ask)?;
            desk.post(&Target::new("/api/agents"), Some(&body), &once)
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

async fn list(desk: &Desk, ask: &List) -> Result<(), Failure> {
    let target =
        Target::new("/api/agents").query("includeRetired", ask.include_retired.then_some(true));
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

fn registration(ask: Add) -> Result<Value, Failure> {
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

fn traits(traits: &Traits) -> Value {
    given(json!({
        "description": traits.description,
        "responseMode": traits.mode.and_then(common_args::word),
        "permissionMode": traits.permission_mode,
        "model": traits.model,
        "effort": traits.effort,
        "acknowledgedAutonomy": traits.acknowledge_autonomy.then_some(true),
    }))
}

async fn target(desk: &Desk, agent: &common_args::Agent) -> Result<Target, Failure> {
    Ok(Target::agent(&desk.agent_id(&agent.agent).await?))
}

fn name(agent: &Value) -> String {
    name_of(&json!({"handle": agent["handle"], "displayName": agent["name"]}))
}
