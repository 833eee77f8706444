//! Blobs: files kept under the digest of their bytes, in the data folder.
//! A file is written as a draft, synced, and renamed into its place `blobs/<2 hex>/<64 hex>`,
//! so that a blob is there whole or not at all. Which blobs are needed is `store::attachments`.
//!
//! Everything is reached from two folders that were opened once, one name at a time and never
//! through a link. Every call here may wait for the disk.

use std::{
    collections::HashMap,
    fs::{DirBuilder, File},
    io::{self, Read, Write},
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, FileExt},
    },
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use guildhall_domain::{
    Fault,
    attachments::{Digest, ImageFormat, SNIFFED_BYTES},
    errors::FaultKind,
};
use rustix::{
    fs::{AtFlags, CWD, Dir, Mode, OFlags, fsync, mkdirat, openat, renameat, unlinkat},
    io::Errno,
};

use crate::{
    digests::DigestBuilder,
    disk,
    verified::{FileState, VerifiedFiles},
};

/// The folder of blobs in the data folder.
pub(crate) const BLOBS: &str = "blobs";
/// The folder of drafts in the data folder.
const DRAFTS: &str = "uploads";
/// Bytes read at a time to verify a blob.
const VERIFIED_AT_ONCE: usize = 128 * 1024;

/// The blobs of one data folder.
#[derive(Debug)]
pub struct Blobs {
    blobs: OwnedFd,
    drafts: Arc<OwnedFd>,
    /// A std mutex: held for counting and for one removal, never over an await.
    claims: Mutex<BlobClaims>,
    verified: VerifiedFiles,
}

/// Who needs blobs that the store does not know of yet, and which ones are about to go.
#[derive(Debug, Default)]
struct BlobClaims {
    held: HashMap<Digest, usize>,
    /// By digest, the ticket of the newest [`Blobs::schedule_removal`] that named it.
    doomed: HashMap<Digest, u64>,
    tickets: u64,
}

/// Blobs that go unless somebody claims them meanwhile.
#[derive(Debug)]
pub struct PendingRemoval {
    ticket: u64,
    digests: Vec<Digest>,
}

/// What a check found of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobState {
    /// It holds the bytes of its digest.
    Whole,
    /// It cannot be read, or holds other bytes.
    Damaged,
    /// It is not there.
    Missing,
}

