//! The tables of approvals: steps, judgements, who sees and hears of what.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::{
    Refusal,
    authors::AuthorKind,
    callers::Identity,
    ids::{AccountId, AgentTokenId, ApiKeyId, AuthorId, SignInId},
    limits,
};

const NOW: Timestamp = Timestamp::from_millis(1_000_000_000);

fn author(agent: Option<AgentId>) -> AuthorSummary {
    AuthorSummary {
        id: AuthorId::from_bytes([9; 16]),
        kind: AuthorKind::Agent,
        display_name: "ada".to_owned(),
        emoji: String::new(),
        color: String::new(),
        image_url: String::new(),
        agent_ref: agent,
        handle: None,
    }
}

fn approval(id: u8, state: ApprovalState) -> Approval {
    let is_decided = !matches!(state, ApprovalState::Pending | ApprovalState::Withdrawn);
    Approval {
        id: ApprovalId::from_bytes([id; 16]),
        kind: ApprovalKind::Capability,
        state,
        capability: Capability::McpAdd.as_str().to_owned(),
        title: Capability::McpAdd.title().to_owned(),
        tier: Capability::McpAdd.tier(),
        summary: "Add files".to_owned(),
        card: json!({}),
        why: Vec::new(),
        digest: "d".to_owned(),
        requested_by: author(Some(AgentId::from_bytes([7; 16]))),
        agent_id: Some(AgentId::from_bytes([7; 16])),
        session_id: None,
        room_id: None,
        requested_at: NOW.plus_seconds(-60),
        expires_at: NOW.plus_seconds(60),
        parked_at: None,
        decided_at: is_decided.then_some(NOW.plus_seconds(-30)),
        consumed_at: None,
        decided_by: is_decided.then(|| author(None)),
        deny_reason: (state == ApprovalState::Denied).then(|| "no".to_owned()),
    }
}

fn overdue(id: u8, state: ApprovalState) -> Approval {
    Approval {
        expires_at: NOW,
        ..approval(id, state)
    }
}

fn known() -> GatingFacts {
    GatingFacts {
        digest: "d".to_owned(),
        presented: PresentedToken::None,
        open: None,
        denied: None,
        pending: 0,
    }
}

#[test]
fn every_state_takes_exactly_the_steps_of_the_table() {
    use ApprovalState::{Consumed, Denied, Expired, Granted, Pending, Withdrawn};
    use ApprovalTrigger::{Deny, Expire, Grant, Spend, Withdraw};
    let steps = [
        (Pending, Grant, Granted),
        (Pending, Deny, Denied),
        (Pending, Withdraw, Withdrawn),
        (Pending, Expire, Expired),
        (Granted, Expire, Expired),
        (Granted, Spend, Consumed),
    ];
    for (state, _) in ApprovalState::WORDS {
        for trigger in ApprovalTrigger::ALL {
            for (kind, _) in ApprovalKind::WORDS {
                let listed = steps
                    .iter()
                    .find(|(from, by, _)| (*from, *by) == (state, trigger));
                let expected = match (listed, kind) {
                    (Some((Pending, Grant, _)), ApprovalKind::Repin | ApprovalKind::Access) => {
                        Some(Consumed)
                    }
                    (listed, _) => listed.map(|(_, _, to)| *to),
                };
                assert_eq!(
                    state.on(trigger, kind),
                    expected,
                    "{state:?} {trigger:?} {kind:?}"
                );
            }
        }
        let is_over = ![Pending, Granted].contains(&state);
        assert_eq!(state.is_over(), is_over, "{state:?}");
        let passed = if is_over { state } else { Expired };
        assert_eq!(state.at(NOW, NOW), passed, "at its deadline it is over");
        assert_eq!(state.at(NOW.plus_seconds(1), NOW), state);
    }
}

