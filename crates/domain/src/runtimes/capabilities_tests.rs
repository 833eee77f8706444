//! The entries against the tables of the contract, written down once more.

use super::*;
use crate::runtimes::{
    EffectReach, OptionValue, PromptPolicy, ReportedOption, StopPoint, profiles,
};

/// The mode table of contract 3.4: id, stop, asks, reach, then `w` for a way of working and `*`
/// for a mode that is listed only after the agent reported it.
const MODES: &[(&str, &[&str])] = &[
    (
        "claude-code",
        &[
            "default ask always edit",
            "acceptEdits act when-risky edit",
            "plan ask always read w",
            "auto act when-risky edit",
            "dontAsk ask never read *",
            "bypassPermissions autonomy never everything *",
        ],
    ),
    (
        "codex",
        &[
            "read-only ask always edit",
            "workspace-write act when-risky workspace",
            "agent act when-risky workspace",
            "agent-full-access autonomy never everything",
        ],
    ),
    (
        "gemini",
        &[
            "default ask always edit",
            "autoEdit act when-risky edit",
            "plan ask always read w",
            "yolo autonomy never everything",
        ],
    ),
    (
        "opencode",
        &["build ask always edit", "plan ask always read w"],
    ),
    (
        "qwen",
        &[
            "default ask always edit",
            "auto-edit act when-risky edit",
            "plan ask always read w",
            "yolo autonomy never everything",
        ],
    ),
    (
        "vibe",
        &[
            "ask ask always edit",
            "accept-edits act when-risky edit",
            "auto-approve autonomy never everything",
        ],
    ),
    (
        "rehearsal",
        &[
            "default ask always edit",
            "accept-edits act when-risky edit",
            "plan ask always read w",
            "autopilot autonomy never everything",
        ],
    ),
];

/// Flags of contract 3.4 before anything was probed: approval, cost, resume, questions; then the
/// section of the settings and the transcript.
///
/// With the installed agents, approval is shown by `real_agents::asking::an_approved_call_happens`
/// and questions by `real_agents::asking::a_question_is_answered`; the scripted agent shows all
/// four in `rehearsal`.
const ENTRIES: &[(&str, [bool; 4], &str, &str)] = &[
    (
        "claude-code",
        [true, true, true, true],
        "claudeCode",
        "claude-jsonl",
    ),
    (
        "codex",
        [true, false, true, false],
        "codex",
        "codex-rollout",
    ),
    ("gemini", [false; 4], "gemini", "none"),
    ("opencode", [true, true, true, false], "opencode", "none"),
    ("qwen", [false; 4], "qwen", "none"),
    ("vibe", [false; 4], "vibe", "none"),
    ("rehearsal", [true, true, true, true], "rehearsal", "none"),
];

fn built_ins() -> Vec<RuntimeProfile> {
    profiles(&[]).unwrap()
}

fn profile(kind: &str) -> RuntimeProfile {
    let known = built_ins().into_iter();
    known
        .into_iter()
        .find(|profile| profile.kind == kind)
        .unwrap()
}

fn word<T: Copy + PartialEq>(value: T, words: &'static [(T, &'static str)]) -> &'static str {
    words.iter().find(|(known, _)| *known == value).unwrap().1
}

/// A mode as the table of this test writes it.
fn line(mode: &PermissionMode, mark: &str) -> String {
    let width = mode.width;
    let mut line = format!(
        "{} {} {} {}",
        mode.id,
        word(width.stop, &StopPoint::WORDS),
        word(width.asks, &PromptPolicy::WORDS),
        word(width.reach, &EffectReach::WORDS)
    );
    if mode.axis == ModePurpose::Working {
        line.push_str(" w");
    }
    line.push_str(mark);
    line
}

fn native(id: &str) -> NativeMode {
    NativeMode {
        id: id.to_owned(),
        name: format!("Its {id}"),
        description: String::new(),
    }
}

fn reporting(ids: &[&str]) -> ReportedCapabilities {
    ReportedCapabilities {
        modes: ids.iter().map(|id| native(id)).collect(),
        ..ReportedCapabilities::default()
    }
}

fn ids(capabilities: &Capabilities) -> Vec<&str> {
    capabilities
        .modes
        .iter()
        .map(|mode| mode.id.as_str())
        .collect()
}

#[test]
fn the_modes_are_those_of_the_contract() {
    let kinds: Vec<String> = built_ins()
        .into_iter()
        .map(|profile| profile.kind)
        .collect();
    let table: Vec<&str> = MODES.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, table);
    for (kind, lines) in MODES {
        let profile = profile(kind);
        let all: Vec<&str> = lines
            .iter()
            .map(|line| line.split(' ').next().unwrap())
            .collect();
        let listed = capabilities(&profile, None);
        let unmarked: Vec<&str> = lines
            .iter()
            .copied()
            .filter(|line| !line.ends_with('*'))
            .collect();
        let found: Vec<String> = listed.modes.iter().map(|mode| line(mode, "")).collect();
        assert_eq!(found, unmarked, "{kind} before it said anything");
        let all = capabilities(&profile, Some(&reporting(&all)));
        let marked = |mode: &PermissionMode| {
            let rows = permission_modes::rows(kind).iter();
            let is_marked = rows
                .into_iter()
                .any(|row| row.id == mode.id && row.if_reported);
            line(mode, if is_marked { " *" } else { "" })
        };
        let found: Vec<String> = all.modes.iter().map(marked).collect();
        assert_eq!(found, *lines, "{kind} that lists all of them");
    }
}

