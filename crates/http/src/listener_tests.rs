//! Real sockets against a real listener. Limits are short, and every wait is for a socket.

use std::{io, net::Ipv4Addr, sync::atomic::Ordering};

use guildhall_domain::trusted_proxies::TrustedProxies;
use guildhall_hall::peer_lookup::{ScriptedPeers, own_uid};
use guildhall_listener::OPEN_BODIES_MAX;
use guildhall_world::process_tree::ProcessTrees;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use super::{
    test_listener::{LONG, RawClient, SHORT, TestListener},
    *,
};
use crate::origin::AllowedSources;

#[tokio::test]
async fn a_request_reaches_its_route_and_the_answer_is_signed() {
    let t = TestListener::open(Limits::default()).await;
    let answer = t.ask("GET /").await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "hello"));
    assert_eq!(answer.header("x-request-id"), "id-of-the-door");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
}

#[tokio::test]
async fn a_dribbled_head_is_answered_408_and_closed() {
    let t = TestListener::open(Limits {
        header_read: SHORT,
        ..Limits::default()
    })
    .await;
    let mut client = t.connect().await;
    client.send("GET / HTTP/1.1\r\nHost: loc").await;
    client.answer().await.refused(408, "REQUEST_TIMEOUT");
}

#[tokio::test]
async fn a_silent_socket_is_closed_without_a_word() {
    let t = TestListener::open(Limits {
        header_read: SHORT,
        ..Limits::default()
    })
    .await;
    assert_eq!(t.connect().await.rest().await, "");
}

#[tokio::test]
async fn a_resting_connection_is_closed_without_a_word() {
    let t = TestListener::open(Limits {
        keepalive_idle: SHORT,
        ..Limits::default()
    })
    .await;
    let mut client = t.connect().await;
    client.get("/").await;
    assert_eq!(client.next_answer().await.status, 200);
    client.get("/").await;
    assert_eq!(client.next_answer().await.status, 200);
    assert_eq!(client.rest().await, "");
}

