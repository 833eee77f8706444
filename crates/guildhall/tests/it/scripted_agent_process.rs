//! The scripted agent as a process: how it ends.

use std::process::Stdio;

use guildhall_fake_llm::agent_client::AgentClient;
use serde_json::json;
use tokio::process::Command;

/// A folder that is removed with its value, and the agent's command in it.
struct AgentCommandInFolder(std::path::PathBuf);

impl AgentCommandInFolder {
    fn new(test: &str) -> Self {
        let name = format!("guildhall-rehearsal-process-{test}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    async fn agent(&self) -> (AgentClient, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_guildhall"));
        command
            .arg("rehearsal-agent")
            .env_clear()
            .env("XDG_STATE_HOME", self.0.join("state"))
            .stderr(Stdio::inherit());
        let mut client = AgentClient::start(command).unwrap();
        client.initialize().await.unwrap();
        let new = client
            .call("session/new", json!({"cwd": self.0, "mcpServers": []}))
            .await
            .unwrap();
        let session = new["sessionId"].as_str().unwrap().to_owned();
        (client, session)
    }
}

impl Drop for AgentCommandInFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn it_ends_well_when_its_input_ends() {
    let stage = AgentCommandInFolder::new("end");
    let (mut client, session) = stage.agent().await;
    client.prompt(&session, "#say hello").await.unwrap();
    assert_eq!(client.message_text(), "hello");
    client.close();
    assert_eq!(
        client.child().unwrap().wait().await.unwrap().code(),
        Some(0)
    );
    let stored = stage
        .0
        .join("state/guildhall-rehearsal/sessions")
        .join(format!("{session}.json"));
    assert!(stored.is_file());
}

#[tokio::test]
async fn a_crash_ends_it_with_status_1() {
    let stage = AgentCommandInFolder::new("crash");
    let (mut client, session) = stage.agent().await;
    client
        .send_request("session/prompt", AgentClient::prompt_of(&session, "#crash"))
        .await
        .unwrap();
    assert_eq!(
        client.child().unwrap().wait().await.unwrap().code(),
        Some(1)
    );
}

#[tokio::test]
async fn an_ended_input_in_a_turn_ends_it_too() {
    let stage = AgentCommandInFolder::new("busy");
    let (mut client, session) = stage.agent().await;
    client
        .send_request(
            "session/prompt",
            AgentClient::prompt_of(&session, "#say on\n#slow 600000"),
        )
        .await
        .unwrap();
    client.next().await.unwrap();
    client.close();
    assert!(
        client
            .child()
            .unwrap()
            .wait()
            .await
            .unwrap()
            .code()
            .is_some()
    );
}
