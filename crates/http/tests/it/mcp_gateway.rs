//! The gateway to an agent's tool servers: who may speak there, what is handed on, and when a
//! server is cut off. Source: contract 4.4, 4.6, 4.9, 4.12 (6).

use guildhall_testkit::{TestCaller, TestHall, TestResponse, soon, until};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    mcp_server_stub::{McpServerStub, result_of, tool},
    mcp_servers::{ask, at},
    sessions,
    test_values::text,
};

/// A hall with an agent that speaks for a session of its own.
pub(crate) async fn hall() -> (TestHall, TestCaller) {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let session = sessions::open(&t.owner(), &ada, json!({})).await;
    t.bind_tokens(&ada, &text(&session["id"]));
    (t, ada)
}

pub(crate) async fn send(by: &TestCaller, name: &str, method: &str, params: Value) -> TestResponse {
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    by.post(&format!("/mcp/servers/{name}"), message).await
}

pub(crate) async fn told(by: &TestCaller, name: &str, method: &str, params: Value) -> Value {
    let message = send(by, name, method, params).await.ok(200);
    assert_eq!(
        (&message["jsonrpc"], &message["id"]),
        (&json!("2.0"), &json!(7))
    );
    message
}

/// The result of a call.
pub(crate) async fn call(by: &TestCaller, name: &str, tool: &str) -> Value {
    let params = json!({"name": tool, "arguments": {"a": 1}});
    let mut message = told(by, name, "tools/call", params).await;
    assert_eq!(message["error"], Value::Null, "{message}");
    message["result"].take()
}

/// A call that came to nothing; why.
pub(crate) async fn refused(by: &TestCaller, name: &str, tool: &str) -> String {
    let result = call(by, name, tool).await;
    assert_eq!(result["isError"], true, "{result}");
    text(&result["content"][0]["text"])
}

pub(crate) async fn entry(t: &TestHall, agent: &TestCaller, name: &str) -> Value {
    let path = format!("{}/{name}", at(agent));
    t.owner().get(&path).await.ok(200)
}

pub(crate) async fn add(t: &TestHall, agent: &TestCaller, name: &str, connection: &Value) {
    t.owner()
        .post_approved(&at(agent), ask(name, connection))
        .await
        .ok(200);
}

#[tokio::test]
async fn only_an_agent_with_the_token_of_a_session_is_heard() {
    let (t, ada) = hall().await;
    let bob = t.agent("bob").await;
    let there = McpServerStub::start(&[tool("echo", "e")]).await;
    add(&t, &ada, "web", &there.connection()).await;
    // Bob's token is of no session, and a process is of no one in particular.
    for nobody in [
        t.nobody(),
        t.owner(),
        bob.clone(),
        t.process_of(&ada),
        t.unverifiable(),
    ] {
        let answer = send(&nobody, "web", "tools/list", json!({})).await;
        assert_eq!(
            answer.header("www-authenticate"),
            "Bearer realm=\"guildhall\""
        );
        answer.refused(401, "AGENT_TOKEN_REQUIRED");
    }
    told(&ada, "web", "tools/list", json!({})).await;
    send(&ada, "none", "initialize", json!({}))
        .await
        .refused(404, "SERVER_NOT_FOUND");
    let gone = refused(&ada, "none", "echo").await;
    assert_eq!(gone, "There is no such tool server any more.");
    for body in [
        json!([]),
        json!({"id": 1}),
        json!({"jsonrpc": "2.0", "method": 1}),
    ] {
        let answer = ada.post("/mcp/servers/web", body).await;
        answer.refused(400, "BAD_REQUEST");
    }
    let odd = ada.clone().with("mcp-protocol-version", "1999-01-01");
    let answer = send(&odd, "web", "tools/list", json!({})).await;
    answer.refused(400, "BAD_REQUEST");
    for method in ["GET", "DELETE"] {
        let answer = ada.ask(method, "/mcp/servers/web").send().await;
        assert_eq!(answer.header("allow"), "POST", "{method}");
    }
}

