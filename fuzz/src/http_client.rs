//! HTTP: sends bytes and reads one answer, whatever was sent.
//! Hand-written: a client that keeps rules could not break them.

use std::{net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};

/// Bytes of an answer that are read; of a longer one the rest is left.
const ANSWER_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// How long a stream of events is read.
const STREAM_READ: Duration = Duration::from_millis(40);

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpResponse {
    /// Such as 200.
    pub(crate) status: u16,
    /// The head, as text.
    pub(crate) head: String,
    /// The body, of a stream what came at first.
    pub(crate) body: Vec<u8>,
}

impl HttpResponse {
    /// The body as JSON; null where it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The value of a line of the head.
    pub(crate) fn line(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }
}

/// How an exchange ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoResponse {
    /// The server closed the connection first.
    Closed,
    /// Nothing, or not all of it, came in time.
    Late,
    /// Nobody listens.
    Refused,
    /// What came is no HTTP.
    Garbled,
}

/// One connection after another to the same server.
pub(crate) struct HttpClient {
    server: SocketAddr,
    stream: Option<TcpStream>,
    received: Vec<u8>,
}

impl HttpClient {
    pub(crate) fn new(server: SocketAddr) -> Self {
        Self {
            server,
            stream: None,
            received: Vec::new(),
        }
    }

    /// Sends `request` and reads its answer within `patience`.
    ///
    /// A connection that was used before may be closed by the server at any time, and the request
    /// is sent once more on a new one.
    ///
    /// # Errors
    /// How it ended without an answer.
    pub(crate) async fn ask(
        &mut self,
        request: &[u8],
        patience: Duration,
    ) -> Result<HttpResponse, NoResponse> {
        if let Some(stream) = self.stream.take() {
            match self.exchange(stream, request, patience).await {
                Err(NoResponse::Closed) => {}
                other => return other,
            }
        }
        let connecting = timeout(patience, TcpStream::connect(self.server));
        let stream = match connecting.await {
            Ok(Ok(stream)) => stream,
            Ok(Err(_)) => return Err(NoResponse::Refused),
            Err(_) => return Err(NoResponse::Late),
        };
        // Only a delay is lost where it fails.
        let _ = stream.set_nodelay(true);
        self.exchange(stream, request, patience).await
    }

    /// Closes the connection.
    pub(crate) fn close(&mut self) {
        self.stream = None;
    }

    async fn exchange(
        &mut self,
        mut stream: TcpStream,
        request: &[u8],
        patience: Duration,
    ) -> Result<HttpResponse, NoResponse> {
        let deadline = Instant::now() + patience;
        self.received.clear();
        let is_head = request.starts_with(b"HEAD ");
        let (mut reader, mut writer) = stream.split();
        let received = &mut self.received;
        // The server may answer before it has read all and close.
        let sending = async {
            let _ = writer.write_all(request).await;
            std::future::pending::<()>().await;
        };
        let reading = read_answer(&mut reader, received, is_head);
        let read = async {
            tokio::select! {
                answer = reading => answer,
                () = sending => Err(NoResponse::Closed),
            }
        };
        let (answer, is_kept) = timeout_at(deadline, read)
            .await
            .map_err(|_| NoResponse::Late)??;
        if is_kept {
            self.stream = Some(stream);
        }
        Ok(answer)
    }
}

type Reader<'a> = tokio::net::tcp::ReadHalf<'a>;

