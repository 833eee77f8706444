//! What is secret between a server and its companion, and where none of it may show: answers,
//! events, logs at their finest, every column and every file of both, after links of every end.
//! Source: contract 5.9, 5.14 (8 and 13) and part C.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use guildhall_testkit::columns;
use guildhall_world::{scratch::Scratch, secret_tokens};
use serde_json::{Value, json};

use crate::{
    companion::{AccountHolder, CompanionFolder, CompanionProcess, EMAIL, PASSWORD},
    intercepting_proxy::{InterceptingProxy, paths},
    recording_client::{RecordingClient, holds, is_at_rest, text},
    server_process::{ServerProcess, frames, head},
    test_sites::{SitePage, SiteRequest, TestSite},
};

/// The key of the payment service.
const STRIPE_KEY: &str = "sk_test_canary_of_payments";
/// A password that somebody typed in the wrong field.
const SLIP: &str = "canary-of-a-slip";

/// A payment service that repeats what it was shown wherever it can.
fn payments() -> TestSite {
    TestSite::new(|asked: &SiteRequest| {
        let say = |value: Value| SitePage::of("application/json", value.to_string());
        let product = json!({"id": "prod_1", "active": true, "name": "Team",
            "metadata": {"guildhall": "1", "planId": "team"}});
        match asked.path.split('?').next().unwrap_or_default() {
            "/v1/prices" => say(json!({"object": "list", "has_more": false, "data": [
                {"id": "price_month", "active": true, "currency": "eur", "unit_amount": 1_250,
                 "recurring": {"interval": "month", "interval_count": 1}, "product": product}]})),
            "/v1/customers" => say(json!({"id": "cus_1", "object": "customer"})),
            "/v1/checkout/sessions" => say(json!({"id": "cs_1", "object": "checkout.session",
                "url": "https://checkout.stripe.com/c/pay/1"})),
            _ => say(json!({"error": {"message": asked.headers, "type": asked.headers}}))
                .status("402 Payment Required"),
        }
    })
}

/// A server, its companion, and those who speak with them.
struct LinkedServers {
    way: InterceptingProxy,
    place: CompanionFolder,
    companion: CompanionProcess,
    person: AccountHolder,
    data: PathBuf,
    server: ServerProcess,
    owner: RecordingClient,
    /// A program with the owner's key, which is shown no codes.
    program: RecordingClient,
    shown: String,
}

impl LinkedServers {
    fn open(home: &Path, payments: &TestSite) -> (Self, String) {
        let (data, key) = (home.join("data"), home.join("stripe-key"));
        std::fs::create_dir_all(&data).unwrap();
        std::fs::write(&key, STRIPE_KEY).unwrap();
        let way = InterceptingProxy::open();
        let args = [
            "--stripe-key-file",
            &key.display().to_string(),
            "--stripe-base",
        ];
        let place = CompanionFolder {
            data_dir: home.join("companion"),
            public: way.url.clone(),
            args: args
                .iter()
                .copied()
                .map(str::to_owned)
                .chain([payments.url("")])
                .collect(),
            log: Some(home.join("companion-log")),
        };
        let companion = place.start();
        way.set_target(companion.port);
        let link = place.invited(EMAIL);
        let person = AccountHolder::welcomed(companion.port, &link);
        let env = [("GUILDHALL_CLOUD_URL", way.url.as_str())];
        let log = File::create(home.join("log")).unwrap();
        let server = ServerProcess::start_as(&data, &["--bind", "127.0.0.1:0"], &env, Some(log));
        let mut owner = RecordingClient::at(server.port());
        let key = text(&owner.post("/api/auth/keys", &json!({"label": "program"}))["key"]);
        let scene = Self {
            program: RecordingClient::at(server.port()),
            shown: format!("Authorization: Bearer {key}\r\n"),
            way,
            place,
            companion,
            person,
            data,
            server,
            owner,
        };
        (scene, link.rsplit('/').next().unwrap().to_owned())
    }

    fn post(&mut self, path: &str) -> Value {
        self.owner.post(path, &json!({}))
    }

    /// Asks for a code, which the program is not shown.
    fn begun(&mut self) -> String {
        let code = text(&self.post("/api/cloud/link/start")["userCode"]);
        let link = self.owner.get("/api/cloud/link/status");
        assert_eq!(link["pending"]["userCode"], json!(code));
        assert_eq!(self.seen_by_the_program()["state"], "pending");
        code
    }

    fn seen_by_the_program(&mut self) -> Value {
        let path = "/api/cloud/link/status";
        let link = self.program.ask("GET", path, &self.shown, None).body;
        assert_eq!(
            json!([link["pending"], link["approvedCode"]]),
            json!([null, null])
        );
        link
    }

    /// Decides on a new code, and waits for what comes of it; answers the link.
    fn decided(&mut self, decision: &str, state: &str, note: Option<&str>) -> Value {
        let before = self.owner.get("/api/cloud/link/status")["approvedCode"].clone();
        let code = self.begun();
        self.person.decide(self.companion.port, &code, decision);
        let owner = &mut self.owner;
        let link = self.way.until(decision, || {
            let link = owner.get("/api/cloud/link/status");
            let is_new = decision == "deny" || link["approvedCode"] != before;
            let is_heard = state != "linked" || link["accountLabel"] == EMAIL;
            let is_so = link["state"] == state && link["relinkOutcome"] == json!(note);
            let is_there = is_so && is_new && is_heard;
            is_there
                .then(|| link.clone())
                .ok_or_else(|| link.to_string())
        });
        self.seen_by_the_program();
        link
    }

