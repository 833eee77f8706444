//! A house with a Chromium of its own, for tests that drive it.

use std::{
    thread,
    time::{Duration, Instant},
};

use guildhall_world::{
    chromium::{self, SearchPaths},
    scratch::Scratch,
};
use serde_json::Value;

use crate::server_process::ServerProcess;

pub(crate) const BROWSER: &str = "/api/local-browser";

/// Whether there is a Chromium to test with; in CI there must be one.
#[expect(clippy::print_stdout, reason = "a test that does not run says so")]
pub(crate) fn is_installed() -> bool {
    let found = chromium::executable(&SearchPaths {
        path: std::env::var_os("PATH"),
        ..SearchPaths::default()
    });
    if found.is_err() {
        assert!(
            std::env::var_os("CI").is_none_or(|ci| ci != "true"),
            "Chromium is not installed"
        );
        println!("skipped: Chromium not installed");
    }
    found.is_ok()
}

/// A house with a browser in it.
pub(crate) struct ServerWithChromium {
    pub(crate) scratch: Scratch,
    pub(crate) server: ServerProcess,
}

impl ServerWithChromium {
    pub(crate) fn open() -> Option<Self> {
        if !is_installed() {
            return None;
        }
        let scratch = Scratch::new("browser");
        let server = Self::start(&scratch);
        Some(Self { scratch, server })
    }

    pub(crate) fn start(scratch: &Scratch) -> ServerProcess {
        // Where a user's own files are, Chromium leaves some as well.
        let home = scratch.path().to_str().unwrap();
        let mut env = vec![("HOME", home)];
        if !chromium::can_be_sandboxed() {
            env.push(("GUILDHALL_BROWSER_NO_SANDBOX", "1"));
        }
        ServerProcess::start_in(&scratch.path().join("data"), &env)
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> Value {
        let (at, body) = (format!("{BROWSER}{path}"), Some(body));
        let (status, answer) = self.server.ask("POST", &at, body.as_ref());
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    pub(crate) fn state(&self) -> Value {
        let (status, state) = self.server.ask("GET", BROWSER, None);
        assert_eq!(status, 200, "{state}");
        state
    }

    /// Looks again until it is so.
    pub(crate) fn until(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let state = self.state();
            if is_so(&state) {
                return state;
            }
            assert!(Instant::now() < end, "{state}");
            thread::park_timeout(Duration::from_millis(20));
        }
    }

    pub(crate) fn connected(&self, ask: Value) -> Value {
        self.post("/open", ask);
        self.until(|state| {
            assert_ne!(state["status"], "failed", "{state}");
            state["status"] == "connected"
        })
    }

    /// The processes of the browser, by the profile they were started with.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let profile = format!("{}/data/browser/profile", self.scratch.path().display());
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_ours = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&profile)
        };
        numbers.filter(is_ours).collect()
    }

    pub(crate) fn wait_until_gone(&self) {
        let end = Instant::now() + Duration::from_secs(30);
        while !self.processes().is_empty() {
            assert!(Instant::now() < end, "{:?}", self.processes());
            thread::park_timeout(Duration::from_millis(20));
        }
    }
}
