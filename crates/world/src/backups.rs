//! Backups' files, in the folder `backups` of the data folder: for each a compressed copy of the
//! store, a list of the attachments it names, and what is known of it; beside them the files of
//! attachments, once for all, as hard links where the file system has them.
//! A backup is there when its description is, which is written last.

mod copying;
pub mod second_folder;
pub mod unpacking;

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufReader, BufWriter, Read, Write},
    os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use guildhall_domain::{
    Fault, attachments::Digest, backups::Backup, errors::FaultKind, ids::BackupId,
};

use crate::{
    blobs,
    data_dir::{sync_folder, write_private},
    digests::DigestBuilder,
    disk,
};

/// The folder of backups in the data folder.
const FOLDER: &str = "backups";
/// How hard a copy is compressed; beyond this it takes longer and hardly gets smaller.
const LEVEL: i32 = 3;
/// Bytes moved at a time.
const PART: usize = 128 * 1024;

/// The backups of one data folder.
#[derive(Clone, Debug)]
pub struct BackupFiles {
    folder: PathBuf,
    /// The folder of the attachments in use.
    blobs: PathBuf,
}

/// A backup's compressed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveSummary {
    /// Its bytes.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: Digest,
}

/// A backup's compressed file, open for reading; it can be read on when it is removed meanwhile.
#[derive(Debug)]
pub struct OpenArchive(File);

impl OpenArchive {
    /// Reads at most `bytes_max` bytes from `offset`; none at the end.
    ///
    /// # Errors
    /// A fault when the disk does not answer.
    pub fn read(&self, offset: u64, bytes_max: usize) -> Result<Vec<u8>, Fault> {
        let mut part = vec![0; bytes_max];
        let length = self
            .0
            .read_at(&mut part, offset)
            .map_err(|error| fault("reading a backup", error))?;
        part.truncate(length);
        Ok(part)
    }
}

impl BackupFiles {
    /// Names the backups of the data folder at `data_dir`, without touching anything.
    pub fn at(data_dir: &Path) -> Self {
        Self {
            folder: data_dir.join(FOLDER),
            blobs: data_dir.join(blobs::BLOBS),
        }
    }

    /// Opens the backups of the data folder at `data_dir`; drafts of an earlier run are dropped.
    ///
    /// # Errors
    /// A fault when the folder cannot be made or read.
    pub fn open(data_dir: &Path) -> Result<Self, Fault> {
        let files = Self::at(data_dir);
        make_folder(&files.folder)
            .and_then(|()| files.drop_drafts())
            .map_err(|error| fault("opening the folder of backups", error))?;
        Ok(files)
    }

