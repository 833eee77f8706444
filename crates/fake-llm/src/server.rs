//! The server: reads bodies, checks the key, answers, and logs.

use std::{
    collections::HashSet,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{self, Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use crate::{
    MODEL,
    api_formats::{ApiFormat, RequestedAnswer},
    api_keys,
    model_reply::{self, ModelAnswer, ModelReply},
    model_request::ModelRequest,
    request_log::LoggedRequest,
};

/// The largest body, in bytes, as it comes and unpacked.
const BODY_MAX: usize = 64 * 1024 * 1024;
/// How much of a tool's result is kept, in characters.
const RESULT_SHOWN_MAX: usize = 2_000;

/// How the server is set up.
#[derive(Clone, Debug)]
pub struct FakeLlmOptions {
    /// The keys of the test; any other key is answered 401.
    pub keys: Vec<String>,
    /// Whether the log is printed as well.
    pub is_loud: bool,
}

impl Default for FakeLlmOptions {
    fn default() -> Self {
        Self {
            keys: vec!["fake".to_owned(), "x".to_owned()],
            is_loud: false,
        }
    }
}

/// A model server on its own thread; dropping it ends it.
pub struct FakeLlm {
    address: SocketAddr,
    shared: Arc<FakeLlmState>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct FakeLlmState {
    settings: FakeLlmOptions,
    start: Instant,
    // Std mutexes: held for one insertion, never over an await.
    log: Mutex<Vec<LoggedRequest>>,
    failed: Mutex<HashSet<String>>,
}

impl FakeLlm {
    /// Starts one on a free port of 127.0.0.1, with the usual keys `fake` and `x`.
    ///
    /// # Errors
    /// When no port or no thread is to be had.
    pub fn start() -> io::Result<Self> {
        Self::start_with(FakeLlmOptions::default())
    }

    /// Starts one.
    ///
    /// # Errors
    /// When no port or no thread is to be had.
    pub fn start_with(settings: FakeLlmOptions) -> io::Result<Self> {
        let shared = Arc::new(FakeLlmState {
            settings,
            start: Instant::now(),
            log: Mutex::default(),
            failed: Mutex::default(),
        });
        // Bound here and served on a thread of its own, so that a test may start it from async code.
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (end, ended) = oneshot::channel::<()>();
        let router = Router::new()
            .fallback(handle)
            .with_state(Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("fake-llm".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    // Without its listener every request of the test fails, which is told well enough.
                    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                        return;
                    };
                    tokio::select! {
                        _ = ended => {}
                        _ = axum::serve(listener, router) => {}
                    }
                });
            })?;
        Ok(Self {
            address,
            shared,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Every request so far, in the order of their answers.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        held(&self.shared.log).clone()
    }
}

impl Drop for FakeLlm {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server has already failed the requests that met it.
            let _ = thread.join();
        }
    }
}

/// A thread that panicked with the lock leaves a whole value: one insertion was all.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn handle(State(shared): State<Arc<FakeLlmState>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let mut log = LoggedRequest {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        key_known: true,
        ..LoggedRequest::default()
    };
    let response = match head.method {
        Method::HEAD => StatusCode::OK.into_response(),
        ref method => {
            let key = api_keys::of_request(&head.headers, &head.uri);
            let known = |key: &str| shared.settings.keys.iter().any(|known| known == key);
            // A list of models tells nothing, so it may be read without a key, not with a foreign one.
            log.key_known = key.map_or(*method == Method::GET, known);
            if !log.key_known {
                failure(StatusCode::UNAUTHORIZED, "this is not a key of the test")
            } else if *method == Method::GET && log.path.contains("models") {
                json_body(&models())
            } else if let (true, Some((wire, wish))) =
                (*method == Method::POST, ApiFormat::of_path(&log.path))
            {
                log.wire = wire.name();
                match read(&head.headers, body, &mut log).await {
                    Ok(body) => asked(&shared, wire, wish, &body, &mut log, head.uri.query()).await,
                    Err(refused) => refused,
                }
            } else {
                failure(StatusCode::NOT_FOUND, "no model is asked this way")
            }
        }
    };
    log.status = response.status().as_u16();
    shared.note(log);
    response
}

impl FakeLlmState {
    #[allow(
        clippy::print_stdout,
        reason = "the log of the program `fake-llm` is its output"
    )]
    fn note(&self, mut log: LoggedRequest) {
        log.at_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        if let (true, Ok(line)) = (self.settings.is_loud, serde_json::to_string(&log)) {
            println!("{line}");
        }
        held(&self.log).push(log);
    }
}