#[test]
fn a_request_without_a_token_waits_asks_or_is_told() {
    use ApprovalState::{Denied, Granted, Pending};
    let (pending, granted) = (approval(1, Pending), approval(1, Granted));
    let denied = approval(1, Denied);
    let long_ago = Approval {
        decided_at: Some(NOW.plus_seconds(-limits::APPROVAL_DENIAL_MEMORY_S)),
        ..denied.clone()
    };
    let none = GatingFacts {
        open: None,
        ..known()
    };
    let open = |open: Approval| GatingFacts {
        open: Some(open),
        ..known()
    };
    let no = |denied: Approval| GatingFacts {
        denied: Some(denied),
        ..known()
    };
    let max = limits::APPROVALS_PENDING_PER_REQUESTER_MAX;
    for (known, verdict) in [
        (
            none.clone(),
            GatingDecision::Ask(ApprovalRequiredReason::NoApproval),
        ),
        (
            open(pending.clone()),
            GatingDecision::Wait(
                Box::new(pending.clone()),
                ApprovalRequiredReason::AwaitingDecision,
            ),
        ),
        (
            open(granted.clone()),
            GatingDecision::Answer(Box::new(granted), ApprovalRequiredReason::GrantedUnused),
        ),
        (
            open(overdue(1, Pending)),
            GatingDecision::Ask(ApprovalRequiredReason::NoApproval),
        ),
        (
            open(overdue(1, Granted)),
            GatingDecision::Ask(ApprovalRequiredReason::NoApproval),
        ),
        (
            no(denied.clone()),
            GatingDecision::Denied(Denial::of(denied)),
        ),
        (
            no(long_ago),
            GatingDecision::Ask(ApprovalRequiredReason::NoApproval),
        ),
        (
            GatingFacts {
                pending: max,
                ..none.clone()
            },
            GatingDecision::TooMany,
        ),
        (
            GatingFacts {
                pending: max - 1,
                ..none
            },
            GatingDecision::Ask(ApprovalRequiredReason::NoApproval),
        ),
        // One that is there already is no further one.
        (
            GatingFacts {
                pending: max,
                ..open(pending.clone())
            },
            GatingDecision::Wait(Box::new(pending), ApprovalRequiredReason::AwaitingDecision),
        ),
    ] {
        assert_eq!(decide(known.clone(), NOW), verdict, "{known:?}");
    }
}

#[test]
fn a_token_lets_exactly_its_own_request_run_and_a_misfit_keeps_its_reason() {
    use ApprovalState::{Consumed, Denied, Expired, Granted, Pending, Withdrawn};
    let of = |approval: Approval| PresentedToken::Of(Box::new(approval));
    let mut other = approval(2, Granted);
    other.digest = "e".to_owned();
    let denied = approval(1, Denied);
    let misfits = [
        (
            PresentedToken::Unknown,
            ApprovalRequiredReason::UnknownToken,
        ),
        (of(other), ApprovalRequiredReason::WrongAction),
        (of(overdue(1, Granted)), ApprovalRequiredReason::Expired),
        (of(overdue(1, Pending)), ApprovalRequiredReason::Expired),
        (of(approval(1, Expired)), ApprovalRequiredReason::Expired),
        (of(approval(1, Withdrawn)), ApprovalRequiredReason::Expired),
        (
            of(approval(1, Consumed)),
            ApprovalRequiredReason::AlreadyUsed,
        ),
    ];
    for (presented, reason) in misfits {
        let shown = GatingFacts {
            presented,
            ..known()
        };
        assert!(reason.is_of_token());
        assert_eq!(
            decide(shown.clone(), NOW),
            GatingDecision::Ask(reason),
            "{shown:?}"
        );
        let pending = approval(3, Pending);
        let waits = GatingFacts {
            open: Some(pending.clone()),
            ..shown.clone()
        };
        assert_eq!(
            decide(waits, NOW),
            GatingDecision::Wait(Box::new(pending), reason)
        );
        let granted = approval(3, Granted);
        let told = GatingFacts {
            open: Some(granted.clone()),
            ..shown.clone()
        };
        assert_eq!(
            decide(told, NOW),
            GatingDecision::Answer(Box::new(granted), reason)
        );
        let refused = GatingFacts {
            denied: Some(denied.clone()),
            ..shown
        };
        let no = GatingDecision::Denied(Denial::of(denied.clone()));
        assert_eq!(decide(refused, NOW), no);
    }
    for (presented, verdict) in [
        (
            approval(1, Granted),
            GatingDecision::Run(ApprovalId::from_bytes([1; 16])),
        ),
        (
            approval(1, Pending),
            GatingDecision::Wait(
                Box::new(approval(1, Pending)),
                ApprovalRequiredReason::AwaitingDecision,
            ),
        ),
        // Its own no is told however long ago it was.
        (
            Approval {
                decided_at: Some(Timestamp::from_millis(0)),
                ..denied.clone()
            },
            GatingDecision::Denied(Denial::of(denied)),
        ),
    ] {
        let shown = GatingFacts {
            presented: of(presented),
            ..known()
        };
        assert_eq!(decide(shown.clone(), NOW), verdict, "{shown:?}");
    }
}

