//! `guildhall files put` and `check`: saving files that the server reaches.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{
    cli_context::CliContext,
    common_args::IdempotencyArgs,
    failure::Failure,
    file_reads::FileArg,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
    terminal_input,
};

/// How files are changed.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Gives a file that is there other content, whole or not at all
    #[command(
        after_help = "Examples:\n  guildhall files put notes.md < new.md\n  guildhall files put notes.md new.md --expect \"$(sha256sum notes.md | cut -d' ' -f1)\""
    )]
    Put(PutFileArgs),
    /// Checks one checkbox of a Markdown file, or clears it
    #[command(
        after_help = "Examples:\n  guildhall files check todo.md 3 '- [ ] water the plants'\n  guildhall files check todo.md 3 '- [x] water the plants' --off"
    )]
    Check(SetCheckboxArgs),
}

/// A file and its new content.
#[derive(Clone, Debug, Args)]
pub(crate) struct PutFileArgs {
    #[command(flatten)]
    file: FileArg,
    /// The file that holds the new content, or - for standard input
    #[arg(value_name = "CONTENT", default_value = "-")]
    content: PathBuf,
    /// Save only while the file holds content with this SHA-256
    #[arg(long, value_name = "HASH")]
    expect: Option<String>,
    /// Save only while it is still the file of this identity
    #[arg(long, value_name = "IDENTITY", allow_hyphen_values = true)]
    expect_identity: Option<String>,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A checkbox.
#[derive(Clone, Debug, Args)]
pub(crate) struct SetCheckboxArgs {
    #[command(flatten)]
    file: FileArg,
    /// The line, from 1
    line: u64,
    /// The whole line as it is now
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    expected_line: String,
    /// Clear it
    #[arg(long)]
    off: bool,
    #[command(flatten)]
    once: IdempotencyArgs,
}

const SAVED: TableLayout = TableLayout {
    list: None,
    id: "/hash",
    columns: &[
        ("Effect", CellSource::At("/effect")),
        ("SHA-256", CellSource::At("/hash")),
        ("Identity", CellSource::At("/identity")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    let answer = match verb {
        Verb::Put(ask) => {
            let (cwd, path) = ask.file.place()?;
            let mut body = json!({
                "cwd": cwd,
                "path": path,
                "content": terminal_input::content_of(&ask.content)?,
            });
            if let Some(hash) = ask.expect {
                body["expectedHash"] = hash.into();
            }
            if let Some(identity) = ask.expect_identity {
                body["expectedIdentity"] = identity.into();
            }
            let target = RequestTarget::new("/api/files/content");
            desk.put_once(&target, &body, &ask.once).await?
        }
        Verb::Check(ask) => {
            let (cwd, path) = ask.file.place()?;
            let body = json!({
                "cwd": cwd,
                "path": path,
                "line": ask.line,
                "expectedLine": ask.expected_line,
                "checked": !ask.off,
            });
            let target = RequestTarget::new("/api/files/checkbox");
            desk.post(&target, Some(&body), &ask.once).await?
        }
    };
    desk.output.show(&answer, &SAVED)
}
