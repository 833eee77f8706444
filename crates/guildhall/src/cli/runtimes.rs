//! `guildhall runtimes`, `guildhall capabilities` and `guildhall usage`.

use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};

use super::{
    cli_context::CliContext,
    common_args,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

/// What can be done with runtimes.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists every runtime there can be, and which are here
    #[command(after_help = "Example:\n  guildhall runtimes list")]
    List,
    /// Tries a runtime out: starts it and opens a session in an empty folder
    #[command(after_help = "Example:\n  guildhall runtimes check rehearsal")]
    Check(CheckRuntimeArgs),
}

/// A runtime to try out.
#[derive(Clone, Debug, Args)]
pub(crate) struct CheckRuntimeArgs {
    /// Its type, as `runtimes list` calls it
    #[arg(value_name = "TYPE", value_parser = NonEmptyStringValueParser::new())]
    kind: String,
    #[command(flatten)]
    once: common_args::IdempotencyArgs,
}

/// Which turns to sum up.
#[derive(Clone, Debug, Args)]
pub(crate) struct UsageArgs {
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

const LIST: TableLayout = TableLayout {
    list: Some("runtimes"),
    id: "/type",
    columns: &[
        ("RUNTIME", CellSource::At("/type")),
        ("NAME", CellSource::At("/label")),
        ("INSTALLED", CellSource::At("/installed")),
        ("VERSION", CellSource::At("/version")),
        ("COMMAND", CellSource::At("/command")),
        ("PROBLEM", CellSource::At("/problem")),
        ("TO INSTALL IT", CellSource::Of(hint)),
    ],
};

const RUNTIME: TableLayout = TableLayout {
    list: None,
    id: "/type",
    columns: &[
        ("Runtime", CellSource::At("/type")),
        ("Name", CellSource::At("/label")),
        ("Registered", CellSource::At("/registered")),
        ("Installed", CellSource::At("/installed")),
        ("Version", CellSource::At("/version")),
        ("Command", CellSource::At("/command")),
        ("Problem", CellSource::At("/problem")),
        ("To install it", CellSource::Of(hint)),
        ("Checked", CellSource::At("/checkedAt")),
    ],
};

/// One line for each mode of each runtime.
const MODES: TableLayout = TableLayout {
    list: Some("modes"),
    id: "/id",
    columns: &[
        ("RUNTIME", CellSource::At("/runtime")),
        ("MODE", CellSource::At("/id")),
        ("STOPS", CellSource::At("/stop")),
        ("ASKS", CellSource::At("/asks")),
        ("REACHES", CellSource::At("/reach")),
        (
            "WHAT CAN HAPPEN WITHOUT A QUESTION",
            CellSource::At("/promise"),
        ),
    ],
};

/// For programs: the whole answer is one object.
const CAPABILITIES: TableLayout = TableLayout {
    list: None,
    id: "/defaultRuntime",
    columns: &[("Default runtime", CellSource::At("/defaultRuntime"))],
};

const USAGE: TableLayout = TableLayout {
    list: Some("rows"),
    id: "/key",
    columns: &[
        ("OF", CellSource::At("/key")),
        ("TURNS", CellSource::At("/turns")),
        ("IN", CellSource::At("/inputTokens")),
        ("OUT", CellSource::At("/outputTokens")),
        ("TOKENS", CellSource::At("/totalTokens")),
        ("COST", CellSource::Of(costs)),
        ("COMPLETE", CellSource::At("/complete")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List => {
            let answer = desk.get(&RequestTarget::new("/api/runtimes")).await?;
            desk.output.show(&answer, &LIST)
        }
        Verb::Check(ask) => {
            let target = RequestTarget::new("/api/runtimes")
                .push_segment(&ask.kind)
                .push_segment("check");
            let answer = desk.post(&target, None, &ask.once).await?;
            desk.output.show(&answer, &RUNTIME)
        }
    }
}

pub(super) async fn capabilities(desk: &CliContext) -> Result<(), Failure> {
    let answer = desk.get(&RequestTarget::new("/api/capabilities")).await?;
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

pub(super) async fn usage(desk: &CliContext, ask: UsageArgs) -> Result<(), Failure> {
    let target = RequestTarget::new("/api/usage")
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
