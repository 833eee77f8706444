//! `guildhall authors`.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{
    cli_context::{Desk, name_of},
    common_args::{self, IfMatch},
    failure::Failure,
    output::{Cell, View},
    request_bodies::{changes, given},
    request_target::Target,
};

/// What can be done with authors.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists authors
    #[command(after_help = "Example:\n  guildhall authors list --kind agent")]
    List(List),
    /// Shows one author
    #[command(after_help = "Example:\n  guildhall authors show @ada")]
    Show(common_args::Author),
    /// Shows the author you write as
    #[command(after_help = "Example:\n  guildhall authors me")]
    Me,
    /// Changes how an author looks
    #[command(after_help = "Example:\n  guildhall authors update ada --emoji 🦉 --color '#3366cc'")]
    Update(Update),
    /// Gives an author a handle, or takes it away
    #[command(
        after_help = "Examples:\n  guildhall authors handle Ada ada\n  guildhall authors handle ada --clear"
    )]
    Handle(Handle),
    /// Shows the handles an author has and may take back
    #[command(after_help = "Example:\n  guildhall authors handles ada")]
    Handles(common_args::Author),
}

/// Which authors to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct List {
    /// Part of the name or handle
    #[arg(long, value_name = "PART")]
    q: Option<String>,
    /// Only this kind
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// Retired ones too
    #[arg(long)]
    include_retired: bool,
    #[command(flatten)]
    page: common_args::Page,
}

/// What kind of author.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// A person.
    Human,
    /// An agent.
    Agent,
    /// The house itself.
    System,
}

/// An author and what becomes of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    author: common_args::Author,
    /// The name, 1 to 80 characters
    #[arg(long, value_name = "NAME")]
    display_name: Option<String>,
    /// One emoji; an empty text clears it
    #[arg(long)]
    emoji: Option<String>,
    /// `#rrggbb`; an empty text clears it
    #[arg(long)]
    color: Option<String>,
    /// An https address or a path of this server; an empty text clears it
    #[arg(long, value_name = "URL")]
    image_url: Option<String>,
    #[command(flatten)]
    if_match: IfMatch,
}

/// An author's handle.
#[derive(Clone, Debug, Args)]
pub(crate) struct Handle {
    #[command(flatten)]
    author: common_args::Author,
    /// The handle, with or without `@`
    #[arg(required_unless_present = "clear", conflicts_with = "clear")]
    handle: Option<String>,
    /// Take the handle away; it stays reserved for this author
    #[arg(long)]
    clear: bool,
    #[command(flatten)]
    if_match: IfMatch,
}

const LIST: View = View {
    list: Some("authors"),
    id: "/id",
    columns: &[
        ("AUTHOR", Cell::Of(name_of)),
        ("NAME", Cell::At("/displayName")),
        ("KIND", Cell::At("/kind")),
        ("RETIRED", Cell::At("/retired")),
        ("ID", Cell::At("/id")),
    ],
};

const AUTHOR: View = View {
    list: None,
    id: "/id",
    columns: &[
        ("Name", Cell::At("/displayName")),
        ("Handle", Cell::At("/handle")),
        ("Kind", Cell::At("/kind")),
        ("Emoji", Cell::At("/emoji")),
        ("Color", Cell::At("/color")),
        ("Image", Cell::At("/imageUrl")),
        ("Agent", Cell::At("/agentRef")),
        ("Retired", Cell::At("/retired")),
        ("ETag", Cell::Tag),
        ("Id", Cell::At("/id")),
    ],
};

const HANDLES: View = View {
    list: None,
    id: "/current",
    columns: &[
        ("Handle", Cell::At("/current")),
        ("Reserved", Cell::Of(reserved)),
    ],
};

pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(ask) => list(desk, ask).await,
        Verb::Show(author) => {
            let target = target(desk, &author).await?;
            desk.output.show(&desk.get(&target).await?, &AUTHOR)
        }
        Verb::Me => {
            let answer = desk.get(&Target::author("me")).await?;
            desk.output.show(&answer, &AUTHOR)
        }
        Verb::Update(ask) => {
            let body = given(json!({
                "displayName": ask.display_name,
                "emoji": ask.emoji,
                "color": ask.color,
                "imageUrl": ask.image_url,
            }));
            let body = changes(body, "authors update")?;
            let target = target(desk, &ask.author).await?;
            let answer = desk.patch(&target, &body, Some(&ask.if_match)).await?;
            desk.output.show(&answer, &AUTHOR)
        }
        Verb::Handle(ask) => {
            let target = target(desk, &ask.author).await?.then("handle");
            let body = json!({"handle": ask.handle.unwrap_or_default()});
            let answer = desk.patch(&target, &body, Some(&ask.if_match)).await?;
            desk.output.show(&answer, &AUTHOR)
        }
        Verb::Handles(author) => {
            let target = target(desk, &author).await?.then("handles");
            desk.output.show(&desk.get(&target).await?, &HANDLES)
        }
    }
}

async fn list(desk: &Desk, ask: List) -> Result<(), Failure> {
    let target = Target::new("/api/rooms/authors")
        .query("q", ask.q)
        .query("kind", ask.kind.and_then(common_args::word))
        .query("includeRetired", ask.include_retired.then_some(true))
        .page(ask.page);
    desk.output.show_page(&desk.get(&target).await?, &LIST)
}

async fn target(desk: &Desk, author: &common_args::Author) -> Result<Target, Failure> {
    Ok(Target::author(&desk.author_id(&author.author).await?))
}

fn reserved(handles: &Value) -> String {
    let reserved = handles["reserved"].as_array().into_iter().flatten();
    let reserved: Vec<_> = reserved.filter_map(|one| one["handle"].as_str()).collect();
    reserved.join(", ")
}
