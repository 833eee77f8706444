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
    companion::{Companion, EMAIL, Person, Place},
    intercepting_proxy::{Point, Way, paths},
    server_process::{Server, ask},
};

/// Every state of a link.
const STATES: [&str; 6] = ["idle", "pending", "linked", "expired", "denied", "unlinked"];

/// Who is killed, and started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Server,
    Companion,
}

/// The request during which somebody is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
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

impl Step {
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
    fn ends(self, victim: Victim, point: Point) -> &'static [&'static str] {
        match (self, victim, point) {
            // A code that came is kept; a request behind this one may bring it still.
            (Self::Metadata, _, Point::Done) | (Self::Device, Victim::Server, Point::Done) => {
                &["idle", "pending"]
            }
            (Self::Device, Victim::Companion, Point::Done) => &["pending"],
            (Self::Metadata | Self::Device, ..) => &["idle"],
            (Self::Waiting | Self::Heartbeat | Self::Replace, ..) => &["linked"],
            // It was never issued, and is asked for again.
            (Self::Key, _, Point::Unsent | Point::HalfSent) => &["linked"],
            (Self::Key, _, Point::Sent) | (Self::Key, Victim::Server, Point::Done) => {
                &["linked", "expired"]
            }
            // It was issued and lost, which is heard when it is asked for again.
            (Self::Key, _, Point::Answered | Point::HalfAnswered) => &["expired"],
            (Self::Key | Self::Cancel, Victim::Companion, Point::Done) => &["linked"],
            (Self::Cancel, Victim::Server, Point::Done) => &["linked", "idle"],
            (Self::Unlink | Self::GiveBack | Self::Cancel | Self::CancelWaiting, ..) => &["idle"],
        }
    }
}

/// Who waits for an answer: its status and its body, or that nobody answered.
type Waiting = JoinHandle<Option<(u16, Value)>>;

/// A server and its companion with a way between them, and whose account it is.
struct Scene {
    home: Scratch,
    way: Way,
    place: Place,
    companion: Option<Companion>,
    server: Option<Server>,
    person: Person,
    /// The digest of the key that is given back.
    given_up: Vec<u8>,
    /// The digests of keys that count although nobody holds them: erased here while nobody could be
    /// told, or lost on their way to somebody who cancelled.
    untold: Vec<Vec<u8>>,
    /// How many more of these there may be.
    lost_max: usize,
}

impl Scene {
    fn open() -> Self {
        let home = Scratch::new("cloud-kills");
        let way = Way::open();
        let place = Place {
            data_dir: home.path().join("companion"),
            public: way.url.clone(),
            args: Vec::new(),
            log: None,
        };
        std::fs::create_dir_all(home.path().join("data")).unwrap();
        let companion = place.start();
        way.lead_to(companion.port);
        let person = Person::welcomed(companion.port, &place.invited(EMAIL));
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
        self.server = Some(Server::start_in(&self.data(), &env));
    }

    fn kill(&mut self, victim: Victim) {
        match victim {
            Victim::Server => self.server.take().unwrap().kill(),
            Victim::Companion => self.companion.take().unwrap().kill(),
        }
    }

    fn start(&mut self, victim: Victim) {
        match victim {
            Victim::Server => self.start_server(),
            Victim::Companion => {
                let companion = self.place.start();
                self.way.lead_to(companion.port);
                self.companion = Some(companion);
            }
        }
    }

