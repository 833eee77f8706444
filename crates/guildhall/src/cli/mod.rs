//! The command line: every operation of the interface as `guildhall <noun> <verb>`.
//! It is a client like any other: it opens neither the database nor a file of the data folder
//! but the one that says where the server is, `restore` and `--from` aside, and it decides nothing that the server decides.

mod accounts;
mod agent_tokens;
mod agents;
mod api_keys;
mod approval_cards;
mod approvals;
mod attachments;
mod authors;
mod backups;
mod browser;
mod canvas;
mod canvas_content;
mod cli_context;
mod cloud;
mod commands;
mod common_args;
mod connectors;
mod directories;
mod doctor;
mod downloads;
mod entries;
mod escaped_text;
mod events;
mod failure;
mod file_reads;
mod files;
mod http_client;
mod interactions;
mod man_pages;
mod mcp_servers;
mod members;
mod operation_commands;
mod output;
mod owner_link;
mod preview;
mod raw_request;
mod reactions;
mod read_cursors;
mod request_bodies;
mod request_body;
mod request_target;
mod restore;
mod room_export;
mod rooms;
mod runtimes;
mod search;
mod server_discovery;
mod server_documents;
mod session_canvas;
mod session_tasks;
mod sessions;
mod settings;
mod signals;
pub(crate) mod sse_frames;
mod status;
mod terminal_input;
mod threads;
mod turns;
mod unified_diff;
mod whoami;

use std::process::ExitCode;

use clap::Subcommand;
use cli_context::CliContext;
use common_args::{CommonArgs, NoArgs, NounCommand, SingleCommand};
pub(crate) use doctor::DoctorArgs;
use failure::Failure;
pub(crate) use man_pages::{CompletionsArgs, ManArgs};
pub(crate) use restore::RestoreArgs;

