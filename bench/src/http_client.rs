//! HTTP: a keep-alive client that is cheap enough to share two cores with the server.
//! Hand-written: it knows status lines, `Content-Length` and chunks, and nothing else.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{Result, timeouts::with_timeout};

/// Bytes of an answer's head that are read at most.
const HEAD_BYTES_MAX: usize = 64 * 1_024;

/// One connection that asks one thing after another.
pub(crate) struct HttpClient {
    stream: TcpStream,
    received: Vec<u8>,
    /// The first line of what was asked last, to tell of when no answer comes.
    asked: String,
}

/// An answer, held by the client until it asks again.
pub(crate) struct HttpResponse<'a> {
    /// Such as 200.
    pub(crate) status: u16,
    /// The whole body.
    pub(crate) body: &'a [u8],
}

impl HttpClient {
    /// Connects to the server.
    pub(crate) async fn connect(server: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            received: Vec::with_capacity(8 * 1_024),
            asked: String::new(),
        })
    }

    /// Connects `count` clients.
    pub(crate) async fn connect_many(server: SocketAddr, count: usize) -> Result<Vec<Self>> {
        let mut clients = Vec::with_capacity(count);
        for _ in 0..count {
            clients.push(Self::connect(server).await?);
        }
        Ok(clients)
    }

    /// Sends `request` whole and reads the answer whole.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<HttpResponse<'_>> {
        self.received.clear();
        self.asked.clear();
        let line = request.split(|byte| *byte == b'\r').next();
        let line = String::from_utf8_lossy(line.unwrap_or_default());
        self.asked.push_str(&line);
        with_timeout(&self.asked, self.stream.write_all(request)).await?;
        let (head_len, head) = loop {
            self.read_more().await?;
            if let Some(head_len) = find(&self.received, b"\r\n\r\n").map(|at| at + 4) {
                break (head_len, ResponseHead::parse(&self.received[..head_len])?);
            }
            if self.received.len() > HEAD_BYTES_MAX {
                return Err("an answer's head does not end".into());
            }
        };
        let Some(body_len) = head.body_len else {
            self.join_chunks(head_len).await?;
            return Ok(HttpResponse {
                status: head.status,
                body: &self.received[head_len..],
            });
        };
        let whole = head_len + body_len;
        self.received
            .reserve(whole.saturating_sub(self.received.len()));
        while self.received.len() < whole {
            self.read_more().await?;
        }
        Ok(HttpResponse {
            status: head.status,
            body: &self.received[head_len..whole],
        })
    }

    /// Sends `request` and holds the answer to one status.
    pub(crate) async fn expect(&mut self, request: &[u8], status: u16) -> Result<&[u8]> {
        let answer = self.ask(request).await?;
        if answer.status == status {
            Ok(answer.body)
        } else {
            let body = String::from_utf8_lossy(answer.body);
            Err(format!("the server answered {}: {body}", answer.status).into())
        }
    }

    /// Sends the request for a stream and hands over the connection.
    pub(crate) async fn into_stream(mut self, request: &[u8]) -> Result<TcpStream> {
        self.stream.write_all(request).await?;
        Ok(self.stream)
    }

    /// Reads the chunks of a body until the last one, and leaves what they hold.
    async fn join_chunks(&mut self, head_len: usize) -> Result<()> {
        let (mut read, mut end) = (head_len, head_len);
        loop {
            let line_end = loop {
                match find(&self.received[read..], b"\r\n") {
                    Some(place) => break read + place,
                    None => self.read_more().await?,
                }
            };
            let size = std::str::from_utf8(&self.received[read..line_end])?;
            let size = usize::from_str_radix(size, 16)?;
            let begins = line_end + 2;
            while self.received.len() < begins + size + 2 {
                self.read_more().await?;
            }
            self.received.copy_within(begins..begins + size, end);
            end += size;
            read = begins + size + 2;
            if size == 0 {
                self.received.truncate(end);
                return Ok(());
            }
        }
    }

    async fn read_more(&mut self) -> Result<()> {
        let read = self.stream.read_buf(&mut self.received);
        match with_timeout(&self.asked, read).await? {
            0 => Err(format!("{}: the server closed the connection", self.asked).into()),
            _ => Ok(()),
        }
    }
}

struct ResponseHead {
    status: u16,
    /// `None` when it comes in chunks.
    body_len: Option<usize>,
}

impl ResponseHead {
    fn parse(head: &[u8]) -> Result<Self> {
        let head = std::str::from_utf8(head)?;
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .ok_or("an answer has no status")?
            .parse()?;
        let mut body_len = Some(0);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.eq_ignore_ascii_case("content-length") {
                body_len = Some(value.trim().parse()?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                body_len = None;
            }
        }
        Ok(Self { status, body_len })
    }
}

/// A GET as bytes.
pub(crate) fn get(server: SocketAddr, path: &str) -> Vec<u8> {
    get_with(server, path, "")
}

/// A GET with further lines in its head, each with its end.
pub(crate) fn get_with(server: SocketAddr, path: &str, lines: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {server}\r\n{lines}\r\n").into_bytes()
}

/// A POST with a JSON body as bytes.
pub(crate) fn post(server: SocketAddr, path: &str, body: &serde_json::Value) -> Vec<u8> {
    post_with(server, path, "", body)
}

/// The same with further lines in its head, each with its end.
pub(crate) fn post_with(
    server: SocketAddr,
    path: &str,
    lines: &str,
    body: &serde_json::Value,
) -> Vec<u8> {
    with_json("POST", server, path, lines, body)
}

/// A PATCH with a JSON body as bytes.
pub(crate) fn patch(server: SocketAddr, path: &str, body: &serde_json::Value) -> Vec<u8> {
    with_json("PATCH", server, path, "", body)
}

/// A PUT with a JSON body as bytes.
pub(crate) fn put(server: SocketAddr, path: &str, body: &serde_json::Value) -> Vec<u8> {
    with_json("PUT", server, path, "", body)
}

fn with_json(
    method: &str,
    server: SocketAddr,
    path: &str,
    lines: &str,
    body: &serde_json::Value,
) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {server}\r\nContent-Type: application/json\r\n\
         {lines}Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Where `needle` begins.
pub(crate) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_gives_the_status_and_how_long_the_body_is() {
        let head =
            ResponseHead::parse(b"HTTP/1.1 201 Created\r\nContent-length: 12\r\n\r\n").unwrap();
        assert_eq!((head.status, head.body_len), (201, Some(12)));
        let head =
            ResponseHead::parse(b"HTTP/1.1 204 No Content\r\nx-event-seq: 3\r\n\r\n").unwrap();
        assert_eq!((head.status, head.body_len), (204, Some(0)));
        let head =
            ResponseHead::parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        assert_eq!((head.status, head.body_len), (200, None));
        assert!(ResponseHead::parse(b"nonsense").is_err());
    }

    #[tokio::test]
    async fn chunks_are_joined_wherever_they_are_cut() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = HttpClient::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
            3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n";
        let answered = async {
            for byte in answer.chunks(3) {
                server.write_all(byte).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        let (asked, ()) = tokio::join!(client.expect(b"x", 200), answered);
        assert_eq!(asked.unwrap(), b"abc0123456789");
    }
}
