//! `guildhall connectors review`, `grant`, `run`, `execute` and `usage`.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use http::Method;
use serde_json::{Value, json};

use crate::cli::{
    args::{Once, Page},
    desk::Desk,
    failures::Failure,
    input,
    mcp::{Waiting, gated},
    output::{Cell, View},
    target::Target,
};

/// What can be done with reviews.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Review {
    /// Lists what a connection can do now, to grant from; it can be applied for ten minutes
    #[command(
        after_help = "Example:\n  guildhall connectors review open 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Open(Connection),
    /// Puts what is granted in the place of all that was granted with the connection
    #[command(
        after_help = "Example:\n  guildhall connectors review apply 0192f0c1-2d3e-7abc-8def-0123456789ab --grant ada=0192f0c1-2d3e-7abc-8def-0123456789ac"
    )]
    Apply(Apply),
}

/// What can be done with what is granted.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Grant {
    /// Shows what is granted with a connection
    #[command(
        after_help = "Example:\n  guildhall connectors grant list 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    List(Connection),
    /// Turns a connection on or off for one session; it only narrows what is granted
    #[command(
        after_help = "Example:\n  guildhall connectors grant switch 0192f0c1-2d3e-7abc-8def-0123456789ab 0192f0c1-2d3e-7abc-8def-0123456789ac off"
    )]
    Switch(Switch),
    /// Lists the connections with which an agent may run something
    #[command(after_help = "Example:\n  guildhall connectors grant connections ada")]
    Connections(OfAgent),
    /// Lists what an agent may run with a connection
    #[command(
        after_help = "Example:\n  guildhall connectors grant operations ada 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Operations(OfAgentThere),
}

/// One connection.
#[derive(Clone, Debug, Args)]
pub(crate) struct Connection {
    /// The connection's id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    connection: String,
}

/// What is granted of a review.
#[derive(Clone, Debug, Args)]
pub(crate) struct Apply {
    /// The review's id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    review: String,
    /// An agent, and the id of an operation that it may run; again for each
    #[arg(long = "grant", value_name = "AGENT=OPERATION", value_parser = pair)]
    grants: Vec<(String, String)>,
    /// The id of an operation that every agent may run; again for each
    #[arg(long, value_name = "OPERATION")]
    every_agent: Vec<String>,
}

/// A session's word on a connection.
#[derive(Clone, Debug, Args)]
pub(crate) struct Switch {
    /// The session's id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    session: String,
    #[command(flatten)]
    connection: Connection,
    /// What it says
    #[arg(value_enum)]
    says: Word,
}

/// What a session says of a connection.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Word {
    /// It stays on.
    On,
    /// It is off there.
    Off,
    /// Nothing.
    Default,
}

/// One agent.
#[derive(Clone, Debug, Args)]
pub(crate) struct OfAgent {
    /// The agent: its id, its handle, or its name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    agent: String,
}

/// One agent with one connection.
#[derive(Clone, Debug, Args)]
pub(crate) struct OfAgentThere {
    #[command(flatten)]
    of: OfAgent,
    #[command(flatten)]
    connection: Connection,
}

/// An operation that is run.
#[derive(Clone, Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    there: OfAgentThere,
    /// The operation's id, as `grant operations` lists it
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    operation: String,
    /// The arguments, a JSON object [default: {}]
    #[arg(long, value_name = "JSON", conflicts_with = "arguments_file")]
    arguments: Option<String>,
    /// The file that holds them, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    arguments_file: Option<PathBuf>,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    once: Once,
}

/// Which attempts to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct Usage {
    /// Only for this agent: its id, its handle, or its name
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only with this connection
    #[arg(long, value_name = "ID")]
    connection: Option<String>,
    #[command(flatten)]
    page: Page,
}

const OPERATIONS: View = View {
    list: Some("operations"),
    id: "/id",
    columns: &[
        ("OPERATION", Cell::At("/operationSlug")),
        ("CLASS", Cell::At("/classification")),
        ("TITLE", Cell::At("/title")),
        ("ID", Cell::At("/id")),
    ],
};

const REVIEW: View = View {
    list: None,
    id: "/reviewId",
    columns: &[
        ("Review", Cell::At("/reviewId")),
        ("Connection", Cell::At("/connection/id")),
        ("Service", Cell::At("/connection/toolkit")),
        ("Can do", Cell::Of(operations)),
        ("Until", Cell::At("/expiresAt")),
    ],
};

const GRANTS: View = View {
    list: Some("grants"),
    id: "/agentId",
    columns: &[
        ("AGENT", Cell::At("/agentId")),
        ("OPERATIONS", Cell::Of(granted)),
    ],
};

const SWITCHED: View = View {
    list: None,
    id: "/connectionId",
    columns: &[
        ("Session", Cell::At("/sessionId")),
        ("Connection", Cell::At("/connectionId")),
        ("On", Cell::At("/on")),
    ],
};

const ACCESSIBLE: View = View {
    list: Some("connections"),
    id: "/connectionId",
    columns: &[
        ("SERVICE", Cell::At("/toolkit")),
        ("LABEL", Cell::At("/label")),
        ("OPERATIONS", Cell::At("/operationCount")),
        ("ID", Cell::At("/connectionId")),
    ],
};

