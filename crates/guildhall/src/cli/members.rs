//! `guildhall members`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    cli_context::{CliContext, name_of},
    common_args::{self, IdempotencyArgs, ResponseMode},
    failure::Failure,
    output::{CellSource, TableLayout},
    request_bodies::only_given,
    request_target::RequestTarget,
    turns,
};

/// What can be done with members.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the members of a room
    #[command(after_help = "Example:\n  guildhall members list ops")]
    List(common_args::RoomArg),
    /// Adds an author to a room
    #[command(after_help = "Example:\n  guildhall members add ops ada --mode mention-only")]
    Add(AddMemberArgs),
    /// Changes when an agent answers in a room
    #[command(after_help = "Example:\n  guildhall members update ops ada --mode always")]
    Update(UpdateMemberArgs),
    /// Takes an author out of a room
    #[command(after_help = "Example:\n  guildhall members remove ops ada")]
    Remove(MemberArg),
    /// Stops an agent in a room; what it writes later is not taken
    #[command(after_help = "Example:\n  guildhall members halt ops ada")]
    Halt(HaltAgentArgs),
}

/// An agent that shall stop.
#[derive(Clone, Debug, Args)]
pub(crate) struct HaltAgentArgs {
    #[command(flatten)]
    member: MemberArg,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A member of a room.
#[derive(Clone, Debug, Args)]
pub(crate) struct MemberArg {
    #[command(flatten)]
    room: common_args::RoomArg,
    #[command(flatten)]
    author: common_args::AuthorArg,
}

/// A new member.
#[derive(Clone, Debug, Args)]
pub(crate) struct AddMemberArgs {
    #[command(flatten)]
    member: MemberArg,
    /// When an agent answers here [default: its own mode, `always` in a direct message]
    #[arg(long, value_enum)]
    mode: Option<ResponseMode>,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A member and what becomes of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct UpdateMemberArgs {
    #[command(flatten)]
    member: MemberArg,
    /// When an agent answers here
    #[arg(long, value_enum)]
    mode: ResponseMode,
}

const LIST: TableLayout = TableLayout {
    list: Some("members"),
    id: "/authorId",
    columns: &[
        ("AUTHOR", CellSource::Of(name)),
        ("NAME", CellSource::At("/author/displayName")),
        ("KIND", CellSource::At("/author/kind")),
        ("ANSWERS", CellSource::Of(mode)),
        ("READ TO", CellSource::At("/lastReadSeq")),
        ("JOINED", CellSource::At("/joinedAt")),
        ("ID", CellSource::At("/authorId")),
    ],
};

const MEMBER: TableLayout = TableLayout {
    list: None,
    id: "/authorId",
    columns: &[
        ("Author", CellSource::Of(name)),
        ("Name", CellSource::At("/author/displayName")),
        ("Kind", CellSource::At("/author/kind")),
        ("Answers", CellSource::Of(mode)),
        ("Joined", CellSource::At("/joinedAt")),
        ("Id", CellSource::At("/authorId")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(room) => {
            let target = members(desk, &room).await?;
            desk.output.show(&desk.get(&target).await?, &LIST)
        }
        Verb::Add(ask) => {
            let target = members(desk, &ask.member.room).await?;
            let author = desk.author_id(&ask.member.author.author).await?;
            let mode = ask.mode.and_then(common_args::word);
            let body = only_given(json!({"authorId": author, "responseMode": mode}));
            let answer = desk.post(&target, Some(&body), &ask.once).await?;
            desk.output.show(&answer, &MEMBER)
        }
        Verb::Update(ask) => {
            let target = member(desk, &ask.member).await?;
            let body = json!({"responseMode": common_args::word(ask.mode)});
            let answer = desk.patch(&target, &body, None).await?;
            desk.output.show(&answer, &MEMBER)
        }
        Verb::Halt(ask) => {
            let MemberArg { room, author } = &ask.member;
            turns::halt(desk, room, Some(author), &ask.once).await
        }
        Verb::Remove(ask) => {
            let target = member(desk, &ask).await?;
            desk.delete(&target, None).await?;
            let (author, room) = (&ask.author.author, &ask.room.room);
            desk.output
                .done(&format!("{author} is no member of {room} any more."))
        }
    }
}

async fn members(desk: &CliContext, room: &common_args::RoomArg) -> Result<RequestTarget, Failure> {
    let room = desk.room_id(&room.room).await?;
    Ok(RequestTarget::room(&room).push_segment("members"))
}

async fn member(desk: &CliContext, ask: &MemberArg) -> Result<RequestTarget, Failure> {
    let members = members(desk, &ask.room).await?;
    Ok(members.push_segment(&desk.author_id(&ask.author.author).await?))
}

fn name(member: &Value) -> String {
    name_of(&member["author"])
}

/// A person's mode is inert, so it is not shown.
fn mode(member: &Value) -> String {
    if member["author"]["kind"] == "agent" {
        member["responseMode"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    } else {
        String::new()
    }
}
