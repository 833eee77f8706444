//! `cargo xtask web`: the page, built into `web/dist` when anything it is made of has changed.
//!
//! What was built is remembered as two digests, of what went in and of what came out:
//! a folder that was emptied or replaced by a placeholder is built again.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::failure::{Failure, Result, WithContext};
use crate::{step, toolchain, tools};

/// The name of the step that installs packages.
const INSTALL: &str = "page: packages";

/// The name of the step that builds.
const BUILD: &str = "page: build";

/// Entries of `web/` that do not go into the page, or are made from what does.
const NOT_INPUTS: &[&str] = &[
    "node_modules",
    "dist",
    "tests",
    "test-results",
    "playwright-report",
    "src/api/schema.d.ts",
];

/// Builds the page unless `web/dist` is already what the sources make.
///
/// # Errors
/// One sentence when Node.js or npm is missing, or when the step that failed is named.
pub(crate) fn run() -> Result<()> {
    let root = tools::root();
    if is_current(&root)? {
        step::nothing_to_do(BUILD, "nothing changed");
        return Ok(());
    }
    install(&root)?;
    // Taken before the build, so that a file saved while it runs is built next time.
    let inputs = inputs_digest(&root)?;
    step::run(BUILD, &mut tools::npm(&["run", "--silent", "build"]))?;
    remember(&root, &inputs)
}

/// Installs the packages that `web/package-lock.json` names, when it is newer than they are.
///
/// # Errors
/// One sentence when Node.js or npm is missing, or the installation fails.
pub(crate) fn install(root: &Path) -> Result<()> {
    toolchain::node()?;
    let lock = root.join("web/package-lock.json");
    let installed = root.join("web/node_modules/.package-lock.json");
    if modified(&installed)
        .is_some_and(|installed| modified(&lock).is_some_and(|lock| lock <= installed))
    {
        return Ok(());
    }
    let mut npm = tools::npm(&["ci", "--no-audit", "--no-fund"]);
    // The tests use the system's Chromium; a download of another one is never wanted.
    npm.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    step::run(INSTALL, &mut npm)
}

/// When a file was last written, `None` when it is missing.
fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|about| about.modified()).ok()
}

/// Whether the remembered digests are those of now.
fn is_current(root: &Path) -> Result<bool> {
    let Ok(remembered) = fs::read_to_string(stamp(root)) else {
        return Ok(false);
    };
    if !root.join("web/dist/index.html").is_file() {
        return Ok(false);
    }
    Ok(remembered == stamp_text(&inputs_digest(root)?, &output_digest(root)?))
}

/// Writes down what was built from what.
fn remember(root: &Path, inputs: &str) -> Result<()> {
    let stamp = stamp(root);
    if let Some(folder) = stamp.parent() {
        fs::create_dir_all(folder).with_context(format!("make {}", folder.display()))?;
    }
    fs::write(&stamp, stamp_text(inputs, &output_digest(root)?))
        .with_context(format!("write {}", stamp.display()))
}

/// Where the digests are kept: installing the packages anew forgets them.
fn stamp(root: &Path) -> PathBuf {
    root.join("web/node_modules/.cache/guildhall-page")
}

/// The remembered text.
fn stamp_text(inputs: &str, output: &str) -> String {
    format!("in {inputs}\nout {output}\n")
}

/// The digest of all that the page is made of, the interface's description included.
fn inputs_digest(root: &Path) -> Result<String> {
    let web = root.join("web");
    let mut files = files_below(&web, &|path| {
        !NOT_INPUTS.iter().any(|not| path == web.join(not))
    })?;
    files.push(root.join("openapi.json"));
    digest(root, &files)
}

/// The digest of the built page.
fn output_digest(root: &Path) -> Result<String> {
    digest(root, &files_below(&root.join("web/dist"), &|_| true)?)
}

/// The digest of names and contents; it tells versions apart and protects against nothing.
fn digest(root: &Path, files: &[PathBuf]) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for file in files {
        let content = fs::read(file).with_context(format!("read {}", file.display()))?;
        let name = file
            .strip_prefix(root)
            .unwrap_or(file)
            .to_string_lossy()
            .into_owned();
        for part in [name.as_bytes(), content.as_slice()] {
            hasher.write_usize(part.len());
            hasher.write(part);
        }
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// Every file below `folder` that `wanted` takes, in the order of their names.
fn files_below(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|cause| {
            Failure::new(format!("could not list {}: {cause}", folder.display()))
        })?;
        for entry in entries {
            let path = entry
                .with_context(format!("list {}", folder.display()))?
                .path();
            match (wanted(&path), path.is_dir()) {
                (false, _) => {}
                (true, true) => folders.push(path),
                (true, false) => files.push(path),
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project of its own below the folder for temporary files, removed at the end.
    struct TempProject(PathBuf);

    impl TempProject {
        fn with(name: &str, files: &[(&str, &str)]) -> Self {
            let root =
                std::env::temp_dir().join(format!("xtask-web-{name}-{}", std::process::id()));
            let project = Self(root);
            for (path, text) in files {
                project.write(path, text);
            }
            project
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn built(name: &str) -> Self {
            let files = [
                ("openapi.json", "{}"),
                ("web/package-lock.json", "{}"),
                ("web/src/main.ts", "1"),
                ("web/dist/index.html", "<p>"),
            ];
            let project = Self::with(name, &files);
            remember(&project.0, &inputs_digest(&project.0).unwrap()).unwrap();
            assert!(is_current(&project.0).unwrap());
            project
        }
    }

    impl Drop for TempProject {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_changed_source_is_built_again() {
        let project = TempProject::built("source");
        project.write("web/src/main.ts", "2");
        assert!(!is_current(&project.0).unwrap());
    }

    #[test]
    fn a_changed_interface_is_built_again() {
        let project = TempProject::built("interface");
        project.write("openapi.json", "{\"openapi\": \"3.1.0\"}");
        assert!(!is_current(&project.0).unwrap());
    }

    #[test]
    fn a_replaced_page_is_built_again() {
        let project = TempProject::built("page");
        project.write("web/dist/index.html", "placeholder");
        assert!(!is_current(&project.0).unwrap());
    }

    #[test]
    fn tests_and_made_types_are_not_part_of_the_page() {
        let project = TempProject::built("tests");
        project.write("web/tests/room.spec.ts", "1");
        project.write("web/src/api/schema.d.ts", "1");
        assert!(is_current(&project.0).unwrap());
    }
}
