//! Looking for who holds sockets, among the descriptors of all processes, within a budget.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io,
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

use super::{
    RegisteredGuard, SocketHolder, TreeOwner,
    lost_guards::LostGuard,
    processes::{Process, ProcessState, ProcessTable, each_socket},
};
use crate::peer_lookup::own_uid;

/// How often a tree that changes while it is read is read again.
const ROUNDS_MAX: usize = 16;
/// What a search may spend on the list of processes, in all rounds together, and on the descriptors
/// of agents: they decide how many there are of either.
const AGENTS: SearchBudget = SearchBudget {
    entries: 32_000,
    time: Duration::from_millis(30),
};
/// What it may spend on all others.
const OTHERS: SearchBudget = SearchBudget {
    entries: 100_000,
    time: Duration::from_millis(250),
};

/// As much work as reading what a process is, or opening a list of descriptors: some entries of one.
const ENTRIES_A_LIST: usize = 8;

/// What is known when a search begins.
#[derive(Clone, Debug)]
pub(super) struct SearchContext {
    pub(super) keepers: BTreeMap<u32, RegisteredGuard>,
    pub(super) lost: Vec<LostGuard>,
    /// Whether an agent that could connect to the server has run since the computer started.
    pub(super) was_open: bool,
    /// Who held the sockets of people before.
    pub(super) likely: VecDeque<Process>,
}

impl SearchContext {
    /// Whether the same keepers are lost.
    pub(super) fn is_lost_alike(&self, other: &Self) -> bool {
        let keepers = |known: &Self| -> BTreeSet<Process> {
            known.lost.iter().map(|lost| lost.keeper.process).collect()
        };
        keepers(self) == keepers(other)
    }

    /// Whether a process that is not enclosed may hold a socket and hide it.
    pub(super) fn may_be_hidden(&self) -> bool {
        self.was_open || !self.lost.is_empty() || self.keepers.values().any(|it| !it.is_enclosed)
    }
}

/// What a search found.
#[derive(Debug, Default)]
pub(super) struct SearchResult {
    /// By the inode.
    pub(super) holders: BTreeMap<u64, SocketHolder>,
    /// Who held sockets and is no agent.
    pub(super) people: BTreeSet<Process>,
    /// Because of whom somebody is in doubt.
    pub(super) suspects: BTreeSet<Process>,
}

/// How much may be looked at.
#[derive(Clone, Copy, Debug)]
struct SearchBudget {
    entries: usize,
    time: Duration,
}

/// A budget that is being spent, in the time of this thread.
struct BudgetMeter {
    entries_left: usize,
    end: Duration,
    is_over: bool,
}

impl BudgetMeter {
    fn of(budget: SearchBudget) -> Self {
        Self {
            entries_left: budget.entries,
            end: thread_time() + budget.time,
            is_over: false,
        }
    }

    /// Whether one more entry may be looked at.
    fn take(&mut self) -> bool {
        /// Between two looks at the clock.
        const ENTRIES: usize = 64;
        self.entries_left = self.entries_left.saturating_sub(1);
        let is_late = self.entries_left.is_multiple_of(ENTRIES) && self.is_late();
        self.is_over |= self.entries_left == 0 || is_late;
        !self.is_over
    }

    /// The same for what is as much work as some.
    fn take_list(&mut self) -> bool {
        (0..ENTRIES_A_LIST).all(|_| self.take())
    }

    fn is_late(&self) -> bool {
        thread_time() >= self.end
    }
}

/// The time for which this thread has run: another program that takes the processor from it
/// changes nothing.
fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// What a look into one process showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessScan {
    Whole,
    Unreadable,
    /// It, or one of its threads, ended while it was looked into.
    Changed,
}

/// Looks for the wanted sockets in these lists of descriptors.
fn look(
    lists: impl IntoIterator<Item = std::path::PathBuf>,
    spending: &mut BudgetMeter,
    mut on_socket: impl FnMut(u64),
) -> ProcessScan {
    let mut outcome = ProcessScan::Whole;
    for list in lists {
        // Opening a list is as much work as some entries, also where it is refused.
        if !spending.take_list() {
            return ProcessScan::Unreadable;
        }
        let looked = each_socket(&list, |inode| {
            if let Some(inode) = inode {
                on_socket(inode);
            }
            spending.take()
        });
        match looked {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                outcome = ProcessScan::Unreadable;
            }
            Err(_) if outcome == ProcessScan::Unreadable => {}
            Err(_) => outcome = ProcessScan::Changed,
        }
        if spending.is_over {
            return ProcessScan::Unreadable;
        }
    }
    outcome
}

fn look_into_threads(
    process: Process,
    spending: &mut BudgetMeter,
    on_socket: impl FnMut(u64),
) -> ProcessScan {
    match process.descriptors_by_thread() {
        Ok(lists) => look(lists, spending, on_socket),
        Err(_) => ProcessScan::Changed,
    }
}