#[test]
fn a_decision_meets_the_checks_in_their_order() {
    use ApprovalState::{Consumed, Denied, Expired, Granted, Pending, Withdrawn};
    let session = SessionId::from_bytes([5; 16]);
    let route = |deed: &str| Refusal::UseSessionRoute(format!("/api/sessions/{session}/{deed}"));
    for (kind, deed) in [
        (ApprovalKind::ToolCall, "approve"),
        (ApprovalKind::Question, "submit-answers"),
    ] {
        for (state, _) in ApprovalState::WORDS {
            let ask = Approval {
                kind,
                session_id: Some(session),
                ..overdue(1, state)
            };
            assert_eq!(ask.may_be_granted("x", NOW), Err(route(deed)), "{state:?}");
        }
    }
    for state in [Granted, Denied, Withdrawn, Consumed] {
        let over = approval(1, state);
        let no = Err(Refusal::ApprovalNotPending(state));
        assert_eq!(
            (over.may_be_granted("x", NOW), over.must_be_pending(NOW)),
            (no.clone(), no)
        );
    }
    for over in [
        overdue(1, Pending),
        overdue(1, Granted),
        approval(1, Expired),
    ] {
        assert_eq!(over.may_be_granted("d", NOW), Err(Refusal::ApprovalExpired));
        assert_eq!(over.may_be_used(NOW), Err(Refusal::ApprovalExpired));
    }
    let pending = approval(1, Pending);
    assert_eq!(
        pending.may_be_granted("x", NOW),
        Err(Refusal::ApprovalChanged)
    );
    assert_eq!(pending.may_be_granted("d", NOW), Ok(()));
    assert_eq!(approval(1, Granted).may_be_used(NOW), Ok(()));
    for state in [Pending, Denied, Withdrawn, Consumed] {
        let no = Err(Refusal::ApprovalNotPending(state));
        assert_eq!(approval(1, state).may_be_used(NOW), no);
    }
}

#[test]
fn the_agent_that_asks_hears_of_it_and_the_one_whose_servers_the_house_asks_about() {
    let (own, other) = (AgentId::from_bytes([7; 16]), AgentId::from_bytes([8; 16]));
    for (kind, by, about, hears) in [
        (ApprovalKind::Capability, Some(own), Some(own), Some(own)),
        (ApprovalKind::Capability, Some(own), None, Some(own)),
        (ApprovalKind::Capability, None, Some(own), None),
        (
            ApprovalKind::Capability,
            Some(other),
            Some(own),
            Some(other),
        ),
        (ApprovalKind::Repin, None, Some(own), Some(own)),
        (ApprovalKind::Access, Some(own), Some(own), Some(own)),
    ] {
        let one = Approval {
            kind,
            requested_by: author(by),
            agent_id: about,
            ..approval(1, ApprovalState::Pending)
        };
        assert_eq!(one.notified_agent(), hears, "{kind:?} {by:?} {about:?}");
    }
}

