//! A server that does not keep to its protocols: to the server under test it is a tool server, a
//! sign-in, a cloud service and the place of connectors' documents, whatever is asked for.
//!
//! Half of what it says is right, so that the server comes as far as there is something to break.

use std::{
    cell::{Cell, RefCell},
    net::SocketAddr,
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use crate::{Result, hostile_programs::tool_result, rng::Rng};

/// Bytes of a request that are read.
const REQUEST_BYTES_MAX: usize = 64 * 1_024;
/// How long a request may take to come, and how long an answer that never ends goes on.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long an answer that never ends pauses.
const EVENT_EVERY: Duration = Duration::from_millis(20);
/// Bytes of a body that is too large.
const LARGE: usize = 9 << 20;

/// The server and how often it was asked.
pub(crate) struct HostileServer {
    listener: TcpListener,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    rng: RefCell<Rng>,
    asked: Cell<u64>,
}

impl HostileServer {
    pub(crate) async fn start(seed: u64) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            rng: RefCell::new(Rng::of_attempt(seed, u64::MAX)),
            asked: Cell::new(0),
        })
    }

    /// How many requests came.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.get()
    }

    /// Answers for as long as it is waited for.
    pub(crate) async fn serve(&self) {
        let mut served = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => if let Ok((stream, _)) = accepted {
                    served.push(timeout(PATIENCE, self.answer(stream)));
                },
                Some(_) = served.next() => {}
            }
        }
    }

    async fn answer(&self, mut stream: TcpStream) {
        let Some((line, body)) = read_request(&mut stream).await else {
            return;
        };
        self.asked.set(self.asked.get() + 1);
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (bytes, is_endless) = {
            let mut rng = self.rng.borrow_mut();
            answer_to(&line, &message, self.address, &mut rng)
        };
        let mut is_open = stream.write_all(&bytes).await.is_ok();
        while is_endless && is_open {
            is_open = stream.write_all(b": more\n\ndata: {}\n\n").await.is_ok();
            // Slow enough to leave the computer to the server.
            let _ = timeout(EVENT_EVERY, std::future::pending::<()>()).await;
        }
    }
}

/// The first line and the body.
async fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut received = Vec::new();
    loop {
        let read = stream.read_buf(&mut received).await.ok()?;
        let text = String::from_utf8_lossy(&received);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let line = head.lines().next().unwrap_or_default().to_owned();
            let lengths = head.lines().filter_map(|line| line.split_once(':'));
            let mut lengths =
                lengths.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            let length = lengths
                .next()
                .and_then(|(_, length)| length.trim().parse().ok());
            if body.len() >= length.unwrap_or(0).min(REQUEST_BYTES_MAX) {
                return Some((line, body.as_bytes().to_vec()));
            }
        }
        if read == 0 || received.len() > REQUEST_BYTES_MAX {
            return None;
        }
    }
}

/// The bytes of the answer, and whether it goes on for ever.
fn answer_to(line: &str, message: &Value, own: SocketAddr, rng: &mut Rng) -> (Vec<u8>, bool) {
    let good = good_answer(line, message, own);
    let typed = |status: &str, media_type: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\
            Connection: close\r\n\r\n{body}"
        )
        .into_bytes()
    };
    let answer = |body: &Value| typed("200 OK", "application/json", &body.to_string());
    let events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    if rng.chance(50) {
        return (answer(&good), false);
    }
    let bytes = match rng.below(18) {
        0 => answer(&json!({"jsonrpc": "2.0", "id": -5, "result": good["result"]})),
        1 => answer(&json!([good, good, null])),
        2 => typed("200 OK", "application/json", "{\"jsonrpc\":"),
        3 => typed("200 OK", "text/html", "<h1>Welcome</h1>"),
        4 => typed("500 Oh", "text/plain", "no"),
        5 => format!("HTTP/1.1 401 Who\r\nWWW-Authenticate: Bearer resource_metadata=\"http://{own}/meta\"\r\n\
            Content-Length: 0\r\nConnection: close\r\n\r\n").into_bytes(),
        6 => format!("HTTP/1.1 307 Over\r\nLocation: http://{own}/again\r\nContent-Length: 0\r\n\
            Connection: close\r\n\r\n").into_bytes(),
        7 => return (events.as_bytes().to_vec(), true),
        8 => format!("{events}id: 1\ndata: {good}\n\ndata: {good}\n\n: half").into_bytes(),
        9 => b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999999\r\n\r\n{".to_vec(),
        10 => b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec(),
        11 => Vec::new(),
        12 if rng.chance(20) => typed("200 OK", "application/json", &" ".repeat(LARGE)),
        13 => typed("202 Later", "application/json", ""),
        14 => format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(500_000)).into_bytes(),
        15 => answer(&many_tools(message)),
        16 => rng.bytes(300),
        _ => typed("200 OK", "application/json", &"[".repeat(100_000)),
    };
    (bytes, false)
}

fn good_answer(line: &str, message: &Value, own: SocketAddr) -> Value {
    if let Some(method) = message["method"].as_str() {
        let result = tool_result(method, &message["params"]);
        return json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    }
    if line.contains("openapi") {
        let cycle = json!({"$ref": "#/components/schemas/Pet"});
        return json!({"openapi": "3.1.0", "info": {"title": "Pets", "version": "1"},
            "servers": [{"url": format!("http://{own}")}],
            "paths": {"/pets/{id}": {"get": {"operationId": "getPet", "parameters": [
                {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "ok"}}}}},
            "components": {"schemas": {"Pet": {"type": "object", "properties": {"of": cycle}}}}});
    }
    json!({"issuer": format!("http://{own}"), "resource": format!("http://{own}/mcp"),
        "authorization_servers": [format!("http://{own}")],
        "authorization_endpoint": format!("http://{own}/authorize"),
        "token_endpoint": format!("http://{own}/token"), "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"], "registration_endpoint": format!("http://{own}/register"),
        "client_id": "c", "access_token": "t", "token_type": "Bearer", "offers": [], "login": "ada"})
}

/// More tools than anybody takes, on pages that never end.
fn many_tools(message: &Value) -> Value {
    let tool = |number: usize| {
        json!({"name": format!("t{number}"), "inputSchema": {"type": "object",
        "properties": {"a": {"$ref": "#"}}}})
    };
    let tools: Vec<Value> = (0..600).map(tool).collect();
    json!({"jsonrpc": "2.0", "id": message["id"],
        "result": {"tools": tools, "nextCursor": "again"}})
}
