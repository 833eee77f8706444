//! The desk of one process: hands what the agent says to the sessions it is said in.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use guildhall_domain::ids::{AgentId, SessionId};
use guildhall_world::acp::{AgentMessage, AgentUpdate};
use tokio::sync::{mpsc, oneshot};

use super::{ProcessSessions, lock};
use crate::Hall;

/// Hands what one process says to the sessions it is said in.
pub(super) struct MessageRouter {
    pub(super) seats: Arc<Mutex<ProcessSessions>>,
    pub(super) said: mpsc::Receiver<AgentMessage>,
    pub(super) asked: mpsc::Receiver<oneshot::Sender<()>>,
    pub(super) hall: Hall,
    pub(super) agent: AgentId,
    pub(super) runtime: String,
    pub(super) cwd: String,
}

impl MessageRouter {
    /// Hands on until the process says nothing any more.
    ///
    /// A barrier is answered when what lay here as it came is handed on: an agent that never
    /// falls silent in one session keeps no other waiting.
    pub(super) async fn route(mut self) {
        let mut handed_on = 0_u64;
        let mut barriers = VecDeque::<(u64, oneshot::Sender<()>)>::new();
        loop {
            while barriers.front().is_some_and(|(due, _)| *due <= handed_on) {
                if let Some((_, barrier)) = barriers.pop_front() {
                    // Whoever asked may be gone.
                    let _ = barrier.send(());
                }
            }
            tokio::select! {
                biased;
                Some(barrier) = self.asked.recv() => {
                    let waiting = u64::try_from(self.said.len()).unwrap_or_default();
                    barriers.push_back((handed_on + waiting, barrier));
                }
                said = self.said.recv() => match said {
                    Some(said) => {
                        self.forward(said).await;
                        handed_on += 1;
                    }
                    None => return,
                },
            }
        }
    }

    async fn forward(&self, said: AgentMessage) {
        let (native, update) = match &said {
            AgentMessage::Update { session, update } => (session, Some(update)),
            AgentMessage::Ask { session, .. } => (session, None),
        };
        let (session, inbox) = {
            let mut seats = lock(&self.seats);
            let session = seats.session_of(native);
            if let (None, Some(AgentUpdate::Commands(commands))) = (session, update) {
                seats.store_early_commands(native, commands);
            }
            let listener = seats.inboxes.get(native);
            (session, listener.map(|(_, inbox)| inbox.clone()))
        };
        if let (Some(session), Some(AgentUpdate::Commands(commands))) = (session, update) {
            let noted = self.hall.record_agent_commands(
                session,
                &self.runtime,
                &self.cwd,
                commands.clone(),
            );
            if let Err(error) = noted.await {
                tracing::warn!(?error, "an agent's commands could not be told");
            }
            return;
        }
        match inbox {
            // A driver that is gone hears nothing; an ask it does not hear is answered "cancelled".
            Some(inbox) => drop(inbox.send(said).await),
            None => {
                let is_switch = update.is_some_and(|update| update.mode().is_some());
                if let Some(session) = session.filter(|_| is_switch) {
                    self.check_mode_between_turns(session).await;
                }
            }
        }
    }

    /// Between turns an agent that switches its mode is set back at once, unless a person's word
    /// allows the mode.
    async fn check_mode_between_turns(&self, session: SessionId) {
        let Some(process) = self.hall.inner.processes.running(self.agent) else {
            return;
        };
        let Ok(false) = self.hall.agent_switched(&process, session).await else {
            return;
        };
        let mut is_first = false;
        process.update_session(session, |seat| {
            is_first = !std::mem::replace(&mut seat.is_set_back, true);
        });
        if !is_first {
            return;
        }
        // In a task of its own: what the agent answers must pass this desk.
        let (hall, now) = (self.hall.clone(), self.hall.now());
        self.hall.tasks().spawn("mode", now, async move {
            hall.restore_mode(&process, session).await;
            process.update_session(session, |seat| seat.is_set_back = false);
        });
    }
}
