//! Signing in by a code that is typed elsewhere, at a service that is slow, broken or gone in
//! between: how often it is asked, and that nothing of that ends a flow before its time.
//! Source: contract 5.4; RFC 8628 §3.5.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use guildhall_testkit::{TestHall, until};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::{
    connector_auth_flows::{after, at, instance, wish},
    test_values::text,
};

const CONNECTIONS: &str = "/api/connectors/connections";
/// Seconds that a flow may take.
const LIFE_S: i64 = 15 * 60;

/// What a service does when it is asked whether a person has typed the code.
#[derive(Clone, Copy, Debug)]
enum TokenReply {
    /// `authorization_pending`.
    NotYet,
    /// `slow_down`.
    Slower,
    /// This status, with these headers, and a text that no program understands.
    Broken(u16, &'static str),
    /// Nothing: it has the request and goes away.
    Nothing,
    /// Half an answer with a token, and goes away.
    Half,
    /// A token.
    Yes,
    /// `access_denied`.
    No,
}

/// A service that gives codes to type, and what it was asked for tokens.
struct DeviceServiceStub {
    origin: String,
    next: Arc<Mutex<VecDeque<TokenReply>>>,
    asked: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl DeviceServiceStub {
    async fn start(interval: &Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let mut device = json!({"device_code": "the-device-code", "user_code": "ABCD-EFGH",
            "verification_uri": format!("{origin}/activate"), "expires_in": 1_800});
        if interval.is_number() {
            device["interval"] = interval.clone();
        }
        let next: Arc<Mutex<VecDeque<TokenReply>>> = Arc::default();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (says, noted) = (Arc::clone(&next), Arc::clone(&asked));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = request(&mut stream).await;
                let answer = match request.starts_with("POST /token ") {
                    false => answer(200, "", &device.to_string()),
                    true => {
                        let says = says.lock().unwrap().pop_front();
                        noted.lock().unwrap().push(request);
                        said(says.unwrap_or(TokenReply::NotYet))
                    }
                };
                // A client that is gone reads nothing.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self {
            origin,
            next,
            asked,
            _serving: serving,
        }
    }

    fn then(&self, says: &[TokenReply]) {
        self.next.lock().unwrap().extend(says);
    }

    /// How often it was asked for a token.
    fn polls(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// A flow that waits for the code to be typed here.
    async fn flow(&self, t: &TestHall) -> Value {
        let auth = json!({"kind": "oauth2", "flow": "device_code", "clientId": "us",
            "deviceUrl": format!("{}/device", self.origin),
            "tokenUrl": format!("{}/token", self.origin)});
        let provider = instance(t, &self.origin, &auth, &Value::Null).await;
        let ask = wish(&provider, "notes", "k");
        let begun = t.owner().post(CONNECTIONS, ask).await.ok(201);
        let waits = after(t, &begun, "starting").await;
        assert_eq!(
            json!([waits["state"], waits["step"], waits["userCode"]]),
            json!(["pending", "device", "ABCD-EFGH"])
        );
        waits
    }

    /// Lets the time pass until it is asked once more; answers how many seconds that took.
    async fn polled(&self, t: &TestHall) -> i64 {
        let before = self.polls();
        let seconds = t.advance_to_awaited().await;
        until("the next poll", || self.polls() > before).await;
        seconds
    }
}

/// The whole request.
async fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let mut lengths = head
                .lines()
                .filter_map(|it| it.strip_prefix("content-length: "));
            let length: usize = lengths.next().map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                return text.into_owned();
            }
        }
        if stream.read_buf(&mut bytes).await.unwrap() == 0 {
            return String::new();
        }
    }
}

fn answer(status: u16, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         {headers}Connection: close\r\n\r\n{body}",
        body.len()
    )
}

fn said(says: TokenReply) -> String {
    let error = |word: &str| answer(400, "", &json!({"error": word}).to_string());
    let token = json!({"access_token": "the-token", "token_type": "bearer"}).to_string();
    match says {
        TokenReply::NotYet => error("authorization_pending"),
        TokenReply::Slower => error("slow_down"),
        TokenReply::No => error("access_denied"),
        TokenReply::Broken(status, headers) => answer(status, headers, "<h1>Out of order</h1>"),
        TokenReply::Nothing => String::new(),
        TokenReply::Half => {
            let whole = answer(200, "", &token);
            whole[..whole.len() - 10].to_owned()
        }
        TokenReply::Yes => answer(200, "", &token),
    }
}

