//! Speaking with MCP servers over their standard streams, well behaved or not.
//! Source: contract 4.4, 4.6, 4.10.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use guildhall_domain::{ids::AgentId, limits::MCP_RESULT_BYTES_MAX};
use guildhall_world::{
    mcp::{
        ClientCallbacks, ElicitationResult, InitializeMode, McpError, ProgressUpdate,
        RequestOptions, RequestTimeouts, ServerTarget, check,
    },
    process_tree::{ProcessTrees, SocketHolder},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{
    fake_agents::{PATIENCE, lives, puppet, soon},
    mcp_connections::{DrivenMcpConnection, at_most, hooks, map, stdio, stdio_in},
};

fn tools(word: &str) -> ServerTarget {
    stdio(puppet(), &["tools", word])
}

async fn talk(word: &str) -> DrivenMcpConnection {
    DrivenMcpConnection::with(&tools(word), ClientCallbacks::default())
        .await
        .unwrap()
}

#[tokio::test]
async fn how_a_server_begins_is_found_out_and_can_be_remembered() {
    let cases = [
        ("greeted", InitializeMode::Handshake, "2025-06-18"),
        ("mumbling", InitializeMode::Handshake, "2025-06-18"),
        ("touchy", InitializeMode::Handshake, "2025-06-18"),
        ("direct", InitializeMode::Direct, "2026-07-28"),
    ];
    for (word, lifecycle, revision) in cases {
        for known in [None, Some(lifecycle)] {
            let talk =
                DrivenMcpConnection::connected(&tools(word), ClientCallbacks::default(), known)
                    .await;
            let talk = talk.unwrap();
            let said = talk.client.server();
            assert_eq!(
                (said.lifecycle, said.revision.as_str(), said.name.as_str()),
                (lifecycle, revision, "puppet"),
                "{word} {known:?}"
            );
            assert_eq!(talk.text("echo", json!({"a": 1})).await, r#"{"a":1}"#);
        }
    }
    assert_eq!(
        talk("greeted").await.client.server().instructions,
        "Pull the strings."
    );
}

#[tokio::test]
async fn a_server_that_is_silent_to_the_question_is_greeted_long_before_ten_seconds() {
    let begun = Instant::now();
    let talk = talk("deaf").await;
    assert_eq!(talk.client.server().lifecycle, InitializeMode::Handshake);
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(talk.text("echo", json!({})).await, "{}");
}

#[tokio::test]
async fn a_server_that_answers_the_question_too_late_is_still_found_out() {
    let begun = std::env::temp_dir().join(format!("guildhall-slow-{}", std::process::id()));
    let target = stdio(puppet(), &["tools", "slow", begun.to_str().unwrap()]);
    let talk = DrivenMcpConnection::with(&target, ClientCallbacks::default()).await;
    std::fs::remove_file(begun).unwrap();
    assert_eq!(
        talk.unwrap().client.server().lifecycle,
        InitializeMode::Direct
    );
}

#[tokio::test]
async fn what_was_remembered_wrongly_is_found_out_anew() {
    let cases = [
        ("greeted", InitializeMode::Direct, InitializeMode::Handshake),
        ("direct", InitializeMode::Handshake, InitializeMode::Direct),
    ];
    for (word, known, found) in cases {
        let talk =
            DrivenMcpConnection::connected(&tools(word), ClientCallbacks::default(), Some(known))
                .await;
        assert_eq!(talk.unwrap().client.server().lifecycle, found, "{word}");
    }
}

#[tokio::test]
async fn tools_are_listed_over_all_pages() {
    for word in ["greeted", "direct"] {
        let listed = talk(word).await.client.tools(PATIENCE).await.unwrap();
        let names: Vec<_> = listed.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["odd", "echo", "ask"]);
        assert_eq!(
            listed[0].annotations,
            Some(json!({"readOnlyHint": true, "x": 1}))
        );
    }
}

#[tokio::test]
async fn an_answer_is_passed_on_as_it_was_written() {
    for word in ["greeted", "direct"] {
        let answer = talk(word).await.call("odd", json!({})).await.unwrap();
        let expected = json!({"zeta": 1.5, "alpha": {},
            "content": [{"type": "hologram", "beam": [null]}]});
        assert_eq!(answer, expected);
    }
}

#[tokio::test]
async fn an_error_is_passed_on_with_its_number_and_what_it_adds() {
    let refused = talk("greeted").await.call("refuse", json!({})).await;
    assert_eq!(
        refused,
        Err(McpError::Refused {
            code: -32000,
            message: "no [31m way".to_owned(),
            data: Some(json!({"why": 1})),
        })
    );
}

#[tokio::test]
async fn an_answer_beyond_the_bound_costs_itself_alone() {
    let talk = talk("greeted").await;
    for bytes in [MCP_RESULT_BYTES_MAX, MCP_RESULT_BYTES_MAX * 3] {
        let large = talk.call("large", json!({"bytes": bytes})).await;
        assert_eq!(large, Err(McpError::TooLarge), "{bytes}");
    }
    let bytes = MCP_RESULT_BYTES_MAX - 1_000;
    let answer = talk.text("large", json!({"bytes": bytes})).await;
    assert_eq!(answer.len(), bytes);
    assert_eq!(talk.text("echo", json!({})).await, "{}");
}

#[tokio::test]
async fn progress_renews_the_time_and_the_whole_time_is_bounded_all_the_same() {
    let talk = talk("greeted").await;
    let (tell, mut told) = mpsc::channel(8);
    let asking = RequestOptions {
        progress: Some(tell),
        ..RequestOptions::default()
    };
    let arguments = map(json!({"steps": 3, "ends": true}));
    let answer = soon(talk.client.call("progress", arguments, asking)).await;
    assert_eq!(answer.unwrap()["content"][0]["text"], "done");
    for step in 0..3 {
        let expected = ProgressUpdate {
            progress: step.into(),
            total: None,
            message: None,
        };
        assert_eq!(told.recv().await, Some(expected));
    }
    let asking = RequestOptions {
        waits: RequestTimeouts {
            idle: PATIENCE,
            total: Duration::from_millis(200),
        },
        ..RequestOptions::default()
    };
    let arguments = map(json!({"steps": 1}));
    let late = soon(talk.client.call("progress", arguments, asking)).await;
    assert_eq!(late, Err(McpError::Timeout));
}

#[tokio::test]
async fn a_question_that_nobody_waits_for_is_taken_back() {
    let talk = talk("greeted").await;
    let call = talk
        .client
        .call("silent", map(json!({})), RequestOptions::default());
    assert!(
        tokio::time::timeout(Duration::from_millis(50), call)
            .await
            .is_err()
    );
    let asking = RequestOptions {
        waits: RequestTimeouts::at_most(Duration::from_millis(50)),
        ..RequestOptions::default()
    };
    let late = talk.client.call("silent", map(json!({})), asking).await;
    assert_eq!(late, Err(McpError::Timeout));
    loop {
        let cancelled = talk.text("cancelled", json!({})).await;
        let cancelled: Vec<Value> = serde_json::from_str(&cancelled).unwrap();
        if cancelled.len() == 2 {
            return;
        }
    }
}

#[tokio::test]
async fn what_a_server_says_unasked_comes_in_its_order() {
    let talk = talk("greeted").await;
    assert_eq!(talk.text("notify", json!({})).await, "told");
    let first = soon(talk.notices.next()).await.unwrap();
    assert_eq!(
        (first.method.as_str(), &first.params),
        (
            "notifications/message",
            &json!({"level": "info", "data": 7})
        )
    );
    assert!(soon(talk.notices.next()).await.unwrap().is_tools_changed());
    talk.client.stop();
    assert_eq!(soon(talk.notices.next()).await, None);
}

#[tokio::test]
async fn a_server_without_a_greeting_is_listened_to_as_well() {
    let talk = talk("direct").await;
    loop {
        let notice = soon(talk.notices.next()).await.unwrap();
        if notice.is_tools_changed() {
            return;
        }
    }
}

#[tokio::test]
async fn questions_go_to_a_person_with_the_call_they_come_of() {
    for word in ["greeted", "direct"] {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let memory = Arc::clone(&asked);
        let hooks = hooks(move |elicitation| {
            memory.lock().unwrap().push(elicitation);
            ElicitationResult::Accept(json!({"name": "Ada"}))
        });
        let talk = DrivenMcpConnection::with(&tools(word), hooks)
            .await
            .unwrap();
        // A schema no revision knows is asked all the same.
        let params = json!({"message": "Who?", "requestedSchema": {"type": "map"}});
        let arguments = map(json!({"method": "elicitation/create", "params": params}));
        let asking = RequestOptions {
            tag: 42,
            ..RequestOptions::default()
        };
        let answer = soon(talk.client.call("ask", arguments, asking))
            .await
            .unwrap();
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains(r#"{"action":"accept","content":{"name":"Ada"}}"#),
            "{text}"
        );
        let asked = asked.lock().unwrap();
        assert_eq!((asked.len(), &asked[0].tags), (1, &vec![42]));
        assert_eq!(asked[0].params, params);
    }
}

#[tokio::test]
async fn a_folder_is_named_and_nothing_else_is_given() {
    let hooks = hooks(|_| ElicitationResult::Decline);
    let talk = DrivenMcpConnection::with(&tools("greeted"), hooks)
        .await
        .unwrap();
    let root = json!({"name": "the root", "uri": "file:///tmp/the%20root"});
    let cases = [
        ("roots/list", json!({"roots": [root]})),
        ("elicitation/create", json!({"action": "decline"})),
        ("ping", json!({})),
        ("sampling/createMessage", json!(-32601)),
        ("tasks/get", json!(-32601)),
        ("no/such", json!(-32601)),
    ];
    for (method, expected) in cases {
        let answer = talk
            .text("ask", json!({"method": method, "params": {}}))
            .await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer, expected, "{method}");
    }
}

