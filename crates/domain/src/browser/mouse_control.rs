//! Who has the mouse: a person at once, an agent when no person does. Source: contract 7.8,
//! "Control holder".
//!
//! Times are handed in as what has passed since some fixed moment, by a clock that never jumps:
//! on the wall clock an agent could land between two clicks of a person.

use std::{collections::VecDeque, time::Duration};

use super::ControlHolder;
use crate::limits;

const HOLD: Duration = Duration::from_millis(limits::BROWSER_HUMAN_HOLD_MS);
const WAIT: Duration = Duration::from_millis(limits::BROWSER_AGENT_WAIT_MS);
const WINDOW: Duration = Duration::from_millis(limits::BROWSER_AGENT_WINDOW_MS);

/// An agent's action, as its caller numbers it.
pub type ActionTicket = u64;

/// What becomes of an agent's action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionDecision {
    /// It is to be done now, and [`MouseControl::done`] told at its end.
    Run(ActionTicket),
    /// It waited too long: `PERSON_ACTIVE`.
    PersonActive(ActionTicket),
}

/// Who has the mouse, and which actions of agents wait for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MouseControl {
    /// Until when it is the person's, unless there is further input.
    held_until: Option<Duration>,
    /// The action that is being done; it finishes whatever happens.
    running: Option<ActionTicket>,
    /// Those that wait, the oldest first, with the end of their patience.
    waiting: VecDeque<(ActionTicket, Duration)>,
}

impl MouseControl {
    /// Who has the mouse.
    pub fn holder(&self) -> ControlHolder {
        match (self.held_until, self.running) {
            (Some(_), _) => ControlHolder::Person,
            (None, Some(_)) => ControlHolder::Agent,
            (None, None) => ControlHolder::None,
        }
    }

    /// A person did something. A running action of an agent finishes; later ones wait.
    pub fn human_input(&mut self, now: Duration) -> Vec<ActionDecision> {
        let next = self.advance(now);
        self.held_until = Some(now + HOLD);
        next
    }

    /// An agent wants to do something.
    pub fn request(&mut self, ticket: ActionTicket, now: Duration) -> Vec<ActionDecision> {
        let mut next = self.advance(now);
        self.waiting.push_back((ticket, now + WAIT));
        next.extend(self.begin());
        next
    }

    /// The running action is over.
    pub fn done(&mut self, ticket: ActionTicket, now: Duration) -> Vec<ActionDecision> {
        if self.running == Some(ticket) {
            self.running = None;
        }
        self.advance(now)
    }

    /// Who asked gave up, so that its action is not begun any more.
    pub fn cancel(&mut self, ticket: ActionTicket) {
        self.waiting.retain(|(waiting, _)| *waiting != ticket);
    }

    /// Those that wait and shall not be done any more: the tools were paused, or the share ended.
    pub fn refuse_all(&mut self) -> Vec<ActionTicket> {
        self.waiting.drain(..).map(|(ticket, _)| ticket).collect()
    }

    /// When [`Self::advance`] has something to say at the latest.
    pub fn next_deadline(&self) -> Option<Duration> {
        // Behind another action each waits for its end alone, which is bounded itself.
        let until = self.held_until?;
        let patience = self.waiting.front().map_or(until, |(_, end)| *end);
        Some(until.min(patience))
    }

    /// Time passed: the person's hold may be over, and with it somebody's waiting.
    pub fn advance(&mut self, now: Duration) -> Vec<ActionDecision> {
        let mut next = Vec::new();
        // In the order in which both happened, however late this is told.
        while let Some(&(ticket, end)) = self.waiting.front()
            && end <= now
            && self.held_until.is_some_and(|until| end < until)
        {
            self.waiting.pop_front();
            next.push(ActionDecision::PersonActive(ticket));
        }
        if self.held_until.is_some_and(|until| until <= now) {
            self.held_until = None;
        }
        next.extend(self.begin());
        next
    }

    fn begin(&mut self) -> Option<ActionDecision> {
        if self.held_until.is_some() || self.running.is_some() {
            return None;
        }
        let (ticket, _) = self.waiting.pop_front()?;
        self.running = Some(ticket);
        Some(ActionDecision::Run(ticket))
    }
}

/// How often agents act, see [`limits::BROWSER_AGENT_ACTIONS_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionRateLimiter(VecDeque<Duration>);

