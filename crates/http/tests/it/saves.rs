//! Saving files: what a save does, what it refuses and in which order, and what it never loses.
//! Source: contract 6.4 and 6.6.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    time::{Duration, Instant},
};

use guildhall_domain::files::digest;
use guildhall_testkit::{TestHall, TestResponse};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::test_values::text;

pub(crate) const CONTENT: &str = "/api/files/content";

/// The hash of a content, as the interface writes it.
pub(crate) fn hash(content: impl AsRef<[u8]>) -> String {
    digest(content.as_ref()).to_string()
}

/// Replaces a file as an editor does that writes another one and renames it.
pub(crate) fn replace_by_rename(path: &str, content: &str) {
    let other = format!("{path}.other");
    fs::write(&other, content).unwrap();
    fs::rename(other, path).unwrap();
}

/// A folder with the file `a.md`.
pub(crate) struct FolderWithFile {
    pub(crate) t: TestHall,
    pub(crate) folder: String,
}

impl FolderWithFile {
    pub(crate) async fn open(content: &str) -> Self {
        let t = TestHall::open().await;
        let folder = t.folder("desk");
        fs::write(format!("{folder}/a.md"), content).unwrap();
        Self { t, folder }
    }

    pub(crate) fn path(&self) -> String {
        format!("{}/a.md", self.folder)
    }

    pub(crate) fn held(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    /// The names in the folder: nothing of ours stays beside a file.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn ask(&self, content: &str, more: &Value) -> Value {
        let mut ask = json!({"cwd": self.folder, "path": "a.md", "content": content});
        for (name, value) in more.as_object().unwrap() {
            ask[name] = value.clone();
        }
        ask
    }

    async fn save(&self, content: &str, more: Value) -> TestResponse {
        let ask = self.ask(content, &more);
        self.t.owner().put(CONTENT, ask).await
    }
}

/// Demands 409 `CONFLICT`; answers `[currentHash, currentContent]`.
#[track_caller]
pub(crate) fn conflict(answer: &TestResponse) -> [Value; 2] {
    assert_eq!(answer.status, 409, "{}", answer.text());
    assert_eq!(answer.body["code"], "CONFLICT", "{}", answer.text());
    assert_eq!(text(&answer.body["details"]["currentIdentity"]).len(), 43);
    [
        answer.body["currentHash"].clone(),
        answer.body["currentContent"].clone(),
    ]
}

#[tokio::test]
async fn a_save_replaces_the_whole_content_and_tells_the_owner_alone() {
    let desk = FolderWithFile::open("old").await;
    let mut events = desk.t.events();
    let saved = desk.save("new and longer", json!({})).await.ok(200);
    let identity = text(&saved["identity"]);
    assert_eq!(identity.len(), 43);
    let expected = json!({"ok": true, "hash": hash("new and longer"), "effect": "changed",
        "identity": identity});
    assert_eq!(saved, expected);
    assert_eq!(
        (desk.held(), desk.names()),
        ("new and longer".to_owned(), vec!["a.md".to_owned()])
    );
    let told = events.all();
    assert_eq!(told.len(), 1);
    assert_eq!(
        (&told[0]["type"], &told[0]["scope"]),
        (&json!("file_saved"), &json!("hall"))
    );
    let data = json!({"path": desk.path(), "previousHash": hash("old"),
        "hash": hash("new and longer"), "size": 14, "by": desk.t.owner().author(), "via": "save"});
    assert_eq!(told[0]["data"], data);
    // An agent's stream does not bring it.
    let ada = desk.t.agent("ada").await;
    let mut stream = desk.t.stream(&ada, "/api/events", None).await;
    desk.save("once more", json!({})).await.ok(200);
    desk.t.channel(&ada, "Later", &[&desk.t.owner()]).await;
    let place = u64::try_from(desk.t.events().place()).unwrap();
    let heard = stream.until(place).await;
    let names: Vec<_> = heard.iter().map(|frame| &*frame.event).collect();
    assert!(!names.contains(&"file_saved"), "{names:?}");
}

