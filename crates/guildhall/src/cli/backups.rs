//! `guildhall backup`.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::Value;

use super::{
    args::Nothing,
    attachments::download,
    desk::Desk,
    downloads::Place,
    failures::{FAULT, Failure},
    output::{Cell, View},
    target::Target,
};

/// What can be done with backups.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Makes a backup, and ends when it is made and checked
    #[command(after_help = "Example:\n  guildhall backup now")]
    Now(Nothing),
    /// Lists the backups there are, the newest first
    #[command(
        after_help = "While no server runs, `guildhall restore` lists them.\n\nExample:\n  guildhall backup list"
    )]
    List(Nothing),
    /// Unpacks a backup and checks it from end to end; exit code 4 when something is wrong with it
    #[command(after_help = "Example:\n  guildhall backup verify latest")]
    Verify(Which),
    /// Downloads a backup's copy of the data, without the files of attachments; whoever has it
    /// reads every room
    #[command(
        after_help = "Example:\n  guildhall backup download latest --out guildhall.sqlite.zst"
    )]
    Download(Download),
}

/// One backup.
#[derive(Clone, Debug, Args)]
pub(crate) struct Which {
    /// The backup's id, or `latest`
    #[arg(value_name = "BACKUP", value_parser = NonEmptyStringValueParser::new())]
    backup: String,
}

/// One backup, and where it goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Download {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    place: Place,
}

/// How backups are listed.
pub(super) const LIST: View = View {
    list: Some("backups"),
    id: "/id",
    columns: &[
        ("CREATED", Cell::At("/createdAt")),
        ("REASON", Cell::At("/reason")),
        ("BYTES", Cell::At("/bytes")),
        ("ENTRIES", Cell::At("/entries")),
        ("ATTACHMENTS", Cell::At("/attachments")),
        ("ID", Cell::At("/id")),
    ],
};

const MADE: View = View {
    list: None,
    id: "/id",
    columns: &[
        ("Id", Cell::At("/id")),
        ("Created", Cell::At("/createdAt")),
        ("Bytes", Cell::At("/bytes")),
        ("Entries", Cell::At("/entries")),
        ("Attachments", Cell::At("/attachments")),
    ],
};

const VERIFIED: View = View {
    list: None,
    id: "/backup/id",
    columns: &[
        ("Id", Cell::At("/backup/id")),
        ("Created", Cell::At("/backup/createdAt")),
        ("Whole", Cell::At("/isWhole")),
        ("Problem", Cell::At("/problem")),
        ("Damaged attachments", Cell::At("/attachmentsDamaged")),
    ],
};

pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<u8, Failure> {
    match verb {
        Verb::Now(_) => {
            let answer = desk.post_anew(&backups(), None).await?;
            desk.output.show(&answer, &MADE)?;
        }
        Verb::List(_) => {
            let answer = desk.get(&backups()).await?;
            desk.output.show(&answer, &LIST)?;
            let list: Value = answer.json()?;
            if let Some(problem) = list["last"]["problem"].as_str() {
                desk.output
                    .note(&format!("The last backup could not be made: {problem}"));
            }
        }
        Verb::Verify(which) => {
            let target = target(desk, &which).await?.then("verify");
            let answer = desk.post_anew(&target, None).await?;
            desk.output.show(&answer, &VERIFIED)?;
            let verified: Value = answer.json()?;
            if verified["isWhole"] != true {
                return Ok(FAULT);
            }
        }
        Verb::Download(ask) => {
            let target = target(desk, &ask.which).await?.then("file");
            download(desk, &target, &ask.place).await?;
        }
    }
    Ok(0)
}

async fn target(desk: &Desk, which: &Which) -> Result<Target, Failure> {
    if which.backup != "latest" {
        return Ok(backups().then(&which.backup));
    }
    let list: Value = desk.get(&backups()).await?.json()?;
    match list["backups"][0]["id"].as_str() {
        Some(newest) => Ok(backups().then(newest)),
        None => Err(Failure::Usage("there is no backup yet.".to_owned())),
    }
}

fn backups() -> Target {
    Target::new("/api/backups")
}
