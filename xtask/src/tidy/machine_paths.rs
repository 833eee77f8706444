//! Rule: no file names a folder of one machine, or a package registry that others do not have.

use super::Finding;
use super::workspace_tree::WorkspaceTree;

/// Openings of paths that only one machine has.
/// Written in two parts, so that this file keeps its own rule.
const MACHINE_PATHS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/tmp/bash", "_jobs"),
    concat!(".lib", "rary"),
    concat!("/fa", "rm/"),
];

/// Where Cargo's lock file may say that a package comes from.
const CARGO_SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What an address in npm's lock file starts with.
const NPM_REGISTRY: &str = "https://registry.npmjs.org/";

/// Settings that send a package client elsewhere, by the ending of the file's name.
const REDIRECTS: &[(&str, &str)] = &[
    (".npmrc", "registry"),
    (".cargo/config.toml", "replace-with"),
    (".cargo/config.toml", "registry"),
    ("pip.conf", "index-url"),
];

/// Finds such paths and addresses.
pub(super) fn check(tree: &WorkspaceTree) -> Vec<Finding> {
    tree.files
        .iter()
        .flat_map(|(path, text)| of_file(path, text))
        .collect()
}

fn of_file(path: &str, text: &str) -> Vec<Finding> {
    let numbered = text.lines().enumerate();
    numbered
        .filter_map(|(number, line)| Some(Finding::of_line(path, number + 1, breach(path, line)?)))
        .collect()
}

/// The sentence for one line, `None` when it is fine.
fn breach(path: &str, line: &str) -> Option<String> {
    if let Some(found) = MACHINE_PATHS.iter().find(|found| names_path(line, found)) {
        return Some(format!(
            "`{found}` is a folder of one machine: use a path below the project, or an example"
        ));
    }
    if let Some(setting) = redirect(path, line) {
        return Some(format!(
            "`{setting}` sends package clients to a registry that others do not have"
        ));
    }
    foreign_registry(path, line)
        .map(|address| format!("`{address}` is a registry that others do not have"))
}

/// The setting that `line` makes, when it sends a package client elsewhere.
fn redirect<'a>(path: &str, line: &'a str) -> Option<&'a str> {
    let key = line.split_once('=')?.0.trim();
    // npm allows a registry for each scope: `@scope:registry`.
    let name = key.rsplit(':').next()?;
    let is_redirect = |(file, setting): &(&str, &str)| path.ends_with(file) && name == *setting;
    REDIRECTS.iter().any(is_redirect).then_some(key)
}

/// Whether `line` holds `opening` where a path can begin.
fn names_path(line: &str, opening: &str) -> bool {
    line.match_indices(opening).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        before.is_none_or(|letter| {
            !(letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '}' | ')' | ']'))
        })
    })
}

/// The address of another registry in a line of a lock file.
fn foreign_registry<'a>(path: &str, line: &'a str) -> Option<&'a str> {
    let (key, usual) = if path.ends_with("Cargo.lock") {
        ("source = \"", CARGO_SOURCE)
    } else if path.ends_with("package-lock.json") {
        ("\"resolved\": \"", NPM_REGISTRY)
    } else {
        return None;
    };
    let address = line.trim().strip_prefix(key)?.split('"').next()?;
    (!address.starts_with(usual)).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<String> {
        check(&WorkspaceTree::of(&[(path, text)]))
            .into_iter()
            .map(|finding| finding.place)
            .collect()
    }

    #[test]
    fn a_folder_of_one_machine_is_caught_in_any_file() {
        for opening in MACHINE_PATHS {
            assert_eq!(
                lines_found("README.md", &format!("fine\nsee `{opening}x`\n")),
                ["README.md:2"]
            );
        }
    }

    #[test]
    fn the_same_letters_inside_another_path_are_fine() {
        let inside = format!(
            "frame{}x and {{base}}{}x",
            MACHINE_PATHS[0], MACHINE_PATHS[0]
        );
        assert_eq!(lines_found("docs/paths.md", &inside), [""; 0]);
    }

    #[test]
    fn a_foreign_registry_in_a_lock_file_is_caught() {
        let npm = "  \"resolved\": \"https://mirror.test/vite.tgz\",\n  \"resolved\": \"https://registry.npmjs.org/vite.tgz\",\n";
        assert_eq!(
            lines_found("web/package-lock.json", npm),
            ["web/package-lock.json:1"]
        );
        let cargo =
            format!("source = \"{CARGO_SOURCE}\"\nsource = \"sparse+https://mirror.test/\"\n");
        assert_eq!(lines_found("Cargo.lock", &cargo), ["Cargo.lock:2"]);
    }

    #[test]
    fn a_setting_that_redirects_a_client_is_caught() {
        let npm = "omit-lockfile-registry-resolved=true\n@ours:registry=https://mirror.test\n";
        assert_eq!(lines_found("web/.npmrc", npm), ["web/.npmrc:2"]);
        assert_eq!(
            lines_found(
                ".cargo/config.toml",
                "[source.crates-io]\nreplace-with = \"x\"\n"
            ),
            [".cargo/config.toml:2"]
        );
    }
}
