//! Permits over a real store: asking, holding, deciding, spending, across restarts.

pub(crate) mod hall_with_agent;

use std::sync::Arc;

use guildhall_domain::{
    Refusal,
    approvals::{
        Approval, ApprovalRequiredReason, ApprovalRequirement, ApprovalState, Capability, Denial,
    },
    callers::{AnyCaller, Caller, Credential, Gate, Owner},
    ids::ApiKeyId,
};
use serde_json::{Value, json};

use super::{ApprovalRequest, ClientPresence, Permit, PresentedApproval, approval_rows};
use crate::idempotency::IdempotentWrite;
use hall_with_agent::{HallWithAgent, approved, begin, owner, refusal, required, wanted};

#[tokio::test]
async fn what_is_to_run_here_waits_for_a_card_whoever_asks_and_what_ends_does_not() {
    let t = HallWithAgent::set().await;
    let me = owner(&t.hall).await;
    let ask = |by: Caller, capability: Capability, token: Option<String>| {
        let presented = PresentedApproval {
            token,
            wait: Some(0),
            ..PresentedApproval::default()
        };
        let wanted = ApprovalRequest {
            capability,
            ..wanted(None, json!(1))
        };
        let hall = t.hall.clone();
        async move { hall.permit(&by, wanted, presented).await }
    };
    for capability in [Capability::McpRemove, Capability::ConnectorsExecute] {
        let permit = ask(me, capability, None).await.unwrap();
        assert!(matches!(permit, Permit::Asked), "{permit:?}");
        t.spend(permit).await.unwrap();
    }
    assert_eq!(t.pending().await, []);
    for capability in [
        Capability::McpAdd,
        Capability::McpUpdate,
        Capability::McpImport,
    ] {
        let asked = required(ask(me, capability, None).await);
        assert_eq!(asked.reason, ApprovalRequiredReason::NoApproval);
        assert_eq!(asked.approval.requested_by.id, me.author);
        let waits = required(ask(me, capability, None).await);
        assert_eq!(
            (waits.approval.id, waits.reason),
            (asked.approval.id, ApprovalRequiredReason::AwaitingDecision)
        );
        t.grant(&asked.approval).await.unwrap();
        let token = asked.token.reveal().to_owned();
        // At another screen it is the same person.
        let elsewhere = Caller {
            credential: Credential::LocalToken,
            ..me
        };
        let permit = approved(ask(elsewhere, capability, Some(token.clone())).await);
        t.spend(permit).await.unwrap();
        let again = required(ask(me, capability, Some(token)).await);
        assert_eq!(again.reason, ApprovalRequiredReason::AlreadyUsed);
    }
}

/// A person who takes a question back is asked again at once; one who was told no is not, and
/// neither is one who left too many open.
#[tokio::test]
async fn a_person_takes_back_hears_a_no_and_leaves_no_more_open_than_others() {
    let t = HallWithAgent::set().await;
    let me = owner(&t.hall).await;
    let ask = |input: Value| {
        let presented = PresentedApproval {
            wait: Some(0),
            ..PresentedApproval::default()
        };
        let hall = t.hall.clone();
        async move { hall.permit(&me, wanted(None, input), presented).await }
    };
    let by = AnyCaller::admit(me).unwrap();
    let first = required(ask(json!(0)).await);
    let back = t
        .hall
        .withdraw_approval(&by, first.approval.id, IdempotentWrite::without_key())
        .await;
    assert_eq!(back.unwrap().state, ApprovalState::Withdrawn);
    let second = required(ask(json!(0)).await);
    assert_eq!(second.reason, ApprovalRequiredReason::NoApproval);
    t.deny(&second.approval, "no").await.unwrap();
    assert_eq!(
        refusal(ask(json!(0)).await),
        Refusal::ApprovalDenied(Denial {
            approval_id: second.approval.id,
            reason: "no".to_owned(),
        })
    );
    for input in 1..=20 {
        required(ask(json!(input)).await);
    }
    let full = refusal(ask(json!(21)).await);
    assert!(matches!(full, Refusal::TooManyApprovals(_)), "{full:?}");
}

