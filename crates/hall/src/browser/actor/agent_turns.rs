//! Whose turn it is: agents wait while a person is at the mouse. Source: contract 7.8.

use guildhall_domain::{
    Result,
    browser::{ActionDecision, ToolDenial},
    ids::{SessionId, TabId},
};
use tokio::sync::oneshot;

use super::Actor;
use crate::browser::agent_access::{ControlTurn, TabAccess, WaitingAction};

impl Actor {
    /// What the agent of a session may look at.
    pub(super) fn tab_access(
        &self,
        session: SessionId,
        tab: Option<TabId>,
    ) -> Result<TabAccess, ToolDenial> {
        let is_shared = self.machine.session() == Some(session) && self.machine.connected().is_ok();
        let process = self.process.as_ref().filter(|_| is_shared);
        let process = process.ok_or(ToolDenial::NotShared)?;
        if self.machine.is_paused() {
            return Err(ToolDenial::Paused);
        }
        let selected = self.tabs.selected();
        let selected = selected.filter(|tab| self.tabs.reached(*tab).is_some());
        let first = || self.tabs.shared().next().map(|tab| tab.id);
        let chosen = match tab {
            Some(tab) => self.tabs.reached(tab).map(|tab| tab.id),
            None => selected.or_else(first),
        };
        Ok(TabAccess {
            chromium: process.chromium.clone(),
            tab: chosen.ok_or(ToolDenial::TabNotFound)?,
            reach: self.tabs.shared().cloned().collect(),
            selected,
        })
    }

    /// Has the agent of a session wait for its turn.
    pub(super) fn queue_action(
        &mut self,
        session: SessionId,
        tab: Option<TabId>,
        reply: oneshot::Sender<Result<(TabAccess, ControlTurn), ToolDenial>>,
    ) {
        let allowed = self.tab_access(session, tab).and_then(|look| {
            if !self.rate.take(self.begun.elapsed()) {
                return Err(ToolDenial::RateLimited);
            }
            Ok(look.tab)
        });
        match allowed {
            Ok(tab) => {
                self.acting.last += 1;
                let ticket = self.acting.last;
                let waiting = WaitingAction {
                    session,
                    tab,
                    reply,
                };
                self.acting.waiting.insert(ticket, waiting);
                let next = self.control.request(ticket, self.begun.elapsed());
                self.give_turns(next);
            }
            Err(denied) => {
                // Who asked may be gone.
                let _ = reply.send(Err(denied));
            }
        }
    }

    /// Does what is next for those who wait.
    pub(super) fn give_turns(&mut self, next: Vec<ActionDecision>) {
        for next in next {
            match next {
                ActionDecision::Run(ticket) => self.give_turn(ticket),
                ActionDecision::PersonActive(ticket) => self.deny(ticket, ToolDenial::PersonActive),
            }
        }
    }

    fn give_turn(&mut self, ticket: u64) {
        let over = self.turns_over.clone();
        match self.acting.waiting.remove(&ticket) {
            Some(WaitingAction {
                session,
                tab,
                reply,
            }) => {
                // What was shared when it was asked for need not be so any more.
                let look = self.tab_access(session, Some(tab));
                // A turn that nobody takes, or may take, is over as it is dropped.
                let turn = ControlTurn { ticket, over };
                let _ = reply.send(look.map(|look| (look, turn)));
            }
            None => {
                // The other end is this actor's own.
                let _ = over.send(ticket);
            }
        }
    }

    /// Takes note that the agent of a session opened a tab.
    pub(super) fn adopt(&mut self, session: SessionId, tab: TabId) -> Result<(), ToolDenial> {
        if self.machine.session() != Some(session) {
            return Err(ToolDenial::NotShared);
        }
        self.tabs.adopt(tab).map_err(|_| ToolDenial::TabNotFound)?;
        self.set_url_guard();
        Ok(())
    }

    /// Sends everybody away who waits.
    pub(super) fn refuse_waiting(&mut self, denied: ToolDenial) {
        for ticket in self.control.refuse_all() {
            self.deny(ticket, denied);
        }
    }

    fn deny(&mut self, ticket: u64, denied: ToolDenial) {
        if let Some(waiting) = self.acting.waiting.remove(&ticket) {
            // Who asked may be gone.
            let _ = waiting.reply.send(Err(denied));
        }
    }
}
