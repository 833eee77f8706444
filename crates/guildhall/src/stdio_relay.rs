//! The bridge: a tool server over standard input and output that hands every message on to the
//! server that runs, and its answer back. Agents start it, one for each tool server of a session;
//! it knows no tool and keeps nothing.
//! Source: contract 4.4, 4.9.

mod bounded_lines;
mod json_rpc;
mod relay_client;

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    env,
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use guildhall_hall::launch_config::OWN_TOOL_SERVER;
use guildhall_world::{ids, process_environment};
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use serde_json::Value;
use tokio::{
    io::{AsyncBufRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{mpsc, oneshot},
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};

use self::{
    bounded_lines::{LineRead, LineReader},
    json_rpc::JsonRpcMessage,
    relay_client::{RelayClient, RelayConnection, RelayResponse, ResendPolicy},
};
use crate::cli::sse_frames::SseParser;

/// How often is looked whether the tools are others.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How long answers are waited for when nothing more is asked.
const FAREWELL_MAX: Duration = Duration::from_secs(5);
/// Messages that are handed on at a time; more wait in the pipe.
const MESSAGES_MAX: usize = 64;
/// Answers that wait for the client to read.
const OUTBOX: usize = 16;
/// Where the house's own tools are, and the others.
const OWN: &str = "/mcp";
const OTHERS: &str = "/mcp/servers/";

/// Serves as the tool server `name` until the input ends: 0; 2 when the environment does not say
/// where the server is and who asks, 1 when input or output fail.
pub(crate) fn run(name: &str) -> ExitCode {
    let named = |variable: &str| env::var(variable).ok().filter(|text| !text.is_empty());
    let (born, births) = mpsc::unbounded_channel();
    let wire = named(process_environment::URL)
        .zip(named(process_environment::AGENT_TOKEN))
        .and_then(|(url, token)| RelayClient::new(&url, target(name), &token, born));
    let Some(wire) = wire else {
        // The agent's log is all there is to tell it to.
        let _ = writeln!(
            io::stderr(),
            "guildhall bridge: {} must be the server's address and {} an agent's token",
            process_environment::URL,
            process_environment::AGENT_TOKEN
        );
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return ExitCode::FAILURE;
    };
    let input = BufReader::new(tokio::io::stdin());
    let is_own = name == OWN_TOOL_SERVER;
    let served = runtime.block_on(serve((wire, is_own), births, input, tokio::io::stdout()));
    // A thread that still reads the standard input must not hold the process.
    runtime.shutdown_background();
    served.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

/// Where the tool server `name` is answered; the name is a single segment of the path.
fn target(name: &str) -> String {
    if name == OWN_TOOL_SERVER {
        return OWN.to_owned();
    }
    let mut target = OTHERS.to_owned();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                target.push(char::from(byte));
            }
            _ => target.push_str(&format!("%{byte:02X}")),
        }
    }
    target
}

async fn serve(
    (wire, is_own): (RelayClient, bool),
    births: mpsc::UnboundedReceiver<RelayConnection>,
    input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let (out, outbox) = mpsc::channel(OUTBOX);
    let bridge = StdioRelay {
        wire,
        is_own,
        out,
        version: RefCell::default(),
        tools: Cell::default(),
        is_looking: Cell::default(),
        waiting: RefCell::default(),
    };
    // Both end with the input: the second with the last who could write.
    tokio::try_join!(bridge.serve(input, births), write(outbox, output)).map(|_| ())
}