/// Every process below `root` and below the keepers, which are left out, with whose it is by the
/// nearest keeper above it, and whether it is enclosed.
pub(super) fn below(
    table: &ProcessTable,
    root: u32,
    keepers: &BTreeMap<u32, RegisteredGuard>,
) -> BTreeMap<Process, (SocketHolder, bool)> {
    let by = |keeper: &RegisteredGuard| {
        let holder = match keeper.whose {
            TreeOwner::Agent(agent) => SocketHolder::Agent(agent),
            TreeOwner::Nobody => SocketHolder::Stray,
            TreeOwner::Browser => SocketHolder::Browser,
        };
        (holder, keeper.is_enclosed)
    };
    let mut found = BTreeMap::new();
    let mut passed: BTreeSet<u32> = keepers.keys().copied().chain([root]).collect();
    // A keeper is a place to begin by itself: systems may hide it from the list.
    let mut above: Vec<(u32, (SocketHolder, bool))> = keepers
        .iter()
        .map(|(pid, keeper)| (*pid, by(keeper)))
        .chain([(root, (SocketHolder::Stray, false))])
        .collect();
    while let Some((parent, holder)) = above.pop() {
        for process in table.children(parent) {
            // A number used again while the table was read could make a circle.
            if !passed.insert(process.pid) {
                continue;
            }
            found.insert(process, holder);
            above.push((process.pid, holder));
        }
    }
    found
}

/// What the trees of agents showed.
#[derive(Default)]
struct TreeScan {
    table: ProcessTable,
    below: BTreeMap<Process, (SocketHolder, bool)>,
    holders: BTreeMap<u64, SocketHolder>,
    /// Processes that a lost keeper kept, or may have kept.
    suspects: BTreeMap<Process, (SocketHolder, bool)>,
    /// Those that could not be looked into, of whoever is not enclosed or may have been an agent.
    unreadable: BTreeSet<Process>,
    /// Whether all trees of agents that run were looked at.
    is_every_tree_whole: bool,
    /// Whether all was looked at.
    is_whole: bool,
}

impl TreeScan {
    /// Whether no agent that runs can hold a socket which was not found.
    fn is_clear_of_agents(&self) -> bool {
        let is_in_tree = |process: &Process| self.below.contains_key(process);
        self.is_every_tree_whole && !self.unreadable.iter().any(is_in_tree)
    }
}

/// Says who holds each of these sockets.
pub(super) fn search(known: &SearchContext, root: u32, wanted: &BTreeSet<u64>) -> SearchResult {
    let inside = inside(known, root, wanted);
    let mut found = SearchResult {
        holders: inside.holders.clone(),
        ..SearchResult::default()
    };
    let mut left: BTreeSet<u64> = wanted.clone();
    left.retain(|inode| !found.holders.contains_key(inode));
    let has_strays = inside.below.values().any(|(_, is_enclosed)| !is_enclosed);
    if left.is_empty() {
        return found;
    }
    if !known.may_be_hidden() && !has_strays {
        let outside = left.into_iter().map(|inode| (inode, SocketHolder::Outside));
        found.holders.extend(outside);
        return found;
    }
    outside(known, root, &inside, left, &mut found);
    found
}

/// Looks into the trees of agents, and then into whatever may have left them, until no new process
/// appears there. What may have left them can be nearly all that the owner started since, so a
/// budget that ends there says nothing against the trees.
fn inside(known: &SearchContext, root: u32, wanted: &BTreeSet<u64>) -> TreeScan {
    let mut spending = BudgetMeter::of(AGENTS);
    let mut inside = TreeScan::default();
    let mut looked_at = BTreeSet::new();
    let mut unreadable = BTreeSet::new();
    for _ in 0..ROUNDS_MAX {
        let Some(table) = ProcessTable::read(|| spending.take_list()) else {
            break;
        };
        inside.below = below(&table, root, &known.keepers);
        let mut is_settled = true;
        inside.suspects = match inside.is_every_tree_whole {
            true => suspects(known, root, &table, &inside.below, &mut spending),
            false => BTreeMap::new(),
        };
        for (process, (holder, is_enclosed)) in inside.below.iter().chain(&inside.suspects) {
            if !looked_at.insert(*process) {
                continue;
            }
            is_settled = false;
            let note = |inode| {
                if wanted.contains(&inode) {
                    inside.holders.insert(inode, *holder);
                }
            };
            let looked = match holder {
                // Chromium's threads share one list, and there are hundreds of them.
                SocketHolder::Browser => look([process.descriptors()], &mut spending, note),
                _ => look_into_threads(*process, &mut spending, note),
            };
            match looked {
                ProcessScan::Whole => {}
                ProcessScan::Unreadable if *is_enclosed => {}
                ProcessScan::Unreadable => {
                    unreadable.insert(*process);
                }
                // It may have handed a socket on to one that was looked at.
                ProcessScan::Changed => looked_at.clear(),
            }
            if spending.is_over {
                inside.table = table;
                inside.unreadable = unreadable;
                return inside;
            }
        }
        inside.table = table;
        if is_settled {
            // Who ended since cannot hold anything.
            let is_there = |process: &Process| {
                inside.below.contains_key(process) || inside.suspects.contains_key(process)
            };
            unreadable.retain(is_there);
            if inside.is_every_tree_whole || known.lost.is_empty() {
                inside.is_every_tree_whole = true;
                inside.unreadable = unreadable;
                inside.is_whole = true;
                return inside;
            }
            inside.is_every_tree_whole = true;
        }
    }
    inside.unreadable = unreadable;
    inside
}

