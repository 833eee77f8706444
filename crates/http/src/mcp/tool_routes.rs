//! Twins: a tool's call as the request to its route, and the route's answer as the tool's result.

use axum::{
    body::{Body, to_bytes},
    http::{HeaderName, HeaderValue, Request, StatusCode, Uri, header, request::Parts},
    response::Response,
};
use guildhall_domain::{Refusal, errors::ValidationErrors};
use guildhall_hall::approvals::ClientPresence;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use super::{
    CallingAgent,
    tool_table::{ApiRoute, ArgumentPlace, OWN, Tier, ToolRoute, ToolRow},
};
use crate::{
    approval_headers::SERVICE_APPROVAL,
    errors::{ApiError, internal},
    gates::SERVICE_AGENT,
    guards::{GuardRefusal, TARGET_BYTES_MAX},
    idempotency::IDEMPOTENCY_KEY,
    listener,
};

/// Bytes of an answer that becomes a result.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Seconds a call may wait for a person: when the client hears of its progress, and when not.
const HOLD_MAX_S: [(bool, &str); 2] = [(true, "wait=600"), (false, "wait=50")];
/// How long a request may be held. Source: RFC 7240.
const PREFER: HeaderName = HeaderName::from_static("prefer");
/// What names the caller, and what makes a call safe to send again.
const CARRIED: [HeaderName; 3] = [SERVICE_AGENT, header::AUTHORIZATION, IDEMPOTENCY_KEY];

/// The request to the twin of `tool`: from the peer, and with the credential, of the request
/// that `asked` for it.
///
/// # Errors
/// [`Refusal::Validation`] with every argument that has no place in an address;
/// `URI_TOO_LONG` as for any request.
pub(super) fn request(
    tool: &ToolRow,
    arguments: &Map<String, Value>,
    asked: &Parts,
    hears_progress: bool,
) -> Result<Request<Body>, ApiError> {
    let RoutedCall {
        route,
        target,
        body,
        approval,
        ..
    } = route_call(tool, arguments)?;
    let own = asked
        .extensions
        .get::<CallingAgent>()
        .ok_or_else(internal)?;
    let target = match target.strip_prefix(OWN) {
        Some(rest) => format!("{}{rest}", OWN.replace("{agentId}", &own.0.to_string())),
        None => target,
    };
    if target.len() > TARGET_BYTES_MAX {
        return Err(GuardRefusal::TargetTooLong.into());
    }
    let target = Uri::try_from(target).map_err(|_| internal())?;
    let mut request = Request::builder().method(route.method).uri(target);
    for name in CARRIED {
        for value in asked.headers.get_all(&name) {
            request = request.header(&name, value);
        }
    }
    if tool.tier == Tier::Destructive {
        let hold = HOLD_MAX_S
            .iter()
            .find(|(hears, _)| *hears == hears_progress);
        if let Some((_, hold)) = hold {
            request = request.header(PREFER, HeaderValue::from_static(hold));
        }
    }
    if let Some(token) = approval {
        request = request.header(SERVICE_APPROVAL, token);
    }
    let body = match body {
        Some(fields) => {
            request = request.header(header::CONTENT_TYPE, "application/json");
            Body::from(Value::Object(fields).to_string())
        }
        None => Body::empty(),
    };
    let mut request = request.body(body).map_err(|_| internal())?;
    let peer = asked.extensions.get::<listener::ConnectionPeer>();
    request.extensions_mut().insert(*peer.ok_or_else(internal)?);
    if let Some(listening) = asked.extensions.get::<ClientPresence>() {
        request.extensions_mut().insert(listening.clone());
    }
    Ok(request)
}

/// A call in the places of its route.
struct RoutedCall {
    route: ApiRoute,
    /// Path and query.
    target: String,
    /// Absent where the route takes no body.
    body: Option<Map<String, Value>>,
    /// The token of an approval.
    approval: Option<HeaderValue>,
    /// How many seconds an answer may be waited for that is not `pending`.
    wait_s: u32,
}

