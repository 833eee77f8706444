//! Connectors of a furnished workspace: accounts by key and by sign-in, sign-ins on their way,
//! what is granted and what was run.

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use super::{
    facts::Facts,
    furnish::{come_back, gated, keyed, leave},
    services::{CLIENT_SECRET, KEY},
};
use crate::{
    connector_auth_flows::{after, at, instance, wish},
    connector_fixtures::{RUN, grant, rehearsal, revision, running, scripted},
    test_values::text,
};

const CONNECTIONS: &str = "/api/connectors/connections";
/// Where accounts sign in.
const ORIGIN: &str = "http://127.77.1.1:7801";

pub(super) async fn furnish(t: &TestHall, facts: &mut Facts) {
    let (owner, ada) = (t.owner(), facts.caller(t, "ada"));
    let me = json!({"path": "/me", "pointer": "/login"});
    let by_key = json!({"kind": "api-key", "in": "header", "name": "x-key"});
    let by_key = instance(t, ORIGIN, &by_key, &me).await;
    let begun = begin(t, &by_key, "by-key").await;
    let path = format!("{}/credential", at(&begun));
    let entered = owner.post(&path, json!({"secret": KEY})).await.ok(200);
    let keyed_account = text(&entered["connectionId"]);

    let sign_in = json!({"kind": "oauth2", "flow": "authorization_code", "clientId": "us",
        "authorizationUrl": format!("{ORIGIN}/authorize"), "tokenUrl": format!("{ORIGIN}/token"),
        "scopes": ["notes"]});
    let by_sign_in = instance(t, ORIGIN, &sign_in, &me).await;
    let path = format!("/api/connectors/providers/{by_sign_in}/toolkits/notes/credential");
    let secret = json!({"secret": CLIENT_SECRET});
    owner.put(&path, secret).await.ok(200);
    let begun = begin(t, &by_sign_in, "by-sign-in").await;
    come_back(t, &leave(t, &text(&begun["authorizeUrl"])).await).await;
    let over = owner.get(&at(&begun)).await.ok(200);
    assert_eq!(over["state"], "connected", "{over}");
    let signed_in = text(&over["connectionId"]);
    // On their way: in a browser, where this server registered itself; by a code typed elsewhere.
    let registers = json!({"kind": "oauth2", "flow": "authorization_code", "issuer": ORIGIN});
    let registered = instance(t, ORIGIN, &registers, &Value::Null).await;
    let begun = begin(t, &registered, "on-its-way").await;
    let away = leave(t, &text(&begun["authorizeUrl"])).await;
    facts.sent_away.insert("connector".to_owned(), away);
    let device = json!({"kind": "oauth2", "flow": "device_code", "clientId": "us",
        "deviceUrl": format!("{ORIGIN}/device"), "tokenUrl": format!("{ORIGIN}/device-token")});
    let device = instance(t, ORIGIN, &device, &Value::Null).await;
    let typed = begin(t, &device, "typed").await;

    let scripted = scripted(t).await;
    for (name, id) in [
        ("keyed account", &keyed_account),
        ("signed-in account", &signed_in),
        ("scripted account", &scripted),
        ("connector flow", &text(&begun["flowId"])),
        ("device flow", &text(&typed["flowId"])),
        ("rehearsal", &rehearsal(t).await),
    ] {
        facts.ids.insert(name.to_owned(), id.clone());
    }
    for (name, connection) in [("keyed", &keyed_account), ("signed-in", &signed_in)] {
        let review = grant(t, connection, &ada, &["listNotes"]).await;
        let id = revision(&review, "listNotes");
        let run = running(&ada, connection, &id, &json!({}));
        keyed(
            t,
            facts,
            ("owner", "POST", RUN),
            &format!("run-{name}"),
            run,
        )
        .await;
        facts.ids.insert(format!("{name} operation"), id);
    }
    let slugs = ["list_notes", "add_note", "clear_notes"];
    let review = grant(t, &scripted, &ada, &slugs).await;
    let write = revision(&review, "add_note");
    let lost = json!({"text": "a", "play": "lost"});
    let run = running(&ada, &scripted, &write, &lost);
    keyed(t, facts, ("owner", "POST", RUN), "run-lost", run).await;
    let destroy = revision(&review, "clear_notes");
    let run = running(&ada, &scripted, &destroy, &json!({}));
    gated(t, facts, "program", RUN, run).await;
    let session = facts.id("session");
    let path = format!("/api/sessions/{session}/connections/{scripted}");
    owner.put(&path, json!({"on": false})).await.ok(200);
}

/// Begins a flow; answers it once it waits for a person.
async fn begin(t: &TestHall, provider: &str, key: &str) -> Value {
    let begun = t
        .owner()
        .post(CONNECTIONS, wish(provider, "notes", key))
        .await;
    after(t, &begun.ok(201), "starting").await
}
