//! `guildhall mcp`. Secrets come from a file, standard input or the environment; `--env` and
//! `--header` with a value are for what anybody may see.

mod connection_args;
mod terminal_approval;

use std::path::PathBuf;

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use http::Method;
use serde_json::{Value, json};

use self::{
    connection_args::{ConnectionArgs, variable},
    terminal_approval::{GatedChange, TerminalApprovalArgs},
};
use super::{
    cli_context::CliContext,
    common_args::{self, IdempotencyArgs, IfMatchArg},
    failure::Failure,
    http_client::ApprovalOptions,
    output::{CellSource, TableLayout},
    request_bodies::{changes, only_given},
    request_target::RequestTarget,
    terminal_input,
};

/// What can be done with tool servers.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists an agent's tool servers
    #[command(after_help = "Example:\n  guildhall mcp list ada")]
    List(common_args::AgentArg),
    /// Shows one tool server
    #[command(after_help = "Example:\n  guildhall mcp show ada files")]
    Show(ServerArg),
    /// Adds a tool server to an agent, once its card is approved
    #[command(
        after_help = "A command goes behind `--`, an address into --address. At a terminal the owner is shown the card and asked; elsewhere --yes names the digest of the card that was seen.\n\nExamples:\n  guildhall mcp add ada everything -- npx -y @modelcontextprotocol/server-everything\n  guildhall mcp add ada issues --address https://example.org/mcp --header-from Authorization=ISSUES_AUTH\n  guildhall mcp add ada files --env-from API_TOKEN -- ./files-server\n  pass show api | guildhall mcp add ada files --env-file API_TOKEN=- -- ./files-server\n  guildhall mcp add ada files --yes 3f9a1c07 -- ./files-server"
    )]
    Add(Box<AddServerArgs>),
    /// Changes how a tool server is reached; what is not named of its connection goes
    #[command(
        after_help = "A value that is *** keeps the stored one.\n\nExample:\n  guildhall mcp update ada files --env 'API_TOKEN=***' -- ./files-server --verbose"
    )]
    Update(Box<UpdateServerArgs>),
    /// Removes a tool server with its secrets
    #[command(after_help = "Example:\n  guildhall mcp remove ada files")]
    Remove(RemoveServerArgs),
    /// Switches a tool server on
    #[command(after_help = "Example:\n  guildhall mcp enable ada files")]
    Enable(EnableServerArgs),
    /// Switches a tool server off
    #[command(after_help = "Example:\n  guildhall mcp disable ada files")]
    Disable(DisableServerArgs),
    /// Reaches a tool server and lists its tools; exits with 1 when that fails
    #[command(after_help = "Example:\n  guildhall mcp test ada files")]
    Test(TestServerArgs),
    /// Starts a sign-in with a tool server: shows the link that the owner opens in a browser
    #[command(after_help = "Example:\n  guildhall mcp signin ada issues")]
    Signin(StartSigninArgs),
    /// Says how a sign-in stands; exits with 1 when it failed
    #[command(
        after_help = "Example:\n  guildhall mcp poll ada issues 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Poll(PollSigninArgs),
    /// Signs out of a tool server
    #[command(after_help = "Example:\n  guildhall mcp signout ada issues")]
    Signout(ServerArg),
    /// The client you registered at a tool server's sign-in page
    #[command(subcommand)]
    Client(ClientVerb),
    /// Lists the tool servers that the agent's folder names in .mcp.json
    #[command(after_help = "Example:\n  guildhall mcp discover ada")]
    Discover(common_args::AgentArg),
    /// Adds a tool server that the agent's folder names in .mcp.json
    #[command(after_help = "Example:\n  guildhall mcp import ada files")]
    Import(ImportServerArgs),
}

/// One tool server.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServerArg {
    #[command(flatten)]
    agent: common_args::AgentArg,
    /// The server's name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    server: String,
}

/// How a command waits for a person.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "When a person must approve it")]
pub(crate) struct ApprovalWaitArgs {
    /// How long to wait for it, 0 to 600 [default: 50; the owner is shown the card at once]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(0..=600))]
    wait: Option<u32>,
    /// Show the token of an approval: the value of this environment variable
    #[arg(long, value_name = "VARIABLE")]
    approval_from: Option<String>,
}

/// A new tool server.
#[derive(Clone, Debug, Args)]
pub(crate) struct AddServerArgs {
    #[command(flatten)]
    named: ServerArg,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    approving: TerminalApprovalArgs,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A tool server and how it is reached from now on.
#[derive(Clone, Debug, Args)]
pub(crate) struct UpdateServerArgs {
    #[command(flatten)]
    named: ServerArg,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    approving: TerminalApprovalArgs,
    #[command(flatten)]
    if_match: IfMatchArg,
}

/// A tool server that goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct RemoveServerArgs {
    #[command(flatten)]
    named: ServerArg,
    #[command(flatten)]
    waiting: ApprovalWaitArgs,
    #[command(flatten)]
    if_match: IfMatchArg,
}

