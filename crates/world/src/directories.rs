//! Directories: reading what lies in one, and making one.
//! What may be reached is `world::confined_fs`, the order is `domain::directories`.

use guildhall_domain::{
    Result,
    directories::{BoundedListing, Directory, DirectoryEntry, FolderName},
    limits,
};

use crate::confined_fs::{ConfinedFs, DirEntry, DirEntryKind, FileScope, Folder, LinkResolver};

/// Which of the things in a folder are listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListFilter {
    /// Names that begin with `.`, too.
    pub is_hidden: bool,
    /// Folders alone, and links to them.
    pub is_directories_only: bool,
}

/// The folder at `path` within `reach`, or the effective root itself.
///
/// A link counts as what it leads to when that lies in the effective root, else it is left out,
/// as are devices, sockets and FIFOs.
///
/// # Errors
/// The refusals of contract 6.1, and `NotADirectory`.
///
/// Source: contract 6.2.
pub fn list(
    confined: &ConfinedFs,
    reach: &FileScope,
    path: Option<&str>,
    listed: ListFilter,
) -> Result<Directory> {
    let folder = match path {
        Some(path) => confined.open_folder(reach, path)?,
        None => confined.open_scope(reach)?,
    };
    // Every entry is told with the folder's path before it.
    let most = limits::LISTING_BYTES_MAX / (folder.path().len() + 1);
    let mut first = BoundedListing::new(most.min(limits::DIRECTORY_ENTRIES_MAX));
    let mut links = None;
    folder.each(|DirEntry { name, kind }| {
        if name.starts_with('.') && !listed.is_hidden {
            return Ok(());
        }
        let kind = match kind {
            DirEntryKind::Link => followed(&folder, &mut links, &name)?,
            known => Some(known),
        };
        let is_directory = match kind {
            Some(DirEntryKind::Folder) => true,
            Some(DirEntryKind::File) if !listed.is_directories_only => false,
            Some(DirEntryKind::File | DirEntryKind::Link | DirEntryKind::Other) | None => {
                return Ok(());
            }
        };
        first.add(DirectoryEntry { name, is_directory });
        Ok(())
    })?;
    let (entries, truncated) = first.in_order();
    Ok(Directory {
        entries,
        parent: parent(&folder),
        truncated,
        path: folder.path().to_owned(),
    })
}

/// Makes the folder `name` in the one at `parent`; its path.
///
/// # Errors
/// The refusals of contract 6.1, `NotADirectory` and `AlreadyExists`.
///
/// Source: contract 6.2, neighbours.
pub fn make(
    confined: &ConfinedFs,
    reach: &FileScope,
    parent: &str,
    name: &FolderName,
) -> Result<String> {
    let made = confined.open_folder(reach, parent)?.make(name.as_str())?;
    Ok(made.path().to_owned())
}

/// What a link leads to; the way to it is looked for at the first one.
pub(crate) fn followed<'a>(
    folder: &'a Folder,
    links: &mut Option<LinkResolver<'a>>,
    name: &str,
) -> Result<Option<DirEntryKind>> {
    let known = match links.take() {
        Some(known) => known,
        None => folder.links()?,
    };
    Ok(links.insert(known).kind(name))
}

fn parent(folder: &Folder) -> Option<String> {
    let above = |path: &str| match path.rsplit_once('/') {
        Some(("", _)) => Some("/".to_owned()),
        Some((above, _)) => Some(above.to_owned()),
        None => None,
    };
    above(folder.path()).filter(|_| !folder.is_root())
}

#[cfg(test)]
#[path = "directories_tests.rs"]
mod tests;
