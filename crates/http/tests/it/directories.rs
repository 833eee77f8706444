//! Directories: who looks where, and what is shown. Source: contract 6.1, 6.2.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

use crate::test_values::{column, wrong_fields};

const DIRECTORY: &str = "/api/directory";

fn at(path: &Path) -> String {
    format!("{DIRECTORY}?path={}", path.to_str().unwrap())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

async fn names(by: &TestCaller, query: &str) -> Vec<String> {
    let listing = by.get(&format!("{DIRECTORY}{query}")).await.ok(200);
    column(&listing["entries"], "name")
}

/// A hall with something in home.
async fn furnished() -> (TestHall, PathBuf) {
    let t = TestHall::open().await;
    let home = t.home();
    fs::create_dir_all(home.join("desk/deep")).unwrap();
    fs::create_dir_all(home.join(".config")).unwrap();
    fs::write(home.join("Notes.md"), "x").unwrap();
    (t, home)
}

#[tokio::test]
async fn a_listing_shows_folders_then_files_with_their_paths_and_the_way_back() {
    let (t, home) = furnished().await;
    symlink("desk", home.join("a-link")).unwrap();
    symlink("/etc", home.join("b-link")).unwrap();
    let answer = t.owner().get(DIRECTORY).await;
    assert_eq!(answer.header("cache-control"), "private, no-cache");
    let tag = answer.header("etag").to_owned();
    let entry = |name: &str, is_directory: bool| json!({"name": name, "path": home.join(name), "isDirectory": is_directory});
    let entries = [
        entry("a-link", true),
        entry("desk", true),
        entry("Notes.md", false),
    ];
    assert_eq!(
        answer.ok(200),
        json!({"path": home, "entries": entries, "parent": null, "truncated": false})
    );
    let ask = t
        .owner()
        .ask("GET", DIRECTORY)
        .header("if-none-match", &tag);
    assert_eq!(ask.send().await.status, 304);
    let desk = t.owner().get(&at(&home.join("desk"))).await.ok(200);
    assert_eq!(
        (&desk["path"], &desk["parent"]),
        (&json!(home.join("desk")), &json!(home))
    );
    assert_eq!(column(&desk["entries"], "name"), ["deep"]);
    // However it is written, also through a link.
    for path in ["~/desk", "~/desk/deep/..", "~/a-link"] {
        let found = t
            .owner()
            .get(&format!("{DIRECTORY}?path={path}"))
            .await
            .ok(200);
        assert_eq!(found, desk, "{path}");
    }
}

#[tokio::test]
async fn names_with_a_dot_are_shown_to_who_asks_for_them() {
    let (t, _) = furnished().await;
    for (spelled, expected) in [
        ("", &["desk", "Notes.md"][..]),
        ("?showHidden=", &["desk", "Notes.md"]),
        ("?showHidden=false", &["desk", "Notes.md"]),
        ("?showHidden=0", &["desk", "Notes.md"]),
        ("?showHidden=true", &[".config", "desk", "Notes.md"]),
        ("?showHidden=1", &[".config", "desk", "Notes.md"]),
    ] {
        assert_eq!(names(&t.owner(), spelled).await, expected, "{spelled}");
    }
    let refused = t.owner().get(&format!("{DIRECTORY}?showHidden=yes")).await;
    let details = refused.refused(400, "VALIDATION_FAILED");
    assert_eq!(wrong_fields(&details), ["showHidden"]);
}

#[tokio::test]
async fn outside_of_home_everything_is_refused_whether_it_is_there_or_not() {
    let (t, home) = furnished().await;
    symlink("..", home.join("up")).unwrap();
    symlink("loop", home.join("loop")).unwrap();
    fs::write(home.join("file"), "x").unwrap();
    // A root of the other routes, which counts for nothing here.
    t.folder("else");
    let above = home.parent().unwrap();
    for path in [
        above.to_owned(),
        above.join("else"),
        above.join("none"),
        above.join("homestead"),
        t.data_dir(),
        t.data_dir().join("none"),
        "/".into(),
        "/etc/passwd".into(),
        home.join("up"),
        home.join("up/else"),
        home.join("desk/../../else"),
    ] {
        t.owner()
            .get(&at(&path))
            .await
            .refused(403, "OUTSIDE_BOUNDARY");
    }
    let long = home.join("x".repeat(300));
    for (path, status, code, reason) in [
        ("~/none".to_owned(), 404, "NOT_FOUND", Value::Null),
        ("~/none/none".to_owned(), 404, "NOT_FOUND", Value::Null),
        ("~/file".to_owned(), 400, "NOT_A_DIRECTORY", Value::Null),
        ("~/file/x".to_owned(), 400, "INVALID_PATH", "ENOTDIR".into()),
        ("~/loop".to_owned(), 400, "INVALID_PATH", "ELOOP".into()),
        (
            text(&long).to_owned(),
            400,
            "INVALID_PATH",
            "ENAMETOOLONG".into(),
        ),
        ("~/a%00b".to_owned(), 400, "NULL_BYTE", Value::Null),
        ("~nobody".to_owned(), 403, "OUTSIDE_BOUNDARY", Value::Null),
    ] {
        let answer = t.owner().get(&format!("{DIRECTORY}?path={path}")).await;
        assert_eq!(answer.refused(status, code)["reason"], reason, "{path}");
    }
    for path in ["", "desk", "./desk", "..", "%00"] {
        let answer = t.owner().get(&format!("{DIRECTORY}?path={path}")).await;
        let details = answer.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), ["path"], "{path}");
    }
}

