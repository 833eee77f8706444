//! Pages of the local browser, which agents drive, at the listener for agents and at another
//! guildhall. At the main listener: `browser_walls.rs`.

use guildhall_world::scratch::Scratch;
use serde_json::json;

use crate::{
    browser_observation::tab_of, browser_server::ServerWithChromium, server_process::ServerProcess,
};

/// What a page reads at an address.
fn read_at(house: &ServerWithChromium, url: &str) -> String {
    let tab = house.shown();
    house.visit(url);
    house.until_reads(&tab, |words| words.contains('{'))
}

#[test]
fn a_page_reads_nothing_at_the_listener_for_agents() {
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    house.connected(json!({"mode": "embedded"}));
    for path in ["/api/rooms", "/api/auth/whoami"] {
        let read = read_at(&house, &format!("{}{path}", house.server.agent_url()));
        assert!(read.contains("LOCAL_BROWSER_REFUSED"), "{path}: {read}");
    }
}

/// To the other guildhall the browser would be a program of the owner like any other.
#[test]
fn a_page_of_one_guildhall_does_not_reach_another() {
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let scratch = Scratch::new("other");
    let other = ServerProcess::start(&scratch.path().join("data"), 0);
    house.connected(json!({"mode": "embedded"}));
    let tab = house.shown();
    let ask = json!({"url": format!("{}/api/auth/whoami", other.url)});
    house.post(&format!("/tabs/{tab}/navigate"), ask);
    house.until(|state| {
        let tab = tab_of(state, &tab);
        tab["loading"] == false && tab["error"].is_string()
    });
}