const EXECUTION: View = View {
    list: None,
    id: "/logicalOperationId",
    columns: &[
        ("Execution", Cell::At("/logicalOperationId")),
        ("Attempts", Cell::At("/attemptCount")),
        ("Status", Cell::At("/result/status")),
        ("Code", Cell::At("/result/code")),
        ("Why", Cell::At("/result/message")),
        ("Data", Cell::Of(data)),
    ],
};

const USAGE: View = View {
    list: Some("attempts"),
    id: "/logicalOperationId",
    columns: &[
        ("STARTED", Cell::At("/startedAt")),
        ("STATUS", Cell::At("/status")),
        ("CODE", Cell::At("/code")),
        ("CLASS", Cell::At("/classification")),
        ("FROM", Cell::At("/surface")),
        ("EXECUTION", Cell::At("/logicalOperationId")),
    ],
};

pub(super) async fn review(desk: &Desk, verb: Review) -> Result<(), Failure> {
    match verb {
        Review::Open(ask) => {
            let target = connection(&ask).then("reviews");
            let answer = desk.post_anew(&target, None).await?;
            desk.output.show(&answer, &REVIEW)
        }
        Review::Apply(ask) => {
            let mut grants: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (agent, operation) in ask.grants {
                let agent = desk.agent_id(&agent).await?;
                grants.entry(agent).or_default().push(operation);
            }
            let grants: Vec<Value> = grants
                .into_iter()
                .map(|(agent, ids)| json!({"agentId": agent, "operationRevisionIds": ids}))
                .collect();
            let body = json!({"grants": grants, "everyAgent": ask.every_agent});
            let target = Target::new("/api/connectors/reviews").then(&ask.review);
            let answer = desk.post_anew(&target.then("apply"), Some(&body)).await?;
            desk.output.show(&answer, &GRANTS)
        }
    }
}

pub(super) async fn grant(desk: &Desk, verb: Grant) -> Result<(), Failure> {
    match verb {
        Grant::List(ask) => {
            let answer = desk.get(&connection(&ask).then("grants")).await?;
            desk.output.show(&answer, &GRANTS)
        }
        Grant::Switch(ask) => {
            let on = match ask.says {
                Word::On => json!(true),
                Word::Off => json!(false),
                Word::Default => Value::Null,
            };
            let target = Target::new("/api/sessions").then(&ask.session);
            let target = target.then("connections").then(&ask.connection.connection);
            let answer = desk.put(&target, Some(&json!({ "on": on }))).await?;
            desk.output.show(&answer, &SWITCHED)
        }
        Grant::Connections(ask) => {
            let agent = desk.agent_id(&ask.agent).await?;
            let target = Target::new("/api/connectors/accessible").query("agentId", Some(agent));
            desk.output.show(&desk.get(&target).await?, &ACCESSIBLE)
        }
        Grant::Operations(ask) => {
            let agent = desk.agent_id(&ask.of.agent).await?;
            let target = Target::new("/api/connectors/accessible")
                .then(&ask.connection.connection)
                .then("operations")
                .query("agentId", Some(agent));
            desk.output.show(&desk.get(&target).await?, &OPERATIONS)
        }
    }
}

/// Runs an operation by the route at `path`.
pub(super) async fn run(desk: &Desk, path: &str, ask: Run) -> Result<(), Failure> {
    let text = match (&ask.arguments, &ask.arguments_file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => input::document_of(file)?,
        (None, None) => "{}".to_owned(),
    };
    let arguments: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::Usage(format!("the arguments are no JSON: {error}.")))?;
    let body = json!({
        "agentId": desk.agent_id(&ask.there.of.agent).await?,
        "connectionId": ask.there.connection.connection,
        "operationRevisionId": ask.operation,
        "arguments": arguments,
    });
    let gated = gated(&ask.waiting, Some(&ask.once), None)?;
    let target = Target::new(path);
    let answer = desk
        .gated(Method::POST, &target, Some(&body), gated)
        .await?;
    desk.output.show(&answer, &EXECUTION)
}

pub(super) async fn usage(desk: &Desk, ask: Usage) -> Result<(), Failure> {
    let agent = match &ask.agent {
        Some(agent) => Some(desk.agent_id(agent).await?),
        None => None,
    };
    let target = Target::new("/api/connectors/usage")
        .query("agentId", agent)
        .query("connectionId", ask.connection)
        .page(ask.page);
    desk.output.show_page(&desk.get(&target).await?, &USAGE)
}

fn connection(ask: &Connection) -> Target {
    Target::new("/api/connectors/connections").then(&ask.connection)
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((agent, id)) if !agent.is_empty() && !id.is_empty() => {
            Ok((agent.to_owned(), id.to_owned()))
        }
        Some(_) | None => Err("write AGENT=OPERATION".to_owned()),
    }
}

fn operations(review: &Value) -> String {
    let all = review["operations"].as_array().into_iter().flatten();
    let lines = all.map(|one| {
        let word = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        format!(
            "{} ({}) {}",
            word("operationSlug"),
            word("classification"),
            word("id")
        )
    });
    lines.collect::<Vec<_>>().join(", ")
}

fn granted(grant: &Value) -> String {
    let ids = grant["operationRevisionIds"]
        .as_array()
        .into_iter()
        .flatten();
    ids.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

fn data(execution: &Value) -> String {
    match &execution["result"]["data"] {
        Value::Null => String::new(),
        data => data.to_string(),
    }
}
