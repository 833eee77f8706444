//! The gateway to an agent's tool servers: one address each, to which the bridge of a session
//! posts messages of the protocol. It stands beside the interface for programs: what can be asked
//! is for the servers to say. Source: contract 4.4, 4.9.

use std::{convert::Infallible, pin::Pin, sync::Arc};

use axum::{
    Extension,
    body::Body,
    extract::{FromRequestParts, Request, State as Stated},
    http::{HeaderMap, HeaderName, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use guildhall_domain::mcp_gateway::REVISIONS;
use guildhall_hall::{
    Hall,
    approvals::ClientPresence,
    mcp_gateway::{ClientRequest, ClientResponse, ProgressUpdate, SessionAgent},
};
use guildhall_wire::request_fields::Json;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::mcp::ByMcpAgent;
use crate::{
    body::json_bytes,
    error_catalogue,
    errors::{ApiError, ApiResult},
    mcp::McpEndpoint,
    path_ids::Path,
    state::ServerState,
};

const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// How much progress may wait for a client; more is dropped.
const PROGRESS_MAX: usize = 16;

/// An agent that shows the token of one of its sessions.
pub(crate) struct BySession(SessionAgent);

impl FromRequestParts<ServerState> for BySession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, ApiError> {
        let ByMcpAgent(by) = ByMcpAgent::from_request_parts(parts, state).await?;
        Ok(Self(state.hall.session_of_agent(&by).await?))
    }
}

/// Answers a message to a tool server of the agent.
pub(crate) async fn answer(
    BySession(by): BySession,
    Stated(hall): Stated<Hall>,
    Path(name): Path<String>,
    Extension(mcp): Extension<Arc<McpEndpoint>>,
    request: Request,
) -> ApiResult<Response> {
    let place = mcp.calls.enter(by.agent())?;
    let revision = revision(request.headers())?;
    let listening = request.extensions().get().cloned();
    let message = McpClientMessage::read(&json_bytes(request).await?, revision)?;
    let Some((id, progress_token, mut question)) = message.into_request() else {
        // What a client only tells is for the gateway alone, which knows it.
        return Ok(StatusCode::ACCEPTED.into_response());
    };
    let Some(token) = progress_token else {
        question.listening = listening.unwrap_or_default();
        let told = hall.forward_mcp_request(by, &name, question).await?;
        return Ok(axum::Json(response_to(&id, told)).into_response());
    };
    // The place is kept until the last of an answer that comes bit by bit.
    let response = stream_progress(hall, by, name, (id, token), question);
    Ok(response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _ = &place;
            frame
        }))
    }))
}

/// The revision a client says it speaks.
fn revision(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get(&REVISION) else {
        return Ok(None);
    };
    let known = value.to_str().ok().filter(|text| REVISIONS.contains(text));
    known
        .map(|text| Some(text.to_owned()))
        .ok_or_else(|| unreadable("This revision of the Model Context Protocol is not known here."))
}

fn unreadable(why: &'static str) -> ApiError {
    ApiError::new(error_catalogue::BAD_REQUEST).with_sentence(why)
}

/// One JSON-RPC message of a client.
struct McpClientMessage {
    json: Value,
    revision: Option<String>,
}

impl McpClientMessage {
    fn read(bytes: &[u8], revision: Option<String>) -> Result<Self, ApiError> {
        let json = serde_json::from_slice(bytes).map_or(Value::Null, |Json(json)| json);
        let is_message = json["jsonrpc"] == "2.0"
            && match (&json["method"], &json["id"]) {
                (Value::String(_), Value::Null | Value::String(_) | Value::Number(_)) => true,
                // An answer, to a question that nobody asked it.
                (Value::Null, Value::String(_) | Value::Number(_)) => true,
                _ => false,
            };
        if !is_message {
            let why = "The body must be one JSON-RPC message of the Model Context Protocol.";
            return Err(unreadable(why));
        }
        Ok(Self { json, revision })
    }

    /// Its id, the token under which its progress is told, and what it asks; `None` for what
    /// waits for no answer.
    fn into_request(mut self) -> Option<(Value, Option<Value>, ClientRequest)> {
        let method = self.json["method"].as_str()?.to_owned();
        let id = self.json["id"].take();
        if id.is_null() {
            return None;
        }
        let params = self.json["params"].take();
        let token = params["_meta"]["progressToken"].clone();
        let question = ClientRequest {
            method,
            params,
            revision: self.revision,
            progress: None,
            listening: ClientPresence::default(),
        };
        Some((id, Some(token).filter(|token| !token.is_null()), question))
    }
}

fn response_to(id: &Value, told: ClientResponse) -> Value {
    match told {
        ClientResponse::Result(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        ClientResponse::Error {
            code,
            message,
            data,
        } => {
            let mut error = json!({"code": code, "message": message});
            if !data.is_null() {
                error["data"] = data;
            }
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
    }
}

fn progress_of(token: &Value, progress: ProgressUpdate) -> Value {
    let mut params = json!({"progressToken": token, "progress": progress.progress});
    if let Some(total) = progress.total {
        params["total"] = Value::Number(total);
    }
    if let Some(message) = progress.message {
        params["message"] = message.into();
    }
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
}

type PendingResponse = Pin<Box<dyn Future<Output = Value> + Send>>;

/// An answer that tells of its progress first; it ends with the client.
fn stream_progress(
    hall: Hall,
    by: SessionAgent,
    name: String,
    (id, token): (Value, Value),
    question: ClientRequest,
) -> Response {
    let (sender, heard) = mpsc::channel(PROGRESS_MAX);
    let question = ClientRequest {
        progress: Some(sender),
        ..question
    };
    let asking: PendingResponse = Box::pin(async move {
        match hall.forward_mcp_request(by, &name, question).await {
            Ok(told) => response_to(&id, told),
            Err(error) => refused(&id, &ApiError::from(error)),
        }
    });
    let frames = stream::unfold(Some((asking, heard)), move |state| {
        let token = token.clone();
        async move {
            let (mut asking, mut heard) = state?;
            // Progress that came before the answer is told before it.
            let (message, state) = tokio::select! {
                biased;
                Some(progress) = heard.recv() => {
                    (progress_of(&token, progress), Some((asking, heard)))
                }
                answer = &mut asking => (answer, None),
            };
            Some((Ok::<_, Infallible>(frame(&message)), state))
        }
    });
    let head = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (head, Body::from_stream(frames)).into_response()
}

fn frame(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

/// A refusal within a stream that has begun already.
fn refused(id: &Value, error: &ApiError) -> Value {
    let envelope = error.envelope();
    let told = ClientResponse::Error {
        code: -32_000,
        message: envelope.error,
        data: json!({"code": envelope.code, "details": envelope.details}),
    };
    response_to(id, told)
}
