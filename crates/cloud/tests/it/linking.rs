//! Linking an instance: the whole way of the device grant, with a browser at the pages.

use bytes::Bytes;
use http::Request;
use rusqlite::Connection;
use serde_json::json;

use crate::{
    browser::hidden,
    companion::{CompanionOptions, PASSWORD, TestCompanion, form, token_fields},
};

#[tokio::test]
async fn a_device_is_linked_after_somebody_says_yes_and_its_key_is_issued_once() {
    let cloud = TestCompanion::open().await;
    let device = cloud.device("workshop").await;
    assert_eq!(
        (&device["expires_in"], &device["interval"]),
        (&json!(1800), &json!(5))
    );
    let origin = format!("http://{}", cloud.address);
    assert_eq!(device["verification_uri"], format!("{origin}/activate"));
    let code = device["user_code"].as_str().unwrap();
    assert!(code.len() == 9 && &code[4..5] == "-", "{code}");

    cloud
        .poll(&device)
        .await
        .error(400, "authorization_pending");
    cloud.poll(&device).await.error(400, "slow_down");
    cloud.clock.advance(5);
    cloud
        .poll(&device)
        .await
        .error(400, "authorization_pending");

    let browser = cloud.browser("ada@example.org").await;
    let page = browser
        .get(&format!("/activate?user_code={}", code.to_lowercase()))
        .await;
    let page = page
        .shows(200, "Link this guildhall?")
        .shows(200, "workshop");
    assert!(
        page.body.contains("2026-11-21T03:37:32.114Z"),
        "{}",
        page.body
    );
    browser
        .decide(&device, "approve")
        .await
        .shows(200, "It is linked");
    browser
        .get(&format!("/activate?user_code={code}"))
        .await
        .shows(404, "No instance asks");

    let issued = cloud.poll(&device).await;
    assert_eq!(issued.header("cache-control"), "no-store");
    let issued = issued.ok();
    let key = issued["access_token"].as_str().unwrap();
    assert!(key.starts_with("ghc_") && key.len() == 47, "{key}");
    let expected = json!({"access_token": key, "token_type": "Bearer", "scope": "instance"});
    assert_eq!(issued, expected);

    let beat = cloud.heartbeat(key).await.ok();
    assert_eq!(beat["accountLabel"], "ada@example.org");
    assert_eq!(beat["lastSeenAt"], "2026-11-21T03:37:37.114Z");
    // Asking again takes nothing from whoever uses it.
    cloud.poll(&device).await.error(400, "invalid_grant");
    assert_eq!(
        cloud.heartbeat(key).await.ok()["instanceId"],
        beat["instanceId"]
    );
}

#[tokio::test]
async fn a_key_whose_answer_was_lost_counts_no_more() {
    let cloud = TestCompanion::open().await;
    let browser = cloud.browser("ada@example.org").await;
    let device = cloud.device("").await;
    browser
        .decide(&device, "approve")
        .await
        .shows(200, "It is linked");
    let lost = cloud.poll(&device).await.ok();
    cloud.poll(&device).await.error(400, "invalid_grant");
    let key = lost["access_token"].as_str().unwrap();
    assert_eq!(cloud.heartbeat(key).await.status, 401);
}

#[tokio::test]
async fn a_no_and_the_end_of_the_time_are_told_to_the_device() {
    let cloud = TestCompanion::open().await;
    let browser = cloud.browser("ada@example.org").await;
    let refused = cloud.device("").await;
    let page = browser
        .decide(&refused, "deny")
        .await
        .shows(200, "It is not linked");
    assert!(!page.body.contains("It is linked"));
    cloud.poll(&refused).await.error(400, "access_denied");
    let (late, later) = (cloud.device("").await, cloud.device("").await);
    browser
        .decide(&late, "approve")
        .await
        .shows(200, "It is linked");
    cloud.clock.advance(1_800);
    cloud.poll(&late).await.error(400, "expired_token");
    cloud.poll(&later).await.error(400, "expired_token");
    let code = later["user_code"].as_str().unwrap();
    browser
        .get(&format!("/activate?user_code={code}"))
        .await
        .shows(404, "No instance asks");
}

#[tokio::test]
async fn nobody_alone_keeps_all_others_from_linking() {
    let cloud = TestCompanion::open().await;
    let begin = |from: &'static str| {
        let mut request = form("/oauth/device", &[("client_id", "guildhall-instance")]);
        let headers = request.headers_mut();
        headers.insert("x-forwarded-for", from.parse().unwrap());
        cloud.send(request)
    };
    for _ in 0..100 {
        begin("192.0.2.7").await.ok();
    }
    let refused = begin("192.0.2.7").await;
    assert_eq!(refused.header("retry-after"), "60");
    refused.error(503, "temporarily_unavailable");
    begin("192.0.2.8").await.ok();
    // One computer has all addresses of its IPv6 network.
    for _ in 0..50 {
        begin("2001:db8::1").await.ok();
        begin("2001:db8::2").await.ok();
    }
    begin("2001:db8::3")
        .await
        .error(503, "temporarily_unavailable");
    begin("2001:db8:0:1::3").await.ok();
    // They are forgotten an hour after their end.
    cloud.clock.advance(1_800 + 3_600 + 1);
    begin("192.0.2.7").await.ok();
}

