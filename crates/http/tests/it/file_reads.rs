//! File reads: text, bytes and trees. Source: contract 6.1, 6.3.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    time::{Duration, Instant},
};

use guildhall_testkit::{TestCaller, TestHall, TestResponse};
use rustix::fs::{CWD, FileType, Mode, makedev, mkfifoat, mknodat};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::test_values::{column, wrong_fields};

fn write(folder: impl AsRef<Path>, path: &str, bytes: impl AsRef<[u8]>) {
    let path = folder.as_ref().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

async fn read(by: &TestCaller, what: &str, cwd: &str, path: &str) -> TestResponse {
    by.get(&format!("/api/files/{what}?cwd={cwd}&path={path}"))
        .await
}

async fn paths(by: &TestCaller, cwd: &str, more: &str) -> Vec<String> {
    let tree = by
        .get(&format!("/api/files/tree?cwd={cwd}{more}"))
        .await
        .ok(200);
    assert_eq!(tree["truncated"], false);
    column(&tree["entries"], "path")
}

#[tokio::test]
async fn text_comes_byte_for_byte_with_what_a_save_needs() {
    let t = TestHall::open().await;
    let cwd = t.folder("tally");
    let text = "\u{feff}one\r\ntwo 🎈\r\n\nlast";
    write(&cwd, "src/a.md", text);
    let file = read(&t.owner(), "content", &cwd, "src/a.md").await.ok(200);
    let hash: String = Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        file,
        json!({
            "path": format!("{cwd}/src/a.md"), "content": text, "hash": hash, "hashAlgorithm": "sha256", "encoding": "utf-8",
            "identity": file["identity"], "size": text.len(), "mtime": file["mtime"],
            "writable": true,
        })
    );
    assert_eq!(file["identity"].as_str().unwrap().len(), 43);
    // However it is written; the identity is the file's own, also after a change in place.
    let absolute = format!("{cwd}/src/a.md");
    for path in [absolute.as_str(), "./src/../src/a.md"] {
        assert_eq!(
            read(&t.owner(), "content", &cwd, path).await.ok(200),
            file,
            "{path}"
        );
    }
    std::os::unix::fs::symlink(&cwd, format!("{cwd}/link")).unwrap();
    let linked = read(&t.owner(), "content", &cwd, "link/src/a.md").await;
    assert_eq!(linked.ok(200), file, "it is named without the link");
    fs::hard_link(&absolute, format!("{cwd}/same")).unwrap();
    write(&cwd, "src/a.md", "");
    let same = read(&t.owner(), "content", &cwd, "same").await.ok(200);
    assert_eq!(
        (&same["identity"], &same["content"]),
        (&file["identity"], &json!(""))
    );
    fs::remove_file(&absolute).unwrap();
    write(&cwd, "src/a.md", text);
    let new = read(&t.owner(), "content", &cwd, "src/a.md").await.ok(200);
    assert_eq!(new["hash"], file["hash"]);
    assert_ne!(new["identity"], file["identity"]);
}

#[tokio::test]
async fn the_identity_of_a_file_outlives_a_restart() {
    let mut t = TestHall::open().await;
    let cwd = t.folder("tally");
    write(&cwd, "a.md", "x");
    let before = read(&t.owner(), "content", &cwd, "a.md").await.ok(200);
    t.restart().await;
    let after = read(&t.owner(), "content", &cwd, "a.md").await.ok(200);
    assert_eq!(before, after);
}