/// How many seconds an answer may be waited for that is not `pending`.
pub(super) fn wait_s(tool: &ToolRow, arguments: &Map<String, Value>) -> u32 {
    route_call(tool, arguments).map_or(0, |filled| filled.wait_s)
}

/// Whether an answer says that something is pending; and the same answer.
///
/// # Errors
/// When there is no body to be had.
pub(super) async fn is_pending(response: Response) -> Result<(bool, Response), ApiError> {
    let (head, body) = response.into_parts();
    let bytes = to_bytes(body, ANSWER_BYTES_MAX).await;
    let bytes = bytes.map_err(|_| internal())?;
    let state: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let response = Response::from_parts(head, Body::from(bytes));
    Ok((state["state"] == "pending", response))
}

fn route_call(tool: &ToolRow, arguments: &Map<String, Value>) -> Result<RoutedCall, Refusal> {
    let mut invalid = ValidationErrors::default();
    let (mut named, mut query, mut body) = (Vec::new(), Vec::new(), None);
    let (mut is_first, mut wait_s, mut approval) = (true, 0, None);
    for argument in tool.arguments {
        let value = arguments.get(argument.name);
        let given = value.filter(|value| !value.is_null());
        let fits = match argument.place {
            ArgumentPlace::Path(there) => match given.and_then(Value::as_str) {
                Some(text) if !text.is_empty() => {
                    named.push((there, encoded(text)));
                    Ok(())
                }
                _ => Err("must be a text that is not empty"),
            },
            ArgumentPlace::Fixed(there, text) => {
                named.push((there, encoded(text)));
                Ok(())
            }
            ArgumentPlace::Query(there) | ArgumentPlace::Flag(there) => {
                match given.map(word).transpose() {
                    Ok(word) => {
                        query.extend(word.map(|word| format!("{there}={}", encoded(&word))));
                        Ok(())
                    }
                    Err(problem) => Err(problem),
                }
            }
            ArgumentPlace::Approval => {
                let token = given.map(|value| value.as_str().map(HeaderValue::from_str));
                match token {
                    None => Ok(()),
                    Some(Some(Ok(token))) => {
                        approval = Some(token);
                        Ok(())
                    }
                    Some(_) => Err("must be the token of an approval"),
                }
            }
            ArgumentPlace::Wait(most) => match given.map(Value::as_u64) {
                None => Ok(()),
                Some(Some(seconds)) if seconds <= u64::from(most) => {
                    wait_s = u32::try_from(seconds).unwrap_or(most);
                    Ok(())
                }
                Some(_) => Err("must be a whole number of seconds that is not too large"),
            },
            ArgumentPlace::Choice(_) => match given.map(Value::as_bool) {
                None => Ok(()),
                Some(Some(chosen)) => {
                    is_first = chosen;
                    Ok(())
                }
                Some(None) => Err("must be true or false"),
            },
            ArgumentPlace::Body => {
                let fields = body.get_or_insert_with(Map::new);
                fields.extend(value.map(|value| (argument.name.to_owned(), value.clone())));
                Ok(())
            }
        };
        if let Err(problem) = fits {
            invalid.field(argument.name, problem);
        }
    }
    if !invalid.is_empty() {
        return Err(Refusal::Validation(invalid));
    }
    let route = match tool.twin {
        ToolRoute::Either(_, second) if !is_first => second,
        twin => twin.first(),
    };
    let path = named
        .iter()
        .fold(route.path.to_owned(), |path, (there, text)| {
            path.replace(&format!("{{{there}}}"), text)
        });
    let mark = if query.is_empty() { "" } else { "?" };
    let target = format!("{path}{mark}{}", query.join("&"));
    Ok(RoutedCall {
        route,
        target,
        body,
        approval,
        wait_s,
    })
}

/// A value as a query writes it.
fn word(value: &Value) -> Result<String, &'static str> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err("must be a text, a number or a boolean")
        }
    }
}

