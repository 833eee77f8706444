//! The house's own tools, from outside: over the bridge that agents start, and by an agent in a
//! room. Source: contract 4.9.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::{rooms_of_agents::RoomWithAgents, server_process::ServerProcess};

/// A bridge at work, and its client's ends of the pipes.
pub(crate) struct StdioRelayProcess {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl StdioRelayProcess {
    pub(crate) fn start(url: &str, token: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_guildhall"))
            .args(["bridge", "guildhall"])
            .env("GUILDHALL_URL", url)
            .env("GUILDHALL_AGENT_TOKEN", token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            to: child.stdin.take(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn write(&mut self, line: &str) {
        let to = self.to.as_mut().unwrap();
        to.write_all(line.as_bytes()).unwrap();
        to.write_all(b"\n").unwrap();
    }

    pub(crate) fn read(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&message.to_string());
        let answer = self.read();
        assert_eq!(
            (&answer["jsonrpc"], &answer["id"]),
            (&json!("2.0"), &json!(id))
        );
        answer
    }

    /// Ends its input; answers its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        drop(self.to.take());
        self.child.wait().unwrap().code()
    }
}

pub(crate) fn initialize_params() -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}})
}

/// An agent of the server; answers its token.
pub(crate) fn agent(server: &ServerProcess, scratch: &Scratch) -> String {
    let folder = scratch.path().join("ada");
    std::fs::create_dir_all(&folder).unwrap();
    let ask = json!({"name": "ada", "cwd": folder, "runtime": "rehearsal"});
    let (status, agent) = server.ask("POST", "/api/agents", Some(&ask));
    assert_eq!(status, 201, "{agent}");
    let path = format!("/api/agents/{}/tokens", agent["id"].as_str().unwrap());
    let (status, minted) = server.ask("POST", &path, Some(&json!({"label": "test"})));
    assert_eq!(status, 201, "{minted}");
    minted["token"].as_str().unwrap().to_owned()
}

#[test]
fn a_bridge_hands_on_and_back_and_outlives_the_server() {
    let scratch = Scratch::new("bridge");
    let data = scratch.path().join("data");
    let roots = [("GUILDHALL_FILES_ROOTS", scratch.path().to_str().unwrap())];
    let server = ServerProcess::start_in(&data, &roots);
    let (port, token) = (server.port(), agent(&server, &scratch));
    let mut bridge = StdioRelayProcess::start(&server.url, &token);
    let house = bridge.ask(1, "initialize", &initialize_params());
    assert_eq!(house["result"]["serverInfo"]["name"], "guildhall");
    assert_eq!(
        house["result"]["capabilities"]["tools"],
        json!({"listChanged": true})
    );
    bridge.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let tools = bridge.ask(2, "tools/list", &json!({}));
    let count = tools["result"]["tools"].as_array().unwrap().len();
    assert!(count >= 14, "{count}");
    let listing = json!({"name": "rooms_list", "arguments": {}});
    let before = bridge.ask(3, "tools/call", &listing);
    let rooms = &before["result"]["structuredContent"]["rooms"];
    assert_eq!(rooms[0]["wellKnown"], "team");

    // What is no message, or too long for one, costs only itself.
    bridge.write("this is no JSON");
    assert_eq!(bridge.read()["error"]["code"], -32_700);
    bridge.write(&"x".repeat(1024 * 1024 + 1));
    assert_eq!(bridge.read()["error"]["code"], -32_600);
    let unknown = bridge.ask(4, "tools/call", &json!({"name": "set_handle"}));
    assert_eq!(unknown["error"]["code"], -32_602);

    // What is asked while there is no server is answered by the next one, and done once.
    server.kill();
    let room = &rooms[0]["id"];
    let post = json!({"name": "room_post", "arguments": {"roomId": room, "text": "still here"}});
    let message = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": post});
    bridge.write(&message.to_string());
    let server = ServerProcess::start(&data, port);
    let posted = bridge.read();
    assert_eq!(posted["id"], 5, "{posted}");
    let entry = &posted["result"]["structuredContent"]["entry"];
    assert_eq!(entry["text"], "still here", "{posted}");
    let path = format!("/api/rooms/{}/entries", room.as_str().unwrap());
    let (_, page) = server.ask("GET", &path, None);
    let said = page["entries"].as_array().unwrap().iter();
    assert_eq!(
        said.filter(|entry| entry["text"] == "still here").count(),
        1
    );
    assert_eq!(bridge.end(), Some(0));
}

