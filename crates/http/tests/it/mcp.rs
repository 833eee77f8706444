//! The tools of the MCP endpoint: which there are, and that each answers as its twin among the
//! routes does. Source: contract 4.9, 4.12 (11).

use guildhall_testkit::{TestCaller, TestHall, TestResponse};
use serde_json::{Value, json};

use crate::{
    canvas,
    test_values::{list, text},
    turns::{due, post, room_of, turn},
};

/// Sends one message.
pub(crate) async fn send(by: &TestCaller, method: &str, params: Value) -> TestResponse {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    by.post("/mcp", message).await
}

/// The result of one message.
pub(crate) async fn ask(by: &TestCaller, method: &str, params: Value) -> Value {
    let answer = send(by, method, params).await;
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("mcp-session-id"), "", "no sessions");
    let mut message = answer.ok(200);
    assert_eq!(message["error"], Value::Null, "{message}");
    message["result"].take()
}

/// What a tool answers: whether it refuses, and the body.
pub(crate) async fn call(by: &TestCaller, tool: &str, arguments: Value) -> (bool, Value) {
    let params = json!({"name": tool, "arguments": arguments});
    let mut result = ask(by, "tools/call", params).await;
    let body = result["structuredContent"].take();
    let content = list(&result["content"]);
    assert_eq!(content.len(), 1, "{content:?}");
    let told: Value = serde_json::from_str(&text(&content[0]["text"])).unwrap();
    assert_eq!(told, body, "the text is the same");
    (result["isError"] == true, body)
}

/// What a tool answers that does what it is asked.
pub(crate) async fn done(by: &TestCaller, tool: &str, arguments: Value) -> Value {
    let (is_refused, body) = call(by, tool, arguments).await;
    assert!(!is_refused, "{tool}: {body}");
    body
}

pub(crate) async fn tools(by: &TestCaller) -> Vec<Value> {
    list(&ask(by, "tools/list", json!({})).await["tools"]).clone()
}

#[tokio::test]
async fn the_tools_are_those_of_the_contract_and_none_changes_who_anybody_is() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let hints = |tool: &Value| {
        let hint = |name: &str| tool["annotations"][name].as_bool().expect(name);
        (hint("readOnlyHint"), hint("destructiveHint"))
    };
    let (observe, act, destructive) = ((true, false), (false, false), (false, true));
    let found: Vec<_> = tools(&ada).await;
    let expected = [
        ("rooms_list", observe, "kind,includeArchived", ""),
        ("room_get", observe, "roomId", "roomId"),
        ("room_read", observe, "roomId,before,limit", "roomId"),
        ("room_search", observe, "q,limit", "q"),
        (
            "room_post",
            act,
            "roomId,text,threadRootEntryId",
            "roomId,text",
        ),
        (
            "room_react",
            act,
            "roomId,entryId,emoji,on",
            "roomId,entryId,emoji",
        ),
        ("canvas_list", observe, "roomId", "roomId"),
        (
            "canvas_get",
            observe,
            "roomId,documentId",
            "roomId,documentId",
        ),
        (
            "canvas_open",
            act,
            "roomId,content,pinned",
            "roomId,content",
        ),
        (
            "canvas_update",
            act,
            "roomId,documentId,content,pinned,activate",
            "roomId,documentId",
        ),
        (
            "canvas_editing",
            act,
            "roomId,documentId,editing",
            "roomId,documentId,editing",
        ),
        (
            "canvas_close",
            act,
            "roomId,documentId",
            "roomId,documentId",
        ),
        ("mcp_list_servers", observe, "", ""),
        (
            "mcp_add_server",
            destructive,
            "name,connection,approvalToken",
            "name,connection",
        ),
        (
            "mcp_update_server",
            destructive,
            "name,connection,enabled,approvalToken",
            "name",
        ),
        (
            "mcp_remove_server",
            destructive,
            "name,approvalToken",
            "name",
        ),
        ("mcp_test_server", act, "name", "name"),
        ("mcp_signin", act, "name", "name"),
        ("mcp_poll_signin", act, "flowId", "flowId"),
        (
            "approval_status",
            observe,
            "approvalId,waitSeconds",
            "approvalId",
        ),
        ("approval_withdraw", act, "approvalId", "approvalId"),
        ("capabilities_list", observe, "", ""),
        ("commands_list", observe, "cwd", ""),
        ("connector_list_connections", observe, "", ""),
        (
            "connector_list_operations",
            observe,
            "connectionId",
            "connectionId",
        ),
        (
            "connector_execute_read",
            observe,
            "connectionId,operationRevisionId,arguments",
            "connectionId,operationRevisionId,arguments",
        ),
        (
            "connector_execute_write",
            act,
            "connectionId,operationRevisionId,arguments",
            "connectionId,operationRevisionId,arguments",
        ),
        (
            "connector_execute_destructive",
            destructive,
            "connectionId,operationRevisionId,arguments,approvalToken",
            "connectionId,operationRevisionId,arguments",
        ),
        (
            "connector_request_access",
            act,
            "toolkit,access,purpose",
            "toolkit,access,purpose",
        ),
    ];
    let names: Vec<String> = found.iter().map(|tool| text(&tool["name"])).collect();
    assert_eq!(names, expected.map(|(name, ..)| name));
    for (tool, (name, tier, arguments, required)) in found.iter().zip(expected) {
        assert_eq!(hints(tool), tier, "{name}");
        let words = |words: &str| -> Vec<String> {
            let words = words.split(',').filter(|word| !word.is_empty());
            let mut words: Vec<_> = words.map(str::to_owned).collect();
            words.sort();
            words
        };
        let input = &tool["inputSchema"];
        let mut named: Vec<_> = input["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        named.sort();
        assert_eq!(named, words(arguments), "{name}");
        let mut needed: Vec<_> = list(&input["required"]).iter().map(text).collect();
        needed.sort();
        assert_eq!(needed, words(required), "{name}");
        assert_eq!(input["type"], "object");
        assert_eq!(tool["outputSchema"].is_null(), name == "canvas_close");
        assert!(text(&tool["description"]).len() > 20, "{name}");
    }
    for forbidden in [
        "handle",
        "grant",
        "deny",
        "token",
        "login",
        "PATCH /api/rooms/authors",
    ] {
        let named = |tool: &&Value| text(&tool["name"]).contains(forbidden);
        assert_eq!(found.iter().find(named), None, "{forbidden}");
    }
}

