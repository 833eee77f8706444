//! Connections to MCP servers as a test drives them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use guildhall_domain::ids::AgentId;
use guildhall_world::{
    enclosure::Enclosure,
    mcp::{
        Asking, Client, Connected, Elicitation, Elicited, Ended, Greeting, Hooks, Lifecycle,
        McpError, Notices, Target, connect,
    },
    process_guard::KeeperCommand,
    process_tree::ProcessTrees,
};
use serde_json::{Map, Value};
use tokio::task::JoinHandle;

use crate::fake_agents::{PATIENCE, puppet, soon};

/// A connection beside the test.
pub(crate) struct Talk {
    pub(crate) client: Client,
    pub(crate) notices: Notices,
    running: JoinHandle<Ended>,
}

impl Talk {
    /// Connects to a server that nothing is known of.
    pub(crate) async fn with(target: &Target, hooks: Hooks) -> Result<Self, McpError> {
        Self::greeted(target, hooks, None).await
    }

    #[expect(clippy::disallowed_methods, reason = "a test has no supervisor")]
    pub(crate) async fn greeted(
        target: &Target,
        hooks: Hooks,
        lifecycle: Option<Lifecycle>,
    ) -> Result<Self, McpError> {
        let greeting = Greeting {
            lifecycle,
            within: PATIENCE,
        };
        let Connected {
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
        soon(self.client.call(name, map(arguments), Asking::default())).await
    }

    /// The text of a tool's answer.
    pub(crate) async fn text(&self, name: &str, arguments: Value) -> String {
        let answer = self.call(name, arguments).await.unwrap();
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn ended(self) -> Ended {
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
pub(crate) fn stdio(program: PathBuf, args: &[&str]) -> Target {
    stdio_in(program, args, None, ProcessTrees::default())
}

pub(crate) fn stdio_in(
    program: PathBuf,
    args: &[&str],
    agent: Option<AgentId>,
    trees: ProcessTrees,
) -> Target {
    Target::Stdio {
        program,
        name: None,
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
        cwd: std::env::temp_dir(),
        keeper: KeeperCommand {
            program: puppet(),
            args: vec!["keeper".into()],
        },
        enclosure: Enclosure::off(),
        agent,
        trees,
    }
}

/// Hooks that answer each question by `answer`, with the temporary folder as root.
pub(crate) fn hooks(answer: impl Fn(Elicitation) -> Elicited + Send + Sync + 'static) -> Hooks {
    Hooks {
        root: Some("/tmp/the root".into()),
        elicit: Some(Arc::new(move |elicitation| {
            let answer = answer(elicitation);
            Box::pin(async move { answer })
        })),
    }
}

/// So long and no longer.
pub(crate) fn at_most(seconds: u64) -> Greeting {
    Greeting {
        lifecycle: None,
        within: Duration::from_secs(seconds),
    }
}
