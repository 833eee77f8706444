//! Tasks: what each source and operation makes of the list. Source: contract 3.7.

use guildhall_domain::{
    limits,
    session_tasks::{
        OperationOutcome, Task, TaskListBuilder, TaskOperation, TaskStatus, TranscriptDialect,
        TranscriptTaskParser,
    },
};
use serde_json::{Value, json};

const CLAUDE: &str = include_str!("../fixtures/claude.jsonl");
/// A run of Claude Code 2.1.185 that did as a scripted model told it.
const RECORDED: &str = include_str!("../fixtures/claude-recorded.jsonl");
/// The tasks that Claude Code itself kept of that run.
const RECORDED_TASKS: &str = include_str!("../fixtures/claude-recorded.tasks.json");
const CODEX: &str = include_str!("../fixtures/codex.jsonl");

/// A task in one line: `id [status] subject <blockedBy >blocks`.
pub(crate) fn line(task: &Task) -> String {
    let word = TaskStatus::WORDS
        .iter()
        .find(|(status, _)| *status == task.status);
    let mut line = format!("{} {} {}", task.id, word.unwrap().1, task.subject);
    for (mark, links) in [('<', &task.blocked_by), ('>', &task.blocks)] {
        for link in links {
            line.push_str(&format!(" {mark}{link}"));
        }
    }
    line
}

pub(crate) fn lines(tasks: &[Task]) -> Vec<String> {
    tasks.iter().map(line).collect()
}

pub(crate) fn read(dialect: TranscriptDialect, text: &[u8]) -> TranscriptTaskParser {
    let mut transcript = TranscriptTaskParser::new(dialect);
    for line in text.split(|byte| *byte == b'\n') {
        transcript.take(line);
    }
    transcript
}

pub(crate) fn of(dialect: TranscriptDialect, text: &[u8]) -> Vec<String> {
    lines(read(dialect, text).tasks())
}

/// Demands that what one task blocks is blocked by it, and that all ids differ.
pub(crate) fn require_mirrors(tasks: &[Task]) {
    let blocks = |a: &Task, b: &Task| a.blocks.contains(&b.id);
    let is_blocked_by = |a: &Task, b: &Task| a.blocked_by.contains(&b.id);
    for a in tasks {
        for b in tasks {
            assert_eq!(blocks(a, b), is_blocked_by(b, a), "{a:?} {b:?}");
        }
        let ids = a.blocks.iter().chain(&a.blocked_by);
        for id in ids {
            assert!(tasks.iter().any(|task| task.id == *id), "{id}");
        }
        assert_eq!(
            tasks.iter().filter(|b| b.id == a.id).count(),
            1,
            "{tasks:?}"
        );
    }
}

pub(crate) fn call(id: &str, tool: &str, input: impl Into<Value>) -> String {
    let input: Value = input.into();
    let block = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
    let message = json!({"role": "assistant", "content": [block]});
    json!({"type": "assistant", "isSidechain": false, "message": message}).to_string()
}

pub(crate) fn answer(id: &str, text: &str, is_error: bool) -> String {
    let block =
        json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error});
    let message = json!({"role": "user", "content": [block]});
    json!({"type": "user", "isSidechain": false, "message": message}).to_string()
}

fn created(id: &str, subject: &str, number: u32) -> [String; 2] {
    let words = format!("Task #{number} created successfully: {subject}");
    [
        call(id, "TaskCreate", json!({ "subject": subject })),
        answer(id, &words, false),
    ]
}

fn plan(id: &str, plan: &Value) -> String {
    let arguments = json!({ "plan": plan }).to_string();
    let payload = json!({"type": "function_call", "name": "update_plan",
        "arguments": arguments, "call_id": id});
    json!({"type": "response_item", "payload": payload}).to_string()
}

fn output(id: &str, output: &Value) -> String {
    let payload = json!({"type": "function_call_output", "call_id": id, "output": output});
    json!({"type": "response_item", "payload": payload}).to_string()
}

