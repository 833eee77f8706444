//! MCP over HTTP with servers that a test scripts: who gets which secret, and what the odd
//! answer means. Source: contract 4.3, 4.4.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use guildhall_domain::limits::MCP_RESULT_BYTES_MAX;
use guildhall_world::{
    http_client::{HttpClient, ListenerPorts},
    mcp::{
        ClientCallbacks, InitializeMode, McpError, RequestOptions, ServerAddress, ServerTarget,
        SharedBearerToken, check,
    },
};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    fake_agents::{PATIENCE, soon},
    mcp_connections::{DrivenMcpConnection, at_most, map},
};

/// A request as it came.
#[derive(Clone, Debug)]
struct ReceivedRequest {
    method: Method,
    path: String,
    headers: HeaderMap,
    message: Value,
}

impl ReceivedRequest {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A server of the test, and all that came to it.
struct ScriptedMcpServer {
    address: SocketAddr,
    came: Arc<Mutex<Vec<ReceivedRequest>>>,
}

type ScriptedResponse = Response<Full<Bytes>>;

impl ScriptedMcpServer {
    #[expect(clippy::disallowed_methods, reason = "a test has no supervisor")]
    async fn start(
        script: impl Fn(&ReceivedRequest) -> ScriptedResponse + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let came = Arc::new(Mutex::new(Vec::new()));
        let (script, memory) = (Arc::new(script), Arc::clone(&came));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (script, memory) = (Arc::clone(&script), Arc::clone(&memory));
                let service = service_fn(move |request: Request<Incoming>| {
                    let (script, memory) = (Arc::clone(&script), Arc::clone(&memory));
                    async move {
                        let (head, body) = request.into_parts();
                        let body = body.collect().await.unwrap().to_bytes();
                        let came = ReceivedRequest {
                            method: head.method,
                            path: head.uri.to_string(),
                            headers: head.headers,
                            message: serde_json::from_slice(&body).unwrap_or_default(),
                        };
                        memory.lock().unwrap().push(came.clone());
                        Ok::<_, Infallible>(script(&came))
                    }
                });
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::spawn(connection);
            }
        });
        Self { address, came }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn came(&self) -> Vec<ReceivedRequest> {
        self.came.lock().unwrap().clone()
    }
}

fn at(url: String) -> ServerAddress {
    ServerAddress {
        url,
        headers: vec![
            ("X-Key".to_owned(), "ours".to_owned()),
            ("Authorization".to_owned(), "Basic declared".to_owned()),
        ],
        bearer: SharedBearerToken::default(),
        outgoing: HttpClient::open(ListenerPorts::default()).unwrap(),
    }
}

fn answer(status: u16, kind: &str, body: impl Into<Bytes>) -> ScriptedResponse {
    Response::builder()
        .status(status)
        .header("content-type", kind)
        .body(Full::new(body.into()))
        .unwrap()
}

fn accepted() -> ScriptedResponse {
    answer(202, "text/plain", "")
}

fn result(came: &ReceivedRequest, result: &Value) -> ScriptedResponse {
    let message = json!({"jsonrpc": "2.0", "id": came.message["id"], "result": result});
    answer(200, "application/json", message.to_string())
}

fn error(code: i32, id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no"}})
}

/// A server that wants to be greeted, without sessions; `called` answers calls.
fn greeted(
    came: &ReceivedRequest,
    called: impl Fn(&ReceivedRequest) -> ScriptedResponse,
) -> ScriptedResponse {
    if came.method != Method::POST {
        return answer(405, "text/plain", "");
    }
    match came.message["method"].as_str().unwrap() {
        // As servers answer that look for a session first.
        "server/discover" => answer(
            400,
            "application/json",
            error(-32000, &Value::Null).to_string(),
        ),
        "initialize" => result(
            came,
            &json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1"}}),
        ),
        "tools/list" => result(came, &json!({"tools": []})),
        "tools/call" => called(came),
        _ => accepted(),
    }
}

/// A server that wants no greeting.
fn direct(came: &ReceivedRequest) -> ScriptedResponse {
    match came.message["method"].as_str() {
        Some("server/discover") => result(
            came,
            &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "public"}),
        ),
        Some("tools/list") => result(came, &json!({"tools": [], "resultType": "complete"})),
        Some("tools/call") => {
            let text = came.message["params"]["arguments"].to_string();
            let answer = json!({"content": [{"type": "text", "text": text}]});
            result(came, &answer)
        }
        _ => accepted(),
    }
}

async fn talk(server: &ScriptedMcpServer) -> DrivenMcpConnection {
    let target = ServerTarget::Http(at(server.url("/mcp")));
    DrivenMcpConnection::with(&target, ClientCallbacks::default())
        .await
        .unwrap()
}

