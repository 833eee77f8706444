//! Modes: which calls the agent asks about, and which it refuses by itself.
//! Pure; the same four stand in the shipped table of capabilities. Source: contract 3.4.

use agent_client_protocol::v1::schema::{SessionMode, SessionModeId, SessionModeState};

/// How a call reaches beyond looking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallEffect {
    /// It looks, notes or asks.
    Looks,
    /// It changes a file.
    Edits,
    /// It starts a program.
    Runs,
}

/// What the mode says of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModeDecision {
    /// It happens.
    Go,
    /// A person is asked first.
    Ask,
    /// It does not happen.
    Refuse,
}

/// A permission mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AgentMode {
    /// Asks for every acting call.
    #[default]
    Default,
    /// Edits without a question; commands ask.
    AcceptEdits,
    /// Looks only.
    Plan,
    /// Never asks.
    Autopilot,
}

impl AgentMode {
    /// Every mode with its id, name and description; the default first.
    const ALL: [(Self, &str, &str, &str); 4] = [
        (
            Self::Default,
            "default",
            "Default",
            "Asks before every edit and every command.",
        ),
        (
            Self::AcceptEdits,
            "accept-edits",
            "Accept edits",
            "Edits files without asking; asks before every command.",
        ),
        (
            Self::Plan,
            "plan",
            "Plan",
            "Reads only; edits and commands are refused.",
        ),
        (
            Self::Autopilot,
            "autopilot",
            "Autopilot",
            "Edits and runs commands without asking.",
        ),
    ];

    /// The mode called `id`.
    pub(crate) fn named(id: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, known, ..)| *known == id)
            .map(|(mode, ..)| *mode)
    }

    /// Its id.
    pub(crate) fn id(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(mode, ..)| *mode == self)
            .map_or("default", |(_, id, ..)| id)
    }

    /// What a session answers when it opens in this mode.
    pub(crate) fn state(self) -> SessionModeState {
        let all = Self::ALL.iter().map(|(_, id, name, description)| {
            SessionMode::new(SessionModeId::new(*id), *name).description((*description).to_owned())
        });
        SessionModeState::new(SessionModeId::new(self.id()), all.collect())
    }

    /// What it says of a call that reaches this far.
    pub(crate) fn verdict(self, reach: CallEffect) -> ModeDecision {
        match (self, reach) {
            (_, CallEffect::Looks)
            | (Self::Autopilot, _)
            | (Self::AcceptEdits, CallEffect::Edits) => ModeDecision::Go,
            (Self::Plan, _) => ModeDecision::Refuse,
            (Self::Default, _) | (Self::AcceptEdits, CallEffect::Runs) => ModeDecision::Ask,
        }
    }
}
