//! Connections to MCP servers as a test drives them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use guildhall_domain::ids::AgentId;
use guildhall_world::{
    enclosure::Enclosure,
    mcp::{
        ClientCallbacks, ConnectOptions, ConnectedServer, ConnectionEnd, ElicitationRequest,
        ElicitationResult, InitializeMode, McpClient, McpError, RawNotifications, RequestOptions,
        ServerTarget, connect,
    },
    process_guard::GuardCommand,
    process_tree::ProcessTrees,
};
use serde_json::{Map, Value};
use tokio::task::JoinHandle;

use crate::fake_agents::{PATIENCE, puppet, soon};

/// A connection beside the test.
pub(crate) struct DrivenMcpConnection {
    pub(crate) client: McpClient,
    pub(crate) notices: RawNotifications,
    running: JoinHandle<ConnectionEnd>,
}

impl DrivenMcpConnection {
    /// Connects to a server that nothing is known of.
    pub(crate) async fn with(
        target: &ServerTarget,
        hooks: ClientCallbacks,
    ) -> Result<Self, McpError> {
        Self::connected(target, hooks, None).await
    }

    #[expect(clippy::disallowed_methods, reason = "a test has no supervisor")]
    pub(crate) async fn connected(
        target: &ServerTarget,
        hooks: ClientCallbacks,
        lifecycle: Option<InitializeMode>,
    ) -> Result<Self, McpError> {
        let greeting = ConnectOptions {
            lifecycle,
            within: PATIENCE,
        };
        let ConnectedServer {
            client,
            notices,
            running,
        } = connect(target, hooks, greeting).await?;
        Ok(Self {
            client,
            notices,
            running: tokio::spawn(running),
        })
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<Value, McpError> {
        soon(
            self.client
                .call(name, map(arguments), RequestOptions::default()),
        )
        .await
    }

    /// The text of a tool's answer.
    pub(crate) async fn text(&self, name: &str, arguments: Value) -> String {
        let answer = self.call(name, arguments).await.unwrap();
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn ended(self) -> ConnectionEnd {
        soon(self.running).await.unwrap()
    }
}

pub(crate) fn map(arguments: Value) -> Map<String, Value> {
    match arguments {
        Value::Object(map) => map,
        other => panic!("no arguments: {other}"),
    }
}

/// A program below the puppet's keeper, with only `PATH` in its environment.
pub(crate) fn stdio(program: PathBuf, args: &[&str]) -> ServerTarget {
    stdio_in(program, args, None, ProcessTrees::default())
}

pub(crate) fn stdio_in(
    program: PathBuf,
    args: &[&str],
    agent: Option<AgentId>,
    trees: ProcessTrees,
) -> ServerTarget {
    ServerTarget::Stdio {
        program,
        name: None,
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
        cwd: std::env::temp_dir(),
        keeper: GuardCommand {
            program: puppet(),
            args: vec!["keeper".into()],
        },
        enclosure: Enclosure::disabled(),
        agent,
        trees,
    }
}

/// Hooks that answer each question by `answer`, with the temporary folder as root.
pub(crate) fn hooks(
    answer: impl Fn(ElicitationRequest) -> ElicitationResult + Send + Sync + 'static,
) -> ClientCallbacks {
    ClientCallbacks {
        root: Some("/tmp/the root".into()),
        elicit: Some(Arc::new(move |elicitation| {
            let answer = answer(elicitation);
            Box::pin(async move { answer })
        })),
    }
}

/// So long and no longer.
pub(crate) fn at_most(seconds: u64) -> ConnectOptions {
    ConnectOptions {
        lifecycle: None,
        within: Duration::from_secs(seconds),
    }
}
