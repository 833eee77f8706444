//! Cards: what a person is shown before a destructive operation is run for a program or an agent.
//! Source: contract 4.5 and 5.6, check 8.

use serde_json::{Map, Value, json};

use super::Facts;
use crate::{agents::Agent, mcp_servers::card::legible};

/// Bytes of arguments that are shown; longer ones are cut, and the card says so.
const ARGUMENT_BYTES_SHOWN_MAX: usize = 16 << 10;

/// The card of an operation with these arguments.
///
/// Control and bidirectional characters are shown escaped.
pub fn of(agent: &Agent, facts: &Facts, arguments: &Map<String, Value>) -> Value {
    let Facts {
        connection,
        revision,
        ..
    } = facts;
    let identity = &revision.identity;
    let arguments = Value::Object(arguments.clone());
    let text = arguments.to_string();
    let is_cut = text.len() > ARGUMENT_BYTES_SHOWN_MAX;
    let shown = match is_cut {
        true => Value::String(legible(
            &text[..text.floor_char_boundary(ARGUMENT_BYTES_SHOWN_MAX)],
        )),
        false => escaped(&arguments),
    };
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
        "arguments": shown,
        "argumentsCut": is_cut,
    })
}

/// One line of it.
pub fn summary(agent: &Agent, facts: &Facts) -> String {
    let Facts {
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
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (legible(name), escaped(member)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
