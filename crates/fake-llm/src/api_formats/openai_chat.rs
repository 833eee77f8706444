//! OpenAI Chat Completions.

use serde_json::{Value, json};

use super::{data, list, pieces, plain, text};
use crate::{
    model_reply::ModelAnswer,
    model_request::{ConversationPart, ModelRequest, OfferedTool},
};

pub(super) fn read(body: &Value) -> ModelRequest {
    let name = |tool: &Value| {
        tool.pointer("/function/name")?
            .as_str()
            .map(OfferedTool::plain)
    };
    let pieces = list(body, "messages").iter().filter_map(|message| {
        let content = plain(message.get("content").unwrap_or(&Value::Null));
        match text(message, "role") {
            "user" => Some(ConversationPart::User(content)),
            "tool" => Some(ConversationPart::Result(content)),
            _ => None,
        }
    });
    let schema = body.pointer("/response_format/json_schema/schema").cloned();
    let is_any_json = body.pointer("/response_format/type") == Some(&json!("json_object"));
    ModelRequest {
        model: text(body, "model").to_owned(),
        is_streamed: body.get("stream") == Some(&json!(true)),
        tools: list(body, "tools").iter().filter_map(name).collect(),
        pieces: pieces.collect(),
        schema: schema.or_else(|| is_any_json.then(|| json!({"type": "object"}))),
    }
}

fn usage(answer: &ModelAnswer) -> Value {
    let used = answer.used;
    json!({
        "prompt_tokens": used.input,
        "completion_tokens": used.output,
        "total_tokens": used.input + used.output,
    })
}

fn finish_reason(answer: &ModelAnswer) -> &'static str {
    if answer.call.is_some() {
        "tool_calls"
    } else {
        "stop"
    }
}

/// The call with these arguments; an index stands in pieces only.
fn call(answer: &ModelAnswer, arguments: Option<&str>) -> Option<Value> {
    let call = answer.call.as_ref()?;
    let whole = Value::Object(call.arguments.clone()).to_string();
    let arguments = arguments.unwrap_or(&whole);
    let function = json!({"name": call.tool.name, "arguments": arguments});
    Some(json!({"id": call.id, "type": "function", "function": function}))
}

pub(super) fn whole(answer: &ModelAnswer, model: &str) -> Value {
    let mut message = json!({"role": "assistant", "content": answer.text});
    if let Some(call) = call(answer, None) {
        message["tool_calls"] = json!([call]);
    }
    json!({
        "id": format!("chatcmpl-fake-{}", answer.number),
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(answer)}],
        "usage": usage(answer),
    })
}

pub(super) fn stream(answer: &ModelAnswer, model: &str) -> String {
    let chunk = |choices: Value, usage: Value| {
        data(&json!({
            "id": format!("chatcmpl-fake-{}", answer.number),
            "object": "chat.completion.chunk",
            "created": 1_767_225_600,
            "model": model,
            "choices": choices,
            "usage": usage,
        }))
    };
    let delta = |delta: Value, reason: Value| {
        chunk(
            json!([{"index": 0, "delta": delta, "finish_reason": reason}]),
            Value::Null,
        )
    };
    let mut out = delta(json!({"role": "assistant", "content": ""}), Value::Null);
    for piece in pieces(&answer.text) {
        out += &delta(json!({"content": piece}), Value::Null);
    }
    if let (Some(mut first), Some(picked)) = (call(answer, Some("")), &answer.call) {
        first["index"] = json!(0);
        out += &delta(json!({"tool_calls": [first]}), Value::Null);
        let arguments = Value::Object(picked.arguments.clone()).to_string();
        for piece in pieces(&arguments) {
            let more = json!({"index": 0, "function": {"arguments": piece}});
            out += &delta(json!({"tool_calls": [more]}), Value::Null);
        }
    }
    out += &delta(json!({}), json!(finish_reason(answer)));
    out += &chunk(json!([]), usage(answer));
    out + "data: [DONE]\n\n"
}