#[tokio::test]
async fn a_granted_request_runs_once_with_its_token_and_never_without() {
    let t = HallWithAgent::set().await;
    let before = t.seq().await;
    let asked = t.required(json!({"a": 1}), None).await;
    assert_eq!(asked.reason, ApprovalRequiredReason::NoApproval);
    assert_eq!(asked.approval.requested_by.agent_ref, Some(t.id()));
    let token = asked.token.reveal().to_owned();
    let again = t.required(json!({"a": 1}), None).await;
    let expected = ApprovalRequirement {
        reason: ApprovalRequiredReason::AwaitingDecision,
        ..asked.clone()
    };
    assert_eq!(again, expected, "the same row and token");
    t.grant(&asked.approval).await.unwrap();
    let unused = t.required(json!({"a": 1}), None).await;
    assert_eq!(
        (unused.reason, unused.token.reveal()),
        (ApprovalRequiredReason::GrantedUnused, &*token)
    );
    let (one, other) = (
        approved(t.ask(json!({"a": 1}), Some(&token)).await),
        approved(t.ask(json!({"a": 1}), Some(&token)).await),
    );
    t.spend(one).await.unwrap();
    let used = Refusal::ApprovalNotPending(ApprovalState::Consumed);
    assert_eq!(refusal(t.spend(other).await), used);
    assert_eq!(t.state(&asked.approval).await, ApprovalState::Consumed);
    let told = [
        "approval_requested",
        "approval_decided",
        "approval_consumed",
    ];
    assert_eq!(t.told_since(before).await, told);
    let anew = t.required(json!({"a": 1}), Some(&token)).await;
    assert_eq!(anew.reason, ApprovalRequiredReason::AlreadyUsed);
    assert_ne!(anew.approval.id, asked.approval.id);
}

#[tokio::test]
async fn what_differs_in_one_byte_does_not_run_on_an_approval() {
    let t = HallWithAgent::set().await;
    let input = json!({"env": {"KEY": "secret"}, "args": ["a"], "enabled": true});
    let asked = t.required(input.clone(), None).await;
    t.grant(&asked.approval).await.unwrap();
    let token = Some(asked.token.reveal());
    for other in [
        json!({"env": {"KEY": "secreT"}, "args": ["a"], "enabled": true}),
        json!({"env": {"KEY": "secret"}, "args": ["a", ""], "enabled": true}),
        json!({"env": {"KEY": "secret"}, "args": ["a"], "enabled": false}),
        json!({"env": {"KEYS": "secret"}, "args": ["a"], "enabled": true}),
        json!({"env": {"KEY": "secret"}, "args": ["a"]}),
    ] {
        let answer = t.required(other.clone(), token).await;
        assert_eq!(
            answer.reason,
            ApprovalRequiredReason::WrongAction,
            "{other}"
        );
        assert_ne!(answer.approval.digest, asked.approval.digest, "{other}");
    }
    let presented = || PresentedApproval {
        token: token.map(str::to_owned),
        wait: Some(0),
        ..PresentedApproval::default()
    };
    // Nor another deed, another pin, another agent, or another requester.
    for change in [
        |wanted: &mut ApprovalRequest| wanted.capability = Capability::McpUpdate,
        |wanted: &mut ApprovalRequest| wanted.pin = json!({"sha256": "0"}),
        |wanted: &mut ApprovalRequest| wanted.agent_id = None,
    ] {
        let mut wanted = wanted(Some(t.id()), input.clone());
        change(&mut wanted);
        let answer = t.hall.permit(&t.agent, wanted, presented()).await;
        assert_eq!(required(answer).reason, ApprovalRequiredReason::WrongAction);
    }
    let bob = t.registered("bob").await;
    let same = wanted(Some(t.id()), input.clone());
    let answer = t.hall.permit(&bob, same, presented()).await;
    assert_eq!(
        required(answer).reason,
        ApprovalRequiredReason::UnknownToken
    );
    // What is shown says nothing of it.
    let shown = format!("{:?}", t.pending().await);
    assert!(!shown.contains("secret"), "{shown}");
    approved(t.ask(input, token).await);
}

