//! Signing in with tool servers, from the link to the token. Source: contract 4.8, 4.12.

use guildhall_testkit::{TestCaller, TestHall, TestResponse};
use serde_json::{Value, json};

use crate::{
    agent_tokens::is_at_rest,
    mcp,
    mcp_servers::{address, ask, at, program},
    sessions,
    signin_server_stub::SigninServerStub,
    test_values::text,
};

/// A hall with an agent whose server `web` wants a sign-in, and where that is.
pub(crate) struct AgentWithSigninServer {
    pub(crate) t: TestHall,
    pub(crate) ada: TestCaller,
    pub(crate) place: SigninServerStub,
}

/// What a browser was sent away with.
pub(crate) struct SentBrowser {
    /// Where to.
    pub(crate) location: String,
    /// The cookie, name and value.
    pub(crate) cookie: String,
}

impl SentBrowser {
    /// One parameter of where it was sent, as it stands there.
    pub(crate) fn parameter(&self, name: &str) -> String {
        let (_, query) = self.location.split_once('?').unwrap();
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let found = pairs.find(|(key, _)| *key == name);
        found.map(|(_, value)| value.to_owned()).unwrap_or_default()
    }
}

impl AgentWithSigninServer {
    pub(crate) async fn open() -> Self {
        let t = TestHall::open().await;
        let (ada, place) = (t.agent("ada").await, SigninServerStub::open().await);
        let asked = ask("web", &place.connection());
        t.owner().post_approved(&at(&ada), asked).await.ok(200);
        Self { t, ada, place }
    }

    pub(crate) fn server(&self) -> String {
        format!("{}/web", at(&self.ada))
    }

    pub(crate) async fn entry(&self) -> Value {
        self.t.owner().get(&self.server()).await.ok(200)
    }

    pub(crate) async fn start(&self, by: &TestCaller) -> Value {
        let path = format!("{}/signin", self.server());
        by.post(&path, json!({})).await.ok(200)
    }

    pub(crate) async fn poll(&self, started: &Value) -> Value {
        let path = format!("{}/signin/{}", self.server(), text(&started["flowId"]));
        self.ada.get(&path).await.ok(200)
    }

    /// Follows the link as far as this server goes.
    pub(crate) async fn go(&self, started: &Value) -> TestResponse {
        let link = path_of(&text(&started["signInUrl"])).replace("/start/", "/go/");
        self.t.owner().get(&link).await
    }

    pub(crate) async fn sent(&self, started: &Value) -> SentBrowser {
        let answer = self.go(started).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookie = answer.header("set-cookie").split(';').next().unwrap();
        SentBrowser {
            location: answer.header("location").to_owned(),
            cookie: cookie.to_owned(),
        }
    }

    /// Comes back as a browser does that was sent away.
    pub(crate) async fn back(&self, away: &SentBrowser, query: &str) -> TestResponse {
        let path = format!(
            "/api/oauth/callback?state={}&{query}",
            away.parameter("state")
        );
        // Nobody in particular: what a browser shows here is its cookie alone.
        let browser = self.t.nobody().with("cookie", &away.cookie);
        browser
            .with("sec-fetch-site", "cross-site")
            .with("sec-fetch-mode", "navigate")
            .with("sec-fetch-dest", "document")
            .get(&path)
            .await
    }

    /// The whole way.
    pub(crate) async fn signed_in() -> Self {
        let scene = Self::open().await;
        let started = scene.start(&scene.ada).await;
        let away = scene.sent(&started).await;
        let page = scene.back(&away, "code=good").await;
        assert_eq!(page.status, 200, "{}", page.text());
        scene
    }

    pub(crate) async fn test(&self) -> Value {
        let path = format!("{}/test", self.server());
        self.ada.post(&path, json!({})).await.ok(200)
    }
}

fn path_of(url: &str) -> String {
    let (_, rest) = url.split_once("://").unwrap();
    rest[rest.find('/').unwrap()..].to_owned()
}

