//! Copying backups from one folder of them to another, also to another disk: each file under a
//! name of its own until it is whole and durable, the description last.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use guildhall_domain::{Fault, attachments::Digest, backups::Backup, errors::FaultKind};

use super::{BackupFiles, DigestingStream, PART, fault, private, remove_if_there, sync_folder};

/// Asked behind each part of a copy, with how long the part took; the copy ends early when it
/// returns false.
pub type GoOn<'a> = &'a dyn Fn(Duration) -> bool;

/// What became of the copy of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copied {
    /// It is there, whole and durable.
    Whole,
    /// There is nothing to copy, or it holds other bytes than it should: nothing was kept of it.
    NothingWhole,
}

impl BackupFiles {
    /// Copies the files of attachments from another folder of backups, each in place of the one
    /// that is here; returns those that are not there whole.
    ///
    /// # Errors
    /// A fault when this folder is gone or takes no files, of kind `StorageFull` when its disk is
    /// full; and when `go_on` ends it.
    pub fn copy_attachments(
        &self,
        from: &Self,
        digests: &[Digest],
        go_on: GoOn<'_>,
    ) -> Result<Vec<Digest>, Fault> {
        let mut damaged = Vec::new();
        for digest in digests {
            let to = self.attachment(*digest);
            let copy = || -> io::Result<Copied> {
                make_shelf(&self.attachments(), &to)?;
                copy_file(&from.attachment(*digest), &to, *digest, go_on)
            };
            match copy().map_err(|error| fault("copying an attachment", error))? {
                Copied::Whole => {}
                Copied::NothingWhole => damaged.push(*digest),
            }
        }
        Ok(damaged)
    }

    /// Copies a backup from another folder of backups, without its `attachments`; it is here only
    /// once all of it is.
    ///
    /// # Errors
    /// As [`Self::copy_attachments`]; a fault of kind `StoreDamaged` when the backup holds other
    /// bytes than were written, or is not there any more.
    pub fn copy_backup(
        &self,
        from: &Self,
        backup: &Backup,
        attachments: &[Digest],
        go_on: GoOn<'_>,
    ) -> Result<(), Fault> {
        let during = "copying a backup";
        let damaged = || {
            let why = "its file is missing or holds other bytes than were written";
            Fault::new(FaultKind::StoreDamaged, during, why)
        };
        let sha256 = Digest::parse(&backup.sha256).ok_or_else(damaged)?;
        let (packed, to) = (from.packed(backup.id), self.packed(backup.id));
        match copy_file(&packed, &to, sha256, go_on).map_err(|error| fault(during, error))? {
            Copied::Whole => self.describe(backup, attachments),
            Copied::NothingWhole => Err(damaged()),
        }
    }

    /// Removes what a copy that was cut off left of backups that have no description.
    pub(super) fn drop_undescribed(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let id = ["json.new", "attachments.new", "attachments", "sqlite.zst"]
                .iter()
                .find_map(|end| name.strip_suffix(end));
            if let Some(id) = id.filter(|id| id.ends_with('.'))
                && !self.folder.join(format!("{id}json")).exists()
            {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// Copies a file that should hold the bytes of `digest`. Only what is written can fail: a file
/// that cannot be read is as good as none.
fn copy_file(from: &Path, to: &Path, digest: Digest, go_on: GoOn<'_>) -> io::Result<Copied> {
    let Ok(mut source) = File::open(from) else {
        return Ok(Copied::NothingWhole);
    };
    let draft = PathBuf::from(format!("{}.draft", to.display()));
    let mut copy = || -> io::Result<Copied> {
        let mut written = DigestingStream::new(private(&draft)?);
        let mut part = vec![0; PART];
        loop {
            let began = Instant::now();
            let Ok(length) = source.read(&mut part) else {
                return Ok(Copied::NothingWhole);
            };
            if length == 0 {
                break;
            }
            written.write_all(&part[..length])?;
            if !go_on(began.elapsed()) {
                return Err(io::Error::other("the server stops"));
            }
        }
        let (file, _, found) = written.into_parts();
        if found != digest {
            return Ok(Copied::NothingWhole);
        }
        file.sync_all()?;
        fs::rename(&draft, to)?;
        to.parent().map_or(Ok(()), sync_folder)?;
        Ok(Copied::Whole)
    };
    let copied = copy();
    if !matches!(copied, Ok(Copied::Whole)) {
        // What cannot be removed now goes when the folder is opened next, or is written over.
        let _ = remove_if_there(&draft);
    }
    copied
}

/// Makes the folder in which the file of an attachment lies, and the one around it; never the
/// folder of backups itself, whose disk may be gone.
fn make_shelf(attachments: &Path, file: &Path) -> io::Result<()> {
    for folder in [Some(attachments), file.parent()].into_iter().flatten() {
        match DirBuilder::new().mode(0o700).create(folder) {
            Ok(()) => folder.parent().map_or(Ok(()), sync_folder)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