fn callers() -> Vec<(Caller, bool)> {
    let caller = |identity, credential| Caller {
        identity,
        author: AuthorId::from_bytes([1; 16]),
        credential,
        is_invited: false,
    };
    let key = Credential::ApiKey(ApiKeyId::from_bytes([2; 16]));
    let cookie = Credential::Cookie(SignInId::from_bytes([3; 16]));
    let owner = caller(Identity::Owner, Credential::Loopback);
    let person = Identity::Person(AccountId::from_bytes([4; 16]));
    let agent = Identity::Agent(AgentId::from_bytes([5; 16]));
    let token = Credential::AgentToken(AgentTokenId::from_bytes([6; 16]));
    vec![
        (owner, true),
        (caller(Identity::Owner, cookie), true),
        (caller(Identity::Owner, Credential::LocalToken), true),
        (caller(Identity::Owner, key), false),
        (caller(person, cookie), false),
        (caller(person, key), false),
        (caller(agent, token), false),
        (caller(agent, Credential::Process), false),
    ]
}

#[test]
fn only_the_owner_at_a_screen_is_a_person_and_sees_all() {
    for (caller, expected) in callers() {
        assert_eq!(is_person(&caller), expected, "{caller:?}");
        assert_eq!(
            ApprovalVisibility::of(&caller) == ApprovalVisibility::All,
            expected,
            "{caller:?}"
        );
    }
}

#[test]
fn what_is_to_run_here_needs_a_card_whoever_asks() {
    for (capability, asks_people) in [
        (Capability::McpAdd, true),
        (Capability::McpUpdate, true),
        (Capability::McpRemove, false),
        (Capability::McpImport, true),
        (Capability::McpRepin, true),
        (Capability::ConnectorsExecute, false),
        (Capability::ConnectorsAccess, false),
    ] {
        for (caller, is_person) in callers() {
            let expected = asks_people || !is_person;
            assert_eq!(
                capability.needs_card(&caller),
                expected,
                "{capability:?} {caller:?}"
            );
        }
    }
}

#[test]
fn a_program_is_its_key_and_an_agent_itself_with_each_of_its_credentials() {
    let identities: BTreeSet<[u8; 16]> = callers()
        .iter()
        .map(|(caller, _)| *Requester::of(caller).as_bytes())
        .collect();
    // One author in all of them, beside the key.
    assert_eq!(identities, [[1; 16], [2; 16]].into());
}

#[test]
fn what_nobody_asked_for_is_seen_by_the_agent_it_is_about() {
    let (me, other) = (
        Requester::from_bytes([1; 16]),
        Requester::from_bytes([2; 16]),
    );
    let (agent, stranger) = (AgentId::from_bytes([7; 16]), AgentId::from_bytes([8; 16]));
    let own = ApprovalVisibility::Own(me, Some(agent));
    let program = ApprovalVisibility::Own(me, None);
    for (sight, requester, about, shows) in [
        (ApprovalVisibility::All, Some(other), None, true),
        (own, Some(me), None, true),
        (own, Some(other), Some(agent), false),
        (own, None, Some(agent), true),
        (own, None, Some(stranger), false),
        (program, Some(me), Some(agent), true),
        (program, None, Some(agent), false),
        (program, None, None, false),
    ] {
        assert_eq!(
            sight.shows(requester, about),
            shows,
            "{sight:?} {requester:?} {about:?}"
        );
    }
}

#[test]
fn who_asks_does_not_decide_and_an_agent_hears_so_first() {
    for (caller, _) in callers() {
        let is_agent = !caller.is_human();
        for shows_token in [false, true] {
            let expected = match (is_agent, shows_token) {
                (true, _) => Err(Refusal::AgentCannotDecide),
                (false, true) => Err(Refusal::RequesterCannotDecide),
                (false, false) => Ok(()),
            };
            assert_eq!(
                refuse_other_requester(&caller, shows_token),
                expected,
                "{caller:?}"
            );
        }
    }
}

#[test]
fn words_stand_for_themselves() {
    for (state, word) in ApprovalState::WORDS {
        assert_eq!(state.as_str(), word);
        assert_eq!(json!(state), word);
    }
    for (capability, word) in Capability::WORDS {
        assert_eq!(capability.as_str(), word);
    }
    for (kind, word) in ApprovalKind::WORDS {
        assert_eq!(json!(kind), word);
    }
    for (tier, word) in RiskTier::WORDS {
        assert_eq!(json!(tier), word);
    }
    for (reason, word) in ApprovalRequiredReason::WORDS {
        assert_eq!(json!(reason), word);
        assert!(reason.message().ends_with('.'));
    }
}
