//! Streamable HTTP: what the crate's transport asks for, over our own way out.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
        StreamableHttpError, StreamableHttpPostResponse,
    },
};
use serde_json::Value;
use sse_stream::Sse;
use tokio::time::timeout;

use super::{
    McpError,
    connect::MESSAGE_BYTES_MAX,
    http_endpoint::{EVENTS, HttpEndpoint, JSON, SseStream, challenge, is_of},
    raw_message_tap::RawMessageTap,
    sse_parser::SseRead,
    stdio_transport::{TransportFault, not_understood},
};
use crate::http_client::{HttpClientError, read};

/// Bytes of an answer that is no success that are read.
const FAILURE_BYTES_MAX: usize = 64 * 1_024;
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

type StreamableFailure = StreamableHttpError<McpError>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// Speaks to one address. The crate's own idea of address and token is not used.
#[derive(Clone, Debug)]
pub(super) struct HttpTransportClient {
    pub(super) site: HttpEndpoint,
    pub(super) ear: Arc<RawMessageTap>,
    /// Why the last request failed: the crate's transport gives up without a word.
    pub(super) fault: TransportFault,
    /// How long the question of newer revisions may stay without an answer.
    pub(super) patience: Duration,
}

impl HttpTransportClient {
    fn request(
        &self,
        method: Method,
        session: Option<&str>,
        headers: Headers,
    ) -> Result<Request<Bytes>, StreamableFailure> {
        let mut request = self.site.request(method, &self.site.uri);
        request.headers_mut().extend(headers);
        if let Some(session) = session {
            let session = HeaderValue::from_str(session);
            let session = session.map_err(|_| protocol("the id of its session is no header"))?;
            request.headers_mut().insert(SESSION, session);
        }
        Ok(request)
    }

    /// Sends, and sorts out what asks for a sign-in.
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Incoming>, StreamableFailure> {
        let answer = self.site.outgoing.send(request).await.map_err(client)?;
        let Some(challenge) = challenge(&answer) else {
            return Ok(answer);
        };
        Err(if answer.status() == StatusCode::UNAUTHORIZED {
            StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge))
        } else {
            StreamableHttpError::InsufficientScope(InsufficientScopeError::new(challenge, None))
        })
    }

    /// Posts one message and sorts out what came back.
    async fn post(
        &self,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, StreamableFailure> {
        self.ear.track_request(&message);
        let asked = question(&message);
        let is_probe = is_probe(&message) && session.is_none();
        let mut request = self.request(Method::POST, session.as_deref(), headers)?;
        *request.body_mut() = serde_json::to_vec(&message)?.into();
        let sending = self.send(request);
        let answer = match asked.clone().filter(|_| is_probe) {
            None => sending.await?,
            Some(id) => match timeout(self.patience, sending).await {
                Ok(answer) => answer?,
                Err(_) => {
                    return Ok(StreamableHttpPostResponse::Json(not_understood(id), None));
                }
            },
        };
        let status = answer.status();
        if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let new_session = answer.headers().get(SESSION);
        let new_session = new_session.and_then(|value| value.to_str().ok());
        let new_session = new_session.map(str::to_owned);
        if !status.is_success() {
            let body = read(answer.into_body(), FAILURE_BYTES_MAX).await;
            return failed(status, &body.unwrap_or_default(), asked, is_probe);
        }
        if is_of(&answer, EVENTS) {
            let stream = self.stream(answer.into_body(), asked);
            return Ok(StreamableHttpPostResponse::Sse(stream, new_session));
        }
        // What is said to a notification or an answer of ours does not matter.
        let Some(asked) = asked else {
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        if !is_of(&answer, JSON) {
            return Err(protocol("its answer is neither JSON nor a stream"));
        }
        let message = match read(answer.into_body(), MESSAGE_BYTES_MAX).await {
            Ok(body) => {
                let text = std::str::from_utf8(&body);
                let text = text.map_err(|_| protocol("its answer is no JSON"))?;
                self.ear.observe(text);
                let message = serde_json::from_str(text);
                message.map_err(|_| protocol("its answer is no message"))?
            }
            Err(HttpClientError::TooLarge) => {
                let id = serde_json::to_value(&asked).ok();
                let message = self.ear.too_long(id.as_ref());
                message.ok_or_else(|| client(HttpClientError::TooLarge))?
            }
            Err(error) => return Err(client(error)),
        };
        Ok(StreamableHttpPostResponse::Json(message, new_session))
    }

    /// The events of an answer, each looked at as it was written.
    fn stream(&self, body: Incoming, asked: Option<RequestId>) -> BoxStream<'static, SseResult> {
        let events = SseStream::of(body, MESSAGE_BYTES_MAX);
        let ear = Arc::clone(&self.ear);
        let state = Some((events, ear, asked));
        Box::pin(stream::unfold(state, |state| async move {
            let (mut events, ear, asked) = state?;
            let event = match events.next().await {
                Ok(None) => return None,
                Err(error) => return Some((Err(SseError::Body(Box::new(error))), None)),
                Ok(Some(SseRead::Event(event))) => {
                    ear.observe(&event.data);
                    Sse {
                        event: Some(event.kind),
                        data: Some(event.data),
                        id: event.id,
                        retry: event.retry_ms,
                    }
                }
                Ok(Some(SseRead::TooLong(id))) => Sse {
                    data: too_long(&ear, id, asked.as_ref()),
                    ..Sse::default()
                },
            };
            Some((Ok(event), Some((events, ear, asked))))
        }))
    }
}

