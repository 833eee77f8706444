//! `guildhall search`.

use clap::{Args, builder::NonEmptyStringValueParser};
use serde_json::Value;

use super::{
    cli_context::CliContext,
    common_args, escaped_text,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

/// What to look for.
#[derive(Clone, Debug, Args)]
pub(crate) struct SearchArgs {
    /// The words; all of them must be in an entry
    #[arg(required = true)]
    words: Vec<String>,
    /// Only in this room: its id, its slug, or its title
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    room: Option<String>,
    /// How many, 1 to 50 [default: 20]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Where the page before ended
    #[arg(long)]
    cursor: Option<String>,
}

const LIST: TableLayout = TableLayout {
    list: Some("results"),
    id: "/entryId",
    columns: &[
        ("WHEN", CellSource::At("/createdAt")),
        ("ROOM", CellSource::At("/roomName")),
        ("SEQ", CellSource::At("/seq")),
        ("AUTHOR", CellSource::At("/authorName")),
        ("TEXT", CellSource::At("/excerpt")),
    ],
};

pub(super) async fn run(desk: &CliContext, ask: SearchArgs) -> Result<(), Failure> {
    let room = match &ask.room {
        Some(room) => Some(desk.room_id(room).await?),
        None => None,
    };
    let page = common_args::PageArgs {
        limit: ask.limit,
        cursor: ask.cursor,
    };
    let target = RequestTarget::new("/api/search")
        .query("q", Some(ask.words.join(" ")))
        .query("roomId", room)
        .page(page);
    let answer = desk.get(&target).await?;
    if !desk.output.is_for_people() {
        return desk.output.show(&answer, &LIST);
    }
    let mut page: Value = answer.json()?;
    let names = desk.names().await?;
    for hit in page["results"].as_array_mut().into_iter().flatten() {
        for (id, name) in [("roomId", "roomName"), ("authorId", "authorName")] {
            let id = hit[id].as_str().unwrap_or_default();
            hit[name] = names.get(id).map_or(id, String::as_str).into();
        }
    }
    desk.output.show_value(&page, &LIST)?;
    desk.output.note_next(&page);
    for warning in page["warnings"].as_array().into_iter().flatten() {
        desk.output.note(&escaped_text::of(warning));
    }
    Ok(())
}
