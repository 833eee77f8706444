//! What can be asked of a connected server, from any task.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use guildhall_domain::{
    limits::{MCP_RESULT_BYTES_MAX, MCP_TOOL_PAGES_MAX, MCP_TOOLS_MAX},
    mcp_tools::ToolDefinition,
};
use rmcp::{
    Peer, RoleClient,
    model::{
        ClientNotification, ClientRequest, CustomNotification, CustomRequest, ErrorCode, RequestId,
    },
    service::{PeerRequestOptions, RequestHandle},
};
use serde_json::{Map, Value, json};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, timeout, timeout_at},
};

use super::{
    ConnectionEnd, InitializeMode, InitializedServer, McpError, RequestOptions, RequestTimeouts,
    ToolListing,
    raw_message_tap::{self, TrackedRequest},
    server_requests::ServerRequestHandler,
};

/// How long a question that the end cut off waits to hear how the server ended.
const REASON_WAIT: Duration = Duration::from_millis(500);
/// Rounds in which a server may ask back before it answers.
const ROUNDS_MAX: usize = 10;

/// A connected server. Cheap to clone; all clones share the connection.
///
/// Every answer is as the server wrote it, [`MCP_RESULT_BYTES_MAX`] bytes at most. A question that
/// is dropped before its answer came is taken back. Errors are said once: nothing is asked twice.
#[derive(Clone, Debug)]
pub struct McpClient {
    pub(super) inner: Arc<ClientState>,
}

#[derive(Debug)]
pub(super) struct ClientState {
    pub(super) peer: Peer<RoleClient>,
    pub(super) answers: ServerRequestHandler,
    pub(super) server: InitializedServer,
    pub(super) keeper_pid: Option<u32>,
    /// Turns true when the connection shall end.
    pub(super) stop: Arc<watch::Sender<bool>>,
    /// Whether somebody here wanted that.
    pub(super) is_asked: Arc<AtomicBool>,
    pub(super) ended: Arc<watch::Sender<Option<ConnectionEnd>>>,
    /// Questions that nobody waits for any more.
    pub(super) taken_back: mpsc::Sender<RequestId>,
}

impl ClientState {
    fn stop(&self) {
        // What the server did before is not of our making.
        let is_asked = !*self.stop.borrow() && self.ended.borrow().is_none();
        self.is_asked.fetch_or(is_asked, Ordering::AcqRel);
        self.stop.send_replace(true);
    }
}

impl Drop for ClientState {
    /// Nobody is left who could ask anything.
    fn drop(&mut self) {
        self.stop();
    }
}

impl McpClient {
    /// What it said of itself.
    pub fn server(&self) -> &InitializedServer {
        &self.inner.server
    }

    /// The process everything of a program is below.
    pub fn guard_pid(&self) -> Option<u32> {
        self.inner.keeper_pid
    }

    /// Whether the connection is over, or about to be.
    pub fn is_over(&self) -> bool {
        self.inner.peer.is_transport_closed()
            || *self.inner.stop.borrow()
            || self.inner.ended.borrow().is_some()
    }

    /// Begins the end: a program's standard input is closed, and the keeper does the rest.
    /// So does dropping the last clone.
    pub fn stop(&self) {
        self.inner.stop();
    }

    /// All tools, of every page.
    ///
    /// # Errors
    /// [`McpError::TooLarge`] beyond [`MCP_TOOLS_MAX`] tools or [`MCP_TOOL_PAGES_MAX`] pages,
    /// [`McpError::Protocol`] for what is no tool; else as for every question. A server that
    /// knows no tools at all has none.
    ///
    /// Source: contract 4.6.
    pub async fn tools(&self, within: Duration) -> Result<Vec<ToolDefinition>, McpError> {
        Ok(self.listing(within).await?.tools)
    }

    /// The same, also as they were written.
    ///
    /// # Errors
    /// Those of [`McpClient::tools`].
    pub async fn listing(&self, within: Duration) -> Result<ToolListing, McpError> {
        let listing = timeout(within, self.pages(within));
        listing.await.unwrap_or(Err(McpError::Timeout))
    }

