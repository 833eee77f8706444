//! `guildhall canvas`; what it does, `sessions canvas` does too.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};

use super::{
    canvas_content::Content,
    cli_context::Desk,
    common_args::{self, IfMatch, Once},
    escaped_text,
    failure::Failure,
    http_client::Answer,
    output::{Cell, View},
    request_target::Target,
};

/// What can be done with a room's canvas.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the documents of a room, the front one first
    #[command(after_help = "Example:\n  guildhall canvas list ops")]
    List(common_args::Room),
    /// Shows one document
    #[command(after_help = "Example:\n  guildhall canvas show ops Plan")]
    Show(Document<common_args::Room>),
    /// Opens a document in front of the others; the same one again brings it to the front
    #[command(
        after_help = "Examples:\n  guildhall canvas open ops url https://example.org\n  guildhall canvas open ops markdown plan.md --title Plan --pin\n  guildhall canvas open ops file src/main.rs --language rust\n  guildhall canvas open ops --content '{\"type\":\"csv\",\"src\":\"/tmp/table.csv\"}'"
    )]
    Open(Open<common_args::Room>),
    /// Replaces what a document shows
    #[command(after_help = "Example:\n  guildhall canvas replace ops Plan markdown plan.md")]
    Replace(Replace<common_args::Room>),
    /// Keeps a document however full the canvas is
    #[command(after_help = "Example:\n  guildhall canvas pin ops Plan")]
    Pin(Change<common_args::Room>),
    /// Lets a document go when the canvas is full
    #[command(after_help = "Example:\n  guildhall canvas unpin ops Plan")]
    Unpin(Change<common_args::Room>),
    /// Moves a document to the front of the list
    #[command(after_help = "Example:\n  guildhall canvas activate ops Plan")]
    Activate(Change<common_args::Room>),
    /// Closes a document
    #[command(after_help = "Example:\n  guildhall canvas close ops Plan")]
    Close(Change<common_args::Room>),
    /// Keeps others from changing a document for 45 seconds; repeat it to keep on
    #[command(after_help = "Example:\n  guildhall canvas lock ops Plan")]
    Lock(Ask<common_args::Room>),
    /// Lets others change a document again
    #[command(after_help = "Example:\n  guildhall canvas unlock ops Plan")]
    Unlock(Ask<common_args::Room>),
    /// Reads a document's file anew, after another file took its place
    #[command(after_help = "Example:\n  guildhall canvas reload ops Plan --json")]
    Reload(Ask<common_args::Room>),
    /// Begins the thread of a document, or finds it
    #[command(after_help = "Example:\n  guildhall canvas discuss ops Plan")]
    Discuss(Ask<common_args::Room>),
}

/// Whose canvas is meant.
pub(super) trait Place: Args {
    /// The routes beneath that canvas.
    async fn canvas(&self, desk: &Desk) -> Result<Target, Failure>;
}

impl Place for common_args::Room {
    async fn canvas(&self, desk: &Desk) -> Result<Target, Failure> {
        Ok(Target::room(&desk.room_id(&self.room).await?).then("canvas"))
    }
}

/// A document of a canvas.
#[derive(Clone, Debug, Args)]
pub(crate) struct Document<P: Args> {
    #[command(flatten)]
    place: P,
    /// The document: its id or its title
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    document: String,
}

/// A new document.
#[derive(Clone, Debug, Args)]
pub(crate) struct Open<P: Args> {
    #[command(flatten)]
    place: P,
    #[command(flatten)]
    content: Content,
    /// Pin it, when it is new
    #[arg(long)]
    pin: bool,
    #[command(flatten)]
    once: Once,
}

/// A document and what it shows from now on.
#[derive(Clone, Debug, Args)]
pub(crate) struct Replace<P: Args> {
    #[command(flatten)]
    document: Document<P>,
    #[command(flatten)]
    content: Content,
    #[command(flatten)]
    if_match: IfMatch,
}

/// A document that changes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Change<P: Args> {
    #[command(flatten)]
    document: Document<P>,
    #[command(flatten)]
    if_match: IfMatch,
}

/// A document that something is asked of.
#[derive(Clone, Debug, Args)]
pub(crate) struct Ask<P: Args> {
    #[command(flatten)]
    document: Document<P>,
    #[command(flatten)]
    once: Once,
}

const LIST: View = View {
    list: Some("documents"),
    id: "/id",
    columns: &[
        ("TITLE", Cell::At("/title")),
        ("KIND", Cell::At("/contentType")),
        ("PINNED", Cell::At("/pinned")),
        ("BY", Cell::At("/authorName")),
        ("EDITING", Cell::At("/editingName")),
        ("LAST ACTIVE", Cell::At("/lastActiveAt")),
        ("ID", Cell::At("/id")),
    ],
};

