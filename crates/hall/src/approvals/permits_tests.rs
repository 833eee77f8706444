//! Permits over a real store: asking, holding, deciding, spending, across restarts.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use guildhall_domain::{
    Error, Moment, Refusal, Result,
    agents::NewAgent,
    approvals::{Approval, ApprovalState, ApprovalsAsk, Capability, Denial, Reason, Required},
    callers::{AnyCaller, Caller, Credential, Gate, Identity, Owner, OwnerDecider},
    ids::{AgentId, KeyId},
    runtimes::profiles,
};
use guildhall_store::events::{self, PageSize};
use guildhall_world::{
    keeper::KeeperCommand, places::Places, runtimes::Programs, scratch::Scratch,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Listening, Permit, Presented, Wanted, rows};
use crate::{
    Auth, Clock, Hall, Opening, launching::Launching, repeats::Once, retention::Retention,
    streams::StreamLimits,
};

/// A hall without a front door, and an agent in it.
struct Stage {
    hall: Hall,
    clock: Clock,
    agent: Caller,
    scratch: Scratch,
}

async fn open(scratch: &Path, clock: &Clock) -> Hall {
    let nothing = KeeperCommand {
        program: "/nonexistent".into(),
        args: Vec::new(),
    };
    Hall::open(Opening {
        data_dir: scratch.join("data"),
        database: scratch.join("data/hall.db"),
        clock: clock.clone(),
        roots: vec![scratch.join("work")],
        runtimes: profiles(&[]).unwrap(),
        programs: Programs {
            own: "/nonexistent".into(),
            path: "/nonexistent".into(),
        },
        launching: Launching {
            url: String::new(),
            environment: BTreeMap::new(),
            keeper: nothing,
        },
        places: Places::new(None, None, None),
        auth: Auth::Local,
        configured: Vec::new(),
        streams: StreamLimits::default(),
        retention: Retention::default(),
    })
    .await
    .unwrap()
}

impl Stage {
    async fn set() -> Self {
        let scratch = Scratch::new("permits");
        for folder in ["work", "data"] {
            std::fs::create_dir(scratch.path().join(folder)).unwrap();
        }
        let clock = Clock::scripted(Moment::from_millis(1_790_000_000_000));
        let hall = open(scratch.path(), &clock).await;
        let mut stage = Self {
            agent: owner(&hall).await,
            hall,
            clock,
            scratch,
        };
        stage.agent = stage.registered("ada").await;
        stage
    }

    async fn registered(&self, name: &str) -> Caller {
        let cwd = self.scratch.path().join("work").join(name);
        std::fs::create_dir_all(&cwd).unwrap();
        let mut new = NewAgent::named(name.to_owned());
        new.cwd = cwd.to_str().unwrap().to_owned();
        let by = Owner::admit(owner(&self.hall).await).unwrap();
        let agent = self.hall.register_agent(&by, new, Once::without_key());
        let agent = agent.await.unwrap();
        Caller {
            identity: Identity::Agent(agent.id),
            author: agent.author_id,
            credential: Credential::Process,
            is_invited: false,
            is_in_doubt: false,
        }
    }

    fn id(&self) -> AgentId {
        self.agent.agent().unwrap()
    }

    async fn restart(&mut self) {
        self.hall.tasks().stop();
        assert!(
            self.hall
                .tasks()
                .ended(std::time::Duration::from_secs(10))
                .await
        );
        self.hall = open(self.scratch.path(), &self.clock).await;
    }

    /// What the agent is answered at once.
    async fn ask(&self, input: Value, token: Option<&str>) -> Result<Permit> {
        let presented = Presented {
            token: token.map(str::to_owned),
            wait: Some(0),
            listening: Listening::default(),
        };
        let wanted = wanted(Some(self.id()), input);
        self.hall.permit(&self.agent, wanted, presented).await
    }

    /// The same, where a person must allow it first.
    async fn required(&self, input: Value, token: Option<&str>) -> Required {
        required(self.ask(input, token).await)
    }

