//! Every addition has its card: what a tool server is to be is read and allowed before it is
//! kept, started or reached, also where the owner asks and shows nothing.
//! Source: spec, "A person approves the entry at a card before it is added".

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use guildhall_testkit::{APPROVED, TestCaller, TestHall, TestResponse, soon};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::{
    mcp_program_start::KEEPER,
    mcp_servers::{address, ask, at},
    test_values::{column, list, text},
};

/// An address that counts who comes, and says nothing to them.
struct ConnectionCounter {
    url: String,
    came: Arc<AtomicUsize>,
    _open: JoinSet<()>,
}

impl ConnectionCounter {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let came = Arc::new(AtomicUsize::new(0));
        let (mut open, count) = (JoinSet::new(), Arc::clone(&came));
        open.spawn(async move {
            while listener.accept().await.is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self {
            url,
            came,
            _open: open,
        }
    }

    fn connection(&self) -> Value {
        json!({"transport": "http", "url": self.url})
    }

    fn came(&self) -> usize {
        self.came.load(Ordering::SeqCst)
    }
}

/// A program that leaves a file behind where it is started.
struct MarkerProgram(PathBuf);

impl MarkerProgram {
    fn of(t: &TestHall, name: &str) -> Self {
        t.install("guildhall", KEEPER);
        Self(t.scratch().join(name))
    }

    fn connection(&self) -> Value {
        let touch = format!("touch '{}'", self.0.display());
        json!({"transport": "stdio", "command": "/bin/sh", "args": ["-c", touch]})
    }

    fn was_started(&self) -> bool {
        self.0.exists()
    }
}

/// Tries the entry out, which starts its program.
async fn test(owner: &TestCaller, agent: &TestCaller, name: &str) -> u16 {
    let path = format!("{}/{name}/test", at(agent));
    owner.post(&path, json!({})).await.status
}

/// What the owner is answered who shows nothing and waits for nobody.
async fn required(t: &TestHall, method: &str, path: &str, body: &Value) -> Value {
    let ask = t.owner().ask(method, path).header("prefer", "wait=0");
    let answer = ask.json(body).send().await;
    let place = answer.header("location").to_owned();
    let required = answer.ok(202);
    assert_eq!(required["reason"], "no_approval", "{required}");
    assert_eq!(
        place,
        format!("/api/approvals/{}", text(&required["approvalId"]))
    );
    required
}

async fn decide(t: &TestHall, required: &Value, deed: &str, body: &Value) -> TestResponse {
    let path = format!("/api/approvals/{}/{deed}", text(&required["approvalId"]));
    t.owner().post(&path, body.clone()).await
}

/// The digest of the card as it is shown.
async fn shown(t: &TestHall, required: &Value) -> Value {
    let path = format!("/api/approvals/{}", text(&required["approvalId"]));
    let approval = t.owner().get(&path).await.ok(200);
    assert_eq!(approval["state"], "pending");
    approval
}

/// Grants what the card shows and sends the request again.
async fn repeated(t: &TestHall, method: &str, path: &str, body: &Value, required: &Value) -> Value {
    let digest = json!({"digest": shown(t, required).await["digest"]});
    decide(t, required, "grant", &digest).await.ok(200);
    let again = t.owner().ask(method, path);
    let again = again.header("x-service-approval", &text(&required["approvalToken"]));
    again.json(body).send().await.ok(200)
}

#[tokio::test]
async fn the_owners_add_keeps_starts_and_reaches_nothing_before_its_card() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let (marker, door) = (
        MarkerProgram::of(&t, "added"),
        ConnectionCounter::open().await,
    );
    let mut events = t.events();
    for (name, connection) in [("run", marker.connection()), ("web", door.connection())] {
        let body = ask(name, &connection);
        let so_far = (marker.was_started(), door.came());
        assert_eq!(so_far, (name == "web", 0));
        let before = t.owner().get(&at(&ada)).await.ok(200);
        let first = required(&t, "POST", &at(&ada), &body).await;
        assert_eq!(first["capability"], "mcp.add");
        assert_eq!(events.names(), ["approval_requested"]);
        assert_eq!(t.owner().get(&at(&ada)).await.ok(200), before);
        assert_eq!(test(&t.owner(), &ada, name).await, 404);
        let waiting = t.owner().get("/api/approvals").await.ok(200);
        let card = &list(&waiting["approvals"])[0];
        assert_eq!(card["requestedBy"]["id"], t.owner().author());
        for field in ["command", "args", "url"] {
            let sent = connection.get(field).cloned().unwrap_or_default();
            let drawn = &card["card"][field];
            assert!(
                *drawn == sent || (sent.is_null() && *drawn == json!([])),
                "{field}: {card}"
            );
        }
        assert_eq!((marker.was_started(), door.came()), so_far);
        assert!(t.hall().process_trees().is_empty(), "no process");

        let added = repeated(&t, "POST", &at(&ada), &body, &first).await;
        assert_eq!(column(&added, "name").last().unwrap(), name);
        let told = events.names();
        assert_eq!(told[..2], APPROVED[1..], "{told:?}");
        assert_eq!(told[2], "mcp_server_added");
        test(&t.owner(), &ada, name).await;
    }
    assert!(marker.was_started(), "the marker is one");
    assert!(door.came() > 0, "the door counts");
}