#[tokio::test]
async fn what_a_server_says_is_handed_on_as_it_was_written() {
    let (t, ada) = hall().await;
    let tools = [tool("echo", "e"), tool("fail", "f")];
    let there = McpServerStub::start(&tools).await;
    add(&t, &ada, "web", &there.connection()).await;
    let greeting = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    let greeted = told(&ada, "web", "initialize", greeting).await;
    let expected = json!({"protocolVersion": "2025-06-18",
        "capabilities": {"tools": {"listChanged": true}, "prompts": {}},
        "serverInfo": {"name": "counterpart", "version": "3"}, "instructions": "Use it."});
    assert_eq!(greeted["result"], expected);
    let told_of = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(ada.post("/mcp/servers/web", told_of).await.status, 202);
    let listed = told(&ada, "web", "tools/list", json!({})).await;
    assert_eq!(listed["result"], json!({"tools": tools}));
    assert_eq!(call(&ada, "web", "echo").await, result_of(&json!({"a": 1})));
    let failed = told(&ada, "web", "tools/call", json!({"name": "fail"})).await;
    let error = json!({"code": -32_050, "message": "no", "data": 1});
    assert_eq!(failed["error"], error);
    let prompts = told(&ada, "web", "prompts/list", json!({})).await;
    assert_eq!(prompts["result"]["prompts"][0]["name"], "p");
    assert_eq!(
        told(&ada, "web", "ping", json!({})).await["result"],
        json!({})
    );
    let calls = there.calls();
    let unknown = told(&ada, "web", "tools/call", json!({"name": "none"})).await;
    assert_eq!(unknown["error"]["code"], -32_602);
    assert_eq!(there.calls(), calls);
    for method in ["logging/setLevel", "sampling/createMessage", "nonsense"] {
        let unknown = told(&ada, "web", method, json!({})).await;
        assert_eq!(unknown["error"]["code"], -32_601, "{method}");
    }
    // Whoever wants to hear of progress is answered by a stream.
    let params = json!({"name": "echo", "_meta": {"progressToken": "t"}});
    let answer = send(&ada, "web", "tools/call", params).await;
    assert_eq!(answer.header("content-type"), "text/event-stream");
}

#[tokio::test]
async fn a_reworded_or_new_tool_cuts_the_server_before_any_byte_reaches_it() {
    let (t, ada) = hall().await;
    let owner = t.owner();
    let there = McpServerStub::start(&[tool("echo", "e"), tool("old", "o")]).await;
    add(&t, &ada, "web", &there.connection()).await;
    call(&ada, "web", "echo").await;
    let before = entry(&t, &ada, "web").await;
    assert_eq!(
        (&before["status"], &before["toolCount"]),
        (&json!("ready"), &json!(2))
    );
    let changed = [
        [tool("echo", "another"), tool("old", "o")],
        [tool("echo", "another"), tool("more", "m")],
    ];
    for (n, tools) in changed.iter().enumerate() {
        let calls = there.calls();
        there.has_now(tools);
        let mut events = t.events();
        let why = refused(&ada, "web", "echo").await;
        assert_eq!(
            why,
            "The server is not what was approved; a person has to look at it first."
        );
        assert_eq!(there.calls(), calls, "{n}: no byte reached the tool");
        assert_eq!(
            events.names(),
            ["approval_requested", "mcp_server_status_changed"]
        );
        let held = entry(&t, &ada, "web").await;
        assert_eq!(held["status"], "needsApproval");
        let path = format!("/api/approvals/{}", text(&held["approvalId"]));
        let question = owner.get(&path).await.ok(200);
        assert_eq!(
            (&question["kind"], &question["state"]),
            (&json!("repin"), &json!("pending"))
        );
        let (old, new) = (&question["card"]["before"], &question["card"]["after"]);
        if n == 0 {
            assert_eq!(old["tool echo"]["description"], "e");
            assert_eq!(new["tool echo"]["description"], "another");
        } else {
            assert_eq!(
                (&old["tool more"], &new["tool old"]),
                (&Value::Null, &Value::Null)
            );
            assert_eq!(new["tool more"]["description"], "m");
        }
        // Nothing more is asked while somebody has to look at it.
        refused(&ada, "web", "echo").await;
        assert_eq!(
            entry(&t, &ada, "web").await["approvalId"],
            held["approvalId"]
        );
        let yes = json!({"digest": question["digest"]});
        let granted = owner.post(&format!("{path}/grant"), yes).await.ok(200);
        assert_eq!(granted["approval"]["state"], "consumed");
        let now = entry(&t, &ada, "web").await;
        assert_eq!(
            (&now["status"], &now["approvalId"]),
            (&json!("ready"), &Value::Null)
        );
        assert_eq!(now["pin"]["toolsSha256"], new["toolsSha256"]);
        assert_eq!(call(&ada, "web", "echo").await["isError"], false);
    }
    // One that is only gone asks nobody.
    there.has_now(&[tool("echo", "another")]);
    assert_eq!(call(&ada, "web", "echo").await["isError"], false);
    assert_eq!(entry(&t, &ada, "web").await["toolCount"], 1);
    // A no switches the server off.
    there.has_now(&[tool("echo", "worse")]);
    refused(&ada, "web", "echo").await;
    let held = entry(&t, &ada, "web").await;
    let path = format!("/api/approvals/{}/deny", text(&held["approvalId"]));
    owner.post(&path, json!({})).await.ok(200);
    let off = entry(&t, &ada, "web").await;
    assert_eq!(
        (&off["status"], &off["enabled"]),
        (&json!("disabled"), &json!(false))
    );
    assert_eq!(
        refused(&ada, "web", "echo").await,
        "The server is switched off."
    );
    let enable = ada
        .ask("POST", &format!("{}/web/enable", at(&ada)))
        .header("prefer", "wait=0");
    enable.json(&json!({})).send().await.ok(202);
}

