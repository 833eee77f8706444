//! `guildhall sessions tasks`.

use clap::Args;
use serde_json::Value;

use super::{
    cli_context::CliContext,
    escaped_text,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

/// Whose tasks to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct SessionTasksArgs {
    /// The session's id
    session: String,
}

const LIST: TableLayout = TableLayout {
    list: Some("tasks"),
    id: "/id",
    columns: &[
        ("TASK", CellSource::At("/id")),
        ("STATUS", CellSource::At("/status")),
        ("SUBJECT", CellSource::At("/subject")),
        ("AFTER", CellSource::Of(blocked_by)),
        ("OWNER", CellSource::At("/owner")),
    ],
};

pub(super) async fn run(desk: &CliContext, ask: &SessionTasksArgs) -> Result<(), Failure> {
    let target = RequestTarget::new("/api/sessions")
        .push_segment(&ask.session)
        .push_segment("tasks");
    desk.output.show(&desk.get(&target).await?, &LIST)
}

fn blocked_by(task: &Value) -> String {
    let ids = task["blockedBy"].as_array().into_iter().flatten();
    ids.map(escaped_text::of).collect::<Vec<_>>().join(", ")
}
