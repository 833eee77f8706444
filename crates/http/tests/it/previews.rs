//! Previews: what reaches a dev server, what comes back, and what never does either.

use std::{net::Ipv4Addr, sync::Mutex, time::Duration};

use guildhall_testkit::{HallOptions, TestHall, soon};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::dev_servers::{
    DevServerStub, OpenedPreview, PREVIEWS, SIGN, exchange, hall, ok, read_until, with_ports,
};

#[tokio::test]
async fn a_dev_server_is_shown_to_whoever_follows_its_address() {
    let t = hall().await;
    let dev = DevServerStub::saying("<h1>hello</h1>").await;
    let mut events = t.events();
    let shown = OpenedPreview::of(&t, dev.port).await;
    let opened = json!({"port": dev.port, "listenPort": shown.port});
    assert_eq!(events.next("preview_opened"), opened);
    assert!(dev.seen().is_empty(), "following the address asks nothing");

    let path = "/a?x=1&__guildhall_preview=TOKEN&y=2".replace("TOKEN", shown.token());
    let entered = exchange(
        shown.port,
        format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
            shown.port
        )
        .as_bytes(),
    )
    .await;
    assert_eq!(entered.status, 302);
    let place = format!("http://127.0.0.1:{}/a?x=1&y=2", shown.port);
    assert_eq!(entered.header("location"), place);
    assert_eq!(entered.header("referrer-policy"), "no-referrer");
    assert_eq!(entered.header("cache-control"), "no-store");
    let cookie = entered.header("set-cookie");
    let name = format!("guildhall_preview_{}={}", shown.port, shown.token());
    assert_eq!(cookie, format!("{name}; Path=/; HttpOnly; SameSite=Lax"));
    assert_eq!(entered.header("clear-site-data"), "");

    let answer = shown.ask("GET /a?x=1", "Accept: */*\r\n").await;
    assert_eq!((answer.status, &*answer.body), (200, "<h1>hello</h1>"));
    assert_eq!(answer.header("content-type"), "text/html");
    // The answer is the dev server's own.
    assert_eq!(answer.header("x-request-id"), "");
    assert_eq!(answer.header("x-content-type-options"), "");
    let seen = dev.seen();
    assert_eq!(seen.len(), 1);
    let log_id = t.hall().log_id();
    for line in [
        "GET /a?x=1 HTTP/1.1".to_owned(),
        format!("host: localhost:{}", dev.port),
        format!("via: 1.1 guildhall-{log_id}"),
        "accept: */*".to_owned(),
    ] {
        assert!(
            seen[0].contains(&format!("{line}\r\n")),
            "{line} in {seen:?}"
        );
    }

    // Opened once, however often it is asked for, and listed.
    OpenedPreview::of(&t, dev.port).await;
    events.none();
    let list = t.owner().get(PREVIEWS).await.ok(200);
    let one = &list["previews"][0];
    assert_eq!(
        (&one["port"], &one["listenPort"]),
        (&json!(dev.port), &json!(shown.port))
    );
    assert_eq!(one["openedAt"], json!(t.now().to_string()));
    assert_eq!(one["lastRequestAt"], json!(t.now().to_string()));
    assert_eq!(list["previews"].as_array().unwrap().len(), 1);
    t.close().await;
}