#[tokio::test]
async fn a_service_is_asked_as_often_as_it_wants_and_less_often_while_it_is_out_of_order() {
    let t = TestHall::open().await;
    let service = DeviceServiceStub::start(&json!(2)).await;
    let flow = service.flow(&t).await;
    let mut wait = 2;
    for (says, next) in [
        // What it says, and the seconds until it is asked the next time.
        (TokenReply::NotYet, 2),
        (TokenReply::Slower, 7),
        (TokenReply::NotYet, 7),
        (TokenReply::Broken(503, ""), 14),
        (TokenReply::Nothing, 28),
        (TokenReply::Half, 56),
        (TokenReply::Broken(502, ""), 60),
        // An answer in good order: as often as before.
        (TokenReply::NotYet, 7),
        (TokenReply::Broken(429, "Retry-After: 40\r\n"), 40),
        (TokenReply::Slower, 12),
    ] {
        service.then(&[says]);
        assert_eq!(service.polled(&t).await, wait, "before {says:?}");
        assert_eq!(t.owner().get(&at(&flow)).await.ok(200), flow, "{says:?}");
        wait = next;
    }
    assert_eq!(t.advance_to_awaited().await, wait);
}

#[tokio::test]
async fn whoever_stays_away_ends_no_flow_before_its_time() {
    let t = TestHall::open().await;
    let service = DeviceServiceStub::start(&Value::Null).await;
    let flow = service.flow(&t).await;
    let losses = [
        TokenReply::Nothing,
        TokenReply::Broken(500, ""),
        TokenReply::Half,
        TokenReply::Broken(429, "Retry-After: 120\r\n"),
    ];
    let (begun, mut waits, mut log) = (t.now(), Vec::new(), t.events());
    loop {
        service.then(&[losses[waits.len() % losses.len()]]);
        let wait = t.advance_to_awaited().await;
        waits.push(wait);
        if t.now() >= begun.plus_seconds(LIFE_S) {
            break;
        }
        until("the poll", || service.polls() == waits.len()).await;
        assert_eq!(t.owner().get(&at(&flow)).await.ok(200), flow, "{waits:?}");
    }
    assert_eq!(waits[..5], [5, 10, 20, 40, 120]);
    let has_ended = || log.names() == ["connector_flow_changed"];
    until("the end of the flow", has_ended).await;
    let over = t.owner().get(&at(&flow)).await.ok(200);
    assert_eq!(over["state"], "expired");
    assert_eq!(
        service.polls(),
        waits.len() - 1,
        "nobody is asked after its time"
    );
}

#[tokio::test]
async fn what_is_said_in_the_end_counts_after_losses_and_over_a_restart() {
    for (last, state) in [(TokenReply::Yes, "connected"), (TokenReply::No, "failed")] {
        let mut t = TestHall::open().await;
        let service = DeviceServiceStub::start(&json!(1)).await;
        let flow = service.flow(&t).await;
        service.then(&[TokenReply::Slower, TokenReply::Nothing, last]);
        assert_eq!(service.polled(&t).await, 1);
        assert_eq!(service.polled(&t).await, 6);
        // The pace is kept with the flow.
        until("the pace", || t.awaited_s() == Some(12)).await;
        t.restart().await;
        assert_eq!(t.owner().get(&at(&flow)).await.ok(200), flow);
        assert_eq!(service.polled(&t).await, 12);
        let over = after(&t, &flow, "pending").await;
        assert_eq!(
            json!([over["state"], over["userCode"]]),
            json!([state, null])
        );
        let listed = t.owner().get(CONNECTIONS).await.ok(200);
        let count = usize::from(state == "connected");
        assert_eq!(listed["connections"].as_array().unwrap().len(), count);
        let asked = service.asked.lock().unwrap();
        assert_eq!(asked.len(), 3);
        for one in asked.iter() {
            assert!(
                one.ends_with("&device_code=the-device-code&client_id=us"),
                "{one}"
            );
        }
        assert!(text(&flow["verificationUri"]).ends_with("/activate"));
    }
}
