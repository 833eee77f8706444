//! `guildhall signal`.

use clap::{Args, ValueEnum};
use serde_json::json;

use super::{
    cli_context::Desk,
    common_args::{self, Switch},
    failure::Failure,
    request_bodies::given,
    request_target::Target,
};

/// A signal.
#[derive(Clone, Debug, Args)]
pub(crate) struct Ask {
    #[command(flatten)]
    room: common_args::Room,
    /// What it tells
    #[arg(value_enum)]
    kind: Kind,
    /// Whether that begins or ends
    #[arg(value_enum)]
    on: Switch,
    /// The document you look at
    #[arg(long, value_name = "ID")]
    document: Option<String>,
}

/// What a signal tells.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// You write something.
    Typing,
    /// You look at something.
    Viewing,
}

pub(super) async fn run(desk: &Desk, ask: Ask) -> Result<(), Failure> {
    let room = desk.room_id(&ask.room.room).await?;
    let body = given(json!({
        "kind": common_args::word(ask.kind),
        "on": ask.on == Switch::On,
        "documentId": ask.document,
    }));
    let target = Target::room(&room).then("signals");
    desk.post_anew(&target, Some(&body)).await?;
    desk.output.done("Signal sent.")
}
