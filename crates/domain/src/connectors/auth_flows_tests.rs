//! The moves of a flow: the table, its limits, and every order of happenings with restarts.

use proptest::prelude::*;
use uuid::Uuid;

use super::*;

const OPENED: Timestamp = Timestamp::from_millis(0);

fn id() -> ConnectorConnectionId {
    ConnectorConnectionId::new(Uuid::from_u128(7))
}

fn opened() -> Flow {
    Flow {
        id: AuthFlowId::new(Uuid::nil()),
        provider_id: ProviderId::new(Uuid::nil()),
        toolkit: ToolkitSlug::parse("mail").unwrap(),
        label: None,
        reconnect_of: None,
        generation: 3,
        state: FlowState::Starting,
        attempt: 0,
        step: FlowStepKind::None,
        connection_id: None,
        reason: None,
        created_at: OPENED,
        expires_at: OPENED.plus_seconds(limits::CONNECTOR_FLOW_TTL_S),
        completed_at: None,
    }
}

fn pending() -> Flow {
    let flow = opened().next(FlowEvent::Prepared(FlowStepKind::Browser), early(Some(3)));
    flow.unwrap()
}

fn early(generation: Option<u64>) -> FlowContext {
    FlowContext {
        now: OPENED.plus_seconds(1),
        generation,
    }
}

fn late() -> FlowContext {
    FlowContext {
        now: OPENED.plus_seconds(limits::CONNECTOR_FLOW_TTL_S),
        generation: Some(3),
    }
}

fn happenings() -> Vec<FlowEvent> {
    vec![
        FlowEvent::Prepared(FlowStepKind::Browser),
        FlowEvent::NotSent("no name".to_owned()),
        FlowEvent::Lost,
        FlowEvent::Restarted,
        FlowEvent::SignedIn(id()),
        FlowEvent::Refused("access_denied".to_owned()),
        FlowEvent::Cancelled,
        FlowEvent::ConnectionGone,
        FlowEvent::Looked,
    ]
}

#[test]
fn each_thing_that_happens_leads_where_the_table_says() {
    use FlowEvent as H;
    use FlowState as S;
    let no = || "no".to_owned();
    let rows = [
        (
            opened(),
            H::Prepared(FlowStepKind::Device),
            Some(3),
            Some(S::Pending),
        ),
        (
            opened(),
            H::Prepared(FlowStepKind::Device),
            Some(4),
            Some(S::StartUnknown),
        ),
        (
            opened(),
            H::Prepared(FlowStepKind::Device),
            None,
            Some(S::StartUnknown),
        ),
        (opened(), H::NotSent(no()), Some(3), Some(S::Failed)),
        (opened(), H::Refused(no()), Some(3), Some(S::Failed)),
        (opened(), H::Lost, Some(3), Some(S::StartUnknown)),
        (opened(), H::Restarted, Some(3), Some(S::StartUnknown)),
        (opened(), H::SignedIn(id()), Some(3), None),
        (opened(), H::Cancelled, Some(3), Some(S::Failed)),
        (opened(), H::ConnectionGone, Some(3), Some(S::Failed)),
        (opened(), H::Looked, Some(4), None),
        (pending(), H::Prepared(FlowStepKind::Device), Some(3), None),
        (pending(), H::NotSent(no()), Some(3), None),
        (pending(), H::Lost, Some(3), None),
        (pending(), H::Restarted, Some(3), None),
        (pending(), H::SignedIn(id()), Some(3), Some(S::Connected)),
        (pending(), H::SignedIn(id()), Some(4), Some(S::Failed)),
        (pending(), H::SignedIn(id()), None, Some(S::Failed)),
        (pending(), H::Refused(no()), Some(3), Some(S::Failed)),
        (pending(), H::Cancelled, None, Some(S::Failed)),
        (pending(), H::ConnectionGone, Some(3), Some(S::Failed)),
        (pending(), H::Looked, Some(3), None),
        (pending(), H::Looked, Some(4), Some(S::Failed)),
    ];
    for (from, happening, generation, expected) in rows {
        let became = from.next(happening.clone(), early(generation));
        let state = became.as_ref().map(|flow| flow.state);
        assert_eq!(state, expected, "{happening:?} from {:?}", from.state);
        if let Some(became) = became {
            assert_eq!(became.attempt, from.attempt + 1);
            assert_eq!(became.completed_at.is_some(), became.state.is_final());
        }
    }
}

#[test]
fn after_its_time_a_flow_only_expires() {
    for from in [opened(), pending()] {
        for happening in happenings() {
            let became = from.next(happening, late()).unwrap();
            assert_eq!(became.state, FlowState::Expired);
            assert_eq!(became.completed_at, Some(from.expires_at));
        }
        assert_eq!(from.clone().at(late().now).state, FlowState::Expired);
        assert_eq!(from.clone().at(early(None).now), from);
    }
}

