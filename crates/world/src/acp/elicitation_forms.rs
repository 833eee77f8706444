//! Forms: an agent's JSON Schema as questions, and a person's answers as its values.

use std::collections::BTreeMap;

use agent_client_protocol::v1::schema::{
    ElicitationContentValue, ElicitationFormMode, ElicitationPropertySchema, ElicitationSchema,
    ElicitationScope, ElicitationUrlMode, EnumOption, MultiSelectItems, StringPropertySchema,
};
use guildhall_domain::interactions::{Question, QuestionChoice, QuestionType};
use serde_json::{Map, Value};

/// The session a form belongs to and its tool call; `None` for a form of no session.
pub(super) fn scope(scope: &ElicitationScope) -> Option<(String, Option<String>)> {
    match scope {
        ElicitationScope::Session(session) => Some((
            session.session_id.to_string(),
            session.tool_call_id.as_ref().map(ToString::to_string),
        )),
        _ => None,
    }
}

/// The questions of a form, ordered by name: the protocol gives no order.
pub(super) fn questions(form: &ElicitationFormMode) -> Vec<Question> {
    asked(&form.requested_schema)
}

/// The questions of a form by its JSON Schema; `None` for what is none.
pub(crate) fn questions_of(schema: &Value) -> Option<Vec<Question>> {
    let schema: ElicitationSchema = serde_json::from_value(schema.clone()).ok()?;
    Some(asked(&schema))
}

fn asked(schema: &ElicitationSchema) -> Vec<Question> {
    let ElicitationSchema {
        properties,
        required,
        ..
    } = schema;
    let is_required = |id: &str| {
        required
            .as_ref()
            .is_some_and(|names| names.iter().any(|name| name == id))
    };
    properties
        .iter()
        .map(|(id, schema)| Question {
            required: is_required(id),
            ..question(id, schema)
        })
        .collect()
}

/// The one question of a link: to open it.
pub(super) fn link(url: &ElicitationUrlMode, message: &str) -> Question {
    Question {
        id: url.elicitation_id.to_string(),
        title: message.to_owned(),
        description: url.url.clone(),
        kind: QuestionType::Link,
        options: Vec::new(),
        required: true,
        default: None,
    }
}

fn question(id: &str, schema: &ElicitationPropertySchema) -> Question {
    let plain = |title: &Option<String>,
                 description: &Option<String>,
                 kind: QuestionType,
                 default: Option<Value>| Question {
        id: id.to_owned(),
        title: title.clone().unwrap_or_else(|| id.to_owned()),
        description: description.clone().unwrap_or_default(),
        kind,
        options: Vec::new(),
        required: false,
        default,
    };
    match schema {
        ElicitationPropertySchema::String(schema) => {
            let options = choices(schema);
            let kind = if options.is_empty() {
                QuestionType::Text
            } else {
                QuestionType::Choice
            };
            let default = schema.default.clone().map(Value::from);
            Question {
                options,
                ..plain(&schema.title, &schema.description, kind, default)
            }
        }
        ElicitationPropertySchema::Number(schema) => plain(
            &schema.title,
            &schema.description,
            QuestionType::Number,
            schema.default.map(Value::from),
        ),
        ElicitationPropertySchema::Integer(schema) => plain(
            &schema.title,
            &schema.description,
            QuestionType::Number,
            schema.default.map(Value::from),
        ),
        ElicitationPropertySchema::Boolean(schema) => plain(
            &schema.title,
            &schema.description,
            QuestionType::Boolean,
            schema.default.map(Value::from),
        ),
        ElicitationPropertySchema::Array(schema) => Question {
            options: match &schema.items {
                MultiSelectItems::String(items) => items.values.iter().map(bare).collect(),
                MultiSelectItems::Titled(items) => items.options.iter().map(titled).collect(),
                _ => Vec::new(),
            },
            ..plain(
                &schema.title,
                &schema.description,
                QuestionType::Multi,
                schema.default.clone().map(Value::from),
            )
        },
        // A kind of a later protocol is asked in words.
        _ => plain(&None, &None, QuestionType::Text, None),
    }
}

