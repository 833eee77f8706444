//! `guildhall backup`.

pub(super) mod outside;

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};

use super::{
    attachments::download,
    cli_context::CliContext,
    common_args::{FromFolder, NoArgs},
    downloads::DownloadTarget,
    failure::{FAULT, Failure},
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
    terminal_input,
};

/// What can be done with backups.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Makes a backup, and ends when it is made and checked
    #[command(after_help = "Example:\n  guildhall backup now")]
    Now(NoArgs),
    /// Lists the backups there are, the newest first
    #[command(
        after_help = "While no server runs, `guildhall restore` lists them.\n\nExamples:\n  guildhall backup list\n  guildhall backup list --from /media/backups"
    )]
    List(FromFolder),
    /// Unpacks a backup and checks it from end to end; exit code 4 when something is wrong with it
    #[command(
        after_help = "Examples:\n  guildhall backup verify latest\n  guildhall backup verify latest --from /media/backups"
    )]
    Verify(VerifyBackupArgs),
    /// Downloads a backup's copy of the data, without the files of attachments; whoever has it
    /// reads every room
    #[command(
        after_help = "Example:\n  guildhall backup download latest --out guildhall.sqlite.zst"
    )]
    Download(DownloadBackupArgs),
    /// Restarts the server from a backup; what is there is set aside, agents stop
    #[command(
        after_help = "While no server runs, `guildhall restore` does the same.\n\nExample:\n  guildhall backup restore latest --yes"
    )]
    Restore(Restore),
    /// Shows what the last restore came to, and what is to be decided since
    #[command(after_help = "Example:\n  guildhall backup restored")]
    Restored(NoArgs),
    /// Ends a credential again that a restore made count, or lets it count on
    #[command(
        after_help = "Examples:\n  guildhall backup decide 0192f0c1-2d3e-7abc-8def-0123456789ab revoke\n  guildhall backup decide all revoke"
    )]
    Decide(Decide),
}

/// One backup.
#[derive(Clone, Debug, Args)]
pub(crate) struct BackupArg {
    /// The backup's id, or `latest`
    #[arg(value_name = "BACKUP", value_parser = NonEmptyStringValueParser::new())]
    backup: String,
}

/// One backup, and where it is.
#[derive(Clone, Debug, Args)]
pub(crate) struct VerifyBackupArgs {
    #[command(flatten)]
    which: BackupArg,
    #[command(flatten)]
    from: FromFolder,
}

/// One backup, and where it goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct DownloadBackupArgs {
    #[command(flatten)]
    which: BackupArg,
    #[command(flatten)]
    place: DownloadTarget,
}

/// The backup to go back to.
#[derive(Clone, Debug, Args)]
pub(crate) struct Restore {
    #[command(flatten)]
    which: BackupArg,
    /// Do not ask first
    #[arg(long)]
    yes: bool,
}

/// A decision about what a restore revived.
#[derive(Clone, Debug, Args)]
pub(crate) struct Decide {
    /// The credential's id, as `backup restored` shows it, or `all`
    #[arg(value_name = "CREDENTIAL", value_parser = NonEmptyStringValueParser::new())]
    credential: String,
    /// What becomes of it; to revoke a password brings back the later one
    #[arg(value_parser = ["revoke", "keep"])]
    decision: String,
}

/// What is to be done where nothing says what a restore revived.
pub(super) const UNKNOWN: &str =
    "Tokens, keys, accounts and passwords that were ended since may count again; look at them.";

/// How backups are listed.
pub(super) const LIST: TableLayout = TableLayout {
    list: Some("backups"),
    id: "/id",
    columns: &[
        ("CREATED", CellSource::At("/createdAt")),
        ("REASON", CellSource::At("/reason")),
        ("BYTES", CellSource::At("/bytes")),
        ("ENTRIES", CellSource::At("/entries")),
        ("ATTACHMENTS", CellSource::At("/attachments")),
        ("ID", CellSource::At("/id")),
    ],
};

