//! Asks: what an agent asks a person, opened without an agent that runs.

use guildhall_domain::{
    ids::{AgentId, SessionId},
    interactions::{
        InteractionRequest, InteractionResponse, PermissionChoice, PermissionChoiceKind, Question,
    },
    sessions::{Session, SessionOrigin, SessionState},
    transcript::{ToolCall, ToolKind},
    usage::Usage,
};
use guildhall_hall::interactions::{OpenOutcome, OpenedInteraction};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::{TestCaller, TestHall, soon};

/// An ask that waits for a person.
#[derive(Debug)]
pub struct OpenInteraction {
    /// Its id.
    pub id: String,
    /// Its digest.
    pub digest: String,
    answer: oneshot::Receiver<InteractionResponse>,
}

impl OpenInteraction {
    /// What the agent is told.
    pub async fn answer(self) -> InteractionResponse {
        soon("an answer", self.answer).await.expect("an answer")
    }

    /// The agent is gone before it is told.
    pub fn dies(self) {}

    /// Whether the agent was told nothing yet.
    pub fn waits(&mut self) -> bool {
        self.answer.try_recv() == Err(oneshot::error::TryRecvError::Empty)
    }
}

/// The options most agents offer, in an order that helps nobody who goes by it.
pub fn usual_options() -> Vec<PermissionChoice> {
    let option = |id: &str, kind| PermissionChoice {
        option_id: id.to_owned(),
        name: id.to_owned(),
        kind,
    };
    vec![
        option("always", PermissionChoiceKind::AllowAlways),
        option("never", PermissionChoiceKind::RejectAlways),
        option("once", PermissionChoiceKind::AllowOnce),
        option("no", PermissionChoiceKind::RejectOnce),
    ]
}

/// A call that would run `command`.
pub fn call(id: &str, command: &str) -> ToolCall {
    ToolCall {
        title: format!("Run {command}"),
        tool_name: "bash".to_owned(),
        kind: ToolKind::Execute,
        input: json!({ "command": command }),
        ..ToolCall::unannounced(id.to_owned())
    }
}

impl TestHall {
    /// A session of `agent` that asks.
    pub fn session(&self, agent: &TestCaller) -> Session {
        let now = self.now();
        let session = Session {
            id: SessionId::new(guildhall_world::ids::new()),
            agent_id: AgentId::parse(agent.agent()).unwrap(),
            runtime: "rehearsal".to_owned(),
            runtime_session_id: String::new(),
            title: String::new(),
            cwd: "/w".to_owned(),
            permission_mode: "default".to_owned(),
            model: String::new(),
            effort: String::new(),
            state: SessionState::Running,
            state_reason: String::new(),
            origin: SessionOrigin::Person,
            room_id: None,
            read_only: false,
            queued_count: 0,
            pending_count: 0,
            last_message_preview: String::new(),
            created_at: now,
            updated_at: now,
            usage: Usage::default(),
        };
        crate::event_log::seed_session(&self.database(), &session);
        session
    }

    /// Lets a turn of the session be under way.
    pub fn begin_turn(&self, session: &Session) {
        crate::event_log::begin_turn(&self.database(), session);
    }

    /// Lets `count` messages have been said in a session: `1`, `2` and so on.
    pub fn seed_agent_text(&self, session: &Session, count: u32) {
        crate::event_log::seed_agent_text(&self.database(), session, count);
    }

    /// Opens an ask, whatever comes of it.
    pub async fn open_interaction(
        &self,
        session: &Session,
        call: Option<ToolCall>,
        asked: InteractionRequest,
    ) -> OpenedInteraction {
        let posed = self.hall().ask_person(session.clone(), call, asked).await;
        posed.unwrap()
    }

    /// Opens the ask for a call that would run `command`, whatever comes of it.
    pub async fn open_call_interaction(
        &self,
        session: &Session,
        id: &str,
        command: &str,
    ) -> OpenedInteraction {
        let asked = InteractionRequest::Permission {
            tool_call_id: id.to_owned(),
            options: usual_options(),
        };
        self.open_interaction(session, Some(call(id, command)), asked)
            .await
    }

    /// Asks for a call that would run `command`, which must open a card.
    pub async fn seed_interaction(
        &self,
        session: &Session,
        id: &str,
        command: &str,
    ) -> OpenInteraction {
        waiting(self.open_call_interaction(session, id, command).await)
    }

    /// Asks questions, which must open a card.
    pub async fn seed_questions(
        &self,
        session: &Session,
        questions: Vec<Question>,
    ) -> OpenInteraction {
        let asked = InteractionRequest::Form {
            tool_call_id: None,
            message: "Which way?".to_owned(),
            questions,
        };
        waiting(self.open_interaction(session, None, asked).await)
    }

    /// What waits for a person, as the owner sees it.
    pub async fn pending(&self) -> Vec<Value> {
        let path = "/api/sessions/pending-interactions";
        let listed = self.owner().get(path).await.ok(200);
        listed["interactions"].as_array().unwrap().clone()
    }
}

fn waiting(posed: OpenedInteraction) -> OpenInteraction {
    let OpenOutcome::Asked(interaction) = posed.opening else {
        panic!("a card is opened, not {:?}", posed.opening);
    };
    OpenInteraction {
        id: interaction.id.to_string(),
        digest: interaction.digest,
        answer: posed.answer,
    }
}
