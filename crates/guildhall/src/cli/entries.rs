//! `guildhall post` and `guildhall entries`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};

use super::{
    attachments,
    cli_context::CliContext,
    common_args::{self, IdempotencyArgs},
    escaped_text,
    failure::Failure,
    http_client::HttpResponse,
    output::{CellSource, TableLayout},
    request_bodies::only_given,
    request_target::RequestTarget,
    terminal_input,
};

/// A post.
#[derive(Clone, Debug, Args)]
pub(crate) struct PostArgs {
    #[command(flatten)]
    room: common_args::RoomArg,
    /// What it says; `-`, or nothing with a pipe, reads standard input
    text: Option<String>,
    /// A file that says it
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    from: Option<PathBuf>,
    /// Reply to this entry, by its id or its number, in its thread
    #[arg(long, value_name = "ENTRY", value_parser = NonEmptyStringValueParser::new())]
    thread: Option<String>,
    /// A file that goes along; may be given more than once
    #[arg(long = "attach", value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// What can be done with entries.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Reads a run of a room's entries, oldest first; without a position the newest
    #[command(after_help = "Example:\n  guildhall entries list ops --limit 20")]
    List(ListEntriesArgs),
    /// Shows one entry
    #[command(after_help = "Example:\n  guildhall entries show ops 12")]
    Show(common_args::EntryArg),
    /// Writes a post; the same as `guildhall post`
    #[command(
        after_help = "Example:\n  guildhall entries post ops --thread 12 'it was the cache' --attach build.log"
    )]
    Post(PostArgs),
    /// Takes the text and the files out of an entry, for good
    #[command(after_help = "Example:\n  guildhall entries redact ops 12 --yes")]
    Redact(RedactArgs),
}

/// Which entries to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListEntriesArgs {
    #[command(flatten)]
    room: common_args::RoomArg,
    /// Only entries below this number, the newest of them
    #[arg(long, value_name = "SEQ", conflicts_with = "after")]
    before: Option<u64>,
    /// Only entries above this number, the oldest of them
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// How many, 1 to 200 [default: 50]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

/// An entry whose text goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct RedactArgs {
    #[command(flatten)]
    entry: common_args::EntryArg,
    /// Do not ask whether to do it
    #[arg(long)]
    yes: bool,
}

const LIST: TableLayout = TableLayout {
    list: Some("entries"),
    id: "/id",
    columns: COLUMNS,
};

/// How a run of entries looks.
pub(super) const COLUMNS: &[(&str, CellSource)] = &[
    ("SEQ", CellSource::At("/seq")),
    ("WHEN", CellSource::At("/createdAt")),
    ("AUTHOR", CellSource::At("/authorName")),
    ("REPLIES", CellSource::Of(replies)),
    ("TEXT", CellSource::Of(words)),
];

const ENTRY: TableLayout = TableLayout {
    list: None,
    id: "/id",
    columns: &[
        ("Seq", CellSource::At("/seq")),
        ("When", CellSource::At("/createdAt")),
        ("Author", CellSource::At("/authorName")),
        ("Text", CellSource::Of(words)),
        ("Files", CellSource::Of(files)),
        ("Reactions", CellSource::Of(reactions)),
        ("Reply to", CellSource::At("/threadRootEntryId")),
        ("Replies", CellSource::Of(replies)),
        ("Redacted", CellSource::At("/redactedAt")),
        ("Id", CellSource::At("/id")),
    ],
};

const POSTED: TableLayout = TableLayout {
    list: None,
    id: "/entry/id",
    columns: &[
        ("Posted", CellSource::At("/entry/seq")),
        ("Id", CellSource::At("/entry/id")),
    ],
};

/// Runs `guildhall post`.
pub(super) async fn post(desk: &CliContext, ask: PostArgs) -> Result<(), Failure> {
    let text = said(ask.text, ask.from.as_deref(), ask.files.is_empty())?;
    let room = desk.room_id(&ask.room.room).await?;
    let thread = match &ask.thread {
        Some(entry) => Some(desk.entry_id(&room, entry).await?),
        None => None,
    };
    let key = ask.once.key();
    let attachments = if ask.files.is_empty() {
        None
    } else {
        Some(
            attachments::send(desk, &room, &ask.files, &key)
                .await?
                .ids()?,
        )
    };
    let body = only_given(json!({
        "text": text,
        "threadRootEntryId": thread,
        "attachmentIds": attachments,
    }));
    let target = RequestTarget::room(&room).push_segment("entries");
    let answer = desk.post_under(key, &target, Some(&body)).await?;
    desk.output.show(&answer, &POSTED)
}

