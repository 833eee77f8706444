//! Served folders: who gets an address, what it opens, and what it never does.

use guildhall_testkit::{PASSWORD, TestCaller, TestHall, TestResponse};
use serde_json::json;

const SIGN: &str = "/api/workbench/sign";

/// The path of a new address of a folder.
async fn sign(by: &TestCaller, cwd: &str, path: &str) -> String {
    let ask = json!({"kind": "serve", "cwd": cwd, "path": path});
    let signed = by.post(SIGN, ask).await.ok(200);
    let url = signed["url"].as_str().unwrap();
    let (_, rest) = url.split_once("://").unwrap();
    format!("/{}", rest.split_once('/').unwrap().1)
}

fn write(folder: &str, name: &str, bytes: impl AsRef<[u8]>) {
    let path = std::path::Path::new(folder).join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// A hall with a folder that has a page.
async fn site() -> (TestHall, String) {
    let t = TestHall::open().await;
    let folder = t.folder("site");
    write(&folder, "index.html", "<h1>hello</h1>");
    write(&folder, "docs/index.html", "docs");
    write(&folder, "app.mjs", "export {}");
    (t, folder)
}

/// Demands the headers that every answer of a served folder has.
#[track_caller]
fn is_sandboxed(answer: &TestResponse) {
    let expected = [
        (
            "content-security-policy",
            "sandbox allow-scripts allow-forms allow-popups allow-modals; frame-ancestors 'self'",
        ),
        ("access-control-allow-origin", "*"),
        ("cross-origin-resource-policy", "cross-origin"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "private, no-cache"),
        ("x-robots-tag", "noindex"),
        ("referrer-policy", "no-referrer"),
    ];
    for (name, value) in expected {
        assert_eq!(answer.header(name), value, "{name} of {}", answer.asked);
    }
    for name in [
        "set-cookie",
        "service-worker-allowed",
        "access-control-allow-credentials",
    ] {
        assert_eq!(answer.header(name), "", "{name} of {}", answer.asked);
    }
}

#[tokio::test]
async fn an_address_shows_its_folder_to_whoever_has_it() {
    let (t, folder) = site().await;
    let mut events = t.events();
    let ask = json!({"kind": "serve", "cwd": folder});
    let signed = t.owner().post(SIGN, ask).await.ok(200);
    let url = signed["url"].as_str().unwrap();
    let start = format!(
        "http://127.0.0.1:{}/api/workbench/serve/v4.local.",
        t.port()
    );
    assert!(url.starts_with(&start) && url.ends_with('/'), "{url}");
    assert!(!url.contains("site"));
    assert_eq!(
        signed["expiresAt"],
        json!(t.now().plus_seconds(1_800).to_string())
    );
    assert_eq!(signed.as_object().unwrap().len(), 2);
    events.none();

    let path = sign(&t.owner(), &folder, "").await;
    // Nobody signs in for it; a page of an opaque origin loads its own parts.
    let page = t
        .stranger()
        .with("origin", "null")
        .with("sec-fetch-site", "cross-site");
    for (name, kind, body) in [
        ("", "text/html; charset=utf-8", "<h1>hello</h1>"),
        ("index.html", "text/html; charset=utf-8", "<h1>hello</h1>"),
        ("docs/", "text/html; charset=utf-8", "docs"),
        ("app.mjs", "text/javascript; charset=utf-8", "export {}"),
    ] {
        let answer = page.get(&format!("{path}{name}")).await;
        is_sandboxed(&answer);
        assert_eq!(answer.header("content-type"), kind, "{name}");
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, body),
            "{name}"
        );
    }
    // Nothing else of this server takes such a page's word.
    for caller in [page, t.owner().with("origin", "null")] {
        for other in ["/api/rooms", "/api/health", "/api/workbench/previews", "/"] {
            caller.get(other).await.refused(403, "ORIGIN_NOT_ALLOWED");
        }
        caller
            .post(SIGN, json!({}))
            .await
            .refused(403, "ORIGIN_NOT_ALLOWED");
        caller
            .post(&path, json!({}))
            .await
            .refused(403, "ORIGIN_NOT_ALLOWED");
    }
}

#[tokio::test]
async fn the_first_file_stands_in_the_address_and_need_not_exist() {
    let (t, folder) = site().await;
    for (path, end) in [
        ("docs/index.html", "/docs/index.html"),
        ("docs/", "/docs/"),
        ("a b?.html", "/a%20b%3F.html"),
        (&format!("{folder}/docs"), "/docs"),
        ("docs/../later.html", "/later.html"),
    ] {
        let address = sign(&t.owner(), &folder, path).await;
        assert!(address.ends_with(end), "{path}: {address}");
    }
}

