//! Every pair of state and trigger, and what any order of them keeps.

use proptest::prelude::*;

use super::*;
use ApprovalState::{Consumed, Denied, Expired, Granted, Pending, Withdrawn};

const BEGIN: Timestamp = Timestamp::from_millis(1_000_000);

fn row() -> InteractionRecord {
    InteractionRecord::asked(
        ApprovalId::from_bytes([1; 16]),
        (
            AgentId::from_bytes([2; 16]),
            SessionId::from_bytes([3; 16]),
            None,
        ),
        InteractionKind::ToolCall,
        "call".to_owned(),
        BEGIN,
    )
}

#[test]
fn every_pair_of_state_and_trigger_leads_where_the_table_says() {
    // Approve, Deny, Answer, Expire, Withdraw, Spend, Undelivered
    let table = [
        (
            Pending,
            false,
            [
                Some(Consumed),
                Some(Denied),
                Some(Consumed),
                Some(Expired),
                Some(Withdrawn),
                None,
                None,
            ],
        ),
        (
            Pending,
            true,
            [
                Some(Granted),
                Some(Denied),
                Some(Consumed),
                Some(Expired),
                Some(Withdrawn),
                None,
                None,
            ],
        ),
        (
            Granted,
            true,
            [
                None,
                None,
                None,
                Some(Expired),
                Some(Withdrawn),
                Some(Consumed),
                None,
            ],
        ),
        (
            Consumed,
            true,
            [None, None, None, None, None, None, Some(Granted)],
        ),
        (Denied, true, [None; 7]),
        (Expired, true, [None; 7]),
        (Withdrawn, true, [None; 7]),
    ];
    for (state, is_detached, expected) in table {
        for (trigger, expected) in InteractionTrigger::ALL.into_iter().zip(expected) {
            let found = state.after(trigger, is_detached);
            assert_eq!(found, expected, "{state:?} {trigger:?}");
            if state != Pending {
                // Only a yes to a pending row cares whether the agent is there.
                assert_eq!(state.after(trigger, !is_detached), expected);
            }
        }
    }
}

#[test]
fn a_resolution_is_a_view_of_the_state() {
    use InteractionKind::{Question, ToolCall};
    for (state, call, question) in [
        (Pending, None, None),
        (
            Granted,
            Some(Resolution::Approved),
            Some(Resolution::Approved),
        ),
        (
            Consumed,
            Some(Resolution::Approved),
            Some(Resolution::Answered),
        ),
        (Denied, Some(Resolution::Denied), Some(Resolution::Denied)),
        (
            Expired,
            Some(Resolution::Expired),
            Some(Resolution::Expired),
        ),
        (
            Withdrawn,
            Some(Resolution::Cancelled),
            Some(Resolution::Cancelled),
        ),
    ] {
        assert_eq!(state.resolution(ToolCall), call, "{state:?}");
        assert_eq!(state.resolution(Question), question, "{state:?}");
    }
}

#[test]
fn a_deadline_counts_from_its_very_millisecond_whatever_the_row_says() {
    let mut row = row();
    let end = row.expires_at;
    let before = Timestamp::from_millis(end.as_millis() - 1);
    assert_eq!(
        (row.state_at(before), row.state_at(end)),
        (Pending, Expired)
    );
    assert_eq!(row.resolved(before), None);
    let resolved = row.resolved(end.plus_seconds(9)).unwrap();
    assert_eq!(
        (resolved.resolution, resolved.by, resolved.at),
        (Resolution::Expired, None, end)
    );
    // Writing it down changes nothing of what is read.
    row.state = Expired;
    assert_eq!(row.resolved(end.plus_seconds(9)), Some(resolved));

    let by = AuthorId::from_bytes([9; 16]);
    row.state = Granted;
    (row.decided_at, row.decided_by) = (Some(BEGIN), Some(by));
    row.grant_expires_at = Some(BEGIN.plus_seconds(limits::GRANT_TTL_S));
    let last = BEGIN.plus_seconds(limits::GRANT_TTL_S - 1);
    let resolved = row.resolved(last).unwrap();
    assert_eq!(
        (resolved.resolution, resolved.by, resolved.at),
        (Resolution::Approved, Some(by), BEGIN)
    );
    let lapsed = row
        .resolved(BEGIN.plus_seconds(limits::GRANT_TTL_S))
        .unwrap();
    assert_eq!(
        (lapsed.resolution, lapsed.by, Some(lapsed.at)),
        (Resolution::Expired, None, row.grant_expires_at)
    );
}

