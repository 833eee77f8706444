//! A session's tasks: who reads which, and how they are followed. Source: contract 3.7.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use guildhall_testkit::{TestHall, until};
use serde_json::{Value, json};

const SESSION: &str = "5b1f7c2e-8d34-4e0a-9c61-2f7d0a4be913";
const ROLLOUT: &str = "019a0b1c-2d3e-7f40-8a5b-6c7d8e9f0a1b";
const CLAUDE: &str = include_str!("../../../domain/tests/fixtures/claude.jsonl");
const CODEX: &str = include_str!("../../../domain/tests/fixtures/codex.jsonl");

fn url(session: &str) -> String {
    format!("/api/sessions/{session}/tasks")
}

fn write(path: PathBuf, text: &str) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn claude(t: &TestHall, text: &str) -> PathBuf {
    let name = format!(".claude/projects/-work-tally/{SESSION}.jsonl");
    write(t.home().join(name), text)
}

fn append(path: &Path, text: &str) {
    let mut file = fs::File::options().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn todo(id: &str, content: &str) -> String {
    let input = json!({"todos": [{"content": content, "status": "pending"}]});
    let block = json!({"type": "tool_use", "id": id, "name": "TodoWrite", "input": input});
    let line = json!({"type": "assistant", "message": {"content": [block]}});
    format!("{line}\n")
}

fn task(id: &str, status: &str, subject: &str) -> Value {
    json!({
        "id": id, "subject": subject, "description": "", "activeForm": "", "status": status,
        "blockedBy": [], "blocks": [], "owner": "",
    })
}

#[tokio::test]
async fn a_session_of_the_terminal_has_the_tasks_of_its_transcript() {
    let t = TestHall::open().await;
    claude(&t, CLAUDE);
    let name = format!(".codex/sessions/2026/02/03/rollout-2026-02-03T10-00-00-{ROLLOUT}.jsonl");
    write(t.home().join(name), CODEX);
    let tasks = t.owner().get(&url(SESSION)).await.ok(200);
    let first = json!({
        "id": "1", "subject": "Read the files",
        "description": "Walk the folder and read every text file",
        "activeForm": "Reading the files", "status": "completed",
        "blockedBy": [], "blocks": ["2"], "owner": "lead",
    });
    assert_eq!(tasks["tasks"][0], first);
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 3);
    assert_eq!(tasks.as_object().unwrap().len(), 1);
    let upper = t.owner().get(&url(&SESSION.to_uppercase())).await.ok(200);
    assert_eq!(upper, tasks);
    let plan = t.owner().get(&url(ROLLOUT)).await.ok(200);
    let expected = [
        task("1", "completed", "Read the files"),
        task("2", "in_progress", "Count the words"),
        task("3", "pending", "Print the table"),
    ];
    assert_eq!(plan, json!({ "tasks": expected }));
}

