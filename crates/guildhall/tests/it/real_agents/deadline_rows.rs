//! The row about time: a hall in this process, whose clock a test moves, with a real agent below.

use std::os::unix::fs::symlink;

use guildhall_domain::runtimes::RuntimeDefinition;
use guildhall_fake_llm::{FakeLlm, real_agents::RealAgent};
use guildhall_testkit::{SseClient, TestHall};
use serde_json::{Value, json};

use super::real_agent_server::{INJECTED, RealAgentServer};

/// How long an ask waits for a person, in seconds.
const LONGEST: i64 = 4 * 60 * 60;

/// Row 5: what nobody answers in time is refused, and the agent is told so.
pub(super) fn an_ask_that_nobody_answers_in_time_is_refused(stage: &mut RealAgentServer) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(let_it_expire(&stage.agent, &stage.llm));
}

async fn let_it_expire(agent: &RealAgent, llm: &FakeLlm) {
    let mut t = TestHall::open().await;
    let folder = t.folder("late");
    symlink(
        env!("CARGO_BIN_EXE_guildhall"),
        t.programs().join("guildhall"),
    )
    .unwrap();
    let definition = definition(&t, agent, &folder, llm);
    t.restart_with_runtimes(vec![definition]).await;
    let owner = t.owner();
    let mut stream = t.stream(&owner, "/api/events", None).await;
    let ask = json!({"cwd": folder, "runtime": agent.name});
    let session = owner.post("/api/sessions", ask).await.ok(201);
    let messages = format!("/api/sessions/{}/messages", session["id"].as_str().unwrap());
    let ask = json!({"content": agent.shell("touch late.txt")});
    owner.post(&messages, ask).await.ok(202);

    next(&mut stream, "interaction_opened").await;
    t.advance(LONGEST);
    let resolved = next(&mut stream, "interaction_resolved").await;
    assert_eq!(resolved["resolution"], "expired", "{resolved}");
    let end = next(&mut stream, "turn_ended").await;
    assert_ne!(end["outcome"], "failed", "{end}");
    let late = std::path::Path::new(&folder).join("late.txt");
    assert!(!late.exists(), "nothing ran");
    let page = owner.get(&messages).await.ok(200);
    let parts = page["messages"].as_array().unwrap().iter();
    let parts = parts.flat_map(|message| message["parts"].as_array().unwrap());
    let call = parts.clone().find(|part| part["type"] == "tool_call");
    let status = &call.expect("the call is told")["status"];
    assert!(status == "denied" || status == "failed", "{status}");
    t.close().await;
}

fn definition(t: &TestHall, agent: &RealAgent, folder: &str, llm: &FakeLlm) -> RuntimeDefinition {
    let home = t.home();
    let mut env = agent
        .set_up(&home, folder.as_ref(), &llm.address())
        .unwrap();
    env.retain(|(name, _)| name != INJECTED);
    // What the server hands on elsewhere; the one here runs without an environment.
    let home = home.to_str().unwrap().to_owned();
    env.extend([
        ("PATH".to_owned(), std::env::var("PATH").unwrap()),
        ("HOME".to_owned(), home.clone()),
        ("TMPDIR".to_owned(), home),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
    ]);
    RuntimeDefinition {
        kind: agent.name.clone(),
        command: agent.program.to_str().map(str::to_owned),
        args: Some(agent.arguments.clone()),
        env,
        default_mode: None,
    }
}

/// Reads on to an event.
async fn next(stream: &mut SseClient, name: &str) -> Value {
    loop {
        let frame = stream.next().await;
        if frame.event == name {
            return frame.inner().clone();
        }
    }
}