#[tokio::test]
async fn a_listing_can_be_asked_for_folders_only() {
    let (t, home) = furnished().await;
    symlink("desk", home.join("a-link")).unwrap();
    symlink("Notes.md", home.join("b-link")).unwrap();
    let owner = t.owner();
    for (query, expected) in [
        ("?directoriesOnly=true", &["a-link", "desk"][..]),
        (
            "?directoriesOnly=true&showHidden=true",
            &[".config", "a-link", "desk"],
        ),
        (
            "?directoriesOnly=false",
            &["a-link", "desk", "b-link", "Notes.md"],
        ),
    ] {
        assert_eq!(names(&owner, query).await, expected, "{query}");
    }
    let wrong = owner.get("/api/directory?directoriesOnly=folders").await;
    let details = wrong.refused(400, "VALIDATION_FAILED");
    assert_eq!(wrong_fields(&details), ["directoriesOnly"]);
}

#[tokio::test]
async fn an_agent_looks_into_its_own_folder_wherever_that_lies() {
    let (t, home) = furnished().await;
    let ada = t.agent("ada").await;
    let own = PathBuf::from(t.folder("ada"));
    fs::create_dir(own.join("src")).unwrap();
    t.folder("bob");
    symlink("../bob", own.join("beside")).unwrap();
    let listing = ada.get(DIRECTORY).await.ok(200);
    assert_eq!(
        (&listing["path"], &listing["parent"]),
        (&json!(own), &Value::Null)
    );
    assert_eq!(column(&listing["entries"], "name"), ["src"]);
    let src = ada.get(&at(&own.join("src"))).await.ok(200);
    assert_eq!(src["parent"], json!(own));
    let found = ada.get(&format!("{DIRECTORY}/default")).await.ok(200);
    assert_eq!(found, json!({"path": own}));
    let beside = own.parent().unwrap();
    for path in [
        home.clone(),
        home.join("desk"),
        beside.join("bob"),
        beside.join("none"),
        beside.join("adam"),
        own.join(".."),
        own.join("beside"),
        "/none".into(),
    ] {
        ada.get(&at(&path)).await.refused(403, "OUTSIDE_BOUNDARY");
    }
    ada.get(&at(&own.join("none")))
        .await
        .refused(404, "NOT_FOUND");
    // Its folder lies beneath no home, so it makes none there.
    let ask = json!({"parentPath": own, "folderName": "new"});
    ada.post(DIRECTORY, ask)
        .await
        .refused(403, "OUTSIDE_BOUNDARY");
    assert!(!own.join("new").exists());
}

