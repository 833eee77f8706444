//! Rows about tool servers: what a session is handed is there to be called.

use serde_json::{Value, json};

use super::real_agent_server::{PATIENCE, RealAgentServer, SessionReader, TurnStop};
use crate::{test_sites::TestSite, workspace::until};

/// Row 19: the house's own tools, over the bridge that the agent starts.
pub(super) fn it_posts_with_the_houses_own_tools(stage: &mut RealAgentServer) {
    let (_, listed) = stage.t().server.ask("GET", "/api/rooms", None);
    let mut rooms = listed["rooms"].as_array().unwrap().iter();
    let team = rooms.find(|room| room["wellKnown"] == "team").unwrap()["id"].clone();
    let mut talk = stage.open_session();
    let post = json!({"roomId": team, "text": format!("{} was here", stage.agent.name)});
    let tool = (stage.facts.tool)("guildhall", "room_post");
    talk.send(&[&format!("#call {tool} {post}")]);
    let end = loop {
        match talk.next() {
            TurnStop::Card(card) => talk.approve(&card),
            TurnStop::End(end) => break end,
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
/// is called over the gateway; what it asks is a question of the session that called, also where
/// another one was opened after it.
pub(super) fn it_calls_a_tool_of_a_server_that_was_added(stage: &mut RealAgentServer) {
    let script = stage.t().folder.join("notes-server.js");
    std::fs::write(&script, crate::mcp_gateway::SERVER).unwrap();
    let heard = stage.t().scratch.path().join("notes-heard");
    let mut talk = stage.open_session();
    talk.send(&["#say Ready."]);
    assert_eq!(talk.end()["outcome"], "end_turn", "{}", talk.words());
    let agent = talk.look()["agentId"].as_str().unwrap().to_owned();
    let connection = json!({"transport": "stdio", "command": crate::mcp_gateway::node(),
        "args": [script], "env": {"HEARD": heard}});
    let path = format!("/api/agents/{agent}/mcp-servers");
    let body = json!({"name": "notes", "connection": connection});
    let (status, added) = stage.t().server.ask_approved("POST", &path, &body);
    assert_eq!(status, 200, "{added}");
    let tool = (stage.facts.tool)("notes", "echo");
    let words = json!({"text": format!("by {}", stage.agent.name)});
    assert_eq!(asked_in(&mut talk, &format!("#call {tool} {words}")), 0);
    let told = std::fs::read_to_string(heard).unwrap();
    assert!(told.lines().any(|line| line == "tools/call"), "{told}");

    let mut other = stage.open_session();
    assert_eq!(asked_in(&mut other, &format!("#call {tool} {words}")), 0);
    let asking = format!("#call {tool} {}", json!({"ask": true}));
    assert_eq!(asked_in(&mut talk, &asking), 1);
    assert_eq!(asked_in(&mut other, &asking), 1);
    let path = format!("{path}/notes");
    let (status, _) = stage.t().server.ask("DELETE", &path, None);
    assert!(status < 300);
}

/// Row 20: in a tab that a person shares with its session it reads a page, fills its form and sends
/// it.
pub(super) fn it_fills_a_form_in_a_shared_tab(stage: &mut RealAgentServer) {
    let site = TestSite::page(
        "<title>form</title><form method=post action=/told><input name=name aria-label=Name>\
         <button>Send</button></form>",
    );
    let mut talk = stage.open_session();
    talk.send(&["#say Ready."]);
    assert_eq!(talk.end()["outcome"], "end_turn", "{}", talk.words());
    let open = json!({"mode": "embedded", "sessionId": talk.id, "url": site.url("/")});
    let browser = |method: &str, path: &str, body: Option<&Value>| {
        let path = format!("/api/local-browser{path}");
        let (status, state) = stage.t().server.ask(method, &path, body);
        assert_eq!(status, 200, "{state}");
        state
    };
    browser("POST", "/open", Some(&open));
    until("the page is shared", PATIENCE, || {
        let state = browser("GET", "", None);
        assert_ne!(state["status"], "failed", "{state}");
        state["tabs"][0]["title"] == "form" && state["tabs"][0]["shared"] == true
    });
    let tool = |name: &str| (stage.facts.tool)("guildhall", name);
    let typing = json!({"ref": "e1", "text": stage.agent.name});
    let lines = [
        format!("#call {} {{}}", tool("browser_snapshot")),
        format!("#call {} {typing}", tool("browser_type")),
        format!("#call {} {}", tool("browser_click"), json!({"ref": "e2"})),
    ];
    for line in &lines {
        assert_eq!(asked_in(&mut talk, line), 0);
    }
    let sent = format!("name={}", stage.agent.name);
    until("the form is sent", PATIENCE, || {
        let asked = site.asked();
        let mut told = asked.iter().filter(|asked| asked.path == "/told");
        told.any(|asked| asked.body == sent)
    });
    browser("POST", "/close", Some(&json!({})));
}

/// How many questions come in a turn with one call, which goes well.
fn asked_in(talk: &mut SessionReader<'_>, line: &str) -> usize {
    talk.send(&[line]);
    let mut questions = 0;
    let end = loop {
        match talk.next() {
            TurnStop::Card(card) if card["kind"] == "question" => {
                questions += 1;
                talk.decide("submit-answers", &card, &json!({"decline": true}));
            }
            TurnStop::Card(card) => talk.approve(&card),
            TurnStop::End(end) => break end,
        }
    };
    assert_eq!(end["outcome"], "end_turn", "{end}; {}", talk.words());
    let last = talk.calls().pop().unwrap_or_default();
    assert_eq!(last["status"], "completed", "{last}");
    questions
}
