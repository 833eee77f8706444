//! File reads: the text of a file, and the tree of files below a folder.
//! What may be reached is `world::confined_fs`; what the answers mean is `domain::file_reads`.

use std::{
    collections::VecDeque,
    io::{self, Read, Seek},
    rc::Rc,
};

use guildhall_domain::{
    Refusal, Result,
    directories::{BoundedListing, NamedEntry},
    file_reads::{FileContent, FileTree, FileTreeEntry},
    files::{self, Digest, FileIdentity, TextError},
    limits,
};
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use sha2::{Digest as _, Sha256};

use crate::{
    confined_fs::{
        ConfinedFs, DirEntry, DirEntryKind, Folder, OpenFile, project_tree, refusal_of_io_error,
    },
    directories::followed,
};

/// Bytes that are hashed at once.
const PIECE: usize = 64 << 10;

/// The text of the file at `path` of `cwd`.
///
/// # Errors
/// The refusals of contract 6.1, `NotAFile`, and in this order `FileTooLarge`, `BinaryFile` and
/// `NotUtf8`.
///
/// Source: contract 6.3.
pub fn content(confined: &ConfinedFs, cwd: &Folder, path: &str) -> Result<FileContent> {
    let target = cwd.target(path)?;
    let HashedText { hash, text, size } = read_text(&target.file, limits::FILE_SIZE_MAX)?;
    Ok(FileContent {
        path: target.file.path().to_owned(),
        content: text.map_err(Refusal::from)?,
        hash,
        identity: FileIdentity::new(confined.identity(target.file.physical())),
        size,
        mtime: target.file.size_and_mtime().mtime,
        writable: target.is_writable(),
    })
}

/// What a file holds.
#[derive(Debug)]
pub struct HashedText {
    /// The SHA-256 of all its bytes.
    pub hash: Digest,
    /// Its text, or why it is none.
    pub text: Result<String, TextError>,
    /// Its bytes.
    pub size: u64,
}

/// What a file of at most `most` bytes holds; of one that is too large for a text the hash alone.
///
/// # Errors
/// [`Refusal::FileTooLarge`] of a larger file, those of reading it.
pub fn read_text(opened: &OpenFile, most: u64) -> Result<HashedText> {
    let refused = |error| refusal_of_io_error(&error, opened.path().as_ref());
    let known = opened.size_and_mtime().size;
    if known > most {
        return Err(Refusal::FileTooLarge.into());
    }
    let known = known.min(limits::FILE_SIZE_MAX);
    let mut bytes = Vec::with_capacity(usize::try_from(known + 1).unwrap_or_default());
    let mut file = opened.file();
    file.rewind().map_err(refused)?;
    // It may grow while it is read.
    let mut first = file.take(limits::FILE_SIZE_MAX + 1);
    first.read_to_end(&mut bytes).map_err(refused)?;
    let mut size = bytes.len() as u64;
    if size <= limits::FILE_SIZE_MAX {
        let hash = files::digest(&bytes);
        let text = files::text(bytes);
        return Ok(HashedText { hash, text, size });
    }
    let mut hash = Sha256::new_with_prefix(&bytes);
    bytes.truncate(PIECE);
    while size <= most {
        match file.read(&mut bytes) {
            Ok(0) => {
                return Ok(HashedText {
                    hash: Digest::from_bytes(hash.finalize().into()),
                    text: Err(TextError::TooLarge),
                    size,
                });
            }
            Ok(count) => {
                hash.update(&bytes[..count]);
                size += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(refused(error)),
        }
    }
    Err(Refusal::FileTooLarge.into())
}

/// Which tree is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeQuery {
    /// Where it begins, below the working folder; absent is that folder itself.
    pub path: Option<String>,
    /// Levels.
    pub depth: u64,
    /// Whether names are listed that begin with `.`, and those the project ignores.
    pub is_hidden_shown: bool,
}

/// What lies in a folder of `cwd` and below it. Links are shown and never descended; folders that
/// cannot be read are shown without what lies in them.
///
/// # Errors
/// The refusals of contract 6.1, and `NotADirectory`.
///
/// Source: contract 6.3.
pub fn tree(cwd: &Folder, ask: &TreeQuery) -> Result<FileTree> {
    let first = cwd.folder(ask.path.as_deref().unwrap_or("."))?;
    let below = first.path().strip_prefix(cwd.path()).unwrap_or_default();
    let below = below.trim_start_matches('/');
    let mut budget = limits::GITIGNORE_BYTES_MAX;
    let ignores = match ask.is_hidden_shown {
        true => None,
        false => Some(IgnoreRules::above(cwd, below, &mut budget)?),
    };
    let mut tree = FileTree::default();
    let mut bytes_left = limits::LISTING_BYTES_MAX;
    let mut ahead = VecDeque::from([(below.to_owned(), 1, ignores)]);
    let mut first = Some(first);
    while let Some((path, level, ignores)) = ahead.pop_front() {
        let folder = match first.take() {
            Some(first) => first,
            None => match cwd.folder(&format!("./{path}")) {
                Ok(folder) => folder,
                // It is gone, or closed to us.
                Err(_) => continue,
            },
        };
        let ignores = ignores.map(|ignores| IgnoreRules::of(&folder, &path, ignores, &mut budget));
        let room = limits::TREE_ENTRIES_MAX - tree.entries.len();
        // Every entry is told with the folder's path before it.
        let room = room.min(bytes_left / (path.len() + 1));
        let (found, is_cut) = match found(&folder, &path, ignores.as_deref(), room) {
            Err(error) if level == 1 => return Err(error),
            Err(_) => continue,
            Ok(found) => found,
        };
        for found in found {
            let Some(figures) = folder.size_and_mtime(&found.name) else {
                continue;
            };
            let path = beneath(&path, &found.name);
            bytes_left = bytes_left.saturating_sub(path.len());
            if level < ask.depth && found.is_directory && !found.is_link {
                ahead.push_back((path.clone(), level + 1, ignores.clone()));
            }
            tree.entries.push(FileTreeEntry {
                is_directory: found.is_directory,
                size: figures.size,
                mtime: figures.mtime,
                name: found.name,
                path,
                is_link: found.is_link,
            });
        }
        if is_cut {
            tree.truncated = true;
            break;
        }
    }
    Ok(tree)
}