#[tokio::test]
async fn of_many_devices_that_ask_at_once_with_one_code_one_gets_the_key() {
    let cloud = TestCompanion::open().await;
    let device = cloud.device("workshop").await;
    let browser = cloud.browser("ada@example.org").await;
    browser
        .decide(&device, "approve")
        .await
        .shows(200, "It is linked");
    let (a, b, c, d) = tokio::join!(
        cloud.poll(&device),
        cloud.poll(&device),
        cloud.poll(&device),
        cloud.poll(&device)
    );
    let won = [a, b, c, d]
        .into_iter()
        .filter(|answer| answer.status == 200);
    assert_eq!(won.count(), 1);
}

#[tokio::test]
async fn what_is_no_request_of_an_instance_is_refused_as_oauth_says() {
    let cloud = TestCompanion::open().await;
    let device = cloud.device("").await;
    let token = |changed: &[(&'static str, &'static str)]| {
        let fields = token_fields(&device).map(|(name, value)| {
            let other = changed.iter().find(|(known, _)| *known == name);
            (name, other.map_or(value, |(_, value)| value))
        });
        form("/oauth/token", &fields)
    };
    let no_form = Request::post("/oauth/token")
        .body(Bytes::from("{}"))
        .unwrap();
    let id = ("client_id", "guildhall-instance");
    for (request, status, error) in [
        (token(&[("client_id", "another")]), 401, "invalid_client"),
        (token(&[("client_id", "")]), 400, "invalid_request"),
        (
            token(&[("grant_type", "password")]),
            400,
            "unsupported_grant_type",
        ),
        (token(&[("device_code", "")]), 400, "invalid_request"),
        (token(&[("device_code", "ghd_x")]), 400, "invalid_grant"),
        (form("/oauth/token", &[id, id]), 400, "invalid_request"),
        (
            form("/oauth/device", &[id, ("scope", "all")]),
            400,
            "invalid_scope",
        ),
        (form("/oauth/device", &[]), 400, "invalid_request"),
        (form("/oauth/revoke", &[]), 400, "invalid_request"),
        (no_form, 400, "invalid_request"),
    ] {
        cloud.send(request).await.error(status, error);
    }
    let metadata = cloud
        .get("/.well-known/oauth-authorization-server")
        .await
        .ok();
    let place = |path: &str| format!("http://{}{path}", cloud.address);
    let expected = json!({
        "issuer": place(""),
        "device_authorization_endpoint": place("/oauth/device"),
        "token_endpoint": place("/oauth/token"),
        "revocation_endpoint": place("/oauth/revoke"),
        "grant_types_supported": ["urn:ietf:params:oauth:grant-type:device_code"],
        "response_types_supported": [],
        "scopes_supported": ["instance"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "service_documentation": place("/openapi.json"),
    });
    assert_eq!(metadata, expected);
}

#[tokio::test]
async fn a_key_that_was_given_back_does_not_count() {
    let cloud = TestCompanion::open().await;
    let key = cloud.link("ada@example.org").await;
    let revoke = |token: String| {
        let cloud = &cloud;
        async move { cloud.form("/oauth/revoke", &[("token", &token)]).await }
    };
    assert_eq!(revoke("ghc_nobodys".to_owned()).await.status, 200);
    cloud.heartbeat(&key).await.ok();
    for _ in 0..2 {
        assert_eq!(revoke(key.clone()).await.status, 200);
        let problem = cloud.heartbeat(&key).await;
        assert_eq!(
            problem.header("www-authenticate"),
            "Bearer realm=\"guildhall-cloud\""
        );
        problem.problem(401, "UNAUTHENTICATED");
    }
}

#[tokio::test]
async fn ten_wrong_codes_close_the_account_and_the_address_for_a_quarter_of_an_hour() {
    let cloud = TestCompanion::open().await;
    let device = cloud.device("workshop").await;
    let ada = cloud.browser("ada@example.org").await;
    for n in 0..10 {
        // By address and by form alike; what can be no code counts as well.
        let answer = match n % 2 {
            0 => ada.get("/activate?user_code=BCDF-GHJK").await,
            _ => {
                let token = ada.form_token().await;
                let fields = [
                    ("token", token.as_str()),
                    ("user_code", "?"),
                    ("decision", "approve"),
                ];
                ada.post("/activate", &fields).await
            }
        };
        answer.shows(404, "No instance asks");
    }
    let code = device["user_code"].as_str().unwrap();
    let closed = ada.get(&format!("/activate?user_code={code}")).await;
    assert_eq!(closed.header("retry-after"), "900");
    closed.shows(429, "Try again in 15 minutes");
    // Another account at the same address is closed out, and lets in nobody either.
    let token = ada.form_token().await;
    let fields = [
        ("token", token.as_str()),
        ("user_code", code),
        ("decision", "approve"),
    ];
    ada.post("/activate", &fields)
        .await
        .shows(429, "Too many wrong guesses");
    let bob = cloud.browser("bob@example.org").await;
    bob.get(&format!("/activate?user_code={code}"))
        .await
        .shows(429, "Too many");
    cloud
        .poll(&device)
        .await
        .error(400, "authorization_pending");
    cloud.clock.advance(900);
    ada.decide(&device, "approve")
        .await
        .shows(200, "It is linked");
}

#[tokio::test]
async fn only_somebody_who_is_signed_in_at_our_own_page_decides() {
    let cloud = TestCompanion::open().await;
    let device = cloud.device("workshop").await;
    let code = device["user_code"].as_str().unwrap();
    let decision = [("user_code", code), ("decision", "approve")];

    let stranger = cloud.strangers_browser("192.0.2.1");
    let asked = stranger.get(&format!("/activate?user_code={code}")).await;
    assert_eq!(asked.status, 303);
    let plain = code.replace('-', "");
    assert_eq!(
        asked.header("location"),
        format!("/login?user_code={plain}")
    );
    assert_eq!(
        stranger
            .post("/activate", &decision)
            .await
            .header("location"),
        "/login"
    );

    let ada = cloud.browser("ada@example.org").await;
    ada.post("/activate", &decision)
        .await
        .shows(403, "not sent from here");
    let token = ada.form_token().await;
    let whole = [("token", token.as_str()), decision[0], decision[1]];
    for (header, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
    ] {
        let mut request = form("/activate", &whole);
        request.headers_mut().insert(header, value.parse().unwrap());
        ada.send(request).await.shows(403, "not sent from here");
    }
    cloud
        .poll(&device)
        .await
        .error(400, "authorization_pending");
    ada.post("/activate", &whole)
        .await
        .shows(200, "It is linked");
}

#[tokio::test]
async fn a_one_time_link_counts_once_and_signing_in_and_out_works() {
    let cloud = TestCompanion::open().await;
    let browser = cloud.strangers_browser("192.0.2.1");
    let old = cloud.invite("ada@example.org").await;
    let link = cloud.invite(" Ada@Example.org ").await;
    browser.get(&old).await.shows(404, "does not count");
    browser.get(&link).await.shows(200, "ada@example.org");
    browser.get(&link).await.shows(200, "Choose a password");
    let sent = |password, again| [("password", password), ("again", again)];
    browser
        .post(&link, &sent(PASSWORD, "another one!"))
        .await
        .shows(400, "differ");
    browser
        .post(&link, &sent("short", "short"))
        .await
        .shows(400, "12 to 256");
    let welcome = browser.post(&link, &sent(PASSWORD, PASSWORD)).await;
    assert_eq!(
        (welcome.status.as_u16(), welcome.header("location")),
        (303, "/activate")
    );
    let cookie = welcome.header("set-cookie");
    assert!(
        cookie.ends_with("; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax"),
        "{cookie}"
    );
    browser
        .post(&link, &sent(PASSWORD, PASSWORD))
        .await
        .shows(404, "does not count");

    let page = browser
        .get("/activate")
        .await
        .shows(200, "Signed in as ada@example.org");
    let token = hidden(&page.body, "token");
    let out = browser.post("/logout", &[("token", &token)]).await;
    assert_eq!(
        (out.status.as_u16(), out.header("location")),
        (303, "/login")
    );
    assert_eq!(browser.get("/activate").await.header("location"), "/login");

    browser
        .sign_in("ada@example.org", "wrong horse battery")
        .await
        .shows(401, "is wrong");
    browser
        .sign_in("eve@example.org", PASSWORD)
        .await
        .shows(401, "is wrong");
    let signed_in = browser.sign_in("ADA@example.org", PASSWORD).await;
    assert_eq!(
        (signed_in.status.as_u16(), signed_in.header("location")),
        (303, "/activate")
    );
    browser.get("/activate").await.shows(200, "Signed in as");
    // Another link, for a password that was lost, ends every session once it is followed.
    let again = cloud.invite("ada@example.org").await;
    browser.get("/activate").await.shows(200, "Signed in as");
    let other = cloud.strangers_browser("192.0.2.2");
    let new = "another horse battery";
    assert_eq!(other.post(&again, &sent(new, new)).await.status, 303);
    assert_eq!(browser.get("/activate").await.status, 303);
    browser
        .sign_in("ada@example.org", PASSWORD)
        .await
        .shows(401, "is wrong");
    // A session ends by itself.
    cloud.clock.advance(7 * 24 * 3_600);
    assert_eq!(other.get("/activate").await.status, 303);
}

#[tokio::test]
async fn ten_wrong_passwords_close_the_account() {
    let cloud = TestCompanion::open().await;
    drop(cloud.browser("ada@example.org").await);
    for _ in 0..10 {
        let browser = cloud.strangers_browser("192.0.2.77");
        browser
            .sign_in("ada@example.org", "wrong horse battery")
            .await
            .shows(401, "is wrong");
    }
    let elsewhere = cloud.strangers_browser("192.0.2.78");
    elsewhere
        .sign_in("ada@example.org", PASSWORD)
        .await
        .shows(429, "Too many");
    cloud.clock.advance(900);
    assert_eq!(
        elsewhere.sign_in("ada@example.org", PASSWORD).await.status,
        303
    );
}

#[tokio::test]
async fn what_is_no_address_of_an_account_counts_where_it_came_from_alone() {
    let cloud = TestCompanion::open().await;
    let long = "x".repeat(60_000);
    for n in 0..11 {
        let from = format!("192.0.2.{n}");
        let browser = cloud.strangers_browser(&from);
        browser
            .sign_in(&long, PASSWORD)
            .await
            .shows(401, "is wrong");
    }
    for _ in 0..10 {
        let browser = cloud.strangers_browser("192.0.2.77");
        browser.sign_in("x", PASSWORD).await.shows(401, "is wrong");
    }
    let browser = cloud.strangers_browser("192.0.2.77");
    browser.sign_in("x", PASSWORD).await.shows(429, "Too many");
}

#[tokio::test]
async fn pages_run_no_scripts_and_a_name_is_only_text() {
    let cloud = TestCompanion::open().await;
    let device = cloud.device("<script>alert('x')</script>\"&").await;
    let browser = cloud.browser("ada@example.org").await;
    let code = device["user_code"].as_str().unwrap();
    let page = browser.get(&format!("/activate?user_code={code}")).await;
    assert!(!page.body.contains("<script"), "{}", page.body);
    assert!(page.body.contains("&lt;script&gt;"), "{}", page.body);
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert_eq!(page.header("referrer-policy"), "same-origin");
    assert_eq!(page.header("cache-control"), "no-store");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    assert!(
        cloud
            .get("/style.css")
            .await
            .header("content-type")
            .starts_with("text/css")
    );
}

#[tokio::test]
async fn behind_https_the_cookie_goes_to_that_host_alone() {
    let options = CompanionOptions {
        public: Some("https://cloud.example"),
        ..CompanionOptions::default()
    };
    let cloud = TestCompanion::with(options).await;
    let device = cloud.device("").await;
    assert_eq!(device["verification_uri"], "https://cloud.example/activate");
    let link = cloud.invite("ada@example.org").await;
    let mut request = form(&link, &[("password", PASSWORD), ("again", PASSWORD)]);
    let origin = "https://cloud.example".parse().unwrap();
    request.headers_mut().insert("origin", origin);
    let welcome = cloud.send(request).await;
    let cookie = welcome.header("set-cookie");
    assert!(cookie.starts_with("__Host-guildhall_cloud="), "{cookie}");
    assert!(
        cookie.ends_with("HttpOnly; SameSite=Lax; Secure"),
        "{cookie}"
    );
}

#[tokio::test]
async fn no_secret_stands_in_the_database() {
    let mut cloud = TestCompanion::open().await;
    let open = cloud.device("workshop").await;
    let link = cloud.invite("bob@example.org").await;
    let key = cloud.link("ada@example.org").await;
    cloud.stop().await;
    let mut bytes = std::fs::read(&cloud.database).unwrap();
    for row in ["accounts", "links", "sessions", "devices", "instances"] {
        let connection = Connection::open(&cloud.database).unwrap();
        let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let sql = format!("SELECT count(*) FROM {row}");
        assert!(connection.query_row(&sql, [], count).unwrap() > 0, "{row}");
    }
    bytes.extend(std::fs::read(cloud.database.with_extension("sqlite-wal")).unwrap_or_default());
    let code = open["user_code"].as_str().unwrap();
    let plain = code.replace('-', "");
    let hashed = bytes.windows(11).any(|part| part == b"$argon2id$v");
    assert!(hashed, "passwords are kept as argon2id");
    for secret in [
        open["device_code"].as_str().unwrap(),
        code,
        &plain,
        &key,
        link.rsplit('/').next().unwrap(),
        PASSWORD,
    ] {
        let is_there = bytes
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        assert!(!is_there, "{secret}");
    }
}
