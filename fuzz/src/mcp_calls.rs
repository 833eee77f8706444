//! Messages to the server's own tools at `/mcp`: good ones, and others that a client should not send.

use serde_json::{Value, json};

use crate::{HANG_S, callers::CallerCredentials, json_values::ValueGenerator, requests::Request};

/// A tool and the schema of its arguments.
pub(crate) type ToolSchema = (String, Value);

/// Seconds that a call may take whose tool waits for a person's word on a card, which is 50 s, or
/// for a tool server, which has 20 s.
const WAIT_MAX_S: u64 = 60;
/// How the names of those tools begin.
const WAITING: &str = "\"name\":\"mcp_";

/// Seconds that the answer to this request may take.
pub(crate) fn answer_max_s(request: &Request) -> u64 {
    let is_waiting = String::from_utf8_lossy(&request.bytes).contains(WAITING);
    if is_waiting { WAIT_MAX_S } else { HANG_S }
}

/// The tools that an answer to `tools/list` names.
pub(crate) fn tools_in(answer: &Value) -> Vec<ToolSchema> {
    let tools = answer["result"]["tools"].as_array();
    let tool = |tool: &Value| {
        let name = tool["name"].as_str()?.to_owned();
        Some((name, tool["inputSchema"].clone()))
    };
    tools.into_iter().flatten().filter_map(tool).collect()
}

/// A POST of one message to `/mcp`, or to the way to a tool server; one that is to be kept by
/// nobody has arguments of the wrong kinds.
pub(crate) fn request(
    maker: &mut ValueGenerator<'_>,
    tools: &[ToolSchema],
    shown: &CallerCredentials,
    is_kept: bool,
) -> Request {
    let mut message = message(maker, tools, is_kept);
    if maker.rng.chance(30) {
        maker.mutate(&mut message);
    }
    let body = match maker.rng.below(10) {
        0 => maker.broken(&message),
        1 => json!([message, message, 1]).to_string().into_bytes(),
        _ => message.to_string().into_bytes(),
    };
    let path = match maker.rng.below(8) {
        0 => "/mcp/servers/http",
        1 => "/mcp/servers/none",
        2 => "/mcp/servers/%2e%2e",
        _ => "/mcp",
    };
    let accept = maker.rng.pick(&[
        "application/json, text/event-stream",
        "application/json, text/event-stream",
        "text/event-stream",
        "*/*",
        "x",
    ]);
    let version = maker
        .rng
        .pick(&["2025-06-18", "2025-11-25", "1999-01-01", ""]);
    let mut head = format!("POST {path} HTTP/1.1\r\nHost: {}\r\n", shown.host);
    for line in &shown.lines {
        head.push_str(line);
        head.push_str("\r\n");
    }
    head.push_str(&format!(
        "Content-Type: application/json\r\nAccept: {accept}\r\nMCP-Protocol-Version: {version}\r\n"
    ));
    if maker.rng.chance(20) {
        let session = maker
            .rng
            .pick(&["x", "", "01980000-0000-7000-8000-000000000000"]);
        head.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    Request {
        bytes: [head.into_bytes(), body].concat(),
        path: path.to_owned(),
    }
}

fn message(maker: &mut ValueGenerator<'_>, tools: &[ToolSchema], is_kept: bool) -> Value {
    let id = match maker.rng.below(4) {
        0 => Value::Null,
        1 => json!("one"),
        2 => maker.odd_number(),
        _ => json!(maker.rng.below(100)),
    };
    let (method, params) = match maker.rng.below(9) {
        0 => (
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": maker.odd_text(), "version": "0"}}),
        ),
        1 => ("notifications/initialized", json!({})),
        2 => ("tools/list", json!({"cursor": maker.odd_text()})),
        3 => ("resources/read", json!({"uri": maker.odd_text()})),
        4 => (
            "notifications/cancelled",
            json!({"requestId": maker.anything(1)}),
        ),
        _ => {
            let nothing = ("nothing".to_owned(), Value::Null);
            let (name, schema) = match tools.is_empty() || maker.rng.chance(5) {
                true => nothing,
                false => maker.rng.pick(tools).clone(),
            };
            let mut arguments = maker.valid("", &schema);
            if let Some(members) = arguments.as_object_mut() {
                // Else the answer may wait for a person's word.
                for (_, value) in members
                    .iter_mut()
                    .filter(|(name, _)| name.starts_with("wait"))
                {
                    *value = json!(0);
                }
                if !is_kept {
                    members.insert("unknown".to_owned(), Value::Null);
                }
            }
            ("tools/call", json!({"name": name, "arguments": arguments}))
        }
    };
    let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
    if maker.rng.chance(90) {
        message["id"] = id;
    }
    message
}