#[tokio::test]
async fn bytes_are_saved_as_they_are_and_what_is_no_text_is_left_alone() {
    let desk = FolderWithFile::open("x").await;
    for content in ["\u{feff}a\r\nb\rc\n😀é", "", "no end", "\n\n"] {
        let saved = desk.save(content, json!({})).await.ok(200);
        assert_eq!(
            (desk.held(), &saved["hash"]),
            (content.to_owned(), &json!(hash(content)))
        );
    }
    for (bytes, code) in [(&b"a\0b"[..], "BINARY_FILE"), (b"a\xff", "NOT_UTF8")] {
        fs::write(desk.path(), bytes).unwrap();
        desk.save("new", json!({})).await.refused(415, code);
        assert_eq!(fs::read(desk.path()).unwrap(), bytes);
    }
}

#[tokio::test]
async fn a_file_that_became_no_text_since_its_baseline_is_a_conflict_without_content() {
    let desk = FolderWithFile::open("old").await;
    for bytes in [&b"a\0b"[..], b"a\xff"] {
        fs::write(desk.path(), bytes).unwrap();
        for baseline in [
            json!({"expectedHash": hash("old")}),
            json!({"expectedContent": "old"}),
        ] {
            let [held, content] = conflict(&desk.save("new", baseline).await);
            assert_eq!((held, content), (json!(hash(bytes)), Value::Null));
        }
        assert_eq!(fs::read(desk.path()).unwrap(), bytes);
    }
}

