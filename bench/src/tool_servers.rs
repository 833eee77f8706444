//! Tool servers: what the gateway adds to a call, and what it takes to hand an agent as many
//! servers as it may have.
//!
//! The tool server is this program itself, which answers what it is asked at once.

use std::{
    io::{BufRead, Write},
    net::SocketAddr,
    process::Stdio,
    time::{Duration, Instant},
};

use guildhall_domain::{
    agent_tokens::{AgentToken, TokenOrigin},
    ids::{AgentId, AgentTokenId, SessionId},
    limits,
};
use guildhall_store::{Store, agent_tokens};
use guildhall_world::{clock::Clock, ids, secret_tokens as secrets};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::{
    Result, Scale,
    http_client::{HttpClient, get, post, post_with},
    measure::{DurationSamples, MeasuringTime},
    result_table::{Measurement, ResultRow, Target},
    server::{ServerFolder, ServerProcess},
    turns::ServedSession,
};

/// What this program is called with to be a tool server.
pub(crate) const WORD: &str = "tool-server";
/// What the gateway may add to a call, in milliseconds.
const ADDED_MS: f64 = 1.5;
/// What handing over a full set may take, in milliseconds.
const HANDED_MS: f64 = 10.0;
/// Turns of each kind.
const TURNS: usize = 40;

/// Answers each line of the standard input until it ends.
pub(crate) fn serve() -> Result<()> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        if message["id"].is_null() {
            continue;
        }
        let tool = json!({"name": "echo", "inputSchema": {"type": "object"}});
        let (member, answer) = match message["method"].as_str() {
            Some("initialize") => (
                "result",
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "bench", "version": "1"}}),
            ),
            Some("tools/list") => ("result", json!({"tools": [tool]})),
            Some("tools/call") => {
                let text = &message["params"]["arguments"]["text"];
                let content = json!([{"type": "text", "text": text}]);
                ("result", json!({"content": content}))
            }
            _ => ("error", json!({"code": -32_601, "message": "unknown"})),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], member: answer});
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

/// The call that is made over and over.
fn call(id: u64) -> Value {
    let arguments = json!({"text": crate::seeded_store::TEXT});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "echo", "arguments": arguments}})
}

/// The rows of both, in a house of its own.
pub(crate) async fn measure(house: &ServerFolder, scale: &Scale) -> Result<Vec<ResultRow>> {
    let server = house.start()?;
    let caller = AgentSession::new(house, &server, "caller").await?;
    let token = caller.token_of_session(house).await?;
    let mut rows = calls(&server, &caller, &token, scale).await?;
    let full = AgentSession::new(house, &server, "full").await?;
    rows.extend(sets(&server, full).await?);
    server.stop()?;
    Ok(rows)
}

/// Calls through the gateway beside the same calls made directly.
async fn calls(
    server: &ServerProcess,
    caller: &AgentSession,
    token: &str,
    scale: &Scale,
) -> Result<Vec<ResultRow>> {
    let mut client = HttpClient::connect(server.address).await?;
    caller.add(&mut client, server.address, "echo").await?;
    let (mut direct, mut through) = (DurationSamples::default(), DurationSamples::default());
    let mut bare = DirectToolServer::start().await?;
    let span = scale.span.rounds(2);
    for _ in 0..2 {
        direct.add(bare.times(span).await?);
        let request = call_through(server.address, token);
        let answer = client.expect(&request, 200).await?;
        let answer: Value = serde_json::from_slice(answer)?;
        if answer["result"]["content"][0]["text"] != crate::seeded_store::TEXT {
            return Err(format!("the gateway answered {answer}").into());
        }
        through.add(crate::measure::times(&mut client, || request.clone(), 200, span).await?);
    }
    let row = |work: &str, percent: f64| ResultRow {
        work: work.to_owned(),
        measured: Measurement::Millis(through.percentile_ms(percent)),
        limit: Some((
            Measurement::Millis(direct.percentile_ms(percent)),
            "called directly",
        )),
        targets: Vec::new(),
    };
    let target = Target::AtMost(Measurement::Millis(direct.percentile_ms(50.0) + ADDED_MS));
    Ok(vec![
        ResultRow {
            targets: vec![target],
            ..row("tool call through the gateway, p50", 50.0)
        },
        row("the same, p99", 99.0),
    ])
}

/// The call as a request to the gateway, with the agent's token in its head.
fn call_through(server: SocketAddr, token: &str) -> Vec<u8> {
    let request = post(server, "/mcp/servers/echo", &call(1));
    let line = format!("\r\nX-Service-Agent: {token}\r\nContent-Type:");
    let request = String::from_utf8_lossy(&request);
    request.replacen("\r\nContent-Type:", &line, 1).into_bytes()
}

