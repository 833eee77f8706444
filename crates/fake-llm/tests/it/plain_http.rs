//! A plain HTTP client, so that a test sees the bytes that an agent would.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use guildhall_fake_llm::FakeLlm;
use serde_json::Value;

/// An answer.
pub(crate) struct PlainResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl PlainResponse {
    /// The body as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The data of every server-sent event that is JSON, in order.
    pub(crate) fn events(&self) -> Vec<Value> {
        assert!(self.head.contains("text/event-stream"), "{}", self.head);
        let lines = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        lines
            .filter_map(|data| serde_json::from_str(data).ok())
            .collect()
    }
}

/// Posts `body` with the key of the test.
pub(crate) fn post(server: &FakeLlm, path: &str, body: &Value) -> PlainResponse {
    send(
        server,
        "POST",
        path,
        "x-api-key: fake\r\n",
        body.to_string().as_bytes(),
    )
}

/// Sends a request; `headers` is whole lines.
pub(crate) fn send(
    server: &FakeLlm,
    method: &str,
    path: &str,
    headers: &str,
    body: &[u8],
) -> PlainResponse {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    PlainResponse {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