#[tokio::test]
async fn a_server_is_spoken_to_as_it_begins() {
    let server = ScriptedMcpServer::start(|came| greeted(came, accepted_by)).await;
    let talk = talk(&server).await;
    assert_eq!(talk.client.server().lifecycle, InitializeMode::Handshake);
    assert_eq!(talk.client.tools(PATIENCE).await, Ok(Vec::new()));
    let came = server.came();
    let listing = came
        .iter()
        .find(|came| came.message["method"] == "tools/list");
    assert_eq!(
        listing.unwrap().header("mcp-protocol-version"),
        Some("2025-06-18")
    );

    let server = ScriptedMcpServer::start(direct).await;
    let talk = self::talk(&server).await;
    assert_eq!(talk.client.server().lifecycle, InitializeMode::Direct);
    assert_eq!(talk.text("t", json!({"a": 1})).await, r#"{"a":1}"#);
    let came = server.came();
    assert!(
        came.iter()
            .all(|came| came.message["method"] != "initialize")
    );
    let call = came
        .iter()
        .find(|came| came.message["method"] == "tools/call")
        .unwrap();
    assert_eq!(
        ["mcp-protocol-version", "mcp-method", "mcp-name"].map(|name| call.header(name)),
        [Some("2026-07-28"), Some("tools/call"), Some("t")]
    );
}

#[tokio::test]
async fn a_server_that_says_yes_to_everything_is_greeted() {
    let server = ScriptedMcpServer::start(|came| match came.message["method"].as_str() {
        Some("server/discover") => result(came, &json!({})),
        _ => greeted(came, accepted_by),
    })
    .await;
    let talk = talk(&server).await;
    assert_eq!(talk.client.server().lifecycle, InitializeMode::Handshake);
}

fn accepted_by(_: &ReceivedRequest) -> ScriptedResponse {
    accepted()
}

#[tokio::test]
async fn headers_go_along_always_and_a_sign_in_takes_the_place_of_a_declared_one() {
    let server = ScriptedMcpServer::start(|came| greeted(came, accepted_by)).await;
    for (bearer, expected) in [(None, "Basic declared"), (Some("fresh"), "Bearer fresh")] {
        server.came.lock().unwrap().clear();
        let address = ServerAddress {
            bearer: SharedBearerToken::of(bearer.map(str::to_owned)),
            ..at(server.url("/mcp"))
        };
        let checked = check(
            &ServerTarget::Http(address),
            ClientCallbacks::default(),
            at_most(20),
        )
        .await;
        assert_eq!(checked.tools, Ok(Vec::new()));
        let came = server.came();
        assert!(came.len() >= 4, "{came:?}");
        for came in came {
            assert_eq!(
                (came.header("x-key"), came.header("authorization")),
                (Some("ours"), Some(expected))
            );
        }
    }
}

#[tokio::test]
async fn a_sign_in_that_is_wanted_is_told_with_its_challenge() {
    let challenge = "Bearer resource_metadata=\"https://example.org/x\"";
    let cases = [
        (401, Some(challenge)),
        (401, None),
        (403, Some("Bearer error=\"insufficient_scope\"")),
    ];
    for (status, told) in cases {
        let server = ScriptedMcpServer::start(move |_| {
            let mut refused = answer(status, "text/plain", "no");
            if let Some(told) = told {
                refused
                    .headers_mut()
                    .insert("www-authenticate", told.parse().unwrap());
            }
            refused
        })
        .await;
        let expected = match (status, told) {
            (403, Some(told)) => McpError::InsufficientScope {
                www_authenticate: told.to_owned(),
            },
            _ => McpError::NeedsAuth {
                www_authenticate: told.map(str::to_owned),
            },
        };
        let (http, sse) = (at(server.url("/mcp")), at(server.url("/sse")));
        for target in [ServerTarget::Http(http), ServerTarget::Sse(sse)] {
            let checked = check(&target, ClientCallbacks::default(), at_most(20)).await;
            assert_eq!(checked.tools, Err(expected.clone()), "{target:?}");
            assert!(expected.needs_sign_in());
        }
    }
}

#[tokio::test]
async fn a_sign_in_that_is_wanted_later_is_told_to_whoever_asked() {
    let server = ScriptedMcpServer::start(|came| {
        greeted(came, |_| {
            let mut refused = answer(401, "text/plain", "");
            let challenge = "Bearer realm=\"x\"".parse().unwrap();
            refused.headers_mut().insert("www-authenticate", challenge);
            refused
        })
    })
    .await;
    let refused = talk(&server).await.call("t", json!({})).await;
    let expected = McpError::NeedsAuth {
        www_authenticate: Some("Bearer realm=\"x\"".to_owned()),
    };
    assert_eq!(refused, Err(expected));
}

#[tokio::test]
async fn nothing_follows_a_redirect_to_another_origin() {
    let other = ScriptedMcpServer::start(direct).await;
    let place = other.url("/mcp?key=hush");
    let server = ScriptedMcpServer::start(move |_| {
        let mut away = answer(307, "text/plain", "");
        away.headers_mut()
            .insert("location", place.parse().unwrap());
        away
    })
    .await;
    for target in [
        ServerTarget::Http(at(server.url("/mcp"))),
        ServerTarget::Sse(at(server.url("/sse"))),
    ] {
        let checked = check(&target, ClientCallbacks::default(), at_most(20)).await;
        let Err(McpError::Unreachable(why)) = checked.tools else {
            panic!("{checked:?}");
        };
        assert!(why.contains("redirects") && !why.contains("hush"), "{why}");
    }
    assert_eq!(other.came().len(), 0);
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed_with_what_was_sent() {
    let server = ScriptedMcpServer::start(|came| {
        if came.path == "/mcp" {
            let mut away = answer(308, "text/plain", "");
            away.headers_mut()
                .insert("location", "/mcp/".parse().unwrap());
            return away;
        }
        direct(came)
    })
    .await;
    let talk = talk(&server).await;
    assert_eq!(talk.text("t", json!({"a": 1})).await, r#"{"a":1}"#);
}

#[tokio::test]
async fn messages_are_not_posted_to_another_origin() {
    let other = ScriptedMcpServer::start(|_| accepted()).await;
    let place = other.url("/message");
    let server = ScriptedMcpServer::start(move |_| {
        let events = format!("event: endpoint\ndata: {place}\n\n");
        answer(200, "text/event-stream", events)
    })
    .await;
    let target = ServerTarget::Sse(at(server.url("/sse")));
    let checked = check(&target, ClientCallbacks::default(), at_most(20)).await;
    assert!(
        matches!(checked.tools, Err(McpError::Protocol(_))),
        "{checked:?}"
    );
    assert_eq!(other.came().len(), 0);
}

#[tokio::test]
async fn an_answer_beyond_the_bound_costs_itself_alone() {
    let server = ScriptedMcpServer::start(|came| {
        greeted(came, |came| {
            let text = "x".repeat(MCP_RESULT_BYTES_MAX + 100_000);
            let large = json!({"content": [{"type": "text", "text": text}]});
            let message = json!({"jsonrpc": "2.0", "id": came.message["id"], "result": large});
            match came.message["params"]["name"].as_str() {
                Some("json") => answer(200, "application/json", message.to_string()),
                Some("events") => {
                    let events = format!("data: {message}\n\n");
                    answer(200, "text/event-stream", events)
                }
                _ => result(came, &json!({"content": []})),
            }
        })
    })
    .await;
    let talk = talk(&server).await;
    for name in ["json", "events"] {
        let large = talk.call(name, json!({})).await;
        assert_eq!(large, Err(McpError::TooLarge), "{name}");
    }
    assert_eq!(
        talk.call("other", json!({})).await,
        Ok(json!({"content": []}))
    );
}

#[tokio::test]
async fn an_error_without_an_id_belongs_to_the_question_it_answers() {
    let server = ScriptedMcpServer::start(|came| {
        greeted(came, |_| {
            answer(
                400,
                "application/json",
                error(-32005, &Value::Null).to_string(),
            )
        })
    })
    .await;
    let refused = talk(&server).await.call("t", json!({})).await;
    assert!(
        matches!(refused, Err(McpError::Refused { code: -32005, .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_status_and_nonsense_are_told_as_what_they_are() {
    let server = ScriptedMcpServer::start(|came| {
        greeted(came, |came| match came.message["params"]["name"].as_str() {
            Some("status") => answer(503, "text/html", "<h1>later"),
            Some("html") => answer(200, "text/html", "<h1>hello"),
            _ => answer(200, "application/json", "{\"no\": "),
        })
    })
    .await;
    let talk = talk(&server).await;
    let status = talk.call("status", json!({})).await;
    assert_eq!(status, Err(McpError::Status { status: 503 }));
    for name in ["html", "broken"] {
        let nonsense = soon(
            talk.client
                .call(name, map(json!({})), RequestOptions::default()),
        )
        .await;
        assert!(
            matches!(nonsense, Err(McpError::Protocol(_))),
            "{nonsense:?}"
        );
    }
}

#[tokio::test]
async fn an_address_that_is_none_or_speaks_no_tls_cannot_be_reached() {
    let server = ScriptedMcpServer::start(direct).await;
    let plain = server.url("/mcp").replace("http://", "https://");
    let cases = [plain, "http://127.0.0.1:1/mcp".to_owned()];
    for url in cases {
        for target in [
            ServerTarget::Http(at(url.clone())),
            ServerTarget::Sse(at(url.clone())),
        ] {
            let checked = check(&target, ClientCallbacks::default(), at_most(20)).await;
            assert!(
                matches!(checked.tools, Err(McpError::Unreachable(_))),
                "{url}: {checked:?}"
            );
        }
    }
    assert_eq!(server.came().len(), 0);
}