    /// How often the server said that its tools are others; counted as it is heard, before
    /// anybody is handed the notice.
    pub fn tools_changes(&self) -> u64 {
        self.inner.answers.tools_changes()
    }

    async fn pages(&self, within: Duration) -> Result<ToolListing, McpError> {
        let mut listing = ToolListing::default();
        let mut cursor = None;
        for _ in 0..MCP_TOOL_PAGES_MAX {
            let params = cursor.map(|cursor: String| json!({"cursor": cursor}));
            let asking = RequestOptions {
                waits: RequestTimeouts::at_most(within),
                ..RequestOptions::default()
            };
            let mut page = match self.forward("tools/list", params, asking).await {
                Err(McpError::Refused { code, .. }) if code == ErrorCode::METHOD_NOT_FOUND.0 => {
                    return Ok(listing);
                }
                page => page?,
            };
            let Value::Array(listed) = page["tools"].take() else {
                return Err(McpError::protocol("its list of tools is none"));
            };
            if listing.tools.len() + listed.len() > MCP_TOOLS_MAX {
                return Err(McpError::TooLarge);
            }
            for tool in listed {
                let definition = ToolDefinition::of(&tool).map_err(McpError::protocol)?;
                listing.tools.push(definition);
                listing.written.push(tool);
            }
            match page["nextCursor"].take() {
                Value::String(next) => cursor = Some(next),
                _ => return Ok(listing),
            }
        }
        Err(McpError::TooLarge)
    }

