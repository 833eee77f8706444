//! `guildhall signal`.

use clap::{Args, ValueEnum};
use serde_json::json;

use super::{
    cli_context::CliContext,
    common_args::{self, OnOff},
    failure::Failure,
    request_bodies::only_given,
    request_target::RequestTarget,
};

/// A signal.
#[derive(Clone, Debug, Args)]
pub(crate) struct SignalArgs {
    #[command(flatten)]
    room: common_args::RoomArg,
    /// What it tells
    #[arg(value_enum)]
    kind: SignalKindArg,
    /// Whether that begins or ends
    #[arg(value_enum)]
    on: OnOff,
    /// The document you look at
    #[arg(long, value_name = "ID")]
    document: Option<String>,
}

/// What a signal tells.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum SignalKindArg {
    /// You write something.
    Typing,
    /// You look at something.
    Viewing,
}

pub(super) async fn run(desk: &CliContext, ask: SignalArgs) -> Result<(), Failure> {
    let room = desk.room_id(&ask.room.room).await?;
    let body = only_given(json!({
        "kind": common_args::word(ask.kind),
        "on": ask.on == OnOff::On,
        "documentId": ask.document,
    }));
    let target = RequestTarget::room(&room).push_segment("signals");
    desk.post_with_new_key(&target, Some(&body)).await?;
    desk.output.done("Signal sent.")
}
