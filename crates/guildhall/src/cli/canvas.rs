//! `guildhall canvas`; what it does, `sessions canvas` does too.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};

use super::{
    canvas_content::ContentArgs,
    cli_context::CliContext,
    common_args::{self, IdempotencyArgs, IfMatchArg},
    escaped_text,
    failure::Failure,
    http_client::HttpResponse,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

/// What can be done with a room's canvas.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the documents of a room, the front one first
    #[command(after_help = "Example:\n  guildhall canvas list ops")]
    List(common_args::RoomArg),
    /// Shows one document
    #[command(after_help = "Example:\n  guildhall canvas show ops Plan")]
    Show(DocumentArg<common_args::RoomArg>),
    /// Opens a document in front of the others; the same one again brings it to the front
    #[command(
        after_help = "Examples:\n  guildhall canvas open ops url https://example.org\n  guildhall canvas open ops markdown plan.md --title Plan --pin\n  guildhall canvas open ops file src/main.rs --language rust\n  guildhall canvas open ops --content '{\"type\":\"csv\",\"src\":\"/tmp/table.csv\"}'"
    )]
    Open(OpenDocumentArgs<common_args::RoomArg>),
    /// Replaces what a document shows
    #[command(after_help = "Example:\n  guildhall canvas replace ops Plan markdown plan.md")]
    Replace(ReplaceDocumentArgs<common_args::RoomArg>),
    /// Keeps a document however full the canvas is
    #[command(after_help = "Example:\n  guildhall canvas pin ops Plan")]
    Pin(ChangeDocumentArgs<common_args::RoomArg>),
    /// Lets a document go when the canvas is full
    #[command(after_help = "Example:\n  guildhall canvas unpin ops Plan")]
    Unpin(ChangeDocumentArgs<common_args::RoomArg>),
    /// Moves a document to the front of the list
    #[command(after_help = "Example:\n  guildhall canvas activate ops Plan")]
    Activate(ChangeDocumentArgs<common_args::RoomArg>),
    /// Closes a document
    #[command(after_help = "Example:\n  guildhall canvas close ops Plan")]
    Close(ChangeDocumentArgs<common_args::RoomArg>),
    /// Keeps others from changing a document for 45 seconds; repeat it to keep on
    #[command(after_help = "Example:\n  guildhall canvas lock ops Plan")]
    Lock(DocumentRequestArgs<common_args::RoomArg>),
    /// Lets others change a document again
    #[command(after_help = "Example:\n  guildhall canvas unlock ops Plan")]
    Unlock(DocumentRequestArgs<common_args::RoomArg>),
    /// Reads a document's file anew, after another file took its place
    #[command(after_help = "Example:\n  guildhall canvas reload ops Plan --json")]
    Reload(DocumentRequestArgs<common_args::RoomArg>),
    /// Begins the thread of a document, or finds it
    #[command(after_help = "Example:\n  guildhall canvas discuss ops Plan")]
    Discuss(DocumentRequestArgs<common_args::RoomArg>),
}

/// Whose canvas is meant.
pub(super) trait CanvasOwner: Args {
    /// The routes beneath that canvas.
    async fn canvas(&self, desk: &CliContext) -> Result<RequestTarget, Failure>;
}

impl CanvasOwner for common_args::RoomArg {
    async fn canvas(&self, desk: &CliContext) -> Result<RequestTarget, Failure> {
        Ok(RequestTarget::room(&desk.room_id(&self.room).await?).push_segment("canvas"))
    }
}

/// A document of a canvas.
#[derive(Clone, Debug, Args)]
pub(crate) struct DocumentArg<P: Args> {
    #[command(flatten)]
    place: P,
    /// The document: its id or its title
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    document: String,
}

