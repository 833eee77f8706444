//! `guildhall sessions tasks`.

use clap::Args;
use serde_json::Value;

use super::{
    cli_context::Desk,
    escaped_text,
    failure::Failure,
    output::{Cell, View},
    request_target::Target,
};

/// Whose tasks to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct Ask {
    /// The session's id
    session: String,
}

const LIST: View = View {
    list: Some("tasks"),
    id: "/id",
    columns: &[
        ("TASK", Cell::At("/id")),
        ("STATUS", Cell::At("/status")),
        ("SUBJECT", Cell::At("/subject")),
        ("AFTER", Cell::Of(blocked_by)),
        ("OWNER", Cell::At("/owner")),
    ],
};

pub(super) async fn run(desk: &Desk, ask: &Ask) -> Result<(), Failure> {
    let target = Target::new("/api/sessions")
        .then(&ask.session)
        .then("tasks");
    desk.output.show(&desk.get(&target).await?, &LIST)
}

fn blocked_by(task: &Value) -> String {
    let ids = task["blockedBy"].as_array().into_iter().flatten();
    ids.map(escaped_text::of).collect::<Vec<_>>().join(", ")
}
