//! Attachments: sending files, posting them, and what is served to whom. Source: contract 2.4.

use guildhall_testkit::{BOUNDARY, TestCaller, TestHall, TestResponse, UploadFile, form, until};
use serde_json::{Value, json};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR and so on";
const HTML: &[u8] = b"<!doctype html><script>alert(1)</script>";
const SVG: &[u8] = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>";
const A_DAY_S: i64 = 24 * 3_600;

async fn send(by: &TestCaller, room: &str, files: &[UploadFile<'_>]) -> TestResponse {
    let path = format!("/api/rooms/{room}/attachments");
    by.ask("POST", &path).files(files).send().await
}

async fn post(by: &TestCaller, room: &str, text: &str, files: &[&Value]) -> TestResponse {
    let ids: Vec<&Value> = files.iter().map(|file| &file["id"]).collect();
    let path = format!("/api/rooms/{room}/entries");
    by.post(&path, json!({"text": text, "attachmentIds": ids}))
        .await
}

fn url(file: &Value) -> &str {
    file["url"].as_str().unwrap()
}

/// Every file the server keeps beside its database, by its path.
fn kept(t: &TestHall) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![t.data_dir().join("blobs"), t.data_dir().join("uploads")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.file_name().unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort_unstable();
    found
}

async fn set(t: &TestHall, setting: &str, value: u64) {
    let patch = json!({setting: value});
    t.owner().patch("/api/settings", patch).await.ok(200);
}

#[tokio::test]
async fn a_file_is_uploaded_posted_told_and_read_again_byte_for_byte() {
    let t = TestHall::open().await;
    let (owner, ada, room) = (t.owner(), t.bystander("ada").await, t.team().await);
    let mut events = t.events();
    let bytes: Vec<u8> = (0..700_000_u32).map(|n| (n * 7 % 251) as u8).collect();
    let sent = [
        ("../plans/Plan B.bin", "application/x-plan; v=1", &bytes[..]),
        ("me.png", "text/html", PNG),
    ];
    let answer = send(&owner, &room, &sent).await.ok(201);
    let (plan, picture) = (&answer["attachments"][0], &answer["attachments"][1]);
    let expected = json!({
        "id": plan["id"], "roomId": room, "name": "Plan_B.bin", "mimeType": "application/x-plan",
        "size": 700_000, "sha256": plan["sha256"], "preview": null,
        "url": format!("/api/rooms/{room}/attachments/{}", plan["id"].as_str().unwrap()),
    });
    assert_eq!(*plan, expected);
    assert_eq!(
        [&picture["name"], &picture["mimeType"], &picture["preview"]],
        ["me.png", "text/html", "image"]
    );
    events.none();

    let entry = post(&owner, &room, "", &[picture, plan]).await.ok(201)["entry"].clone();
    assert_eq!(entry["attachments"], json!([picture, plan]));
    assert_eq!(entry["text"], "");
    assert_eq!(events.next("entry_added")["entry"], entry);
    let page = ada.get(&format!("/api/rooms/{room}/entries")).await.ok(200);
    assert_eq!(page["entries"], json!([entry]));
    let path = format!(
        "/api/rooms/{room}/entries/{}",
        entry["id"].as_str().unwrap()
    );
    assert_eq!(ada.get(&path).await.ok(200), entry);
    let read = ada.get(url(plan)).await;
    assert_eq!((read.status, &read.bytes[..]), (200, &bytes[..]));
}

#[tokio::test]
async fn nothing_but_four_kinds_of_pictures_is_ever_shown_in_place() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let attachment = ("application/octet-stream", "attachment");
    for (name, declared, bytes, (kind, place)) in [
        ("page.html", "text/html", HTML, attachment),
        ("page.png", "image/png", HTML, attachment),
        ("art.svg", "image/svg+xml", SVG, attachment),
        ("art.png", "image/png", SVG, attachment),
        ("text.txt", "text/plain", b"plain", attachment),
        ("empty", "image/gif", b"", attachment),
        ("me.png", "text/html", PNG, ("image/png", "inline")),
        (
            "me.jpg",
            "x",
            b"\xff\xd8\xff\xe0 jpeg",
            ("image/jpeg", "inline"),
        ),
        (
            "me.html",
            "text/html",
            b"GIF89a gif",
            ("image/gif", "inline"),
        ),
        ("me", "", b"RIFF\0\0\0\0WEBPVP8 ", ("image/webp", "inline")),
    ] {
        let file = t.upload(&owner, &room, (name, declared, bytes)).await;
        let answer = owner.get(url(&file)).await;
        assert_eq!((answer.status, &answer.bytes[..]), (200, bytes), "{name}");
        for (header, expected) in [
            ("content-type", kind.to_owned()),
            (
                "content-disposition",
                format!("{place}; filename=\"{name}\""),
            ),
            ("content-security-policy", "sandbox".to_owned()),
            ("x-content-type-options", "nosniff".to_owned()),
            (
                "cache-control",
                "private, max-age=0, must-revalidate".to_owned(),
            ),
            ("etag", format!("\"{}\"", file["sha256"].as_str().unwrap())),
            ("accept-ranges", "bytes".to_owned()),
            ("content-length", bytes.len().to_string()),
        ] {
            assert_eq!(answer.header(header), expected, "{header} of {name}");
        }
        let head = owner.head(url(&file)).await;
        assert_eq!((head.status, head.bytes.len()), (200, 0));
        assert_eq!(head.header("content-length"), bytes.len().to_string());
    }
}