/// Turns before which the set changed, and those with the same set, beside those without any.
async fn sets(server: &ServerProcess, owner: AgentSession) -> Result<Vec<ResultRow>> {
    let mut client = HttpClient::connect(server.address).await?;
    let mut talk = ServedSession::connect(server.address, owner.session).await?;
    talk.turn("#clock").await?;
    let (mut none, mut same, mut other) =
        <(DurationSamples, DurationSamples, DurationSamples)>::default();
    for _ in 0..TURNS {
        none.push(talk.turn("#clock").await?.until_prompt());
    }
    for n in 0..limits::MCP_SERVERS_PER_AGENT_MAX {
        owner
            .add(&mut client, server.address, &format!("server-{n}"))
            .await?;
    }
    talk.turn("#clock").await?;
    for n in 0..TURNS {
        same.push(talk.turn("#clock").await?.until_prompt());
        let path = |verb: &str| format!("{}/server-0/{verb}", owner.servers());
        if n % 2 == 0 {
            let request = post(server.address, &path("disable"), &json!({}));
            client.expect(&request, 200).await?;
        } else {
            approved(&mut client, server.address, &path("enable"), &json!({})).await?;
        }
        other.push(talk.turn("#clock").await?.until_prompt());
    }
    let none = none.percentile_ms(50.0);
    let row = |work: String, times: &DurationSamples| ResultRow {
        work,
        measured: Measurement::Millis(times.percentile_ms(50.0)),
        limit: Some((Measurement::Millis(none), "no tool servers")),
        targets: vec![Target::AtMost(Measurement::Millis(none + HANDED_MS))],
    };
    let count = limits::MCP_SERVERS_PER_AGENT_MAX;
    let work = format!("prompt to the agent with a new set of {count} tool servers, p50");
    Ok(vec![
        row(work, &other),
        row("the same with the set it has".to_owned(), &same),
    ])
}

/// An agent with a session, as its owner knows it.
struct AgentSession {
    agent: AgentId,
    session: SessionId,
}

impl AgentSession {
    async fn new(house: &ServerFolder, server: &ServerProcess, name: &str) -> Result<Self> {
        let folder = house.home().join(name);
        std::fs::create_dir_all(&folder)?;
        let ask = json!({"cwd": folder, "runtime": "rehearsal"});
        let request = post(server.address, "/api/sessions", &ask);
        let mut client = HttpClient::connect(server.address).await?;
        let session: Value = serde_json::from_slice(client.expect(&request, 201).await?)?;
        let id = |member: &str| session[member].as_str().unwrap_or_default().to_owned();
        Ok(Self {
            agent: AgentId::parse(&id("agentId")).ok_or("a new session has no agent")?,
            session: SessionId::parse(&id("id")).ok_or("a new session has no id")?,
        })
    }

    fn servers(&self) -> String {
        format!("/api/agents/{}/mcp-servers", self.agent)
    }

    async fn add(&self, client: &mut HttpClient, server: SocketAddr, name: &str) -> Result<()> {
        let program = std::env::current_exe()?;
        let connection = json!({"transport": "stdio", "command": program, "args": [WORD]});
        let ask = json!({"name": name, "connection": connection});
        approved(client, server, &self.servers(), &ask).await
    }

    /// The token of the agent's session, as its own tool servers show it; written into the store
    /// of the running server, because a start takes back those that were there before.
    async fn token_of_session(&self, house: &ServerFolder) -> Result<String> {
        let secret = secrets::mint(secrets::AGENT_PREFIX)?;
        let digest = secret.digest();
        let token = AgentToken {
            id: AgentTokenId::from_bytes(ids::new().into_bytes()),
            agent_id: self.agent,
            label: "session".to_owned(),
            origin: TokenOrigin::Spawn,
            session_id: Some(self.session),
            created_at: Clock::System.now(),
            last_used_at: None,
            revoked_at: None,
        };
        let store = Store::open(&house.database())?;
        let written = store.write(move |tx| agent_tokens::insert(tx, &token, &digest));
        written.await.map_err(crate::broken)?;
        Ok(secret.reveal())
    }
}

/// Posts what needs a card, as the owner who says yes to it.
async fn approved(
    client: &mut HttpClient,
    server: SocketAddr,
    path: &str,
    body: &Value,
) -> Result<()> {
    let request = post_with(server, path, "Prefer: wait=0\r\n", body);
    let required: Value = serde_json::from_slice(client.expect(&request, 202).await?)?;
    let text = |member: &str| required[member].as_str().unwrap_or_default();
    let card = format!("/api/approvals/{}", text("approvalId"));
    let shown: Value = serde_json::from_slice(client.expect(&get(server, &card), 200).await?)?;
    let yes = post(
        server,
        &format!("{card}/grant"),
        &json!({"digest": shown["digest"]}),
    );
    client.expect(&yes, 200).await?;
    let token = format!("X-Service-Approval: {}\r\n", text("approvalToken"));
    let request = post_with(server, path, &token, body);
    client.expect(&request, 200).await.map(drop)
}

/// The tool server without anything between.
struct DirectToolServer {
    /// Killed when dropped.
    _process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl DirectToolServer {
    async fn start() -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg(WORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let input = process.stdin.take().ok_or("a tool server has no input")?;
        let output = process.stdout.take().ok_or("a tool server has no output")?;
        let mut direct = Self {
            _process: process,
            input,
            output: BufReader::new(output).lines(),
        };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}});
        direct.ask(&hello).await?;
        Ok(direct)
    }

    /// How long each call takes, written and understood as a client does it.
    async fn times(&mut self, span: MeasuringTime) -> Result<DurationSamples> {
        let counted_from = Instant::now() + span.warm_up;
        let end = counted_from + span.measured;
        let mut times = DurationSamples::default();
        for id in 1.. {
            let call = call(id);
            let began = Instant::now();
            self.ask(&call).await?;
            if began >= end {
                break;
            }
            if began >= counted_from {
                times.push(began.elapsed());
            }
        }
        Ok(times)
    }

    async fn ask(&mut self, message: &Value) -> Result<()> {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await?;
        self.input.flush().await?;
        let answer = tokio::time::timeout(Duration::from_secs(10), self.output.next_line());
        let answer = answer.await??.ok_or("the tool server ended")?;
        let answer: Value = serde_json::from_str(&answer)?;
        if answer["id"] == message["id"] && answer["error"].is_null() {
            return Ok(());
        }
        Err(format!("the tool server answered {answer}").into())
    }
}
