//! Places: what is known of each agent's process, from its start to the end of its tree.
//! Only bookkeeping: the process itself is the parent module's.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use guildhall_domain::{ids::AgentId, limits};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::{AgentProcess, lock};
use crate::Hall;

/// All agent processes of this server.
#[derive(Default)]
pub(crate) struct AgentProcesses {
    /// The place of each agent that has one; what is said of a process changes under this lock
    /// alone. A std mutex: held for single look-ups and never over an await.
    slots: Mutex<HashMap<AgentId, ProcessSlot>>,
    /// Told whenever a place changes or goes.
    pub(super) changed: Notify,
}

/// The place of one agent's process. It is there while somebody uses it or its process lives.
#[derive(Default)]
struct ProcessSlot {
    life: ProcessState,
    /// Turns that run in it or wait for it.
    users: usize,
    /// When the last of them left; `None` before the first did.
    idle_since: Option<Instant>,
}

/// Where an agent's process is in its life: starting, running, stopping, gone.
#[derive(Default)]
enum ProcessState {
    /// There is none.
    #[default]
    Gone,
    /// It is being started and greeted.
    Starting {
        stop: StopSender,
        /// How the start ended, told once.
        told: watch::Receiver<Option<StartResult>>,
    },
    /// It takes turns.
    Running {
        stop: StopSender,
        process: AgentProcess,
    },
    /// Its end began, and takes until nothing of its tree lives.
    Stopping {
        /// Whether it ever ran.
        has_run: bool,
    },
}

/// Whether a process could be started, or why not, for a person.
pub(super) type StartResult = Result<(), String>;
/// Turns true when a process shall end.
pub(super) type StopSender = Arc<watch::Sender<bool>>;

impl ProcessSlot {
    /// Begins to end the process, if there is one.
    fn stop(&mut self) {
        let (stop, has_run) = match &self.life {
            ProcessState::Gone | ProcessState::Stopping { .. } => return,
            ProcessState::Starting { stop, .. } => (stop, false),
            ProcessState::Running { stop, process } => {
                process.link.stop();
                (stop, true)
            }
        };
        stop.send_replace(true);
        self.life = ProcessState::Stopping { has_run };
    }

    fn is_idle(&self) -> bool {
        self.users == 0 && matches!(self.life, ProcessState::Running { .. })
    }
}
/// A place for an agent's process, and the right to use what runs in it; dropped, the process
/// may idle, and one that is still being started is given up.
pub(crate) struct ProcessLease {
    pub(super) agent: AgentId,
    pub(super) hall: Hall,
}

impl Drop for ProcessLease {
    fn drop(&mut self) {
        self.hall.inner.processes.leave(self.agent);
    }
}
impl AgentProcesses {
    /// The agents of which a process runs now.
    pub(crate) fn live(&self) -> HashSet<AgentId> {
        let slots = lock(&self.slots);
        let live = slots.iter().filter(|(_, slot)| match slot.life {
            ProcessState::Running { .. } | ProcessState::Stopping { has_run: true } => true,
            ProcessState::Gone
            | ProcessState::Starting { .. }
            | ProcessState::Stopping { has_run: false } => false,
        });
        live.map(|(agent, _)| *agent).collect()
    }

    /// Begins to end an agent's process, also one that is still being started.
    pub(crate) fn stop(&self, agent: AgentId) {
        self.change(agent, ProcessSlot::stop);
    }

    /// The agent's process, where one runs.
    pub(super) fn running(&self, agent: AgentId) -> Option<AgentProcess> {
        match lock(&self.slots).get(&agent)?.life {
            ProcessState::Running { ref process, .. } => Some(process.clone()),
            ProcessState::Gone | ProcessState::Starting { .. } | ProcessState::Stopping { .. } => {
                None
            }
        }
    }

    /// Takes the place of `agent`, if there is room for one more process or it has one already
    /// that is not ending; makes room by ending the process that was idle longest.
    pub(super) fn enter(&self, agent: AgentId) -> bool {
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.get_mut(&agent) {
            let is_free = !matches!(slot.life, ProcessState::Stopping { .. });
            slot.users += usize::from(is_free);
            return is_free;
        }
        if slots.len() < limits::PROCESSES_MAX {
            slots.entry(agent).or_default().users = 1;
            return true;
        }
        // One that ends makes room for one; who finds none left looks again.
        let is_one_ending = slots
            .values()
            .any(|slot| slot.users == 0 && matches!(slot.life, ProcessState::Stopping { .. }));
        if !is_one_ending {
            let idle = slots.values_mut().filter(|slot| slot.is_idle());
            if let Some(slot) = idle.min_by_key(|slot| slot.idle_since) {
                slot.stop();
            }
        }
        false
    }

    /// Gives a place back.
    pub(super) fn leave(&self, agent: AgentId) {
        self.change(agent, |slot| {
            slot.users = slot.users.saturating_sub(1);
            if slot.users == 0 {
                slot.idle_since = Some(Instant::now());
                // Nobody waits for a start any more that may never end.
                if matches!(slot.life, ProcessState::Starting { .. }) {
                    slot.stop();
                }
            }
        });
    }

    /// Ends a process that nobody used for long.
    pub(super) fn stop_if_idle(&self, agent: AgentId) {
        let rest = Duration::from_secs(limits::PROCESS_IDLE_S);
        self.change(agent, |slot| {
            let is_over = |since: Instant| since.elapsed() >= rest;
            if slot.is_idle() && slot.idle_since.is_some_and(is_over) {
                slot.stop();
            }
        });
    }

