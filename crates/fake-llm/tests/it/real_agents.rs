//! Each real agent against the model server, without guildhall between them: what the rest of the
//! suite builds on.

use std::{
    io,
    path::{Path, PathBuf},
};

use guildhall_fake_llm::{
    FakeLlm,
    agent_client::{AgentClient, PermissionReply},
    real_agents::{self, RealAgent},
};
use serde_json::{Value, json};

/// A throw-away HOME and folder, and an agent in them.
struct RealAgentHome {
    base: PathBuf,
    server: FakeLlm,
    agent: RealAgent,
}

impl RealAgentHome {
    fn of(agent: RealAgent, test: &str) -> Self {
        let name = format!(
            "guildhall-real-{}-{test}-{}",
            agent.name,
            std::process::id()
        );
        let base = std::env::temp_dir().join(name);
        std::fs::create_dir_all(base.join("home")).unwrap();
        std::fs::create_dir_all(base.join("project")).unwrap();
        let base = std::fs::canonicalize(base).unwrap();
        Self {
            base,
            server: FakeLlm::start().unwrap(),
            agent,
        }
    }

    fn cwd(&self) -> PathBuf {
        self.base.join("project")
    }

    fn has(&self, name: &str) -> bool {
        self.cwd().join(name).exists()
    }

    /// A client that has greeted the agent, and what the agent said of itself.
    async fn start(&self) -> (AgentClient, Value) {
        let home = self.base.join("home");
        let command = self
            .agent
            .command(&home, &self.cwd(), &self.server.address())
            .unwrap();
        let mut client = AgentClient::start(command).unwrap();
        let about = client.initialize().await.unwrap();
        (client, about)
    }

    /// A session in the mode that asks.
    async fn session(&self, client: &mut AgentClient) -> String {
        let new = client
            .call("session/new", place(&self.cwd(), None))
            .await
            .unwrap();
        let session = new["sessionId"].as_str().unwrap().to_owned();
        self.ask_first(client, &session).await;
        session
    }

    async fn ask_first(&self, client: &mut AgentClient, session: &str) {
        let mode = json!({"sessionId": session, "modeId": self.agent.asking_mode()});
        client.call("session/set_mode", mode).await.unwrap();
    }
}

impl Drop for RealAgentHome {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.base);
    }
}

fn place(cwd: &Path, session: Option<&str>) -> Value {
    let mut place = json!({"cwd": cwd, "mcpServers": []});
    if let Some(session) = session {
        place["sessionId"] = json!(session);
    }
    place
}

/// Plays `story` with every agent that is installed, one after the other: each takes up to
/// 640 MB of memory.
async fn with_each(test: &str, story: impl AsyncFn(&RealAgentHome) -> io::Result<()>) {
    for agent in real_agents::installed().unwrap() {
        let stage = RealAgentHome::of(agent, test);
        if let Err(error) = story(&stage).await {
            panic!(
                "{}: {error}; it asked {:#?}",
                stage.agent.name,
                stage.server.requests()
            );
        }
        let foreign: Vec<_> = stage
            .server
            .requests()
            .into_iter()
            .filter(|request| !request.key_known)
            .collect();
        assert!(foreign.is_empty(), "{}: {foreign:?}", stage.agent.name);
    }
}

