//! A peer at the other end of two pipes that does what a script says: late, wrong, or not at all.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use guildhall_domain::{
    browser::{DisplayMode, InputStep, InputSteps, Viewport},
    limits::{BROWSER_TABS_MAX, CDP_CALL_MAX_S, CDP_GARBAGE_MESSAGES_MAX, CDP_MESSAGE_BYTES_MAX},
};
use guildhall_world::chromium::{
    BrowserError, BrowserEvent, Chromium, ChromiumExit, EventReceiver, over,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split},
    sync::mpsc,
    task::JoinHandle,
};

use crate::fake_agents::soon;

/// The peer, which answers each question with `{}` but for those of a list.
struct ScriptedDevtoolsPeer {
    write: Arc<tokio::sync::Mutex<Option<tokio::io::WriteHalf<DuplexStream>>>>,
    /// What it was asked, in order.
    asked: mpsc::UnboundedReceiver<Value>,
    /// Questions it does not answer, and those it refuses.
    silent: Arc<Mutex<Vec<&'static str>>>,
    refused: Arc<Mutex<Vec<&'static str>>>,
    reading: JoinHandle<()>,
}

impl ScriptedDevtoolsPeer {
    #[expect(clippy::disallowed_methods, reason = "a test has no supervisor")]
    fn open(mode: DisplayMode) -> (Self, Chromium, EventReceiver, JoinHandle<ChromiumExit>) {
        let (ours, theirs) = duplex(1 << 20);
        let (from, to) = split(ours);
        let (chromium, happenings, running) = over(mode, from, to);
        let (read, write) = split(theirs);
        let write = Arc::new(tokio::sync::Mutex::new(Some(write)));
        let (tell, asked) = mpsc::unbounded_channel();
        let silent = Arc::new(Mutex::new(Vec::new()));
        let refused = Arc::new(Mutex::new(Vec::new()));
        let (back, quiet, refuses) = (
            Arc::clone(&write),
            Arc::clone(&silent),
            Arc::clone(&refused),
        );
        let reading = tokio::spawn(async move {
            let mut read = BufReader::new(read);
            loop {
                let mut bytes = Vec::new();
                if !matches!(read.read_until(0, &mut bytes).await, Ok(1..)) {
                    return;
                }
                bytes.pop();
                let question: Value = serde_json::from_slice(&bytes).unwrap();
                let method = question["method"].as_str().unwrap();
                let is_in =
                    |list: &Mutex<Vec<&'static str>>| list.lock().unwrap().contains(&method);
                let (is_silent, is_refused) = (is_in(&quiet), is_in(&refuses));
                let answer = if is_refused {
                    json!({ "id": question["id"], "error": { "message": "no" } })
                } else {
                    json!({ "id": question["id"], "result": { "product": "Fake/1" } })
                };
                let _ = tell.send(question);
                if !is_silent {
                    send(&back, answer.to_string().as_bytes()).await;
                }
            }
        });
        let peer = Self {
            write,
            asked,
            silent,
            refused,
            reading,
        };
        (peer, chromium, happenings, tokio::spawn(running))
    }

    async fn says(&self, method: &str, session: &str, params: Value) {
        let mut event = json!({ "method": method, "params": params });
        if !session.is_empty() {
            event["sessionId"] = session.into();
        }
        send(&self.write, event.to_string().as_bytes()).await;
    }

    async fn writes(&self, bytes: &[u8]) {
        send(&self.write, bytes).await;
    }

    async fn opens(&self, target: &str, session: &str, kind: &str) {
        let info = json!({ "targetId": target, "type": kind, "url": "about:blank" });
        let params = json!({ "sessionId": session, "targetInfo": info });
        self.says("Target.attachedToTarget", "", params).await;
    }

    /// The next question of this name, past all others; answers those before it too.
    async fn is_asked(&mut self, method: &str) -> (Value, Vec<String>) {
        let mut before = Vec::new();
        loop {
            let asked = soon(self.asked.recv()).await.expect("it goes on asking");
            if asked["method"] == method {
                return (asked, before);
            }
            before.push(asked["method"].as_str().unwrap().to_owned());
        }
    }

    async fn ends(self) {
        self.write.lock().await.take();
        self.reading.abort();
    }
}

