//! Measuring: rates of many clients, times of one.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::task::JoinSet;

use crate::{Result, http_client::HttpClient};

/// How long a measurement lasts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasuringTime {
    /// Until caches, connections and the processor's clock are warm; not counted.
    pub(crate) warm_up: Duration,
    /// Counted.
    pub(crate) measured: Duration,
}

impl MeasuringTime {
    /// The same, cut into `rounds` of equal length.
    pub(crate) fn rounds(self, rounds: u32) -> Self {
        Self {
            warm_up: self.warm_up / rounds,
            measured: self.measured / rounds,
        }
    }
}

/// How often something was done within a span.
#[derive(Clone, Copy, Debug)]
struct OperationCounter {
    counted_from: Instant,
    end: Instant,
    done: u64,
}

impl OperationCounter {
    /// A tally that begins now.
    fn begin(span: MeasuringTime) -> Self {
        let counted_from = Instant::now() + span.warm_up;
        Self {
            counted_from,
            end: counted_from + span.measured,
            done: 0,
        }
    }

    /// Notes that `count` more are done; false when the span is over, which counts them not.
    fn add(&mut self, count: u64) -> bool {
        let now = Instant::now();
        if now > self.end {
            return false;
        }
        if now >= self.counted_from {
            self.done += count;
        }
        true
    }

    /// How many a second all `tallies` of one span did together.
    fn per_second(span: MeasuringTime, tallies: &[Self]) -> f64 {
        let done: u64 = tallies.iter().map(|tally| tally.done).sum();
        done as f64 / span.measured.as_secs_f64()
    }
}

/// How many of one request the clients get answered a second, each asking as fast as it can.
pub(crate) async fn rate(
    clients: &mut Vec<HttpClient>,
    request: &[u8],
    status: u16,
    span: MeasuringTime,
) -> Result<f64> {
    let mut running = JoinSet::new();
    let start = OperationCounter::begin(span);
    for mut client in clients.drain(..) {
        let (request, mut tally) = (request.to_vec(), start);
        running.spawn(async move {
            loop {
                client.expect(&request, status).await?;
                if !tally.add(1) {
                    return Ok::<_, crate::Failure>((client, tally));
                }
            }
        });
    }
    let mut tallies = Vec::new();
    while let Some(ended) = running.join_next().await {
        let (client, tally) = ended??;
        clients.push(client);
        tallies.push(tally);
    }
    Ok(OperationCounter::per_second(span, &tallies))
}

/// How many a second are done when `tasks` repeat a deed that does `each` at once.
pub(crate) async fn operation_rate<F, Running>(
    tasks: usize,
    each: u64,
    span: MeasuringTime,
    deed: F,
) -> Result<f64>
where
    F: Fn() -> Running + Clone + Send + 'static,
    Running: Future<Output = Result<()>> + Send,
{
    let mut running = JoinSet::new();
    let start = OperationCounter::begin(span);
    for _ in 0..tasks {
        let (deed, mut tally) = (deed.clone(), start);
        running.spawn(async move {
            loop {
                deed().await?;
                if !tally.add(each) {
                    return Ok::<_, crate::Failure>(tally);
                }
            }
        });
    }
    let mut tallies = Vec::new();
    while let Some(ended) = running.join_next().await {
        tallies.push(ended??);
    }
    Ok(OperationCounter::per_second(span, &tallies))
}

/// How long each of one client's requests takes; `request` makes the next one.
pub(crate) async fn times(
    client: &mut HttpClient,
    mut request: impl FnMut() -> Vec<u8>,
    status: u16,
    span: MeasuringTime,
) -> Result<DurationSamples> {
    let counted_from = Instant::now() + span.warm_up;
    let end = counted_from + span.measured;
    let mut times = DurationSamples::default();
    loop {
        let request = request();
        let began = Instant::now();
        client.expect(&request, status).await?;
        if began >= end {
            return Ok(times);
        }
        if began >= counted_from {
            times.push(began.elapsed());
        }
    }
}

/// Nanoseconds of the clock that every process of the machine reads alike.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = now.tv_sec.unsigned_abs();
    seconds * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Durations of the same deed.
#[derive(Clone, Debug, Default)]
pub(crate) struct DurationSamples(Vec<Duration>);

impl DurationSamples {
    /// Notes one more.
    pub(crate) fn push(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Joins another measurement of the same deed.
    pub(crate) fn add(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// The duration that this share of them stays within, in milliseconds; 0 when there are none.
    pub(crate) fn percentile_ms(&self, percent: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
        let took = sorted.get(rank.saturating_sub(1)).copied();
        took.unwrap_or_default().as_secs_f64() * 1_000.0
    }

    /// The longest, in milliseconds.
    pub(crate) fn longest_ms(&self) -> f64 {
        self.percentile_ms(100.0)
    }
}

/// Numbers that look drawn by chance and are the same in every run (SplitMix64).
pub(crate) struct SeededRandom(pub(crate) u64);

impl SeededRandom {
    /// A number from 0 up to `below`, which is not 0.
    pub(crate) fn next_below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_smallest_time_that_the_share_stays_within() {
        let mut times = DurationSamples::default();
        assert_eq!(times.percentile_ms(50.0), 0.0);
        for ms in (1..=100).rev() {
            times.push(Duration::from_millis(ms));
        }
        assert_eq!(times.percentile_ms(50.0), 50.0);
        assert_eq!(times.percentile_ms(99.0), 99.0);
        assert_eq!(times.longest_ms(), 100.0);
    }
}
