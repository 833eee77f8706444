//! Programs that the server starts and that do not keep to their protocol: an agent over ACP, and
//! a tool server over standard input and output. Both are this binary, called with a word.
//!
//! Half of what they say is right, so that the server comes as far as there is something to break.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

use crate::rng::Rng;

/// The word that makes this binary an agent.
pub(crate) const AGENT: &str = "acp-peer";
/// The word that makes it a tool server.
pub(crate) const TOOL_SERVER: &str = "mcp-peer";
/// Bytes of a long line, and of one that is longer than any may be.
const LONG_LINE: usize = 1 << 20;
const ENDLESS_LINE: usize = 17 << 20;

/// What a program does next.
enum LoopControl {
    GoOn,
    End,
}

/// Talks until its input ends, or until it does not feel like it. `tally` is a file that grows by
/// a byte with each start.
pub(crate) fn run(word: &str, tally: Option<&str>) -> io::Result<()> {
    if let Some(tally) = tally {
        let mut file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(tally)?;
        file.write_all(b"+")?;
    }
    let mut rng = Rng::of_attempt(u64::from(std::process::id()), 0);
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?).unwrap_or_default();
        let good = match word {
            AGENT => agent_reply(&message),
            _ => tool_server_reply(&message),
        };
        if let LoopControl::End = say(&mut output, &mut rng, &message, good)? {
            return Ok(());
        }
        output.flush()?;
    }
    Ok(())
}

/// What a good agent would answer.
fn agent_reply(message: &Value) -> Option<Value> {
    let result = match message["method"].as_str()? {
        "initialize" => {
            json!({"protocolVersion": 1, "agentInfo": {"name": "hostile", "version": "0"},
            "agentCapabilities": {"loadSession": true}})
        }
        "session/new" => json!({"sessionId": "one", "modes": {"currentModeId": "default",
            "availableModes": [{"id": "default", "name": "Default"}]}}),
        "session/prompt" => json!({"stopReason": "end_turn"}),
        _ => json!({}),
    };
    Some(result)
}

/// What a good tool server would answer.
fn tool_server_reply(message: &Value) -> Option<Value> {
    tool_result(message["method"].as_str()?, &message["params"])
}

/// The result of a request to a tool server.
pub(crate) fn tool_result(method: &str, params: &Value) -> Option<Value> {
    let tool =
        json!({"name": "echo", "description": "Says it back.", "inputSchema": {"type": "object"}});
    Some(match method {
        "initialize" => json!({"protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "hostile", "version": "0"}}),
        "tools/list" => json!({"tools": [tool]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "said"}]}),
        _ => json!({}),
    })
}

fn say(
    output: &mut impl Write,
    rng: &mut Rng,
    message: &Value,
    good: Option<Value>,
) -> io::Result<LoopControl> {
    let id = &message["id"];
    let mut line = |value: &Value| writeln!(output, "{value}");
    let reply = |id: &Value, result: &Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let Some(good) = good.filter(|_| !id.is_null()) else {
        return Ok(LoopControl::GoOn);
    };
    // The first words are right more often: who is not let in breaks little.
    let is_first = matches!(
        message["method"].as_str(),
        Some("initialize" | "session/new")
    );
    let is_good = rng.chance(if is_first { 85 } else { 30 });
    if is_good {
        line(&reply(id, &good))?;
        return Ok(LoopControl::GoOn);
    }
    match rng.below(19) {
        0 => line(&reply(&json!(-77), &good))?,
        1 => line(&reply(&json!("one"), &good))?,
        2 => {
            line(&reply(id, &good))?;
            line(&reply(id, &good))?;
        }
        3 => line(&json!({"jsonrpc": "2.0", "id": id}))?,
        4 => line(&json!({"jsonrpc": "1.0", "id": id, "result": [], "error": 7}))?,
        5 => line(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": "x", "message": null}}))?,
        6 => line(&reply(id, &json!([[[[[[[]]]]]]])))?,
        7 => output.write_all(b"\xff\xfe\x00 no text\n")?,
        8 => output.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":")?,
        9 => {
            let text = "x".repeat(LONG_LINE);
            line(&update(&json!({"sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": text}})))?;
            line(&reply(id, &good))?;
        }
        10 if rng.chance(10) => {
            output.write_all(&vec![b'y'; ENDLESS_LINE])?;
            output.write_all(b"\n")?;
        }
        11 => return Ok(LoopControl::End),
        12 => {
            for count in 0..200 {
                line(&odd_update(rng, count))?;
            }
            line(&reply(id, &good))?;
        }
        13 => {
            for request in odd_requests() {
                line(&request)?;
            }
            line(&reply(id, &good))?;
        }
        14 => output.write_all(&b"garbage\n".repeat(150))?,
        15 => output.write_all(format!("{}\n", "[".repeat(5_000)).as_bytes())?,
        16 => line(&json!([reply(id, &good), 1, null]))?,
        // No answer at all.
        17 => {}
        _ => line(&reply(
            id,
            &json!({"tools": [{"name": "", "inputSchema": 1}, {}, null],
            "sessionId": "", "nextCursor": "again", "protocolVersion": 99, "stopReason": "none"}),
        ))?,
    }
    Ok(LoopControl::GoOn)
}

fn update(update: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/update",
        "params": {"sessionId": "one", "update": update}})
}

fn odd_update(rng: &mut Rng, count: usize) -> Value {
    let odd = match rng.below(9) {
        0 => json!({"sessionUpdate": "tool_call", "toolCallId": format!("c{count}"), "title": ""}),
        1 => {
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "none", "status": "completed"})
        }
        2 => json!({"sessionUpdate": "plan", "entries": [{"content": "", "priority": "x"}]}),
        3 => {
            json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "image", "data": "?"}})
        }
        4 => json!({"sessionUpdate": "current_mode_update", "currentModeId": "none"}),
        5 => json!({"sessionUpdate": "nothing_known"}),
        6 => {
            json!({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": 1}]})
        }
        7 => Value::Null,
        _ => {
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "\u{0}"}})
        }
    };
    update(&odd)
}

/// What an agent may ask its client, and what it may not.
fn odd_requests() -> [Value; 5] {
    let ask = |id: i64, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    [
        ask(
            1,
            "fs/read_text_file",
            json!({"sessionId": "one", "path": "../../etc/passwd"}),
        ),
        ask(
            1,
            "session/request_permission",
            json!({"sessionId": "one", "options": [],
            "toolCall": {"toolCallId": ""}}),
        ),
        ask(
            -1,
            "session/request_permission",
            json!({"sessionId": "other"}),
        ),
        ask(
            2,
            "elicitation/create",
            json!({"sessionId": "one", "mode": "form", "message": "",
            "requestedSchema": {"type": "object", "properties": {"a": {"type": "none"}}}}),
        ),
        ask(3, "terminal/create", json!({"command": "false"})),
    ]
}
