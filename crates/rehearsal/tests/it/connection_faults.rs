//! Mischief: an agent that crashes, floods, babbles and talks out of turn.

use guildhall_fake_llm::agent_client::AgentClient;
use guildhall_rehearsal::ConnectionEnd;
use serde_json::{Value, json};

use crate::with_session::{TempFolder, opened, with_agent, with_session};

#[tokio::test]
async fn a_crash_comes_after_what_was_said_before_it() {
    let folder = TempFolder::new();
    let (said, ending) = with_agent(&folder, async |client| {
        let session = opened(client, &folder.cwd(), "default").await;
        let prompt = AgentClient::prompt_of(&session, "#say last words\n#crash");
        client.send_request("session/prompt", prompt).await.unwrap();
        let mut said = String::new();
        while let Ok(message) = client.next().await {
            said += message["params"]["update"]["content"]["text"]
                .as_str()
                .unwrap_or_default();
        }
        said
    })
    .await;
    assert_eq!(said, "last words");
    assert_eq!(ending, ConnectionEnd::Crashed);
}

#[tokio::test]
async fn garbage_stands_between_whole_messages() {
    with_session("default", async |client, session, _| {
        client
            .prompt(session, "#say a\n#garbage 3\n#say b")
            .await
            .unwrap();
        let garbage = client.seen.iter().filter(|message| message.is_string());
        assert_eq!(garbage.count(), 3);
        assert_eq!(client.message_text(), "a\nb");
    })
    .await;
}

#[tokio::test]
async fn a_flood_is_as_large_as_it_says_and_waits_for_its_reader() {
    with_session("default", async |client, session, _| {
        let prompt = AgentClient::prompt_of(session, "#flood 2\n#say over");
        let id = client.send_request("session/prompt", prompt).await.unwrap();
        client.ended(id).await.unwrap().unwrap();
        assert!(client.message_text().len() > 1_900_000);
        assert!(client.message_text().ends_with("over"));
    })
    .await;
}

#[tokio::test]
async fn a_long_line_is_one_line_of_its_size() {
    with_session("default", async |client, session, _| {
        client.prompt(session, "#longline 2").await.unwrap();
        let longest = client
            .seen
            .iter()
            .filter_map(Value::as_str)
            .map(str::len)
            .max();
        assert_eq!(longest, Some(2 * 1024 * 1024));
    })
    .await;
}

#[tokio::test]
async fn a_late_agent_talks_on_before_and_after_the_end_of_a_cancelled_turn() {
    with_session("default", async |client, session, _| {
        let prompt = AgentClient::prompt_of(session, "#late\n#say on\n#slow 600000");
        let id = client.send_request("session/prompt", prompt).await.unwrap();
        client.next().await.unwrap();
        client
            .notify("session/cancel", json!({"sessionId": session}))
            .await
            .unwrap();
        let end = client.ended(id).await.unwrap().unwrap();
        assert_eq!(end["stopReason"], "cancelled");
        assert_eq!(client.message_text(), "late before the end ");
        let after = client.next().await.unwrap();
        assert_eq!(
            after["params"]["update"]["content"]["text"],
            "late after the end "
        );
    })
    .await;
}

#[tokio::test]
async fn a_silent_agent_outlives_its_client() {
    let folder = TempFolder::new();
    let (mine, its) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(its);
    let agent = guildhall_rehearsal::run(read, write, Some(folder.state()));
    let (read, write) = tokio::io::split(mine);
    let client = async {
        let mut client = AgentClient::over(read, write);
        client.initialize().await.unwrap();
        let session = opened(&mut client, &folder.cwd(), "default").await;
        let prompt = AgentClient::prompt_of(&session, "#say still here\n#hang");
        client.send_request("session/prompt", prompt).await.unwrap();
        client.next().await.unwrap();
        client.next().await.unwrap();
    };
    tokio::pin!(agent);
    tokio::select! {
        ending = &mut agent => panic!("it ended: {ending:?}"),
        () = client => {}
    }
    // The client is gone, and everything that the agent still does on its own is done.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
        assert!(futures_poll(&mut agent).await.is_none());
    }
}

/// The value of a future that is ready now.
async fn futures_poll<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    std::future::poll_fn(|context| {
        let polled = std::pin::Pin::new(&mut *future).poll(context);
        std::task::Poll::Ready(match polled {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        })
    })
    .await
}
