//! `guildhall connections connect` and `guildhall connections flows`.

use std::path::PathBuf;

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use guildhall_world::ids;
use serde_json::{Value, json};

use crate::cli::{
    cli_context::CliContext,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_bodies::only_given,
    request_target::RequestTarget,
    terminal_input,
};

/// A wish for a connection.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConnectArgs {
    /// The provider instance's id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    provider: String,
    /// The service: the name of a toolkit of the instance
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    toolkit: String,
    /// What the connection is to be called [default: the service's name]
    #[arg(long)]
    label: Option<String>,
    #[command(flatten)]
    key: StartKeyArgs,
}

/// What makes a sign-in begin once, however often it is asked for.
#[derive(Clone, Debug, Args)]
pub(crate) struct StartKeyArgs {
    /// Key of an earlier try: with it the same sign-in is answered [default: a new key]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

impl StartKeyArgs {
    pub(super) fn text(&self) -> String {
        let given = self.key.clone();
        given.unwrap_or_else(|| ids::new().to_string())
    }
}

/// What can be done with sign-ins.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the sign-ins that were begun in the last half hour
    #[command(after_help = "Example:\n  guildhall connections flows list")]
    List,
    /// Shows how far a sign-in is, and what to do; exits with 1 when it ended without a connection
    #[command(
        after_help = "Example:\n  guildhall connections flows show 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Show(FlowArg),
    /// Gives the key that the service is shown
    #[command(
        after_help = "The key comes from a file, or `-` for standard input.\n\nExample:\n  pass show service | guildhall connections flows key 0192f0c1-2d3e-7abc-8def-0123456789ab --secret-file -"
    )]
    Key(EnterKeyArgs),
    /// Cancels a sign-in
    #[command(
        after_help = "Example:\n  guildhall connections flows cancel 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Cancel(FlowArg),
}

/// One sign-in.
#[derive(Clone, Debug, Args)]
pub(crate) struct FlowArg {
    /// The sign-in's id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    flow: String,
}

/// A key for a service.
#[derive(Clone, Debug, Args)]
pub(crate) struct EnterKeyArgs {
    #[command(flatten)]
    flow: FlowArg,
    /// The file that holds the key, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    secret_file: PathBuf,
}

const LIST: TableLayout = TableLayout {
    list: Some("flows"),
    id: "/flowId",
    columns: &[
        ("SERVICE", CellSource::At("/toolkit")),
        ("STATE", CellSource::At("/state")),
        ("TO DO", CellSource::At("/step")),
        ("UNTIL", CellSource::At("/expiresAt")),
        ("ID", CellSource::At("/flowId")),
    ],
};

const FLOW: TableLayout = TableLayout {
    list: None,
    id: "/flowId",
    columns: &[
        ("Sign-in", CellSource::At("/flowId")),
        ("Service", CellSource::At("/toolkit")),
        ("State", CellSource::At("/state")),
        ("To do", CellSource::At("/step")),
        ("Open this", CellSource::At("/authorizeUrl")),
        ("Type this", CellSource::At("/userCode")),
        ("There", CellSource::At("/verificationUri")),
        ("Connection", CellSource::At("/connectionId")),
        ("Why", CellSource::At("/reason")),
        ("Until", CellSource::At("/expiresAt")),
    ],
};

pub(super) async fn connect(desk: &CliContext, ask: ConnectArgs) -> Result<(), Failure> {
    let body = only_given(json!({
        "providerInstanceId": ask.provider,
        "toolkit": ask.toolkit,
        "label": ask.label,
        "idempotencyKey": ask.key.text(),
    }));
    start_and_print(
        desk,
        &RequestTarget::new("/api/connectors/connections"),
        &body,
    )
    .await
}

/// Begins a sign-in and shows it.
pub(super) async fn start_and_print(
    desk: &CliContext,
    target: &RequestTarget,
    body: &Value,
) -> Result<(), Failure> {
    let answer = desk.post_with_new_key(target, Some(body)).await?;
    desk.output.show(&answer, &FLOW)
}

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<u8, Failure> {
    match verb {
        Verb::List => desk
            .output
            .show(&desk.get(&all()).await?, &LIST)
            .map(|()| 0),
        Verb::Show(ask) => {
            let answer = desk.get(&target(&ask)).await?;
            desk.output.show(&answer, &FLOW)?;
            let flow: Value = answer.json()?;
            let state = flow["state"].as_str().unwrap_or_default();
            let is_lost = ["failed", "expired", "start_unknown"].contains(&state);
            Ok(u8::from(is_lost))
        }
        Verb::Key(ask) => {
            let body = json!({"secret": terminal_input::text_of(&ask.secret_file)?});
            let target = target(&ask.flow).push_segment("credential");
            let answer = desk.post_with_new_key(&target, Some(&body)).await?;
            desk.output.show(&answer, &FLOW)?;
            let flow: Value = answer.json()?;
            Ok(u8::from(flow["state"] != "connected"))
        }
        Verb::Cancel(ask) => {
            let answer = desk.delete(&target(&ask), None).await?;
            desk.output.show(&answer, &FLOW).map(|()| 0)
        }
    }
}

fn all() -> RequestTarget {
    RequestTarget::new("/api/connectors/authentication-flows")
}

fn target(ask: &FlowArg) -> RequestTarget {
    all().push_segment(&ask.flow)
}
