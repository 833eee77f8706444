//! WebSockets through previews: who gets one, and when bytes pass.

use std::{net::Ipv4Addr, time::Duration};

use guildhall_domain::callers::AuthMode;
use guildhall_testkit::{HallOptions, PASSWORD, TestCaller, TestHall, soon};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::dev_servers::{
    DevServerStub, OpenedPreview, PREVIEWS, exchange, hall, read_until, with_ports,
};

const HANDSHAKE: &str = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: vite-hmr\r\n";

const AGREED: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: vite-hmr\r\n\r\nhello";

#[tokio::test]
async fn a_websocket_passes_once_the_dev_server_agreed() {
    let t = hall().await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let shown = OpenedPreview::of(&t, port).await;
    let mut browser = TcpStream::connect((Ipv4Addr::LOCALHOST, shown.port))
        .await
        .unwrap();
    let own = format!("Origin: http://localhost:{}\r\n{HANDSHAKE}", shown.port);
    browser
        .write_all(shown.head("GET /hmr", &own).as_bytes())
        .await
        .unwrap();
    let (mut dev, _) = soon("the dev server's connection", listener.accept())
        .await
        .unwrap();
    let asked = read_until(&mut dev, "\r\n\r\n").await.to_ascii_lowercase();
    for line in [
        "get /hmr http/1.1",
        "upgrade: websocket",
        "connection: upgrade",
        "sec-websocket-protocol: vite-hmr",
    ] {
        assert!(asked.contains(&format!("{line}\r\n")), "{line} in {asked}");
    }
    assert!(asked.contains(&format!("origin: http://localhost:{port}\r\n")));
    assert!(!asked.contains("guildhall_"));
    dev.write_all(AGREED).await.unwrap();
    let agreed = read_until(&mut browser, "hello").await;
    assert!(agreed.starts_with("HTTP/1.1 101"), "{agreed}");
    assert!(agreed.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    for n in 0..50 {
        let (up, down) = (format!("up {n};"), format!("down {n};"));
        browser.write_all(up.as_bytes()).await.unwrap();
        read_until(&mut dev, &up).await;
        dev.write_all(down.as_bytes()).await.unwrap();
        read_until(&mut browser, &down).await;
    }
    let open = t.owner().get(PREVIEWS).await.ok(200);
    assert_eq!(open["previews"][0]["openSockets"], 1);
    // Closing the preview cuts it on both sides.
    t.owner()
        .delete(&format!("{PREVIEWS}/{port}"))
        .await
        .ok(204);
    for side in [&mut browser, &mut dev] {
        let mut rest = Vec::new();
        let _ = soon("the end of a socket", side.read_to_end(&mut rest)).await;
        assert!(rest.is_empty());
    }
    t.close().await;
}

#[tokio::test]
async fn a_websocket_is_refused_before_the_dev_server_hears_of_it() {
    let t = hall().await;
    let dev = DevServerStub::that(|_| String::from_utf8(AGREED.to_vec()).unwrap()).await;
    let shown = OpenedPreview::of(&t, dev.port).await;
    let port = shown.port;
    for (origin, status) in [
        ("Origin: http://localhost:1\r\n".to_owned(), 403),
        ("Origin: null\r\n".to_owned(), 403),
        (format!("Origin: http://127.0.0.1:{port}\r\n"), 403),
        (
            format!("Origin: http://localhost:{port}\r\nOrigin: http://localhost:{port}\r\n"),
            403,
        ),
        (format!("Origin: https://localhost:{port}\r\n"), 403),
        ("Content-Length: 3\r\n".to_owned(), 400),
        ("Transfer-Encoding: chunked\r\n".to_owned(), 400),
    ] {
        let head = shown.head("GET /ws", &format!("{origin}{HANDSHAKE}"));
        let answer = exchange(port, head.as_bytes()).await;
        assert_eq!(answer.status, status, "{origin}");
    }
    let early = format!("{}early", shown.head("GET /ws", HANDSHAKE));
    assert_eq!(exchange(port, early.as_bytes()).await.status, 400);
    let posted = shown.head("POST /ws", HANDSHAKE);
    assert_eq!(exchange(port, posted.as_bytes()).await.status, 400);
    assert_eq!(dev.accepted(), 0);
}

#[tokio::test]
async fn a_socket_that_sends_before_the_answer_is_refused_and_one_that_is_declined_is_told() {
    let t = hall().await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let shown = OpenedPreview::of(&t, listener.local_addr().unwrap().port()).await;
    let mut browser = TcpStream::connect((Ipv4Addr::LOCALHOST, shown.port))
        .await
        .unwrap();
    browser
        .write_all(shown.head("GET /", HANDSHAKE).as_bytes())
        .await
        .unwrap();
    let (mut dev, _) = soon("the dev server's connection", listener.accept())
        .await
        .unwrap();
    read_until(&mut dev, "\r\n\r\n").await;
    dev.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        .await
        .unwrap();
    let declined = read_until(&mut browser, "\r\n\r\nno").await;
    assert!(declined.starts_with("HTTP/1.1 403"), "{declined}");
    // Another protocol than that which was asked for is none.
    let mut browser = TcpStream::connect((Ipv4Addr::LOCALHOST, shown.port))
        .await
        .unwrap();
    browser
        .write_all(shown.head("GET /", HANDSHAKE).as_bytes())
        .await
        .unwrap();
    let (mut dev, _) = soon("the dev server's connection", listener.accept())
        .await
        .unwrap();
    read_until(&mut dev, "\r\n\r\n").await;
    dev.write_all(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    )
    .await
    .unwrap();
    let broken = read_until(&mut browser, "</html>").await;
    assert!(broken.starts_with("HTTP/1.1 502"), "{broken}");
}

#[tokio::test]
async fn other_protocols_are_not_passed_on() {
    let t = hall().await;
    let dev = DevServerStub::saying("plain").await;
    let shown = OpenedPreview::of(&t, dev.port).await;
    let h2c = "Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n";
    let head = shown.head("GET /", h2c);
    let answer = exchange(shown.port, head.as_bytes()).await;
    assert_eq!((answer.status, &*answer.body), (200, "plain"));
    let seen = dev.seen().join("").to_ascii_lowercase();
    assert!(
        !seen.contains("upgrade") && !seen.contains("http2"),
        "{seen}"
    );
}

#[tokio::test]
async fn no_more_connections_leave_http_than_may() {
    let t = hall().await;
    let dev = DevServerStub::that(|_| String::from_utf8(AGREED.to_vec()).unwrap()).await;
    let shown = OpenedPreview::of(&t, dev.port).await;
    let mut open = Vec::new();
    for _ in 0..64 {
        let mut browser = TcpStream::connect((Ipv4Addr::LOCALHOST, shown.port))
            .await
            .unwrap();
        browser
            .write_all(shown.head("GET /", HANDSHAKE).as_bytes())
            .await
            .unwrap();
        assert!(
            read_until(&mut browser, "hello")
                .await
                .starts_with("HTTP/1.1 101")
        );
        open.push(browser);
    }
    let head = shown.head("GET /", HANDSHAKE);
    let mut browser = TcpStream::connect((Ipv4Addr::LOCALHOST, shown.port))
        .await
        .unwrap();
    browser.write_all(head.as_bytes()).await.unwrap();
    let refused = read_until(&mut browser, "</html>").await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert_eq!(dev.accepted(), 64);
}

/// Both ends of a WebSocket through a preview that `by` opened: the browser's and the dev server's.
async fn open_socket(by: &TestCaller) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let shown = OpenedPreview::by(by, listener.local_addr().unwrap().port()).await;
    let mut browser = TcpStream::connect((Ipv4Addr::LOCALHOST, shown.port))
        .await
        .unwrap();
    let head = shown.head("GET /", HANDSHAKE);
    browser.write_all(head.as_bytes()).await.unwrap();
    let (mut dev, _) = soon("the dev server's connection", listener.accept())
        .await
        .unwrap();
    read_until(&mut dev, "\r\n\r\n").await;
    dev.write_all(AGREED).await.unwrap();
    read_until(&mut browser, "hello").await;
    (browser, dev)
}

