//! A tool server over HTTP that tests write, and what it noted.

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{
        IntoResponse, Response,
        sse::{Event, Sse},
    },
    routing::post,
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

/// A tool server of another program, at an address of this computer.
pub(crate) struct McpServerStub {
    pub(crate) url: String,
    pub(crate) is: Arc<StubState>,
    _serving: JoinSet<()>,
}

#[derive(Default)]
pub(crate) struct StubState {
    tools: Mutex<Vec<Value>>,
    /// Whether it wants a sign-in.
    pub(crate) is_shut: Mutex<bool>,
    /// Calls of tools that reached it.
    calls: AtomicUsize,
    /// What it was answered to its own questions.
    pub(crate) answers: Mutex<Vec<Value>>,
    /// What it was told without being asked.
    pub(crate) told: Mutex<Vec<String>>,
}

pub(crate) fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"},
        "_meta": {"own": name}})
}

impl McpServerStub {
    pub(crate) async fn start(tools: &[Value]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let is = Arc::new(StubState::default());
        *is.tools.lock().unwrap() = tools.to_vec();
        let routes = Router::new().route("/mcp", post(serve));
        let routes = routes.with_state(Arc::clone(&is));
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            url,
            is,
            _serving: serving,
        }
    }

    pub(crate) fn has_now(&self, tools: &[Value]) {
        *self.is.tools.lock().unwrap() = tools.to_vec();
    }

    pub(crate) fn calls(&self) -> usize {
        self.is.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn connection(&self) -> Value {
        json!({"transport": "http", "url": self.url, "headers": {}})
    }
}

async fn serve(State(is): State<Arc<StubState>>, Json(message): Json<Value>) -> Response {
    if *is.is_shut.lock().unwrap() {
        return (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")]).into_response();
    }
    let told = |what: &str, told: Value| {
        Json(json!({"jsonrpc": "2.0", "id": message["id"], what: told})).into_response()
    };
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => told(
            "result",
            json!({"protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}, "prompts": {}, "logging": {}},
                "serverInfo": {"name": "counterpart", "version": "3"}, "instructions": "Use it."}),
        ),
        "tools/list" => {
            let tools = is.tools.lock().unwrap().clone();
            told("result", json!({"tools": tools}))
        }
        "prompts/list" => told("result", json!({"prompts": [{"name": "p"}]})),
        "tools/call" => {
            is.calls.fetch_add(1, Ordering::SeqCst);
            match message["params"]["name"].as_str() {
                Some("hold") => std::future::pending().await,
                Some("ask") => asks(),
                Some("fail") => told(
                    "error",
                    json!({"code": -32_050, "message": "no", "data": 1}),
                ),
                _ => told("result", result_of(&message["params"]["arguments"])),
            }
        }
        "" => {
            is.answers.lock().unwrap().push(message);
            StatusCode::ACCEPTED.into_response()
        }
        method if message["id"].is_null() => {
            is.told.lock().unwrap().push(method.to_owned());
            StatusCode::ACCEPTED.into_response()
        }
        _ => told("error", json!({"code": -32_601, "message": "unknown"})),
    }
}

/// The beginning of an answer that never ends: a question to whoever called.
fn asks() -> Response {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let question = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
        "params": {"message": "Who?", "requestedSchema": schema}});
    let event = Event::default().data(question.to_string());
    let events = stream::once(async move { Ok::<_, Infallible>(event) });
    Sse::new(events.chain(stream::pending())).into_response()
}

/// What a call comes to.
pub(crate) fn result_of(arguments: &Value) -> Value {
    json!({"content": [{"type": "text", "text": "heard", "_meta": {"k": 1.5}}],
        "structuredContent": {"heard": arguments}, "x-own": 9_007_199_254_740_993_i64,
        "isError": false})
}
