//! The interface document: OpenAPI 3.1, generated from the route table.

mod examples;
pub mod parameters;

use std::sync::OnceLock;

use axum::{
    http::{Method, header},
    response::{IntoResponse, Response},
};
use guildhall_wire::errors::ErrorEnvelope;
use serde_json::{Value, json};
use utoipa::OpenApi;

use crate::routes;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "guildhall",
        description = "A local server for a workspace in which people and coding agents work together.",
        license(name = "MIT", identifier = "MIT"),
    ),
    components(schemas(ErrorEnvelope)),
    // Its address ends in a part that the router writes in another way.
    paths(crate::areas::served_folders::get),
    tags(
        (name = "callers", description = "Who the server takes the caller for"),
        (name = "accounts", description = "Who has an account, in mode `login`"),
        (name = "sign-ins", description = "Signing in and out, in mode `login`"),
        (name = "keys", description = "What people's own programs show to be known"),
        (name = "authors", description = "Who writes, under which name and handle"),
        (name = "rooms", description = "Channels and direct messages"),
        (name = "members", description = "Who belongs to a room"),
        (name = "entries", description = "What is written in a room"),
        (name = "threads", description = "Replies to an entry"),
        (name = "reactions", description = "Emojis that answer an entry"),
        (name = "search", description = "Finding entries by their words"),
        (name = "attachments", description = "Files posted in a room"),
        (name = "turns", description = "What the agents of a room were asked, and why they answer or not"),
        (name = "read cursors", description = "How far a person has read"),
        (name = "canvas", description = "What a room or session has open beside its talk"),
        (name = "signals", description = "What is true only for a moment"),
        (name = "streams", description = "What happens, as it happens"),
        (name = "agents", description = "The registry of coding agents"),
        (name = "tokens", description = "What agents show to be known"),
        (name = "mcp servers", description = "Tool servers of agents"),
        (name = "runtimes", description = "The programs agents run on"),
        (name = "usage", description = "What agents' turns used"),
        (name = "directories", description = "The folders of home"),
        (name = "files", description = "People's own files beneath the allowed folders"),
        (name = "interactions", description = "What agents ask people, and the decisions on it"),
        (name = "approvals", description = "What people must allow, and what became of it"),
        (name = "workbench", description = "Folders and dev servers, shown to a browser"),
        (name = "browser", description = "The local browser of this computer"),
        (name = "settings", description = "What the owner can set"),
        (name = "operating", description = "Health, readiness, metrics, this document"),
    )
)]
struct Document;

/// The general refusals that every operation can answer. Source: contract 1.12.
const GENERAL: &str = "Any operation: 400 framing, 401 who is calling, 403 guards and gates, \
    404 no such route, 405, 408, 409 and 422 of a repeated Idempotency-Key, 412 of If-Match, 413, \
    414, 415, 429, 431, 500, 503, 507; and what the operation's description names. The body is \
    the envelope, or application/problem+json for callers that prefer it; 304 of If-None-Match \
    has none.";

/// Where an operation keeps what it answers beside the bodies that it lists; no client sees it.
const BESIDE: &str = "x-beside";

/// What stands under `default`: the general refusals, and what of the operation's own answers is
/// not listed.
fn others(beside: &[String]) -> Value {
    let envelope = json!({ "$ref": "#/components/schemas/ErrorEnvelope" });
    let waits = beside.iter().any(|told| told.starts_with("202"));
    let schema = if waits {
        json!({ "oneOf": [envelope, { "$ref": "#/components/schemas/ApprovalRequired" }] })
    } else {
        envelope
    };
    let description = if beside.is_empty() {
        GENERAL.to_owned()
    } else {
        format!("{GENERAL} Of this operation: {}.", beside.join("; "))
    };
    json!({
        "description": description,
        "content": { "application/json": { "schema": schema } },
    })
}

/// Takes off an operation what it answers beside the bodies that it lists.
fn take_beside(operation: &mut Value) -> Vec<String> {
    let taken = operation.as_object_mut().and_then(|it| it.remove(BESIDE));
    let texts = taken.as_ref().and_then(Value::as_array).into_iter();
    texts
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// The interface document; made when it is first asked for, so that no start waits for it.
pub fn json() -> &'static Value {
    static JSON: OnceLock<Value> = OnceLock::new();
    JSON.get_or_init(generate)
}

/// The interface document as it is checked in: indented, with a closing line feed.
pub fn text() -> String {
    format!("{:#}\n", json())
}

fn generate() -> Value {
    let documented = utoipa_axum::router::OpenApiRouter::with_openapi(Document::openapi())
        .merge(routes::documented());
    let (_, document) = documented.split_for_parts();
    // A document of plain values always serializes.
    let mut document = serde_json::to_value(document).unwrap_or_default();
    let schemas = document["components"]["schemas"].clone();
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (path, item) in paths.into_iter().flatten() {
        for (_, operation) in item.as_object_mut().into_iter().flatten() {
            parameters::bound(path, operation);
            require_body(operation, &schemas);
            let beside = take_beside(operation);
            examples::add(operation, &schemas, &beside);
            let responses = operation
                .get_mut("responses")
                .and_then(Value::as_object_mut);
            if let Some(responses) = responses {
                responses.insert("default".to_owned(), others(&beside));
            }
        }
    }
    document
}

/// Shapes that name one of two fields, which no list of required fields can say.
const ALTERNATIVES: [&str; 4] = ["AddMember", "OpenSession", "AnswerAuth", "NavigateTab"];

/// A body none of whose fields is required may be left out: an absent one reads as `{}`.
fn require_body(operation: &mut Value, schemas: &Value) {
    let Some(body) = operation.get_mut("requestBody") else {
        return;
    };
    let schema = &body["content"]["application/json"]["schema"];
    let Some(path) = schema["$ref"].as_str() else {
        return;
    };
    let name = path.rsplit('/').next().unwrap_or_default();
    let schema = &schemas[name];
    let forms = schema["oneOf"].as_array();
    let is_needed = ALTERNATIVES.contains(&name)
        || schema["required"].is_array()
        || forms.is_some_and(|forms| forms.iter().all(|form| form["required"].is_array()));
    body["required"] = json!(is_needed);
}

/// Whether a body is taken at this route from whoever asks.
pub fn is_open(method: &Method, path: &str) -> bool {
    static OPEN: OnceLock<Vec<(Method, String)>> = OnceLock::new();
    let open = OPEN.get_or_init(|| {
        let paths = json()["paths"].as_object().into_iter().flatten();
        let operations = paths.flat_map(|(path, item)| {
            let of_path = item.as_object().into_iter().flatten();
            of_path.map(move |(method, operation)| (method, path, operation))
        });
        operations
            .filter(|(.., operation)| {
                operation["x-gate"] == "open" && operation["requestBody"].is_object()
            })
            .filter_map(|(method, path, _)| {
                let method = method.to_ascii_uppercase().parse().ok()?;
                Some((method, path.clone()))
            })
            .collect()
    });
    !method.is_safe() && open.iter().any(|(its, at)| its == method && at == path)
}

/// This document.
#[utoipa::path(get, path = "/api/openapi.json", tag = "operating", operation_id = "openapi",
    responses((status = 200, description = "OpenAPI 3.1", body = Value)),
    extensions(("x-gate" = json!("open"))))]
pub async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text()).into_response()
}
