//! The local browser's routes where no Chromium runs: who may ask, what is refused first, and what
//! an open says of a computer without one. With Chromium: `guildhall/tests/it/browser.rs`.

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

const BROWSER: &str = "/api/local-browser";
const NOTHING: &str = "0192f0c1-2d3e-7abc-8def-0123456789ab";

fn open() -> String {
    format!("{BROWSER}/open")
}

async fn state(by: &TestCaller) -> Value {
    by.get(BROWSER).await.ok(200)
}

/// Opens it and waits until that came to something.
async fn open_to_the_end(by: &TestCaller, ask: Value) -> Value {
    let ask = by.ask("POST", &open()).json(&ask);
    ask.header("prefer", "wait=30").send().await.ok(200)
}

#[tokio::test]
async fn the_first_answer_is_that_it_is_looked_for() {
    let t = TestHall::open().await;
    let fresh = state(&t.owner()).await;
    assert_eq!(fresh["mode"], "embedded");
    assert_eq!(fresh["status"], "disconnected");
    assert_eq!(fresh["preparation"]["stage"], "idle");
    let opened = t.owner().post(&open(), json!({"mode": "embedded"})).await;
    let opened = opened.ok(200);
    assert_eq!(opened["status"], "disconnected");
    assert_eq!(
        opened["preparation"],
        json!({"stage": "checking", "component": "chromium", "percent": 0})
    );
    assert!(opened["revision"].as_u64() > fresh["revision"].as_u64());
    t.close().await;
}

#[tokio::test]
async fn a_computer_without_a_browser_says_so_in_the_state() {
    let t = TestHall::open().await;
    let mut events = t.events();
    let failed = open_to_the_end(&t.owner(), json!({"mode": "embedded"})).await;
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["preparation"]["stage"], "failed");
    assert_eq!(failed["lastError"]["code"], "BROWSER_NOT_INSTALLED");
    assert_eq!(failed["lastError"]["details"]["canDownload"], false);
    assert_eq!(
        (&failed["sessionId"], &failed["connectionId"]),
        (&json!(""), &json!(""))
    );
    let told = events.next("browser_failed");
    assert_eq!(told["code"], "BROWSER_NOT_INSTALLED");
    // The next open begins anew, in the mode it asks for.
    let again = t.owner().post(&open(), json!({"mode": "window"})).await;
    let again = again.ok(200);
    assert_eq!(
        (&again["mode"], &again["lastError"]),
        (&json!("window"), &Value::Null)
    );
    t.close().await;
}