    /// What the companion answered at this path under this name.
    fn told(&self, path: &str, name: &str) -> Vec<String> {
        let answers = self.way.answers();
        let of_path = answers.iter().filter(|(at, _)| at == path);
        let values = of_path.filter_map(|(_, answer)| {
            let (_, body) = answer.split_once("\r\n\r\n")?;
            let body: Value = serde_json::from_str(body).ok()?;
            body[name].as_str().map(str::to_owned)
        });
        values.collect()
    }
}

/// Where something was searched for, and what finds it there.
type SearchedPlace<'a> = (&'a str, &'a dyn Fn(&str) -> bool);

/// Demands that a place holds `openly`, so that the search is one, and none of these secrets.
fn keeps((place, holds): SearchedPlace<'_>, openly: &str, secrets: &[&str]) {
    assert!(holds(openly), "the search finds what is there in {place}");
    for secret in secrets {
        assert!(
            secret.len() > 8 && !holds(secret),
            "{secret} stands in {place}"
        );
    }
}

#[test]
fn what_is_secret_between_server_and_companion_shows_nowhere() {
    let home = Scratch::new("cloud-canaries");
    let payments = payments();
    let (mut t, link) = LinkedServers::open(home.path(), &payments);

    // A flow of every end, the first key replaced by the second, and all that a key is for.
    t.begun();
    assert_eq!(t.post("/api/cloud/link/cancel")["state"], "idle");
    t.decided("deny", "denied", None);
    t.decided("approve", "linked", None);
    t.decided("deny", "linked", Some("denied"));
    t.decided("approve", "linked", None);
    t.post("/api/cloud/link/check");
    let offers = t.owner.get("/api/cloud/offers");
    assert_eq!(offers["offers"][0]["skuId"], "price_month", "{offers}");
    let checkout = json!({"skuId": "price_month"});
    let page = t.owner.post("/api/cloud/billing/checkout", &checkout);
    assert_eq!(page["ok"], true, "{page}");
    for page in ["portal", "topup"] {
        let page = t.post(&format!("/api/cloud/billing/{page}"));
        assert_eq!(page["ok"], false, "{page}");
    }
    let login = format!("email={EMAIL}&password={SLIP}");
    t.person.post(t.companion.port, "/login", &login);
    assert!(
        payments
            .asked()
            .iter()
            .any(|asked| asked.headers.contains(STRIPE_KEY))
    );

    let (keys, devices) = (
        t.told(paths::TOKEN, "access_token"),
        t.told(paths::DEVICE, "device_code"),
    );
    let codes = t.told(paths::DEVICE, "user_code");
    assert_eq!((keys.len(), devices.len(), codes.len()), (2, 5, 5));
    let cookie = t.person.value().to_owned();
    let secrets: Vec<&str> = keys.iter().chain(&devices).map(String::as_str).collect();
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    let hers = [PASSWORD, SLIP, STRIPE_KEY, &cookie, &link];
    // Everything of the companion that is secret to whoever reads what it keeps.
    let kept: Vec<&str> = secrets.iter().chain(&codes).chain(&hers).copied().collect();

    let (data, place) = (t.data.clone(), t.place.clone());
    let at_rest = || {
        let rows = columns(&data.join("guildhall.sqlite"));
        let in_rows = |it: &str| rows.iter().any(|(_, bytes)| holds(bytes, it));
        keeps(("its rows", &in_rows), EMAIL, &secrets);
        keeps(("its files", &|it| is_at_rest(&data, it)), EMAIL, &secrets);
        let rows = columns(&place.database());
        let in_rows = |it: &str| rows.iter().any(|(_, bytes)| holds(bytes, it));
        keeps(("the companion's rows", &in_rows), EMAIL, &kept);
        let in_files = |it: &str| is_at_rest(&place.data_dir, it);
        keeps(("the companion's files", &in_files), EMAIL, &kept);
        rows
    };
    let rows = at_rest();
    let digest = secret_tokens::digest(&keys[1]);
    assert!(
        rows.iter()
            .any(|(table, bytes)| table == "instances" && *bytes == digest)
    );
    t.post("/api/cloud/unlink");
    t.way.until("the key is given back", || {
        let rows = columns(&t.place.database());
        let is_gone = !rows.iter().any(|(table, _)| table == "instances");
        is_gone.then_some(()).ok_or_else(|| "it counts".to_owned())
    });

    keeps(
        ("answers", &|it| t.owner.answers.contains(it)),
        EMAIL,
        &secrets,
    );
    let told = |it: &str| t.program.answers.contains(it);
    keeps(
        ("what others are answered", &told),
        "relinkOutcome",
        &[&secrets[..], &codes].concat(),
    );
    let events = frames(t.server.port(), "/api/events", 0, head(t.server.port()));
    let events = json!(events).to_string();
    let all = [&secrets[..], &codes].concat();
    keeps(
        ("an event", &|it| events.contains(it)),
        "cloud_link_changed",
        &all,
    );
    // Codes and keys are told by two of its answers, and by no other.
    let mut answers = t.way.answers();
    answers.retain(|(path, _)| ![paths::TOKEN, paths::DEVICE].contains(&path.as_str()));
    let answers: String = answers.into_iter().map(|(_, answer)| answer).collect();
    keeps(
        ("the companion's answers", &|it| answers.contains(it)),
        EMAIL,
        &kept,
    );
    // A person is shown the code that they typed.
    let hidden = [&secrets[..], &hers].concat();
    keeps(
        ("a page", &|it| t.person.answers.contains(it)),
        EMAIL,
        &hidden,
    );

    assert_eq!((t.server.stop(), t.companion.stop()), (Some(0), Some(0)));
    at_rest();
    for (name, secrets) in [("log", &all), ("companion-log", &kept)] {
        let log = std::fs::read(home.path().join(name)).unwrap();
        keeps((name, &|it| holds(&log, it)), "TRACE", secrets);
    }
}
