//! Canvas documents: opening and reading them, their files, threads and capacity.
//! Source: contract 2.5.

use std::collections::BTreeSet;

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Map, Value, json};

use crate::test_values::{column, list, text, wrong_fields};

/// The address of a room's canvas.
pub(crate) fn of(room: &str) -> String {
    format!("/api/rooms/{room}/canvas")
}

/// The address of a document.
pub(crate) fn at(room: &str, document: &Value) -> String {
    format!("{}/{}", of(room), text(&document["id"]))
}

/// A page to open; the same number is the same page.
pub(crate) fn page(n: u64) -> Value {
    json!({"content": {"type": "url", "url": format!("https://n{n}.example/")}})
}

/// Opens a page; answers the document.
pub(crate) async fn open(by: &TestCaller, room: &str, n: u64) -> Value {
    by.post(&of(room), page(n)).await.ok(201)
}

/// The ids of a room's documents in order.
pub(crate) async fn order(by: &TestCaller, room: &str) -> Vec<String> {
    column(&by.get(&of(room)).await.ok(200)["documents"], "id")
}

#[tokio::test]
async fn a_document_is_shown_whole_to_everybody_and_told() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let mut events = t.events();
    let ask = json!({"content": {"type": "url", "url": "https://Docs.example/a", "unknown": 1}, "pinned": true});
    let document = ada.post(&of(&room), ask).await.ok(201);
    let now = "2026-09-21T14:13:20.000Z";
    let expected = json!({
        "id": document["id"], "scope": format!("room:{room}"), "roomId": room,
        "content": {"type": "url", "url": "https://Docs.example/a", "title": "docs.example"},
        "title": "docs.example", "contentType": "url", "authorId": ada.author(), "pinned": true,
        "position": 1, "rev": 1, "lastTouchedBy": ada.author(), "lastTouchedAt": now,
        "sourceLabel": "", "aheadOfMain": null, "openedAt": now,
        "lastActiveAt": now, "threadRootEntryId": "",
    });
    assert_eq!(document, expected);
    let told = json!({"document": expected, "change": "opened"});
    assert_eq!(events.next("canvas_document"), told);
    for reader in [&owner, &ada] {
        assert_eq!(reader.get(&at(&room, &document)).await.ok(200), expected);
        let canvas = reader.get(&of(&room)).await;
        assert_eq!(canvas.header("x-event-seq"), events.place().to_string());
        assert_eq!(canvas.ok(200), json!({"documents": [expected]}));
    }
}

#[tokio::test]
async fn every_kind_of_content_has_the_fields_of_the_interface_document() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.team().await;
    let folder = t.folder("files");
    let file = |name: &str| {
        let path = format!("{folder}/{name}");
        std::fs::write(&path, "x").unwrap();
        path
    };
    let document = guildhall_http::openapi::json();
    let kinds = list(&document["components"]["schemas"]["CanvasContent"]["oneOf"]);
    let contents = [
        json!({"type": "url", "url": "http://a.example"}),
        json!({"type": "browser", "url": "localhost:5173"}),
        json!({"type": "markdown", "content": "# hello\r\n"}),
        json!({"type": "file", "sourcePath": file("a.rs")}),
        json!({"type": "diff", "sourcePath": file("b.rs")}),
        json!({"type": "json", "data": null}),
        json!({"type": "widget", "definition": {"any": [1, {"b": null}]}}),
        json!({"type": "image", "src": "data:image/png;base64,AAAA"}),
        json!({"type": "pdf", "src": file("a.pdf")}),
        json!({"type": "model3d", "src": "https://a.example/a.glb"}),
        json!({"type": "audio", "src": file("a.ogg")}),
        json!({"type": "video", "src": file("a.mp4")}),
        json!({"type": "csv", "src": file("a.csv")}),
        json!({"type": "mcp_app", "serverName": "s", "uri": "ui://a"}),
    ];
    assert_eq!(contents.len(), kinds.len());
    for content in contents {
        let ask = json!({"content": content, "pinned": true});
        let document = owner.post(&of(&room), ask).await.ok(201);
        for (field, value) in document.as_object().unwrap() {
            let may_be_null = field == "aheadOfMain";
            assert!(may_be_null || !value.is_null(), "{field} of {document}");
        }
        let shown = document["content"].as_object().unwrap();
        let kind = kinds
            .iter()
            .find(|kind| kind["properties"]["type"]["enum"] == json!([content["type"]]));
        let fields = kind.unwrap()["properties"].as_object().unwrap();
        let names =
            |object: &Map<String, Value>| -> BTreeSet<String> { object.keys().cloned().collect() };
        assert_eq!(names(shown), names(fields), "{document}");
        for (field, value) in content.as_object().unwrap() {
            assert_eq!(&shown[field], value, "{field} of {document}");
        }
        let of_content = (&shown["title"], &shown["type"]);
        assert_eq!((&document["title"], &document["contentType"]), of_content);
        assert_eq!(owner.get(&at(&room, &document)).await.ok(200), document);
    }
}

