//! `guildhall connections reviews`, `grants` and `sessions`.

use std::collections::BTreeMap;

use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};

use crate::cli::{
    cli_context::CliContext,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

/// What can be done with reviews.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ReviewVerb {
    /// Lists what a connection can do now, to grant from; it can be applied for ten minutes
    #[command(
        after_help = "Example:\n  guildhall connections reviews open 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Open(GrantConnectionArg),
    /// Puts what is granted in the place of all that was granted with the connection
    #[command(
        after_help = "Example:\n  guildhall connections reviews apply 0192f0c1-2d3e-7abc-8def-0123456789ab --grant ada=0192f0c1-2d3e-7abc-8def-0123456789ac"
    )]
    Apply(ApplyReviewArgs),
}

/// What can be done with what is granted.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum GrantVerb {
    /// Shows what is granted with a connection
    #[command(
        after_help = "Example:\n  guildhall connections grants show 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Show(GrantConnectionArg),
    /// Lists the connections with which an agent may run something
    #[command(after_help = "Example:\n  guildhall connections grants of ada")]
    Of(AgentGrantsArgs),
    /// Lists what an agent may run with a connection
    #[command(
        after_help = "Example:\n  guildhall connections grants operations ada 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Operations(AgentConnectionArgs),
}

/// What can be done with what sessions say of connections.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SessionVerb {
    /// Lists what a session's agent can reach, and what the session says of it
    #[command(
        after_help = "Example:\n  guildhall connections sessions show 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Show(ConnectionSessionArg),
    /// Turns a connection on or off for one session; it only narrows what is granted
    #[command(
        after_help = "Example:\n  guildhall connections sessions switch 0192f0c1-2d3e-7abc-8def-0123456789ab 0192f0c1-2d3e-7abc-8def-0123456789ac off"
    )]
    Switch(SessionSwitchArgs),
}

/// One session.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConnectionSessionArg {
    /// The session's id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    session: String,
}

/// One connection.
#[derive(Clone, Debug, Args)]
pub(crate) struct GrantConnectionArg {
    /// The connection's id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(super) connection: String,
}

/// What is granted of a review.
#[derive(Clone, Debug, Args)]
pub(crate) struct ApplyReviewArgs {
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
pub(crate) struct SessionSwitchArgs {
    #[command(flatten)]
    session: ConnectionSessionArg,
    #[command(flatten)]
    connection: GrantConnectionArg,
    /// What it says
    #[arg(value_enum)]
    says: SessionSetting,
}

/// What a session says of a connection.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum SessionSetting {
    /// It stays on.
    On,
    /// It is off there.
    Off,
    /// Nothing.
    Default,
}

/// One agent.
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentGrantsArgs {
    /// The agent: its id, its handle, or its name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(super) agent: String,
}

/// One agent with one connection.
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentConnectionArgs {
    #[command(flatten)]
    pub(super) of: AgentGrantsArgs,
    #[command(flatten)]
    pub(super) connection: GrantConnectionArg,
}

const OPERATIONS: TableLayout = TableLayout {
    list: Some("operations"),
    id: "/id",
    columns: &[
        ("OPERATION", CellSource::At("/operationSlug")),
        ("CLASS", CellSource::At("/classification")),
        ("TITLE", CellSource::At("/title")),
        ("ID", CellSource::At("/id")),
    ],
};

const REVIEW: TableLayout = TableLayout {
    list: None,
    id: "/reviewId",
    columns: &[
        ("Review", CellSource::At("/reviewId")),
        ("Connection", CellSource::At("/connection/id")),
        ("Service", CellSource::At("/connection/toolkit")),
        ("Can do", CellSource::Of(operations)),
        ("Until", CellSource::At("/expiresAt")),
    ],
};

const GRANTS: TableLayout = TableLayout {
    list: Some("grants"),
    id: "/agentId",
    columns: &[
        ("AGENT", CellSource::At("/agentId")),
        ("OPERATIONS", CellSource::Of(granted)),
    ],
};

