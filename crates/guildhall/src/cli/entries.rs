//! `guildhall post` and `guildhall entries`.

use std::io::{self, IsTerminal, Read};

use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Value, json};

use super::{
    args,
    desk::Desk,
    failures::Failure,
    output::{Cell, View},
    target::Target,
};

/// Bytes of a request body that the server takes. Source: contract 1.11, `BODY_BYTES_MAX`.
const STDIN_BYTES_MAX: u64 = 1024 * 1024;

/// A post.
#[derive(Clone, Debug, Args)]
pub(crate) struct Post {
    #[command(flatten)]
    room: args::Room,
    /// What it says; `-`, or nothing with a pipe, reads standard input
    text: Option<String>,
}

/// What can be done with entries.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Reads a run of a room's entries, oldest first; without a position the newest
    #[command(after_help = "Example:\n  guildhall entries list ops --limit 20")]
    List(List),
    /// Shows one entry
    #[command(after_help = "Example:\n  guildhall entries show ops 12")]
    Show(Show),
}

/// Which entries to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    room: args::Room,
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

/// One entry.
#[derive(Clone, Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    room: args::Room,
    /// The entry: its id or its number in the room
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    entry: String,
}

const LIST: View = View {
    list: Some("entries"),
    id: "/id",
    columns: &[
        ("SEQ", Cell::At("/seq")),
        ("WHEN", Cell::At("/createdAt")),
        ("AUTHOR", Cell::At("/authorName")),
        ("TEXT", Cell::Of(words)),
    ],
};

const ENTRY: View = View {
    list: None,
    id: "/id",
    columns: &[
        ("Seq", Cell::At("/seq")),
        ("When", Cell::At("/createdAt")),
        ("Author", Cell::At("/authorName")),
        ("Text", Cell::Of(words)),
        ("Id", Cell::At("/id")),
    ],
};

const POSTED: View = View {
    list: None,
    id: "/entry/id",
    columns: &[
        ("Posted", Cell::At("/entry/seq")),
        ("Id", Cell::At("/entry/id")),
    ],
};

/// Runs `guildhall post`.
pub(super) async fn post(desk: &Desk, ask: Post) -> Result<(), Failure> {
    let text = match ask.text {
        Some(text) if text != "-" => text,
        given => from_stdin(given.is_some())?,
    };
    let room = desk.room_id(&ask.room.room).await?;
    let target = Target::room(&room).then("entries");
    let body = json!({"text": text});
    let answer = desk.send(Method::POST, &target, Some(&body)).await?;
    desk.output.show(&answer, &POSTED)
}

/// Runs `guildhall entries`.
pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(ask) => list(desk, ask).await,
        Verb::Show(ask) => show(desk, ask).await,
    }
}

async fn list(desk: &Desk, ask: List) -> Result<(), Failure> {
    let room = desk.room_id(&ask.room.room).await?;
    let target = Target::room(&room)
        .then("entries")
        .query("before", ask.before)
        .query("after", ask.after)
        .query("limit", ask.limit);
    let answer = desk.get(&target).await?;
    if !desk.output.is_for_people() {
        return desk.output.show(&answer, &LIST);
    }
    let mut page: Value = answer.json()?;
    let names = desk.author_names().await?;
    for entry in page["entries"].as_array_mut().into_iter().flatten() {
        let author = entry["authorId"].as_str().unwrap_or_default();
        entry["authorName"] = names.get(author).map_or(author, String::as_str).into();
    }
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

async fn show(desk: &Desk, ask: Show) -> Result<(), Failure> {
    let room = desk.room_id(&ask.room.room).await?;
    let entries = Target::room(&room).then("entries");
    let id = match ask.entry.parse::<u64>() {
        Ok(seq) if seq > 0 => {
            let page = entries
                .clone()
                .query("after", Some(seq - 1))
                .query("limit", Some(1));
            let page: Value = desk.get(&page).await?.json()?;
            let entry = &page["entries"][0];
            let found = entry["id"].as_str().filter(|_| entry["seq"] == seq);
            found.unwrap_or(&ask.entry).to_owned()
        }
        _ => ask.entry,
    };
    let answer = desk.get(&entries.then(&id)).await?;
    if !desk.output.is_for_people() {
        return desk.output.show(&answer, &ENTRY);
    }
    let mut entry: Value = answer.json()?;
    let names = desk.author_names().await?;
    let author = entry["authorId"].as_str().unwrap_or_default();
    entry["authorName"] = names.get(author).map_or(author, String::as_str).into();
    desk.output.show_value(&entry, &ENTRY)
}

/// What standard input says, without the line's end that `echo` adds.
fn from_stdin(asked_for: bool) -> Result<String, Failure> {
    let stdin = io::stdin();
    if !asked_for && stdin.is_terminal() {
        let how = "say what to post, as an argument or through a pipe.";
        return Err(Failure::Usage(how.to_owned()));
    }
    let mut text = Vec::new();
    stdin
        .lock()
        .take(STDIN_BYTES_MAX + 1)
        .read_to_end(&mut text)?;
    if text.len() as u64 > STDIN_BYTES_MAX {
        return Err(Failure::Usage(
            "standard input holds more than a post can.".to_owned(),
        ));
    }
    let mut text = String::from_utf8(text)
        .map_err(|_| Failure::Usage("standard input is no UTF-8 text.".to_owned()))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// A post's text, or the code of what a notice tells.
fn words(entry: &Value) -> String {
    let text = entry["text"].as_str().unwrap_or_default();
    match entry["notice"]["code"].as_str() {
        Some(code) if text.is_empty() => format!("({code})"),
        _ => text.to_owned(),
    }
}
