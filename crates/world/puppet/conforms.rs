//! The client that a conformance suite drives: it does with a server at an address what the
//! scenario named in the environment asks for, and fails when that cannot be done.

use std::{process::ExitCode, time::Duration};

use guildhall_world::{
    mcp::{Address, Asking, Bearer, Connected, Greeting, Hooks, Target, connect},
    outgoing::Outgoing,
};
use serde_json::{Value, json};

/// How long any one step may take.
const STEP: Duration = Duration::from_secs(20);

pub(crate) fn run(url: &str) -> ExitCode {
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap();
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(act(url, &scenario));
    ExitCode::SUCCESS
}

async fn act(url: &str, scenario: &str) {
    let target = Target::Http(Address {
        url: url.to_owned(),
        headers: Vec::new(),
        bearer: Bearer::default(),
        outgoing: Outgoing::open().unwrap(),
    });
    let greeting = Greeting {
        lifecycle: None,
        within: STEP,
    };
    let Connected {
        client,
        mut running,
        ..
    } = connect(&target, Hooks::default(), greeting).await.unwrap();
    let call = match scenario {
        "tools_call" => Some(("add_numbers", json!({"a": 5, "b": 3}))),
        "sse-retry" => Some(("test_reconnection", json!({}))),
        _ => None,
    };
    let deeds = async {
        client.tools(STEP).await.unwrap();
        if let Some((name, Value::Object(arguments))) = call {
            let answer = client.call(name, arguments, Asking::default()).await;
            crate::write(&answer.unwrap());
        }
    };
    tokio::select! {
        () = deeds => {}
        ended = &mut running => panic!("the connection ended: {ended:?}"),
    }
    client.stop();
    running.await;
}
