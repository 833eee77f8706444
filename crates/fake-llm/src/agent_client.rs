//! A small client of the Agent Client Protocol for tests: it writes and reads lines of JSON and
//! hides nothing, so that a test sees what an agent really sends.

use std::{collections::VecDeque, io, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Lines},
    process::{Child, Command},
};

/// How long an agent may be silent before a test gives it up.
pub const SILENCE_MAX: Duration = Duration::from_secs(60);

/// What the client answers to permission requests that come while it waits for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionReply {
    /// The first option of this kind.
    Kind(&'static str),
    /// `cancelled`.
    Cancelled,
}

/// A client of one agent.
pub struct AgentClient {
    out: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    lines: Lines<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
    child: Option<Child>,
    last_id: u64,
    /// Lines that were read and not yet wanted.
    unread: VecDeque<Value>,
    /// What is answered to questions on the way.
    pub decide: PermissionReply,
    /// Every notification and question on the way, in order.
    pub seen: Vec<Value>,
}

impl AgentClient {
    /// A client of an agent at the other ends of these.
    pub fn over(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let reader: Box<dyn AsyncRead + Send + Unpin> = Box::new(reader);
        Self {
            out: Some(Box::new(writer)),
            lines: BufReader::new(reader).lines(),
            child: None,
            last_id: 0,
            unread: VecDeque::new(),
            decide: PermissionReply::Cancelled,
            seen: Vec::new(),
        }
    }

    /// Starts an agent, whose errors go to ours.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .process_group(0)
            .spawn()?;
        let (Some(out), Some(input)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(io::Error::other("the agent has no pipes"));
        };
        let mut client = Self::over(out, input);
        client.child = Some(child);
        Ok(client)
    }

    /// The agent's process.
    pub fn child(&mut self) -> Option<&mut Child> {
        self.child.as_mut()
    }

    /// Closes the agent's input.
    pub fn close(&mut self) {
        self.out = None;
    }

    async fn write(&mut self, message: &Value) -> io::Result<()> {
        let out = self
            .out
            .as_mut()
            .ok_or_else(|| io::Error::other("closed"))?;
        out.write_all(format!("{message}\n").as_bytes()).await?;
        out.flush().await
    }

    /// Sends a request and does not wait; answers its id.
    ///
    /// # Errors
    /// When the agent is gone.
    pub async fn send_request(&mut self, method: &str, params: Value) -> io::Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        Ok(id)
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// When the agent is gone.
    pub async fn notify(&mut self, method: &str, params: Value) -> io::Result<()> {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await
    }

    /// Answers a request of the agent.
    ///
    /// # Errors
    /// When the agent is gone.
    pub async fn answer(&mut self, request: &Value, result: Value) -> io::Result<()> {
        self.write(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
            .await
    }

    /// Answers a permission request by the first option of a kind, else `cancelled`.
    ///
    /// # Errors
    /// When the agent is gone.
    pub async fn choose(&mut self, request: &Value, decide: PermissionReply) -> io::Result<()> {
        let options = request["params"]["options"].as_array();
        let found = options.and_then(|options| match decide {
            PermissionReply::Kind(kind) => options.iter().find(|option| option["kind"] == kind),
            PermissionReply::Cancelled => None,
        });
        let outcome = match found {
            Some(option) => json!({"outcome": "selected", "optionId": option["optionId"]}),
            None => json!({"outcome": "cancelled"}),
        };
        self.answer(request, json!({"outcome": outcome})).await
    }

    /// The next line as it came; `None` at the end.
    ///
    /// # Errors
    /// When reading fails, or nothing comes for [`SILENCE_MAX`].
    pub async fn line(&mut self) -> io::Result<Option<String>> {
        let next = tokio::time::timeout(SILENCE_MAX, self.lines.next_line()).await;
        next.map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "the agent is silent"))?
    }

    /// The next message; what is no JSON becomes a text.
    ///
    /// # Errors
    /// When the agent is gone or silent.
    pub async fn next(&mut self) -> io::Result<Value> {
        if let Some(message) = self.unread.pop_front() {
            return Ok(message);
        }
        let line = self.line().await?;
        let line =
            line.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the agent is gone"))?;
        Ok(serde_json::from_str(&line).unwrap_or(Value::String(line)))
    }

    /// The agent's next request of this method; what comes before it is put into `seen`.
    ///
    /// # Errors
    /// When the agent is gone or silent.
    pub async fn asked(&mut self, method: &str) -> io::Result<Value> {
        loop {
            let message = self.next().await?;
            if message["method"] == method && message.get("id").is_some() {
                return Ok(message);
            }
            self.seen.push(message);
        }
    }

    /// The answer to a request that was begun: its result, or its error. Permission requests on
    /// the way are answered as `decide` says, other requests are declined.
    ///
    /// # Errors
    /// When the agent is gone or silent.
    pub async fn ended(&mut self, id: u64) -> io::Result<Result<Value, Value>> {
        if let Some(at) = self.seen.iter().position(|message| is_answer(message, id)) {
            return Ok(result_of(self.seen.remove(at)));
        }
        loop {
            let message = self.next().await?;
            if is_answer(&message, id) {
                return Ok(result_of(message));
            }
            if message.get("id").is_some() && message.get("method").is_some() {
                if message["method"] == "session/request_permission" {
                    self.choose(&message, self.decide).await?;
                } else {
                    self.answer(&message, json!({"action": "decline"})).await?;
                }
            }
            self.seen.push(message);
        }
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// When the agent is gone or silent, or answers an error.
    pub async fn call(&mut self, method: &str, params: Value) -> io::Result<Value> {
        let id = self.send_request(method, params).await?;
        self.ended(id)
            .await?
            .map_err(|error| io::Error::other(format!("{method}: {error}")))
    }

    /// Greets the agent as a client that takes forms and has no files and no terminals.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub async fn initialize(&mut self) -> io::Result<Value> {
        let capabilities = json!({
            "fs": {"readTextFile": false, "writeTextFile": false},
            "terminal": false,
            "elicitation": {"form": {}, "url": {}},
        });
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": capabilities,
            "clientInfo": {"name": "guildhall-tests", "version": "0"},
        });
        self.call("initialize", params).await
    }

    /// The parameters of a prompt of one text.
    pub fn prompt_of(session: &str, text: &str) -> Value {
        json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
    }

    /// Prompts with one text and waits for the turn's end.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub async fn prompt(&mut self, session: &str, text: &str) -> io::Result<Value> {
        self.call("session/prompt", Self::prompt_of(session, text))
            .await
    }

    /// The session updates of one kind that were seen.
    pub fn updates(&self, kind: &str) -> Vec<&Value> {
        let updates = self.seen.iter().map(|message| &message["params"]["update"]);
        updates
            .filter(|update| update["sessionUpdate"] == kind)
            .collect()
    }

    /// The text that the agent said, joined.
    pub fn message_text(&self) -> String {
        let pieces = self.updates("agent_message_chunk").into_iter();
        pieces
            .filter_map(|update| update["content"]["text"].as_str())
            .collect()
    }
}

impl Drop for AgentClient {
    /// Kills what the agent started in its own group as well.
    fn drop(&mut self) {
        let group = self.child.as_ref().and_then(Child::id);
        let group = group.and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(group) = group {
            // A group that is gone already needs no killing.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

fn is_answer(message: &Value, id: u64) -> bool {
    message.get("method").is_none() && message["id"] == id
}

fn result_of(mut message: Value) -> Result<Value, Value> {
    match message.get_mut("error") {
        Some(error) => Err(error.take()),
        None => Ok(message["result"].take()),
    }
}