    fn drop_drafts(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let is_draft = entry.file_name().to_string_lossy().contains(".draft");
            if is_draft && entry.file_type()?.is_file() {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Where the copy for a backup is made.
    pub fn draft(&self, id: BackupId) -> PathBuf {
        self.folder.join(format!("{id}.sqlite.draft"))
    }

    /// Drops what is left of a draft.
    pub fn drop_draft(&self, id: BackupId) {
        for end in ["", "-wal", "-shm", "-journal", ".zst"] {
            // Most of them are not there; one that cannot be removed goes at the next start.
            let _ = fs::remove_file(format!("{}{end}", self.draft(id).display()));
        }
    }

    /// Compresses the draft of a backup and puts the result in its place, durably.
    ///
    /// # Errors
    /// A fault, of kind `StorageFull` when the disk is.
    pub fn compress(&self, id: BackupId) -> Result<ArchiveSummary, Fault> {
        let draft = self.draft(id);
        let packed = PathBuf::from(format!("{}.zst", draft.display()));
        let pack = || -> io::Result<ArchiveSummary> {
            let file = private(&packed)?;
            let mut encoder =
                zstd::Encoder::new(DigestingStream::new(BufWriter::new(file)), LEVEL)?;
            encoder.include_checksum(true)?;
            io::copy(
                &mut BufReader::with_capacity(PART, File::open(&draft)?),
                &mut encoder,
            )?;
            let counted = encoder.finish()?;
            let (writer, bytes, sha256) = counted.into_parts();
            writer.into_inner()?.sync_all()?;
            fs::rename(&packed, self.packed(id))?;
            sync_folder(&self.folder)?;
            Ok(ArchiveSummary { bytes, sha256 })
        };
        pack().map_err(|error| fault("compressing a backup", error))
    }

    /// Keeps the files of attachments beside the backups; answers those that are not there.
    ///
    /// # Errors
    /// A fault, of kind `StorageFull` when the disk is.
    pub fn keep_attachments(&self, digests: &[Digest]) -> Result<Vec<Digest>, Fault> {
        let mut missing = Vec::new();
        for digest in digests {
            let kept = take_file(
                &blob(&self.blobs, *digest),
                &blob(&self.attachments(), *digest),
            );
            match kept {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(*digest),
                Err(error) => return Err(fault("keeping an attachment for a backup", error)),
            }
        }
        Ok(missing)
    }

    /// Makes the backup be there: writes the list of its attachments and what is known of it.
    ///
    /// # Errors
    /// A fault, of kind `StorageFull` when the disk is.
    pub fn describe(&self, backup: &Backup, attachments: &[Digest]) -> Result<(), Fault> {
        let describe = || -> io::Result<()> {
            let list: String = attachments
                .iter()
                .map(|digest| format!("{digest}\n"))
                .collect();
            write_private(&self.file(backup.id, "attachments"), &list)?;
            write_private(
                &self.file(backup.id, "json"),
                &serde_json::to_string(backup)?,
            )
        };
        describe().map_err(|error| fault("describing a backup", error))
    }

    /// Every backup there is, the newest first.
    ///
    /// # Errors
    /// A fault when the folder cannot be read. A description that cannot be read is left out.
    pub fn list(&self) -> Result<Vec<Backup>, Fault> {
        let list = || -> io::Result<Vec<Backup>> {
            let mut backups = Vec::new();
            if !self.folder.exists() {
                return Ok(backups);
            }
            for entry in fs::read_dir(&self.folder)? {
                let path = entry?.path();
                if path.extension().is_none_or(|end| end != "json") {
                    continue;
                }
                let read = fs::read(&path).and_then(|text| Ok(serde_json::from_slice(&text)?));
                match read {
                    Ok(backup) => backups.push(backup),
                    Err(error) => {
                        tracing::warn!(path = %path.display(), %error, "a backup's description cannot be read");
                    }
                }
            }
            Ok(backups)
        };
        let mut backups = list().map_err(|error| fault("listing the backups", error))?;
        backups.sort_by_key(|backup: &Backup| std::cmp::Reverse((backup.created_at, backup.id)));
        Ok(backups)
    }

    /// Opens a backup's compressed file.
    ///
    /// # Errors
    /// A fault when it is not there or cannot be read.
    pub fn read(&self, id: BackupId) -> Result<OpenArchive, Fault> {
        let opened = File::open(self.packed(id)).map(OpenArchive);
        opened.map_err(|error| fault("opening a backup", error))
    }

    /// Unpacks a backup's copy of the store into the new file at `to`, durably.
    ///
    /// # Errors
    /// A fault of kind `StoreDamaged` when its file holds other bytes than were written, another
    /// one when the disk refuses.
    pub fn unpack(&self, backup: &Backup, to: &Path) -> Result<(), Fault> {
        let during = "unpacking a backup";
        let unpack = || -> io::Result<Digest> {
            let mut packed = DigestingStream::new(self.read_file(backup.id)?);
            let mut file = private(to)?;
            let mut decoder = zstd::Decoder::new(&mut packed)?;
            io::copy(&mut decoder, &mut file)?;
            drop(decoder);
            io::copy(&mut packed, &mut io::sink())?;
            file.sync_all()?;
            Ok(packed.into_parts().2)
        };
        let damaged = |why: String| Fault::new(FaultKind::StoreDamaged, during, why);
        match unpack() {
            Ok(sha256) if sha256.to_string() == backup.sha256 => Ok(()),
            Ok(_) => Err(damaged(
                "its file holds other bytes than were written".to_owned(),
            )),
            Err(error) if error.raw_os_error().is_none() => Err(damaged(error.to_string())),
            Err(error) => Err(fault(during, error)),
        }
    }

    /// The attachments a backup names.
    ///
    /// # Errors
    /// A fault when their list cannot be read or understood.
    pub fn attachments_of(&self, id: BackupId) -> Result<Vec<Digest>, Fault> {
        read_list(&self.file(id, "attachments"))
            .map_err(|error| fault("reading a backup's list of attachments", error))
    }

    /// Those of these attachments whose files beside the backups are not there, cannot be read, or
    /// hold other bytes.
    pub fn damaged_attachments(&self, digests: &[Digest]) -> Vec<Digest> {
        let is_damaged = |digest: &&Digest| !holds(&self.attachment(**digest), **digest);
        digests.iter().filter(is_damaged).copied().collect()
    }

    /// Replaces the copy of an attachment by the file in use, which was found whole, where the copy
    /// is another file and holds other bytes; returns whether it did. `go_on` is asked behind each
    /// part of the copy that is read, with how long that took.
    ///
    /// # Errors
    /// A fault, of kind `StorageFull` when the disk is.
    pub fn renew_attachment(
        &self,
        digest: Digest,
        go_on: &dyn Fn(Duration) -> bool,
    ) -> Result<bool, Fault> {
        let (from, to) = (blob(&self.blobs, digest), self.attachment(digest));
        let renew = || -> io::Result<bool> {
            if is_same_file(&from, &to)? || is_whole_or_unread(&to, digest, go_on) {
                return Ok(false);
            }
            put_file(&from, &to).map(|()| true)
        };
        match renew() {
            // No backup names it, or it was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            renewed => renewed.map_err(|error| fault("renewing a backup's attachment", error)),
        }
    }

    /// Those of these attachments that have no file beside the backups.
    pub fn missing_attachments(&self, digests: &[Digest]) -> Vec<Digest> {
        let is_missing = |digest: &&Digest| !self.attachment(**digest).exists();
        digests.iter().filter(is_missing).copied().collect()
    }

    /// Where the copy of an attachment lies beside the backups, if there is one.
    pub fn attachment(&self, digest: Digest) -> PathBuf {
        blob(&self.attachments(), digest)
    }

    /// Puts a backup's attachments into the folder at `blobs`: all but the `damaged` ones from
    /// beside the backups, and those from the folder at `before` where they are whole there.
    /// Returns those that are not to be had whole.
    ///
    /// # Errors
    /// A fault when the disk refuses.
    pub fn restore_attachments(
        &self,
        digests: &[Digest],
        damaged: &[Digest],
        before: Option<&Path>,
        blobs: &Path,
    ) -> Result<Vec<Digest>, Fault> {
        let mut missing = Vec::new();
        for digest in digests {
            let from = match damaged.contains(digest) {
                false => Some(self.attachment(*digest)),
                true => before
                    .map(|folder| blob(folder, *digest))
                    .filter(|file| holds(file, *digest)),
            };
            match from {
                None => missing.push(*digest),
                Some(from) => take_file(&from, &blob(blobs, *digest))
                    .map_err(|error| fault("restoring an attachment", error))?,
            }
        }
        Ok(missing)
    }

    /// Removes backups, and the files of attachments that no backup names any more.
    ///
    /// # Errors
    /// A fault when the disk refuses; what is left goes with the next removal.
    pub fn remove(&self, ids: &[BackupId]) -> Result<(), Fault> {
        let remove = || -> io::Result<()> {
            for id in ids {
                // The description first: without it nobody takes the rest for a backup.
                for path in [
                    self.file(*id, "json"),
                    self.packed(*id),
                    self.file(*id, "attachments"),
                ] {
                    remove_if_there(&path)?;
                }
            }
            sync_folder(&self.folder)
        };
        remove().map_err(|error| fault("removing a backup", error))?;
        let named = match self.attachments_named() {
            Ok(named) => named,
            Err(error) => {
                tracing::warn!(%error, "attachments of removed backups are kept: not every list of them can be read");
                return Ok(());
            }
        };
        let remove_unnamed = || -> io::Result<()> {
            if !self.attachments().exists() {
                return Ok(());
            }
            for shelf in fs::read_dir(self.attachments())? {
                for file in fs::read_dir(shelf?.path())? {
                    let file = file?;
                    if !named.contains(&*file.file_name().to_string_lossy()) {
                        remove_if_there(&file.path())?;
                    }
                }
            }
            Ok(())
        };
        remove_unnamed().map_err(|error| fault("removing a backup's attachments", error))
    }

    /// The attachments that any backup names, also one whose description is damaged.
    fn attachments_named(&self) -> io::Result<BTreeSet<String>> {
        let mut named = BTreeSet::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.extension().is_none_or(|end| end != "attachments") {
                continue;
            }
            let list = read_list(&path)?;
            let described = fs::read(path.with_extension("json"))
                .ok()
                .and_then(|text| serde_json::from_slice::<Backup>(&text).ok());
            if described.is_some_and(|backup| backup.attachments != list.len() as u64) {
                return Err(damaged_list(&path));
            }
            named.extend(list.iter().map(Digest::to_string));
        }
        Ok(named)
    }

    fn read_file(&self, id: BackupId) -> io::Result<BufReader<File>> {
        Ok(BufReader::with_capacity(PART, File::open(self.packed(id))?))
    }

    fn attachments(&self) -> PathBuf {
        self.folder.join("attachments")
    }

    fn packed(&self, id: BackupId) -> PathBuf {
        self.file(id, "sqlite.zst")
    }

    fn file(&self, id: BackupId, end: &str) -> PathBuf {
        self.folder.join(format!("{id}.{end}"))
    }
}

/// Where the file of an attachment lies in a folder of them.
fn blob(folder: &Path, digest: Digest) -> PathBuf {
    let name = digest.to_string();
    folder.join(&name[..2]).join(name)
}

/// Reads a list of attachments. One that holds anything else is damaged: what it named is unknown.
fn read_list(path: &Path) -> io::Result<Vec<Digest>> {
    let text = fs::read_to_string(path)?;
    let digests: Option<Vec<Digest>> = text.lines().map(Digest::parse).collect();
    digests.ok_or_else(|| damaged_list(path))
}

fn damaged_list(path: &Path) -> io::Error {
    let why = format!("{} is damaged", path.display());
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Gives a file a second name, or copies it where that is not to be had. What is there already
/// stays.
fn take_file(from: &Path, to: &Path) -> io::Result<()> {
    match to.exists() {
        true => Ok(()),
        false => put_file(from, to),
    }
}

/// The same, in place of what is there.
fn put_file(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        make_folder(folder)?;
    }
    let draft = to.with_extension("draft");
    // Left by a process that ended here.
    remove_if_there(&draft)?;
    match fs::hard_link(from, &draft) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
        Ok(()) => {}
        Err(_) => {
            io::copy(&mut File::open(from)?, &mut private(&draft)?)?;
            File::open(&draft)?.sync_all()?;
        }
    }
    fs::rename(draft, to)
}