#[tokio::test]
async fn a_server_that_asks_back_for_ever_is_left() {
    let talk = talk("direct").await;
    let refused = talk.call("again", json!({})).await;
    assert!(matches!(refused, Err(McpError::Protocol(_))), "{refused:?}");
}

#[tokio::test]
async fn a_server_that_ends_says_why_to_all_who_asked() {
    let talk = talk("greeted").await;
    let expected = McpError::Ended {
        code: Some(3),
        stderr: "the strings broke".to_owned(),
    };
    let waiting = talk.call("silent", json!({}));
    let ending = talk.call("exit", json!({}));
    let (waiting, ending) = tokio::join!(waiting, ending);
    assert_eq!(
        (waiting, ending),
        (Err(expected.clone()), Err(expected.clone()))
    );
    assert!(talk.client.is_over());
    assert_eq!(talk.call("echo", json!({})).await, Err(expected));
    let ended = talk.ended().await;
    assert_eq!((ended.code, ended.is_asked), (Some(3), false));
}

#[tokio::test]
async fn a_program_that_is_none_fails_with_what_it_is() {
    let cases = [
        (stdio("/no/such/program".into(), &[]), McpError::NotFound),
        (
            stdio(puppet(), &["exits"]),
            McpError::Ended {
                code: Some(3),
                stderr: "the puppet has no strings".to_owned(),
            },
        ),
        (
            tools("garbage"),
            McpError::Protocol("it writes what is no message".to_owned()),
        ),
    ];
    for (target, expected) in cases {
        let checked = check(&target, ClientCallbacks::default(), at_most(20)).await;
        assert_eq!(checked.tools, Err(expected));
        assert_eq!(checked.server, None);
    }
}

