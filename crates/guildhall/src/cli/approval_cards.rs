//! Cards: an ask as a person reads it before deciding, with everything in it that could hide
//! made visible. Source: design of asks, "Change", "Command".

use serde_json::{Map, Value};

use super::{escaped_text, unified_diff};

/// The card of an ask, line by line.
pub(super) fn lines(ask: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            lines.push(format!("{name:<10} {}", escaped_text::escape_hidden(value)));
        }
    };
    let words = |name: &str| ask[name].as_str().unwrap_or_default();
    field("Says", words("title"));
    field("Tool", words("toolName"));
    field("Does", words("toolKind"));
    field("Folder", words("cwd"));
    field("Mode", words("mode"));
    for location in list(&ask["locations"]) {
        let path = location["path"].as_str().unwrap_or_default();
        let line = location["line"].as_u64().map(|line| format!(":{line}"));
        field("Touches", &format!("{path}{}", line.unwrap_or_default()));
    }
    for option in list(&ask["options"]) {
        let part = |name: &str| option[name].as_str().unwrap_or_default();
        let (id, name, kind) = (part("optionId"), part("name"), part("kind"));
        field("Offers", &format!("{kind}: {name} ({id})"));
    }
    field("Refused at", words("expiresAt"));
    field("Digest", &digest(ask));
    if ask["detached"] == Value::Bool(true) {
        field("Agent", "gone; a yes waits 30 minutes for it");
    }
    if ask["opaque"] == Value::Bool(true) {
        field("Beware", "the agent says nothing of what it wants to do");
    }
    lines.extend(input(ask));
    for question in list(&ask["questions"]) {
        lines.extend(self::question(question));
    }
    for content in list(&ask["content"]) {
        lines.push(String::new());
        lines.extend(shown(content));
    }
    lines
}

/// The card of an approval, line by line: who wants what, what it shows, and why it is asked.
pub(super) fn of_approval(approval: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            lines.push(format!("{name:<10} {}", escaped_text::escape_hidden(value)));
        }
    };
    let words = |name: &str| approval[name].as_str().unwrap_or_default();
    field("Says", words("title"));
    field("What", words("summary"));
    let by = &approval["requestedBy"]["displayName"];
    field("Asked by", by.as_str().unwrap_or_default());
    field("Deed", words("capability"));
    field("Stands", words("state"));
    field("Until", words("expiresAt"));
    field("Denied as", words("denyReason"));
    field("Digest", &digest(approval));
    for why in list(&approval["why"]) {
        field("Because", why.as_str().unwrap_or_default());
    }
    if let Value::Object(members) = &approval["card"] {
        lines.extend(members_of(members));
    }
    lines
}

/// The beginning of the digest, which is enough to name what was seen.
pub(super) fn digest(ask: &Value) -> String {
    let digest = ask["digest"].as_str().unwrap_or_default();
    digest.chars().take(8).collect()
}

fn input(ask: &Value) -> Vec<String> {
    if ask["input"].is_null() {
        return Vec::new();
    }
    let mut lines = vec!["Input".to_owned()];
    match &ask["input"] {
        Value::Object(members) => lines.extend(members_of(members)),
        Value::String(words) => {
            lines.extend(
                words
                    .split('\n')
                    .map(|line| format!("  {}", escaped_text::escape_hidden(line))),
            );
        }
        other => lines.push(format!(
            "  {}",
            escaped_text::escape_hidden(&other.to_string())
        )),
    }
    if ask["inputTruncated"] == Value::Bool(true) {
        lines.push("  The input is longer than what is shown.".to_owned());
    }
    lines
}

/// Every member of an object, with texts of several lines below one another.
fn members_of(members: &Map<String, Value>) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, value) in members {
        let written = match value {
            Value::String(words) => words.clone(),
            other => other.to_string(),
        };
        let mut parts = written.split('\n').map(escaped_text::escape_hidden);
        let name = escaped_text::escape_hidden(name);
        lines.push(format!("  {name}: {}", parts.next().unwrap_or_default()));
        lines.extend(parts.map(|part| format!("    {part}")));
    }
    lines
}