#[tokio::test]
async fn what_is_no_text_and_what_is_no_file_is_refused_at_once() {
    let t = TestHall::open().await;
    let cwd = t.folder("tally");
    write(&cwd, "nul", b"a\0b");
    write(&cwd, "latin", b"caf\xe9");
    write(&cwd, "large", vec![b'x'; 10_485_761]);
    write(&cwd, "most", vec![b'x'; 10_485_760]);
    write(&cwd, "folder/x", "x");
    let mode = Mode::RUSR;
    mkfifoat(CWD, Path::new(&cwd).join("fifo.png"), mode).unwrap();
    symlink("/dev/zero", Path::new(&cwd).join("device.png")).unwrap();
    symlink("fifo.png", Path::new(&cwd).join("link.png")).unwrap();
    let _socket = UnixListener::bind(Path::new(&cwd).join("socket.png")).unwrap();
    let mut special = vec!["fifo.png", "link.png", "socket.png"];
    // A device that gives bytes for ever can be made by root alone, and not everywhere.
    let zero = Path::new(&cwd).join("zero.png");
    let made = mknodat(CWD, &zero, FileType::CharacterDevice, mode, makedev(1, 5));
    if made.is_ok() {
        special.push("zero.png");
    }
    let serve = json!({"kind": "serve", "cwd": cwd});
    let serve = t.owner().post("/api/workbench/sign", serve).await.ok(200);
    let (_, served) = serve["url"].as_str().unwrap().split_once("/api/").unwrap();
    for path in &special {
        let begun = Instant::now();
        let save = json!({"cwd": cwd, "path": path, "content": "x"});
        let check = json!({"cwd": cwd, "path": path, "line": 1, "expectedLine": "- [ ] x",
            "checked": true});
        for answer in [
            read(&t.owner(), "content", &cwd, path).await,
            read(&t.owner(), "raw", &cwd, path).await,
            t.owner().put("/api/files/content", save).await,
            t.owner().post("/api/files/checkbox", check).await,
        ] {
            answer.refused(400, "NOT_A_FILE");
        }
        let answer = t.owner().get(&format!("/api/{served}{path}")).await;
        answer.refused(404, "NOT_FOUND");
        assert!(begun.elapsed() < Duration::from_secs(5), "{path}");
    }
    let outside = (403, "OUTSIDE_BOUNDARY");
    let no_file = (400, "NOT_A_FILE");
    for what in ["content", "raw"] {
        for (path, (status, code)) in [("folder", no_file), ("device.png", outside)] {
            let begun = Instant::now();
            let answer = read(&t.owner(), what, &cwd, path).await;
            assert!(begun.elapsed() < Duration::from_secs(1), "{path}");
            answer.refused(status, code);
        }
    }
    for (path, status, code) in [
        ("nul", 415, "BINARY_FILE"),
        ("latin", 415, "NOT_UTF8"),
        ("large", 413, "FILE_TOO_LARGE"),
        ("none", 404, "NOT_FOUND"),
        ("../none", 403, "OUTSIDE_BOUNDARY"),
        ("a%00b", 400, "NULL_BYTE"),
        ("nul/x", 400, "INVALID_PATH"),
    ] {
        read(&t.owner(), "content", &cwd, path)
            .await
            .refused(status, code);
    }
    let most = read(&t.owner(), "content", &cwd, "most").await.ok(200);
    assert_eq!(most["size"], 10_485_760);
    let large = read(&t.owner(), "content", &cwd, "large").await;
    let details = large.refused(413, "FILE_TOO_LARGE");
    assert_eq!(details, json!({"limitBytes": 10_485_760}));
    assert_eq!(fs::read(Path::new(&cwd).join("latin")).unwrap(), b"caf\xe9");

    let nul = format!("{cwd}/nul");
    for (cwd, status, code) in [
        (nul.as_str(), 400, "NOT_A_DIRECTORY"),
        ("/etc", 403, "OUTSIDE_BOUNDARY"),
        ("/none", 403, "OUTSIDE_BOUNDARY"),
        ("~/none", 404, "NOT_FOUND"),
        ("tally", 400, "VALIDATION_FAILED"),
        ("", 400, "VALIDATION_FAILED"),
    ] {
        for what in ["content", "raw", "tree"] {
            read(&t.owner(), what, cwd, "x").await.refused(status, code);
        }
    }
    for what in ["content", "raw"] {
        let details = t.owner().get(&format!("/api/files/{what}")).await;
        let details = details.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), ["cwd", "path"]);
        let details = read(&t.owner(), what, &cwd, "").await;
        let details = details.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), ["path"]);
    }
}

