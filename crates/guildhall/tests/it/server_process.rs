//! The real binary on a data folder of its own, and the little HTTP these tests need.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::Value;

/// How long any one answer may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server; killed when dropped.
pub(crate) struct ServerProcess {
    child: Child,
    pub(crate) url: String,
    /// What it said at its start.
    pub(crate) hello: Vec<String>,
    data_dir: PathBuf,
    /// What this test shows of itself: the local token where people sign in.
    pub(crate) authorization: Option<String>,
}

impl ServerProcess {
    /// Starts a server on `data_dir`; port 0 picks a free one.
    pub(crate) fn start(data_dir: &Path, port: u16) -> Self {
        Self::start_with(data_dir, port, &[])
    }

    /// The same with further arguments.
    pub(crate) fn start_with(data_dir: &Path, port: u16, args: &[&str]) -> Self {
        let bind = format!("127.0.0.1:{port}");
        Self::start_with_log(data_dir, &[&["--bind", &bind], args].concat(), None)
    }

    /// Starts a server on `data_dir` with these variables beside its own.
    pub(crate) fn start_in(data_dir: &Path, env: &[(&str, &str)]) -> Self {
        Self::start_as(data_dir, &["--bind", "127.0.0.1:0"], env, None)
    }

    /// Starts a server with these arguments, which tells all it does to `log`.
    pub(crate) fn start_with_log(data_dir: &Path, args: &[&str], log: Option<File>) -> Self {
        Self::start_as(data_dir, args, &[], log)
    }

    /// Starts a server with these arguments and variables; what it does it tells to `log`.
    pub(crate) fn start_as(
        data_dir: &Path,
        args: &[&str],
        env: &[(&str, &str)],
        log: Option<File>,
    ) -> Self {
        let level = if log.is_some() { "trace" } else { "info" };
        let mut command = Command::new(env!("CARGO_BIN_EXE_guildhall"));
        command
            .env_remove("GUILDHALL_URL")
            .env_remove("GUILDHALL_AGENT_TOKEN")
            .envs(env.iter().copied())
            .env("GUILDHALL_LOG", level)
            .stderr(log.map_or_else(Stdio::null, Into::into));
        Self::spawn(command, data_dir, args)
    }

    /// Starts a server that [`Self::let_writes_fail`] does not end.
    pub(crate) fn start_outliving_failed_writes(data_dir: &Path) -> Self {
        let mut command = Command::new("env");
        command
            .arg("--ignore-signal=XFSZ")
            .arg(env!("CARGO_BIN_EXE_guildhall"))
            .env_remove("GUILDHALL_URL")
            .env_remove("GUILDHALL_AGENT_TOKEN")
            .stderr(Stdio::null());
        Self::spawn(command, data_dir, &["--bind", "127.0.0.1:0"])
    }

    /// Lets the kernel refuse every write to a file, or takes that back.
    pub(crate) fn let_writes_fail(&self, fail: bool) {
        use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
        let pid = Pid::from_child(&self.child);
        let own = getrlimit(Resource::Fsize);
        let limit = Rlimit {
            current: if fail { Some(0) } else { own.current },
            maximum: own.maximum,
        };
        prlimit(Some(pid), Resource::Fsize, limit).unwrap();
    }

    /// Starts a server whose environment is `env` and nothing else.
    pub(crate) fn start_bare(data_dir: &Path, env: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_guildhall"));
        let log = File::options()
            .create(true)
            .append(true)
            .open(data_dir.join("test.log"));
        command
            .env_clear()
            .envs(env.iter().copied())
            .stderr(log.unwrap());
        Self::spawn(command, data_dir, &["--bind", "127.0.0.1:0"])
    }

    fn spawn(mut command: Command, data_dir: &Path, args: &[&str]) -> Self {
        let mut child = command
            .arg("serve")
            .arg("--data-dir")
            .arg(data_dir)
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let lines = lines.map_while(Result::ok);
        let hello: Vec<_> = lines
            .take_while(|line| !line.starts_with("Press"))
            .collect();
        let first = hello.first().expect("the server says that it runs");
        let url = first.rsplit(' ').next().unwrap().to_owned();
        Self {
            child,
            url,
            hello,
            data_dir: data_dir.to_owned(),
            authorization: None,
        }
    }

