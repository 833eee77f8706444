//! The guildhall binary: the server and every verb of its command line.

mod bridge;
mod cli;
mod config;
mod runtimes;
mod serve;

use std::{ffi::OsString, process::ExitCode, time::Duration};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use guildhall_world::keeper::{Keep, keep};

/// A local server for a workspace in which people and coding agents work together.
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    args_conflicts_with_subcommands = true,
    after_help = "Example:\n  guildhall --data-dir ~/house"
)]
struct Guildhall {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    serve: config::ServeArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Starts the server; the verb when none is given
    #[command(after_help = "Example:\n  guildhall serve --bind 127.0.0.1:4747")]
    Serve(config::ServeArgs),
    #[command(flatten)]
    Ask(cli::Command),
    /// Prints completions for a shell
    #[command(
        after_help = "Example:\n  guildhall completions bash > /etc/bash_completion.d/guildhall"
    )]
    Completions(cli::Completions),
    /// Writes the manual pages into a folder
    #[command(after_help = "Example:\n  guildhall man ~/.local/share/man/man1")]
    Man(cli::Man),
    /// Serves as the scripted agent over standard input and output; started by the server
    #[command(hide = true)]
    RehearsalAgent,
    /// Serves as one tool server of an agent's session; agents call it
    #[command(name = guildhall_hall::launching::BRIDGE, hide = true)]
    Bridge(Bridge),
    /// Keeps one agent's process; the server calls it
    #[command(name = guildhall_world::keeper::SUBCOMMAND, hide = true)]
    Keeper(Keeper),
}

/// Which tool server a bridge leads to.
#[derive(Debug, Args)]
struct Bridge {
    /// Its name; `guildhall` is the house's own
    name: String,
}

/// What a keeper keeps.
#[derive(Debug, Args)]
struct Keeper {
    /// Seconds between the steps of ending it
    #[arg(long, default_value_t = guildhall_domain::limits::STOP_GRACE_S)]
    grace_s: u64,
    /// The name the program is called by, if not its path
    #[arg(long)]
    name: Option<OsString>,
    /// Let it talk at descriptors 3 and 4
    #[arg(long)]
    pipes: bool,
    /// The agent's program and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

fn main() -> ExitCode {
    let matches = Guildhall::command().get_matches();
    let Guildhall { verb, serve } =
        Guildhall::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match verb {
        None => serve::run(&serve.read_from(&matches)),
        Some(Verb::Serve(args)) => {
            let given = matches.subcommand_matches("serve").unwrap_or(&matches);
            serve::run(&args.read_from(given))
        }
        Some(Verb::Ask(command)) => cli::run(command),
        Some(Verb::Completions(ask)) => cli::completions(Guildhall::command(), ask),
        Some(Verb::Man(ask)) => cli::man(Guildhall::command(), &ask),
        Some(Verb::RehearsalAgent) => guildhall_rehearsal::main(),
        Some(Verb::Bridge(Bridge { name })) => bridge::run(&name),
        Some(Verb::Keeper(Keeper {
            grace_s,
            name,
            pipes,
            command,
        })) => ExitCode::from(keep(&Keep {
            command: &command,
            name: name.as_deref(),
            grace: Duration::from_secs(grace_s),
            is_at_pipes: pipes,
        })),
    }
}
