//! Rows about tool servers: what a session is handed is there to be called.

use serde_json::{Value, json};

use super::stage::{Next, Stage};

/// Row 19: the house's own tools, over the bridge that the agent starts.
pub(super) fn it_posts_with_the_houses_own_tools(stage: &mut Stage) {
    let (_, listed) = stage.t().server.ask("GET", "/api/rooms", None);
    let mut rooms = listed["rooms"].as_array().unwrap().iter();
    let team = rooms.find(|room| room["wellKnown"] == "team").unwrap()["id"].clone();
    let mut talk = stage.talk();
    let post = json!({"roomId": team, "text": format!("{} was here", stage.agent.name)});
    let tool = (stage.facts.tool)("guildhall", "room_post");
    talk.send(&[&format!("#call {tool} {post}")]);
    let end = loop {
        match talk.next() {
            Next::Card(card) => talk.approve(&card),
            Next::End(end) => break end,
        }
    };
    assert_eq!(end["outcome"], "end_turn", "{end}; {}", talk.words());
    assert_eq!(talk.calls()[0]["status"], "completed", "{:?}", talk.calls());
    let path = format!("/api/rooms/{}/entries", team.as_str().unwrap());
    let (_, page) = stage.t().server.ask("GET", &path, None);
    let entries = page["entries"].as_array().unwrap();
    let posted: Vec<&Value> = entries
        .iter()
        .filter(|entry| entry["text"] == post["text"])
        .collect();
    assert_eq!(posted.len(), 1, "{entries:?}");
    assert_eq!(posted[0]["turnId"], Value::Null, "no turn of the room");
}

/// Row 11: a server of its own, added while its session is open, is there on the next turn and
/// is called over the gateway.
pub(super) fn it_calls_a_tool_of_a_server_that_was_added(stage: &mut Stage) {
    let script = stage.t().folder.join("notes-server.js");
    std::fs::write(&script, crate::mcp_gateway::SERVER).unwrap();
    let heard = stage.t().scratch.path().join("notes-heard");
    let mut talk = stage.talk();
    talk.send(&["#say Ready."]);
    assert_eq!(talk.end()["outcome"], "end_turn", "{}", talk.words());
    let agent = talk.look()["agentId"].as_str().unwrap().to_owned();
    let connection = json!({"transport": "stdio", "command": crate::mcp_gateway::node(),
        "args": [script], "env": {"HEARD": heard}});
    let path = format!("/api/agents/{agent}/mcp-servers");
    let body = json!({"name": "notes", "connection": connection});
    let (status, added) = stage.t().server.ask("POST", &path, Some(&body));
    assert_eq!(status, 200, "{added}");
    let tool = (stage.facts.tool)("notes", "echo");
    let words = json!({"text": format!("by {}", stage.agent.name)});
    talk.send(&[&format!("#call {tool} {words}")]);
    let end = loop {
        match talk.next() {
            Next::Card(card) => talk.approve(&card),
            Next::End(end) => break end,
        }
    };
    assert_eq!(end["outcome"], "end_turn", "{end}; {}", talk.words());
    let last = talk.calls().pop().unwrap_or_default();
    assert_eq!(last["status"], "completed", "{last}");
    let heard = std::fs::read_to_string(heard).unwrap();
    assert!(heard.lines().any(|line| line == "tools/call"), "{heard}");
    let path = format!("{path}/notes");
    let (status, _) = stage.t().server.ask("DELETE", &path, None);
    assert!(status < 300);
}
