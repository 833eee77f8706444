//! The walls around the local browser with Chromium itself: who may not open it, what its pages
//! may not reach, and what is told of nobody. Source: contract 7.1, 7.9, 7.12 (1, 2, 13, 14, 17).

use std::{fs, sync::Mutex};

use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::{
    browser_observation::{StreamViewer, below, raw, tab_of, text},
    browser_server::{BROWSER, ServerWithChromium, is_installed},
    server_process,
    test_sites::{SitePage, TestSite},
};

/// What stands in no event, log or answer.
const CANARY: &str = "correct-horse-canary-staple";

#[test]
fn who_may_not_open_it_starts_no_process() {
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let port = house.server.port();
    let before = house.state();
    let own = format!("Host: 127.0.0.1:{port}");
    let with = |header: &str| format!("{own}\r\n{header}");
    let token = "gha_0123456789012345678901234567890123456789012";
    let path = format!("{BROWSER}/open");
    for (headers, status, code) in [
        (
            "Host: guildhall.example".to_owned(),
            403,
            "HOST_NOT_ALLOWED",
        ),
        (
            format!("Host: 127.0.0.1.example:{port}"),
            403,
            "HOST_NOT_ALLOWED",
        ),
        (
            with("Origin: https://guildhall.example"),
            403,
            "ORIGIN_NOT_ALLOWED",
        ),
        (with("Origin: null"), 403, "ORIGIN_NOT_ALLOWED"),
        (
            with("Sec-Fetch-Site: cross-site"),
            403,
            "ORIGIN_NOT_ALLOWED",
        ),
        (with("X-Forwarded-For: 203.0.113.7"), 403, "OWNER_HERE_ONLY"),
        (with("X-Forwarded-Host: 127.0.0.1"), 403, "OWNER_HERE_ONLY"),
        (with("Forwarded: for=203.0.113.7"), 403, "OWNER_HERE_ONLY"),
        (with("X-Real-IP: 203.0.113.7"), 403, "OWNER_HERE_ONLY"),
        (with("Via: 1.1 tunnel"), 403, "OWNER_HERE_ONLY"),
        (with("X-Service-Agent: "), 401, "AGENT_IDENTITY_UNVERIFIED"),
        (
            with("X-Service-Agent: anybody"),
            401,
            "AGENT_IDENTITY_UNVERIFIED",
        ),
        (
            with(&format!("Authorization: Bearer {token}")),
            401,
            "AGENT_IDENTITY_UNVERIFIED",
        ),
    ] {
        let head = format!("POST {path} HTTP/1.1\r\n{headers}\r\nContent-Type: application/json");
        let (answered, answer) = raw(port, &head, r#"{"mode":"embedded"}"#);
        assert_eq!(answered, status, "{headers}: {answer}");
        assert!(answer.contains(code), "{headers}: {answer}");
        // The handshake of the stream meets the same checks.
        let head = format!(
            "GET {BROWSER}/stream HTTP/1.1\r\n{headers}\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        );
        let (answered, answer) = raw(port, &head, "");
        assert_eq!(answered, status, "{headers}: {answer}");
    }
    assert_eq!(below(house.server.pid()), [0; 0]);
    assert_eq!(house.state(), before);
    assert_eq!(house.browser_events(), []);
}

#[test]
fn looking_starts_nothing_and_changes_nothing() {
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let before = (house.state(), server_process::head(house.server.port()));
    let nothing = "0192f0c1-2d3e-7abc-8def-0123456789ab";
    for path in ["selection", "screenshot"] {
        let path = format!("/tabs/{nothing}/{path}");
        assert_eq!(house.ask("GET", &path, &Value::Null).0, 404);
    }
    let mut viewer = StreamViewer::open(&house);
    assert_eq!(viewer.words("state")["revision"], before.0["revision"]);
    viewer.say(&json!({"type": "view", "tabId": nothing}));
    let refused = viewer.input(1, 1, &json!([{"type": "text", "text": "x"}]));
    assert_eq!(refused["code"], "STALE");
    assert_eq!(
        (house.state(), server_process::head(house.server.port())),
        before
    );
    assert_eq!(below(house.server.pid()), [0; 0]);
    assert!(!house.scratch.path().join("data/browser/profile").exists());
}

/// How many requests were answered.
#[derive(Debug, Default)]
struct ResponseCounts {
    refused_reads: u64,
    refused_posts: u64,
    /// Everything that was not refused.
    others: u64,
}

fn answered(port: u16) -> ResponseCounts {
    let head = format!("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:{port}");
    let (status, text) = raw(port, &head, "");
    assert_eq!(status, 200);
    let mut answered = ResponseCounts::default();
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("guildhall_requests_total{") else {
            continue;
        };
        let count = rest.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
        // Counts are whole and small.
        let count = format!("{count:.0}").parse::<u64>().unwrap();
        let is_of = |method: &str| rest.contains(&format!("method=\"{method}\""));
        match rest.contains("4xx") {
            false => answered.others += count,
            true if is_of("GET") => answered.refused_reads += count,
            true if is_of("POST") => answered.refused_posts += count,
            true => {}
        }
    }
    answered
}

/// Tries everything a page can against another listener, and tells what it saw. `OWN` is that
/// listener.
const HOSTILE: &str = r#"<title>hostile</title><body><script type=module>
const own = 'OWN', seen = {};
const settle = async (name, it) => {
  try { seen[name] = await it } catch (error) { seen[name] = 'error' }
};
const event = (target, bad, good) => new Promise(is => {
  target['on' + bad] = () => is('error'); target['on' + good] = () => is(good) });
const add = (name, fields) => {
  const it = Object.assign(document.createElement(name), fields);
  const heard = event(it, 'error', 'load'); document.body.append(it); return heard };
const text = async ask => (await ask).text();
const body = JSON.stringify({kind: 'channel', name: 'written'});
await settle('fetch', text(fetch(own + '/api/rooms')));
await settle('credentials', text(fetch(own + '/api/rooms', {credentials: 'include'})));
await settle('blind', text(fetch(own + '/api/rooms', {mode: 'no-cors'})));
await settle('post', text(fetch(own + '/api/rooms',
  {method: 'POST', mode: 'no-cors', body, headers: {'content-type': 'text/plain'}})));
await settle('json', text(fetch(own + '/api/rooms',
  {method: 'POST', body, headers: {'content-type': 'application/json'}})));
await settle('delete', text(fetch(own + '/api/rooms/x', {method: 'DELETE'})));
await settle('open', text(fetch(own + '/api/local-browser/open',
  {method: 'POST', mode: 'no-cors', body: '{"mode":"window"}'})));
await settle('redirect', text(fetch('/to-rooms')));
await settle('redirected post', text(fetch('/to-rooms', {method: 'POST', body})));
await settle('image', add('img', {src: own + '/favicon.ico'}));
await settle('script', add('script', {src: own + '/api/rooms'}));
await settle('style', add('link', {rel: 'stylesheet', href: own + '/api/rooms'}));
await settle('beacon', navigator.sendBeacon(own + '/api/rooms', body));
await settle('socket', event(new WebSocket(own.replace('http', 'ws') + '/api/events'), 'error', 'open'));
await settle('stream', event(new WebSocket(own.replace('http', 'ws') + '/api/local-browser/stream',
  'guildhall-browser.v1'), 'error', 'open'));
await settle('events', event(new EventSource(own + '/api/events'), 'error', 'open'));
const worker = new Worker('/worker.js');
worker.postMessage(own);
await settle('worker', new Promise(is => worker.onmessage = ({data}) => is(data)));
const frame = document.createElement('iframe'); frame.name = 'target'; document.body.append(frame);
const form = Object.assign(document.createElement('form'),
  {method: 'post', action: own + '/api/rooms', enctype: 'text/plain', target: 'target'});
form.append(Object.assign(document.createElement('input'), {name: body.slice(0, -1), value: '}'}));
document.body.append(form);
const sent = new Promise(is => frame.onload = () => is('load'));
form.submit();
await settle('form', sent);
await settle('frame', add('iframe', {src: own + '/'}));
await settle('frames words', frame.contentDocument?.body?.innerText ?? 'hidden');
await fetch('/told', {method: 'POST', body: JSON.stringify(seen)});
</script>"#;

const WORKER: &str = "onmessage = async ({data}) => { try { \
    postMessage(await (await fetch(data + '/api/rooms')).text()) } catch { postMessage('error') } }";

#[test]
fn where_the_kernel_is_not_asked_the_server_is_out_of_reach() {
    let env = [("GUILDHALL_PEER_CHECK", "off")];
    let Some(house) = ServerWithChromium::with(&env) else {
        return;
    };
    let site = TestSite::page("<title>elsewhere</title>");
    house.connected(json!({"mode": "embedded", "url": site.url("/")}));
    house.until_title("elsewhere");
    let tab = house.shown();
    let port = house.server.port();
    for host in ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "127.1"] {
        let ask = json!({"url": format!("http://{host}:{port}/api/local-browser")});
        house.post(&format!("/tabs/{tab}/navigate"), ask);
        house.until(|state| {
            let tab = tab_of(state, &tab);
            tab["loading"] == false
                && tab["error"]
                    .as_str()
                    .is_some_and(|error| error.contains("ERR_NAME_NOT_RESOLVED"))
        });
        house.visit(&site.url("/"));
    }
}

