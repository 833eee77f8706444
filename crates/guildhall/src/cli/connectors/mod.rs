//! `guildhall connections` and `guildhall exec`. Keys of services come from a file or standard
//! input, never from an argument.

mod auth_flows;
mod connections;
mod executions;
mod providers;
mod reviews;

use clap::Subcommand;

pub(super) use self::executions::ExecuteArgs;
use super::{cli_context::CliContext, failure::Failure};

/// What can be done with connections.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    #[command(flatten)]
    One(connections::Verb),
    /// Finds services one can connect
    #[command(after_help = "Example:\n  guildhall connections catalog pets")]
    Catalog(providers::CatalogArgs),
    /// Begins to sign in with a service; `auth_flows show` says what to do then
    #[command(
        after_help = "Example:\n  guildhall connections connect 0192f0c1-2d3e-7abc-8def-0123456789ab rehearsal --label 'To try it'"
    )]
    Connect(auth_flows::ConnectArgs),
    /// Signing in with services
    #[command(subcommand)]
    Flows(auth_flows::Verb),
    /// Looking at what a connection can do, and granting it
    #[command(subcommand)]
    Reviews(reviews::ReviewVerb),
    /// What is granted to agents
    #[command(subcommand)]
    Grants(reviews::GrantVerb),
    /// What single sessions say of connections
    #[command(subcommand)]
    Sessions(reviews::SessionVerb),
    /// Runs one exact operation by the route for programs; exits with 1 unless it succeeds
    #[command(
        after_help = "Example:\n  guildhall connections execute ada 0192f0c1-2d3e-7abc-8def-0123456789ab 0192f0c1-2d3e-7abc-8def-0123456789ac"
    )]
    Execute(ExecuteArgs),
    /// Lists what was attempted, newest first
    #[command(after_help = "Example:\n  guildhall connections usage --agent ada")]
    Usage(executions::ExecutionLogArgs),
    /// Provider instances: configured backends of services
    #[command(subcommand)]
    Providers(providers::ProviderVerb),
    /// Services inside provider instances
    #[command(subcommand)]
    Toolkits(providers::ToolkitVerb),
}

/// The exit code, or why it was not done.
pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<u8, Failure> {
    match verb {
        Verb::One(verb) => connections::run(desk, verb).await?,
        Verb::Catalog(ask) => providers::catalog(desk, ask).await?,
        Verb::Connect(ask) => auth_flows::connect(desk, ask).await?,
        Verb::Flows(verb) => return auth_flows::run(desk, verb).await,
        Verb::Reviews(verb) => reviews::reviews(desk, verb).await?,
        Verb::Grants(verb) => reviews::grants(desk, verb).await?,
        Verb::Sessions(verb) => reviews::sessions(desk, verb).await?,
        Verb::Execute(ask) => {
            return executions::run(desk, "/api/connectors/executions", ask).await;
        }
        Verb::Usage(ask) => executions::usage(desk, ask).await?,
        Verb::Providers(verb) => providers::run(desk, verb).await?,
        Verb::Toolkits(verb) => providers::run_toolkit(desk, verb).await?,
    }
    Ok(0)
}

/// Runs one exact operation; 1 when it came to anything but a success.
pub(super) async fn exec(desk: &CliContext, ask: ExecuteArgs) -> Result<u8, Failure> {
    executions::run(desk, "/api/connectors/cli/executions", ask).await
}