    async fn grant(&self, approval: &Approval) -> Result<Approval> {
        let by = OwnerDecider::admit(owner(&self.hall).await).unwrap();
        let digest = approval.digest.clone();
        let once = Once::without_key();
        self.hall
            .grant_approval(&by, approval.id, digest, once)
            .await
    }

    async fn deny(&self, approval: &Approval, reason: &str) -> Result<Approval> {
        let by = OwnerDecider::admit(owner(&self.hall).await).unwrap();
        let once = Once::without_key();
        self.hall
            .deny_approval(&by, approval.id, reason.to_owned(), once)
            .await
    }

    async fn spend(&self, permit: Permit) -> Result<()> {
        let now = self.clock.now();
        self.hall
            .store()
            .write(move |tx| permit.spend(tx, now))
            .await
    }

    async fn state(&self, approval: &Approval) -> ApprovalState {
        let by = AnyCaller::admit(self.agent).unwrap();
        self.hall
            .approval(&by, approval.id)
            .await
            .unwrap()
            .value
            .state
    }

    async fn pending(&self) -> Vec<Approval> {
        let ask = ApprovalsAsk {
            state: ApprovalState::Pending,
            kind: None,
            agent: None,
            session: None,
            after: None,
            limit: 200,
        };
        let by = AnyCaller::admit(owner(&self.hall).await).unwrap();
        self.hall.approvals(&by, ask).await.unwrap().value.approvals
    }

    /// The names of all events since `seq`.
    async fn told_since(&self, seq: u64) -> Vec<String> {
        let size = PageSize {
            events: 1_000,
            bytes: 1 << 24,
        };
        let page = self
            .hall
            .store()
            .read(move |db| events::after(db, seq, size));
        page.await
            .unwrap()
            .value
            .events
            .iter()
            .map(|event| event.name.clone())
            .collect()
    }

    async fn seq(&self) -> u64 {
        self.hall.store().read(events::newest).await.unwrap().value
    }

    /// Waits until so many requests are held; the bell has that many listeners.
    async fn held(&self, count: usize) {
        while self.hall.inner.holds.listeners() < count {
            tokio::task::yield_now().await;
        }
    }
}

async fn owner(hall: &Hall) -> Caller {
    let author = hall
        .store()
        .read(guildhall_store::installation::owner)
        .await;
    Caller {
        identity: Identity::Owner,
        author: author.unwrap().value.unwrap(),
        credential: Credential::Loopback,
        is_invited: false,
        is_in_doubt: false,
    }
}

/// Begins work that the test waits for later.
fn begin<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> impl Future<Output = T> {
    let mut begun = JoinSet::new();
    begun.spawn(work);
    async move { begun.join_next().await.unwrap().unwrap() }
}

fn wanted(agent: Option<AgentId>, input: Value) -> Wanted {
    Wanted {
        capability: Capability::McpAdd,
        agent_id: agent,
        session_id: None,
        summary: "Add files".to_owned(),
        card: json!({"name": "files"}),
        why: vec!["It runs foreign code.".to_owned()],
        input,
        pin: Value::Null,
    }
}

fn required(answer: Result<Permit>) -> Required {
    match answer {
        Err(Error::Refusal(Refusal::ApprovalRequired(required))) => *required,
        other => panic!("{other:?}"),
    }
}

