//! Previews: when they open, where, until when, and what is told of it.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use guildhall_domain::callers::AuthMode;
use guildhall_testkit::{HallOptions, TestHall, TestResponse, until};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
};

use crate::dev_servers::{
    DevServerStub, OpenedPreview, PREVIEWS, SIGN, hall, read_until, with_ports,
};

#[tokio::test]
async fn those_who_ask_at_the_same_time_share_one_listener() {
    let t = hall().await;
    let dev = DevServerStub::saying("x").await;
    let mut events = t.events();
    let owner = t.owner();
    let ask = || owner.post(SIGN, json!({"kind": "proxy", "port": dev.port}));
    let answers = tokio::join!(ask(), ask(), ask(), ask());
    let place = |answer: TestResponse| {
        let url = answer.ok(200)["url"].as_str().unwrap().to_owned();
        url.split("/?").next().unwrap().to_owned()
    };
    let first = place(answers.0);
    for other in [answers.1, answers.2, answers.3] {
        assert_eq!(place(other), first);
    }
    events.next("preview_opened");
}

#[tokio::test]
async fn a_preview_comes_back_on_its_port_after_a_restart_and_knows_its_browser() {
    let mut t = hall().await;
    let (dev, other) = (
        DevServerStub::saying("x").await,
        DevServerStub::saying("y").await,
    );
    OpenedPreview::of(&t, other.port).await;
    let shown = OpenedPreview::of(&t, dev.port).await;
    let mut events = t.events();
    t.restart().await;
    let mut closed: Vec<_> = events
        .all()
        .into_iter()
        .map(|event| event["data"].clone())
        .collect();
    closed.sort_by_key(|data| data["port"] != json!(dev.port));
    let data = json!({"port": dev.port, "listenPort": shown.port, "reason": "shutdown"});
    assert_eq!((closed.len(), &closed[0]), (2, &data));
    let list = t.owner().get(PREVIEWS).await.ok(200);
    assert_eq!(list, json!({"previews": []}));
    assert!(
        TcpStream::connect((Ipv4Addr::LOCALHOST, shown.port))
            .await
            .is_err()
    );
    let again = OpenedPreview::of(&t, dev.port).await;
    assert_eq!(again.port, shown.port);
    // The cookie of before counts on.
    assert_eq!(shown.ask("GET /", "").await.status, 200);
}

#[tokio::test]
async fn a_preview_nobody_looks_at_closes_by_itself() {
    let options = HallOptions {
        preview_idle: Duration::from_millis(200),
        ..HallOptions::default()
    };
    let t = TestHall::open_with(with_ports(3, options)).await;
    let dev = DevServerStub::saying("x").await;
    let shown = OpenedPreview::of(&t, dev.port).await;
    let mut events = t.events();
    assert_eq!(shown.ask("GET /", "").await.status, 200);
    let mut data = None;
    until("the end of the preview", || {
        data = events.all().pop().or(data.take());
        data.is_some()
    })
    .await;
    let data = data.unwrap();
    assert_eq!(
        (&data["type"], &data["scope"]),
        (&json!("preview_closed"), &json!("hall"))
    );
    let expected = json!({"port": dev.port, "listenPort": shown.port, "reason": "idle"});
    assert_eq!(data["data"], expected);
    let again = OpenedPreview::of(&t, dev.port).await;
    assert_eq!(again.port, shown.port);
}

#[tokio::test]
async fn previews_are_closed_by_people_and_by_revoking() {
    let t = hall().await;
    let dev = DevServerStub::saying("x").await;
    let first = OpenedPreview::of(&t, dev.port).await;
    let place = format!("{PREVIEWS}/{}", dev.port);
    let mut events = t.events();
    t.owner().delete(&place).await.ok(204);
    let data = json!({"port": dev.port, "listenPort": first.port, "reason": "person"});
    assert_eq!(events.next("preview_closed"), data);
    assert!(
        TcpStream::connect((Ipv4Addr::LOCALHOST, first.port))
            .await
            .is_err()
    );
    for gone in [
        place.as_str(),
        "/api/workbench/previews/x",
        "/api/workbench/previews/70000",
    ] {
        t.owner()
            .delete(gone)
            .await
            .refused(404, "PREVIEW_NOT_FOUND");
    }
    let second = OpenedPreview::of(&t, dev.port).await;
    assert_eq!(second.port, first.port);
    events.single_event("preview_opened");
    t.owner()
        .post("/api/workbench/revoke", json!({}))
        .await
        .ok(204);
    assert_eq!(events.single_event("preview_closed")["reason"], "revoked");
    let third = OpenedPreview::of(&t, dev.port).await;
    assert_eq!(second.ask("GET /", "").await.status, 401);
    assert_eq!(third.ask("GET /", "").await.status, 200);
}

