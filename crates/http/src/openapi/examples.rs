//! Examples: one for every body of the interface document, made from its schema, and the codes
//! an operation names.

use serde_json::{Map, Value, json};

use crate::error_catalogue;

/// How deep references are followed; the document's schemas hold no loop.
const DEPTH_MAX: usize = 12;
/// What an id looks like.
const ID: &str = "01a1fe26-ce7a-77e6-9c51-69b26c991bbe";
/// What a time looks like.
const TIME: &str = "2026-11-21T03:37:32.114Z";

/// Gives every JSON body of an operation an example, and the operation its codes.
pub(super) fn add(operation: &mut Value, schemas: &Value, beside: &[String]) {
    let mut codes: Vec<String> = Vec::new();
    if let Some(body) = operation.get_mut("requestBody") {
        add_to_content(body, schemas);
    }
    let responses = operation
        .get_mut("responses")
        .and_then(Value::as_object_mut);
    for (status, response) in responses.into_iter().flatten() {
        if status.starts_with('2') {
            add_to_content(response, schemas);
        } else if status != "default" {
            codes.extend(codes_in(text_of(&response["description"])).map(str::to_owned));
        }
    }
    for told in beside {
        codes.extend(codes_in(told).map(str::to_owned));
    }
    codes.extend(codes_in(text_of(&operation["description"])).map(str::to_owned));
    if let Some(operation) = operation.as_object_mut() {
        operation.insert("x-codes".to_owned(), codes.into());
    }
}

fn add_to_content(holder: &mut Value, schemas: &Value) {
    let Some(json) = holder.pointer_mut("/content/application~1json") else {
        return;
    };
    let example = example_of(&json["schema"], "", schemas, DEPTH_MAX);
    // A schema that allows everything has no example.
    if let Some(json) = json.as_object_mut().filter(|_| !example.is_null()) {
        json.insert("example".to_owned(), example);
    }
}

fn text_of(description: &Value) -> &str {
    description.as_str().unwrap_or_default()
}

/// The codes that a text names.
fn codes_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| error_catalogue::is_code(word))
}

/// An example of what `schema` allows; `name` is the field it stands for.
fn example_of(schema: &Value, name: &str, schemas: &Value, depth: usize) -> Value {
    if let Some(example) = schema.get("example") {
        return example.clone();
    }
    if depth == 0 {
        return Value::Null;
    }
    if let Some(target) = schema["$ref"].as_str() {
        let target = target.rsplit('/').next().unwrap_or_default();
        return example_of(&schemas[target], name, schemas, depth - 1);
    }
    if let Some(parts) = schema["allOf"].as_array() {
        return merged(parts, schemas, depth - 1);
    }
    if let Some(first) = schema["oneOf"]
        .as_array()
        .and_then(|forms| forms.iter().find(|form| form["type"] != "null"))
    {
        return example_of(first, name, schemas, depth - 1);
    }
    if let Some(first) = schema["enum"].as_array().and_then(|words| words.first()) {
        return first.clone();
    }
    match kind(schema) {
        Some("object") => object(schema, schemas, depth - 1),
        Some("array") => Value::Array(vec![example_of(&schema["items"], name, schemas, depth - 1)]),
        Some("string") => text(schema, name).into(),
        Some("integer") => json!(1),
        Some("boolean") => json!(false),
        _ => Value::Null,
    }
}

/// The schema's type, null aside.
fn kind(schema: &Value) -> Option<&str> {
    match &schema["type"] {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|kind| *kind != "null"),
        _ => None,
    }
}

fn object(schema: &Value, schemas: &Value, depth: usize) -> Value {
    let fields = schema["properties"].as_object().into_iter().flatten();
    let fields =
        fields.map(|(name, field)| (name.clone(), example_of(field, name, schemas, depth)));
    let fields = fields.chain(entry(&schema["additionalProperties"], schemas, depth));
    Value::Object(fields.collect())
}

/// One entry of a map with values of this schema, under the value's own type.
fn entry(schema: &Value, schemas: &Value, depth: usize) -> Option<(String, Value)> {
    let value = example_of(schema, "", schemas, depth);
    let key = value["type"].as_str()?.to_owned();
    Some((key, value))
}

fn merged(parts: &[Value], schemas: &Value, depth: usize) -> Value {
    let mut whole = Map::new();
    for part in parts {
        if let Value::Object(fields) = example_of(part, "", schemas, depth) {
            whole.extend(fields);
        }
    }
    Value::Object(whole)
}

fn text(schema: &Value, name: &str) -> &'static str {
    let is_time = schema["format"] == "date-time" || name.ends_with("At");
    let is_id = name == "id" || name.ends_with("Id") || name.ends_with("Ids") || name == "mentions";
    match (is_time, is_id) {
        (true, _) => TIME,
        (false, true) => ID,
        (false, false) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi;

    #[test]
    fn every_word_that_looks_like_a_code_is_one() {
        let document = openapi::json()["paths"].to_string();
        let words = document.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let shouted = words.filter(|word| {
            let is_shouted = word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            is_shouted && word.trim_matches('_').contains('_')
        });
        for word in shouted {
            assert_eq!(codes_in(word).next(), Some(word));
        }
    }

    #[test]
    fn every_json_body_has_an_example_and_every_operation_its_codes() {
        let document = openapi::json();
        let paths = document["paths"].as_object().unwrap();
        for (path, item) in paths {
            for (method, operation) in item.as_object().unwrap() {
                assert!(operation["x-codes"].is_array(), "{method} {path}");
                let bodies = operation["responses"].as_object().unwrap().iter();
                let good = bodies.filter(|(status, _)| status.starts_with('2'));
                for (status, response) in good {
                    let json = &response["content"]["application/json"];
                    assert!(
                        json["schema"] == json!({})
                            || json.is_null()
                            || json["example"].is_object()
                            || json["example"].is_array(),
                        "{method} {path} {status}: {json}"
                    );
                }
            }
        }
        let approve = &document["paths"]["/api/sessions/{id}/approve"]["post"];
        let codes = [
            "NO_PENDING_APPROVAL",
            "INTERACTION_ALREADY_RESOLVED",
            "INTERACTION_CHANGED",
            "OPTION_NOT_OFFERED",
            "VALIDATION_FAILED",
            "AGENT_CANNOT_DECIDE",
            "INTERACTIVE_ONLY",
        ];
        assert_eq!(approve["x-codes"], json!(codes));
        let asked = &approve["requestBody"]["content"]["application/json"]["example"];
        assert_eq!(asked, &json!({"toolCallId": "toolu_01"}));
        let answered = |path: &str, method: &str| {
            let answers = &document["paths"][path][method]["responses"]["200"];
            answers["content"]["application/json"]["example"].clone()
        };
        for deed in ["approve", "deny", "submit-answers"] {
            let path = format!("/api/sessions/{{id}}/{deed}");
            assert_eq!(answered(&path, "post"), json!({"ok": true}), "{deed}");
        }
        let capabilities = &answered("/api/capabilities", "get")["capabilities"];
        assert_eq!(capabilities["rehearsal"]["type"], json!("rehearsal"));
        let room = &document["paths"]["/api/rooms/{id}"]["get"];
        assert_eq!(room["x-codes"], json!(["ROOM_NOT_FOUND"]));
        let example = &room["responses"]["200"]["content"]["application/json"]["example"];
        assert_eq!(
            (&example["title"], &example["id"]),
            (&json!("Team"), &json!(ID))
        );
        assert_eq!(example["members"][0]["joinedAt"], json!(TIME));
    }
}
