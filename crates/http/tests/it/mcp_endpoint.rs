//! The MCP endpoint's door: who may speak there, in which revisions, and what is taken.
//! Source: contract 4.9.

use std::net::Ipv4Addr;

use guildhall_testkit::{LOCAL_TOKEN, TestHall, soon};
use serde_json::json;
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::mcp::{ask, done, send, tools};

#[tokio::test]
async fn only_an_agent_is_heard_and_nobody_is_ever_a_person_there() {
    let t = TestHall::open_login().await;
    let ada = t.agent("ada").await;
    let key = t.key(&t.owner(), "laptop").await;
    let cookie = format!("guildhall_{}={}", t.port(), t.owner().cookie());
    for nobody in [
        t.nobody(),
        t.owner(),
        t.owner().on_loopback(),
        t.owner().with_key(&key),
        t.owner()
            .with("authorization", &format!("Bearer {}", LOCAL_TOKEN)),
        t.person("Pia").await,
        t.unverifiable(),
        t.stray(),
        t.unknown_socket_caller(),
    ] {
        let answer = send(&nobody, "tools/list", json!({})).await;
        let challenge = answer.header("www-authenticate");
        assert_eq!(challenge, "Bearer realm=\"guildhall\"");
        answer.refused(401, "AGENT_TOKEN_REQUIRED");
    }
    let bearer = format!("Bearer {}", ada.token());
    let process = t.process_of(&ada);
    for agent in [
        ada.clone(),
        t.nobody().with("authorization", &bearer),
        process.clone(),
        process.with("cookie", &cookie),
    ] {
        let me = json!({"roomId": t.team().await, "text": "hello"});
        let posted = done(&agent, "room_post", me).await;
        assert_eq!(posted["entry"]["authorId"], ada.author());
    }
    // A header that names another agent than the process tree does names nobody.
    let bob = t.agent("bob").await;
    let borrowed = t.process_of(&ada).with_agent_token(bob.token());
    let answer = send(&borrowed, "tools/list", json!({})).await;
    answer.refused(401, "AGENT_TOKEN_REQUIRED");
}

#[tokio::test]
async fn who_arrives_is_told_the_house_and_its_tools_in_every_revision() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    for version in ["2025-06-18", "2025-11-25"] {
        let arrival = json!({"protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let house = ask(&ada, "initialize", arrival).await;
        assert_eq!(house["protocolVersion"], version);
        assert_eq!(house["serverInfo"]["name"], "guildhall");
        assert!(house["capabilities"]["tools"].is_object(), "{house}");
        let greeted = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let by = ada.clone().with("mcp-protocol-version", version);
        assert_eq!(by.post("/mcp", greeted).await.status, 202);
        assert!(!tools(&by).await.is_empty());
    }
    let by = ada.clone().with("mcp-protocol-version", "1999-01-01");
    let answer = send(&by, "tools/list", json!({})).await;
    answer.refused(400, "BAD_REQUEST");
}

#[tokio::test]
async fn only_posts_of_readable_messages_are_taken() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    for method in ["GET", "DELETE", "PUT", "PATCH"] {
        let answer = ada.ask(method, "/mcp").send().await;
        assert_eq!(answer.header("allow"), "POST", "{method}");
        answer.refused(405, "METHOD_NOT_ALLOWED");
    }
    ada.post("/mcp", json!({"no": "message"}))
        .await
        .refused(400, "BAD_REQUEST");
    ada.post("/mcp", json!([]))
        .await
        .refused(400, "BAD_REQUEST");
    let broken = ada
        .ask("POST", "/mcp")
        .header("content-type", "application/json");
    broken.body("{").send().await.refused(400, "BAD_REQUEST");
    let plain = ada.ask("POST", "/mcp").header("content-type", "text/plain");
    plain
        .body("{}")
        .send()
        .await
        .refused(415, "UNSUPPORTED_MEDIA_TYPE");
    let html = ada.clone().with("accept", "text/html");
    let answer = send(&html, "tools/list", json!({})).await;
    answer.refused(406, "NOT_ACCEPTABLE");
    let large = json!({"name": "rooms_list", "arguments": {"x": "y".repeat(1 << 20)}});
    let answer = send(&ada, "tools/call", large).await;
    answer.refused(413, "PAYLOAD_TOO_LARGE");
    let many = json!({"name": "rooms_list", "arguments": {"x": vec![0; 40_000]}});
    let answer = send(&ada, "tools/call", many).await;
    answer.refused(400, "INVALID_JSON");
    let foreign = ada.clone().with("origin", "http://evil.example");
    let answer = send(&foreign, "tools/list", json!({})).await;
    answer.refused(403, "ORIGIN_NOT_ALLOWED");
    let rebound = format!(
        "POST /mcp HTTP/1.1\r\nhost: evil.example\r\nx-service-agent: {}\r\n\r\n",
        ada.token()
    );
    let answer = t.raw(rebound.as_bytes()).await;
    answer.refused(403, "HOST_NOT_ALLOWED");
}

#[tokio::test]
async fn sixteen_messages_of_an_agent_are_answered_at_a_time() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-service-agent: {}\r\n\
         content-type: application/json\r\ncontent-length: 2\r\n\r\n",
        ada.token()
    );
    // Each is waited for until its body has come.
    let mut open = Vec::new();
    for _ in 0..16 {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, t.port()))
            .await
            .unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        open.push(stream);
    }
    let becomes =
        async |status: u16| while send(&ada, "tools/list", json!({})).await.status != status {};
    soon("the seventeenth", becomes(429)).await;
    let answer = send(&ada, "tools/list", json!({})).await;
    assert_eq!(answer.header("retry-after"), "1");
    answer.refused(429, "TOO_MANY_CALLS_AT_ONCE");
    tools(&bob).await;
    // One is enough: the others hold their places.
    let mut done = open.pop().unwrap();
    done.write_all(b"{}").await.unwrap();
    soon("a place", becomes(200)).await;
}