#[tokio::test]
async fn a_tool_answers_what_its_twin_answers() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let room = t.channel(&t.owner(), "Ops", &[&ada]).await;
    let entry = text(&t.say(&t.owner(), &room, "the build is green").await["id"]);
    t.say(&t.owner(), &room, "and the cache is warm").await;
    let document = text(&canvas::open(&t.owner(), &room, 1).await["id"]);
    let (at, one) = (format!("/api/rooms/{room}"), json!({"roomId": room}));
    let reactions = format!("{at}/entries/{entry}/reactions/%F0%9F%91%8D");
    let documents = format!("{at}/canvas/{document}");
    let cwd = t.folder("ada");
    let page = json!({"type": "url", "url": "http://one.example"});
    let with = |more: Value| {
        let mut arguments = one.clone();
        let more = more.as_object().unwrap().clone();
        arguments.as_object_mut().unwrap().extend(more);
        arguments
    };
    // Each changes nothing when it is asked a second time, so that both ways answer alike.
    for (tool, arguments, method, path, body) in [
        (
            "rooms_list",
            json!({}),
            "GET",
            "/api/rooms".to_owned(),
            None,
        ),
        (
            "rooms_list",
            json!({"kind": "dm", "includeArchived": true}),
            "GET",
            "/api/rooms?kind=dm&includeArchived=true".to_owned(),
            None,
        ),
        ("room_get", one.clone(), "GET", at.clone(), None),
        (
            "room_read",
            one.clone(),
            "GET",
            format!("{at}/entries"),
            None,
        ),
        (
            "room_read",
            with(json!({"before": 3, "limit": 1})),
            "GET",
            format!("{at}/entries?before=3&limit=1"),
            None,
        ),
        (
            "room_search",
            json!({"q": "build green"}),
            "GET",
            "/api/search?q=build%20green".to_owned(),
            None,
        ),
        (
            "room_react",
            with(json!({"entryId": entry, "emoji": "👍"})),
            "PUT",
            reactions.clone(),
            None,
        ),
        (
            "room_react",
            with(json!({"entryId": entry, "emoji": "👍", "on": false})),
            "DELETE",
            reactions,
            None,
        ),
        (
            "canvas_list",
            one.clone(),
            "GET",
            format!("{at}/canvas"),
            None,
        ),
        (
            "canvas_get",
            with(json!({"documentId": document})),
            "GET",
            documents.clone(),
            None,
        ),
        (
            "canvas_editing",
            with(json!({"documentId": document, "editing": true})),
            "POST",
            format!("{documents}/editing"),
            Some(json!({"editing": true})),
        ),
        (
            "canvas_editing",
            with(json!({"documentId": document, "editing": false})),
            "POST",
            format!("{documents}/editing"),
            Some(json!({"editing": false})),
        ),
        (
            "capabilities_list",
            json!({}),
            "GET",
            "/api/capabilities".to_owned(),
            None,
        ),
        (
            "commands_list",
            json!({"cwd": cwd}),
            "GET",
            format!("/api/commands?cwd={cwd}"),
            None,
        ),
        (
            "approval_status",
            json!({"approvalId": "none", "waitSeconds": 50}),
            "GET",
            "/api/approvals/none".to_owned(),
            None,
        ),
        (
            "approval_withdraw",
            json!({"approvalId": "none"}),
            "POST",
            "/api/approvals/none/withdraw".to_owned(),
            None,
        ),
        // What the twin refuses, the tool refuses with the same words.
        (
            "room_get",
            json!({"roomId": "no such/room?"}),
            "GET",
            "/api/rooms/no%20such%2Froom%3F".to_owned(),
            None,
        ),
        (
            "room_read",
            with(json!({"limit": 1000, "before": "x"})),
            "GET",
            format!("{at}/entries?before=x&limit=1000"),
            None,
        ),
        (
            "room_search",
            json!({}),
            "GET",
            "/api/search".to_owned(),
            None,
        ),
        (
            "room_post",
            one.clone(),
            "POST",
            format!("{at}/entries"),
            Some(json!({})),
        ),
        (
            "room_post",
            with(json!({"text": 7, "threadRootEntryId": "none"})),
            "POST",
            format!("{at}/entries"),
            Some(json!({"text": 7, "threadRootEntryId": "none"})),
        ),
        (
            "room_react",
            with(json!({"entryId": entry, "emoji": "word"})),
            "PUT",
            format!("{at}/entries/{entry}/reactions/word"),
            None,
        ),
        (
            "canvas_open",
            with(json!({"content": {"type": "file", "sourcePath": "/etc/passwd"}})),
            "POST",
            format!("{at}/canvas"),
            Some(json!({"content": {"type": "file", "sourcePath": "/etc/passwd"}})),
        ),
        (
            "canvas_update",
            with(json!({"documentId": "none", "content": page})),
            "PATCH",
            format!("{at}/canvas/none"),
            Some(json!({"content": page})),
        ),
        (
            "canvas_close",
            with(json!({"documentId": "none"})),
            "DELETE",
            format!("{at}/canvas/none"),
            None,
        ),
        (
            "commands_list",
            json!({"cwd": "/etc"}),
            "GET",
            "/api/commands?cwd=%2Fetc".to_owned(),
            None,
        ),
    ] {
        let (is_refused, found) = call(&ada, tool, arguments.clone()).await;
        let ask = ada.ask(method, &path);
        let ask = body.iter().fold(ask, |ask, body| ask.json(body));
        let twin = ask.send().await;
        assert_eq!(
            is_refused,
            twin.status >= 400,
            "{tool} {arguments}: {found}"
        );
        assert_eq!(found, twin.body, "{tool} {arguments}");
    }
}

