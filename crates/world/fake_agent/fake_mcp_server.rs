//! A puppet of an MCP server: written by hand, so that it can do what no honest server does.

use std::{
    collections::BTreeMap,
    io::{BufRead, stdin},
    os::fd::AsRawFd,
    process::ExitCode,
};

use serde_json::{Value, json};

use crate::{eprintln_bytes, loop_writing, reply, write};

/// How it begins.
#[derive(Clone, Copy, PartialEq)]
enum StartupBehavior {
    /// Knows the handshake only, and says that it knows nothing else.
    Greeted,
    /// Knows the handshake only, and says nothing to what it does not know.
    Deaf,
    /// Ends when it is asked something before the handshake.
    Touchy,
    /// Wants no handshake.
    Direct,
    /// As that, but says nothing until it is greeted all the same.
    Slow,
}

struct FakeMcpServer {
    begins: StartupBehavior,
    is_greeted: bool,
    /// What it was asked before it cared to answer.
    waiting: Option<Value>,
    /// The calls that wait for an answer of the client, by the question's id.
    asking: BTreeMap<String, Value>,
    cancelled: Vec<Value>,
    sockets: Vec<std::net::UdpSocket>,
}

pub(crate) fn serve(word: &str, memory: &str) -> ExitCode {
    let begins = match word {
        "greeted" => StartupBehavior::Greeted,
        "deaf" => StartupBehavior::Deaf,
        "touchy" => StartupBehavior::Touchy,
        "direct" => StartupBehavior::Direct,
        // Slow the first time it runs, as a file remembers.
        "slow" if std::fs::exists(memory).unwrap() => StartupBehavior::Direct,
        "slow" => {
            std::fs::write(memory, "").unwrap();
            StartupBehavior::Slow
        }
        "garbage" => {
            loop_writing(b"Listening on nothing at all\n", 10_000);
            return ExitCode::SUCCESS;
        }
        "mumbling" => {
            loop_writing(b"Starting, please wait\n", 20);
            StartupBehavior::Greeted
        }
        _ => return ExitCode::from(2),
    };
    let mut server = FakeMcpServer {
        begins,
        is_greeted: false,
        waiting: None,
        asking: BTreeMap::new(),
        cancelled: Vec::new(),
        sockets: Vec::new(),
    };
    for line in stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if let Some(code) = server.heard(&message) {
            return code;
        }
    }
    ExitCode::SUCCESS
}

impl FakeMcpServer {
    fn heard(&mut self, message: &Value) -> Option<ExitCode> {
        let (id, params) = (&message["id"], &message["params"]);
        match message["method"].as_str() {
            None => self.answered(message),
            Some("server/discover") => match self.begins {
                StartupBehavior::Direct => discovered(id),
                StartupBehavior::Slow => self.waiting = Some(id.clone()),
                StartupBehavior::Deaf => {}
                StartupBehavior::Touchy => return Some(ExitCode::from(4)),
                StartupBehavior::Greeted => refuse(id, -32601, "unknown"),
            },
            Some("initialize") if self.begins == StartupBehavior::Slow => {
                discovered(&self.waiting.take().unwrap());
                refuse(id, -32601, "unknown");
            }
            Some("initialize") if self.begins != StartupBehavior::Direct => {
                self.is_greeted = true;
                assert_eq!(params["protocolVersion"], "2025-11-25");
                assert!(params["capabilities"]["sampling"].is_null());
                reply(
                    id,
                    json!({"protocolVersion": "2025-06-18",
                        "capabilities": {"tools": {"listChanged": true}},
                        "serverInfo": {"name": "puppet", "version": "1"},
                        "instructions": "Pull the strings."}),
                );
            }
            Some("notifications/cancelled") => self.cancelled.push(params["requestId"].clone()),
            Some(method) if method.starts_with("notifications/") => {}
            Some("tools/list") => listed(id, params),
            Some("subscriptions/listen") => {
                let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
                tell(
                    "notifications/subscriptions/acknowledged",
                    json!({"_meta": meta, "notifications": {"toolsListChanged": true}}),
                );
                tell("notifications/tools/list_changed", json!({"_meta": meta}));
            }
            Some("tools/call") => return self.called(id, params),
            Some(_) => refuse(id, -32601, "unknown"),
        }
        None
    }