/// A tool server that is switched on.
#[derive(Clone, Debug, Args)]
pub(crate) struct EnableServerArgs {
    #[command(flatten)]
    named: ServerArg,
    #[command(flatten)]
    approving: TerminalApprovalArgs,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A tool server that is switched off.
#[derive(Clone, Debug, Args)]
pub(crate) struct DisableServerArgs {
    #[command(flatten)]
    named: ServerArg,
    #[command(flatten)]
    waiting: ApprovalWaitArgs,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A tool server that is tried out.
#[derive(Clone, Debug, Args)]
pub(crate) struct TestServerArgs {
    #[command(flatten)]
    named: ServerArg,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A sign-in that is started.
#[derive(Clone, Debug, Args)]
pub(crate) struct StartSigninArgs {
    #[command(flatten)]
    named: ServerArg,
    /// The session that is told when it is finished
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A sign-in that is asked after.
#[derive(Clone, Debug, Args)]
pub(crate) struct PollSigninArgs {
    #[command(flatten)]
    named: ServerArg,
    /// The sign-in's id
    flow: String,
}

/// What can be done with the client of a tool server.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ClientVerb {
    /// Saves it; the sign-in of before is dropped
    #[command(
        after_help = "The secret comes from a file, or `-` for standard input.\n\nExample:\n  pass show issues | guildhall mcp client set ada issues my-client --secret-file -"
    )]
    Set(SetClientArgs),
    /// Forgets it, with the sign-in
    #[command(after_help = "Example:\n  guildhall mcp client remove ada issues")]
    Remove(ServerArg),
}

/// A client that is saved.
#[derive(Clone, Debug, Args)]
pub(crate) struct SetClientArgs {
    #[command(flatten)]
    named: ServerArg,
    /// Its id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    id: String,
    /// The file that holds its secret, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

/// A tool server of the agent's folder.
#[derive(Clone, Debug, Args)]
pub(crate) struct ImportServerArgs {
    #[command(flatten)]
    named: ServerArg,
    #[command(flatten)]
    approving: TerminalApprovalArgs,
    #[command(flatten)]
    once: IdempotencyArgs,
}

const LIST: TableLayout = TableLayout {
    list: Some(""),
    id: "/name",
    columns: &[
        ("NAME", CellSource::At("/name")),
        ("STATUS", CellSource::At("/status")),
        ("REACHED BY", CellSource::Of(reached_by)),
        ("TOOLS", CellSource::At("/toolCount")),
        ("ADDED", CellSource::At("/addedAt")),
    ],
};

const SERVER: TableLayout = TableLayout {
    list: None,
    id: "/name",
    columns: &[
        ("Name", CellSource::At("/name")),
        ("Status", CellSource::At("/status")),
        ("Detail", CellSource::At("/statusDetail")),
        ("Transport", CellSource::At("/connection/transport")),
        ("Reached by", CellSource::Of(reached_by)),
        ("Env", CellSource::Of(env)),
        ("Headers", CellSource::Of(headers)),
        ("Sign-in", CellSource::At("/authStatus")),
        ("Tools", CellSource::At("/toolCount")),
        ("Program", CellSource::At("/pin/executablePath")),
        ("SHA-256", CellSource::At("/pin/executableSha256")),
        ("Script", CellSource::At("/pin/scriptPath")),
        ("Added", CellSource::At("/addedAt")),
        ("Added by", CellSource::At("/addedBy")),
        ("ETag", CellSource::Tag),
    ],
};

const TOOLS: TableLayout = TableLayout {
    list: Some("tools"),
    id: "/name",
    columns: &[
        ("TOOL", CellSource::At("/name")),
        ("TITLE", CellSource::At("/title")),
        ("READS ONLY", CellSource::At("/readOnly")),
        ("MAY DESTROY", CellSource::At("/destructive")),
    ],
};

const STARTED: TableLayout = TableLayout {
    list: None,
    id: "/flowId",
    columns: &[
        ("Sign-in", CellSource::At("/flowId")),
        ("Open this", CellSource::At("/signInUrl")),
        ("Connected", CellSource::At("/alreadyConnected")),
        ("Until", CellSource::At("/expiresAt")),
        ("Know", CellSource::At("/disclosure")),
        ("Next", CellSource::At("/message")),
    ],
};

const SIGNIN: TableLayout = TableLayout {
    list: None,
    id: "/status",
    columns: &[
        ("Status", CellSource::At("/status")),
        ("Phase", CellSource::At("/phase")),
        ("Code", CellSource::At("/code")),
        ("Why", CellSource::At("/error")),
        ("Tools", CellSource::At("/toolCount")),
    ],
};

const SIGNED_OUT: TableLayout = TableLayout {
    list: None,
    id: "/signedOut",
    columns: &[("Signed out", CellSource::At("/signedOut"))],
};

const SAVED: TableLayout = TableLayout {
    list: None,
    id: "/saved",
    columns: &[("Saved", CellSource::At("/saved"))],
};

const DISCOVERED: TableLayout = TableLayout {
    list: Some("servers"),
    id: "/name",
    columns: &[
        ("NAME", CellSource::At("/name")),
        ("REACHED BY", CellSource::Of(reached_by)),
        ("ADDED", CellSource::At("/alreadyAdded")),
    ],
};

/// The exit code, or why it was not done.
pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<u8, Failure> {
    let done = match verb {
        Verb::List(agent) => {
            let target = of_agent(desk, &agent).await?.push_segment("mcp-servers");
            desk.output.show(&desk.get(&target).await?, &LIST)
        }
        Verb::Show(named) => {
            let answer = desk.get(&target(desk, &named).await?).await?;
            desk.output.show(&answer, &SERVER)
        }
        Verb::Discover(agent) => discover(desk, &agent).await,
        Verb::Test(ask) => return test(desk, &ask).await,
        Verb::Signin(ask) => signin(desk, &ask).await,
        Verb::Poll(ask) => return poll(desk, &ask).await,
        Verb::Signout(named) => {
            let target = target(desk, &named).await?.push_segment("signin");
            desk.output
                .show(&desk.delete(&target, None).await?, &SIGNED_OUT)
        }
        Verb::Client(ClientVerb::Set(ask)) => set_client(desk, &ask).await,
        Verb::Client(ClientVerb::Remove(named)) => {
            let target = target(desk, &named).await?.push_segment("client");
            desk.delete(&target, None).await?;
            desk.output.done("The client is forgotten.")
        }
        Verb::Add(ask) => {
            let gated = gated(&ask.approving.waiting, Some(&ask.once), None)?;
            let body = json!({
                "name": ask.named.server,
                "connection": ask.connection.named()?
                    .ok_or_else(|| Failure::Usage(NO_CONNECTION.to_owned()))?,
            });
            let target = of_agent(desk, &ask.named.agent)
                .await?
                .push_segment("mcp-servers");
            let change = GatedChange {
                method: Method::POST,
                target: &target,
                body: Some(&body),
                gated,
            };
            approved(desk, change, &ask.approving).await
        }
        Verb::Import(ask) => {
            let gated = gated(&ask.approving.waiting, Some(&ask.once), None)?;
            let body = json!({"name": ask.named.server});
            let target = of_agent(desk, &ask.named.agent)
                .await?
                .push_segment("mcp-import");
            let change = GatedChange {
                method: Method::POST,
                target: &target,
                body: Some(&body),
                gated,
            };
            approved(desk, change, &ask.approving).await
        }
        Verb::Update(ask) => {
            let gated = gated(&ask.approving.waiting, None, Some(&ask.if_match))?;
            let body = only_given(json!({"connection": ask.connection.named()?}));
            let body = changes(body, "mcp update")?;
            let target = target(desk, &ask.named).await?;
            let change = GatedChange {
                method: Method::PATCH,
                target: &target,
                body: Some(&body),
                gated,
            };
            approved(desk, change, &ask.approving).await
        }
        Verb::Enable(ask) => {
            let gated = gated(&ask.approving.waiting, Some(&ask.once), None)?;
            let target = target(desk, &ask.named).await?.push_segment("enable");
            let change = GatedChange {
                method: Method::POST,
                target: &target,
                body: None,
                gated,
            };
            approved(desk, change, &ask.approving).await
        }
        Verb::Disable(ask) => {
            let gated = gated(&ask.waiting, Some(&ask.once), None)?;
            let target = target(desk, &ask.named).await?.push_segment("disable");
            let change = GatedChange {
                method: Method::POST,
                target: &target,
                body: None,
                gated,
            };
            desk.output.show(&change.send(desk).await?, &LIST)
        }
        Verb::Remove(ask) => {
            let gated = gated(&ask.waiting, None, Some(&ask.if_match))?;
            let target = target(desk, &ask.named).await?;
            let change = GatedChange {
                method: Method::DELETE,
                target: &target,
                body: None,
                gated,
            };
            desk.output.show(&change.send(desk).await?, &LIST)
        }
    };
    done.map(|()| 0)
}

/// Why an add cannot be sent.
const NO_CONNECTION: &str = "say how it is reached: --address <URL>, or -- <COMMAND> [ARGS]...";

/// Sends what needs a card and shows the servers it leaves.
async fn approved(
    desk: &CliContext,
    change: GatedChange<'_>,
    approving: &TerminalApprovalArgs,
) -> Result<(), Failure> {
    let answer = change.send_with_card(desk, approving.yes.as_deref());
    desk.output.show(&answer.await?, &LIST)
}

async fn signin(desk: &CliContext, ask: &StartSigninArgs) -> Result<(), Failure> {
    let target = target(desk, &ask.named).await?.push_segment("signin");
    let body = only_given(json!({"sessionId": ask.session}));
    let answer = desk.post(&target, Some(&body), &ask.once).await?;
    desk.output.show(&answer, &STARTED)
}

/// Whether it failed is the exit code, so that a script can tell.
async fn poll(desk: &CliContext, ask: &PollSigninArgs) -> Result<u8, Failure> {
    let target = target(desk, &ask.named).await?;
    let answer = desk
        .get(&target.push_segment("signin").push_segment(&ask.flow))
        .await?;
    desk.output.show(&answer, &SIGNIN)?;
    let flow: Value = answer.json()?;
    Ok(u8::from(flow["status"] == "failed"))
}

async fn set_client(desk: &CliContext, ask: &SetClientArgs) -> Result<(), Failure> {
    let secret = ask
        .secret_file
        .as_deref()
        .map(terminal_input::text_of)
        .transpose()?;
    let body = only_given(json!({"clientId": ask.id, "clientSecret": secret}));
    let target = target(desk, &ask.named).await?.push_segment("client");
    let answer = desk.put(&target, Some(&body)).await?;
    desk.output.show(&answer, &SAVED)
}

/// Whether it could be reached is the exit code, so that a script can tell.
async fn test(desk: &CliContext, ask: &TestServerArgs) -> Result<u8, Failure> {
    let target = target(desk, &ask.named).await?.push_segment("test");
    let answer = desk.post(&target, None, &ask.once).await?;
    desk.output.show(&answer, &TOOLS)?;
    let tested: Value = answer.json()?;
    if tested["ok"] == Value::Bool(true) {
        return Ok(0);
    }
    if desk.output.is_for_people() {
        desk.output
            .note(tested["error"].as_str().unwrap_or_default());
    }
    Ok(1)
}

async fn discover(desk: &CliContext, agent: &common_args::AgentArg) -> Result<(), Failure> {
    let target = of_agent(desk, agent).await?.push_segment("mcp-discovered");
    let answer = desk.get(&target).await?;
    desk.output.show(&answer, &DISCOVERED)?;
    if desk.output.is_for_people() {
        let listing: Value = answer.json()?;
        let warnings = listing["warnings"].as_array().into_iter().flatten();
        for warning in warnings.filter_map(Value::as_str) {
            desk.output.note(warning);
        }
    }
    Ok(())
}

async fn of_agent(
    desk: &CliContext,
    agent: &common_args::AgentArg,
) -> Result<RequestTarget, Failure> {
    Ok(RequestTarget::agent(&desk.agent_id(&agent.agent).await?))
}

async fn target(desk: &CliContext, named: &ServerArg) -> Result<RequestTarget, Failure> {
    let agent = of_agent(desk, &named.agent).await?;
    Ok(agent
        .push_segment("mcp-servers")
        .push_segment(&named.server))
}

pub(super) fn gated(
    waiting: &ApprovalWaitArgs,
    once: Option<&IdempotencyArgs>,
    if_match: Option<&IfMatchArg>,
) -> Result<ApprovalOptions, Failure> {
    let token = waiting.approval_from.as_deref().map(variable).transpose()?;
    Ok(ApprovalOptions {
        wait: waiting.wait,
        token,
        idempotency_key: once.map(IdempotencyArgs::key),
        if_match: if_match.and_then(IfMatchArg::tags),
    })
}

fn reached_by(server: &Value) -> String {
    let connection = &server["connection"];
    if let Some(url) = connection["url"].as_str() {
        return url.to_owned();
    }
    let args = connection["args"].as_array().into_iter().flatten();
    let words = std::iter::once(&connection["command"]).chain(args);
    let words: Vec<&str> = words.filter_map(Value::as_str).collect();
    words.join(" ")
}

fn env(server: &Value) -> String {
    names(&server["connection"]["env"])
}

fn headers(server: &Value) -> String {
    names(&server["connection"]["headers"])
}

/// Names alone: a value is for `--json`, not for whoever looks at the screen.
fn names(values: &Value) -> String {
    let names = values.as_object().into_iter().flatten();
    let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
    names.join(", ")
}
