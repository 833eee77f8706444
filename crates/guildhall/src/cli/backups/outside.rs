//! `--from`: backups in a folder outside of the data folder, read without a server.

use std::path::Path;

use guildhall_domain::{Fault, backups::Backup, ids::BackupId};
use guildhall_hall::backups::outside::BackupFolder;
use guildhall_wire::backups;
use serde_json::json;

use super::{LIST, VERIFIED};
use crate::cli::{
    failure::{FAULT, Failure},
    output::Output,
};

/// Opens a folder of backups.
pub(in crate::cli) fn open(folder: &Path) -> Result<BackupFolder, Failure> {
    BackupFolder::open(folder).map_err(|why| Failure::Usage(format!("{why}.")))
}

/// The backup of this id, or the `latest`.
pub(in crate::cli) fn find(folder: &BackupFolder, which: &str) -> Result<Backup, Failure> {
    let id = match which {
        "latest" => None,
        text => Some(BackupId::named(text)),
    };
    folder
        .find(id)
        .map_err(|fault| unreadable(&fault))?
        .ok_or_else(|| {
            let shown = folder.path().display();
            Failure::Usage(format!("there is no such backup in {shown}."))
        })
}

/// Lists the backups in a folder.
pub(in crate::cli) fn list(output: &Output, folder: &Path) -> Result<(), Failure> {
    let folder = open(folder)?;
    let all = folder.list().map_err(|fault| unreadable(&fault))?;
    let all: Vec<backups::Backup> = all.into_iter().map(Into::into).collect();
    output.show_own(&json!({ "backups": all }), &LIST)?;
    output.note(&format!("They are in {}.", folder.path().display()));
    Ok(())
}

/// Verifies a backup in a folder.
pub(super) fn verify(output: &Output, folder: &Path, which: &str) -> Result<u8, Failure> {
    let folder = open(folder)?;
    let backup = find(&folder, which)?;
    let verified = folder.verify(backup).map_err(|fault| unreadable(&fault))?;
    let is_whole = verified.is_whole();
    let verified = backups::VerifiedBackup::from(verified);
    output.show_own(&json!(verified), &VERIFIED)?;
    Ok(if is_whole { 0 } else { FAULT })
}

fn unreadable(fault: &Fault) -> Failure {
    Failure::Unreadable(format!("{fault}: {}.", fault.source))
}