/// Every command that asks a server.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows whether the server runs, and what it is
    #[command(after_help = "Example:\n  guildhall status")]
    Status(SingleCommand<status::StatusArgs>),
    /// Shows who the server takes you for
    #[command(
        after_help = "The first of these that is set says who you are; without any it is your user on this computer:\n  GUILDHALL_AGENT_TOKEN  an agent's token\n  GUILDHALL_API_KEY      a person's key\n  GUILDHALL_COOKIE       a sign-in\n\nExample:\n  guildhall whoami"
    )]
    Whoami(SingleCommand<NoArgs>),
    /// Opens the page in your browser as the owner's, by an address that counts once
    #[command(
        after_help = "Where the server cannot tell your browser from an agent (CALLER_IN_DOUBT), this settles it.\n\nExamples:\n  guildhall open\n  guildhall open --print"
    )]
    Open(SingleCommand<owner_link::OpenArgs>),
    /// Forgets every browser that was opened by `guildhall owner_link`
    #[command(after_help = "Example:\n  guildhall forget-browsers")]
    ForgetBrowsers(SingleCommand<NoArgs>),
    /// Rooms: channels and direct messages
    Rooms(NounCommand<rooms::Verb>),
    /// Who belongs to a room
    Members(NounCommand<members::Verb>),
    /// Writes a post
    #[command(
        after_help = "Examples:\n  guildhall post ops 'the build is green'\n  git log -1 | guildhall post '#ops' -\n  guildhall post ops --thread 12 'it was the cache' --attach build.log"
    )]
    Post(SingleCommand<entries::PostArgs>),
    /// What was written in a room
    Entries(NounCommand<entries::Verb>),
    /// Threads: entries and the replies to them
    Threads(NounCommand<threads::Verb>),
    /// What agents were asked in a room, and why they answer or not
    Turns(NounCommand<turns::Verb>),
    /// Reactions to entries
    Reactions(NounCommand<reactions::Verb>),
    /// Files that go along with posts
    Attachments(NounCommand<attachments::Verb>),
    /// Finds entries by their words, newest first
    #[command(
        after_help = "Examples:\n  guildhall search green build\n  guildhall search --room ops cache"
    )]
    Search(SingleCommand<search::SearchArgs>),
    /// The documents of a room
    Canvas(NounCommand<canvas::Verb>),
    /// Addresses that show a folder or a dev server to a browser
    Preview(NounCommand<preview::Verb>),
    /// The local browser of this computer
    Browser(NounCommand<browser::Verb>),
    /// How far you have read a room
    ReadCursor(NounCommand<read_cursors::Verb>),
    /// Tells a room that you type or look at something
    #[command(after_help = "Example:\n  guildhall signal ops typing on")]
    Signal(SingleCommand<signals::SignalArgs>),
    /// Authors: people, agents and the house itself
    Authors(NounCommand<authors::Verb>),
    /// Registered agents
    Agents(NounCommand<agents::Verb>),
    /// Tool servers of agents
    Mcp(NounCommand<mcp_servers::Verb>),
    /// The link to a cloud service: optional, everything else works without it
    Cloud(NounCommand<cloud::Verb>),
    /// Connections: accounts at services outside this computer, and what agents may do there
    Connections(NounCommand<connectors::Verb>),
    /// Runs one exact operation with a connection; exits with 1 unless it succeeds
    #[command(
        after_help = "Examples:\n  guildhall exec ada 0192f0c1-2d3e-7abc-8def-0123456789ab 0192f0c1-2d3e-7abc-8def-0123456789ac --arguments '{\"text\":\"hello\"}'\n  guildhall exec ada 0192f0c1-2d3e-7abc-8def-0123456789ab 0192f0c1-2d3e-7abc-8def-0123456789ac --arguments-file - --json"
    )]
    Exec(SingleCommand<connectors::ExecuteArgs>),
    /// Runtimes: the programs agents run on
    Runtimes(NounCommand<runtimes::Verb>),
    /// Shows what each runtime's permission modes let happen
    #[command(after_help = "Example:\n  guildhall capabilities --json")]
    Capabilities(SingleCommand<NoArgs>),
    /// Shows what agents' turns used
    #[command(
        after_help = "Examples:\n  guildhall usage\n  guildhall usage --by agent --from 2026-11-01T00:00:00Z"
    )]
    Usage(SingleCommand<runtimes::UsageArgs>),
    /// Conversations with agents
    Sessions(NounCommand<sessions::Verb>),
    /// What waits for a person, and deciding on it
    Asks(NounCommand<interactions::Verb>),
    /// Folders of home
    Dir(NounCommand<directories::Verb>),
    /// People's own files
    Files(NounCommand<file_reads::Verb>),
    /// Lists what can be typed after a slash
    #[command(
        after_help = "Examples:\n  guildhall commands --cwd .\n  guildhall commands --cwd ~/work --refresh"
    )]
    Commands(SingleCommand<commands::ListCommandsArgs>),
    /// Tokens with which agents speak
    Tokens(NounCommand<agent_tokens::Verb>),
    /// People's accounts, and signing in and out
    Accounts(NounCommand<accounts::Verb>),
    /// API keys with which people's programs speak
    Keys(NounCommand<api_keys::Verb>),
    /// Backups of everything the server keeps
    Backup(NounCommand<backups::Verb>),
    /// What the owner can set
    Settings(NounCommand<settings::Verb>),
    /// Follows what happens, also across restarts of the server
    #[command(
        after_help = "Examples:\n  guildhall events --jsonl\n  guildhall events --scope hall --after 120"
    )]
    Events(SingleCommand<events::FollowArgs>),
    /// Shows the interface: every operation and its command
    #[command(after_help = "Example:\n  guildhall openapi --json > openapi.json")]
    Openapi(SingleCommand<NoArgs>),
    /// Prints what the server measures, as Prometheus text
    #[command(after_help = "Example:\n  guildhall metrics")]
    Metrics(SingleCommand<NoArgs>),
    /// Sends any request and prints the answer as it is
    #[command(
        after_help = "Example:\n  guildhall api POST /api/rooms --data '{\"kind\":\"channel\",\"title\":\"Ops\"}'"
    )]
    Api(SingleCommand<raw_request::RawRequestArgs>),
}

/// Runs one command to its end.
pub(crate) fn run(command: Command) -> ExitCode {
    let as_json = command.common().printing.json || command.common().printing.jsonl;
    end(wait_for(command.run()), as_json)
}

/// Says what this computer has for a server.
pub(crate) fn doctor(ask: DoctorArgs) -> ExitCode {
    let as_json = ask.printing.json || ask.printing.jsonl;
    end(wait_for(doctor::run(ask)), as_json)
}

fn wait_for(running: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Io)
        .and_then(|runtime| runtime.block_on(running))
}

/// Goes back to a backup, or lists those there are.
pub(crate) fn restore(ask: &RestoreArgs) -> ExitCode {
    let as_json = ask.printing.json || ask.printing.jsonl;
    end(restore::run(ask), as_json)
}

/// Prints the completions of `commands` for a shell.
pub(crate) fn completions(commands: clap::Command, ask: CompletionsArgs) -> ExitCode {
    end(man_pages::completions(commands, ask).map(|()| 0), false)
}

/// Writes the manual pages of `commands`.
pub(crate) fn man(commands: clap::Command, ask: &ManArgs) -> ExitCode {
    end(man_pages::man(commands, ask).map(|()| 0), false)
}

fn end(outcome: Result<u8, Failure>, as_json: bool) -> ExitCode {
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::write_stderr(&String::from_utf8_lossy(&failure.message(as_json)));
            ExitCode::from(failure.code())
        }
    }
}

