//! Tool servers of agents from outside: the scripted agent uses them over the gateway.
//! Source: contract 4.4, 4.6, 4.12 (6, 7).

use std::{fs, path::PathBuf, time::Duration};

use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use crate::server_process::ask_as;
use crate::workspace::{ServerWithFolder, until};

const CANARY: &str = "canary-of-the-gateway";

/// A tool server of one tool, which tells a file what it was asked.
pub(crate) const SERVER: &str = r#"
const fs = require('fs');
const lines = require('readline').createInterface({ input: process.stdin });
let asking;
const note = (text) => fs.appendFileSync(process.env.HEARD, text + '\n');
lines.on('line', (line) => {
  const { id, method, params, result } = JSON.parse(line);
  note(method);
  if (id === undefined) return;
  const say = (rest) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...rest }));
  const ask = { message: 'Who?', requestedSchema: { type: 'object',
    properties: { name: { type: 'string' } } } };
  const tool = { name: 'echo', description: 'Says it back.', inputSchema: { type: 'object' } };
  if (method === 'initialize')
    say({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} },
      serverInfo: { name: 'notes', version: '1' } } });
  else if (method === 'tools/list') say({ result: { tools: [tool] } });
  else if (result) console.log(JSON.stringify({ jsonrpc: '2.0', id: asking, result: {
    content: [{ type: 'text', text: 'answered ' + result.action }] } }));
  else if (method !== 'tools/call') say({ error: { code: -32601, message: 'unknown' } });
  else if (params.arguments.hold) note('holding');
  else if (params.arguments.ask) {
    asking = id;
    console.log(JSON.stringify({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: ask }));
  }
  else say({ result: { content: [{ type: 'text', text: 'heard ' + params.arguments.text }] } });
});
"#;

/// Where Node.js is.
#[cfg(any(feature = "real-agents", feature = "real-servers"))]
pub(crate) fn node() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let mut nodes = std::env::split_paths(&path).map(|folder| folder.join("node"));
    nodes.find(|file| file.is_file()).expect("Node.js is there")
}

/// A workspace with a session of the scripted agent, which asks nobody.
struct SessionInWorkspace {
    t: ServerWithFolder,
    agent: String,
    session: String,
    turns: usize,
}

impl SessionInWorkspace {
    fn open(what: &str) -> Self {
        let t = ServerWithFolder::open(what);
        t.write("server.js", SERVER);
        let session = t.unattended();
        let agent = t.look(&session)["agentId"].as_str().unwrap().to_owned();
        Self {
            t,
            agent,
            session,
            turns: 0,
        }
    }

    fn heard_in(&self) -> PathBuf {
        self.t.scratch.path().join("heard")
    }

    /// What the tool server was asked.
    fn heard(&self) -> String {
        fs::read_to_string(self.heard_in()).unwrap_or_default()
    }

    fn calls(&self) -> usize {
        let heard = self.heard();
        heard.lines().filter(|line| *line == "tools/call").count()
    }

    fn connection(&self) -> Value {
        json!({"transport": "stdio", "command": "node", "args": ["server.js"],
            "env": {"HEARD": self.heard_in(), "SECRET": CANARY}})
    }

    fn at(&self, tail: &str) -> String {
        format!("/api/agents/{}/mcp-servers{tail}", self.agent)
    }

    fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.t.server.ask(method, path, Some(body));
        assert!(status < 300, "{method} {path}: {status} {answer}");
        answer
    }

    /// The same where it needs a card.
    fn approved(&self, method: &str, path: &str, body: &Value) {
        let (status, answer) = self.t.server.ask_approved(method, path, body);
        assert!(status < 300, "{method} {path}: {status} {answer}");
    }

    fn add(&self, name: &str) {
        let body = json!({"name": name, "connection": self.connection()});
        self.approved("POST", &self.at(""), &body);
    }

    fn entry(&self, name: &str) -> Value {
        let (status, entry) = self
            .t
            .server
            .ask("GET", &self.at(&format!("/{name}")), None);
        assert_eq!(status, 200, "{entry}");
        entry
    }

    /// Calls a tool in a turn of its own; answers all that was told of it.
    fn call(&mut self, server: &str, tool: &str, arguments: &Value) -> String {
        self.begin(server, tool, arguments);
        self.end()
    }

    fn begin(&mut self, server: &str, tool: &str, arguments: &Value) {
        let call = json!({"server": server, "tool": tool, "arguments": arguments});
        self.t
            .send(&self.session, &[&format!("#call call_mcp {call}")]);
        self.turns += 1;
    }

    /// Waits for the turn's end; answers its message.
    fn end(&self) -> String {
        self.t.turn_ended(&self.session, self.turns);
        self.t.messages(&self.session).last().unwrap().to_string()
    }
}

