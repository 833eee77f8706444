//! The table of permission modes: how wide each mode of each runtime is, and what it promises.
//! What stands in no row counts as the widest there is. Source: contract 3.4.

use super::{
    AutonomyLevel, EffectReach, ModePurpose, NativeMode, PermissionMode, PromptPolicy, StopPoint,
};

/// Characters of a mode's id.
const ID_CHARS_MAX: usize = 64;

/// What a mode that nobody knows lets happen.
const UNKNOWN_PROMISE: &str = "Nobody here knows what it asks about, so it counts as a mode that \
    does anything your user may do without a question.";

/// A row of the shipped table.
pub(super) struct ModeRow {
    pub(super) id: &'static str,
    label: &'static str,
    description: &'static str,
    promise: &'static str,
    width: AutonomyLevel,
    axis: ModePurpose,
    /// Listed only after the agent itself reported it.
    pub(super) if_reported: bool,
}

impl ModeRow {
    /// The mode, in the agent's words where it has some.
    pub(super) fn mode(&self, reported: Option<&NativeMode>) -> PermissionMode {
        let words = |theirs: Option<&String>, ours: &str| match theirs {
            Some(text) if !text.trim().is_empty() => text.trim().to_owned(),
            _ => ours.to_owned(),
        };
        PermissionMode {
            id: self.id.to_owned(),
            label: words(reported.map(|mode| &mode.name), self.label),
            description: words(reported.map(|mode| &mode.description), self.description),
            promise: self.promise.to_owned(),
            native: self.id.to_owned(),
            width: self.width,
            axis: self.axis,
        }
    }

    const fn working(self) -> Self {
        Self {
            axis: ModePurpose::Working,
            ..self
        }
    }

    const fn if_reported(self) -> Self {
        Self {
            if_reported: true,
            ..self
        }
    }
}

/// The modes of a built-in runtime, as the table lists them; none of a runtime it does not know.
pub(super) fn rows(kind: &str) -> &'static [ModeRow] {
    match kind {
        "claude-code" => CLAUDE_CODE,
        "codex" => CODEX,
        "gemini" => GEMINI,
        "opencode" => OPENCODE,
        "qwen" => QWEN,
        "vibe" => VIBE,
        super::REHEARSAL => REHEARSAL,
        _ => &[],
    }
}

/// A mode that stands in no row: the widest, under its own name.
pub(super) fn unknown(id: String, native: &NativeMode) -> PermissionMode {
    let name = native.name.trim();
    PermissionMode {
        label: if name.is_empty() {
            id.clone()
        } else {
            name.to_owned()
        },
        description: native.description.trim().to_owned(),
        promise: UNKNOWN_PROMISE.to_owned(),
        native: native.id.clone(),
        width: AutonomyLevel::WIDEST,
        axis: ModePurpose::Trust,
        id,
    }
}

/// The one mode of an agent whose modes nobody named: it is left as it starts.
pub(super) fn as_it_starts() -> PermissionMode {
    PermissionMode {
        id: "default".to_owned(),
        label: "As it starts".to_owned(),
        description: "No mode is set; the agent does what it does by itself.".to_owned(),
        promise: UNKNOWN_PROMISE.to_owned(),
        native: String::new(),
        width: AutonomyLevel::WIDEST,
        axis: ModePurpose::Trust,
    }
}

/// Whether `text` can be a mode's id: 1..64, `[A-Za-z0-9][A-Za-z0-9_.-]*`.
pub(super) fn is_id(text: &str) -> bool {
    (1..=ID_CHARS_MAX).contains(&text.len())
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(fits)
}

/// The id of a mode with this native one, other than those `taken`: the same where it can be an
/// id, else what is left of it.
pub(super) fn id_of(native: &str, taken: &[PermissionMode]) -> String {
    let is_free = |id: &str| taken.iter().all(|mode| mode.id != id);
    if is_id(native) && is_free(native) {
        return native.to_owned();
    }
    let kept = native
        .bytes()
        .map(|byte| if fits(byte) { char::from(byte) } else { '-' });
    let kept: String = kept
        .skip_while(|letter| !letter.is_ascii_alphanumeric())
        .take(ID_CHARS_MAX - 4)
        .collect();
    let base = if kept.is_empty() {
        "mode".to_owned()
    } else {
        kept
    };
    let numbered = (2..1_000).map(|number| format!("{base}-{number}"));
    let mut names = std::iter::once(base.clone()).chain(numbered);
    names.find(|id| is_free(id)).unwrap_or(base)
}

