//! `guildhall sessions`.

use clap::Subcommand;

use super::{desk::Desk, failures::Failure, session_tasks};

/// What can be done with sessions.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists what the agent of a session means to do
    #[command(
        after_help = "Example:\n  guildhall sessions tasks 5b1f7c2e-8d34-4e0a-9c61-2f7d0a4be913"
    )]
    Tasks(session_tasks::Ask),
}

pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Tasks(ask) => session_tasks::run(desk, &ask).await,
    }
}
