//! Coming back from a sign-in while the server stops. Source: contract 5.4, 5.14.

use std::sync::Arc;

use axum::{Router, routing::post};
use guildhall_testkit::{TestHall, soon};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify, task::JoinSet};

use crate::{
    connector_auth_flows::{after, at, instance, wish},
    test_values::text,
};

/// Follows the link of a flow; answers the state that goes along, and the cookie.
async fn leave(t: &TestHall, flow: &Value) -> (String, String) {
    let link = text(&flow["authorizeUrl"]);
    let (_, ticket) = link.rsplit_once('/').unwrap();
    let sent = t.owner().get(&format!("/api/oauth/go/{ticket}")).await;
    assert_eq!(sent.status, 303, "{}", sent.text());
    let (_, state) = sent.header("location").split_once("state=").unwrap();
    let state = state.split('&').next().unwrap();
    let cookie = sent.header("set-cookie").split(';').next().unwrap();
    (state.to_owned(), cookie.to_owned())
}

#[tokio::test]
async fn a_code_that_nobody_takes_holds_up_no_end_and_the_link_leads_on_anew() {
    let asked = Arc::new(Notify::new());
    let asking = Arc::clone(&asked);
    // Takes a code and never says what it buys.
    let token = move || {
        asking.notify_one();
        std::future::pending::<()>()
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let routes = Router::new().route("/token", post(token));
    let mut serving = JoinSet::new();
    serving.spawn(async move { axum::serve(listener, routes).await.unwrap() });

    let mut t = TestHall::open().await;
    let auth = json!({"kind": "oauth2", "flow": "authorization_code", "clientId": "us",
        "authorizationUrl": format!("{origin}/authorize"), "tokenUrl": format!("{origin}/token")});
    let provider = instance(&t, &origin, &auth, &Value::Null).await;
    let ask = wish(&provider, "notes", "k");
    let begun = t.owner().post("/api/connectors/connections", ask).await;
    let waits = after(&t, &begun.ok(201), "starting").await;
    assert_eq!(waits["step"], "browser", "{waits}");
    let (state, cookie) = leave(&t, &waits).await;
    let path = format!("/api/oauth/callback?state={state}&code=good");
    let browser = t.nobody().with("cookie", &cookie);
    let coming = browser.ask("GET", &path).send();
    let ending = async {
        soon("the code arrives", asked.notified()).await;
        soon("the end of the server", t.restart()).await;
    };
    let (page, ()) = futures_util::future::join(coming, ending).await;
    assert_ne!(page.status, 200);
    let stands = t.owner().get(&at(&waits)).await.ok(200);
    assert_eq!(stands["state"], "pending");
    let (anew, _) = leave(&t, &stands).await;
    assert_ne!(anew, state);
    let late = t.nobody().with("cookie", &cookie).get(&path).await;
    assert_eq!(late.status, 400, "the first answer is used up");
}
