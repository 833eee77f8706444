//! Attempts: what an execution comes to, and whether it is tried once more.
//! Source: contract 5.6, below the table of results.

use super::{
    classification::{Classification, RetryPolicy},
    results::{self, ExecutionOutcome},
    send_result::SendResult,
};
use crate::limits::connectors::{
    CONNECTOR_ATTEMPTS_MAX, CONNECTOR_RETRY_AFTER_S_MAX, CONNECTOR_RETRY_PAUSE_MS,
};

/// What follows an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    /// Another attempt after so many milliseconds, unless time or authority is over; then this is
    /// what it came to.
    Again(u64, ExecutionOutcome),
    /// Nothing more.
    End(ExecutionOutcome),
}

/// What follows the attempt of this `number`, counted from 1, of an operation of this kind.
pub fn next(
    sent: SendResult,
    number: u8,
    classification: Classification,
    policy: RetryPolicy,
) -> RetryDecision {
    let pause = pause_ms(&sent);
    let outcome = results::of(sent, classification);
    let may_repeat = match policy {
        RetryPolicy::ProviderIdempotencyKey => true,
        RetryPolicy::Never => classification == Classification::Read,
    };
    match pause {
        Some(pause) if may_repeat && number < CONNECTOR_ATTEMPTS_MAX => {
            RetryDecision::Again(pause, outcome)
        }
        Some(_) | None => RetryDecision::End(outcome),
    }
}

/// How long to wait before the same may be tried again; `None` where it never may.
fn pause_ms(sent: &SendResult) -> Option<u64> {
    match sent {
        SendResult::NotSent { .. } => Some(CONNECTOR_RETRY_PAUSE_MS),
        SendResult::Refused {
            status: Some(408 | 429 | 502..=504),
            retry_after_s,
            ..
        } => match retry_after_s {
            None => Some(CONNECTOR_RETRY_PAUSE_MS),
            Some(seconds) if *seconds <= CONNECTOR_RETRY_AFTER_S_MAX => Some(seconds * 1_000),
            Some(_) => None,
        },
        SendResult::Refused { .. }
        | SendResult::Done { .. }
        | SendResult::Lost { .. }
        | SendResult::Unsupported { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::connectors::event_payloads::ExecutionStatus;

    fn refused(status: Option<u16>, retry_after_s: Option<u64>) -> SendResult {
        SendResult::Refused {
            status,
            message: String::new(),
            retry_after_s,
        }
    }

    fn lost() -> SendResult {
        SendResult::Lost {
            message: String::new(),
        }
    }

    fn not_sent() -> SendResult {
        SendResult::NotSent {
            message: String::new(),
        }
    }

    /// The pause before the second attempt of a read.
    fn pause(sent: SendResult) -> Option<u64> {
        match next(sent, 1, Classification::Read, RetryPolicy::Never) {
            RetryDecision::Again(pause, _) => Some(pause),
            RetryDecision::End(_) => None,
        }
    }

    #[test]
    fn only_what_may_pass_is_tried_again_and_as_the_service_asks() {
        for (sent, expected) in [
            (SendResult::Done { data: None }, None),
            (lost(), None),
            (not_sent(), Some(CONNECTOR_RETRY_PAUSE_MS)),
            (refused(None, None), None),
            (refused(Some(400), None), None),
            (refused(Some(401), None), None),
            (refused(Some(408), None), Some(CONNECTOR_RETRY_PAUSE_MS)),
            (refused(Some(429), Some(0)), Some(0)),
            (refused(Some(429), Some(10)), Some(10_000)),
            (refused(Some(429), Some(11)), None),
            (refused(Some(500), None), None),
            (refused(Some(501), None), None),
            (refused(Some(502), None), Some(CONNECTOR_RETRY_PAUSE_MS)),
            (refused(Some(503), Some(2)), Some(2_000)),
            (refused(Some(504), None), Some(CONNECTOR_RETRY_PAUSE_MS)),
            (refused(Some(505), None), None),
        ] {
            assert_eq!(pause(sent.clone()), expected, "{sent:?}");
        }
    }

    #[test]
    fn only_reads_and_what_takes_a_key_are_tried_again() {
        use Classification::{Destructive, Read, Write};
        use RetryPolicy::{Never, ProviderIdempotencyKey};
        for (class, policy, number, expected) in [
            (Read, Never, 1, true),
            (Read, ProviderIdempotencyKey, 1, true),
            (Write, Never, 1, false),
            (Write, ProviderIdempotencyKey, 1, true),
            (Destructive, Never, 1, false),
            (Destructive, ProviderIdempotencyKey, 1, true),
            (Read, Never, 2, false),
            (Write, ProviderIdempotencyKey, 2, false),
        ] {
            let found = next(refused(Some(503), None), number, class, policy);
            let again = matches!(found, RetryDecision::Again(..));
            assert_eq!(again, expected, "{class:?} {policy:?} {number}");
        }
    }

    fn any_sent() -> impl Strategy<Value = SendResult> {
        prop_oneof![
            any::<bool>().prop_map(|some| SendResult::Done {
                data: some.then(|| json!(1)),
            }),
            (
                proptest::option::of(100..600_u16),
                proptest::option::of(0..20_u64)
            )
                .prop_map(|(status, after)| refused(status, after)),
            Just(lost()),
            Just(not_sent()),
            Just(SendResult::Unsupported {
                reason: String::new(),
            }),
        ]
    }

    proptest! {
        /// Contract 5.14, 3 and 4.
        #[test]
        fn nothing_that_may_have_happened_is_sent_twice(
            answers in proptest::collection::vec(any_sent(), 4),
            class in proptest::sample::select(Classification::WORDS.map(|(it, _)| it).to_vec()),
            policy in proptest::sample::select(RetryPolicy::WORDS.map(|(it, _)| it).to_vec()),
        ) {
            let (mut number, mut unknown) = (0, false);
            for sent in answers {
                number += 1;
                prop_assert!(!unknown, "after an unknown outcome");
                prop_assert!(number <= CONNECTOR_ATTEMPTS_MAX);
                if number > 1 {
                    prop_assert!(
                        class == Classification::Read
                            || policy == RetryPolicy::ProviderIdempotencyKey
                    );
                }
                let is_lost = matches!(sent, SendResult::Lost { .. });
                match next(sent, number, class, policy) {
                    RetryDecision::Again(_, outcome) => unknown = outcome.status() == ExecutionStatus::OutcomeUnknown,
                    RetryDecision::End(outcome) => {
                        let is_unknown = outcome.status() == ExecutionStatus::OutcomeUnknown;
                        prop_assert_eq!(is_unknown, is_lost && class != Classification::Read);
                        break;
                    }
                }
            }
        }
    }
}
