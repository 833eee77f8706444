//! Somebody who asks a server, keeps everything that it answers, and searches what it leaves.

use std::{
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    time::Duration,
};

use serde_json::Value;

/// How long any one answer may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who asks the server, and everything that was answered.
pub(crate) struct RecordingClient {
    pub(crate) port: u16,
    pub(crate) answers: String,
}

/// An answer, apart.
pub(crate) struct RecordedResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl RecordedResponse {
    pub(crate) fn header(&self, name: &str) -> String {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned()).unwrap_or_default()
    }
}

impl RecordingClient {
    /// Somebody who asks the server at this port.
    pub(crate) fn at(port: u16) -> Self {
        Self {
            port,
            answers: String::new(),
        }
    }

    pub(crate) fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: Option<&Value>,
    ) -> RecordedResponse {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let body = body.map(Value::to_string).unwrap_or_default();
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n{headers}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        self.answers.push_str(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
        assert!(
            !head.contains("chunked"),
            "a secret could hide between pieces"
        );
        RecordedResponse {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_owned(),
            body: serde_json::from_str(body).unwrap_or_default(),
        }
    }

    pub(crate) fn get(&mut self, path: &str) -> Value {
        let heard = self.ask("GET", path, "", None);
        assert_eq!(heard.status, 200, "{path}: {}", heard.body);
        heard.body
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let heard = self.ask(method, path, "", Some(body));
        let is_done = (200..300).contains(&heard.status);
        assert!(is_done, "{method} {path}: {} {}", heard.status, heard.body);
        heard.body
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Value {
        self.send("POST", path, body)
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

pub(crate) fn holds(bytes: &[u8], needle: &str) -> bool {
    let needle = needle.as_bytes();
    bytes.windows(needle.len()).any(|window| window == needle)
}

/// Whether a file below a folder holds this.
pub(crate) fn is_at_rest(folder: &Path, needle: &str) -> bool {
    std::fs::read_dir(folder).unwrap().flatten().any(|item| {
        let kind = item.file_type().unwrap();
        match (kind.is_dir(), kind.is_file()) {
            (true, _) => is_at_rest(&item.path(), needle),
            // One that is taken away meanwhile is at rest no more.
            (_, true) => std::fs::read(item.path()).is_ok_and(|bytes| holds(&bytes, needle)),
            _ => false,
        }
    })
}