#[tokio::test]
async fn a_question_that_nobody_can_answer_any_more_is_asked_again() {
    let (t, ada) = hall().await;
    let there = McpServerStub::start(&[tool("echo", "e")]).await;
    add(&t, &ada, "web", &there.connection()).await;
    call(&ada, "web", "echo").await;
    there.has_now(&[tool("echo", "another")]);
    refused(&ada, "web", "echo").await;
    let first = entry(&t, &ada, "web").await["approvalId"].clone();
    t.advance(2 * 3_600 + 1);
    refused(&ada, "web", "echo").await;
    let second = entry(&t, &ada, "web").await["approvalId"].clone();
    assert_ne!(first, second);
    let path = format!("/api/approvals/{}", text(&second));
    let question = t.owner().get(&path).await.ok(200);
    assert_eq!(question["state"], "pending");
    let yes = json!({"digest": question["digest"]});
    t.owner().post(&format!("{path}/grant"), yes).await.ok(200);
    assert_eq!(call(&ada, "web", "echo").await["isError"], false);
}

#[tokio::test]
async fn a_server_that_is_switched_off_or_removed_ends_what_it_works_on() {
    let (t, ada) = hall().await;
    let there = McpServerStub::start(&[tool("hold", "h")]).await;
    for (n, (verb, sentence)) in [
        ("disable", "The server is switched off."),
        ("remove", "There is no such tool server any more."),
        ("change", "The tool server was changed; try again."),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("web{n}");
        add(&t, &ada, &name, &there.connection()).await;
        let (before, path) = (there.calls(), format!("{}/{name}", at(&ada)));
        let owner = t.owner();
        let act = async {
            soon("the call", async {
                while there.calls() == before {
                    tokio::task::yield_now().await;
                }
            })
            .await;
            match verb {
                "disable" => drop(
                    owner
                        .post(&format!("{path}/disable"), json!({}))
                        .await
                        .ok(200),
                ),
                "remove" => drop(owner.delete(&path).await.ok(200)),
                _ => {
                    let url = format!("{}?other", there.url);
                    let body = json!({"connection": {"transport": "http", "url": url}});
                    owner.patch_approved(&path, body).await.ok(200);
                }
            }
        };
        let (why, ()) = tokio::join!(soon("an answer", refused(&ada, &name, "hold")), act);
        assert_eq!(why, sentence);
    }
}

