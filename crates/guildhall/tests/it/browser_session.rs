//! A house with a Chromium and a session whose agent can use it, and a site that listens.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    browser_server::ServerWithChromium,
    server_process::{ask_as, frames, head},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// A site of some pages, which notes what is asked of it.
pub(crate) struct RecordingSite {
    pub(crate) url: String,
    pub(crate) heard: Arc<Mutex<Vec<String>>>,
}

impl RecordingSite {
    pub(crate) fn new(pages: &'static [(&str, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let notes = Arc::clone(&heard);
        thread::spawn(move || {
            for socket in listener.incoming() {
                let (mut socket, notes) = (socket.unwrap(), Arc::clone(&notes));
                thread::spawn(move || {
                    let mut reader = BufReader::new(socket.try_clone().unwrap());
                    let (mut line, mut length) = (String::new(), 0);
                    let _ = reader.read_line(&mut line);
                    let mut field = String::new();
                    while reader.read_line(&mut field).is_ok_and(|read| read > 2) {
                        let lower = field.to_ascii_lowercase();
                        if let Some(value) = lower.strip_prefix("content-length:") {
                            length = value.trim().parse().unwrap();
                        }
                        field.clear();
                    }
                    let mut body = vec![0; length];
                    let _ = reader.read_exact(&mut body);
                    let asked = line.trim_end().trim_end_matches(" HTTP/1.1");
                    let body = String::from_utf8_lossy(&body);
                    notes.lock().unwrap().push(format!("{asked} {body}"));
                    let path = asked.split(' ').nth(1).unwrap_or_default();
                    let page = pages.iter().find(|(known, _)| *known == path);
                    let page = page.map_or("", |(_, page)| page);
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close";
                    let length = page.len();
                    let _ = write!(socket, "{head}\r\nContent-Length: {length}\r\n\r\n{page}");
                });
            }
        });
        Self { url, heard }
    }

    pub(crate) fn recorded_requests(&self, what: &str) -> bool {
        let heard = self.heard.lock().unwrap();
        heard.iter().any(|line| line.contains(what))
    }
}

/// A house with a browser, and a session of the scripted agent in it.
pub(crate) struct BrowserSession {
    pub(crate) house: ServerWithChromium,
    pub(crate) session: String,
    /// The token of the session's own tool server.
    pub(crate) token: String,
    /// The token of the agent's process.
    pub(crate) process: String,
}

impl BrowserSession {
    pub(crate) fn open() -> Option<Self> {
        let house = ServerWithChromium::open()?;
        let (session, token, process) = session(&house);
        Some(Self {
            house,
            session,
            token,
            process,
        })
    }

    /// A browser whose one tab is at an address and shared with the session; answers the tab.
    pub(crate) fn at(&self, url: &str, title: &str) -> String {
        let ask = json!({"mode": "embedded", "url": url, "sessionId": self.session});
        self.house.connected(ask);
        self.showing(title)
    }

