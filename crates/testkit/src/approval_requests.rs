//! Gated deeds: what programs and agents ask a person to allow, without a deed behind it.

use guildhall_domain::{
    Error, Refusal,
    approvals::{ApprovalRequest, ApprovalRequirement, Capability},
    callers::{Caller as Known, Credential, Identity},
    ids::{AgentId, ApiKeyId, AuthorId},
};
use guildhall_hall::approvals::PresentedApproval;
use serde_json::{Value, json};

use crate::{TestCaller, TestHall};

impl TestHall {
    /// What `agent` is answered at once when it asks for a deed with this input.
    pub async fn request_approval(&self, agent: &TestCaller, input: Value) -> ApprovalRequirement {
        let id = AgentId::parse(agent.agent()).expect("an agent");
        self.want(
            known(agent, Identity::Agent(id), Credential::Process),
            Some(id),
            input,
        )
        .await
    }

    /// The same for a program of the owner, which shows the key of this label.
    pub async fn request_approval_as_program(
        &self,
        label: &str,
        about: &TestCaller,
        input: Value,
    ) -> ApprovalRequirement {
        let keys = self.owner().get("/api/auth/keys").await.ok(200);
        let keys = keys["keys"].as_array().expect("keys").iter();
        let key = keys
            .filter(|key| key["label"] == label)
            .find_map(|key| ApiKeyId::parse(key["id"].as_str()?))
            .expect("a key of this label");
        let credential = Credential::ApiKey(key);
        let by = known(&self.owner(), Identity::Owner, credential);
        self.want(by, AgentId::parse(about.agent()), input).await
    }

    async fn want(&self, by: Known, agent: Option<AgentId>, input: Value) -> ApprovalRequirement {
        let wanted = ApprovalRequest {
            capability: Capability::McpAdd,
            agent_id: agent,
            session_id: None,
            summary: "Add files".to_owned(),
            card: json!({"name": "files", "command": "npx"}),
            why: vec!["It runs foreign code.".to_owned()],
            input,
            pin: Value::Null,
        };
        let presented = PresentedApproval {
            wait: Some(0),
            ..PresentedApproval::default()
        };
        match self.hall().permit(&by, wanted, presented).await {
            Err(Error::Refusal(Refusal::ApprovalRequired(required))) => *required,
            other => panic!("{other:?}"),
        }
    }
}

fn known(caller: &TestCaller, identity: Identity, credential: Credential) -> Known {
    Known {
        identity,
        author: AuthorId::parse(caller.author()).expect("an author"),
        credential,
        is_invited: false,
    }
}
