//! OpenAI Responses.

use serde_json::{Value, json};

use super::{event, list, pieces, plain, text};
use crate::{
    model_reply::{ModelAnswer, PickedCall},
    model_request::{ConversationPart, ModelRequest, OfferedTool},
};

pub(super) fn read(body: &Value) -> ModelRequest {
    let pieces = match body.get("input") {
        Some(Value::String(words)) => vec![ConversationPart::User(words.clone())],
        _ => list(body, "input").iter().filter_map(of_item).collect(),
    };
    ModelRequest {
        model: text(body, "model").to_owned(),
        is_streamed: body.get("stream") == Some(&json!(true)),
        tools: list(body, "tools").iter().flat_map(of_tool).collect(),
        pieces,
        schema: body.pointer("/text/format/schema").cloned(),
    }
}

fn of_tool(tool: &Value) -> Vec<OfferedTool> {
    let named = |tool: &Value, namespace: Option<&str>| {
        let name = Some(text(tool, "name")).filter(|name| !name.is_empty())?;
        Some(OfferedTool {
            namespace: namespace.map(str::to_owned),
            is_free: text(tool, "type") == "custom",
            ..OfferedTool::plain(name)
        })
    };
    match text(tool, "type") {
        "namespace" => {
            let namespace = text(tool, "name");
            let tools = list(tool, "tools").iter();
            tools
                .filter_map(|tool| named(tool, Some(namespace)))
                .collect()
        }
        "function" | "custom" => named(tool, None).into_iter().collect(),
        // Tools of the model's own host, such as a search of the web, have no name to call.
        _ => Vec::new(),
    }
}

fn of_item(item: &Value) -> Option<ConversationPart> {
    let kind = text(item, "type");
    if kind.ends_with("_output") {
        return Some(ConversationPart::Result(plain(
            item.get("output").unwrap_or(&Value::Null),
        )));
    }
    let is_message = kind.is_empty() || kind == "message";
    (is_message && text(item, "role") == "user")
        .then(|| ConversationPart::User(plain(item.get("content").unwrap_or(&Value::Null))))
}

fn message(answer: &ModelAnswer) -> Value {
    json!({
        "type": "message",
        "id": format!("msg_fake_{}", answer.number),
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": answer.text, "annotations": []}],
    })
}

fn call(call: &PickedCall) -> Value {
    let id = format!("fc_{}", call.id);
    if call.tool.is_free {
        let input = call.arguments.get("input").map(plain).unwrap_or_default();
        return json!({
            "type": "custom_tool_call", "id": id, "call_id": call.id,
            "name": call.tool.name, "input": input, "status": "completed",
        });
    }
    let arguments = Value::Object(call.arguments.clone()).to_string();
    let mut item = json!({
        "type": "function_call", "id": id, "call_id": call.id,
        "name": call.tool.name, "arguments": arguments, "status": "completed",
    });
    if let Some(namespace) = &call.tool.namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

fn items(answer: &ModelAnswer) -> Vec<Value> {
    let said = (!answer.text.is_empty()).then(|| message(answer));
    said.into_iter()
        .chain(answer.call.as_ref().map(call))
        .collect()
}

fn response(answer: &ModelAnswer, model: &str, status: &str, output: &[Value]) -> Value {
    let used = answer.used;
    json!({
        "id": format!("resp_fake_{}", answer.number),
        "object": "response",
        "created_at": 1_767_225_600,
        "status": status,
        "model": model,
        "output": output,
        "usage": {
            "input_tokens": used.input,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": used.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": used.input + used.output,
        },
    })
}

pub(super) fn whole(answer: &ModelAnswer, model: &str) -> Value {
    response(answer, model, "completed", &items(answer))
}

pub(super) fn stream(answer: &ModelAnswer, model: &str) -> String {
    let mut out = String::new();
    let mut number = 0;
    let mut add = |name: &str, mut data: Value| {
        data["type"] = json!(name);
        data["sequence_number"] = json!(number);
        number += 1;
        out += &event(name, &data);
    };
    let items = items(answer);
    add(
        "response.created",
        json!({"response": response(answer, model, "in_progress", &[])}),
    );
    for (index, item) in items.iter().enumerate() {
        let at = |data: Value| merged(json!({"output_index": index, "item_id": item["id"]}), data);
        add(
            "response.output_item.added",
            json!({"output_index": index, "item": started(item)}),
        );
        if item["type"] == "message" {
            let part = json!({"type": "output_text", "text": "", "annotations": []});
            add(
                "response.content_part.added",
                at(json!({"content_index": 0, "part": part})),
            );
            for piece in pieces(&answer.text) {
                add(
                    "response.output_text.delta",
                    at(json!({"content_index": 0, "delta": piece})),
                );
            }
            add(
                "response.output_text.done",
                at(json!({"content_index": 0, "text": answer.text})),
            );
            add(
                "response.content_part.done",
                at(json!({"content_index": 0, "part": item["content"][0]})),
            );
        } else if item["type"] == "function_call" {
            add(
                "response.function_call_arguments.delta",
                at(json!({"delta": item["arguments"]})),
            );
            add(
                "response.function_call_arguments.done",
                at(json!({"arguments": item["arguments"]})),
            );
        }
        add(
            "response.output_item.done",
            json!({"output_index": index, "item": item}),
        );
    }
    add(
        "response.completed",
        json!({"response": response(answer, model, "completed", &items)}),
    );
    out
}

/// An item before anything of it was said.
fn started(item: &Value) -> Value {
    let mut item = item.clone();
    item["status"] = json!("in_progress");
    for (name, nothing) in [
        ("content", json!([])),
        ("arguments", json!("")),
        ("input", json!("")),
    ] {
        if item.get(name).is_some() {
            item[name] = nothing;
        }
    }
    item
}

fn merged(mut into: Value, from: Value) -> Value {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
    into
}
