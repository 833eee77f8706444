//! Rule: every test that docs/promises.md names is there.

use std::collections::BTreeSet;

use super::Finding;
use super::workspace_tree::WorkspaceTree;

/// Where promises are listed with their tests.
const LIST: &str = "docs/promises.md";

/// Finds names of tests, and of the files they stand in, that nothing bears.
pub(super) fn check(tree: &WorkspaceTree) -> Vec<Finding> {
    let known: BTreeSet<&str> = tree
        .files
        .iter()
        .filter(|(path, _)| path.ends_with(".rs"))
        .flat_map(|(path, text)| functions(text).chain(stem(path)))
        .collect();
    let of_page: BTreeSet<&str> = tree
        .files
        .iter()
        .filter(|(path, _)| path.starts_with("web/") && path.ends_with(".ts"))
        .flat_map(|(_, text)| page_tests(text))
        .collect();
    let list = tree.files.get(LIST).map(String::as_str).unwrap_or_default();
    let mut findings = Vec::new();
    for (line, text) in list.lines().enumerate() {
        for name in between(text, '`').filter(|name| is_name(name) && !known.contains(name)) {
            let says = format!("no test and no file is called `{name}`");
            findings.push(Finding::of_line(LIST, line + 1, says));
        }
        for name in between(text, '"').filter(|name| !of_page.contains(name)) {
            let says = format!("no test of the page is called \"{name}\"");
            findings.push(Finding::of_line(LIST, line + 1, says));
        }
    }
    findings
}

/// What stands between two of these marks.
fn between(line: &str, mark: char) -> impl Iterator<Item = &str> {
    line.split(mark).skip(1).step_by(2)
}

/// Whether it can be the name of a test or file: words that underscores join.
fn is_name(word: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    word.contains('_')
        && word
            .chars()
            .all(|letter| is_letter(letter) || letter == '_')
}

/// The functions that a source file defines.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.split("fn ").skip(1).map(|rest| {
        let end = rest.find(['(', '<']).unwrap_or_default();
        rest.get(..end).unwrap_or_default()
    })
}

/// The names of the tests that a specification of the page defines.
fn page_tests(text: &str) -> impl Iterator<Item = &str> {
    text.split("test('").skip(1).filter_map(|rest| {
        let end = rest.find("', ")?;
        rest.get(..end)
    })
}

/// A file's name without its ending.
fn stem(path: &str) -> Option<&str> {
    path.rsplit('/').next()?.strip_suffix(".rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_without_its_test_is_caught() {
        let list = "| 1 | A `null` holds | http `saves_here`: `it_holds`, `it_is_gone` |\n";
        let tree = WorkspaceTree::of(&[
            ("docs/promises.md", list),
            (
                "crates/http/tests/it/saves_here.rs",
                "#[test]\nfn it_holds() {}\n",
            ),
        ]);
        let says = "no test and no file is called `it_is_gone`";
        assert_eq!(check(&tree), [Finding::of_line(LIST, 1, says)]);
    }

    #[test]
    fn a_promise_without_its_test_of_the_page_is_caught() {
        let list = "| 1 | It holds | web `asks`: \"it holds\", \"it is gone\" |\n";
        let tree = WorkspaceTree::of(&[
            ("docs/promises.md", list),
            (
                "web/tests/asks.spec.ts",
                "test('it holds', async () => {});\ntest('it is', () => {});\n",
            ),
        ]);
        let says = "no test of the page is called \"it is gone\"";
        assert_eq!(check(&tree), [Finding::of_line(LIST, 1, says)]);
    }
}
