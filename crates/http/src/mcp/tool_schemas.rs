//! Schemas: what a tool takes and answers, taken from the interface document, so that neither
//! can differ from the route that answers.

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::tool_table::{ApiRoute, Argument, ArgumentPlace, Tier, ToolRow};
use crate::openapi;

pub(super) type JsonObject = Map<String, Value>;

/// Where schemas stand in the interface document, and in a tool's.
const COMPONENTS: &str = "#/components/schemas/";
const DEFINITIONS: &str = "#/$defs/";
/// What a route answers when it says no.
const REFUSAL: &str = "ErrorEnvelope";

/// What an agent is told of a tool.
pub(super) fn tool(row: &ToolRow) -> Tool {
    let document = openapi::json();
    let route = row.twin.first();
    let operation = operation(document, route);
    let mut tool = Tool::new(row.name, row.about, input(document, operation, row));
    tool.title = Some(row.title.to_owned());
    tool.output_schema = output(document, operation).map(Into::into);
    tool.annotations = Some(annotations(row.tier, route));
    tool
}

/// The hints of a tier. Source: contract 4.9, "hints".
fn annotations(tier: Tier, route: ApiRoute) -> ToolAnnotations {
    let hints = ToolAnnotations::new()
        .read_only(tier == Tier::Observe)
        .destructive(tier == Tier::Destructive)
        .open_world(tier == Tier::Destructive);
    // The same change twice is one change, but for what is made or added.
    hints.idempotent(route.method != "POST")
}

fn operation(document: &Value, route: ApiRoute) -> &Value {
    &document["paths"][route.path][route.method.to_ascii_lowercase()]
}

/// The shape of a tool's arguments.
fn input(document: &Value, operation: &Value, row: &ToolRow) -> JsonObject {
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    let body = resolved(document, body);
    let mut properties = JsonObject::new();
    let mut required = Vec::new();
    let told = |argument: &&Argument| !matches!(argument.place, ArgumentPlace::Fixed(..));
    for argument in row.arguments.iter().filter(told) {
        let (schema, is_required) = argument_schema(operation, body, argument);
        properties.insert(argument.name.to_owned(), schema);
        if is_required {
            required.push(argument.name);
        }
    }
    with_definitions(
        document,
        json!({"type": "object", "properties": properties, "required": required}),
    )
}

/// The shape of an argument, and whether it must be there.
fn argument_schema(operation: &Value, body: &Value, argument: &Argument) -> (Value, bool) {
    let parameter = |there: &str| {
        let mut parameters = operation["parameters"].as_array().into_iter().flatten();
        let parameter = parameters.find(|parameter| parameter["name"] == there);
        parameter.cloned().unwrap_or_default()
    };
    match argument.place {
        ArgumentPlace::Path(there) | ArgumentPlace::Query(there) => {
            let parameter = parameter(there);
            let mut schema = parameter["schema"].clone();
            schema["description"] = parameter["description"].clone();
            (schema, parameter["required"] == true)
        }
        ArgumentPlace::Flag(there) => {
            let description = &parameter(there)["description"];
            (
                json!({"type": "boolean", "description": description}),
                false,
            )
        }
        ArgumentPlace::Approval => {
            let about = "The `approvalToken` of the answer that asked for an approval; nothing \
                the first time";
            (json!({"type": "string", "description": about}), false)
        }
        ArgumentPlace::Wait(most) => {
            let about = format!("How long to wait for it, at most {most} seconds; 0");
            let shape = json!({"type": "integer", "minimum": 0, "maximum": most,
                "description": about});
            (shape, false)
        }
        // Nobody is asked for it.
        ArgumentPlace::Fixed(..) => (Value::Null, false),
        ArgumentPlace::Choice(about) => (json!({"type": "boolean", "description": about}), false),
        ArgumentPlace::Body => {
            let required = body["required"].as_array().into_iter().flatten();
            let is_required = required.into_iter().any(|name| name == argument.name);
            (body["properties"][argument.name].clone(), is_required)
        }
    }
}