#[test]
fn what_a_service_says_is_told_within_bounds() {
    let why = format!("a\u{0}b\n{}", "x".repeat(2_000));
    let failed = pending().next(FlowEvent::Refused(why), early(Some(3)));
    let reason = failed.unwrap().reason.unwrap();
    assert_eq!(reason.chars().count(), limits::CONNECTOR_REASON_CHARS_MAX);
    assert!(reason.starts_with("abxx"));
}

#[test]
fn a_wish_is_checked_field_by_field() {
    let wish = ConnectionRequest {
        provider: "p".to_owned(),
        toolkit: "mail".to_owned(),
        key: "k".to_owned(),
        label: None,
    };
    assert_eq!(wish.check(), Ok(()));
    let wrong = [
        (
            ConnectionRequest {
                provider: String::new(),
                ..wish.clone()
            },
            "providerInstanceId",
        ),
        (
            ConnectionRequest {
                toolkit: String::new(),
                ..wish.clone()
            },
            "toolkit",
        ),
        (
            ConnectionRequest {
                toolkit: "x".repeat(201),
                ..wish.clone()
            },
            "toolkit",
        ),
        (
            ConnectionRequest {
                key: String::new(),
                ..wish.clone()
            },
            "idempotencyKey",
        ),
        (
            ConnectionRequest {
                key: "x".repeat(201),
                ..wish.clone()
            },
            "idempotencyKey",
        ),
        (
            ConnectionRequest {
                key: "a\tb".to_owned(),
                ..wish.clone()
            },
            "idempotencyKey",
        ),
        (
            ConnectionRequest {
                label: Some(String::new()),
                ..wish.clone()
            },
            "label",
        ),
    ];
    for (wish, field) in wrong {
        let Err(Refusal::Validation(invalid)) = wish.check() else {
            panic!("{wish:?}");
        };
        assert_eq!(invalid.field_errors.keys().collect::<Vec<_>>(), [field]);
    }
}

/// What a run of the house over a flow is made of.
#[derive(Clone, Debug)]
enum Play {
    /// Something happens, with what the house read of the flow this many moves ago.
    Happens(FlowEvent, usize),
    /// Somebody changes the instance.
    Reconfigured,
    /// Time passes.
    Passes(i64),
    /// The server ends anywhere and begins again: whatever it was doing is lost.
    Restart,
}

fn play() -> impl Strategy<Value = Play> {
    prop_oneof![
        8 => (prop::sample::select(happenings()), 0..3_usize)
            .prop_map(|(happening, ago)| Play::Happens(happening, ago)),
        1 => Just(Play::Reconfigured),
        2 => (0..400_i64).prop_map(Play::Passes),
        2 => Just(Play::Restart),
    ]
}

proptest! {
    /// Whatever happens in whatever order, with restarts anywhere and answers that come late:
    /// what is written is one of the six states, final ones never change, at most one connection
    /// comes of a flow, and nothing that was sent is sent again.
    #[test]
    fn a_flow_ends_once_and_makes_one_connection_at_most(
        plays in prop::collection::vec(play(), 0..40)
    ) {
        let mut written = vec![opened()];
        let (mut now, mut generation) = (OPENED, 3);
        let mut connections = 0;
        for play in plays {
            let last = written.last().unwrap().clone();
            let around = FlowContext { now, generation: Some(generation) };
            let (read, happening) = match play {
                Play::Reconfigured => {
                    generation += 1;
                    continue;
                }
                Play::Passes(seconds) => {
                    now = now.plus_seconds(seconds);
                    continue;
                }
                Play::Restart => (last.clone(), FlowEvent::Restarted),
                Play::Happens(happening, ago) => {
                    let at = written.len().saturating_sub(1 + ago);
                    (written[at].clone(), happening)
                }
            };
            let was_restart = happening == FlowEvent::Restarted;
            let Some(next) = read.next(happening, around) else {
                continue;
            };
            // The comparison of each written move: what it follows is what stands.
            if (read.state, read.attempt) != (last.state, last.attempt) {
                continue;
            }
            prop_assert!(!last.state.is_final());
            prop_assert_eq!(next.attempt, last.attempt + 1);
            prop_assert_eq!(next.state.is_final(), next.completed_at.is_some());
            prop_assert!(next.state != FlowState::Starting);
            prop_assert_eq!(next.state == FlowState::Connected, next.connection_id.is_some());
            if next.state == FlowState::Connected {
                prop_assert_eq!(last.state, FlowState::Pending);
                prop_assert_eq!(generation, next.generation);
                connections += 1;
            }
            if was_restart && now < last.expires_at {
                prop_assert_eq!(last.state, FlowState::Starting);
                prop_assert_eq!(next.state, FlowState::StartUnknown);
            }
            if now >= last.expires_at {
                prop_assert_eq!(next.state, FlowState::Expired);
            }
            written.push(next);
        }
        prop_assert!(connections <= 1);
        prop_assert!(written.len() <= 3);
        let starts = written.iter().filter(|flow| flow.state == FlowState::Pending).count();
        prop_assert!(starts <= 1);
    }
}