fn question(question: &Value) -> Vec<String> {
    let part =
        |name: &str| escaped_text::escape_hidden(question[name].as_str().unwrap_or_default());
    let must = if question["required"] == Value::Bool(true) {
        ", required"
    } else {
        ""
    };
    let mut lines = vec![format!(
        "Question {} ({}{must}): {}",
        part("id"),
        part("type"),
        part("title")
    )];
    if !part("description").is_empty() {
        lines.push(format!("  {}", part("description")));
    }
    for option in list(&question["options"]) {
        let part =
            |name: &str| escaped_text::escape_hidden(option[name].as_str().unwrap_or_default());
        lines.push(format!("  {} = {}", part("value"), part("label")));
    }
    lines
}

fn shown(content: &Value) -> Vec<String> {
    let part = |name: &str| content[name].as_str().unwrap_or_default();
    let lines = match part("type") {
        "diff" => {
            let old = content["oldText"].as_str();
            unified_diff::unified(part("path"), old, part("newText"))
        }
        "text" => part("text").split('\n').map(str::to_owned).collect(),
        _ => vec![format!("Something that cannot be shown: {}", part("kind"))],
    };
    lines
        .iter()
        .map(|line| escaped_text::escape_hidden(line))
        .collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_on_a_card_hides_and_nothing_of_a_change_is_left_out() {
        let ask = json!({
            "title": "Edit\u{202e}", "toolName": "edit", "toolKind": "edit", "cwd": "/w",
            "mode": "default", "input": {"count": 2, "path": "a\u{200b}", "text": "x\ny"},
            "inputTruncated": true, "opaque": true, "detached": true,
            "expiresAt": "2026-09-21T18:13:20.000Z", "questions": [],
            "digest": "5f1c09ab5f1c09ab",
            "locations": [{"path": "src/a", "line": 3}],
            "options": [{"optionId": "o", "name": "Yes\u{1b}[2J", "kind": "allow_once"}],
            "content": [
                {"type": "diff", "path": "a", "oldText": "one\n", "newText": "t\u{feff}wo\r\n"},
                {"type": "text", "text": "why\nnot"},
                {"type": "unshown", "kind": "image"},
            ],
        });
        let expected = [
            "Says       Edit\\u{202e}",
            "Tool       edit",
            "Does       edit",
            "Folder     /w",
            "Mode       default",
            "Touches    src/a:3",
            "Offers     allow_once: Yes\\u{1b}[2J (o)",
            "Refused at 2026-09-21T18:13:20.000Z",
            "Digest     5f1c09ab",
            "Agent      gone; a yes waits 30 minutes for it",
            "Beware     the agent says nothing of what it wants to do",
            "Input",
            "  count: 2",
            "  path: a\\u{200b}",
            "  text: x",
            "    y",
            "  The input is longer than what is shown.",
            "",
            "--- a",
            "+++ a",
            "@@ -1,1 +1,1 @@",
            "-one",
            "+t\\u{feff}wo\\r",
            "",
            "why",
            "not",
            "",
            "Something that cannot be shown: image",
        ];
        assert_eq!(lines(&ask), expected);
    }

    #[test]
    fn a_question_shows_what_it_takes() {
        let ask = json!({"questions": [{"id": "way", "title": "Which?", "description": "d",
            "type": "choice", "required": true,
            "options": [{"value": "l", "label": "Left"}]}]});
        let expected = [
            "Question way (choice, required): Which?",
            "  d",
            "  l = Left",
        ];
        assert_eq!(lines(&ask), expected);
    }

    #[test]
    fn an_approval_shows_who_wants_what_and_hides_nothing_of_it() {
        let approval = json!({
            "title": "Add an MCP server", "summary": "files", "capability": "mcp.add",
            "state": "pending", "expiresAt": "2026-09-21T18:13:20.000Z", "denyReason": null,
            "requestedBy": {"displayName": "ada\u{202e}"}, "why": ["foreign code"],
            "card": {"args": ["-y", "x\u{200b}"], "command": "npx\n-p", "url": null},
        });
        let expected = [
            "Says       Add an MCP server",
            "What       files",
            "Asked by   ada\\u{202e}",
            "Deed       mcp.add",
            "Stands     pending",
            "Until      2026-09-21T18:13:20.000Z",
            "Because    foreign code",
            "  args: [\"-y\",\"x\\u{200b}\"]",
            "  command: npx",
            "    -p",
            "  url: null",
        ];
        assert_eq!(of_approval(&approval), expected);
    }
}