#[test]
fn the_flags_sections_and_features_are_those_of_the_contract() {
    for (kind, flags, section, transcript) in ENTRIES {
        let entry = capabilities(&profile(kind), None);
        let found = [
            entry.supports_tool_approval,
            entry.supports_cost_tracking,
            entry.supports_resume,
            entry.supports_question_prompt,
        ];
        assert_eq!(found, *flags, "{kind}");
        assert!(!entry.supports_plugins, "{kind}");
        assert_eq!(entry.supports_mcp, flags[0], "{kind}");
        assert_eq!(entry.supports_managed_mcp_servers, flags[0], "{kind}");
        assert_eq!(entry.config_section, *section);
        assert!(!entry.supports_effort, "{kind}: nobody said so");
        assert!(entry.sections.contains(&SettingsSection::Command));
        let features = RuntimeFeatures {
            scripted: *kind == "rehearsal",
            agent_version: String::new(),
            transcript: entry.features.transcript,
            deny_reason: false,
            steer: false,
            probed: false,
        };
        assert_eq!(entry.features, features, "{kind}");
        assert_eq!(entry.features.transcript.as_str(), *transcript, "{kind}");
    }
}

#[test]
fn every_mode_has_all_fields_and_no_shipped_default_acts_unattended() {
    for profile in built_ins() {
        for probed in [
            None,
            Some(reporting(&["default", "new"])),
            Some(ReportedCapabilities::default()),
        ] {
            let entry = capabilities(&profile, probed.as_ref());
            let default = entry.mode(&entry.default_mode).unwrap();
            assert!(
                !default.width.needs_consent(),
                "{}: {default:?}",
                profile.kind
            );
            assert_eq!(entry.modes[0].id, entry.default_mode);
            for mode in &entry.modes {
                assert!(permission_modes::is_id(&mode.id), "{mode:?}");
                assert!(
                    !mode.label.is_empty() && !mode.native.is_empty(),
                    "{mode:?}"
                );
                assert!(mode.promise.ends_with('.'), "{mode:?}");
            }
        }
    }
}

#[test]
fn what_the_runtime_lists_narrows_the_table_and_unknown_modes_are_the_widest() {
    let claude = profile("claude-code");
    let entry = capabilities(&claude, Some(&reporting(&["plan", "default", "rush"])));
    assert_eq!(ids(&entry), ["default", "plan", "rush"]);
    let rush = entry.mode("rush").unwrap();
    assert_eq!(
        (rush.width, rush.label.as_str()),
        (crate::runtimes::AutonomyLevel::WIDEST, "Its rush")
    );
    assert_eq!(entry.mode("default").unwrap().label, "Its default");
    assert_eq!(entry.mode_of_native("rush"), *rush);
    assert!(entry.mode_of_native("rage").width.needs_consent());
    assert!(entry.mode("acceptEdits").is_err());
    // One whose default is gone starts in what asks.
    let codex = capabilities(
        &profile("codex"),
        Some(&reporting(&["agent-full-access", "agent"])),
    );
    assert_eq!(codex.default_mode, "agent");
    let codex = capabilities(&profile("codex"), Some(&reporting(&["agent-full-access"])));
    assert_eq!(ids(&codex), ["read-only", "agent-full-access"]);
}

#[test]
fn modes_may_be_options_and_odd_names_become_ids() {
    let option = |category: &str, values: &[&str]| ReportedOption {
        id: category.to_owned(),
        name: String::new(),
        category: category.to_owned(),
        current: values[0].to_owned(),
        values: values
            .iter()
            .map(|value| OptionValue {
                value: (*value).to_owned(),
                name: String::new(),
            })
            .collect(),
    };
    let probed = ReportedCapabilities {
        agent_version: "1.2.3".to_owned(),
        resume: true,
        options: vec![
            option("mode", &["plan", "build", "urn:x#y", "urn x y", "-"]),
            option("thought_level", &["high"]),
        ],
        ..ReportedCapabilities::default()
    };
    let entry = capabilities(&profile("opencode"), Some(&probed));
    assert_eq!(
        ids(&entry),
        ["build", "plan", "urn-x-y", "urn-x-y-2", "mode"]
    );
    assert_eq!(entry.mode("urn-x-y-2").unwrap().native, "urn x y");
    assert!(entry.supports_effort && entry.supports_resume && entry.features.probed);
    assert_eq!(entry.features.agent_version, "1.2.3");
    let gemini = capabilities(&profile("gemini"), Some(&probed));
    assert!(gemini.supports_tool_approval && gemini.supports_resume);
    assert!(!gemini.supports_cost_tracking && !gemini.supports_question_prompt);
    let codex = capabilities(&profile("codex"), Some(&ReportedCapabilities::default()));
    assert!(!codex.supports_resume, "it said that it cannot");
}

#[test]
fn an_agent_nobody_knows_needs_consent_and_is_left_as_it_starts() {
    let definition = crate::runtimes::RuntimeDefinition {
        kind: "mine".to_owned(),
        command: Some("mine".to_owned()),
        ..Default::default()
    };
    let known = |definition| profiles(&[definition]).unwrap().pop().unwrap();
    let entry = capabilities(&known(definition.clone()), None);
    assert_eq!(ids(&entry), ["default"]);
    assert!(entry.modes[0].width.needs_consent() && entry.modes[0].native.is_empty());
    let entry = capabilities(&known(definition.clone()), Some(&reporting(&["fast"])));
    assert_eq!(ids(&entry), ["default", "fast"]);
    let careful = crate::runtimes::RuntimeDefinition {
        default_mode: Some("careful".to_owned()),
        ..definition
    };
    let entry = capabilities(&known(careful), None);
    assert_eq!(
        (entry.default_mode.as_str(), ids(&entry)),
        ("careful", vec!["careful"])
    );
    assert!(entry.modes[0].width.needs_consent());
}