#[tokio::test]
async fn a_no_is_told_and_remembered_and_then_asked_anew() {
    let t = HallWithAgent::set().await;
    let asked = t.required(json!(1), None).await;
    t.deny(&asked.approval, "  not today \n").await.unwrap();
    let no = Refusal::ApprovalDenied(Denial {
        approval_id: asked.approval.id,
        reason: "not today".to_owned(),
    });
    assert_eq!(refusal(t.ask(json!(1), None).await), no);
    t.clock.advance(599);
    assert_eq!(
        refusal(t.ask(json!(1), Some("gap_x")).await),
        no,
        "and no new card"
    );
    t.clock.advance(1);
    let token = Some(asked.token.reveal());
    assert_eq!(
        refusal(t.ask(json!(1), token).await),
        no,
        "its token says so for good"
    );
    assert_eq!(
        t.required(json!(1), None).await.reason,
        ApprovalRequiredReason::NoApproval
    );
}

#[tokio::test]
async fn a_request_is_held_until_a_person_decides() {
    let t = Arc::new(HallWithAgent::set().await);
    let hold = |input: Value| {
        let t = Arc::clone(&t);
        begin(async move {
            let wanted = wanted(Some(t.id()), input);
            t.hall
                .permit(&t.agent, wanted, PresentedApproval::default())
                .await
        })
    };
    let (yes, again, no) = (hold(json!(1)), hold(json!(1)), hold(json!(2)));
    t.held(3).await;
    let pending = t.pending().await;
    assert_eq!(pending.len(), 2, "the same request waits for the same word");
    let asked = |reason: &str| pending.iter().find(|one| one.digest == reason).unwrap();
    let first = t.required(json!(1), None).await.approval.digest;
    let second = t.required(json!(2), None).await.approval.digest;
    t.deny(asked(&second), "").await.unwrap();
    let denied = refusal(no.await);
    assert!(matches!(denied, Refusal::ApprovalDenied(_)), "{denied:?}");
    t.grant(asked(&first)).await.unwrap();
    let mut spent = Vec::new();
    for held in [yes, again] {
        spent.push(t.spend(approved(held.await)).await.is_ok());
    }
    spent.sort_unstable();
    assert_eq!(spent, [false, true], "one yes lets one through");
}

#[tokio::test]
async fn a_hold_ends_with_its_time_its_client_the_ask_and_the_server() {
    let t = Arc::new(HallWithAgent::set().await);
    let (line, listening) = tokio::sync::watch::channel(());
    let hold = |input: i32, wait: u32, listening: ClientPresence| {
        let t = Arc::clone(&t);
        begin(async move {
            let wanted = wanted(Some(t.id()), json!(input));
            let presented = PresentedApproval {
                token: None,
                wait: Some(wait),
                listening,
            };
            t.hall.permit(&t.agent, wanted, presented).await
        })
    };
    let short = hold(1, 1, ClientPresence::default());
    assert_eq!(
        required(short.await).reason,
        ApprovalRequiredReason::AwaitingDecision
    );
    let lost = hold(2, 600, ClientPresence::on(listening));
    t.held(1).await;
    drop(line);
    let left = required(lost.await);
    assert_eq!(
        t.state(&left.approval).await,
        ApprovalState::Pending,
        "it stays as it is"
    );
    let withdrawn = hold(2, 600, ClientPresence::default());
    t.held(1).await;
    let by = AnyCaller::admit(t.agent).unwrap();
    let once = IdempotentWrite::without_key();
    t.hall
        .withdraw_approval(&by, left.approval.id, once)
        .await
        .unwrap();
    let over = Refusal::ApprovalNotPending(ApprovalState::Withdrawn);
    assert_eq!(refusal(withdrawn.await), over);
    let expired = hold(3, 600, ClientPresence::default());
    t.held(1).await;
    t.clock.advance(7_200);
    t.hall.end_due_approvals().await.unwrap();
    assert_eq!(refusal(expired.await), Refusal::ApprovalExpired);
    let stopped = hold(4, 600, ClientPresence::default());
    t.held(1).await;
    t.hall.tasks().stop();
    assert_eq!(
        required(stopped.await).reason,
        ApprovalRequiredReason::AwaitingDecision
    );
}

