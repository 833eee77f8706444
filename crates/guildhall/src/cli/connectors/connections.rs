//! the verbs of `guildhall connections` for single ones.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::json;

use super::auth_flows::{StartKeyArgs, start_and_print};
use crate::cli::{
    cli_context::CliContext,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_bodies::{changes, only_given},
    request_target::RequestTarget,
};

/// What can be done with connections.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the accounts that are signed in
    #[command(after_help = "Example:\n  guildhall connections list")]
    List,
    /// Shows one of them
    #[command(
        after_help = "Example:\n  guildhall connections show 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Show(ConnectionArg),
    /// Gives one another name, or switches it on or off
    #[command(
        after_help = "Example:\n  guildhall connections update 0192f0c1-2d3e-7abc-8def-0123456789ab --enabled false"
    )]
    Update(UpdateConnectionArgs),
    /// Holds one: nothing runs with it until it is resumed
    #[command(
        after_help = "Example:\n  guildhall connections pause 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Pause(ConnectionArg),
    /// Goes on with one that was paused
    #[command(
        after_help = "Example:\n  guildhall connections resume 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Resume(ConnectionArg),
    /// Begins to sign in anew with one, which is paused until that is done
    #[command(
        after_help = "Example:\n  guildhall connections reconnect 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Reconnect(ReconnectArgs),
    /// Gives one up: its credentials are erased, then given back to the service
    #[command(
        after_help = "Example:\n  guildhall connections disconnect 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Disconnect(ConnectionArg),
    /// Drops what is left of one that was given up
    #[command(
        after_help = "Example:\n  guildhall connections remove 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Remove(ConnectionArg),
}

/// One connection.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConnectionArg {
    /// The connection's id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    connection: String,
}

/// What of a connection is to be otherwise.
#[derive(Clone, Debug, Args)]
pub(crate) struct UpdateConnectionArgs {
    #[command(flatten)]
    connection: ConnectionArg,
    /// What people call it, 1 to 200 characters
    #[arg(long)]
    label: Option<String>,
    /// Whether it is switched on
    #[arg(long, value_name = "true|false")]
    enabled: Option<bool>,
}

/// A connection that is signed in anew.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReconnectArgs {
    #[command(flatten)]
    connection: ConnectionArg,
    #[command(flatten)]
    key: StartKeyArgs,
}

const LIST: TableLayout = TableLayout {
    list: Some("connections"),
    id: "/id",
    columns: &[
        ("SERVICE", CellSource::At("/toolkit")),
        ("LABEL", CellSource::At("/label")),
        ("ACCOUNT", CellSource::At("/accountLabel")),
        ("READY", CellSource::At("/readiness/state")),
        ("GRANTS", CellSource::At("/grantCount")),
        ("ID", CellSource::At("/id")),
    ],
};

const CONNECTION: TableLayout = TableLayout {
    list: None,
    id: "/id",
    columns: &[
        ("Connection", CellSource::At("/id")),
        ("Service", CellSource::At("/toolkit")),
        ("Label", CellSource::At("/label")),
        ("Account", CellSource::At("/accountLabel")),
        ("Lifecycle", CellSource::At("/lifecycle")),
        ("Account is", CellSource::At("/accountStatus")),
        ("Switched on", CellSource::At("/enabled")),
        ("Ready", CellSource::At("/readiness/state")),
        ("Why", CellSource::At("/readiness/reason")),
        ("Do", CellSource::At("/readiness/fix")),
        ("Given back", CellSource::At("/externalCleanup")),
        ("Grants", CellSource::At("/grantCount")),
        ("Made", CellSource::At("/createdAt")),
        ("Changed", CellSource::At("/updatedAt")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    let answer = match verb {
        Verb::List => return desk.output.show(&desk.get(&all()).await?, &LIST),
        Verb::Reconnect(ask) => {
            let body = json!({"idempotencyKey": ask.key.text()});
            let target = target(&ask.connection).push_segment("reconnect");
            return start_and_print(desk, &target, &body).await;
        }
        Verb::Remove(ask) => {
            let target = target(&ask).push_segment("remove");
            desk.post_with_new_key(&target, None).await?;
            return desk.output.done("The connection is removed.");
        }
        Verb::Show(ask) => desk.get(&target(&ask)).await?,
        Verb::Update(ask) => {
            let body = only_given(json!({"label": ask.label, "enabled": ask.enabled}));
            let body = changes(body, "connections update")?;
            desk.patch(&target(&ask.connection), &body, None).await?
        }
        Verb::Pause(ask) => {
            desk.post_with_new_key(&target(&ask).push_segment("pause"), None)
                .await?
        }
        Verb::Resume(ask) => {
            desk.post_with_new_key(&target(&ask).push_segment("resume"), None)
                .await?
        }
        Verb::Disconnect(ask) => desk.delete(&target(&ask), None).await?,
    };
    desk.output.show(&answer, &CONNECTION)
}

fn all() -> RequestTarget {
    RequestTarget::new("/api/connectors/connections")
}

fn target(ask: &ConnectionArg) -> RequestTarget {
    all().push_segment(&ask.connection)
}
