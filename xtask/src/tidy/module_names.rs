//! Rule: a crate, a module and a folder of the page are named after what they hold.

use super::Finding;
use super::rust_tokens;
use super::workspace_tree::WorkspaceTree;

/// Names that say nothing of what is inside.
const BANNED: &[&str] = &[
    "core", "common", "utils", "util", "shared", "helpers", "helper", "misc", "manager", "service",
];

/// Finds packages, files, folders and inline modules with such a name.
pub(super) fn check(tree: &WorkspaceTree) -> Vec<Finding> {
    let packages = tree.packages.iter().filter_map(|package| {
        let banned = package.name.split('-').find(|part| is_banned(part))?;
        Some(Finding::of_file(
            &format!("package {}", package.name),
            sentence(banned),
        ))
    });
    let files = tree
        .files
        .keys()
        .filter(|path| is_source(path))
        .filter_map(|path| {
            let banned = names_in(path).find(|name| is_banned(name))?;
            Some(Finding::of_file(path, sentence(banned)))
        });
    let inline = tree
        .rust_sources()
        .flat_map(|(path, text)| inline_modules(path, text));
    packages.chain(files).chain(inline).collect()
}

fn is_banned(name: &str) -> bool {
    BANNED.contains(&name.to_ascii_lowercase().as_str())
}

fn sentence(name: &str) -> String {
    format!("`{name}` says nothing of what is inside: name it after what it holds")
}

fn is_source(path: &str) -> bool {
    ["crates/", "xtask/", "web/src/"]
        .iter()
        .any(|root| path.starts_with(root))
}

/// The names of the folders and of the file, without what follows its first dot.
fn names_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.split('.').next())
}

/// Modules written inside a file.
fn inline_modules(path: &str, text: &str) -> Vec<Finding> {
    let code = rust_tokens::code_only(text);
    let tokens = rust_tokens::tokens(&code);
    tokens
        .windows(3)
        .filter(|three| three[0].text == "mod" && three[2].text == "{" && is_banned(three[1].text))
        .map(|three| Finding::of_line(path, three[1].line, sentence(three[1].text)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::workspace_tree::Package;
    use super::*;

    #[test]
    fn a_banned_name_is_caught_wherever_it_stands() {
        let mut tree = WorkspaceTree::of(&[
            ("crates/hall/src/utils.rs", ""),
            ("crates/hall/src/common/rooms.rs", ""),
            ("crates/hall/src/rooms.rs", "//! Rooms.\nmod helpers {\n}\n"),
            ("web/src/shared/Button.svelte", ""),
        ]);
        tree.packages.push(Package {
            name: "guildhall-core".to_owned(),
            dependencies: Vec::new(),
        });
        let places: Vec<_> = check(&tree)
            .into_iter()
            .map(|finding| finding.place)
            .collect();
        assert_eq!(
            places,
            [
                "package guildhall-core",
                "crates/hall/src/common/rooms.rs",
                "crates/hall/src/utils.rs",
                "web/src/shared/Button.svelte",
                "crates/hall/src/rooms.rs:2",
            ]
        );
    }

    #[test]
    fn a_name_that_only_contains_one_is_fine() {
        assert_eq!(
            check(&WorkspaceTree::of(&[
                ("crates/hall/src/score.rs", ""),
                ("docs/common.md", "")
            ])),
            []
        );
    }
}
