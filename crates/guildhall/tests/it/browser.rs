//! The local browser with Chromium itself, without a window: open, drive, close, crash and stop.

use std::time::{Duration, Instant};

use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::{
    browser_observation::kill,
    browser_server::{BROWSER, ServerWithChromium},
    test_sites::TestSite,
};

#[test]
fn a_browser_is_opened_driven_and_closed() {
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let site = TestSite::page("<title>hello</title><input autofocus>");
    let url = site.url("/");
    let state = house.connected(json!({"mode": "embedded", "url": url}));
    let connection = state["connectionId"].as_str().unwrap().to_owned();
    assert!(!connection.is_empty());
    assert_eq!(state["preparation"]["percent"], 100);
    let state = house.until(|state| state["tabs"][0]["title"] == "hello");
    assert_eq!(
        state["tabs"].as_array().unwrap().len(),
        1,
        "the blank tab is used up"
    );
    assert_eq!(state["tabs"][0]["url"], url);
    // The same again is the same browser.
    assert_eq!(
        house.connected(json!({"mode": "embedded"}))["connectionId"],
        connection
    );
    let two = house.post("/tabs", json!({}));
    assert_eq!(two["tabs"].as_array().unwrap().len(), 2);
    assert_eq!(two["selectedTabId"], two["tabs"][1]["id"]);
    let first = two["tabs"][0]["id"].as_str().unwrap().to_owned();
    let selected = house.post(&format!("/tabs/{first}/select"), json!({}));
    assert_eq!(selected["selectedTabId"], first.as_str());
    let steps = json!([{"type": "text", "text": "abc"}]);
    let stale = json!({"connectionId": "0192f0c1-2d3e-7abc-8def-0123456789ab", "steps": steps});
    let input = format!("{BROWSER}/tabs/{first}/input");
    assert_eq!(
        house.server.ask("POST", &input, Some(&stale)).1["code"],
        "STALE"
    );
    let typed = json!({"connectionId": connection, "steps": steps});
    let typed = house.post(&format!("/tabs/{first}/input"), typed);
    assert_eq!(typed["control"]["holder"], "person");
    let (status, gone) = house
        .server
        .ask("DELETE", &format!("{BROWSER}/tabs/{first}"), None);
    assert_eq!((status, gone["tabs"].as_array().unwrap().len()), (200, 1));
    let last = gone["tabs"][0]["id"].as_str().unwrap().to_owned();
    let (_, blank) = house
        .server
        .ask("DELETE", &format!("{BROWSER}/tabs/{last}"), None);
    let tabs = blank["tabs"].as_array().unwrap();
    assert_eq!(tabs.len(), 1, "an embedded browser is never without a tab");
    assert_ne!(tabs[0]["id"], last.as_str());
    house.post("/close", json!({}));
    let closed = house.until(|state| state["status"] == "disconnected");
    assert_eq!(
        (&closed["tabs"], &closed["lastError"]),
        (&json!([]), &Value::Null)
    );
    house.wait_until_gone();
}

#[test]
fn a_page_of_the_browser_is_not_the_owner() {
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let url = format!("{}/api/local-browser", house.server.url);
    house.connected(json!({"mode": "embedded", "url": url}));
    let state = house.until(|state| state["tabs"][0]["loading"] == false);
    let tab = state["tabs"][0]["id"].as_str().unwrap();
    let select = json!([{"type": "keyDown", "key": "a", "code": "KeyA", "modifiers": 2}]);
    let input = json!({"connectionId": state["connectionId"], "steps": select});
    house.post(&format!("/tabs/{tab}/input"), input);
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let path = format!("{BROWSER}/tabs/{tab}/selection");
        let (_, selected) = house.server.ask("GET", &path, None);
        if selected["text"]
            .as_str()
            .is_some_and(|text| text.contains("LOCAL_BROWSER_REFUSED"))
        {
            break;
        }
        assert!(Instant::now() < end, "{selected}");
    }
}

#[test]
fn a_killed_browser_shows_and_opens_again() {
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let state = house.connected(json!({"mode": "embedded"}));
    // The keeper is ours, and of one that is killed nobody knows what it leaves behind.
    let is_keeper = |pid: &u32| {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        program.ends_with("guildhall")
    };
    for pid in house.processes().into_iter().filter(|pid| !is_keeper(pid)) {
        kill(pid);
    }
    let failed = house.until(|state| state["status"] == "failed");
    assert_eq!(failed["lastError"]["code"], "BROWSER_CRASHED");
    assert_eq!(
        (&failed["connectionId"], &failed["tabs"]),
        (&json!(""), &json!([]))
    );
    let again = house.connected(json!({"mode": "embedded"}));
    assert_ne!(again["connectionId"], state["connectionId"]);
    assert!(again["revision"].as_u64() > failed["revision"].as_u64());
}

#[test]
fn no_browser_outlives_its_server() {
    let Some(mut house) = ServerWithChromium::open() else {
        return;
    };
    let state = house.connected(json!({"mode": "embedded"}));
    let stopped = std::mem::replace(
        &mut house.server,
        ServerWithChromium::start(&Scratch::new("other")),
    );
    assert_eq!(stopped.stop(), Some(0));
    house.wait_until_gone();
    house.server = ServerWithChromium::start(&house.scratch);
    let after = house.state();
    assert_eq!(
        (&after["status"], &after["mode"]),
        (&json!("disconnected"), &json!("embedded"))
    );
    assert!(after["revision"].as_u64() > state["revision"].as_u64());
    let open = house.connected(json!({"mode": "embedded"}));
    let killed = std::mem::replace(
        &mut house.server,
        ServerWithChromium::start(&Scratch::new("other")),
    );
    killed.kill();
    house.wait_until_gone();
    house.server = ServerWithChromium::start(&house.scratch);
    let after = house.state();
    assert_eq!(after["status"], "disconnected");
    assert!(after["revision"].as_u64() > open["revision"].as_u64());
}