    /// Changes a place, which goes when nobody uses it and nothing lives in it.
    fn change<T>(&self, agent: AgentId, how: impl FnOnce(&mut ProcessSlot) -> T) -> Option<T> {
        let mut slots = lock(&self.slots);
        let slot = slots.get_mut(&agent)?;
        let answer = how(slot);
        if slot.users == 0 && matches!(slot.life, ProcessState::Gone) {
            slots.remove(&agent);
        }
        drop(slots);
        self.changed.notify_waiters();
        Some(answer)
    }

    /// What whoever has the agent's place is to do next.
    pub(super) fn next_step(&self, agent: AgentId) -> AcquireStep {
        let mut slots = lock(&self.slots);
        let Some(slot) = slots.get_mut(&agent) else {
            return AcquireStep::Wait;
        };
        match &slot.life {
            ProcessState::Running { process, .. } if process.is_usable() => {
                AcquireStep::Take(process.clone())
            }
            // Its end began by itself.
            ProcessState::Running { .. } | ProcessState::Stopping { .. } => AcquireStep::Wait,
            ProcessState::Starting { told, .. } => AcquireStep::Hear(told.clone()),
            ProcessState::Gone => {
                let (tell, told) = watch::channel(None);
                let stop = StopSender::default();
                slot.life = ProcessState::Starting {
                    stop: Arc::clone(&stop),
                    told: told.clone(),
                };
                AcquireStep::Start(PendingStart { tell, stop }, told)
            }
        }
    }

    /// From now on the process takes turns, unless its end began meanwhile.
    pub(super) fn started(&self, agent: AgentId, process: AgentProcess) {
        self.change(agent, |slot| {
            if let ProcessState::Starting { stop, .. } = &slot.life {
                slot.life = ProcessState::Running {
                    stop: Arc::clone(stop),
                    process,
                };
            }
        });
    }
}

/// What whoever has an agent's place is to do.
pub(super) enum AcquireStep {
    Take(AgentProcess),
    /// Hear how the start ends.
    Hear(watch::Receiver<Option<StartResult>>),
    /// Start it, and hear how that ends.
    Start(PendingStart, watch::Receiver<Option<StartResult>>),
    /// Look again after the next change.
    Wait,
}

/// A start that is to be made.
pub(super) struct PendingStart {
    pub(super) tell: watch::Sender<Option<StartResult>>,
    pub(super) stop: StopSender,
}

/// One life of an agent's process, from its start to the end of its tree; dropped, the place is
/// free for the next, however it came to that.
pub(super) struct ProcessLifetime {
    pub(super) hall: Hall,
    pub(super) agent: AgentId,
    pub(super) tell: watch::Sender<Option<StartResult>>,
    pub(super) stop: watch::Receiver<bool>,
}

impl ProcessLifetime {
    /// Says how the start ended; only the first word counts.
    pub(super) fn report_start(&self, started: StartResult) {
        self.tell.send_if_modified(|told| {
            let is_news = told.is_none();
            if is_news {
                *told = Some(started);
            }
            is_news
        });
    }

    pub(super) fn has_run(&self) -> bool {
        matches!(*self.tell.borrow(), Some(Ok(())))
    }
}

impl Drop for ProcessLifetime {
    fn drop(&mut self) {
        let processes = &self.hall.inner.processes;
        processes.change(self.agent, |slot| slot.life = ProcessState::Gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(byte: u8) -> AgentId {
        AgentId::from_bytes([byte; 16])
    }

    /// A start that somebody makes in this place.
    fn start(processes: &AgentProcesses, agent: AgentId) -> PendingStart {
        match processes.next_step(agent) {
            AcquireStep::Start(start, _) => start,
            AcquireStep::Take(_) | AcquireStep::Hear(_) | AcquireStep::Wait => {
                panic!("nothing is to be started")
            }
        }
    }

    fn gone(processes: &AgentProcesses, agent: AgentId) {
        processes.change(agent, |slot| slot.life = ProcessState::Gone);
    }

    #[test]
    fn a_start_nobody_waits_for_is_given_up_and_its_place_free_when_it_is_gone() {
        let (processes, ada) = (AgentProcesses::default(), agent(1));
        assert!(processes.enter(ada));
        let start = start(&processes, ada);
        processes.leave(ada);
        assert!(*start.stop.borrow(), "nobody waits for it");
        assert!(!processes.enter(ada), "its tree may still live");
        gone(&processes, ada);
        assert!(lock(&processes.slots).is_empty());
        assert!(processes.enter(ada));
    }

    #[test]
    fn a_start_is_one_for_all_who_wait_for_it() {
        let (processes, ada) = (AgentProcesses::default(), agent(1));
        assert!(processes.enter(ada) && processes.enter(ada));
        let start = start(&processes, ada);
        assert!(matches!(processes.next_step(ada), AcquireStep::Hear(_)));
        processes.leave(ada);
        assert!(!*start.stop.borrow(), "another waits for it");
    }

    #[test]
    fn an_agent_is_stopped_while_it_starts() {
        let (processes, ada) = (AgentProcesses::default(), agent(1));
        assert!(processes.enter(ada));
        let start_ = start(&processes, ada);
        processes.stop(ada);
        assert!(*start_.stop.borrow());
        assert!(matches!(processes.next_step(ada), AcquireStep::Wait));
        gone(&processes, ada);
        start(&processes, ada);
    }

    #[test]
    fn a_place_that_was_given_back_without_a_start_is_free() {
        let processes = AgentProcesses::default();
        for byte in 0..u8::try_from(limits::PROCESSES_MAX).unwrap() {
            assert!(processes.enter(agent(byte)));
        }
        let late = agent(255);
        assert!(!processes.enter(late));
        processes.leave(agent(0));
        assert!(processes.enter(late));
    }
}