#[tokio::test]
async fn a_folder_gets_an_address_only_where_its_asker_reaches() {
    let (t, folder) = site().await;
    write(&folder, "file", "x");
    let scratch = t.scratch().to_str().unwrap().to_owned();
    let serve = |cwd: &str, path: &str| json!({"kind": "serve", "cwd": cwd, "path": path});
    for (ask, status, code) in [
        (json!({"kind": "serve"}), 400, "VALIDATION_FAILED"),
        (serve("", ""), 400, "VALIDATION_FAILED"),
        (serve("docs", ""), 400, "VALIDATION_FAILED"),
        (serve("/a\0b", ""), 400, "NULL_BYTE"),
        (serve(&folder, "a\0b"), 400, "NULL_BYTE"),
        (serve(&folder, "../x"), 403, "OUTSIDE_BOUNDARY"),
        (serve(&folder, "/etc/passwd"), 403, "OUTSIDE_BOUNDARY"),
        (serve("/etc", ""), 403, "OUTSIDE_BOUNDARY"),
        (serve("/nowhere", ""), 403, "OUTSIDE_BOUNDARY"),
        (
            serve(&format!("{scratch}/data"), ""),
            403,
            "OUTSIDE_BOUNDARY",
        ),
        (serve(&format!("{folder}/none"), ""), 404, "NOT_FOUND"),
        (serve(&format!("{folder}/file"), ""), 400, "NOT_A_DIRECTORY"),
    ] {
        t.owner().post(SIGN, ask).await.refused(status, code);
    }
    let ada = t.agent("ada").await;
    ada.post(SIGN, serve(&folder, ""))
        .await
        .refused(403, "HUMANS_ONLY");
    ada.post(SIGN, json!([])).await.refused(403, "HUMANS_ONLY");
    t.unverifiable()
        .post(SIGN, serve(&folder, ""))
        .await
        .refused(401, "AGENT_IDENTITY_UNVERIFIED");
}

#[tokio::test]
async fn other_people_get_one_only_where_the_owner_lets_them() {
    let t = TestHall::open_login().await;
    let folder = t.folder("site");
    let pia = t.person("Pia").await;
    let ask = json!({"kind": "serve", "cwd": folder});
    pia.post(SIGN, ask.clone()).await.refused(403, "OWNER_ONLY");
    let open = json!({"files.people": "boundary"});
    t.owner().patch("/api/settings", open).await.ok(200);
    pia.post(SIGN, ask).await.ok(200);
}