impl Command {
    fn common(&self) -> &CommonArgs {
        match self {
            Self::Status(it) => &it.common,
            Self::Open(it) => &it.common,
            Self::Whoami(it)
            | Self::ForgetBrowsers(it)
            | Self::Capabilities(it)
            | Self::Openapi(it)
            | Self::Metrics(it) => &it.common,
            Self::Rooms(it) => &it.common,
            Self::Members(it) => &it.common,
            Self::Post(it) => &it.common,
            Self::Entries(it) => &it.common,
            Self::Threads(it) => &it.common,
            Self::Turns(it) => &it.common,
            Self::Reactions(it) => &it.common,
            Self::Attachments(it) => &it.common,
            Self::Search(it) => &it.common,
            Self::Canvas(it) => &it.common,
            Self::Preview(it) => &it.common,
            Self::Browser(it) => &it.common,
            Self::ReadCursor(it) => &it.common,
            Self::Signal(it) => &it.common,
            Self::Authors(it) => &it.common,
            Self::Agents(it) => &it.common,
            Self::Mcp(it) => &it.common,
            Self::Cloud(it) => &it.common,
            Self::Connections(it) => &it.common,
            Self::Exec(it) => &it.common,
            Self::Runtimes(it) => &it.common,
            Self::Usage(it) => &it.common,
            Self::Sessions(it) => &it.common,
            Self::Asks(it) => &it.common,
            Self::Dir(it) => &it.common,
            Self::Files(it) => &it.common,
            Self::Commands(it) => &it.common,
            Self::Tokens(it) => &it.common,
            Self::Accounts(it) => &it.common,
            Self::Keys(it) => &it.common,
            Self::Backup(it) => &it.common,
            Self::Settings(it) => &it.common,
            Self::Events(it) => &it.common,
            Self::Api(it) => &it.common,
        }
    }

    /// The exit code, or why it was not done.
    async fn run(self) -> Result<u8, Failure> {
        let desk = CliContext::new(self.common().clone())?;
        match self {
            Self::Status(it) => return status::run(&desk, &it.ask).await,
            Self::Api(it) => return raw_request::run(&desk, it.ask).await,
            Self::Whoami(_) => whoami::run(&desk).await?,
            Self::Open(it) => owner_link::run(&desk, it.ask).await?,
            Self::ForgetBrowsers(_) => owner_link::forget(&desk).await?,
            Self::Rooms(it) => rooms::run(&desk, it.verb).await?,
            Self::Members(it) => members::run(&desk, it.verb).await?,
            Self::Post(it) => entries::post(&desk, it.ask).await?,
            Self::Entries(it) => entries::run(&desk, it.verb).await?,
            Self::Threads(it) => threads::run(&desk, it.verb).await?,
            Self::Turns(it) => turns::run(&desk, it.verb).await?,
            Self::Reactions(it) => reactions::run(&desk, it.verb).await?,
            Self::Attachments(it) => attachments::run(&desk, it.verb).await?,
            Self::Search(it) => search::run(&desk, it.ask).await?,
            Self::Canvas(it) => canvas::run(&desk, it.verb).await?,
            Self::Preview(it) => preview::run(&desk, it.verb).await?,
            Self::Browser(it) => browser::run(&desk, it.verb).await?,
            Self::ReadCursor(it) => read_cursors::run(&desk, it.verb).await?,
            Self::Signal(it) => signals::run(&desk, it.ask).await?,
            Self::Authors(it) => authors::run(&desk, it.verb).await?,
            Self::Agents(it) => agents::run(&desk, it.verb).await?,
            Self::Mcp(it) => return mcp_servers::run(&desk, it.verb).await,
            Self::Cloud(it) => return cloud::run(&desk, it.verb).await,
            Self::Connections(it) => return connectors::run(&desk, it.verb).await,
            Self::Exec(it) => return connectors::exec(&desk, it.ask).await,
            Self::Runtimes(it) => runtimes::run(&desk, it.verb).await?,
            Self::Capabilities(_) => runtimes::capabilities(&desk).await?,
            Self::Usage(it) => runtimes::usage(&desk, it.ask).await?,
            Self::Sessions(it) => sessions::run(&desk, it.verb).await?,
            Self::Asks(it) => interactions::run(&desk, it.verb).await?,
            Self::Dir(it) => directories::run(&desk, it.verb).await?,
            Self::Files(it) => file_reads::run(&desk, it.verb).await?,
            Self::Commands(it) => commands::run(&desk, it.ask).await?,
            Self::Tokens(it) => agent_tokens::run(&desk, it.verb).await?,
            Self::Accounts(it) => accounts::run(&desk, it.verb).await?,
            Self::Keys(it) => api_keys::run(&desk, it.verb).await?,
            Self::Backup(it) => return backups::run(&desk, it.verb).await,
            Self::Settings(it) => settings::run(&desk, it.verb).await?,
            Self::Events(it) => events::run(&desk, it.ask).await?,
            Self::Openapi(_) => server_documents::run(&desk).await?,
            Self::Metrics(_) => server_documents::metrics(&desk).await?,
        }
        Ok(0)
    }
}
