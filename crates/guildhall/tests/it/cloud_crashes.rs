//! The server, or its companion, killed at each point of each request between them: the link ends
//! in one of its states, a code that waits is waited for, and the books agree: a key that counts
//! is the one that is held. Source: contract 5.10 and 5.14, 9 and 10.

use std::{
    path::PathBuf,
    thread::{self, JoinHandle},
};

use guildhall_testkit::first_column;
use guildhall_world::{scratch::Scratch, secret_tokens};
use serde_json::{Value, json};

use crate::{
    companion::{AccountHolder, CompanionFolder, CompanionProcess, EMAIL},
    intercepting_proxy::{InterceptingProxy, RequestProgress, paths},
    server_process::{ServerProcess, ask},
};

/// Every state of a link.
const STATES: [&str; 6] = ["idle", "pending", "linked", "expired", "denied", "unlinked"];

/// Who is killed, and started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KilledProcess {
    Server,
    Companion,
}

/// The request during which somebody is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KilledDuring {
    /// Where the companion is asked.
    Metadata,
    /// For a code.
    Device,
    /// Whether it was typed; nobody did.
    Waiting,
    /// The same; somebody did.
    Key,
    /// The first heartbeat of a key.
    Heartbeat,
    /// A held key is given back.
    Unlink,
    /// The same, because another one took its place.
    Replace,
    /// A key comes that nobody wants any more, and is given back.
    GiveBack,
    /// Somebody cancels while a request is on its way that brings a key.
    Cancel,
    /// The same with one that brings none.
    CancelWaiting,
}

impl KilledDuring {
    const ALL: [Self; 10] = [
        Self::Metadata,
        Self::Device,
        Self::Waiting,
        Self::Key,
        Self::Heartbeat,
        Self::Unlink,
        Self::Replace,
        Self::GiveBack,
        Self::Cancel,
        Self::CancelWaiting,
    ];

    /// Where the link may end.
    fn ends(self, victim: KilledProcess, point: RequestProgress) -> &'static [&'static str] {
        match (self, victim, point) {
            // A code that came is kept; a request behind this one may bring it still.
            (Self::Metadata, _, RequestProgress::Done)
            | (Self::Device, KilledProcess::Server, RequestProgress::Done) => &["idle", "pending"],
            (Self::Device, KilledProcess::Companion, RequestProgress::Done) => &["pending"],
            (Self::Metadata | Self::Device, ..) => &["idle"],
            (Self::Waiting | Self::Heartbeat | Self::Replace, ..) => &["linked"],
            // It was never issued, and is asked for again.
            (Self::Key, _, RequestProgress::Unsent | RequestProgress::HalfSent) => &["linked"],
            (Self::Key, _, RequestProgress::Sent)
            | (Self::Key, KilledProcess::Server, RequestProgress::Done) => &["linked", "expired"],
            // It was issued and lost, which is heard when it is asked for again.
            (Self::Key, _, RequestProgress::Answered | RequestProgress::HalfAnswered) => {
                &["expired"]
            }
            (Self::Key | Self::Cancel, KilledProcess::Companion, RequestProgress::Done) => {
                &["linked"]
            }
            (Self::Cancel, KilledProcess::Server, RequestProgress::Done) => &["linked", "idle"],
            (Self::Unlink | Self::GiveBack | Self::Cancel | Self::CancelWaiting, ..) => &["idle"],
        }
    }
}

/// Who waits for an answer: its status and its body, or that nobody answered.
type PendingResponse = JoinHandle<Option<(u16, Value)>>;

/// A server and its companion with a way between them, and whose account it is.
struct ServerAndCompanion {
    home: Scratch,
    way: InterceptingProxy,
    place: CompanionFolder,
    companion: Option<CompanionProcess>,
    server: Option<ServerProcess>,
    person: AccountHolder,
    /// The digest of the key that is given back.
    given_up: Vec<u8>,
    /// The digests of keys that count although nobody holds them: erased here while nobody could be
    /// told, or lost on their way to somebody who cancelled.
    untold: Vec<Vec<u8>>,
    /// How many more of these there may be.
    lost_max: usize,
}