/// A new document.
#[derive(Clone, Debug, Args)]
pub(crate) struct OpenDocumentArgs<P: Args> {
    #[command(flatten)]
    place: P,
    #[command(flatten)]
    content: ContentArgs,
    /// Pin it, when it is new
    #[arg(long)]
    pin: bool,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A document and what it shows from now on.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReplaceDocumentArgs<P: Args> {
    #[command(flatten)]
    document: DocumentArg<P>,
    #[command(flatten)]
    content: ContentArgs,
    #[command(flatten)]
    if_match: IfMatchArg,
}

/// A document that changes.
#[derive(Clone, Debug, Args)]
pub(crate) struct ChangeDocumentArgs<P: Args> {
    #[command(flatten)]
    document: DocumentArg<P>,
    #[command(flatten)]
    if_match: IfMatchArg,
}

/// A document that something is asked of.
#[derive(Clone, Debug, Args)]
pub(crate) struct DocumentRequestArgs<P: Args> {
    #[command(flatten)]
    document: DocumentArg<P>,
    #[command(flatten)]
    once: IdempotencyArgs,
}

const LIST: TableLayout = TableLayout {
    list: Some("documents"),
    id: "/id",
    columns: &[
        ("TITLE", CellSource::At("/title")),
        ("KIND", CellSource::At("/contentType")),
        ("PINNED", CellSource::At("/pinned")),
        ("BY", CellSource::At("/authorName")),
        ("EDITING", CellSource::At("/editingName")),
        ("LAST ACTIVE", CellSource::At("/lastActiveAt")),
        ("ID", CellSource::At("/id")),
    ],
};

const DOCUMENT: TableLayout = TableLayout {
    list: None,
    id: "/id",
    columns: &[
        ("Title", CellSource::At("/title")),
        ("Kind", CellSource::At("/contentType")),
        ("Pinned", CellSource::At("/pinned")),
        ("Opened by", CellSource::At("/authorName")),
        ("Opened", CellSource::At("/openedAt")),
        ("Changed by", CellSource::At("/lastTouchedName")),
        ("Changed", CellSource::At("/lastTouchedAt")),
        ("Editing", CellSource::At("/editingName")),
        ("From", CellSource::At("/sourceLabel")),
        ("Thread", CellSource::At("/threadRootEntryId")),
        ("ETag", CellSource::Tag),
        ("Id", CellSource::At("/id")),
        ("Shows", CellSource::Of(shows)),
    ],
};

const EDITING: TableLayout = TableLayout {
    list: None,
    id: "/editingBy",
    columns: &[
        ("Editing", CellSource::At("/editingName")),
        ("Until", CellSource::At("/expiresAt")),
    ],
};

const RELOADED: TableLayout = TableLayout {
    list: None,
    id: "/document/id",
    columns: &[
        ("Title", CellSource::At("/document/title")),
        ("SHA-256", CellSource::At("/hash")),
        ("Identity", CellSource::At("/identity")),
        ("Generation", CellSource::At("/incarnation/generation")),
        ("Holds", CellSource::At("/content")),
    ],
};

const THREAD: TableLayout = TableLayout {
    list: None,
    id: "/threadRootEntryId",
    columns: &[
        ("Thread", CellSource::At("/threadRootEntryId")),
        ("New", CellSource::At("/created")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(room) => list(desk, &room).await,
        Verb::Show(document) => get(desk, &document).await,
        Verb::Open(ask) => open(desk, ask).await,
        Verb::Replace(ask) => replace(desk, ask).await,
        Verb::Pin(ask) => change(desk, &ask, json!({"pinned": true})).await,
        Verb::Unpin(ask) => change(desk, &ask, json!({"pinned": false})).await,
        Verb::Activate(ask) => change(desk, &ask, json!({"activate": true})).await,
        Verb::Close(ask) => close(desk, &ask).await,
        Verb::Lock(ask) => edit(desk, &ask, true).await,
        Verb::Unlock(ask) => edit(desk, &ask, false).await,
        Verb::Reload(ask) => reload(desk, &ask).await,
        Verb::Discuss(ask) => {
            let target = target(desk, &ask.document).await?.push_segment("thread");
            let answer = desk.post(&target, None, &ask.once).await?;
            desk.output.show(&answer, &THREAD)
        }
    }
}

async fn target(
    desk: &CliContext,
    named: &DocumentArg<impl CanvasOwner>,
) -> Result<RequestTarget, Failure> {
    let canvas = named.place.canvas(desk).await?;
    let document = desk.document_id(&canvas, &named.document).await?;
    Ok(canvas.push_segment(&document))
}

pub(super) async fn list(desk: &CliContext, place: &impl CanvasOwner) -> Result<(), Failure> {
    let target = place.canvas(desk).await?;
    show(desk, &desk.get(&target).await?, &LIST).await
}

pub(super) async fn get(
    desk: &CliContext,
    document: &DocumentArg<impl CanvasOwner>,
) -> Result<(), Failure> {
    let target = target(desk, document).await?;
    show(desk, &desk.get(&target).await?, &DOCUMENT).await
}

pub(super) async fn open(
    desk: &CliContext,
    ask: OpenDocumentArgs<impl CanvasOwner>,
) -> Result<(), Failure> {
    let body = json!({"content": ask.content.read()?, "pinned": ask.pin});
    let target = ask.place.canvas(desk).await?;
    let answer = desk.post(&target, Some(&body), &ask.once).await?;
    show(desk, &answer, &DOCUMENT).await
}

pub(super) async fn replace(
    desk: &CliContext,
    ask: ReplaceDocumentArgs<impl CanvasOwner>,
) -> Result<(), Failure> {
    let body = json!({"content": ask.content.read()?});
    let target = target(desk, &ask.document).await?;
    let answer = desk.patch(&target, &body, Some(&ask.if_match)).await?;
    show(desk, &answer, &DOCUMENT).await
}

pub(super) async fn change(
    desk: &CliContext,
    ask: &ChangeDocumentArgs<impl CanvasOwner>,
    body: Value,
) -> Result<(), Failure> {
    let target = target(desk, &ask.document).await?;
    let answer = desk.patch(&target, &body, Some(&ask.if_match)).await?;
    show(desk, &answer, &DOCUMENT).await
}

pub(super) async fn close(
    desk: &CliContext,
    ask: &ChangeDocumentArgs<impl CanvasOwner>,
) -> Result<(), Failure> {
    let target = target(desk, &ask.document).await?;
    desk.delete(&target, Some(&ask.if_match)).await?;
    let document = &ask.document.document;
    desk.output.done(&format!("{document} is closed."))
}

pub(super) async fn edit(
    desk: &CliContext,
    ask: &DocumentRequestArgs<impl CanvasOwner>,
    editing: bool,
) -> Result<(), Failure> {
    let target = target(desk, &ask.document).await?.push_segment("editing");
    let body = json!({"editing": editing});
    let answer = desk.post(&target, Some(&body), &ask.once).await?;
    show(desk, &answer, &EDITING).await
}

pub(super) async fn reload(
    desk: &CliContext,
    ask: &DocumentRequestArgs<impl CanvasOwner>,
) -> Result<(), Failure> {
    let target = target(desk, &ask.document).await?.push_segment("reload");
    let answer = desk.post(&target, None, &ask.once).await?;
    desk.output.show(&answer, &RELOADED)
}

/// Prints an answer, for people with names in place of authors' ids.
async fn show(desk: &CliContext, answer: &HttpResponse, view: &TableLayout) -> Result<(), Failure> {
    if !desk.output.is_for_people() {
        return desk.output.show(answer, view);
    }
    let mut value: Value = answer.json()?;
    let names = desk.author_names().await?;
    let name = |document: &mut Value| {
        for (id, name) in [
            ("authorId", "authorName"),
            ("lastTouchedBy", "lastTouchedName"),
            ("editingBy", "editingName"),
        ] {
            let id = document[id].as_str().unwrap_or_default();
            document[name] = names.get(id).map_or(id, String::as_str).into();
        }
    };
    match value["documents"].as_array_mut() {
        Some(documents) => documents.iter_mut().for_each(name),
        None => name(&mut value),
    }
    desk.output
        .show_with_tag(&value, answer.etag.as_deref(), view)
}

/// The thing itself where it is text, else where it is.
fn shows(document: &Value) -> String {
    let content = &document["content"];
    for json in ["data", "definition"] {
        if let Some(value) = content.get(json) {
            return format!("{value:#}");
        }
    }
    let fields = ["content", "url", "sourcePath", "src", "uri"];
    let value = fields.iter().find_map(|field| content.get(*field));
    value.map(escaped_text::of).unwrap_or_default()
}
