//! `guildhall connections reviews`, `grants` and `sessions`.

use std::collections::BTreeMap;

use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};

use crate::cli::{
    cli_context::Desk,
    failure::Failure,
    output::{Cell, View},
    request_target::Target,
};

/// What can be done with reviews.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Reviews {
    /// Lists what a connection can do now, to grant from; it can be applied for ten minutes
    #[command(
        after_help = "Example:\n  guildhall connections reviews open 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Open(Connection),
    /// Puts what is granted in the place of all that was granted with the connection
    #[command(
        after_help = "Example:\n  guildhall connections reviews apply 0192f0c1-2d3e-7abc-8def-0123456789ab --grant ada=0192f0c1-2d3e-7abc-8def-0123456789ac"
    )]
    Apply(Apply),
}

/// What can be done with what is granted.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Grants {
    /// Shows what is granted with a connection
    #[command(
        after_help = "Example:\n  guildhall connections grants show 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Show(Connection),
    /// Lists the connections with which an agent may run something
    #[command(after_help = "Example:\n  guildhall connections grants of ada")]
    Of(OfAgent),
    /// Lists what an agent may run with a connection
    #[command(
        after_help = "Example:\n  guildhall connections grants operations ada 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Operations(OfAgentThere),
}

/// What can be done with what sessions say of connections.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Sessions {
    /// Lists what a session's agent can reach, and what the session says of it
    #[command(
        after_help = "Example:\n  guildhall connections sessions show 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Show(Session),
    /// Turns a connection on or off for one session; it only narrows what is granted
    #[command(
        after_help = "Example:\n  guildhall connections sessions switch 0192f0c1-2d3e-7abc-8def-0123456789ab 0192f0c1-2d3e-7abc-8def-0123456789ac off"
    )]
    Switch(Switch),
}

/// One session.
#[derive(Clone, Debug, Args)]
pub(crate) struct Session {
    /// The session's id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    session: String,
}

/// One connection.
#[derive(Clone, Debug, Args)]
pub(crate) struct Connection {
    /// The connection's id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(super) connection: String,
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
    #[command(flatten)]
    session: Session,
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
    pub(super) agent: String,
}

/// One agent with one connection.
#[derive(Clone, Debug, Args)]
pub(crate) struct OfAgentThere {
    #[command(flatten)]
    pub(super) of: OfAgent,
    #[command(flatten)]
    pub(super) connection: Connection,
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

const OF_SESSION: View = View {
    list: Some("connections"),
    id: "/connectionId",
    columns: &[
        ("SERVICE", Cell::At("/toolkit")),
        ("LABEL", Cell::At("/label")),
        ("SESSION SAYS", Cell::Of(says)),
        ("ID", Cell::At("/connectionId")),
    ],
};

pub(super) async fn reviews(desk: &Desk, verb: Reviews) -> Result<(), Failure> {
    match verb {
        Reviews::Open(ask) => {
            let target = connection(&ask).then("reviews");
            let answer = desk.post_anew(&target, None).await?;
            desk.output.show(&answer, &REVIEW)
        }
        Reviews::Apply(ask) => {
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

pub(super) async fn grants(desk: &Desk, verb: Grants) -> Result<(), Failure> {
    match verb {
        Grants::Show(ask) => {
            let answer = desk.get(&connection(&ask).then("grants")).await?;
            desk.output.show(&answer, &GRANTS)
        }
        Grants::Of(ask) => {
            let agent = desk.agent_id(&ask.agent).await?;
            let target = Target::new("/api/connectors/accessible").query("agentId", Some(agent));
            desk.output.show(&desk.get(&target).await?, &ACCESSIBLE)
        }
        Grants::Operations(ask) => {
            let agent = desk.agent_id(&ask.of.agent).await?;
            let target = Target::new("/api/connectors/accessible")
                .then(&ask.connection.connection)
                .then("operations")
                .query("agentId", Some(agent));
            desk.output.show(&desk.get(&target).await?, &OPERATIONS)
        }
    }
}

pub(super) async fn sessions(desk: &Desk, verb: Sessions) -> Result<(), Failure> {
    match verb {
        Sessions::Show(ask) => {
            let answer = desk.get(&of_session(&ask)).await?;
            desk.output.show(&answer, &OF_SESSION)
        }
        Sessions::Switch(ask) => {
            let on = match ask.says {
                Word::On => json!(true),
                Word::Off => json!(false),
                Word::Default => Value::Null,
            };
            let target = of_session(&ask.session).then(&ask.connection.connection);
            let answer = desk.put(&target, Some(&json!({ "on": on }))).await?;
            desk.output.show(&answer, &SWITCHED)
        }
    }
}

fn of_session(ask: &Session) -> Target {
    let session = Target::new("/api/sessions").then(&ask.session);
    session.then("connections")
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

fn says(connection: &Value) -> String {
    match connection["on"].as_bool() {
        None => "nothing",
        Some(true) => "on",
        Some(false) => "off",
    }
    .to_owned()
}
