//! `guildhall whoami`.

use serde_json::Value;

use super::{
    cli_context::CliContext,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

const WHOAMI: TableLayout = TableLayout {
    list: None,
    id: "/caller/authorId",
    columns: &[
        ("Name", CellSource::Of(name)),
        ("Kind", CellSource::At("/caller/kind")),
        ("Shown by", CellSource::At("/caller/credential")),
        ("Owner here", CellSource::At("/ownerHere")),
        ("Mode", CellSource::At("/mode")),
        ("Author", CellSource::At("/caller/authorId")),
    ],
};

pub(super) async fn run(desk: &CliContext) -> Result<(), Failure> {
    let answer = desk.get(&RequestTarget::new("/api/auth/whoami")).await?;
    desk.output.show(&answer, &WHOAMI)
}

fn name(whoami: &Value) -> String {
    let name = whoami.pointer("/caller/displayName");
    name.and_then(Value::as_str).unwrap_or("nobody").to_owned()
}
