//! The reference server, over each of its transports: the same list of promises for all.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use guildhall_domain::mcp_tools;
use guildhall_world::{
    http_client::{HttpClient, ListenerPorts},
    mcp::{
        ClientCallbacks, ElicitationResult, InitializeMode, McpError, RequestOptions,
        RequestTimeouts, ServerAddress, ServerTarget, SharedBearerToken, check,
    },
};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    fake_agents::{PATIENCE, lives, soon},
    mcp_connections::{DrivenMcpConnection, at_most, hooks, map, stdio},
};

/// Where `cargo xtask counterparts install` put it.
fn program() -> PathBuf {
    let below = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../counterparts/everything");
    let program = below.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    assert!(
        program.is_file(),
        "it is not installed: `cargo xtask counterparts install`"
    );
    program
}

fn node() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path)
        .map(|folder| folder.join("node"))
        .find(|file| file.is_file())
        .expect("Node.js is installed")
}

/// The server, and what ends it with the test.
pub(crate) struct ReferenceServer {
    pub(crate) target: ServerTarget,
    process: Option<Child>,
}

impl Drop for ReferenceServer {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended by itself.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn over_stdio() -> ReferenceServer {
    let program = program();
    ReferenceServer {
        target: stdio(node(), &[program.to_str().unwrap(), "stdio"]),
        process: None,
    }
}

/// Makes a server tell at which port it listens.
const TOLD_PORT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/tools/told-port.mjs"
);

