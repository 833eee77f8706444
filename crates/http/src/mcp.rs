//! The MCP endpoint: what an agent can do in the house, as tools of the Model Context Protocol.
//! Each tool is another name of a route: a call becomes a request to it through the same router,
//! from the same peer with the same credential, so a tool adds no rule and skips none. The tools
//! for a shared browser tab stand beside them, see [`browser_tools`].
//! Source: contract 4.9.

mod browser_tools;
mod connector_tools;
pub(crate) mod running_calls;
mod tool_routes;
mod tool_schemas;
mod tool_table;

use std::{
    convert::Infallible,
    future::pending,
    pin::pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, Request, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use guildhall_domain::{browser::tools::BrowserTool, callers::Agent, ids::AgentId, limits};
use guildhall_hall::{Hall, approvals::ClientPresence, launch_config::LOOK_OF_BRIDGE};
use guildhall_wire::connectors::tools::ConnectorTool;
use http_body_util::Full;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, JsonObject,
        ListToolsResult, NumberOrString, PaginatedRequestParams, ProgressNotificationParam,
        ProgressToken, ServerCapabilities, ServerConfig, Tool,
    },
    service::{Peer, RequestContext},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval_at, timeout_at},
};
use tower::ServiceExt;

use self::{
    running_calls::RunningCalls,
    tool_table::{Tier, ToolRow},
};
use crate::{
    body::BODY_BYTES_MAX,
    error_catalogue,
    errors::{ApiError, internal},
    rate_limit::RateLimit,
};

/// How often a client that wants to hear of it is told that a call still waits for a person.
const PROGRESS_EVERY: Duration = Duration::from_secs(15);
/// The forms of an answer: one message, or a stream of them.
const FORMS: &str = "application/json, text/event-stream";
/// How often is looked whether something is pending no longer.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What an agent is told of the house when it arrives.
const INSTRUCTIONS: &str = "guildhall: the house you work in. Read and write its rooms, share \
    documents on a room's canvas, and ask for tool servers of your own. While a person shares a \
    browser tab with your session, tools whose names begin with browser_ act in it. A refusal is \
    a result with isError and {error, code, details}.";

/// The agent that a message is from; among the extensions of its request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallingAgent(pub(crate) AgentId);

/// The endpoint of one server, shared by all requests.
pub(crate) struct McpEndpoint {
    service: StreamableHttpService<Arc<McpToolServer>, NeverSessionManager>,
    /// How many requests of each agent are being answered.
    pub(crate) calls: Arc<RunningCalls>,
}

impl McpEndpoint {
    /// The endpoint whose tools are answered by `tool_routes`, the router of the interface.
    pub(crate) fn new(twins: Router, hall: Hall, rate_limit: Arc<RateLimit>) -> Self {
        let house = Arc::new(McpToolServer {
            tools: OnceLock::new(),
            twins,
            hall,
            rate_limit,
        });
        // Without sessions a restart of this server ends no client. Host and Origin are judged by
        // the guards before any route is looked for.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(BODY_BYTES_MAX)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let served = move || Ok(Arc::clone(&house));
        Self {
            service: StreamableHttpService::new(served, Arc::default(), config),
            calls: Arc::default(),
        }
    }

    /// Answers one message, whose body was read within its limits.
    pub(crate) async fn answer(&self, mut parts: Parts, body: Vec<u8>) -> Response {
        // A client that names no forms takes both.
        let forms = parts.headers.entry(header::ACCEPT);
        forms.or_insert(HeaderValue::from_static(FORMS));
        let request = Request::from_parts(parts, Full::new(Bytes::from(body)));
        as_envelope(self.service.handle(request).await.map(Body::new))
    }
}

/// Gives what the protocol's library refuses in plain text the form of every other refusal.
fn as_envelope(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    if !status.is_client_error() && !status.is_server_error()
        || kind.is_some_and(|kind| kind == "application/json")
    {
        return response;
    }
    let unreadable = "The body must be one JSON-RPC message of the Model Context Protocol, in a \
        version that this server knows.";
    match status {
        StatusCode::NOT_ACCEPTABLE => ApiError::new(error_catalogue::NOT_ACCEPTABLE),
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(error_catalogue::PAYLOAD_TOO_LARGE),
        _ if status.is_client_error() => {
            ApiError::new(error_catalogue::BAD_REQUEST).with_sentence(unreadable)
        }
        _ => internal(),
    }
    .into_response()
}

/// What answers the messages of all agents; it knows none of them from one to the next.
struct McpToolServer {
    /// Made when they are first asked for: no start waits for them.
    tools: OnceLock<Vec<Tool>>,
    /// The interface, asked in place.
    twins: Router,
    hall: Hall,
    /// How often agents may ask for changes; the twins look themselves.
    rate_limit: Arc<RateLimit>,
}

impl McpToolServer {
    fn tools(&self) -> &[Tool] {
        let make = || {
            let twins = tool_table::TOOLS.iter().map(tool_schemas::tool);
            twins.chain(connector_tools::all()).collect()
        };
        self.tools.get_or_init(make)
    }
}