#[test]
fn a_yes_to_an_agent_that_is_gone_may_be_used_for_half_an_hour() {
    let by = Some(AuthorId::from_bytes([9; 16]));
    let mut gone = row();
    gone.detached_at = Some(BEGIN);
    let later = BEGIN.plus_seconds(60);
    assert_eq!(
        gone.take(InteractionTrigger::Approve, by, later),
        Some(Pending)
    );
    let until = Some(later.plus_seconds(limits::GRANT_TTL_S));
    assert_eq!((gone.state, gone.grant_expires_at), (Granted, until));
    assert_eq!((gone.decided_at, gone.decided_by), (Some(later), by));

    // One that was said when the agent was there, and reached nobody, becomes the same.
    let mut unheard = row();
    unheard.take(InteractionTrigger::Approve, by, later);
    assert_eq!((unheard.state, unheard.grant_expires_at), (Consumed, None));
    let mut cancelled = unheard.clone();
    assert_eq!(
        unheard.take(InteractionTrigger::Undelivered, None, later),
        Some(Consumed)
    );
    assert_eq!((unheard.state, unheard.grant_expires_at), (Granted, until));
    assert!(unheard.is_detached());
    // But not when the turn was cancelled meanwhile, and a question's answers are no grant.
    cancelled.withdrawn_at = Some(later);
    let before = cancelled.clone();
    assert_eq!(
        cancelled.take(InteractionTrigger::Undelivered, None, later),
        None
    );
    assert_eq!(cancelled, before);
    let mut question = row();
    question.kind = InteractionKind::Question;
    question.take(InteractionTrigger::Answer, by, later);
    assert_eq!(
        question.take(InteractionTrigger::Undelivered, None, later),
        None
    );
}

#[test]
fn parked_is_what_waited_ten_minutes_and_stays_so() {
    let mut row = row();
    let parks = BEGIN.plus_seconds(600);
    assert!(!row.is_parked(Timestamp::from_millis(parks.as_millis() - 1)));
    assert!(row.is_parked(parks));
    row.state = Consumed;
    assert!(!row.is_parked(parks), "answered before anybody looked");
    row.parked_at = Some(parks);
    assert!(row.is_parked(BEGIN));
}

fn any_trigger() -> impl Strategy<Value = (InteractionTrigger, bool)> {
    let triggers = prop::sample::select(InteractionTrigger::ALL.to_vec());
    (triggers, any::<bool>())
}

proptest! {
    #[test]
    fn one_decision_counts_and_a_yes_is_used_once_whatever_comes_in_whatever_order(
        triggers in prop::collection::vec(any_trigger(), 0..40)
    ) {
        let (mut state, mut decisions, mut uses) = (Pending, 0, 0_i32);
        for (trigger, is_detached) in triggers {
            let Some(next) = state.after(trigger, is_detached) else {
                continue;
            };
            if matches!(trigger, InteractionTrigger::Approve | InteractionTrigger::Deny | InteractionTrigger::Answer) {
                decisions += 1;
            }
            // A use is taken back when it reached nobody.
            match (next, trigger) {
                (Consumed, _) => uses += 1,
                (Granted, InteractionTrigger::Undelivered) => uses -= 1,
                _ => {}
            }
            prop_assert!((0..=1).contains(&uses) && decisions <= 1);
            if matches!(state, Denied | Expired | Withdrawn) {
                prop_assert!(false, "{state:?} is final, but {trigger:?} led to {next:?}");
            }
            state = next;
        }
        if matches!(state, Denied | Expired | Withdrawn | Pending) {
            prop_assert_eq!(uses, 0, "nothing was used that ended in {:?}", state);
        }
    }
}
