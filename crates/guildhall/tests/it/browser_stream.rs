//! Looking on at the local browser and using it through the stream, with Chromium itself.
//! Source: contract 7.6, 7.7, 7.12 (15, 16).

use std::{thread, time::Duration};

use serde_json::{Value, json};

use crate::{
    browser_observation::{
        StreamViewer, ViewerMessage, number, tab_of, text, times_said, until_some,
        with_recorded_input,
    },
    browser_server::ServerWithChromium,
    test_sites::TestSite,
};

/// A page that never looks the same for long.
const MOVING: &str = "<title>moving</title><style>body{margin:0}div{height:100vh}</style><div id=d>\
    </div><script>let n=0;setInterval(()=>{d.style.background=`hsl(${n++*37} 90% 50%)`},40)</script>";
/// A page whose field is called as it says, so that its words show in the state.
/// Its title says `empty` once the field has the focus.
const FIELD: &str = "<title>loading</title><input autofocus \
    oninput='document.title = this.value' style='position:fixed;inset:0'><script>\
    const wait = setInterval(() => { if (document.activeElement.tagName !== 'INPUT') return;\
    clearInterval(wait); document.title = 'empty'; }, 10);</script>";
/// A page that says which button and key are down.
const PRESSED: &str = "<title>nothing</title><body style='height:100vh'><script>\
    for (const what of ['mousedown','mouseup','keydown','keyup','dblclick'])\
    addEventListener(what, () => document.title += ' ' + what);</script>";

fn opened(house: &ServerWithChromium, site: &TestSite, title: &str) -> String {
    house.connected(json!({"mode": "embedded", "url": site.url("/")}));
    text(&house.until_title(title)["selectedTabId"])
}