#[tokio::test]
async fn who_shows_no_token_for_this_preview_sends_the_dev_server_nothing() {
    let t = hall().await;
    let (dev, other) = (
        DevServerStub::saying("x").await,
        DevServerStub::saying("y").await,
    );
    let shown = OpenedPreview::of(&t, dev.port).await;
    let elsewhere = OpenedPreview::of(&t, other.port).await;
    let folder = t.folder("site");
    let served = t
        .owner()
        .post(SIGN, json!({"kind": "serve", "cwd": folder}))
        .await
        .ok(200);
    let served = served["url"]
        .as_str()
        .unwrap()
        .split('/')
        .nth(6)
        .unwrap()
        .to_owned();
    let port = shown.port;
    let own = format!("guildhall_preview_{port}");
    let changed = format!("{}x", shown.token());
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for cookie in [
        String::new(),
        format!("Cookie: {own}=\r\n"),
        format!("Cookie: {own}=nonsense\r\n"),
        format!("Cookie: {own}={changed}\r\n"),
        format!("Cookie: {own}={}\r\n", elsewhere.token()),
        format!("Cookie: {}\r\n", elsewhere.cookie),
        format!("Cookie: {own}={served}\r\n"),
        format!("Authorization: Bearer {}\r\n", shown.token()),
    ] {
        for (line, more) in [
            ("GET /", "Connection: close\r\n"),
            ("POST /x", "Connection: close\r\nContent-Length: 3\r\n"),
            ("GET /ws", upgrade),
        ] {
            let body = if line.starts_with("POST") { "abc" } else { "" };
            let ask =
                format!("{line} HTTP/1.1\r\nHost: localhost:{port}\r\n{cookie}{more}\r\n{body}");
            let answer = exchange(port, ask.as_bytes()).await;
            assert_eq!(answer.status, 401, "{ask}");
            assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
            assert!(answer.body.contains("Open the preview again"), "{answer:?}");
        }
    }
    for token in ["", "nonsense", &changed, elsewhere.token(), &served] {
        let ask = format!(
            "GET /?__guildhall_preview={token} HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {}\r\nConnection: close\r\n\r\n",
            shown.cookie
        );
        assert_eq!(exchange(port, ask.as_bytes()).await.status, 401, "{token}");
    }
    assert_eq!((dev.accepted(), other.accepted()), (0, 0));
    // A cookie of the same name that another page set keeps nobody out.
    let two = format!("Cookie: {own}=nonsense\r\n");
    assert_eq!(shown.ask("GET /", &two).await.status, 200);
    // Its time being over, it opens nothing any more.
    t.advance(1_800);
    assert_eq!(shown.ask("GET /", "").await.status, 401);
    assert_eq!(dev.seen().len(), 1);
}

#[tokio::test]
async fn nothing_of_ours_reaches_a_dev_server_and_it_sets_nothing_of_ours() {
    let t = hall().await;
    let dev = DevServerStub::that(|_| {
        ok(
            "Set-Cookie: a=1; Domain=localhost; Path=/\r\nSet-Cookie: guildhall_4747=evil\r\n\
             Set-Cookie: b=2\r\nX-Frame-HallOptions: DENY\r\n\
             Content-Security-Policy: default-src 'self'; frame-ancestors 'none'\r\n",
            "x",
        )
    })
    .await;
    let shown = OpenedPreview::of(&t, dev.port).await;
    let port = shown.port;
    let more = format!(
        "Cookie: guildhall_4747=secret-1; theirs=1; __Host-guildhall=secret-2; gh_flow=secret-3\r\n\
         Authorization: Bearer secret-4\r\nX-Service-Agent: secret-5\r\nX-Service-Approval: secret-6\r\n\
         Origin: http://localhost:{port}\r\nReferer: http://localhost:{port}/page\r\n\
         Proxy-Authorization: Basic secret-7\r\nKeep-Alive: timeout=5\r\nTE: trailers\r\n"
    );
    let answer = shown.ask("GET /", &more).await;
    assert_eq!(answer.status, 200);
    let seen = dev.seen().join("");
    for secret in ["secret-", "guildhall_", shown.token(), "keep-alive", "te: "] {
        assert!(!seen.contains(secret), "{secret} in {seen}");
    }
    let there = format!("http://localhost:{}", dev.port);
    for line in [
        "cookie: theirs=1".to_owned(),
        format!("origin: {there}"),
        format!("referer: {there}/page"),
    ] {
        assert!(seen.contains(&format!("{line}\r\n")), "{line} in {seen}");
    }
    assert_eq!(answer.all("set-cookie"), ["a=1; Path=/", "b=2"]);
    assert_eq!(answer.header("x-frame-options"), "");
    assert_eq!(
        answer.header("content-security-policy"),
        "default-src 'self'"
    );
}

#[tokio::test]
async fn a_thousand_requests_carry_no_cookie_of_ours() {
    let t = hall().await;
    let dev = DevServerStub::saying("x").await;
    let shown = OpenedPreview::of(&t, dev.port).await;
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, shown.port))
        .await
        .unwrap();
    for n in 0..1_000 {
        let more = format!("Cookie: guildhall_{n}=s{n}; GUILDHALL_preview_{n}=p{n}; c{n}=1\r\n");
        let head = shown.head(&format!("GET /{n}"), &more);
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\nx") {
            let mut part = [0; 1_024];
            let count = soon("an answer", stream.read(&mut part)).await.unwrap();
            assert_ne!(count, 0, "{}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&part[..count]);
        }
    }
    let seen = dev.seen();
    assert_eq!(seen.len(), 1_000);
    assert!(!seen.join("").to_ascii_lowercase().contains("guildhall_"));
    // Connections to the dev server are kept.
    assert!(dev.accepted() < 20, "{}", dev.accepted());
}