#[test]
fn a_claude_transcript_gives_the_tasks_it_tells_of() {
    let mut transcript = read(TranscriptDialect::Claude, CLAUDE.as_bytes());
    let task = |id: &str, subject: &str, description: &str, active: &str| Task {
        id: id.to_owned(),
        subject: subject.to_owned(),
        description: description.to_owned(),
        active_form: active.to_owned(),
        ..Task::default()
    };
    let expected = [
        Task {
            status: TaskStatus::Completed,
            blocks: vec!["2".to_owned()],
            owner: "lead".to_owned(),
            ..task(
                "1",
                "Read the files",
                "Walk the folder and read every text file",
                "Reading the files",
            )
        },
        Task {
            blocked_by: vec!["1".to_owned()],
            blocks: vec!["3".to_owned()],
            ..task(
                "2",
                "Count the words",
                "Split at white space",
                "Counting the words",
            )
        },
        Task {
            blocked_by: vec!["2".to_owned()],
            ..task("3", "Print the table", "", "Printing the table")
        },
    ];
    assert_eq!(transcript.tasks(), expected);
    assert_eq!(transcript.skipped(), 0);
}

#[test]
fn the_tasks_of_a_claude_transcript_are_those_claude_code_keeps() {
    let kept: Vec<Value> = serde_json::from_str(RECORDED_TASKS).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| value.as_array().unwrap().iter().map(text).collect();
    let status = |value: &Value| {
        let word = text(value);
        let known = TaskStatus::WORDS.iter().find(|(_, known)| *known == word);
        known.unwrap().0
    };
    let expected: Vec<Task> = kept
        .iter()
        .map(|task| Task {
            id: text(&task["id"]),
            subject: text(&task["subject"]),
            description: text(&task["description"]),
            active_form: text(&task["activeForm"]),
            status: status(&task["status"]),
            blocked_by: texts(&task["blockedBy"]),
            blocks: texts(&task["blocks"]),
            owner: text(&task["owner"]),
        })
        .collect();
    let mut transcript = read(TranscriptDialect::Claude, RECORDED.as_bytes());
    assert_eq!(transcript.tasks(), expected);
    assert_eq!(transcript.skipped(), 0);
}

#[test]
fn a_codex_rollout_gives_the_plan_that_was_taken_last() {
    let expected = [
        "1 completed Read the files",
        "2 in_progress Count the words",
        "3 pending Print the table",
    ];
    assert_eq!(of(TranscriptDialect::Codex, CODEX.as_bytes()), expected);
}

