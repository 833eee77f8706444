//! `guildhall runtimes`, `guildhall capabilities` and `guildhall usage`.

use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};

use super::{
    cli_context::Desk,
    common_args,
    failure::Failure,
    output::{Cell, View},
    request_target::Target,
};

/// What can be done with runtimes.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists every runtime there can be, and which are here
    #[command(after_help = "Example:\n  guildhall runtimes list")]
    List,
    /// Tries a runtime out: starts it and opens a session in an empty folder
    #[command(after_help = "Example:\n  guildhall runtimes check rehearsal")]
    Check(Check),
}

/// A runtime to try out.
#[derive(Clone, Debug, Args)]
pub(crate) struct Check {
    /// Its type, as `runtimes list` calls it
    #[arg(value_name = "TYPE", value_parser = NonEmptyStringValueParser::new())]
    kind: String,
    #[command(flatten)]
    once: common_args::Once,
}

/// Which turns to sum up.
#[derive(Clone, Debug, Args)]
pub(crate) struct Usage {
    /// From this moment on, as RFC 3339 [default: 30 days before the end]
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Up to this moment, as RFC 3339 [default: now]
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// What a row stands for [default: day]
    #[arg(long, value_enum)]
    by: Option<GroupBy>,
}

/// What a row of usage stands for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum GroupBy {
    /// A day in UTC.
    Day,
    /// A session.
    Session,
    /// An agent.
    Agent,
    /// A runtime.
    Runtime,
    /// A model.
    Model,
    /// A room.
    Room,
}

const LIST: View = View {
    list: Some("runtimes"),
    id: "/type",
    columns: &[
        ("RUNTIME", Cell::At("/type")),
        ("NAME", Cell::At("/label")),
        ("INSTALLED", Cell::At("/installed")),
        ("VERSION", Cell::At("/version")),
        ("COMMAND", Cell::At("/command")),
        ("PROBLEM", Cell::At("/problem")),
        ("TO INSTALL IT", Cell::Of(hint)),
    ],
};

const RUNTIME: View = View {
    list: None,
    id: "/type",
    columns: &[
        ("Runtime", Cell::At("/type")),
        ("Name", Cell::At("/label")),
        ("Registered", Cell::At("/registered")),
        ("Installed", Cell::At("/installed")),
        ("Version", Cell::At("/version")),
        ("Command", Cell::At("/command")),
        ("Problem", Cell::At("/problem")),
        ("To install it", Cell::Of(hint)),
        ("Checked", Cell::At("/checkedAt")),
    ],
};

/// One line for each mode of each runtime.
const MODES: View = View {
    list: Some("modes"),
    id: "/id",
    columns: &[
        ("RUNTIME", Cell::At("/runtime")),
        ("MODE", Cell::At("/id")),
        ("STOPS", Cell::At("/stop")),
        ("ASKS", Cell::At("/asks")),
        ("REACHES", Cell::At("/reach")),
        ("WHAT CAN HAPPEN WITHOUT A QUESTION", Cell::At("/promise")),
    ],
};

/// For programs: the whole answer is one object.
const CAPABILITIES: View = View {
    list: None,
    id: "/defaultRuntime",
    columns: &[("Default runtime", Cell::At("/defaultRuntime"))],
};

const USAGE: View = View {
    list: Some("rows"),
    id: "/key",
    columns: &[
        ("OF", Cell::At("/key")),
        ("TURNS", Cell::At("/turns")),
        ("IN", Cell::At("/inputTokens")),
        ("OUT", Cell::At("/outputTokens")),
        ("TOKENS", Cell::At("/totalTokens")),
        ("COST", Cell::Of(costs)),
        ("COMPLETE", Cell::At("/complete")),
    ],
};

pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List => {
            let answer = desk.get(&Target::new("/api/runtimes")).await?;
            desk.output.show(&answer, &LIST)
        }
        Verb::Check(ask) => {
            let target = Target::new("/api/runtimes").then(&ask.kind).then("check");
            let answer = desk.post(&target, None, &ask.once).await?;
            desk.output.show(&answer, &RUNTIME)
        }
    }
}

pub(super) async fn capabilities(desk: &Desk) -> Result<(), Failure> {
    let answer = desk.get(&Target::new("/api/capabilities")).await?;
    if !desk.output.is_for_people() {
        return desk.output.show(&answer, &CAPABILITIES);
    }
    let all: Value = answer.json()?;
    let mut modes = Vec::new();
    for (kind, entry) in all["capabilities"].as_object().into_iter().flatten() {
        let values = entry["permissionModes"]["values"].as_array();
        for mode in values.into_iter().flatten() {
            let mut mode = mode.clone();
            mode["runtime"] = kind.as_str().into();
            modes.push(mode);
        }
    }
    desk.output.show_value(&json!({"modes": modes}), &MODES)?;
    let default = all["defaultRuntime"].as_str().unwrap_or_default();
    desk.output
        .note(&format!("Agents that name no runtime get {default}."));
    Ok(())
}

pub(super) async fn usage(desk: &Desk, ask: Usage) -> Result<(), Failure> {
    let target = Target::new("/api/usage")
        .query("from", ask.from)
        .query("to", ask.to)
        .query("groupBy", ask.by.and_then(common_args::word));
    let answer = desk.get(&target).await?;
    desk.output.show(&answer, &USAGE)
}

/// Nobody has to install what is here.
fn hint(runtime: &Value) -> String {
    match runtime["installed"].as_bool() {
        Some(true) => String::new(),
        _ => runtime["installHint"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    }
}

fn costs(row: &Value) -> String {
    let costs = row["costs"].as_array().into_iter().flatten();
    let one = |cost: &Value| {
        let amount = cost["amount"].as_f64().unwrap_or_default();
        format!(
            "{amount:.4} {}",
            cost["currency"].as_str().unwrap_or_default()
        )
    };
    costs.map(one).collect::<Vec<_>>().join(", ")
}
