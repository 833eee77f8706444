//! Each wire: text and calls, streamed and whole, and how it tells of a tool's result.

use guildhall_fake_llm::FakeLlm;
use serde_json::{Value, json};

use crate::plain_http::post;

const SCRIPT: &str = "#say one two\n#usage 7 3 0\n#call shell {\"command\": \"ls -l\", \"n\": 1}";

fn arguments() -> Value {
    json!({"command": "ls -l", "n": 1})
}

/// The texts at `place` of all values, joined.
fn joined(values: &[Value], place: &str) -> String {
    values
        .iter()
        .filter_map(|value| value.pointer(place)?.as_str())
        .collect()
}

fn anthropic(stream: bool, messages: &Value) -> Value {
    let tools = json!([{"name": "shell", "input_schema": {"type": "object"}}]);
    json!({"model": "m", "stream": stream, "max_tokens": 9, "tools": tools, "messages": messages})
}

#[test]
fn anthropic_streams_text_a_call_and_the_usage() {
    let server = FakeLlm::start().unwrap();
    let ask = anthropic(true, &json!([{"role": "user", "content": SCRIPT}]));
    let events = post(&server, "/v1/messages?beta=true", &ask).events();
    let kinds: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds.first(), Some(&"message_start"));
    assert_eq!(kinds.last(), Some(&"message_stop"));
    assert_eq!(joined(&events, "/delta/text"), "one two");
    let partial: Value = serde_json::from_str(&joined(&events, "/delta/partial_json")).unwrap();
    assert_eq!(partial, arguments());
    let end = &events[events.len() - 2];
    assert_eq!(end["delta"]["stop_reason"], "tool_use");
    assert_eq!(end["usage"], json!({"input_tokens": 7, "output_tokens": 3}));
}

#[test]
fn anthropic_answers_whole_and_reads_a_result_that_a_new_prompt_follows() {
    let server = FakeLlm::start().unwrap();
    let user = json!({"role": "user", "content": [{"type": "text", "text": SCRIPT}]});
    let whole = post(&server, "/v1/messages", &anthropic(false, &json!([user]))).json();
    assert_eq!(
        whole["content"][0],
        json!({"type": "text", "text": "one two"})
    );
    assert_eq!(whole["content"][1]["input"], arguments());
    let assistant = json!({"role": "assistant", "content": whole["content"]});
    let result =
        json!({"type": "tool_result", "tool_use_id": whole["content"][1]["id"], "content": "fine"});
    let reminder = json!({"type": "text", "text": "<system-reminder>be nice</system-reminder>"});
    let mut talk = vec![
        user,
        assistant,
        json!({"role": "user", "content": [result, reminder]}),
    ];
    let after = post(&server, "/v1/messages", &anthropic(false, &json!(talk))).json();
    assert_eq!(
        after["content"],
        json!([{"type": "text", "text": "All done."}])
    );
    assert_eq!(after["stop_reason"], "end_turn");
    assert_ne!(after["id"], whole["id"]);
    assert_eq!(server.requests()[1].result_texts, ["fine"]);
    // A cancelled turn's words stand before the mark, in the same message as the next prompt.
    talk[2]["content"] = json!([
        talk[2]["content"][0],
        {"type": "text", "text": "#say old"},
        {"type": "text", "text": "[Request interrupted by user for tool use]"},
        {"type": "text", "text": "#say new"},
    ]);
    let next = post(&server, "/v1/messages", &anthropic(false, &json!(talk))).json();
    assert_eq!(next["content"][0]["text"], "new");
}

fn chat(stream: bool, messages: &Value) -> Value {
    let tools = json!([{"type": "function", "function": {"name": "shell"}}]);
    json!({"model": "m", "stream": stream, "tools": tools, "messages": messages})
}

#[test]
fn chat_streams_text_a_call_and_the_usage() {
    let server = FakeLlm::start().unwrap();
    let answer = post(
        &server,
        "/v1/chat/completions",
        &chat(true, &json!([{"role": "user", "content": SCRIPT}])),
    );
    assert!(answer.body.ends_with("data: [DONE]\n\n"));
    let events = answer.events();
    assert_eq!(joined(&events, "/choices/0/delta/content"), "one two");
    assert_eq!(
        joined(&events, "/choices/0/delta/tool_calls/0/function/name"),
        "shell"
    );
    let told = joined(&events, "/choices/0/delta/tool_calls/0/function/arguments");
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap(), arguments());
    assert_eq!(joined(&events, "/choices/0/finish_reason"), "tool_calls");
    assert_eq!(events.last().unwrap()["usage"]["total_tokens"], 10);
}

