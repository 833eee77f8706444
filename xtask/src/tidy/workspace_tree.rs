//! A tree: what the rules look at, read once; a test plants its own.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::failure::{Failure, Result, WithContext};
use crate::{step, tools};

/// The workspace as its files and its packages.
#[derive(Debug, Default)]
pub(super) struct WorkspaceTree {
    /// Text of every file under version control or about to be, by its path with `/`.
    /// Files that are not text, such as pictures, are absent.
    pub(super) files: BTreeMap<String, String>,
    /// Every package of the workspace.
    pub(super) packages: Vec<Package>,
}

/// One package of the workspace.
#[derive(Debug)]
pub(super) struct Package {
    /// As its manifest says.
    pub(super) name: String,
    /// What its manifest asks for, of the workspace and of others.
    pub(super) dependencies: Vec<Dependency>,
}

/// One row of a manifest's dependency tables.
#[derive(Debug)]
pub(super) struct Dependency {
    /// The package's name, also where the manifest gives it another one.
    pub(super) name: String,
    /// Whether only tests, examples and benchmarks see it.
    pub(super) is_dev: bool,
}

impl WorkspaceTree {
    /// Reads the workspace at `root`.
    ///
    /// # Errors
    /// When `git` or `cargo` cannot be asked, or a file cannot be read.
    pub(super) fn load(root: &Path) -> Result<Self> {
        let listed = listed_files(root)?;
        let mut files = BTreeMap::new();
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            if let Some(text) = text_of(&root.join(path))? {
                files.insert(path.to_owned(), text);
            }
        }
        let mut ask = tools::cargo(&["metadata", "--no-deps", "--format-version", "1"]);
        let metadata = step::captured("cargo metadata", ask.current_dir(root))?;
        let packages = packages_in(&metadata)?;
        Ok(Self { files, packages })
    }

    /// A tree of a test: paths with their texts.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        Self {
            files,
            packages: Vec::new(),
        }
    }

    /// The Rust files that the rules for source hold for, with their texts.
    pub(super) fn rust_sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .filter(|(path, _)| {
                let of_crate = path.starts_with("crates/") && path.contains("/src/");
                path.ends_with(".rs") && (of_crate || path.starts_with("xtask/src/"))
            })
    }
}

/// What `git` has or would take, so that a new file is checked before it is committed.
fn listed_files(root: &Path) -> Result<String> {
    if tools::on_path("git").is_none() {
        return Err(Failure::new(
            "git is needed to list the project's files: install it and try again",
        ));
    }
    let mut git = tools::command("git");
    git.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    step::captured("list of files", git.current_dir(root))
}

/// The text of a file; `None` when it is not text, or was deleted and not committed yet.
fn text_of(file: &Path) -> Result<Option<String>> {
    if !file.is_file() {
        return Ok(None);
    }
    let bytes = std::fs::read(file).with_context(format!("read {}", file.display()))?;
    Ok(String::from_utf8(bytes).ok())
}

/// The packages in the answer of `cargo metadata`.
fn packages_in(metadata: &str) -> Result<Vec<Package>> {
    let metadata: Value =
        serde_json::from_str(metadata).with_context("read the answer of `cargo metadata`")?;
    Ok(list(&metadata["packages"]).map(package_in).collect())
}

fn package_in(value: &Value) -> Package {
    let dependencies = list(&value["dependencies"]).map(|dependency| Dependency {
        name: text(&dependency["name"]),
        is_dev: dependency["kind"] == "dev",
    });
    Package {
        name: text(&value["name"]),
        dependencies: dependencies.collect(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_read_with_its_files_and_packages() {
        let tree = WorkspaceTree::load(&tools::root()).unwrap();
        assert!(
            tree.rust_sources()
                .any(|(path, _)| path == "xtask/src/tidy/workspace_tree.rs")
        );
        let own = tree
            .packages
            .iter()
            .find(|package| package.name == "xtask")
            .unwrap();
        assert!(
            own.dependencies
                .iter()
                .any(|dependency| dependency.name == "serde_json" && !dependency.is_dev)
        );
    }
}