/// Runs `guildhall entries`.
pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(ask) => list(desk, ask).await,
        Verb::Post(ask) => post(desk, ask).await,
        Verb::Show(ask) => {
            let target = desk.entry(&ask).await?;
            show(desk, desk.get(&target).await?).await
        }
        Verb::Redact(ask) => {
            let target = desk.entry(&ask.entry).await?;
            if !ask.yes {
                let (entry, room) = (&ask.entry.entry, &ask.entry.room.room);
                let question =
                    format!("Take the text and the files of {entry} in {room} out, for good?");
                terminal_input::confirm(&question, "--yes")?;
            }
            show(desk, desk.delete(&target, None).await?).await
        }
    }
}

async fn list(desk: &CliContext, ask: ListEntriesArgs) -> Result<(), Failure> {
    let room = desk.room_id(&ask.room.room).await?;
    let target = RequestTarget::room(&room)
        .push_segment("entries")
        .query("before", ask.before)
        .query("after", ask.after)
        .query("limit", ask.limit);
    let answer = desk.get(&target).await?;
    if !desk.output.is_for_people() {
        return desk.output.show(&answer, &LIST);
    }
    let mut page: Value = answer.json()?;
    name_authors(desk, page["entries"].as_array_mut().into_iter().flatten()).await?;
    desk.output.show_value(&page, &LIST)?;
    if page["hasMore"] == Value::Bool(true) {
        let (option, seq) = match ask.after {
            Some(_) => ("--after", &page["lastSeq"]),
            None => ("--before", &page["firstSeq"]),
        };
        desk.output.note(&format!("There are more: {option} {seq}"));
    }
    Ok(())
}

async fn show(desk: &CliContext, answer: HttpResponse) -> Result<(), Failure> {
    if !desk.output.is_for_people() {
        return desk.output.show(&answer, &ENTRY);
    }
    let mut entry: Value = answer.json()?;
    name_authors(desk, [&mut entry]).await?;
    desk.output.show_value(&entry, &ENTRY)
}

/// Adds what people call the authors of these entries.
pub(super) async fn name_authors(
    desk: &CliContext,
    entries: impl IntoIterator<Item = &mut Value>,
) -> Result<(), Failure> {
    let names = desk.author_names().await?;
    for entry in entries {
        let author = entry["authorId"].as_str().unwrap_or_default();
        entry["authorName"] = names.get(author).map_or(author, String::as_str).into();
    }
    Ok(())
}

/// What a post says. One that brings files need not say anything, so it waits for no pipe.
fn said(text: Option<String>, from: Option<&Path>, is_needed: bool) -> Result<String, Failure> {
    match (text, from) {
        (Some(text), _) if text != "-" => Ok(text),
        (Some(_), _) => terminal_input::text_of(Path::new("-")),
        (None, Some(file)) => terminal_input::text_of(file),
        (None, None) if !is_needed => Ok(String::new()),
        (None, None) if terminal_input::is_stdin_terminal() => Err(Failure::Usage(
            "say what to post, as an argument or through a pipe.".to_owned(),
        )),
        (None, None) => terminal_input::text_of(Path::new("-")),
    }
}

/// A post's text, what became of it, or the code of what a notice tells; then its files.
pub(super) fn words(entry: &Value) -> String {
    let text = entry["text"].as_str().unwrap_or_default();
    let mut words = match (&entry["redactedAt"], entry["notice"]["code"].as_str()) {
        (Value::String(_), _) => "(redacted)".to_owned(),
        (_, Some(code)) if text.is_empty() => format!("({code})"),
        _ => text.to_owned(),
    };
    for file in entry["attachments"].as_array().into_iter().flatten() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(&format!("[{}]", file["name"].as_str().unwrap_or_default()));
    }
    words
}

fn files(entry: &Value) -> String {
    let files = entry["attachments"].as_array().into_iter().flatten();
    let lines = files.map(|file| {
        let told = |member: &str| escaped_text::of(&file[member]);
        format!("{} ({} bytes) {}", told("name"), told("size"), told("id"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// How often which emoji was given.
pub(super) fn reactions(entry: &Value) -> String {
    let reactions = entry["reactions"].as_array().into_iter().flatten();
    let reactions = reactions.map(|reaction| {
        let count = reaction["authorIds"].as_array().map_or(0, Vec::len);
        format!("{} {count}", reaction["emoji"].as_str().unwrap_or_default())
    });
    reactions.collect::<Vec<_>>().join(", ")
}

/// How many replies an entry has, if any.
fn replies(entry: &Value) -> String {
    let count = entry["threadReplyCount"]
        .as_u64()
        .filter(|count| *count > 0);
    count.map(|count| count.to_string()).unwrap_or_default()
}
