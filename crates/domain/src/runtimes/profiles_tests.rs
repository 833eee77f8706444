//! The profiles against the table of the contract, and what the configuration may say.

use super::*;

#[test]
fn the_profiles_are_those_of_the_contract() {
    // type, command, transcript, default mode. Source: contract 3.3.1.
    let table = [
        ("claude-code", "claude-agent-acp", "claude-jsonl", "default"),
        ("codex", "codex-acp", "codex-rollout", "read-only"),
        ("gemini", "gemini --acp", "none", "default"),
        ("opencode", "opencode acp", "none", "build"),
        ("qwen", "qwen --acp", "none", "default"),
        ("vibe", "vibe-acp", "none", "ask"),
        ("rehearsal", "guildhall rehearsal-agent", "none", "default"),
    ];
    let profiles = profiles(&[]).unwrap();
    let found: Vec<_> = profiles
        .iter()
        .map(|profile| {
            let transcript = profile.transcript.as_str();
            let (kind, mode) = (profile.kind.clone(), profile.default_mode.clone());
            (kind, profile.command_line(), transcript, mode)
        })
        .collect();
    let expected = table.map(|(kind, command, transcript, mode)| {
        (
            kind.to_owned(),
            command.to_owned(),
            transcript,
            mode.to_owned(),
        )
    });
    assert_eq!(found, expected);
    assert_eq!(profiles[6].label, "Rehearsal (scripted)");
    for profile in profiles {
        assert!(is_kind(&profile.kind), "{}", profile.kind);
        let hint = profile.install_hint;
        assert_eq!(
            hint.is_empty(),
            profile.program == RuntimeProgram::Own,
            "{hint}"
        );
        let variables = &profile.provider_variables;
        assert!(!variables.iter().any(|name| name == "IS_SANDBOX"));
    }
}

#[test]
fn opencode_is_told_to_ask() {
    let config: serde_json::Value = serde_json::from_str(OPENCODE_CONFIG).unwrap();
    let ask = [
        "*",
        "bash",
        "edit",
        "webfetch",
        "websearch",
        "task",
        "external_directory",
        "skill",
    ];
    let allow = ["read", "grep", "glob", "list", "todowrite", "todoread"];
    let permission = config["permission"].as_object().unwrap();
    assert_eq!(permission.len(), ask.len() + allow.len());
    for (names, word) in [(&ask[..], "ask"), (&allow, "allow")] {
        for name in names {
            assert_eq!(permission[*name], word, "{name}");
        }
    }
    assert!(
        OPENCODE_CONFIG.starts_with(r#"{"permission":{"*":"ask","#),
        "the widest rule first"
    );
    let opencode = profiles(&[]).unwrap().remove(3);
    let env = [(
        "OPENCODE_CONFIG_CONTENT".to_owned(),
        OPENCODE_CONFIG.to_owned(),
    )];
    assert_eq!(opencode.env, env);
}

fn definition(kind: &str) -> RuntimeDefinition {
    RuntimeDefinition {
        kind: kind.to_owned(),
        ..RuntimeDefinition::default()
    }
}

#[test]
fn the_configuration_changes_built_in_runtimes_and_adds_others() {
    let variable = ("FAKE_KEY".to_owned(), "x".to_owned());
    let codex = RuntimeDefinition {
        env: vec![variable.clone()],
        default_mode: Some("agent".to_owned()),
        ..definition("codex")
    };
    let mine = RuntimeDefinition {
        command: Some("/opt/mine".to_owned()),
        args: Some(vec!["acp".to_owned()]),
        ..definition("mine")
    };
    let joined = profiles(&[mine, codex]).unwrap();
    let kinds: Vec<&str> = joined.iter().map(|profile| profile.kind.as_str()).collect();
    assert_eq!((kinds.len(), kinds[1], kinds[7]), (8, "codex", "mine"));
    let codex = &joined[1];
    assert_eq!(
        (codex.command_line(), &codex.default_mode),
        ("codex-acp".to_owned(), &"agent".to_owned())
    );
    assert_eq!((&codex.env, codex.is_configured), (&vec![variable], true));
    assert_eq!(joined[7].command_line(), "/opt/mine acp");
    assert!(!joined[0].is_configured && !joined[7].is_built_in);
    assert!(
        !format!("{codex:?}").contains("FAKE_KEY"),
        "no variable stands in a log"
    );
}

#[test]
fn what_is_wrong_with_a_definition_is_named() {
    let command = |command: &str| RuntimeDefinition {
        command: Some(command.to_owned()),
        ..definition("mine")
    };
    let env = |kind: &str, name: &str| RuntimeDefinition {
        env: vec![(name.to_owned(), "x".to_owned())],
        ..definition(kind)
    };
    let mode = RuntimeDefinition {
        default_mode: Some("a b".to_owned()),
        ..definition("codex")
    };
    for (definition, key) in [
        (definition("Mine"), "Mine"),
        (definition("9x"), "9x"),
        (definition("mine"), "mine.command"),
        (command(""), "mine.command"),
        (command("bin/mine"), "mine.command"),
        (env("codex", "A=B"), "codex.env.A=B"),
        (env("codex", "GUILDHALL_URL"), "codex.env.GUILDHALL_URL"),
        (
            env("opencode", "OPENCODE_CONFIG_CONTENT"),
            "opencode.env.OPENCODE_CONFIG_CONTENT",
        ),
        (mode, "codex.default_mode"),
    ] {
        assert_eq!(profiles(&[definition]).unwrap_err().key, key);
    }
    for (kind, fits) in [
        ("a", true),
        ("a-9", true),
        ("", false),
        ("-a", false),
        ("aé", false),
    ] {
        assert_eq!(is_kind(kind), fits, "{kind}");
    }
    assert!(is_kind(&"a".repeat(32)) && !is_kind(&"a".repeat(33)));
}
