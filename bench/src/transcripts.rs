//! Transcripts: the tasks out of a large one, read for the first time and read on.

use std::{
    fs::{self, File},
    io::{BufWriter, Read, Write},
    path::{Path, PathBuf},
    time::Instant,
};

use guildhall_domain::{ids::SessionId, session_tasks::TranscriptDialect};
use guildhall_world::{
    agent_folders::AgentFolders,
    transcripts::{self, TranscriptFollower},
};
use serde_json::{Value, json};

use crate::{
    Result,
    http_client::{HttpClient, get},
    measure::DurationSamples,
    result_table::{Measurement, ResultRow, Target},
    server::{ServerFolder, ServerProcess},
};

/// Bytes of the transcript.
const BYTES: u64 = 100_000_000;
/// Sessions whose first read is measured; each is the same file by another name.
const SESSIONS: u8 = 9;
/// Lines appended one by one.
const APPENDED: u32 = 200;
/// Lines between two that are about tasks.
const BETWEEN: u32 = 40;
/// Tasks that are made and then moved about.
const TASKS: u32 = 30;

/// A session's transcripts beneath the server's home.
pub(crate) struct TranscriptFiles {
    places: AgentFolders,
    folder: PathBuf,
}

impl TranscriptFiles {
    /// Writes one transcript that goes by several names.
    pub(crate) fn write(house: &ServerFolder) -> Result<Self> {
        let folder = house.home().join(".claude/projects/-bench");
        fs::create_dir_all(&folder)?;
        let transcripts = Self {
            places: AgentFolders::new(Some(house.home()), None, None),
            folder,
        };
        write(&transcripts.path(0))?;
        for other in 1..SESSIONS {
            fs::hard_link(transcripts.path(0), transcripts.path(other))?;
        }
        Ok(transcripts)
    }

    fn path(&self, n: u8) -> PathBuf {
        self.folder.join(format!("{}.jsonl", session(n)))
    }

    /// The rows of the first read and of reading on.
    pub(crate) async fn measure(&self, server: &ServerProcess) -> Result<Vec<ResultRow>> {
        let mut client = HttpClient::connect(server.address).await?;
        let (mut first, mut bare) = (DurationSamples::default(), DurationSamples::default());
        for n in 0..SESSIONS {
            let began = Instant::now();
            read_bare(&self.path(n))?;
            bare.push(began.elapsed());
            let began = Instant::now();
            require_tasks(client.expect(&ask(server, n), 200).await?)?;
            first.push(began.elapsed());
        }
        let mut again = DurationSamples::default();
        let mut file = File::options().append(true).open(self.path(0))?;
        for n in 0..APPENDED {
            let status = ["pending", "in_progress"][n as usize % 2];
            let line = call(
                u32::MAX - n,
                "TaskUpdate",
                &json!({"taskId": "1", "status": status}),
            );
            file.write_all(line.as_bytes())?;
            let began = Instant::now();
            let body = client.expect(&ask(server, 0), 200).await?;
            again.push(began.elapsed());
            let tasks: Value = serde_json::from_slice(body)?;
            if tasks["tasks"][0]["status"] != status {
                return Err("the tasks are not those of the line just written".into());
            }
        }
        self.require_reading_on(&mut file)?;
        let rate = |times: &DurationSamples| {
            Measurement::MbPerSecond(BYTES as f64 / 1e3 / times.percentile_ms(50.0))
        };
        Ok(vec![
            ResultRow {
                work: "tasks of a 100 MB transcript, first read".to_owned(),
                measured: rate(&first),
                limit: Some((rate(&bare), "bare reads")),
                targets: vec![Target::AtLeast(Measurement::MbPerSecond(400.0))],
            },
            ResultRow {
                work: "the same after one line more, p99".to_owned(),
                measured: Measurement::Millis(again.percentile_ms(99.0)),
                limit: None,
                targets: vec![Target::AtMost(Measurement::Millis(5.0))],
            },
        ])
    }

