//! `guildhall members`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    cli_context::{Desk, name_of},
    common_args::{self, Once, ResponseMode},
    failure::Failure,
    output::{Cell, View},
    request_bodies::given,
    request_target::Target,
    turns,
};

/// What can be done with members.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the members of a room
    #[command(after_help = "Example:\n  guildhall members list ops")]
    List(common_args::Room),
    /// Adds an author to a room
    #[command(after_help = "Example:\n  guildhall members add ops ada --mode mention-only")]
    Add(Add),
    /// Changes when an agent answers in a room
    #[command(after_help = "Example:\n  guildhall members update ops ada --mode always")]
    Update(Update),
    /// Takes an author out of a room
    #[command(after_help = "Example:\n  guildhall members remove ops ada")]
    Remove(Member),
    /// Stops an agent in a room; what it writes later is not taken
    #[command(after_help = "Example:\n  guildhall members halt ops ada")]
    Halt(Halt),
}

/// An agent that shall stop.
#[derive(Clone, Debug, Args)]
pub(crate) struct Halt {
    #[command(flatten)]
    member: Member,
    #[command(flatten)]
    once: Once,
}

/// A member of a room.
#[derive(Clone, Debug, Args)]
pub(crate) struct Member {
    #[command(flatten)]
    room: common_args::Room,
    #[command(flatten)]
    author: common_args::Author,
}

/// A new member.
#[derive(Clone, Debug, Args)]
pub(crate) struct Add {
    #[command(flatten)]
    member: Member,
    /// When an agent answers here [default: its own mode, `always` in a direct message]
    #[arg(long, value_enum)]
    mode: Option<ResponseMode>,
    #[command(flatten)]
    once: Once,
}

/// A member and what becomes of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    member: Member,
    /// When an agent answers here
    #[arg(long, value_enum)]
    mode: ResponseMode,
}

const LIST: View = View {
    list: Some("members"),
    id: "/authorId",
    columns: &[
        ("AUTHOR", Cell::Of(name)),
        ("NAME", Cell::At("/author/displayName")),
        ("KIND", Cell::At("/author/kind")),
        ("ANSWERS", Cell::Of(mode)),
        ("READ TO", Cell::At("/lastReadSeq")),
        ("JOINED", Cell::At("/joinedAt")),
        ("ID", Cell::At("/authorId")),
    ],
};

const MEMBER: View = View {
    list: None,
    id: "/authorId",
    columns: &[
        ("Author", Cell::Of(name)),
        ("Name", Cell::At("/author/displayName")),
        ("Kind", Cell::At("/author/kind")),
        ("Answers", Cell::Of(mode)),
        ("Joined", Cell::At("/joinedAt")),
        ("Id", Cell::At("/authorId")),
    ],
};

pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(room) => {
            let target = members(desk, &room).await?;
            desk.output.show(&desk.get(&target).await?, &LIST)
        }
        Verb::Add(ask) => {
            let target = members(desk, &ask.member.room).await?;
            let author = desk.author_id(&ask.member.author.author).await?;
            let mode = ask.mode.and_then(common_args::word);
            let body = given(json!({"authorId": author, "responseMode": mode}));
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
            let Member { room, author } = &ask.member;
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

async fn members(desk: &Desk, room: &common_args::Room) -> Result<Target, Failure> {
    let room = desk.room_id(&room.room).await?;
    Ok(Target::room(&room).then("members"))
}

async fn member(desk: &Desk, ask: &Member) -> Result<Target, Failure> {
    let members = members(desk, &ask.room).await?;
    Ok(members.then(&desk.author_id(&ask.author.author).await?))
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
