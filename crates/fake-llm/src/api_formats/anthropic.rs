//! Anthropic Messages.

use serde_json::{Value, json};

use super::{event, list, pieces, plain, text};
use crate::{
    model_reply::{ModelAnswer, PickedCall},
    model_request::{ConversationPart, ModelRequest, OfferedTool},
};

/// How Claude Code marks a cancelled turn, in the message that the next prompt joins.
const INTERRUPTED: &str = "[Request interrupted by user";

pub(super) fn read(body: &Value) -> ModelRequest {
    let tools = list(body, "tools")
        .iter()
        .map(|tool| OfferedTool::plain(text(tool, "name")));
    let users = list(body, "messages")
        .iter()
        .filter(|message| text(message, "role") == "user");
    let schema = ["/output_config/format/schema", "/output_format/schema"];
    ModelRequest {
        model: text(body, "model").to_owned(),
        is_streamed: body.get("stream") == Some(&json!(true)),
        tools: tools.collect(),
        pieces: users.flat_map(of_message).collect(),
        schema: schema.iter().find_map(|place| body.pointer(place)).cloned(),
    }
}

/// The results of a message, then its words: an agent joins a new prompt to the results before it.
fn of_message(message: &Value) -> Vec<ConversationPart> {
    let content = message.get("content").unwrap_or(&Value::Null);
    let Value::Array(blocks) = content else {
        return vec![ConversationPart::User(plain(content))];
    };
    let kind = |block: &&Value, kind: &str| text(block, "type") == kind;
    let results = blocks.iter().filter(|block| kind(block, "tool_result"));
    let results = results
        .map(|block| ConversationPart::Result(plain(block.get("content").unwrap_or(&Value::Null))));
    let words: Vec<_> = blocks
        .iter()
        .filter(|block| kind(block, "text"))
        .map(|block| text(block, "text"))
        .filter(|words| !words.trim_start().starts_with("<system-reminder>"))
        .collect();
    // What stands before an interruption was said in a turn that is over.
    let over = words
        .iter()
        .rposition(|words| words.starts_with(INTERRUPTED));
    let words = &words[over.map_or(0, |at| at + 1)..];
    let said = (!words.is_empty()).then(|| ConversationPart::User(words.join("\n")));
    results.chain(said).collect()
}

fn opening(answer: &ModelAnswer, model: &str) -> Value {
    json!({
        "id": format!("msg_fake_{}", answer.number),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": {"input_tokens": answer.used.input, "output_tokens": 1},
    })
}

fn stop_reason(answer: &ModelAnswer) -> &'static str {
    if answer.call.is_some() {
        "tool_use"
    } else {
        "end_turn"
    }
}

fn block(call: &PickedCall, input: &Value) -> Value {
    // Ids of this wire begin with `toolu_`.
    json!({"type": "tool_use", "id": format!("toolu_{}", call.id), "name": call.tool.name, "input": input})
}

pub(super) fn whole(answer: &ModelAnswer, model: &str) -> Value {
    let mut message = opening(answer, model);
    let mut content = Vec::new();
    if !answer.text.is_empty() {
        content.push(json!({"type": "text", "text": answer.text}));
    }
    if let Some(call) = &answer.call {
        content.push(block(call, &Value::Object(call.arguments.clone())));
    }
    message["content"] = Value::Array(content);
    message["stop_reason"] = json!(stop_reason(answer));
    message["usage"]["output_tokens"] = json!(answer.used.output);
    message
}

pub(super) fn stream(answer: &ModelAnswer, model: &str) -> String {
    let mut out = event(
        "message_start",
        &json!({"type": "message_start", "message": opening(answer, model)}),
    );
    let mut index = 0;
    if !answer.text.is_empty() {
        let deltas = pieces(&answer.text).map(|piece| json!({"type": "text_delta", "text": piece}));
        out += &of_block(index, &json!({"type": "text", "text": ""}), deltas);
        index += 1;
    }
    if let Some(call) = &answer.call {
        let arguments = Value::Object(call.arguments.clone()).to_string();
        let deltas = pieces(&arguments)
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        out += &of_block(index, &block(call, &json!({})), deltas);
    }
    let delta = json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(answer), "stop_sequence": null},
        "usage": {"input_tokens": answer.used.input, "output_tokens": answer.used.output},
    });
    out += &event("message_delta", &delta);
    out + &event("message_stop", &json!({"type": "message_stop"}))
}

fn of_block(index: u32, start: &Value, deltas: impl Iterator<Item = Value>) -> String {
    let start = json!({"type": "content_block_start", "index": index, "content_block": start});
    let mut out = event("content_block_start", &start);
    for delta in deltas {
        let delta = json!({"type": "content_block_delta", "index": index, "delta": delta});
        out += &event("content_block_delta", &delta);
    }
    out + &event(
        "content_block_stop",
        &json!({"type": "content_block_stop", "index": index}),
    )
}