#[tokio::test]
async fn a_server_that_wants_a_sign_in_is_left_alone_until_somebody_did() {
    let (t, ada) = hall().await;
    let there = McpServerStub::start(&[tool("echo", "e")]).await;
    add(&t, &ada, "web", &there.connection()).await;
    call(&ada, "web", "echo").await;
    *there.is.is_shut.lock().unwrap() = true;
    let why = refused(&ada, "web", "echo").await;
    assert_eq!(why, "Somebody has to sign in to this tool server first.");
    let now = entry(&t, &ada, "web").await;
    assert_eq!(
        (
            &now["status"],
            &now["authStatus"],
            &now["connection"]["authKind"]
        ),
        (
            &json!("needsSignIn"),
            &json!("needs-auth"),
            &json!("oauth2")
        )
    );
    *there.is.is_shut.lock().unwrap() = false;
    let calls = there.calls();
    refused(&ada, "web", "echo").await;
    assert_eq!(there.calls(), calls);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_three_times_counts_as_failing() {
    let (t, ada) = hall().await;
    let nowhere = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr();
    let url = format!("http://{}/mcp", nowhere.unwrap());
    let connection = json!({"transport": "http", "url": url, "headers": {"X-K": "v"}});
    add(&t, &ada, "web", &connection).await;
    for expected in ["unknown", "unknown", "failing", "failing"] {
        let failed = told(&ada, "web", "initialize", json!({})).await;
        assert_eq!(failed["error"]["code"], -32_000, "{failed}");
        assert_eq!(entry(&t, &ada, "web").await["status"], expected);
    }
    let failed = told(&ada, "web", "initialize", json!({})).await;
    assert_eq!(failed["error"]["data"]["code"], "FAILING");
}

#[tokio::test]
async fn another_program_is_not_started_and_one_that_is_gone_is_missed() {
    let (t, ada) = hall().await;
    add(&t, &ada, "tool", &crate::mcp_servers::program(&t)).await;
    let program = t.programs().join("tool");
    t.install("tool", "#!/bin/sh\n# another\n");
    let why = refused(&ada, "tool", "x").await;
    let sentence = "The program is not the one that was approved; it was not started.";
    assert_eq!(why, sentence);
    assert!(t.hall().process_trees().is_empty());
    let held = entry(&t, &ada, "tool").await;
    assert_eq!(held["status"], "needsApproval");
    let path = format!("/api/approvals/{}", text(&held["approvalId"]));
    let question = t.owner().get(&path).await.ok(200);
    let (old, new) = (&question["card"]["before"], &question["card"]["after"]);
    assert_eq!(old["executableSha256"], held["pin"]["executableSha256"]);
    assert_ne!(old["executableSha256"], new["executableSha256"]);
    let yes = json!({"digest": question["digest"]});
    t.owner().post(&format!("{path}/grant"), yes).await.ok(200);
    let now = entry(&t, &ada, "tool").await;
    assert_eq!(now["pin"]["executableSha256"], new["executableSha256"]);
    assert_eq!(now["status"], "unknown");
    std::fs::remove_file(program).unwrap();
    assert_eq!(
        refused(&ada, "tool", "x").await,
        "The program cannot be found."
    );
    assert_eq!(entry(&t, &ada, "tool").await["status"], "commandMissing");
}

#[tokio::test]
async fn the_line_to_a_server_ends_with_its_last_session() {
    let (t, ada) = hall().await;
    let there = McpServerStub::start(&[tool("echo", "e")]).await;
    add(&t, &ada, "web", &there.connection()).await;
    call(&ada, "web", "echo").await;
    assert!(t.hall().tool_servers_open() == 1);
    let sessions = t.owner().get("/api/sessions").await.ok(200);
    let id = text(&sessions["sessions"][0]["id"]);
    t.owner()
        .delete(&format!("/api/sessions/{id}"))
        .await
        .ok(200);
    until("the end of the line", || t.hall().tool_servers_open() == 0).await;
}
