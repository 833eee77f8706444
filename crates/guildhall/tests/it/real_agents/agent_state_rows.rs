//! Rows about what is read of an agent: who it is, its tasks, its sessions, its commands.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    permission_rows::modes_of,
    real_agent_server::{PATIENCE, RealAgentServer},
};
use crate::workspace::until;

/// Row 1.
pub(super) fn it_is_the_pinned_version_and_every_mode_is_known(stage: &mut RealAgentServer) {
    let (t, kind) = (stage.t(), stage.agent.name.as_str());
    let check = format!("/api/runtimes/{kind}/check");
    let (status, checked) = t.server.ask("POST", &check, None);
    assert_eq!(
        (status, &checked["problem"]),
        (200, &json!("")),
        "{checked}"
    );
    assert_eq!(checked["version"], stage.agent.version.as_str());
    let (_, all) = t.server.ask("GET", "/api/capabilities", None);
    let entry = &all["capabilities"][kind];
    assert_eq!(entry["features"]["probed"], true);
    assert_eq!(
        entry["features"]["agentVersion"],
        stage.agent.version.as_str()
    );
    assert_eq!(entry["supportsResume"], true);
    assert_eq!(entry["supportsToolApproval"], true);
    assert_eq!(
        entry["permissionModes"]["default"],
        stage.agent.asking_mode()
    );
    for mode in modes_of(t, kind) {
        let promise = mode["promise"].as_str().unwrap();
        assert!(
            !promise.starts_with("Nobody here knows"),
            "a mode without a row: {mode}"
        );
    }
}

/// Row 12: for Claude Code against the list it keeps itself. Codex offers its tool for plans to
/// no model it does not know, so its own record of the session is written on in its shape.
pub(super) fn its_list_of_tasks_is_told(stage: &mut RealAgentServer) {
    let mut talk = stage.open_session();
    if stage.facts.tasks.is_empty() {
        talk.send(&["#say Hello."]);
        assert_eq!(talk.end()["outcome"], "end_turn");
        let native = talk.look()["runtimeSessionId"].as_str().unwrap().to_owned();
        write_plan(&stage.t().home, &native);
    } else {
        talk.send(stage.facts.tasks);
        let end = talk.end();
        assert_eq!(end["outcome"], "end_turn", "{end}");
    }
    let path = format!("/api/sessions/{}/tasks", talk.id);
    let told = || stage.t().server.ask("GET", &path, None).1["tasks"].take();
    let expected = json!([
        ["Read the notes", "completed"],
        ["Count the words", "pending"],
    ]);
    // The agent writes its transcript a little behind its own turn.
    until("the tasks are told as they are", PATIENCE, || {
        let told = told();
        let states = told.as_array().unwrap().iter();
        let states: Vec<_> = states
            .map(|task| [&task["subject"], &task["status"]])
            .collect();
        json!(states) == expected
    });
    let tasks = told();
    let tasks = tasks.as_array().unwrap();
    if stage.agent.name == "claude-code" {
        let native = talk.look()["runtimeSessionId"].as_str().unwrap().to_owned();
        let kept = stage.t().home.join("claude-code/tasks").join(native);
        assert_eq!(shape(tasks), shape(&json_files(&kept)));
    }
}

/// What two lists of tasks must agree on; Claude Code leaves out what is empty.
fn shape(tasks: &[Value]) -> Vec<Value> {
    let or = |value: &Value, empty: Value| {
        if value.is_null() {
            empty
        } else {
            value.clone()
        }
    };
    let member = |task: &Value| {
        json!({
            "id": task["id"], "subject": task["subject"], "status": task["status"],
            "description": or(&task["description"], json!("")),
            "activeForm": or(&task["activeForm"], json!("")),
            "blocks": or(&task["blocks"], json!([])),
            "blockedBy": or(&task["blockedBy"], json!([])),
        })
    };
    tasks.iter().map(member).collect()
}

