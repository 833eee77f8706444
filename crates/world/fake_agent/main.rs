//! A puppet for tests: a keeper, or an agent that does what its prompts say, the wrong as
//! well as the right. It writes the protocol by hand, so that it can break it.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a puppet says what went wrong by failing"
)]

mod conformance_client;
mod fake_mcp_server;

use std::{
    ffi::{OsStr, OsString},
    io::{BufRead, Write, stdin, stdout},
    process::ExitCode,
    time::Duration,
};

use guildhall_world::{
    enclosure::GuardRestrictions,
    process_guard::{GRACE_ARGUMENT, GuardOptions, NAME_ARGUMENT, PIPES_ARGUMENT, run_guard},
};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let first = args.first().and_then(|word| word.to_str()).unwrap_or("");
    match first {
        "keeper" => {
            let (words, command) = split(&args[1..]);
            let grace = behind(words, GRACE_ARGUMENT);
            let grace = grace.map_or(2, |seconds| seconds.to_str().unwrap().parse().unwrap());
            let name = behind(words, NAME_ARGUMENT);
            ExitCode::from(run_guard(&GuardOptions {
                command,
                name,
                grace: Duration::from_secs(grace),
                is_at_pipes: words.iter().any(|word| word == PIPES_ARGUMENT),
                walls: &GuardRestrictions::default(),
            }))
        }
        "exits" => {
            eprintln_bytes(b"the puppet has no strings\n");
            ExitCode::from(3)
        }
        "silent" => {
            // Reads without a word until nobody writes any more.
            for _ in stdin().lock().lines() {}
            ExitCode::SUCCESS
        }
        "tools" => {
            let word = |place: usize| args.get(place).and_then(|word| word.to_str());
            fake_mcp_server::serve(word(1).unwrap(), word(2).unwrap_or(""))
        }
        "conforms" => conformance_client::run(args[1].to_str().unwrap()),
        "agent" => {
            FakeAgent::default().run();
            ExitCode::SUCCESS
        }
        _ => ExitCode::from(2),
    }
}

/// What stands before `--` and what behind.
fn split(words: &[OsString]) -> (&[OsString], &[OsString]) {
    let place = words.iter().position(|word| word == "--").unwrap();
    (&words[..place], &words[place + 1..])
}

/// The word behind the one that is its name.
fn behind<'a>(words: &'a [OsString], name: &str) -> Option<&'a OsStr> {
    let place = words.iter().position(|word| word == name)?;
    words.get(place + 1).map(OsString::as_os_str)
}

fn eprintln_bytes(bytes: &[u8]) {
    std::io::stderr().write_all(bytes).unwrap();
}

#[derive(Default)]
struct FakeAgent {
    mode: String,
    model: String,
    next_id: u64,
    /// The prompt that waits for a cancel.
    hanging: Option<Value>,
    /// The prompt behind a question, with the id of the question.
    asking: Option<(Value, u64)>,
}

impl FakeAgent {
    fn run(mut self) {
        (self.mode, self.model) = ("default".to_owned(), "small".to_owned());
        for line in stdin().lock().lines() {
            let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
            match message.get("method").and_then(Value::as_str) {
                Some(method) => self.asked(method, &message),
                None => self.answered(&message),
            }
        }
    }

    fn asked(&mut self, method: &str, message: &Value) {
        let (id, params) = (&message["id"], &message["params"]);
        match method {
            "initialize" => reply(id, initialized(params)),
            "session/new" => {
                say(
                    "one",
                    json!({"sessionUpdate": "available_commands_update",
                    "availableCommands": [{"name": "web", "description": "Searches"}]}),
                );
                reply(id, self.session(json!("one")));
            }
            "session/load" => {
                let session = params["sessionId"].as_str().unwrap();
                say_text(session, "told before");
                reply(id, self.session(Value::Null));
                say_text(session, "told after");
            }
            "session/set_mode" if params["modeId"] == "broken" => {
                write(&json!({"jsonrpc": "2.0", "id": id,
                    "error": {"code": -32602, "message": "no such mode", "data": "broken"}}));
            }
            "session/set_mode" => {
                params["modeId"]
                    .as_str()
                    .unwrap()
                    .clone_into(&mut self.mode);
                reply(id, json!({}));
            }
            "session/set_config_option" => {
                params["value"]
                    .as_str()
                    .unwrap()
                    .clone_into(&mut self.model);
                reply(id, json!({"configOptions": self.options()}));
            }
            "session/prompt" => self.prompted(id, params),
            "session/cancel" => {
                if let Some(prompt) = self.hanging.take() {
                    reply(&prompt, json!({"stopReason": "cancelled"}));
                }
            }
            _ => {}
        }
    }

