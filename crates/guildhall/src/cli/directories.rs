//! `guildhall dir`.

use std::path::PathBuf;

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};

use super::{
    cli_context::CliContext,
    common_args::IdempotencyArgs,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_bodies::absolute,
    request_target::RequestTarget,
};

const DIRECTORY: &str = "/api/directory";

/// What can be done with folders.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the folders and files of a folder of home
    #[command(
        after_help = "Examples:\n  guildhall dir list\n  guildhall dir list ~/projects --hidden"
    )]
    List(ListDirectoryArgs),
    /// Shows where new work begins
    #[command(after_help = "Example:\n  guildhall dir default")]
    Default,
    /// Makes a folder in one of home
    #[command(after_help = "Example:\n  guildhall dir make ~/projects tally")]
    Make(MakeDirectoryArgs),
}

/// Which folder to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListDirectoryArgs {
    /// The folder [default: home, or an agent's own]
    folder: Option<PathBuf>,
    /// List names that begin with a dot, too
    #[arg(long)]
    hidden: bool,
    /// List folders only
    #[arg(long)]
    folders: bool,
}

/// A new folder.
#[derive(Clone, Debug, Args)]
pub(crate) struct MakeDirectoryArgs {
    /// The folder it will lie in
    parent: PathBuf,
    /// What it is called
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    #[command(flatten)]
    once: IdempotencyArgs,
}

const LIST: TableLayout = TableLayout {
    list: Some("entries"),
    id: "/path",
    columns: &[
        ("NAME", CellSource::Of(name)),
        ("PATH", CellSource::At("/path")),
    ],
};

const FOLDER: TableLayout = TableLayout {
    list: None,
    id: "/path",
    columns: &[("Path", CellSource::At("/path"))],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(ask) => list(desk, ask).await,
        Verb::Default => {
            let answer = desk
                .get(&RequestTarget::new(DIRECTORY).push_segment("default"))
                .await?;
            desk.output.show(&answer, &FOLDER)
        }
        Verb::Make(ask) => {
            let body = json!({"parentPath": absolute(&ask.parent)?, "folderName": ask.name});
            let target = RequestTarget::new(DIRECTORY);
            let answer = desk.post(&target, Some(&body), &ask.once).await?;
            desk.output.show(&answer, &FOLDER)
        }
    }
}

async fn list(desk: &CliContext, ask: ListDirectoryArgs) -> Result<(), Failure> {
    let folder = ask.folder.as_deref().map(absolute).transpose()?;
    let target = RequestTarget::new(DIRECTORY)
        .query("path", folder)
        .query("showHidden", ask.hidden.then_some(true))
        .query("directoriesOnly", ask.folders.then_some(true));
    let answer = desk.get(&target).await?;
    desk.output.show(&answer, &LIST)?;
    let listing: Value = answer.json()?;
    if listing["truncated"] == true {
        desk.output.note("There is more than is listed.");
    }
    Ok(())
}

/// The name, as a folder with a slash behind it.
fn name(entry: &Value) -> String {
    let name = entry["name"].as_str().unwrap_or_default();
    let end = if entry["isDirectory"] == true {
        "/"
    } else {
        ""
    };
    format!("{name}{end}")
}