#[tokio::test]
async fn what_a_tool_changes_is_changed() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let room = t.channel(&t.owner(), "Ops", &[&ada]).await;
    let at = format!("/api/rooms/{room}");
    let posted = done(&ada, "room_post", json!({"roomId": room, "text": "hello"})).await;
    let root = text(&posted["entry"]["id"]);
    let answer = json!({"roomId": room, "text": "in it", "threadRootEntryId": root});
    let reply = done(&ada, "room_post", answer).await;
    assert_eq!(reply["entry"]["threadRootEntryId"], *root);
    for entry in [&posted["entry"], &reply["entry"]] {
        let path = format!("{at}/entries/{}", text(&entry["id"]));
        let kept = t.owner().get(&path).await.ok(200);
        assert_eq!(
            (&kept["text"], &kept["authorId"]),
            (&entry["text"], &entry["authorId"])
        );
    }

    let content = json!({"type": "url", "url": "http://one.example"});
    let open = json!({"roomId": room, "content": content, "pinned": true});
    let opened = done(&ada, "canvas_open", open).await;
    let mut named = json!({"roomId": room, "documentId": opened["id"]});
    let path = format!("{at}/canvas/{}", text(&opened["id"]));
    assert_eq!(t.owner().get(&path).await.ok(200), opened);
    named["pinned"] = json!(false);
    let changed = done(&ada, "canvas_update", named.clone()).await;
    assert_eq!(changed["pinned"], false);
    assert_eq!(t.owner().get(&path).await.ok(200), changed);
    assert_eq!(done(&ada, "canvas_close", named).await, json!({}));
    t.owner()
        .get(&path)
        .await
        .refused(404, "CANVAS_DOCUMENT_NOT_FOUND");

    // No tool but reading moves a cursor, and reading does not either.
    done(&ada, "room_read", json!({"roomId": room})).await;
    let rows = t.rows();
    done(&ada, "room_read", json!({"roomId": room})).await;
    assert_eq!(t.rows(), rows);
}