fn pick(entry: &Value) -> Value {
    json!([
        entry["status"],
        entry["authStatus"],
        entry["authClientOrigin"],
        entry["toolCount"]
    ])
}

#[tokio::test]
async fn a_sign_in_goes_from_its_link_to_a_token_the_server_takes() {
    let scene = AgentWithSigninServer::open().await;
    let entry = scene.entry().await;
    assert_eq!(
        pick(&entry),
        json!(["needsSignIn", "needs-auth", null, null])
    );
    assert_eq!(entry["connection"]["authKind"], "oauth2");
    let mut events = scene.t.events();
    let started = scene.start(&scene.ada).await;
    assert_eq!(started["alreadyConnected"], false);
    let url = text(&started["signInUrl"]);
    assert!(url.contains("/api/oauth/start/"), "{url}");
    let required = events.next("mcp_signin_required");
    assert_eq!(
        (
            &required["flowId"],
            &required["name"],
            &required["disclosure"]
        ),
        (&started["flowId"], &json!("web"), &started["disclosure"])
    );
    let away = scene.sent(&started).await;
    assert!(
        away.location
            .starts_with(&format!("{}/authorize?", scene.place.origin))
    );
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "registered-client"),
        ("code_challenge_method", "S256"),
        ("scope", "tools"),
    ] {
        assert_eq!(away.parameter(name), value, "{name}");
    }
    assert!(away.parameter("resource").ends_with("%2Fmcp"));
    assert!(
        away.parameter("redirect_uri")
            .ends_with("%2Fapi%2Foauth%2Fcallback")
    );
    assert_eq!(scene.poll(&started).await["phase"], "opened");
    // Followed once more, it leads to the same place, and nobody registers again.
    assert_eq!(scene.sent(&started).await.location, away.location);
    assert_eq!(scene.place.asked_of("POST /register").len(), 1);
    events.none();
    let page = scene.back(&away, "code=good").await;
    assert_eq!(page.status, 200, "{}", page.text());
    assert!(!page.text().contains("canary"));
    let token = scene.place.asked_of("POST /token");
    assert_eq!(token.len(), 1);
    for part in [
        "grant_type=authorization_code",
        "code=good",
        "code_verifier=",
        "resource=",
    ] {
        assert!(token[0].body.contains(part), "{part}: {}", token[0].body);
    }
    assert_eq!(
        scene.poll(&started).await,
        json!({"status": "connected", "phase": "done", "code": null, "error": null, "toolCount": 1})
    );
    let entry = scene.entry().await;
    assert_eq!(pick(&entry), json!(["ready", "connected", "registered", 1]));
    let resolved = events.single_event("mcp_signin_resolved");
    assert_eq!(
        (&resolved["outcome"], &resolved["code"], &resolved["flowId"]),
        (&json!("connected"), &Value::Null, &started["flowId"])
    );
    // The answer counts once.
    let again = scene.back(&away, "code=good").await;
    assert_eq!(again.status, 400);
    assert_eq!(scene.test().await["ok"], true);
}