async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    let _ = soon("the end of a socket", stream.read_to_end(&mut rest)).await;
    String::from_utf8(rest).unwrap()
}

#[tokio::test]
async fn one_half_of_a_socket_is_heard_out_and_not_waited_for_for_ever() {
    let options = HallOptions {
        preview_half_wait: Duration::from_millis(200),
        ..HallOptions::default()
    };
    let t = TestHall::open_with(with_ports(3, options)).await;
    let (mut browser, mut dev) = open_socket(&t.owner()).await;
    browser.shutdown().await.unwrap();
    dev.write_all(b"the last words").await.unwrap();
    dev.shutdown().await.unwrap();
    assert_eq!(read_to_end(&mut browser).await, "the last words");
    // A dev server that ends, and a browser that is gone without a word; and the other way round.
    let (browser, mut dev) = open_socket(&t.owner()).await;
    dev.shutdown().await.unwrap();
    assert_eq!(read_to_end(&mut dev).await, "");
    let (mut there, dev) = open_socket(&t.owner()).await;
    there.shutdown().await.unwrap();
    assert_eq!(read_to_end(&mut there).await, "");
    drop((browser, dev));
}

#[tokio::test]
async fn a_socket_ends_with_the_sign_in_and_with_the_time_of_its_address() {
    let options = HallOptions {
        mode: AuthMode::Login,
        ..HallOptions::default()
    };
    let t = TestHall::open_with(with_ports(3, options)).await;
    let again = t.sign_in("owner@example.org", PASSWORD).await;
    let (mut browser, mut dev) = open_socket(&again).await;
    let (mut other, mut other_dev) = open_socket(&t.owner()).await;
    again.post("/api/auth/logout", json!({})).await.ok(204);
    assert_eq!(read_to_end(&mut browser).await, "");
    assert_eq!(read_to_end(&mut dev).await, "");
    other_dev.write_all(b"still there").await.unwrap();
    read_until(&mut other, "still there").await;
    t.advance(1_800);
    // The clock of a test moves no timer: the next event is when the time is looked at.
    let room = json!({"kind": "channel", "title": "Later"});
    t.owner().post("/api/rooms", room).await.ok(201);
    assert_eq!(read_to_end(&mut other).await, "");
    assert_eq!(read_to_end(&mut other_dev).await, "");
}
