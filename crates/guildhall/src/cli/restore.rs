//! `guildhall restore`: goes back to a backup while no server runs. It is the one command that
//! works in the data folder itself: a server whose data is damaged may not start any more.

use std::path::PathBuf;

use clap::Args;
use guildhall_domain::ids::BackupId;
use guildhall_hall::{Clock, RestoreRecord, restore};
use guildhall_wire::backups::Backup;
use guildhall_world::data_dir::{DataDir, DataDirError, SET_ASIDE};
use serde_json::json;

use super::{
    backups::{LIST, outside},
    common_args::{FromFolder, OutputArgs},
    failure::Failure,
    output::Output,
};
use crate::config::data_dir_of;

/// Which backup, and of which data.
#[derive(Clone, Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The backup's id, or `latest`; without it the backups are listed
    #[arg(value_name = "BACKUP")]
    backup: Option<String>,
    /// The data folder [default: $XDG_DATA_HOME/guildhall or ~/.local/share/guildhall]
    #[arg(long, env = "GUILDHALL_DATA_DIR", value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    from: FromFolder,
    #[command(flatten)]
    pub(super) printing: OutputArgs,
}

/// Lists the backups, or restores one.
pub(super) fn run(ask: &RestoreArgs) -> Result<u8, Failure> {
    let output = Output::new(ask.printing);
    let folder =
        data_dir_of(ask.data_dir.clone()).map_err(|error| Failure::Usage(format!("{error}.")))?;
    let broken = |fault: guildhall_domain::Fault| {
        Failure::Unreadable(format!("{fault}: {}; nothing was changed.", fault.source))
    };
    let Some(which) = &ask.backup else {
        if let Some(folder) = &ask.from.from {
            outside::list(&output, folder)?;
            return Ok(0);
        }
        let all = restore::list(&folder).map_err(broken)?;
        let all: Vec<Backup> = all.into_iter().map(Into::into).collect();
        output.show_own(&json!({ "backups": all }), &LIST)?;
        return Ok(0);
    };
    let outside = match &ask.from.from {
        None => None,
        Some(folder) => {
            let folder = outside::open(folder)?;
            let backup = outside::find(&folder, which)?;
            Some((folder, backup))
        }
    };
    let id = match (&outside, which.as_str()) {
        (Some((_, backup)), _) => Some(backup.id),
        (None, "latest") => None,
        (None, text) => Some(BackupId::named(text)),
    };
    let data_dir = DataDir::open(&folder).map_err(|error| match error {
        DataDirError::InUse(_) => Failure::Usage(format!("{error}; stop it first.")),
        DataDirError::Io { .. } => Failure::Unreadable(format!("{error}.")),
    })?;
    if let Some((folder, backup)) = &outside {
        folder.take(backup, &data_dir).map_err(broken)?;
    }
    let restored = restore::restore(&data_dir, id, Clock::System.now());
    let restored = restored.map_err(|fault| match restore::is_begun(&data_dir) {
        false => broken(fault),
        true => Failure::Unreadable(format!(
            "the restore began and did not come to its end: {fault}: {}; the data of before is in \
             {}, mend that and run the same command again.",
            fault.source,
            data_dir.path().join(SET_ASIDE).display()
        )),
    })?;
    let Some(restored) = restored else {
        let why = "there is no such backup; `guildhall restore` lists those there are.";
        return Err(Failure::Usage(why.to_owned()));
    };
    tell(&output, &restored)?;
    Ok(0)
}

fn tell(output: &Output, restored: &RestoreRecord) -> Result<(), Failure> {
    let backup = &restored.backup;
    output.done(&format!(
        "The data is as it was on {}, with {} entries.",
        backup.created_at, backup.holds.entries
    ))?;
    if let Some(folder) = &restored.set_aside {
        output.done(&format!("The data of before is in {}.", folder.display()))?;
    }
    if restored.attachments_missing > 0 {
        output.note(&format!(
            "{} attachments could not be restored: their files are missing or damaged.",
            restored.attachments_missing
        ));
    }
    match &restored.revived {
        Some(revived) if revived.is_empty() => {}
        Some(revived) => {
            let labels: Vec<String> = revived
                .iter()
                .map(|one| format!("{} {}", one.kind.word(), one.label))
                .collect();
            output.note(&format!(
                "These were ended since and count again: {}. Start the server and decide about \
                 each: `guildhall backup restored` lists them.",
                labels.join(", ")
            ));
        }
        None => output.note(super::backups::UNKNOWN),
    }
    Ok(())
}