#[tokio::test]
async fn a_part_is_sent_when_one_is_asked_for_and_nothing_to_whoever_has_it() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let file = t.upload(&owner, &room, ("a", "x/y", b"0123456789")).await;
    let tag = format!("\"{}\"", file["sha256"].as_str().unwrap());
    let ask = |headers: &[(&str, &str)]| {
        let ask = owner.ask("GET", url(&file));
        let ask = headers
            .iter()
            .fold(ask, |ask, (name, value)| ask.header(name, value));
        ask.send()
    };
    for (headers, status, bytes, range) in [
        (
            &[("range", "bytes=2-4")][..],
            206,
            &b"234"[..],
            "bytes 2-4/10",
        ),
        (&[("range", "bytes=-2")], 206, b"89", "bytes 8-9/10"),
        (&[("range", "bytes=8-99")], 206, b"89", "bytes 8-9/10"),
        (&[("range", "bytes=0-1,3-4")], 200, b"0123456789", ""),
        (
            &[("range", "bytes=0-1"), ("if-range", &tag)],
            206,
            b"01",
            "bytes 0-1/10",
        ),
        (
            &[("range", "bytes=0-1"), ("if-range", "\"x\"")],
            200,
            b"0123456789",
            "",
        ),
        (&[("if-none-match", &tag)], 304, b"", ""),
        (
            &[("if-none-match", &tag), ("range", "bytes=0-1")],
            304,
            b"",
            "",
        ),
        (
            &[("if-none-match", "\"x\""), ("range", "bytes=0-1")],
            206,
            b"01",
            "bytes 0-1/10",
        ),
    ] {
        let answer = ask(headers).await;
        let found = (
            answer.status,
            &answer.bytes[..],
            answer.header("content-range"),
        );
        assert_eq!(found, (status, bytes, range), "{headers:?}");
        assert_eq!(answer.header("etag"), tag, "{headers:?}");
    }
    let beyond = ask(&[("range", "bytes=10-")]).await;
    assert_eq!(beyond.header("content-range"), "bytes */10");
    beyond.refused(416, "RANGE_NOT_SATISFIABLE");
}