impl Blobs {
    /// Opens the blobs of the data folder at `data_dir`; drafts of an earlier run are dropped.
    ///
    /// # Errors
    /// A fault when a folder cannot be made or opened.
    pub fn open(data_dir: &Path) -> Result<Self, Fault> {
        let folder = |name: &str| -> io::Result<OwnedFd> {
            let path = data_dir.join(name);
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&path)?;
            Ok(openat(CWD, path, FOLDER, Mode::empty())?)
        };
        let open = || {
            let (blobs, drafts) = (folder(BLOBS)?, folder(DRAFTS)?);
            for name in names(&drafts)? {
                unlinkat(&drafts, name, AtFlags::empty())?;
            }
            Ok(Self {
                blobs,
                drafts: Arc::new(drafts),
                claims: Mutex::default(),
                verified: VerifiedFiles::default(),
            })
        };
        open().map_err(|error| fault("opening the folder of attachments", error))
    }

    /// Begins a draft, an empty file of its own.
    ///
    /// # Errors
    /// A fault, of kind `StorageFull` when the disk is.
    pub fn draft(&self) -> Result<BlobDraft, Fault> {
        let name = crate::ids::new().to_string();
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = openat(&self.drafts, &name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|error| fault("beginning an upload", error.into()))?;
        Ok(BlobDraft {
            folder: Arc::clone(&self.drafts),
            name,
            file: file.into(),
            digesting: DigestBuilder::default(),
            size: 0,
            head: Vec::with_capacity(SNIFFED_BYTES),
        })
    }

    /// Puts a draft in its place, durably, and claims it until the answer is dropped.
    ///
    /// # Errors
    /// A fault, of kind `StorageFull` when the disk is.
    pub fn store(self: &Arc<Self>, draft: &BlobDraft) -> Result<StoredBlob, Fault> {
        let digest = draft.digesting.clone().finish();
        // Claimed before it is in its place, so that no removal takes it away again.
        let claim = self.claim(digest);
        let place = || -> io::Result<()> {
            draft.file.sync_all()?;
            let folder = self.folder_for(digest)?;
            renameat(&draft.folder, &draft.name, &folder, digest.to_string())?;
            Ok(fsync(&folder)?)
        };
        place().map_err(|error| fault("keeping an upload", error))?;
        Ok(StoredBlob {
            digest,
            size: draft.size,
            picture: ImageFormat::sniff(&draft.head),
            _claim: claim,
        })
    }

    /// Opens a blob for reading, once its bytes were found to be those of its digest: now, or
    /// earlier where the file was not changed since. `None` when it is not there.
    ///
    /// # Errors
    /// A fault when the disk does not answer, or something else lies in its place; one of kind
    /// `AttachmentDamaged` when its bytes are others.
    pub fn read(&self, digest: Digest) -> Result<Option<OpenBlob>, Fault> {
        let Some((blob, state)) = self.open_blob(digest)? else {
            return Ok(None);
        };
        if !self.verified.holds(state, digest) {
            blob.verify(digest, &|_| true)?;
            self.verified.remember(state, &blob.0, digest);
        }
        Ok(Some(blob))
    }

    /// Reads a blob whole, and says whether its bytes are those of its digest. `go_on` is asked
    /// behind each part, with how long that took; when it says no, the rest counts as whole.
    pub fn check(&self, digest: Digest, go_on: &dyn Fn(Duration) -> bool) -> BlobState {
        // A file that cannot be opened or read is of no more use than one with other bytes.
        let (blob, state) = match self.open_blob(digest) {
            Ok(Some(opened)) => opened,
            Ok(None) => return BlobState::Missing,
            Err(_) => return BlobState::Damaged,
        };
        if blob.verify(digest, go_on).is_ok() {
            return BlobState::Whole;
        }
        self.verified.forget(state);
        BlobState::Damaged
    }

    /// Puts the copy at `from` in the place of a blob; says whether that was whole.
    ///
    /// # Errors
    /// A fault, of kind `StorageFull` when the disk is.
    pub fn replace(self: &Arc<Self>, digest: Digest, from: &Path) -> Result<bool, Fault> {
        let mut draft = self.draft()?;
        let mut part = vec![0; VERIFIED_AT_ONCE];
        let Ok(mut copy) = File::open(from) else {
            return Ok(false);
        };
        loop {
            match copy.read(&mut part) {
                Ok(0) => break,
                Ok(length) => draft.write(&part[..length])?,
                Err(_) => return Ok(false),
            }
        }
        if draft.digesting.clone().finish() != digest {
            return Ok(false);
        }
        self.store(&draft).map(|_| true)
    }

    fn open_blob(&self, digest: Digest) -> Result<Option<(OpenBlob, FileState)>, Fault> {
        let open = || -> io::Result<(OpenBlob, FileState)> {
            let folder = openat(&self.blobs, shelf(digest), FOLDER, Mode::empty())?;
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = File::from(openat(folder, digest.to_string(), flags, Mode::empty())?);
            let state = FileState::of(&file)?;
            Ok((OpenBlob(file), state))
        };
        match open() {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(fault("opening an attachment", error)),
        }
    }

    /// The blobs whose digest begins with `first`.
    ///
    /// # Errors
    /// A fault when the folder cannot be read.
    pub fn list_digests(&self, first: u8) -> Result<Vec<Digest>, Fault> {
        let list = || match openat(&self.blobs, format!("{first:02x}"), FOLDER, Mode::empty()) {
            Ok(folder) => names(&folder),
            Err(Errno::NOENT) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        };
        let names = list().map_err(|error| fault("listing attachments", error))?;
        Ok(names
            .iter()
            .filter_map(|name| Digest::parse(name.to_str().ok()?))
            .collect())
    }

    /// Marks blobs for removal, but for those that somebody has claimed. Whether the store
    /// needs them must be asked after this, so that no upload slips in between.
    pub fn schedule_removal(&self, digests: Vec<Digest>) -> PendingRemoval {
        let mut claims = self.claims();
        claims.tickets += 1;
        let ticket = claims.tickets;
        let free = digests
            .into_iter()
            .filter(|digest| !claims.held.contains_key(digest));
        let digests: Vec<Digest> = free.collect();
        for digest in &digests {
            claims.doomed.insert(*digest, ticket);
        }
        PendingRemoval { ticket, digests }
    }

    /// Removes what was doomed, is not `needed`, and was not claimed since.
    ///
    /// # Errors
    /// A fault when the disk refuses; what is left is an orphan that a later sweep finds.
    pub fn remove(&self, doom: &PendingRemoval, needed: &[Digest]) -> Result<(), Fault> {
        for digest in &doom.digests {
            let mut claims = self.claims();
            if claims.doomed.get(digest) != Some(&doom.ticket) {
                continue;
            }
            claims.doomed.remove(digest);
            if needed.contains(digest) {
                continue;
            }
            // Still under the lock: whoever claims this blob now puts it in its place again.
            let removed = openat(&self.blobs, shelf(*digest), FOLDER, Mode::empty())
                .and_then(|folder| unlinkat(folder, digest.to_string(), AtFlags::empty()));
            match removed {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(fault("removing an attachment", error.into())),
            }
        }
        Ok(())
    }

    fn claim(self: &Arc<Self>, digest: Digest) -> BlobClaim {
        let mut claims = self.claims();
        *claims.held.entry(digest).or_default() += 1;
        claims.doomed.remove(&digest);
        BlobClaim {
            blobs: Arc::clone(self),
            digest,
        }
    }

    fn folder_for(&self, digest: Digest) -> io::Result<OwnedFd> {
        match mkdirat(&self.blobs, shelf(digest), Mode::RWXU) {
            Ok(()) => fsync(&self.blobs)?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(openat(&self.blobs, shelf(digest), FOLDER, Mode::empty())?)
    }

    fn claims(&self) -> MutexGuard<'_, BlobClaims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingRemoval {
    /// The blobs marked.
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }
}

