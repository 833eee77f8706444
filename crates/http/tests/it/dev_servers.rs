//! Dev servers that write down what they get, and a browser that says exactly what it is told.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU16, Ordering},
    },
};

use guildhall_domain::settings::{PREVIEW_PORTS, SettingSource, SettingValue};
use guildhall_testkit::{HallOptions, TestCaller, TestHall, soon};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// Ports that no other test tries: each test is a process, or a thread of one.
fn ports(count: u16) -> String {
    static USED: AtomicU16 = AtomicU16::new(0);
    let own = (std::process::id() % 400) as u16;
    let nth = USED.fetch_add(1, Ordering::Relaxed) % 4;
    let first = 20_000 + own * 24 + nth * 6;
    format!("{first}-{}", first + count - 1)
}

/// A hall with so many ports for previews.
pub(crate) fn with_ports(count: u16, options: HallOptions) -> HallOptions {
    let ports = SettingValue::Text(ports(count));
    let configured = Box::new([(&PREVIEW_PORTS, SettingSource::Flag, ports)]);
    HallOptions {
        configured: Box::leak(configured),
        ..options
    }
}

/// What a dev server says to a request.
type Responder = dyn Fn(&str) -> String + Send + Sync;

/// A dev server; it keeps what it got.
pub(crate) struct DevServerStub {
    pub(crate) port: u16,
    /// Every request as it came, one connection after the other.
    seen: Arc<Mutex<Vec<String>>>,
    accepted: Arc<AtomicU16>,
    _serving: JoinSet<()>,
}

impl DevServerStub {
    /// One that answers as `says`.
    pub(crate) async fn that(says: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, accepted) = (Arc::default(), Arc::new(AtomicU16::new(0)));
        let says: Arc<Responder> = Arc::new(says);
        let mut serving = JoinSet::new();
        let (log, count) = (Arc::clone(&seen), Arc::clone(&accepted));
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                connections.spawn(serve(stream, Arc::clone(&log), Arc::clone(&says)));
            }
        });
        Self {
            port,
            seen,
            accepted,
            _serving: serving,
        }
    }

    /// One that says the same to everything.
    pub(crate) async fn saying(body: &'static str) -> Self {
        Self::that(move |_| ok("Content-Type: text/html\r\n", body)).await
    }

    /// What it got so far.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// How many connections it got so far.
    pub(crate) fn accepted(&self) -> u16 {
        self.accepted.load(Ordering::SeqCst)
    }
}

/// An answer of 200.
pub(crate) fn ok(headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

async fn serve(mut stream: TcpStream, seen: Arc<Mutex<Vec<String>>>, says: Arc<Responder>) {
    let mut bytes = Vec::new();
    while let Some(request) = request(&mut stream, &mut bytes).await {
        seen.lock().unwrap().push(request.clone());
        let answer = says(&request);
        if stream.write_all(answer.as_bytes()).await.is_err() || !answer.starts_with("HTTP/1.1") {
            return;
        }
    }
}

/// The next request of a connection, head and body; `None` at its end.
async fn request(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(length) = whole(bytes) {
            let rest = bytes.split_off(length);
            let request = std::mem::replace(bytes, rest);
            return Some(String::from_utf8_lossy(&request).into_owned());
        }
        let mut part = [0; 4_096];
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&part[..count]),
        }
    }
}

fn whole(bytes: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(bytes);
    let head = text.find("\r\n\r\n")? + 4;
    let lower = text[..head].to_ascii_lowercase();
    let length = match lower.split("content-length: ").nth(1) {
        Some(rest) => head + rest.lines().next()?.trim().parse::<usize>().ok()?,
        None if lower.contains("transfer-encoding: chunked") => {
            head + text[head..].find("0\r\n\r\n")? + 5
        }
        None => head,
    };
    (bytes.len() >= length).then_some(length)
}

/// What came back over a raw connection.
#[derive(Debug)]
pub(crate) struct RawResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl RawResponse {
    fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        Self {
            status: status.unwrap_or(0),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// Every value of a header.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let lines = self
            .head
            .split("\r\n")
            .filter_map(|line| line.split_once(':'));
        lines
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .collect()
    }

    /// One header; `""` when it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.all(name).first().copied().unwrap_or_default()
    }
}

/// Sends bytes as they are and reads to the end of the connection.
pub(crate) async fn exchange(port: u16, bytes: &[u8]) -> RawResponse {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        .await
        .unwrap();
    // Who refuses early reads no more.
    let _ = stream.write_all(bytes).await;
    let mut seen = Vec::new();
    let _ = soon("the end of an answer", stream.read_to_end(&mut seen)).await;
    RawResponse::read(&seen)
}

/// A preview that a person opened, and the cookie the browser has for it.
pub(crate) struct OpenedPreview {
    /// Where it is.
    pub(crate) port: u16,
    pub(crate) url: String,
    pub(crate) cookie: String,
}

impl OpenedPreview {
    /// Opens the preview of a dev server and follows its address.
    pub(crate) async fn of(t: &TestHall, port: u16) -> Self {
        Self::by(&t.owner(), port).await
    }

    /// The same for somebody else than the owner.
    pub(crate) async fn by(who: &TestCaller, port: u16) -> Self {
        let ask = json!({"kind": "proxy", "port": port});
        let signed = who.post(SIGN, ask).await.ok(200);
        let url = signed["url"].as_str().unwrap().to_owned();
        let (authority, target) = url
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once('/'))
            .unwrap();
        let listen: u16 = authority.rsplit_once(':').unwrap().1.parse().unwrap();
        let ask =
            format!("GET /{target} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
        let entered = exchange(listen, ask.as_bytes()).await;
        assert_eq!(entered.status, 302, "{entered:?}");
        let cookie = entered.header("set-cookie").split(';').next().unwrap();
        Self {
            port: listen,
            cookie: cookie.to_owned(),
            url,
        }
    }

    /// Follows the address in a browser that shows these cookies.
    pub(crate) async fn enter(&self, cookies: &str) -> RawResponse {
        let (authority, target) = self.url[7..].split_once('/').unwrap();
        let ask = format!(
            "GET /{target} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nCookie: {cookies}\r\n\r\n"
        );
        exchange(self.port, ask.as_bytes()).await
    }

    /// The head of a request of this browser; `more` are further lines.
    pub(crate) fn head(&self, line: &str, more: &str) -> String {
        let (port, cookie) = (self.port, &self.cookie);
        format!("{line} HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\n{more}\r\n")
    }

    /// Asks once, over a connection of its own.
    pub(crate) async fn ask(&self, line: &str, more: &str) -> RawResponse {
        let head = self.head(line, &format!("Connection: close\r\n{more}"));
        exchange(self.port, head.as_bytes()).await
    }

    /// The token of the address.
    pub(crate) fn token(&self) -> &str {
        self.url.split_once("__guildhall_preview=").unwrap().1
    }
}

/// Reads until `end` came, and answers all that did.
pub(crate) async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut seen = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&seen).into_owned();
        if text.contains(end) {
            return text;
        }
        let mut part = [0; 4_096];
        let count = soon(end, stream.read(&mut part)).await.unwrap();
        assert_ne!(count, 0, "the end before {end:?}: {text}");
        seen.extend_from_slice(&part[..count]);
    }
}

/// A hall with three ports for previews.
pub(crate) async fn hall() -> TestHall {
    TestHall::open_with(with_ports(3, HallOptions::default())).await
}

/// Where addresses are asked for.
pub(crate) const SIGN: &str = "/api/workbench/sign";
/// Where the previews that are open are.
pub(crate) const PREVIEWS: &str = "/api/workbench/previews";
