//! The guildhall binary: the server and every verb of its command line.

mod cli;
mod config;
mod runtime_config;
mod serve;
mod stdio_relay;

use std::{ffi::OsString, path::PathBuf, process::ExitCode, time::Duration};

use clap::{
    Args, CommandFactory, FromArgMatches, Parser, Subcommand,
    builder::{OsStringValueParser, TypedValueParser},
};
use guildhall_world::{
    enclosure::{self, FolderIdentity, GuardRestrictions},
    process_guard::{GuardOptions, run_guard},
};

/// A local server for a workspace in which people and coding agents work together.
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    args_conflicts_with_subcommands = true,
    after_help = "Example:\n  guildhall --data-dir ~/house"
)]
struct Cli {
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
    /// Says what this computer has for a server, also while none runs; exit code 1 when something
    /// is missing
    #[command(after_help = "Example:\n  guildhall doctor --json")]
    Doctor(cli::DoctorArgs),
    /// Goes back to a backup while no server runs; what was there is set aside
    #[command(
        after_help = "Examples:\n  guildhall restore\n  guildhall restore latest\n  guildhall restore 0192f0c1-2d3e-7abc-8def-0123456789ab\n  guildhall restore --from /media/backups latest"
    )]
    Restore(cli::RestoreArgs),
    /// Prints completions for a shell
    #[command(
        after_help = "Example:\n  guildhall completions bash > /etc/bash_completion.d/guildhall"
    )]
    Completions(cli::CompletionsArgs),
    /// Writes the manual pages into a folder
    #[command(after_help = "Example:\n  guildhall man ~/.local/share/man/man1")]
    Man(cli::ManArgs),
    /// Serves as the scripted agent over standard input and output; started by the server
    #[command(hide = true)]
    RehearsalAgent,
    /// Serves as one tool server of an agent's session; agents call it
    #[command(name = guildhall_hall::launch_config::BRIDGE, hide = true)]
    Bridge(StdioRelayArgs),
    /// Keeps one agent's process; the server calls it
    #[command(name = guildhall_world::process_guard::SUBCOMMAND, hide = true)]
    Keeper(GuardArgs),
    /// Tries what encloses agents; the server calls it
    #[command(name = guildhall_world::enclosure::CHECK, hide = true)]
    EnclosureCheck,
}

/// Which tool server a bridge leads to.
#[derive(Debug, Args)]
struct StdioRelayArgs {
    /// Its name; `guildhall` is the house's own
    name: String,
}

/// What a keeper keeps.
#[derive(Debug, Args)]
struct GuardArgs {
    /// Seconds between the steps of ending it
    #[arg(long, default_value_t = guildhall_domain::limits::STOP_GRACE_S)]
    grace_s: u64,
    /// The name the program is called by, if not its path
    #[arg(long)]
    name: Option<OsString>,
    /// Let it talk at descriptors 3 and 4
    #[arg(long)]
    pipes: bool,
    /// The data folder that it sees as empty
    #[arg(long, value_name = "DEVICE:INODE:PATH", value_parser = OsStringValueParser::new().try_map(FolderIdentity::try_from))]
    hide_data: Option<FolderIdentity>,
    /// Other folders and sockets that it does
    #[arg(long)]
    hide: Vec<PathBuf>,
    /// Refuse calls that lead around what it is kept from
    #[arg(long)]
    filter_calls: bool,
    /// The agent's program and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let Cli { verb, serve } = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match verb {
        None => serve::run(&serve.read_from(&matches)),
        Some(Verb::Serve(args)) => {
            let given = matches.subcommand_matches("serve").unwrap_or(&matches);
            serve::run(&args.read_from(given))
        }
        Some(Verb::Ask(command)) => cli::run(command),
        Some(Verb::Doctor(ask)) => cli::doctor(ask),
        Some(Verb::Restore(ask)) => cli::restore(&ask),
        Some(Verb::Completions(ask)) => cli::completions(Cli::command(), ask),
        Some(Verb::Man(ask)) => cli::man(Cli::command(), &ask),
        Some(Verb::RehearsalAgent) => guildhall_rehearsal::main(),
        Some(Verb::Bridge(StdioRelayArgs { name })) => stdio_relay::run(&name),
        Some(Verb::EnclosureCheck) => check_enclosure(),
        Some(Verb::Keeper(GuardArgs {
            grace_s,
            name,
            pipes,
            hide_data,
            hide,
            filter_calls,
            command,
        })) => ExitCode::from(run_guard(&GuardOptions {
            walls: &GuardRestrictions {
                data: hide_data,
                hidden: hide,
                filters_calls: filter_calls,
            },
            command: &command,
            name: name.as_deref(),
            grace: Duration::from_secs(grace_s),
            is_at_pipes: pipes,
        })),
    }
}

/// Says which parts of the enclosure this process could do to itself.
#[expect(clippy::print_stdout, reason = "the server reads it")]
fn check_enclosure() -> ExitCode {
    print!("{}", enclosure::check());
    ExitCode::SUCCESS
}
