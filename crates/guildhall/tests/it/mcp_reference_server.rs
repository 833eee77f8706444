//! The reference server through the gateway, over each of its transports: what it answers there
//! is what it answers directly. Source: contract 4.12 (9).

use std::{sync::Arc, time::Duration};

use guildhall_world::{
    enclosure::Enclosure,
    http_client::{HttpClient, ListenerPorts},
    mcp::{
        ClientCallbacks, ConnectOptions, ConnectedServer, ElicitationResult, RequestOptions,
        ServerAddress, ServerTarget, SharedBearerToken, connect, list_until_settled,
    },
    process_guard::{GuardCommand, SUBCOMMAND},
};
use serde_json::{Value, json};

use crate::{
    mcp_gateway::{bridge_token, node},
    server_process::ask_as,
    server_tests::{ReferenceServerProcess, program},
    workspace::ServerWithFolder,
};

/// How long any one thing may take before the test fails.
const WITHIN: Duration = Duration::from_secs(30);

/// What is asked, in this order.
fn questions() -> Vec<(&'static str, Value)> {
    let call = |name: &str, arguments: Value| {
        ("tools/call", json!({"name": name, "arguments": arguments}))
    };
    vec![
        ("tools/list", json!({})),
        call("echo", json!({"message": "hi"})),
        call("get-sum", json!({"a": 2, "b": 3})),
        call("get-sum", json!({"a": "x"})),
        call("get-structured-content", json!({"location": "New York"})),
        call("get-tiny-image", json!({})),
        call("get-roots-list", json!({})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "simple-prompt"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/get", json!({"name": "no-such-prompt"})),
    ]
}

/// What the server answers when it is asked directly.
async fn directly(t: &ServerWithFolder, target: ServerTarget) -> Vec<Value> {
    let hooks = ClientCallbacks {
        root: Some(t.folder.clone()),
        elicit: Some(Arc::new(|_| Box::pin(async { ElicitationResult::Cancel }))),
    };
    let greeting = ConnectOptions {
        lifecycle: None,
        within: WITHIN,
    };
    let ConnectedServer {
        client,
        notices,
        running,
    } = connect(&target, hooks, greeting).await.unwrap();
    let asking = async {
        let settled = list_until_settled(&client, &notices, |_| false, WITHIN).await;
        assert!(!settled.unwrap().tools.is_empty());
        let mut answers = Vec::new();
        for (method, params) in questions() {
            let answer = client
                .forward(method, Some(params), RequestOptions::default())
                .await;
            answers.push(answer.unwrap_or_else(|error| error.to_string().into()));
        }
        client.stop();
        answers
    };
    let (answers, _) = tokio::join!(asking, running);
    answers
}

#[cfg(target_os = "linux")]
#[test]
fn everything_answers_through_the_gateway_what_it_answers_directly() {
    let t = ServerWithFolder::open("gateway-everything");
    let session = t.unattended();
    let agent = t.look(&session)["agentId"].as_str().unwrap().to_owned();
    let (http, sse) = (
        ReferenceServerProcess::start("streamableHttp"),
        ReferenceServerProcess::start("sse"),
    );
    let program = program();
    let args = [program.to_str().unwrap(), "stdio"];
    let address = |url: String| ServerAddress {
        url,
        headers: Vec::new(),
        bearer: SharedBearerToken::default(),
        outgoing: HttpClient::open(ListenerPorts::default()).unwrap(),
    };
    let stdio = ServerTarget::Stdio {
        program: node(),
        name: None,
        args: args.map(str::to_owned).to_vec(),
        env: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
        cwd: t.folder.clone(),
        keeper: GuardCommand {
            program: env!("CARGO_BIN_EXE_guildhall").into(),
            args: vec![SUBCOMMAND.into()],
        },
        enclosure: Enclosure::disabled(),
        agent: None,
        trees: Default::default(),
    };
    let servers = [
        ("stdio", json!({"command": node(), "args": args}), stdio),
        (
            "http",
            json!({"url": http.url("/mcp")}),
            ServerTarget::Http(address(http.url("/mcp"))),
        ),
        (
            "sse",
            json!({"url": sse.url("/sse")}),
            ServerTarget::Sse(address(sse.url("/sse"))),
        ),
    ];
    for (name, connection, _) in &servers {
        let mut connection = connection.clone();
        connection["transport"] = (*name).into();
        let body = json!({"name": name, "connection": connection});
        let path = format!("/api/agents/{agent}/mcp-servers");
        let (status, added) = t.server.ask_approved("POST", &path, &body);
        assert_eq!(status, 200, "{added}");
        // What a test pins is what the gateway is offered.
        let (_, tested) = t.server.ask("POST", &format!("{path}/{name}/test"), None);
        assert_eq!(tested["ok"], true, "{tested}");
    }
    // A question of the server is a question of the session.
    let call = json!({"server": "stdio", "tool": "trigger-elicitation-request"});
    t.send(&session, &[&format!("#call call_mcp {call}")]);
    let asked = t.ask(&session);
    assert_eq!(asked["kind"], "question", "{asked}");
    assert!(
        asked["title"].as_str().unwrap().starts_with("stdio asks: "),
        "{asked}"
    );
    let body = json!({"toolCallId": asked["toolCallId"], "digest": asked["digest"],
        "answers": {"name": "Ada"}});
    let (status, decided) = t.decide(&session, "submit-answers", &body);
    assert_eq!(status, 200, "{decided}");
    t.turn_ended(&session, 1);
    let told = t.messages(&session).last().unwrap().to_string();
    assert!(told.contains("Ada"), "{told}");

    let token = format!("Bearer {}", bridge_token(&t.server.agent_url(), "stdio"));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (name, _, target) in servers {
        let direct = runtime.block_on(directly(&t, target));
        for ((method, params), direct) in questions().into_iter().zip(direct) {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let path = format!("/mcp/servers/{name}");
            let shown = Some(&*token);
            let told = ask_as(shown, t.server.port(), "POST", &path, Some(&message));
            let (status, told) = told.expect("an answer");
            assert_eq!(status, 200, "{told}");
            if told["error"].is_null() {
                assert_eq!(told["result"], direct, "{name}: {method} {params}");
            } else {
                let error = format!(
                    "the server answered: {}",
                    told["error"]["message"].as_str().unwrap()
                );
                assert_eq!(direct, error, "{name}: {method} {params}");
            }
        }
        let path = format!("/api/agents/{agent}/mcp-servers/{name}");
        let (_, entry) = t.server.ask("GET", &path, None);
        assert_eq!(entry["status"], "ready", "{entry}");
    }
}
