//! Bytes that are no good HTTP, or no HTTP at all: heads, lengths, chunks, upgrades.

use crate::rng::Rng;

/// Bytes of a head that is too large.
const LARGE: usize = 200_000;

/// Bytes to send on a connection of their own, and whether an answer has to come: to a request
/// that never ends none does.
pub(crate) fn bytes(host: &str, rng: &mut Rng) -> (Vec<u8>, bool) {
    let head =
        |line: &str, rest: &str| format!("{line}\r\nHost: {host}\r\n{rest}\r\n").into_bytes();
    let post = "POST /api/rooms HTTP/1.1";
    let get = "GET /api/rooms HTTP/1.1";
    let json = "Content-Type: application/json\r\n";
    let pad = |count| "a".repeat(count);
    match rng.below(34) {
        0 => (head("GET / HTTP/3.0", ""), true),
        1 => (head("get / http/1.1", ""), true),
        2 => (head("GET  /  HTTP/1.1", ""), true),
        3 => (head("GET /\u{e9} HTTP/1.1", ""), true),
        4 => (head("BREW /pot HTTP/1.1", ""), true),
        5 => (head("OPTIONS * HTTP/1.1", ""), true),
        6 => (head("TRACE /api/rooms HTTP/1.1", ""), true),
        7 => (head("CONNECT example.org:443 HTTP/1.1", ""), true),
        8 => (head("GET http://evil.test/api/rooms HTTP/1.1", ""), true),
        9 => (head(get, "Host: evil.test\r\n"), true),
        10 => (b"GET / HTTP/1.1\r\n\r\n".to_vec(), true),
        11 => (head(get, &format!("X-Long: {}\r\n", pad(LARGE))), true),
        12 => (head(get, &"X: 1\r\n".repeat(2_000)), true),
        13 => (head(&format!("GET /{} HTTP/1.1", pad(LARGE)), ""), true),
        14 => (head(get, "X\u{0}Y: 1\r\n"), true),
        15 => (head(get, " folded: 1\r\n"), true),
        16 => (head(get, "No colon\r\n"), true),
        17 => (
            head(post, "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
            true,
        ),
        18 => (head(post, "Content-Length: -1\r\n"), true),
        19 => (head(post, "Content-Length: 99999999999999999999\r\n"), true),
        20 => (
            head(
                post,
                "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
            ),
            true,
        ),
        21 => (
            head(
                post,
                &format!("{json}Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n"),
            ),
            true,
        ),
        22 => (
            head(
                post,
                &format!("{json}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\nx"),
            ),
            true,
        ),
        23 => (
            head(post, "Transfer-Encoding: gzip, chunked, chunked\r\n"),
            true,
        ),
        24 => (
            head(
                get,
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n",
            ),
            true,
        ),
        25 => (
            head(
                "GET /api/events HTTP/1.1",
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 99\r\n",
            ),
            true,
        ),
        26 => (
            head(
                get,
                "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n",
            ),
            true,
        ),
        // Whoever speaks HTTP/2 cannot read an answer in HTTP/1.1.
        27 => (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), false),
        28 => (head(get, "Expect: 200-maybe\r\n"), true),
        29 => {
            // Several at once; the first one's answer is read.
            let one = head(get, "");
            (one.repeat(20), true)
        }
        30 => (
            format!("GET /api/rooms HTTP/1.1\r\nHost: {host}\r\nX-Half").into_bytes(),
            false,
        ),
        31 => (
            head(post, &format!("{json}Content-Length: 500\r\n\r\n{{\"a\":")),
            false,
        ),
        32 => (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
            false,
        ),
        _ => {
            let count = 1 + rng.below(400);
            (rng.bytes(count), false)
        }
    }
}
