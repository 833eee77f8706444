//! Directories on the wire. Source: contract 6.2.

use guildhall_domain::directories as domain;
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// A folder or regular file. Borrowed, because listings are long.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DirectoryEntry<'a> {
    /// Its name.
    #[schema(example = "project")]
    pub name: &'a str,
    /// Its absolute path; a link is named by its own.
    #[schema(example = "/home/ada/project")]
    pub path: String,
    /// Whether it is a folder, or a link to one.
    pub is_directory: bool,
}

/// A folder with what lies in it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Directory<'a> {
    /// Its absolute path, without links.
    #[schema(example = "/home/ada")]
    pub path: &'a str,
    /// Folders, then files, each by their names without regard to case; at most 5,000.
    pub entries: Vec<DirectoryEntry<'a>>,
    /// The folder it lies in; null at the top of what the caller may look into.
    #[schema(required = true)]
    pub parent: Option<&'a str>,
    /// Whether more lies in it than is listed.
    pub truncated: bool,
}

impl<'a> From<&'a domain::Directory> for Directory<'a> {
    fn from(directory: &'a domain::Directory) -> Self {
        let lead = match directory.path.as_str() {
            "/" => "",
            path => path,
        };
        let entries = directory.entries.iter().map(|entry| {
            let mut path = String::with_capacity(lead.len() + 1 + entry.name.len());
            path.push_str(lead);
            path.push('/');
            path.push_str(&entry.name);
            DirectoryEntry {
                name: &entry.name,
                path,
                is_directory: entry.is_directory,
            }
        });
        Self {
            path: &directory.path,
            entries: entries.collect(),
            parent: directory.parent.as_deref(),
            truncated: directory.truncated,
        }
    }
}

/// Where a folder lies.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DirectoryPath {
    /// Its absolute path, without links.
    #[schema(example = "/home/ada/project")]
    pub path: String,
}

/// Makes a folder.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateDirectory {
    /// The folder it will lie in, absolute or beginning with `~`.
    #[schema(example = "~")]
    pub parent_path: String,
    /// 1..64 letters, digits, dots, underscores, hyphens and spaces; a letter or digit at both
    /// ends.
    #[schema(example = "project")]
    pub folder_name: String,
}

impl FromFields for CreateDirectory {
    fn read(fields: &mut Fields) -> Self {
        Self {
            parent_path: fields.folder("parentPath"),
            folder_name: fields.text("folderName"),
        }
    }
}