#[tokio::test]
async fn refusals_come_in_their_order_and_leave_everything_as_it_was() {
    let desk = FolderWithFile::open("old").await;
    let (t, owner) = (&desk.t, desk.t.owner());
    let ada = t.agent("ada").await;
    fs::create_dir(format!("{}/sub", desk.folder)).unwrap();
    fs::write(format!("{}/bin", desk.folder), b"\0").unwrap();
    fs::write(t.scratch().join("outside.md"), "secret").unwrap();
    let fifo = format!("{}/fifo", desk.folder);
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let mut events = t.events();
    let rows = t.rows();
    let before = desk.names();

    let huge = "x".repeat((10 << 20) + 1);
    let with = |change: Value| desk.ask("new", &change);
    let document = json!({"documentId": 7});
    let outside = t.scratch().join("outside.md");
    let table = [
        // A body that cannot be read comes before everything that it might say.
        (
            &ada,
            with(json!({"documentSave": document})),
            403,
            "OWNER_ONLY",
        ),
        (&ada, json!({"documentSave": null}), 403, "OWNER_ONLY"),
        (
            &owner,
            with(json!({"documentSave": document})),
            400,
            "VALIDATION_FAILED",
        ),
        (&owner, with(json!({"cwd": ""})), 400, "VALIDATION_FAILED"),
        (
            &owner,
            with(json!({"cwd": "desk"})),
            400,
            "VALIDATION_FAILED",
        ),
        (&owner, with(json!({"path": ""})), 400, "VALIDATION_FAILED"),
        (
            &owner,
            with(json!({"expectedHash": "12"})),
            400,
            "VALIDATION_FAILED",
        ),
        (
            &owner,
            with(json!({"content": "a\0"})),
            400,
            "VALIDATION_FAILED",
        ),
        (
            &owner,
            with(json!({"path": "a\0", "content": 1})),
            400,
            "VALIDATION_FAILED",
        ),
        (&owner, with(json!({"path": "a.md\0"})), 400, "NULL_BYTE"),
        (&owner, with(json!({"cwd": "/\0"})), 400, "NULL_BYTE"),
        (
            &owner,
            with(json!({"path": "../../outside.md", "content": huge})),
            413,
            "FILE_TOO_LARGE",
        ),
        (
            &owner,
            with(json!({"path": "../../outside.md"})),
            403,
            "OUTSIDE_BOUNDARY",
        ),
        (
            &owner,
            with(json!({"path": outside})),
            403,
            "OUTSIDE_BOUNDARY",
        ),
        (
            &owner,
            with(json!({"path": "../../none"})),
            403,
            "OUTSIDE_BOUNDARY",
        ),
        (
            &owner,
            with(json!({"cwd": t.data_dir(), "path": "guildhall.sqlite"})),
            403,
            "OUTSIDE_BOUNDARY",
        ),
        (&owner, with(json!({"path": "none.md"})), 404, "NOT_FOUND"),
        (
            &owner,
            with(json!({"path": "sub/none.md"})),
            404,
            "NOT_FOUND",
        ),
        (
            &owner,
            with(json!({"cwd": format!("{}/none", desk.folder)})),
            404,
            "NOT_FOUND",
        ),
        (&owner, with(json!({"path": "sub"})), 400, "NOT_A_FILE"),
        (&owner, with(json!({"path": "fifo"})), 400, "NOT_A_FILE"),
        (
            &owner,
            with(json!({"path": "bin", "expectedHash": hash("\0")})),
            415,
            "BINARY_FILE",
        ),
        (&ada, with(json!({})), 403, "OUTSIDE_BOUNDARY"),
    ];
    let begun = Instant::now();
    for (caller, ask, status, code) in table {
        let shown = ask.to_string().chars().take(200).collect::<String>();
        let answer = caller.put(CONTENT, ask).await;
        assert_eq!(answer.status, status, "{shown}: {}", answer.text());
        answer.refused(status, code);
    }
    assert!(begun.elapsed() < Duration::from_secs(20));
    let raw = |body: &str| {
        owner
            .ask("PUT", CONTENT)
            .header("content-type", "application/json")
            .body(body.to_owned())
    };
    raw("{").send().await.refused(400, "INVALID_JSON");
    let long = "x".repeat((32 << 20) + 1);
    let details = raw(&long).send().await.refused(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(details, json!({"limitBytes": 32 << 20}));
    let no_json = owner
        .ask("PUT", CONTENT)
        .header("content-type", "text/plain")
        .body("x");
    no_json.send().await.refused(415, "UNSUPPORTED_MEDIA_TYPE");
    let ghost = t
        .unverifiable()
        .put(CONTENT, with(json!({"documentSave": 1})))
        .await;
    ghost.refused(401, "AGENT_IDENTITY_UNVERIFIED");

    assert_eq!((desk.held(), desk.names()), ("old".to_owned(), before));
    assert_eq!(fs::read_to_string(&outside).unwrap(), "secret");
    let untouched = |rows: &str| {
        rows.lines()
            .filter(|row| !row.starts_with("tokens"))
            .count()
    };
    assert_eq!(untouched(&t.rows()), untouched(&rows));
    events.none();
}

#[tokio::test]
async fn a_body_of_escapes_up_to_its_limit_is_taken() {
    let desk = FolderWithFile::open("x").await;
    // Each of these characters takes six bytes of JSON and one of the file.
    let content = "\u{1}".repeat(5 << 20);
    let ask = desk.ask(&content, &json!({}));
    assert!(ask.to_string().len() > 30 << 20);
    desk.t.owner().put(CONTENT, ask).await.ok(200);
    assert_eq!(fs::metadata(desk.path()).unwrap().len(), 5 << 20);
}

#[tokio::test]
async fn agents_save_in_their_own_folder_and_other_people_nowhere() {
    let t = TestHall::open_login().await;
    let ada = t.agent("ada").await;
    let agent = ada
        .get(&format!("/api/agents/{}", ada.agent()))
        .await
        .ok(200);
    let cwd = text(&agent["cwd"]);
    fs::create_dir_all(&cwd).unwrap();
    fs::write(format!("{cwd}/own.md"), "old").unwrap();
    let ask = |path: &str| json!({"cwd": cwd, "path": path, "content": "new"});
    ada.put(CONTENT, ask("own.md")).await.ok(200);
    assert_eq!(fs::read_to_string(format!("{cwd}/own.md")).unwrap(), "new");
    let beside = t.folder("beside");
    fs::write(format!("{beside}/b.md"), "old").unwrap();
    let other = json!({"cwd": beside, "path": "b.md", "content": "new"});
    ada.put(CONTENT, other.clone())
        .await
        .refused(403, "OUTSIDE_BOUNDARY");
    let pia = t.person("Pia").await;
    pia.put(CONTENT, other.clone())
        .await
        .refused(403, "OWNER_ONLY");
    let mut of_document = other;
    of_document["documentSave"] = json!("nonsense");
    pia.put(CONTENT, of_document)
        .await
        .refused(403, "OWNER_ONLY");
    assert_eq!(fs::read_to_string(format!("{beside}/b.md")).unwrap(), "old");
}

#[tokio::test]
async fn a_stale_baseline_brings_what_the_file_holds_also_when_that_is_what_is_saved() {
    let desk = FolderWithFile::open("theirs").await;
    let mut events = desk.t.events();
    for stale in [
        json!({"expectedHash": hash("old")}),
        json!({"expectedContent": "old"}),
        json!({"expectedHash": hash("old"), "expectedContent": "theirs"}),
    ] {
        for content in ["mine", "theirs"] {
            let answer = desk.save(content, stale.clone()).await;
            assert_eq!(conflict(&answer), [json!(hash("theirs")), json!("theirs")]);
        }
    }
    assert_eq!(
        (desk.held(), desk.names()),
        ("theirs".to_owned(), vec!["a.md".to_owned()])
    );
    events.none();
    let problem = desk
        .t
        .owner()
        .ask("PUT", CONTENT)
        .header("accept", "application/problem+json");
    let ask = desk.ask("mine", &json!({"expectedHash": hash("old")}));
    let problem = problem.json(&ask).send().await.ok(409);
    assert_eq!(problem["currentContent"], "theirs");
    for fresh in [
        json!({"expectedHash": hash("theirs").to_uppercase()}),
        json!({"expectedContent": "mine"}),
    ] {
        desk.save("mine", fresh).await.ok(200);
    }
    // Too much to be shown.
    fs::write(desk.path(), vec![b'x'; (10 << 20) + 1]).unwrap();
    let answer = desk
        .save("mine", json!({"expectedHash": hash("mine")}))
        .await;
    assert_eq!(
        conflict(&answer),
        [json!(hash(vec![b'x'; (10 << 20) + 1])), json!(null)]
    );
    desk.save("mine", json!({}))
        .await
        .refused(413, "FILE_TOO_LARGE");
    // More than is hashed for anybody: it would take days.
    let large = fs::File::create(desk.path()).unwrap();
    large.set_len(1 << 40).unwrap();
    for baseline in [json!({}), json!({"expectedHash": hash("mine")})] {
        desk.save("mine", baseline)
            .await
            .refused(413, "FILE_TOO_LARGE");
    }
}

#[tokio::test]
async fn what_is_the_same_already_is_left_with_its_time_of_change() {
    let desk = FolderWithFile::open("same").await;
    let mut events = desk.t.events();
    let before = fs::metadata(desk.path()).unwrap();
    for baseline in [json!({}), json!({"expectedHash": hash("same")})] {
        let saved = desk.save("same", baseline).await.ok(200);
        assert_eq!(
            (&saved["effect"], &saved["hash"]),
            (&json!("no_op"), &json!(hash("same")))
        );
    }
    let after = fs::metadata(desk.path()).unwrap();
    assert_eq!(
        (after.ino(), after.mtime_nsec()),
        (before.ino(), before.mtime_nsec())
    );
    events.none();
}

#[tokio::test]
async fn the_last_save_sent_again_is_done_already_and_any_other_is_stale() {
    let mut desk = FolderWithFile::open("one").await;
    let from_one = json!({"expectedHash": hash("one")});
    desk.save("two", from_one.clone()).await.ok(200);
    let mut events = desk.t.events();
    let again = async |desk: &FolderWithFile| desk.save("two", from_one.clone()).await;
    let saved = again(&desk).await.ok(200);
    assert_eq!(
        (&saved["effect"], &saved["hash"]),
        (&json!("no_op"), &json!(hash("two")))
    );
    desk.t.restart().await;
    assert_eq!(
        again(&desk).await.ok(200)["effect"],
        "no_op",
        "also after a restart"
    );
    // The same content from another path, or with another baseline, is another request.
    let other = json!({"path": desk.path(), "expectedHash": hash("one")});
    conflict(&desk.save("two", other).await);
    conflict(
        &desk
            .save("two", json!({"expectedHash": hash("zero")}))
            .await,
    );
    // The disk no longer is what the save left.
    fs::write(desk.path(), "theirs").unwrap();
    conflict(&again(&desk).await);
    events.none();
    // Another save came between.
    desk.save("three", json!({})).await.ok(200);
    desk.save("two", json!({})).await.ok(200);
    conflict(&again(&desk).await);
}

#[tokio::test]
async fn a_file_that_was_replaced_is_another_one_and_one_that_was_saved_here_is_not() {
    let mut desk = FolderWithFile::open("one").await;
    let first = text(&desk.save("one", json!({})).await.ok(200)["identity"]);
    let second = text(&desk.save("two", json!({})).await.ok(200)["identity"]);
    assert_ne!(first, second, "the file was exchanged for another one");
    let third = text(
        &desk
            .save("three", json!({"expectedIdentity": first}))
            .await
            .ok(200)["identity"],
    );
    desk.t.restart().await;
    for known in [&first, &second, &third] {
        desk.save("three", json!({"expectedIdentity": known}))
            .await
            .ok(200);
    }
    replace_by_rename(&desk.path(), "three");
    let mut events = desk.t.events();
    for known in [&first, &second, &third, &"x".to_owned()] {
        let ask = json!({"expectedIdentity": known, "expectedHash": hash("stale")});
        desk.save("mine", ask)
            .await
            .refused(412, "FILE_IDENTITY_CHANGED");
    }
    assert_eq!(
        (desk.held(), desk.names()),
        ("three".to_owned(), vec!["a.md".to_owned()])
    );
    events.none();
    // Who names no file overwrites whichever is there.
    desk.save("mine", json!({"expectedHash": hash("three")}))
        .await
        .ok(200);
}

#[tokio::test]
async fn of_saves_from_one_baseline_one_counts_and_the_others_hear_of_it() {
    let desk = FolderWithFile::open("zero").await;
    let mut events = desk.t.events();
    let mut before = hash("zero");
    for round in 0..5 {
        let mut racing = JoinSet::new();
        for n in 0..6 {
            let content = format!("{round}/{n}");
            let ask = desk.ask(&content, &json!({"expectedHash": before}));
            let owner = desk.t.owner();
            racing.spawn(async move { (content, owner.put(CONTENT, ask).await) });
        }
        let answers = racing.join_all().await;
        let (won, lost): (Vec<_>, Vec<_>) = answers
            .into_iter()
            .partition(|(_, answer)| answer.status == 200);
        assert_eq!(won.len(), 1, "{won:?}");
        let (content, _) = &won[0];
        for (_, answer) in &lost {
            assert_eq!(conflict(answer), [json!(hash(content)), json!(content)]);
        }
        assert_eq!(desk.held(), *content);
        before = hash(content);
        assert_eq!(events.names(), ["file_saved"]);
    }
    assert_eq!(desk.names(), ["a.md"]);
}

#[tokio::test]
async fn links_modes_and_the_file_behind_a_link_stay() {
    let desk = FolderWithFile::open("old").await;
    let at = |name: &str| format!("{}/{name}", desk.folder);
    fs::hard_link(desk.path(), at("hard.md")).unwrap();
    std::os::unix::fs::symlink("a.md", at("soft.md")).unwrap();
    fs::set_permissions(desk.path(), PermissionsExt::from_mode(0o640)).unwrap();
    let inode = fs::metadata(desk.path()).unwrap().ino();
    for (n, name) in ["a.md", "hard.md", "soft.md"].into_iter().enumerate() {
        let content = n.to_string();
        desk.save(&content, json!({"path": name})).await.ok(200);
        for other in ["a.md", "hard.md", "soft.md"] {
            assert_eq!(fs::read_to_string(at(other)).unwrap(), content);
        }
    }
    fs::remove_file(at("hard.md")).unwrap();
    desk.save("behind the link", json!({"path": "soft.md"}))
        .await
        .ok(200);
    assert_eq!(desk.held(), "behind the link");
    let found = fs::metadata(desk.path()).unwrap();
    assert_ne!(
        found.ino(),
        inode,
        "one name is left, so that it is exchanged"
    );
    assert_eq!(found.mode() & 0o7777, 0o640);
    assert!(Path::new(&at("soft.md")).is_symlink());
    assert_eq!(desk.names(), ["a.md", "soft.md"]);
    let journals = fs::read_dir(desk.t.data_dir().join("journal")).unwrap();
    assert_eq!(journals.count(), 0, "nothing stays set aside");
}

#[tokio::test]
async fn a_server_that_stops_takes_no_save() {
    let desk = FolderWithFile::open("old").await;
    desk.t.start_stopping();
    let answer = desk.save("new", json!({})).await;
    assert_eq!(answer.header("retry-after"), "1");
    answer.refused(503, "SHUTTING_DOWN");
    assert_eq!(desk.held(), "old");
}