impl ActionRateLimiter {
    /// Counts an action at `now`; false when it is one too many, which does not count.
    pub fn take(&mut self, now: Duration) -> bool {
        while self.0.front().is_some_and(|at| *at + WINDOW <= now) {
            self.0.pop_front();
        }
        let has_room = self.0.len() < limits::BROWSER_AGENT_ACTIONS_MAX;
        if has_room {
            self.0.push_back(now);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A control in which `holder` has the mouse at 0 ms; action 1 runs when it is the agent.
    fn held_by(holder: ControlHolder) -> MouseControl {
        let mut control = MouseControl::default();
        match holder {
            ControlHolder::None => {}
            ControlHolder::Person => assert_eq!(control.human_input(ms(0)), []),
            ControlHolder::Agent => assert_eq!(control.request(1, ms(0)), [ActionDecision::Run(1)]),
        }
        assert_eq!(control.holder(), holder);
        control
    }

    #[test]
    fn a_person_takes_the_mouse_whoever_has_it() {
        for holder in [
            ControlHolder::None,
            ControlHolder::Agent,
            ControlHolder::Person,
        ] {
            let mut control = held_by(holder);
            assert_eq!(control.human_input(ms(1)), []);
            assert_eq!(control.holder(), ControlHolder::Person);
        }
    }

    #[test]
    fn a_running_action_finishes_and_later_ones_wait() {
        let mut control = held_by(ControlHolder::Agent);
        control.human_input(ms(10));
        assert_eq!(control.request(2, ms(20)), []);
        assert_eq!(control.done(1, ms(30)), []);
        assert_eq!(control.next_deadline(), Some(ms(1_510)));
        assert_eq!(control.advance(ms(1_509)), []);
        assert_eq!(control.advance(ms(1_510)), [ActionDecision::Run(2)]);
        assert_eq!(control.holder(), ControlHolder::Agent);
        assert_eq!(control.done(2, ms(1_600)), []);
        assert_eq!(control.holder(), ControlHolder::None);
    }

    #[test]
    fn the_oldest_waits_least() {
        let mut control = held_by(ControlHolder::Person);
        control.request(1, ms(1));
        control.request(2, ms(2));
        assert_eq!(control.advance(ms(1_500)), [ActionDecision::Run(1)]);
        assert_eq!(control.done(1, ms(1_501)), [ActionDecision::Run(2)]);
    }

    #[test]
    fn an_action_that_waited_ten_seconds_is_told_that_the_person_is_active() {
        let mut control = held_by(ControlHolder::Person);
        assert_eq!(control.request(1, ms(100)), []);
        for at in (1_000..=10_000).step_by(1_000) {
            assert_eq!(control.human_input(ms(at)), []);
        }
        assert_eq!(
            control.advance(ms(10_100)),
            [ActionDecision::PersonActive(1)]
        );
        assert_eq!(control.advance(ms(11_500)), []);
        assert_eq!(control.holder(), ControlHolder::None);
    }

    #[test]
    fn who_is_told_late_that_time_passed_decides_as_if_in_time() {
        let mut control = held_by(ControlHolder::Person);
        control.request(1, ms(0));
        // Free since 1.5 s, so the action does not wait any more.
        assert_eq!(control.advance(ms(60_000)), [ActionDecision::Run(1)]);
    }

    #[test]
    fn what_nobody_wants_any_more_is_not_begun() {
        let mut control = held_by(ControlHolder::Person);
        for ticket in [1, 2, 3] {
            control.request(ticket, ms(0));
        }
        control.cancel(2);
        assert_eq!(control.refuse_all(), [1, 3]);
        assert_eq!(control.advance(ms(1_500)), []);
    }

    #[test]
    fn twenty_actions_in_ten_seconds_are_enough() {
        let mut rate = ActionRateLimiter::default();
        for at in 0..20 {
            assert!(rate.take(ms(at)));
        }
        assert!(!rate.take(ms(9_999)));
        assert!(rate.take(ms(10_000)));
        assert!(!rate.take(ms(10_000)));
    }

    proptest! {
        /// Every kind of thing at every moment, the longest gaps beyond each limit.
        #[test]
        fn no_action_begins_while_the_person_is_at_it(
            deeds in prop::collection::vec((0_u8..4, 0_u64..4_000), 0..200)
        ) {
            let (mut control, mut now) = (MouseControl::default(), ms(0));
            let (mut person, mut running, mut ticket) = (None::<Duration>, None, 0);
            let mut open = std::collections::BTreeSet::new();
            for (deed, gap) in deeds {
                now += ms(gap);
                let next = match deed {
                    0 => {
                        let next = control.human_input(now);
                        for next in &next {
                            // What begins in this very moment began before the input.
                            if let ActionDecision::Run(_) = next {
                                prop_assert!(person.is_none_or(|at| at + HOLD <= now));
                            }
                        }
                        person = Some(now);
                        next
                    }
                    1 => {
                        ticket += 1;
                        open.insert(ticket);
                        control.request(ticket, now)
                    }
                    2 => match running.take() {
                        Some(ticket) => control.done(ticket, now),
                        None => Vec::new(),
                    },
                    _ => control.advance(now),
                };
                for next in next {
                    let (ActionDecision::Run(ticket) | ActionDecision::PersonActive(ticket)) = next;
                    prop_assert!(open.remove(&ticket), "each is answered once");
                    if let ActionDecision::Run(ticket) = next {
                        prop_assert_eq!(running.replace(ticket), None, "one at a time");
                        if deed != 0 {
                            prop_assert!(person.is_none_or(|at| at + HOLD <= now));
                        }
                    }
                }
                prop_assert_eq!(control.holder() == ControlHolder::Agent, running.is_some() && control.held_until.is_none());
            }
        }
    }
}
