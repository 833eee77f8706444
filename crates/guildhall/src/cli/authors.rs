//! `guildhall authors`.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{
    cli_context::{CliContext, name_of},
    common_args::{self, IfMatchArg},
    failure::Failure,
    output::{CellSource, TableLayout},
    request_bodies::{changes, only_given},
    request_target::RequestTarget,
};

/// What can be done with authors.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists authors
    #[command(after_help = "Example:\n  guildhall authors list --kind agent")]
    List(ListAuthorsArgs),
    /// Shows one author
    #[command(after_help = "Example:\n  guildhall authors show @ada")]
    Show(common_args::AuthorArg),
    /// Shows the author you write as
    #[command(after_help = "Example:\n  guildhall authors me")]
    Me,
    /// Changes how an author looks
    #[command(after_help = "Example:\n  guildhall authors update ada --emoji 🦉 --color '#3366cc'")]
    Update(UpdateAuthorArgs),
    /// Gives an author a handle, or takes it away
    #[command(
        after_help = "Examples:\n  guildhall authors handle Ada ada\n  guildhall authors handle ada --clear"
    )]
    Handle(HandleArgs),
    /// Shows the handles an author has and may take back
    #[command(after_help = "Example:\n  guildhall authors handles ada")]
    Handles(common_args::AuthorArg),
}

/// Which authors to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListAuthorsArgs {
    /// Part of the name or handle
    #[arg(long, value_name = "PART")]
    q: Option<String>,
    /// Only this kind
    #[arg(long, value_enum)]
    kind: Option<AuthorKindFilter>,
    /// Retired ones too
    #[arg(long)]
    include_retired: bool,
    #[command(flatten)]
    page: common_args::PageArgs,
}

/// What kind of author.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum AuthorKindFilter {
    /// A person.
    Human,
    /// An agent.
    Agent,
    /// The house itself.
    System,
}

/// An author and what becomes of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct UpdateAuthorArgs {
    #[command(flatten)]
    author: common_args::AuthorArg,
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
    if_match: IfMatchArg,
}

/// An author's handle.
#[derive(Clone, Debug, Args)]
pub(crate) struct HandleArgs {
    #[command(flatten)]
    author: common_args::AuthorArg,
    /// The handle, with or without `@`
    #[arg(required_unless_present = "clear", conflicts_with = "clear")]
    handle: Option<String>,
    /// Take the handle away; it stays reserved for this author
    #[arg(long)]
    clear: bool,
    #[command(flatten)]
    if_match: IfMatchArg,
}

const LIST: TableLayout = TableLayout {
    list: Some("authors"),
    id: "/id",
    columns: &[
        ("AUTHOR", CellSource::Of(name_of)),
        ("NAME", CellSource::At("/displayName")),
        ("KIND", CellSource::At("/kind")),
        ("RETIRED", CellSource::At("/retired")),
        ("ID", CellSource::At("/id")),
    ],
};

const AUTHOR: TableLayout = TableLayout {
    list: None,
    id: "/id",
    columns: &[
        ("Name", CellSource::At("/displayName")),
        ("Handle", CellSource::At("/handle")),
        ("Kind", CellSource::At("/kind")),
        ("Emoji", CellSource::At("/emoji")),
        ("Color", CellSource::At("/color")),
        ("Image", CellSource::At("/imageUrl")),
        ("Agent", CellSource::At("/agentRef")),
        ("Retired", CellSource::At("/retired")),
        ("ETag", CellSource::Tag),
        ("Id", CellSource::At("/id")),
    ],
};

const HANDLES: TableLayout = TableLayout {
    list: None,
    id: "/current",
    columns: &[
        ("Handle", CellSource::At("/current")),
        ("Reserved", CellSource::Of(reserved)),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(ask) => list(desk, ask).await,
        Verb::Show(author) => {
            let target = target(desk, &author).await?;
            desk.output.show(&desk.get(&target).await?, &AUTHOR)
        }
        Verb::Me => {
            let answer = desk.get(&RequestTarget::author("me")).await?;
            desk.output.show(&answer, &AUTHOR)
        }
        Verb::Update(ask) => {
            let body = only_given(json!({
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
            let target = target(desk, &ask.author).await?.push_segment("handle");
            let body = json!({"handle": ask.handle.unwrap_or_default()});
            let answer = desk.patch(&target, &body, Some(&ask.if_match)).await?;
            desk.output.show(&answer, &AUTHOR)
        }
        Verb::Handles(author) => {
            let target = target(desk, &author).await?.push_segment("handles");
            desk.output.show(&desk.get(&target).await?, &HANDLES)
        }
    }
}

async fn list(desk: &CliContext, ask: ListAuthorsArgs) -> Result<(), Failure> {
    let target = RequestTarget::new("/api/rooms/authors")
        .query("q", ask.q)
        .query("kind", ask.kind.and_then(common_args::word))
        .query("includeRetired", ask.include_retired.then_some(true))
        .page(ask.page);
    desk.output.show_page(&desk.get(&target).await?, &LIST)
}

async fn target(
    desk: &CliContext,
    author: &common_args::AuthorArg,
) -> Result<RequestTarget, Failure> {
    Ok(RequestTarget::author(
        &desk.author_id(&author.author).await?,
    ))
}

fn reserved(handles: &Value) -> String {
    let reserved = handles["reserved"].as_array().into_iter().flatten();
    let reserved: Vec<_> = reserved.filter_map(|one| one["handle"].as_str()).collect();
    reserved.join(", ")
}