#[tokio::test]
async fn who_may_not_upload_here_is_told_why_before_anything_is_read() {
    let t = TestHall::open().await;
    let (owner, ada, bob) = (t.owner(), t.agent("ada").await, t.agent("bob").await);
    let foreign = t.channel(&ada, "Foreign", &[&owner]).await;
    let closed = t.channel(&owner, "Closed", &[&ada]).await;
    let open = t.channel(&owner, "Open", &[]).await;
    let mine = t.channel(&owner, "Mine", &[]).await;
    let archive = json!({"archived": true});
    owner
        .patch(&format!("/api/rooms/{closed}"), archive)
        .await
        .ok(200);
    let leave = format!("/api/rooms/{open}/members/{}", owner.author());
    owner.delete(&leave).await.ok(204);
    let before = t.rows();
    for (by, room, status, code) in [
        (t.stranger(), &mine, 401, "NOT_THE_OWNER"),
        (bob, &foreign, 404, "ROOM_NOT_FOUND"),
        (owner.clone(), &"none".to_owned(), 404, "ROOM_NOT_FOUND"),
        (ada, &closed, 409, "ROOM_ARCHIVED"),
        (owner.clone(), &open, 409, "NOT_A_MEMBER"),
    ] {
        // Its body would be refused as well, if anybody looked at it.
        let path = format!("/api/rooms/{room}/attachments");
        by.post(&path, json!({})).await.refused(status, code);
    }
    // What announces too much is refused by its head; nobody waits for the rest.
    for (room, status, code) in [
        (&closed, 409, "ROOM_ARCHIVED"),
        (&mine, 413, "PAYLOAD_TOO_LARGE"),
    ] {
        let request = format!(
            "POST /api/rooms/{room}/attachments HTTP/1.1\r\nHost: localhost\r\n\
             Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\
             Content-Length: 999999999\r\n\r\n"
        );
        t.raw(request.as_bytes()).await.refused(status, code);
    }
    assert_eq!(untouched(&t.rows()), untouched(&before));
    assert_eq!(kept(&t), [""; 0]);
}

/// The rows, but for when a token was used.
fn untouched(rows: &str) -> Vec<&str> {
    let others = rows.lines().filter(|row| !row.starts_with("tokens\t"));
    others.collect()
}

#[tokio::test]
async fn an_upload_that_is_refused_leaves_no_row_and_no_file() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    set(&t, "rooms.attachmentBytesMax", 1_000).await;
    set(&t, "rooms.attachmentsPerEntryMax", 3).await;
    set(&t, "rooms.attachmentStoreBytesMax", 2_500).await;
    let before = t.rows();
    let (large, fits) = (vec![1; 1_001], vec![2; 1_000]);
    let other = vec![3; 1_000];
    let (a, b, c) = (
        ("a", "x/y", &fits[..]),
        ("b", "x/y", &other[..]),
        ("c", "x/y", &b"c"[..]),
    );
    let cut = |form: Vec<u8>| form[..form.len() - 20].to_vec();
    let text = |field: &str| {
        let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {field}\r\n\r\n");
        format!("{head}words\r\n--{BOUNDARY}--\r\n").into_bytes()
    };
    let endless = format!("--{BOUNDARY}\r\nX: {}", "x".repeat(200_000)).into_bytes();
    let third = vec![4; 1_000];
    let third = ("third", "x/y", &third[..]);
    for (what, body, status, code) in [
        (
            "a large second file",
            form(&[a, ("l", "x/y", &large)]),
            413,
            "PAYLOAD_TOO_LARGE",
        ),
        (
            "too many files",
            form(&[a, b, c, c]),
            400,
            "TOO_MANY_ATTACHMENTS",
        ),
        ("a full store", form(&[a, b, third]), 507, "STORAGE_FULL"),
        ("no part", form(&[]), 400, "ATTACHMENT_MISSING"),
        (
            "a text field alone",
            text("name=\"words\""),
            400,
            "ATTACHMENT_MISSING",
        ),
        (
            "no file chosen",
            text("name=\"files\"; filename=\"\""),
            400,
            "ATTACHMENT_MISSING",
        ),
        ("no end", cut(form(&[a])), 400, "VALIDATION_FAILED"),
        ("an endless head", endless, 400, "VALIDATION_FAILED"),
        ("no form", b"nonsense".to_vec(), 400, "VALIDATION_FAILED"),
        ("nothing", Vec::new(), 400, "VALIDATION_FAILED"),
    ] {
        let path = format!("/api/rooms/{room}/attachments");
        let answer = owner.ask("POST", &path).form(body).send().await;
        assert_eq!(answer.status, status, "{what}: {}", answer.text());
        answer.refused(status, code);
        assert_eq!(t.rows(), before, "{what}");
        assert_eq!(kept(&t), [""; 0], "{what}");
    }
    let path = format!("/api/rooms/{room}/attachments");
    let ask = owner.ask("POST", &path).json(&json!({"files": []}));
    ask.send().await.refused(415, "UNSUPPORTED_MEDIA_TYPE");
    send(&owner, &room, &[a, b, c]).await.ok(201);
}

