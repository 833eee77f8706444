//! The list itself, and what each operation does to it.

use std::collections::HashSet;

use super::{RequestedStatus, Task, TaskChange, TaskLinks, TaskOperation, TaskStatus};
use crate::limits;

/// The tasks in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskList {
    tasks: Vec<Task>,
    /// The largest number that any task had as its id, since the list was last replaced.
    highest: u64,
    has_dropped: bool,
}

/// Which side of a reference a task stands on.
#[derive(Clone, Copy)]
enum LinkSide {
    BlockedBy,
    Blocks,
}

impl TaskList {
    pub(super) fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    pub(super) fn has_dropped(&self) -> bool {
        self.has_dropped
    }

    pub(super) fn bytes(&self) -> usize {
        let of = |task: &Task| {
            let texts = [
                &task.id,
                &task.subject,
                &task.description,
                &task.active_form,
                &task.owner,
            ];
            let links = task.blocks.iter().chain(&task.blocked_by);
            let links = links.map(|id| size_of::<String>() + id.len());
            size_of::<Task>()
                + texts.iter().map(|text| text.len()).sum::<usize>()
                + links.sum::<usize>()
        };
        self.tasks.iter().map(of).sum()
    }

    /// Carries out an operation; answers the id of a task it made, which is `made` where the
    /// agent was told one, else the next number.
    pub(super) fn apply(
        &mut self,
        operation: &TaskOperation,
        made: Option<&str>,
    ) -> Option<String> {
        match operation {
            TaskOperation::Replace(entries) => {
                self.replace(entries);
                None
            }
            TaskOperation::Create(change) => Some(self.create(change, made)),
            TaskOperation::Update { id, change } => {
                self.update(id, change);
                None
            }
        }
    }

    fn replace(&mut self, entries: &[TaskChange]) {
        *self = Self::default();
        let stays = |entry: &&TaskChange| entry.status != Some(RequestedStatus::Gone);
        let mut own: HashSet<&str> = HashSet::new();
        let mut named = Vec::new();
        for (place, entry) in entries.iter().enumerate().filter(|(_, entry)| stays(entry)) {
            if named.len() == limits::TASKS_MAX {
                self.has_dropped = true;
                break;
            }
            let id = entry.id.as_deref().filter(|id| own.insert(id));
            named.push((place, id, entry));
        }
        for (place, id, entry) in &named {
            let id = match id {
                Some(id) => (*id).to_owned(),
                None => {
                    let place = (place + 1).to_string();
                    let is_free = !own.contains(place.as_str()) && self.find(&place).is_none();
                    if is_free { place } else { self.free(&own) }
                }
            };
            self.push(id, entry);
        }
        let ids: Vec<String> = self.tasks.iter().map(|task| task.id.clone()).collect();
        for (id, (.., entry)) in ids.iter().zip(&named) {
            self.link(id, entry);
        }
    }

    /// A number that no task has, nor any of `taken`.
    fn free(&self, taken: &HashSet<&str>) -> String {
        let taken = taken.iter().filter_map(|id| number(id)).max();
        (self.highest.max(taken.unwrap_or(0)) + 1).to_string()
    }

    fn create(&mut self, change: &TaskChange, made: Option<&str>) -> String {
        let id = match made {
            Some(made) => made.to_owned(),
            None => (self.highest + 1).to_string(),
        };
        // An agent that gives an id anew has forgotten the task that had it.
        self.remove(&id);
        if self.tasks.len() >= limits::TASKS_MAX {
            self.has_dropped = true;
            self.note_number(&id);
            return id;
        }
        self.push(id.clone(), change);
        if let Some(task) = self.tasks.last_mut() {
            task.status = TaskStatus::Pending;
        }
        self.link(&id, change);
        id
    }

    fn update(&mut self, id: &str, change: &TaskChange) {
        let known = self.find(id).or_else(|| self.rekey(id, change));
        let Some(task) = known.and_then(|place| self.tasks.get_mut(place)) else {
            return;
        };
        if change.status == Some(RequestedStatus::Gone) {
            self.remove(id);
            return;
        }
        set(task, change);
        self.link(id, change);
    }

