//! What the link must remember of each session: its mode, how that is set, and whose replay is
//! dropped. Everything is noted in the order in which the agent says it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{AgentUpdate, ConfigOption, NativeMode, OpenedSession, OptionCategory};

/// The sessions of one agent process, by the agent's id.
#[derive(Debug, Default)]
pub(super) struct SessionRegistry {
    // A std mutex: held for a look-up and never over an await.
    known: Mutex<BTreeMap<String, SessionConfigState>>,
}

#[derive(Debug, Default)]
struct SessionConfigState {
    modes: Vec<NativeMode>,
    options: Vec<ConfigOption>,
    /// The mode in force, by what the agent said or answered last; `None` while it is being set,
    /// and until then. What an agent begins with, and what it says of that, differs.
    mode: Option<String>,
    /// It is being loaded and its history is not wanted.
    is_replaying: bool,
}

/// How a mode or another option is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SetOptionMethod {
    /// By `session/set_mode`.
    Mode,
    /// By the config option of this id.
    Option(String),
    /// By the switch of this id.
    Switch(String),
}

impl SessionRegistry {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, SessionConfigState>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn opened(&self, opened: &OpenedSession) {
        self.known().insert(
            opened.session.clone(),
            SessionConfigState {
                modes: opened.modes.clone(),
                options: opened.options.clone(),
                mode: None,
                is_replaying: false,
            },
        );
    }

    pub(super) fn closed(&self, session: &str) {
        self.known().remove(session);
    }

    /// From now on `session` replays its history, or does no more.
    pub(super) fn replays(&self, session: &str, is_replaying: bool) {
        self.known()
            .entry(session.to_owned())
            .or_default()
            .is_replaying = is_replaying;
    }

    /// The one session there is, for a question that names none.
    pub(super) fn only(&self) -> Option<String> {
        let known = self.known();
        let mut names = known.keys();
        match (names.next(), names.next()) {
            (Some(name), None) => Some(name.clone()),
            (Some(_), Some(_)) | (None, _) => None,
        }
    }

    pub(super) fn options_changed(&self, session: &str, options: &[ConfigOption]) {
        if let Some(facts) = self.known().get_mut(session) {
            facts.options = options.to_vec();
        }
    }

    /// The mode in force, where it is known.
    pub(super) fn mode(&self, session: &str) -> Option<String> {
        self.known().get(session)?.mode.clone()
    }

    /// The mode is this one from now on, or nobody knows.
    pub(super) fn mode_changed(&self, session: &str, mode: Option<String>) {
        if let Some(facts) = self.known().get_mut(session) {
            facts.mode = mode;
        }
    }

    /// Whether an update goes on to whoever listens; notes what it changes.
    pub(super) fn observe_update(&self, session: &str, update: &AgentUpdate) -> bool {
        if let Some(mode) = update.mode() {
            self.mode_changed(session, Some(mode));
        }
        if let AgentUpdate::Options(options) = update {
            self.options_changed(session, options);
        }
        let is_history = match update {
            AgentUpdate::Text(_)
            | AgentUpdate::Thinking(_)
            | AgentUpdate::ToolCall(_)
            | AgentUpdate::Plan(_)
            | AgentUpdate::Notice(_) => true,
            AgentUpdate::Commands(_)
            | AgentUpdate::Mode(_)
            | AgentUpdate::Options(_)
            | AgentUpdate::Title(_)
            | AgentUpdate::Context { .. }
            | AgentUpdate::Cost(_) => false,
        };
        let is_replaying = |facts: &SessionConfigState| facts.is_replaying;
        !is_history || !self.known().get(session).is_some_and(is_replaying)
    }

    /// How to set the mode.
    pub(super) fn set_mode_method(&self, session: &str) -> Option<SetOptionMethod> {
        let has_modes = self
            .known()
            .get(session)
            .is_some_and(|facts| !facts.modes.is_empty());
        if has_modes {
            Some(SetOptionMethod::Mode)
        } else {
            self.set_option_method(session, OptionCategory::Mode, None)
        }
    }

    /// How to set an option of `category` to `value`, when that is offered.
    pub(super) fn set_option_method(
        &self,
        session: &str,
        category: OptionCategory,
        value: Option<&str>,
    ) -> Option<SetOptionMethod> {
        let known = self.known();
        let option = known
            .get(session)?
            .options
            .iter()
            .find(|option| category.names(&option.category))?;
        let is_offered =
            value.is_none_or(|value| option.values.iter().any(|known| known.value == value));
        let is_switch = option
            .values
            .iter()
            .map(|value| value.value.as_str())
            .eq(["true", "false"]);
        is_offered.then(|| {
            let id = option.id.clone();
            if is_switch {
                SetOptionMethod::Switch(id)
            } else {
                SetOptionMethod::Option(id)
            }
        })
    }
}