const SWITCHED: TableLayout = TableLayout {
    list: None,
    id: "/connectionId",
    columns: &[
        ("Session", CellSource::At("/sessionId")),
        ("Connection", CellSource::At("/connectionId")),
        ("On", CellSource::At("/on")),
    ],
};

const ACCESSIBLE: TableLayout = TableLayout {
    list: Some("connections"),
    id: "/connectionId",
    columns: &[
        ("SERVICE", CellSource::At("/toolkit")),
        ("LABEL", CellSource::At("/label")),
        ("OPERATIONS", CellSource::At("/operationCount")),
        ("ID", CellSource::At("/connectionId")),
    ],
};

const OF_SESSION: TableLayout = TableLayout {
    list: Some("connections"),
    id: "/connectionId",
    columns: &[
        ("SERVICE", CellSource::At("/toolkit")),
        ("LABEL", CellSource::At("/label")),
        ("SESSION SAYS", CellSource::Of(says)),
        ("ID", CellSource::At("/connectionId")),
    ],
};

pub(super) async fn reviews(desk: &CliContext, verb: ReviewVerb) -> Result<(), Failure> {
    match verb {
        ReviewVerb::Open(ask) => {
            let target = connection(&ask).push_segment("reviews");
            let answer = desk.post_with_new_key(&target, None).await?;
            desk.output.show(&answer, &REVIEW)
        }
        ReviewVerb::Apply(ask) => {
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
            let target = RequestTarget::new("/api/connectors/reviews").push_segment(&ask.review);
            let answer = desk
                .post_with_new_key(&target.push_segment("apply"), Some(&body))
                .await?;
            desk.output.show(&answer, &GRANTS)
        }
    }
}

pub(super) async fn grants(desk: &CliContext, verb: GrantVerb) -> Result<(), Failure> {
    match verb {
        GrantVerb::Show(ask) => {
            let answer = desk.get(&connection(&ask).push_segment("grants")).await?;
            desk.output.show(&answer, &GRANTS)
        }
        GrantVerb::Of(ask) => {
            let agent = desk.agent_id(&ask.agent).await?;
            let target =
                RequestTarget::new("/api/connectors/accessible").query("agentId", Some(agent));
            desk.output.show(&desk.get(&target).await?, &ACCESSIBLE)
        }
        GrantVerb::Operations(ask) => {
            let agent = desk.agent_id(&ask.of.agent).await?;
            let target = RequestTarget::new("/api/connectors/accessible")
                .push_segment(&ask.connection.connection)
                .push_segment("operations")
                .query("agentId", Some(agent));
            desk.output.show(&desk.get(&target).await?, &OPERATIONS)
        }
    }
}

pub(super) async fn sessions(desk: &CliContext, verb: SessionVerb) -> Result<(), Failure> {
    match verb {
        SessionVerb::Show(ask) => {
            let answer = desk.get(&of_session(&ask)).await?;
            desk.output.show(&answer, &OF_SESSION)
        }
        SessionVerb::Switch(ask) => {
            let on = match ask.says {
                SessionSetting::On => json!(true),
                SessionSetting::Off => json!(false),
                SessionSetting::Default => Value::Null,
            };
            let target = of_session(&ask.session).push_segment(&ask.connection.connection);
            let answer = desk.put(&target, Some(&json!({ "on": on }))).await?;
            desk.output.show(&answer, &SWITCHED)
        }
    }
}

fn of_session(ask: &ConnectionSessionArg) -> RequestTarget {
    let session = RequestTarget::new("/api/sessions").push_segment(&ask.session);
    session.push_segment("connections")
}

fn connection(ask: &GrantConnectionArg) -> RequestTarget {
    RequestTarget::new("/api/connectors/connections").push_segment(&ask.connection)
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
