//! Rule: the project stands alone; no file points at a folder beside it.

use super::Finding;
use super::workspace_tree::WorkspaceTree;

/// The folder beside the project that a reader elsewhere does not have.
/// Written in two parts, so that this file keeps its own rule.
const OUTSIDE: &str = concat!("../sha", "red");

/// Finds lines that name it.
pub(super) fn check(tree: &WorkspaceTree) -> Vec<Finding> {
    let files = tree.files.iter();
    files
        .flat_map(|(path, text)| {
            let lines = text
                .lines()
                .enumerate()
                .filter(|(_, line)| line.contains(OUTSIDE));
            let says = "say it here: a reader of the project has no folder beside it";
            lines.map(move |(number, _)| Finding::of_line(path, number + 1, says))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leaves_the_project_is_caught() {
        let text = format!("# Rooms\nSee `{OUTSIDE}/spec.md`.\n");
        assert_eq!(
            check(&WorkspaceTree::of(&[
                ("docs/rooms.md", &text),
                ("README.md", "shared by all\n")
            ])),
            [Finding::of_line(
                "docs/rooms.md",
                2,
                "say it here: a reader of the project has no folder beside it"
            )]
        );
    }
}