    /// Waits until the first tab has this title; answers it.
    pub(crate) fn showing(&self, title: &str) -> String {
        let state = self.house.until(|state| state["tabs"][0]["title"] == title);
        state["tabs"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Shares a tab, or the one that is shown.
    pub(crate) fn share(&self, session: &str, tab: Option<&str>) {
        let mut ask = json!({ "sessionId": session });
        if let Some(tab) = tab {
            ask["tabId"] = tab.into();
        }
        self.house.post("/share", ask);
    }

    pub(crate) fn browser_tools(&self, token: &str) -> usize {
        let tools = mcp(&self.house, token, "tools/list", &json!({}));
        let tools = tools["tools"].as_array().unwrap();
        let is_browser = |tool: &&Value| tool["name"].as_str().unwrap().starts_with("browser_");
        tools.iter().filter(is_browser).count()
    }

    /// What a tool answers the session's agent: the code of its refusal, if it refuses.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> (Option<String>, Value) {
        call(&self.house, &self.token, tool, arguments)
    }

    pub(crate) fn done(&self, tool: &str, arguments: Value) -> Value {
        let (code, body) = self.call(tool, arguments);
        assert_eq!(code, None, "{tool}: {body}");
        body
    }

    pub(crate) fn refused(&self, tool: &str, arguments: Value) -> String {
        let (code, body) = self.call(tool, arguments);
        code.unwrap_or_else(|| panic!("{tool}: {body}"))
    }

    /// The ref of the first line of a new snapshot that holds these words.
    pub(crate) fn reference(&self, words: &str) -> String {
        let page = self.done("browser_snapshot", json!({}));
        reference(page["text"].as_str().unwrap(), words)
    }

    /// What a person types.
    pub(crate) fn types(&self, tab: &str, text: &str) -> Value {
        let state = self.house.state();
        let steps = json!([{"type": "text", "text": text}]);
        let ask = json!({"connectionId": state["connectionId"], "steps": steps});
        self.house.post(&format!("/tabs/{tab}/input"), ask)
    }

    /// The events of agents' actions so far.
    pub(crate) fn actions(&self) -> Vec<Value> {
        let events = events(&self.house);
        let is_action = |event: &Value| event["type"] == "browser_agent_action";
        let actions = events.into_iter().filter(is_action);
        actions.map(|event| event["data"].clone()).collect()
    }
}

/// Every event so far, from the hall's stream.
pub(crate) fn events(house: &ServerWithChromium) -> Vec<Value> {
    let port = house.server.port();
    // Something that is told, so that there is an end to read to.
    house.server.ask(
        "POST",
        "/api/rooms",
        Some(&json!({"kind": "channel", "title": "end"})),
    );
    let end = head(port);
    frames(port, "/api/events", 0, end)
}

/// A session whose agent's process runs; answers its id, its token, and that of the process.
pub(crate) fn session(house: &ServerWithChromium) -> (String, String, String) {
    let folder = house.scratch.path().join("work");
    fs::create_dir_all(&folder).unwrap();
    let ask = json!({"cwd": folder, "runtime": "rehearsal", "permissionMode": "autopilot",
        "acknowledgedAutonomy": true});
    let (status, session) = house.server.ask("POST", "/api/sessions", Some(&ask));
    assert_eq!(status, 201, "{session}");
    let id = session["id"].as_str().unwrap().to_owned();
    let known = bridges(house);
    // The first call starts the bridge that has the session's token.
    turn(
        house,
        &id,
        &[
            r#"#call call_mcp {"server": "guildhall", "tool": "rooms_list", "arguments": {}}"#,
            r#"#call run_command {"command": ["sh", "-c", "printenv GUILDHALL_AGENT_TOKEN > process"]}"#,
        ],
    );
    let own = bridges(house).into_iter().find(|one| !known.contains(one));
    let (_, token) = own.expect("a bridge runs");
    let process = fs::read_to_string(folder.join("process")).unwrap();
    (id, token, process.trim().to_owned())
}

/// Has the agent of a session do these things, and waits until it did.
pub(crate) fn turn(house: &ServerWithChromium, session: &str, lines: &[&str]) {
    let path = format!("/api/sessions/{session}");
    let body = json!({"content": lines.join("\n")});
    let (status, sent) = house
        .server
        .ask("POST", &format!("{path}/messages"), Some(&body));
    assert_eq!(status, 202, "{sent}");
    let end = Instant::now() + PATIENCE;
    loop {
        let (_, now) = house.server.ask("GET", &path, None);
        if now["state"] == "idle" && now["queuedCount"] == 0 {
            return;
        }
        assert!(Instant::now() < end, "{now}");
        thread::yield_now();
    }
}

/// The bridges to this house: their processes and tokens.
pub(crate) fn bridges(house: &ServerWithChromium) -> Vec<(u32, String)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let url = format!("GUILDHALL_URL={}", house.server.agent_url());
    let found = numbers.filter_map(|pid| {
        let proc = Path::new("/proc").join(pid.to_string());
        let words = fs::read(proc.join("cmdline")).ok()?;
        let variables = fs::read(proc.join("environ")).ok()?;
        let variables = String::from_utf8_lossy(&variables).into_owned();
        let is_bridge = String::from_utf8_lossy(&words).contains("\0bridge\0guildhall");
        let is_ours = variables.split('\0').any(|one| one == url);
        let token = variables
            .split('\0')
            .find_map(|one| one.strip_prefix("GUILDHALL_AGENT_TOKEN="))?;
        (is_bridge && is_ours).then(|| (pid, token.to_owned()))
    });
    found.collect()
}

pub(crate) fn mcp(house: &ServerWithChromium, token: &str, method: &str, params: &Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let shown = format!("Bearer {token}");
    let port = house.server.port();
    let (status, answer) = ask_as(Some(&shown), port, "POST", "/mcp", Some(&message)).unwrap();
    assert_eq!((status, &answer["error"]), (200, &Value::Null), "{answer}");
    answer["result"].clone()
}

pub(crate) fn call(
    house: &ServerWithChromium,
    token: &str,
    tool: &str,
    arguments: Value,
) -> (Option<String>, Value) {
    let mut params = json!({ "name": tool });
    params["arguments"] = arguments;
    let result = mcp(house, token, "tools/call", &params);
    let body = result["structuredContent"].clone();
    let told: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(told, body, "the text is the same");
    let is_refused = result["isError"] == true;
    let code = is_refused.then(|| body["code"].as_str().unwrap().to_owned());
    let body = if tool == "browser_screenshot" && !is_refused {
        result["content"][1].clone()
    } else {
        body
    };
    (code, body)
}

pub(crate) fn reference(text: &str, words: &str) -> String {
    let line = text.lines().find(|line| line.contains(words));
    let line = line.unwrap_or_else(|| panic!("no {words} in\n{text}"));
    let (_, rest) = line.split_once("[ref=").unwrap();
    rest.split_once(']').unwrap().0.to_owned()
}
