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