    /// Calls a tool; the answer may well say `isError`.
    ///
    /// # Errors
    /// As for every question.
    pub async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        asking: RequestOptions,
    ) -> Result<Value, McpError> {
        let params = json!({"name": name, "arguments": arguments});
        self.forward("tools/call", Some(params), asking).await
    }

    /// Asks anything; `params` is an object, its progress token is replaced by one of ours.
    ///
    /// A server without a greeting may ask back before it answers: that is done here.
    ///
    /// # Errors
    /// [`McpError::Refused`] for an error the server answered; see [`McpError`] for the others.
    pub async fn forward(
        &self,
        method: &str,
        params: Option<Value>,
        asking: RequestOptions,
    ) -> Result<Value, McpError> {
        let until = Instant::now() + asking.waits.total;
        let mut params = params;
        for _ in 0..ROUNDS_MAX {
            let answer = self.ask(method, params.clone(), &asking, until).await?;
            let asks_back = self.inner.server.lifecycle == InitializeMode::Direct
                && answer["resultType"] == "input_required";
            if !asks_back {
                return Ok(answer);
            }
            let answers = self.answers_to(&answer, &asking, until).await?;
            let members = params.get_or_insert_with(|| json!({}));
            members["inputResponses"] = answers;
            if let Some(state) = answer.get("requestState") {
                members["requestState"] = state.clone();
            }
        }
        Err(McpError::protocol("it asks back again and again"))
    }

    /// Tells the server something.
    ///
    /// # Errors
    /// When it cannot be told.
    pub async fn notify(&self, method: &str, params: Option<Value>) -> Result<(), McpError> {
        let notification = CustomNotification::new(method, params);
        let notification = ClientNotification::CustomNotification(notification);
        let told = self.inner.peer.send_notification(notification).await;
        told.map_err(|error| McpError::of_question(&error))
    }

    /// Answers what a server wants to know before it answers itself.
    async fn answers_to(
        &self,
        answer: &Value,
        asking: &RequestOptions,
        until: Instant,
    ) -> Result<Value, McpError> {
        let requests = answer["inputRequests"].as_object();
        let mut answers = Map::new();
        for (name, request) in requests.into_iter().flatten() {
            let method = request["method"].as_str().unwrap_or_default();
            let params = request["params"].clone();
            let answered = self.inner.answers.answer(method, params, vec![asking.tag]);
            // A person takes the time of the whole question, not that of one step of it.
            let answered = timeout_at(until, answered).await;
            let answered = answered.map_err(|_| McpError::Timeout)?;
            let answered = answered.map_err(|error| McpError::of_answer(&error))?;
            answers.insert(name.clone(), answered);
        }
        Ok(answers.into())
    }

    /// Asks once.
    async fn ask(
        &self,
        method: &str,
        params: Option<Value>,
        asking: &RequestOptions,
        until: Instant,
    ) -> Result<Value, McpError> {
        let asked = TrackedRequest::new(asking.tag, asking.progress.clone());
        let mut request = CustomRequest::new(method, params);
        request
            .extensions
            .insert(raw_message_tap::RequestExtension(Arc::clone(&asked)));
        let request = ClientRequest::CustomRequest(request);
        let options = PeerRequestOptions::no_options();
        let sent = self.inner.peer.send_request_with_option(request, options);
        let mut handle = match sent.await {
            Ok(handle) => handle,
            Err(error) => return Err(self.explained(McpError::of_question(&error)).await),
        };
        let unanswered = PendingRequest {
            id: Some(handle.id.clone()),
            taken_back: &self.inner.taken_back,
        };
        let answer = wait(&mut handle, &asked, asking.waits, until).await?;
        unanswered.answered();
        match answer {
            Ok(_) if asked.is_too_large() => Err(McpError::TooLarge),
            Err(_) if asked.is_too_large() => Err(McpError::TooLarge),
            Err(error) => Err(self.explained(McpError::of_question(&error)).await),
            Ok(understood) => {
                let Some(raw) = asked.take() else {
                    let value = serde_json::to_value(&understood);
                    return value.map_err(|error| McpError::protocol(error.to_string()));
                };
                if raw.get().len() > MCP_RESULT_BYTES_MAX {
                    return Err(McpError::TooLarge);
                }
                let value = serde_json::from_str(raw.get());
                value.map_err(|error| McpError::protocol(error.to_string()))
            }
        }
    }

    /// The error with how the server ended, where that is what happened.
    async fn explained(&self, error: McpError) -> McpError {
        if !matches!(error, McpError::Ended { .. }) {
            return error;
        }
        let mut ended = self.inner.ended.subscribe();
        let known = timeout(REASON_WAIT, ended.wait_for(Option::is_some)).await;
        match known.ok().and_then(Result::ok).as_deref() {
            Some(Some(ended)) => McpError::Ended {
                code: ended.code,
                stderr: ended.stderr.clone(),
            },
            _ => error,
        }
    }
}

type ReplyResult = Result<rmcp::model::ServerResult, rmcp::ServiceError>;

/// Waits for an answer, each progress giving it its time anew.
async fn wait(
    handle: &mut RequestHandle<RoleClient>,
    asked: &TrackedRequest,
    waits: RequestTimeouts,
    until: Instant,
) -> Result<ReplyResult, McpError> {
    loop {
        let pause = until.min(Instant::now() + waits.idle);
        let heard = async {
            tokio::select! {
                biased;
                answer = &mut handle.rx => Some(answer),
                () = asked.renewed.notified() => None,
            }
        };
        match timeout_at(pause, heard).await {
            Ok(Some(Ok(answer))) => return Ok(answer),
            Ok(Some(Err(_))) => return Ok(Err(rmcp::ServiceError::TransportClosed)),
            Ok(None) => {}
            Err(_) => return Err(McpError::Timeout),
        }
    }
}

/// A question on its way; dropped without an answer, it is taken back.
struct PendingRequest<'a> {
    id: Option<RequestId>,
    taken_back: &'a mpsc::Sender<RequestId>,
}

impl PendingRequest<'_> {
    fn answered(mut self) {
        self.id = None;
    }
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            // Without room the server works on for nothing, which harms nobody.
            let _ = self.taken_back.try_send(id);
        }
    }
}