#[test]
fn a_page_reaches_nothing_of_the_main_listener_whatever_it_tries() {
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let folder = house.scratch.path().join("site");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("index.html"), "<title>served words</title>").unwrap();
    let sign = json!({"kind": "serve", "cwd": folder, "path": ""});
    let (status, signed) = house.server.ask("POST", "/api/workbench/sign", Some(&sign));
    assert_eq!(status, 200, "{signed}");
    let (target, served) = (house.server.url.clone(), text(&signed["url"]));
    let (_, place) = served.split_once("/api/").unwrap();
    let served = format!("{target}/api/{place}");
    let site = TestSite::new(move |asked| match asked.path.as_str() {
        "/worker.js" => SitePage::of("text/javascript", WORKER),
        "/to-rooms" => SitePage::redirect(&format!("{target}/api/rooms")),
        _ => SitePage::html(HOSTILE.replace("OWN", &target)),
    });
    house.connected(json!({"mode": "embedded"}));
    let tab = house.shown();
    let rooms = house.server.ask("GET", "/api/rooms", None).1;
    let head = server_process::head(house.server.port());
    let ask = json!({"url": site.url("/")});
    let before = answered(house.server.port());
    house.post(&format!("/tabs/{tab}/navigate"), ask);
    let seen = site.reports();
    let after = answered(house.server.port());
    for (name, expected) in [
        ("fetch", "error"),
        ("credentials", "error"),
        ("blind", "error"),
        ("post", "error"),
        ("json", "error"),
        ("delete", "error"),
        ("open", "error"),
        ("redirect", "error"),
        ("redirected post", "error"),
        ("image", "error"),
        ("script", "error"),
        ("style", "error"),
        ("socket", "error"),
        ("stream", "error"),
        ("events", "error"),
        ("worker", "error"),
        ("frames words", "hidden"),
    ] {
        assert_eq!(seen[name], expected, "{name}: {seen}");
    }
    // Beside the navigation and the first look at the counts nothing was answered but with a
    // refusal. How much of what was tried Chromium sends depends on its version.
    assert_eq!(after.others - before.others, 2, "{before:?} {after:?}");
    assert!(
        after.refused_reads > before.refused_reads && after.refused_posts > before.refused_posts,
        "reads and posts arrived: {before:?} {after:?}"
    );
    assert_eq!(house.server.ask("GET", "/api/rooms", None).1, rooms);
    assert_eq!(
        server_process::head(house.server.port()),
        head,
        "nothing happened"
    );
    assert_eq!(house.state()["mode"], "embedded");
    house.post(&format!("/tabs/{tab}/navigate"), json!({"url": served}));
    house.until_title("served words");
}