async fn send(to: &tokio::sync::Mutex<Option<tokio::io::WriteHalf<DuplexStream>>>, bytes: &[u8]) {
    if let Some(to) = to.lock().await.as_mut() {
        // Who does not listen any more hears nothing.
        let _ = to.write_all(&[bytes, b"\0"].concat()).await;
    }
}

#[tokio::test]
async fn a_target_goes_on_only_behind_its_guard() {
    let (mut peer, _chromium, mut happenings, _running) =
        ScriptedDevtoolsPeer::open(DisplayMode::Embedded);
    peer.is_asked("Target.setAutoAttach").await;
    peer.opens("t", "s", "page").await;
    let (go, before) = peer.is_asked("Runtime.runIfWaitingForDebugger").await;
    assert_eq!(go["sessionId"], "s");
    assert_eq!(before[0], "Fetch.enable");
    for guard in [
        "Network.setBlockedURLs",
        "Target.setAutoAttach",
        "Page.enable",
    ] {
        assert!(before.iter().any(|asked| asked == guard), "{before:?}");
    }
    let Some(BrowserEvent::TabOpened { opener: None, .. }) = happenings.next().await else {
        panic!("no tab");
    };
    let Some(BrowserEvent::TabChanged { page, .. }) = happenings.next().await else {
        panic!("nothing in it");
    };
    assert_eq!(page.url, "about:blank");
    let version = "Fake/1".to_owned();
    assert_eq!(happenings.next().await, Some(BrowserEvent::Ready(version)));
}

#[tokio::test]
async fn a_target_that_cannot_be_guarded_is_closed() {
    let (mut peer, _chromium, _happenings, _running) =
        ScriptedDevtoolsPeer::open(DisplayMode::Embedded);
    peer.is_asked("Target.setAutoAttach").await;
    peer.refused.lock().unwrap().push("Fetch.enable");
    peer.opens("t", "s", "page").await;
    let (closed, before) = peer.is_asked("Target.closeTarget").await;
    assert_eq!(closed["params"]["targetId"], "t");
    assert_eq!(before, ["Fetch.enable"]);
}

#[tokio::test]
async fn one_tab_too_many_is_closed_at_once() {
    let (mut peer, _chromium, _happenings, _running) =
        ScriptedDevtoolsPeer::open(DisplayMode::Embedded);
    peer.is_asked("Target.setAutoAttach").await;
    for number in 0..=BROWSER_TABS_MAX {
        peer.opens(&format!("t{number}"), &format!("s{number}"), "page")
            .await;
    }
    let (closed, _) = peer.is_asked("Target.closeTarget").await;
    assert_eq!(closed["params"]["targetId"], format!("t{BROWSER_TABS_MAX}"));
}

#[tokio::test]
async fn a_document_loads_when_it_is_of_the_web() {
    let (mut peer, _chromium, _happenings, _running) =
        ScriptedDevtoolsPeer::open(DisplayMode::Embedded);
    peer.is_asked("Target.setAutoAttach").await;
    peer.opens("t", "s", "page").await;
    peer.is_asked("Runtime.runIfWaitingForDebugger").await;
    for (number, (url, frame, session, may)) in [
        ("http://a/", "t", "s", true),
        ("https://a/", "inner", "s", true),
        ("data:text/html,x", "inner", "s", true),
        ("data:text/html,x", "t", "s", false),
        ("file:///etc/passwd", "t", "s", false),
        ("file:///etc/passwd", "inner", "s", false),
        ("chrome://version/", "t", "s", false),
        ("http://a/", "t", "nobody", false),
    ]
    .into_iter()
    .enumerate()
    {
        let request = number.to_string();
        let params = json!({
            "requestId": request, "frameId": frame, "request": { "url": url },
        });
        peer.says("Fetch.requestPaused", session, params).await;
        let expected = if may {
            "Fetch.continueRequest"
        } else {
            "Fetch.failRequest"
        };
        let (asked, _) = peer.is_asked(expected).await;
        assert_eq!(asked["params"]["requestId"], request, "{url}");
    }
    // What is not fetched at all is stopped, and left.
    let params = json!({ "frameId": "t", "loaderId": "l", "url": "chrome://version/" });
    peer.says("Page.frameStartedNavigating", "s", params).await;
    peer.is_asked("Page.stopLoading").await;
    let frame = json!({ "frame": { "id": "t", "loaderId": "l", "url": "chrome://version/" } });
    peer.says("Page.frameNavigated", "s", frame).await;
    let (left, _) = peer.is_asked("Page.navigate").await;
    assert_eq!(left["params"]["url"], "about:blank");
}

