//! Capabilities: what a runtime can do, from the shipped table, narrowed and completed by what
//! the runtime said of itself. Source: spec, "Runtime capabilities entry"; contract 3.4.

use super::{
    ModePurpose, NativeMode, PermissionMode, REHEARSAL, ReportedCapabilities, RuntimeProfile,
    TranscriptFormat, permission_modes,
};
use crate::Refusal;

/// What a runtime can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The runtime's type.
    pub kind: String,
    /// Whether a person is asked about its tool calls.
    pub supports_tool_approval: bool,
    /// Whether it tells what its turns cost.
    pub supports_cost_tracking: bool,
    /// Whether it goes on with a session of before.
    pub supports_resume: bool,
    /// Whether its sessions can use tool servers.
    pub supports_mcp: bool,
    /// Whether they use the tool servers that are managed here.
    pub supports_managed_mcp_servers: bool,
    /// Whether it asks questions with answers to choose from.
    pub supports_question_prompt: bool,
    /// Whether it takes plugins.
    pub supports_plugins: bool,
    /// Its permission modes, the default first.
    pub modes: Vec<PermissionMode>,
    /// The id of the default one.
    pub default_mode: String,
    /// Its section of the settings.
    pub config_section: String,
    /// Whether one can choose how hard it thinks.
    pub supports_effort: bool,
    /// What its section of the settings holds.
    pub sections: Vec<SettingsSection>,
    /// What else is known.
    pub features: RuntimeFeatures,
}

/// A part of a runtime's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsSection {
    /// How it is started.
    Command,
    /// With which account it works.
    Account,
    /// Which address its model answers at.
    Endpoint,
    /// What it used.
    Usage,
}

impl SettingsSection {
    /// Every section with its word.
    pub const WORDS: [(Self, &str); 4] = [
        (Self::Command, "command"),
        (Self::Account, "account"),
        (Self::Endpoint, "endpoint"),
        (Self::Usage, "usage"),
    ];
}

/// What else is known of a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeFeatures {
    /// Whether it is a script and no model.
    pub scripted: bool,
    /// The version it named last; `""` when it named none.
    pub agent_version: String,
    /// What it writes on disk of its sessions.
    pub transcript: TranscriptFormat,
    /// Whether it hears why a call was denied; the protocol carries no reason.
    pub deny_reason: bool,
    /// Whether it takes words while a turn runs.
    pub steer: bool,
    /// Whether it said itself what it can do.
    pub probed: bool,
}

impl Capabilities {
    /// The mode with this id.
    ///
    /// # Errors
    /// [`Refusal::UnsupportedPermissionMode`] with those there are.
    pub fn mode(&self, id: &str) -> Result<&PermissionMode, Refusal> {
        self.modes.iter().find(|mode| mode.id == id).ok_or_else(|| {
            let supported = self.modes.iter().map(|mode| mode.id.clone()).collect();
            Refusal::UnsupportedPermissionMode(supported)
        })
    }

    /// The mode that the agent calls `native`; one that is not listed is the widest.
    pub fn mode_of_native(&self, native: &str) -> PermissionMode {
        let known = self.modes.iter().find(|mode| mode.native == native);
        known.cloned().unwrap_or_else(|| {
            // A row that was not listed, because the agent had not reported it, still tells.
            let row = permission_modes::rows(&self.kind)
                .iter()
                .find(|row| row.id == native);
            row.map_or_else(
                || {
                    permission_modes::unknown(
                        permission_modes::id_of(native, &self.modes),
                        &unnamed(native),
                    )
                },
                |row| row.mode(None),
            )
        })
    }
}

/// What the runtime of `profile` can do, given what it last said of itself.
pub fn capabilities(
    profile: &RuntimeProfile,
    probed: Option<&ReportedCapabilities>,
) -> Capabilities {
    let flags = CapabilityFlags::of(profile, probed);
    let modes = modes_of(profile, probed);
    Capabilities {
        kind: profile.kind.clone(),
        supports_tool_approval: flags.tool_approval,
        supports_cost_tracking: flags.cost_tracking,
        supports_resume: flags.resume,
        supports_mcp: flags.tool_servers,
        supports_managed_mcp_servers: flags.managed_tool_servers,
        supports_question_prompt: flags.question_prompt,
        supports_plugins: false,
        default_mode: modes
            .first()
            .map(|mode| mode.id.clone())
            .unwrap_or_default(),
        modes,
        config_section: profile.config_section.clone(),
        supports_effort: probed.is_some_and(ReportedCapabilities::offers_effort),
        sections: sections(profile, &flags),
        features: RuntimeFeatures {
            scripted: profile.kind == REHEARSAL,
            agent_version: probed
                .map(|probed| probed.agent_version.clone())
                .unwrap_or_default(),
            transcript: profile.transcript,
            deny_reason: false,
            steer: false,
            probed: probed.is_some(),
        },
    }
}

