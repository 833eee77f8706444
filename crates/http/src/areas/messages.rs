//! Messages of sessions, and the queue before them.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, Uri},
    response::Response,
};
use guildhall_domain::{
    callers::{AnyCaller, Human},
    ids::MessageId,
};
use guildhall_hall::{
    Hall,
    sessions::{self, QueuedMessageRow},
};
use guildhall_wire::{
    errors::ErrorEnvelope,
    sessions::{
        MessageQueue, QueuedMessage, SendMessage, SendOutcome, SentMessage, UpdateQueuedMessage,
    },
    transcript::Messages,
};

use crate::{
    body::Body,
    errors::ApiResult,
    gates::By,
    idempotency::IdempotentBody,
    openapi::parameters::PageLimit,
    page_cursor,
    path_ids::{Path, SessionPath},
    query::{FromQuery, Params, Query},
    responses::{ReadResponse, page_response},
};

/// Before which place a session's messages are asked for.
pub struct ListMessages {
    before: Option<u64>,
    limit: u32,
}

/// What a cursor of messages is bound to.
const LIST: &str = "messages";

impl FromQuery for ListMessages {
    fn read(params: &mut Params) -> Self {
        Self {
            before: params.place_after(LIST),
            limit: params.limit(),
        }
    }
}

/// Gives a session a message; it waits while a turn runs.
#[utoipa::path(post, path = "/api/sessions/{id}/messages", tag = "sessions", operation_id = "sendMessage",
    params(("id" = String, Path, description = "The session")),
    request_body = SendMessage,
    responses((status = 202, body = SentMessage),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "SESSION_CLOSED, SESSION_READ_ONLY, QUEUE_FULL", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn send(
    State(hall): State<Hall>,
    By(by): By<Human>,
    SessionPath(session): SessionPath,
    IdempotentBody { ask, repeat }: IdempotentBody<SendMessage>,
) -> ApiResult<(StatusCode, Json<SentMessage>)> {
    let once =
        repeat.answered_by(|sent: &sessions::SendReceipt| (StatusCode::ACCEPTED, form(sent)));
    let sent = hall.send_message(&by, session, ask.content, once).await;
    let sent = hall.refuse_terminal(&by, session, sent).await?;
    Ok((StatusCode::ACCEPTED, Json(form(&sent))))
}

fn form(sent: &sessions::SendReceipt) -> SentMessage {
    SentMessage {
        session_id: sent.session_id,
        message_id: sent.message_id,
        outcome: if sent.starts {
            SendOutcome::Started
        } else {
            SendOutcome::Queued
        },
        queue_position: sent.queue_position,
    }
}

/// The newest messages of a session, oldest first; the next page holds the ones before them.
///
/// A session of the agents' own command lines has none here.
#[utoipa::path(get, path = "/api/sessions/{id}/messages", tag = "sessions", operation_id = "listMessages",
    params(
        ("id" = String, Path, description = "The session"),
        ("limit" = inline(Option<PageLimit>), Query, description = "1 to 200; 50"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before, which leads to older messages"),
    ),
    responses((status = 200, body = Messages),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    uri: Uri,
    SessionPath(session): SessionPath,
    Query(ask): Query<ListMessages>,
) -> ApiResult<Response> {
    let seen = hall.messages(&by, session, ask.before, ask.limit).await;
    let seen = hall.or_empty(&by, session, seen).await?;
    let oldest = seen.value.messages.first().filter(|_| seen.value.has_more);
    let next_cursor = oldest.map(|oldest| page_cursor::write_place(oldest.seq, LIST));
    Ok(page_response(
        &uri,
        next_cursor,
        seen,
        |page, next_cursor| Messages {
            messages: page.messages.into_iter().map(Into::into).collect(),
            next_cursor,
        },
    ))
}

/// What waits in a session, in order.
#[utoipa::path(get, path = "/api/sessions/{id}/queue", tag = "sessions", operation_id = "getQueue",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, body = MessageQueue),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn queue(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    SessionPath(session): SessionPath,
) -> ApiResult<ReadResponse<MessageQueue>> {
    let queue = hall.queue(&by, session).await;
    let queue = hall.or_empty(&by, session, queue).await?;
    Ok(ReadResponse(queue.map(listed)))
}

/// Changes the words of a message that waits.
#[utoipa::path(patch, path = "/api/sessions/{id}/queue/{messageId}", tag = "sessions", operation_id = "rewordMessage",
    params(
        ("id" = String, Path, description = "The session"),
        ("messageId" = String, Path, description = "The message"),
    ),
    request_body = UpdateQueuedMessage,
    responses((status = 200, body = MessageQueue),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND, QUEUED_MESSAGE_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn reword(
    State(hall): State<Hall>,
    By(by): By<Human>,
    SessionPath(session): SessionPath,
    Path((_named, message)): Path<(String, MessageId)>,
    Body(ask): Body<UpdateQueuedMessage>,
) -> ApiResult<Json<MessageQueue>> {
    let queue = hall
        .reword_message(&by, session, message, ask.content)
        .await;
    let queue = hall.refuse_terminal(&by, session, queue).await?;
    Ok(Json(listed(queue)))
}

/// Takes a message out of the queue.
#[utoipa::path(delete, path = "/api/sessions/{id}/queue/{messageId}", tag = "sessions", operation_id = "removeMessage",
    params(
        ("id" = String, Path, description = "The session"),
        ("messageId" = String, Path, description = "The message"),
    ),
    responses((status = 200, body = MessageQueue),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND, QUEUED_MESSAGE_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn remove(
    State(hall): State<Hall>,
    By(by): By<Human>,
    SessionPath(session): SessionPath,
    Path((_named, message)): Path<(String, MessageId)>,
) -> ApiResult<Json<MessageQueue>> {
    let queue = hall.remove_message(&by, session, message).await;
    let queue = hall.refuse_terminal(&by, session, queue).await?;
    Ok(Json(listed(queue)))
}

fn listed(queue: Vec<QueuedMessageRow>) -> MessageQueue {
    MessageQueue {
        queue: queue.into_iter().map(queued).collect(),
    }
}

/// A message that waits, as the interface shows it.
pub(crate) fn queued(message: QueuedMessageRow) -> QueuedMessage {
    QueuedMessage {
        id: message.id,
        content: message.content,
        enqueued_at: message.enqueued_at,
        enqueued_by: message.author_id,
    }
}