#[test]
fn a_server_that_a_person_adds_is_used_on_the_next_turn_and_goes_when_it_is_removed() {
    let mut bench = SessionInWorkspace::open("gateway-next-turn");
    let unknown = bench.call("notes", "echo", &json!({"text": "one"}));
    assert!(
        unknown.contains("there is no tool server notes"),
        "{unknown}"
    );
    bench.add("notes");
    let used = bench.call("notes", "echo", &json!({"text": "two"}));
    assert!(used.contains("heard two"), "{used}");
    // What it was in is the same session: it was taken up again.
    assert!(!used.contains("history_lost"));
    let entry = bench.entry("notes");
    assert_eq!(
        (&entry["status"], &entry["toolCount"]),
        (&json!("ready"), &json!(1))
    );
    // The next turn has it already, and one program serves them all.
    let again = bench.call("notes", "echo", &json!({"text": "three"}));
    assert!(again.contains("heard three"), "{again}");
    let greetings = bench.heard();
    assert_eq!(
        greetings
            .lines()
            .filter(|line| *line == "initialize")
            .count(),
        1
    );
    bench.done("DELETE", &bench.at("/notes"), &Value::Null);
    let gone = bench.call("notes", "echo", &json!({"text": "four"}));
    assert!(gone.contains("there is no tool server notes"), "{gone}");
    assert_eq!(bench.calls(), 2);
}

#[test]
fn a_server_that_an_agent_asks_for_is_used_once_a_person_said_yes() {
    let mut bench = SessionInWorkspace::open("gateway-asked");
    let ask = json!({"name": "notes", "connection": bench.connection(), "approvalToken": null});
    bench.begin("guildhall", "mcp_add_server", &ask);
    let mut pending = Value::Null;
    until("the question", Duration::from_secs(60), || {
        let (_, listed) = bench.t.server.ask("GET", "/api/approvals", None);
        pending = listed["approvals"][0].clone();
        !pending.is_null()
    });
    assert_eq!(pending["capability"], "mcp.add");
    assert_eq!(pending["sessionId"], bench.session);
    assert_eq!(pending["card"]["args"], json!(["server.js"]));
    assert!(!pending.to_string().contains(CANARY), "{pending}");
    assert_eq!(bench.heard(), "", "nothing runs before a person's word");
    let path = format!("/api/approvals/{}/grant", pending["id"].as_str().unwrap());
    bench.done("POST", &path, &json!({"digest": pending["digest"]}));
    bench.end();
    let used = bench.call("notes", "echo", &json!({"text": "thanks"}));
    assert!(used.contains("heard thanks"), "{used}");
}