#[tokio::test]
async fn an_address_is_held_against_its_rules_in_order() {
    let (t, folder) = site().await;
    let path = sign(&t.owner(), &folder, "").await;
    let token = path.split('/').nth(4).unwrap().to_owned();
    let get = async |rest: &str| {
        let answer = t
            .stranger()
            .get(&format!("/api/workbench/serve/{rest}"))
            .await;
        is_sandboxed(&answer);
        answer
    };
    let nobody = t.folder("other");
    std::os::unix::fs::symlink(&nobody, format!("{folder}/beside")).unwrap();
    write(&nobody, "secret.txt", "secret");
    std::os::unix::fs::symlink("/etc/passwd", format!("{folder}/far")).unwrap();
    std::os::unix::fs::symlink("app.mjs", format!("{folder}/near.mjs")).unwrap();
    std::os::unix::fs::symlink(t.data_dir(), format!("{folder}/data")).unwrap();
    std::os::unix::fs::symlink("repo/.git", format!("{folder}/git")).unwrap();
    write(&folder, "repo/.git/config", "[core]");
    write(&folder, ".env", "dots are served");
    write(&folder, "empty/file", "");
    rustix_fifo(&format!("{folder}/fifo"));
    for (rest, status, code) in [
        ("/%ff", 400, "INVALID_PATH"),
        ("/a%zz", 400, "INVALID_PATH"),
        ("/docs%2Findex.html", 400, "INVALID_PATH"),
        ("/a%00", 400, "NULL_BYTE"),
        ("/%2e%2e/other/secret.txt", 403, "OUTSIDE_BOUNDARY"),
        ("/../other/secret.txt", 403, "OUTSIDE_BOUNDARY"),
        ("/../../../../../../etc/passwd", 403, "OUTSIDE_BOUNDARY"),
        ("/beside/secret.txt", 403, "OUTSIDE_BOUNDARY"),
        ("/far", 403, "OUTSIDE_BOUNDARY"),
        ("/data/guildhall.db", 403, "OUTSIDE_BOUNDARY"),
        ("/data/", 403, "OUTSIDE_BOUNDARY"),
        ("//etc/passwd", 404, "NOT_FOUND"),
        ("/none", 404, "NOT_FOUND"),
        ("/empty/", 404, "NOT_FOUND"),
        ("/fifo", 404, "NOT_FOUND"),
        ("/repo/.git/config", 404, "NOT_FOUND"),
        ("/git/config", 404, "NOT_FOUND"),
        ("/repo/.git/", 404, "NOT_FOUND"),
    ] {
        get(&format!("{token}{rest}")).await.refused(status, code);
    }
    for (rest, body) in [
        ("/.env", "dots are served"),
        ("/near.mjs", "export {}"),
        ("/docs/../app.mjs", "export {}"),
        ("/%61pp.mjs", "export {}"),
        ("/empty/file", ""),
    ] {
        let answer = get(&format!("{token}{rest}")).await;
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, body),
            "{rest}"
        );
    }
    for (rest, place) in [
        ("", "/"),
        ("?a=b", "/?a=b"),
        ("/docs", "/docs/"),
        ("/docs?x", "/docs/?x"),
    ] {
        let answer = get(&format!("{token}{rest}")).await;
        let place = format!("/api/workbench/serve/{token}{place}");
        assert_eq!(
            (answer.status, answer.header("location")),
            (308, place.as_str())
        );
    }
    let worker = t.stranger().with("service-worker", "script");
    let path = format!("/api/workbench/serve/{token}/app.mjs");
    worker
        .get(&path)
        .await
        .refused(403, "SERVICE_WORKER_REFUSED");

    // The token comes first, whatever stands behind it.
    let mut changed = token.clone();
    changed.replace_range(20..21, if &token[20..21] == "A" { "B" } else { "A" });
    for bad in [changed.as_str(), "none", "v4.local.AAAA", "%00"] {
        for rest in ["", "/", "/%ff", "/none"] {
            get(&format!("{bad}{rest}")).await.refused(403, "BAD_TOKEN");
        }
    }
    let ask = json!({"kind": "proxy", "port": 9});
    let preview = t.owner().post(SIGN, ask).await.ok(200);
    let other = preview["url"]
        .as_str()
        .unwrap()
        .split_once("preview=")
        .unwrap()
        .1;
    get(&format!("{other}/%ff"))
        .await
        .refused(403, "WRONG_SCOPE");
    // Another folder at the same place is another folder.
    std::fs::rename(&folder, format!("{folder}-gone")).unwrap();
    get(&format!("{token}/app.mjs"))
        .await
        .refused(403, "OUTSIDE_BOUNDARY");
    t.folder("site");
    write(&folder, "app.mjs", "other");
    get(&format!("{token}/app.mjs"))
        .await
        .refused(403, "OUTSIDE_BOUNDARY");
    t.advance(1_800);
    get(&format!("{token}/%ff"))
        .await
        .refused(401, "TOKEN_EXPIRED");
}

fn rustix_fifo(path: &str) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

#[tokio::test]
async fn an_address_outlives_a_restart_and_ends_with_its_half_hour() {
    let (mut t, folder) = site().await;
    let path = sign(&t.owner(), &folder, "").await;
    t.restart().await;
    t.stranger().get(&path).await.ok(200);
    t.advance(1_799);
    t.stranger().get(&path).await.ok(200);
    t.advance(1);
    t.stranger().get(&path).await.refused(401, "TOKEN_EXPIRED");
}

#[tokio::test]
async fn a_revoked_address_opens_nothing_and_others_begin_anew() {
    let (mut t, folder) = site().await;
    let old = sign(&t.owner(), &folder, "").await;
    let mut events = t.events();
    t.owner()
        .post("/api/workbench/revoke", json!({}))
        .await
        .ok(204);
    events.none();
    let new = sign(&t.owner(), &folder, "").await;
    for _ in 0..2 {
        t.stranger().get(&old).await.refused(401, "TOKEN_EXPIRED");
        t.stranger().get(&new).await.ok(200);
        t.restart().await;
    }
}

#[tokio::test]
async fn an_address_ends_with_the_sign_in_or_key_it_was_asked_for_with() {
    let t = TestHall::open_login().await;
    let folder = t.folder("site");
    write(&folder, "index.html", "x");
    let again = t.sign_in("owner@example.org", PASSWORD).await;
    let (of_sign_in, other) = (
        sign(&again, &folder, "").await,
        sign(&t.owner(), &folder, "").await,
    );
    let key = t.key(&t.owner(), "serving").await;
    let of_key = sign(&t.owner().with_key(&key), &folder, "").await;
    for path in [&of_sign_in, &other, &of_key] {
        t.nobody().get(path).await.ok(200);
    }
    again.post("/api/auth/logout", json!({})).await.ok(204);
    t.nobody()
        .get(&of_sign_in)
        .await
        .refused(401, "TOKEN_EXPIRED");
    let keys = t.owner().get("/api/auth/keys").await.ok(200);
    let id = keys["keys"][0]["id"].as_str().unwrap();
    t.owner()
        .delete(&format!("/api/auth/keys/{id}"))
        .await
        .ok(204);
    t.nobody().get(&of_key).await.refused(401, "TOKEN_EXPIRED");
    t.nobody().get(&other).await.ok(200);
}

