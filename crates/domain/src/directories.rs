//! Directories: what a listing of one shows and in which order, and how a new one may be called.
//! Pure: reading and making them is `world::directories`, who may ask is `hall::directories`.

use crate::{Refusal, limits};

/// A folder with what lies in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// Its absolute path, without links.
    pub path: String,
    /// Folders first, then files, each in the order of their names.
    pub entries: Vec<DirectoryEntry>,
    /// The folder it lies in; `None` at the effective root.
    pub parent: Option<String>,
    /// Whether more lies in it than is listed.
    pub truncated: bool,
}

/// A folder or regular file; a link counts as what it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its name.
    pub name: String,
    /// Whether it is a folder.
    pub is_directory: bool,
}

/// What has its place in a listing.
pub trait NamedEntry {
    /// Its name.
    fn name(&self) -> &str;
    /// Whether it is a folder.
    fn is_directory(&self) -> bool;
}

impl NamedEntry for DirectoryEntry {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_directory(&self) -> bool {
        self.is_directory
    }
}

/// The first ones of what lies in a folder, in its order: folders before files, each by its name
/// with case folded, then by the bytes of its name. However many come, few more are kept than are
/// asked for.
///
/// Source: contract 6.2.
pub struct BoundedListing<T> {
    most: usize,
    /// At most twice as many, in no order.
    kept: Vec<FoldedEntry<T>>,
    is_cut: bool,
}

impl<T: NamedEntry> BoundedListing<T> {
    /// The first `most` of what is added.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            kept: Vec::new(),
            is_cut: false,
        }
    }

    /// Adds one.
    pub fn add(&mut self, entry: T) {
        self.kept.push(FoldedEntry::new(entry));
        if self.kept.len() > 2 * self.most {
            self.cut();
        }
    }

    /// The first ones in their order, and whether there are more.
    pub fn in_order(mut self) -> (Vec<T>, bool) {
        self.cut();
        self.kept
            .sort_unstable_by(|one, other| one.key().cmp(&other.key()));
        let entries = self.kept.into_iter().map(|keyed| keyed.entry);
        (entries.collect(), self.is_cut)
    }

    fn cut(&mut self) {
        if self.kept.len() <= self.most {
            return;
        }
        self.is_cut = true;
        self.kept
            .select_nth_unstable_by(self.most, |one, other| one.key().cmp(&other.key()));
        self.kept.truncate(self.most);
    }
}

/// An entry with its folded name, which is made once and not at every comparison.
struct FoldedEntry<T> {
    entry: T,
    /// `None` where the name is its own folded form.
    folded: Option<String>,
}

impl<T: NamedEntry> FoldedEntry<T> {
    fn new(entry: T) -> Self {
        let folded = folded(entry.name());
        Self { entry, folded }
    }

    fn key(&self) -> (bool, &str, &str) {
        let name = self.entry.name();
        let folded = self.folded.as_deref().unwrap_or(name);
        (!self.entry.is_directory(), folded, name)
    }
}

/// The name with case folded, character for character (Unicode, "simple case folding"); `None`
/// when it is that already. The order of UTF-8 bytes is that of code points.
fn folded(name: &str) -> Option<String> {
    let is_folded = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    if name.bytes().all(is_folded) {
        return None;
    }
    let fold = |char: char| match char {
        'A'..='Z' => char.to_ascii_lowercase(),
        '\0'..='\x7f' => char,
        _ => {
            let folded = unicode_case_mapping::case_folded(char);
            folded
                .and_then(|folded| char::from_u32(folded.get()))
                .unwrap_or(char)
        }
    };
    Some(name.chars().map(fold).collect())
}

/// What is wrong with a folder's path as a caller wrote it; `None` for an absolute path and one
/// that begins with `~`.
///
/// Source: contract 6.1, "Caller paths".
pub fn problem_of_folder(path: &str) -> Option<&'static str> {
    let is_meant = path.starts_with('/') || path.starts_with('~');
    (!is_meant).then_some("must be an absolute path, or begin with ~")
}