#[tokio::test]
async fn a_server_that_never_speaks_takes_no_longer_than_it_may() {
    let begun = Instant::now();
    let checked = check(
        &stdio(puppet(), &["silent"]),
        ClientCallbacks::default(),
        at_most(1),
    )
    .await;
    assert_eq!(checked.tools, Err(McpError::Timeout));
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn a_server_counts_as_its_agent_and_ends_with_all_it_started() {
    let trees = ProcessTrees::default();
    let agent = AgentId::from_bytes([7; 16]);
    let target = stdio_in(puppet(), &["tools", "greeted"], Some(agent), trees.clone());
    let talk = DrivenMcpConnection::with(&target, ClientCallbacks::default())
        .await
        .unwrap();
    let keeper = talk.client.guard_pid().unwrap();
    assert_eq!(talk.text("token", json!({})).await, "nobody's");
    let child: u32 = talk.text("child", json!({})).await.parse().unwrap();
    assert!(lives(child) && !trees.is_empty());
    let socket = talk.text("socket", json!({})).await;
    let inode = socket.trim_start_matches("socket:[").trim_end_matches(']');
    assert_eq!(
        trees.holder(inode.parse().unwrap()).await,
        SocketHolder::Agent(agent)
    );
    talk.client.stop();
    let ended = talk.ended().await;
    assert!(ended.is_asked && !lives(keeper) && !lives(child) && trees.is_empty());
}

#[tokio::test]
async fn a_server_that_reads_nothing_any_more_is_ended_all_the_same() {
    let talk = talk("greeted").await;
    let keeper = talk.client.guard_pid().unwrap();
    assert_eq!(talk.text("deafen", json!({})).await, "bye");
    // More than a pipe holds, so that it waits to be written.
    let arguments = map(json!({"text": "x".repeat(1 << 20)}));
    let asking = RequestOptions {
        waits: RequestTimeouts::at_most(Duration::from_millis(100)),
        ..RequestOptions::default()
    };
    let late = talk.client.call("echo", arguments, asking).await;
    assert_eq!(late, Err(McpError::Timeout));
    talk.client.stop();
    let ended = talk.ended().await;
    assert_eq!((ended.code, ended.is_asked), (Some(143), true));
    assert!(!lives(keeper));
}