#[tokio::test]
async fn nothing_leaves_before_a_person_follows_the_link() {
    let scene = AgentWithSigninServer::open().await;
    let before = scene.place.asked().len();
    let started = scene.start(&scene.ada).await;
    let link = path_of(&text(&started["signInUrl"]));
    let go = link.replace("/start/", "/go/");
    let owner = scene.t.owner();
    let page = owner.get(&link).await;
    assert_eq!(page.status, 200);
    for (name, value) in [
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("content-type", "text/html; charset=utf-8"),
    ] {
        assert_eq!(page.header(name), value);
    }
    assert!(
        page.header("content-security-policy")
            .starts_with("default-src 'none'")
    );
    for part in ["ada", "web", &go, "password"] {
        assert!(page.text().contains(part), "{part}: {}", page.text());
    }
    let elsewhere = owner
        .clone()
        .with("sec-fetch-site", "cross-site")
        .with("sec-fetch-mode", "navigate")
        .with("sec-fetch-dest", "document");
    // From one name of this server to the other; what acts is followed from its own page alone.
    assert_eq!(elsewhere.get(&link).await.status, 200);
    let followed = elsewhere.get(&go).await;
    followed.refused(403, "ORIGIN_NOT_ALLOWED");
    for path in [&link, &go] {
        assert_eq!(owner.head(path).await.status, 403);
        for (name, value) in [
            ("sec-purpose", "prefetch"),
            ("sec-purpose", "prefetch;prerender"),
            ("purpose", "prefetch"),
            ("sec-fetch-mode", "no-cors"),
            ("sec-fetch-mode", "cors"),
            ("sec-fetch-dest", "image"),
            ("sec-fetch-dest", "iframe"),
        ] {
            let answer = owner.clone().with(name, value).get(path).await;
            answer.refused(403, "NAVIGATION_ONLY");
        }
        scene.ada.get(path).await.refused(403, "OWNER_ONLY");
        let key = scene.t.key(&owner, "program").await;
        let program = scene.t.stranger().with_key(&key);
        program.get(path).await.refused(403, "INTERACTIVE_ONLY");
        let other = format!("{path}x");
        owner.get(&other).await.refused(404, "SIGNIN_NOT_FOUND");
    }
    assert_eq!(
        scene.place.asked().len(),
        before,
        "{:?}",
        scene.place.asked()
    );
    assert_eq!(scene.poll(&started).await["phase"], "waiting");
}

#[tokio::test]
async fn an_answer_counts_only_in_the_browser_that_was_sent_away() {
    let scene = AgentWithSigninServer::open().await;
    let started = scene.start(&scene.ada).await;
    let away = scene.sent(&started).await;
    let path = format!(
        "/api/oauth/callback?state={}&code=planted",
        away.parameter("state")
    );
    let other = format!("gh_flow={}", "x".repeat(43));
    let twice = format!("{0}; {0}", away.cookie);
    for cookie in ["", "gh_flow=", &other, &twice] {
        let browser = scene.t.nobody().with("cookie", cookie);
        assert_eq!(browser.get(&path).await.status, 400, "{cookie}");
    }
    let nobody = scene.t.nobody();
    assert_eq!(nobody.get(&path).await.status, 400);
    let right = nobody.with("cookie", &away.cookie);
    let image = right.clone().with("sec-fetch-dest", "image");
    image.get(&path).await.refused(403, "NAVIGATION_ONLY");
    right.head(&path).await;
    let wrong = path.replace("state=", "state=x");
    assert_eq!(right.get(&wrong).await.status, 400);
    assert_eq!(scene.place.asked_of("POST /token").len(), 0);
    assert_eq!(scene.poll(&started).await["phase"], "opened");
    // It still counts where it belongs.
    assert_eq!(scene.back(&away, "code=good").await.status, 200);
}

#[tokio::test]
async fn a_stored_sign_in_is_checked_and_stays_or_is_forgotten() {
    let scene = AgentWithSigninServer::signed_in().await;
    let mut events = scene.t.events();
    let started = scene.start(&scene.ada).await;
    assert_eq!(
        json!([
            started["flowId"],
            started["signInUrl"],
            started["alreadyConnected"]
        ]),
        json!([null, null, true])
    );
    events.none();
    scene.place.forgets_tokens();
    let started = scene.start(&scene.ada).await;
    assert_eq!(started["alreadyConnected"], false);
    let entry = scene.entry().await;
    assert_eq!(pick(&entry)[1], "needs-auth");
    let away = scene.sent(&started).await;
    assert_eq!(scene.back(&away, "code=again").await.status, 200);
    assert_eq!(pick(&scene.entry().await)[1], "connected");
    // The client of before is good enough.
    assert_eq!(scene.place.asked_of("POST /register").len(), 1);
}

