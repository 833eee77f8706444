//! `guildhall files put` and `check`: saving files that the server reaches.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{
    cli_context::Desk,
    common_args::Once,
    failure::Failure,
    file_reads::File,
    output::{Cell, View},
    request_target::Target,
    terminal_input,
};

/// How files are changed.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Gives a file that is there other content, whole or not at all
    #[command(
        after_help = "Examples:\n  guildhall files put notes.md < new.md\n  guildhall files put notes.md new.md --expect \"$(sha256sum notes.md | cut -d' ' -f1)\""
    )]
    Put(Put),
    /// Checks one checkbox of a Markdown file, or clears it
    #[command(
        after_help = "Examples:\n  guildhall files check todo.md 3 '- [ ] water the plants'\n  guildhall files check todo.md 3 '- [x] water the plants' --off"
    )]
    Check(Check),
}

/// A file and its new content.
#[derive(Clone, Debug, Args)]
pub(crate) struct Put {
    #[command(flatten)]
    file: File,
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
    once: Once,
}

/// A checkbox.
#[derive(Clone, Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    file: File,
    /// The line, from 1
    line: u64,
    /// The whole line as it is now
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    expected_line: String,
    /// Clear it
    #[arg(long)]
    off: bool,
    #[command(flatten)]
    once: Once,
}

const SAVED: View = View {
    list: None,
    id: "/hash",
    columns: &[
        ("Effect", Cell::At("/effect")),
        ("SHA-256", Cell::At("/hash")),
        ("Identity", Cell::At("/identity")),
    ],
};

pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<(), Failure> {
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
            let target = Target::new("/api/files/content");
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
            let target = Target::new("/api/files/checkbox");
            desk.post(&target, Some(&body), &ask.once).await?
        }
    };
    desk.output.show(&answer, &SAVED)
}
