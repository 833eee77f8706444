//! The local browser in a window of its own, at a real X server without a monitor.
//! Source: contract 7.10, 7.12 (5, 19, 20).

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    browser_lifecycle::listens_nowhere,
    browser_observation::{
        StreamViewer, ViewerMessage, below, kill_group_of, seen_below, tab_of, text, until_some,
    },
    browser_server::{ServerWithChromium, is_installed},
    test_sites::{SitePage, TestSite},
};

/// What a test here needs beside Chromium.
const TOOLS: [&str; 3] = ["Xvfb", "xwininfo", "xdotool"];

/// A field as large as the page, which is called as it says.
const FIELD: &str = "<title>hello</title><textarea style='position:fixed;inset:0' \
    oninput='document.title = this.value'></textarea>";

/// An X server that nobody sees; it ends with its test.
struct VirtualDisplay {
    server: Child,
    name: String,
}

impl VirtualDisplay {
    #[expect(clippy::print_stdout, reason = "a test that does not run says so")]
    fn open() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there =
            |tool: &&str| std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
        if !TOOLS.iter().all(is_there) {
            let demands = |(name, value)| std::env::var(name).is_ok_and(|it| it == value);
            let is_required = [("GUILDHALL_TEST_REQUIRE_DISPLAY", "1"), ("CI", "true")]
                .into_iter()
                .any(demands);
            assert!(!is_required, "Xvfb, xwininfo or xdotool is not installed");
            println!("skipped: Xvfb not installed");
            return None;
        }
        if !is_installed() {
            return None;
        }
        let mut server = Command::new("Xvfb")
            .args([
                "-displayfd",
                "1",
                "-screen",
                "0",
                "1280x900x24",
                "-nolisten",
                "tcp",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut number = String::new();
        let mut said = BufReader::new(server.stdout.take().unwrap());
        said.read_line(&mut number).unwrap();
        let name = format!(":{}", number.trim());
        Some(Self { server, name })
    }

    fn house(&self) -> Option<ServerWithChromium> {
        ServerWithChromium::with(&[("DISPLAY", &self.name), ("WAYLAND_DISPLAY", "")])
    }

    /// What a program of X answers.
    fn ask(&self, program: &str, args: &[&str]) -> String {
        let output = Command::new(program)
            .args(args)
            .env("DISPLAY", &self.name)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Does what a person does at mouse and keyboard.
    fn person(&self, words: &str) {
        let words: Vec<_> = words.split(' ').collect();
        self.ask("xdotool", &words);
    }

    /// The windows of the tree that are a browser's.
    fn windows(&self) -> Vec<String> {
        let tree = self.ask("xwininfo", &["-root", "-tree"]);
        let is_browser = |line: &&str| line.to_ascii_lowercase().contains("(\"chromium");
        tree.lines().filter(is_browser).map(str::to_owned).collect()
    }
}

impl Drop for VirtualDisplay {
    fn drop(&mut self) {
        // One that was ended already is what we want.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn is_over(state: &Value) -> bool {
    ["failed", "disconnected"].contains(&state["status"].as_str().unwrap())
}

#[test]
fn without_a_display_a_window_is_a_named_failure_and_no_process() {
    let Some(house) = ServerWithChromium::with(&[("DISPLAY", ""), ("WAYLAND_DISPLAY", "")]) else {
        return;
    };
    let opened = house.post("/open", json!({"mode": "window"}));
    assert_eq!(
        (&opened["mode"], &opened["status"]),
        (&json!("window"), &json!("disconnected"))
    );
    assert_eq!(opened["preparation"]["stage"], "checking");
    let failed = house.until(|state| state["status"] == "failed");
    assert_eq!(failed["lastError"]["code"], "NO_DISPLAY");
    assert_eq!(failed["preparation"]["stage"], "failed");
    assert_eq!(below(house.server.pid()), [0; 0]);
    let told = house.browser_events();
    assert_eq!((told.len(), told[0].0.as_str()), (1, "failed"), "{told:?}");
    // The same house opens one that needs none.
    house.connected(json!({"mode": "embedded"}));
}

#[test]
fn a_window_is_what_a_person_uses_and_the_state_follows() {
    let Some(display) = VirtualDisplay::open() else {
        return;
    };
    let Some(house) = display.house() else { return };
    let site = TestSite::page(FIELD);
    let state = house.connected(json!({"mode": "window"}));
    assert_eq!(state["mode"], "window");
    listens_nowhere(&house);
    let windows = until_some("its window", || {
        let windows = display.windows();
        (!windows.is_empty()).then_some(windows)
    });
    // Of the size that was asked for, which the state says as well.
    let state = house.until(|state| state["viewport"]["width"] == 1280);
    let size = format!(
        "{}x{}",
        state["viewport"]["width"], state["viewport"]["height"]
    );
    assert!(
        windows.iter().any(|window| window.contains(&size)),
        "{size}: {windows:?}"
    );
    // Where it goes shows in its window.
    let tab = text(&state["selectedTabId"]);
    house.post(
        &format!("/tabs/{tab}/navigate"),
        json!({"url": site.url("/")}),
    );
    until_some("the title of the window", || {
        let found = display.ask("xdotool", &["search", "--onlyvisible", "--name", "hello"]);
        (!found.trim().is_empty()).then_some(())
    });
    // What a person types there is the person's, and shows in the state.
    let ask = json!({"connectionId": state["connectionId"],
        "steps": [{"type": "text", "text": "by route"}]});
    let (status, refused) = house.ask("POST", &format!("/tabs/{tab}/input"), &ask);
    assert_eq!((status, &refused["code"]), (409, &json!("WRONG_MODE")));
    let size = json!({"width": 800, "height": 600, "scale": 1});
    let (status, refused) = house.ask("POST", &format!("/tabs/{tab}/viewport"), &size);
    assert_eq!((status, &refused["code"]), (409, &json!("WRONG_MODE")));
    until_some("what was typed", || {
        display.person("mousemove 640 500 click 1");
        display.person("key ctrl+a");
        display.person("type abc");
        let state = house.state();
        (tab_of(&state, &tab)["title"] == "abc").then_some(())
    });
    until_some("a person at the mouse", || {
        display.person("mousemove_relative 3 3 click 1");
        (house.state()["control"]["holder"] == "person").then_some(())
    });
    // There are no pictures of a window.
    let mut viewer = StreamViewer::open(&house);
    viewer.words("state");
    viewer.say(&json!({"type": "view", "tabId": tab}));
    viewer.say(&json!({"type": "input", "id": 1, "viewId": 1,
        "steps": [{"type": "text", "text": "by stream"}]}));
    loop {
        match viewer.next() {
            ViewerMessage::Words(words) if words["type"] == "inputResult" => {
                assert_eq!(words["ok"], false);
                break;
            }
            ViewerMessage::Words(words) => assert_eq!(words["type"], "state"),
            other => panic!("{other:?}"),
        }
    }
    // A tab that a person opens is a tab, and the one that is seen.
    display.person("key ctrl+t");
    let two = house.until(|state| state["tabs"].as_array().unwrap().len() == 2);
    let new = two["tabs"].as_array().unwrap();
    let new = new.iter().find(|one| one["id"] != tab.as_str()).unwrap()["id"].clone();
    house.until(|state| state["selectedTabId"] == new);
    display.person("key ctrl+w");
    house.until(|state| {
        state["tabs"].as_array().unwrap().len() == 1 && state["selectedTabId"] == tab.as_str()
    });
    // The last window that is closed ends it, which is nobody's fault.
    let seen = seen_below(house.server.pid());
    display.person("key ctrl+shift+w");
    let over = house.until(is_over);
    assert_eq!(
        (&over["status"], &over["lastError"]),
        (&json!("disconnected"), &Value::Null)
    );
    house.gone(&seen);
    let told = house.browser_events();
    let (name, last) = told.last().unwrap();
    assert_eq!(
        (name.as_str(), &last["reason"]),
        ("closed", &json!("window"))
    );
}

#[test]
fn a_display_that_ends_takes_the_window_with_it() {
    let Some(mut display) = VirtualDisplay::open() else {
        return;
    };
    let Some(house) = display.house() else { return };
    house.connected(json!({"mode": "window"}));
    let seen = seen_below(house.server.pid());
    display.server.kill().unwrap();
    display.server.wait().unwrap();
    house.until(is_over);
    house.gone(&seen);
}

#[test]
fn a_window_that_is_killed_leaves_its_lock_and_opens_again() {
    let Some(display) = VirtualDisplay::open() else {
        return;
    };
    let Some(house) = display.house() else { return };
    house.connected(json!({"mode": "window"}));
    let seen = seen_below(house.server.pid());
    kill_group_of(house.main_process().unwrap());
    let failed = house.until_known(is_over);
    assert_eq!(failed["lastError"]["code"], "BROWSER_CRASHED");
    house.gone(&seen);
    let lock = house
        .scratch
        .path()
        .join("data/browser/profile/SingletonLock");
    assert!(lock.symlink_metadata().is_ok(), "it left its lock");
    house.connected(json!({"mode": "window"}));
    assert!(!display.windows().is_empty());
}

#[test]
fn another_mode_keeps_cookies_and_addresses_and_is_never_a_second_process() {
    let Some(display) = VirtualDisplay::open() else {
        return;
    };
    let Some(house) = display.house() else { return };
    let site = TestSite::new(|asked| {
        let page = SitePage::html(format!("<title>{}</title>", asked.path));
        match asked.path.as_str() {
            "/set" => page.with("Set-Cookie: kept=yes; Max-Age=3600; Path=/"),
            _ => page,
        }
    });
    house.connected(json!({"mode": "embedded", "url": site.url("/set")}));
    house.until_title("/set");
    house.post("/tabs", json!({"url": site.url("/second")}));
    house.until_title("/second");
    let addresses = |state: &Value| {
        let tabs = state["tabs"].as_array().unwrap().iter();
        tabs.map(|tab| text(&tab["url"])).collect::<Vec<_>>()
    };
    let expected = [site.url("/set"), site.url("/second")];
    // The cookies that were shown at each load of the second page.
    let cookies = || -> Vec<String> {
        let asked = site.asked().into_iter();
        let second = asked.filter(|asked| asked.path == "/second");
        second.map(|asked| asked.cookie).collect()
    };
    for mode in ["window", "embedded", "window"] {
        let before = house.state();
        assert_eq!(addresses(&before), expected, "before {mode}");
        let loads = cookies().len();
        house.post("/open", json!({"mode": mode}));
        let after = house.until(|state| {
            // Looked at all the while.
            let lives = house.of_type(None);
            assert!(lives.len() <= 1, "{lives:?}");
            assert_ne!(state["status"], "failed", "{state}");
            state["status"] == "connected" && state["mode"] == mode
        });
        assert_ne!(after["connectionId"], before["connectionId"]);
        house.until(|state| addresses(state) == expected);
        house.until(|state| {
            let tabs = state["tabs"].as_array().unwrap();
            tabs.iter().all(|tab| tab["loading"] == false)
        });
        assert!(cookies().len() > loads, "the page is loaded again");
    }
    let cookies = cookies();
    let is_kept = cookies.iter().all(|cookie| cookie == "kept=yes");
    assert!(is_kept, "{cookies:?}");
    let told = house.browser_events();
    let told: Vec<_> = told
        .iter()
        .map(|(name, data)| (name.as_str(), data["reason"].as_str().unwrap_or_default()))
        .collect();
    let (open, change) = ([("opened", ""), ("connected", "")], [("closed", "mode")]);
    let expected = [&open[..], &change, &open, &change, &open, &change, &open].concat();
    assert_eq!(told, expected);
}
