//! Slash commands: what a file says, and which of several commands wins. Source: contract 3.9.

use guildhall_domain::commands::{AgentCommand, CommandFile, SlashCommand, merged, with_reported};
use serde_json::{Value, json};

fn said(text: &str, yaml: Option<Value>) -> Option<(String, String, Vec<String>)> {
    let file = CommandFile::parse(text);
    let command = file.describe(SlashCommand::named("", "x"), yaml)?;
    let SlashCommand {
        description,
        argument_hint,
        allowed_tools,
        ..
    } = command;
    Some((description, argument_hint, allowed_tools))
}

fn words(description: &str, hint: &str, tools: &[&str]) -> Option<(String, String, Vec<String>)> {
    let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
    Some((description.to_owned(), hint.to_owned(), tools))
}

#[test]
fn a_file_is_taken_apart_at_its_lines_of_dashes() {
    for (text, front, body) in [
        ("", None, ""),
        ("words", None, "words"),
        ("---\na: b\n---\nwords\n", Some("a: b\n"), "words\n"),
        ("---\r\na: b\r\n---\r\nwords", Some("a: b\r\n"), "words"),
        ("\u{feff}---\n---", Some(""), ""),
        ("---\nno end", None, "---\nno end"),
        ("\n---\na: b\n---\n", None, "\n---\na: b\n---\n"),
        ("---\na: ---\n--- \nx\n---\n", Some("a: ---\n"), "x\n---\n"),
    ] {
        assert_eq!(
            CommandFile::parse(text),
            CommandFile { front, body },
            "{text:?}"
        );
    }
}

#[test]
fn the_front_matter_says_what_a_command_is() {
    let front = |lines: &str| format!("---\n{lines}\n---\n\n  First words \nmore\n");
    for (text, yaml, expected) in [
        (front(""), Some(json!(null)), words("First words", "", &[])),
        (
            front(""),
            Some(json!("text")),
            words("First words", "", &[]),
        ),
        (
            front(""),
            Some(json!({"description": " D "})),
            words("D", "", &[]),
        ),
        (
            front(""),
            Some(json!({"description": 7})),
            words("7", "", &[]),
        ),
        (
            front("argument-hint: [message] <b>"),
            Some(json!({})),
            words("First words", "[message] <b>", &[]),
        ),
        (
            front("argument-hint: \"[message]\"\r"),
            Some(json!({})),
            words("First words", "[message]", &[]),
        ),
        (
            front(""),
            Some(json!({"allowed-tools": ["Read", " Bash(git:*) "]})),
            words("First words", "", &["Read", "Bash(git:*)"]),
        ),
        (
            front(""),
            Some(json!({"allowed-tools": "Read, Bash(a, b),,  Edit"})),
            words("First words", "", &["Read", "Bash(a, b)", "Edit"]),
        ),
        (front(""), Some(json!({"user-invocable": false})), None),
        (front(""), Some(json!({"user-invocable": "False"})), None),
        (
            front(""),
            Some(json!({"user-invocable": true})),
            words("First words", "", &[]),
        ),
        // What is no YAML is read line by line.
        (
            front("description: a: b\nallowed-tools: 'Read, Edit'\nargument-hint: x"),
            None,
            words("a: b", "x", &["Read", "Edit"]),
        ),
        (front("user-invocable: false"), None, None),
        ("---\n---\n".to_owned(), Some(json!({})), words("", "", &[])),
        (
            "x".repeat(300),
            Some(json!(null)),
            words(&"x".repeat(200), "", &[]),
        ),
    ] {
        assert_eq!(said(&text, yaml), expected, "{text:?}");
    }
}

#[test]
fn a_hint_in_brackets_does_not_break_the_rest() {
    let file = CommandFile::parse("---\na: b\nargument-hint: [x] [y]\nc: d\n---\n");
    assert_eq!(file.yaml(), "a: b\nc: d\n");
}

#[test]
fn the_first_of_equal_commands_stays_and_agents_fill_in_what_it_lacks() {
    let file = |namespace: &str, name: &str, path: &str| SlashCommand {
        file_path: path.to_owned(),
        ..SlashCommand::named(namespace, name)
    };
    let commands = merged([
        file("", "zebra", "1"),
        file("a", "b", "2"),
        file("", "a", "3"),
        file("a", "b", "4"),
        file("", "a:b", "5"),
        file("", "é", "6"),
    ]);
    let reported = [
        AgentCommand {
            name: "a:b".to_owned(),
            description: "D".to_owned(),
            hint: "H".to_owned(),
        },
        AgentCommand {
            name: "/mcp:server:tool".to_owned(),
            ..AgentCommand::default()
        },
        AgentCommand::default(),
    ];
    let all = with_reported(&commands, reported.iter().map(SlashCommand::from));
    let shown: Vec<_> = all
        .iter()
        .map(|c| {
            (
                &*c.full_command,
                &*c.namespace,
                &*c.description,
                &*c.argument_hint,
                &*c.file_path,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("/a", "", "", "", "3"),
            ("/a:b", "a", "D", "H", "2"),
            ("/mcp:server:tool", "mcp:server", "", "", ""),
            ("/zebra", "", "", "", "1"),
            ("/é", "", "", "", "6"),
        ]
    );
}