#[tokio::test]
async fn bytes_stream_both_ways_as_they_come() {
    let t = hall().await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let shown = OpenedPreview::of(&t, listener.local_addr().unwrap().port()).await;
    let mut browser = TcpStream::connect((Ipv4Addr::LOCALHOST, shown.port))
        .await
        .unwrap();
    let head = shown.head("POST /chat", "Transfer-Encoding: chunked\r\n");
    browser.write_all(head.as_bytes()).await.unwrap();
    browser.write_all(b"5\r\nfirst\r\n").await.unwrap();
    let (mut dev, _) = soon("the dev server's connection", listener.accept())
        .await
        .unwrap();
    read_until(&mut dev, "first").await;
    // The head and a first event come while the request is still being sent.
    dev.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n").await.unwrap();
    read_until(&mut browser, "data: 1").await;
    browser.write_all(b"6\r\nsecond\r\n").await.unwrap();
    read_until(&mut dev, "second").await;
    dev.write_all(b"9\r\ndata: 2\n\n\r\n").await.unwrap();
    read_until(&mut browser, "data: 2").await;
    browser.write_all(b"0\r\n\r\n").await.unwrap();
    read_until(&mut dev, "0\r\n\r\n").await;
    dev.write_all(b"0\r\n\r\n").await.unwrap();
    read_until(&mut browser, "0\r\n\r\n").await;
}

#[tokio::test]
async fn a_request_that_came_through_here_ends() {
    let t = hall().await;
    // A dev server that hands every request back to the preview, as a wrong setting would.
    let place: &'static Mutex<Option<(u16, String)>> = Box::leak(Box::default());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let asked = read_until(&mut stream, "\r\n\r\n").await;
        let via = asked.lines().find(|line| line.starts_with("via: ")).unwrap();
        let (port, cookie) = place.lock().unwrap().clone().unwrap();
        let again = format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\n{via}\r\nConnection: close\r\n\r\n");
        let back = exchange(port, again.as_bytes()).await;
        let said = ok("Connection: close\r\n", &back.status.to_string());
        stream.write_all(said.as_bytes()).await.unwrap();
    });
    let shown = OpenedPreview::of(&t, port).await;
    *place.lock().unwrap() = Some((shown.port, shown.cookie.clone()));
    let answer = shown.ask("GET /", "").await;
    assert_eq!((answer.status, &*answer.body), (200, "508"));
    // Also without any token, because a chain loses the cookies.
    let via = format!("Via: 1.0 other, 1.1 guildhall-{}\r\n", t.hall().log_id());
    let ask = format!(
        "GET / HTTP/1.1\r\nHost: localhost:{}\r\n{via}Connection: close\r\n\r\n",
        shown.port
    );
    assert_eq!(exchange(shown.port, ask.as_bytes()).await.status, 508);
}

#[tokio::test]
async fn a_chain_through_two_halls_and_its_own_ports_lead_nowhere() {
    let (one, two) = (hall().await, hall().await);
    let dev = DevServerStub::saying("x").await;
    let second = OpenedPreview::of(&two, dev.port).await;
    let first = OpenedPreview::of(&one, second.port).await;
    // The first hall takes its cookies out, and the second one knows nobody without them.
    assert_eq!(
        first
            .ask("GET /", &format!("Cookie: {}\r\n", second.cookie))
            .await
            .status,
        401
    );
    assert_eq!(dev.accepted(), 0);
    for port in [one.port(), one.agent_port(), first.port] {
        let ask = json!({"kind": "proxy", "port": port});
        one.owner()
            .post(SIGN, ask)
            .await
            .refused(400, "PORT_NOT_ALLOWED");
    }
}

