//! The process behind a link: started under its keeper, driven, and ended in order.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll},
    time::Duration,
};

use agent_client_protocol::{
    self as acp, Client, JsonRpcNotification, JsonRpcRequest, Lines, UntypedMessage,
    v1::schema::{
        CreateElicitationRequest, CreateElicitationResponse, ElicitationMode,
        RequestPermissionRequest, RequestPermissionResponse,
    },
};
use guildhall_domain::{
    interactions::{InteractionRequest, InteractionResponse},
    limits::STOP_GRACE_S,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
    time::timeout,
};

use super::{
    AgentCallError, AgentConnection, AgentExit, AgentLaunch, AgentMessage, BEFORE_LAST_WORDS,
    ExitCause, ResponseSlot, SAID_MAX,
    agent_connection::SharedConnection,
    codec::{DispatchMarker, FlowControl, LineSink, LineStream},
    elicitation_forms, from_acp,
};
use crate::{
    guarded_process::{GuardedLaunch, GuardedProcess, StdioPipes},
    process_environment::AGENT_TOKEN,
};

/// How long what waits for the agent may take to be written once it shall end.
const LAST_WRITE: Duration = Duration::from_millis(200);
/// Bytes of why a request cannot be read that the agent is told.
const UNREADABLE_BYTES_MAX: usize = 200;

/// Drives an agent's process until it has ended and nothing of its tree lives any more.
/// Must be polled for anything to happen; dropped, it lets the keeper end the process.
#[must_use = "nothing happens unless it is driven"]
pub struct AgentDriver(Pin<Box<dyn Future<Output = AgentExit> + Send>>);

impl fmt::Debug for AgentDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Running")
    }
}

impl Future for AgentDriver {
    type Output = AgentExit;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<AgentExit> {
        self.0.as_mut().poll(cx)
    }
}

/// Starts an agent's process below a keeper.
///
/// The agent takes its first step when its keeper stands in `launch.trees`. A program that does
/// not exist shows as [`AgentExit`] with exit code 127, and as the error of the first question.
///
/// # Errors
/// [`AgentCallError::NotStarted`] when the keeper cannot be started, such as for a folder that is gone.
pub async fn launch(
    launch: AgentLaunch,
) -> Result<(AgentConnection, mpsc::Receiver<AgentMessage>, AgentDriver), AgentCallError> {
    let token = launch.env.iter().find(|(name, _)| name == AGENT_TOKEN);
    let start = GuardedLaunch {
        program: &launch.program,
        name: None,
        args: &launch.args,
        cwd: &launch.cwd,
        env: &launch.env,
        keeper: &launch.keeper,
        enclosure: &launch.enclosure,
        whose: launch.agent.into(),
        trees: &launch.trees,
        mark: token.map(|(name, value)| format!("{name}={value}")),
        grace: Duration::from_secs(STOP_GRACE_S),
        is_at_pipes: false,
    };
    let (keeper, pipes) = GuardedProcess::start(&start)
        .await
        .map_err(|error| AgentCallError::not_started(&launch.program, &error))?;
    let shared = Arc::new(SharedConnection::new(keeper.pid()));
    let (said, heard) = mpsc::channel(SAID_MAX);
    let end = ExitNotifier(Arc::clone(&shared));
    let link = AgentConnection {
        shared: Arc::clone(&shared),
    };
    let running = AgentDriver(Box::pin(run(shared, end, keeper, pipes, said)));
    Ok((link, heard, running))
}

/// Tells everybody who waits that the process ended, also when nobody drives it any more.
struct ExitNotifier(Arc<SharedConnection>);

impl ExitNotifier {
    fn tell(&self, ended: AgentExit) {
        self.0.ended.send_if_modified(|known| {
            let is_news = known.is_none();
            if is_news {
                *known = Some(ended);
            }
            is_news
        });
    }
}

impl Drop for ExitNotifier {
    fn drop(&mut self) {
        self.tell(AgentExit {
            kind: ExitCause::Asked,
            why: "the agent's process was given up".to_owned(),
            code: None,
        });
    }
}

