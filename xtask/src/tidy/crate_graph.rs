//! Rule: packages depend on each other, and on others' libraries, only as the floors allow.

use super::Finding;
use super::workspace_tree::{Dependency, Package, WorkspaceTree};

/// One floor of the house.
struct PackageRule {
    /// The package's name.
    package: &'static str,
    /// Packages of the house that it may use, tests aside.
    uses: &'static [&'static str],
    /// Others' libraries that would bring another floor's work into this one.
    never: &'static [&'static str],
}

/// The only package that tests may use and nothing else.
const TESTKIT: &str = "guildhall-testkit";

/// The floors, from the ground up; the same picture stands in ARCHITECTURE.md.
const FLOORS: &[PackageRule] = &[
    PackageRule {
        package: "guildhall-domain",
        uses: &[],
        never: &["tokio", "axum", "hyper", "rusqlite"],
    },
    PackageRule {
        package: "guildhall-store",
        uses: &["guildhall-domain"],
        never: &["axum", "hyper"],
    },
    PackageRule {
        package: "guildhall-world",
        uses: &["guildhall-domain"],
        never: &["axum", "rusqlite"],
    },
    PackageRule {
        package: "guildhall-hall",
        uses: &["guildhall-domain", "guildhall-store", "guildhall-world"],
        never: &["axum", "http", "hyper", "utoipa", "rusqlite"],
    },
    PackageRule {
        package: "guildhall-listener",
        uses: &["guildhall-domain", "guildhall-world"],
        never: &["axum", "rusqlite"],
    },
    PackageRule {
        package: "guildhall-wire",
        uses: &["guildhall-domain"],
        never: &["tokio", "axum", "hyper", "rusqlite"],
    },
    PackageRule {
        package: "guildhall-http",
        uses: &[
            "guildhall-domain",
            "guildhall-hall",
            "guildhall-listener",
            "guildhall-wire",
        ],
        never: &["rusqlite"],
    },
    PackageRule {
        package: "guildhall",
        uses: &[
            "guildhall-domain",
            "guildhall-hall",
            "guildhall-http",
            "guildhall-rehearsal",
            "guildhall-store",
            "guildhall-wire",
            "guildhall-world",
        ],
        never: &[],
    },
    PackageRule {
        package: "guildhall-cloud",
        uses: &[
            "guildhall-domain",
            "guildhall-listener",
            "guildhall-wire",
            "guildhall-world",
        ],
        never: &[],
    },
    PackageRule {
        package: "guildhall-rehearsal",
        uses: &[],
        never: &["axum", "hyper", "rusqlite"],
    },
    PackageRule {
        package: "guildhall-fake-llm",
        uses: &["guildhall-rehearsal"],
        never: &["rusqlite"],
    },
    PackageRule {
        package: TESTKIT,
        uses: &[
            "guildhall-domain",
            "guildhall-hall",
            "guildhall-http",
            "guildhall-store",
            "guildhall-wire",
            "guildhall-world",
        ],
        never: &[],
    },
    PackageRule {
        package: "guildhall-bench",
        uses: &["guildhall-domain", "guildhall-store", "guildhall-world"],
        never: &["axum", "hyper", "rusqlite"],
    },
    PackageRule {
        package: "guildhall-fuzz",
        uses: &[],
        never: &["axum", "hyper"],
    },
    PackageRule {
        package: "guildhall-torture",
        uses: &[],
        never: &["axum", "hyper", "tokio"],
    },
    PackageRule {
        package: "xtask",
        uses: &[],
        never: &[],
    },
];

/// Finds dependencies that no floor declares, and packages without a floor.
pub(super) fn check(tree: &WorkspaceTree) -> Vec<Finding> {
    tree.packages.iter().flat_map(of_package).collect()
}

fn of_package(package: &Package) -> Vec<Finding> {
    let Some(floor) = FLOORS.iter().find(|floor| floor.package == package.name) else {
        let says = format!(
            "the package {} has no floor: add it to crate_graph.rs and ARCHITECTURE.md",
            package.name
        );
        return vec![Finding::of_file("Cargo.toml", says)];
    };
    let place = format!("package {}", floor.package);
    let breaches = package
        .dependencies
        .iter()
        .filter_map(|dependency| breach(floor, dependency));
    breaches
        .map(|says| Finding::of_file(&place, says))
        .collect()
}

/// The sentence for one dependency, `None` when the floor allows it.
fn breach(floor: &PackageRule, dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    let is_ours = FLOORS.iter().any(|floor| floor.package == name);
    // Tests may open anything of the house but these commands, which must build on their own.
    let allowed = match (is_ours, dependency.is_dev) {
        (true, true) => name != "xtask" && floor.package != "xtask",
        (true, false) => floor.uses.contains(&name),
        (false, true) => true,
        (false, false) => !floor.never.contains(&name),
    };
    if allowed {
        return None;
    }
    Some(if name == TESTKIT {
        format!("{TESTKIT} is for tests: move it to [dev-dependencies]")
    } else {
        format!(
            "{} must not use {name}: its floor does not allow it",
            floor.package
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(package: &str, dependency: &str, is_dev: bool) -> Vec<String> {
        let dependencies = vec![Dependency {
            name: dependency.to_owned(),
            is_dev,
        }];
        let packages = vec![Package {
            name: package.to_owned(),
            dependencies,
        }];
        let tree = WorkspaceTree {
            packages,
            ..WorkspaceTree::default()
        };
        check(&tree)
            .into_iter()
            .map(|finding| finding.says)
            .collect()
    }

    #[test]
    fn a_floor_may_not_use_one_above_it() {
        assert_eq!(
            findings("guildhall-store", "guildhall-hall", false),
            ["guildhall-store must not use guildhall-hall: its floor does not allow it"]
        );
        assert!(findings("guildhall-hall", "guildhall-store", false).is_empty());
    }

    #[test]
    fn a_library_of_another_floor_is_caught() {
        assert_eq!(
            findings("guildhall-domain", "tokio", false),
            ["guildhall-domain must not use tokio: its floor does not allow it"]
        );
        assert_eq!(findings("guildhall-hall", "http", false).len(), 1);
        assert_eq!(findings("guildhall-http", "rusqlite", false).len(), 1);
    }

    #[test]
    fn the_testkit_is_for_tests_only() {
        assert_eq!(
            findings("guildhall-http", TESTKIT, false),
            ["guildhall-testkit is for tests: move it to [dev-dependencies]"]
        );
        assert!(findings("guildhall-http", TESTKIT, true).is_empty());
    }

    #[test]
    fn a_package_without_a_floor_is_caught() {
        assert_eq!(
            findings("guildhall-attic", "serde", false),
            [
                "the package guildhall-attic has no floor: add it to crate_graph.rs and ARCHITECTURE.md"
            ]
        );
    }
}
