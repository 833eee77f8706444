//! `guildhall connections providers`, `toolkits` and `catalog`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Map, Value, json};

use crate::cli::{
    cli_context::CliContext,
    common_args::{self, IdempotencyArgs},
    failure::Failure,
    output::{CellSource, TableLayout},
    request_bodies::{changes, only_given},
    request_target::RequestTarget,
    terminal_input,
};

/// What can be done with provider instances.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ProviderVerb {
    /// Lists the provider instances
    #[command(after_help = "Example:\n  guildhall connections providers list")]
    List,
    /// Adds an instance, which has no toolkits yet
    #[command(
        after_help = "Example:\n  guildhall connections providers add openapi --label 'Pet shops'"
    )]
    Add(AddProviderArgs),
    /// Gives an instance another label
    #[command(
        after_help = "Example:\n  guildhall connections providers update 0192f0c1-2d3e-7abc-8def-0123456789ab --label Shops"
    )]
    Update(UpdateProviderArgs),
    /// Removes an instance with its toolkits and secrets
    #[command(
        after_help = "Example:\n  guildhall connections providers remove 0192f0c1-2d3e-7abc-8def-0123456789ab"
    )]
    Remove(ProviderArg),
}

/// What can be done with toolkits.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ToolkitVerb {
    /// Puts a toolkit, in the place of the one of its name
    #[command(
        after_help = "--file takes the whole toolkit as the interface does; the other options stand above it.\n\nExamples:\n  guildhall connections toolkits put 0192f0c1-2d3e-7abc-8def-0123456789ab pets --document openapi.json\n  guildhall connections toolkits put 0192f0c1-2d3e-7abc-8def-0123456789ab tools --url http://127.0.0.1:3001/mcp\n  guildhall connections toolkits put 0192f0c1-2d3e-7abc-8def-0123456789ab pets --file pets.json"
    )]
    Put(Box<PutToolkitArgs>),
    /// Removes a toolkit with its operations and secrets
    #[command(
        after_help = "Example:\n  guildhall connections toolkits remove 0192f0c1-2d3e-7abc-8def-0123456789ab pets"
    )]
    Remove(ToolkitArg),
    /// The client secret with which people sign in by OAuth
    #[command(subcommand)]
    Credential(CredentialVerb),
}

/// What can be done with a client secret.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CredentialVerb {
    /// Saves it; it is never shown again
    #[command(
        after_help = "The secret comes from a file, or `-` for standard input.\n\nExample:\n  pass show pets | guildhall connections toolkits credential set 0192f0c1-2d3e-7abc-8def-0123456789ab pets --secret-file -"
    )]
    Set(SetCredentialArgs),
    /// Erases it
    #[command(
        after_help = "Example:\n  guildhall connections toolkits credential remove 0192f0c1-2d3e-7abc-8def-0123456789ab pets"
    )]
    Remove(ToolkitArg),
}

/// One instance.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProviderArg {
    /// The instance's id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    provider: String,
}

/// One toolkit.
#[derive(Clone, Debug, Args)]
pub(crate) struct ToolkitArg {
    #[command(flatten)]
    provider: ProviderArg,
    /// The toolkit's name inside its instance
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    toolkit: String,
}