#[tokio::test]
async fn an_agent_reads_in_its_own_folder_and_people_what_is_opened_to_them() {
    let t = TestHall::open_login().await;
    let ada = t.agent("ada").await;
    let pia = t.person("Pia").await;
    let (own, beside) = (t.folder("ada"), t.folder("adam"));
    for folder in [&own, &beside] {
        write(folder, "a.md", "x");
        write(folder, "a.png", "x");
    }
    symlink("../adam/a.md", Path::new(&own).join("link.md")).unwrap();
    let above = Path::new(&own).parent().unwrap().to_str().unwrap();
    let outside = "OUTSIDE_BOUNDARY";
    for (what, path) in [("content", "a.md"), ("raw", "a.png"), ("tree", ".")] {
        assert_eq!(read(&ada, what, &own, path).await.status, 200, "{what}");
        let inside = format!("{own}/{path}");
        assert_eq!(read(&ada, what, &own, &inside).await.status, 200, "{what}");
        for cwd in [beside.as_str(), above, "~", "/none"] {
            read(&ada, what, cwd, path).await.refused(403, outside);
        }
        let other = format!("{beside}/{path}");
        read(&ada, what, &own, &other).await.refused(403, outside);
        // Even the owner does not leave the working folder.
        read(&t.owner(), what, &own, &other)
            .await
            .refused(403, outside);
        read(&pia, what, &own, path)
            .await
            .refused(403, "OWNER_ONLY");
    }
    read(&ada, "content", &own, "link.md")
        .await
        .refused(403, outside);
    read(&t.owner(), "content", &own, "link.md")
        .await
        .refused(403, outside);
    let link = read(&t.owner(), "content", above, "ada/link.md")
        .await
        .ok(200);
    assert_eq!(link["content"], "x");
    let open = json!({"files.people": "boundary"});
    t.owner().patch("/api/settings", open).await.ok(200);
    assert_eq!(read(&pia, "content", &own, "a.md").await.status, 200);
}

#[tokio::test]
async fn the_data_folder_is_not_seen_by_any_route_although_it_lies_beneath_a_root() {
    let mut t = TestHall::open().await;
    let root = t.scratch().to_str().unwrap().to_owned();
    let root = root.as_str();
    t.owner()
        .patch("/api/settings", json!({"files.roots": [root]}))
        .await
        .ok(200);
    t.restart().await;
    let data = t.data_dir();
    let name = data.file_name().unwrap().to_str().unwrap().to_owned();
    write(root, "project/a.md", "x");
    symlink(&data, Path::new(root).join("project/way")).unwrap();
    symlink(
        data.join("host-key"),
        Path::new(root).join("project/key.png"),
    )
    .unwrap();
    let data = data.to_str().unwrap();
    for what in ["content", "raw", "tree"] {
        for (cwd, path) in [
            (root, format!("{name}/host-key")),
            (root, format!("{name}/none")),
            (root, "project/way".to_owned()),
            (root, "project/way/none".to_owned()),
            (root, "project/key.png".to_owned()),
            (data, "host-key".to_owned()),
            (data, "none".to_owned()),
        ] {
            let answer = read(&t.owner(), what, cwd, &path).await;
            answer.refused(403, "OUTSIDE_BOUNDARY");
        }
    }
    // Nor is anything of it saved, checked, or served.
    let before = fs::read(t.data_dir().join("host-key")).unwrap();
    let owner = t.owner();
    for (cwd, path) in [
        (root, format!("{name}/host-key")),
        (root, format!("{name}/none")),
        (root, "project/way/host-key".to_owned()),
        (root, "project/key.png".to_owned()),
        (data, "host-key".to_owned()),
    ] {
        let save = json!({"cwd": cwd, "path": path, "content": "x"});
        let check = json!({"cwd": cwd, "path": path, "line": 1, "expectedLine": "- [ ] x",
            "checked": true});
        for answer in [
            owner.put("/api/files/content", save).await,
            owner.post("/api/files/checkbox", check).await,
        ] {
            answer.refused(403, "OUTSIDE_BOUNDARY");
        }
    }
    let sign = |cwd: &str| json!({"kind": "serve", "cwd": cwd});
    for cwd in [data, &format!("{root}/project/way")] {
        let answer = owner.post("/api/workbench/sign", sign(cwd)).await;
        answer.refused(403, "OUTSIDE_BOUNDARY");
    }
    let signed = owner.post("/api/workbench/sign", sign(root)).await.ok(200);
    let (_, served) = signed["url"].as_str().unwrap().split_once("/api/").unwrap();
    for path in [
        &format!("{name}/host-key"),
        &format!("{name}/none"),
        &name,
        &format!("{name}/"),
        "project/way/host-key",
        "project/key.png",
    ] {
        let answer = owner.get(&format!("/api/{served}{path}")).await;
        answer.refused(403, "OUTSIDE_BOUNDARY");
    }
    let project = owner.get(&format!("/api/{served}project/a.md")).await;
    assert_eq!((project.status, project.text().as_str()), (200, "x"));
    assert_eq!(fs::read(t.data_dir().join("host-key")).unwrap(), before);
    let seen = paths(&owner, root, "&depth=5&showHidden=true").await;
    let is_inside = |path: &&String| path.as_str() == name || path.starts_with(&format!("{name}/"));
    assert_eq!(seen.iter().find(is_inside), None);
    assert!(seen.contains(&"project/a.md".to_owned()));
    let behind = |path: &&String| path.starts_with("project/way/");
    assert_eq!(seen.iter().find(behind), None);
}