#[test]
fn every_operation_has_its_effect_on_a_claude_list() {
    let todos = |list: Value| call("t", "TodoWrite", json!({ "todos": list }));
    let update = |input: Value| call("u", "TaskUpdate", input);
    let [make_a, made_a] = created("a", "A", 1);
    let [make_b, made_b] = created("b", "B", 2);
    let both = || {
        vec![
            make_a.clone(),
            made_a.clone(),
            make_b.clone(),
            made_b.clone(),
        ]
    };
    let after = |more: Vec<String>| [both(), more].concat();
    for (what, given, expected) in [
        ("nothing", vec![], vec![]),
        ("an empty list", vec![todos(json!([]))], vec![]),
        (
            "a list",
            vec![todos(json!([
                {"content": "x", "status": "completed"},
                {"content": "y", "status": "odd"},
                {"content": "z", "id": "7"},
            ]))],
            vec!["1 completed x", "2 pending y", "7 pending z"],
        ),
        (
            "a list anew",
            after(vec![todos(
                json!([{"content": "x"}, {"content": "y", "status": "cancelled"}]),
            )]),
            vec!["1 pending x"],
        ),
        (
            "ids that are given twice or are places of others",
            vec![todos(json!([
                {"content": "x"}, {"content": "y", "id": 1}, {"content": "z", "id": "1"},
            ]))],
            vec!["2 pending x", "1 pending y", "3 pending z"],
        ),
        (
            "links of a list",
            vec![todos(
                json!([{"content": "x", "blockedBy": ["2", "9"]}, {"content": "y"}]),
            )],
            vec!["1 pending x <2", "2 pending y >1"],
        ),
        (
            "a result that gives another id",
            vec![
                make_a.clone(),
                answer("a", "Task #5 created", false),
                make_b.clone(),
            ],
            vec!["5 pending A", "6 pending B"],
        ),
        (
            "results that come late and crossed",
            vec![
                make_a.clone(),
                make_b.clone(),
                update(json!({"taskId": "5", "addBlocks": ["4"]})),
                answer("b", "Task #4 created", false),
                answer("a", "Task #5 created", false),
            ],
            vec!["5 pending A >4", "4 pending B <5"],
        ),
        (
            "an update before the task is there",
            [
                vec![update(json!({"taskId": "1", "status": "completed"}))],
                both(),
            ]
            .concat(),
            vec!["1 pending A", "2 pending B"],
        ),
        (
            "an unknown id with the subject of one task",
            after(vec![
                update(json!({"taskId": "1", "addBlocks": ["2"]})),
                call(
                    "v",
                    "TaskUpdate",
                    json!({"taskId": "x", "subject": "B", "status": "completed"}),
                ),
            ]),
            vec!["1 pending A >x", "x completed B <1"],
        ),
        (
            "an unknown id with a subject that two tasks have",
            after(vec![
                call("c", "TaskCreate", json!({"subject": "B"})),
                update(json!({"taskId": "x", "subject": "B", "status": "completed"})),
            ]),
            vec!["1 pending A", "2 pending B", "3 pending B"],
        ),
        (
            "a ring",
            after(vec![
                update(json!({"taskId": "1", "addBlocks": ["2", "2", "none"]})),
                call("v", "TaskUpdate", json!({"taskId": 1, "addBlockedBy": [2]})),
            ]),
            vec!["1 pending A <2 >2", "2 pending B <1 >1"],
        ),
        (
            "a task that goes, with what refers to it",
            after(vec![
                update(json!({"taskId": "1", "addBlocks": ["2"]})),
                call(
                    "v",
                    "TaskUpdate",
                    json!({"taskId": "1", "status": "deleted"}),
                ),
                call("c", "TaskCreate", json!({"subject": "C"})),
            ]),
            vec!["2 pending B", "3 pending C"],
        ),
        (
            "a status of no known word",
            after(vec![
                update(json!({"taskId": "1", "status": "in_progress"})),
                call(
                    "v",
                    "TaskUpdate",
                    json!({"taskId": "1", "status": "paused"}),
                ),
            ]),
            vec!["1 in_progress A", "2 pending B"],
        ),
        (
            "a status that goes back",
            after(vec![
                update(json!({"taskId": "1", "status": "completed"})),
                call(
                    "v",
                    "TaskUpdate",
                    json!({"taskId": "1", "status": "pending"}),
                ),
            ]),
            vec!["1 pending A", "2 pending B"],
        ),
        (
            "a call that failed, with what came after it",
            after(vec![
                todos(json!([{"content": "x"}])),
                update(json!({"taskId": "2", "status": "completed"})),
                answer("t", "no", true),
            ]),
            vec!["1 pending A", "2 completed B"],
        ),
        (
            "an answer to nobody, and a second one",
            after(vec![answer("nobody", "no", true), answer("a", "no", true)]),
            vec!["1 pending A", "2 pending B"],
        ),
        (
            "arguments that hold no list",
            after(vec![
                todos(json!("none")),
                todos(json!(null)),
                update(json!([])),
            ]),
            vec!["1 pending A", "2 pending B"],
        ),
    ] {
        let mut transcript = read(TranscriptDialect::Claude, given.join("\n").as_bytes());
        assert_eq!(lines(transcript.tasks()), expected, "{what}");
        require_mirrors(transcript.tasks());
    }
}

#[test]
fn a_sub_agents_own_list_is_not_the_sessions() {
    let aside = |line: &str| line.replace("\"isSidechain\":false", "\"isSidechain\":true");
    let [make, made] = created("a", "A", 1);
    assert_eq!(
        of(TranscriptDialect::Claude, aside(&make).as_bytes()),
        [""; 0]
    );
    let failed = answer("a", "no", true);
    let text = [make, aside(&failed), made].join("\n");
    assert_eq!(
        of(TranscriptDialect::Claude, text.as_bytes()),
        ["1 pending A"]
    );
}