impl ServerAndCompanion {
    fn open() -> Self {
        let home = Scratch::new("cloud-kills");
        let way = InterceptingProxy::open();
        let place = CompanionFolder {
            data_dir: home.path().join("companion"),
            public: way.url.clone(),
            args: Vec::new(),
            log: None,
        };
        std::fs::create_dir_all(home.path().join("data")).unwrap();
        let companion = place.start();
        way.set_target(companion.port);
        let person = AccountHolder::welcomed(companion.port, &place.invited(EMAIL));
        let mut scene = Self {
            home,
            way,
            place,
            companion: Some(companion),
            server: None,
            person,
            given_up: Vec::new(),
            untold: Vec::new(),
            lost_max: 0,
        };
        scene.start_server();
        scene
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn start_server(&mut self) {
        let env = [("GUILDHALL_CLOUD_URL", self.way.url.as_str())];
        self.server = Some(ServerProcess::start_in(&self.data(), &env));
    }

    fn kill(&mut self, victim: KilledProcess) {
        match victim {
            KilledProcess::Server => self.server.take().unwrap().kill(),
            KilledProcess::Companion => self.companion.take().unwrap().kill(),
        }
    }

    fn start(&mut self, victim: KilledProcess) {
        match victim {
            KilledProcess::Server => self.start_server(),
            KilledProcess::Companion => {
                let companion = self.place.start();
                self.way.set_target(companion.port);
                self.companion = Some(companion);
            }
        }
    }

    fn server(&self) -> &ServerProcess {
        self.server.as_ref().unwrap()
    }

    fn link(&self) -> Value {
        let (status, link) = self.server().ask("GET", "/api/cloud/link/status", None);
        assert_eq!(status, 200, "{link}");
        let is_named = STATES.iter().any(|state| link["state"] == *state);
        assert!(is_named, "{link}");
        link
    }

    fn post(&self, path: &str) -> Value {
        let (status, answer) = self.server().ask("POST", path, Some(&json!({})));
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// The same, by somebody who waits for it elsewhere; `None` when nobody answered.
    fn asks(&self, path: &'static str) -> PendingResponse {
        let port = self.server().port();
        thread::spawn(move || ask(port, "POST", path, Some(&json!({}))))
    }

    /// Asks for a code.
    fn code(&self) -> String {
        let begun = self.post("/api/cloud/link/start");
        begun["userCode"].as_str().expect("a code").to_owned()
    }

    fn approve(&mut self, code: &str) {
        let port = self.companion.as_ref().unwrap().port;
        self.person.decide(port, code, "approve");
    }

    /// The flow as the server keeps it, seen or not.
    fn flow(&self) -> Value {
        let query = "SELECT link FROM cloud_links";
        let rows = first_column(&self.data().join("guildhall.sqlite"), query);
        let link = rows.first().map(|row| serde_json::from_slice(row).unwrap());
        link.map_or(Value::Null, |link: Value| link["flow"].clone())
    }

    /// The digests of the keys that count, without those that nobody could be told of.
    fn living(&self) -> Vec<Vec<u8>> {
        let query = "SELECT key_digest FROM instances";
        let mut living = first_column(&self.place.database(), query);
        living.retain(|key| !self.untold.contains(key));
        living
    }

    /// The digest of the key that the server showed last.
    fn shown(&self) -> Option<Vec<u8>> {
        let shown = self.way.shown();
        shown.map(|key| secret_tokens::digest(&key).to_vec())
    }

    /// Waits until nothing is under way and the books agree; answers the state.
    fn settled(&self, what: &str, ends: &[&str]) -> String {
        self.way.until(what, || {
            let (link, flow, living) = (self.link(), self.flow(), self.living());
            let state = link["state"].as_str().expect("a state");
            let held: Vec<_> = self
                .shown()
                .filter(|_| state == "linked")
                .into_iter()
                .collect();
            let is_held = |key: &&Vec<u8>| held.contains(key);
            let are_all_there = living.iter().filter(is_held).count() == held.len();
            let is_none_lost = living.len() <= held.len() + self.lost_max;
            let is_over = flow.is_null() && are_all_there && is_none_lost && ends.contains(&state);
            let seen = || format!("{state} of {ends:?}, {} keys count, {flow}", living.len());
            is_over.then(|| state.to_owned()).ok_or_else(seen)
        })
    }

    /// Links, and proves it.
    fn linked(&mut self) {
        let code = self.code();
        self.approve(&code);
        self.settled("a link", &["linked"]);
        self.is_heard();
        self.given_up = self.shown().expect("a key");
    }

    /// Waits for the companion's word that the key counts.
    fn is_heard(&self) {
        self.way.until("a heartbeat", || {
            let link = self.link();
            match (&link["lastHeartbeatAt"], &link["accountLabel"]) {
                (Value::String(_), Value::String(label)) if label == EMAIL => Ok(()),
                _ => Err(link.to_string()),
            }
        });
    }

    /// Brings a request to the door; answers the code and who waits for an answer.
    fn begun(&mut self, step: KilledDuring) -> (String, Option<PendingResponse>) {
        let (mut code, mut waits) = (String::new(), None);
        match step {
            KilledDuring::Metadata | KilledDuring::Device => {
                let is_first = step == KilledDuring::Metadata;
                let path = if is_first {
                    paths::METADATA
                } else {
                    paths::DEVICE
                };
                self.way.catch(path);
                waits = Some(self.asks("/api/cloud/link/start"));
            }
            KilledDuring::Waiting
            | KilledDuring::Key
            | KilledDuring::Cancel
            | KilledDuring::CancelWaiting => {
                self.way.catch(paths::TOKEN);
                code = self.code();
            }
            KilledDuring::Heartbeat => {
                self.way.catch(paths::HEARTBEAT);
                code = self.code();
                self.approve(&code);
            }
            KilledDuring::Unlink => {
                self.linked();
                self.way.catch(paths::REVOKE);
                waits = Some(self.asks("/api/cloud/unlink"));
            }
            KilledDuring::Replace => {
                self.linked();
                self.way.catch(paths::REVOKE);
                code = self.code();
                self.approve(&code);
            }
            KilledDuring::GiveBack => {
                self.way.catch(paths::TOKEN);
                code = self.code();
                self.way.caught();
                self.approve(&code);
                self.post("/api/cloud/unlink");
                assert_eq!(self.link()["state"], "idle");
                // It is lost, and the next one brings the key.
                self.way.advance(RequestProgress::Unsent);
                self.way.release();
                self.way.catch(paths::REVOKE);
            }
        }
        self.way.caught();
        if matches!(step, KilledDuring::Key | KilledDuring::Cancel) {
            self.approve(&code);
        }
        if matches!(step, KilledDuring::Cancel | KilledDuring::CancelWaiting) {
            waits = Some(self.asks("/api/cloud/link/cancel"));
            self.way.until("the cancel", || {
                let flow = self.flow();
                let is_settling = flow["aim"] == "settle";
                is_settling.then_some(()).ok_or_else(|| flow.to_string())
            });
        }
        (code, waits)
    }

    /// Kills somebody at a point of a step, and sees what comes of it.
    fn hit(&mut self, step: KilledDuring, victim: KilledProcess, point: RequestProgress) {
        let what = format!("{step:?}, {point:?}, {victim:?} killed");
        let ends = step.ends(victim, point);
        let (code, waits) = self.begun(step);
        self.way.advance(point);
        self.kill(victim);
        self.way.release();
        let answer = waits.and_then(|waits| waits.join().unwrap());
        if victim == KilledProcess::Companion {
            let status = answer.as_ref().map(|(status, _)| *status);
            let is_begun = point == RequestProgress::Done;
            match step {
                KilledDuring::Metadata if is_begun => {
                    assert!(matches!(status, Some(200 | 502)), "{what}");
                }
                KilledDuring::Device if is_begun => assert_eq!(status, Some(200), "{what}"),
                KilledDuring::Metadata | KilledDuring::Device => {
                    let (status, problem) = answer.unwrap();
                    let told = (status, &problem["code"]);
                    assert_eq!(
                        told,
                        (502, &json!("CLOUD_UNREACHABLE")),
                        "{what}: {problem}"
                    );
                }
                KilledDuring::Cancel | KilledDuring::CancelWaiting => {
                    let (status, link) = answer.unwrap();
                    assert_eq!((status, &link["state"]), (200, &json!(ends[0])), "{what}");
                }
                KilledDuring::Unlink => {
                    assert_eq!(answer.unwrap().1, json!({"ok": true}), "{what}");
                }
                KilledDuring::Waiting
                | KilledDuring::Key
                | KilledDuring::Heartbeat
                | KilledDuring::Replace
                | KilledDuring::GiveBack => {}
            }
        }
        self.start(victim);
        match step {
            KilledDuring::Metadata | KilledDuring::Device => {
                let link = self.link();
                let is_named = ends.iter().any(|state| link["state"] == *state);
                assert!(is_named && self.living().is_empty(), "{what}: {link}");
            }
            KilledDuring::Waiting => {
                let link = self.link();
                assert_eq!(link["state"], "pending", "{what}");
                assert_eq!(link["pending"]["userCode"], json!(code), "{what}");
                self.approve(&code);
            }
            // Somebody types it all the same.
            KilledDuring::CancelWaiting => self.approve(&code),
            // Erasing comes first; whoever was killed before the companion knew cannot tell it.
            KilledDuring::Unlink | KilledDuring::Replace => {
                let key = self.given_up.clone();
                let does_count = self.living().contains(&key);
                match point {
                    RequestProgress::Unsent | RequestProgress::HalfSent => {
                        assert!(does_count, "{what}");
                    }
                    RequestProgress::Sent => {}
                    _ => assert!(!does_count, "{what}"),
                }
                self.untold
                    .extend((point <= RequestProgress::Sent).then_some(key));
            }
            KilledDuring::Key
            | KilledDuring::Heartbeat
            | KilledDuring::GiveBack
            | KilledDuring::Cancel => {}
        }
        // After a cancel nothing more is asked, so a key whose answer was lost is nobody's.
        self.lost_max = usize::from(step == KilledDuring::Cancel && point >= RequestProgress::Sent);
        self.seen_out(&what, ends);
        if std::mem::take(&mut self.lost_max) > 0 {
            let lost = self.living();
            self.untold.extend(lost);
        }
    }

    /// Sees the end, proves a key that is held, and gives it back.
    fn seen_out(&mut self, what: &str, ends: &[&str]) {
        if self.link()["state"] == "pending" && ends.contains(&"pending") {
            self.post("/api/cloud/link/cancel");
        } else {
            let state = self.settled(what, ends);
            if state == "linked" {
                if self.link()["lastHeartbeatAt"].is_null() {
                    // The first one may be lost; another comes with the next start.
                    self.kill(KilledProcess::Server);
                    self.start(KilledProcess::Server);
                }
                self.is_heard();
                self.post("/api/cloud/unlink");
            } else {
                self.post("/api/cloud/link/cancel");
            }
        }
        self.settled(what, &["idle"]);
    }
}

/// Kills `victim` at each point of each step. Most of it is waiting for the next poll, so that each
/// step has its own scenes, all at the same time.
fn killed_at_each_point(victim: KilledProcess) {
    thread::scope(|scope| {
        for step in KilledDuring::ALL {
            for points in [RequestProgress::THERE, RequestProgress::BACK] {
                scope.spawn(move || {
                    let mut scene = ServerAndCompanion::open();
                    for point in points {
                        scene.hit(step, victim, point);
                    }
                });
            }
        }
    });
}

#[test]
fn a_server_killed_at_any_point_is_in_a_named_state_and_each_key_that_counts_is_held() {
    killed_at_each_point(KilledProcess::Server);
}

#[test]
fn a_companion_killed_at_any_point_leaves_a_named_state_and_each_key_that_counts_is_held() {
    killed_at_each_point(KilledProcess::Companion);
}