/// The shape of a tool's result: the twin's body, or a refusal; `None` where the twin answers
/// without a body.
fn output(document: &Value, operation: &Value) -> Option<JsonObject> {
    let responses = operation["responses"].as_object()?;
    let bodies = responses
        .iter()
        .filter(|(status, _)| status.starts_with('2'))
        .filter_map(|(_, response)| response.pointer("/content/application~1json/schema"));
    let mut shapes = Vec::new();
    for body in bodies {
        let shape = if body["type"] == "array" {
            json!({"type": "object", "properties": {"items": body}, "required": ["items"]})
        } else {
            body.clone()
        };
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    if shapes.is_empty() {
        return None;
    }
    shapes.push(json!({"$ref": format!("{COMPONENTS}{REFUSAL}")}));
    Some(with_definitions(
        document,
        json!({"type": "object", "anyOf": shapes}),
    ))
}

/// The shape of a result that has one of these shapes of the interface, or is a refusal.
pub(super) fn answers(names: &[&str]) -> JsonObject {
    let names = names.iter().chain(&[REFUSAL]);
    let shapes: Vec<Value> = names
        .map(|name| json!({"$ref": format!("{COMPONENTS}{name}")}))
        .collect();
    let schema = json!({"type": "object", "anyOf": shapes});
    with_definitions(openapi::json(), schema)
}

/// `schema` with every shape it names among its own definitions.
fn with_definitions(document: &Value, mut schema: Value) -> JsonObject {
    let mut definitions = JsonObject::new();
    let mut open = Vec::new();
    rename(&mut schema, &mut open);
    while let Some(name) = open.pop() {
        if definitions.contains_key(&name) {
            continue;
        }
        let mut definition = document["components"]["schemas"][&name].clone();
        rename(&mut definition, &mut open);
        definitions.insert(name, definition);
    }
    let Value::Object(mut fields) = schema else {
        return JsonObject::new();
    };
    if !definitions.is_empty() {
        fields.insert("$defs".to_owned(), Value::Object(definitions));
    }
    fields
}

/// Names shapes as definitions, and collects whom it named.
fn rename(schema: &mut Value, named: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(path) if key == "$ref" => {
                        if let Some(name) = path.strip_prefix(COMPONENTS) {
                            named.push(name.to_owned());
                            *path = format!("{DEFINITIONS}{name}");
                        }
                    }
                    _ => rename(value, named),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, named)),
        _ => {}
    }
}

/// The shape that `schema` names, or itself.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let named = schema["$ref"].as_str();
    match named.and_then(|path| path.strip_prefix(COMPONENTS)) {
        Some(name) => &document["components"]["schemas"][name],
        None => schema,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tool_table::TOOLS;

    #[test]
    fn every_argument_has_a_shape_and_every_name_a_definition() {
        for row in TOOLS {
            let tool = tool(row);
            let document = openapi::json();
            assert!(
                operation(document, row.twin.first()).is_object(),
                "{}",
                row.name
            );
            let mut names = Vec::new();
            for schema in [Some(&tool.input_schema), tool.output_schema.as_ref()] {
                let Some(schema) = schema else { continue };
                let schema = Value::Object((**schema).clone());
                let text = schema.to_string();
                assert!(!text.contains(COMPONENTS), "{}: {text}", row.name);
                let defs = schema["$defs"].clone();
                collect(&schema, &mut names);
                for name in names.drain(..) {
                    assert!(defs[&name].is_object(), "{}: {name}", row.name);
                }
            }
            let told = |argument: &&Argument| !matches!(argument.place, ArgumentPlace::Fixed(..));
            for argument in row.arguments.iter().filter(told) {
                let shape = &tool.input_schema["properties"][argument.name];
                let has_form = ["type", "$ref", "oneOf"]
                    .iter()
                    .any(|key| !shape[key].is_null());
                assert!(has_form, "{}.{}: {shape}", row.name, argument.name);
                assert!(
                    shape["description"].is_string(),
                    "{}.{}",
                    row.name,
                    argument.name
                );
            }
        }
    }

    fn collect(schema: &Value, names: &mut Vec<String>) {
        match schema {
            Value::Object(fields) => fields.iter().for_each(|(key, value)| {
                match value
                    .as_str()
                    .and_then(|path| path.strip_prefix(DEFINITIONS))
                {
                    Some(name) if key == "$ref" => names.push(name.to_owned()),
                    _ => collect(value, names),
                }
            }),
            Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
            _ => {}
        }
    }
}
