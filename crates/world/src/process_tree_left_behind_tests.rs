//! Processes as they come and go: what was below a keeper is always taken for it, and what is older
//! than the keeper, or hangs below that, never.

use proptest::prelude::*;

use super::*;

const REAPER: u32 = 2;
const SERVER: u32 = 4;

#[derive(Clone, Debug)]
enum ProcessStep {
    Forks(usize),
    Ends(usize),
}

fn steps() -> impl Strategy<Value = Vec<ProcessStep>> {
    let step = prop_oneof![
        3 => any::<usize>().prop_map(ProcessStep::Forks),
        1 => any::<usize>().prop_map(ProcessStep::Ends),
    ];
    proptest::collection::vec(step, 0..80)
}

#[derive(Default)]
struct SimulatedProcesses {
    /// By number: parent, start, and whether it was once below the keeper.
    alive: BTreeMap<u32, (u32, u64, bool)>,
    next: u32,
}

impl SimulatedProcesses {
    fn fork(&mut self, parent: u32) -> u32 {
        self.next += 1;
        let is_kept = self.alive.get(&parent).is_some_and(|it| it.2);
        let start = u64::from(self.next);
        self.alive.insert(self.next, (parent, start, is_kept));
        self.next
    }

    fn end(&mut self, pid: u32) {
        self.alive.remove(&pid);
        let orphans = self.alive.values_mut().filter(|it| it.0 == pid);
        orphans.for_each(|orphan| orphan.0 = REAPER);
    }

    fn table(&self) -> ProcessTable {
        let mut table = ProcessTable::default();
        for (&pid, &(parent, start, _)) in &self.alive {
            let state = ProcessState::Running;
            table.add(
                pid,
                processes::ProcessStat {
                    state,
                    parent,
                    group: pid,
                    start,
                },
            );
        }
        table
    }

    fn step(&mut self, step: &ProcessStep, but: &[u32]) {
        let (ProcessStep::Forks(at) | ProcessStep::Ends(at)) = step;
        let pids: Vec<u32> = self.alive.keys().copied().collect();
        let pid = pids[at % pids.len()];
        match step {
            ProcessStep::Forks(_) => {
                self.fork(pid);
            }
            ProcessStep::Ends(_) if but.contains(&pid) => {}
            ProcessStep::Ends(_) => self.end(pid),
        }
    }
}

proptest! {
    #[test]
    fn is_found_again(before in steps(), kept in steps(), after in steps()) {
        let mut computer = SimulatedProcesses::default();
        // init, what takes on orphans, a shell, and the server.
        for parent in 0..SERVER {
            computer.fork(parent);
        }
        let fixed = [1, REAPER, 3, SERVER];
        before.iter().for_each(|step| computer.step(step, &fixed));
        let keeper = computer.fork(SERVER);
        let agent = computer.fork(keeper);
        computer.alive.get_mut(&agent).unwrap().2 = true;
        let above = [SERVER, 3, REAPER, 1];
        let above = above.map(|pid| Process { pid, start: u64::from(pid) });
        let entered = lost_guards::StartedGuard {
            process: Process { pid: keeper, start: u64::from(keeper) },
            above: above.to_vec(),
        };
        let until_killed = [&fixed[..], &[keeper]].concat();
        kept.iter().for_each(|step| computer.step(step, &until_killed));
        computer.end(keeper);
        // The server may end, or its shell.
        after.iter().for_each(|step| computer.step(step, &[1, REAPER]));
        let table = computer.table();
        for (&pid, &(_, start, is_kept)) in &computer.alive {
            let is_taken = entered.may_have_kept(&table, Process { pid, start });
            prop_assert!(is_taken || !is_kept, "{pid} was below the keeper");
            prop_assert!(!is_taken || start > u64::from(keeper), "{pid} is older");
        }
    }
}