#[tokio::test]
async fn a_requester_has_twenty_that_wait_and_twenty_that_are_held() {
    let t = Arc::new(HallWithAgent::set().await);
    t.required(json!(0), None).await;
    t.clock.advance(10);
    for n in 1..20 {
        t.required(json!(n), None).await;
    }
    let many = refusal(t.ask(json!(20), None).await);
    assert_eq!(
        many,
        Refusal::TooManyApprovals(7_190),
        "until the first expires"
    );
    assert_eq!(
        t.required(json!(0), None).await.reason,
        ApprovalRequiredReason::AwaitingDecision
    );
    let holds: Vec<_> = (0..20)
        .map(|_| {
            let t = Arc::clone(&t);
            begin(async move {
                let wanted = wanted(Some(t.id()), json!(0));
                t.hall
                    .permit(&t.agent, wanted, PresentedApproval::default())
                    .await
            })
        })
        .collect();
    t.held(20).await;
    let wanted = wanted(Some(t.id()), json!(0));
    let answer = t
        .hall
        .permit(&t.agent, wanted, PresentedApproval::default())
        .await;
    assert_eq!(
        required(answer).reason,
        ApprovalRequiredReason::AwaitingDecision,
        "at once"
    );
    t.hall.tasks().stop();
    for hold in holds {
        required(hold.await);
    }
    t.clock.advance(7_190);
    assert_eq!(
        t.required(json!(20), None).await.reason,
        ApprovalRequiredReason::NoApproval
    );
}

#[tokio::test]
async fn past_its_time_an_approval_is_over_before_and_after_it_is_written() {
    let t = HallWithAgent::set().await;
    let (pending, granted) = (
        t.required(json!(1), None).await,
        t.required(json!(2), None).await,
    );
    t.clock.advance(7_199);
    let yes = t.grant(&granted.approval).await.unwrap();
    assert_eq!(
        yes.expires_at,
        t.clock.now().plus_seconds(600),
        "at least ten minutes"
    );
    let token = Some(granted.token.reveal());
    let permit = approved(t.ask(json!(2), token).await);
    t.clock.advance(1);
    assert_eq!(t.state(&pending.approval).await, ApprovalState::Expired);
    assert_eq!(
        refusal(t.grant(&pending.approval).await),
        Refusal::ApprovalExpired
    );
    t.clock.advance(599);
    assert_eq!(refusal(t.spend(permit).await), Refusal::ApprovalExpired);
    let before = t.seq().await;
    t.hall.end_due_approvals().await.unwrap();
    t.hall.end_due_approvals().await.unwrap();
    assert_eq!(t.told_since(before).await, ["approval_expired"; 2]);
    assert_eq!(t.state(&granted.approval).await, ApprovalState::Expired);
    let anew = t.required(json!(2), token).await;
    assert_eq!(anew.reason, ApprovalRequiredReason::Expired);
    // Thirty days after the end it is forgotten.
    let gone = |approval: &Approval| {
        let (id, hall) = (approval.id, t.hall.clone());
        async move {
            let found = hall
                .store()
                .read(move |db| guildhall_store::approvals::by_id(db, id));
            found.await.unwrap().value.is_none()
        }
    };
    t.clock.advance(30 * 24 * 3_600);
    t.hall.end_due_approvals().await.unwrap();
    assert!(!gone(&granted.approval).await, "not on the day itself");
    t.clock.advance(1);
    t.hall.end_due_approvals().await.unwrap();
    assert!(gone(&granted.approval).await && gone(&pending.approval).await);
    assert!(!gone(&anew.approval).await, "what ended since is kept");
}

