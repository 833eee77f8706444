//! The connection itself, with the agent's ends of the pipes in the test's hands.

use std::{
    future::ready,
    sync::{Mutex, PoisonError},
};

use agent_client_protocol::{Agent, Dispatch, HandleDispatchFrom, Handled};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};

use super::*;

const PATIENCE: Duration = Duration::from_secs(30);
const PIPE_BYTES: usize = 64 * 1_024;

/// An agent's side of a connection that was greeted.
struct AgentEndOfPipes {
    shared: Arc<SharedConnection>,
    heard: BufReader<DuplexStream>,
    voice: DuplexStream,
    said: mpsc::Receiver<AgentMessage>,
}

impl AgentEndOfPipes {
    async fn write(&mut self, line: &str) {
        self.voice.write_all(line.as_bytes()).await.unwrap();
        self.voice.write_all(b"\n").await.unwrap();
    }

    async fn read(&mut self) -> Value {
        let mut line = String::new();
        self.heard.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Asks for something nobody offers, whose answer comes behind every other.
    async fn fence(&mut self) {
        let ask = json!({"jsonrpc": "2.0", "id": "fence", "method": "x/none", "params": {}});
        self.write(&ask.to_string()).await;
        let answer = self.read().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!("fence"), &json!(-32601)),
            "{answer}"
        );
    }
}

/// Drives a connection while `script` is the agent.
async fn with_agent(script: impl AsyncFnOnce(AgentEndOfPipes)) {
    let shared = Arc::new(SharedConnection::new(0));
    let (voice, stdout) = duplex(PIPE_BYTES);
    let (stdin, heard) = duplex(PIPE_BYTES);
    let (tell, said) = mpsc::channel(SAID_MAX);
    let talk = talk(&shared, Arc::default(), stdin, stdout, tell);
    let link = AgentConnection {
        shared: Arc::clone(&shared),
    };
    let script = async {
        let mut side = AgentEndOfPipes {
            shared: Arc::clone(&shared),
            heard: BufReader::new(heard),
            voice,
            said,
        };
        let greet = async {
            let id = side.read().await["id"].clone();
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": 1}});
            side.write(&answer.to_string()).await;
        };
        let (greeted, ()) = tokio::join!(link.initialize(), greet);
        greeted.unwrap();
        script(side).await;
    };
    let both = async {
        tokio::select! {
            () = talk => panic!("the connection ended"),
            () = script => {}
        }
    };
    timeout(PATIENCE, both).await.unwrap();
}

#[tokio::test]
async fn what_is_nearly_the_protocol_is_not_answered() {
    with_agent(async |mut side| {
        for params in ["1", "\"\"", "[1e999]"] {
            let line = format!(r#"{{"jsonrpc":"2.0","method":"x","params":{params}}}"#);
            side.write(&line).await;
            side.fence().await;
        }
    })
    .await;
}

/// Remembers the notifications that nobody claimed.
#[derive(Clone, Default)]
struct UnhandledNotifications(Arc<Mutex<Vec<String>>>);

impl HandleDispatchFrom<Agent> for UnhandledNotifications {
    fn handle_dispatch_from(
        &mut self,
        message: Dispatch,
        _: acp::ConnectionTo<Agent>,
    ) -> impl Future<Output = Result<Handled<Dispatch>, acp::Error>> + Send {
        if matches!(message, Dispatch::Notification(_)) {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.push(message.method().to_owned());
        }
        let retry = false;
        ready(Ok(Handled::No { message, retry }))
    }

    fn describe_chain(&self) -> impl fmt::Debug {
        "unclaimed"
    }
}

#[tokio::test]
async fn a_notification_nobody_knows_is_not_kept() {
    with_agent(async |mut side| {
        let line = json!({"jsonrpc": "2.0", "method": "x/new", "params": {"sessionId": "s"}});
        side.write(&line.to_string()).await;
        side.fence().await;
        // What was put by is offered to each handler that comes later.
        let unclaimed = UnhandledNotifications::default();
        let connection = side.shared.connection.borrow().clone().unwrap();
        let guard = connection.add_dynamic_handler(unclaimed.clone()).unwrap();
        for _ in 0..3 {
            side.fence().await;
        }
        drop(guard);
        let kept = unclaimed.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(*kept, Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn an_answer_to_what_cannot_be_read_does_not_repeat_it() {
    with_agent(async |mut side| {
        let filler = "z".repeat(4 * PIPE_BYTES);
        for method in ["session/request_permission", "elicitation/create"] {
            let ask = json!({"jsonrpc": "2.0", "id": 1, "method": method,
                "params": {"sessionId": "s", "toolCall": filler, "mode": filler}});
            let ask = ask.to_string();
            side.write(&ask).await;
            let answer = side.read().await;
            assert_eq!(answer["error"]["code"], -32602, "{method}");
            assert!(answer.to_string().len() < 1_024, "{method}");
        }
        assert!(side.said.try_recv().is_err());
        side.fence().await;
    })
    .await;
}

#[tokio::test]
async fn an_ask_about_a_call_that_cannot_be_named_is_cancelled() {
    with_agent(async |mut side| {
        for id in [String::new(), "é".repeat(257)] {
            let permission = json!({"jsonrpc": "2.0", "id": 1,
                "method": "session/request_permission",
                "params": {"sessionId": "s", "toolCall": {"toolCallId": id},
                    "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]}});
            let form = json!({"jsonrpc": "2.0", "id": 2, "method": "elicitation/create",
                "params": {"sessionId": "s", "toolCallId": id, "mode": "form", "message": "?",
                    "requestedSchema": {"type": "object", "properties": {}}}});
            for (ask, result) in [
                (permission, json!({"outcome": {"outcome": "cancelled"}})),
                (form, json!({"action": "cancel"})),
            ] {
                side.write(&ask.to_string()).await;
                let answer = side.read().await;
                assert_eq!(answer["result"], result, "{answer}");
                assert!(side.said.try_recv().is_err());
            }
        }
    })
    .await;
}
