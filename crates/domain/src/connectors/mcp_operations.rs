//! Operations of an MCP server: its tools, each in the class that its own hints claim, the worst
//! where it claims nothing. Source: contract 5.1, the table of provider types.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    classification::{Classification, RetryPolicy},
    openapi::cut,
    operations::{Operation, OperationBinding, OperationListing, check_slug},
};
use crate::{limits::connectors as limits, mcp_tools::ToolDefinition};

/// What the server's tools can do.
pub fn operations(tools: &[ToolDefinition]) -> OperationListing {
    let mut listed = OperationListing::default();
    let mut taken = BTreeSet::new();
    for tool in tools {
        match operation(tool) {
            Ok(_) if !taken.insert(&tool.name) => {
                listed.leave_out(&tool.name, "another tool has the same name");
            }
            Ok(operation) => listed.operations.push(operation),
            Err(why) => listed.leave_out(&tool.name, why),
        }
    }
    listed
}

fn operation(tool: &ToolDefinition) -> Result<Operation, String> {
    check_slug(&tool.name)?;
    if tool.input_schema.to_string().len() > limits::OPERATION_SCHEMA_BYTES_MAX {
        return Err("the description of its arguments is too long".to_owned());
    }
    if refers_outside(&tool.input_schema) {
        return Err("the description of its arguments refers to something outside".to_owned());
    }
    let description = tool.description.as_deref().unwrap_or_default().trim();
    Ok(Operation {
        slug: tool.name.clone(),
        title: cut(tool.display_name(), limits::OPERATION_TITLE_CHARS_MAX),
        description: cut(description, limits::OPERATION_DESCRIPTION_CHARS_MAX),
        classification: classification(tool),
        retry_policy: RetryPolicy::Never,
        input_schema: tool.input_schema.clone(),
        binding: OperationBinding::Mcp {
            tool: tool.name.clone(),
        },
    })
}

fn classification(tool: &ToolDefinition) -> Classification {
    match (tool.is_read_only(), tool.is_destructive()) {
        (true, _) => Classification::Read,
        (false, true) => Classification::Destructive,
        (false, false) => Classification::Write,
    }
}

/// Whether a schema refers to anything but its own places.
fn refers_outside(schema: &Value) -> bool {
    match schema {
        Value::Array(values) => values.iter().any(refers_outside),
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            reference.is_some_and(|reference| !reference.starts_with('#'))
                || members.values().any(refers_outside)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(tools: &[Value]) -> OperationListing {
        let tools: Vec<_> = tools
            .iter()
            .map(|tool| ToolDefinition::of(tool).unwrap())
            .collect();
        operations(&tools)
    }

    #[test]
    fn a_tool_is_what_its_hints_claim_and_else_the_worst() {
        let cases = [
            (json!(null), Classification::Destructive),
            (json!({}), Classification::Destructive),
            (json!({"readOnlyHint": true}), Classification::Read),
            (
                json!({"readOnlyHint": true, "destructiveHint": true}),
                Classification::Read,
            ),
            (json!({"readOnlyHint": false}), Classification::Destructive),
            (json!({"readOnlyHint": "true"}), Classification::Destructive),
            (json!({"destructiveHint": false}), Classification::Write),
            (
                json!({"destructiveHint": true}),
                Classification::Destructive,
            ),
            (json!({"idempotentHint": true}), Classification::Destructive),
        ];
        for (annotations, expected) in cases {
            let found = listed(&[json!({"name": "t", "annotations": annotations})]);
            assert_eq!(
                found.operations[0].classification, expected,
                "{annotations}"
            );
            assert_eq!(found.operations[0].retry_policy, RetryPolicy::Never);
        }
    }

    #[test]
    fn tools_that_cannot_be_told_or_described_are_left_out() {
        let found = listed(&[
            json!({"name": "same", "title": "First"}),
            json!({"name": "same", "title": "Second"}),
            json!({"name": "two\nlines"}),
            json!({"name": "outside", "inputSchema": {"items": [{"$ref": "a.json"}]}}),
            json!({"name": "inside", "inputSchema": {"$ref": "#/$defs/a", "$defs": {"a": {}}}}),
        ]);
        let names: Vec<_> = found.operations.iter().map(|it| &it.title[..]).collect();
        let left: Vec<_> = found.left_out.iter().map(|it| &it.operation[..]).collect();
        assert_eq!(names, ["First", "inside"]);
        assert_eq!(left, ["same", "two\nlines", "outside"]);
    }
}