#[tokio::test]
async fn approvals_and_tokens_outlive_the_server() {
    let mut t = HallWithAgent::set().await;
    let asked = t.required(json!(1), None).await;
    t.required(json!(2), None).await;
    let before = t.pending().await;
    t.restart().await;
    assert_eq!(
        t.pending().await,
        before,
        "with the same digest and deadline"
    );
    t.grant(&asked.approval).await.unwrap();
    t.restart().await;
    let token = asked.token.reveal().to_owned();
    let permit = approved(t.ask(json!(1), Some(&token)).await);
    t.restart().await;
    t.spend(permit).await.unwrap();
    t.restart().await;
    assert_eq!(
        t.required(json!(1), Some(&token)).await.reason,
        ApprovalRequiredReason::AlreadyUsed
    );
}

#[tokio::test]
async fn a_dead_credential_uses_nothing_and_a_retired_agent_asks_nothing_more() {
    let t = HallWithAgent::set().await;
    let (kept, asked) = (
        t.required(json!(1), None).await,
        t.required(json!(2), None).await,
    );
    t.grant(&asked.approval).await.unwrap();
    let permit = approved(t.ask(json!(2), Some(asked.token.reveal())).await);
    let key = Caller {
        credential: Credential::ApiKey(ApiKeyId::from_bytes([9; 16])),
        ..owner(&t.hall).await
    };
    let presented = PresentedApproval {
        wait: Some(0),
        ..PresentedApproval::default()
    };
    let answer = t.hall.permit(&key, wanted(None, json!(1)), presented).await;
    assert_eq!(refusal(answer), Refusal::AuthRequired, "no such key");
    let by = Owner::admit(owner(&t.hall).await).unwrap();
    let none = guildhall_domain::revisions::Precondition::None;
    t.hall.retire_agent(&by, t.id(), none).await.unwrap();
    assert_eq!(
        refusal(t.spend(permit).await),
        Refusal::AgentIdentityUnverified
    );
    let id = kept.approval.id;
    let by = AnyCaller::admit(owner(&t.hall).await).unwrap();
    let after = t.hall.approval(&by, id).await.unwrap().value;
    assert_eq!(after.state, ApprovalState::Withdrawn);
}

#[tokio::test]
async fn a_repin_is_asked_by_the_house_and_used_as_it_is_granted() {
    let t = HallWithAgent::set().await;
    let ask = |digest: char| {
        let (agent_id, now, hall) = (t.id(), t.clock.now(), t.hall.clone());
        async move {
            let repin = approval_rows::RepinRequest {
                agent_id,
                digest: digest.to_string().repeat(64),
                summary: "files changed".to_owned(),
                card: json!({"old": "1", "new": "2"}),
                why: Vec::new(),
            };
            hall.store()
                .write(move |tx| approval_rows::ask_repin(tx, repin, now))
                .await
                .unwrap()
        }
    };
    let (granted, changed) = (ask('a').await, ask('b').await);
    let own = AnyCaller::admit(t.agent).unwrap();
    let shown = t.hall.approval(&own, granted).await.unwrap().value;
    assert_eq!(shown.requested_by.display_name, "guildhall");
    let once = IdempotentWrite::without_key();
    let not_its = t.hall.withdraw_approval(&own, granted, once).await;
    assert!(
        matches!(refusal(not_its), Refusal::NotFound(_)),
        "the house asked"
    );
    let before = t.seq().await;
    let yes = t.grant(&shown).await.unwrap();
    assert_eq!(
        (yes.state, yes.consumed_at),
        (ApprovalState::Consumed, yes.decided_at)
    );
    assert_eq!(
        t.told_since(before).await,
        ["approval_decided", "approval_consumed"]
    );
    let now = t.clock.now();
    for expected in [vec!["approval_withdrawn"], Vec::new()] {
        let before = t.seq().await;
        let withdraw = t
            .hall
            .store()
            .write(move |tx| approval_rows::withdraw(tx, changed, None, now));
        withdraw.await.unwrap();
        assert_eq!(t.told_since(before).await, expected, "what is over stays");
    }
}
