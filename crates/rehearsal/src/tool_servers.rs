//! Tool servers: those a session was given, each started at its first call and kept until the
//! session goes. Only programs: an address needs a client that nothing here has a use for.

use std::{collections::HashMap, path::PathBuf, process::Stdio, sync::Arc};

use agent_client_protocol::v1::schema::{McpServer, McpServerStdio};
use rmcp::{
    RoleClient, ServiceExt,
    model::{CallToolRequestParams, CallToolResult, ContentBlock},
    service::RunningService,
};
use serde_json::{Map, Value, json};
use tokio::{
    process::{Child, Command},
    sync::Mutex,
};

use crate::{modes::CallEffect, tools::ToolOutcome};

/// The most that is told of a result, in bytes.
const TEXT_BYTES_MAX: usize = 256 * 1024;

/// The tool servers of a session.
pub(crate) struct ToolServers {
    cwd: PathBuf,
    given: Vec<McpServerStdio>,
    /// The tokio mutex is held while one starts, so that none starts twice.
    running: Mutex<HashMap<String, Arc<RunningToolServer>>>,
}

/// A tool server that runs; dropped, its program is killed.
struct RunningToolServer {
    service: RunningService<RoleClient, ()>,
    _program: Child,
}

impl ToolServers {
    /// Those of `given` that are programs, which are started in `cwd`.
    pub(crate) fn of(cwd: PathBuf, given: Vec<McpServer>) -> Self {
        let programs = given.into_iter().filter_map(|server| match server {
            McpServer::Stdio(program) => Some(program),
            _ => None,
        });
        Self {
            cwd,
            given: programs.collect(),
            running: Mutex::default(),
        }
    }

    /// How far a tool reaches: what says of itself that it only reads, looks; everything else
    /// counts as a program.
    ///
    /// # Errors
    /// In words, when the server or its tool is not there.
    pub(crate) async fn find_tool(&self, server: &str, tool: &str) -> Result<CallEffect, String> {
        let running = self.running(server).await?;
        let tools = running.service.list_all_tools().await;
        let tools = tools.map_err(|error| format!("{server} does not list its tools: {error}"))?;
        let found = tools.iter().find(|found| found.name == tool);
        let found = found.ok_or_else(|| {
            let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
            format!("{server} has no tool {tool}, but {}", names.join(", "))
        })?;
        let hints = found.annotations.as_ref();
        match hints.and_then(|hints| hints.read_only_hint) {
            Some(true) => Ok(CallEffect::Looks),
            Some(false) | None => Ok(CallEffect::Runs),
        }
    }

    /// Calls a tool.
    pub(crate) async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> ToolOutcome {
        let running = match self.running(server).await {
            Ok(running) => running,
            Err(why) => return ToolOutcome::failed(why),
        };
        let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments.clone());
        match running.service.call_tool(call).await {
            Ok(result) => told(&result),
            Err(error) => {
                if running.service.is_transport_closed() {
                    self.running.lock().await.remove(server);
                }
                ToolOutcome::failed(format!("{server} did not answer: {error}"))
            }
        }
    }

    async fn running(&self, name: &str) -> Result<Arc<RunningToolServer>, String> {
        let mut running = self.running.lock().await;
        if let Some(running) = running.get(name) {
            return Ok(Arc::clone(running));
        }
        let server = self.given.iter().find(|server| server.name == name);
        let server = server.ok_or_else(|| {
            let names: Vec<&str> = self.given.iter().map(|one| one.name.as_str()).collect();
            format!("there is no tool server {name}, but {}", names.join(", "))
        })?;
        let started = Arc::new(self.start(server).await?);
        running.insert(name.to_owned(), Arc::clone(&started));
        Ok(started)
    }

    async fn start(&self, server: &McpServerStdio) -> Result<RunningToolServer, String> {
        let name = &server.name;
        let variables = server.env.iter().map(|one| (&one.name, &one.value));
        let program = Command::new(&server.command)
            .args(&server.args)
            .envs(variables)
            .current_dir(&self.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut program = program.map_err(|error| format!("cannot start {name}: {error}"))?;
        let (Some(from), Some(to)) = (program.stdout.take(), program.stdin.take()) else {
            return Err(format!("cannot speak with {name}"));
        };
        let greeted = ().serve((from, to)).await;
        Ok(RunningToolServer {
            service: greeted.map_err(|error| format!("{name} does not greet: {error}"))?,
            _program: program,
        })
    }
}

/// What a result comes to: its texts, and all of it as the raw output.
fn told(result: &CallToolResult) -> ToolOutcome {
    let texts = result.content.iter().map(|part| match part {
        ContentBlock::Text(text) => text.text.clone(),
        other => json!(other).to_string(),
    });
    let mut text = texts.collect::<Vec<_>>().join("\n");
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push_str("\n[the rest is left out]");
    }
    ToolOutcome {
        is_done: result.is_error != Some(true),
        raw: json!(result),
        text,
    }
}