#[tokio::test]
async fn the_owner_alone_asks_and_only_here() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let before = t.rows();
    let ask = || json!({"mode": "embedded"});
    for (by, status, code) in [
        (t.nobody(), 401, "NOT_THE_OWNER"),
        (t.stranger(), 401, "NOT_THE_OWNER"),
        (t.stray(), 401, "AGENT_IDENTITY_UNVERIFIED"),
        (t.unverifiable(), 401, "AGENT_IDENTITY_UNVERIFIED"),
        (ada.clone(), 403, "OWNER_HERE_ONLY"),
        (t.process_of(&ada), 403, "OWNER_HERE_ONLY"),
        (t.in_doubt(), 401, "CALLER_IN_DOUBT"),
        (
            t.owner().with("x-forwarded-for", "203.0.113.7"),
            403,
            "OWNER_HERE_ONLY",
        ),
        (t.owner().with("via", "1.1 tunnel"), 403, "OWNER_HERE_ONLY"),
        (
            t.owner().with("origin", "https://evil.example"),
            403,
            "ORIGIN_NOT_ALLOWED",
        ),
        (t.browser_page(), 403, "LOCAL_BROWSER_REFUSED"),
    ] {
        by.post(&open(), ask()).await.refused(status, code);
        by.get(BROWSER).await.refused(status, code);
    }
    assert_eq!(state(&t.owner()).await["preparation"]["stage"], "idle");
    let without_uses = |rows: &str| {
        let lines = rows.lines().filter(|line| !line.starts_with("tokens\t"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(without_uses(&t.rows()), without_uses(&before));
}

#[tokio::test]
async fn a_page_in_the_browser_reaches_served_folders_and_nothing_else() {
    let t = TestHall::open().await;
    let page = t.browser_page();
    for path in [
        "/",
        "/docs",
        "/api/health",
        "/api/rooms",
        "/api/events",
        "/metrics",
        "/nothing",
    ] {
        page.get(path).await.refused(403, "LOCAL_BROWSER_REFUSED");
    }
    page.post("/mcp", json!({}))
        .await
        .refused(403, "LOCAL_BROWSER_REFUSED");
    let served = page.get("/api/workbench/serve/none/").await;
    assert_ne!(served.body["code"], "LOCAL_BROWSER_REFUSED");
}

#[tokio::test]
async fn what_is_wrong_is_said_in_order() {
    let t = TestHall::open().await;
    let tab = format!("{BROWSER}/tabs/{NOTHING}");
    let step = json!({"type": "click", "x": 1, "y": 1, "button": "left", "count": 1});
    for (path, ask, status, code) in [
        (open(), json!({}), 400, "VALIDATION_FAILED"),
        (
            open(),
            json!({"mode": "sideways"}),
            400,
            "VALIDATION_FAILED",
        ),
        (
            open(),
            json!({"mode": "embedded", "sessionId": "x"}),
            400,
            "VALIDATION_FAILED",
        ),
        (
            open(),
            json!({"mode": "embedded", "url": "file:///etc/passwd"}),
            400,
            "URL_NOT_ALLOWED",
        ),
        (
            open(),
            json!({"mode": "embedded", "sessionId": NOTHING}),
            404,
            "SESSION_NOT_FOUND",
        ),
        (
            format!("{BROWSER}/tabs"),
            json!({"url": "javascript:alert(1)"}),
            400,
            "URL_NOT_ALLOWED",
        ),
        (format!("{BROWSER}/tabs"), json!({}), 409, "NOT_CONNECTED"),
        (
            format!("{BROWSER}/pause"),
            json!({"paused": true}),
            409,
            "NOT_CONNECTED",
        ),
        (
            format!("{BROWSER}/share"),
            json!({"sessionId": null}),
            409,
            "NOT_CONNECTED",
        ),
        (
            format!("{BROWSER}/share"),
            json!({"sessionId": NOTHING}),
            404,
            "SESSION_NOT_FOUND",
        ),
        (
            format!("{BROWSER}/share"),
            json!({"sessionId": null, "tabId": NOTHING}),
            404,
            "TAB_NOT_FOUND",
        ),
        (format!("{tab}/select"), json!({}), 404, "TAB_NOT_FOUND"),
        (
            format!("{tab}/navigate"),
            json!({"action": "back"}),
            404,
            "TAB_NOT_FOUND",
        ),
        (
            format!("{tab}/navigate"),
            json!({"url": "chrome://version"}),
            400,
            "URL_NOT_ALLOWED",
        ),
        (
            format!("{tab}/viewport"),
            json!({"width": 1, "height": 800, "scale": 1}),
            400,
            "VALIDATION_FAILED",
        ),
        (
            format!("{tab}/input"),
            json!({"connectionId": NOTHING, "steps": [step]}),
            404,
            "TAB_NOT_FOUND",
        ),
        (
            format!("{tab}/input"),
            json!({"connectionId": NOTHING, "steps": []}),
            400,
            "VALIDATION_FAILED",
        ),
        (
            format!("{tab}/dialog"),
            json!({"accept": true}),
            404,
            "TAB_NOT_FOUND",
        ),
        (
            format!("{tab}/auth"),
            json!({"cancel": true}),
            404,
            "TAB_NOT_FOUND",
        ),
    ] {
        let answer = t.owner().post(&path, ask.clone()).await;
        assert_eq!(
            (answer.status, &answer.body["code"]),
            (status, &json!(code)),
            "{path} {ask}"
        );
    }
    for path in ["selection", "screenshot"] {
        let answer = t.owner().get(&format!("{tab}/{path}")).await;
        answer.refused(404, "TAB_NOT_FOUND");
    }
    t.owner().delete(&tab).await.refused(404, "TAB_NOT_FOUND");
    // Closing what is closed is what was asked for.
    let closed = t.owner().post(&format!("{BROWSER}/close"), json!({})).await;
    assert_eq!(closed.ok(200)["status"], "disconnected");
}

#[tokio::test]
async fn a_browser_that_is_switched_off_is_looked_at_and_not_opened() {
    let t = TestHall::open().await;
    let off = json!({"browser.enabled": false});
    t.owner().patch("/api/settings", off).await.ok(200);
    let refused = |path: &str, ask: Value| {
        let path = format!("{BROWSER}/{path}");
        let owner = t.owner();
        async move {
            owner
                .post(&path, ask)
                .await
                .refused(503, "BROWSER_DISABLED")
        }
    };
    refused("open", json!({"mode": "embedded"})).await;
    refused("open", json!({"mode": "embedded", "sessionId": NOTHING})).await;
    refused("prepare", json!({"download": false})).await;
    refused("tabs", json!({})).await;
    let shape = t.owner().post(&open(), json!({})).await;
    shape.refused(400, "VALIDATION_FAILED");
    state(&t.owner()).await;
    // One that runs already can be closed all the same.
    let close = format!("{BROWSER}/close");
    t.owner().post(&close, json!({})).await.ok(200);
}

#[tokio::test]
async fn twenty_opens_are_one_and_another_mode_has_to_wait() {
    let t = TestHall::open().await;
    // A program that says nothing: the browser is on its way until it is given up.
    t.install("chromium", "#!/bin/sh\nexec sleep 1000\n");
    t.install("guildhall", "#!/bin/sh\nwhile read -r line; do :; done\n");
    let owner = t.owner();
    let path = open();
    let opens = (0..20).map(|_| owner.post(&path, json!({"mode": "embedded"})));
    for answer in futures_util::future::join_all(opens).await {
        assert_eq!(answer.ok(200)["mode"], "embedded");
    }
    let other = owner.post(&open(), json!({"mode": "window"})).await;
    other.refused(409, "BUSY");
    let path = format!("{BROWSER}/prepare");
    let prepare = owner.post(&path, json!({"download": false})).await;
    prepare.refused(409, "BUSY");
    t.close().await;
}

#[tokio::test]
async fn the_revision_never_falls() {
    let mut t = TestHall::open().await;
    let failed = open_to_the_end(&t.owner(), json!({"mode": "window"})).await;
    let before = failed["revision"].as_u64().unwrap();
    t.restart().await;
    let after = state(&t.owner()).await;
    assert!(after["revision"].as_u64().unwrap() > before);
    assert_eq!(
        (&after["status"], &after["lastError"]),
        (&json!("disconnected"), &Value::Null)
    );
    assert_eq!(after, state(&t.owner()).await, "asking changes nothing");
}

#[tokio::test]
async fn the_owner_here_is_told_of_each_state_and_nobody_else_is() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let all = "/api/events";
    let of_room = format!("/api/rooms/{room}/events");
    let of_rooms = format!("/api/events?scope=room:{room}");
    let mut here = t.stream(&owner, all, None).await;
    let mut of_hall = t.stream(&owner, "/api/events?scope=hall", None).await;
    let mut others = vec![
        t.stream(&owner, &of_room, None).await,
        t.stream(&owner, &of_rooms, None).await,
        t.stream(&ada, all, None).await,
        t.stream(&t.process_of(&ada), all, None).await,
        t.stream(&owner.clone().with("via", "1.1 tunnel"), all, None)
            .await,
    ];
    for stream in others.iter_mut().chain([&mut here, &mut of_hall]) {
        stream.expect("snapshot").await;
    }
    let failed = open_to_the_end(&owner, json!({"mode": "embedded"})).await;
    for stream in [&mut here, &mut of_hall] {
        let mut last = 0;
        loop {
            let frame = stream.next().await;
            if frame.event != "browser_state" {
                continue;
            }
            assert_eq!((frame.id, &frame.data["scope"]), (None, &json!("hall")));
            assert_eq!(frame.data["type"], "browser_state");
            let revision = frame.inner()["revision"].as_u64().unwrap();
            assert!(revision > last, "{revision} behind {last}");
            last = revision;
            if frame.inner() == &failed {
                break;
            }
        }
    }
    // Whoever else listens hears what is said behind it, and of the browser nothing.
    t.say(&owner, &room, "hello").await;
    for stream in &mut others {
        loop {
            let frame = stream.next().await;
            assert_ne!(frame.event, "browser_state", "{frame:?}");
            if frame.event == "entry_added" {
                break;
            }
        }
    }
}