#[test]
fn a_bridge_without_a_live_token_says_what_the_server_says() {
    let scratch = Scratch::new("bridge-dead");
    let server = ServerProcess::start(&scratch.path().join("data"), 0);
    let mut bridge = StdioRelayProcess::start(&server.url, "gha_unknown");
    let refused = bridge.ask(1, "initialize", &initialize_params());
    assert_eq!(refused["error"]["data"]["code"], "AGENT_TOKEN_REQUIRED");
    assert_eq!(bridge.end(), Some(0));
    let bare = Command::new(env!("CARGO_BIN_EXE_guildhall"))
        .args(["bridge", "guildhall"])
        .env_remove("GUILDHALL_URL")
        .env_remove("GUILDHALL_AGENT_TOKEN")
        .output()
        .unwrap();
    assert_eq!(bare.status.code(), Some(2));
    let said = String::from_utf8(bare.stderr).unwrap();
    assert!(
        said.contains("GUILDHALL_URL") && said.contains("GUILDHALL_AGENT_TOKEN"),
        "{said}"
    );
}

#[test]
fn a_greeting_that_no_server_hears_is_answered_within_ten_seconds() {
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let url = format!("http://{}", nowhere.unwrap());
    let mut bridge = StdioRelayProcess::start(&url, "gha_unknown");
    let begin = Instant::now();
    let answer = bridge.ask(1, "initialize", &initialize_params());
    assert_eq!(answer["error"]["code"], -32_000);
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(bridge.end(), Some(0));
}

#[test]
fn what_an_agent_posts_through_its_tools_belongs_to_its_turn() {
    let room = RoomWithAgents::open("tools");
    let ada = room.agent("ada", "always");
    let call = |tool: &str, arguments: Value| {
        let call = json!({"server": "guildhall", "tool": tool, "arguments": arguments});
        format!("#call call_mcp {call}")
    };
    let reading = call("room_read", json!({"roomId": room.id, "limit": 1}));
    let posting = call("room_post", json!({"roomId": room.id, "text": "On it."}));
    let posted = room.post(&[&reading, &posting, "#say Done."]);
    let asked = room.stands(&posted["turns"][0]["id"], "waiting");
    let session = asked["sessionId"].as_str().unwrap();
    // Reading asked nobody; the one question is about the post.
    let ask = room.t.ask(session);
    assert_eq!(ask["title"], "Call room_post of guildhall", "{ask}");
    let tokens = |room: &RoomWithAgents| {
        let (_, agents) = room.t.server.ask("GET", "/api/agents", None);
        let agent = agents["agents"][0]["id"].as_str().unwrap().to_owned();
        let (_, listed) = room
            .t
            .server
            .ask("GET", &format!("/api/agents/{agent}/tokens"), None);
        let tokens = listed["tokens"].as_array().unwrap().clone();
        let of_session = tokens
            .into_iter()
            .filter(|token| token["sessionId"] == session);
        of_session.collect::<Vec<_>>()
    };
    let [token] = &tokens(&room)[..] else {
        panic!("a session has one token")
    };
    assert_eq!(
        (&token["origin"], &token["revokedAt"]),
        (&json!("spawn"), &Value::Null)
    );
    room.approve(&ask);
    let turn = room.stands(&posted["turns"][0]["id"], "answered");
    let [said, reply] = &room.replies()[..] else {
        panic!("a post and the answer")
    };
    assert_eq!(
        (&said["text"], &reply["text"]),
        (&json!("On it."), &json!("Done."))
    );
    for entry in [said, reply] {
        let expected = [
            ("authorId", json!(ada)),
            ("turnId", turn["id"].clone()),
            ("sessionId", json!(session)),
            ("cascadeRootId", posted["entry"]["id"].clone()),
            ("cascadeDepth", json!(1)),
        ];
        for (field, value) in expected {
            assert_eq!(entry[field], value, "{field} of {}", entry["text"]);
        }
    }

    // The token goes with the session.
    let (status, _) = room
        .t
        .server
        .ask("DELETE", &format!("/api/sessions/{session}"), None);
    assert_eq!(status, 200);
    let [token] = &tokens(&room)[..] else {
        panic!("a session has one token")
    };
    assert!(token["revokedAt"].is_string(), "{token}");
}