/// The body as JSON, unpacked.
async fn read(headers: &HeaderMap, body: Body, log: &mut LoggedRequest) -> Result<Value, Response> {
    let unreadable = |why: String| failure(StatusCode::BAD_REQUEST, &why);
    let bytes = body::to_bytes(body, BODY_MAX)
        .await
        .map_err(|error| unreadable(error.to_string()))?;
    log.body_hash = hex(&Sha256::digest(&bytes));
    let packing = headers
        .get(header::CONTENT_ENCODING)
        .map(|value| value.as_bytes());
    let bytes: Bytes = match packing {
        None | Some(b"identity") => bytes,
        Some(b"zstd") => {
            let mut unpacked = Vec::new();
            let decoder =
                zstd::Decoder::new(&bytes[..]).map_err(|error| unreadable(error.to_string()))?;
            let mut bounded = io::Read::take(decoder, BODY_MAX as u64);
            io::Read::read_to_end(&mut bounded, &mut unpacked)
                .map_err(|error| unreadable(error.to_string()))?;
            unpacked.into()
        }
        Some(_) => {
            return Err(failure(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "send it plain or as zstd",
            ));
        }
    };
    serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))
}

async fn asked(
    shared: &FakeLlmState,
    wire: ApiFormat,
    wish: RequestedAnswer,
    body: &Value,
    log: &mut LoggedRequest,
    query: Option<&str>,
) -> Response {
    if wish == RequestedAnswer::Count {
        return json_body(&json!({"input_tokens": 10, "totalTokens": 10}));
    }
    let mut talk = wire.read(body);
    talk.is_streamed |= wish == RequestedAnswer::Stream;
    if talk.model.is_empty() {
        wire.model_of_path(&log.path).clone_into(&mut talk.model);
    }
    note_talk(&talk, log);
    let answer = match model_reply::reply_to(&talk) {
        ModelReply::Says(answer) => answer,
        ModelReply::Refuses(why) => return failure(StatusCode::UNPROCESSABLE_ENTITY, &why),
        ModelReply::Fails { status, otherwise } => {
            let once = format!("{} {}", log.path, conversation(body));
            if held(&shared.failed).insert(once) {
                let status =
                    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                return failure(status, "the directive #status says so");
            }
            otherwise
        }
    };
    if let Some(call) = &answer.call {
        log.picked = call.tool.full_name();
    }
    pause(&answer).await;
    let is_sse = wire != ApiFormat::Gemini || query.is_some_and(|query| query.contains("alt=sse"));
    if talk.is_streamed && is_sse {
        (
            [(header::CONTENT_TYPE, "text/event-stream")],
            wire.stream(&answer, &talk.model),
        )
            .into_response()
    } else if talk.is_streamed {
        json_body(&Value::Array(vec![
            wire.full_response(&answer, &talk.model),
        ]))
    } else {
        json_body(&wire.full_response(&answer, &talk.model))
    }
}

fn note_talk(talk: &ModelRequest, log: &mut LoggedRequest) {
    log.model.clone_from(&talk.model);
    log.stream = talk.is_streamed;
    log.tools = talk
        .tools
        .iter()
        .map(crate::model_request::OfferedTool::full_name)
        .collect();
    log.conversation = talk.pieces.len();
    let results = talk.results();
    log.results = results.len();
    let shown = |text: &&str| text.chars().take(RESULT_SHOWN_MAX).collect();
    log.result_texts = results.iter().map(shown).collect();
}

/// What stays the same when an agent tries again: the conversation.
fn conversation(body: &Value) -> String {
    let talk = ["messages", "input", "contents"]
        .iter()
        .find_map(|name| body.get(name));
    hex(&Sha256::digest(
        talk.map(Value::to_string).unwrap_or_default(),
    ))
}

#[expect(
    clippy::disallowed_methods,
    reason = "pausing is what the directive #slow is for"
)]
async fn pause(answer: &ModelAnswer) {
    if answer.pause_ms > 0 {
        tokio::time::sleep(Duration::from_millis(answer.pause_ms)).await;
    }
}

fn models() -> Value {
    let model = json!({
        "id": MODEL, "object": "model", "type": "model", "display_name": MODEL,
        "created_at": "2026-01-01T00:00:00Z", "created": 1_767_225_600, "owned_by": "tests",
        "name": format!("models/{MODEL}"),
    });
    json!({"object": "list", "data": [model], "models": [model], "has_more": false, "first_id": MODEL, "last_id": MODEL})
}

fn json_body(value: &Value) -> Response {
    (
        [(header::CONTENT_TYPE, "application/json")],
        value.to_string(),
    )
        .into_response()
}

fn failure(status: StatusCode, why: &str) -> Response {
    let body = json!({"type": "error", "error": {"type": "fake_llm_error", "message": why}});
    (status, json_body(&body)).into_response()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
