//! Sessions: they go on after the agent's process is gone.

use serde_json::json;

use crate::with_session::{
    ALLOW, REJECT, TempFolder, asks, opened, set_mode, touch, with_agent, with_session,
};

#[tokio::test]
async fn a_loaded_session_replays_what_was_said_and_done() {
    let folder = TempFolder::new();
    let (session, _) = with_agent(&folder, async |client| {
        let session = opened(client, &folder.cwd(), "autopilot").await;
        client
            .prompt(&session, &format!("#say hello you\n{}", touch("a")))
            .await
            .unwrap();
        session
    })
    .await;
    with_agent(&folder, async |client| {
        let load = json!({"sessionId": session, "cwd": folder.cwd(), "mcpServers": []});
        let loaded = client.call("session/load", load).await.unwrap();
        assert_eq!(loaded["modes"]["currentModeId"], "default");
        assert_eq!(client.message_text(), "hello you");
        let user = client.updates("user_message_chunk");
        assert!(
            user[0]["content"]["text"]
                .as_str()
                .unwrap()
                .starts_with("#say hello you")
        );
        assert_eq!(client.updates("tool_call")[0]["title"], "Run touch a");
    })
    .await;
}

#[tokio::test]
async fn a_resumed_session_replays_nothing_and_counts_on() {
    let folder = TempFolder::new();
    let (session, _) = with_agent(&folder, async |client| {
        let session = opened(client, &folder.cwd(), "autopilot").await;
        client
            .prompt(&session, &format!("#usage 5 5 0.5\n{}", touch("a")))
            .await
            .unwrap();
        session
    })
    .await;
    with_agent(&folder, async |client| {
        let resume = json!({"sessionId": session, "cwd": folder.cwd(), "mcpServers": []});
        client.call("session/resume", resume).await.unwrap();
        assert!(client.seen.is_empty());
        set_mode(client, &session, "autopilot").await;
        client
            .prompt(&session, &format!("#usage 1 1 0.25\n{}", touch("b")))
            .await
            .unwrap();
        assert_eq!(client.updates("tool_call")[0]["toolCallId"], "call-2");
        assert_eq!(client.updates("usage_update")[0]["cost"]["amount"], 0.75);
    })
    .await;
}

#[tokio::test]
async fn a_call_that_was_open_when_the_process_died_is_repeated_when_approved() {
    let folder = TempFolder::new();
    let (session, _) = with_agent(&folder, async |client| {
        let session = opened(client, &folder.cwd(), "default").await;
        let prompt =
            json!({"sessionId": session, "prompt": [{"type": "text", "text": touch("late.txt")}]});
        client.send_request("session/prompt", prompt).await.unwrap();
        client.asked("session/request_permission").await.unwrap();
        session
    })
    .await;
    assert_eq!(folder.read("late.txt"), None);
    with_agent(&folder, async |client| {
        let resume = json!({"sessionId": session, "cwd": folder.cwd(), "mcpServers": []});
        client.call("session/resume", resume).await.unwrap();
        client.decide = ALLOW;
        let words =
            "The call \"Run touch late.txt\" you asked about was approved; you may repeat it.";
        client.prompt(&session, words).await.unwrap();
        assert_eq!(
            asks(client)[0]["params"]["toolCall"]["rawInput"],
            json!({"command": ["touch", "late.txt"]})
        );
    })
    .await;
    assert!(folder.read("late.txt").is_some());
}

#[tokio::test]
async fn an_unknown_session_and_a_name_that_is_no_id_are_not_found() {
    let folder = TempFolder::new();
    with_agent(&folder, async |client| {
        for id in ["rehearsal-0", "../escape", ""] {
            let load = json!({"sessionId": id, "cwd": folder.cwd(), "mcpServers": []});
            let id = client.send_request("session/load", load).await.unwrap();
            assert_eq!(client.ended(id).await.unwrap().unwrap_err()["code"], -32002);
        }
    })
    .await;
}

#[tokio::test]
async fn a_closed_session_takes_no_prompt() {
    with_session("default", async |client, session, _| {
        client.decide = REJECT;
        client
            .call("session/close", json!({"sessionId": session}))
            .await
            .unwrap();
        assert!(client.prompt(session, "#say no").await.is_err());
    })
    .await;
}