async fn run(
    shared: Arc<SharedConnection>,
    end: ExitNotifier,
    keeper: GuardedProcess,
    pipes: StdioPipes,
    said: mpsc::Sender<AgentMessage>,
) -> AgentExit {
    let flow = Arc::new(FlowControl::default());
    let talk = talk(&shared, Arc::clone(&flow), pipes.stdin, pipes.stdout, said);
    let is_over = || shared.is_over.store(true, Ordering::Release);
    let over = keeper.wait_until_ended(talk, is_over, &shared.tail, pipes.stderr);
    let over = over.await;
    let ended = ended(&shared, &flow, over.code);
    let ended = AgentExit {
        kind: if over.is_lost {
            ExitCause::Lost
        } else {
            ended.kind
        },
        ..ended
    };
    end.tell(ended.clone());
    ended
}

fn ended(shared: &SharedConnection, flow: &FlowControl, code: Option<i32>) -> AgentExit {
    let last_words = shared.tail.plain_text();
    let told = |what: String| {
        if last_words.is_empty() {
            what
        } else {
            format!("{what}{BEFORE_LAST_WORDS}{last_words}")
        }
    };
    if let Some(fault) = flow.fault() {
        return AgentExit {
            kind: ExitCause::Protocol,
            why: format!("PROTOCOL_ERROR: the agent wrote {fault}"),
            code,
        };
    }
    if *shared.stop.borrow() {
        return AgentExit {
            kind: ExitCause::Asked,
            why: "the agent's process was stopped".to_owned(),
            code,
        };
    }
    let what = match code {
        Some(code) => format!("the agent's process ended with exit code {code}"),
        None => "the agent's process ended".to_owned(),
    };
    AgentExit {
        kind: ExitCause::Exited,
        why: told(what),
        code,
    }
}

/// Any `session/update`, so that one this version cannot read costs nothing but itself.
#[derive(Clone, Debug, Serialize, Deserialize, JsonRpcNotification)]
#[notification(method = "session/update")]
#[serde(rename_all = "camelCase")]
struct RawSessionUpdate {
    session_id: String,
    update: Value,
}

/// Any request for a permission: the crate's answer to one it cannot read repeats all of it, and
/// what an agent does not take waits in memory.
#[derive(Clone, Debug, Serialize, Deserialize, JsonRpcRequest)]
#[request(method = "session/request_permission", response = RequestPermissionResponse)]
#[serde(transparent)]
struct RawPermissionRequest(Value);

/// Any form, for the same reason.
#[derive(Clone, Debug, Serialize, Deserialize, JsonRpcRequest)]
#[request(method = "elicitation/create", response = CreateElicitationResponse)]
#[serde(transparent)]
struct RawElicitation(Value);

/// The answer to a request that cannot be read.
fn unreadable(error: &serde_json::Error) -> acp::Error {
    let mut why = error.to_string();
    why.truncate(why.floor_char_boundary(UNREADABLE_BYTES_MAX));
    acp::Error::invalid_params().data(why)
}

