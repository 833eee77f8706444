//! Arguments: whether they fit the schema of an operation as they stand. Nothing is filled in,
//! nothing is converted, and nothing outside the schema is asked for.
//! Source: contract 5.6, check 7.

use guildhall_domain::{
    connectors::refusals::ValidationProblem, limits::connectors::CONNECTOR_PROBLEMS_MAX,
};
use jsonschema::PatternOptions;
use serde_json::Value;

/// Characters of what is said of one problem.
const MESSAGE_CHARS_MAX: usize = 300;

/// What is wrong with `arguments` by `schema`: at most [`CONNECTOR_PROBLEMS_MAX`] problems, none
/// where they fit. A schema that cannot be used fits nothing.
pub fn problems(schema: &Value, arguments: &Value) -> Vec<ValidationProblem> {
    // Patterns come from services: this engine takes time in proportion to the text.
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    let Ok(validator) = options.build(schema) else {
        return vec![ValidationProblem {
            pointer: String::new(),
            message: "The operation says in no usable form what it takes.".to_owned(),
        }];
    };
    let told = validator
        .iter_errors(arguments)
        .map(|error| ValidationProblem {
            pointer: error.instance_path().to_string(),
            message: short(&error.masked().to_string()),
        });
    told.take(CONNECTOR_PROBLEMS_MAX).collect()
}

fn short(text: &str) -> String {
    text.chars().take(MESSAGE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pointers(schema: &Value, arguments: &Value) -> Vec<String> {
        let problems = problems(schema, arguments).into_iter();
        problems.map(|problem| problem.pointer).collect()
    }

    #[test]
    fn arguments_fit_as_they_stand_or_not_at_all() {
        let schema = json!({
            "type": "object",
            "required": ["text", "count"],
            "additionalProperties": false,
            "properties": {
                "text": {"type": "string", "minLength": 1},
                "count": {"type": "integer", "default": 1},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
            },
            "$defs": {"tag": {"type": "string", "pattern": "^[a-z]+$"}},
        });
        for (arguments, expected) in [
            (json!({"text": "a", "count": 1}), &[][..]),
            (json!({"text": "a", "count": 1, "tags": ["b"]}), &[]),
            // A default is not filled in.
            (json!({"text": "a"}), &[""]),
            // Nothing is converted.
            (json!({"text": "a", "count": "1"}), &["/count"]),
            (json!({"text": 1, "count": 1}), &["/text"]),
            (json!({"text": "a", "count": 1, "more": 1}), &[""]),
            (
                json!({"text": "a", "count": 1, "tags": ["b", "C"]}),
                &["/tags/1"],
            ),
            (json!({"text": "", "count": 1.5}), &["/count", "/text"]),
        ] {
            let mut found = pointers(&schema, &arguments);
            found.sort();
            assert_eq!(found, expected, "{arguments}");
        }
    }

    #[test]
    fn at_most_twenty_problems_are_told_and_none_holds_what_was_sent() {
        let schema = json!({"additionalProperties": {"type": "string"}});
        let members = (0..30).map(|key| (format!("k{key}"), json!(4_217)));
        let arguments = Value::Object(members.collect());
        let found = problems(&schema, &arguments);
        assert_eq!(found.len(), CONNECTOR_PROBLEMS_MAX);
        assert!(
            found
                .iter()
                .all(|problem| !problem.message.contains("4217"))
        );
    }

    #[test]
    fn a_schema_that_cannot_be_used_or_asks_elsewhere_fits_nothing() {
        for schema in [
            json!({"type": "nothing"}),
            json!({"properties": {"a": {"$ref": "https://example.com/schema.json"}}}),
            json!({"properties": {"a": {"$ref": "file:///etc/passwd"}}}),
            json!({"properties": {"a": {"pattern": "("}}}),
        ] {
            assert_eq!(pointers(&schema, &json!({"a": "b"})), [""], "{schema}");
        }
    }
}