type SseResult = Result<Sse, SseError>;

/// What stands in the place of an answer that is too long, as text.
fn too_long(ear: &RawMessageTap, id: Option<Value>, asked: Option<&RequestId>) -> Option<String> {
    let asked = || serde_json::to_value(asked?).ok();
    let message = ear.too_long(id.or_else(asked).as_ref())?;
    serde_json::to_string(&message).ok()
}

fn client(error: HttpClientError) -> StreamableFailure {
    StreamableHttpError::Client(error.into())
}

fn protocol(what: &str) -> StreamableFailure {
    StreamableHttpError::Client(McpError::protocol(what))
}

fn status_of(answer: StatusCode) -> StreamableFailure {
    HttpStatusError::new(answer.as_u16(), None).into()
}

/// The id of the question that a message is.
fn question(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}

fn is_probe(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, ClientJsonRpcMessage::Request(request)
        if matches!(request.request, ClientRequest::DiscoverRequest(_)))
}

impl StreamableHttpClient for HttpTransportClient {
    type Error = McpError;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, StreamableFailure> {
        let posted = self.post(message, session, headers).await;
        if let Err(error) = &posted {
            let fault = McpError::of_transport(error);
            *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
        }
        posted
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<(), StreamableFailure> {
        let request = self.request(Method::DELETE, Some(&session), headers)?;
        let status = self.send(request).await?.status();
        if status.is_success() || status == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(());
        }
        Err(status_of(status))
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, SseResult>, StreamableFailure> {
        let mut request = self.request(Method::GET, session.as_deref(), headers)?;
        if let Some(last_event) = last_event {
            let value = HeaderValue::from_str(&last_event);
            let value = value.map_err(|_| protocol("the id of an event is no header"))?;
            request.headers_mut().insert(LAST_EVENT, value);
        }
        let answer = self.send(request).await?;
        if answer.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !answer.status().is_success() {
            return Err(status_of(answer.status()));
        }
        if !is_of(&answer, EVENTS) {
            return Err(protocol("its stream is none"));
        }
        Ok(self.stream(answer.into_body(), None))
    }
}

/// What an answer that is no success means for the question it answers.
fn failed(
    status: StatusCode,
    body: &[u8],
    asked: Option<RequestId>,
    is_probe: bool,
) -> Result<StreamableHttpPostResponse, StreamableFailure> {
    let Some(asked) = asked else {
        return Err(status_of(status));
    };
    // The id is not always told, and none else was asked here.
    let answered = |error: ErrorData| {
        let message = ServerJsonRpcMessage::error(error, Some(asked.clone()));
        Ok(StreamableHttpPostResponse::Json(message, None))
    };
    match serde_json::from_slice::<ServerJsonRpcMessage>(body) {
        Ok(ServerJsonRpcMessage::Error(told)) => answered(told.error),
        // Such as a gate that knows no question without a session.
        _ if is_probe && status.is_client_error() => {
            answered(ErrorData::invalid_request("not understood", None))
        }
        _ => Err(status_of(status)),
    }
}
