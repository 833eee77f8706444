//! The puppet as a test meets it: started below a keeper, and driven beside the test.

use std::{future::Future, path::PathBuf, time::Duration};

use guildhall_world::{
    acp::{
        AgentCallError, AgentCapabilities, AgentConnection, AgentExit, AgentLaunch, AgentMessage,
        AgentUpdate, OpenMode, OpenSessionRequest, OpenedSession, PromptPart, PromptResult, launch,
    },
    enclosure::Enclosure,
    process_guard::GuardCommand,
    process_tree::ProcessTrees,
};
use tokio::{sync::mpsc, task::JoinHandle};

/// How long any one thing may take before the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn puppet() -> PathBuf {
    env!("CARGO_BIN_EXE_guildhall-fake-agent").into()
}

/// What starts `program` below the puppet's keeper, with only `PATH` in its environment.
pub(crate) fn launch_of(program: PathBuf, args: &[&str]) -> AgentLaunch {
    AgentLaunch {
        program,
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        cwd: std::env::temp_dir(),
        env: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
        keeper: GuardCommand {
            program: puppet(),
            args: vec!["keeper".into()],
        },
        enclosure: Enclosure::disabled(),
        agent: None,
        trees: ProcessTrees::default(),
    }
}

/// A running puppet.
pub(crate) struct FakeAgentProcess {
    pub(crate) link: AgentConnection,
    pub(crate) heard: mpsc::Receiver<AgentMessage>,
    running: JoinHandle<AgentExit>,
}

impl FakeAgentProcess {
    #[expect(clippy::disallowed_methods, reason = "a test has no supervisor")]
    pub(crate) async fn start(launch_: AgentLaunch) -> Self {
        let (link, heard, running) = launch(launch_).await.unwrap();
        Self {
            link,
            heard,
            running: tokio::spawn(running),
        }
    }

    pub(crate) async fn agent() -> Self {
        Self::start(launch_of(puppet(), &["agent"])).await
    }

    /// An agent with one open session, called `one`.
    pub(crate) async fn open() -> Self {
        let puppet = Self::agent().await;
        puppet.greet().await;
        puppet.new_session().await;
        puppet
    }

    pub(crate) async fn greet(&self) -> AgentCapabilities {
        soon(self.link.initialize()).await.unwrap()
    }

    pub(crate) async fn new_session(&self) -> OpenedSession {
        self.open_session(OpenMode::New).await.unwrap()
    }

    pub(crate) async fn open_session(
        &self,
        how: OpenMode,
    ) -> Result<OpenedSession, AgentCallError> {
        let ask = OpenSessionRequest {
            cwd: std::env::temp_dir(),
            how,
            mcp_servers: Vec::new(),
        };
        soon(self.link.open(ask)).await
    }

    pub(crate) async fn prompt(&self, text: &str) -> Result<PromptResult, AgentCallError> {
        let pieces = vec![
            PromptPart::Context("frame".to_owned()),
            PromptPart::Text(text.to_owned()),
        ];
        soon(self.link.prompt("one", pieces)).await
    }

    /// What it says next; an `Ask` is the test's own to wait for.
    pub(crate) async fn receive(&mut self) -> AgentMessage {
        soon(self.heard.recv())
            .await
            .expect("the agent says something")
    }

    /// The next text, past everything else.
    pub(crate) async fn receive_text(&mut self) -> String {
        loop {
            if let AgentMessage::Update {
                update: AgentUpdate::Text(text),
                ..
            } = self.receive().await
            {
                return text;
            }
        }
    }

    pub(crate) async fn ended(self) -> AgentExit {
        soon(self.running).await.unwrap()
    }
}

/// Waits, but not for ever.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("it takes too long")
}

/// Whether a process lives, a zombie not counted.
pub(crate) fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}