#[tokio::test]
async fn there_is_no_way_round_a_certificate() {
    let (mut peer, chromium, mut happenings, _running) =
        ScriptedDevtoolsPeer::open(DisplayMode::Embedded);
    peer.is_asked("Target.setAutoAttach").await;
    peer.opens("t", "s", "page").await;
    let Some(BrowserEvent::TabOpened { tab, .. }) = happenings.next().await else {
        panic!("no tab");
    };
    let word = InputStep::Text {
        text: "thisisunsafe".to_owned(),
    };
    let steps = InputSteps::checked(vec![word], Viewport::default()).unwrap();
    for (url, error, is_refused) in [
        (
            "chrome-error://chromewebdata/",
            "net::ERR_CERT_DATE_INVALID",
            true,
        ),
        (
            "chrome-error://chromewebdata/",
            "net::ERR_CONNECTION_REFUSED",
            false,
        ),
        ("https://a/", "", false),
    ] {
        let params = json!({ "frameId": "t", "loaderId": "l", "url": "https://a/" });
        peer.says("Page.frameStartedNavigating", "s", params).await;
        if !error.is_empty() {
            let params = json!({ "requestId": "l", "type": "Document", "errorText": error });
            peer.says("Network.loadingFailed", "s", params).await;
        }
        let frame = json!({ "frame": { "id": "t", "loaderId": "l", "url": url } });
        peer.says("Page.frameNavigated", "s", frame).await;
        // Behind it in the pipe, so that it is known by then.
        chromium.ping().await.unwrap();
        let refused = chromium.input(tab, &steps).await;
        assert_eq!(refused.is_err(), is_refused, "{error}");
    }
    // The first that was let through came behind the second ping.
    let (_, before) = peer.is_asked("Input.insertText").await;
    let pings = before.iter().filter(|asked| *asked == "Browser.getVersion");
    assert_eq!(pings.count(), 2);
}

#[tokio::test]
async fn the_title_that_a_document_tells_counts_until_the_next_document() {
    let (mut peer, _chromium, mut happenings, _running) =
        ScriptedDevtoolsPeer::open(DisplayMode::Embedded);
    peer.is_asked("Target.setAutoAttach").await;
    peer.opens("t", "s", "page").await;
    let mut title_at = async |url: &str| loop {
        match soon(happenings.next()).await {
            Some(BrowserEvent::TabChanged { page, .. }) if page.url == url => break page.title,
            Some(_) => {}
            None => panic!("it ended"),
        }
    };
    let frame = json!({ "frame": { "id": "t", "loaderId": "l", "url": "https://a/" } });
    let info = |url: &str| {
        // Chromium has no other title while it knows the address alone.
        let info = json!({ "targetId": "t", "type": "page", "url": url, "title": url });
        json!({ "targetInfo": info })
    };
    let tells = json!({ "name": "guildhallTells", "payload": "title:A shop" });
    peer.says("Page.frameNavigated", "s", frame.clone()).await;
    peer.says("Runtime.bindingCalled", "s", tells).await;
    peer.says("Target.targetInfoChanged", "", info("https://a/"))
        .await;
    assert_eq!(title_at("https://a/").await, "A shop");
    peer.says("Page.frameNavigated", "s", frame).await;
    peer.says("Target.targetInfoChanged", "", info("https://a/b"))
        .await;
    assert_eq!(title_at("https://a/b").await, "https://a/b");
}

