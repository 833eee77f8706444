//! `guildhall whoami`.

use serde_json::Value;

use super::{
    cli_context::Desk,
    failure::Failure,
    output::{Cell, View},
    request_target::Target,
};

const WHOAMI: View = View {
    list: None,
    id: "/caller/authorId",
    columns: &[
        ("Name", Cell::Of(name)),
        ("Kind", Cell::At("/caller/kind")),
        ("Shown by", Cell::At("/caller/credential")),
        ("Owner here", Cell::At("/ownerHere")),
        ("Mode", Cell::At("/mode")),
        ("Author", Cell::At("/caller/authorId")),
    ],
};

pub(super) async fn run(desk: &Desk) -> Result<(), Failure> {
    let answer = desk.get(&Target::new("/api/auth/whoami")).await?;
    desk.output.show(&answer, &WHOAMI)
}

fn name(whoami: &Value) -> String {
    let name = whoami.pointer("/caller/displayName");
    name.and_then(Value::as_str).unwrap_or("nobody").to_owned()
}