    fn called(&mut self, id: &Value, params: &Value) -> Option<ExitCode> {
        let arguments = &params["arguments"];
        match params["name"].as_str().unwrap() {
            // Members no revision knows, in an order no map keeps.
            "odd" => write(&json!({"jsonrpc": "2.0", "id": id.to_string(), "result":
                {"zeta": 1.5, "content": [{"type": "hologram", "beam": [null]}], "alpha": {}}})),
            "echo" => say(id, &arguments.to_string()),
            "large" => {
                let size = arguments["bytes"].as_u64().unwrap();
                let text = "x".repeat(usize::try_from(size).unwrap());
                // As most servers write it, with the id at the end.
                let line = format!(
                    "{{\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}},\
                     \"jsonrpc\":\"2.0\",\"id\":{id}}}\n"
                );
                loop_writing(line.as_bytes(), 1);
            }
            "refuse" => write(&json!({"jsonrpc": "2.0", "id": id,
                "error": {"code": -32000, "message": "no\u{1b}[31m way", "data": {"why": 1}}})),
            "silent" => {}
            "cancelled" => say(id, &json!(self.cancelled).to_string()),
            "progress" => {
                let token = &params["_meta"]["progressToken"];
                for step in 0..arguments["steps"].as_u64().unwrap() {
                    tell(
                        "notifications/progress",
                        json!({"progressToken": token, "progress": step}),
                    );
                }
                if arguments["ends"] == true {
                    say(id, "done");
                }
            }
            "notify" => {
                tell("notifications/message", json!({"level": "info", "data": 7}));
                tell("notifications/tools/list_changed", Value::Null);
                say(id, "told");
            }
            // Asks the client, and answers with what it said.
            "ask"
                if self.begins == StartupBehavior::Direct
                    || self.begins == StartupBehavior::Slow =>
            {
                let given = &params["inputResponses"];
                if given.is_null() {
                    reply(
                        id,
                        json!({"resultType": "input_required", "requestState": "s1",
                            "inputRequests": {"q": arguments}}),
                    );
                } else {
                    assert_eq!(params["requestState"], "s1");
                    say(id, &given.to_string());
                }
            }
            "ask" => {
                let question = format!("q{}", self.asking.len());
                write(&json!({"jsonrpc": "2.0", "id": question,
                    "method": arguments["method"], "params": arguments["params"]}));
                self.asking.insert(question, id.clone());
            }
            "again" => reply(
                id,
                json!({"resultType": "input_required", "requestState": "s",
                    "inputRequests": {}}),
            ),
            "token" => {
                let marked = std::env::vars().any(|(name, _)| name.starts_with("GUILDHALL_AGENT"));
                say(id, if marked { "an agent's" } else { "nobody's" });
            }
            "child" => {
                let child = std::process::Command::new("sleep").arg("600").spawn();
                say(id, &child.unwrap().id().to_string());
            }
            // A socket of its own, by the number the kernel knows it by.
            "socket" => {
                let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
                let place = format!("/proc/self/fd/{}", socket.as_raw_fd());
                let inode = std::fs::read_link(place).unwrap();
                self.sockets.push(socket);
                say(id, &inode.to_string_lossy());
            }
            "deafen" => {
                say(id, "bye");
                // Reads nothing any more, and ends for nobody.
                loop {
                    std::thread::park();
                }
            }
            "exit" => {
                eprintln_bytes(b"the strings broke\n");
                return Some(ExitCode::from(3));
            }
            _ => refuse(id, -32602, "no such tool"),
        }
        None
    }

    fn answered(&mut self, message: &Value) {
        let question = message["id"].as_str().unwrap();
        let call = self.asking.remove(question).unwrap();
        let heard = message.get("result").unwrap_or(&message["error"]["code"]);
        say(&call, &heard.to_string());
    }
}

fn discovered(id: &Value) {
    reply(
        id,
        json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {"listChanged": true}}, "ttlMs": 0, "cacheScope": "public",
            "_meta": {"io.modelcontextprotocol/serverInfo":
                {"name": "puppet", "version": "2"}}}),
    );
}

/// Two pages, or one without end.
fn listed(id: &Value, params: &Value) {
    let tool = |name: &str| {
        json!({"name": name, "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true, "x": 1}})
    };
    match params["cursor"].as_str() {
        None => reply(
            id,
            json!({"tools": [tool("odd"), tool("echo")], "nextCursor": "2",
                "resultType": "complete"}),
        ),
        Some("2") => reply(
            id,
            json!({"tools": [tool("ask")], "resultType": "complete"}),
        ),
        Some(_) => refuse(id, -32602, "no such page"),
    }
}

fn say(id: &Value, text: &str) {
    reply(
        id,
        json!({"content": [{"type": "text", "text": text}], "resultType": "complete"}),
    );
}

fn refuse(id: &Value, code: i32, message: &str) {
    write(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
}

fn tell(method: &str, params: Value) {
    let mut message = json!({"jsonrpc": "2.0", "method": method});
    if !params.is_null() {
        message["params"] = params;
    }
    write(&message);
}