#[tokio::test]
async fn what_cannot_be_shown_is_refused_by_field_and_changes_nothing() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.team().await;
    let document = open(&owner, &room, 1).await;
    let before = t.rows();
    for (ask, fields) in [
        (json!({"content": "x"}), vec!["content"]),
        (json!({"content": null}), vec!["content"]),
        (json!({"content": {}}), vec!["content.type"]),
        (
            json!({"content": {"type": "terminal"}}),
            vec!["content.type"],
        ),
        (json!({"content": {"type": "url"}}), vec!["content.url"]),
        (
            json!({"content": {"type": "url", "url": "javascript:alert(1)"}}),
            vec!["content.url"],
        ),
        (
            json!({"content": {"type": "json", "title": 1}, "pinned": 1}),
            vec!["content.data", "content.title", "pinned"],
        ),
        (
            json!({"content": {"type": "json", "data": 1, "title": "x".repeat(201)}}),
            vec!["content.title"],
        ),
        (
            json!({"content": {"type": "widget", "definition": []}}),
            vec!["content.definition"],
        ),
        (
            json!({"content": {"type": "widget", "definition": {"a": ["\u{0}"]}}}),
            vec!["content.definition"],
        ),
        (
            json!({"content": {"type": "diff", "sourcePath": "/a", "mediaKind": "film"}}),
            vec!["content.mediaKind"],
        ),
        (
            json!({"content": {"type": "file", "sourcePath": "a\u{0}b", "readOnly": "no"}}),
            vec!["content.readOnly", "content.sourcePath"],
        ),
        (
            json!({"content": {"type": "file", "sourcePath": "notes.md"}}),
            vec!["content.sourcePath"],
        ),
    ] {
        let opened = owner.post(&of(&room), ask.clone()).await;
        assert_eq!(
            wrong_fields(&opened.refused(400, "VALIDATION_FAILED")),
            fields,
            "{ask}"
        );
        let changed = owner.patch(&at(&room, &document), ask.clone()).await;
        assert_eq!(
            wrong_fields(&changed.refused(400, "VALIDATION_FAILED")),
            fields,
            "{ask}"
        );
    }
    let nothing = owner.post(&of(&room), json!({})).await;
    assert_eq!(
        wrong_fields(&nothing.refused(400, "VALIDATION_FAILED")),
        ["content"]
    );
    assert_eq!(t.rows(), before);
}

#[tokio::test]
async fn what_is_opened_again_keeps_its_id_pin_and_author_and_comes_to_the_front() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let first = open(&owner, &room, 1).await;
    owner
        .patch(&at(&room, &first), json!({"pinned": true}))
        .await
        .ok(200);
    let second = open(&owner, &room, 2).await;
    t.advance(60);
    let mut events = t.events();
    let mut ask = page(1);
    ask["content"]["title"] = " Mine ".into();
    ask["pinned"] = false.into();
    let again = ada.post(&of(&room), ask).await.ok(200);
    let mut expected = first.clone();
    for (field, value) in [
        ("title", json!("Mine")),
        ("pinned", json!(true)),
        ("position", json!(3)),
        ("rev", json!(3)),
        ("lastTouchedBy", json!(ada.author())),
        ("lastTouchedAt", json!("2026-09-21T14:14:20.000Z")),
        ("lastActiveAt", json!("2026-09-21T14:14:20.000Z")),
    ] {
        expected[field] = value;
    }
    expected["content"]["title"] = "Mine".into();
    assert_eq!(again, expected);
    let told = json!({"document": expected, "change": "opened"});
    assert_eq!(events.next("canvas_document"), told);
    let ids = [text(&first["id"]), text(&second["id"])];
    assert_eq!(order(&owner, &room).await, ids);
    // What shows the same address in another way, and what has no key, is another document.
    let browser = json!({"content": {"type": "browser", "url": "https://n1.example/"}});
    owner.post(&of(&room), browser.clone()).await.ok(201);
    let other = t.channel(&owner, "Lab", &[]).await;
    owner.post(&of(&other), browser).await.ok(201);
    let note = json!({"content": {"type": "markdown", "content": "x"}});
    for _ in 0..2 {
        owner.post(&of(&room), note.clone()).await.ok(201);
    }
    // Other content does not change what a document is opened again by.
    let path = at(&room, &second);
    owner.patch(&path, page(7)).await.ok(200);
    assert_eq!(
        owner.post(&of(&room), page(2)).await.ok(200)["id"],
        second["id"]
    );
    owner.post(&of(&room), page(7)).await.ok(201);
}

