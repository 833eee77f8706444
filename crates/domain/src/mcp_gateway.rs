//! The gateway to tool servers: what of a server's word is handed on, and when it counts as one
//! that cannot be reached. Pure: connections are `world::mcp`, who may use them is
//! `hall::mcp_gateway`. Source: contract 4.4, "What runs, and when".

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};

use crate::limits::{MCP_FAILURES_MAX, MCP_FAILURES_WITHIN_S};

/// The revisions a client may speak, oldest first.
pub const REVISIONS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    NEWEST,
];
/// The revision from which there is no greeting and each result says what it is.
const NEWEST: &str = "2026-07-28";
/// The newest revision with a greeting.
const NEWEST_GREETED: &str = "2025-11-25";
/// What a client says of itself beside what it asks; servers hear that from us.
const OWN_MEMBERS: &str = "io.modelcontextprotocol/";

/// What may be asked of a server through the gateway, beside its tools.
const PASSED_ON: [&str; 6] = [
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "completion/complete",
];

/// Whether a question goes to the server as it is.
pub fn is_forwarded(method: &str) -> bool {
    PASSED_ON.contains(&method)
}

/// What a server said of itself.
#[derive(Clone, Copy, Debug)]
pub struct ServerDescription<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// What it can do.
    pub capabilities: &'a Value,
    /// How a model should use it.
    pub instructions: &'a str,
}

/// The answer to a greeting in the revision `forwarded_params`: what the server said of itself, as far as
/// the gateway hands it on.
pub fn initialize_result(said: ServerDescription<'_>, asked: &str) -> Value {
    let known = REVISIONS.iter().filter(|known| **known != NEWEST);
    let revision = known.copied().find(|known| *known == asked);
    let mut capabilities = Map::new();
    // Changes of tools are told by the bridge, and others by nobody.
    for (what, is_there) in [("tools", true), ("prompts", false), ("resources", false)] {
        if said.capabilities[what].is_object() {
            let told = if is_there {
                json!({"listChanged": true})
            } else {
                json!({})
            };
            capabilities.insert(what.to_owned(), told);
        }
    }
    if said.capabilities["completions"].is_object() {
        capabilities.insert("completions".to_owned(), json!({}));
    }
    let mut answer = json!({
        "protocolVersion": revision.unwrap_or(NEWEST_GREETED),
        "capabilities": capabilities,
        "serverInfo": {"name": said.name, "version": said.version},
    });
    if !said.instructions.is_empty() {
        answer["instructions"] = said.instructions.into();
    }
    answer
}

/// What a client asks as the server is asked it: without what the client says of itself, and
/// without answers to questions, which only people give.
pub fn forwarded_params(params: Value) -> Option<Value> {
    let Value::Object(mut members) = params else {
        return None;
    };
    members.remove("inputResponses");
    members.remove("requestState");
    if let Some(Value::Object(meta)) = members.get_mut("_meta") {
        meta.retain(|name, _| !name.starts_with(OWN_MEMBERS) && name != "progressToken");
        if meta.is_empty() {
            members.remove("_meta");
        }
    }
    Some(Value::Object(members))
}

/// What a server answered, for a client of this revision: older ones know no `resultType`.
pub fn forwarded_result(mut result: Value, revision: Option<&str>) -> Value {
    if revision != Some(NEWEST)
        && result["resultType"] == "complete"
        && let Some(members) = result.as_object_mut()
    {
        members.remove("resultType");
    }
    result
}

/// A call that came to nothing, as a model reads it.
pub fn tool_error_result(sentence: &str) -> Value {
    json!({"content": [{"type": "text", "text": sentence}], "isError": true})
}

/// The failures of a server, as far as they count together.
#[derive(Clone, Debug, Default)]
pub struct FailureWindow(VecDeque<Instant>);

impl FailureWindow {
    /// Counts one; answers whether that are as many as may be.
    pub fn record(&mut self, now: Instant) -> bool {
        let within = Duration::from_secs(MCP_FAILURES_WITHIN_S);
        self.0
            .retain(|before| now.saturating_duration_since(*before) < within);
        self.0.push_back(now);
        self.0.len() >= MCP_FAILURES_MAX
    }

    /// Begins anew.
    pub fn reset(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_within_a_minute_are_too_many_and_three_in_a_longer_time_are_not() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut failures = FailureWindow::default();
        for (seconds, is_many) in [(0, false), (30, false), (61, false), (80, true), (81, true)] {
            assert_eq!(failures.record(at(seconds)), is_many, "{seconds}");
        }
        failures.reset();
        assert!(!failures.record(at(82)));
    }

    #[test]
    fn a_greeting_is_answered_in_the_clients_revision_with_what_the_server_said() {
        let capabilities = json!({"tools": {"listChanged": false}, "logging": {},
            "resources": {"subscribe": true}, "prompts": null, "completions": {}});
        let said = |instructions| ServerDescription {
            name: "files",
            version: "1",
            capabilities: &capabilities,
            instructions,
        };
        let expected = json!({"protocolVersion": "2025-06-18", "serverInfo": {"name": "files",
            "version": "1"}, "capabilities": {"tools": {"listChanged": true}, "resources": {},
            "completions": {}}});
        assert_eq!(initialize_result(said(""), "2025-06-18"), expected);
        for other in ["2026-07-28", "1999-01-01"] {
            let answer = initialize_result(said("Use it."), other);
            assert_eq!(answer["protocolVersion"], "2025-11-25");
            assert_eq!(answer["instructions"], "Use it.");
        }
    }

    #[test]
    fn what_a_client_says_of_itself_is_not_handed_on_and_the_rest_is() {
        let params = json!({"name": "x", "_meta": {"progressToken": 1, "own": 2,
            "io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
        assert_eq!(
            forwarded_params(params),
            Some(json!({"name": "x", "_meta": {"own": 2}}))
        );
        let bare = json!({"name": "x", "_meta": {"progressToken": 1}});
        assert_eq!(forwarded_params(bare), Some(json!({"name": "x"})));
        assert_eq!(forwarded_params(Value::Null), None);
        // An agent answers no question that a server puts to a person.
        let forged = json!({"name": "x", "requestState": "s",
            "inputResponses": {"sure": {"action": "accept", "content": {}}}});
        assert_eq!(forwarded_params(forged), Some(json!({"name": "x"})));
    }

    #[test]
    fn only_the_newest_clients_are_told_that_a_result_is_complete() {
        let result = json!({"content": [], "resultType": "complete"});
        assert_eq!(forwarded_result(result.clone(), Some("2026-07-28")), result);
        for older in [None, Some("2025-11-25")] {
            assert_eq!(
                forwarded_result(result.clone(), older),
                json!({"content": []})
            );
        }
        let other = json!({"resultType": "other"});
        assert_eq!(forwarded_result(other.clone(), None), other);
    }
}