#[tokio::test]
async fn signing_out_forgets_the_tokens_and_gives_them_back() {
    let scene = AgentWithSigninServer::signed_in().await;
    let path = format!("{}/signin", scene.server());
    let out = scene.ada.delete(&path).await.ok(200);
    assert_eq!(out, json!({"signedOut": true}));
    assert_eq!(pick(&scene.entry().await)[0], "needsSignIn");
    assert_eq!(scene.test().await["needsAuth"], true);
    let out = scene.ada.delete(&path).await.ok(200);
    assert_eq!(out, json!({"signedOut": false}));
    let AgentWithSigninServer { t, place, .. } = scene;
    // What was begun is finished before the server ends.
    t.close().await;
    let returned = place.asked_of("POST /revoke");
    assert!(
        returned[0].body.starts_with("token=canary-refresh-1&"),
        "{returned:?}"
    );
    assert!(
        returned[1].body.starts_with("token=canary-access-1&"),
        "{returned:?}"
    );
}

#[tokio::test]
async fn no_secret_of_a_sign_in_lies_open_anywhere() {
    let scene = AgentWithSigninServer::open().await;
    let owner = scene.t.owner();
    let client = json!({"clientId": "mine", "clientSecret": "canary-client-secret"});
    let path = format!("{}/client", scene.server());
    let saved = owner.put(&path, client).await.ok(200);
    assert_eq!(saved, json!({"saved": true}));
    assert_eq!(scene.entry().await["authClientOrigin"], "manual");
    let started = scene.start(&owner).await;
    let away = scene.sent(&started).await;
    assert_eq!(away.parameter("client_id"), "mine");
    let state = away.parameter("state");
    let folder = scene.t.data_dir();
    assert!(!is_at_rest(&folder, &state));
    assert_eq!(scene.back(&away, "code=canary-code").await.status, 200);
    let token = scene.place.asked_of("POST /token");
    assert!(token[0].body.contains("client_secret=canary-client-secret"));
    assert_eq!(scene.place.asked_of("POST /register").len(), 0);
    let entry = owner.get(&scene.server()).await.text();
    let events = scene.t.rows();
    for text in [entry, events] {
        assert!(!text.contains("canary"), "{text}");
    }
    assert!(!is_at_rest(&folder, "canary"));
    assert!(is_at_rest(&folder, "/mcp"), "what is no secret lies there");
    // Another client drops the sign-in of this one.
    owner.delete(&path).await.ok(204);
    assert_eq!(pick(&scene.entry().await)[1], "needs-auth");
    assert_eq!(scene.test().await["needsAuth"], true);
}

#[tokio::test]
async fn what_has_no_sign_in_is_told_so() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let plain = json!({"transport": "http", "url": "http://192.0.2.1/mcp",
        "headers": {"X-Key": "k"}});
    for (name, connection) in [("files", program(&t)), ("own", address()), ("far", plain)] {
        owner
            .post_approved(&at(&ada), ask(name, &connection))
            .await
            .ok(200);
    }
    let mut events = t.events();
    for (name, status, code) in [
        ("files", 422, "NOT_OAUTH_SERVER"),
        ("own", 422, "NOT_OAUTH_SERVER"),
        ("far", 422, "SIGNIN_INSECURE_ADDRESS"),
        ("none", 404, "SERVER_NOT_FOUND"),
    ] {
        let path = format!("{}/{name}/signin", at(&ada));
        ada.post(&path, json!({})).await.refused(status, code);
    }
    events.none();
    let bob = t.agent("bob").await;
    let path = format!("{}/files/signin", at(&ada));
    bob.post(&path, json!({}))
        .await
        .refused(403, "AGENT_SELF_ONLY");
}