#[tokio::test]
async fn files_are_found_within_their_openers_reach_and_named_without_links() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let room = t.channel(&owner, "Ops", &[&ada, &bob]).await;
    let (own, others) = (t.folder("ada"), t.folder("bob"));
    for folder in [&own, &others] {
        std::fs::write(format!("{folder}/a.md"), "# a").unwrap();
    }
    std::os::unix::fs::symlink("a.md", format!("{own}/link.md")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", format!("{own}/out.md")).unwrap();
    std::os::unix::fs::symlink("loop.md", format!("{own}/loop.md")).unwrap();
    let show = |path: String| json!({"content": {"type": "file", "sourcePath": path}});
    let picture = |path: String| json!({"content": {"type": "image", "src": path}});

    let found = ada
        .post(&of(&room), show(format!("{own}/link.md")))
        .await
        .ok(201);
    assert_eq!(found["content"]["sourcePath"], format!("{own}/a.md"));
    assert_eq!(
        (&found["title"], &found["treeKind"], &found["sourceLabel"]),
        (&json!("a.md"), &json!("agent-cwd"), &json!("ada's folder"))
    );
    let again = owner
        .post(&of(&room), show(format!("{own}/a.md")))
        .await
        .ok(200);
    assert_eq!(
        (&again["id"], &again["treeKind"]),
        (&found["id"], &found["treeKind"])
    );
    let theirs = owner
        .post(&of(&room), picture(format!("{others}/a.md")))
        .await
        .ok(201);
    assert_eq!(
        (theirs.get("treeKind"), &theirs["sourceLabel"]),
        (None, &json!(""))
    );

    let lab = t.channel(&owner, "Lab", &[]).await;
    // An agent's first request notes that its token was used.
    bob.get("/api/rooms").await.ok(200);
    let before = t.rows();
    let outside = (403, "OUTSIDE_BOUNDARY");
    let data = t.database().to_str().unwrap().to_owned();
    for (caller, path, (status, code)) in [
        (&ada, format!("{others}/a.md"), outside),
        (&ada, format!("{others}/none.md"), outside),
        (&ada, format!("{own}/../bob/a.md"), outside),
        (&ada, format!("{own}/out.md"), outside),
        (&ada, "/etc/hostname".to_owned(), outside),
        (&ada, format!("{own}/none.md"), (404, "NOT_FOUND")),
        (&ada, own.clone(), (400, "NOT_A_FILE")),
        (&ada, format!("{own}/loop.md"), (400, "INVALID_PATH")),
        (&owner, "/etc/none".to_owned(), outside),
        (&owner, data, outside),
        (&owner, format!("{others}/none.md"), (404, "NOT_FOUND")),
        (&bob, format!("{own}/a.md"), outside),
    ] {
        for ask in [show(path.clone()), picture(path.clone())] {
            caller
                .post(&of(&room), ask.clone())
                .await
                .refused(status, code);
            let patch = caller.patch(&at(&room, &theirs), ask).await;
            patch.refused(status, code);
        }
    }
    // Who may not write here is not told what lies where.
    let hidden = ada.post(&of(&lab), show(format!("{others}/a.md"))).await;
    hidden.refused(404, "ROOM_NOT_FOUND");
    assert_eq!(t.rows(), before);
}

#[tokio::test]
async fn a_document_remembers_which_copy_of_a_project_its_file_came_from() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.team().await;
    let (main, copy) = (t.folder("project"), t.folder("ada"));
    let git = |folder: &str, args: &[&str]| {
        let ended = std::process::Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
            .args(args)
            .current_dir(folder)
            .output();
        assert!(ended.unwrap().status.success(), "{args:?}");
    };
    git(&main, &["init", "-q", "-b", "main"]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&main, &["worktree", "add", "-q", "-b", "work", &copy]);
    git(&copy, &["commit", "-q", "--allow-empty", "-m", "second"]);
    for (caller, folder, kind, label, ahead) in [
        (&owner, &main, "room-main", "", Value::Null),
        (&ada, &copy, "worktree", "ada's copy", json!(1)),
    ] {
        let path = format!("{folder}/a.md");
        std::fs::write(&path, "x").unwrap();
        let ask = json!({"content": {"type": "markdown", "content": "x", "sourcePath": path}});
        let document = caller.post(&of(&room), ask).await.ok(201);
        assert_eq!(
            (
                &document["treeKind"],
                &document["sourceLabel"],
                &document["aheadOfMain"]
            ),
            (&json!(kind), &json!(label), &ahead)
        );
        // It was fixed at opening, whatever is shown later.
        let changed = owner.patch(&at(&room, &document), page(1)).await.ok(200);
        assert_eq!(
            (&changed["treeKind"], &changed["aheadOfMain"]),
            (&json!(kind), &ahead)
        );
    }
}