#[test]
fn every_operation_has_its_effect_on_a_codex_plan() {
    let one = || plan("1", &json!([{"step": "A", "status": "in_progress"}]));
    let two = || {
        plan(
            "2",
            &json!([{"step": "B"}, {"step": "C", "status": "cancelled"}]),
        )
    };
    let taken = |id: &str| output(id, &json!("Plan updated"));
    for (what, given, expected) in [
        ("nothing", vec![], vec![]),
        (
            "a plan without an answer",
            vec![one()],
            vec!["1 in_progress A"],
        ),
        (
            "a plan anew",
            vec![one(), taken("1"), two(), taken("2")],
            vec!["1 pending B"],
        ),
        (
            "a plan that is not taken, by words",
            vec![
                one(),
                taken("1"),
                two(),
                output("2", &json!("failed to parse function arguments")),
            ],
            vec!["1 in_progress A"],
        ),
        (
            "a plan that is not taken, by a mark",
            vec![
                one(),
                two(),
                output("2", &json!({"content": "?", "success": false})),
            ],
            vec!["1 in_progress A"],
        ),
    ] {
        assert_eq!(
            of(TranscriptDialect::Codex, given.join("\n").as_bytes()),
            expected,
            "{what}"
        );
    }
}

#[test]
fn a_line_that_cannot_be_read_is_skipped_and_counted() {
    let [make, made] = created("a", "A", 1);
    for (what, line, skipped) in [
        ("an empty line", b"".to_vec(), 0),
        ("no object", b"\"TaskCreate\"".to_vec(), 1),
        ("half a line", make.as_bytes()[..make.len() - 9].to_vec(), 1),
        (
            "no Unicode",
            b"{\"type\":\"assistant\",\"message\":{\"x\":\"\xff\",\"y\":\"TodoWrite\"}}".to_vec(),
            1,
        ),
        (
            "an unknown type",
            b"{\"type\":\"news\",\"about\":\"TodoWrite\"}".to_vec(),
            0,
        ),
        (
            "a message of another shape",
            b"{\"type\":\"user\",\"message\":{\"content\":\"TodoWrite\"}}".to_vec(),
            0,
        ),
        (
            "a block of another shape",
            b"{\"type\":\"assistant\",\"message\":{\"content\":[1,\"TodoWrite\",{}]}}".to_vec(),
            0,
        ),
    ] {
        let text = [make.as_bytes(), &line, made.as_bytes()].join(&b'\n');
        let mut transcript = read(TranscriptDialect::Claude, &text);
        assert_eq!(lines(transcript.tasks()), ["1 pending A"], "{what}");
        assert_eq!(transcript.skipped(), skipped, "{what}");
    }
}

#[test]
fn more_tasks_than_a_session_may_have_are_dropped_with_a_notice() {
    let many = limits::TASKS_MAX + 1;
    let todos: Vec<Value> = (0..many)
        .map(|n| json!({"content": n.to_string()}))
        .collect();
    let whole = call("t", "TodoWrite", json!({ "todos": todos }));
    let singly: Vec<String> = (0..many)
        .map(|n| call(&n.to_string(), "TaskCreate", json!({"subject": "x"})))
        .collect();
    for text in [whole, singly.join("\n")] {
        let mut transcript = read(TranscriptDialect::Claude, text.as_bytes());
        assert_eq!(transcript.tasks().len(), limits::TASKS_MAX);
        assert!(transcript.has_dropped());
    }
}

#[test]
fn what_waits_for_its_end_is_bounded() {
    let mut fold = TaskListBuilder::default();
    let many = limits::TASK_OPERATIONS_OPEN_MAX + 1;
    for n in 0..many {
        let operation = TaskOperation::asked("TaskCreate", &json!({"subject": n.to_string()}));
        fold.begin(&n.to_string(), operation.unwrap());
    }
    assert!(!fold.awaits_call("0"), "the oldest counts as done");
    fold.end("0", OperationOutcome::Failed);
    fold.end("1", OperationOutcome::Failed);
    assert_eq!(fold.tasks().len(), many - 1);
}