#[tokio::test]
async fn a_change_and_switching_on_again_wait_for_their_card_too() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let harmless = json!({"transport": "stdio", "command": "/bin/true"});
    owner
        .post_approved(&at(&ada), ask("it", &harmless))
        .await
        .ok(200);
    let path = format!("{}/it", at(&ada));
    let (marker, door) = (
        MarkerProgram::of(&t, "changed"),
        ConnectionCounter::open().await,
    );
    for connection in [door.connection(), marker.connection()] {
        let (before, body) = (
            owner.get(&path).await.ok(200),
            json!({"connection": connection}),
        );
        let first = required(&t, "PATCH", &path, &body).await;
        assert_eq!(first["capability"], "mcp.update");
        assert_eq!(owner.get(&path).await.ok(200), before);
        assert_eq!((marker.was_started(), door.came()), (false, 0));
        if connection == marker.connection() {
            let changed = repeated(&t, "PATCH", &path, &body, &first).await;
            assert_eq!(changed[0]["connection"]["command"], "/bin/sh");
        }
    }

    // Off at once; on again by either way only with its card.
    let (on, off) = (format!("{path}/enable"), format!("{path}/disable"));
    owner.post(&off, json!({})).await.ok(200);
    let by_patch = required(&t, "PATCH", &path, &json!({"enabled": true})).await;
    let first = owner
        .ask("POST", &on)
        .header("prefer", "wait=0")
        .json(&json!({}));
    let first = first.send().await.ok(202);
    assert_eq!(first["approvalId"], by_patch["approvalId"], "one deed");
    test(&owner, &ada, "it").await;
    assert_eq!(owner.get(&path).await.ok(200)["enabled"], false);
    assert!(!marker.was_started());
    let listed = repeated(&t, "POST", &on, &json!({}), &first).await;
    assert_eq!(listed[0]["enabled"], true);
    test(&owner, &ada, "it").await;
    assert!(marker.was_started(), "the marker is one");
    // What goes needs none.
    owner.delete(&path).await.ok(200);
    let left = owner.get("/api/approvals").await.ok(200);
    assert_eq!(list(&left["approvals"]).len(), 1, "the change that waits");
}

#[tokio::test]
async fn what_a_folder_names_is_imported_with_its_card() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let (marker, door) = (
        MarkerProgram::of(&t, "imported"),
        ConnectionCounter::open().await,
    );
    let project = json!({"mcpServers": {
        "run": {"command": "/bin/sh", "args": marker.connection()["args"]},
        "web": {"type": "http", "url": door.url},
    }});
    let file = format!("{}/.mcp.json", t.folder("ada"));
    std::fs::write(file, project.to_string()).unwrap();
    let import = format!("/api/agents/{}/mcp-import", ada.agent());
    for (name, count) in [("run", 1), ("web", 2)] {
        let body = json!({"name": name});
        let first = required(&t, "POST", &import, &body).await;
        assert_eq!(first["capability"], "mcp.import");
        assert_eq!(test(&owner, &ada, name).await, 404);
        assert_eq!((marker.was_started(), door.came()), (false, 0));
        let added = repeated(&t, "POST", &import, &body, &first).await;
        assert_eq!(list(&added).len(), count);
    }
    assert!(door.came() > 0, "looked at once it was allowed");
}

#[tokio::test]
async fn a_yes_to_another_card_a_no_and_a_withdrawal_add_nothing() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let body = ask("web", &address());
    let first = required(&t, "POST", &at(&ada), &body).await;
    let mut wrong = text(&shown(&t, &first).await["digest"]);
    let last = if wrong.ends_with('0') { "1" } else { "0" };
    wrong.replace_range(63.., last);
    let yes = json!({"digest": wrong});
    decide(&t, &first, "grant", &yes)
        .await
        .refused(409, "APPROVAL_CHANGED");
    let token = text(&first["approvalToken"]);
    // Who shows the token asks, and does not decide.
    let right = json!({"digest": shown(&t, &first).await["digest"]});
    let path = format!("/api/approvals/{}/grant", text(&first["approvalId"]));
    let grant = owner
        .ask("POST", &path)
        .header("x-service-approval", &token);
    grant
        .json(&right)
        .send()
        .await
        .refused(403, "REQUESTER_CANNOT_DECIDE");
    shown(&t, &first).await;
    // A question that is taken back may be put again at once; one that was denied may not.
    decide(&t, &first, "withdraw", &json!({})).await.ok(200);
    let second = required(&t, "POST", &at(&ada), &body).await;
    assert_ne!(second["approvalId"], first["approvalId"]);
    decide(&t, &second, "deny", &json!({})).await.ok(200);
    owner
        .post(&at(&ada), body)
        .await
        .refused(403, "APPROVAL_DENIED");
    assert_eq!(owner.get(&at(&ada)).await.ok(200), json!([]));
}

#[tokio::test]
async fn an_owners_request_is_held_and_runs_when_another_screen_says_yes() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let body = ask("web", &address());
    let held = owner.ask("POST", &at(&ada)).header("prefer", "wait=60");
    let held = held.json(&body).send();
    let deciding = async {
        let approval = loop {
            let found = owner.get("/api/approvals").await.ok(200);
            if let Some(approval) = list(&found["approvals"]).first() {
                break approval.clone();
            }
        };
        assert_eq!(owner.get(&at(&ada)).await.ok(200), json!([]));
        let path = format!("/api/approvals/{}/grant", text(&approval["id"]));
        let digest = json!({"digest": approval["digest"]});
        owner.post(&path, digest).await.ok(200);
    };
    let (answer, ()) = soon("both ends", async { tokio::join!(held, deciding) }).await;
    assert_eq!(answer.header("preference-applied"), "wait=60");
    assert_eq!(column(&answer.ok(200), "name"), ["web"]);
}
