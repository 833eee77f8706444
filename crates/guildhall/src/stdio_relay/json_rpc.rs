//! Messages: what the bridge has to know of the JSON-RPC messages that it hands on.

use std::hash::{DefaultHasher, Hash, Hasher};

use guildhall_domain::browser::tools::BrowserTool;
use guildhall_hall::launch_config::LOOK_OF_BRIDGE;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};

/// Where a message names the revision it is written in.
const VERSION_IN_META: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// An error of this bridge and of no server. Source: JSON-RPC 2.0, "Error object".
const UNANSWERED: i64 = -32_000;
const UNREADABLE: i64 = -32_700;
const TOO_LONG: i64 = -32_600;

/// What a client says.
pub(super) struct JsonRpcMessage {
    json: Value,
}

impl JsonRpcMessage {
    /// Reads a line; `None` when it is no message.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let json: Value = serde_json::from_slice(line).ok()?;
        json.is_object().then_some(Self { json })
    }

    /// What is asked or told; `""` for an answer.
    pub(super) fn method(&self) -> &str {
        self.json["method"].as_str().unwrap_or_default()
    }

    /// The id under which an answer is waited for; `None` when none is.
    pub(super) fn id(&self) -> Option<&Value> {
        self.json.get("id").filter(|_| !self.method().is_empty())
    }

    /// The request that it takes back.
    pub(super) fn cancelled_request(&self) -> Option<&Value> {
        (self.method() == "notifications/cancelled").then(|| &self.json["params"]["requestId"])
    }

    /// Whether it asks for the tools from the first on.
    pub(super) fn is_tools_list(&self) -> bool {
        self.method() == "tools/list" && self.json["params"]["cursor"].is_null()
    }

    /// Whether it calls a tool that acts in the browser: such a call has no key, and would be done
    /// a second time.
    pub(super) fn is_browser_action(&self) -> bool {
        let tool = self.json["params"]["name"]
            .as_str()
            .and_then(BrowserTool::find);
        self.method() == "tools/call" && tool.is_some_and(BrowserTool::acts)
    }

    /// What goes along with it: the revision in force, what it is about, and a key under which it
    /// is done once however often it is sent.
    pub(super) fn headers(&self, version: Option<&str>, key: &str) -> HeaderMap {
        let own = self.json.pointer(VERSION_IN_META).and_then(Value::as_str);
        let params = &self.json["params"];
        let name = match self.method() {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            _ => None,
        };
        let method = Some(self.method()).filter(|method| !method.is_empty());
        // Greeting, a client says the revision in the message itself.
        let version = version.filter(|_| self.method() != "initialize");
        let fields = [
            (VERSION, own.or(version)),
            (METHOD, method),
            (NAME, name),
            (IDEMPOTENCY_KEY, Some(key)),
        ];
        let fields = fields.into_iter().filter_map(|(name, text)| {
            // What cannot stand in a header is left out, and the server says whether it matters.
            Some((name, HeaderValue::from_str(text?).ok()?))
        });
        fields.collect()
    }
}

/// The question for all tools, as the bridge itself asks it.
pub(super) fn list_tools() -> Value {
    json!({"jsonrpc": "2.0", "id": LOOK_OF_BRIDGE, "method": "tools/list"})
}

/// That the list of tools is another now.
pub(super) fn tools_changed() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
}

/// The answer to a line that is no message.
pub(super) fn parse_error() -> Value {
    error(
        &Value::Null,
        UNREADABLE,
        "this line is no message",
        Value::Null,
    )
}

/// The answer to a line that was too long.
pub(super) fn too_long() -> Value {
    error(
        &Value::Null,
        TOO_LONG,
        "this message is longer than 1 MiB",
        Value::Null,
    )
}

/// The answer to a message that no server answered.
pub(super) fn no_answer_error(id: &Value) -> Value {
    let why = "the guildhall server does not answer; whether something was done is not known";
    error(id, UNANSWERED, why, Value::Null)
}

/// What a client is handed for an answer: the server's message as it is, its refusal as an error
/// of the protocol.
pub(super) fn answered(id: &Value, status: StatusCode, body: &[u8]) -> Value {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    if json["jsonrpc"].is_string() {
        return json;
    }
    let said = json["error"].as_str();
    let code = json["code"].as_str().unwrap_or_default();
    let details = json!({"status": status.as_u16(), "code": code, "details": json["details"]});
    let said = said.unwrap_or("the server's answer is no message");
    error(id, UNANSWERED, said, details)
}

