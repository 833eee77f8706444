//! What agents did to become somebody else, each by a real agent of the real binary: enclosed it
//! reaches nothing, and without the enclosure it does, which is the control.
//! Those that end or stop their keeper are in `enclosure.rs`.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};

use crate::{
    enclosed_scripts::own_address,
    hostile_agent::{BARE, ENCLOSED},
    recording_client::RecordingClient,
    server_process::ServerProcess,
    test_sites::TestSite,
    workspace::ServerWithFolder,
};

const ASKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/enclosure/asks.py");
const LOGIN: &str = "[auth]\nmode = \"login\"\n";
const TOUCH: &str = r#"#call run_command {"command":["touch","fell"]}"#;

/// What came of each order, by its name.
type AttemptResults = BTreeMap<String, String>;

/// Lets a new session's agent, which asks nobody, carry out these orders.
fn carried_out(t: &ServerWithFolder, orders: &[Value]) -> AttemptResults {
    t.write("orders.json", &json!(orders).to_string());
    let session = t.unattended();
    let run = json!({"command": ["python3", ASKS]});
    t.send(&session, &[&format!("#call run_command {run}")]);
    t.turn_ended(&session, 1);
    let found = t
        .file("found.json")
        .unwrap_or_else(|| panic!("{:#?}", t.messages(&session)));
    serde_json::from_str(&found).unwrap()
}

/// What an agent would like to be granted.
struct DesiredChange {
    method: &'static str,
    path: String,
    body: Value,
}

impl DesiredChange {
    /// An order to ask for it there, with these headers.
    fn order(&self, name: &str, at: &str, headers: &Value) -> Value {
        json!({"name": name, "action": "ask", "at": at, "method": self.method,
            "path": self.path, "headers": headers, "body": self.body})
    }
}

fn touch(name: &str, path: &std::path::Path, mode: &str) -> Value {
    json!({"name": name, "action": "touch", "path": path, "mode": mode})
}

