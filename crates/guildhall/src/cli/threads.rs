//! `guildhall threads`.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::{
    cli_context::CliContext,
    common_args,
    entries::{COLUMNS, name_authors, words},
    failure::Failure,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

/// What can be done with threads.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the threads you wrote in, newest activity first
    #[command(after_help = "Example:\n  guildhall threads list")]
    List(common_args::PageArgs),
    /// Shows an entry with the replies to it, oldest first
    #[command(after_help = "Example:\n  guildhall threads show ops 12")]
    Show(ShowThreadArgs),
}

/// A thread, and which of its replies.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShowThreadArgs {
    #[command(flatten)]
    root: common_args::EntryArg,
    /// Only replies above this number
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// How many, 1 to 200 [default: 50]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

const LIST: TableLayout = TableLayout {
    list: Some("threads"),
    id: "/root/id",
    columns: &[
        ("ROOM", CellSource::At("/roomTitle")),
        ("SEQ", CellSource::At("/root/seq")),
        ("UNREAD", CellSource::At("/unreadCount")),
        ("REPLIES", CellSource::At("/replyCount")),
        ("LAST ACTIVITY", CellSource::At("/lastActivityAt")),
        ("TEXT", CellSource::Of(root_words)),
        ("ID", CellSource::At("/root/id")),
    ],
};

const THREAD: TableLayout = TableLayout {
    list: Some("entries"),
    id: "/id",
    columns: COLUMNS,
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(page) => {
            let target = RequestTarget::new("/api/rooms/threads").page(page);
            desk.output.show_page(&desk.get(&target).await?, &LIST)
        }
        Verb::Show(ask) => show(desk, ask).await,
    }
}

async fn show(desk: &CliContext, ask: ShowThreadArgs) -> Result<(), Failure> {
    let room = desk.room_id(&ask.root.room.room).await?;
    let root = desk.entry_id(&room, &ask.root.entry).await?;
    let target = RequestTarget::room(&room)
        .push_segment("threads")
        .push_segment(&root)
        .query("after", ask.after)
        .query("limit", ask.limit);
    let answer = desk.get(&target).await?;
    if !desk.output.is_for_people() {
        return desk.output.show(&answer, &THREAD);
    }
    let mut thread: Value = answer.json()?;
    let root = thread["root"].take();
    if let Some(entries) = thread["entries"].as_array_mut() {
        // People read the thread as it was written: what is answered, then the answers.
        entries.insert(0, root);
        name_authors(desk, entries.iter_mut()).await?;
    }
    desk.output.show_value(&thread, &THREAD)?;
    if thread["hasMore"] == Value::Bool(true) {
        let last = thread["entries"]
            .as_array()
            .and_then(|entries| entries.last());
        let seq = last.map_or(&Value::Null, |entry| &entry["seq"]);
        desk.output.note(&format!("There are more: --after {seq}"));
    }
    Ok(())
}

fn root_words(thread: &Value) -> String {
    words(&thread["root"])
}
