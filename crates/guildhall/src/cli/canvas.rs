//! `guildhall canvas`.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};

use super::{
    args::{self, IfMatch, Once},
    client::Answer,
    content::Content,
    desk::Desk,
    failures::Failure,
    output::{Cell, View},
    target::Target,
    text,
};

/// What can be done with a room's canvas.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the documents of a room, the front one first
    #[command(after_help = "Example:\n  guildhall canvas list ops")]
    List(args::Room),
    /// Shows one document
    #[command(after_help = "Example:\n  guildhall canvas show ops Plan")]
    Show(Document),
    /// Opens a document in front of the others; the same one again brings it to the front
    #[command(
        after_help = "Examples:\n  guildhall canvas open ops url https://example.org\n  guildhall canvas open ops markdown plan.md --title Plan --pin\n  guildhall canvas open ops file src/main.rs --language rust\n  guildhall canvas open ops --content '{\"type\":\"csv\",\"src\":\"/tmp/table.csv\"}'"
    )]
    Open(Open),
    /// Replaces what a document shows
    #[command(after_help = "Example:\n  guildhall canvas replace ops Plan markdown plan.md")]
    Replace(Replace),
    /// Keeps a document however full the canvas is
    #[command(after_help = "Example:\n  guildhall canvas pin ops Plan")]
    Pin(Change),
    /// Lets a document go when the canvas is full
    #[command(after_help = "Example:\n  guildhall canvas unpin ops Plan")]
    Unpin(Change),
    /// Moves a document to the front of the list
    #[command(after_help = "Example:\n  guildhall canvas activate ops Plan")]
    Activate(Change),
    /// Closes a document
    #[command(after_help = "Example:\n  guildhall canvas close ops Plan")]
    Close(Change),
    /// Keeps others from changing a document for 45 seconds; repeat it to keep on
    #[command(after_help = "Example:\n  guildhall canvas lock ops Plan")]
    Lock(Ask),
    /// Lets others change a document again
    #[command(after_help = "Example:\n  guildhall canvas unlock ops Plan")]
    Unlock(Ask),
    /// Begins the thread of a document, or finds it
    #[command(after_help = "Example:\n  guildhall canvas discuss ops Plan")]
    Discuss(Ask),
}

/// A document of a room.
#[derive(Clone, Debug, Args)]
pub(crate) struct Document {
    #[command(flatten)]
    room: args::Room,
    /// The document: its id or its title
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    document: String,
}

/// A new document.
#[derive(Clone, Debug, Args)]
pub(crate) struct Open {
    #[command(flatten)]
    room: args::Room,
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
pub(crate) struct Replace {
    #[command(flatten)]
    document: Document,
    #[command(flatten)]
    content: Content,
    #[command(flatten)]
    if_match: IfMatch,
}

/// A document that changes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Change {
    #[command(flatten)]
    document: Document,
    #[command(flatten)]
    if_match: IfMatch,
}

/// A document that something is asked of.
#[derive(Clone, Debug, Args)]
pub(crate) struct Ask {
    #[command(flatten)]
    document: Document,
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
        Verb::List(room) => {
            let target = canvas(&desk.room_id(&room.room).await?);
            show(desk, &desk.get(&target).await?, &LIST).await
        }
        Verb::Show(document) => {
            let target = target(desk, &document).await?;
            show(desk, &desk.get(&target).await?, &DOCUMENT).await
        }
        Verb::Open(ask) => open(desk, ask).await,
        Verb::Replace(ask) => {
            let body = json!({"content": ask.content.read()?});
            change(desk, &ask.document, &body, &ask.if_match).await
        }
        Verb::Pin(ask) => {
            change(desk, &ask.document, &json!({"pinned": true}), &ask.if_match).await
        }
        Verb::Unpin(ask) => {
            change(
                desk,
                &ask.document,
                &json!({"pinned": false}),
                &ask.if_match,
            )
            .await
        }
        Verb::Activate(ask) => {
            change(
                desk,
                &ask.document,
                &json!({"activate": true}),
                &ask.if_match,
            )
            .await
        }
        Verb::Close(ask) => {
            let target = target(desk, &ask.document).await?;
            desk.delete(&target, Some(&ask.if_match)).await?;
            let document = &ask.document.document;
            desk.output.done(&format!("{document} is closed."))
        }
        Verb::Lock(ask) => edit(desk, &ask, true).await,
        Verb::Unlock(ask) => edit(desk, &ask, false).await,
        Verb::Discuss(ask) => {
            let target = target(desk, &ask.document).await?.then("thread");
            let answer = desk.post(&target, None, &ask.once).await?;
            desk.output.show(&answer, &THREAD)
        }
    }
}

async fn open(desk: &Desk, ask: Open) -> Result<(), Failure> {
    let body = json!({"content": ask.content.read()?, "pinned": ask.pin});
    let target = canvas(&desk.room_id(&ask.room.room).await?);
    let answer = desk.post(&target, Some(&body), &ask.once).await?;
    show(desk, &answer, &DOCUMENT).await
}

async fn change(
    desk: &Desk,
    document: &Document,
    body: &Value,
    if_match: &IfMatch,
) -> Result<(), Failure> {
    let target = target(desk, document).await?;
    let answer = desk.patch(&target, body, Some(if_match)).await?;
    show(desk, &answer, &DOCUMENT).await
}

async fn edit(desk: &Desk, ask: &Ask, editing: bool) -> Result<(), Failure> {
    let target = target(desk, &ask.document).await?.then("editing");
    let body = json!({"editing": editing});
    let answer = desk.post(&target, Some(&body), &ask.once).await?;
    show(desk, &answer, &EDITING).await
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

fn canvas(room: &str) -> Target {
    Target::room(room).then("canvas")
}

async fn target(desk: &Desk, named: &Document) -> Result<Target, Failure> {
    let room = desk.room_id(&named.room.room).await?;
    let document = desk.document_id(&room, &named.document).await?;
    Ok(canvas(&room).then(&document))
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
    value.map(text::of).unwrap_or_default()
}