const DOCUMENT: View = View {
    list: None,
    id: "/id",
    columns: &[
        ("Title", Cell::At("/title")),
        ("Kind", Cell::At("/contentType")),
        ("Pinned", Cell::At("/pinned")),
        ("Opened by", Cell::At("/authorName")),
        ("Opened", Cell::At("/openedAt")),
        ("Changed by", Cell::At("/lastTouchedName")),
        ("Changed", Cell::At("/lastTouchedAt")),
        ("Editing", Cell::At("/editingName")),
        ("From", Cell::At("/sourceLabel")),
        ("Thread", Cell::At("/threadRootEntryId")),
        ("ETag", Cell::Tag),
        ("Id", Cell::At("/id")),
        ("Shows", Cell::Of(shows)),
    ],
};

const EDITING: View = View {
    list: None,
    id: "/editingBy",
    columns: &[
        ("Editing", Cell::At("/editingName")),
        ("Until", Cell::At("/expiresAt")),
    ],
};

const RELOADED: View = View {
    list: None,
    id: "/document/id",
    columns: &[
        ("Title", Cell::At("/document/title")),
        ("SHA-256", Cell::At("/hash")),
        ("Identity", Cell::At("/identity")),
        ("Generation", Cell::At("/incarnation/generation")),
        ("Holds", Cell::At("/content")),
    ],
};

const THREAD: View = View {
    list: None,
    id: "/threadRootEntryId",
    columns: &[
        ("Thread", Cell::At("/threadRootEntryId")),
        ("New", Cell::At("/created")),
    ],
};

pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<(), Failure> {
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
            let target = target(desk, &ask.document).await?.then("thread");
            let answer = desk.post(&target, None, &ask.once).await?;
            desk.output.show(&answer, &THREAD)
        }
    }
}

async fn target(desk: &Desk, named: &Document<impl Place>) -> Result<Target, Failure> {
    let canvas = named.place.canvas(desk).await?;
    let document = desk.document_id(&canvas, &named.document).await?;
    Ok(canvas.then(&document))
}

pub(super) async fn list(desk: &Desk, place: &impl Place) -> Result<(), Failure> {
    let target = place.canvas(desk).await?;
    show(desk, &desk.get(&target).await?, &LIST).await
}

pub(super) async fn get(desk: &Desk, document: &Document<impl Place>) -> Result<(), Failure> {
    let target = target(desk, document).await?;
    show(desk, &desk.get(&target).await?, &DOCUMENT).await
}

pub(super) async fn open(desk: &Desk, ask: Open<impl Place>) -> Result<(), Failure> {
    let body = json!({"content": ask.content.read()?, "pinned": ask.pin});
    let target = ask.place.canvas(desk).await?;
    let answer = desk.post(&target, Some(&body), &ask.once).await?;
    show(desk, &answer, &DOCUMENT).await
}

pub(super) async fn replace(desk: &Desk, ask: Replace<impl Place>) -> Result<(), Failure> {
    let body = json!({"content": ask.content.read()?});
    let target = target(desk, &ask.document).await?;
    let answer = desk.patch(&target, &body, Some(&ask.if_match)).await?;
    show(desk, &answer, &DOCUMENT).await
}

pub(super) async fn change(
    desk: &Desk,
    ask: &Change<impl Place>,
    body: Value,
) -> Result<(), Failure> {
    let target = target(desk, &ask.document).await?;
    let answer = desk.patch(&target, &body, Some(&ask.if_match)).await?;
    show(desk, &answer, &DOCUMENT).await
}

pub(super) async fn close(desk: &Desk, ask: &Change<impl Place>) -> Result<(), Failure> {
    let target = target(desk, &ask.document).await?;
    desk.delete(&target, Some(&ask.if_match)).await?;
    let document = &ask.document.document;
    desk.output.done(&format!("{document} is closed."))
}

pub(super) async fn edit(desk: &Desk, ask: &Ask<impl Place>, editing: bool) -> Result<(), Failure> {
    let target = target(desk, &ask.document).await?.then("editing");
    let body = json!({"editing": editing});
    let answer = desk.post(&target, Some(&body), &ask.once).await?;
    show(desk, &answer, &EDITING).await
}

pub(super) async fn reload(desk: &Desk, ask: &Ask<impl Place>) -> Result<(), Failure> {
    let target = target(desk, &ask.document).await?.then("reload");
    let answer = desk.post(&target, None, &ask.once).await?;
    desk.output.show(&answer, &RELOADED)
}

/// Prints an answer, for people with names in place of authors' ids.
async fn show(desk: &Desk, answer: &Answer, view: &View) -> Result<(), Failure> {
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
