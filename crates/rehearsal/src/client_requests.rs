//! Asking: permission for a call, and answers by a form.
//! The options' order turns with every call and their ids tell nothing, so that a client chooses
//! by kind.

use agent_client_protocol::{
    Error, UntypedMessage,
    v1::{
        ConnectionTo,
        schema::{
            PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
            RequestPermissionRequest, ToolCallUpdate,
        },
    },
};
use serde_json::{Value, json};

use crate::connection::ClientRole;

/// What a person said to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PermissionResponse {
    /// This once.
    Once,
    /// This and every equal one in the session.
    Always,
    /// No, or no answer.
    No,
}

/// Asks whether a call may happen; `turn` says how far the options are turned.
///
/// # Errors
/// When the client answers with an error or is gone.
pub(crate) async fn permission(
    to: &ConnectionTo<ClientRole>,
    session: &str,
    call: ToolCallUpdate,
    turn: u64,
) -> Result<PermissionResponse, Error> {
    let mut offers = [
        (
            "Allow once",
            PermissionOptionKind::AllowOnce,
            PermissionResponse::Once,
        ),
        (
            "Always allow this call",
            PermissionOptionKind::AllowAlways,
            PermissionResponse::Always,
        ),
        (
            "Reject",
            PermissionOptionKind::RejectOnce,
            PermissionResponse::No,
        ),
    ];
    let places = offers.len();
    offers.rotate_left(usize::try_from(turn).unwrap_or_default() % places);
    let id = |place: usize| format!("option-{}", place + 1);
    let options = offers
        .iter()
        .enumerate()
        .map(|(place, (name, kind, _))| PermissionOption::new(id(place), *name, *kind))
        .collect();
    let request = RequestPermissionRequest::new(session.to_owned(), call, options);
    let answer = to.send_request(request).block_task().await?;
    let RequestPermissionOutcome::Selected(selected) = answer.outcome else {
        return Ok(PermissionResponse::No);
    };
    let chosen = selected.option_id.to_string();
    let found = offers
        .iter()
        .enumerate()
        .find(|(place, _)| id(*place) == chosen);
    Ok(found.map_or(PermissionResponse::No, |(_, (.., permission))| *permission))
}

/// Asks by a form whose schema is told exactly as given; `None` when nobody answered it.
///
/// # Errors
/// When the client answers with an error or is gone.
pub(crate) async fn form(
    to: &ConnectionTo<ClientRole>,
    session: &str,
    call: Option<&str>,
    schema: &Value,
) -> Result<Option<Value>, Error> {
    let text = |name: &str| schema.get(name).and_then(Value::as_str);
    let message = text("description")
        .or_else(|| text("title"))
        .unwrap_or("The rehearsal agent has a question.");
    let mut schema = schema.clone();
    if let Some(schema) = schema.as_object_mut() {
        schema.entry("type").or_insert_with(|| json!("object"));
    }
    let mut params = json!({
        "mode": "form",
        "sessionId": session,
        "message": message,
        "requestedSchema": schema,
    });
    if let (Some(call), Some(params)) = (call, params.as_object_mut()) {
        params.insert("toolCallId".to_owned(), json!(call));
    }
    let request = UntypedMessage::new("elicitation/create", params)?;
    let answer = to.send_request(request).block_task().await?;
    let is_answered = answer.get("action").and_then(Value::as_str) == Some("accept");
    Ok(is_answered.then(|| answer.get("content").cloned().unwrap_or_else(|| json!({}))))
}

/// The form of a single question, with a choice where `options` are given.
pub(crate) fn question(question: &str, options: &[String]) -> Value {
    let mut answer = json!({"type": "string", "title": question});
    if let (false, Some(answer)) = (options.is_empty(), answer.as_object_mut()) {
        answer.insert("enum".to_owned(), json!(options));
    }
    json!({
        "type": "object",
        "description": question,
        "properties": {"answer": answer},
        "required": ["answer"],
    })
}
