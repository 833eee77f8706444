//! The guildhall binary: the server and every verb of its command line.

mod config;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A local server for a workspace in which people and coding agents work together.
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    args_conflicts_with_subcommands = true
)]
struct Guildhall {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    serve: config::ServeArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Starts the server; the verb when none is given.
    Serve(config::ServeArgs),
}

fn main() -> ExitCode {
    let Guildhall { verb, serve } = Guildhall::parse();
    match verb {
        None => serve::run(serve),
        Some(Verb::Serve(args)) => serve::run(args),
    }
}