/// Processes that a lost keeper kept, or may have kept.
fn suspects(
    known: &SearchContext,
    root: u32,
    table: &ProcessTable,
    below: &BTreeMap<Process, (SocketHolder, bool)>,
    spending: &mut BudgetMeter,
) -> BTreeMap<Process, (SocketHolder, bool)> {
    if known.lost.is_empty() {
        return BTreeMap::new();
    }
    let own = own_uid();
    let is_outside = |process: &Process| {
        process.pid != root
            && !below.contains_key(process)
            && !known.keepers.contains_key(&process.pid)
    };
    let mut suspects = BTreeMap::new();
    for lost in &known.lost {
        match &lost.left {
            // Only the local browser's are found for sure.
            Some(left) => {
                let living = left.living().into_iter().filter(is_outside);
                suspects.extend(living.map(|process| (process, (SocketHolder::Browser, false))));
            }
            None => {
                // Who a process may act as is read for as long as the budget lasts.
                let may_be_kept = |process: &Process| {
                    is_outside(process)
                        && lost.keeper.may_have_kept(table, *process)
                        && (!spending.take_list() || process.may_act_as(own))
                };
                for process in table.processes().filter(may_be_kept) {
                    let holder = SocketHolder::InDoubt {
                        can_be_settled: true,
                    };
                    suspects.entry(process).or_insert((holder, false));
                }
            }
        }
    }
    suspects
}

/// Looks for what is left among the processes outside of every tree.
fn outside(
    known: &SearchContext,
    root: u32,
    inside: &TreeScan,
    mut left: BTreeSet<u64>,
    found: &mut SearchResult,
) {
    let table = &inside.table;
    let is_outside = |process: &Process| {
        let stat = table.stat(process.pid);
        !inside.below.contains_key(process)
            && !inside.suspects.contains_key(process)
            && !known.keepers.contains_key(&process.pid)
            && stat.is_some_and(|stat| stat.state != ProcessState::Ended)
    };
    let mut spending = BudgetMeter::of(OTHERS);
    let likely: Vec<Process> = known
        .likely
        .iter()
        .copied()
        .chain(table.process(root))
        .collect();
    let others = table
        .processes()
        .filter(|process| !likely.contains(process));
    let all: Vec<Process> = likely
        .iter()
        .copied()
        .chain(others)
        .filter(is_outside)
        .collect();
    let mut unreadable = BTreeSet::new();
    // The first thread has the descriptors of nearly every process.
    for is_every_thread in [false, true] {
        for process in &all {
            if left.is_empty() || spending.is_over {
                break;
            }
            let mut note = |inode| {
                if !left.contains(&inode) {
                    return;
                }
                // Whoever enters the process namespace of a program outside becomes a child of
                // its first process when the own parent ends, and so leaves every tree.
                if known.was_open && !process.is_in_our_namespace() {
                    found.suspects.insert(*process);
                    let holder = SocketHolder::InDoubt {
                        can_be_settled: true,
                    };
                    found.holders.insert(inode, holder);
                } else {
                    found.people.insert(*process);
                    found.holders.insert(inode, SocketHolder::Outside);
                }
                left.remove(&inode);
            };
            let looked = match is_every_thread {
                true => look_into_threads(*process, &mut spending, &mut note),
                false => look([process.descriptors()], &mut spending, &mut note),
            };
            if looked == ProcessScan::Unreadable {
                unreadable.insert(*process);
            }
        }
    }
    let own = own_uid();
    unreadable.retain(|process| process.may_act_as(own));
    let is_all_seen = unreadable.is_empty() && !spending.is_over;
    let holder = match inside.is_whole && inside.unreadable.is_empty() {
        true if is_all_seen => SocketHolder::Nobody,
        true if !known.was_open => SocketHolder::Outside,
        _ => SocketHolder::InDoubt {
            can_be_settled: inside.is_clear_of_agents(),
        },
    };
    if matches!(holder, SocketHolder::InDoubt { .. }) && !left.is_empty() {
        found.suspects.extend(&inside.unreadable);
        found.suspects.extend(unreadable);
    }
    found
        .holders
        .extend(left.into_iter().map(|inode| (inode, holder)));
}