fn error(id: &Value, code: i64, message: &str, data: Value) -> Value {
    let mut error = json!({"code": code, "message": message});
    if !data.is_null() {
        error["data"] = data;
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

/// Adds to a greeting that changes of the tools are told, which the server leaves to the bridge;
/// answers the revision it names.
pub(super) fn add_list_changed(answer: &mut Value) -> Option<String> {
    let result = &mut answer["result"];
    let tools = result["capabilities"].get_mut("tools");
    if let Some(tools) = tools.and_then(Value::as_object_mut) {
        tools.insert("listChanged".to_owned(), json!(true));
    }
    answer["result"]["protocolVersion"]
        .as_str()
        .map(str::to_owned)
}

/// What tells one list of tools from another; `None` for what is no list.
pub(super) fn tools_fingerprint(answer: &Value) -> Option<u64> {
    let tools = answer["result"]["tools"].as_array()?;
    let mut hasher = DefaultHasher::new();
    for tool in tools {
        tool.to_string().hash(&mut hasher);
    }
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(message: &Value, version: Option<&str>) -> Vec<String> {
        let message = JsonRpcMessage::read(message.to_string().as_bytes()).unwrap();
        let headers = message.headers(version, "k");
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name}: {}", value.to_str().unwrap())
        };
        let mut lines: Vec<_> = headers.iter().map(line).collect();
        lines.sort();
        lines
    }

    #[test]
    fn a_message_goes_with_its_revision_method_and_name() {
        let call = json!({"id": 1, "method": "tools/call", "params": {"name": "rooms_list"}});
        assert_eq!(
            headers(&call, Some("2025-11-25")),
            [
                "idempotency-key: k",
                "mcp-method: tools/call",
                "mcp-name: rooms_list",
                "mcp-protocol-version: 2025-11-25",
            ]
        );
        let own = json!({"id": 1, "method": "tools/list", "params": {"_meta":
            {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}});
        assert!(headers(&own, None).contains(&"mcp-protocol-version: 2026-07-28".to_owned()));
        let greeting = json!({"id": 1, "method": "initialize"});
        let expected = ["idempotency-key: k", "mcp-method: initialize"];
        assert_eq!(headers(&greeting, Some("2025-11-25")), expected);
        let odd = json!({"id": 1, "method": "tools/call", "params": {"name": "a\nb"}});
        assert_eq!(
            headers(&odd, None),
            ["idempotency-key: k", "mcp-method: tools/call"]
        );
    }

    #[test]
    fn what_acts_in_the_browser_is_known() {
        for (method, name, acts) in [
            ("tools/call", "browser_click", true),
            ("tools/call", "browser_snapshot", false),
            ("tools/call", "room_post", false),
            ("tools/list", "browser_click", false),
        ] {
            let message = json!({"id": 1, "method": method, "params": {"name": name}});
            let message = JsonRpcMessage::read(message.to_string().as_bytes()).unwrap();
            assert_eq!(message.is_browser_action(), acts, "{method} {name}");
        }
    }

    #[test]
    fn a_refusal_becomes_an_error_with_its_code() {
        let refusal = br#"{"error":"No.","code":"AGENT_TOKEN_REQUIRED","details":null}"#;
        let told = answered(&json!(7), StatusCode::UNAUTHORIZED, refusal);
        let expected = json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32_000,
            "message": "No.", "data": {"status": 401, "code": "AGENT_TOKEN_REQUIRED",
            "details": null}}});
        assert_eq!(told, expected);
        let message = json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32_602, "message": ""}});
        let bytes = message.to_string();
        assert_eq!(
            answered(&json!(7), StatusCode::BAD_REQUEST, bytes.as_bytes()),
            message
        );
    }

    #[test]
    fn a_list_is_another_when_a_tool_is_or_their_order() {
        let list = |names: &[&str]| {
            let tools: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
            tools_fingerprint(&json!({"result": {"tools": tools}}))
        };
        assert_eq!(list(&["a", "b"]), list(&["a", "b"]));
        for other in [&["a"][..], &["a", "c"], &["b", "a"], &[]] {
            assert_ne!(list(&["a", "b"]), list(other), "{other:?}");
        }
        assert_eq!(tools_fingerprint(&json!({"error": {}})), None);
    }

    #[test]
    fn what_only_tells_is_waited_for_by_nobody() {
        let read = |json: Value| JsonRpcMessage::read(json.to_string().as_bytes()).unwrap();
        assert_eq!(
            read(json!({"method": "notifications/initialized"})).id(),
            None
        );
        assert_eq!(read(json!({"id": 1, "result": {}})).id(), None);
        assert_eq!(
            read(json!({"id": "a", "method": "ping"})).id(),
            Some(&json!("a"))
        );
        let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": 3}});
        assert_eq!(read(cancel).cancelled_request(), Some(&json!(3)));
        assert!(JsonRpcMessage::read(b"[1]").is_none() && JsonRpcMessage::read(b"{").is_none());
    }
}