#[tokio::test]
async fn a_peer_that_takes_no_bytes_is_closed() {
    let mut t = TestListener::open(Limits {
        stream_stall: SHORT,
        ..Limits::default()
    })
    .await;
    let mut client = t.connect().await;
    client.get("/flood").await;
    t.body_gone.recv().await.unwrap();
    let mut taken = Vec::new();
    let end = client.0.read_to_end(&mut taken).await;
    assert_eq!(end.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_stream_with_nothing_to_say_stays_open() {
    let mut t = TestListener::open(Limits {
        header_read: SHORT,
        keepalive_idle: SHORT,
        stream_stall: SHORT,
        ..Limits::default()
    })
    .await;
    let mut client = t.connect().await;
    client.get("/stream").await;
    let gone = timeout(4 * SHORT, t.body_gone.recv()).await;
    assert!(gone.is_err(), "the stream ended");
    drop(client);
    t.body_gone.recv().await.unwrap();
}

#[tokio::test]
async fn the_oldest_socket_without_a_head_makes_room() {
    let mut t = TestListener::open(Limits {
        connections_max: 3,
        ..Limits::default()
    })
    .await;
    let mut running = t.connect().await;
    running.get("/wait").await;
    t.entered.recv().await.unwrap();
    let mut oldest = t.connect().await;
    oldest.send("GET / HT").await;
    let mut younger = t.connect().await;
    // Whoever comes next is served, and only the oldest went.
    assert_eq!(t.ask("GET /").await.status, 200);
    oldest.closed().await;
    younger.get("/").await;
    assert_eq!(younger.next_answer().await.status, 200);
    t.stage.release.notify_one();
    assert_eq!(running.next_answer().await.body, "waited");
}

#[tokio::test]
async fn a_newcomer_is_closed_when_every_connection_is_at_work() {
    let mut t = TestListener::open(Limits {
        connections_max: 1,
        ..Limits::default()
    })
    .await;
    let mut running = t.connect().await;
    running.get("/wait").await;
    t.entered.recv().await.unwrap();
    t.connect().await.closed().await;
    t.stage.release.notify_one();
    assert_eq!(running.next_answer().await.body, "waited");
}

#[tokio::test]
async fn a_change_comes_to_its_end_although_its_client_is_gone() {
    let mut t = TestListener::open(Limits {
        connections_max: 1,
        ..Limits::default()
    })
    .await;
    let mut client = t.connect().await;
    client
        .send("POST /change HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        .await;
    t.entered.recv().await.unwrap();
    drop(client);
    // Another one is served as soon as the server has noticed.
    while !t.serves_another().await {}
    t.stage.release.notify_one();
    let done = tokio::time::timeout(LONG, t.entered.recv()).await;
    done.unwrap().unwrap();
}

#[tokio::test]
async fn a_request_too_many_is_told_to_come_back() {
    let mut t = TestListener::open(Limits {
        requests_in_flight_max: 1,
        ..Limits::default()
    })
    .await;
    let mut running = t.connect().await;
    running.get("/wait").await;
    t.entered.recv().await.unwrap();
    let refused = t.ask("GET /").await;
    refused.refused(503, "OVERLOADED");
    assert_eq!(refused.header("retry-after"), "1");
    t.stage.release.notify_one();
    assert_eq!(running.next_answer().await.body, "waited");
    assert_eq!(t.ask("GET /").await.status, 200);
}

/// A request whose body has begun and does not go on.
async fn begun(t: &mut TestListener, path: &str) -> RawClient {
    begun_from(t, path, None).await
}

/// The same through a proxy that says where it comes from.
async fn begun_from(t: &mut TestListener, path: &str, from: Option<&str>) -> RawClient {
    let mut client = t.connect().await;
    let from = from.map(|from| format!("X-Forwarded-For: {from}\r\n"));
    client
        .send(&format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: 9\r\n\r\nx",
            from.unwrap_or_default()
        ))
        .await;
    t.entered.recv().await.unwrap();
    client
}

#[tokio::test]
async fn whoever_waits_longest_for_a_body_gives_its_place_up_and_nobody_else_does() {
    let mut t = TestListener::open(Limits {
        requests_in_flight_max: 2,
        ..Limits::default()
    })
    .await;
    let mut oldest = begun(&mut t, "/read").await;
    let mut newer = begun(&mut t, "/read").await;
    assert_eq!(t.ask("GET /").await.status, 200);
    let answer = oldest.answer().await;
    answer.refused(408, "REQUEST_TIMEOUT");
    assert_eq!(answer.header("connection"), "close");
    newer.send("12345678").await;
    assert_eq!(newer.next_answer().await.body, "9 bytes");
    // Those at work keep their places, whether or not they had a body.
    let mut waiting = t.connect().await;
    waiting.get("/wait").await;
    t.entered.recv().await.unwrap();
    let mut change = t.connect().await;
    change
        .send("POST /change HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        .await;
    t.entered.recv().await.unwrap();
    t.ask("GET /").await.refused(503, "OVERLOADED");
    t.stage.release.notify_waiters();
    assert_eq!(waiting.next_answer().await.body, "waited");
}

#[tokio::test]
async fn bodies_of_open_routes_push_out_each_other_alone() {
    let mut t = TestListener::open(Limits::default()).await;
    let mut signed_in = begun(&mut t, "/read").await;
    let mut open = Vec::new();
    for _ in 0..=OPEN_BODIES_MAX {
        open.push(begun(&mut t, "/api/auth/login").await);
    }
    let answer = open.remove(0).answer().await;
    answer.refused(408, "REQUEST_TIMEOUT");
    for client in [&mut signed_in, open.last_mut().unwrap()] {
        client.send("12345678").await;
        assert_eq!(client.next_answer().await.body, "9 bytes");
    }
}

#[tokio::test]
async fn after_a_body_that_nobody_read_the_next_request_is_answered_or_the_connection_ends() {
    let t = TestListener::open(Limits::default()).await;
    let mut whole = t.connect().await;
    let with_body = "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n";
    whole.send(&format!("{with_body}body")).await;
    assert_eq!(whole.next_answer().await.body, "hello");
    whole.get("/").await;
    assert_eq!(whole.next_answer().await.body, "hello");
    let mut late = t.connect().await;
    late.send(with_body).await;
    let answer = late.answer().await;
    assert_eq!((answer.status, answer.header("connection")), (200, "close"));
}

#[tokio::test]
async fn bodies_of_the_network_that_waits_for_most_give_way_first() {
    let allowed = AllowedSources {
        proxies: TrustedProxies::parse(["127.0.0.1"]).unwrap(),
        ..AllowedSources::default()
    };
    let mut t = TestListener::open_behind(allowed).await;
    // The first one comes from elsewhere, and has waited longest.
    let mut other = begun_from(&mut t, "/api/auth/login", Some("2001:db8:1::1")).await;
    let mut crowd = Vec::new();
    for n in 0..OPEN_BODIES_MAX {
        let from = format!("2001:db8:2::{n:x}");
        crowd.push(begun_from(&mut t, "/api/auth/login", Some(&from)).await);
    }
    let answer = crowd.remove(0).answer().await;
    answer.refused(408, "REQUEST_TIMEOUT");
    other.send("12345678").await;
    assert_eq!(other.next_answer().await.body, "9 bytes");
}

#[tokio::test]
async fn a_refusal_of_a_request_with_a_body_says_that_the_connection_closes() {
    let mut t = TestListener::open(Limits {
        requests_in_flight_max: 1,
        ..Limits::default()
    })
    .await;
    let mut running = t.connect().await;
    running.get("/wait").await;
    t.entered.recv().await.unwrap();
    for (host, status, code) in [
        ("elsewhere", 403, "HOST_NOT_ALLOWED"),
        ("localhost", 503, "OVERLOADED"),
    ] {
        let mut client = t.connect().await;
        let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\n\r\n");
        client.send(&head).await;
        let answer = client.answer().await;
        answer.refused(status, code);
        assert_eq!(answer.header("connection"), "close");
    }
    t.stage.release.notify_one();
    assert_eq!(running.next_answer().await.body, "waited");
}

#[tokio::test]
async fn an_open_stream_is_no_running_request() {
    let t = TestListener::open(Limits {
        requests_in_flight_max: 1,
        ..Limits::default()
    })
    .await;
    let mut stream = t.connect().await;
    stream.get("/stream").await;
    let mut byte = [0];
    stream.0.read_exact(&mut byte).await.unwrap();
    assert_eq!(t.ask("GET /").await.status, 200);
}

#[tokio::test]
async fn a_stop_lets_running_requests_finish_and_closes_the_rest() {
    let mut t = TestListener::open(Limits {
        shutdown_grace: LONG,
        ..Limits::default()
    })
    .await;
    let (mut running, mut resting) = (t.connect().await, t.connect().await);
    resting.get("/").await;
    resting.next_answer().await;
    running.get("/wait").await;
    t.entered.recv().await.unwrap();
    t.begin_to_stop();
    assert_eq!(resting.rest().await, "");
    assert!(TcpStream::connect(t.address).await.is_err());
    t.stage.release.notify_one();
    let answer = running.answer().await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "waited"));
    t.stopped().await;
}

#[tokio::test]
async fn a_stop_cuts_what_does_not_finish_in_time() {
    let mut t = TestListener::open(Limits {
        shutdown_grace: SHORT,
        ..Limits::default()
    })
    .await;
    let (mut running, mut stream) = (t.connect().await, t.connect().await);
    running.get("/wait").await;
    stream.get("/stream").await;
    t.entered.recv().await.unwrap();
    t.begin_to_stop();
    t.stopped().await;
    running.closed().await;
    t.body_gone.recv().await.unwrap();
}

#[tokio::test]
async fn a_panic_is_answered_500_and_the_connection_goes_on() {
    let t = TestListener::open(Limits::default()).await;
    let mut client = t.connect().await;
    client.get("/panic").await;
    client.next_answer().await.refused(500, "INTERNAL_ERROR");
    client.get("/").await;
    assert_eq!(client.next_answer().await.body, "hello");
}

#[tokio::test]
async fn what_hyper_refuses_by_itself_has_the_envelope_too() {
    let t = TestListener::open(Limits::default()).await;
    let host = "Host: localhost\r\n";
    let many: String = (0..101).map(|at| format!("x-{at}: v\r\n")).collect();
    let giant = format!("x: {}\r\n", "v".repeat(200_000));
    for (head, status, code) in [
        ("\u{1}\u{2}\r\n\r\n".to_owned(), 400, "BAD_REQUEST"),
        (
            format!("GET / HTTP/1.1\r\n{host}bad header\r\n\r\n"),
            400,
            "BAD_REQUEST",
        ),
        (
            format!("POST / HTTP/1.1\r\n{host}Content-Length: 1\r\nContent-Length: 2\r\n\r\n"),
            400,
            "BAD_REQUEST",
        ),
        (
            format!("GET / HTTP/1.1\r\n{host}{many}\r\n"),
            431,
            "HEADERS_TOO_LARGE",
        ),
        (
            format!("GET / HTTP/1.1\r\n{host}{giant}\r\n"),
            431,
            "HEADERS_TOO_LARGE",
        ),
        (
            format!("GET /{} HTTP/1.1\r\n", "a".repeat(200_000)),
            414,
            "URI_TOO_LONG",
        ),
    ] {
        let mut client = t.connect().await;
        client.send(&head).await;
        client.answer().await.refused(status, code);
    }
    assert_eq!(t.stage.handled.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_guards_answer_ordinary_overruns() {
    let t = TestListener::open(Limits::default()).await;
    let long = "a".repeat(8 * 1_024);
    t.ask(&format!("GET /{long}"))
        .await
        .refused(414, "URI_TOO_LONG");
    let mut client = t.connect().await;
    let big = "v".repeat(32 * 1_024);
    client
        .send(&format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\nx: {big}\r\n\r\n"
        ))
        .await;
    client.next_answer().await.refused(431, "HEADERS_TOO_LARGE");
    client.send("GET / HTTP/1.1\r\n\r\n").await;
    client.next_answer().await.refused(400, "BAD_REQUEST");
    client.send("nonsense\r\n\r\n").await;
    client.answer().await.refused(400, "BAD_REQUEST");
}

#[tokio::test]
async fn no_handler_runs_for_a_host_that_is_not_ours() {
    let t = TestListener::open(Limits::default()).await;
    let mut client = t.connect().await;
    let mut asked = 0;
    for host in crate::origin::tests::hosts_that_fail() {
        // Spaces around a value are not part of it.
        if host.trim() != host {
            continue;
        }
        asked += 1;
        client
            .send(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"))
            .await;
        client.next_answer().await.refused(403, "HOST_NOT_ALLOWED");
    }
    assert!(asked >= 300, "{asked}");
    assert_eq!(t.stage.handled.load(Ordering::SeqCst), 0);
    client.get("/").await;
    assert_eq!(client.next_answer().await.body, "hello");
}

#[tokio::test]
async fn an_answer_arrives_although_the_body_was_not_read() {
    let t = TestListener::open(Limits::default()).await;
    let mut client = t.connect().await;
    let bytes = 2 * 1_024 * 1_024;
    client
        .send(&format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {bytes}\r\n\r\n"
        ))
        .await;
    client.send(&"b".repeat(bytes)).await;
    assert_eq!(client.answer().await.body, "hello");
}

#[tokio::test]
async fn a_connection_has_the_word_of_its_address() {
    let other = PeerOwner::User {
        uid: 65_534,
        inode: 7,
    };
    let source = Ipv4Addr::new(127, 0, 0, 9);
    let script = ScriptedPeers::default().with(source.into(), other);
    let t = TestListener::open_with(Limits::default(), PeerLookup::Scripted(script)).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((source, 0).into()).unwrap();
    let mut stranger = RawClient(socket.connect(t.address).await.unwrap());
    stranger.get("/peer").await;
    assert_eq!(stranger.next_answer().await.body, format!("{other:?}"));
    let own = t.ask("GET /peer").await.body;
    assert!(own.contains(&format!("uid: {}", own_uid())), "{own}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_kernel_names_our_own_user() {
    let t = TestListener::open_with(
        Limits::default(),
        PeerLookup::Kernel(ProcessTrees::default()),
    )
    .await;
    let mut client = t.connect().await;
    client.get("/peer").await;
    let first = client.next_answer().await.body;
    assert!(first.contains(&format!("uid: {}", own_uid())), "{first}");
    client.get("/peer").await;
    assert_eq!(client.next_answer().await.body, first);
}

const HANDSHAKE: &str = "GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
    Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
/// The text "hi", masked with zeros.
const HI: &[u8] = &[0x81, 0x82, 0, 0, 0, 0, b'h', b'i'];

async fn upgraded(t: &TestListener) -> RawClient {
    let mut client = t.connect().await;
    client.send(&format!("{HANDSHAKE}\r\n")).await;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.0.read_u8().await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 101"));
    client
}

#[tokio::test]
async fn a_websocket_outlives_the_deadlines_of_http() {
    let t = TestListener::open(Limits {
        header_read: SHORT,
        keepalive_idle: SHORT,
        connections_max: 1,
        ..Limits::default()
    })
    .await;
    let mut socket = upgraded(&t).await;
    let silence = timeout(4 * SHORT, socket.0.read_u8()).await;
    assert!(silence.is_err(), "closed: {silence:?}");
    // It still has the one place.
    t.connect().await.closed().await;
    socket.0.write_all(HI).await.unwrap();
    let mut echoed = [0; 4];
    socket.0.read_exact(&mut echoed).await.unwrap();
    assert_eq!(&echoed, b"\x81\x02hi");
}

#[tokio::test]
async fn a_websocket_that_takes_no_bytes_is_closed() {
    let t = TestListener::open(Limits {
        stream_stall: SHORT,
        ..Limits::default()
    })
    .await;
    let mut socket = upgraded(&t).await;
    // The echo fills both directions, so writing ends in an error once the server resets.
    let mut large = vec![0x82, 0xfe, 0xff, 0xff, 0, 0, 0, 0];
    large.resize(large.len() + 0xffff, b'x');
    while socket.0.write_all(&large).await.is_ok() {}
}

#[tokio::test]
async fn a_foreign_page_gets_no_websocket() {
    let t = TestListener::open(Limits::default()).await;
    let mut client = t.connect().await;
    client
        .send(&format!("{HANDSHAKE}Origin: http://evil.test\r\n\r\n"))
        .await;
    client
        .next_answer()
        .await
        .refused(403, "ORIGIN_NOT_ALLOWED");
}

#[tokio::test]
async fn a_stop_closes_websockets_after_the_grace() {
    let mut t = TestListener::open(Limits {
        shutdown_grace: SHORT,
        ..Limits::default()
    })
    .await;
    let mut socket = upgraded(&t).await;
    t.begin_to_stop();
    t.stopped().await;
    socket.closed().await;
}
