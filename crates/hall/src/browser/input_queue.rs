//! What people type: in order within a tab, and a bounded number at a time. Source: contract 7.7.

use std::collections::{BTreeMap, VecDeque};

use guildhall_domain::{Error, Refusal, Result, browser::InputSteps, ids::TabId, limits};

use super::{actor_requests::ReplySender, screencast::ViewerId};

/// Who waits for the end of some steps.
pub(super) enum InputWaiter {
    /// A request.
    Route(ReplySender<()>),
    /// A message of a viewer.
    Viewer(ViewerId, u32),
    /// Nobody: who held a key or button down is gone.
    Nobody,
}

/// Some steps in a tab.
pub(super) struct QueuedInput {
    pub(super) steps: InputSteps,
    pub(super) waits: InputWaiter,
}

#[derive(Default)]
struct TabQueue {
    waiting: VecDeque<QueuedInput>,
    is_busy: bool,
}

/// What waits to be typed.
#[derive(Default)]
pub(super) struct InputQueues {
    lines: BTreeMap<TabId, TabQueue>,
}

impl InputQueues {
    /// Takes steps on; those come back that can be done now.
    ///
    /// # Errors
    /// [`Refusal::BrowserInputQueueFull`] with them, beside who waits for them.
    pub(super) fn add(
        &mut self,
        tab: TabId,
        typed: QueuedInput,
    ) -> Result<Option<QueuedInput>, (InputWaiter, Error)> {
        let line = self.lines.entry(tab).or_default();
        if !line.is_busy {
            line.is_busy = true;
            return Ok(Some(typed));
        }
        // What lets go of something is always taken.
        let is_full = line.waiting.len() >= limits::BROWSER_INPUT_QUEUE_MAX;
        if is_full && !matches!(typed.waits, InputWaiter::Nobody) {
            return Err((typed.waits, Refusal::BrowserInputQueueFull.into()));
        }
        line.waiting.push_back(typed);
        Ok(None)
    }

    /// The steps before are done: the next ones, if some wait.
    pub(super) fn next(&mut self, tab: TabId) -> Option<QueuedInput> {
        let line = self.lines.get_mut(&tab)?;
        let next = line.waiting.pop_front();
        if next.is_none() {
            self.lines.remove(&tab);
        }
        next
    }

    /// What waits in a tab is too late, but for what lets go of something: who waited for it.
    pub(super) fn drop_stale_input(&mut self, tab: TabId) -> Vec<InputWaiter> {
        let Some(line) = self.lines.get_mut(&tab) else {
            return Vec::new();
        };
        let is_release = |typed: &QueuedInput| matches!(typed.waits, InputWaiter::Nobody);
        let waiting = std::mem::take(&mut line.waiting).into_iter();
        let (releases, late): (VecDeque<_>, VecDeque<_>) = waiting.partition(is_release);
        line.waiting = releases;
        late.into_iter().map(|typed| typed.waits).collect()
    }

    /// A tab is gone: who waited for it.
    pub(super) fn forget(&mut self, tab: TabId) -> Vec<InputWaiter> {
        let line = self.lines.remove(&tab).unwrap_or_default();
        line.waiting.into_iter().map(|typed| typed.waits).collect()
    }

    /// All are gone: who waited.
    pub(super) fn forget_all(&mut self) -> Vec<InputWaiter> {
        let lines = std::mem::take(&mut self.lines).into_values();
        let typed = lines.flat_map(|line| line.waiting);
        typed.map(|typed| typed.waits).collect()
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::browser::{InputStep, Viewport};

    use super::*;

    const TAB: TabId = TabId::from_bytes([1; 16]);

    fn typed(text: &str) -> QueuedInput {
        let text = text.to_owned();
        let steps =
            InputSteps::checked(vec![InputStep::Text { text }], Viewport::default()).unwrap();
        QueuedInput {
            steps,
            waits: InputWaiter::Viewer(1, 1),
        }
    }

    #[test]
    fn what_lets_go_of_something_is_never_too_late() {
        let mut typing = InputQueues::default();
        let up = QueuedInput {
            waits: InputWaiter::Nobody,
            ..typed("up")
        };
        assert!(matches!(typing.add(TAB, typed("being done")), Ok(Some(_))));
        assert!(matches!(
            typing.add(TAB, typed("for the old page")),
            Ok(None)
        ));
        assert!(matches!(typing.add(TAB, up), Ok(None)));
        let late = typing.drop_stale_input(TAB);
        assert!(matches!(late[..], [InputWaiter::Viewer(1, 1)]));
        let next = typing.next(TAB).unwrap();
        assert!(matches!(next.waits, InputWaiter::Nobody));
        assert!(typing.next(TAB).is_none());
    }

    #[test]
    fn steps_wait_for_those_before_and_one_too_many_is_refused() {
        let mut typing = InputQueues::default();
        assert!(matches!(typing.add(TAB, typed("first")), Ok(Some(_))));
        for _ in 0..limits::BROWSER_INPUT_QUEUE_MAX {
            assert!(matches!(typing.add(TAB, typed("later")), Ok(None)));
        }
        let refused = typing.add(TAB, typed("too many")).err();
        assert!(matches!(
            refused,
            Some((_, Error::Refusal(Refusal::BrowserInputQueueFull)))
        ));
        let release = QueuedInput {
            waits: InputWaiter::Nobody,
            ..typed("up")
        };
        assert!(matches!(typing.add(TAB, release), Ok(None)));
        let mut count = 0;
        while typing.next(TAB).is_some() {
            count += 1;
        }
        assert_eq!(count, limits::BROWSER_INPUT_QUEUE_MAX + 1);
        assert!(
            matches!(typing.add(TAB, typed("anew")), Ok(Some(_))),
            "a line that is done with is free again"
        );
    }
}
