//! Tasks out of our own log, where no transcript tells of any. Source: contract 3.7.

use guildhall_domain::{
    Timestamp,
    ids::{AuthorId, MessageId, SessionId},
    session_tasks::of_messages,
    transcript::{
        Message, MessagePart, MessageRole, MessageState, PlanEntry, ToolCall, ToolStatus,
    },
};
use serde_json::{Value, json};

use crate::session_tasks::lines;

fn message(parts: Vec<MessagePart>) -> Message {
    Message {
        id: MessageId::from_bytes([1; 16]),
        seq: 1,
        session_id: SessionId::from_bytes([2; 16]),
        turn_id: None,
        role: MessageRole::Assistant,
        author_id: AuthorId::from_bytes([3; 16]),
        state: MessageState::Complete,
        created_at: Timestamp::from_millis(0),
        parts,
    }
}

fn tool(id: &str, name: &str, status: ToolStatus, input: Value, output: Value) -> MessagePart {
    MessagePart::ToolCall(ToolCall {
        tool_name: name.to_owned(),
        status,
        input,
        output,
        ..ToolCall::unannounced(id.to_owned())
    })
}

fn planned(entries: &[(&str, &str)]) -> MessagePart {
    let entry = |(content, status): &(&str, &str)| PlanEntry {
        content: (*content).to_owned(),
        status: (*status).to_owned(),
        priority: String::new(),
    };
    MessagePart::Plan {
        entries: entries.iter().map(entry).collect(),
    }
}

#[test]
fn our_own_log_tells_tasks_by_tools_and_without_them_by_plans() {
    use ToolStatus::{Completed, Denied, Failed, InProgress};
    let todo = |content: &str| json!({"todos": [{"content": content, "status": "completed"}]});
    let written = |name, status| tool("1", name, status, todo("x"), Value::Null);
    for (what, parts, expected) in [
        ("nothing", vec![], vec![]),
        ("another tool", vec![written("bash", Completed)], vec![]),
        (
            "opencode",
            vec![written("todowrite", Completed)],
            vec!["1 completed x"],
        ),
        (
            "qwen",
            vec![written("todo_write", InProgress)],
            vec!["1 completed x"],
        ),
        (
            "gemini",
            vec![written("write_todos", Completed)],
            vec!["1 completed x"],
        ),
        ("a denied call", vec![written("TodoWrite", Denied)], vec![]),
        (
            "tools go before plans, a failed one too",
            vec![planned(&[("p", "pending")]), written("todowrite", Failed)],
            vec![],
        ),
        (
            "plans",
            vec![
                planned(&[("p", "pending")]),
                planned(&[("q", "in_progress"), ("r", "odd")]),
            ],
            vec!["1 in_progress q", "2 pending r"],
        ),
        (
            "ids that a tool's output names",
            vec![
                tool(
                    "1",
                    "task_create",
                    Completed,
                    json!({"subject": "A"}),
                    json!("Task #8 created"),
                ),
                tool(
                    "2",
                    "task_create",
                    Completed,
                    json!({"subject": "B"}),
                    json!({"task": {"id": 9}}),
                ),
                tool(
                    "3",
                    "task_update",
                    Completed,
                    json!({"taskId": "8", "addBlocks": ["9"]}),
                    json!(""),
                ),
            ],
            vec!["8 pending A >9", "9 pending B <8"],
        ),
    ] {
        let messages: Vec<Message> = parts.into_iter().map(|part| message(vec![part])).collect();
        assert_eq!(lines(&of_messages(&messages).0), expected, "{what}");
    }
    let titled = MessagePart::ToolCall(ToolCall {
        title: "TodoWrite".to_owned(),
        input: json!(todo("x").to_string()),
        ..ToolCall::unannounced("1".to_owned())
    });
    assert_eq!(
        lines(&of_messages(&[message(vec![titled])]).0),
        ["1 completed x"]
    );
}