fn fits(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

const fn row(
    id: &'static str,
    (stop, asks, reach): (StopPoint, PromptPolicy, EffectReach),
    label: &'static str,
    description: &'static str,
    promise: &'static str,
) -> ModeRow {
    ModeRow {
        id,
        label,
        description,
        promise,
        width: AutonomyLevel { stop, asks, reach },
        axis: ModePurpose::Trust,
        if_reported: false,
    }
}

const ASKING: (StopPoint, PromptPolicy, EffectReach) =
    (StopPoint::Ask, PromptPolicy::Always, EffectReach::Edit);
const PLANNING: (StopPoint, PromptPolicy, EffectReach) =
    (StopPoint::Ask, PromptPolicy::Always, EffectReach::Read);
const EDITING: (StopPoint, PromptPolicy, EffectReach) =
    (StopPoint::Act, PromptPolicy::WhenRisky, EffectReach::Edit);
const IN_ITS_FOLDER: (StopPoint, PromptPolicy, EffectReach) = (
    StopPoint::Act,
    PromptPolicy::WhenRisky,
    EffectReach::Workspace,
);
const REFUSING: (StopPoint, PromptPolicy, EffectReach) =
    (StopPoint::Ask, PromptPolicy::Never, EffectReach::Read);
const UNATTENDED: (StopPoint, PromptPolicy, EffectReach) = (
    StopPoint::Autonomy,
    PromptPolicy::Never,
    EffectReach::Everything,
);

const ASKS_FIRST: &str = "Asks before it changes anything.";
const ONLY_READS: &str = "Without a question it only reads and searches; every edit, command and \
    download waits for you.";
const EDITS_AT_ONCE: &str = "Changes files at once and asks about the rest.";
const ONLY_EDITS: &str = "Without a question it changes files in its folder; commands and other \
    risky steps wait for you.";
const PLANS: &str = "Looks around and plans, and changes nothing.";
const ONLY_PLANS: &str = "Without a question it only reads and searches, and it ends with a plan \
    that you accept or not.";
const ASKS_NEVER: &str = "Works unattended and asks about nothing.";
const ANYTHING: &str = "Without a question it does anything your user may do on this computer: \
    it edits, deletes, runs commands and uses the network.";

const CLAUDE_CODE: &[ModeRow] = &[
    row("default", ASKING, "Ask first", ASKS_FIRST, ONLY_READS),
    row(
        "acceptEdits",
        EDITING,
        "Accept edits",
        EDITS_AT_ONCE,
        ONLY_EDITS,
    ),
    row("plan", PLANNING, "Plan", PLANS, ONLY_PLANS).working(),
    row(
        "auto",
        EDITING,
        "Auto",
        "Decides by itself what is safe, and asks about the rest.",
        "Without a question it edits and runs whatever its own check, made by a model, takes for \
         safe; the rest waits for you.",
    ),
    row(
        "dontAsk",
        REFUSING,
        "Don't ask",
        "Refuses what is not allowed already, instead of asking.",
        "Without a question it reads, and does what its own settings already allow; everything \
         else it refuses by itself.",
    )
    .if_reported(),
    row(
        "bypassPermissions",
        UNATTENDED,
        "Bypass permissions",
        ASKS_NEVER,
        ANYTHING,
    )
    .if_reported(),
];

const CODEX: &[ModeRow] = &[
    row(
        "read-only",
        ASKING,
        "Ask first",
        ASKS_FIRST,
        "Without a question it only reads, and runs commands that its sandbox keeps from writing; \
         edits and everything beyond wait for you.",
    ),
    row(
        "workspace-write",
        IN_ITS_FOLDER,
        "Work in its folder",
        "Edits and runs commands in its folder, and asks about what goes beyond.",
        "Without a question it edits and runs commands within its folder; what reaches beyond the \
         folder or needs the network waits for you.",
    ),
    row(
        "agent",
        IN_ITS_FOLDER,
        "Agent",
        "Works in its folder; a model, not a person, looks at what goes beyond.",
        "Without a question to you it works within its folder, and a model instead of a person \
         decides on steps that reach beyond it.",
    ),
    row(
        "agent-full-access",
        UNATTENDED,
        "Full access",
        ASKS_NEVER,
        ANYTHING,
    ),
];

const GEMINI: &[ModeRow] = &[
    row("default", ASKING, "Ask first", ASKS_FIRST, ONLY_READS),
    row(
        "autoEdit",
        EDITING,
        "Accept edits",
        EDITS_AT_ONCE,
        ONLY_EDITS,
    ),
    row("plan", PLANNING, "Plan", PLANS, ONLY_PLANS).working(),
    row("yolo", UNATTENDED, "Unattended", ASKS_NEVER, ANYTHING),
];

const QWEN: &[ModeRow] = &[
    row("default", ASKING, "Ask first", ASKS_FIRST, ONLY_READS),
    row(
        "auto-edit",
        EDITING,
        "Accept edits",
        EDITS_AT_ONCE,
        ONLY_EDITS,
    ),
    row("plan", PLANNING, "Plan", PLANS, ONLY_PLANS).working(),
    row("yolo", UNATTENDED, "Unattended", ASKS_NEVER, ANYTHING),
];

const VIBE: &[ModeRow] = &[
    row("ask", ASKING, "Ask first", ASKS_FIRST, ONLY_READS),
    row(
        "accept-edits",
        EDITING,
        "Accept edits",
        EDITS_AT_ONCE,
        ONLY_EDITS,
    ),
    row(
        "auto-approve",
        UNATTENDED,
        "Unattended",
        ASKS_NEVER,
        ANYTHING,
    ),
];

const OPENCODE: &[ModeRow] = &[
    row(
        "build",
        ASKING,
        "Ask first",
        ASKS_FIRST,
        "Without a question it only reads, searches and keeps its list of tasks; every edit, \
         command and download waits for you.",
    ),
    row("plan", PLANNING, "Plan", PLANS, ONLY_PLANS).working(),
];

const REHEARSAL: &[ModeRow] = &[
    row(
        "default",
        ASKING,
        "Ask first",
        ASKS_FIRST,
        "Without a question it only reads; every edit and command waits for you.",
    ),
    row(
        "accept-edits",
        EDITING,
        "Accept edits",
        EDITS_AT_ONCE,
        ONLY_EDITS,
    ),
    row("plan", PLANNING, "Plan", PLANS, ONLY_PLANS).working(),
    row(
        "autopilot",
        UNATTENDED,
        "Autopilot",
        ASKS_NEVER,
        "Without a question it does everything its script says: it edits files and runs commands \
         as your user.",
    ),
];