fn choices(schema: &StringPropertySchema) -> Vec<QuestionChoice> {
    match (&schema.one_of, &schema.enum_values) {
        (Some(options), _) => options.iter().map(titled).collect(),
        (None, Some(values)) => values.iter().map(bare).collect(),
        (None, None) => Vec::new(),
    }
}

fn titled(option: &EnumOption) -> QuestionChoice {
    QuestionChoice {
        value: option.value.clone(),
        label: match &option.description {
            Some(description) if !description.is_empty() => {
                format!("{}: {description}", option.title)
            }
            Some(_) | None => option.title.clone(),
        },
    }
}

fn bare(value: impl AsRef<str>) -> QuestionChoice {
    QuestionChoice {
        value: value.as_ref().to_owned(),
        label: value.as_ref().to_owned(),
    }
}

/// A form's values for the agent; what the protocol cannot carry is left out.
pub(super) fn content(values: Map<String, Value>) -> BTreeMap<String, ElicitationContentValue> {
    values
        .into_iter()
        .filter_map(|(id, value)| Some((id, carried(value)?)))
        .collect()
}

fn carried(value: Value) -> Option<ElicitationContentValue> {
    match value {
        Value::String(text) => Some(ElicitationContentValue::String(text)),
        Value::Bool(yes) => Some(ElicitationContentValue::Boolean(yes)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Some(ElicitationContentValue::Integer(whole)),
            (None, Some(broken)) => Some(ElicitationContentValue::Number(broken)),
            (None, None) => None,
        },
        Value::Array(items) => Some(ElicitationContentValue::StringArray(
            items
                .into_iter()
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect(),
        )),
        Value::Null | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_becomes_one_question_for_each_property() {
        let form: ElicitationFormMode = serde_json::from_value(json!({
            "sessionId": "s",
            "requestedSchema": {
                "type": "object",
                "required": ["colour"],
                "properties": {
                    "age": {"type": "integer", "title": "Your age", "default": 3},
                    "agree": {"type": "boolean"},
                    "colour": {"type": "string", "oneOf": [
                        {"const": "r", "title": "Red"},
                        {"const": "g", "title": "Green", "description": "like grass"}]},
                    "name": {"type": "string", "description": "As you like"},
                    "ratio": {"type": "number"},
                    "size": {"type": "string", "enum": ["s", "m"]},
                    "toppings": {"type": "array", "items": {"type": "string", "enum": ["x"]}},
                },
            },
        }))
        .unwrap();
        let found: Vec<_> = questions(&form)
            .into_iter()
            .map(|q| {
                (
                    q.id,
                    q.title,
                    q.kind,
                    q.options.len(),
                    q.required,
                    q.default,
                )
            })
            .collect();
        let row = |id: &str, title: &str, kind, options, required, default: Option<Value>| {
            (
                id.to_owned(),
                title.to_owned(),
                kind,
                options,
                required,
                default,
            )
        };
        assert_eq!(
            found,
            [
                row(
                    "age",
                    "Your age",
                    QuestionType::Number,
                    0,
                    false,
                    Some(json!(3))
                ),
                row("agree", "agree", QuestionType::Boolean, 0, false, None),
                row("colour", "colour", QuestionType::Choice, 2, true, None),
                row("name", "name", QuestionType::Text, 0, false, None),
                row("ratio", "ratio", QuestionType::Number, 0, false, None),
                row("size", "size", QuestionType::Choice, 2, false, None),
                row("toppings", "toppings", QuestionType::Multi, 1, false, None),
            ]
        );
    }

    #[test]
    fn values_keep_their_types_on_the_way_to_the_agent() {
        let values = json!({"a": "x", "b": 3, "c": 1.5, "d": true, "e": ["x", "y"], "f": null});
        let Value::Object(values) = values else {
            unreachable!()
        };
        let sent = serde_json::to_value(content(values)).unwrap();
        assert_eq!(
            sent,
            json!({"a": "x", "b": 3, "c": 1.5, "d": true, "e": ["x", "y"]})
        );
    }
}