/// Starts it at a port that the system chooses and waits until it listens.
fn at_port(word: &str) -> (Child, u16) {
    use std::io::{BufRead, BufReader};
    let mut process = Command::new(node())
        .args(["--import", TOLD_PORT])
        .arg(program())
        .arg(word)
        .env("PORT", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut words = BufReader::new(process.stderr.take().unwrap()).lines();
    let port = words.find_map(|line| line.unwrap().strip_prefix("listens at ")?.parse().ok());
    // It waits for whoever reads what it says.
    std::thread::spawn(move || words.for_each(drop));
    (process, port.expect("it listens"))
}

fn address(port: u16, path: &str) -> ServerAddress {
    ServerAddress {
        url: format!("http://127.0.0.1:{port}{path}"),
        headers: Vec::new(),
        bearer: SharedBearerToken::default(),
        outgoing: HttpClient::open(ListenerPorts::default()).unwrap(),
    }
}

pub(crate) fn over_http() -> ReferenceServer {
    let (process, port) = at_port("streamableHttp");
    ReferenceServer {
        target: ServerTarget::Http(address(port, "/mcp")),
        process: Some(process),
    }
}

pub(crate) fn over_sse() -> ReferenceServer {
    let (process, port) = at_port("sse");
    ReferenceServer {
        target: ServerTarget::Sse(address(port, "/sse")),
        process: Some(process),
    }
}

/// Everything a server does for us, whatever it is reached over.
async fn keeps_its_promises(server: &ReferenceServer) {
    let hooks = hooks(|asked| {
        assert_eq!(asked.params["requestedSchema"]["type"], "object");
        ElicitationResult::Accept(json!({"name": "Ada", "check": true}))
    });
    let talk = DrivenMcpConnection::with(&server.target, hooks)
        .await
        .unwrap();
    let said = talk.client.server();
    assert_eq!(
        (said.name.as_str(), said.lifecycle, said.revision.as_str()),
        (
            "mcp-servers/everything",
            InitializeMode::Handshake,
            "2025-11-25"
        )
    );
    assert_eq!(said.capabilities["tools"]["listChanged"], true);

    // Some of its tools only come once it knows us.
    let is_whole = |tools: &[mcp_tools::ToolDefinition]| {
        tools
            .iter()
            .any(|tool| tool.name == "trigger-elicitation-request")
    };
    let mut tools = talk.client.tools(PATIENCE).await.unwrap();
    while !is_whole(&tools) {
        soon(talk.notices.next()).await.unwrap();
        tools = talk.client.tools(PATIENCE).await.unwrap();
    }
    let echo = tools.iter().find(|tool| tool.name == "echo").unwrap();
    assert!(echo.is_read_only() && !echo.is_destructive());
    assert_eq!(echo.input_schema["properties"]["message"]["type"], "string");
    assert_eq!(mcp_tools::digest(&tools).unwrap().len(), 64);

    assert_eq!(
        talk.text("echo", json!({"message": "hi"})).await,
        "Echo: hi"
    );
    let sum = talk.text("get-sum", json!({"a": 2, "b": 3})).await;
    assert!(sum.contains('5'), "{sum}");
    let weather = json!({"location": "New York"});
    let weather = talk.call("get-structured-content", weather).await.unwrap();
    assert!(weather["structuredContent"].is_object(), "{weather}");

    // Wrong arguments are a result, what is no tool is one too or an error.
    let wrong = talk.call("get-sum", json!({"a": "x"})).await.unwrap();
    assert_eq!(wrong["isError"], true, "{wrong}");

    let roots = talk.text("get-roots-list", json!({})).await;
    assert!(roots.contains("file:///tmp/the%20root"), "{roots}");
    let asked = talk.call("trigger-elicitation-request", json!({})).await;
    assert!(asked.unwrap().to_string().contains("Ada"));
    assert!(
        !tools
            .iter()
            .any(|tool| tool.name == "trigger-sampling-request"),
        "nobody offered to sample"
    );

    reports_progress(&talk).await;
    takes_questions_back(&talk).await;
    passes_on_what_it_does_not_know(&talk).await;
    talk.client.stop();
    let ended = talk.ended().await;
    assert!(ended.is_asked);
}

async fn reports_progress(talk: &DrivenMcpConnection) {
    let (tell, mut told) = mpsc::channel(16);
    let asking = RequestOptions {
        progress: Some(tell),
        // Longer than a step, shorter than all of them.
        waits: RequestTimeouts {
            idle: Duration::from_millis(800),
            total: PATIENCE,
        },
        ..RequestOptions::default()
    };
    let arguments = map(json!({"duration": 1.5, "steps": 3}));
    let name = "trigger-long-running-operation";
    let answer = soon(talk.client.call(name, arguments, asking)).await;
    assert!(answer.unwrap().to_string().contains("completed"));
    for step in 1..=3 {
        let progress = told.recv().await.unwrap();
        assert_eq!(progress.progress, step.into());
        assert_eq!(progress.total, Some(3.into()));
    }
    assert!(told.recv().await.is_none());
}

async fn takes_questions_back(talk: &DrivenMcpConnection) {
    let asking = RequestOptions {
        waits: RequestTimeouts::at_most(Duration::from_millis(100)),
        ..RequestOptions::default()
    };
    let arguments = map(json!({"duration": 60, "steps": 1}));
    let name = "trigger-long-running-operation";
    let late = soon(talk.client.call(name, arguments.clone(), asking)).await;
    assert_eq!(late, Err(McpError::Timeout));
    let call = talk.client.call(name, arguments, RequestOptions::default());
    let dropped = tokio::time::timeout(Duration::from_millis(50), call).await;
    assert!(dropped.is_err());
    // And nothing of it holds up the next.
    assert_eq!(
        talk.text("echo", json!({"message": "on"})).await,
        "Echo: on"
    );
}

async fn passes_on_what_it_does_not_know(talk: &DrivenMcpConnection) {
    let ask = |method: &'static str, params| {
        soon(
            talk.client
                .forward(method, params, RequestOptions::default()),
        )
    };
    let prompts = ask("prompts/list", None).await.unwrap();
    assert!(!prompts["prompts"].as_array().unwrap().is_empty());
    let name = prompts["prompts"][0]["name"].clone();
    let prompt = ask("prompts/get", Some(json!({"name": name}))).await;
    assert!(prompt.unwrap()["messages"].is_array());
    let resources = ask("resources/list", None).await.unwrap();
    let uri = resources["resources"][0]["uri"].clone();
    let resource = ask("resources/read", Some(json!({"uri": uri}))).await;
    assert_eq!(resource.unwrap()["contents"][0]["uri"], uri);
    let refused = ask("no/such", Some(json!({}))).await.unwrap_err();
    assert!(matches!(refused, McpError::Refused { code: -32601, .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_over_stdio() {
    keeps_its_promises(&over_stdio()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_over_streamable_http() {
    keeps_its_promises(&over_http()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_over_two_endpoints() {
    keeps_its_promises(&over_sse()).await;
}

#[tokio::test]
async fn a_check_lists_the_tools_over_each_transport() {
    for server in [over_stdio(), over_http(), over_sse()] {
        let checked = check(&server.target, ClientCallbacks::default(), at_most(20)).await;
        let tools = checked.tools.unwrap();
        assert!(tools.iter().any(|tool| tool.name == "echo"));
        assert_eq!(checked.server.unwrap().name, "mcp-servers/everything");
        assert!(checked.duration < Duration::from_secs(20));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_ends_what_was_asked_of_it() {
    let server = over_stdio();
    let talk = DrivenMcpConnection::with(&server.target, ClientCallbacks::default())
        .await
        .unwrap();
    let keeper = talk.client.guard_pid().unwrap();
    let arguments = map(json!({"duration": 60, "steps": 1}));
    let name = "trigger-long-running-operation";
    let call = talk.client.call(name, arguments, RequestOptions::default());
    let kill = async {
        // Behind the call, because it is asked later.
        talk.text("echo", json!({"message": "there"})).await;
        let children = format!("/proc/{keeper}/task/{keeper}/children");
        let child = std::fs::read_to_string(children).unwrap();
        let child: i32 = child.trim().parse().unwrap();
        let child = rustix::process::Pid::from_raw(child).unwrap();
        rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
    };
    let (answer, ()) = tokio::join!(call, kill);
    assert!(
        matches!(
            &answer,
            Err(McpError::Ended {
                code: Some(137),
                ..
            })
        ),
        "{answer:?}"
    );
    assert_eq!(talk.ended().await.code, Some(137));
    assert!(!lives(keeper));
}

#[tokio::test]
async fn a_server_that_is_gone_from_its_address_cannot_be_reached() {
    let mut server = over_http();
    let mut process = server.process.take().unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    let checked = check(&server.target, ClientCallbacks::default(), at_most(10)).await;
    assert!(
        matches!(checked.tools, Err(McpError::Unreachable(_))),
        "{checked:?}"
    );
}
