//! What a test does to a house with a browser from outside: looks at its processes, reads its
//! events, looks on at its stream.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use guildhall_world::{
    chromium::{self, SearchPaths},
    scratch::Scratch,
};
use rustix::process;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{
    self, Message, WebSocket, client::IntoClientRequest, http::HeaderValue,
};

use crate::{
    browser_server::{BROWSER, ServerWithChromium, is_installed},
    server_process::{self, ServerProcess},
};

/// How long a process may outlive its browser or server: contract 7.12 (6) says six seconds, and
/// a computer with much to do gets twice that.
pub(crate) const AFTERLIFE: Duration = Duration::from_secs(12);
/// How long anything else may take that must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(45);

/// Looks again until something is there.
pub(crate) fn until_some<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look)
}

fn within<T>(patience: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "it did not come: {what}");
        thread::park_timeout(Duration::from_millis(10));
    }
}

impl ServerWithChromium {
    /// A house whose server has further variables.
    pub(crate) fn with(env: &[(&str, &str)]) -> Option<Self> {
        Self::made(|_| env.iter().map(|(n, v)| (*n, (*v).to_owned())).collect())
    }

    /// A house whose server has the variables that are made for its folder.
    pub(crate) fn made<'a>(env: impl FnOnce(&Path) -> Vec<(&'a str, String)>) -> Option<Self> {
        if !is_installed() {
            return None;
        }
        let scratch = Scratch::new("browser");
        let env = env(scratch.path());
        let env: Vec<_> = env.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let server = Self::begin(&scratch, &env, None);
        Some(Self { scratch, server })
    }

    /// Starts a server in a folder, with these variables beside the usual ones.
    pub(crate) fn begin(
        scratch: &Scratch,
        more: &[(&str, &str)],
        log: Option<fs::File>,
    ) -> ServerProcess {
        let home = scratch.path().to_str().unwrap();
        let mut env = vec![("HOME", home), ("GUILDHALL_FILES_ROOTS", home)];
        if !chromium::can_be_sandboxed() {
            env.push(("GUILDHALL_BROWSER_NO_SANDBOX", "1"));
        }
        env.extend(more);
        let args = ["--bind", "127.0.0.1:0"];
        ServerProcess::start_as(&scratch.path().join("data"), &args, &env, log)
    }

    /// Ends the server as `end` does, and starts another one on the same data.
    pub(crate) fn again(self, end: impl FnOnce(ServerProcess)) -> Self {
        let Self { scratch, server } = self;
        end(server);
        let server = Self::begin(&scratch, &[], None);
        Self { scratch, server }
    }

    /// Asks for something below the browser's routes, whatever comes of it.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = Some(body).filter(|body| !body.is_null());
        self.server.ask(method, &format!("{BROWSER}{path}"), body)
    }

    /// Sends the tab that is shown to an address, and waits until that has loaded.
    pub(crate) fn visit(&self, url: &str) -> Value {
        let tab = self.shown();
        self.post(&format!("/tabs/{tab}/navigate"), json!({"url": url}));
        self.until(|state| {
            let tab = tab_of(state, &tab);
            tab["url"].as_str() == Some(url) && tab["loading"] == false
        })
    }

    /// Looks again until it is so, where our keeper may have been killed too: until all it kept
    /// is gone nobody is known to be the owner, and then the owner is.
    pub(crate) fn until_known(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        until_some("the owner's state", || {
            let (status, state) = self.ask("GET", "", &Value::Null);
            if status == 403 {
                assert_eq!(state["code"], "OWNER_HERE_ONLY");
                return None;
            }
            is_so(&state).then_some(state)
        })
    }

    /// The tab that is shown.
    pub(crate) fn shown(&self) -> String {
        text(&self.state()["selectedTabId"])
    }

    /// Waits until the tab that is shown is called this.
    pub(crate) fn until_title(&self, title: &str) -> Value {
        self.until(|state| {
            let shown = state["selectedTabId"].as_str().unwrap_or_default();
            tab_of(state, shown)["title"] == title
        })
    }

    /// What a tab shows, as soon as it is so; selected with the keyboard as a person would.
    pub(crate) fn until_reads(&self, tab: &str, is_so: impl Fn(&str) -> bool) -> String {
        let all = json!([{"type": "keyDown", "key": "a", "code": "KeyA", "modifiers": 2},
            {"type": "keyUp", "key": "a", "code": "KeyA", "modifiers": 2}]);
        until_some("the words of a page", || {
            let input = json!({"connectionId": self.state()["connectionId"], "steps": all});
            // A page on its way may take no input.
            self.ask("POST", &format!("/tabs/{tab}/input"), &input);
            let (_, selected) = self.ask("GET", &format!("/tabs/{tab}/selection"), &Value::Null);
            let words = selected["text"].as_str()?.to_owned();
            is_so(&words).then_some(words)
        })
    }

    /// Opens a session, with an agent of its own.
    pub(crate) fn session(&self) -> String {
        let folder = self.scratch.path().join("work");
        fs::create_dir_all(&folder).unwrap();
        let ask = json!({"cwd": folder, "runtime": "rehearsal"});
        let (status, session) = self.server.ask("POST", "/api/sessions", Some(&ask));
        assert_eq!(status, 201, "{session}");
        text(&session["id"])
    }

    /// Everything that was told of the browser, in order: names and data.
    pub(crate) fn browser_events(&self) -> Vec<(String, Value)> {
        let port = self.server.port();
        let head = server_process::head(port);
        if head == 0 {
            return Vec::new();
        }
        // Of everything, because the newest event need not be of the browser.
        let all = server_process::frames(port, "/api/events", 0, head);
        let told = all.into_iter().filter_map(|event| {
            let name = event["type"].as_str()?.strip_prefix("browser_")?.to_owned();
            event["seq"].is_u64().then(|| (name, event["data"].clone()))
        });
        told.collect()
    }

    /// Chromium's own first process.
    pub(crate) fn main_process(&self) -> Option<u32> {
        self.of_type(None).first().copied()
    }

    /// Chromium's processes of a type; `None` is the first one.
    pub(crate) fn of_type(&self, kind: Option<&str>) -> Vec<u32> {
        let below = below(self.server.pid());
        let is_it = |pid: &u32| {
            let line = command_of(*pid);
            if !line.contains("chrom") || line.contains(" keeper ") {
                return false;
            }
            match kind {
                Some(kind) => line.contains(kind),
                None => {
                    line.contains("--remote-debugging-pipe")
                        && !line.contains("--type=")
                        && is_chromium(*pid)
                }
            }
        };
        let mut found: Vec<_> = below.into_iter().filter(is_it).collect();
        if kind.is_none() {
            // One that forks looks twice like itself, until the other is another program.
            let first = found.clone();
            let is_fork = |pid: &u32| stat(*pid).is_some_and(|(up, _)| first.contains(&up));
            found.retain(|pid| !is_fork(pid));
        }
        found.sort_unstable();
        found
    }

    /// Waits until everything of these has ended.
    pub(crate) fn gone(&self, processes: &[ProcessAndStart]) {
        within(AFTERLIFE, "their end", || {
            processes.iter().all(|seen| !lives(*seen)).then_some(())
        });
        assert_eq!(self.processes(), [0; 0], "of the profile");
    }
}