const MADE: TableLayout = TableLayout {
    list: None,
    id: "/id",
    columns: &[
        ("Id", CellSource::At("/id")),
        ("Created", CellSource::At("/createdAt")),
        ("Bytes", CellSource::At("/bytes")),
        ("Entries", CellSource::At("/entries")),
        ("Attachments", CellSource::At("/attachments")),
    ],
};

pub(super) const VERIFIED: TableLayout = TableLayout {
    list: None,
    id: "/backup/id",
    columns: &[
        ("Id", CellSource::At("/backup/id")),
        ("Created", CellSource::At("/backup/createdAt")),
        ("Whole", CellSource::At("/isWhole")),
        ("Problem", CellSource::At("/problem")),
        ("Attachments checked", CellSource::At("/attachmentsChecked")),
        ("Damaged attachments", CellSource::At("/attachmentsDamaged")),
        ("Missing of these", CellSource::At("/attachmentsMissing")),
    ],
};

const STARTED: TableLayout = TableLayout {
    list: None,
    id: "/backup/id",
    columns: &[
        ("Restores", CellSource::At("/backup/id")),
        ("Created", CellSource::At("/backup/createdAt")),
        ("Entries", CellSource::At("/backup/entries")),
    ],
};

const RESTORED: TableLayout = TableLayout {
    list: None,
    id: "/backup/id",
    columns: &[
        ("Restored", CellSource::At("/backup/createdAt")),
        ("At", CellSource::At("/at")),
        ("Problem", CellSource::At("/problem")),
        ("Data of before", CellSource::At("/setAside")),
        ("Missing attachments", CellSource::At("/attachmentsMissing")),
    ],
};

/// For programs: the whole answer.
const LAST: TableLayout = TableLayout {
    list: None,
    id: "/restore/backup/id",
    columns: &[],
};

