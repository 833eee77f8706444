//! `guildhall connectors`. Keys of services come from a file or standard input, never from an
//! argument.

mod connections;
mod executions;
mod flows;
mod providers;

use clap::Subcommand;

use super::{desk::Desk, failures::Failure};

/// What can be done with connectors.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Begins to sign in with a service; `flow show` says what to do then
    #[command(
        after_help = "Example:\n  guildhall connectors connect 0192f0c1-2d3e-7abc-8def-0123456789ab rehearsal --label 'To try it'"
    )]
    Connect(flows::Connect),
    /// Signing in with services
    #[command(subcommand)]
    Flow(flows::Verb),
    /// Accounts that are signed in
    #[command(subcommand)]
    Connection(connections::Verb),
    /// Provider instances: configured backends of services
    #[command(subcommand)]
    Provider(providers::Verb),
    /// Services inside provider instances
    #[command(subcommand)]
    Toolkit(providers::ToolkitVerb),
    /// Finds services one can connect
    #[command(after_help = "Example:\n  guildhall connectors catalog pets")]
    Catalog(providers::Catalog),
    /// Looking at what a connection can do, and granting it
    #[command(subcommand)]
    Review(executions::Review),
    /// What is granted to agents
    #[command(subcommand)]
    Grant(executions::Grant),
    /// Runs one exact operation
    #[command(
        after_help = "Example:\n  guildhall connectors run ada 0192f0c1-2d3e-7abc-8def-0123456789ab 0192f0c1-2d3e-7abc-8def-0123456789ac --arguments '{\"text\":\"hello\"}'"
    )]
    Run(executions::Run),
    /// Runs one exact operation as programs do
    #[command(
        after_help = "Example:\n  guildhall connectors execute ada 0192f0c1-2d3e-7abc-8def-0123456789ab 0192f0c1-2d3e-7abc-8def-0123456789ac"
    )]
    Execute(executions::Run),
    /// Lists what was attempted, newest first
    #[command(after_help = "Example:\n  guildhall connectors usage --agent ada")]
    Usage(executions::Usage),
}

/// The exit code, or why it was not done.
pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<u8, Failure> {
    match verb {
        Verb::Connect(ask) => flows::connect(desk, ask).await.map(|()| 0),
        Verb::Flow(verb) => flows::run(desk, verb).await,
        Verb::Connection(verb) => connections::run(desk, verb).await.map(|()| 0),
        Verb::Provider(verb) => providers::run(desk, verb).await.map(|()| 0),
        Verb::Toolkit(verb) => providers::run_toolkit(desk, verb).await.map(|()| 0),
        Verb::Catalog(ask) => providers::catalog(desk, ask).await.map(|()| 0),
        Verb::Review(verb) => executions::review(desk, verb).await.map(|()| 0),
        Verb::Grant(verb) => executions::grant(desk, verb).await.map(|()| 0),
        Verb::Run(ask) => {
            let path = "/api/connectors/cli/executions";
            executions::run(desk, path, ask).await.map(|()| 0)
        }
        Verb::Execute(ask) => {
            let path = "/api/connectors/executions";
            executions::run(desk, path, ask).await.map(|()| 0)
        }
        Verb::Usage(ask) => executions::usage(desk, ask).await.map(|()| 0),
    }
}