/// Writes messages, one a line.
async fn write(
    mut outbox: mpsc::Receiver<Value>,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    while let Some(message) = outbox.recv().await {
        let line = format!("{message}\n");
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}

/// One tool server of one session, for as long as its client is there.
struct StdioRelay {
    wire: RelayClient,
    /// Whether it is the house's own tool server.
    is_own: bool,
    out: mpsc::Sender<Value>,
    /// The revision that client and server agreed on.
    version: RefCell<Option<String>>,
    /// What tells the tools that the client knows from others.
    tools: Cell<Option<u64>>,
    is_looking: Cell<bool>,
    /// Requests that wait for their answer, by id; dropped, one is taken back.
    waiting: RefCell<HashMap<String, oneshot::Sender<()>>>,
}

impl StdioRelay {
    /// Hands on what `input` brings, several messages at a time.
    async fn serve(
        self,
        input: impl AsyncBufRead + Unpin,
        mut births: mpsc::UnboundedReceiver<RelayConnection>,
    ) -> io::Result<()> {
        let mut lines = LineReader::of(input);
        let mut running = FuturesUnordered::new();
        let mut connections = FuturesUnordered::new();
        let mut look = interval_at(Instant::now() + LOOK_EVERY, LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut farewell = None;
        // Every branch only waits: lines keep what they read, the rest is kept outside.
        while farewell.is_none() || !running.is_empty() {
            let is_reading = farewell.is_none() && running.len() < MESSAGES_MAX;
            let until = farewell.unwrap_or_else(|| Instant::now() + LOOK_EVERY);
            tokio::select! {
                line = lines.next(), if is_reading => match line? {
                    Some(line) => running.push(futures_util::future::Either::Left(self.relay(line))),
                    None => farewell = Some(Instant::now() + FAREWELL_MAX),
                },
                Some(()) = running.next() => {}
                Some(connection) = births.recv() => connections.push(connection),
                Some(()) = connections.next() => {}
                _ = look.tick(), if farewell.is_none() && self.tools.get().is_some() => {
                    running.push(futures_util::future::Either::Right(self.look()));
                }
                _ = timeout(until - Instant::now(), std::future::pending::<()>()), if farewell.is_some() => {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Hands one line on and its answer back.
    async fn relay(&self, line: LineRead) {
        let LineRead::Whole(line) = line else {
            return self.say(json_rpc::too_long()).await;
        };
        let Some(message) = JsonRpcMessage::read(&line) else {
            return self.say(json_rpc::parse_error()).await;
        };
        if let Some(id) = message.cancelled_request() {
            self.waiting.borrow_mut().remove(&id.to_string());
            return;
        }
        let Some(id) = message.id() else {
            // Nobody waits for what comes of what is only told.
            let _ = self.post(&message, Bytes::from(line)).await;
            return;
        };
        let (kept, taken_back) = oneshot::channel();
        self.waiting.borrow_mut().insert(id.to_string(), kept);
        let answering = async {
            match self.post(&message, Bytes::from(line)).await {
                Ok(RelayResponse::Whole(status, body)) => {
                    let answer = json_rpc::answered(id, status, &body);
                    self.hand_back(&message, answer).await;
                }
                Ok(RelayResponse::Stream(body)) => self.stream(&message, id, body).await,
                Err(_) => self.say(json_rpc::no_answer_error(id)).await,
            }
        };
        tokio::select! {
            biased;
            // Ended with the request, the server hears that its answer is wanted no longer.
            _ = taken_back => return,
            () = answering => {}
        }
        self.waiting.borrow_mut().remove(&id.to_string());
    }

    async fn post(&self, message: &JsonRpcMessage, body: Bytes) -> io::Result<RelayResponse> {
        let version = self.version.borrow().clone();
        let headers = message.headers(version.as_deref(), &ids::new().to_string());
        let again = match message.method() {
            "initialize" => ResendPolicy::Shortly,
            // A tool of another server knows nothing of keys.
            "tools/call" if !self.is_own || message.is_browser_action() => ResendPolicy::Unsent,
            _ => ResendPolicy::Always,
        };
        self.wire.post(&body, &headers, again).await
    }

    /// Hands on the messages of a stream, the last of which is the answer.
    async fn stream(&self, message: &JsonRpcMessage, id: &Value, mut body: Incoming) {
        let mut frames = SseParser::default();
        let mut is_answered = false;
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(bytes) = frame.into_data() else {
                continue;
            };
            let Ok(frames) = frames.take(&bytes) else {
                break;
            };
            let data = frames.into_iter().filter_map(|frame| frame.data);
            for part in data.filter_map(|data| serde_json::from_str::<Value>(&data).ok()) {
                if part["id"] == *id && part["method"].is_null() {
                    is_answered = true;
                    self.hand_back(message, part).await;
                } else {
                    self.say(part).await;
                }
            }
        }
        if !is_answered {
            self.say(json_rpc::no_answer_error(id)).await;
        }
    }

    /// Hands an answer back, and keeps what the bridge needs of it.
    async fn hand_back(&self, message: &JsonRpcMessage, mut answer: Value) {
        if message.method() == "initialize" {
            let version = json_rpc::add_list_changed(&mut answer);
            *self.version.borrow_mut() = version;
        }
        if message.is_tools_list() {
            self.tools.set(json_rpc::tools_fingerprint(&answer));
        }
        self.say(answer).await;
    }

    /// Looks whether the tools are still those that the client knows, and tells it if not.
    async fn look(&self) {
        if self.is_looking.replace(true) {
            return;
        }
        let question = json_rpc::list_tools().to_string();
        if let Some(message) = JsonRpcMessage::read(question.as_bytes())
            && let Ok(RelayResponse::Whole(_, body)) =
                self.post(&message, Bytes::from(question)).await
            && let Some(found) =
                json_rpc::tools_fingerprint(&serde_json::from_slice(&body).unwrap_or_default())
            && self.tools.replace(Some(found)) != Some(found)
        {
            self.say(json_rpc::tools_changed()).await;
        }
        self.is_looking.set(false);
    }

    async fn say(&self, message: Value) {
        // A client that reads no more ends the bridge by closing its input as well.
        let _ = self.out.send(message).await;
    }
}