/// A text as it stands in an address. Source: RFC 3986 §2.3.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// The result that says what the twin answered: its body as it is, and a bare list as `{items}`.
///
/// # Errors
/// When there is no body to be had.
pub(super) async fn result(response: Response) -> Result<CallToolResult, ApiError> {
    let is_refused = !response.status().is_success();
    let is_empty = response.status() == StatusCode::NO_CONTENT;
    let bytes = to_bytes(response.into_body(), ANSWER_BYTES_MAX);
    let bytes = bytes.await.map_err(|_| internal())?;
    let body = if is_empty {
        json!({})
    } else {
        serde_json::from_slice(&bytes).map_err(|_| internal())?
    };
    let body = match body {
        Value::Array(items) => json!({ "items": items }),
        body => body,
    };
    Ok(result_of(body, is_refused))
}

/// What a call comes to whose answer cannot be told.
pub(super) fn broken(error: &ApiError) -> CallToolResult {
    result_of(json!(error.envelope()), true)
}

/// The result with this body, which stands in its text as well.
pub(super) fn result_of(body: Value, is_refused: bool) -> CallToolResult {
    let text = body.to_string();
    let mut result = if is_refused {
        CallToolResult::error(vec![ContentBlock::text(text)])
    } else {
        CallToolResult::success(vec![ContentBlock::text(text)])
    };
    result.structured_content = Some(body);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tool_table::TOOLS;

    fn target(tool: &str, arguments: &Value) -> Result<(String, Option<Value>), Vec<String>> {
        let tool = TOOLS.iter().find(|row| row.name == tool).unwrap();
        match route_call(tool, arguments.as_object().unwrap()) {
            Ok(RoutedCall {
                route,
                target,
                body,
                ..
            }) => Ok((
                format!("{} {target}", route.method),
                body.map(Value::Object),
            )),
            Err(Refusal::Validation(invalid)) => Err(invalid.field_errors.into_keys().collect()),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn arguments_find_their_places() {
        for (tool, arguments, expected) in [
            ("rooms_list", json!({}), Ok(("GET /api/rooms", None))),
            (
                "rooms_list",
                json!({"kind": "dm", "includeArchived": true, "unknown": 1}),
                Ok(("GET /api/rooms?kind=dm&includeArchived=true", None)),
            ),
            (
                "room_read",
                json!({"roomId": "r", "before": 12, "limit": null}),
                Ok(("GET /api/rooms/r/entries?before=12", None)),
            ),
            (
                "room_get",
                json!({"roomId": "../a?b=c#d/%2e"}),
                Ok(("GET /api/rooms/..%2Fa%3Fb%3Dc%23d%2F%252e", None)),
            ),
            (
                "room_search",
                json!({"q": "grün & gut"}),
                Ok(("GET /api/search?q=gr%C3%BCn%20%26%20gut", None)),
            ),
            (
                "room_post",
                json!({"roomId": "r", "text": "hi", "attachmentIds": ["x"]}),
                Ok(("POST /api/rooms/r/entries", Some(json!({"text": "hi"})))),
            ),
            (
                "room_react",
                json!({"roomId": "r", "entryId": "e", "emoji": "👍"}),
                Ok(("PUT /api/rooms/r/entries/e/reactions/%F0%9F%91%8D", None)),
            ),
            (
                "room_react",
                json!({"roomId": "r", "entryId": "e", "emoji": "x", "on": false}),
                Ok(("DELETE /api/rooms/r/entries/e/reactions/x", None)),
            ),
            ("room_get", json!({}), Err(vec!["roomId"])),
            ("room_get", json!({"roomId": ""}), Err(vec!["roomId"])),
            (
                "room_react",
                json!({"entryId": 3, "emoji": "x", "on": "no"}),
                Err(vec!["entryId", "on", "roomId"]),
            ),
            ("room_search", json!({"q": ["a"]}), Err(vec!["q"])),
        ] {
            let found = target(tool, &arguments);
            let expected = expected
                .map(|(target, body)| (target.to_owned(), body))
                .map_err(|fields| fields.into_iter().map(str::to_owned).collect());
            assert_eq!(found, expected, "{tool} {arguments}");
        }
    }
}