impl ServerHandler for McpToolServer {
    fn get_info(&self) -> ServerConfig {
        let own = Implementation::new("guildhall", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(own)
            .with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let found = self.tools().iter().find(|tool| tool.name == name);
        found
            .cloned()
            .or_else(|| BrowserTool::find(name).map(browser_tools::tool))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let by = asking(&context)?;
        // What a bridge asks for itself, its client does not read.
        let is_read = !matches!(&context.id, NumberOrString::String(id) if **id == *LOOK_OF_BRIDGE);
        let has_browser = self.hall.has_browser_tools(&by, is_read).await;
        let has_browser = has_browser.unwrap_or_else(|error| {
            tracing::warn!(?error, "whether an agent has a browser is not known");
            false
        });
        let mut tools = self.tools().to_vec();
        if has_browser {
            tools.extend(browser_tools::all());
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(kind) = BrowserTool::find(&call.name) {
            let (by, arguments) = (asking(&context)?, call.arguments.unwrap_or_default());
            let result = browser_tools::call(&self.hall, &by, kind, &arguments).await;
            return Ok(result.into());
        }
        if let Some(kind) = ConnectorTool::find(&call.name) {
            let (by, arguments) = (asking(&context)?, call.arguments.unwrap_or_default());
            return Ok(self
                .call_connector(&by, kind, &arguments, &context)
                .await
                .into());
        }
        let tool = tool_table::TOOLS.iter().find(|tool| tool.name == call.name);
        let tool = tool.ok_or_else(|| {
            ErrorData::invalid_params(format!("there is no tool {}", call.name), None)
        })?;
        let asked = request_of(&context)?.clone();
        let arguments = call.arguments.unwrap_or_default();
        let answered = self.answer(tool, &arguments, &asked, &context).await;
        let response = answered.unwrap_or_else(IntoResponse::into_response);
        let result = tool_routes::result(response).await;
        Ok(result
            .unwrap_or_else(|error| tool_routes::broken(&error))
            .into())
    }
}

/// The request that a message came with.
fn request_of(context: &RequestContext<RoleServer>) -> Result<&Parts, ErrorData> {
    let asked = context.extensions.get::<Parts>();
    asked.ok_or_else(|| ErrorData::internal_error("the request is gone", None))
}

/// The agent that asks.
fn asking(context: &RequestContext<RoleServer>) -> Result<Agent, ErrorData> {
    let by = request_of(context)?.extensions.get::<Agent>().copied();
    by.ok_or_else(|| ErrorData::internal_error("nobody asks", None))
}

impl McpToolServer {
    /// What the twin of `tool` answers; asked again while it is pending and may be waited for.
    async fn answer(
        &self,
        tool: &ToolRow,
        arguments: &JsonObject,
        asked: &Parts,
        context: &RequestContext<RoleServer>,
    ) -> Result<Response, ApiError> {
        let progress = context.meta.get_progress_token();
        let progress = progress.filter(|_| tool.tier == Tier::Destructive);
        let hears = progress.is_some();
        let request = || tool_routes::request(tool, arguments, asked, hears);
        let Some(token) = progress else {
            let end =
                Instant::now() + Duration::from_secs(tool_routes::wait_s(tool, arguments).into());
            loop {
                let response = self.call_route(request()?).await;
                if Instant::now() >= end {
                    return Ok(response);
                }
                let (is_pending, response) = tool_routes::is_pending(response).await?;
                if !is_pending {
                    return Ok(response);
                }
                // It never comes about: only the time passes.
                let _ = timeout_at(end.min(Instant::now() + LOOK_EVERY), pending::<()>()).await;
            }
        };
        // The answer begins with the first word of progress, so that the head of the answer says
        // nothing of whether somebody still waits: the message itself is taken back then.
        let (waiting, waits) = watch::channel(());
        let mut request = request()?;
        request.extensions_mut().insert(ClientPresence::on(waits));
        let leaving = async {
            context.ct.cancelled().await;
            drop(waiting);
            pending::<Infallible>().await
        };
        tokio::select! {
            response = with_progress(&context.peer, token, self.call_route(request)) => Ok(response),
            never = leaving => match never {},
        }
    }

    /// What a tool for connectors answers; told of its progress, where the client wants to hear
    /// of it.
    async fn call_connector(
        &self,
        by: &Agent,
        kind: ConnectorTool,
        arguments: &JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let progress = context.meta.get_progress_token();
        let progress = progress.filter(|_| kind.is_destructive());
        let hold_s = if progress.is_some() {
            limits::APPROVAL_HOLD_MAX_S
        } else {
            limits::APPROVAL_HOLD_DEFAULT_S
        };
        let (waiting, waits) = watch::channel(());
        let listening = ClientPresence::on(waits);
        let house = (&self.hall, &*self.rate_limit);
        let asked = (kind, arguments);
        let answering = Box::pin(connector_tools::call(house, by, asked, (hold_s, listening)));
        let leaving = async {
            context.ct.cancelled().await;
            drop(waiting);
            pending::<Infallible>().await
        };
        let answering = async {
            match progress {
                Some(token) => with_progress(&context.peer, token, answering).await,
                None => answering.await,
            }
        };
        tokio::select! {
            result = answering => result,
            never = leaving => match never {},
        }
    }

    /// Asks the interface, to the end also when the agent goes away meanwhile: what follows a
    /// change's commit must happen as well.
    async fn call_route(&self, request: Request<Body>) -> Response {
        let answering = self.twins.clone().oneshot(request);
        match self.hall.tasks().finish(answering).await {
            Some(Ok(response)) => response,
            Some(Err(never)) => match never {},
            None => internal().into_response(),
        }
    }
}

/// Waits for `asking` and tells the client every now and then that it is still waited for.
async fn with_progress<T>(
    peer: &Peer<RoleServer>,
    token: ProgressToken,
    asking: impl Future<Output = T>,
) -> T {
    let mut asking = pin!(asking);
    let mut ticks = interval_at(Instant::now() + PROGRESS_EVERY, PROGRESS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = 0_u32;
    loop {
        tokio::select! {
            biased;
            response = &mut asking => return response,
            _ = ticks.tick() => {
                told += 1;
                let progress = ProgressNotificationParam::new(token.clone(), f64::from(told))
                    .with_message("A person is asked to approve this.");
                // A client that went away hears nothing more; the approval stays as it is.
                let _ = peer.notify_progress(progress).await;
            }
        }
    }
}
