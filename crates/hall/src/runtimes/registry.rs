//! The registry of runtimes: those there can be, and where their programs lie now.

use std::{
    collections::HashSet,
    sync::{PoisonError, RwLock},
};

use guildhall_domain::{
    Refusal,
    agents::{Agent, AgentState},
    ids::AgentId,
    runtimes::{REHEARSAL, RuntimeProfile},
};
use guildhall_world::runtime_programs::{InstalledProgram, ProgramSearch};
use tokio::sync::Semaphore;

/// Checks that run at one moment; a further one waits.
const CHECKS_AT_ONCE: usize = 2;

/// Every runtime there can be, built-in ones in the order of their table.
pub struct Registry {
    profiles: Vec<RuntimeProfile>,
    programs: ProgramSearch,
    /// Where each profile's program was found when it was last looked for, in their order.
    /// A lock of std: it is held for a copy and never over an await.
    places: RwLock<Vec<Option<InstalledProgram>>>,
    /// Keeps many checks from starting many programs.
    pub(super) checks: Semaphore,
}

impl Registry {
    pub(crate) fn open(profiles: Vec<RuntimeProfile>, programs: ProgramSearch) -> Self {
        let registry = Self {
            places: RwLock::new(Vec::new()),
            profiles,
            programs,
            checks: Semaphore::new(CHECKS_AT_ONCE),
        };
        registry.rescan();
        registry
    }

    /// Looks for every program anew; asks the file system.
    pub(crate) fn rescan(&self) {
        let find = |profile: &RuntimeProfile| self.programs.find(&profile.program);
        let found: Vec<_> = self.profiles.iter().map(find).collect();
        *self.places.write().unwrap_or_else(PoisonError::into_inner) = found;
    }

    /// Every runtime there can be, registered or not.
    pub fn profiles(&self) -> &[RuntimeProfile] {
        &self.profiles
    }

    /// The runtime of this type, registered or not.
    pub fn profile(&self, kind: &str) -> Option<&RuntimeProfile> {
        self.profiles.iter().find(|profile| profile.kind == kind)
    }

    /// The registered runtime of this type.
    ///
    /// # Errors
    /// [`Refusal::UnknownRuntime`].
    pub fn find(&self, kind: &str) -> Result<&RuntimeProfile, Refusal> {
        self.profile(kind)
            .filter(|profile| self.is_registered(profile))
            .ok_or(Refusal::UnknownRuntime)
    }

    /// Whether agents can be bound to it: it is our own, configured, or installed.
    pub fn is_registered(&self, profile: &RuntimeProfile) -> bool {
        profile.kind == REHEARSAL || profile.is_configured || self.is_installed(&profile.kind)
    }

    /// Whether its program was there when it was last looked for.
    pub fn is_installed(&self, kind: &str) -> bool {
        self.place(kind).is_some()
    }

    /// Where its program was when it was last looked for.
    pub fn place(&self, kind: &str) -> Option<InstalledProgram> {
        let place = self
            .profiles
            .iter()
            .position(|profile| profile.kind == kind)?;
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        places.get(place).cloned().flatten()
    }

    /// The version its package says, under which its facts are kept; `""` when none says.
    pub(crate) fn installed_version(&self, kind: &str) -> String {
        self.place(kind)
            .map(|place| place.version)
            .unwrap_or_default()
    }

    /// The runtime of agents that name none: the `configured` one, else the first installed one
    /// of the table. Source: contract 3.4.
    pub fn default_kind<'a>(&'a self, configured: &str) -> &'a str {
        if let Ok(profile) = self.find(configured) {
            return &profile.kind;
        }
        let mut shipped = self.profiles.iter().filter(|profile| profile.is_built_in);
        shipped
            .find(|profile| self.is_installed(&profile.kind))
            .map_or(REHEARSAL, |profile| &profile.kind)
    }

    /// The agent as the store knows it, with what is true of it only now.
    pub(crate) fn complete(&self, agent: Agent, live: &HashSet<AgentId>) -> Agent {
        let state = match agent.state {
            AgentState::Retired => AgentState::Retired,
            AgentState::Ready | AgentState::RuntimeMissing => {
                if self.is_installed(&agent.runtime) {
                    AgentState::Ready
                } else {
                    AgentState::RuntimeMissing
                }
            }
        };
        Agent {
            state,
            live_process: live.contains(&agent.id),
            ..agent
        }
    }
}