#[tokio::test]
async fn the_address_of_one_folder_opens_no_file_of_another() {
    let (t, folder) = site().await;
    let other = t.folder("other");
    write(&other, "secret.txt", "secret");
    let (one, two) = (
        sign(&t.owner(), &folder, "").await,
        sign(&t.owner(), &other, "").await,
    );
    t.stranger().get(&format!("{two}secret.txt")).await.ok(200);
    for path in [
        "secret.txt",
        "../other/secret.txt",
        "%2e%2e/other/secret.txt",
    ] {
        let answer = t.stranger().get(&format!("{one}{path}")).await;
        assert!(
            matches!(answer.status, 403 | 404),
            "{path}: {}",
            answer.status
        );
    }
    let absolute = format!("{one}{other}/secret.txt");
    t.stranger().get(&absolute).await.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn a_part_of_a_file_and_what_the_client_has_are_answered_as_the_standard_says() {
    let (t, folder) = site().await;
    let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    write(&folder, "film.mp4", &bytes);
    let path = format!("{}film.mp4", sign(&t.owner(), &folder, "").await);
    let whole = t.stranger().get(&path).await;
    is_sandboxed(&whole);
    assert_eq!(
        (whole.status, whole.header("content-type")),
        (200, "video/mp4")
    );
    assert_eq!(whole.header("accept-ranges"), "bytes");
    assert!(whole.bytes == bytes, "streamed as it is");
    let tag = whole.header("etag").to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"'), "strong: {tag}");

    let head = t.stranger().head(&path).await;
    is_sandboxed(&head);
    assert_eq!((head.status, head.bytes.len()), (200, 0));
    assert_eq!(head.header("content-length"), "400000");
    assert_eq!(head.header("etag"), tag);

    let known = t.stranger().with("if-none-match", &tag).get(&path).await;
    is_sandboxed(&known);
    assert_eq!((known.status, known.bytes.len()), (304, 0));
    assert_eq!(known.header("etag"), tag);

    for (range, start, end) in [
        ("bytes=0-3", 0, 4),
        ("bytes=131070-131080", 131_070, 131_081),
        ("bytes=399990-", 399_990, 400_000),
        ("bytes=-7", 399_993, 400_000),
        ("bytes=0-", 0, 400_000),
    ] {
        let part = t.stranger().with("range", range).get(&path).await;
        is_sandboxed(&part);
        assert_eq!(part.status, 206, "{range}");
        let told = format!("bytes {start}-{}/400000", end - 1);
        assert_eq!(part.header("content-range"), told);
        assert!(part.bytes == bytes[start..end], "{range}");
    }
    for range in ["bytes=0-1,5-6", "bytes=x", "lines=0-3"] {
        assert_eq!(
            t.stranger().with("range", range).get(&path).await.status,
            200,
            "{range}"
        );
    }
    let part = t.stranger().with("range", "bytes=0-3");
    assert_eq!(
        part.clone().with("if-range", &tag).get(&path).await.status,
        206
    );
    assert_eq!(
        part.clone()
            .with("if-range", "\"old\"")
            .get(&path)
            .await
            .status,
        200
    );
    let beyond = t.stranger().with("range", "bytes=400000-").get(&path).await;
    is_sandboxed(&beyond);
    assert_eq!(beyond.header("content-range"), "bytes */400000");
    beyond.refused(416, "RANGE_NOT_SATISFIABLE");

    // Another state has another tag.
    write(&folder, "film.mp4", &bytes[4..]);
    let changed = part.with("if-range", &tag).get(&path).await;
    assert_eq!((changed.status, changed.bytes.len()), (200, 399_996));
    assert_ne!(changed.header("etag"), tag);
}

#[tokio::test]
async fn other_methods_and_other_hosts_are_refused_with_the_same_headers() {
    let (t, folder) = site().await;
    let path = sign(&t.owner(), &folder, "").await;
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let answer = t.owner().ask(method, &path).send().await;
        is_sandboxed(&answer);
        answer.refused(405, "METHOD_NOT_ALLOWED");
    }
    let ask = format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    let answer = t.raw(ask.as_bytes()).await;
    is_sandboxed(&answer);
    answer.refused(403, "HOST_NOT_ALLOWED");
}