#[tokio::test]
async fn no_preview_leads_to_another_hall() {
    let (one, two) = (hall().await, hall().await);
    // What asks there is a program of the other hall's own user, and so its owner.
    let shown = OpenedPreview::of(&one, two.port()).await;
    for (line, more) in [
        ("GET /api/rooms", ""),
        ("GET /", ""),
        ("POST /api/rooms", "Content-Length: 0\r\n"),
    ] {
        let answer = shown.ask(line, more).await;
        assert_eq!(answer.status, 403, "{line}");
        assert!(answer.body.contains("ORIGIN_NOT_ALLOWED"), "{answer:?}");
    }
    let own = format!("Origin: http://localhost:{}\r\n", shown.port);
    let socket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let ask = shown.head("GET /api/events", &format!("{own}{socket}"));
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, shown.port))
        .await
        .unwrap();
    stream.write_all(ask.as_bytes()).await.unwrap();
    let answer = read_until(&mut stream, "\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[tokio::test]
async fn what_fails_is_told_as_a_page() {
    let t = hall().await;
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let shown = OpenedPreview::of(&t, port).await;
    let answer = shown.ask("GET /", "").await;
    assert_eq!(answer.status, 502);
    assert!(
        answer
            .body
            .contains(&format!("othing is listening on port {port}"))
    );
    assert!(answer.body.contains("http-equiv=\"refresh\""));
    for nonsense in [
        "nonsense\r\n\r\n",
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    ] {
        let dev = DevServerStub::that(move |_| nonsense.to_owned()).await;
        let shown = OpenedPreview::of(&t, dev.port).await;
        let answer = shown.ask("GET /", "").await;
        assert_eq!(answer.status, 502, "{nonsense}");
        assert!(!answer.body.contains("refresh"));
        let close = format!("{PREVIEWS}/{}", dev.port);
        t.owner().delete(&close).await.ok(204);
    }
}

#[tokio::test]
async fn a_dev_server_that_says_nothing_is_not_waited_for() {
    let options = HallOptions {
        preview_head_wait: Duration::from_millis(50),
        ..HallOptions::default()
    };
    let t = TestHall::open_with(with_ports(3, options)).await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let shown = OpenedPreview::of(&t, listener.local_addr().unwrap().port()).await;
    assert_eq!(shown.ask("GET /", "").await.status, 504);
}

#[tokio::test]
async fn a_preview_says_that_it_is_there_and_answers_to_its_own_name_alone() {
    let t = hall().await;
    let dev = DevServerStub::saying("x").await;
    let shown = OpenedPreview::of(&t, dev.port).await;
    let port = shown.port;
    let ask = |host: &str, path: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    };
    let health = "/__guildhall_preview/health";
    for host in ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"] {
        let answer = exchange(port, ask(&format!("{host}:{port}"), health).as_bytes()).await;
        assert_eq!(answer.status, 204, "{host}");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
    for host in [
        "localhost".to_owned(),
        format!("localhost:{}", t.port()),
        format!("localhost:{}", port + 1),
        format!("evil.example:{port}"),
        format!("localhost.:{port}"),
        format!("0.0.0.0:{port}"),
        format!("127.1:{port}"),
    ] {
        for path in [health, "/"] {
            let answer = exchange(port, ask(&host, path).as_bytes()).await;
            assert_eq!(answer.status, 403, "{host} {path}");
        }
    }
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        .await
        .unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert!(
        read_until(&mut stream, "\r\n\r\n")
            .await
            .starts_with("HTTP/1.1 400")
    );
    assert_eq!(dev.accepted(), 0);
}