#[tokio::test]
async fn a_file_has_ten_mebibytes_and_who_sends_more_hears_it() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let closed = t.channel(&owner, "Closed", &[]).await;
    let archive = json!({"archived": true});
    let path = format!("/api/rooms/{closed}");
    owner.patch(&path, archive).await.ok(200);
    let mut bytes = vec![7; 10 * 1024 * 1024];
    send(&owner, &closed, &[("full", "x/y", &bytes)])
        .await
        .refused(409, "ROOM_ARCHIVED");
    send(&owner, &room, &[("full", "x/y", &bytes)])
        .await
        .ok(201);
    bytes.push(7);
    let over = send(&owner, &room, &[("over", "x/y", &bytes)]).await;
    let details = over.refused(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(details, json!({"limitBytes": 10 * 1024 * 1024}));
}

#[tokio::test]
async fn files_of_equal_bytes_are_one_and_count_once() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    set(&t, "rooms.attachmentStoreBytesMax", 10).await;
    let first = t.upload(&owner, &room, ("a", "x/y", b"0123456789")).await;
    let same = t.upload(&owner, &room, ("b", "x/y", b"0123456789")).await;
    assert_eq!(first["sha256"], same["sha256"]);
    assert_ne!(first["id"], same["id"]);
    assert_eq!(kept(&t), [first["sha256"].as_str().unwrap()]);
    let full = send(&owner, &room, &[("c", "x/y", b"1")]).await;
    assert_eq!(full.refused(507, "STORAGE_FULL"), json!({"limitBytes": 10}));
    assert_eq!(kept(&t), [first["sha256"].as_str().unwrap()]);
}

#[tokio::test]
async fn an_upload_is_its_uploaders_alone_until_it_is_posted() {
    let t = TestHall::open().await;
    let (owner, ada, bob) = (t.owner(), t.agent("ada").await, t.agent("bob").await);
    let room = t.channel(&owner, "Room", &[&ada]).await;
    let other = t.channel(&owner, "Other", &[&ada]).await;
    let file = t.upload(&ada, &room, ("a", "x/y", b"mine")).await;
    let id = file["id"].as_str().unwrap();
    let elsewhere = format!("/api/rooms/{other}/attachments/{id}");
    let nowhere = format!("/api/rooms/none/attachments/{id}");
    ada.get(url(&file)).await.ok(200);
    let hidden = |answer: TestResponse| answer.refused(404, "ATTACHMENT_NOT_FOUND");
    for by in [&owner, &bob] {
        hidden(by.get(url(&file)).await);
    }
    for path in [&elsewhere, &nowhere] {
        hidden(ada.get(path).await);
    }
    let before = t.rows();
    let mut events = t.events();
    hidden(post(&owner, &room, "stolen", &[&file]).await);
    hidden(post(&ada, &other, "elsewhere", &[&file]).await);
    assert_eq!(untouched(&t.rows()), untouched(&before));
    events.none();

    post(&ada, &room, "here", &[&file]).await.ok(201);
    owner.get(url(&file)).await.ok(200);
    hidden(bob.get(url(&file)).await);
    // Who joins later sees what comes later.
    let join = json!({"authorId": bob.author()});
    owner
        .post(&format!("/api/rooms/{room}/members"), join)
        .await
        .ok(201);
    hidden(bob.get(url(&file)).await);
    let later = t.upload(&ada, &room, ("b", "x/y", b"later")).await;
    post(&ada, &room, "", &[&later]).await.ok(201);
    bob.get(url(&later)).await.ok(200);
}