    fn session(&self, id: Value) -> Value {
        let mut session = json!({
            "modes": {"currentModeId": self.mode, "availableModes": [
                {"id": "default", "name": "Default", "description": "Asks"},
                {"id": "plan", "name": "Plan"}]},
            "configOptions": self.options(),
        });
        if !id.is_null() {
            session["sessionId"] = id;
        }
        session
    }

    fn options(&self) -> Value {
        json!([{"id": "m", "name": "Model", "category": "model", "type": "select",
            "currentValue": self.model, "options": [
                {"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]}])
    }

    fn prompted(&mut self, id: &Value, params: &Value) {
        let session = params["sessionId"].as_str().unwrap();
        let blocks = params["prompt"].as_array().unwrap();
        let text = blocks.last().unwrap()["text"].as_str().unwrap();
        let (deed, rest) = text.split_once(' ').unwrap_or((text, ""));
        match deed {
            "say" => {
                say_text(session, rest);
                self.end(id);
            }
            "mode" => {
                say_text(session, &self.mode.clone());
                self.end(id);
            }
            "env" => {
                let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
                say_text(session, &names.join(" "));
                self.end(id);
            }
            "permit" => {
                self.ask(
                    "session/request_permission",
                    &json!({
                    "sessionId": session, "toolCall": {"toolCallId": "t", "title": "Run it",
                        "kind": "execute", "rawInput": {"command": ["ls"]}},
                    "options": [
                        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                        {"optionId": "no", "name": "No", "kind": "reject_once"}]}),
                    id,
                );
            }
            "form" => {
                self.ask(
                    "elicitation/create",
                    &json!({
                    "sessionId": session, "mode": "form", "message": "Which?",
                    "requestedSchema": {"type": "object", "properties": {
                        "colour": {"type": "string", "enum": ["red", "green"]}}}}),
                    id,
                );
            }
            "read" => {
                self.ask(
                    "fs/read_text_file",
                    &json!({"sessionId": session, "path": "/x"}),
                    id,
                );
            }
            "hang" => self.hanging = Some(id.clone()),
            "crash" => std::process::exit(9),
            "garbage" => loop_writing(b"not the protocol\n", 200),
            "longline" => loop_writing(&[b'x'; 1 << 20], 32),
            "flood" => {
                let count: usize = rest.parse().unwrap();
                for _ in 0..count {
                    say_text(session, &"z".repeat(1_000));
                }
                self.end(id);
            }
            _ => self.end(id),
        }
    }

    fn ask(&mut self, method: &str, params: &Value, prompt: &Value) {
        self.next_id += 1;
        write(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}));
        self.asking = Some((prompt.clone(), self.next_id));
    }

    fn answered(&mut self, message: &Value) {
        let (prompt, id) = self.asking.take().unwrap();
        assert_eq!(message["id"], json!(id));
        let heard = message.get("result").unwrap_or(&message["error"]["code"]);
        say_text("one", &heard.to_string());
        self.end(&prompt);
    }

    fn end(&self, id: &Value) {
        reply(
            id,
            json!({"stopReason": "end_turn",
            "usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}}),
        );
    }
}

fn initialized(params: &Value) -> Value {
    assert_eq!(
        params["clientCapabilities"]["fs"]["readTextFile"],
        json!(false)
    );
    assert_eq!(params["clientCapabilities"]["terminal"], json!(false));
    assert!(params["clientCapabilities"]["elicitation"]["form"].is_object());
    json!({"protocolVersion": 1, "agentInfo": {"name": "puppet", "version": "1.2.3"},
        "agentCapabilities": {"loadSession": true}})
}

fn say_text(session: &str, text: &str) {
    say(
        session,
        json!({"sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": text}}),
    );
}

#[expect(clippy::needless_pass_by_value, reason = "callers make it on the spot")]
fn say(session: &str, update: Value) {
    write(&json!({"jsonrpc": "2.0", "method": "session/update",
        "params": {"sessionId": session, "update": update}}));
}

#[expect(clippy::needless_pass_by_value, reason = "callers make it on the spot")]
fn reply(id: &Value, result: Value) {
    write(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn write(message: &Value) {
    let mut line = message.to_string();
    line.push('\n');
    loop_writing(line.as_bytes(), 1);
}

fn loop_writing(bytes: &[u8], times: usize) {
    let mut out = stdout().lock();
    for _ in 0..times {
        // Whoever stopped reading ends us.
        if out.write_all(bytes).and_then(|()| out.flush()).is_err() {
            std::process::exit(1);
        }
    }
}