fn json_files(folder: &Path) -> Vec<Value> {
    let mut files: Vec<_> = files_below(folder)
        .into_iter()
        .filter(|file| file.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    let read = |file: &PathBuf| serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    files.iter().map(read).collect()
}

fn write_plan(home: &Path, native: &str) {
    let sessions = files_below(&home.join("codex/sessions"));
    let named = |file: &&PathBuf| {
        file.to_str()
            .unwrap()
            .ends_with(&format!("-{native}.jsonl"))
    };
    let rollout = sessions
        .iter()
        .find(named)
        .expect("the record of the session");
    let plan = json!({"plan": [
        {"step": "Read the notes", "status": "completed"},
        {"step": "Count the words", "status": "pending"}]});
    let lines = [
        json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "response_item", "payload": {
            "type": "function_call", "name": "update_plan", "arguments": plan.to_string(),
            "call_id": "call_plan"}}),
        json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "response_item", "payload": {
            "type": "function_call_output", "call_id": "call_plan", "output": "Plan updated"}}),
    ];
    let mut text = fs::read_to_string(rollout).unwrap();
    for line in lines {
        text.push_str(&format!("{line}\n"));
    }
    fs::write(rollout, text).unwrap();
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Row 13.
pub(super) fn a_session_of_its_own_command_line_is_listed(stage: &mut RealAgentServer) {
    let folder = stage.folder("terminal");
    let (program, words) = stage.facts.terminal;
    let own = stage.agent.program.ancestors();
    let own = own
        .filter(|folder| folder.join("node_modules").is_dir())
        .last()
        .unwrap();
    let (home, llm) = (&stage.t().home, stage.llm.address());
    let variables = stage.agent.set_up(home, &folder, &llm).unwrap();
    let prompt = if stage.facts.tasks.is_empty() {
        "#say Hello.".to_owned()
    } else {
        stage.facts.tasks.join("\n")
    };
    let ended = Command::new(own.join(program))
        .args(words)
        .arg(prompt)
        .current_dir(&folder)
        .env_clear()
        .env("HOME", home)
        .env("TMPDIR", home)
        .env("PATH", std::env::var_os("PATH").unwrap())
        .envs(variables)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let path = "/api/sessions?source=terminal&limit=200";
    let (_, listed) = stage.t().server.ask("GET", path, None);
    let sessions = listed["sessions"].as_array().unwrap();
    let found = sessions
        .iter()
        .find(|it| it["cwd"] == folder.to_str().unwrap());
    let found = found.unwrap_or_else(|| panic!("not among {sessions:?}"));
    assert_eq!(found["runtime"], stage.agent.name.as_str());
    assert_eq!(
        (&found["origin"], &found["readOnly"]),
        (&json!("terminal"), &json!(true))
    );
    let path = format!("/api/sessions/{}/tasks", found["id"].as_str().unwrap());
    let (status, tasks) = stage.t().server.ask("GET", &path, None);
    let expected = if stage.facts.tasks.is_empty() { 0 } else { 2 };
    assert_eq!(status, 200);
    assert_eq!(
        tasks["tasks"].as_array().unwrap().len(),
        expected,
        "{tasks}"
    );
}

/// Row 14.
pub(super) fn its_commands_and_those_of_the_folder_are_merged(stage: &mut RealAgentServer) {
    let folder = stage.folder("commands");
    let commands = folder.join(".claude/commands");
    fs::create_dir_all(&commands).unwrap();
    fs::write(
        commands.join("greet.md"),
        "---\ndescription: Greets\n---\nSay hello.\n",
    )
    .unwrap();
    let mut talk = stage.open_session_in(&folder);
    talk.send(&["#say Hello."]);
    let changed = talk.until(|name, data| (name == "commands_changed").then(|| data.clone()));
    assert_eq!(changed["runtime"], stage.agent.name.as_str());
    let path = format!(
        "/api/commands?cwd={}&runtime={}",
        folder.display(),
        stage.agent.name
    );
    let (status, listed) = stage.t().server.ask("GET", &path, None);
    assert_eq!(status, 200, "{listed}");
    let commands = listed["commands"].as_array().unwrap();
    let greet: Vec<_> = commands
        .iter()
        .filter(|it| it["fullCommand"] == "/greet")
        .collect();
    assert_eq!(greet.len(), 1, "{commands:?}");
    assert_eq!(greet[0]["filePath"], ".claude/commands/greet.md");
    let reported = commands.iter().filter(|it| it["filePath"] == "").count();
    assert!(reported > 0, "{commands:?}");
    assert_eq!(talk.end()["outcome"], "end_turn");
}
