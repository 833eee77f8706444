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

use super::{Process, lock};
use crate::Hall;

/// All agent processes of this server.
#[derive(Default)]
pub(crate) struct Processes {
    /// The place of each agent that has one; what is said of a process changes under this lock
    /// alone. A std mutex: held for single look-ups and never over an await.
    slots: Mutex<HashMap<AgentId, Slot>>,
    /// Told whenever a place changes or goes.
    pub(super) changed: Notify,
}

/// The place of one agent's process. It is there while somebody uses it or its process lives.
#[derive(Default)]
struct Slot {
    life: Life,
    /// Turns that run in it or wait for it.
    users: usize,
    /// When the last of them left; `None` before the first did.
    idle_since: Option<Instant>,
}

/// Where an agent's process is in its life: starting, running, stopping, gone.
#[derive(Default)]
enum Life {
    /// There is none.
    #[default]
    Gone,
    /// It is being started and greeted.
    Starting {
        stop: Stop,
        /// How the start ended, told once.
        told: watch::Receiver<Option<Started>>,
    },
    /// It takes turns.
    Running { stop: Stop, process: Process },
    /// Its end began, and takes until nothing of its tree lives.
    Stopping {
        /// Whether it ever ran.
        has_run: bool,
    },
}

/// Whether a process could be started, or why not, for a person.
pub(super) type Started = Result<(), String>;
/// Turns true when a process shall end.
pub(super) type Stop = Arc<watch::Sender<bool>>;

impl Slot {
    /// Begins to end the process, if there is one.
    fn stop(&mut self) {
        let (stop, has_run) = match &self.life {
            Life::Gone | Life::Stopping { .. } => return,
            Life::Starting { stop, .. } => (stop, false),
            Life::Running { stop, process } => {
                process.link.stop();
                (stop, true)
            }
        };
        stop.send_replace(true);
        self.life = Life::Stopping { has_run };
    }

    fn is_idle(&self) -> bool {
        self.users == 0 && matches!(self.life, Life::Running { .. })
    }
}
/// A place for an agent's process, and the right to use what runs in it; dropped, the process
/// may idle, and one that is still being started is given up.
pub(crate) struct Use {
    pub(super) agent: AgentId,
    pub(super) hall: Hall,
}

impl Drop for Use {
    fn drop(&mut self) {
        self.hall.inner.processes.leave(self.agent);
    }
}
impl Processes {
    /// The agents of which a process runs now.
    pub(crate) fn live(&self) -> HashSet<AgentId> {
        let slots = lock(&self.slots);
        let live = slots.iter().filter(|(_, slot)| match slot.life {
            Life::Running { .. } | Life::Stopping { has_run: true } => true,
            Life::Gone | Life::Starting { .. } | Life::Stopping { has_run: false } => false,
        });
        live.map(|(agent, _)| *agent).collect()
    }

    /// Begins to end an agent's process, also one that is still being started.
    pub(crate) fn stop(&self, agent: AgentId) {
        self.change(agent, Slot::stop);
    }

    /// The agent's process, where one runs.
    pub(super) fn running(&self, agent: AgentId) -> Option<Process> {
        match lock(&self.slots).get(&agent)?.life {
            Life::Running { ref process, .. } => Some(process.clone()),
            Life::Gone | Life::Starting { .. } | Life::Stopping { .. } => None,
        }
    }