fn typed(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

#[test]
fn a_viewer_hears_the_state_first_and_sees_what_it_turns_to() {
    let site = TestSite::page(MOVING);
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let tab = opened(&house, &site, "moving");
    let mut viewer = StreamViewer::open(&house);
    let ViewerMessage::Words(first) = viewer.next() else {
        panic!("no words");
    };
    assert_eq!(first["type"], "state");
    let state = house.state();
    for member in ["connectionId", "selectedTabId", "viewport", "status"] {
        assert_eq!(first[member], state[member], "{member}");
    }
    viewer.say(&json!({"type": "view", "tabId": tab, "maxWidth": 640, "maxHeight": 480}));
    // Its number comes before its first picture.
    let view = loop {
        match viewer.next() {
            ViewerMessage::Words(words) if words["type"] == "view" => break words,
            ViewerMessage::Words(_) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(view["tabId"], tab.as_str());
    assert_eq!(view["connectionId"], state["connectionId"]);
    let (mut last, mut pictures) = (0, Vec::new());
    for _ in 0..8 {
        let picture = viewer.picture();
        assert_eq!(picture[..4], [1, 1, 0, 0], "version, format, nothing");
        assert_eq!(
            u64::from(number(&picture, 4)),
            view["viewId"].as_u64().unwrap()
        );
        assert!(number(&picture, 8) > last, "each is newer");
        last = number(&picture, 8);
        let side = |at: usize| u64::from(u16::from_be_bytes([picture[at], picture[at + 1]]));
        assert_eq!(state["viewport"]["width"], side(12));
        assert_eq!(state["viewport"]["height"], side(14));
        let at = u64::from_be_bytes(picture[16..24].try_into().unwrap());
        assert!(at > 1_600_000_000_000, "{at}");
        assert_eq!(picture[24..26], [0xff, 0xd8], "a JPEG");
        viewer.acknowledge(&picture);
        pictures.push(picture[24..].to_vec());
    }
    pictures.dedup();
    assert!(pictures.len() > 1, "it moves");
    // The state comes at every revision.
    let before = house.state()["revision"].as_u64();
    let more = house.post("/tabs", json!({}));
    assert!(more["revision"].as_u64() > before);
    let heard = viewer.words_with("state", |state| state["revision"] == more["revision"]);
    assert_eq!(heard["tabs"].as_array().unwrap().len(), 2);
}

#[test]
fn who_acknowledges_the_newest_picture_alone_goes_on_seeing_new_ones() {
    let site = TestSite::page(MOVING);
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let tab = opened(&house, &site, "moving");
    let mut viewer = StreamViewer::open(&house);
    viewer.view(&tab);
    for _ in 0..10 {
        // Two are on their way at most, and the word on the second counts for both.
        viewer.picture();
        let second = viewer.picture();
        viewer.acknowledge(&second);
    }
}

#[test]
fn who_never_acknowledges_has_two_pictures_and_slows_nobody() {
    let site = TestSite::page(MOVING);
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let tab = opened(&house, &site, "moving");
    let (mut slow, mut fast) = (StreamViewer::open(&house), StreamViewer::open(&house));
    slow.view(&tab);
    fast.view(&tab);
    for _ in 0..20 {
        let picture = fast.picture();
        fast.acknowledge(&picture);
    }
    // What was sent to the slow one is in front of the answer to what it says now.
    slow.say(&json!({"type": "input", "id": 7, "viewId": 0, "steps": typed("x")}));
    let mut pictures = 0;
    loop {
        match slow.next() {
            ViewerMessage::Picture(_) => pictures += 1,
            ViewerMessage::Words(words) if words["type"] == "inputResult" => break,
            ViewerMessage::Words(_) => {}
            ViewerMessage::Closed(code) => panic!("{code}"),
        }
    }
    assert!((1..=2).contains(&pictures), "{pictures}");
}

#[test]
fn the_fifth_viewer_is_refused_before_its_socket_opens() {
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    // Nobody needs a browser to look on.
    let mut viewers: Vec<_> = (0..4).map(|_| StreamViewer::open(&house)).collect();
    assert_eq!(StreamViewer::try_open(&house).err(), Some(429));
    viewers.pop().unwrap().vanish();
    until_some("a free seat", || StreamViewer::try_open(&house).ok());
}

#[test]
fn two_viewers_have_one_film_that_ends_behind_the_last() {
    let site = TestSite::page(MOVING);
    let Some(house) = with_recorded_input() else {
        return;
    };
    let tab = opened(&house, &site, "moving");
    let (mut one, mut two) = (StreamViewer::open(&house), StreamViewer::open(&house));
    assert_eq!(
        times_said(&house, "Page.startScreencast"),
        0,
        "nobody looks yet"
    );
    for viewer in [&mut one, &mut two] {
        viewer.view(&tab);
        for _ in 0..3 {
            let picture = viewer.picture();
            viewer.acknowledge(&picture);
        }
    }
    one.vanish();
    for _ in 0..5 {
        let picture = two.picture();
        two.acknowledge(&picture);
    }
    assert_eq!(times_said(&house, "Page.startScreencast"), 1);
    assert_eq!(times_said(&house, "Page.stopScreencast"), 0);
    // Who turns away needs no pictures either.
    two.say(&json!({"type": "view", "tabId": null}));
    until_some("its end", || {
        (times_said(&house, "Page.stopScreencast") == 1).then_some(())
    });
    two.view(&tab);
    two.picture();
    two.vanish();
    until_some("its end", || {
        (times_said(&house, "Page.stopScreencast") == 2).then_some(())
    });
    assert_eq!(times_said(&house, "Page.startScreencast"), 2);
}

#[test]
fn what_is_done_in_an_old_view_or_connection_changes_nothing() {
    let site = TestSite::page(FIELD);
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let tab = opened(&house, &site, "empty");
    let mut viewer = StreamViewer::open(&house);
    let old = viewer.view(&tab);
    let other = text(&house.post("/tabs", json!({}))["selectedTabId"]);
    viewer.view(&other);
    house.post(&format!("/tabs/{tab}/select"), json!({}));
    let now = viewer.view(&tab);
    assert_ne!(old, now);
    for (id, stale) in [(1, old), (2, now + 1), (3, 0)] {
        let refused = viewer.input(id, stale, &typed("old"));
        assert_eq!(
            (&refused["ok"], &refused["code"]),
            (&json!(false), &json!("STALE"))
        );
    }
    let connection = text(&house.state()["connectionId"]);
    for stale in ["", "0192f0c1-2d3e-7abc-8def-0123456789ab"] {
        let ask = json!({"connectionId": stale, "steps": typed("old")});
        let (status, refused) = house.ask("POST", &format!("/tabs/{tab}/input"), &ask);
        assert!([400, 409].contains(&status), "{refused}");
        assert!(["STALE", "VALIDATION_FAILED"].contains(&refused["code"].as_str().unwrap()));
    }
    // What comes behind them is taken, and the page knows of nothing else.
    let done = viewer.input(4, now, &typed("new"));
    assert_eq!((&done["ok"], &done["code"]), (&json!(true), &Value::Null));
    house.until_title("new");
    // The view is of one process: in the next one it is old, and so is its connection.
    house.post("/close", json!({}));
    house.until(|state| state["status"] == "disconnected");
    let tab = opened(&house, &site, "empty");
    assert_eq!(viewer.input(5, now, &typed("old"))["code"], "STALE");
    let ask = json!({"connectionId": connection, "steps": typed("old")});
    let (status, refused) = house.ask("POST", &format!("/tabs/{tab}/input"), &ask);
    assert_eq!((status, &refused["code"]), (409, &json!("STALE")));
    let view = viewer.view(&tab);
    viewer.input(6, view, &typed("anew"));
    house.until_title("anew");
}

#[test]
fn what_was_meant_for_the_page_before_never_reaches_the_next() {
    let site = TestSite::page(FIELD);
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let tab = opened(&house, &site, "empty");
    let mut viewer = StreamViewer::open(&house);
    let old = viewer.view(&tab);
    assert_eq!(viewer.input(1, old, &typed("before"))["ok"], true);
    house.until_title("before");
    house.visit(&site.url("/next"));
    let new = viewer.words_with("view", |view| view["tabId"] == tab.as_str());
    let new = new["viewId"].as_u64().unwrap();
    assert_ne!(old, new);
    house.until_title("empty");
    assert_eq!(viewer.input(2, old, &typed("late"))["code"], "STALE");
    assert_eq!(viewer.input(3, new, &typed("after"))["ok"], true);
    house.until_title("after");
    // Nobody has seen the last picture of the page before, and the film goes on.
    let mut other = StreamViewer::open(&house);
    other.view(&tab);
    other.picture();
}

#[test]
fn what_somebody_held_down_who_is_gone_is_let_go() {
    let site = TestSite::page(PRESSED);
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let tab = opened(&house, &site, "nothing");
    let down = json!([{"type": "mouseDown", "x": 50, "y": 50, "button": "left"},
        {"type": "keyDown", "key": "a", "code": "KeyA", "modifiers": 0}]);
    let mut viewer = StreamViewer::open(&house);
    let view = viewer.view(&tab);
    assert_eq!(viewer.input(1, view, &down)["ok"], true);
    house.until_title("nothing mousedown keydown");
    viewer.vanish();
    house.until(|state| {
        let title = text(&tab_of(state, &tab)["title"]);
        title.contains("mouseup") && title.contains("keyup")
    });
}

#[test]
fn two_presses_at_one_place_are_a_double_click() {
    let site = TestSite::page(PRESSED);
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let tab = opened(&house, &site, "nothing");
    let mut viewer = StreamViewer::open(&house);
    let view = viewer.view(&tab);
    let press = |kind: &str, x: u64| json!({"type": kind, "x": x, "y": 50, "button": "left"});
    let apart = json!([
        press("mouseDown", 50),
        press("mouseUp", 50),
        press("mouseDown", 90),
        press("mouseUp", 90)
    ]);
    viewer.input(1, view, &apart);
    let twice = json!([
        press("mouseDown", 200),
        press("mouseUp", 200),
        press("mouseDown", 202),
        press("mouseUp", 202)
    ]);
    let state = house.until(|state| {
        text(&tab_of(state, &tab)["title"])
            .matches("mouseup")
            .count()
            == 2
    });
    assert!(!text(&tab_of(&state, &tab)["title"]).contains("dblclick"));
    // Time is part of it: on a computer that is slow enough two presses are two.
    for id in 2.. {
        viewer.input(id, view, &twice);
        let clicks = usize::try_from(2 * id).unwrap();
        let state = house.until(|state| {
            text(&tab_of(state, &tab)["title"])
                .matches("mouseup")
                .count()
                >= clicks
        });
        if text(&tab_of(&state, &tab)["title"]).contains("dblclick") {
            break;
        }
        assert!(id < 30, "{state}");
        thread::park_timeout(Duration::from_millis(600));
    }
}

#[test]
fn nonsense_and_what_is_too_long_end_the_stream() {
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let closed = |words: &str| {
        let mut viewer = StreamViewer::open(&house);
        viewer.words("state");
        viewer.say_text(words);
        loop {
            match viewer.next() {
                ViewerMessage::Closed(code) => return code,
                ViewerMessage::Words(_) | ViewerMessage::Picture(_) => {}
            }
        }
    };
    for nonsense in [
        "",
        "nonsense",
        "[]",
        "{}",
        r#"{"type":"dance"}"#,
        r#"{"type":"ack","viewId":"one","sequence":1}"#,
        r#"{"type":"view","tabId":null,"maxWidth":0}"#,
        r#"{"type":"view","tabId":null,"maxHeight":4097}"#,
        r#"{"type":"input","id":1,"viewId":1,"steps":[{"type":"fly"}]}"#,
    ] {
        assert_eq!(closed(nonsense), 1008, "{nonsense}");
    }
    let long = json!({"type": "ack", "viewId": 1, "sequence": 1, "more": "x".repeat(64 << 10)});
    assert_eq!(closed(&long.to_string()), 1009);
    // Somebody else is none the worse for it.
    StreamViewer::open(&house).words("state");
}

#[test]
fn a_stopping_server_says_goodbye_to_who_looks_on() {
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let mut viewer = StreamViewer::open(&house);
    viewer.words("state");
    house.server.terminate();
    loop {
        match viewer.next() {
            ViewerMessage::Closed(code) => {
                assert_eq!(code, 1001);
                break;
            }
            ViewerMessage::Words(_) | ViewerMessage::Picture(_) => {}
        }
    }
}