#[tokio::test]
async fn a_picture_of_the_document_before_is_left_out_and_the_film_begins_anew() {
    let (mut peer, chromium, mut happenings, _running) =
        ScriptedDevtoolsPeer::open(DisplayMode::Embedded);
    peer.is_asked("Target.setAutoAttach").await;
    peer.opens("t", "s", "page").await;
    let Some(BrowserEvent::TabOpened { tab, .. }) = happenings.next().await else {
        panic!("no tab");
    };
    chromium.start_screencast(tab, 640, 480).await.unwrap();
    peer.is_asked("Page.startScreencast").await;
    let picture = |number: u32, taken_at: f64| {
        let metadata = json!({ "deviceWidth": 800, "deviceHeight": 600, "timestamp": taken_at });
        json!({ "data": "anBlZw==", "sessionId": number, "metadata": metadata })
    };
    let frame = json!({ "frame": { "id": "t", "loaderId": "l", "url": "https://a/" } });
    peer.says("Page.frameNavigated", "s", frame).await;
    // What comes while the film is begun anew is no reason to begin it once more.
    let film = ["Page.stopScreencast", "Page.startScreencast"];
    peer.silent.lock().unwrap().extend(film);
    for number in [1, 2] {
        peer.says("Page.screencastFrame", "s", picture(number, 1.0))
            .await;
    }
    let (mut seen, mut stopped) = (Vec::new(), None);
    while seen.len() < 2 || stopped.is_none() {
        let asked = soon(peer.asked.recv()).await.unwrap();
        match asked["method"].as_str().unwrap() {
            "Page.screencastFrameAck" => seen.push(asked["params"]["sessionId"].clone()),
            "Page.stopScreencast" => stopped = Some(asked["id"].clone()),
            other => panic!("{other}"),
        }
    }
    assert_eq!(seen, [1, 2]);
    let answer = |id: &Value| json!({ "id": id, "result": {} }).to_string().into_bytes();
    peer.writes(&answer(&stopped.unwrap())).await;
    let (begun, before) = peer.is_asked("Page.startScreencast").await;
    assert_eq!(before, [""; 0]);
    assert_eq!(begun["params"]["maxWidth"], 640);
    // Years from now, so it is of the document that came.
    peer.says("Page.screencastFrame", "s", picture(3, 9e9))
        .await;
    let shown = loop {
        match soon(happenings.next()).await {
            Some(BrowserEvent::Frame(frame)) => break frame,
            Some(_) => {}
            None => panic!("it ended"),
        }
    };
    assert_eq!((shown.width, shown.height), (800, 600));
    // The film has begun: a clock that jumped keeps no more pictures back.
    peer.writes(&answer(&begun["id"])).await;
    chromium.ping().await.unwrap();
    peer.says("Page.screencastFrame", "s", picture(4, 1.0))
        .await;
    assert!(matches!(
        soon(happenings.next()).await,
        Some(BrowserEvent::Frame(_))
    ));
    assert!(
        peer.asked
            .try_recv()
            .is_ok_and(|asked| asked["method"] == "Browser.getVersion")
    );
    assert!(peer.asked.try_recv().is_err(), "nothing else is asked");
}

#[tokio::test]
async fn in_a_window_only_shared_tabs_are_guarded() {
    let (mut peer, chromium, mut happenings, _running) =
        ScriptedDevtoolsPeer::open(DisplayMode::Window);
    peer.is_asked("Target.setAutoAttach").await;
    peer.opens("t", "s", "page").await;
    let (_, before) = peer.is_asked("Runtime.runIfWaitingForDebugger").await;
    assert!(!before.iter().any(|asked| asked == "Network.setBlockedURLs"));
    let Some(BrowserEvent::TabOpened { tab, .. }) = happenings.next().await else {
        panic!("no tab");
    };
    for (is_guarded, expected) in [
        (false, "Fetch.continueRequest"),
        (true, "Fetch.failRequest"),
    ] {
        chromium.guard(tab, is_guarded);
        let request = json!({ "url": "file:///etc/hosts" });
        let params = json!({ "requestId": "1", "frameId": "t", "request": request });
        peer.says("Fetch.requestPaused", "s", params).await;
        peer.is_asked(expected).await;
    }
    for (payload, expected) in [
        ("human", Some(BrowserEvent::HumanInput(tab))),
        ("anything", None),
        ("visible", Some(BrowserEvent::Visible(tab))),
    ] {
        let params = json!({ "name": "guildhallTells", "payload": payload });
        peer.says("Runtime.bindingCalled", "s", params).await;
        while let Some(expected) = &expected {
            if happenings.next().await.as_ref() == Some(expected) {
                break;
            }
        }
    }
}