const REVIVED: TableLayout = TableLayout {
    list: Some("revived"),
    id: "/id",
    columns: &[
        ("COUNTS AGAIN", CellSource::At("/kind")),
        ("LABEL", CellSource::At("/label")),
        ("OF", CellSource::At("/holder")),
        ("ID", CellSource::At("/id")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<u8, Failure> {
    match verb {
        Verb::Now(_) => {
            let answer = desk.post_with_new_key(&backups(), None).await?;
            desk.output.show(&answer, &MADE)?;
        }
        Verb::List(FromFolder { from: Some(folder) }) => outside::list(&desk.output, &folder)?,
        Verb::List(_) => {
            let answer = desk.get(&backups()).await?;
            desk.output.show(&answer, &LIST)?;
            let list: Value = answer.json()?;
            if let Some(problem) = list["last"]["problem"].as_str() {
                desk.output
                    .note(&format!("The last backup could not be made: {problem}"));
            }
            note_second_folder(desk, &list["secondFolder"]);
        }
        Verb::Verify(VerifyBackupArgs {
            which,
            from: FromFolder { from: Some(folder) },
        }) => return outside::verify(&desk.output, &folder, &which.backup),
        Verb::Verify(VerifyBackupArgs { which, .. }) => {
            let target = target(desk, &which).await?.push_segment("verify");
            let answer = desk.post_with_new_key(&target, None).await?;
            desk.output.show(&answer, &VERIFIED)?;
            let verified: Value = answer.json()?;
            if verified["isWhole"] != true {
                return Ok(FAULT);
            }
        }
        Verb::Download(ask) => {
            let target = target(desk, &ask.which).await?.push_segment("file");
            download(desk, &target, &ask.place).await?;
        }
        Verb::Restore(ask) => restore(desk, &ask).await?,
        Verb::Restored(_) => show_restored(desk).await?,
        Verb::Decide(ask) => decide(desk, &ask).await?,
    }
    Ok(0)
}

/// Says what became of the copies in the second folder, where one is set.
fn note_second_folder(desk: &CliContext, second: &Value) {
    let Some(folder) = second["folder"].as_str() else {
        return;
    };
    let said = match second["problem"].as_str() {
        Some(problem) => problem.to_owned(),
        None if second["isCopying"] == true => format!("copying to {folder}"),
        None => format!("all copied to {folder}"),
    };
    desk.output.note(&format!("second folder: {said}"));
}

async fn restore(desk: &CliContext, ask: &Restore) -> Result<(), Failure> {
    let target = target(desk, &ask.which).await?.push_segment("restore");
    if !ask.yes {
        let question = "Restart the server from this backup? What was written since is set aside, \
                        and agents stop.";
        terminal_input::confirm(question, "--yes")?;
    }
    let answer = desk.post_with_new_key(&target, None).await?;
    desk.output.show(&answer, &STARTED)?;
    desk.output
        .note("The server restarts; `guildhall backup restored` shows what it came to.");
    Ok(())
}

async fn show_restored(desk: &CliContext) -> Result<(), Failure> {
    let answer = desk.get(&last_restore()).await?;
    if !desk.output.is_for_people() {
        return desk.output.show(&answer, &LAST);
    }
    let last: Value = answer.json()?;
    let restore = &last["restore"];
    if restore.is_null() {
        return desk.output.done("Nothing was restored yet.");
    }
    desk.output.show_value(restore, &RESTORED)?;
    show_revived(desk, restore)
}

fn show_revived(desk: &CliContext, restore: &Value) -> Result<(), Failure> {
    match restore["revived"].as_array() {
        None => {
            desk.output.note(UNKNOWN);
            return Ok(());
        }
        Some(revived) if revived.is_empty() => desk.output.note("Nothing is left to decide."),
        Some(_) => {
            desk.output.show_value(restore, &REVIVED)?;
            desk.output
                .note("Decide about each: guildhall backup decide <ID> revoke, or keep.");
        }
    }
    let unknown = restore["revivedUnknown"].as_array().into_iter().flatten();
    let unknown: Vec<&str> = unknown.filter_map(Value::as_str).collect();
    if !unknown.is_empty() {
        let kinds = unknown.join(", ");
        desk.output
            .note(&format!("{UNKNOWN} Not compared: {kinds}."));
    }
    Ok(())
}

async fn decide(desk: &CliContext, ask: &Decide) -> Result<(), Failure> {
    let ids = match ask.credential.as_str() {
        "all" => {
            let last: Value = desk.get(&last_restore()).await?.json()?;
            let revived = last["restore"]["revived"].as_array();
            let ids = revived
                .into_iter()
                .flatten()
                .filter_map(|one| one["id"].as_str());
            ids.map(str::to_owned).collect()
        }
        one => vec![one.to_owned()],
    };
    let (mut decided, mut refused) = (0, None);
    for id in &ids {
        let target = last_restore().push_segment("revived").push_segment(id);
        let body = json!({"decision": ask.decision});
        match desk.post_with_new_key(&target, Some(&body)).await {
            Ok(answer) if !desk.output.is_for_people() => desk.output.show(&answer, &RESTORED)?,
            Ok(_) => {}
            // One that cannot be decided so is told, and the others are decided.
            Err(failure @ Failure::Answered(_)) if ids.len() > 1 => {
                desk.output.note(&format!("{id} was not decided."));
                refused = Some(failure);
                continue;
            }
            Err(failure) => return Err(failure),
        }
        decided += 1;
    }
    if desk.output.is_for_people() {
        desk.output
            .done(&format!("Decided about {decided}: {}.", ask.decision))?;
    }
    refused.map_or(Ok(()), Err)
}

async fn target(desk: &CliContext, which: &BackupArg) -> Result<RequestTarget, Failure> {
    if which.backup != "latest" {
        return Ok(backups().push_segment(&which.backup));
    }
    let list: Value = desk.get(&backups()).await?.json()?;
    match list["backups"][0]["id"].as_str() {
        Some(newest) => Ok(backups().push_segment(newest)),
        None => Err(Failure::Usage("there is no backup yet.".to_owned())),
    }
}

fn backups() -> RequestTarget {
    RequestTarget::new("/api/backups")
}

fn last_restore() -> RequestTarget {
    RequestTarget::new("/api/restore")
}