#[tokio::test]
async fn other_people_look_into_home_once_it_is_opened_to_them() {
    let t = TestHall::open_login().await;
    let pia = t.person("Pia").await;
    let ask = json!({"parentPath": "~", "folderName": "new"});
    for path in [DIRECTORY, "/api/directory/default"] {
        pia.get(path).await.refused(403, "OWNER_ONLY");
    }
    pia.post(DIRECTORY, ask.clone())
        .await
        .refused(403, "OWNER_ONLY");
    let open = json!({"files.people": "boundary"});
    t.owner().patch("/api/settings", open).await.ok(200);
    assert_eq!(pia.get(DIRECTORY).await.ok(200)["path"], json!(t.home()));
    pia.post(DIRECTORY, ask).await.ok(201);
    assert_eq!(names(&pia, "").await, ["new"]);
}

#[tokio::test]
async fn a_new_folder_is_made_once_and_told_to_the_owner() {
    let (t, home) = furnished().await;
    let bob = json!({"name": "bob", "cwd": home.join("desk")});
    let bob = t.agent_of(bob).await;
    let mut events = t.events();
    let ask = json!({"parentPath": "~/desk", "folderName": "My Project"});
    let made = json!({"path": home.join("desk/My Project")});
    let post = |key: &str| {
        t.owner()
            .ask("POST", DIRECTORY)
            .json(&ask)
            .header("idempotency-key", key)
    };
    assert_eq!(post("one").send().await.ok(201), made);
    let event = events.all();
    let told = (&event[0]["type"], &event[0]["scope"], &event[0]["data"]);
    assert_eq!(told, (&json!("directory_created"), &json!("hall"), &made));
    // A repeat is the same answer; it makes nothing, although the folder is gone by now.
    fs::remove_dir(home.join("desk/My Project")).unwrap();
    assert_eq!(post("one").send().await.ok(201), made);
    assert!(!home.join("desk/My Project").exists());
    post("two").send().await.ok(201);
    post("three").send().await.refused(409, "ALREADY_EXISTS");
    // An agent whose folder lies in home makes folders there, and there alone.
    let own = home.join("desk");
    let new = |parent: &Path| json!({"parentPath": parent, "folderName": "bobs"});
    bob.post(DIRECTORY, new(&own)).await.ok(201);
    bob.post(DIRECTORY, new(&home))
        .await
        .refused(403, "OUTSIDE_BOUNDARY");
    assert_eq!(events.names(), ["directory_created", "directory_created"]);

    for (parent, name, wrong) in [
        (json!("~"), json!(".git"), &["folderName"][..]),
        (json!("~"), json!("a/b"), &["folderName"]),
        (json!("~"), json!(""), &["folderName"]),
        (json!("desk"), json!("a"), &["parentPath"]),
        (json!(""), json!("a"), &["parentPath"]),
        (Value::Null, json!(7), &["folderName", "parentPath"]),
    ] {
        let ask = json!({"parentPath": parent, "folderName": name});
        let details = t
            .owner()
            .post(DIRECTORY, ask)
            .await
            .refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), wrong);
    }
    for (parent, status, code) in [
        ("~/none", 404, "NOT_FOUND"),
        ("~/Notes.md", 400, "NOT_A_DIRECTORY"),
        ("~/..", 403, "OUTSIDE_BOUNDARY"),
        ("~/a\0b", 400, "NULL_BYTE"),
    ] {
        let ask = json!({"parentPath": parent, "folderName": "new"});
        t.owner().post(DIRECTORY, ask).await.refused(status, code);
    }
    events.none();
}

#[tokio::test]
async fn new_work_begins_where_the_setting_says_while_that_lies_in_home() {
    let (t, home) = furnished().await;
    let begins = async || {
        let found = t.owner().get("/api/directory/default").await.ok(200);
        PathBuf::from(found["path"].as_str().unwrap())
    };
    assert_eq!(begins().await, home);
    for (set, expected) in [
        ("~/desk", home.join("desk")),
        (text(&home.join("desk/deep")), home.join("desk/deep")),
        ("~/none", home.clone()),
        ("/etc", home.clone()),
        ("", home.clone()),
    ] {
        let ask = json!({"files.defaultDirectory": set});
        t.owner().patch("/api/settings", ask).await.ok(200);
        assert_eq!(begins().await, expected, "{set}");
    }
}