#[tokio::test]
async fn ten_messages_in_a_row_that_are_none_end_it() {
    let (mut peer, chromium, mut happenings, running) =
        ScriptedDevtoolsPeer::open(DisplayMode::Embedded);
    peer.is_asked("Target.setAutoAttach").await;
    for _ in 1..CDP_GARBAGE_MESSAGES_MAX {
        peer.writes(b"{\"nonsense\":").await;
    }
    peer.says("Unknown.event", "s", json!({ "deep": [[1]] }))
        .await;
    for _ in 1..CDP_GARBAGE_MESSAGES_MAX {
        peer.writes(b"\xff\xfe").await;
    }
    chromium.ping().await.unwrap();
    for _ in 0..CDP_GARBAGE_MESSAGES_MAX {
        peer.writes(b"").await;
    }
    assert!(soon(running).await.unwrap().is_garbage);
    assert_eq!(happenings.next().await, None);
    assert_eq!(chromium.ping().await, Err(BrowserError::Gone));
}

#[tokio::test]
async fn a_message_that_is_too_long_is_dropped() {
    let (mut peer, chromium, _happenings, _running) =
        ScriptedDevtoolsPeer::open(DisplayMode::Embedded);
    peer.is_asked("Target.setAutoAttach").await;
    let piece = vec![b' '; 1 << 20];
    for _ in 0..=CDP_MESSAGE_BYTES_MAX >> 20 {
        let mut to = peer.write.lock().await;
        to.as_mut().unwrap().write_all(&piece).await.unwrap();
    }
    peer.writes(b"{}").await;
    chromium.ping().await.unwrap();
}

#[tokio::test]
async fn the_end_of_the_pipe_ends_all_waiting() {
    let (mut peer, chromium, mut happenings, running) =
        ScriptedDevtoolsPeer::open(DisplayMode::Embedded);
    peer.is_asked("Target.setAutoAttach").await;
    peer.silent.lock().unwrap().push("Browser.getVersion");
    let ping = chromium.clone();
    let (answer, ()) = tokio::join!(ping.ping(), async {
        peer.is_asked("Browser.getVersion").await;
        peer.ends().await;
    });
    assert_eq!(answer, Err(BrowserError::Gone));
    assert_eq!(happenings.next().await, None);
    let ended = soon(running).await.unwrap();
    assert_eq!((ended.code, ended.is_garbage), (None, false));
}

#[tokio::test(start_paused = true)]
async fn who_gets_no_answer_stops_waiting_and_a_late_one_means_nothing() {
    let (peer, chromium, _happenings, _running) = ScriptedDevtoolsPeer::open(DisplayMode::Embedded);
    chromium.ping().await.unwrap();
    peer.silent.lock().unwrap().push("Browser.getVersion");
    assert_eq!(chromium.ping().await, Err(BrowserError::Timeout));
    for id in 0..20 {
        peer.writes(format!("{{\"id\":{id},\"result\":{{}}}}").as_bytes())
            .await;
    }
    peer.silent.lock().unwrap().clear();
    chromium.ping().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_comes_up_slowly_is_driven_all_the_same() {
    let (mut peer, _chromium, _happenings, _running) =
        ScriptedDevtoolsPeer::open(DisplayMode::Embedded);
    peer.silent.lock().unwrap().push("Browser.getVersion");
    let (first, _) = peer.is_asked("Browser.getVersion").await;
    tokio::time::advance(Duration::from_secs(2 * CDP_CALL_MAX_S)).await;
    let answer = json!({ "id": first["id"], "result": { "product": "Fake/1" } });
    peer.writes(answer.to_string().as_bytes()).await;
    peer.is_asked("Target.setAutoAttach").await;
}

#[tokio::test]
async fn killing_it_ends_the_talk_at_once() {
    let (mut peer, chromium, mut happenings, running) =
        ScriptedDevtoolsPeer::open(DisplayMode::Embedded);
    peer.is_asked("Target.setAutoAttach").await;
    chromium.kill();
    assert!(!soon(running).await.unwrap().is_garbage);
    while happenings.next().await.is_some() {}
    assert_eq!(chromium.ping().await, Err(BrowserError::Gone));
}