#[tokio::test]
async fn where_no_preview_can_be_shown_it_says_why() {
    let t = TestHall::open_with(with_ports(1, HallOptions::default())).await;
    let sign = |port: u16| json!({"kind": "proxy", "port": port});
    let unavailable = |why: &str| json!({"url": null, "unavailable": why, "expiresAt": null});
    let (one, two) = (
        DevServerStub::saying("x").await,
        DevServerStub::saying("y").await,
    );
    let first = t.owner().post(SIGN, sign(one.port)).await.ok(200);
    assert!(first["url"].is_string() && first.get("unavailable").is_none());
    let full = t.owner().post(SIGN, sign(two.port)).await.ok(200);
    assert_eq!(full, unavailable("no-port"));
    // One that is open is not affected.
    t.owner().post(SIGN, sign(one.port)).await.ok(200);
    t.owner()
        .delete(&format!("{PREVIEWS}/{}", one.port))
        .await
        .ok(204);
    t.owner().post(SIGN, sign(two.port)).await.ok(200);
    let host = format!("127.0.0.1:{}", t.port());
    let secure = t.owner().with("origin", &format!("https://{host}"));
    let answer = secure.post(SIGN, sign(one.port)).await.ok(200);
    assert_eq!(answer, unavailable("insecure"));
    let refused = |ask: serde_json::Value| {
        let owner = t.owner();
        async move {
            owner
                .post(SIGN, ask)
                .await
                .refused(400, "VALIDATION_FAILED")
        }
    };
    for ask in [
        json!({"kind": "proxy", "port": 0}),
        json!({"kind": "proxy"}),
        json!({"kind": "tunnel"}),
        json!({}),
    ] {
        refused(ask).await;
    }
}

#[tokio::test]
async fn ports_are_probed_and_listed_without_our_own() {
    let t = hall().await;
    let dev = DevServerStub::saying("x").await;
    let shown = OpenedPreview::of(&t, dev.port).await;
    let owner = t.owner();
    let probe = |port: u16| owner.post("/api/workbench/probe", json!({"port": port}));
    assert_eq!(probe(dev.port).await.ok(200), json!({"listening": true}));
    let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let gone_port = gone.local_addr().unwrap().port();
    drop(gone);
    assert_eq!(probe(gone_port).await.ok(200), json!({"listening": false}));
    probe(0).await.refused(400, "VALIDATION_FAILED");
    let ports = t.owner().get("/api/workbench/ports").await.ok(200);
    let listed = |port: u16| {
        let ports = ports["ports"].as_array().unwrap();
        ports.iter().any(|one| one["port"] == json!(port))
    };
    if cfg!(target_os = "linux") {
        assert!(listed(dev.port));
    }
    assert!(!listed(t.port()) && !listed(shown.port));
}

#[tokio::test]
async fn a_port_of_another_dev_servers_pages_is_given_last_and_cleared_of_them() {
    let t = TestHall::open_with(with_ports(2, HallOptions::default())).await;
    let mut shown = Vec::new();
    let servers = [
        DevServerStub::saying("a").await,
        DevServerStub::saying("b").await,
        DevServerStub::saying("c").await,
    ];
    for dev in &servers {
        t.advance(1);
        shown.push(OpenedPreview::of(&t, dev.port).await);
        t.owner()
            .delete(&format!("{PREVIEWS}/{}", dev.port))
            .await
            .ok(204);
    }
    let ports: Vec<u16> = shown.iter().map(|one| one.port).collect();
    assert_ne!(
        ports[0], ports[1],
        "the port that nobody had is taken first"
    );
    assert_eq!(ports[0], ports[2], "then that of longest ago");

    let again = OpenedPreview::of(&t, servers[2].port).await;
    assert_eq!(again.port, ports[0]);
    let met = |dev: &DevServerStub| format!("guildhall_shown_{}={}", again.port, dev.port);
    let entered = again.enter(&met(&servers[0])).await;
    assert_eq!(entered.header("clear-site-data"), "\"cache\", \"storage\"");
    let marked = format!(
        "{}; Path=/; Max-Age=34560000; HttpOnly; SameSite=Lax",
        met(&servers[2])
    );
    assert_eq!(entered.all("set-cookie")[1], marked);
    // Its own storage stays.
    for known in [met(&servers[2]), "x=1".to_owned()] {
        assert_eq!(again.enter(&known).await.header("clear-site-data"), "");
    }
}