#[tokio::test]
async fn each_agent_is_the_pinned_version_and_goes_on_after_its_process() {
    with_each("about", async |stage| {
        let (mut client, about) = stage.start().await;
        assert_eq!(about["agentInfo"]["version"], stage.agent.version.as_str());
        assert_eq!(about["agentCapabilities"]["loadSession"], true);
        assert!(about["agentCapabilities"]["sessionCapabilities"]["resume"].is_object());
        let session = stage.session(&mut client).await;
        client.prompt(&session, "#say first").await?;
        // Claude Code writes its transcript a little after the turn's end, so it ends in order.
        client.close();
        client
            .child()
            .ok_or_else(|| io::Error::other("no process"))?
            .wait()
            .await?;
        drop(client);
        let (mut client, _) = stage.start().await;
        client
            .call("session/resume", place(&stage.cwd(), Some(&session)))
            .await?;
        stage.ask_first(&mut client, &session).await;
        client.seen.clear();
        client.prompt(&session, "#say second").await?;
        assert!(
            client.message_text().contains("second"),
            "{}",
            client.message_text()
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_approved_call_happens_and_a_rejected_one_does_not() {
    with_each("ask", async |stage| {
        let (mut client, _) = stage.start().await;
        let session = stage.session(&mut client).await;
        client.decide = PermissionReply::Kind("allow_once");
        let end = client
            .prompt(&session, &stage.agent.shell("touch yes.txt"))
            .await?;
        assert_eq!(end["stopReason"], "end_turn");
        assert!(stage.has("yes.txt"));
        assert!(
            client.message_text().contains("All done."),
            "{}",
            client.message_text()
        );
        client.seen.clear();
        client.decide = PermissionReply::Kind("reject_once");
        client
            .prompt(&session, &stage.agent.shell("touch no.txt"))
            .await?;
        assert!(!stage.has("no.txt"));
        let asks = client
            .seen
            .iter()
            .filter(|message| message["method"] == "session/request_permission");
        assert_eq!(asks.count(), 1);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_cancel_with_an_open_question_runs_nothing() {
    with_each("cancel", async |stage| {
        let (mut client, _) = stage.start().await;
        let session = stage.session(&mut client).await;
        let prompt = AgentClient::prompt_of(&session, &stage.agent.shell("touch no.txt"));
        let id = client.send_request("session/prompt", prompt).await?;
        let ask = client.asked("session/request_permission").await?;
        client
            .notify("session/cancel", json!({"sessionId": session}))
            .await?;
        client.choose(&ask, PermissionReply::Cancelled).await?;
        let end = client
            .ended(id)
            .await?
            .map_err(|error| io::Error::other(error.to_string()))?;
        assert_eq!(end["stopReason"], "cancelled");
        assert!(!stage.has("no.txt"));
        client.seen.clear();
        client.prompt(&session, "#say again").await?;
        assert!(
            client.message_text().ends_with("again"),
            "{}",
            client.message_text()
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn always_covers_the_equal_call_and_not_another() {
    with_each("always", async |stage| {
        let (mut client, _) = stage.start().await;
        let session = stage.session(&mut client).await;
        // A call that makes no file, since Claude Code takes an `always` there for its whole
        // folder; and another program afterwards, since opencode takes it for all of a program.
        let first = stage.agent.shell("node -e 'console.log(1)'");
        client.decide = PermissionReply::Kind("allow_always");
        client.prompt(&session, &first).await?;
        client.decide = PermissionReply::Kind("reject_once");
        for (call, asks) in [
            (first.as_str(), 0),
            (&stage.agent.shell("find . -name none -delete"), 1),
        ] {
            client.seen.clear();
            client.prompt(&session, call).await?;
            let asked = client
                .seen
                .iter()
                .filter(|message| message["method"] == "session/request_permission");
            assert_eq!(asked.count(), asks, "{} {call}", stage.agent.name);
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn the_agent_s_shell_sees_only_what_it_was_given() {
    with_each("env", async |stage| {
        let (mut client, _) = stage.start().await;
        let session = stage.session(&mut client).await;
        client.decide = PermissionReply::Kind("allow_once");
        client
            .prompt(&session, &stage.agent.shell("env > env.txt"))
            .await?;
        let env = std::fs::read_to_string(stage.cwd().join("env.txt"))?;
        let leaked: Vec<_> = env
            .lines()
            .filter(|line| line.starts_with("CARGO_") || line.starts_with("NEXTEST"))
            .collect();
        assert!(leaked.is_empty(), "{leaked:?}");
        Ok(())
    })
    .await;
}
