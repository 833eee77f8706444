//! `guildhall commands`.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::{
    cli_context::CliContext,
    escaped_text,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_bodies::absolute,
    request_target::RequestTarget,
};

/// Which commands to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListCommandsArgs {
    /// The folder they would be typed in [default: your own commands alone]
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// Of what agents report, only what those of this runtime do
    #[arg(long)]
    runtime: Option<String>,
    /// Look at the files now
    #[arg(long)]
    refresh: bool,
}

const LIST: TableLayout = TableLayout {
    list: Some("commands"),
    id: "/fullCommand",
    columns: &[
        ("COMMAND", CellSource::At("/fullCommand")),
        ("ARGUMENTS", CellSource::At("/argumentHint")),
        ("DESCRIPTION", CellSource::At("/description")),
        ("FILE", CellSource::At("/filePath")),
    ],
};

pub(super) async fn run(desk: &CliContext, ask: ListCommandsArgs) -> Result<(), Failure> {
    let cwd = match &ask.cwd {
        Some(folder) => Some(absolute(folder)?),
        None => None,
    };
    let target = RequestTarget::new("/api/commands")
        .query("cwd", cwd)
        .query("runtime", ask.runtime)
        .query("refresh", ask.refresh.then_some(true));
    let answer = desk.get(&target).await?;
    desk.output.show(&answer, &LIST)?;
    if desk.output.is_for_people() {
        let listing: Value = answer.json()?;
        for warning in listing["warnings"].as_array().into_iter().flatten() {
            let (file, message) = (
                escaped_text::of(&warning["filePath"]),
                escaped_text::of(&warning["message"]),
            );
            desk.output.note(&format!("{file} {message}"));
        }
    }
    Ok(())
}