    /// Kills the server as the kernel would, at this very moment.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks the server to stop and waits for its exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        self.terminate();
        self.child.wait().unwrap().code()
    }

    /// Asks the server to stop.
    pub(crate) fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// The server's process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.url.rsplit(':').next().unwrap().parse().unwrap()
    }

    /// The discovery file's path.
    pub(crate) fn discovery_file(&self) -> PathBuf {
        self.data_dir.join("run").join("server.json")
    }

    /// Where agents reach it.
    pub(crate) fn agent_url(&self) -> String {
        let told = std::fs::read(self.discovery_file()).unwrap();
        let told: Value = serde_json::from_slice(&told).unwrap();
        told["agentUrl"].as_str().unwrap().to_owned()
    }

    /// One request that must be answered.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        self.ask_with("", method, path, body)
    }

    /// One request that needs a card: says yes to what the card shows and asks again.
    pub(crate) fn ask_approved(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let wait = "Prefer: wait=0\r\n";
        let (status, required) = self.ask_with(wait, method, path, Some(body));
        assert_eq!(status, 202, "{method} {path}: {required}");
        let text = |name: &str| required[name].as_str().expect("a text");
        let card = format!("/api/approvals/{}", text("approvalId"));
        let (_, shown) = self.ask("GET", &card, None);
        let yes = serde_json::json!({"digest": shown["digest"]});
        let (status, granted) = self.ask("POST", &format!("{card}/grant"), Some(&yes));
        assert_eq!(status, 200, "{granted}");
        let token = format!("X-Service-Approval: {}\r\n", text("approvalToken"));
        self.ask_with(&token, method, path, Some(body))
    }

    /// What one request is answered, head and body.
    pub(crate) fn answer(&self, method: &str, path: &str, body: Option<&Value>) -> String {
        let lines = line_of(self.authorization.as_deref());
        answer(&lines, self.port(), method, path, body).expect("an answer")
    }

    /// The cookie that the answer to one request sets, as `name=value`.
    pub(crate) fn cookie(&self, method: &str, path: &str, body: Option<&Value>) -> String {
        let answer = self.answer(method, path, body);
        let mut lines = answer.lines();
        let set = lines.find_map(|line| line.strip_prefix("set-cookie: "));
        let set = set.unwrap_or_else(|| panic!("{method} {path} sets none: {answer}"));
        set.split(';').next().expect("a cookie").to_owned()
    }

    /// One request with further lines in its head, each with its end.
    pub(crate) fn ask_with(
        &self,
        lines: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let lines = line_of(self.authorization.as_deref()) + lines;
        ask_with(&lines, self.port(), method, path, body).expect("an answer")
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // A server that ended already is what we want.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One request on a connection of its own; `None` when the connection broke before the answer.
pub(crate) fn ask(
    port: u16,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Option<(u16, Value)> {
    ask_as(None, port, method, path, body)
}

/// The same showing what is given as `Authorization`.
pub(crate) fn ask_as(
    authorization: Option<&str>,
    port: u16,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Option<(u16, Value)> {
    ask_with(&line_of(authorization), port, method, path, body)
}

/// The same with further lines in its head, each with its end.
fn ask_with(
    lines: &str,
    port: u16,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Option<(u16, Value)> {
    let answer = answer(lines, port, method, path, body)?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let is_chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    let body = if is_chunked {
        whole(body)?
    } else {
        body.to_owned()
    };
    let body = if body.is_empty() {
        Value::Null
    } else {
        serde_json::from_str(&body).ok()?
    };
    Some((status, body))
}

/// What one request is answered, head and body.
fn answer(
    lines: &str,
    port: u16,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Option<String> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
    socket.set_read_timeout(Some(PATIENCE)).ok()?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{lines}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).ok()?;
    socket.write_all(body.as_bytes()).ok()?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).ok()?;
    String::from_utf8(answer).ok()
}

/// A body that comes in chunks, put together. Source: RFC 9112 §7.1.
fn whole(mut chunks: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (length, rest) = chunks.split_once("\r\n")?;
        let length = usize::from_str_radix(length, 16).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.push_str(rest.get(..length)?);
        chunks = rest.get(length..)?.strip_prefix("\r\n")?;
    }
}

/// The line of a head that shows this.
pub(crate) fn line_of(authorization: Option<&str>) -> String {
    authorization.map_or_else(String::new, |shown| format!("Authorization: {shown}\r\n"))
}

/// The seqs of the events that a stream brings behind `after`, until one is `until` or the
/// connection breaks.
pub(crate) fn events(port: u16, path: &str, after: u64, until: u64) -> Vec<u64> {
    let frames = frames(port, path, after, until);
    frames
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect()
}

/// The events themselves.
pub(crate) fn frames(port: u16, path: &str, after: u64, until: u64) -> Vec<Value> {
    let mut events = Vec::new();
    let Ok(mut socket) = TcpStream::connect(("127.0.0.1", port)) else {
        return events;
    };
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: {after}\r\n\r\n");
    if socket.write_all(request.as_bytes()).is_err() {
        return events;
    }
    for line in BufReader::new(socket).lines() {
        let Ok(line) = line else { break };
        // A frame cut off by a kill has no whole data line; its event comes again.
        let data = line
            .strip_prefix("data: ")
            .and_then(|text| serde_json::from_str(text).ok());
        let Some(event): Option<Value> = data else {
            continue;
        };
        let seq = event["seq"].as_u64();
        events.push(event);
        if seq >= Some(until) {
            break;
        }
    }
    events
}

/// The newest event, as a read of the rooms says it.
pub(crate) fn head(port: u16) -> u64 {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let request = "GET /api/rooms HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let head = answer
        .lines()
        .find_map(|line| line.strip_prefix("x-event-seq: "));
    head.expect("every read says at which event")
        .trim()
        .parse()
        .unwrap()
}
