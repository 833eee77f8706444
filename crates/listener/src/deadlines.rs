//! Deadlines: how far a connection is, and until when it may stay there.
//! Pure: the moment is an argument; the clock is `http1`'s, the socket `connection`'s.

use tokio::time::Instant;

use super::{
    Limits,
    request_heads::{HeadReader, RequestHead},
};

/// Why a connection is ended from our side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeoutReason {
    /// A head began and did not become complete in time.
    HeadTimeout,
    /// Nothing was asked for too long.
    Idle,
    /// The peer takes no bytes.
    Stalled,
}

/// The state of one connection.
#[derive(Debug)]
pub(super) struct ConnectionProgress {
    phase: Phase,
    /// Since when bytes wait that the peer does not take.
    blocked_since: Option<Instant>,
    /// Whether all bytes of earlier answers have left, so that the next ones begin an answer.
    is_flushed: bool,
    /// Whether the peer may be in the middle of sending something.
    is_peer_sending: bool,
    /// Whether nobody drives the socket any more.
    is_left: bool,
    /// Whether the line of the current head that names the target is complete.
    is_target_read: bool,
    /// What is seen of heads, where that matters.
    heads: Option<HeadReader>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Accepted, silent so far.
    Fresh(Instant),
    /// A head is arriving.
    Head(Instant),
    /// A request is being answered; the bounds of its body and stream are the routes'.
    Answering {
        /// Whether bytes that arrive meanwhile may belong to this request.
        has_body: bool,
        /// Whether the next head began meanwhile.
        is_next_begun: bool,
    },
    /// Between two requests.
    Resting(Instant),
    /// No longer HTTP.
    Upgraded,
}