/// What a runtime can do, before it is written into an entry.
struct CapabilityFlags {
    tool_approval: bool,
    cost_tracking: bool,
    resume: bool,
    tool_servers: bool,
    managed_tool_servers: bool,
    question_prompt: bool,
}

impl CapabilityFlags {
    fn of(profile: &RuntimeProfile, probed: Option<&ReportedCapabilities>) -> Self {
        let is = |kinds: &[&str]| kinds.contains(&profile.kind.as_str());
        let is_shown = is(&["claude-code", "codex", "opencode", REHEARSAL]);
        // Whoever speaks the protocol asks for permission and starts tool servers; the rest of
        // the flags only a test can show.
        let speaks = is_shown || probed.is_some();
        Self {
            tool_approval: speaks,
            cost_tracking: is(&["claude-code", "opencode", REHEARSAL]),
            resume: probed.map_or(is_shown, |probed| probed.load_session || probed.resume),
            tool_servers: speaks,
            managed_tool_servers: speaks,
            question_prompt: is(&["claude-code", REHEARSAL]),
        }
    }
}

fn sections(profile: &RuntimeProfile, flags: &CapabilityFlags) -> Vec<SettingsSection> {
    let names = |ending: &[&str]| {
        let mut variables = profile.provider_variables.iter();
        variables.any(|name| ending.iter().any(|ending| name.ends_with(ending)))
    };
    [
        (SettingsSection::Command, true),
        (SettingsSection::Account, names(&["_API_KEY", "_TOKEN"])),
        (SettingsSection::Endpoint, names(&["_BASE_URL"])),
        (SettingsSection::Usage, flags.cost_tracking),
    ]
    .into_iter()
    .filter_map(|(section, is_there)| is_there.then_some(section))
    .collect()
}

/// The modes of a runtime, the default first: the rows of the table that the runtime itself
/// lists, or all but the marked ones before it said anything, then what else it lists.
fn modes_of(
    profile: &RuntimeProfile,
    probed: Option<&ReportedCapabilities>,
) -> Vec<PermissionMode> {
    let native = probed
        .map(ReportedCapabilities::native_modes)
        .unwrap_or_default();
    let reported = |id: &str| native.iter().find(|mode| mode.id == id);
    let rows = permission_modes::rows(&profile.kind).iter();
    let mut modes: Vec<PermissionMode> = rows
        .filter(|row| match reported(row.id) {
            Some(_) => true,
            None => native.is_empty() && !row.if_reported,
        })
        .map(|row| row.mode(reported(row.id)))
        .collect();
    for other in &native {
        if modes.iter().all(|mode| mode.native != other.id) {
            modes.push(permission_modes::unknown(
                permission_modes::id_of(&other.id, &modes),
                other,
            ));
        }
    }
    put_default_first(profile, !native.is_empty(), &mut modes);
    modes
}

/// Moves the default to the front, and adds it when it is not listed.
///
/// Where the runtime itself listed other modes than the one that is set by default, the first
/// degree of trust that needs nobody's consent takes its place.
fn put_default_first(profile: &RuntimeProfile, is_told: bool, modes: &mut Vec<PermissionMode>) {
    let is_harmless =
        |mode: &PermissionMode| mode.axis == ModePurpose::Trust && !mode.width.needs_consent();
    let place = |modes: &[PermissionMode], id: &str| modes.iter().position(|mode| mode.id == id);
    let default = profile.default_mode.as_str();
    let first = match place(modes, default) {
        Some(place) => modes.remove(place),
        None if default.is_empty() => match place(modes, "default") {
            Some(place) => modes.remove(place),
            None => permission_modes::as_it_starts(),
        },
        None => match modes.iter().position(is_harmless) {
            Some(place) if is_told => modes.remove(place),
            Some(_) | None => {
                let row = permission_modes::rows(&profile.kind)
                    .iter()
                    .find(|row| row.id == default);
                row.map_or_else(
                    || permission_modes::unknown(default.to_owned(), &unnamed(default)),
                    |row| row.mode(None),
                )
            }
        },
    };
    modes.insert(0, first);
}

fn unnamed(native: &str) -> NativeMode {
    NativeMode {
        id: native.to_owned(),
        name: String::new(),
        description: String::new(),
    }
}

#[cfg(test)]
#[path = "capabilities_tests.rs"]
mod tests;