    fn server(&self) -> &Server {
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
    fn asks(&self, path: &'static str) -> Waiting {
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
    fn begun(&mut self, step: Step) -> (String, Option<Waiting>) {
        let (mut code, mut waits) = (String::new(), None);
        match step {
            Step::Metadata | Step::Device => {
                let is_first = step == Step::Metadata;
                let path = if is_first {
                    paths::METADATA
                } else {
                    paths::DEVICE
                };
                self.way.catch(path);
                waits = Some(self.asks("/api/cloud/link/start"));
            }
            Step::Waiting | Step::Key | Step::Cancel | Step::CancelWaiting => {
                self.way.catch(paths::TOKEN);
                code = self.code();
            }
            Step::Heartbeat => {
                self.way.catch(paths::HEARTBEAT);
                code = self.code();
                self.approve(&code);
            }
            Step::Unlink => {
                self.linked();
                self.way.catch(paths::REVOKE);
                waits = Some(self.asks("/api/cloud/unlink"));
            }
            Step::Replace => {
                self.linked();
                self.way.catch(paths::REVOKE);
                code = self.code();
                self.approve(&code);
            }
            Step::GiveBack => {
                self.way.catch(paths::TOKEN);
                code = self.code();
                self.way.caught();
                self.approve(&code);
                self.post("/api/cloud/unlink");
                assert_eq!(self.link()["state"], "idle");
                // It is lost, and the next one brings the key.
                self.way.advance(Point::Unsent);
                self.way.release();
                self.way.catch(paths::REVOKE);
            }
        }
        self.way.caught();
        if matches!(step, Step::Key | Step::Cancel) {
            self.approve(&code);
        }
        if matches!(step, Step::Cancel | Step::CancelWaiting) {
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
    fn hit(&mut self, step: Step, victim: Victim, point: Point) {
        let what = format!("{step:?}, {point:?}, {victim:?} killed");
        let ends = step.ends(victim, point);
        let (code, waits) = self.begun(step);
        self.way.advance(point);
        self.kill(victim);
        self.way.release();
        let answer = waits.and_then(|waits| waits.join().unwrap());
        if victim == Victim::Companion {
            let status = answer.as_ref().map(|(status, _)| *status);
            let is_begun = point == Point::Done;
            match step {
                Step::Metadata if is_begun => assert!(matches!(status, Some(200 | 502)), "{what}"),
                Step::Device if is_begun => assert_eq!(status, Some(200), "{what}"),
                Step::Metadata | Step::Device => {
                    let (status, problem) = answer.unwrap();
                    let told = (status, &problem["code"]);
                    assert_eq!(
                        told,
                        (502, &json!("CLOUD_UNREACHABLE")),
                        "{what}: {problem}"
                    );
                }
                Step::Cancel | Step::CancelWaiting => {
                    let (status, link) = answer.unwrap();
                    assert_eq!((status, &link["state"]), (200, &json!(ends[0])), "{what}");
                }
                Step::Unlink => assert_eq!(answer.unwrap().1, json!({"ok": true}), "{what}"),
                Step::Waiting | Step::Key | Step::Heartbeat | Step::Replace | Step::GiveBack => {}
            }
        }
        self.start(victim);
        match step {
            Step::Metadata | Step::Device => {
                let link = self.link();
                let is_named = ends.iter().any(|state| link["state"] == *state);
                assert!(is_named && self.living().is_empty(), "{what}: {link}");
            }
            Step::Waiting => {
                let link = self.link();
                assert_eq!(link["state"], "pending", "{what}");
                assert_eq!(link["pending"]["userCode"], json!(code), "{what}");
                self.approve(&code);
            }
            // Somebody types it all the same.
            Step::CancelWaiting => self.approve(&code),
            // Erasing comes first; whoever was killed before the companion knew cannot tell it.
            Step::Unlink | Step::Replace => {
                let key = self.given_up.clone();
                let does_count = self.living().contains(&key);
                match point {
                    Point::Unsent | Point::HalfSent => assert!(does_count, "{what}"),
                    Point::Sent => {}
                    _ => assert!(!does_count, "{what}"),
                }
                self.untold.extend((point <= Point::Sent).then_some(key));
            }
            Step::Key | Step::Heartbeat | Step::GiveBack | Step::Cancel => {}
        }
        // After a cancel nothing more is asked, so a key whose answer was lost is nobody's.
        self.lost_max = usize::from(step == Step::Cancel && point >= Point::Sent);
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
                    self.kill(Victim::Server);
                    self.start(Victim::Server);
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
fn killed_at_each_point(victim: Victim) {
    thread::scope(|scope| {
        for step in Step::ALL {
            for points in [Point::THERE, Point::BACK] {
                scope.spawn(move || {
                    let mut scene = Scene::open();
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
    killed_at_each_point(Victim::Server);
}

#[test]
fn a_companion_killed_at_any_point_leaves_a_named_state_and_each_key_that_counts_is_held() {
    killed_at_each_point(Victim::Companion);
}
