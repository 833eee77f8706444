//! The rules that hold on every wire.

use guildhall_fake_llm::FakeLlm;
use serde_json::{Value, json};

use crate::plain_http::{post, send};

const CHAT: &str = "/v1/chat/completions";

fn ask(text: &str) -> Value {
    json!({
        "model": "m",
        "tools": [{"type": "function", "function": {"name": "shell"}}],
        "messages": [{"role": "user", "content": text}],
    })
}

fn said(answer: &Value) -> &str {
    answer["choices"][0]["message"]["content"].as_str().unwrap()
}

#[test]
fn a_tool_that_was_not_offered_is_422_with_the_list() {
    let server = FakeLlm::start().unwrap();
    let answer = post(&server, CHAT, &ask("#call paint {}"));
    assert_eq!(answer.status, 422);
    assert_eq!(
        answer.json()["error"]["message"],
        "the tool paint is not offered; offered are shell"
    );
    let typo = post(&server, CHAT, &ask("#sya hello"));
    assert_eq!(typo.status, 422);
    assert!(typo.body.contains("#sya hello"));
}

#[test]
fn a_status_is_answered_once_a_conversation() {
    let server = FakeLlm::start().unwrap();
    let wanted = ask("#status 529\n#say fine");
    assert_eq!(post(&server, CHAT, &wanted).status, 529);
    assert_eq!(said(&post(&server, CHAT, &wanted).json()), "fine");
    let mut other = wanted.clone();
    other["messages"] = json!([{"role": "user", "content": "before"}, wanted["messages"][0]]);
    assert_eq!(post(&server, CHAT, &other).status, 529);
}

#[test]
fn a_request_for_json_gets_a_value_that_satisfies_its_schema() {
    let server = FakeLlm::start().unwrap();
    let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]});
    let mut wanted = ask("#say no");
    wanted["response_format"] = json!({"type": "json_schema", "json_schema": {"schema": schema}});
    assert_eq!(
        said(&post(&server, CHAT, &wanted).json()),
        "{\"title\":\"\"}"
    );
    let mut wanted = json!({"model": "m", "messages": [], "max_tokens": 9});
    wanted["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
    let answer = post(&server, "/v1/messages", &wanted).json();
    assert_eq!(answer["content"][0]["text"], "{\"title\":\"\"}");
}

#[test]
fn a_foreign_key_is_401_by_whichever_header_it_comes() {
    let server = FakeLlm::start().unwrap();
    let body = ask("#say hi").to_string();
    for (header, status) in [
        ("x-api-key: fake\r\n", 200),
        ("authorization: Bearer x\r\n", 200),
        ("x-goog-api-key: fake\r\n", 200),
        ("authorization: Bearer sk-real\r\n", 401),
        ("x-api-key: sk-real\r\n", 401),
        ("", 401),
    ] {
        assert_eq!(
            send(&server, "POST", CHAT, header, body.as_bytes()).status,
            status,
            "{header}"
        );
    }
    assert_eq!(
        send(
            &server,
            "POST",
            "/v1/chat/completions?key=real",
            "",
            body.as_bytes()
        )
        .status,
        401
    );
    assert_eq!(
        server
            .requests()
            .iter()
            .filter(|request| !request.key_known)
            .count(),
        4
    );
}

#[test]
fn a_packed_body_is_read_and_another_packing_is_refused() {
    let server = FakeLlm::start().unwrap();
    let packed = zstd::encode_all(ask("#say packed").to_string().as_bytes(), 1).unwrap();
    let answer = send(
        &server,
        "POST",
        CHAT,
        "x-api-key: fake\r\ncontent-encoding: zstd\r\n",
        &packed,
    );
    assert_eq!(said(&answer.json()), "packed");
    let answer = send(
        &server,
        "POST",
        CHAT,
        "x-api-key: fake\r\ncontent-encoding: br\r\n",
        &packed,
    );
    assert_eq!(answer.status, 415);
}

#[test]
fn models_heads_and_counts_are_answered() {
    let server = FakeLlm::start().unwrap();
    let models = send(&server, "GET", "/v1/models", "", b"").json();
    assert_eq!(models["data"][0]["id"], "fake-model");
    assert_eq!(
        send(&server, "GET", "/v1/models", "x-api-key: sk-real\r\n", b"").status,
        401
    );
    assert_eq!(send(&server, "HEAD", "/anything", "", b"").status, 200);
    let count = post(&server, "/v1/messages/count_tokens", &ask("hi")).json();
    assert_eq!(count["input_tokens"], 10);
    assert_eq!(post(&server, "/elsewhere", &ask("hi")).status, 404);
}

#[test]
fn the_log_tells_what_was_asked_and_holds_no_words() {
    let server = FakeLlm::start().unwrap();
    post(&server, CHAT, &ask("#call shell {}"));
    let log = server.requests();
    assert_eq!(log.len(), 1);
    assert_eq!(
        (log[0].wire, log[0].model.as_str(), log[0].stream),
        ("chat", "m", false)
    );
    assert_eq!(
        (log[0].tools.clone(), log[0].picked.as_str(), log[0].results),
        (vec!["shell".to_owned()], "shell", 0)
    );
    assert_eq!(
        (log[0].status, log[0].key_known, log[0].body_hash.len()),
        (200, true, 64)
    );
    let line = serde_json::to_value(&log[0]).unwrap();
    assert_eq!(line["bodyHash"].as_str().unwrap().len(), 64);
    assert!(line.get("resultTexts").is_none());
}

#[test]
fn a_pause_is_the_answer_s_own_and_the_server_ends_without_it() {
    let server = FakeLlm::start().unwrap();
    let body = ask("#slow 600000\n#say late").to_string();
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: x\r\nx-api-key: fake\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    assert_eq!(said(&post(&server, CHAT, &ask("#say soon")).json()), "soon");
    drop(server);
}