#[test]
fn chat_answers_whole_and_knows_a_result_by_its_role() {
    let server = FakeLlm::start().unwrap();
    let user = json!({"role": "user", "content": [{"type": "text", "text": SCRIPT}]});
    let whole = post(
        &server,
        "/v1/chat/completions",
        &chat(false, &json!([user])),
    )
    .json();
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["content"], "one two");
    assert_eq!(
        message["tool_calls"][0]["function"]["arguments"],
        arguments().to_string()
    );
    let result =
        json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "fine"});
    let after = post(
        &server,
        "/v1/chat/completions",
        &chat(false, &json!([user, message, result])),
    )
    .json();
    assert_eq!(after["choices"][0]["message"]["content"], "All done.");
    assert_eq!(after["choices"][0]["finish_reason"], "stop");
}

fn responses(stream: bool, input: &Value) -> Value {
    let tools = json!([
        {"type": "function", "name": "shell"},
        {"type": "custom", "name": "patch"},
        {"type": "namespace", "name": "mcp__files", "tools": [{"type": "function", "name": "list"}]},
        {"type": "web_search"},
    ]);
    json!({"model": "m", "stream": stream, "tools": tools, "input": input})
}

fn user_item(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

#[test]
fn responses_streams_items_from_created_to_completed() {
    let server = FakeLlm::start().unwrap();
    let events = post(
        &server,
        "/v1/responses",
        &responses(true, &json!([user_item(SCRIPT)])),
    )
    .events();
    assert_eq!(events[0]["type"], "response.created");
    let end = events.last().unwrap();
    assert_eq!(end["type"], "response.completed");
    assert_eq!(end["response"]["usage"]["total_tokens"], 10);
    let deltas: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "response.output_text.delta")
        .cloned()
        .collect();
    assert_eq!(joined(&deltas, "/delta"), "one two");
    let items: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .collect();
    assert_eq!(items[1]["item"]["type"], "function_call");
    assert_eq!(items[1]["item"]["arguments"], arguments().to_string());
}

#[test]
fn responses_calls_tools_of_a_namespace_and_of_free_text_and_knows_any_output() {
    let server = FakeLlm::start().unwrap();
    let script = "#call mcp__files__list {\"path\": \".\"}\n#call patch {\"input\": \"*** Begin\"}";
    let first = post(
        &server,
        "/v1/responses",
        &responses(false, &json!([user_item(script)])),
    )
    .json();
    assert_eq!(first["output"][0]["namespace"], "mcp__files");
    assert_eq!(first["output"][0]["name"], "list");
    let result = json!({"type": "function_call_output", "call_id": "1", "output": "fine"});
    let context = user_item("<environment_context>here</environment_context>");
    let input = json!([user_item(script), first["output"][0], result, context]);
    let second = post(&server, "/v1/responses", &responses(false, &input)).json();
    assert_eq!(second["output"][0]["type"], "custom_tool_call");
    assert_eq!(second["output"][0]["input"], "*** Begin");
    assert_eq!(server.requests()[1].picked, "patch");
}

const GEMINI: &str = "/v1beta/models/gemini-x:";

fn gemini(contents: &Value) -> Value {
    json!({"tools": [{"functionDeclarations": [{"name": "shell"}]}], "contents": contents})
}

#[test]
fn gemini_streams_whole_candidates() {
    let server = FakeLlm::start().unwrap();
    let user = json!({"role": "user", "parts": [{"text": SCRIPT}]});
    let path = format!("{GEMINI}streamGenerateContent?alt=sse");
    let events = post(&server, &path, &gemini(&json!([user]))).events();
    assert_eq!(
        joined(&events, "/candidates/0/content/parts/0/text"),
        "one two"
    );
    let last = events.last().unwrap();
    assert_eq!(
        last["candidates"][0]["content"]["parts"][0]["functionCall"]["args"],
        arguments()
    );
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert_eq!(last["usageMetadata"]["totalTokenCount"], 10);
    assert_eq!(server.requests()[0].model, "gemini-x");
}

#[test]
fn gemini_answers_whole_and_knows_a_function_s_response() {
    let server = FakeLlm::start().unwrap();
    let user = json!({"role": "user", "parts": [{"text": SCRIPT}]});
    let path = format!("{GEMINI}generateContent");
    let whole = post(&server, &path, &gemini(&json!([user]))).json();
    let parts = &whole["candidates"][0]["content"]["parts"];
    assert_eq!(parts[0]["text"], "one two");
    let response = json!({"functionResponse": {"name": "shell", "response": {"output": "fine"}}});
    let talk =
        json!([user, {"role": "model", "parts": parts}, {"role": "user", "parts": [response]}]);
    let after = post(&server, &path, &gemini(&talk)).json();
    assert_eq!(
        after["candidates"][0]["content"]["parts"],
        json!([{"text": "All done."}])
    );
}