#[tokio::test]
async fn a_full_canvas_gives_up_the_last_documents_that_are_neither_pinned_nor_edited() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    let mut documents = Vec::new();
    for n in 0..12 {
        documents.push(open(&owner, &room, n).await);
    }
    // The three last ones: pinned, edited, and one whose editing is over.
    let pin = json!({"pinned": true});
    owner.patch(&at(&room, &documents[0]), pin).await.ok(200);
    documents.push(open(&owner, &room, 12).await);
    for n in [2, 1] {
        let path = format!("{}/editing", at(&room, &documents[n]));
        owner.post(&path, json!({"editing": true})).await.ok(200);
        t.advance(30);
    }
    let mut events = t.events();
    documents.push(open(&owner, &room, 13).await);
    let told = events.all();
    let names: Vec<&Value> = told.iter().map(|event| &event["type"]).collect();
    let closed = json!({"documentId": documents[2]["id"], "scope": format!("room:{room}"), "reason": "evicted"});
    assert_eq!(names.last().unwrap(), &"canvas_document_closed");
    assert_eq!(told.last().unwrap()["data"], closed);
    let opened = names
        .iter()
        .filter(|name| **name == "canvas_document_closed");
    assert_eq!(opened.count(), 1, "{names:?}");
    let gone = owner.get(&at(&room, &documents[2])).await;
    gone.refused(404, "CANVAS_DOCUMENT_NOT_FOUND");
    // Unpinning fills the canvas as well, and what was just unpinned stays.
    let unpin = json!({"pinned": false});
    owner.patch(&at(&room, &documents[0]), unpin).await.ok(200);
    let left = order(&owner, &room).await;
    let expected: Vec<String> = [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 1, 0]
        .map(|n: usize| text(&documents[n]["id"]))
        .into();
    assert_eq!(left, expected);
}

#[tokio::test]
async fn refusals_come_in_order_and_change_nothing() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let foreign = t.channel(&ada, "Lab", &[&owner]).await;
    let document = open(&owner, &room, 1).await;
    let elsewhere = open(&ada, &foreign, 1).await;
    let seat = format!("/api/rooms/{room}/members/{}", owner.author());
    owner.delete(&seat).await.ok(204);
    let closed = t.channel(&owner, "Old", &[&ada]).await;
    let old = open(&owner, &closed, 1).await;
    let archive = json!({"archived": true});
    owner
        .patch(&format!("/api/rooms/{closed}"), archive)
        .await
        .ok(200);

    // An agent's first request notes that its token was used.
    bob.get("/api/rooms").await.ok(200);

    let before = t.rows();
    let (no_room, no_document) = ((404, "ROOM_NOT_FOUND"), (404, "CANVAS_DOCUMENT_NOT_FOUND"));
    let (archived, no_member) = ((409, "ROOM_ARCHIVED"), (409, "NOT_A_MEMBER"));
    let none = json!({"id": "x"});
    for (caller, room, document, refused) in [
        (&owner, "x", &document, no_room),
        (&bob, &room, &document, no_room),
        (&bob, &room, &none, no_room),
        (&ada, &room, &none, no_document),
        (&ada, &room, &elsewhere, no_document),
        (&owner, &room, &none, no_document),
        (&owner, &closed, &none, no_document),
        (&owner, &closed, &old, archived),
        (&ada, &closed, &old, archived),
        (&owner, &room, &document, no_member),
    ] {
        let path = at(room, document);
        let (status, code) = refused;
        for answer in [
            caller.patch(&path, json!({})).await,
            caller.delete(&path).await,
            caller
                .post(&format!("{path}/editing"), json!({"editing": true}))
                .await,
            caller
                .post(&format!("{path}/editing"), json!({"editing": false}))
                .await,
            caller.post(&format!("{path}/thread"), json!({})).await,
        ] {
            answer.refused(status, code);
        }
        if refused == no_room || refused == no_document {
            caller.get(&path).await.refused(status, code);
        } else {
            caller.get(&path).await.ok(200);
        }
        if refused != no_document {
            caller.post(&of(room), page(1)).await.refused(status, code);
        }
        if refused == no_room {
            caller.get(&of(room)).await.refused(status, code);
        } else {
            caller.get(&of(room)).await.ok(200);
        }
        let wrong = caller.post(&format!("{path}/editing"), json!({})).await;
        wrong.refused(400, "VALIDATION_FAILED");
    }
    assert_eq!(t.rows(), before);
}

