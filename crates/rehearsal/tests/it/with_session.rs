//! A scripted agent with a folder of its own, and a client beside it.

use std::{
    future::Future,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use guildhall_fake_llm::agent_client::{AgentClient, PermissionReply};
use guildhall_rehearsal::ConnectionEnd;
use serde_json::{Value, json};

/// How much either end may write before the other reads, in bytes.
const PIPE: usize = 64 * 1024;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder that is removed with its value.
pub(crate) struct TempFolder(PathBuf);

impl TempFolder {
    pub(crate) fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("guildhall-rehearsal-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(path.join("project")).unwrap();
        Self(std::fs::canonicalize(path).unwrap())
    }

    pub(crate) fn cwd(&self) -> PathBuf {
        self.0.join("project")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.cwd().join(name)).ok()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.cwd().join(name), text).unwrap();
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs `play` against an agent that keeps its sessions in `folder`; answers how the agent ended.
pub(crate) async fn with_agent<T>(
    folder: &TempFolder,
    play: impl AsyncFnOnce(&mut AgentClient) -> T,
) -> (T, ConnectionEnd) {
    let (mine, its) = tokio::io::duplex(PIPE);
    let (read, write) = tokio::io::split(its);
    let agent = guildhall_rehearsal::run(read, write, Some(folder.state()));
    let (read, write) = tokio::io::split(mine);
    let client = async move {
        let mut client = AgentClient::over(read, write);
        client.initialize().await.unwrap();
        play(&mut client).await
    };
    both(client, agent).await
}

/// The client's value and the agent's end; the client's pipes close with its future.
async fn both<T>(
    client: impl Future<Output = T>,
    agent: impl Future<Output = ConnectionEnd>,
) -> (T, ConnectionEnd) {
    tokio::join!(client, agent)
}

/// A session in a fresh folder with an agent that is gone afterwards.
pub(crate) async fn with_session(
    mode: &str,
    play: impl AsyncFnOnce(&mut AgentClient, &str, &TempFolder),
) {
    let folder = TempFolder::new();
    let ((), ending) = with_agent(&folder, async |client| {
        let session = opened(client, &folder.cwd(), mode).await;
        play(client, &session, &folder).await;
    })
    .await;
    assert_eq!(ending, ConnectionEnd::Closed);
}

/// Opens a session in a mode; answers its id.
pub(crate) async fn opened(client: &mut AgentClient, cwd: &Path, mode: &str) -> String {
    let new = client
        .call("session/new", json!({"cwd": cwd, "mcpServers": []}))
        .await
        .unwrap();
    let session = new["sessionId"].as_str().unwrap().to_owned();
    set_mode(client, &session, mode).await;
    session
}

pub(crate) async fn set_mode(client: &mut AgentClient, session: &str, mode: &str) {
    let ask = json!({"sessionId": session, "modeId": mode});
    client.call("session/set_mode", ask).await.unwrap();
}

/// The words of a `#call`.
pub(crate) fn call(tool: &str, arguments: &Value) -> String {
    format!("#call {tool} {arguments}")
}

/// The words of a call that makes an empty file by a program.
pub(crate) fn touch(name: &str) -> String {
    call("run_command", &json!({"command": ["touch", name]}))
}

/// The last status that was told of each call, in order of their ids.
pub(crate) fn statuses(client: &AgentClient) -> Vec<(String, String)> {
    let mut known: Vec<(String, String)> = Vec::new();
    for kind in ["tool_call", "tool_call_update"] {
        for update in client.updates(kind) {
            let id = update["toolCallId"].as_str().unwrap_or_default().to_owned();
            let status = update["status"].as_str().unwrap_or("pending").to_owned();
            match known.iter_mut().find(|(other, _)| *other == id) {
                Some(entry) => entry.1 = status,
                None => known.push((id, status)),
            }
        }
    }
    known
}

/// The questions for permission that the client met, in order.
pub(crate) fn asks(client: &AgentClient) -> Vec<&Value> {
    let asked = client.seen.iter();
    asked
        .filter(|message| message["method"] == "session/request_permission")
        .collect()
}

/// Answers every question by an option of this kind.
pub(crate) const ALLOW: PermissionReply = PermissionReply::Kind("allow_once");
/// Answers every question by an option of this kind.
pub(crate) const ALWAYS: PermissionReply = PermissionReply::Kind("allow_always");
/// Answers every question by an option of this kind.
pub(crate) const REJECT: PermissionReply = PermissionReply::Kind("reject_once");