/// Where the owner's listener is, and where that for agents.
fn listeners(server: &ServerProcess) -> [(&'static str, String); 2] {
    let authority = |url: &str| url.strip_prefix("http://").unwrap().to_owned();
    let main = format!("127.0.0.1:{}", server.port());
    [("main", main), ("agents", authority(&server.agent_url()))]
}

/// Enclosed, nothing answers at the main listener; bare, it answers and knows nobody there. At the
/// listener for agents nothing is opened by it.
fn is_kept_out(found: &AttemptResults, is_enclosed: bool) {
    is_answered(found, is_enclosed, |status| [401, 403].contains(&status));
}

/// The same where the server cannot know the agents: those of another one.
fn is_kept_out_by_the_enclosure(found: &AttemptResults, is_enclosed: bool) {
    is_answered(found, is_enclosed, |_| true);
}

fn is_answered(found: &AttemptResults, is_enclosed: bool, is_bare_answer: fn(u16) -> bool) {
    for (name, outcome) in found {
        let status = outcome.parse::<u16>().ok();
        let is_as_expected = match (name.starts_with("main"), is_enclosed) {
            (true, true) => outcome == "EACCES",
            (true, false) => status.is_some_and(is_bare_answer),
            (false, _) => status.is_some_and(|status| [401, 403, 404, 405].contains(&status)),
        };
        assert!(is_as_expected, "{name}: {outcome}");
    }
}

/// An ask that waits for a person, and the wish to grant it.
fn waiting(t: &ServerWithFolder) -> (Value, DesiredChange) {
    let session = t.session();
    t.send(&session, &[TOUCH]);
    let asked = t.ask(&session);
    let grant = DesiredChange {
        method: "POST",
        path: format!("/api/sessions/{session}/approve"),
        body: json!({"toolCallId": asked["toolCallId"], "digest": asked["digest"]}),
    };
    (asked, grant)
}

/// A server in mode `login`, whose owner made the first account; the test shows its local token.
fn where_people_sign_in(what: &str, configuration: &str, bind: &str) -> ServerWithFolder {
    let configuration = format!("{configuration}{LOGIN}");
    let mut t = ServerWithFolder::open_bound(what, &configuration, bind);
    let code = fs::read_to_string(t.data_dir().join("setup-code")).unwrap();
    let first = json!({"email": "ada@example.org", "displayName": "Ada",
        "password": PASSWORD, "setupCode": code.trim()});
    let (status, made) = t.server.ask("POST", "/api/auth/register", Some(&first));
    assert_eq!(status, 201, "{made}");
    let told: Value =
        serde_json::from_slice(&fs::read(t.server.discovery_file()).unwrap()).unwrap();
    let token = told["localToken"].as_str().unwrap();
    t.server.authorization = Some(format!("Bearer {token}"));
    t
}

const PASSWORD: &str = "correct horse battery";

/// Row 3: the local token of the discovery file, from a process that nobody can look into.
#[test]
fn where_people_sign_in_an_agent_neither_reads_nor_uses_the_local_token() {
    for configuration in [ENCLOSED, BARE] {
        let is_enclosed = configuration == ENCLOSED;
        let t = where_people_sign_in("row-3", configuration, "127.0.0.1:0");
        let (_, grant) = waiting(&t);
        let stolen = json!({"Authorization": t.server.authorization});
        let mut orders: Vec<_> = listeners(&t.server)
            .iter()
            .map(|(name, at)| grant.order(name, at, &stolen))
            .collect();
        orders.push(touch("token", &t.server.discovery_file(), "r"));
        let mut found = carried_out(&t, &orders);
        let is_read = found.remove("token").unwrap();
        assert_eq!(is_read, if is_enclosed { "ENOENT" } else { "ok" });
        is_kept_out(&found, is_enclosed);
        assert_eq!(t.asks().len(), 1, "it still waits for a person");
    }
}

/// Row 4: what would let it decide later, from a process that nobody can look into.
#[test]
fn an_agent_that_hides_takes_nothing_of_the_owner() {
    for configuration in [ENCLOSED, BARE] {
        let is_enclosed = configuration == ENCLOSED;
        let t = ServerWithFolder::open_configured("row-4", configuration);
        let registered = |name: &str| {
            let folder = t.scratch.path().join(name);
            fs::create_dir_all(&folder).unwrap();
            let body = json!({"name": name, "cwd": folder, "runtime": "rehearsal"});
            let (status, made) = t.server.ask("POST", "/api/agents", Some(&body));
            assert_eq!(status, 201, "{made}");
            made["id"].as_str().unwrap().to_owned()
        };
        let (own, other) = (registered("ada"), registered("bob"));
        let (_, me) = t.server.ask("GET", "/api/rooms/authors/me", None);
        let tokens = |agent: &str| format!("/api/agents/{agent}/tokens");
        let label = json!({"label": "mine"});
        let (_, minted) = t.server.ask("POST", &tokens(&own), Some(&label));
        let shown = json!({"X-Service-Agent": minted["token"]});
        let handle = format!("/api/rooms/authors/{}/handle", me["id"].as_str().unwrap());
        let wish = |method, path: &str, body| DesiredChange {
            method,
            path: path.to_owned(),
            body,
        };
        let origins = json!({"server.allowedOrigins": ["https://evil.example"]});
        let wishes = [
            ("token", wish("POST", &tokens(&other), label.clone())),
            ("key", wish("POST", "/api/auth/keys", label)),
            ("handle", wish("PATCH", &handle, json!({"handle": "taken"}))),
            ("origins", wish("PATCH", "/api/settings", origins)),
        ];
        let mut orders = Vec::new();
        for (listener, at) in listeners(&t.server) {
            for (credential, shown) in [("nothing", &json!({})), ("its token", &shown)] {
                for (name, wish) in &wishes {
                    let name = format!("{listener}, {credential}: {name}");
                    orders.push(wish.order(&name, &at, shown));
                }
            }
        }
        let paths = [&tokens(&other), "/api/auth/keys", "/api/rooms/authors/me"];
        let picture = || {
            let (_, mut settings) = t.server.ask("GET", "/api/settings", None);
            let mut seen = vec![settings["settings"].take()];
            seen.extend(paths.map(|path| t.server.ask("GET", path, None).1));
            seen
        };
        let before = picture();
        assert!(before[0].is_array(), "{before:?}");
        is_kept_out(&carried_out(&t, &orders), is_enclosed);
        assert_eq!(picture(), before);
    }
}

/// Row 6: what a person shows, at the computer's own address of a server that other computers
/// reach.
#[test]
fn a_stolen_cookie_or_key_opens_nothing_at_the_computers_own_address() {
    let configured = [ENCLOSED, BARE].map(|it| ["0.0.0.0:0", "[::]:0"].map(|bind| (it, bind)));
    for (configuration, bind) in configured.into_iter().flatten() {
        let t = where_people_sign_in("row-6", configuration, bind);
        let port = t.server.port();
        let sign_in = json!({"email": "ada@example.org", "password": PASSWORD});
        let signed_in =
            RecordingClient::at(port).ask("POST", "/api/auth/login", "", Some(&sign_in));
        let cookie = signed_in.header("set-cookie");
        let cookie = cookie.split(';').next().unwrap();
        assert!(cookie.contains('='), "{}", signed_in.head);
        let label = json!({"label": "stolen"});
        let (status, made) = t.server.ask("POST", "/api/auth/keys", Some(&label));
        assert_eq!(status, 201, "{made}");
        let key = format!("Bearer {}", made["key"].as_str().unwrap());
        // Where there is no network, loopback is all there is.
        let own = own_address().unwrap_or_else(|| "127.0.0.1".to_owned());
        let mut addresses = vec![format!("{own}:{port}")];
        if bind.starts_with('[') {
            addresses.extend([format!("[::1]:{port}"), format!("[::ffff:{own}]:{port}")]);
        }
        let (_, grant) = waiting(&t);
        let mut orders = Vec::new();
        // A host that the server answers to, so that it looks at the rest.
        let host = format!("localhost:{port}");
        for at in &addresses {
            for (shown, header) in [
                ("cookie", json!({"Host": host, "Cookie": cookie})),
                ("key", json!({"Host": host, "Authorization": key})),
            ] {
                orders.push(grant.order(&format!("main {at}, {shown}"), at, &header));
            }
        }
        is_kept_out(&carried_out(&t, &orders), configuration == ENCLOSED);
        assert_eq!(t.asks().len(), 1, "it still waits for a person");
    }
}

/// Row 7: the files of the running server.
#[test]
fn an_agent_changes_nothing_in_the_data_folder() {
    for configuration in [ENCLOSED, BARE] {
        let t = ServerWithFolder::open_configured("row-7", configuration);
        let (asked, _) = waiting(&t);
        let data = t.data_dir();
        let granted = json!({"name": "database", "action": "change",
            "path": data.join("guildhall.sqlite"),
            "sql": "UPDATE approvals SET state = 'granted'"});
        let configured = touch("configuration", &data.join("guildhall.toml"), "a");
        let found = carried_out(&t, &[granted, configured]);
        if configuration == BARE {
            assert!(found.values().all(|outcome| outcome == "ok"), "{found:?}");
            continue;
        }
        assert_eq!(found["database"], "unable to open database file");
        assert_eq!(found["configuration"], "EROFS");
        let waits = t.asks();
        assert_eq!(waits.len(), 1, "it still waits for a person");
        assert_eq!(waits[0]["id"], asked["id"]);
        assert_eq!(
            fs::read_to_string(data.join("guildhall.toml")).unwrap(),
            ENCLOSED
        );
    }
}

/// Row 8: another guildhall of the same owner, whatever its agents may do.
#[test]
fn an_agent_of_one_guildhall_reaches_no_other_one() {
    let other = ServerWithFolder::open_configured("row-8-other", BARE);
    let (_, grant) = waiting(&other);
    for configuration in [ENCLOSED, BARE] {
        let t = ServerWithFolder::open_configured("row-8", configuration);
        let agent = t.look(&t.session())["agentId"].as_str().unwrap().to_owned();
        let tokens = format!("/api/agents/{agent}/tokens");
        let (_, minted) = t
            .server
            .ask("POST", &tokens, Some(&json!({"label": "own"})));
        let mut orders = Vec::new();
        let own = json!({"X-Service-Agent": minted["token"]});
        for (name, at) in listeners(&other.server) {
            for (credential, shown) in [("nothing", &json!({})), ("its token", &own)] {
                orders.push(grant.order(&format!("{name}, {credential}"), &at, shown));
            }
        }
        is_kept_out_by_the_enclosure(&carried_out(&t, &orders), configuration == ENCLOSED);
        if configuration == ENCLOSED {
            assert_eq!(other.asks().len(), 1, "it still waits for a person");
        }
    }
}

/// Previews are listeners of the owner, too: those of its own guildhall, and of another one.
#[test]
fn an_agent_reaches_no_preview() {
    let site = TestSite::page("<title>a dev server</title>");
    let other = ServerWithFolder::open("previews-other");
    for configuration in [ENCLOSED, BARE] {
        let t = ServerWithFolder::open_configured("previews", configuration);
        let orders = [&t, &other].map(|shown| {
            let url = preview(&shown.server, &site);
            let at = url.strip_prefix("http://").unwrap();
            let (at, path) = at.split_once('/').unwrap();
            let look = DesiredChange {
                method: "GET",
                path: format!("/{path}"),
                body: json!({}),
            };
            look.order(&format!("main {at}"), at, &json!({}))
        });
        let found = carried_out(&t, &orders);
        assert_eq!(found.len(), 2, "each has a port of its own");
        is_kept_out_by_the_enclosure(&found, configuration == ENCLOSED);
    }
}

/// Where a server shows this dev server.
fn preview(server: &ServerProcess, site: &TestSite) -> String {
    let url = site.url("/");
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
    let body = json!({"kind": "proxy", "port": port.parse::<u16>().unwrap()});
    let (status, signed) = server.ask("POST", "/api/workbench/sign", Some(&body));
    assert_eq!(status, 200, "{signed}");
    signed["url"].as_str().unwrap().to_owned()
}
