//! The stage of the permits' tests: a hall without a front door, and an agent in it.

use std::{collections::BTreeMap, path::Path, time::Duration};

use guildhall_domain::{
    Error, Refusal, Result, Timestamp,
    agents::NewAgent,
    approvals::{
        Approval, ApprovalRequest, ApprovalRequirement, ApprovalState, ApprovalsQuery, Capability,
    },
    callers::{AnyCaller, Caller, Credential, Gate, Identity, Owner, OwnerDecider},
    ids::AgentId,
    runtimes::profiles,
};
use guildhall_store::events::{self, PageSize};
use guildhall_world::{
    agent_folders::AgentFolders, enclosure::Enclosure, process_guard::GuardCommand,
    runtime_programs::ProgramSearch, scratch::Scratch,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::super::{ClientPresence, Permit, PresentedApproval};
use crate::{
    AuthConfig, Clock, Hall, HallConfig, idempotency::IdempotentWrite, launch_config::LaunchConfig,
    retention::EventRetention,
};

/// A hall without a front door, and an agent in it.
pub(crate) struct HallWithAgent {
    pub(crate) hall: Hall,
    pub(crate) clock: Clock,
    pub(super) agent: Caller,
    pub(super) scratch: Scratch,
}

async fn open(scratch: &Path, clock: &Clock) -> Hall {
    let nothing = GuardCommand {
        program: "/nonexistent".into(),
        args: Vec::new(),
    };
    Hall::open(HallConfig {
        data_dir: scratch.join("data"),
        database: scratch.join("data/hall.db"),
        clock: clock.clone(),
        roots: vec![scratch.join("work")],
        runtimes: profiles(&[]).unwrap(),
        programs: ProgramSearch {
            own: "/nonexistent".into(),
            path: "/nonexistent".into(),
        },
        launching: LaunchConfig {
            url: String::new(),
            agent_url: String::new(),
            environment: BTreeMap::new(),
            keeper: nothing,
            enclosure: Enclosure::disabled(),
            bridge: "/nonexistent".into(),
        },
        places: AgentFolders::new(None, None, None),
        auth: AuthConfig::Local,
        configured: Vec::new(),
        streams: Default::default(),
        retention: EventRetention::default(),
        previews: crate::PreviewListenerConfig::new(Vec::new(), 0),
        own_ports: guildhall_world::http_client::ListenerPorts::default(),
        browser: Default::default(),
    })
    .await
    .unwrap()
}

impl HallWithAgent {
    pub(crate) async fn set() -> Self {
        let scratch = Scratch::new("permits");
        for folder in ["work", "data"] {
            std::fs::create_dir(scratch.path().join(folder)).unwrap();
        }
        let clock = Clock::scripted(Timestamp::from_millis(1_790_000_000_000));
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

    pub(super) async fn registered(&self, name: &str) -> Caller {
        let cwd = self.scratch.path().join("work").join(name);
        std::fs::create_dir_all(&cwd).unwrap();
        let mut new = NewAgent::named(name.to_owned());
        new.cwd = cwd.to_str().unwrap().to_owned();
        let by = Owner::admit(owner(&self.hall).await).unwrap();
        let agent = self
            .hall
            .register_agent(&by, new, IdempotentWrite::without_key());
        let agent = agent.await.unwrap();
        Caller {
            identity: Identity::Agent(agent.id),
            author: agent.author_id,
            credential: Credential::Process,
            is_invited: false,
        }
    }

    pub(crate) fn id(&self) -> AgentId {
        self.agent.agent().unwrap()
    }

    pub(super) async fn restart(&mut self) {
        self.hall.tasks().stop();
        assert!(self.hall.tasks().ended(Duration::from_secs(10)).await);
        self.hall = open(self.scratch.path(), &self.clock).await;
    }

    /// What the agent is answered at once.
    pub(super) async fn ask(&self, input: Value, token: Option<&str>) -> Result<Permit> {
        let presented = PresentedApproval {
            token: token.map(str::to_owned),
            wait: Some(0),
            listening: ClientPresence::default(),
        };
        let wanted = wanted(Some(self.id()), input);
        self.hall.permit(&self.agent, wanted, presented).await
    }

    /// The same, where a person must allow it first.
    pub(super) async fn required(&self, input: Value, token: Option<&str>) -> ApprovalRequirement {
        required(self.ask(input, token).await)
    }

    pub(super) async fn grant(&self, approval: &Approval) -> Result<Approval> {
        let by = OwnerDecider::admit(owner(&self.hall).await).unwrap();
        let digest = approval.digest.clone();
        let once = IdempotentWrite::without_key();
        self.hall
            .grant_approval(&by, approval.id, digest, once)
            .await
    }

    pub(super) async fn deny(&self, approval: &Approval, reason: &str) -> Result<Approval> {
        let by = OwnerDecider::admit(owner(&self.hall).await).unwrap();
        let once = IdempotentWrite::without_key();
        self.hall
            .deny_approval(&by, approval.id, reason.to_owned(), once)
            .await
    }

    pub(super) async fn spend(&self, permit: Permit) -> Result<()> {
        let now = self.clock.now();
        self.hall
            .store()
            .write(move |tx| permit.spend(tx, now))
            .await
    }

    pub(super) async fn state(&self, approval: &Approval) -> ApprovalState {
        let by = AnyCaller::admit(self.agent).unwrap();
        self.hall
            .approval(&by, approval.id)
            .await
            .unwrap()
            .value
            .state
    }

    pub(super) async fn pending(&self) -> Vec<Approval> {
        let ask = ApprovalsQuery {
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
    pub(super) async fn told_since(&self, seq: u64) -> Vec<String> {
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

    pub(super) async fn seq(&self) -> u64 {
        self.hall.store().read(events::newest).await.unwrap().value
    }

    /// Waits until so many requests are held; the bell has that many listeners.
    pub(super) async fn held(&self, count: usize) {
        while self.hall.inner.holds.listeners() < count {
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) async fn owner(hall: &Hall) -> Caller {
    let author = hall
        .store()
        .read(guildhall_store::installation::owner)
        .await;
    Caller {
        identity: Identity::Owner,
        author: author.unwrap().value.unwrap(),
        credential: Credential::Loopback,
        is_invited: false,
    }
}

/// Begins work that the test waits for later.
pub(super) fn begin<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> impl Future<Output = T> {
    let mut begun = JoinSet::new();
    begun.spawn(work);
    async move { begun.join_next().await.unwrap().unwrap() }
}

pub(super) fn wanted(agent: Option<AgentId>, input: Value) -> ApprovalRequest {
    ApprovalRequest {
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

pub(super) fn required(answer: Result<Permit>) -> ApprovalRequirement {
    match answer {
        Err(Error::Refusal(Refusal::ApprovalRequired(required))) => *required,
        other => panic!("{other:?}"),
    }
}

pub(super) fn refusal<T: std::fmt::Debug>(answer: Result<T>) -> Refusal {
    match answer {
        Err(Error::Refusal(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

pub(super) fn approved(answer: Result<Permit>) -> Permit {
    match answer {
        Ok(permit @ Permit::Approved(_)) => permit,
        other => panic!("{other:?}"),
    }
}