/// Drives the connection until either side ends it.
async fn talk(
    shared: &Arc<SharedConnection>,
    flow: Arc<FlowControl>,
    stdin: impl AsyncWrite + Unpin + Send + 'static,
    stdout: impl AsyncRead + Unpin + Send + 'static,
    said: mpsc::Sender<AgentMessage>,
) {
    let transport = Lines::new(
        LineSink::new(stdin, Arc::clone(&flow)),
        LineStream::new(stdout, Arc::clone(&flow)),
    );
    let mut stop = shared.stop.subscribe();
    let mut stopped = shared.stop.subscribe();
    let ear = MessageHandler {
        shared: Arc::clone(shared),
        said,
    };
    let (updates, permissions, forms) = (ear.clone(), ear.clone(), ear);
    let conversation = Client
        .v1()
        .on_receive_notification(
            async move |any: RawSessionUpdate, _| {
                updates.update(any).await;
                Ok(())
            },
            acp::on_receive_notification!(),
        )
        .on_receive_notification(
            async move |_: DispatchMarker, _| {
                flow.reached();
                Ok(())
            },
            acp::on_receive_notification!(),
        )
        .on_receive_request(
            async move |RawPermissionRequest(raw), responder, _| match serde_json::from_value::<
                RequestPermissionRequest,
            >(raw)
            {
                Ok(request) => {
                    let (session, asked, call) = from_acp::permission(request);
                    let reply = ResponseSlot::permission(responder);
                    permissions.ask(session, asked, call, reply).await;
                    Ok(())
                }
                Err(error) => responder.respond_with_error(unreadable(&error)),
            },
            acp::on_receive_request!(),
        )
        .on_receive_request(
            async move |RawElicitation(raw), responder, _| match serde_json::from_value::<
                CreateElicitationRequest,
            >(raw)
            {
                Ok(request) => {
                    forms.form(&request, ResponseSlot::form(responder)).await;
                    Ok(())
                }
                Err(error) => responder.respond_with_error(unreadable(&error)),
            },
            acp::on_receive_request!(),
        )
        // Behind all others. A notification of a session that nobody claims would be kept for
        // handlers to come, and there are none.
        .on_receive_notification(
            async move |_: UntypedMessage, _| Ok(()),
            acp::on_receive_notification!(),
        )
        .connect_with(transport, async move |connection| {
            shared.connection.send_replace(Some(connection.clone()));
            tokio::select! {
                // An error means that every link is gone, which is a stop as well.
                _ = stop.wait_for(|stop| *stop) => {}
                () = connection.incoming_closed() => {}
            }
            Ok(())
        });
    let patience = async {
        let _ = stopped.wait_for(|stop| *stop).await;
        // An agent that takes nothing does not get what still waits for it.
        let _ = timeout(LAST_WRITE, std::future::pending::<()>()).await;
    };
    tokio::select! {
        // Why it ended stands in `flow` and in the exit code.
        _ = conversation => {}
        () = patience => {}
    }
}

/// Hands on what an agent says. It runs within the dispatch of messages, and waits for nothing
/// but room: that is what slows an agent down that says more than is listened to.
#[derive(Clone)]
struct MessageHandler {
    shared: Arc<SharedConnection>,
    said: mpsc::Sender<AgentMessage>,
}

impl MessageHandler {
    async fn update(&self, any: RawSessionUpdate) {
        let session = any.session_id;
        for update in from_acp::updates(any.update) {
            if self.shared.sessions.observe_update(&session, &update) {
                let session = session.clone();
                self.hand_on(AgentMessage::Update { session, update }).await;
            }
        }
    }

    async fn ask(
        &self,
        session: String,
        asked: InteractionRequest,
        call: Option<guildhall_domain::transcript::ToolCallPatch>,
        reply: ResponseSlot,
    ) {
        let id = match &asked {
            InteractionRequest::Permission { tool_call_id, .. } => Some(tool_call_id),
            InteractionRequest::Form { tool_call_id, .. } => tool_call_id.as_ref(),
        };
        if id.is_some_and(|id| !from_acp::is_call_id(id)) {
            return reply.send(InteractionResponse::Cancelled);
        }
        self.hand_on(AgentMessage::Ask {
            session,
            asked,
            call,
            reply,
        })
        .await;
    }

    async fn form(&self, request: &CreateElicitationRequest, reply: ResponseSlot) {
        let (scope, questions) = match &request.mode {
            ElicitationMode::Form(form) => (&form.scope, elicitation_forms::questions(form)),
            ElicitationMode::Url(url) => (
                &url.scope,
                vec![elicitation_forms::link(url, &request.message)],
            ),
            // A form of a later protocol that nobody here can fill in.
            _ => return reply.send(InteractionResponse::Cancelled),
        };
        let named = elicitation_forms::scope(scope);
        let only = || Some((self.shared.sessions.only()?, None));
        let Some((session, tool_call_id)) = named.or_else(only) else {
            return reply.send(InteractionResponse::Cancelled);
        };
        let asked = InteractionRequest::Form {
            tool_call_id,
            message: request.message.clone(),
            questions,
        };
        self.ask(session, asked, None, reply).await;
    }

    async fn hand_on(&self, said: AgentMessage) {
        // Nobody listens any more: a question dropped here is answered "cancelled".
        let _ = self.said.send(said).await;
    }
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