#[tokio::test]
async fn a_post_takes_each_file_once_and_only_when_it_may_post_at_all() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let other = t.channel(&owner, "Other", &[]).await;
    let file = t.upload(&owner, &room, ("a", "x/y", b"a")).await;
    let more = t.upload(&owner, &room, ("b", "x/y", b"b")).await;
    let there = t.upload(&owner, &other, ("c", "x/y", b"c")).await;
    post(&owner, &room, "", &[&file]).await.ok(201);
    set(&t, "rooms.attachmentsPerEntryMax", 1).await;
    let archive = json!({"archived": true});
    let other_path = format!("/api/rooms/{other}");
    owner.patch(&other_path, archive).await.ok(200);
    let before = t.rows();
    let mut events = t.events();
    for (to, text, files, status, code) in [
        (
            &room,
            "again",
            vec![&file],
            409,
            "ATTACHMENT_ALREADY_POSTED",
        ),
        (&room, "twice", vec![&more, &more], 400, "VALIDATION_FAILED"),
        (&room, "many", vec![&more, &file], 400, "VALIDATION_FAILED"),
        (&room, "", vec![], 400, "VALIDATION_FAILED"),
        (
            &other,
            "wrong room first",
            vec![&more],
            404,
            "ATTACHMENT_NOT_FOUND",
        ),
        (&other, "then archived", vec![&there], 409, "ROOM_ARCHIVED"),
    ] {
        post(&owner, to, text, &files).await.refused(status, code);
    }
    assert_eq!(t.rows(), before);
    events.none();
    post(&owner, &room, "and now", &[&more]).await.ok(201);
}

#[tokio::test]
async fn a_redacted_entry_takes_its_files_along() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let root = t.say(&owner, &room, "the root").await;
    let secret = t.upload(&owner, &room, ("secret", "x/y", b"secret")).await;
    let shared = t.upload(&owner, &room, ("shared", "x/y", b"shared")).await;
    let twin = t.upload(&owner, &room, ("twin", "x/y", b"shared")).await;
    let reply = json!({"text": "look", "threadRootEntryId": root["id"],
        "attachmentIds": [secret["id"], shared["id"]]});
    let path = format!("/api/rooms/{room}/entries");
    let entry = owner.post(&path, reply).await.ok(201)["entry"].clone();
    assert_eq!(entry["attachments"], json!([secret, shared]));
    let thread = format!("/api/rooms/{room}/threads/{}", root["id"].as_str().unwrap());
    assert_eq!(owner.get(&thread).await.ok(200)["entries"], json!([entry]));
    post(&owner, &room, "", &[&twin]).await.ok(201);

    let path = format!("{path}/{}", entry["id"].as_str().unwrap());
    let redacted = owner.delete(&path).await.ok(200);
    assert_eq!(redacted["attachments"], json!([]));
    assert_eq!(owner.get(&path).await.ok(200), redacted);
    for file in [&secret, &shared] {
        owner
            .get(url(file))
            .await
            .refused(404, "ATTACHMENT_NOT_FOUND");
    }
    assert_eq!(owner.get(url(&twin)).await.bytes, "shared");
    assert_eq!(kept(&t), [twin["sha256"].as_str().unwrap()]);
    let export = owner.get(&format!("/api/rooms/{room}/export")).await.text();
    let line = json!({"type": "entry", "entry": redacted});
    assert!(
        export
            .lines()
            .any(|known| serde_json::from_str::<Value>(known).unwrap() == line)
    );
    let digest = secret["sha256"].as_str().unwrap();
    for told in [export, t.rows()] {
        assert!(!told.contains(digest) && !told.contains("\"secret\""));
    }
}

#[tokio::test]
async fn an_upload_sent_again_under_its_key_is_answered_again_and_kept_once() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let path = format!("/api/rooms/{room}/attachments");
    let send = |bytes: &'static [u8]| {
        let ask = owner.ask("POST", &path).files(&[("a", "x/y", bytes)]);
        ask.header("idempotency-key", "upload-1").send()
    };
    let first = send(b"one").await;
    assert_eq!(first.status, 201);
    let rows = t.rows();
    let again = send(b"one").await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!((again.status, &again.bytes), (201, &first.bytes));
    send(b"two").await.refused(422, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(t.rows(), rows);
    let digest = first.body["attachments"][0]["sha256"].as_str().unwrap();
    assert_eq!(kept(&t), [digest]);
}