#[tokio::test]
async fn pictures_sound_and_film_are_served_as_they_are_and_as_nothing_else() {
    let t = TestHall::open().await;
    let cwd = t.folder("media");
    let bytes: Vec<u8> = (0..400_000_u32).map(|n| (n * 7 % 251) as u8).collect();
    for (name, kind, policy) in [
        ("a.png", "image/png", ""),
        ("b.PDF", "application/pdf", ""),
        ("c.mp4", "video/mp4", ""),
        ("d.mp3", "audio/mpeg", ""),
        ("e.glb", "model/gltf-binary", ""),
        (
            "f.svg",
            "image/svg+xml",
            "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        ),
    ] {
        write(&cwd, name, &bytes);
        let answer = read(&t.owner(), "raw", &cwd, name).await;
        assert_eq!(
            (answer.status, &answer.bytes[..]),
            (200, &bytes[..]),
            "{name}"
        );
        for (header, value) in [
            ("content-type", kind),
            ("x-content-type-options", "nosniff"),
            ("content-disposition", "inline"),
            ("cache-control", "private, no-cache"),
            ("content-length", "400000"),
            ("accept-ranges", "bytes"),
        ] {
            assert_eq!(answer.header(header), value, "{name} {header}");
        }
        let policy = match policy {
            "" => "frame-ancestors 'self'",
            own => own,
        };
        assert_eq!(answer.header("content-security-policy"), policy, "{name}");
    }
    for name in ["page.html", "script.js", "text", "notes.md"] {
        write(&cwd, name, "x");
        read(&t.owner(), "raw", &cwd, name)
            .await
            .refused(415, "UNSUPPORTED_TYPE");
    }
}

#[tokio::test]
async fn a_part_of_a_file_is_served_until_it_changes() {
    let t = TestHall::open().await;
    let cwd = t.folder("media");
    write(&cwd, "a.png", "0123456789");
    let path = format!("/api/files/raw?cwd={cwd}&path=a.png");
    let first = t.owner().get(&path).await;
    let tag = first.header("etag").to_owned();
    for (headers, status, bytes, range) in [
        (&[("range", "bytes=2-4")][..], 206, "234", "bytes 2-4/10"),
        (&[("range", "bytes=-2")], 206, "89", "bytes 8-9/10"),
        (&[("range", "bytes=8-99")], 206, "89", "bytes 8-9/10"),
        (&[("range", "bytes=0-1,3-4")], 200, "0123456789", ""),
        (
            &[("range", "bytes=0-1"), ("if-range", &tag)],
            206,
            "01",
            "bytes 0-1/10",
        ),
        (
            &[("range", "bytes=0-1"), ("if-range", "\"x\"")],
            200,
            "0123456789",
            "",
        ),
        (&[("if-none-match", &tag)], 304, "", ""),
        (
            &[("if-none-match", &tag), ("range", "bytes=0-1")],
            304,
            "",
            "",
        ),
    ] {
        let mut ask = t.owner().ask("GET", &path);
        for (name, value) in headers {
            ask = ask.header(name, value);
        }
        let answer = ask.send().await;
        let found = answer
            .headers
            .get("content-range")
            .map(|value| value.to_str().unwrap());
        let found = (
            answer.status,
            answer.text(),
            found.unwrap_or_default().to_owned(),
        );
        assert_eq!(
            found,
            (status, bytes.to_owned(), range.to_owned()),
            "{headers:?}"
        );
    }
    let beyond = t
        .owner()
        .ask("GET", &path)
        .header("range", "bytes=10-")
        .send()
        .await;
    assert_eq!(beyond.header("content-range"), "bytes */10");
    beyond.refused(416, "RANGE_NOT_SATISFIABLE");
    let head = t.owner().head(&path).await;
    assert_eq!((head.status, head.header("content-length")), (200, "10"));
    write(&cwd, "a.png", "01234567890");
    let ask = t.owner().ask("GET", &path).header("if-none-match", &tag);
    assert_eq!(ask.send().await.status, 200);
}

#[tokio::test]
async fn a_tree_shows_what_is_no_secret_of_the_project_down_to_its_depth() {
    let t = TestHall::open().await;
    let cwd = t.folder("tally");
    for file in [
        "b.md",
        "A.md",
        "src/deep/x",
        "src/y",
        "target/z",
        ".env",
        ".git/HEAD",
    ] {
        write(&cwd, file, "four");
    }
    write(&cwd, ".gitignore", "/target\n");
    symlink("src", Path::new(&cwd).join("inward")).unwrap();
    symlink("/etc", Path::new(&cwd).join("outward")).unwrap();
    let owner = t.owner();
    let tree = owner
        .get(&format!("/api/files/tree?cwd={cwd}"))
        .await
        .ok(200);
    let brief = |entry: &Value| {
        let field = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let is_link = entry["isSymlink"].as_bool().unwrap();
        (field("name"), field("type"), is_link)
    };
    let briefs: Vec<_> = tree["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(brief)
        .collect();
    let one = |name: &str, kind: &str, link| (name.to_owned(), kind.to_owned(), link);
    assert_eq!(
        briefs,
        [
            one("inward", "dir", true),
            one("src", "dir", false),
            one("A.md", "file", false),
            one("b.md", "file", false),
            one("outward", "file", true),
        ]
    );
    assert_eq!(tree["entries"][2]["size"], 4);
    assert!(tree["entries"][2]["mtime"].as_str().unwrap().ends_with('Z'));
    let deep = [
        "inward",
        "src",
        "A.md",
        "b.md",
        "outward",
        "src/deep",
        "src/y",
        "src/deep/x",
    ];
    assert_eq!(paths(&owner, &cwd, "&depth=5").await, deep);
    assert_eq!(
        paths(&owner, &cwd, "&path=src&depth=1").await,
        ["src/deep", "src/y"]
    );
    let hidden = paths(&owner, &cwd, "&showHidden=1").await;
    for name in [".env", ".git", ".gitignore", "target"] {
        assert!(hidden.contains(&name.to_owned()), "{name}");
    }
    for depth in ["0", "6", "x", "-1"] {
        let answer = owner
            .get(&format!("/api/files/tree?cwd={cwd}&depth={depth}"))
            .await;
        let details = answer.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), ["depth"], "{depth}");
    }
    let answer = owner
        .get(&format!("/api/files/tree?cwd={cwd}&path=b.md"))
        .await;
    answer.refused(400, "NOT_A_DIRECTORY");
}