/// A new instance.
#[derive(Clone, Debug, Args)]
pub(crate) struct AddProviderArgs {
    /// What it speaks
    #[arg(value_name = "openapi|mcp")]
    speaks: String,
    /// What people call it, 1 to 200 characters
    #[arg(long)]
    label: String,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// What of an instance is to be otherwise.
#[derive(Clone, Debug, Args)]
pub(crate) struct UpdateProviderArgs {
    #[command(flatten)]
    provider: ProviderArg,
    /// What people call it, 1 to 200 characters
    #[arg(long)]
    label: Option<String>,
}

/// A toolkit that is put.
#[derive(Clone, Debug, Args)]
pub(crate) struct PutToolkitArgs {
    #[command(flatten)]
    toolkit: ToolkitArg,
    /// The file with the whole toolkit as JSON, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// What people call it
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The file with its OpenAPI document as JSON
    #[arg(long, value_name = "FILE")]
    document: Option<PathBuf>,
    /// Where its OpenAPI document is fetched
    #[arg(long, value_name = "URL")]
    document_url: Option<String>,
    /// Where requests go
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Where its MCP server answers
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// A client secret that is saved.
#[derive(Clone, Debug, Args)]
pub(crate) struct SetCredentialArgs {
    #[command(flatten)]
    toolkit: ToolkitArg,
    /// The file that holds it, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    secret_file: PathBuf,
}

/// What is looked for in the catalog.
#[derive(Clone, Debug, Args)]
pub(crate) struct CatalogArgs {
    /// Words that services or their operations hold
    words: Vec<String>,
    #[command(flatten)]
    page: common_args::PageArgs,
}

const LIST: TableLayout = TableLayout {
    list: Some("providers"),
    id: "/id",
    columns: &[
        ("LABEL", CellSource::At("/label")),
        ("TYPE", CellSource::At("/type")),
        ("STATUS", CellSource::At("/status")),
        ("TOOLKITS", CellSource::Of(toolkits)),
        ("ID", CellSource::At("/id")),
    ],
};

const PROVIDER: TableLayout = TableLayout {
    list: None,
    id: "/id",
    columns: &[
        ("Instance", CellSource::At("/id")),
        ("Label", CellSource::At("/label")),
        ("Type", CellSource::At("/type")),
        ("Status", CellSource::At("/status")),
        ("Why", CellSource::At("/statusDetail")),
        ("Generation", CellSource::At("/generation")),
        ("Toolkits", CellSource::Of(toolkits)),
        ("Changed", CellSource::At("/updatedAt")),
    ],
};

const TOOLKIT: TableLayout = TableLayout {
    list: None,
    id: "/slug",
    columns: &[
        ("Toolkit", CellSource::At("/slug")),
        ("Name", CellSource::At("/displayName")),
        ("Requests go to", CellSource::At("/baseUrl")),
        ("MCP server", CellSource::At("/url")),
        ("Sign-in", CellSource::At("/auth/kind")),
        ("Version", CellSource::At("/version")),
        ("Operations", CellSource::At("/operationCount")),
        ("Left out", CellSource::At("/leftOutCount")),
    ],
};

const SAVED: TableLayout = TableLayout {
    list: None,
    id: "/saved",
    columns: &[("Saved", CellSource::At("/saved"))],
};

const CATALOG: TableLayout = TableLayout {
    list: Some("services"),
    id: "/toolkit",
    columns: &[
        ("SERVICE", CellSource::At("/displayName")),
        ("TOOLKIT", CellSource::At("/toolkit")),
        ("SIGN-IN", CellSource::At("/authKind")),
        ("OPERATIONS", CellSource::At("/operationCount")),
        ("AVAILABLE", CellSource::At("/available")),
        ("INSTANCE", CellSource::At("/providerInstanceId")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: ProviderVerb) -> Result<(), Failure> {
    match verb {
        ProviderVerb::List => desk.output.show(&desk.get(&all()).await?, &LIST),
        ProviderVerb::Add(ask) => {
            let body = json!({"type": ask.speaks, "label": ask.label});
            let answer = desk.post(&all(), Some(&body), &ask.once).await?;
            desk.output.show(&answer, &PROVIDER)
        }
        ProviderVerb::Update(ask) => {
            let body = only_given(json!({"label": ask.label}));
            let body = changes(body, "connections providers update")?;
            let answer = desk.patch(&of(&ask.provider), &body, None).await?;
            desk.output.show(&answer, &PROVIDER)
        }
        ProviderVerb::Remove(ask) => {
            desk.delete(&of(&ask), None).await?;
            desk.output.done("The provider instance is removed.")
        }
    }
}

pub(super) async fn run_toolkit(desk: &CliContext, verb: ToolkitVerb) -> Result<(), Failure> {
    match verb {
        ToolkitVerb::Put(ask) => {
            let body = body(&ask)?;
            let answer = desk.put(&toolkit(&ask.toolkit), Some(&body)).await?;
            desk.output.show(&answer, &TOOLKIT)
        }
        ToolkitVerb::Remove(ask) => {
            desk.delete(&toolkit(&ask), None).await?;
            desk.output.done("The toolkit is removed.")
        }
        ToolkitVerb::Credential(CredentialVerb::Set(ask)) => {
            let secret = terminal_input::text_of(&ask.secret_file)?;
            let target = toolkit(&ask.toolkit).push_segment("credential");
            let answer = desk.put(&target, Some(&json!({"secret": secret}))).await?;
            desk.output.show(&answer, &SAVED)
        }
        ToolkitVerb::Credential(CredentialVerb::Remove(ask)) => {
            desk.delete(&toolkit(&ask).push_segment("credential"), None)
                .await?;
            desk.output.done("The client secret is erased.")
        }
    }
}

pub(super) async fn catalog(desk: &CliContext, ask: CatalogArgs) -> Result<(), Failure> {
    let words = Some(ask.words.join(" ")).filter(|words| !words.is_empty());
    let target = RequestTarget::new("/api/connectors/catalog");
    let answer = desk.get(&target.query("q", words).page(ask.page)).await?;
    desk.output.show(&answer, &CATALOG)?;
    if desk.output.is_for_people() {
        let page: Value = answer.json()?;
        for warning in page["warnings"].as_array().into_iter().flatten() {
            desk.output.note(warning.as_str().unwrap_or_default());
        }
        desk.output.note_next(&page);
    }
    Ok(())
}

/// The toolkit that is put: what the file says, and above it what the options say.
fn body(ask: &PutToolkitArgs) -> Result<Value, Failure> {
    let mut body = match &ask.file {
        Some(file) => object(file)?,
        None => Map::new(),
    };
    let document = ask.document.as_deref().map(object).transpose()?;
    let said = only_given(json!({
        "displayName": ask.name,
        "description": ask.description,
        "document": document,
        "documentUrl": ask.document_url,
        "baseUrl": ask.base_url,
        "url": ask.url,
    }));
    if let Value::Object(said) = said {
        body.extend(said);
    }
    changes(Value::Object(body), "connections toolkits put")
}

/// The JSON object of a file.
fn object(file: &Path) -> Result<Map<String, Value>, Failure> {
    let text = terminal_input::document_of(file)?;
    serde_json::from_str(&text).map_err(|error| {
        let file = file.display();
        Failure::Usage(format!("{file} holds no JSON object: {error}."))
    })
}

fn toolkits(provider: &Value) -> String {
    let all = provider["toolkits"].as_array().into_iter().flatten();
    let slugs: Vec<_> = all.filter_map(|it| it["slug"].as_str()).collect();
    slugs.join(", ")
}

fn all() -> RequestTarget {
    RequestTarget::new("/api/connectors/providers")
}

fn of(provider: &ProviderArg) -> RequestTarget {
    all().push_segment(&provider.provider)
}

fn toolkit(ask: &ToolkitArg) -> RequestTarget {
    of(&ask.provider)
        .push_segment("toolkits")
        .push_segment(&ask.toolkit)
}