/// What was found in a folder, before more is asked about it.
struct TreeCandidate {
    name: String,
    /// Whether it is a folder, or a link to one.
    is_directory: bool,
    is_link: bool,
}

impl NamedEntry for TreeCandidate {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_directory(&self) -> bool {
        self.is_directory
    }
}

/// The first `most` of what lies in the folder at `path`, without what `ignores` leaves out, and
/// whether there is more.
fn found(
    folder: &Folder,
    path: &str,
    ignores: Option<&IgnoreRules>,
    most: usize,
) -> Result<(Vec<TreeCandidate>, bool)> {
    let mut links = None;
    let mut first = BoundedListing::new(most);
    folder.each(|DirEntry { name, kind }| {
        let is_link = kind == DirEntryKind::Link;
        if let Some(ignores) = ignores
            && (name.starts_with('.')
                || ignores.hold(&beneath(path, &name), kind == DirEntryKind::Folder))
        {
            return Ok(());
        }
        let kind = match kind {
            DirEntryKind::Link => {
                followed(folder, &mut links, &name)?.unwrap_or(DirEntryKind::File)
            }
            known => known,
        };
        if kind != DirEntryKind::Other || is_link {
            first.add(TreeCandidate {
                name,
                is_directory: kind == DirEntryKind::Folder,
                is_link,
            });
        }
        Ok(())
    })?;
    Ok(first.in_order())
}

/// The path of what is called `name` in the folder at `path`.
fn beneath(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        above => format!("{above}/{name}"),
    }
}

/// The rules of one folder's `.gitignore`, and those of the folders above.
struct IgnoreRules {
    rules: Gitignore,
    /// The path from the top of the repository to the working folder, with a `/` behind it.
    lead: Rc<str>,
    /// Bytes of a path from the top that the folder itself takes.
    skipped: usize,
    above: Option<Rc<IgnoreRules>>,
}

impl IgnoreRules {
    /// The rules that count in the folder `below` of `cwd`, without its own; read from at most
    /// `budget` bytes, as everywhere here.
    fn above(cwd: &Folder, below: &str, budget: &mut u64) -> Result<Rc<Self>> {
        let found = project_tree::ignored_above(cwd, budget);
        let names: Vec<&str> = cwd.path().split('/').collect();
        let lead = names.get(names.len().saturating_sub(found.len())..);
        let lead: String = lead
            .unwrap_or_default()
            .iter()
            .map(|name| format!("{name}/"))
            .collect();
        let lead: Rc<str> = lead.into();
        let mut ignores = Rc::new(Self {
            rules: Gitignore::empty(),
            lead: Rc::clone(&lead),
            skipped: 0,
            above: None,
        });
        let mut skipped = 0;
        for (n, text) in found.iter().rev().enumerate() {
            if let Some(text) = text {
                ignores = ignores.with(text, skipped);
            }
            skipped += names
                .get(names.len() - found.len() + n)
                .map_or(0, |name| name.len() + 1);
        }
        let mut path = String::new();
        for name in below.split('/').filter(|name| !name.is_empty()) {
            ignores = Self::of(&cwd.folder(&format!("./{path}"))?, &path, ignores, budget);
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(name);
        }
        Ok(ignores)
    }

    /// The rules that count in `folder`, at `path` of the working folder.
    fn of(folder: &Folder, path: &str, above: Rc<Self>, budget: &mut u64) -> Rc<Self> {
        let skipped = match path {
            "" => above.lead.len(),
            path => above.lead.len() + path.len() + 1,
        };
        match project_tree::ignored_in(folder, budget) {
            Some(text) => above.with(&text, skipped),
            None => above,
        }
    }

    fn with(self: Rc<Self>, text: &str, skipped: usize) -> Rc<Self> {
        let mut rules = GitignoreBuilder::new("");
        for line in text.lines() {
            // A line that is no rule is passed over, as git does.
            let _ = rules.add_line(None, line);
        }
        Rc::new(Self {
            rules: rules.build().unwrap_or_else(|_| Gitignore::empty()),
            lead: Rc::clone(&self.lead),
            skipped,
            above: Some(self),
        })
    }

    /// Whether what lies at `path` of the working folder is left out; the nearest rule decides.
    fn hold(&self, path: &str, is_folder: bool) -> bool {
        let whole = format!("{}{path}", self.lead);
        let mut rules = Some(self);
        while let Some(own) = rules {
            let path = whole.get(own.skipped..).unwrap_or_default();
            match own.rules.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = own.above.as_deref(),
            }
        }
        false
    }
}

#[cfg(test)]
#[path = "file_reads_tests.rs"]
mod tests;