#[test]
fn another_script_is_not_started_and_a_call_under_way_ends_with_its_server() {
    let mut bench = SessionInWorkspace::open("gateway-cut");
    bench.add("notes");
    bench.call("notes", "echo", &json!({"text": "one"}));
    // Switched off in the middle of a call.
    bench.begin("notes", "echo", &json!({"hold": true}));
    until("the call", Duration::from_secs(60), || {
        bench.heard().contains("holding")
    });
    bench.done("POST", &bench.at("/notes/disable"), &json!({}));
    let cut = bench.end();
    assert!(cut.contains("The server is switched off."), "{cut}");
    bench.approved("POST", &bench.at("/notes/enable"), &json!({}));
    let back = bench.call("notes", "echo", &json!({"text": "two"}));
    assert!(back.contains("heard two"), "{back}");
    // Another script in its place, while the old one still runs.
    let heard = bench.heard();
    bench
        .t
        .write("server.js", &SERVER.replace("heard ", "stolen "));
    let held = bench.call("notes", "echo", &json!({"text": "three"}));
    assert!(held.contains("is not the one that was approved"), "{held}");
    assert_eq!(bench.heard(), heard, "no byte reached either of them");
    let entry = bench.entry("notes");
    assert_eq!(entry["status"], "needsApproval");
    let path = format!("/api/approvals/{}", entry["approvalId"].as_str().unwrap());
    let (_, question) = bench.t.server.ask("GET", &path, None);
    let (old, new) = (&question["card"]["before"], &question["card"]["after"]);
    assert_eq!(old["scriptSha256"], entry["pin"]["scriptSha256"]);
    assert_ne!(old["scriptSha256"], new["scriptSha256"]);
    // Meanwhile no turn has it; a yes brings it back with the next one.
    let without = bench.call("notes", "echo", &json!({"text": "four"}));
    assert!(
        without.contains("there is no tool server notes"),
        "{without}"
    );
    bench.done(
        "POST",
        &format!("{path}/grant"),
        &json!({"digest": question["digest"]}),
    );
    let new = bench.call("notes", "echo", &json!({"text": "five"}));
    assert!(new.contains("stolen five"), "{new}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_servers_question_ends_with_the_turn_and_is_not_waited_for_any_more() {
    let mut bench = SessionInWorkspace::open("gateway-question");
    bench.add("notes");
    bench.call("notes", "echo", &json!({"text": "one"}));
    // The agent asks a person, and its server does in the same turn.
    let form = r#"#ask {"type":"object","properties":{"way":{"type":"string"}}}"#;
    bench.t.send(&bench.session, &[form]);
    bench.turns += 1;
    let own = bench.t.ask(&bench.session);
    let shown = format!(
        "Bearer {}",
        bridge_token(&bench.t.server.agent_url(), "notes")
    );
    let port = bench.t.server.port();
    let calling = std::thread::spawn(move || {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "echo", "arguments": {"ask": true}}});
        ask_as(
            Some(&shown),
            port,
            "POST",
            "/mcp/servers/notes",
            Some(&call),
        )
    });
    until("both questions", Duration::from_secs(60), || {
        bench.t.asks().len() == 2
    });
    let no = json!({"toolCallId": own["toolCallId"], "decline": true});
    let (status, declined) = bench.t.decide(&bench.session, "submit-answers", &no);
    assert_eq!(status, 200, "{declined}");
    bench.end();
    let (status, told) = calling.join().unwrap().expect("an answer");
    assert_eq!(status, 200, "{told}");
    assert_eq!(told["result"]["content"][0]["text"], "answered cancel");
    assert_eq!(bench.t.asks(), Vec::<Value>::new());
}

/// The token that the bridge of a session's tool server shows.
#[cfg(target_os = "linux")]
pub(crate) fn bridge_token(url: &str, server: &str) -> String {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let of_bridge = processes.filter_map(|process| {
        let read = |file: &str| fs::read(process.path().join(file)).ok();
        let words = String::from_utf8(read("cmdline")?).ok()?;
        let environment = String::from_utf8(read("environ")?).ok()?;
        let variable = |name: &str| {
            let mut all = environment.split('\0');
            all.find_map(|one| one.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
        };
        let is_it =
            words.ends_with(&format!("bridge\0{server}\0")) && variable("GUILDHALL_URL")? == url;
        variable("GUILDHALL_AGENT_TOKEN").filter(|_| is_it)
    });
    of_bridge.last().expect("a bridge runs")
}

#[cfg(target_os = "linux")]
#[test]
fn a_servers_secrets_are_in_no_argument_and_in_no_environment_but_its_own() {
    let mut bench = SessionInWorkspace::open("gateway-secrets");
    bench.add("notes");
    bench.begin("notes", "echo", &json!({"hold": true}));
    until("the call", Duration::from_secs(60), || {
        bench.heard().contains("holding")
    });
    let mut own = 0;
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let read = |file: &str| fs::read(process.path().join(file)).unwrap_or_default();
        let has = |bytes: &[u8]| {
            bytes
                .windows(CANARY.len())
                .any(|part| part == CANARY.as_bytes())
        };
        let (arguments, environment) = (read("cmdline"), read("environ"));
        let called = String::from_utf8_lossy(&arguments).replace('\0', " ");
        assert!(!has(&arguments), "{called}");
        if has(&environment) {
            assert!(called.contains("server.js"), "{called}");
            own += 1;
        }
    }
    assert!(own > 0, "its server has it");
    bench.done("POST", &bench.at("/notes/disable"), &json!({}));
    let told = bench.end();
    assert!(!told.contains(CANARY));
    // Its program goes with it.
    until("the end of its program", Duration::from_secs(60), || {
        let mut processes = fs::read_dir("/proc").unwrap().flatten();
        !processes.any(|process| {
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            let canary = CANARY.as_bytes();
            environment.windows(canary.len()).any(|part| part == canary)
        })
    });
}