#[tokio::test]
async fn a_session_that_is_nowhere_is_not_found_and_a_text_that_is_no_uuid_is_refused() {
    let t = TestHall::open().await;
    claude(&t, CLAUDE);
    let ada = t.agent("ada").await;
    for id in ["ada", "5b1f7c2e", "..%2Fx"] {
        let answer = t.owner().get(&url(id)).await;
        answer.refused(400, "VALIDATION_FAILED");
        ada.get(&url(id)).await.refused(400, "VALIDATION_FAILED");
    }
    let missing = t.owner().get(&url(ROLLOUT)).await;
    missing.refused(404, "SESSION_NOT_FOUND");
    // An agent learns of no session but its own.
    let hidden = ada.get(&url(SESSION)).await;
    hidden.refused(404, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn a_transcript_without_tasks_is_an_empty_list_until_it_is_gone() {
    let t = TestHall::open().await;
    let path = claude(&t, "{\"type\":\"summary\"}\n");
    assert_eq!(
        t.owner().get(&url(SESSION)).await.ok(200),
        json!({"tasks": []})
    );
    fs::remove_file(path).unwrap();
    let gone = t.owner().get(&url(SESSION)).await;
    gone.refused(404, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn tasks_that_stay_the_same_are_not_sent_again() {
    let t = TestHall::open().await;
    let path = claude(&t, &todo("1", "a"));
    let first = t.owner().get(&url(SESSION)).await;
    assert_eq!(first.header("cache-control"), "private, no-cache");
    let tag = first.header("etag").to_owned();
    let again = async || {
        let ask = t.owner().ask("GET", &url(SESSION));
        ask.header("if-none-match", &tag).send().await
    };
    assert_eq!(again().await.status, 304);
    // A line that is not finished says nothing yet.
    let line = todo("2", "b");
    append(&path, &line[..40]);
    assert_eq!(again().await.status, 304);
    append(&path, &line[40..]);
    let tasks = again().await.ok(200);
    assert_eq!(tasks, json!({"tasks": [task("1", "pending", "b")]}));
}

#[tokio::test]
async fn a_transcript_that_moves_to_another_folder_is_found_again() {
    let t = TestHall::open().await;
    let path = claude(&t, &todo("1", "a"));
    t.owner().get(&url(SESSION)).await.ok(200);
    let name = format!(".claude/projects/-elsewhere/{SESSION}.jsonl");
    let other = write(t.home().join(name), &todo("1", "b"));
    fs::rename(other.with_file_name(format!("{SESSION}.jsonl")), &other).unwrap();
    fs::remove_file(path).unwrap();
    let tasks = t.owner().get(&url(SESSION)).await.ok(200);
    assert_eq!(tasks["tasks"][0]["subject"], "b");
}

#[tokio::test]
async fn who_asked_for_tasks_is_told_when_they_change() {
    let t = TestHall::open().await;
    let path = claude(&t, &todo("1", "a"));
    let mut events = t.events();
    t.owner().get(&url(SESSION)).await.ok(200);
    append(&path, &todo("2", "b"));
    let mut heard = Vec::new();
    until("tasks_changed", || {
        heard.extend(events.all());
        !heard.is_empty()
    })
    .await;
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0]["type"], "tasks_changed");
    assert_eq!(heard[0]["scope"], format!("session:{SESSION}"));
    let version = heard[0]["data"]["version"].as_u64().unwrap();
    // What changes nothing is not told: the next event is that of the next change.
    append(&path, "{\"type\":\"summary\"}\n");
    append(&path, &todo("3", "b"));
    let tasks = t.owner().get(&url(SESSION)).await.ok(200);
    assert_eq!(tasks["tasks"][0]["subject"], "b");
    append(&path, &todo("4", "c"));
    let mut next = Vec::new();
    until("tasks_changed", || {
        next.extend(events.all());
        !next.is_empty()
    })
    .await;
    assert_eq!(next[0]["data"]["version"].as_u64().unwrap(), version + 1);
    let tasks = t.owner().get(&url(SESSION)).await.ok(200);
    assert_eq!(tasks["tasks"][0]["subject"], "c");
    t.close().await;
}

#[tokio::test]
async fn more_tasks_than_may_be_kept_are_told_in_a_notice_once() {
    let t = TestHall::open().await;
    let todos: Vec<Value> = (0..=1_000)
        .map(|n| json!({"content": n.to_string()}))
        .collect();
    let block =
        json!({"type": "tool_use", "id": "1", "name": "TodoWrite", "input": {"todos": todos}});
    let line = json!({"type": "assistant", "message": {"content": [block]}});
    claude(&t, &format!("{line}\n"));
    let mut events = t.events();
    let tasks = t.owner().get(&url(SESSION)).await.ok(200);
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 1_000);
    let mut heard = Vec::new();
    until("a notice", || {
        heard.extend(events.all());
        !heard.is_empty()
    })
    .await;
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0]["type"], "session_notice");
    assert_eq!(heard[0]["data"]["code"], "TASKS_MAX");
}

#[tokio::test]
async fn sessions_of_the_terminal_are_listed_for_people_alone() {
    let t = TestHall::open().await;
    claude(&t, CLAUDE);
    let name = format!(".codex/sessions/2026/02/03/rollout-2026-02-03T10-00-00-{ROLLOUT}.jsonl");
    write(t.home().join(name), CODEX);
    let owner = t.owner();
    let listed = |source: &str| format!("/api/sessions?source={source}");
    let all = owner.get(&listed("terminal")).await.ok(200);
    assert_eq!(all["sessions"].as_array().unwrap().len(), 2);
    let found = all["sessions"].as_array().unwrap();
    let session = found.iter().find(|session| session["id"] == SESSION);
    let session = session.expect("the session of the transcript");
    for (field, value) in [
        ("title", json!("Count the words of every file")),
        ("cwd", json!("/projects/tally")),
        ("runtime", json!("claude-code")),
        ("agentId", json!("00000000-0000-0000-0000-000000000000")),
        ("readOnly", json!(true)),
        ("origin", json!("terminal")),
    ] {
        assert_eq!(session[field], value, "{field}");
    }
    let ours = owner.get(&listed("guildhall")).await.ok(200);
    assert_eq!(ours["sessions"], json!([]));
    let agent = t.agent("ada").await;
    let none = agent.get(&listed("all")).await.ok(200);
    assert_eq!(none["sessions"], json!([]));
}