    /// Demands that reading on touches what was appended and nothing else.
    fn require_reading_on(&self, file: &mut File) -> Result<()> {
        let name = session(0).to_string();
        let found = transcripts::find(&self.places, &[TranscriptDialect::Claude], &[&name]);
        let mut follower = TranscriptFollower::new(found.ok_or("the transcript is not found")?);
        let whole = follower.read_new_lines()?.bytes;
        let line = call(0, "TaskUpdate", &json!({"taskId": "1", "owner": "bench"}));
        file.write_all(line.as_bytes())?;
        let more = follower.read_new_lines()?.bytes;
        if whole < BYTES || more != line.len() as u64 {
            return Err(format!("reading on took {more} bytes after {whole}").into());
        }
        Ok(())
    }
}

fn session(n: u8) -> SessionId {
    SessionId::from_bytes([n + 1; 16])
}

fn ask(server: &ServerProcess, n: u8) -> Vec<u8> {
    get(
        server.address,
        &format!("/api/sessions/{}/tasks", session(n)),
    )
}

fn require_tasks(body: &[u8]) -> Result<()> {
    let tasks: Value = serde_json::from_slice(body)?;
    match tasks["tasks"].as_array().map(Vec::len) {
        Some(count) if count == TASKS as usize => Ok(()),
        other => Err(format!("the transcript has {other:?} tasks").into()),
    }
}

/// Reads a file in pieces and does nothing with them.
fn read_bare(path: &Path) -> Result<()> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; 1 << 20];
    while file.read(&mut piece)? > 0 {}
    Ok(())
}

/// A long conversation: mostly files that were read, now and then a word on a task.
fn write(path: &Path) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let text =
        "    let words = line.split(\"\\t\").map(str::trim).collect::<Vec<_>>();\n".repeat(60);
    let (mut written, mut n) = (0, 0);
    while written < BYTES {
        let lines = match n / BETWEEN {
            due if !n.is_multiple_of(BETWEEN) => {
                call(
                    n,
                    "Read",
                    &json!({"file_path": format!("/projects/src/{due}.rs")}),
                ) + &answer(
                    n,
                    &text,
                    &json!({"type": "text", "file": {"content": text}}),
                )
            }
            task if task < TASKS => {
                let subject = format!("Task number {task}");
                let words = format!("Task #{} created successfully: {subject}", task + 1);
                let told = json!({"task": {"id": (task + 1).to_string(), "subject": subject}});
                call(
                    n,
                    "TaskCreate",
                    &json!({"subject": subject, "description": "As said"}),
                ) + &answer(n, &words, &told)
            }
            due => {
                let task = (due % TASKS + 1).to_string();
                let status = ["in_progress", "completed"][due as usize % 2];
                call(n, "TaskUpdate", &json!({"taskId": task, "status": status}))
                    + &answer(n, "Updated", &json!({"success": true, "taskId": task}))
            }
        };
        file.write_all(lines.as_bytes())?;
        written += lines.len() as u64;
        n += 1;
    }
    Ok(file.flush()?)
}

fn call(n: u32, tool: &str, input: &Value) -> String {
    let block =
        json!({"type": "tool_use", "id": format!("toolu_{n}"), "name": tool, "input": input});
    line(n, "assistant", &json!([block]), &Value::Null)
}

fn answer(n: u32, words: &str, told: &Value) -> String {
    let block =
        json!({"type": "tool_result", "tool_use_id": format!("toolu_{n}"), "content": words});
    line(n, "user", &json!([block]), told)
}

fn line(n: u32, role: &str, content: &Value, told: &Value) -> String {
    let line = json!({
        "parentUuid": format!("parent-{n}"), "isSidechain": false, "cwd": "/projects",
        "sessionId": session(0), "type": role, "message": {"role": role, "content": content},
        "toolUseResult": told, "uuid": format!("line-{n}"), "timestamp": "2026-02-03T09:00:00.000Z",
    });
    format!("{line}\n")
}