/// A page whose one link is as large as itself and opens another window.
fn opener(to: &str, how: &str) -> String {
    format!(
        "<title>opener</title><a {how} href=\"{to}\" style='position:fixed;inset:0'>open</a>\
         <script>document.querySelector('a').onclick = event => {{\
         if (event.target.dataset.window) {{ event.preventDefault(); window.open(event.target.href) }} }}\
         </script>"
    )
}

fn click(house: &ServerWithChromium, tab: &str) {
    let step = json!({"type": "click", "x": 100, "y": 100, "button": "left", "count": 1});
    let ask = json!({"connectionId": house.state()["connectionId"], "steps": [step]});
    house.post(&format!("/tabs/{tab}/input"), ask);
}

#[test]
fn a_page_that_goes_to_the_main_listener_reads_its_refusal_alone() {
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let own = house.server.url.clone();
    let target = own.clone();
    let site = TestSite::new(move |asked| match asked.path.as_str() {
        "/redirect" => SitePage::redirect(&format!("{target}/api/local-browser")),
        "/form" => SitePage::html(format!(
            "<form method=post action=\"{target}/api/local-browser/close\" enctype=text/plain>\
             <input name='{{\"a' value='\":1}}'></form><script>document.forms[0].submit()</script>"
        )),
        "/moved" => SitePage::html(format!("<script>location = '{target}/'</script>")),
        "/link" => SitePage::html(opener(&format!("{target}/api/rooms"), "target=_blank")),
        _ => SitePage::html(opener(&format!("{target}/"), "data-window=1")),
    });
    house.connected(json!({"mode": "embedded"}));
    // Who posts across origins meets the rule against that first.
    let is_refused = |words: &str| {
        ["LOCAL_BROWSER_REFUSED", "ORIGIN_NOT_ALLOWED"]
            .iter()
            .any(|code| words.contains(code))
    };
    let tab = house.shown();
    for path in ["/redirect", "/form", "/moved"] {
        house.post(
            &format!("/tabs/{tab}/navigate"),
            json!({"url": site.url(path)}),
        );
        house.until(|state| text(&tab_of(state, &tab)["url"]).starts_with(&own));
        house.until_reads(&tab, is_refused);
    }
    for path in ["/link", "/window"] {
        house.visit(&site.url(path));
        let before = house.state()["tabs"].as_array().unwrap().len();
        click(&house, &tab);
        let state = house.until(|state| state["tabs"].as_array().unwrap().len() > before);
        let popup = text(&state["tabs"][before]["id"]);
        house.until(|state| text(&tab_of(state, &popup)["url"]).starts_with(&own));
        house.until_reads(&popup, is_refused);
        let (status, _) = house.ask("DELETE", &format!("/tabs/{popup}"), &Value::Null);
        assert_eq!(status, 200);
        house.post(&format!("/tabs/{tab}/select"), json!({}));
    }
    assert_eq!(house.state()["status"], "connected", "no form closed it");
}

