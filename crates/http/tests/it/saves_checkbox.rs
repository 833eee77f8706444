//! Checkboxes of Markdown files. Source: contract 6.6, "checkbox".

use guildhall_testkit::{TestCaller, TestResponse};
use serde_json::json;
use tokio::task::JoinSet;

use crate::saves::{FolderWithFile, conflict, hash};

const CHECKBOX: &str = "/api/files/checkbox";

async fn check(
    by: &TestCaller,
    folder: &str,
    line: u64,
    expected: &str,
    checked: bool,
) -> TestResponse {
    let ask = json!({"cwd": folder, "path": "a.md", "line": line, "expectedLine": expected,
        "checked": checked});
    by.post(CHECKBOX, ask).await
}

#[tokio::test]
async fn a_checkbox_is_set_and_every_other_byte_stays() {
    let desk = FolderWithFile::open("\u{feff}# Plan\r\n- [ ] water ü\r\n- [x] feed").await;
    let (owner, mut events) = (desk.t.owner(), desk.t.events());
    let set =
        async |line, expected, checked| check(&owner, &desk.folder, line, expected, checked).await;
    let saved = set(2, "- [ ] water ü", true).await.ok(200);
    let now = "\u{feff}# Plan\r\n- [x] water ü\r\n- [x] feed";
    assert_eq!(desk.held(), now);
    let expected =
        json!({"ok": true, "hash": hash(now), "effect": "changed", "identity": saved["identity"]});
    assert_eq!(saved, expected);
    assert_eq!(events.next("file_saved")["via"], "checkbox");
    // The same once more is done already; as asked already is nothing to do.
    assert_eq!(
        set(2, "- [ ] water ü", true).await.ok(200)["effect"],
        "no_op"
    );
    assert_eq!(set(3, "- [x] feed", true).await.ok(200)["effect"], "no_op");
    let moved = set(3, "- [ ] water ü", true).await;
    assert_eq!(conflict(&moved), [json!(hash(now)), json!(now)]);
    conflict(&set(9, "- [x] feed", false).await);
    set(1, "\u{feff}# Plan", true)
        .await
        .refused(400, "NOT_A_CHECKBOX");
    set(0, "- [x] feed", true)
        .await
        .refused(400, "VALIDATION_FAILED");
    let ask = json!({"cwd": desk.folder, "path": "none.md", "line": 1, "expectedLine": "", "checked": true});
    owner.post(CHECKBOX, ask).await.refused(404, "NOT_FOUND");
    assert_eq!(
        (desk.held(), desk.names()),
        (now.to_owned(), vec!["a.md".to_owned()])
    );
    events.none();
}

#[tokio::test]
async fn checkboxes_and_saves_of_one_file_wait_for_each_other() {
    let lines: Vec<String> = (0..12).map(|n| format!("- [ ] task {n}")).collect();
    let desk = FolderWithFile::open(&lines.join("\n")).await;
    let mut racing = JoinSet::new();
    for (n, line) in lines.iter().enumerate() {
        let (owner, folder, line) = (desk.t.owner(), desk.folder.clone(), line.clone());
        racing.spawn(async move { check(&owner, &folder, n as u64 + 1, &line, true).await });
    }
    for answer in racing.join_all().await {
        assert_eq!(answer.ok(200)["effect"], "changed");
    }
    assert_eq!(
        desk.held(),
        lines.join("\n").replace("[ ]", "[x]"),
        "no one's is lost"
    );
}
