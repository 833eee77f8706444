//! Rule: every operation of the HTTP interface has a row in the authority table, and names its gate.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Finding;
use super::workspace_tree::WorkspaceTree;

/// The description of the interface, made from the code.
const INTERFACE: &str = "openapi.json";

/// Who may call what, written by people: method and path first, separated by tabs.
const TABLE: &str = "crates/http/tests/authority.tsv";

/// The field of an operation that names its gate.
const GATE: &str = "x-gate";

/// The keys of a path that are operations.
const METHODS: &[&str] = &[
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// Finds operations without a row or without a gate.
pub(super) fn check(tree: &WorkspaceTree) -> Vec<Finding> {
    let missing: Vec<_> = [INTERFACE, TABLE]
        .into_iter()
        .filter(|file| !tree.files.contains_key(*file))
        .collect();
    let (Some(interface), Some(table)) = (tree.files.get(INTERFACE), tree.files.get(TABLE)) else {
        let says = "this file is missing, so nobody can tell who may call what";
        return missing
            .into_iter()
            .map(|file| Finding::of_file(file, says))
            .collect();
    };
    let Ok(interface) = serde_json::from_str::<Value>(interface) else {
        return vec![Finding::of_file(
            INTERFACE,
            "this file is not JSON: make it again",
        )];
    };
    let rows = rows_in(table);
    operations_in(&interface)
        .flat_map(|operation| operation.findings(&rows))
        .collect()
}

/// Method and path of every row.
fn rows_in(table: &str) -> BTreeSet<(&str, &str)> {
    table
        .lines()
        .filter_map(|line| {
            let mut columns = line.split('\t').map(str::trim);
            Some((columns.next()?, columns.next()?))
        })
        .collect()
}

/// One operation of the interface.
struct Operation<'a> {
    /// In capitals, as it goes over HTTP.
    method: String,
    path: &'a str,
    has_gate: bool,
}

impl Operation<'_> {
    fn findings(&self, rows: &BTreeSet<(&str, &str)>) -> Vec<Finding> {
        let Self {
            method,
            path,
            has_gate,
        } = self;
        let mut found = Vec::new();
        if !rows.contains(&(method.as_str(), *path)) {
            found.push(Finding::of_file(
                TABLE,
                format!("add a row for {method} {path}"),
            ));
        }
        if !has_gate {
            found.push(Finding::of_file(
                INTERFACE,
                format!("{method} {path} has no `{GATE}`: name its gate"),
            ));
        }
        found
    }
}

fn operations_in(interface: &Value) -> impl Iterator<Item = Operation<'_>> {
    let paths = interface["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let operations = item.as_object().into_iter().flatten();
        operations
            .filter(|(key, _)| METHODS.contains(&key.as_str()))
            .map(move |(key, operation)| Operation {
                method: key.to_ascii_uppercase(),
                path,
                has_gate: operation[GATE].is_string(),
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(interface: &str, table: &str) -> Vec<String> {
        let tree = WorkspaceTree::of(&[(INTERFACE, interface), (TABLE, table)]);
        check(&tree)
            .into_iter()
            .map(|finding| finding.says)
            .collect()
    }

    const ROOMS: &str = r#"{"paths": {"/api/rooms": {
        "parameters": [],
        "get": {"x-gate": "AnyCaller"},
        "post": {"x-gate": "Human"}
    }}}"#;

    #[test]
    fn an_operation_without_a_row_is_caught() {
        assert_eq!(
            says(ROOMS, "GET\t/api/rooms\tanyone\n"),
            ["add a row for POST /api/rooms"]
        );
    }

    #[test]
    fn an_operation_without_a_gate_is_caught() {
        let interface = r#"{"paths": {"/api/rooms": {"get": {}}}}"#;
        assert_eq!(
            says(interface, "# who may\nGET\t/api/rooms\n"),
            ["GET /api/rooms has no `x-gate`: name its gate"]
        );
    }

    #[test]
    fn a_whole_table_is_fine() {
        assert_eq!(
            says(
                ROOMS,
                "GET\t/api/rooms\tanyone\nPOST\t/api/rooms\tpeople\nGET\t/docs\tanyone\n"
            ),
            [""; 0]
        );
    }

    #[test]
    fn a_missing_file_is_one_sentence() {
        assert_eq!(
            check(&WorkspaceTree::of(&[(INTERFACE, ROOMS)])),
            [Finding::of_file(
                TABLE,
                "this file is missing, so nobody can tell who may call what"
            )]
        );
    }
}
