//! File reads on the wire. Source: contract 6.3.

use guildhall_domain::{
    Timestamp, file_reads as domain,
    files::{Digest, FileIdentity},
};
use serde::Serialize;
use utoipa::ToSchema;

/// A text file.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileContent {
    /// Where it lies, absolute and without links: as events name it.
    #[schema(example = "/home/ada/tally/plan.md")]
    pub path: String,
    /// What it holds, byte for byte.
    #[schema(example = "# Plan\n")]
    pub content: String,
    /// The SHA-256 of its bytes, 64 lower-case hex digits.
    #[schema(value_type = String)]
    pub hash: Digest,
    /// Always `sha256`.
    #[schema(example = "sha256")]
    pub hash_algorithm: &'static str,
    /// Always `utf-8`.
    #[schema(example = "utf-8")]
    pub encoding: &'static str,
    /// Says that a file is the same one: a file put in its place has another.
    #[schema(value_type = String)]
    pub identity: FileIdentity,
    /// Its bytes.
    pub size: u64,
    /// When it was last written.
    #[schema(value_type = String, format = DateTime)]
    pub mtime: Timestamp,
    /// Whether the caller could save it now.
    pub writable: bool,
}

impl From<domain::FileContent> for FileContent {
    fn from(file: domain::FileContent) -> Self {
        Self {
            path: file.path,
            content: file.content,
            hash: file.hash,
            hash_algorithm: "sha256",
            encoding: "utf-8",
            identity: file.identity,
            size: file.size,
            mtime: file.mtime,
            writable: file.writable,
        }
    }
}

/// A folder or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileTreeEntryKind {
    /// Anything but a folder.
    File,
    /// A folder, or a link to one in the working folder.
    Dir,
}

/// One line of a tree.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileTreeEntry {
    /// Its name.
    #[schema(example = "main.rs")]
    pub name: String,
    /// Its path below the working folder.
    #[schema(example = "src/main.rs")]
    pub path: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: FileTreeEntryKind,
    /// Its bytes; of a link those of the link itself.
    pub size: u64,
    /// When it was last written.
    #[schema(value_type = String, format = DateTime)]
    pub mtime: Timestamp,
    /// Whether it is a link; what lies behind one is not listed.
    pub is_symlink: bool,
}

/// What lies in a folder and below it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileTree {
    /// Level by level; in each folder its folders, then its files, by their names without regard
    /// to case. At most 10,000.
    pub entries: Vec<FileTreeEntry>,
    /// Whether there is more than is listed.
    pub truncated: bool,
}

impl From<domain::FileTree> for FileTree {
    fn from(tree: domain::FileTree) -> Self {
        let entries = tree.entries.into_iter().map(|entry| FileTreeEntry {
            name: entry.name,
            path: entry.path,
            kind: match entry.is_directory {
                true => FileTreeEntryKind::Dir,
                false => FileTreeEntryKind::File,
            },
            size: entry.size,
            mtime: entry.mtime,
            is_symlink: entry.is_link,
        });
        Self {
            entries: entries.collect(),
            truncated: tree.truncated,
        }
    }
}
