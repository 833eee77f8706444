//! JSON Schema, as far as answers need it: the smallest value that satisfies one.

use serde_json::{Map, Value, json};

/// How deep a schema is followed; deeper values are `null`.
const DEPTH_MAX: usize = 32;

/// A small value that satisfies `schema`: required members only, first choices, least numbers.
pub(crate) fn minimal(schema: &Value) -> Value {
    of(schema, schema, 0)
}

fn of(root: &Value, schema: &Value, depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return Value::Null;
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let found = target
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer));
        return found.map_or(Value::Null, |found| of(root, found, depth + 1));
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(first) = schema.get("enum").and_then(|choices| choices.get(0)) {
        return first.clone();
    }
    let choice = ["anyOf", "oneOf", "allOf"]
        .iter()
        .find_map(|name| schema.get(name)?.get(0));
    if let Some(choice) = choice {
        return of(root, choice, depth + 1);
    }
    let kind = schema.get("type").map(|kind| kind.get(0).unwrap_or(kind));
    let kind = kind.and_then(Value::as_str).map(str::to_ascii_lowercase);
    match kind.as_deref() {
        Some("string") => Value::String("x".repeat(count(schema, "minLength"))),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
        Some("boolean") => json!(false),
        Some("null") => Value::Null,
        Some("array") => {
            let item = schema.get("items").cloned().unwrap_or_else(|| json!({}));
            let items = (0..count(schema, "minItems")).map(|_| of(root, &item, depth + 1));
            Value::Array(items.collect())
        }
        _ => object(root, schema, depth),
    }
}

fn count(schema: &Value, name: &str) -> usize {
    let count = schema.get(name).and_then(Value::as_u64).unwrap_or_default();
    usize::try_from(count).unwrap_or_default().min(1_000)
}

fn object(root: &Value, schema: &Value, depth: usize) -> Value {
    let required = schema.get("required").and_then(Value::as_array);
    let members = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|name| {
            let member = schema
                .get("properties")
                .and_then(|members| members.get(name));
            let value = member.map_or(Value::Null, |member| of(root, member, depth + 1));
            (name.to_owned(), value)
        });
    Value::Object(members.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_members_are_filled_by_their_type_and_others_left_out() {
        let schema = json!({
            "type": "object",
            "properties": {
                "title": {"type": "string", "minLength": 2},
                "count": {"type": "integer", "minimum": 3},
                "kind": {"enum": ["a", "b"]},
                "tags": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/tag"}},
                "maybe": {"type": ["null", "string"]},
                "extra": {"type": "string"},
            },
            "required": ["title", "count", "kind", "tags", "maybe"],
            "$defs": {"tag": {"type": "boolean"}},
        });
        assert_eq!(
            minimal(&schema),
            json!({"title": "xx", "count": 3, "kind": "a", "tags": [false], "maybe": null})
        );
    }

    #[test]
    fn a_schema_that_names_itself_ends() {
        let schema =
            json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]});
        assert!(minimal(&schema).is_object());
    }
}