    /// Gives the one task that has the change's subject the id the agent knows it by.
    fn rekey(&mut self, id: &str, change: &TaskChange) -> Option<usize> {
        let subject = change.subject.as_ref()?;
        let mut same = (0..self.tasks.len()).filter(|place| self.tasks[*place].subject == *subject);
        let place = same.next().filter(|_| same.next().is_none())?;
        let old = std::mem::replace(&mut self.tasks[place].id, id.to_owned());
        for task in &mut self.tasks {
            let links = task.blocks.iter_mut().chain(&mut task.blocked_by);
            for link in links.filter(|link| **link == old) {
                id.clone_into(link);
            }
        }
        self.note_number(id);
        Some(place)
    }

    fn push(&mut self, id: String, change: &TaskChange) {
        self.note_number(&id);
        let mut task = Task {
            id,
            ..Task::default()
        };
        set(&mut task, change);
        self.tasks.push(task);
    }

    fn remove(&mut self, id: &str) {
        let Some(place) = self.find(id) else {
            return;
        };
        self.tasks.remove(place);
        for task in &mut self.tasks {
            task.blocks.retain(|link| link != id);
            task.blocked_by.retain(|link| link != id);
        }
    }

    fn link(&mut self, id: &str, change: &TaskChange) {
        for (side, links) in [
            (LinkSide::BlockedBy, &change.blocked_by),
            (LinkSide::Blocks, &change.blocks),
        ] {
            let TaskLinks { set, add } = links;
            if let Some(set) = set {
                self.unlink_all(id, side);
                self.link_all(id, side, set);
            }
            self.link_all(id, side, add);
        }
    }

    /// References to tasks that are not there are left out: they would have no mirror.
    fn link_all(&mut self, id: &str, side: LinkSide, others: &[String]) {
        for other in others {
            let (Some(place), Some(mirror)) = (self.find(id), self.find(other)) else {
                continue;
            };
            let (before, behind) = match side {
                LinkSide::BlockedBy => (mirror, place),
                LinkSide::Blocks => (place, mirror),
            };
            let (before_id, behind_id) =
                (self.tasks[before].id.clone(), self.tasks[behind].id.clone());
            add(&mut self.tasks[before].blocks, behind_id);
            add(&mut self.tasks[behind].blocked_by, before_id);
        }
    }

    fn unlink_all(&mut self, id: &str, side: LinkSide) {
        for task in &mut self.tasks {
            let (own, mirror) = match side {
                LinkSide::BlockedBy => (&mut task.blocked_by, &mut task.blocks),
                LinkSide::Blocks => (&mut task.blocks, &mut task.blocked_by),
            };
            mirror.retain(|link| link != id);
            if task.id == id {
                own.clear();
            }
        }
    }

    fn find(&self, id: &str) -> Option<usize> {
        self.tasks.iter().position(|task| task.id == id)
    }

    fn note_number(&mut self, id: &str) {
        self.highest = self.highest.max(number(id).unwrap_or(0));
    }
}

fn set(task: &mut Task, change: &TaskChange) {
    for (field, new) in [
        (&mut task.subject, &change.subject),
        (&mut task.description, &change.description),
        (&mut task.active_form, &change.active_form),
        (&mut task.owner, &change.owner),
    ] {
        if let Some(new) = new {
            new.clone_into(field);
        }
    }
    match change.status {
        Some(RequestedStatus::Is(status)) => task.status = status,
        Some(RequestedStatus::Gone | RequestedStatus::Unknown) | None => {}
    }
}

fn add(links: &mut Vec<String>, id: String) {
    if !links.contains(&id) {
        links.push(id);
    }
}

/// The number an id is, when it is one that can be counted on from.
fn number(id: &str) -> Option<u64> {
    let is_decimal = id.bytes().all(|byte| byte.is_ascii_digit());
    // Fewer than 16 digits leave room to count on.
    (is_decimal && id.len() < 16)
        .then(|| id.parse().ok())
        .flatten()
}
