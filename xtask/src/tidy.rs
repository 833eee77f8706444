//! `cargo xtask tidy`: the house rules that neither compiler nor linter knows.
//!
//! A rule is a pure function from a [`WorkspaceTree`] to findings, in a file of its own that shows what it
//! catches; the same rules run as an ordinary test of this package.

mod authority;
mod crate_graph;
mod file_length;
mod hall_areas;
mod machine_paths;
mod module_docs;
mod module_names;
mod named_tests;
mod outside_paths;
mod retired_names;
mod rust_tokens;
mod shell_and_unsafe;
mod workspace_tree;

use std::fmt;

use crate::failure::{Failure, Result};
use crate::{step, tools};
use workspace_tree::WorkspaceTree;

/// One rule of the house.
struct Rule {
    /// Two or three words for the report.
    name: &'static str,
    /// Finds every breach.
    check: fn(&WorkspaceTree) -> Vec<Finding>,
}

/// Every rule, in the order of CONTRIBUTING.md.
const RULES: &[Rule] = &[
    Rule {
        name: "crate graph",
        check: crate_graph::check,
    },
    Rule {
        name: "hall areas",
        check: hall_areas::check,
    },
    Rule {
        name: "module docs",
        check: module_docs::check,
    },
    Rule {
        name: "names",
        check: module_names::check,
    },
    Rule {
        name: "retired names",
        check: retired_names::check,
    },
    Rule {
        name: "authority table",
        check: authority::check,
    },
    Rule {
        name: "machine paths",
        check: machine_paths::check,
    },
    Rule {
        name: "file length",
        check: file_length::check,
    },
    Rule {
        name: "no shell, no unsafe",
        check: shell_and_unsafe::check,
    },
    Rule {
        name: "nothing outside",
        check: outside_paths::check,
    },
    Rule {
        name: "promises",
        check: named_tests::check,
    },
];

/// One breach: where, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// A path below the workspace, with `:line` where one line is to blame.
    place: String,
    /// One sentence without a final stop.
    says: String,
}

impl Finding {
    /// A breach of a whole file.
    fn of_file(path: &str, says: impl Into<String>) -> Self {
        Self {
            place: path.to_owned(),
            says: says.into(),
        }
    }

    /// A breach in one line, counted from 1.
    fn of_line(path: &str, line: usize, says: impl Into<String>) -> Self {
        Self {
            place: format!("{path}:{line}"),
            says: says.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.says)
    }
}

/// Checks the workspace and prints every breach.
///
/// # Errors
/// When a rule is broken, or the workspace cannot be read.
pub(crate) fn run() -> Result<()> {
    let report = report(&WorkspaceTree::load(&tools::root())?);
    if report.is_empty() {
        step::nothing_to_do("house rules", &format!("all {} hold", RULES.len()));
        return Ok(());
    }
    for line in &report {
        println!("{line}");
    }
    Err(Failure::new(match report.len() {
        1 => "1 house rule is broken, as told above".to_owned(),
        many => format!("house rules are broken in {many} places, as told above"),
    }))
}

/// Every breach of every rule, as lines to print.
fn report(tree: &WorkspaceTree) -> Vec<String> {
    RULES
        .iter()
        .flat_map(|rule| {
            (rule.check)(tree)
                .into_iter()
                .map(|found| format!("{found} [{}]", rule.name))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_keeps_every_rule() {
        let tree = WorkspaceTree::load(&tools::root()).unwrap();
        assert_eq!(report(&tree).join("\n"), "");
    }

    #[test]
    fn a_finding_reads_as_place_and_sentence() {
        let finding = Finding::of_line("crates/domain/src/lib.rs", 3, "mend this");
        assert_eq!(finding.to_string(), "crates/domain/src/lib.rs:3: mend this");
    }
}