#[tokio::test]
async fn a_message_that_comes_again_with_its_key_is_done_once() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let room = t.team().await;
    let again = ada.clone().with("idempotency-key", "k-1");
    let hello = json!({"roomId": room, "text": "hello"});
    let first = done(&again, "room_post", hello.clone()).await;
    assert_eq!(done(&again, "room_post", hello.clone()).await, first);
    let other = json!({"roomId": room, "text": "other"});
    let (is_refused, refusal) = call(&again, "room_post", other).await;
    assert!(is_refused);
    assert_eq!(refusal["code"], "IDEMPOTENCY_KEY_REUSED");
}

#[tokio::test]
async fn what_is_said_with_a_sessions_token_belongs_to_its_turn() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let room = room_of(&t, &[(&ada, "always")]).await;
    let free = done(&ada, "room_post", json!({"roomId": room, "text": "hi"})).await;
    assert_eq!(free["entry"]["turnId"], Value::Null);
    let turns = post(&t.owner(), &room, "go").await;
    due(&t).await;
    let ran = turn(&t, &turns[0]).await;
    t.bind_tokens(&ada, &text(&ran["sessionId"]));
    for _ in 0..3 {
        let posted = done(&ada, "room_post", json!({"roomId": room, "text": "on it"})).await;
        let entry = &posted["entry"];
        assert_eq!(
            [
                &entry["turnId"],
                &entry["sessionId"],
                &entry["cascadeRootId"]
            ],
            [&ran["id"], &ran["sessionId"], &ran["cascadeRootId"]]
        );
    }
    let more = json!({"roomId": room, "text": "more"});
    let (is_refused, refusal) = call(&ada, "room_post", more).await;
    assert!(is_refused);
    assert_eq!(refusal["code"], "TOO_MANY_POSTS_THIS_TURN");
    // The process is the agent, and nothing of it is the session.
    let beside = json!({"roomId": room, "text": "beside"});
    let posted = done(&t.process_of(&ada), "room_post", beside).await;
    assert_eq!(posted["entry"]["turnId"], Value::Null);
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_of_the_protocol_and_wrong_arguments_are_a_refusal() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    for unknown in ["set_handle", "approval_grant", "", "ROOMS_LIST"] {
        let message = send(&ada, "tools/call", json!({"name": unknown}))
            .await
            .ok(200);
        assert_eq!(message["error"]["code"], -32602, "{unknown}");
    }
    for (tool, arguments, field) in [
        ("room_get", json!({}), "roomId"),
        ("room_get", json!({"roomId": ["a"]}), "roomId"),
        (
            "room_react",
            json!({"roomId": "r", "entryId": "e", "emoji": "x", "on": 1}),
            "on",
        ),
        ("room_search", json!({"q": {}}), "q"),
        (
            "approval_status",
            json!({"approvalId": "a", "waitSeconds": 51}),
            "waitSeconds",
        ),
    ] {
        let (is_refused, refusal) = call(&ada, tool, arguments).await;
        assert!(is_refused);
        assert_eq!(refusal["code"], "VALIDATION_FAILED");
        assert!(
            refusal["details"]["fieldErrors"][field].is_array(),
            "{refusal}"
        );
    }
    let long = "x".repeat(9_000);
    let (_, refusal) = call(&ada, "room_get", json!({"roomId": long})).await;
    assert_eq!(refusal["code"], "URI_TOO_LONG");
}
