//! Served folders: the file that an address asks for, found at once where that waits for nothing,
//! else in one go off the async threads, and read from its descriptor from then on.

use guildhall_domain::{
    Error, Refusal, Result,
    errors::ResourceKind,
    workbench::{AddressTarget, ServedPath, is_git_internal},
};
use guildhall_world::confined_fs::{ConfinedFs, FileScope, Folder, OpenFile};

use crate::{
    Hall,
    file_io_pool::{FileReader, read_part},
};

/// What an address of a served folder leads to.
pub enum ServedResource {
    /// A folder that was asked for like a file.
    Folder,
    /// A file.
    File(ServedFile),
}

/// A file that is served.
#[derive(Clone, Debug)]
pub struct ServedFile {
    /// Its bytes.
    pub bytes: FileReader,
    /// The path by whose ending its type is known.
    pub path: String,
    /// Its first bytes, as far as they were asked for.
    pub ahead: Vec<u8>,
}

impl Hall {
    /// What an address of a served folder leads to; of a file the first `ahead` bytes are read at
    /// once, so that a small one costs one way to the disk.
    ///
    /// # Errors
    /// In this order: [`Refusal::BadToken`], [`Refusal::WrongScope`], [`Refusal::TokenExpired`],
    /// [`Refusal::OutsideBoundary`] for a folder that is another one by now, what `asked` says,
    /// then those of opening a path: [`Refusal::OutsideBoundary`],
    /// [`Refusal::PermissionDenied`], [`Refusal::InvalidPath`] and `NotFound`; [`Refusal::Overloaded`].
    ///
    /// Source: contract 6.8.
    pub async fn served(&self, token: &str, asked: &str, ahead: u64) -> Result<ServedResource> {
        let grant = self.read_claims(token)?;
        let AddressTarget::Serve { cwd, dev, ino } = grant.target.clone() else {
            return Err(Refusal::WrongScope.into());
        };
        self.require_live(&grant).await?;
        let asked = ServedPath::read(asked);
        if let Ok(asked) = &asked
            && let Some(found) = find_cached(self.confined(), &cwd, (dev, ino), asked, ahead)
        {
            return Ok(ServedResource::File(self.served_file(found)));
        }
        let find = move |confined: &ConfinedFs| {
            let folder = same_folder(confined, &cwd, (dev, ino))?;
            find(&folder, &asked?, ahead)
        };
        let found = self.with_files(move |confined, _| find(confined)).await?;
        Ok(found.map_or(ServedResource::Folder, |found| {
            ServedResource::File(self.served_file(found))
        }))
    }

    fn served_file(&self, found: OpenedFile) -> ServedFile {
        ServedFile {
            bytes: self.file_reader(found.file),
            path: found.path,
            ahead: found.ahead,
        }
    }
}

/// The folder an address was made for, if it is still there.
fn same_folder(confined: &ConfinedFs, cwd: &str, was: (u64, u64)) -> Result<Folder> {
    let gone = |error| match error {
        Error::Refusal(_) => Refusal::OutsideBoundary.into(),
        other => other,
    };
    let folder = confined.open_folder(&FileScope::Roots, cwd).map_err(gone)?;
    let is = folder.identity()?;
    if (is.dev, is.ino) != was {
        return Err(Refusal::OutsideBoundary.into());
    }
    Ok(folder)
}

/// A file that was found, with its first bytes.
struct OpenedFile {
    file: OpenFile,
    path: String,
    ahead: Vec<u8>,
}

/// The file that is asked for, when finding and reading it waits for nothing.
fn find_cached(
    confined: &ConfinedFs,
    cwd: &str,
    numbers: (u64, u64),
    asked: &ServedPath,
    ahead: u64,
) -> Option<OpenedFile> {
    if is_git_internal(&asked.path) {
        return None;
    }
    let path = asked.file();
    let file = confined.file_if_cached(cwd, numbers, &path)?;
    let ahead = file.read_if_cached(&(0..file.size_and_mtime().size.min(ahead)))?;
    Some(OpenedFile { file, path, ahead })
}

/// The file that is asked for; `None` for a folder that is asked for like a file.
fn find(folder: &Folder, asked: &ServedPath, ahead: u64) -> Result<Option<OpenedFile>> {
    let missing = || Error::Refusal(Refusal::NotFound(ResourceKind::Path));
    if is_git_internal(&asked.path) {
        return Err(missing());
    }
    let path = asked.file();
    let file = match folder.file(&path) {
        Ok(file) => file,
        Err(Error::Refusal(Refusal::NotAFile)) if !asked.is_folder => {
            // Something else than a folder, such as a pipe, is nothing to serve.
            folder.folder(&path).map_err(|_| missing())?;
            return Ok(None);
        }
        Err(Error::Refusal(Refusal::NotAFile)) => return Err(missing()),
        Err(other) => return Err(other),
    };
    let beneath = file.path().strip_prefix(folder.path());
    if beneath.is_some_and(is_git_internal) {
        return Err(missing());
    }
    let ahead = read_part(&file, &(0..file.size_and_mtime().size.min(ahead)))?;
    Ok(Some(OpenedFile { file, path, ahead }))
}
