//! Cards: what a person is shown before a destructive operation is run for a program or an agent.
//! Source: contract 4.5 and 5.6, check 8.

use serde_json::{Map, Value, json};

use super::AuthorizationFacts;
use crate::{agents::Agent, mcp_servers::approval_card::legible};

/// The card of an operation with these arguments.
///
/// Control and bidirectional characters are shown escaped. The arguments are shown whole: a person
/// who says yes has to see all that is destroyed.
pub fn of(agent: &Agent, facts: &AuthorizationFacts, arguments: &Map<String, Value>) -> Value {
    let AuthorizationFacts {
        connection,
        revision,
        ..
    } = facts;
    let identity = &revision.identity;
    json!({
        "agentId": agent.id,
        "agentName": legible(&agent.name),
        "connectionId": connection.id,
        "connectionLabel": legible(&connection.label),
        "accountLabel": connection.account_label.as_deref().map(legible),
        "toolkit": connection.toolkit,
        "operationRevisionId": revision.id,
        "operation": legible(&identity.operation_slug),
        "title": legible(&revision.title),
        "classification": identity.classification,
        "arguments": members(arguments),
    })
}

/// One line of it.
pub fn summary(agent: &Agent, facts: &AuthorizationFacts) -> String {
    let AuthorizationFacts {
        connection,
        revision,
        ..
    } = facts;
    format!(
        "Run {} with {} for {}",
        legible(&revision.title),
        legible(&connection.label),
        legible(&agent.name),
    )
}

/// The same value with every text legible.
fn escaped(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(legible(text)),
        Value::Array(items) => items.iter().map(escaped).collect(),
        Value::Object(it) => members(it),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The same object with every name and text legible; names that are alike then stay apart, so
/// that none hides another.
fn members(object: &Map<String, Value>) -> Value {
    let mut shown = Map::new();
    for (name, member) in object {
        let mut name = legible(name);
        while shown.contains_key(&name) {
            name.push_str(" (another)");
        }
        shown.insert(name, escaped(member));
    }
    Value::Object(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Timestamp,
        agents::{AgentState, ResponseMode},
        connectors::executions::tests::facts,
        ids::{AgentId, AuthorId},
        limits::connectors::CONNECTOR_ARGUMENT_BYTES_MAX,
    };

    #[test]
    fn every_text_of_a_card_is_legible() {
        let value = json!({"a\u{202e}": ["b\u{7}", {"c": "d\u{200f}"}], "e": 1});
        let shown = escaped(&value).to_string();
        for hidden in ['\u{202e}', '\u{7}', '\u{200f}'] {
            assert!(!shown.contains(hidden), "{shown}");
        }
        assert_eq!(
            escaped(&json!({"a": [1, null, true]})),
            json!({"a": [1, null, true]})
        );
    }

    #[test]
    fn a_name_hides_no_other_one() {
        let alike = json!({"a\u{200b}": 1, "a\\u{200b}": 2});
        let shown = escaped(&alike);
        let values: Vec<_> = shown.as_object().unwrap().values().collect();
        assert_eq!(values.len(), 2, "{shown}");
    }

    #[test]
    fn what_is_destroyed_is_shown_whole() {
        let agent = Agent {
            id: AgentId::from_bytes([1; 16]),
            author_id: AuthorId::from_bytes([2; 16]),
            handle: None,
            name: "Ada".to_owned(),
            description: String::new(),
            runtime: "rehearsal".to_owned(),
            cwd: "/work".to_owned(),
            response_mode: ResponseMode::Engaged,
            permission_mode: String::new(),
            model: String::new(),
            effort: String::new(),
            enclosed: true,
            state: AgentState::Ready,
            live_process: false,
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
        };
        let last = "x".repeat(CONNECTOR_ARGUMENT_BYTES_MAX - 100);
        let arguments = json!({"first": 1, "last": [last]});
        let card = of(&agent, &facts(), arguments.as_object().unwrap());
        assert_eq!(card["arguments"], arguments);
    }
}
