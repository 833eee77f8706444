//! Rate limit: how often one agent may ask for changes, as a bucket that refills steadily.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use guildhall_domain::{Refusal, ids::AgentId, limits};

/// One bucket an agent.
#[derive(Debug, Default)]
pub struct RateLimit {
    /// A std mutex: held for one look-up, never over an await.
    buckets: Mutex<HashMap<AgentId, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    filled_at: Instant,
}

const CAPACITY: f64 = limits::AGENT_WRITES_PER_MIN as f64;
const REFILL_PER_S: f64 = CAPACITY / 60.0;

impl RateLimit {
    /// Takes one token of an agent's bucket.
    ///
    /// # Errors
    /// [`Refusal::RateLimited`] with the seconds until there is one again.
    ///
    /// Source: contract 1.11, `AGENT_WRITES_PER_MIN`.
    pub fn take(&self, agent: AgentId, now: Instant) -> Result<(), Refusal> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let full = Bucket {
            tokens: CAPACITY,
            filled_at: now,
        };
        let bucket = buckets.entry(agent).or_insert(full);
        let passed = now
            .saturating_duration_since(bucket.filled_at)
            .as_secs_f64();
        bucket.tokens = (bucket.tokens + passed * REFILL_PER_S).min(CAPACITY);
        bucket.filled_at = now;
        if bucket.tokens < 1.0 {
            return Err(Refusal::RateLimited(1));
        }
        bucket.tokens -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_agent_gets_240_changes_a_minute_and_another_its_own() {
        let limit = RateLimit::default();
        let agent = |n| AgentId::from_bytes([n; 16]);
        let start = Instant::now();
        for n in 0..limits::AGENT_WRITES_PER_MIN {
            assert_eq!(limit.take(agent(1), start), Ok(()), "{n}");
        }
        assert_eq!(limit.take(agent(1), start), Err(Refusal::RateLimited(1)));
        assert_eq!(limit.take(agent(2), start), Ok(()));
        let later = start + Duration::from_millis(251);
        assert_eq!(limit.take(agent(1), later), Ok(()));
        assert_eq!(limit.take(agent(1), later), Err(Refusal::RateLimited(1)));
    }
}