/// A file that is being written; gone when dropped, unless it was kept.
#[derive(Debug)]
pub struct BlobDraft {
    folder: Arc<OwnedFd>,
    name: String,
    file: File,
    digesting: DigestBuilder,
    size: u64,
    /// Its first [`SNIFFED_BYTES`].
    head: Vec<u8>,
}

impl BlobDraft {
    /// Writes on.
    ///
    /// # Errors
    /// A fault, of kind `StorageFull` when the disk is.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.file
            .write_all(bytes)
            .map_err(|error| fault("writing an upload", error))?;
        self.digesting.add(bytes);
        let missing = SNIFFED_BYTES.saturating_sub(self.head.len());
        self.head.extend(bytes.iter().take(missing));
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Bytes written so far.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Drop for BlobDraft {
    fn drop(&mut self) {
        // A draft that was kept has no name here any more; one that cannot be removed goes at
        // the next start.
        let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
    }
}

/// A blob in its place, claimed until this is dropped.
#[derive(Debug)]
pub struct StoredBlob {
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its bytes.
    pub size: u64,
    /// What it is, when it is a picture.
    pub picture: Option<ImageFormat>,
    _claim: BlobClaim,
}

/// Holds a blob back from removal.
#[derive(Debug)]
struct BlobClaim {
    blobs: Arc<Blobs>,
    digest: Digest,
}

impl Drop for BlobClaim {
    fn drop(&mut self) {
        let mut claims = self.blobs.claims();
        if let Some(holders) = claims.held.get_mut(&self.digest) {
            *holders -= 1;
            if *holders == 0 {
                claims.held.remove(&self.digest);
            }
        }
    }
}

/// An open blob; it can be read on when it is removed meanwhile.
#[derive(Debug)]
pub struct OpenBlob(File);

impl OpenBlob {
    /// Holds back bytes that are not those of `digest`. `go_on` is asked behind each part, with
    /// how long that took; when it says no, nothing is known of the rest.
    fn verify(&self, digest: Digest, go_on: &dyn Fn(Duration) -> bool) -> Result<(), Fault> {
        let read = || -> io::Result<Option<Digest>> {
            let mut digesting = DigestBuilder::default();
            let mut part = vec![0; VERIFIED_AT_ONCE];
            let mut offset = 0;
            loop {
                let began = Instant::now();
                match self.0.read_at(&mut part, offset)? {
                    0 => return Ok(Some(digesting.finish())),
                    length => {
                        digesting.add(&part[..length]);
                        offset += length as u64;
                    }
                }
                if !go_on(began.elapsed()) {
                    return Ok(None);
                }
            }
        };
        let found = read().map_err(|error| fault("reading an attachment", error))?;
        if found.is_none_or(|found| found == digest) {
            return Ok(());
        }
        Err(Fault::new(
            FaultKind::AttachmentDamaged,
            "reading an attachment",
            format!("the file {digest} holds other bytes"),
        ))
    }

    /// Reads `length` bytes from `offset`, which must lie in it.
    ///
    /// # Errors
    /// A fault when the disk does not answer, or the blob is shorter than the store says.
    pub fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Fault> {
        let mut bytes = vec![0; length];
        self.0
            .read_exact_at(&mut bytes, offset)
            .map_err(|error| fault("reading an attachment", error))?;
        Ok(bytes)
    }
}

/// How folders are opened: as folders, and never through a link.
const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The folder a blob lies in.
fn shelf(digest: Digest) -> String {
    let [first, ..] = digest.as_bytes();
    format!("{first:02x}")
}

/// What lies in a folder.
fn names(folder: &OwnedFd) -> io::Result<Vec<std::ffi::CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

fn fault(during: &'static str, error: io::Error) -> Fault {
    Fault::new(disk::fault_kind(&error), during, error)
}

#[cfg(test)]
#[path = "blobs_tests.rs"]
mod tests;
