//! `guildhall files`: reading people's files; saving them is `files`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::Value;

use super::{
    cli_context::CliContext,
    downloads::DownloadTarget,
    escaped_text,
    failure::Failure,
    files,
    http_client::HttpResponse,
    output::{CellSource, TableLayout},
    request_bodies::absolute,
    request_target::RequestTarget,
};

const FILES: &str = "/api/files";

/// What can be done with files.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Prints a text file, byte for byte; with --json also its hash and identity
    #[command(
        after_help = "Examples:\n  guildhall files get notes.md\n  guildhall files get src/main.rs --cwd ~/projects/tally --json"
    )]
    Get(FileArg),
    /// Downloads a picture, PDF, sound, film or 3D model
    #[command(after_help = "Example:\n  guildhall files download plan.png --out copy.png")]
    Download(DownloadFileArgs),
    /// Lists what lies in a folder and below it
    #[command(
        after_help = "Examples:\n  guildhall files tree\n  guildhall files tree src --depth 3 --hidden"
    )]
    Tree(TreeArgs),
    #[command(flatten)]
    Save(files::Verb),
}

/// A file.
#[derive(Clone, Debug, Args)]
pub(crate) struct FileArg {
    /// The file, relative to the working folder or absolute
    path: PathBuf,
    /// The working folder, out of which nothing leads [default: the one you are in, or that of an
    /// absolute path]
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// A file and where it goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct DownloadFileArgs {
    #[command(flatten)]
    file: FileArg,
    #[command(flatten)]
    place: DownloadTarget,
}

/// A tree.
#[derive(Clone, Debug, Args)]
pub(crate) struct TreeArgs {
    /// Where to begin, relative to the working folder [default: the working folder]
    path: Option<PathBuf>,
    /// The working folder, out of which nothing leads [default: the one you are in]
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// How many levels: 1 to 5
    #[arg(long)]
    depth: Option<u8>,
    /// List names that begin with a dot, too, and those the project ignores
    #[arg(long)]
    hidden: bool,
}

const CONTENT: TableLayout = TableLayout {
    list: None,
    id: "/hash",
    columns: &[("Content", CellSource::At("/content"))],
};

const TREE: TableLayout = TableLayout {
    list: Some("entries"),
    id: "/path",
    columns: &[
        ("PATH", CellSource::Of(path)),
        ("BYTES", CellSource::Of(size)),
        ("CHANGED", CellSource::At("/mtime")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Get(file) => {
            let answer = desk.get(&file.target("content")?).await?;
            show(desk, &answer)
        }
        Verb::Download(ask) => download(desk, &ask).await,
        Verb::Tree(ask) => tree(desk, ask).await,
        Verb::Save(verb) => files::run(desk, verb).await,
    }
}

impl FileArg {
    fn target(&self, what: &str) -> Result<RequestTarget, Failure> {
        let (cwd, path) = self.place()?;
        let target = RequestTarget::new(FILES).push_segment(what);
        Ok(target.query("cwd", Some(cwd)).query("path", Some(path)))
    }

    /// The working folder and the path, as the server takes them.
    ///
    /// # Errors
    /// [`Failure::Usage`] when one of them is no text.
    pub(super) fn place(&self) -> Result<(String, String), Failure> {
        let cwd = match &self.cwd {
            Some(cwd) => cwd,
            None => self
                .path
                .parent()
                .filter(|parent| parent.is_absolute())
                .unwrap_or(Path::new(".")),
        };
        Ok((absolute(cwd)?, written(&self.path)?))
    }
}

/// Prints the text itself for people, and what programs asked for.
fn show(desk: &CliContext, answer: &HttpResponse) -> Result<(), Failure> {
    if !desk.output.is_for_people() {
        return desk.output.show(answer, &CONTENT);
    }
    let file: Value = answer.json()?;
    desk.output
        .content(file["content"].as_str().unwrap_or_default())
}

async fn download(desk: &CliContext, ask: &DownloadFileArgs) -> Result<(), Failure> {
    let target = ask.file.target("raw")?;
    let mut arriving = ask.place.open()?;
    let mut opened = desk.open(&target).await?;
    let mut size = 0;
    while let Some(bytes) = opened.next().await? {
        size += bytes.len();
        arriving.write(&bytes)?;
    }
    if let Some(path) = arriving.keep()? {
        let path = path.display();
        desk.output.done(&format!("{size} bytes are in {path}."))?;
    }
    Ok(())
}

async fn tree(desk: &CliContext, ask: TreeArgs) -> Result<(), Failure> {
    let cwd = ask.cwd.unwrap_or_else(|| PathBuf::from("."));
    let path = ask.path.as_deref().map(written).transpose()?;
    let target = RequestTarget::new(FILES)
        .push_segment("tree")
        .query("cwd", Some(absolute(&cwd)?))
        .query("path", path)
        .query("depth", ask.depth)
        .query("showHidden", ask.hidden.then_some(true));
    let answer = desk.get(&target).await?;
    desk.output.show(&answer, &TREE)?;
    let listing: Value = answer.json()?;
    if listing["truncated"] == true {
        desk.output.note("There is more than is listed.");
    }
    Ok(())
}

/// A path as it was written, for the server to read below the working folder.
fn written(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::Usage(format!("the path {} is no UTF-8 text.", path.display())))
}

/// The path, as a folder with a slash behind it, as a link with an at sign.
fn path(entry: &Value) -> String {
    let path = entry["path"].as_str().unwrap_or_default();
    let link = if entry["isSymlink"] == true { "@" } else { "" };
    let folder = if entry["type"] == "dir" { "/" } else { "" };
    format!("{path}{link}{folder}")
}

/// The bytes of a file; a folder's say nothing.
fn size(entry: &Value) -> String {
    match entry["type"] == "dir" {
        true => String::new(),
        false => escaped_text::of(&entry["size"]),
    }
}