    /// Takes the place of `agent`, if there is room for one more process or it has one already
    /// that is not ending; makes room by ending the process that was idle longest.
    pub(super) fn enter(&self, agent: AgentId) -> bool {
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.get_mut(&agent) {
            let is_free = !matches!(slot.life, Life::Stopping { .. });
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
            .any(|slot| slot.users == 0 && matches!(slot.life, Life::Stopping { .. }));
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
                if matches!(slot.life, Life::Starting { .. }) {
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
    fn change<T>(&self, agent: AgentId, how: impl FnOnce(&mut Slot) -> T) -> Option<T> {
        let mut slots = lock(&self.slots);
        let slot = slots.get_mut(&agent)?;
        let answer = how(slot);
        if slot.users == 0 && matches!(slot.life, Life::Gone) {
            slots.remove(&agent);
        }
        drop(slots);
        self.changed.notify_waiters();
        Some(answer)
    }

    /// What whoever has the agent's place is to do next.
    pub(super) fn look(&self, agent: AgentId) -> Step {
        let mut slots = lock(&self.slots);
        let Some(slot) = slots.get_mut(&agent) else {
            return Step::Wait;
        };
        match &slot.life {
            Life::Running { process, .. } if process.is_usable() => Step::Take(process.clone()),
            // Its end began by itself.
            Life::Running { .. } | Life::Stopping { .. } => Step::Wait,
            Life::Starting { told, .. } => Step::Hear(told.clone()),
            Life::Gone => {
                let (tell, told) = watch::channel(None);
                let stop = Stop::default();
                slot.life = Life::Starting {
                    stop: Arc::clone(&stop),
                    told: told.clone(),
                };
                Step::Start(Start { tell, stop }, told)
            }
        }
    }

    /// From now on the process takes turns, unless its end began meanwhile.
    pub(super) fn started(&self, agent: AgentId, process: Process) {
        self.change(agent, |slot| {
            if let Life::Starting { stop, .. } = &slot.life {
                slot.life = Life::Running {
                    stop: Arc::clone(stop),
                    process,
                };
            }
        });
    }
}

/// What whoever has an agent's place is to do.
pub(super) enum Step {
    Take(Process),
    /// Hear how the start ends.
    Hear(watch::Receiver<Option<Started>>),
    /// Start it, and hear how that ends.
    Start(Start, watch::Receiver<Option<Started>>),
    /// Look again after the next change.
    Wait,
}

/// A start that is to be made.
pub(super) struct Start {
    pub(super) tell: watch::Sender<Option<Started>>,
    pub(super) stop: Stop,
}

/// One life of an agent's process, from its start to the end of its tree; dropped, the place is
/// free for the next, however it came to that.
pub(super) struct Living {
    pub(super) hall: Hall,
    pub(super) agent: AgentId,
    pub(super) tell: watch::Sender<Option<Started>>,
    pub(super) stop: watch::Receiver<bool>,
}

impl Living {
    /// Says how the start ended; only the first word counts.
    pub(super) fn tell(&self, started: Started) {
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

impl Drop for Living {
    fn drop(&mut self) {
        let processes = &self.hall.inner.processes;
        processes.change(self.agent, |slot| slot.life = Life::Gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(byte: u8) -> AgentId {
        AgentId::from_bytes([byte; 16])
    }

    /// A start that somebody makes in this place.
    fn start(processes: &Processes, agent: AgentId) -> Start {
        match processes.look(agent) {
            Step::Start(start, _) => start,
            Step::Take(_) | Step::Hear(_) | Step::Wait => panic!("nothing is to be started"),
        }
    }

    fn gone(processes: &Processes, agent: AgentId) {
        processes.change(agent, |slot| slot.life = Life::Gone);
    }

    #[test]
    fn a_start_nobody_waits_for_is_given_up_and_its_place_free_when_it_is_gone() {
        let (processes, ada) = (Processes::default(), agent(1));
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
        let (processes, ada) = (Processes::default(), agent(1));
        assert!(processes.enter(ada) && processes.enter(ada));
        let start = start(&processes, ada);
        assert!(matches!(processes.look(ada), Step::Hear(_)));
        processes.leave(ada);
        assert!(!*start.stop.borrow(), "another waits for it");
    }

    #[test]
    fn an_agent_is_stopped_while_it_starts() {
        let (processes, ada) = (Processes::default(), agent(1));
        assert!(processes.enter(ada));
        let start_ = start(&processes, ada);
        processes.stop(ada);
        assert!(*start_.stop.borrow());
        assert!(matches!(processes.look(ada), Step::Wait));
        gone(&processes, ada);
        start(&processes, ada);
    }

    #[test]
    fn a_place_that_was_given_back_without_a_start_is_free() {
        let processes = Processes::default();
        for byte in 0..u8::try_from(limits::PROCESSES_MAX).unwrap() {
            assert!(processes.enter(agent(byte)));
        }
        let late = agent(255);
        assert!(!processes.enter(late));
        processes.leave(agent(0));
        assert!(processes.enter(late));
    }
}
