//! Rule: programs are started from argument lists, never through a shell, and nothing is `unsafe`.

use super::Finding;
use super::rust_tokens::{self, Token};
use super::workspace_tree::WorkspaceTree;

/// Programs that read a command line as text.
const SHELLS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "fish",
    "cmd",
    "cmd.exe",
    "powershell",
    "powershell.exe",
    "pwsh",
];

/// Finds shells in the crates outside of tests, which may play what users run, and `unsafe` in every Rust file.
pub(super) fn check(tree: &WorkspaceTree) -> Vec<Finding> {
    let files = tree.files.iter().filter(|(path, _)| path.ends_with(".rs"));
    files
        .flat_map(|(path, text)| {
            let mut found = unsafe_words(path, text);
            if path.starts_with("crates/") && !is_test(path) {
                found.extend(shells(path, text));
            }
            found
        })
        .collect()
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("_tests.rs")
}

/// String literals that name a shell, by its path or as the program of a command.
fn shells(path: &str, text: &str) -> Vec<Finding> {
    let code = rust_tokens::without_comments(text);
    let tokens = rust_tokens::tokens(&code);
    let is_shell = |at: usize| {
        let name = literal_at(&tokens, at);
        let by_path =
            name.starts_with('/') && SHELLS.contains(&name.rsplit('/').next().unwrap_or_default());
        let as_program = SHELLS.contains(&name.as_str()) && is_program(&tokens, at);
        by_path || as_program
    };
    (0..tokens.len())
        .filter(|at| tokens[*at].text == "\"" && is_shell(*at))
        .map(|at| {
            Finding::of_line(
                path,
                tokens[at].line,
                "start the program itself with an argument list, not a shell",
            )
        })
        .collect()
}

/// What stands between the quote at `at` and the next one, without spaces.
fn literal_at(tokens: &[Token<'_>], at: usize) -> String {
    tokens
        .iter()
        .skip(at + 1)
        .take_while(|token| token.text != "\"")
        .map(|token| token.text)
        .collect()
}

/// Whether the literal at `at` is the argument of `Command::new`.
fn is_program(tokens: &[Token<'_>], at: usize) -> bool {
    let before: Vec<_> = tokens
        .iter()
        .take(at)
        .rev()
        .take(4)
        .map(|token| token.text)
        .collect();
    before == ["(", "new", "::", "Command"]
}

/// The keyword, outside of comments and literals.
fn unsafe_words(path: &str, text: &str) -> Vec<Finding> {
    let code = rust_tokens::code_only(text);
    rust_tokens::tokens(&code)
        .into_iter()
        .filter(|token| token.text == "unsafe")
        .map(|token| {
            Finding::of_line(
                path,
                token.line,
                "find a safe way: `unsafe` is not used here",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_caught_as_a_program_and_by_its_path() {
        let text = "fn f() {\n    std::process::Command::new(\n        \"sh\",\n    ).arg(\"-c\");\n    let shell = \"/bin/bash\";\n}\n";
        let tree = WorkspaceTree::of(&[
            ("crates/world/src/server_programs.rs", text),
            ("crates/world/tests/it/programs.rs", text),
            ("crates/world/src/programs_tests.rs", text),
            ("docs/shell.md", text),
        ]);
        let says = "start the program itself with an argument list, not a shell";
        assert_eq!(
            check(&tree),
            [
                Finding::of_line("crates/world/src/server_programs.rs", 3, says),
                Finding::of_line("crates/world/src/server_programs.rs", 5, says),
            ]
        );
    }

    #[test]
    fn another_program_and_a_word_in_a_text_are_fine() {
        let text = "// Command::new(\"sh\")\nfn f() { Command::new(\"git\"); say(\"sh\"); say(\"/she\"); }\n";
        assert_eq!(
            check(&WorkspaceTree::of(&[(
                "crates/world/src/server_programs.rs",
                text
            )])),
            []
        );
    }

    #[test]
    fn unsafe_is_caught_in_code_and_not_in_words() {
        let text =
            "// unsafe\nfn f() { say(\"unsafe\"); unsafe { g() } }\n#![forbid(unsafe_code)]\n";
        assert_eq!(
            check(&WorkspaceTree::of(&[(
                "crates/world/tests/it/main.rs",
                text
            )])),
            [Finding::of_line(
                "crates/world/tests/it/main.rs",
                2,
                "find a safe way: `unsafe` is not used here"
            )]
        );
    }
}