#[test]
fn other_schemes_show_nothing_by_route_redirect_frame_or_pop_up() {
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let secret = house.scratch.path().join("secret.html");
    fs::write(&secret, format!("<title>{CANARY}</title>{CANARY}")).unwrap();
    let addresses = [
        format!("file://{}", secret.display()),
        "chrome://version/".to_owned(),
        "devtools://devtools/bundled/inspector.html".to_owned(),
        format!("view-source:file://{}", secret.display()),
        // Where a page says so itself it is its own script, and shows nothing that is not its.
        format!("javascript:document.write('{CANARY}')"),
    ];
    let known: Mutex<Vec<String>> = Mutex::new(addresses.to_vec());
    let site = TestSite::new(move |asked| {
        let known = known.lock().unwrap();
        let (how, number) = asked.path[1..].split_once('/').unwrap_or_default();
        let Some(address) = number.parse::<usize>().ok().and_then(|at| known.get(at)) else {
            return SitePage::html("<title>elsewhere</title>");
        };
        match how {
            "redirect" => SitePage::redirect(address),
            "go" => SitePage::html(format!(
                "<title>going</title><script>try {{ location = \"{address}\" }} catch {{}}</script>"
            )),
            "frame" => SitePage::html(format!(
                "<title>framing</title><iframe id=f src=\"{address}\"></iframe><script>onload = () => {{\
                 let words = ''; try {{ words = f.contentDocument.title + f.contentDocument.body.innerText }}\
                 catch {{}} document.title = 'framed ' + words }}</script>"
            )),
            "link" => SitePage::html(opener(address, "target=_blank")),
            _ => SitePage::html(opener(address, "data-window=1")),
        }
    });
    house.connected(json!({"mode": "embedded"}));
    let tab = house.shown();
    let shows_nothing = |what: &str| {
        let state = house.state();
        for tab in state["tabs"].as_array().unwrap() {
            let url = text(&tab["url"]);
            let is_web = ["http://", "about:blank", "chrome-error://"]
                .iter()
                .any(|known| url.starts_with(known));
            assert!(is_web || url.is_empty(), "{what}: {url}");
            assert!(!text(&tab["title"]).contains(CANARY), "{what}: {tab}");
            let path = format!("/tabs/{}/selection", text(&tab["id"]));
            let (_, selected) = house.ask("GET", &path, &Value::Null);
            assert!(!selected.to_string().contains(CANARY), "{what}");
        }
    };
    for (at, address) in addresses.iter().enumerate() {
        for (path, ask) in [
            (format!("/tabs/{tab}/navigate"), json!({"url": address})),
            ("/tabs".to_owned(), json!({"url": address})),
            (
                "/open".to_owned(),
                json!({"mode": "embedded", "url": address}),
            ),
        ] {
            let (status, refused) = house.ask("POST", &path, &ask);
            assert_eq!(
                (status, &refused["code"]),
                (400, &json!("URL_NOT_ALLOWED")),
                "{address}"
            );
        }
        let ways = ["redirect", "go", "frame", "link", "window"];
        let is_script = address.starts_with("javascript:");
        for how in &ways[..if is_script { 1 } else { ways.len() }] {
            let what = format!("{how} to {address}");
            let url = site.url(&format!("/{how}/{at}"));
            house.post(&format!("/tabs/{tab}/navigate"), json!({"url": url}));
            house.until(|state| tab_of(state, &tab)["loading"] == false);
            if *how == "frame" {
                house.until(|state| text(&tab_of(state, &tab)["title"]).starts_with("framed"));
            }
            if ["link", "window"].contains(how) {
                house.until_title("opener");
                click(&house, &tab);
            }
            // A tab that comes behind it is there behind whatever became of it.
            let state = house.post("/tabs", json!({"url": site.url("/elsewhere")}));
            let behind = text(&state["selectedTabId"]);
            house.until(|state| tab_of(state, &behind)["title"] == "elsewhere");
            shows_nothing(&what);
            for other in house.state()["tabs"].as_array().unwrap() {
                if other["id"] != tab.as_str() {
                    let path = format!("/tabs/{}", text(&other["id"]));
                    // A pop-up may have been closed by itself.
                    house.ask("DELETE", &path, &Value::Null);
                }
            }
        }
    }
}

