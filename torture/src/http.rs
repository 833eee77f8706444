//! One connection to the server, and one request at a time over it.

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// How long an answer may take before it counts as none.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(30);
/// What parts the form of an upload; no file of ours holds it.
const BOUNDARY: &str = "----between-two-parts";

/// A connection, made when it is first needed.
pub(crate) struct Connection {
    server: SocketAddr,
    open: Option<BufReader<TcpStream>>,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Such as 200.
    pub(crate) status: u16,
    /// The lines of the head, without the first.
    head: Vec<String>,
    /// The whole body.
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn is_granted(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as JSON; null where it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The value of a line of the head.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.iter().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }

    /// Status and error code, for a sentence.
    pub(crate) fn named(&self) -> String {
        let code = self.json()["code"].as_str().unwrap_or("").to_owned();
        format!("{} {code}", self.status).trim_end().to_owned()
    }
}

impl Connection {
    pub(crate) fn new(server: SocketAddr) -> Self {
        Self { server, open: None }
    }

    /// Reads something.
    pub(crate) fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.ask("GET", path, "", "application/json", &[])
    }

    /// Asks for a change.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: &Value) -> io::Result<Answer> {
        self.send_with(method, path, "", body)
    }

    /// The same with further lines in the head, each with its end.
    pub(crate) fn send_with(
        &mut self,
        method: &str,
        path: &str,
        lines: &str,
        body: &Value,
    ) -> io::Result<Answer> {
        let body = body.to_string();
        self.ask(method, path, lines, "application/json", body.as_bytes())
    }

    /// Uploads one file.
    pub(crate) fn upload(&mut self, path: &str, name: &str, bytes: &[u8]) -> io::Result<Answer> {
        let mut body = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        )
        .into_bytes();
        body.extend_from_slice(bytes);
        body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        self.ask("POST", path, "", &kind, &body)
    }

    fn ask(
        &mut self,
        method: &str,
        path: &str,
        lines: &str,
        kind: &str,
        body: &[u8],
    ) -> io::Result<Answer> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => connect(self.server)?,
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{lines}Content-Type: {kind}\r\n\
             Content-Length: {}\r\n\r\n",
            self.server,
            body.len()
        );
        open.get_mut().write_all(head.as_bytes())?;
        open.get_mut().write_all(body)?;
        let answer = read_answer(&mut open)?;
        if answer.header("connection") != Some("close") {
            self.open = Some(open);
        }
        Ok(answer)
    }
}

fn connect(server: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    stream.set_write_timeout(Some(ANSWER_MAX))?;
    Ok(BufReader::new(stream))
}

/// Opens the event stream behind `after` and hands the connection over, in front of the answer.
pub(crate) fn open_stream(server: SocketAddr, after: u64) -> io::Result<BufReader<TcpStream>> {
    let mut open = connect(server)?;
    let request =
        format!("GET /api/events HTTP/1.1\r\nHost: {server}\r\nLast-Event-ID: {after}\r\n\r\n");
    open.get_mut().write_all(request.as_bytes())?;
    Ok(open)
}

fn read_answer(from: &mut impl BufRead) -> io::Result<Answer> {
    let status = read_line(from)?;
    let status = status.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.ok_or_else(|| io::Error::other("an answer has no status"))?;
    let mut head = Vec::new();
    loop {
        let line = read_line(from)?;
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let mut answer = Answer {
        status,
        head,
        body: Vec::new(),
    };
    if let Some(length) = answer.header("content-length") {
        let length: usize = length.parse().map_err(io::Error::other)?;
        answer.body = vec![0; length];
        from.read_exact(&mut answer.body)?;
    } else if answer.header("transfer-encoding").is_some() {
        answer.body = read_chunks(from)?;
    }
    Ok(answer)
}

/// A body that comes in chunks, put together. Source: RFC 9112 §7.1.
fn read_chunks(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let length = read_line(from)?;
        let length = usize::from_str_radix(&length, 16).map_err(io::Error::other)?;
        let start = body.len();
        body.resize(start + length, 0);
        from.read_exact(&mut body[start..])?;
        read_line(from)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

/// The next line without its end.
fn read_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 || !line.ends_with('\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_read_by_its_length_or_its_chunks() {
        let mut plain = &b"HTTP/1.1 201 Created\r\nContent-length: 2\r\n\r\n{}rest"[..];
        let answer = read_answer(&mut plain).unwrap();
        assert_eq!((answer.status, &*answer.body), (201, &b"{}"[..]));
        assert!(answer.is_granted());
        let mut chunks =
            &b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"[..];
        assert_eq!(read_answer(&mut chunks).unwrap().body, b"abc0123456789");
    }

    #[test]
    fn an_answer_that_is_cut_is_none() {
        for cut in [
            "",
            "HTTP/1.1 200",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
        ] {
            assert!(read_answer(&mut cut.as_bytes()).is_err(), "{cut}");
        }
    }
}