/// The name of a new folder: letters, digits, `.`, `_`, `-` and spaces of ASCII, at most 64, the
/// first and the last a letter or digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderName(String);

impl FolderName {
    /// Reads a name as a person typed it.
    ///
    /// # Errors
    /// [`Refusal::Validation`] of `folderName`.
    ///
    /// Source: contract 6.2, neighbours.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let is_within = |byte: u8| byte.is_ascii_alphanumeric() || b"._ -".contains(&byte);
        let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        let mut bytes = text.bytes();
        let ends = is_end(text.bytes().next()) && is_end(text.bytes().next_back());
        if !ends || !bytes.all(is_within) || text.len() > limits::FOLDER_NAME_CHARS_MAX {
            return Err(Refusal::field(
                "folderName",
                "must be 1 to 64 letters, digits, dots, underscores, hyphens and spaces, and begin and end with a letter or digit",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(name: &str) -> DirectoryEntry {
        let is_directory = name.ends_with('/');
        DirectoryEntry {
            name: name.trim_end_matches('/').to_owned(),
            is_directory,
        }
    }

    fn in_order(entries: Vec<DirectoryEntry>, most: usize) -> (Vec<DirectoryEntry>, bool) {
        let mut first = BoundedListing::new(most);
        for entry in entries {
            first.add(entry);
            assert!(first.kept.len() <= 2 * most);
        }
        first.in_order()
    }

    fn names(entries: &[DirectoryEntry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn folders_come_first_and_case_is_folded_before_bytes_count() {
        let entries = [
            "b", "B", "a", "A/", "z/", "Z/", "Ärger", "ärger", "_", "10", "9", "ſoo", "sop", "SON",
            "ẞ", "ß", "ΣΑ", "ςβ", "σα", "İ",
        ];
        let (ordered, truncated) = in_order(entries.iter().map(|name| entry(name)).collect(), 99);
        assert_eq!(
            names(&ordered),
            [
                "A", "Z", "z", "10", "9", "_", "a", "B", "b", "SON", "ſoo", "sop", "ß", "ẞ",
                "Ärger", "ärger", "İ", "ΣΑ", "σα", "ςβ",
            ]
        );
        assert!(!truncated);
    }

    #[test]
    fn more_than_most_are_cut_behind_the_first_ones() {
        let entries = || vec![entry("c"), entry("a"), entry("b/")];
        for (most, kept, truncated) in [
            (3, &["b", "a", "c"][..], false),
            (2, &["b", "a"], true),
            (0, &[], true),
        ] {
            let (ordered, is_cut) = in_order(entries(), most);
            assert_eq!((names(&ordered).as_slice(), is_cut), (kept, truncated));
        }
        assert!(!in_order(Vec::new(), 0).1);
    }

    #[test]
    fn a_new_folder_is_called_by_plain_letters() {
        let longest = "x".repeat(64);
        for name in ["a", "7", "ab", "My Project", "a.b_c-d", longest.as_str()] {
            assert_eq!(
                FolderName::parse(name).map(|name| name.0),
                Ok(name.to_owned())
            );
        }
        let long = "x".repeat(65);
        for name in [
            "",
            " ",
            ".",
            "..",
            ".git",
            "a/",
            "a/b",
            "-a",
            "a ",
            "a\n",
            "ä",
            "a\0b",
            long.as_str(),
        ] {
            assert!(FolderName::parse(name).is_err(), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn any_names_are_ordered_alike_whatever_their_order_was(
            names in prop::collection::hash_set(any::<String>(), 0..20),
            most in 0_usize..25,
        ) {
            let make = |name: &String| DirectoryEntry {
                name: name.clone(),
                is_directory: name.len().is_multiple_of(2),
            };
            let there: Vec<DirectoryEntry> = names.iter().map(make).collect();
            let back: Vec<DirectoryEntry> = there.iter().rev().cloned().collect();
            let (mut all, _) = in_order(there.clone(), names.len());
            let one = in_order(there, most);
            prop_assert_eq!(&one, &in_order(back, most));
            all.truncate(most);
            prop_assert_eq!(one, (all, names.len() > most));
        }
    }
}
