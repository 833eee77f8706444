//! Which option a word becomes, and in which order a decision is refused.

use proptest::prelude::*;

use super::*;
use crate::{
    ids::{AgentId, ApprovalId, SessionId},
    interactions::Resolution,
};
use PermissionChoiceKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn options(of: &[(&str, PermissionChoiceKind)]) -> Vec<PermissionChoice> {
    let option = |(id, kind): &(&str, PermissionChoiceKind)| PermissionChoice {
        option_id: (*id).to_owned(),
        name: String::new(),
        kind: *kind,
    };
    of.iter().map(option).collect()
}

fn row(kind: InteractionKind, of: &[(&str, PermissionChoiceKind)]) -> InteractionRecord {
    let whose = (
        AgentId::from_bytes([2; 16]),
        SessionId::from_bytes([3; 16]),
        None,
    );
    let id = ApprovalId::from_bytes([1; 16]);
    InteractionRecord {
        options: options(of),
        digest: "d".repeat(64),
        ..InteractionRecord::asked(id, whose, kind, "call".to_owned(), NOW)
    }
}

fn approve(always_allow: bool, option_id: Option<&str>) -> Decision {
    Decision::Approve {
        always_allow,
        option_id: option_id.map(str::to_owned),
    }
}

#[test]
fn a_yes_becomes_the_option_of_its_kind() {
    let usual = [
        ("always", AllowAlways),
        ("no", RejectOnce),
        ("once", AllowOnce),
    ];
    let evil = [("same", AllowAlways), ("same", AllowOnce)];
    let two = [("a1", AllowAlways), ("a2", AllowAlways), ("o", AllowOnce)];
    for (offered, always, named, expected) in [
        (&usual[..], false, None, Some("once")),
        (&usual, true, None, Some("always")),
        (&usual, false, Some("once"), Some("once")),
        (&usual, false, Some("always"), None),
        (&usual, false, Some("no"), None),
        (&usual, true, Some("once"), None),
        (&usual, true, Some("always"), Some("always")),
        (&usual, false, Some("unknown"), None),
        (&two, true, None, None),
        (&two, true, Some("a2"), Some("a2")),
        (&two, false, None, Some("o")),
        (&usual[..1], false, None, None),
        (&usual[1..], true, None, None),
        (&evil, false, None, None),
        (&evil, true, None, None),
        (&[], false, None, None),
    ] {
        let offered = options(offered);
        let found =
            option_to_allow(&offered, always, named).map(|option| option.option_id.as_str());
        assert_eq!(found, expected, "{offered:?} {always} {named:?}");
    }
}

#[test]
fn a_no_is_this_once_or_cancelled_and_never_always() {
    for (offered, expected) in [
        (
            &[("never", RejectAlways), ("no", RejectOnce)][..],
            InteractionResponse::Selected("no".to_owned()),
        ),
        (&[("never", RejectAlways)], InteractionResponse::Cancelled),
        (
            &[("x", RejectOnce), ("x", AllowOnce)],
            InteractionResponse::Cancelled,
        ),
        (&[], InteractionResponse::Cancelled),
    ] {
        assert_eq!(
            response_to_refuse(&options(offered)),
            expected,
            "{offered:?}"
        );
    }
}

#[test]
fn a_decision_is_checked_in_the_order_of_the_table() {
    let offered = [("once", AllowOnce)];
    let call = row(InteractionKind::ToolCall, &offered);
    let question = row(InteractionKind::Question, &[]);
    let over = call.expires_at;
    let check = |row: Option<&InteractionRecord>, decision: &Decision, digest: &str, now| {
        decide(row, &[], decision, Some(digest), now)
    };
    let (yes, bad) = (approve(false, None), approve(true, None));
    let present = call.digest.clone();
    // Each row of the table wins over those below it.
    for found in [None, Some(&question)] {
        let missing = Refusal::NotFound(ResourceKind::PendingApproval);
        assert_eq!(check(found, &bad, "other", over).unwrap_err(), missing);
    }
    for found in [None, Some(&call)] {
        let missing = Refusal::NotFound(ResourceKind::PendingQuestion);
        let answers = Decision::Answer(FormAnswers::new());
        assert_eq!(check(found, &answers, "other", over).unwrap_err(), missing);
    }
    assert_eq!(
        check(Some(&call), &bad, "other", over).unwrap_err(),
        Refusal::InteractionAlreadyResolved(Resolution::Expired, over)
    );
    assert_eq!(
        check(Some(&call), &bad, "other", NOW).unwrap_err(),
        Refusal::InteractionChanged(present.clone())
    );
    assert_eq!(
        check(Some(&call), &bad, &present, NOW).unwrap_err(),
        Refusal::OptionNotOffered(options(&offered))
    );
    let decided = check(Some(&call), &yes, &present, NOW).unwrap();
    assert_eq!(
        (decided.state, decided.answer),
        (
            ApprovalState::Consumed,
            InteractionResponse::Selected("once".to_owned())
        )
    );
    assert_eq!(
        decide(Some(&call), &[], &yes, None, NOW).unwrap().state,
        ApprovalState::Consumed
    );
}

#[test]
fn a_decision_on_a_row_whose_agent_is_gone_waits_for_it() {
    let mut call = row(InteractionKind::ToolCall, &[("once", AllowOnce)]);
    call.detached_at = Some(NOW);
    let decided = |decision: &Decision| decide(Some(&call), &[], decision, None, NOW).unwrap();
    assert_eq!(decided(&approve(false, None)).state, ApprovalState::Granted);
    assert_eq!(
        decided(&Decision::Deny {
            reason: String::new()
        })
        .state,
        ApprovalState::Denied
    );
}

#[test]
fn a_question_is_answered_or_declined() {
    let question = row(InteractionKind::Question, &[]);
    let decided = |decision: &Decision| decide(Some(&question), &[], decision, None, NOW).unwrap();
    let declined = decided(&Decision::Decline);
    assert_eq!(
        (declined.state, declined.answer),
        (ApprovalState::Denied, InteractionResponse::Declined)
    );
    let answered = decided(&Decision::Answer(FormAnswers::new()));
    assert_eq!(answered.state, ApprovalState::Consumed);
}

fn any_options() -> impl Strategy<Value = Vec<PermissionChoice>> {
    let kind = prop::sample::select(vec![AllowOnce, AllowAlways, RejectOnce, RejectAlways]);
    let option = ("[ab]{1,2}", kind).prop_map(|(option_id, kind)| PermissionChoice {
        name: option_id.clone(),
        option_id,
        kind,
    });
    prop::collection::vec(option, 0..8)
}

proptest! {
    #[test]
    fn whatever_is_offered_nothing_wider_than_the_word_is_selected(
        offered in any_options(),
        always in any::<bool>(),
        named in prop::option::of("[ab]{1,2}"),
    ) {
        if let Some(option) = option_to_allow(&offered, always, named.as_deref()) {
            let kind = if always { AllowAlways } else { AllowOnce };
            // The agent hears the id alone, so every option that bears it must be of the kind.
            for bearer in offered.iter().filter(|other| other.option_id == option.option_id) {
                prop_assert_eq!(bearer.kind, kind);
            }
        }
        if let InteractionResponse::Selected(id) = response_to_refuse(&offered) {
            for bearer in offered.iter().filter(|other| other.option_id == id) {
                prop_assert_eq!(bearer.kind, RejectOnce);
            }
        }
    }
}