#[tokio::test]
async fn the_sweep_takes_what_nobody_posted_in_a_day_and_what_a_crash_left_behind() {
    let mut t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let posted = t.upload(&owner, &room, ("a", "x/y", b"posted")).await;
    post(&owner, &room, "", &[&posted]).await.ok(201);
    let forgotten = t.upload(&owner, &room, ("b", "x/y", b"forgotten")).await;
    // Of the same bytes as a posted one: the row goes, the file stays.
    let twin = t.upload(&owner, &room, ("c", "x/y", b"posted")).await;
    t.advance(A_DAY_S - 60);
    let recent = t.upload(&owner, &room, ("d", "x/y", b"recent")).await;
    // What a kill between file and row leaves: a blob no row names, and a draft.
    let orphan = "ab".repeat(32);
    let shelf = t.data_dir().join("blobs").join("ab");
    std::fs::create_dir_all(&shelf).unwrap();
    std::fs::write(shelf.join(&orphan), "orphan").unwrap();
    std::fs::write(t.data_dir().join("uploads").join("draft"), "half").unwrap();

    t.advance(120);
    t.restart().await;
    let digest = |file: &Value| file["sha256"].as_str().unwrap().to_owned();
    let mut left = [digest(&posted), digest(&recent)];
    left.sort_unstable();
    until("the sweep", || kept(&t) == left).await;
    for (file, status) in [
        (&posted, 200),
        (&recent, 200),
        (&forgotten, 404),
        (&twin, 404),
    ] {
        assert_eq!(t.owner().get(url(file)).await.status, status, "{file}");
    }
    // What went no longer counts.
    set(&t, "rooms.attachmentStoreBytesMax", 12 + 3).await;
    t.upload(&t.owner(), &room, ("e", "x/y", b"fit")).await;
    let full = send(&t.owner(), &room, &[("f", "x/y", b"!")]).await;
    full.refused(507, "STORAGE_FULL");
}

#[tokio::test]
async fn no_name_and_no_link_leads_into_the_data_folder() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    for name in [
        "../../guildhall.sqlite",
        "..\\guildhall.sqlite",
        "/etc/passwd",
        "..",
    ] {
        let file = t.upload(&owner, &room, (name, "x/y", b"mine")).await;
        assert_eq!(owner.get(url(&file)).await.bytes, "mine", "{name}");
        let name = file["name"].as_str().unwrap();
        assert!(!name.contains(['/', '\\']) && name != "..", "{name}");
    }
    for path in [
        "..%2f..%2fguildhall.sqlite",
        "%2e%2e",
        "../../../../guildhall.sqlite",
        "guildhall.sqlite",
    ] {
        let path = format!("/api/rooms/{room}/attachments/{path}");
        let answer = owner.get(&path).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
    }
    let file = t.upload(&owner, &room, ("a", "x/y", b"swapped")).await;
    let digest = file["sha256"].as_str().unwrap();
    let place = t.data_dir().join("blobs").join(&digest[..2]).join(digest);
    std::fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink(t.database(), &place).unwrap();
    owner.get(url(&file)).await.refused(500, "INTERNAL_ERROR");
}

#[tokio::test]
async fn the_kept_answer_of_an_upload_forgets_a_redacted_file() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let path = format!("/api/rooms/{room}/attachments");
    let files = [("secret", "x/y", &b"secret"[..]), ("kept", "x/y", b"kept")];
    let again = async || {
        let upload = owner.ask("POST", &path).header("idempotency-key", "k");
        upload.files(&files).send().await
    };
    let uploaded = again().await.ok(201)["attachments"].take();
    let entry = post(&owner, &room, "look", &[&uploaded[0]]).await.ok(201);
    let entry = format!(
        "/api/rooms/{room}/entries/{}",
        entry["entry"]["id"].as_str().unwrap()
    );
    owner.delete(&entry).await.ok(200);
    let repeated = again().await;
    assert_eq!(repeated.header("idempotency-replayed"), "true");
    assert_eq!(repeated.ok(201)["attachments"], json!([uploaded[1]]));
    let digest = uploaded[0]["sha256"].as_str().unwrap();
    assert!(!t.rows().contains(digest));
}
