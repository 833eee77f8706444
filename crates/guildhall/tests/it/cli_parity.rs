//! Every operation of the interface has a command, and every command explains itself.

use std::process::Command;

use serde_json::Value;

// The binary has no library to take the table from; the file stands for itself.
#[path = "../../src/cli/operation_commands.rs"]
mod operations;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.json");

fn help(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_guildhall"));
    let output = command.args(words).arg("--help").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_operation_has_a_command_and_no_command_an_operation_that_is_not() {
    let document: Value = serde_json::from_slice(&std::fs::read(DOCUMENT).unwrap()).unwrap();
    let paths = document["paths"].as_object().unwrap().values();
    let mut described: Vec<_> = paths
        .flat_map(|methods| methods.as_object().unwrap().values())
        .filter_map(|operation| operation["operationId"].as_str())
        .collect();
    described.sort_unstable();
    let mut commanded: Vec<_> = operations::OPERATIONS.iter().map(|one| one.id).collect();
    commanded.sort_unstable();
    assert_eq!(commanded, described);
}

#[test]
fn every_operation_has_its_own_command() {
    let mut seen = std::collections::HashSet::new();
    for operation in operations::OPERATIONS {
        assert!(seen.insert(operation.words), "{operation:?}");
        assert_eq!(operations::command_of(operation.id), Some(operation.words));
        let words: Vec<_> = operation.words.split(' ').collect();
        let usage = format!("Usage: guildhall {} ", operation.words);
        assert!(help(&words).contains(&usage), "{operation:?}");
    }
}

#[test]
fn every_command_shows_an_example() {
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    let mut leaves = 0;
    while let Some(words) = open.pop() {
        let help = help(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let verbs = commands(&help);
        if verbs.is_empty() {
            leaves += 1;
            assert!(help.contains("Example"), "{words:?}");
        }
        open.extend(verbs.into_iter().map(|verb| [&words[..], &[verb]].concat()));
    }
    assert!(leaves > operations::OPERATIONS.len());
}

#[test]
fn completions_and_manual_pages_come_from_the_same_definition() {
    let binary = || Command::new(env!("CARGO_BIN_EXE_guildhall"));
    for shell in ["bash", "zsh", "fish"] {
        let output = binary().args(["completions", shell]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{shell}");
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains("read-cursor"), "{shell}");
    }
    let scratch = guildhall_world::scratch::Scratch::new("man");
    let status = binary().arg("man").arg(scratch.path()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    for page in ["guildhall.1", "guildhall-rooms-list.1"] {
        assert!(scratch.path().join(page).exists(), "{page}");
    }
}