#[tokio::test]
async fn a_dev_server_sees_exactly_the_requests_that_were_let_in() {
    let t = hall().await;
    let dev = DevServerStub::saying("x").await;
    let shown = OpenedPreview::of(&t, dev.port).await;
    let port = shown.port;
    let with = |line: &str, more: &str, body: &str| format!("{}{body}", shown.head(line, more));
    let inner = shown.head("GET /smuggled", "");
    let chunks = format!("0\r\n\r\n{inner}");
    let (te, cl) = ("Transfer-Encoding: chunked\r\n", "Content-Length: 4\r\n");
    // What is sent, and which paths the dev server may see of it.
    let corpus: Vec<(String, u16, &[&str])> = vec![
        (with("POST /1", &format!("{cl}{te}"), &chunks), 400, &[]),
        (with("POST /2", &format!("{te}{cl}"), &chunks), 400, &[]),
        (
            with(
                "POST /3",
                "Content-Length: 4\r\nContent-Length: 5\r\n",
                &chunks,
            ),
            400,
            &[],
        ),
        (with("POST /4", "Content-Length: +4\r\n", "abcd"), 400, &[]),
        (
            with("POST /5", "Content-Length: 4 \r\nX: y\r\n", "abcd"),
            200,
            &["/5"],
        ),
        (
            with("POST /6", "Transfer-Encoding: xchunked\r\n", &chunks),
            400,
            &[],
        ),
        (
            with("POST /7", "Transfer-Encoding: gzip, chunked\r\n", &chunks),
            400,
            &[],
        ),
        (
            with(
                "POST /8",
                "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
                &chunks,
            ),
            400,
            &[],
        ),
        (
            with("POST /9", "Transfer-Encoding : chunked\r\n", &chunks),
            400,
            &[],
        ),
        (
            with("POST /10", " Transfer-Encoding: chunked\r\n", &chunks),
            400,
            &[],
        ),
        (with("GET /11", "X: a\r\n b: c\r\n", ""), 400, &[]),
        (with("GET /12", "X: a\0b\r\n", ""), 400, &[]),
        (with("POST /13", te, "zz\r\nabcd"), 0, &["/13"]),
        // A second request behind a body is not read as one.
        (with("POST /14", cl, &format!("abcd{inner}")), 200, &["/14"]),
        (
            with("POST /15", te, &format!("4\r\nabcd\r\n{chunks}")),
            200,
            &["/15"],
        ),
        (with("CONNECT localhost:22", "", ""), 400, &[]),
        (with("OPTIONS *", "", ""), 400, &[]),
        (with("GET http://evil.example/", "", ""), 400, &[]),
        (
            with(
                "GET /19",
                "Connection: close, Via, Host, Content-Length\r\n",
                "",
            ),
            200,
            &["/19"],
        ),
    ];
    for (bytes, status, paths) in corpus {
        let before = dev.seen().len();
        let answer = exchange(port, bytes.as_bytes()).await;
        let asked = bytes.lines().next().unwrap();
        if status != 0 {
            assert_eq!(answer.status, status, "{asked}");
        }
        let seen: Vec<String> = dev.seen()[before..]
            .iter()
            .map(|seen| seen.split(' ').nth(1).unwrap().to_owned())
            .collect();
        let is_let_in = seen.iter().all(|path| paths.contains(&path.as_str()));
        assert!(is_let_in && seen.len() <= paths.len(), "{asked}: {seen:?}");
        if answer.status == 200 {
            assert_eq!(seen, paths, "{asked}");
        }
    }
    // Two requests behind each other without bodies are two requests, or the first one alone.
    let two = format!("{}{}", shown.head("GET /a", ""), shown.head("GET /b", ""));
    let before = dev.seen().len();
    exchange(port, two.as_bytes()).await;
    let seen = dev.seen().len() - before;
    assert_eq!(seen, 1, "what is behind another request is not read");
    assert!(!dev.seen().join("").contains("smuggled"));
}

#[tokio::test]
async fn two_previews_share_nothing_of_ours_and_reach_no_route() {
    let t = hall().await;
    let (dev, other) = (
        DevServerStub::saying("x").await,
        DevServerStub::saying("y").await,
    );
    let one = OpenedPreview::of(&t, dev.port).await;
    let two = OpenedPreview::of(&t, other.port).await;
    // A browser sends all cookies of a host to all its ports.
    let both = format!("Cookie: {}\r\n", two.cookie);
    assert_eq!(one.ask("GET /", &both).await.body, "x");
    assert!(!dev.seen().join("").contains(two.token()));
    // Each opens its own alone.
    let ask = format!(
        "GET / HTTP/1.1\r\nHost: localhost:{}\r\nCookie: {}\r\nConnection: close\r\n\r\n",
        two.port, one.cookie
    );
    assert_eq!(exchange(two.port, ask.as_bytes()).await.status, 401);
    for caller in [
        t.owner()
            .with("origin", &format!("http://localhost:{}", one.port)),
        t.owner().with("sec-fetch-site", "same-site"),
        t.owner().with("origin", "null"),
    ] {
        for path in ["/api/rooms", PREVIEWS] {
            caller.get(path).await.refused(403, "ORIGIN_NOT_ALLOWED");
        }
        let ask = json!({"kind": "proxy", "port": dev.port});
        caller
            .post(SIGN, ask)
            .await
            .refused(403, "ORIGIN_NOT_ALLOWED");
    }
}
