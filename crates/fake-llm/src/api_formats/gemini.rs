//! Gemini.

use serde_json::{Value, json};

use super::{data, list, pieces, text};
use crate::{
    model_reply::ModelAnswer,
    model_request::{ConversationPart, ModelRequest, OfferedTool},
};

pub(super) fn read(body: &Value) -> ModelRequest {
    let tools = list(body, "tools")
        .iter()
        .flat_map(|tool| list(tool, "functionDeclarations"));
    let users = list(body, "contents")
        .iter()
        .filter(|content| text(content, "role") != "model");
    let config = body.get("generationConfig").unwrap_or(&Value::Null);
    let schema = ["responseSchema", "responseJsonSchema"]
        .iter()
        .find_map(|name| config.get(name));
    let is_any_json = text(config, "responseMimeType") == "application/json";
    ModelRequest {
        model: String::new(),
        is_streamed: false,
        tools: tools
            .map(|tool| OfferedTool::plain(text(tool, "name")))
            .collect(),
        pieces: users.flat_map(of_content).collect(),
        schema: schema
            .cloned()
            .or_else(|| is_any_json.then(|| json!({"type": "object"}))),
    }
}

fn of_content(content: &Value) -> Vec<ConversationPart> {
    let parts = list(content, "parts");
    let results = parts.iter().filter_map(|part| part.get("functionResponse"));
    let results = results.map(|result| ConversationPart::Result(result["response"].to_string()));
    let words: Vec<_> = parts
        .iter()
        .filter_map(|part| part.get("text")?.as_str())
        .collect();
    let said = (!words.is_empty()).then(|| ConversationPart::User(words.join("\n")));
    results.chain(said).collect()
}

fn candidate(answer: &ModelAnswer, model: &str, parts: &[Value], is_last: bool) -> Value {
    let used = answer.used;
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if is_last {
        candidate["finishReason"] = json!("STOP");
    }
    json!({
        "candidates": [candidate],
        "modelVersion": model,
        "usageMetadata": {
            "promptTokenCount": used.input,
            "candidatesTokenCount": used.output,
            "totalTokenCount": used.input + used.output,
        },
    })
}

fn call(answer: &ModelAnswer) -> Option<Value> {
    let call = answer.call.as_ref()?;
    let function = json!({"id": call.id, "name": call.tool.name, "args": call.arguments});
    Some(json!({"functionCall": function}))
}

pub(super) fn whole(answer: &ModelAnswer, model: &str) -> Value {
    let said = (!answer.text.is_empty()).then(|| json!({"text": answer.text}));
    let parts: Vec<_> = said.into_iter().chain(call(answer)).collect();
    candidate(answer, model, &parts, true)
}

pub(super) fn stream(answer: &ModelAnswer, model: &str) -> String {
    let words = pieces(&answer.text).map(|piece| json!({"text": piece}));
    let parts: Vec<_> = words.chain(call(answer)).collect();
    let last = parts.len().saturating_sub(1);
    let each = parts.iter().enumerate().map(|(at, part)| {
        data(&candidate(
            answer,
            model,
            std::slice::from_ref(part),
            at == last,
        ))
    });
    each.collect()
}