#[tokio::test]
async fn an_agent_asks_for_a_sign_in_by_its_tools_and_looks_how_it_stands() {
    let scene = AgentWithSigninServer::open().await;
    let asked = mcp::done(&scene.ada, "mcp_signin", json!({"name": "web"})).await;
    assert!(text(&asked["signInUrl"]).starts_with("http://127.0.0.1:"));
    let flow = json!({"flowId": asked["flowId"]});
    let polled = mcp::done(&scene.ada, "mcp_poll_signin", flow.clone()).await;
    assert_eq!(polled["phase"], "waiting");
    let away = scene.sent(&asked).await;
    assert_eq!(scene.back(&away, "code=good").await.status, 200);
    let polled = mcp::done(&scene.ada, "mcp_poll_signin", flow.clone()).await;
    assert_eq!(
        (&polled["status"], &polled["toolCount"]),
        (&json!("connected"), &json!(1))
    );
    // It is nobody else's.
    let bob = scene.t.agent("bob").await;
    let (is_error, told) = mcp::call(&bob, "mcp_poll_signin", flow).await;
    assert_eq!(
        (is_error, &told["code"]),
        (true, &json!("SIGNIN_NOT_FOUND"))
    );
}

#[tokio::test]
async fn the_session_that_asked_hears_of_the_end_once_and_nobody_else_is_told() {
    let scene = AgentWithSigninServer::open().await;
    scene.t.silence_agents();
    let owner = scene.t.owner();
    let session = sessions::open(&owner, &scene.ada, json!({})).await;
    let path = format!("{}/signin", scene.server());
    let of = json!({"sessionId": session["id"]});
    // Another agent's session is none of this one's.
    let bob = scene.t.agent("bob").await;
    let foreign = sessions::open(&owner, &bob, json!({})).await;
    let asked = json!({"sessionId": foreign["id"]});
    let refused = scene.ada.post(&path, asked).await;
    refused.refused(404, "SESSION_NOT_FOUND");
    let mut events = scene.t.events();
    scene.ada.post(&path, of).await.ok(200);
    let required = events.all().pop().unwrap();
    let scope = format!("session:{}", text(&session["id"]));
    assert_eq!(
        (&required["type"], &required["scope"]),
        (&json!("mcp_signin_required"), &json!(scope))
    );
    // A person who starts it once more does that for the same session.
    let started = scene.start(&owner).await;
    let again = events.all().pop().unwrap();
    assert_eq!(
        (&again["type"], &again["scope"]),
        (&json!("mcp_signin_required"), &json!(scope))
    );
    let away = scene.sent(&started).await;
    assert_eq!(scene.back(&away, "code=good").await.status, 200);
    let told = events.all();
    let of_type = |name: &str| {
        let found: Vec<_> = told.iter().filter(|event| event["type"] == name).collect();
        assert_eq!(found.len(), 1, "{name}: {told:?}");
        found[0].clone()
    };
    assert_eq!(of_type("mcp_signin_resolved")["scope"], scope);
    assert_eq!(
        of_type("message_queued")["data"]["sessionId"],
        session["id"]
    );
}

#[tokio::test]
async fn who_follows_a_link_that_leads_nowhere_reads_why_on_a_page() {
    let (t, login) = (TestHall::open().await, TestHall::open_login().await);
    for verb in ["start", "go"] {
        let path = format!("/api/oauth/{verb}/{}", "a".repeat(43));
        for (caller, status, words) in [
            (
                t.owner(),
                404,
                "There is no such sign-in, or its time is over.",
            ),
            (login.nobody(), 401, "Sign in to guildhall"),
        ] {
            let accept = "text/html,application/xhtml+xml,*/*;q=0.8";
            let told = caller.clone().with("accept", accept).get(&path).await;
            assert_eq!(told.status, status, "{verb}");
            assert_eq!(told.header("content-type"), "text/html; charset=utf-8");
            assert!(
                told.header("content-security-policy")
                    .starts_with("default-src 'none'")
            );
            let page = told.text();
            assert!(page.contains(words) && page.contains("<h1>"), "{page}");
            // A program is told as ever.
            let told = caller.get(&path).await;
            assert_eq!(told.header("content-type"), "application/json");
            assert_eq!(told.status, status);
        }
    }
}