/// A process of the moment it was seen in: its number and when it began.
pub(crate) type ProcessAndStart = (u32, u64);

/// Every process below this one, as they are now.
pub(crate) fn seen_below(root: u32) -> Vec<ProcessAndStart> {
    let known = below(root).into_iter();
    known.filter_map(|pid| Some((pid, stat(pid)?.1))).collect()
}

pub(crate) fn below(root: u32) -> Vec<u32> {
    let mut children = BTreeMap::<u32, Vec<u32>>::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.parse().ok());
        if let Some((pid, (parent, _))) = pid.and_then(|pid| Some((pid, stat(pid)?))) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let (mut found, mut above) = (Vec::new(), vec![root]);
    while let Some(parent) = above.pop() {
        let below = children.remove(&parent).unwrap_or_default();
        above.extend(&below);
        found.extend(below);
    }
    found
}

/// A process's parent and when it began, unless it has ended (proc(5), `/proc/pid/stat`).
fn stat(pid: u32) -> Option<(u32, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let begun = fields.nth(17)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some((parent, begun))
}

fn lives((pid, begun): ProcessAndStart) -> bool {
    stat(pid).is_some_and(|(_, now)| now == begun)
}

fn command_of(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// Whether it runs Chromium itself, and no script around it.
fn is_chromium(pid: u32) -> bool {
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    ["chrom", "msedge"].iter().any(|known| name.contains(known))
}

/// Kills a process as the kernel would.
pub(crate) fn kill(pid: u32) {
    if let Some(pid) = process::Pid::from_raw(pid.cast_signed()) {
        // One that has ended already needs no kill.
        let _ = process::kill_process(pid, process::Signal::KILL);
    }
}

/// Kills the whole group of a process.
pub(crate) fn kill_group_of(pid: u32) {
    let pid = process::Pid::from_raw(pid.cast_signed()).unwrap();
    let group = process::getpgid(Some(pid)).unwrap();
    process::kill_process_group(group, process::Signal::KILL).unwrap();
}

/// Chromium as it is found here.
pub(crate) fn chromium() -> PathBuf {
    chromium::executable(&SearchPaths {
        path: std::env::var_os("PATH"),
        ..SearchPaths::default()
    })
    .unwrap()
}

/// A program in `folder` made of these lines of bash; `$CHROMIUM` is Chromium.
pub(crate) fn program(folder: &Path, lines: &str) -> String {
    let path = folder.join("browser-of-the-test");
    let chromium = chromium();
    let text = format!("#!/bin/bash\nCHROMIUM={}\n{lines}\n", chromium.display());
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Chromium, with all it is told written down in the file `said` of the house's folder.
pub(crate) fn with_recorded_input() -> Option<ServerWithChromium> {
    ServerWithChromium::made(|folder| {
        let lines = r#"exec 3< <(exec tee -a "$HOME/said" <&3); exec "$CHROMIUM" "$@""#;
        vec![("GUILDHALL_BROWSER", program(folder, lines))]
    })
}

/// How often an overheard Chromium was told this.
pub(crate) fn times_said(house: &ServerWithChromium, method: &str) -> usize {
    let said = fs::read(house.scratch.path().join("said")).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    said.matches(&format!("\"method\":\"{method}\"")).count()
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// A tab of a state; null when it is not there.
pub(crate) fn tab_of<'a>(state: &'a Value, id: &str) -> &'a Value {
    let tabs = state["tabs"].as_array().map(Vec::as_slice);
    let tab = tabs.unwrap_or_default().iter().find(|tab| tab["id"] == id);
    tab.unwrap_or(&Value::Null)
}

/// What a raw request is answered with: its status and all that follows.
pub(crate) fn raw(port: u16, head: &str, body: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(
        socket,
        "{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

/// Who looks on at the stream.
pub(crate) struct StreamViewer(WebSocket<TcpStream>);

/// What a viewer hears.
#[derive(Debug)]
pub(crate) enum ViewerMessage {
    Words(Value),
    Picture(Vec<u8>),
    /// It was closed, with this code.
    Closed(u16),
}

impl StreamViewer {
    pub(crate) fn open(house: &ServerWithChromium) -> Self {
        Self::try_open(house).unwrap_or_else(|status| panic!("refused with {status}"))
    }

    /// Asks to look on; answers the status of a refusal.
    pub(crate) fn try_open(house: &ServerWithChromium) -> Result<Self, u16> {
        let port = house.server.port();
        let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let address = format!("ws://127.0.0.1:{port}{BROWSER}/stream");
        let mut request = address.into_client_request().unwrap();
        let protocol = HeaderValue::from_static("guildhall-browser.v1");
        let headers = request.headers_mut();
        headers.insert("sec-websocket-protocol", protocol);
        match tungstenite::client(request, socket) {
            Ok((socket, answer)) => {
                assert_eq!(
                    answer.headers()["sec-websocket-protocol"],
                    "guildhall-browser.v1"
                );
                Ok(Self(socket))
            }
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
                Err(answer.status().as_u16())
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn next(&mut self) -> ViewerMessage {
        loop {
            match self.0.read().expect("a message") {
                Message::Text(text) => {
                    return ViewerMessage::Words(serde_json::from_str(text.as_str()).unwrap());
                }
                Message::Binary(bytes) => return ViewerMessage::Picture(bytes.to_vec()),
                Message::Close(frame) => {
                    return ViewerMessage::Closed(frame.expect("a code").code.into());
                }
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    /// The next words of a type; pictures and other words are passed over.
    pub(crate) fn words(&mut self, kind: &str) -> Value {
        self.words_with(kind, |_| true)
    }

    pub(crate) fn words_with(&mut self, kind: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.next() {
                ViewerMessage::Words(words) if words["type"] == kind && is_so(&words) => {
                    return words;
                }
                ViewerMessage::Closed(code) => panic!("closed with {code}"),
                ViewerMessage::Words(_) | ViewerMessage::Picture(_) => {
                    assert!(Instant::now() < end, "{kind} did not come");
                }
            }
        }
    }

    /// The next picture.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        loop {
            match self.next() {
                ViewerMessage::Picture(bytes) => return bytes,
                ViewerMessage::Words(_) => {}
                ViewerMessage::Closed(code) => panic!("closed with {code}"),
            }
        }
    }

    pub(crate) fn say(&mut self, words: &Value) {
        self.say_text(&words.to_string());
    }

    pub(crate) fn say_text(&mut self, words: &str) {
        // Who was closed meanwhile reads that next.
        let _ = self.0.send(Message::text(words));
    }

    /// Turns to a tab; answers the number of the view.
    pub(crate) fn view(&mut self, tab: &str) -> u64 {
        self.say(&json!({"type": "view", "tabId": tab, "maxWidth": 640, "maxHeight": 480}));
        let view = self.words_with("view", |words| words["tabId"] == tab);
        view["viewId"].as_u64().unwrap()
    }

    pub(crate) fn acknowledge(&mut self, picture: &[u8]) {
        let (view, sequence) = (number(picture, 4), number(picture, 8));
        self.say(&json!({"type": "ack", "viewId": view, "sequence": sequence}));
    }

    /// Does steps; answers what became of them.
    pub(crate) fn input(&mut self, id: u64, view: u64, steps: &Value) -> Value {
        self.say(&json!({"type": "input", "id": id, "viewId": view, "steps": steps}));
        self.words_with("inputResult", |words| words["id"] == id)
    }

    /// Its socket is gone, without a word.
    pub(crate) fn vanish(self) {
        let socket = self.0.get_ref();
        socket.shutdown(std::net::Shutdown::Both).unwrap();
    }
}

/// Four bytes of a picture's header.
pub(crate) fn number(picture: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(picture[at..at + 4].try_into().unwrap())
}
