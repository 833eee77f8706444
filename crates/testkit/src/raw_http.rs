//! Raw exchanges: bytes that no well-behaved client would send.

use std::net::SocketAddr;

use bytes::Bytes;
use hyper::{HeaderMap, header::HeaderName};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{responses::TestResponse, soon};

/// Sends bytes and reads one answer, to the end its head announces or the connection has.
pub(crate) async fn exchange(address: SocketAddr, bytes: &[u8]) -> TestResponse {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut from, mut to) = stream.into_split();
    let asked = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
    let write = async {
        // A server that refuses early takes no more bytes, which is its right.
        let _ = to.write_all(bytes).await;
        std::future::pending::<()>().await;
    };
    let read = async {
        let mut seen = Vec::new();
        let mut part = [0; 4_096];
        loop {
            if let Some(answer) = whole(&asked, &seen, false) {
                return answer;
            }
            match from.read(&mut part).await {
                Ok(0) | Err(_) => {
                    return whole(&asked, &seen, true).unwrap_or_else(|| {
                        panic!("{asked:?}: the connection ended with {seen:?}")
                    });
                }
                Ok(count) => seen.extend_from_slice(&part[..count]),
            }
        }
    };
    soon("a raw answer", async {
        tokio::select! {
            () = write => unreachable!("writing waits for the answer"),
            answer = read => answer,
        }
    })
    .await
}

fn whole(asked: &str, seen: &[u8], is_end: bool) -> Option<TestResponse> {
    let head_end = seen.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(seen[..head_end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let name = HeaderName::try_from(name).unwrap();
        headers.append(name, value.trim().try_into().unwrap());
    }
    let body = &seen[head_end + 4..];
    let announced = headers
        .get("content-length")
        .map(|length| length.to_str().unwrap().parse::<usize>().unwrap());
    let is_whole = is_end || announced.is_some_and(|length| body.len() >= length);
    is_whole.then(|| {
        let bytes = Bytes::copy_from_slice(body);
        TestResponse::new(asked.to_owned(), status, headers, bytes)
    })
}
