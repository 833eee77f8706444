//! `guildhall exec`, and `guildhall connections execute` and `usage`.

use std::path::PathBuf;

use clap::{Args, builder::NonEmptyStringValueParser};
use http::Method;
use serde_json::{Value, json};

use super::reviews::AgentConnectionArgs;
use crate::cli::{
    cli_context::CliContext,
    common_args::{IdempotencyArgs, PageArgs},
    failure::Failure,
    mcp_servers::{ApprovalWaitArgs, gated},
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
    terminal_input,
};

/// An operation that is run.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExecuteArgs {
    #[command(flatten)]
    there: AgentConnectionArgs,
    /// The operation's id, as `connections grants operations` lists it
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    operation: String,
    /// The arguments, a JSON object [default: {}]
    #[arg(long, value_name = "JSON", conflicts_with = "arguments_file")]
    arguments: Option<String>,
    /// The file that holds them, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    arguments_file: Option<PathBuf>,
    #[command(flatten)]
    waiting: ApprovalWaitArgs,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// Which attempts to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExecutionLogArgs {
    /// Only for this agent: its id, its handle, or its name
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only with this connection
    #[arg(long, value_name = "ID")]
    connection: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

const EXECUTION: TableLayout = TableLayout {
    list: None,
    id: "/logicalOperationId",
    columns: &[
        ("Execution", CellSource::At("/logicalOperationId")),
        ("Attempts", CellSource::At("/attemptCount")),
        ("Status", CellSource::At("/result/status")),
        ("Code", CellSource::At("/result/code")),
        ("Why", CellSource::Of(why)),
        ("Data", CellSource::Of(data)),
    ],
};

const USAGE: TableLayout = TableLayout {
    list: Some("attempts"),
    id: "/logicalOperationId",
    columns: &[
        ("STARTED", CellSource::At("/startedAt")),
        ("OPERATION", CellSource::At("/operationSlug")),
        ("TITLE", CellSource::At("/title")),
        ("STATUS", CellSource::At("/status")),
        ("CODE", CellSource::At("/code")),
        ("CLASS", CellSource::At("/classification")),
        ("FROM", CellSource::At("/surface")),
        ("EXECUTION", CellSource::At("/logicalOperationId")),
    ],
};

/// Runs an operation by the route at `path`; 1 when it came to anything but a success.
pub(super) async fn run(desk: &CliContext, path: &str, ask: ExecuteArgs) -> Result<u8, Failure> {
    let text = match (&ask.arguments, &ask.arguments_file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => terminal_input::document_of(file)?,
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
    let target = RequestTarget::new(path);
    let answer = desk
        .send_gated(Method::POST, &target, Some(&body), gated)
        .await?;
    desk.output.show(&answer, &EXECUTION)?;
    let execution: Value = answer.json()?;
    Ok(u8::from(execution["result"]["status"] != "success"))
}

pub(super) async fn usage(desk: &CliContext, ask: ExecutionLogArgs) -> Result<(), Failure> {
    let agent = match &ask.agent {
        Some(agent) => Some(desk.agent_id(agent).await?),
        None => None,
    };
    let target = RequestTarget::new("/api/connectors/usage")
        .query("agentId", agent)
        .query("connectionId", ask.connection)
        .page(ask.page);
    desk.output.show_page(&desk.get(&target).await?, &USAGE)
}

fn data(execution: &Value) -> String {
    match &execution["result"]["data"] {
        Value::Null => String::new(),
        data => data.to_string(),
    }
}

fn why(execution: &Value) -> String {
    let result = &execution["result"];
    let said = result["message"].as_str().or(result["reason"].as_str());
    said.unwrap_or_default().to_owned()
}
