//! The tools of agents in a shared tab, with Chromium itself and the tokens that real sessions
//! have. Source: contract 7.8, 7.9, 7.12 (9, 10, 11, 12, 14, 17).

use std::{fs, thread};

use serde_json::{Value, json};

use crate::{
    browser_session::{
        BrowserSession, RecordingSite, bridges, call, events, reference, session, turn,
    },
    stdio_relay::{StdioRelayProcess, initialize_params},
};

const ACTING: [(&str, &str); 10] = [
    ("browser_navigate", r#"{"action": "reload"}"#),
    ("browser_click", r#"{"ref": "e1"}"#),
    ("browser_hover", r#"{"ref": "e1"}"#),
    ("browser_type", r#"{"ref": "e1", "text": "x"}"#),
    ("browser_press_key", r#"{"key": "x"}"#),
    ("browser_select_option", r#"{"ref": "e1", "values": ["x"]}"#),
    ("browser_scroll", r#"{"deltaX": 0, "deltaY": 10}"#),
    ("browser_tab_new", "{}"),
    ("browser_tab_select", r#"{"tabId": "TAB"}"#),
    ("browser_tab_close", r#"{"tabId": "TAB"}"#),
];
const LOOKING: [(&str, &str); 5] = [
    ("browser_tabs", "{}"),
    ("browser_snapshot", "{}"),
    ("browser_screenshot", "{}"),
    ("browser_wait_for", r#"{"ms": 0}"#),
    ("browser_console", "{}"),
];

fn arguments(text: &str, tab: &str) -> Value {
    serde_json::from_str(&text.replace("TAB", tab)).unwrap()
}

const FORM: &[(&str, &str)] = &[
    (
        "/",
        "<title>form</title><form action=/sent method=post><label>Name <input name=name></label>\
         <label>Color <select name=color><option value=r>Red<option value=g>Green</select></label>\
         <button>Send</button></form>",
    ),
    ("/sent", "<title>sent</title><p>Thank you."),
];

#[test]
fn an_agent_fills_a_form_in_a_shared_tab() {
    let Some(shop) = BrowserSession::open() else {
        return;
    };
    let desk = RecordingSite::new(FORM);
    let tab = shop.at(&format!("{}/", desk.url), "form");
    let tabs = shop.done("browser_tabs", json!({}));
    assert_eq!(
        tabs["tabs"],
        json!([{"id": tab, "url": format!("{}/", desk.url), "title": "form", "selected": true}])
    );
    let page = shop.done("browser_snapshot", json!({}));
    assert_eq!(
        (&page["untrusted"], &page["origin"], &page["truncated"]),
        (&json!(true), &json!(desk.url), &json!(false))
    );
    let text = page["text"].as_str().unwrap();
    assert!(text.starts_with("--- begin "), "{text}");
    let [name, color, send] = ["textbox", "combobox", "button"].map(|role| reference(text, role));
    let typed = shop.done("browser_type", json!({"ref": name, "text": "Ada Lovelace"}));
    assert_eq!(typed, json!({"outcome": "done"}));
    shop.done(
        "browser_select_option",
        json!({"ref": color, "values": ["Green"]}),
    );
    shop.done("browser_hover", json!({"ref": send}));
    shop.done("browser_click", json!({"ref": send}));
    shop.done("browser_wait_for", json!({"text": "Thank you."}));
    assert!(desk.recorded_requests("POST /sent name=Ada+Lovelace&color=g"));
    // What the refs stood for is gone with its page.
    assert_eq!(
        shop.refused("browser_click", json!({"ref": send})),
        "STALE_REF"
    );
    let back = shop.done("browser_navigate", json!({"action": "back"}));
    assert_eq!(
        (&back["title"], &back["status"]),
        (&json!("form"), &json!(200))
    );
    let picture = shop.done("browser_screenshot", json!({"fullPage": true}));
    assert_eq!(picture["mimeType"], "image/jpeg");
    assert!(picture["data"].as_str().unwrap().len() < 4 * 1024 * 1024);
    let told: Vec<_> = shop
        .actions()
        .into_iter()
        .map(|action| {
            // A ref that means nothing is at no place.
            let place = match action["code"].is_null() {
                true => desk.url.as_str(),
                false => "null",
            };
            assert_eq!(action["origin"], place, "{action}");
            [&action["tool"], &action["outcome"], &action["code"]]
                .map(|value| value.as_str().unwrap_or_default().to_owned())
                .join(" ")
        })
        .collect();
    assert_eq!(
        told,
        [
            "browser_type done ",
            "browser_select_option done ",
            "browser_hover done ",
            "browser_click done ",
            "browser_click rejected STALE_REF",
            "browser_navigate done ",
        ]
    );
}

#[test]
fn the_tools_are_there_for_the_token_of_the_sharing_session_while_it_shares() {
    let Some(shop) = BrowserSession::open() else {
        return;
    };
    let (other, stranger, _) = session(&shop.house);
    let tokens = [&shop.token, &shop.process, &stranger];
    let listed = || tokens.map(|token| shop.browser_tools(token));
    let refused = |token: &str| {
        for (tool, with) in ACTING.into_iter().chain(LOOKING) {
            let (code, body) = call(&shop.house, token, tool, arguments(with, "x"));
            assert_eq!(code.as_deref(), Some("NOT_SHARED"), "{tool}: {body}");
        }
    };
    assert_eq!(listed(), [0, 0, 0], "nothing is open");
    refused(&shop.token);
    shop.house.connected(json!({"mode": "embedded"}));
    assert_eq!(listed(), [0, 0, 0], "nothing is shared");
    let mut bridge = StdioRelayProcess::start(&shop.house.server.url, &shop.token);
    bridge.ask(1, "initialize", &initialize_params());
    bridge.ask(2, "tools/list", &json!({}));
    let told = |bridge: &mut StdioRelayProcess| {
        assert_eq!(bridge.read()["method"], "notifications/tools/list_changed");
    };
    shop.share(&shop.session, None);
    assert_eq!(listed(), [15, 0, 0]);
    told(&mut bridge);
    for token in [&shop.process, &stranger] {
        refused(token);
    }
    shop.share(&other, None);
    assert_eq!(listed(), [0, 0, 15], "another one shares");
    told(&mut bridge);
    refused(&shop.token);
    shop.house.post("/share", json!({"sessionId": null}));
    assert_eq!(listed(), [0, 0, 0], "none shares any more");
    refused(&stranger);
    assert_eq!(bridge.end(), Some(0));
}

#[test]
fn a_client_that_does_not_look_again_has_a_new_list_on_its_next_turn() {
    let Some(shop) = BrowserSession::open() else {
        return;
    };
    shop.house.connected(json!({"mode": "embedded"}));
    let list = r#"#call call_mcp {"server": "guildhall", "tool": "rooms_list", "arguments": {}}"#;
    let running = || -> Vec<u32> { bridges(&shop.house).into_iter().map(|one| one.0).collect() };
    let before = running();
    turn(&shop.house, &shop.session, &[list]);
    assert_eq!(running(), before, "nothing is different");
    shop.share(&shop.session, None);
    turn(&shop.house, &shop.session, &[list]);
    let after = running();
    assert_ne!(after, before, "its tool servers were handed over anew");
    turn(&shop.house, &shop.session, &[list]);
    assert_eq!(running(), after, "once");
}

const TWO: &[(&str, &str)] = &[
    (
        "/own",
        "<title>own</title><button onclick=\"document.title='clicked'\">Own</button>",
    ),
    (
        "/mine",
        "<title>mine</title><button onclick=\"fetch('/stolen')\">Private</button>",
    ),
    ("/more", "<title>more</title>"),
];

#[test]
fn a_tab_that_is_not_shared_is_not_there() {
    let Some(shop) = BrowserSession::open() else {
        return;
    };
    let desk = RecordingSite::new(TWO);
    let own = shop.at(&format!("{}/own", desk.url), "own");
    let mine = format!("{}/mine", desk.url);
    shop.house.post("/tabs", json!({"url": mine}));
    let state = shop
        .house
        .until(|state| state["tabs"][1]["title"] == "mine");
    let mine = state["tabs"][1]["id"].as_str().unwrap();
    let tabs = shop.done("browser_tabs", json!({}));
    let tabs = tabs["tabs"].as_array().unwrap();
    assert_eq!(tabs.len(), 1, "{tabs:?}");
    assert_eq!(
        (&tabs[0]["id"], &tabs[0]["selected"]),
        (&json!(own), &json!(false))
    );
    for tool in [
        "browser_snapshot",
        "browser_screenshot",
        "browser_tab_select",
        "browser_tab_close",
    ] {
        assert_eq!(
            shop.refused(tool, json!({"tabId": mine})),
            "TAB_NOT_FOUND",
            "{tool}"
        );
    }
    // It acts in the tab it has, although the person looks at another one.
    let page = shop.done("browser_snapshot", json!({}));
    let text = page["text"].as_str().unwrap();
    assert!(text.contains("Own") && !text.contains("Private"), "{text}");
    let button = reference(text, "Own");
    shop.done("browser_click", json!({"ref": button}));
    shop.showing("clicked");
    let state = shop.house.state();
    assert_eq!(
        state["selectedTabId"], mine,
        "the person's tab stays in front"
    );
    // What it opens is its own as well, and what it closes is the last thing it has.
    let opened = shop.done(
        "browser_tab_new",
        json!({"url": format!("{}/more", desk.url)}),
    );
    let opened = opened["tabs"].as_array().unwrap();
    assert_eq!(opened.len(), 2, "{opened:?}");
    assert_eq!(
        (&opened[1]["title"], &opened[1]["selected"]),
        (&json!("more"), &json!(true))
    );
    let selected = shop.done("browser_tab_select", json!({"tabId": own}));
    assert_eq!(selected["tabs"][0]["selected"], true);
    // A ref of what it had is none in what it has.
    let button = shop.reference("Own");
    shop.share(&shop.session, Some(mine));
    assert_eq!(
        shop.refused("browser_click", json!({"ref": button})),
        "STALE_REF"
    );
    assert_eq!(
        shop.refused("browser_snapshot", json!({"tabId": own})),
        "TAB_NOT_FOUND"
    );
    let left = shop.done("browser_tab_close", json!({"tabId": mine}));
    assert_eq!(left["tabs"], json!([]));
    assert_eq!(shop.refused("browser_tabs", json!({})), "NOT_SHARED");
    assert_eq!(shop.house.state()["sessionId"], "");
    assert!(!desk.recorded_requests("/stolen"));
}

const HARD: &[(&str, &str)] = &[(
    "/",
    "<title>hard</title><button>Under</button><div style='position:fixed;inset:0 50% 0 0'></div>\
     <div style='position:fixed;left:60%'><button onclick=\"alert('well')\">Ask</button></div>",
)];

#[test]
fn what_is_covered_or_behind_a_dialog_is_not_touched() {
    let Some(shop) = BrowserSession::open() else {
        return;
    };
    let desk = RecordingSite::new(HARD);
    let tab = shop.at(&format!("{}/", desk.url), "hard");
    let under = shop.reference("Under");
    let (code, body) = shop.call("browser_click", json!({"ref": under}));
    assert_eq!(code.as_deref(), Some("COVERED"), "{body}");
    assert_eq!(body["details"], json!({"outcome": "rejected"}));
    let ask = shop.reference("Ask");
    shop.done("browser_click", json!({"ref": ask}));
    shop.house
        .until(|state| state["tabs"][0]["dialog"]["message"] == "well");
    for (tool, with) in [
        ("browser_snapshot", json!({})),
        ("browser_screenshot", json!({})),
        ("browser_click", json!({"ref": ask})),
        ("browser_press_key", json!({"key": "Enter"})),
        ("browser_navigate", json!({"action": "reload"})),
        ("browser_navigate", json!({"url": desk.url})),
    ] {
        assert_eq!(shop.refused(tool, with), "DIALOG_OPEN", "{tool}");
    }
    shop.house
        .post(&format!("/tabs/{tab}/dialog"), json!({"accept": true}));
    shop.reference("Ask");
}

// Longer than Chromium is waited for.
const BUSY: &[(&str, &str)] = &[(
    "/",
    "<title>busy</title><button onclick=\"let end = Date.now() + 14000;\
     while (Date.now() < end); fetch('/clicked'); document.title = 'rested'\">Work</button>",
)];

#[test]
fn what_is_not_answered_is_uncertain_and_not_done_again() {
    let Some(shop) = BrowserSession::open() else {
        return;
    };
    let desk = RecordingSite::new(BUSY);
    shop.at(&format!("{}/", desk.url), "busy");
    let work = shop.reference("Work");
    let mut bridge = StdioRelayProcess::start(&shop.house.server.url, &shop.token);
    bridge.ask(1, "initialize", &initialize_params());
    let click = json!({"name": "browser_click", "arguments": {"ref": work}});
    let clicked = bridge.ask(2, "tools/call", &click);
    let result = &clicked["result"]["structuredContent"];
    assert_eq!(
        (&result["outcome"], &result["code"]),
        (&json!("uncertain"), &json!("BROWSER_TIMEOUT"))
    );
    shop.showing("rested");
    shop.done("browser_snapshot", json!({}));
    let heard = desk.heard.lock().unwrap();
    let clicks = heard.iter().filter(|line| line.contains("/clicked"));
    assert_eq!(clicks.count(), 1);
    drop(heard);
    assert_eq!(shop.actions().last().unwrap()["outcome"], "uncertain");
    assert_eq!(bridge.end(), Some(0));
}

const SECRET: &[(&str, &str)] = &[(
    "/",
    "<title>secret</title><label>Password <input type=password autofocus \
     oninput=\"document.title='typed'\"></label>",
)];

#[test]
fn what_a_person_types_into_a_password_field_stays_theirs() {
    const PASSWORD: &str = "correct-horse-7319";
    let Some(shop) = BrowserSession::open() else {
        return;
    };
    let desk = RecordingSite::new(SECRET);
    let tab = shop.at(&format!("{}/", desk.url), "secret");
    shop.types(&tab, PASSWORD);
    shop.showing("typed");
    let page = shop.done("browser_snapshot", json!({}));
    let text = page["text"].as_str().unwrap();
    assert!(text.contains("[secret]"), "{text}");
    let field = reference(text, "textbox");
    let typed = shop.refused("browser_type", json!({"ref": field, "text": "guess-4421"}));
    assert_eq!(typed, "SECRET_FIELD");
    let pressed = shop.refused("browser_press_key", json!({"key": "x"}));
    assert_eq!(pressed, "SECRET_FIELD");
    let console = shop.done("browser_console", json!({}));
    let told = json!([page, console, events(&shop.house), shop.house.state()]).to_string();
    assert!(
        !told.contains(PASSWORD) && !told.contains("guess-4421"),
        "{told}"
    );
    // Nor does it stand in anything the house keeps, its own database above all.
    let data = shop.house.scratch.path().join("data");
    for entry in fs::read_dir(&data).unwrap().flatten() {
        let Ok(bytes) = fs::read(entry.path()) else {
            continue;
        };
        for words in [PASSWORD, "guess-4421"] {
            let is_there = bytes
                .windows(words.len())
                .any(|part| part == words.as_bytes());
            assert!(!is_there, "{}", entry.path().display());
        }
    }
}

const KEYS: &[(&str, &str)] = &[(
    "/",
    "<title>keys</title><input autofocus><button>Press</button><script>\
     let log = [], note = (what) => { log.push([what, Math.round(performance.now())]);\
     document.title = JSON.stringify(log); };\
     document.querySelector('input').oninput = () => note('person');\
     document.querySelector('button').onclick = () => note('agent');</script>",
)];

#[test]
fn a_paused_tool_does_nothing_at_all() {
    let Some(shop) = BrowserSession::open() else {
        return;
    };
    let desk = RecordingSite::new(KEYS);
    let tab = shop.at(&format!("{}/", desk.url), "keys");
    let press = shop.reference("Press");
    shop.house.post("/pause", json!({"paused": true}));
    let told = shop.actions();
    for (tool, with) in ACTING.into_iter().chain(LOOKING) {
        let with = with.replace("e1", &press);
        assert_eq!(
            shop.refused(tool, arguments(&with, &tab)),
            "PAUSED",
            "{tool}"
        );
    }
    let state = shop.house.state();
    assert_eq!(
        (
            &state["tabs"][0]["title"],
            state["tabs"].as_array().unwrap().len()
        ),
        (&json!("keys"), 1)
    );
    assert_eq!(
        shop.actions(),
        told,
        "what was refused at once is not told of"
    );
    // What a person does works all the same.
    shop.types(&tab, "a");
    shop.house.until(|state| titles(state).len() == 1);
    shop.house.post("/pause", json!({"paused": false}));
    shop.done("browser_click", json!({"ref": press}));
    let state = shop.house.until(|state| titles(state).len() == 2);
    assert_eq!(titles(&state)[1].0, "agent");
}

/// What was noted in the title of the first tab: what, and when in milliseconds.
fn titles(state: &Value) -> Vec<(String, u64)> {
    let title = state["tabs"][0]["title"].as_str().unwrap_or_default();
    serde_json::from_str(title).unwrap_or_default()
}

#[test]
fn an_action_waits_until_the_person_let_go() {
    let Some(shop) = BrowserSession::open() else {
        return;
    };
    let desk = RecordingSite::new(KEYS);
    let tab = shop.at(&format!("{}/", desk.url), "keys");
    // On a slow computer a person's pause may be a real one, which an action may use: then again.
    for _ in 0..20 {
        shop.done("browser_navigate", json!({"url": format!("{}/", desk.url)}));
        shop.showing("keys");
        let press = shop.reference("Press");
        let state = shop.types(&tab, "a");
        assert_eq!(state["control"]["holder"], "person");
        let code = thread::scope(|scope| {
            let click = scope.spawn(|| shop.call("browser_click", json!({"ref": press})).0);
            for _ in 0..4 {
                scope.spawn(|| shop.types(&tab, "a"));
            }
            click.join().unwrap()
        });
        assert_eq!(code, None);
        let state = shop.house.until(|state| titles(state).len() == 6);
        let noted = titles(&state);
        let place = noted.iter().position(|one| one.0 == "agent").unwrap();
        let person = noted.iter().filter(|one| one.0 == "person");
        let times: Vec<_> = person.map(|one| one.1).collect();
        if times.windows(2).all(|two| two[1] - two[0] < 1_000) {
            assert_eq!(place, 5, "{noted:?}");
            return;
        }
    }
    panic!("this computer is too slow for a person");
}

#[test]
fn who_is_held_up_too_long_is_told_that_the_person_is_active() {
    let Some(shop) = BrowserSession::open() else {
        return;
    };
    let desk = RecordingSite::new(KEYS);
    let tab = shop.at(&format!("{}/", desk.url), "keys");
    let press = shop.reference("Press");
    shop.types(&tab, "a");
    let (code, noted) = thread::scope(|scope| {
        let click = scope.spawn(|| shop.call("browser_click", json!({"ref": press})));
        while !click.is_finished() {
            shop.types(&tab, "a");
        }
        let noted = titles(&shop.house.state());
        (click.join().unwrap().0, noted)
    });
    let agents = noted.iter().filter(|one| one.0 == "agent").count();
    assert_eq!((code.as_deref(), agents), (Some("PERSON_ACTIVE"), 0));
    let told = shop.actions();
    assert_eq!(told.last().unwrap()["code"], "PERSON_ACTIVE");
}

#[test]
fn twenty_actions_in_a_row_are_enough() {
    let Some(shop) = BrowserSession::open() else {
        return;
    };
    shop.at("about:blank", "");
    let codes = (0..200).map(|_| shop.refused("browser_click", json!({"ref": "e999999"})));
    let stale = codes.take_while(|code| code == "STALE_REF").count();
    assert!((20..200).contains(&stale), "{stale}");
    assert_eq!(
        shop.refused("browser_click", json!({"ref": "e999999"})),
        "RATE_LIMITED"
    );
    // Who looks is not in a hurry.
    shop.done("browser_tabs", json!({}));
}

const LINKS: &[(&str, &str)] = &[
    (
        "/",
        "<title>links</title><a href='file:///etc/passwd'>Out</a>",
    ),
    ("/next", "<title>next</title>"),
];

#[test]
fn agents_open_the_web_and_nothing_else() {
    let Some(shop) = BrowserSession::open() else {
        return;
    };
    let desk = RecordingSite::new(LINKS);
    let page = format!("{}/", desk.url);
    shop.at(&page, "links");
    for url in [
        "file:///etc/passwd",
        "chrome://version",
        "devtools://devtools/",
        "javascript:alert(1)",
        "view-source:http://127.0.0.1/",
        "data:text/html,x",
        "http://ada:x@127.0.0.1/",
        "",
    ] {
        for tool in ["browser_navigate", "browser_tab_new"] {
            assert_eq!(
                shop.refused(tool, json!({ "url": url })),
                "URL_NOT_ALLOWED",
                "{tool} {url}"
            );
        }
    }
    let out = shop.reference("Out");
    shop.done("browser_click", json!({"ref": out}));
    let tabs = shop.done("browser_tabs", json!({}));
    let told = tabs.to_string();
    assert!(
        !told.contains("passwd") && !told.contains("root:"),
        "{told}"
    );
    let state = shop.house.state();
    assert_eq!(state["tabs"].as_array().unwrap().len(), 1, "{state}");
}

#[test]
fn agents_open_what_is_configured() {
    let Some(shop) = BrowserSession::open() else {
        return;
    };
    let [desk, other] = [RecordingSite::new(LINKS), RecordingSite::new(LINKS)];
    shop.at(&format!("{}/", desk.url), "links");
    let only = json!({"browser.agentOrigins": [desk.url]});
    let (status, set) = shop.house.server.ask("PATCH", "/api/settings", Some(&only));
    assert_eq!(status, 200, "{set}");
    let elsewhere = json!({"url": other.url});
    for tool in ["browser_navigate", "browser_tab_new"] {
        assert_eq!(
            shop.refused(tool, elsewhere.clone()),
            "URL_NOT_ALLOWED",
            "{tool}"
        );
    }
    let there = shop.done(
        "browser_navigate",
        json!({"url": format!("{}/next", desk.url)}),
    );
    assert_eq!(there["title"], "next");
    assert!(!other.recorded_requests("GET"));
}