fn refusal<T: std::fmt::Debug>(answer: Result<T>) -> Refusal {
    match answer {
        Err(Error::Refusal(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

fn approved(answer: Result<Permit>) -> Permit {
    match answer {
        Ok(permit @ Permit::Approved(_)) => permit,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_persons_own_request_asks_nobody_and_one_that_may_be_an_agents_does() {
    let t = Stage::set().await;
    let me = owner(&t.hall).await;
    let ask = |by: Caller| {
        let presented = Presented {
            wait: Some(0),
            ..Presented::default()
        };
        let hall = t.hall.clone();
        async move { hall.permit(&by, wanted(None, json!(1)), presented).await }
    };
    let permit = ask(me).await.unwrap();
    assert!(matches!(permit, Permit::Person), "{permit:?}");
    t.spend(permit).await.unwrap();
    assert_eq!(t.pending().await, []);
    let doubted = Caller {
        is_in_doubt: true,
        ..me
    };
    assert_eq!(required(ask(doubted).await).reason, Reason::NoApproval);
}

#[tokio::test]
async fn a_granted_request_runs_once_with_its_token_and_never_without() {
    let t = Stage::set().await;
    let before = t.seq().await;
    let asked = t.required(json!({"a": 1}), None).await;
    assert_eq!(asked.reason, Reason::NoApproval);
    assert_eq!(asked.approval.requested_by.agent_ref, Some(t.id()));
    let token = asked.token.reveal().to_owned();
    let again = t.required(json!({"a": 1}), None).await;
    let expected = Required {
        reason: Reason::AwaitingDecision,
        ..asked.clone()
    };
    assert_eq!(again, expected, "the same row and token");
    t.grant(&asked.approval).await.unwrap();
    let unused = t.required(json!({"a": 1}), None).await;
    assert_eq!(
        (unused.reason, unused.token.reveal()),
        (Reason::GrantedUnused, &*token)
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
    assert_eq!(anew.reason, Reason::AlreadyUsed);
    assert_ne!(anew.approval.id, asked.approval.id);
}

#[tokio::test]
async fn what_differs_in_one_byte_does_not_run_on_an_approval() {
    let t = Stage::set().await;
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
        assert_eq!(answer.reason, Reason::WrongAction, "{other}");
        assert_ne!(answer.approval.digest, asked.approval.digest, "{other}");
    }
    let presented = || Presented {
        token: token.map(str::to_owned),
        wait: Some(0),
        ..Presented::default()
    };
    // Nor another deed, another pin, another agent, or another requester.
    for change in [
        |wanted: &mut Wanted| wanted.capability = Capability::McpUpdate,
        |wanted: &mut Wanted| wanted.pin = json!({"sha256": "0"}),
        |wanted: &mut Wanted| wanted.agent_id = None,
    ] {
        let mut wanted = wanted(Some(t.id()), input.clone());
        change(&mut wanted);
        let answer = t.hall.permit(&t.agent, wanted, presented()).await;
        assert_eq!(required(answer).reason, Reason::WrongAction);
    }
    let bob = t.registered("bob").await;
    let same = wanted(Some(t.id()), input.clone());
    let answer = t.hall.permit(&bob, same, presented()).await;
    assert_eq!(required(answer).reason, Reason::UnknownToken);
    // What is shown says nothing of it.
    let shown = format!("{:?}", t.pending().await);
    assert!(!shown.contains("secret"), "{shown}");
    approved(t.ask(input, token).await);
}

#[tokio::test]
async fn a_no_is_told_and_remembered_and_then_asked_anew() {
    let t = Stage::set().await;
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
    assert_eq!(t.required(json!(1), None).await.reason, Reason::NoApproval);
}

#[tokio::test]
async fn a_request_is_held_until_a_person_decides() {
    let t = Arc::new(Stage::set().await);
    let hold = |input: Value| {
        let t = Arc::clone(&t);
        begin(async move {
            let wanted = wanted(Some(t.id()), input);
            t.hall.permit(&t.agent, wanted, Presented::default()).await
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
    let t = Arc::new(Stage::set().await);
    let (line, listening) = tokio::sync::watch::channel(());
    let hold = |input: i32, wait: u32, listening: Listening| {
        let t = Arc::clone(&t);
        begin(async move {
            let wanted = wanted(Some(t.id()), json!(input));
            let presented = Presented {
                token: None,
                wait: Some(wait),
                listening,
            };
            t.hall.permit(&t.agent, wanted, presented).await
        })
    };
    let short = hold(1, 1, Listening::default());
    assert_eq!(required(short.await).reason, Reason::AwaitingDecision);
    let lost = hold(2, 600, Listening::on(listening));
    t.held(1).await;
    drop(line);
    let left = required(lost.await);
    assert_eq!(
        t.state(&left.approval).await,
        ApprovalState::Pending,
        "it stays as it is"
    );
    let withdrawn = hold(2, 600, Listening::default());
    t.held(1).await;
    let by = AnyCaller::admit(t.agent).unwrap();
    let once = Once::without_key();
    t.hall
        .withdraw_approval(&by, left.approval.id, once)
        .await
        .unwrap();
    let over = Refusal::ApprovalNotPending(ApprovalState::Withdrawn);
    assert_eq!(refusal(withdrawn.await), over);
    let expired = hold(3, 600, Listening::default());
    t.held(1).await;
    t.clock.advance(7_200);
    t.hall.end_due_approvals().await.unwrap();
    assert_eq!(refusal(expired.await), Refusal::ApprovalExpired);
    let stopped = hold(4, 600, Listening::default());
    t.held(1).await;
    t.hall.tasks().stop();
    assert_eq!(required(stopped.await).reason, Reason::AwaitingDecision);
}

#[tokio::test]
async fn a_requester_has_twenty_that_wait_and_twenty_that_are_held() {
    let t = Arc::new(Stage::set().await);
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
        Reason::AwaitingDecision
    );
    let holds: Vec<_> = (0..20)
        .map(|_| {
            let t = Arc::clone(&t);
            begin(async move {
                let wanted = wanted(Some(t.id()), json!(0));
                t.hall.permit(&t.agent, wanted, Presented::default()).await
            })
        })
        .collect();
    t.held(20).await;
    let wanted = wanted(Some(t.id()), json!(0));
    let answer = t.hall.permit(&t.agent, wanted, Presented::default()).await;
    assert_eq!(required(answer).reason, Reason::AwaitingDecision, "at once");
    t.hall.tasks().stop();
    for hold in holds {
        required(hold.await);
    }
    t.clock.advance(7_190);
    assert_eq!(t.required(json!(20), None).await.reason, Reason::NoApproval);
}

#[tokio::test]
async fn past_its_time_an_approval_is_over_before_and_after_it_is_written() {
    let t = Stage::set().await;
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
    assert_eq!(anew.reason, Reason::Expired);
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
    let mut t = Stage::set().await;
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
        Reason::AlreadyUsed
    );
}

#[tokio::test]
async fn a_dead_credential_uses_nothing_and_a_retired_agent_asks_nothing_more() {
    let t = Stage::set().await;
    let (kept, asked) = (
        t.required(json!(1), None).await,
        t.required(json!(2), None).await,
    );
    t.grant(&asked.approval).await.unwrap();
    let permit = approved(t.ask(json!(2), Some(asked.token.reveal())).await);
    let key = Caller {
        credential: Credential::ApiKey(KeyId::from_bytes([9; 16])),
        ..owner(&t.hall).await
    };
    let presented = Presented {
        wait: Some(0),
        ..Presented::default()
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
    let t = Stage::set().await;
    let ask = |digest: char| {
        let (agent_id, now, hall) = (t.id(), t.clock.now(), t.hall.clone());
        async move {
            let repin = rows::Repin {
                agent_id,
                digest: digest.to_string().repeat(64),
                summary: "files changed".to_owned(),
                card: json!({"old": "1", "new": "2"}),
                why: Vec::new(),
            };
            hall.store()
                .write(move |tx| rows::ask_again(tx, repin, now))
                .await
                .unwrap()
        }
    };
    let (granted, changed) = (ask('a').await, ask('b').await);
    let own = AnyCaller::admit(t.agent).unwrap();
    let shown = t.hall.approval(&own, granted).await.unwrap().value;
    assert_eq!(shown.requested_by.display_name, "guildhall");
    let once = Once::without_key();
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
            .write(move |tx| rows::withdraw(tx, changed, None, now));
        withdraw.await.unwrap();
        assert_eq!(t.told_since(before).await, expected, "what is over stays");
    }
}
