//! Rule: a source file opens with what it is for.

use super::Finding;
use super::workspace_tree::WorkspaceTree;

/// Finds source files that do not start with a module doc.
pub(super) fn check(tree: &WorkspaceTree) -> Vec<Finding> {
    tree.rust_sources()
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(path, _)| Finding::of_file(path, "start the file with `//! ` and what it is for"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_module_doc_is_caught() {
        let tree = WorkspaceTree::of(&[
            ("crates/store/src/rooms.rs", "use std::fmt;\n"),
            ("crates/store/src/members.rs", "//! Members: rows.\n"),
            ("crates/store/tests/it/main.rs", "mod rooms;\n"),
        ]);
        assert_eq!(
            check(&tree),
            [Finding::of_file(
                "crates/store/src/rooms.rs",
                "start the file with `//! ` and what it is for"
            )]
        );
    }
}