#[tokio::test]
async fn a_documents_thread_begins_once_with_a_post_that_names_it_and_no_author() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let note = json!({"content": {"type": "markdown", "content": "x", "title": "Plan for @ada"}});
    let document = owner.post(&of(&room), note).await.ok(201);
    let path = format!("{}/thread", at(&room, &document));
    let mut events = t.events();
    let begun = owner.post(&path, json!({})).await;
    assert_eq!(begun.header("etag"), "\"2\"");
    let thread = begun.ok(201);
    let root = text(&thread["threadRootEntryId"]);
    assert_eq!(thread, json!({"threadRootEntryId": root, "created": true}));
    let entry = owner
        .get(&format!("/api/rooms/{room}/entries/{root}"))
        .await
        .ok(200);
    assert_eq!(entry["text"], "Discussion of \"Plan for @ada\"");
    assert_eq!(
        (&entry["authorId"], &entry["mentions"]),
        (&json!(owner.author()), &json!([]))
    );
    let mut expected = document;
    expected["threadRootEntryId"] = json!(root);
    expected["rev"] = 2.into();
    let told = events.all();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0]["data"], json!({"entry": entry}));
    assert_eq!(
        told[1]["data"],
        json!({"document": expected, "change": "threaded"})
    );
    let again = ada.ask("POST", &path).send().await.ok(200);
    assert_eq!(again, json!({"threadRootEntryId": root, "created": false}));
    events.none();
    assert_eq!(owner.get(&at(&room, &expected)).await.ok(200), expected);
}

#[tokio::test]
async fn a_closed_document_is_gone_and_its_place_is_told() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let (first, second) = (open(&owner, &room, 1).await, open(&owner, &room, 2).await);
    let mut events = t.events();
    assert_eq!(ada.delete(&at(&room, &first)).await.ok(204), Value::Null);
    let closed =
        json!({"documentId": first["id"], "scope": format!("room:{room}"), "reason": "closed"});
    assert_eq!(events.next("canvas_document_closed"), closed);
    let gone = ada.delete(&at(&room, &first)).await;
    gone.refused(404, "CANVAS_DOCUMENT_NOT_FOUND");
    events.none();
    assert_eq!(order(&owner, &room).await, [text(&second["id"])]);
    let anew = open(&owner, &room, 1).await;
    assert_ne!(anew["id"], first["id"]);
}

#[tokio::test]
async fn any_json_value_is_kept_and_streamed_as_it_was_sent() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.team().await;
    let path = format!("/api/rooms/{room}/events");
    let mut stream = t.stream(&owner, &path, None).await;
    stream.expect("snapshot").await;
    // The deepest value there may be, and a number that a careless reader gets wrong.
    let nested = |deep: usize| format!("{}{}", "[".repeat(deep), "]".repeat(deep));
    let (deepest, too_deep) = (nested(100), nested(101));
    for data in [
        deepest.as_str(),
        r#"[2.638344616030823e-256, -0.5, 18446744073709551615, "\u0001 \u00e9", null, {}]"#,
    ] {
        let body = format!(r#"{{"content": {{"type": "json", "data": {data}}}}}"#);
        let ask = owner.ask("POST", &of(&room));
        let sent = ask.header("content-type", "application/json").body(body);
        let document = sent.send().await.ok(201);
        let expected: Value = serde_json::from_str(data).unwrap();
        assert_eq!(document["content"]["data"], expected);
        assert_eq!(owner.get(&at(&room, &document)).await.ok(200), document);
        let frame = stream.expect("canvas_document").await;
        assert_eq!(frame.inner()["document"], document);
    }
    let too_deep: Value = serde_json::from_str(&too_deep).unwrap();
    for (content, field) in [
        (json!({"type": "json", "data": too_deep}), "content.data"),
        (
            json!({"type": "widget", "definition": {"a": too_deep[0]}}),
            "content.definition",
        ),
    ] {
        let answer = owner.post(&of(&room), json!({"content": content})).await;
        let details = answer.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), [field]);
    }
}

#[tokio::test]
async fn a_stream_of_a_session_that_is_not_there_finds_none() {
    let t = TestHall::open().await;
    let path = "/api/events?scope=session:01980000-0000-7000-8000-000000000000";
    let answer = t.owner().get(path).await;
    answer.refused(404, "SESSION_NOT_FOUND");
}