#[test]
fn what_a_person_types_into_a_password_field_is_told_nowhere() {
    if !is_installed() {
        return;
    }
    let scratch = Scratch::new("browser");
    let log = scratch.path().join("log");
    let file = fs::File::create(&log).unwrap();
    let server = ServerWithChromium::begin(&scratch, &[], Some(file));
    let house = ServerWithChromium { scratch, server };
    let site = TestSite::page(
        "<title>empty</title><input type=password autofocus \
         oninput='document.title = this.value.length'>",
    );
    let session = house.session();
    let ask = json!({"mode": "embedded", "url": site.url("/"), "sessionId": session});
    house.connected(ask);
    let state = house.until_title("empty");
    let tab = text(&state["selectedTabId"]);
    let mut viewer = StreamViewer::open(&house);
    let first = viewer.words("state");
    let view = viewer.view(&tab);
    let (half, rest) = CANARY.split_at(8);
    let typed = |text: &str| json!([{"type": "text", "text": text}]);
    let result = viewer.input(1, view, &typed(half));
    assert_eq!(result["ok"], true);
    let ask = json!({"connectionId": state["connectionId"], "steps": typed(rest)});
    let answer = house.post(&format!("/tabs/{tab}/input"), ask);
    let length = CANARY.len().to_string();
    let state = house.until_title(&length);
    // And the same by keys, of which none is told either.
    for key in "xyzzy".chars() {
        let code = format!("Key{}", key.to_ascii_uppercase());
        let keys = json!([{"type": "keyDown", "key": key, "code": code, "modifiers": 0},
            {"type": "keyUp", "key": key, "code": code, "modifiers": 0}]);
        viewer.input(2, view, &keys);
    }
    house.until_title(&(CANARY.len() + 5).to_string());
    let all = server_process::frames(
        house.server.port(),
        "/api/events",
        0,
        server_process::head(house.server.port()),
    );
    assert!(all.len() > 3);
    let log = fs::read_to_string(log).unwrap();
    assert!(log.len() > 1_000, "it tells what it does");
    let heard = [first, result, answer, state, json!(all), json!(log)];
    for secret in [CANARY, half, rest, "xyzzy"] {
        for words in &heard {
            let words = words.to_string();
            assert!(!words.contains(secret), "{secret} in {words}");
        }
    }
    house.post("/close", json!({}));
    house.until(|state| state["status"] == "disconnected");
    let data = house.scratch.path().join("data");
    // What Chromium keeps of its own is its own; everything else is ours.
    let (mut folders, mut files) = (vec![data.clone()], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() && path != data.join("browser") {
                folders.push(path);
            } else if kind.is_file() {
                let bytes = fs::read(&path).unwrap_or_default();
                let bytes = String::from_utf8_lossy(&bytes);
                assert!(
                    !bytes.contains(CANARY) && !bytes.contains(rest),
                    "{}",
                    path.display()
                );
                files += 1;
            }
        }
    }
    assert!(files > 1);
}