impl ConnectionProgress {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            phase: Phase::Fresh(now),
            blocked_since: None,
            is_flushed: true,
            is_peer_sending: false,
            is_left: false,
            is_target_read: false,
            heads: None,
        }
    }

    /// Looks at heads as they arrive, from the first one on.
    pub(super) fn watch_heads(&mut self) {
        self.heads = Some(HeadReader::default());
    }

    /// The head of the request that begins to be answered, where heads are looked at.
    pub(super) fn head(&mut self) -> Option<RequestHead> {
        self.heads.as_mut().map(HeadReader::take)
    }

    /// Whether anything arrived behind that head since, where heads are looked at.
    pub(super) fn is_followed(&self) -> bool {
        self.heads.as_ref().is_some_and(HeadReader::has_bytes)
    }

    /// Bytes came from the peer.
    pub(super) fn bytes_read(&mut self, bytes: &[u8], now: Instant) {
        match &mut self.phase {
            // The first head has its time from accept on, else silence would buy more of it.
            Phase::Fresh(since) => self.phase = Phase::Head(*since),
            Phase::Resting(_) => {
                self.is_target_read = false;
                self.phase = Phase::Head(now);
            }
            Phase::Answering {
                has_body: false,
                is_next_begun,
            } => *is_next_begun = true,
            Phase::Head(_) | Phase::Answering { .. } | Phase::Upgraded => {}
        }
        let is_of_head = !matches!(
            self.phase,
            Phase::Answering { has_body: true, .. } | Phase::Upgraded
        );
        if let Some(heads) = self.heads.as_mut().filter(|_| is_of_head) {
            heads.feed(bytes);
        }
        if matches!(self.phase, Phase::Head(_)) {
            self.is_peer_sending = true;
            self.is_target_read |= bytes.contains(&b'\n');
        }
    }

    /// A whole head was read and its request is being answered.
    pub(super) fn request_began(&mut self, has_body: bool) {
        self.is_flushed = false;
        self.is_peer_sending = has_body;
        self.phase = Phase::Answering {
            has_body,
            is_next_begun: false,
        };
    }

    /// The last byte of the answer was handed over.
    pub(super) fn request_ended(&mut self, now: Instant) {
        if let Phase::Answering { is_next_begun, .. } = self.phase {
            self.is_target_read = false;
            self.phase = if is_next_begun {
                Phase::Head(now)
            } else {
                Phase::Resting(now)
            };
        }
    }

    /// The connection left HTTP.
    pub(super) fn upgraded(&mut self) {
        self.phase = Phase::Upgraded;
    }

    pub(super) fn is_upgraded(&self) -> bool {
        self.phase == Phase::Upgraded
    }

    /// Whether the peer may still be sending a head that was refused, or a body that
    /// nobody read to its end.
    pub(super) fn is_peer_sending(&self) -> bool {
        self.is_peer_sending
    }

    /// Whoever drove the socket let go of it.
    pub(super) fn left(&mut self) {
        self.is_left = true;
    }

    pub(super) fn is_left(&self) -> bool {
        self.is_left
    }

    /// The peer took no more bytes; answers whether that is new.
    pub(super) fn write_blocked(&mut self, now: Instant) -> bool {
        let is_new = self.blocked_since.is_none();
        self.blocked_since.get_or_insert(now);
        is_new
    }

    /// The peer took bytes.
    pub(super) fn written(&mut self) {
        self.blocked_since = None;
    }

    /// Every byte handed over so far has left.
    pub(super) fn flushed(&mut self) {
        self.is_flushed |= !matches!(self.phase, Phase::Answering { .. });
    }

    /// Whether the next bytes out can only be an answer to a head that could not be read.
    pub(super) fn is_unasked(&self) -> bool {
        // A head that began during an answer may come before the end of that answer left.
        self.is_flushed && self.waiting_since().is_some()
    }

    /// Whether the part of the head that names the target has arrived.
    pub(super) fn is_target_read(&self) -> bool {
        self.is_target_read
    }

    /// Since when no complete head has been there; `None` until the last answer has left.
    /// The first member orders: who never finished a head goes before who rests.
    pub(super) fn waiting_since(&self) -> Option<(u8, Instant)> {
        match self.phase {
            Phase::Fresh(since) | Phase::Head(since) => Some((0, since)),
            Phase::Resting(since) if self.is_flushed => Some((1, since)),
            Phase::Resting(_) | Phase::Answering { .. } | Phase::Upgraded => None,
        }
    }

    /// When to look again whether the connection has to end.
    pub(super) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let phase = match self.phase {
            Phase::Fresh(since) | Phase::Head(since) => Some(since + limits.header_read),
            Phase::Resting(since) => Some(since + limits.keepalive_idle),
            Phase::Answering { .. } | Phase::Upgraded => None,
        };
        let stall = self.blocked_since.map(|since| since + limits.stream_stall);
        phase.into_iter().chain(stall).min()
    }

    /// Why the connection has to end at `now`, if it has to.
    pub(super) fn end(&self, limits: &Limits, now: Instant) -> Option<TimeoutReason> {
        let is_stalled = self
            .blocked_since
            .is_some_and(|since| now >= since + limits.stream_stall);
        if is_stalled {
            return Some(TimeoutReason::Stalled);
        }
        self.deadline(limits).filter(|deadline| now >= *deadline)?;
        match self.phase {
            Phase::Head(_) => Some(TimeoutReason::HeadTimeout),
            Phase::Fresh(_) | Phase::Resting(_) => Some(TimeoutReason::Idle),
            Phase::Answering { .. } | Phase::Upgraded => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMITS: Limits = Limits::DEFAULT;
    const ONE_S: Duration = Duration::from_secs(1);

    fn end_after(
        progress: &ConnectionProgress,
        since: Instant,
        wait: Duration,
    ) -> Option<TimeoutReason> {
        let just_before = since + wait - Duration::from_millis(1);
        assert_eq!(progress.end(&LIMITS, just_before), None);
        assert_eq!(progress.deadline(&LIMITS), Some(since + wait));
        progress.end(&LIMITS, since + wait)
    }

    #[test]
    fn a_silent_socket_ends_without_a_word() {
        let start = Instant::now();
        let progress = ConnectionProgress::new(start);
        assert_eq!(
            end_after(&progress, start, LIMITS.header_read),
            Some(TimeoutReason::Idle)
        );
    }

    #[test]
    fn a_head_has_its_time_from_accept_and_not_from_its_last_byte() {
        let start = Instant::now();
        let mut progress = ConnectionProgress::new(start);
        progress.bytes_read(b"GET ", start + ONE_S);
        progress.bytes_read(b"/", start + 5 * ONE_S);
        let end = end_after(&progress, start, LIMITS.header_read);
        assert_eq!(end, Some(TimeoutReason::HeadTimeout));
    }

    #[test]
    fn an_answer_takes_as_long_as_it_takes() {
        let start = Instant::now();
        let mut progress = ConnectionProgress::new(start);
        progress.bytes_read(b"GET / HTTP/1.1\r\n\r\n", start);
        progress.request_began(false);
        assert_eq!(progress.deadline(&LIMITS), None);
        assert_eq!(progress.end(&LIMITS, start + 10_000 * ONE_S), None);
    }

    #[test]
    fn a_resting_connection_ends_and_a_later_head_has_its_own_time() {
        let start = Instant::now();
        let mut progress = ConnectionProgress::new(start);
        progress.request_began(false);
        progress.request_ended(start + ONE_S);
        let end = end_after(&progress, start + ONE_S, LIMITS.keepalive_idle);
        assert_eq!(end, Some(TimeoutReason::Idle));
        progress.bytes_read(b"G", start + 60 * ONE_S);
        let end = end_after(&progress, start + 60 * ONE_S, LIMITS.header_read);
        assert_eq!(end, Some(TimeoutReason::HeadTimeout));
    }

    #[test]
    fn a_head_that_began_during_an_answer_is_not_taken_for_rest() {
        let start = Instant::now();
        let mut progress = ConnectionProgress::new(start);
        progress.request_began(false);
        progress.bytes_read(b"GET", start);
        progress.request_ended(start + ONE_S);
        let end = end_after(&progress, start + ONE_S, LIMITS.header_read);
        assert_eq!(end, Some(TimeoutReason::HeadTimeout));
    }

    #[test]
    fn a_body_that_arrives_is_no_head() {
        let start = Instant::now();
        let mut progress = ConnectionProgress::new(start);
        progress.request_began(true);
        progress.bytes_read(b"{}", start);
        progress.request_ended(start);
        let end = end_after(&progress, start, LIMITS.keepalive_idle);
        assert_eq!(end, Some(TimeoutReason::Idle));
    }

    #[test]
    fn a_peer_that_takes_no_bytes_ends_in_every_phase() {
        let start = Instant::now();
        let mut progress = ConnectionProgress::new(start);
        progress.request_began(false);
        assert!(progress.write_blocked(start));
        assert!(!progress.write_blocked(start + ONE_S));
        let end = end_after(&progress, start, LIMITS.stream_stall);
        assert_eq!(end, Some(TimeoutReason::Stalled));
        progress.upgraded();
        assert_eq!(
            progress.end(&LIMITS, start + 31 * ONE_S),
            Some(TimeoutReason::Stalled)
        );
        progress.written();
        assert_eq!(progress.end(&LIMITS, start + 31 * ONE_S), None);
    }

    #[test]
    fn only_the_first_bytes_after_a_flush_can_be_unasked() {
        let start = Instant::now();
        let mut progress = ConnectionProgress::new(start);
        assert!(progress.is_unasked());
        progress.request_began(false);
        progress.flushed();
        assert!(!progress.is_unasked());
        progress.request_ended(start);
        assert!(!progress.is_unasked());
        progress.flushed();
        assert!(progress.is_unasked());
    }
}
