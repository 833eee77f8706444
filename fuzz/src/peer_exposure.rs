//! Makes the server meet its hostile peers: random requests alone seldom come as far as an agent's
//! turn, a tool server with its card granted, or a document that is fetched.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::{Result, callers::Callers, request_loops::RequestLoops};

/// How long a hostile turn goes on before it is cancelled.
const TURN: Duration = Duration::from_millis(400);

/// Meets them in turns until then; what is kept of each stays within bounds.
///
/// # Errors
/// That the server is there no longer.
pub(crate) async fn meet(driving: &RequestLoops<'_>, until: Instant) -> Result<()> {
    let mut round = 0_usize;
    while Instant::now() < until {
        let callers = driving.callers.borrow().clone();
        let agents = callers.agent_ids();
        let agent = &agents[round % agents.len()];
        let path = format!("/api/agents/{agent}/mcp-servers");
        match round % 5 {
            0 => {
                driving
                    .ask(&callers, "POST", "/api/runtimes/hostile/check", &json!({}))
                    .await?;
            }
            1 if driving.may_be_granted("peers") => turn(driving, &callers).await?,
            2 => toolkit(driving, &callers).await?,
            _ => {
                for name in ["http", "sse", "stdio"] {
                    driving
                        .ask(
                            &callers,
                            "POST",
                            &format!("{path}/{name}/enable"),
                            &json!({}),
                        )
                        .await?;
                    driving
                        .ask(&callers, "POST", &format!("{path}/{name}/test"), &json!({}))
                        .await?;
                }
            }
        }
        round += 1;
    }
    Ok(())
}

/// Puts something of every kind into a new house, and learns the ids of all that can be listed.
///
/// # Errors
/// That the server is there no longer.
pub(crate) async fn create_prerequisites(driving: &RequestLoops<'_>) -> Result<()> {
    let callers = driving.callers.borrow().clone();
    let agents = callers.agent_ids();
    let members = json!({"kind": "channel", "title": "Release", "agentIds": agents});
    let room = driving
        .ask(&callers, "POST", "/api/rooms", &members)
        .await?;
    let room = format!("/api/rooms/{}", room["id"].as_str().unwrap_or_default());
    let cwd = driving.house.work("ada");
    let session = json!({"cwd": cwd, "runtime": "rehearsal"});
    let session = driving
        .ask(&callers, "POST", "/api/sessions", &session)
        .await?;
    let session = format!(
        "/api/sessions/{}",
        session["id"].as_str().unwrap_or_default()
    );
    let call = "#call write_file {\"path\":\"new.md\",\"content\":\"x\"}";
    let page = json!({"content": {"type": "markdown", "content": "# Plan", "title": "Plan"}});
    for (path, body) in [
        (format!("{room}/entries"), json!({"text": "What is left?"})),
        (format!("{room}/canvas"), page.clone()),
        (format!("{session}/canvas"), page),
        (format!("{session}/messages"), json!({"content": call})),
        (
            format!("{session}/messages"),
            json!({"content": "#say later"}),
        ),
        (
            "/api/workbench/sign".to_owned(),
            json!({"kind": "file", "cwd": cwd, "path": "plan.md"}),
        ),
    ] {
        driving.ask(&callers, "POST", &path, &body).await?;
    }
    for agent in &agents {
        let path = format!("/api/agents/{agent}/mcp-servers");
        add_servers(driving, &callers, &path).await?;
    }
    toolkit(driving, &callers).await?;
    let lists = driving
        .interface
        .operations
        .iter()
        .filter(|operation| !operation.is_write());
    for list in lists {
        let path = list.path.replace("/api/rooms/{id}", &room);
        let path = path.replace("/api/sessions/{id}", &session);
        let agent = format!("/api/agents/{}", agents[0]);
        let path = path.replace("/api/agents/{id}", &agent);
        let path = path.replace("/api/agents/{agentId}", &agent);
        if !path.contains('{') {
            driving.ask(&callers, "GET", &path, &Value::Null).await?;
        }
    }
    Ok(())
}

/// A turn of the hostile agent, cancelled after a moment, and the session's end.
async fn turn(driving: &RequestLoops<'_>, callers: &Callers) -> Result<()> {
    let body = json!({"cwd": driving.house.work("bob"), "runtime": "hostile"});
    let session = driving.ask(callers, "POST", "/api/sessions", &body).await?;
    let Some(id) = session["id"].as_str() else {
        return Ok(());
    };
    let path = format!("/api/sessions/{id}");
    for words in ["hello", "again"] {
        driving.granted("peers");
        let message = json!({"content": words});
        driving
            .ask(callers, "POST", &format!("{path}/messages"), &message)
            .await?;
        // The agent talks meanwhile.
        let _ = timeout(TURN, std::future::pending::<()>()).await;
    }
    driving
        .ask(callers, "POST", &format!("{path}/cancel"), &json!({}))
        .await?;
    driving.ask(callers, "DELETE", &path, &json!({})).await?;
    Ok(())
}

/// A connector whose document the hostile server has.
async fn toolkit(driving: &RequestLoops<'_>, callers: &Callers) -> Result<()> {
    let providers = driving
        .ask(callers, "GET", "/api/connectors/providers", &Value::Null)
        .await?;
    let mut all = providers["providers"].as_array().into_iter().flatten();
    let known = all.find(|one| one["type"] == "openapi");
    let provider = match known {
        Some(known) => known.clone(),
        None => {
            let made = json!({"type": "openapi", "label": "Pets"});
            driving
                .ask(callers, "POST", "/api/connectors/providers", &made)
                .await?
        }
    };
    let Some(id) = provider["id"].as_str() else {
        return Ok(());
    };
    let body = json!({"displayName": "Pets", "auth": {"kind": "none"},
        "documentUrl": format!("http://{}/openapi.json", driving.peers)});
    let path = format!("/api/connectors/providers/{id}/toolkits/pets");
    driving.ask(callers, "PUT", &path, &body).await?;
    Ok(())
}

/// The hostile tool servers, each with its card granted.
async fn add_servers(driving: &RequestLoops<'_>, callers: &Callers, path: &str) -> Result<()> {
    let url = format!("http://{}/mcp", driving.peers);
    let connections = [
        ("http", json!({"transport": "http", "url": url})),
        ("sse", json!({"transport": "sse", "url": url})),
        (
            "stdio",
            json!({"transport": "stdio", "command": driving.program, "args": ["mcp-peer"]}),
        ),
    ];
    for (name, connection) in connections {
        driving.granted("peers");
        let body = json!({"name": name, "connection": connection});
        let required = driving.ask(callers, "POST", path, &body).await?;
        let Some(id) = required["approvalId"].as_str() else {
            continue;
        };
        let card = format!("/api/approvals/{id}");
        let shown = driving.ask(callers, "GET", &card, &Value::Null).await?;
        let yes = json!({"digest": shown["digest"]});
        driving
            .ask(callers, "POST", &format!("{card}/grant"), &yes)
            .await?;
        let token = required["approvalToken"].as_str().unwrap_or_default();
        driving.ask_approved(callers, path, &body, token).await?;
    }
    Ok(())
}
