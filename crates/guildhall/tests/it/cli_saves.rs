//! Saving files, from the terminal.

use guildhall_domain::files::digest;
use serde_json::{Value, json};

use crate::cli_server::ServerForCli;

#[test]
fn a_file_is_given_what_comes_in_while_it_holds_what_is_expected() {
    let house = ServerForCli::open();
    let path = house.file("notes.md", "old");
    let folder = house.folder();
    let put = |input: &[u8], more: &[&str]| {
        let args = ["files", "put", "notes.md", "--cwd", folder, "--json"];
        house.run_with(input, &[&args, more].concat())
    };
    let saved = put("new\r\n\u{feff}😀".as_bytes(), &[]);
    assert_eq!(saved.code, 0, "{saved:?}");
    let held = std::fs::read(&path).unwrap();
    assert_eq!(held, "new\r\n\u{feff}😀".as_bytes());
    let saved: Value = serde_json::from_str(&saved.stdout).unwrap();
    assert_eq!(
        (&saved["effect"], &saved["hash"]),
        (&json!("changed"), &json!(digest(&held)))
    );

    let (stale, fresh) = (digest(b"old").to_string(), digest(&held).to_string());
    let refused = put(b"newer", &["--expect", &stale]);
    assert_eq!(refused.code, 1);
    let refused: Value = serde_json::from_str(&refused.stderr).unwrap();
    assert_eq!(
        (&refused["code"], &refused["currentHash"]),
        (&json!("CONFLICT"), &saved["hash"])
    );
    // One in 64 begins as options do.
    for identity in ["x", "-x"] {
        let other = put(b"newer", &["--expect-identity", identity]);
        assert!(other.stderr.contains("FILE_IDENTITY_CHANGED"), "{other:?}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), held);

    let content = house.file("content", "newest\n");
    let known = saved["identity"].as_str().unwrap();
    let args = [
        "files",
        "put",
        &path,
        &content,
        "--cwd",
        folder,
        "--expect",
        &fresh,
        "--expect-identity",
        known,
    ];
    let said = house.done(&args);
    assert!(said.contains("changed"), "{said}");
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "newest\n",
        "to its last byte"
    );
    assert_eq!(
        house.refused(&["files", "put", "none.md", &content, "--cwd", folder]),
        "NOT_FOUND"
    );
}

#[test]
fn a_checkbox_is_checked_and_cleared() {
    let house = ServerForCli::open();
    let path = house.file("todo.md", "# Plan\n- [ ] water\n");
    let check = ["files", "check", &path, "2", "--cwd", house.folder()];
    house.done(&[&check[..], &["- [ ] water"]].concat());
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "# Plan\n- [x] water\n"
    );
    house.done(&[&check[..], &["- [x] water", "--off"]].concat());
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "# Plan\n- [ ] water\n"
    );
    assert_eq!(
        house.refused(&[&check[..], &["- [x] other"]].concat()),
        "CONFLICT"
    );
}

#[test]
fn a_document_is_bound_anew_to_the_file_that_took_its_files_place() {
    let house = ServerForCli::open();
    let path = house.file("plan.md", "one");
    let opened = house.json(&["canvas", "open", "team", "file", &path, "--title", "Plan"]);
    let reload = ["canvas", "reload", "team", "Plan"];
    let same = house.json(&reload);
    assert_eq!(
        (&same["incarnation"], &same["content"]),
        (&opened["incarnation"], &json!("one"))
    );
    std::fs::rename(house.file("other", "two"), &path).unwrap();
    let other = house.json(&reload);
    assert_ne!(other["incarnation"], opened["incarnation"]);
    let said = house.done(&reload);
    assert!(said.contains("two"), "{said}");
}
