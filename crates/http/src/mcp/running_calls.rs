//! Calls: how many messages of one agent are answered at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use guildhall_domain::{Refusal, ids::AgentId, limits::MCP_CALLS_IN_FLIGHT_MAX};

/// The messages that are being answered, by agent.
#[derive(Debug, Default)]
pub(crate) struct RunningCalls {
    /// A std mutex: held for one look-up, never over an await.
    running: Mutex<HashMap<AgentId, usize>>,
}

impl RunningCalls {
    /// A place for one more message of `agent`, until it is dropped.
    ///
    /// # Errors
    /// [`Refusal::TooManyCallsAtOnce`] when [`MCP_CALLS_IN_FLIGHT_MAX`] are being answered.
    pub(crate) fn enter(self: &Arc<Self>, agent: AgentId) -> Result<CallSlot, Refusal> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.entry(agent).or_default();
        if *count >= MCP_CALLS_IN_FLIGHT_MAX {
            return Err(Refusal::TooManyCallsAtOnce);
        }
        *count += 1;
        Ok(CallSlot {
            calls: Arc::clone(self),
            agent,
        })
    }
}

/// A message that is being answered.
#[derive(Debug)]
pub(crate) struct CallSlot {
    calls: Arc<RunningCalls>,
    agent: AgentId,
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        let mut running = self
            .calls
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get_mut(&self.agent) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.agent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_sixteen_places_and_another_its_own() {
        let calls = Arc::new(RunningCalls::default());
        let agent = |n| AgentId::from_bytes([n; 16]);
        let mut places: Vec<CallSlot> = (0..MCP_CALLS_IN_FLIGHT_MAX)
            .map(|_| calls.enter(agent(1)).unwrap())
            .collect();
        assert_eq!(
            calls.enter(agent(1)).unwrap_err(),
            Refusal::TooManyCallsAtOnce
        );
        assert!(calls.enter(agent(2)).is_ok());
        places.pop();
        places.push(calls.enter(agent(1)).unwrap());
        assert_eq!(
            calls.enter(agent(1)).unwrap_err(),
            Refusal::TooManyCallsAtOnce
        );
        drop(places);
        assert!(calls.running.lock().unwrap().is_empty());
    }
}