#[tokio::test]
async fn a_port_that_is_somebodys_on_either_address_of_localhost_is_passed_over() {
    let t = hall().await;
    let dev = DevServerStub::saying("x").await;
    let first = OpenedPreview::of(&t, dev.port).await;
    let health = format!(
        "GET /__guildhall_preview/health HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n",
        first.port
    );
    let mut there = TcpStream::connect((Ipv6Addr::LOCALHOST, first.port))
        .await
        .unwrap();
    there.write_all(health.as_bytes()).await.unwrap();
    assert!(
        read_until(&mut there, "\r\n\r\n")
            .await
            .starts_with("HTTP/1.1 204")
    );
    let close = format!("{PREVIEWS}/{}", dev.port);
    for taken in [
        IpAddr::from(Ipv6Addr::LOCALHOST),
        Ipv4Addr::LOCALHOST.into(),
    ] {
        t.owner().delete(&close).await.ok(204);
        let _stranger = TcpListener::bind((taken, first.port)).await.unwrap();
        assert_ne!(
            OpenedPreview::of(&t, dev.port).await.port,
            first.port,
            "{taken}"
        );
    }
}

#[tokio::test]
async fn other_people_see_dev_servers_only_where_the_owner_lets_them() {
    let t = TestHall::open_with(with_ports(
        3,
        HallOptions {
            mode: AuthMode::Login,
            ..HallOptions::default()
        },
    ))
    .await;
    let dev = DevServerStub::saying("x").await;
    let shown = OpenedPreview::of(&t, dev.port).await;
    let pia = t.person("Pia").await;
    let probe = "/api/workbench/probe";
    let close = format!("{PREVIEWS}/{}", dev.port);
    let ask = json!({"kind": "proxy", "port": dev.port});
    pia.post(SIGN, ask.clone()).await.refused(403, "OWNER_ONLY");
    let own = json!({"kind": "proxy", "port": t.port()});
    pia.post(SIGN, own).await.refused(403, "OWNER_ONLY");
    let port = json!({"port": dev.port});
    pia.post(probe, port.clone())
        .await
        .refused(403, "OWNER_ONLY");
    for path in ["/api/workbench/ports", PREVIEWS] {
        pia.get(path).await.refused(403, "OWNER_ONLY");
    }
    pia.delete(&close).await.refused(403, "OWNER_ONLY");
    assert_eq!(shown.ask("GET /", "").await.status, 200);

    let open = json!({"workbench.people": "previews"});
    t.owner().patch("/api/settings", open).await.ok(200);
    let theirs = OpenedPreview::by(&pia, dev.port).await;
    assert_eq!(theirs.ask("GET /", "").await.body, "x");
    assert_eq!(
        pia.post(probe, port).await.ok(200),
        json!({"listening": true})
    );
    pia.get("/api/workbench/ports").await.ok(200);
    pia.delete(&close).await.ok(204);
}

#[tokio::test]
async fn the_list_of_previews_is_as_of_an_event_and_told_once() {
    let t = hall().await;
    let dev = DevServerStub::saying("x").await;
    let before = t.owner().get(PREVIEWS).await;
    OpenedPreview::of(&t, dev.port).await;
    let after = t.owner().get(PREVIEWS).await;
    let seq = |answer: &TestResponse| answer.header("x-event-seq").parse::<u64>().unwrap();
    assert_eq!(seq(&after), seq(&before) + 1);
    let tag = after.header("etag").to_owned();
    assert_ne!(tag, before.header("etag"));
    let known = t.owner().with("if-none-match", &tag).get(PREVIEWS).await;
    assert_eq!(known.status, 304);
    t.owner()
        .delete(&format!("{PREVIEWS}/{}", dev.port))
        .await
        .ok(204);
    let closed = t.owner().get(PREVIEWS).await;
    assert_eq!(seq(&closed), seq(&after) + 1);
    assert_eq!(closed.ok(200), json!({"previews": []}));
}
