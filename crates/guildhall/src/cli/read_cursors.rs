//! `guildhall read-cursor`.

use clap::{Args, Subcommand};
use serde_json::json;

use super::{
    cli_context::CliContext,
    common_args,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

/// Above every entry: the server takes the room's newest instead. The largest whole number
/// that every JSON reader keeps exactly.
const NEWEST: u64 = (1 << 53) - 1;

/// What can be done with the read cursor.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Shows how far you have read a room
    #[command(after_help = "Example:\n  guildhall read-cursor show ops")]
    Show(common_args::RoomArg),
    /// Marks entries as read, all of them when no number is given, or as unread again
    #[command(
        after_help = "Examples:\n  guildhall read-cursor set ops\n  guildhall read-cursor set ops --unread-from 12"
    )]
    Set(SetCursorArgs),
}

/// Where the cursor goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct SetCursorArgs {
    #[command(flatten)]
    room: common_args::RoomArg,
    /// Read up to this entry; never moves back
    #[arg(long, value_name = "N", conflicts_with = "unread_from")]
    seq: Option<u64>,
    /// Unread from this entry on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    unread_from: Option<u64>,
}

const READ_CURSOR: TableLayout = TableLayout {
    list: None,
    id: "/roomId",
    columns: &[
        ("Read to", CellSource::At("/lastReadSeq")),
        ("Unread", CellSource::At("/unreadCount")),
        ("Mentions", CellSource::At("/mentionCount")),
        ("Moved", CellSource::At("/updatedAt")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    let answer = match verb {
        Verb::Show(room) => {
            let target = target(desk, &room).await?;
            desk.get(&target).await?
        }
        Verb::Set(ask) => {
            let target = target(desk, &ask.room).await?;
            let body = match (ask.seq, ask.unread_from) {
                (_, Some(first)) => json!({"lastReadSeq": first - 1, "allowBack": true}),
                (seq, None) => json!({"lastReadSeq": seq.unwrap_or(NEWEST)}),
            };
            desk.put(&target, Some(&body)).await?
        }
    };
    desk.output.show(&answer, &READ_CURSOR)
}

async fn target(desk: &CliContext, room: &common_args::RoomArg) -> Result<RequestTarget, Failure> {
    let room = desk.room_id(&room.room).await?;
    Ok(RequestTarget::room(&room).push_segment("read-cursor"))
}