fn is_same_file(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (fs::metadata(one)?, fs::metadata(other)?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// Whether the file at `path` can be read and holds the bytes of `digest`.
fn holds(path: &Path, digest: Digest) -> bool {
    digest_of(path).is_ok_and(|found| found == digest)
}

/// The same, unless `go_on` ended the reading before.
fn is_whole_or_unread(path: &Path, digest: Digest, go_on: &dyn Fn(Duration) -> bool) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let mut file = DigestingStream::new(file);
    let mut part = vec![0; PART];
    loop {
        let began = Instant::now();
        match file.read(&mut part) {
            Ok(0) => return file.into_parts().2 == digest,
            Ok(_) if go_on(began.elapsed()) => {}
            Ok(_) => return true,
            Err(_) => return false,
        }
    }
}

fn digest_of(path: &Path) -> io::Result<Digest> {
    let mut file = DigestingStream::new(File::open(path)?);
    io::copy(&mut file, &mut io::sink())?;
    Ok(file.into_parts().2)
}

/// Counts and digests what passes through.
struct DigestingStream<T> {
    inner: T,
    bytes: u64,
    digesting: DigestBuilder,
}

impl<T> DigestingStream<T> {
    fn new(inner: T) -> Self {
        Self {
            inner,
            bytes: 0,
            digesting: DigestBuilder::default(),
        }
    }

    fn into_parts(self) -> (T, u64, Digest) {
        (self.inner, self.bytes, self.digesting.finish())
    }

    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.digesting.add(bytes);
    }
}

impl<T: Read> Read for DigestingStream<T> {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(part)?;
        self.add(&part[..length]);
        Ok(length)
    }
}

impl<T: Write> Write for DigestingStream<T> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let length = self.inner.write(part)?;
        self.add(&part[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)
}

fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn fault(during: &'static str, error: io::Error) -> Fault {
    Fault::new(disk::fault_kind(&error), during, error)
}

#[cfg(test)]
#[path = "backups_tests.rs"]
mod tests;
