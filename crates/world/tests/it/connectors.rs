//! Sending operations to services that answer, refuse, send on, break off, or are not there.

use std::{
    sync::{Arc, Mutex, atomic::AtomicBool},
    time::Duration,
};

use guildhall_domain::connectors::{
    openapi,
    operations::Operation,
    send_result::SendResult,
    toolkits::{KeyLocation, Toolkit, ToolkitAuth, ToolkitSlug},
};
use guildhall_world::{
    connectors::{AccountCredentials, OutgoingOperation, ServiceClients},
    http_client::{HttpClient, ListenerPorts},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinSet,
};

/// A service that answers each connection's request with the next of these texts, and goes; an
/// empty one is no answer.
struct ScriptedHttpService {
    base: String,
    seen: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl ScriptedHttpService {
    async fn that(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let answers: Vec<String> = answers.iter().map(|it| it.replace("BASE", &base)).collect();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let mut serving = JoinSet::new();
        let log = Arc::clone(&seen);
        serving.spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = vec![0; 64 * 1024];
                let count = stream.read(&mut head).await.unwrap();
                let text = String::from_utf8_lossy(&head[..count]).into_owned();
                log.lock().unwrap().push(text);
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self {
            base,
            seen,
            _serving: serving,
        }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// An answer with this status line and body, behind which the connection ends.
fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

/// A toolkit at this address, and its operations `read` and `write`.
fn toolkit(base: &str, auth: ToolkitAuth) -> (Toolkit, Vec<Operation>) {
    let document = json!({"openapi": "3.1.0", "info": {"version": "1"}, "paths": {"/x": {
        "get": {"operationId": "read", "parameters": [{"name": "q", "in": "query"}]},
        "post": {"operationId": "write",
            "parameters": [{"name": "Idempotency-Key", "in": "header"}],
            "requestBody": {"content": {"application/json": {}}}},
    }}});
    let listed = openapi::read(&document, &auth, &AtomicBool::new(false))
        .unwrap()
        .listed;
    let toolkit = Toolkit {
        slug: ToolkitSlug::parse("x").unwrap(),
        display_name: "X".to_owned(),
        description: String::new(),
        document_url: None,
        base_url: Some(base.to_owned()),
        url: None,
        auth,
        account: None,
        overrides: Default::default(),
        version: "1".to_owned(),
        operation_count: 2,
        left_out: Vec::new(),
        left_out_count: 0,
        has_credential: false,
    };
    (toolkit, listed.operations)
}

async fn send(base: &str, operation: &str, arguments: Value) -> SendResult {
    send_as(
        base,
        operation,
        arguments,
        (ToolkitAuth::None, AccountCredentials::None),
    )
    .await
}

async fn send_as(
    base: &str,
    operation: &str,
    arguments: Value,
    (auth, credentials): (ToolkitAuth, AccountCredentials),
) -> SendResult {
    let (toolkit, operations) = toolkit(base, auth);
    let found = operations.iter().find(|it| it.slug == operation).unwrap();
    let services = ServiceClients::new(&HttpClient::open(ListenerPorts::default()).unwrap());
    services
        .send(OutgoingOperation {
            toolkit: &toolkit,
            binding: &found.binding,
            arguments: arguments.as_object().unwrap(),
            credentials: &credentials,
            key: Some("guildhall:1"),
            within: Duration::from_secs(2),
        })
        .await
}

#[tokio::test]
async fn what_a_service_says_is_told_as_it_is() {
    let yes = answer(
        "201 Created",
        "content-type: application/json\r\n",
        "{\"id\":1}",
    );
    let no = answer("429 Too Many Requests", "retry-after: 3\r\n", "slow down");
    let service = ScriptedHttpService::that(&[&yes, &no]).await;
    assert_eq!(
        send(&service.base, "write", json!({"body": {"a": 1}})).await,
        SendResult::Done {
            data: Some(json!({"id": 1}))
        }
    );
    assert_eq!(
        send(&service.base, "read", json!({"q": "a b"})).await,
        SendResult::Refused {
            status: Some(429),
            message: "slow down".to_owned(),
            retry_after_s: Some(3),
        }
    );
    let seen = service.seen();
    assert!(seen[0].starts_with("POST /x HTTP/1.1\r\n"), "{}", seen[0]);
    assert!(
        seen[0].contains("idempotency-key: guildhall:1\r\n"),
        "{}",
        seen[0]
    );
    assert!(seen[0].ends_with("{\"a\":1}"), "{}", seen[0]);
    assert!(
        seen[1].starts_with("GET /x?q=a%20b HTTP/1.1\r\n"),
        "{}",
        seen[1]
    );
    assert!(!seen[1].contains("idempotency-key"), "{}", seen[1]);
}

#[tokio::test]
async fn a_service_that_is_not_there_was_sent_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let sent = send(&base, "write", json!({})).await;
    assert!(matches!(sent, SendResult::NotSent { .. }), "{sent:?}");
    for base in [
        "http://169.254.169.254",
        "http://10.0.0.1",
        "ftp://a.example",
        "",
    ] {
        let sent = send(base, "write", json!({})).await;
        assert!(
            matches!(sent, SendResult::NotSent { .. }),
            "{base}: {sent:?}"
        );
    }
}

#[tokio::test]
async fn what_was_sent_and_not_answered_is_lost_and_never_sent_again() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";
    for answer in ["", "HTTP/1.1 200", cut] {
        let service = ScriptedHttpService::that(&[answer, answer]).await;
        let sent = send(&service.base, "write", json!({})).await;
        assert!(
            matches!(sent, SendResult::Lost { .. }),
            "{answer}: {sent:?}"
        );
        assert_eq!(service.seen().len(), 1, "{answer}");
    }
    // One that takes the request and says nothing for as long as may be waited.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let sent = send(&base, "write", json!({})).await;
    assert!(matches!(sent, SendResult::Lost { .. }), "{sent:?}");
}

#[tokio::test]
async fn a_read_is_sent_on_within_its_origin_and_a_write_nowhere() {
    let moved = |to: &str| answer("302 Found", &format!("location: {to}\r\n"), "");
    let found = answer("200 OK", "", "there");
    let service = ScriptedHttpService::that(&[&moved("/y"), &moved("BASE/z"), &found]).await;
    assert_eq!(
        send(&service.base, "read", json!({})).await,
        SendResult::Done {
            data: Some(json!("there"))
        }
    );
    assert!(service.seen()[2].starts_with("GET /z "));
    for (operation, to, times) in [
        ("write", "/y", 1),
        ("read", "http://localhost:1/y", 1),
        ("read", "/x", 4),
    ] {
        let moved = moved(to);
        let service = ScriptedHttpService::that(&[moved.as_str(); 5]).await;
        let sent = send(&service.base, operation, json!({})).await;
        let is_no = matches!(
            sent,
            SendResult::Refused {
                status: Some(302),
                ..
            }
        );
        assert!(is_no, "{operation} {to}: {sent:?}");
        assert_eq!(service.seen().len(), times, "{operation} {to}");
    }
}

#[tokio::test]
async fn an_account_is_shown_to_its_service_and_in_no_answer() {
    const SECRET: &str = "canary-4b1d";
    let key = |r#in, prefix: &str| ToolkitAuth::ApiKey {
        r#in,
        name: "X-Key".to_owned(),
        prefix: prefix.to_owned(),
    };
    let echo = answer("200 OK", "", &format!("you are {SECRET}"));
    let no = answer("403 Forbidden", "", &format!("not {SECRET}"));
    for (auth, shown) in [
        (
            key(KeyLocation::Header, "Key "),
            "x-key: Key canary-4b1d\r\n",
        ),
        (
            key(KeyLocation::Query, ""),
            "GET /x?q=1&X-Key=canary-4b1d HTTP/1.1\r\n",
        ),
    ] {
        let service = ScriptedHttpService::that(&[&echo, &no]).await;
        for expected in ["you are [hidden]", "not [hidden]"] {
            let account = (auth.clone(), AccountCredentials::Key(SECRET.to_owned()));
            let sent = send_as(&service.base, "read", json!({"q": 1}), account).await;
            let said = match sent {
                SendResult::Done { data } => data.unwrap(),
                SendResult::Refused { message, .. } => json!(message),
                other => panic!("{other:?}"),
            };
            assert_eq!(said, json!(expected));
        }
        assert!(service.seen()[0].contains(shown), "{}", service.seen()[0]);
    }
}

#[tokio::test]
async fn an_answer_beyond_the_bound_is_a_yes_without_its_data() {
    let long = answer("200 OK", "", &"a".repeat((4 << 20) + 1));
    let service = ScriptedHttpService::that(&[&long]).await;
    let sent = send(&service.base, "write", json!({})).await;
    assert_eq!(sent, SendResult::Done { data: None });
}