/// The answer, and whether the connection can be used again.
async fn read_answer(
    reader: &mut Reader<'_>,
    received: &mut Vec<u8>,
    is_head: bool,
) -> Result<(HttpResponse, bool), NoResponse> {
    let head_len = loop {
        if let Some(place) = find(received, b"\r\n\r\n") {
            break place + 4;
        }
        if received.len() > ANSWER_BYTES_MAX {
            return Err(NoResponse::Garbled);
        }
        more(reader, received).await?;
    };
    let head = String::from_utf8_lossy(&received[..head_len]).into_owned();
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.ok_or(NoResponse::Garbled)?;
    let mut answer = HttpResponse {
        status,
        head,
        body: Vec::new(),
    };
    let is_closed = answer.line("connection") == Some("close");
    if answer
        .line("content-type")
        .is_some_and(|kind| kind.starts_with("text/event-stream"))
    {
        let reading = async { while more(reader, received).await.is_ok() {} };
        // A stream has no end; being late is how each of them ends.
        let _ = timeout(STREAM_READ, reading).await;
        answer.body = received[head_len..].to_vec();
        return Ok((answer, false));
    }
    if is_head || matches!(status, 100..200 | 204 | 304) {
        return Ok((answer, !is_closed && status != 101));
    }
    let chunked = answer.line("transfer-encoding").is_some();
    if chunked {
        let is_whole = read_chunks(reader, received, head_len).await?;
        answer.body = received[head_len..].to_vec();
        return Ok((answer, is_whole && !is_closed));
    }
    let Some(length) = answer
        .line("content-length")
        .and_then(|text| text.parse::<usize>().ok())
    else {
        while received.len() < ANSWER_BYTES_MAX && more(reader, received).await.is_ok() {}
        answer.body = received[head_len..].to_vec();
        return Ok((answer, false));
    };
    let is_whole = length < ANSWER_BYTES_MAX;
    let end = head_len + length.min(ANSWER_BYTES_MAX);
    while received.len() < end {
        more(reader, received).await?;
    }
    answer.body = received[head_len..end].to_vec();
    Ok((answer, is_whole && !is_closed && received.len() == end))
}

/// Joins the chunks behind the head; false where they are left unread from a point on.
async fn read_chunks(
    reader: &mut Reader<'_>,
    received: &mut Vec<u8>,
    head_len: usize,
) -> Result<bool, NoResponse> {
    let (mut read, mut end) = (head_len, head_len);
    loop {
        let line_end = loop {
            match find(&received[read..], b"\r\n") {
                Some(place) => break read + place,
                None => more(reader, received).await?,
            }
        };
        let size = String::from_utf8_lossy(&received[read..line_end]).into_owned();
        let size = usize::from_str_radix(size.trim(), 16).map_err(|_| NoResponse::Garbled)?;
        let begins = line_end + 2;
        if begins + size > ANSWER_BYTES_MAX {
            received.truncate(end);
            return Ok(false);
        }
        while received.len() < begins + size + 2 {
            more(reader, received).await?;
        }
        received.copy_within(begins..begins + size, end);
        end += size;
        read = begins + size + 2;
        if size == 0 {
            received.truncate(end);
            return Ok(true);
        }
    }
}

async fn more(reader: &mut Reader<'_>, received: &mut Vec<u8>) -> Result<(), NoResponse> {
    match reader.read_buf(received).await {
        Ok(1..) => Ok(()),
        Ok(0) | Err(_) => Err(NoResponse::Closed),
    }
}

/// Where `needle` begins.
fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to anything, where the server says this and closes.
    async fn answer_of(says: &'static [u8]) -> Result<HttpResponse, NoResponse> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = HttpClient::new(listener.local_addr().unwrap());
        let served = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(says).await.unwrap();
        };
        let patience = Duration::from_secs(5);
        tokio::join!(client.ask(b"GET / HTTP/1.1\r\n\r\n", patience), served).0
    }

    #[tokio::test]
    async fn every_kind_of_body_is_read_and_a_missing_answer_is_told() {
        let chunked = b"HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
        let answer = answer_of(chunked).await.unwrap();
        assert_eq!((answer.status, answer.body), (500, b"{}".to_vec()));
        let sized = answer_of(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]").await;
        assert_eq!(sized.unwrap().json(), serde_json::json!([]));
        assert_eq!(answer_of(b"").await, Err(NoResponse::Closed));
        assert_eq!(answer_of(b"no\r\n\r\n").await, Err(NoResponse::Garbled));
    }
}
