//! The canvas of a room or session, from the terminal.

use serde_json::{Value, json};

use crate::cli_server::ServerForCli;

fn opened(house: &ServerForCli, args: &[&str]) -> Value {
    let args: Vec<_> = ["canvas", "open", "team"]
        .iter()
        .chain(args)
        .copied()
        .collect();
    house.json(&args)["content"].clone()
}

#[test]
fn every_kind_of_document_is_opened_by_what_it_shows() {
    let house = ServerForCli::open();
    let text = house.file("plan.md", "# Plan\n\n1. begin\n");
    let data = house.file("data.json", "[1, 2]");
    let picture = house.file("p.png", "x");
    let url = "https://example.org/a";
    for (args, expected) in [
        (&["url", url][..], json!({"type": "url", "url": url})),
        (&["browser", url], json!({"type": "browser", "url": url})),
        (
            &["markdown", &text, "--source-path", &text],
            json!({"type": "markdown", "content": "# Plan\n\n1. begin\n", "sourcePath": text}),
        ),
        (
            &["file", &text, "--language", "markdown", "--read-only"],
            json!({"type": "file", "sourcePath": text, "language": "markdown", "readOnly": true}),
        ),
        (
            &["diff", &text, "--media-kind", "text"],
            json!({"type": "diff", "sourcePath": text, "mediaKind": "text"}),
        ),
        (&["json", &data], json!({"type": "json", "data": [1, 2]})),
        (
            &["widget", "{\"a\": 1}"],
            json!({"type": "widget", "definition": {"a": 1}}),
        ),
        (
            &["image", &picture, "--alt", "a dot"],
            json!({"type": "image", "src": picture, "alt": "a dot"}),
        ),
        (&["pdf", url], json!({"type": "pdf", "src": url})),
        (&["model3d", url], json!({"type": "model3d", "src": url})),
        (&["audio", url], json!({"type": "audio", "src": url})),
        (&["video", url], json!({"type": "video", "src": url})),
        (
            &["csv", "data:,a"],
            json!({"type": "csv", "src": "data:,a"}),
        ),
        (
            &["mcp_app", "ui://clock", "--server", "time"],
            json!({"type": "mcp_app", "serverName": "time", "uri": "ui://clock"}),
        ),
    ] {
        let content = opened(&house, &[args, &["--title", "T"]].concat());
        let members = expected.as_object().unwrap().iter();
        for (member, value) in members {
            assert_eq!(&content[member], value, "{args:?}");
        }
        assert_eq!(content["title"], "T");
    }
}

#[test]
fn content_comes_whole_as_json_from_a_file_or_a_pipe() {
    let house = ServerForCli::open();
    let content = r##"{"type":"markdown","content":"# Hi","title":"Hi"}"##;
    let file = house.file("content.json", content);
    let expected: Value = serde_json::from_str(content).unwrap();
    for source in [content, &file] {
        let shown = opened(&house, &["--content", source]);
        assert_eq!(shown["content"], expected["content"]);
        assert_eq!(shown["title"], expected["title"]);
    }
    let args = ["canvas", "open", "team", "--content", "-", "--json"];
    let piped = house.run_with(content.as_bytes(), &args);
    assert_eq!(piped.code, 0, "{piped:?}");
    let piped = house.run_with(
        b"# Piped\n",
        &["canvas", "open", "team", "markdown", "-", "--json"],
    );
    let piped: Value = serde_json::from_str(&piped.stdout).unwrap();
    assert_eq!(piped["content"]["content"], "# Piped\n");
    // A relative path is one of the folder the command runs in.
    let mut command = house.command(&["canvas", "open", "team", "file", "content.json", "--json"]);
    let output = command.current_dir(house.folder()).output().unwrap();
    let relative: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(relative["content"]["sourcePath"], file.as_str());
}

#[test]
fn what_cannot_be_shown_is_refused_before_it_is_sent() {
    let house = ServerForCli::open();
    for args in [
        &["url"][..],
        &[],
        &["poster", "x"],
        &["url", "https://example.org", "--alt", "x"],
        &["mcp_app", "ui://x"],
        &["markdown", "/nowhere/plan.md"],
        &["json", "{"],
        &["url", "https://example.org", "--content", "{}"],
    ] {
        let outcome = house.run(&[&["canvas", "open", "team"], args].concat());
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{args:?}");
    }
    assert_eq!(house.done(&["canvas", "list", "team", "-q"]), "");
    assert_eq!(
        house.refused(&["canvas", "open", "team", "url", "ftp://x"]),
        "VALIDATION_FAILED"
    );
}

#[test]
fn a_document_is_pinned_moved_replaced_and_closed_by_its_title() {
    let house = ServerForCli::open();
    for title in ["One", "Two"] {
        let content = format!("{{\"type\":\"json\",\"data\":1,\"title\":\"{title}\"}}");
        house.done(&["canvas", "open", "team", "--content", &content]);
    }
    let titles = || {
        let canvas = house.json(&["canvas", "list", "team"]);
        let documents = canvas["documents"].as_array().unwrap().iter();
        json!(
            documents
                .map(|document| &document["title"])
                .collect::<Vec<_>>()
        )
    };
    assert_eq!(titles(), json!(["Two", "One"]));
    house.done(&["canvas", "activate", "team", "One"]);
    assert_eq!(titles(), json!(["One", "Two"]));

    assert_eq!(
        house.json(&["canvas", "pin", "team", "two"])["pinned"],
        true
    );
    let shown = house.done(&["canvas", "list", "team"]);
    assert!(shown.contains("Two") && shown.contains("yes"), "{shown}");
    assert_eq!(
        house.json(&["canvas", "unpin", "team", "Two"])["pinned"],
        false
    );

    let shown = house.done(&["canvas", "show", "team", "Two"]);
    let tag = shown.lines().find_map(|line| line.strip_prefix("ETag"));
    let tag = tag.unwrap().trim();
    let two = [r#"{"more": true}"#, "--title", "Two", "--if-match", tag];
    let replace = [&["canvas", "replace", "team", "Two", "json"], &two[..]].concat();
    let replaced = house.json(&replace);
    assert_eq!(replaced["content"]["data"], json!({"more": true}));
    assert_eq!(house.refused(&replace), "PRECONDITION_FAILED");
    let shown = house.done(&["canvas", "show", "team", "Two"]);
    assert!(shown.contains("\"more\": true"), "{shown}");

    let stale = ["canvas", "close", "team", "Two", "--if-match", tag];
    assert_eq!(house.refused(&stale), "PRECONDITION_FAILED");
    assert_eq!(
        house.done(&["canvas", "close", "team", "Two"]),
        "Two is closed.\n"
    );
    assert_eq!(titles(), json!(["One"]));
    assert_eq!(
        house.refused(&["canvas", "show", "team", "Two"]),
        "CANVAS_DOCUMENT_NOT_FOUND"
    );
}

#[test]
fn a_lock_keeps_others_out_until_it_is_let_go() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let token = house.run(&["tokens", "mint", "ada", "--label", "x"]).stdout;
    house.done(&["canvas", "open", "team", "json", "[]", "--title", "Plan"]);
    let lock = house.json(&["canvas", "lock", "team", "Plan"]);
    assert_eq!(lock["editingBy"], house.json(&["authors", "me"])["id"]);
    let pin = || house.run_as(token.trim(), &["canvas", "pin", "team", "Plan"]);
    let kept_out = pin();
    assert_eq!((kept_out.code, &*kept_out.stdout), (1, ""));
    assert!(
        kept_out.stderr.contains("CANVAS_BEING_EDITED"),
        "{kept_out:?}"
    );
    let free = house.json(&["canvas", "unlock", "team", "Plan"]);
    assert_eq!(free, json!({"editingBy": "", "expiresAt": null}));
    assert_eq!(pin().code, 0);

    let thread = house.json(&["canvas", "discuss", "team", "Plan"]);
    assert_eq!(thread["created"], true);
    let again = house.json(&["canvas", "discuss", "team", "Plan"]);
    assert_eq!(again["threadRootEntryId"], thread["threadRootEntryId"]);
    assert_eq!(again["created"], false);
}

#[test]
fn a_session_has_the_same_verbs_for_its_own_canvas() {
    let house = ServerForCli::open();
    let agent = house.json(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let ada = agent["id"].as_str().unwrap();
    let session = house.json(&["sessions", "open", "--agent", ada])["id"].clone();
    let session = session.as_str().unwrap();
    let canvas = |verb: &str, rest: &[&str]| {
        house.json(&[&["sessions", "canvas", verb, session], rest].concat())
    };
    let file = house.file("plan.md", "# Plan\n");
    let opened = canvas("open", &["file", &file, "--title", "Plan"]);
    assert_eq!(opened["scope"], format!("session:{session}"));
    canvas("open", &["json", "[1]", "--title", "Data"]);
    let titles = || {
        let documents = canvas("list", &[])["documents"].clone();
        let titles = documents.as_array().unwrap().iter();
        json!(titles.map(|one| one["title"].clone()).collect::<Vec<_>>())
    };
    assert_eq!(titles(), json!(["Data", "Plan"]));
    canvas("activate", &["plan"]);
    assert_eq!(titles(), json!(["Plan", "Data"]));
    assert_eq!(canvas("pin", &["Plan"])["pinned"], true);
    assert_eq!(canvas("unpin", &["Plan"])["pinned"], false);
    let me = house.json(&["authors", "me"])["id"].clone();
    assert_eq!(canvas("lock", &["Plan"])["editingBy"], me);
    assert_eq!(canvas("unlock", &["Plan"])["editingBy"], "");
    assert_eq!(
        canvas("replace", &["Data", "json", "[2]", "--title", "Data"])["content"]["data"],
        json!([2])
    );
    assert_eq!(canvas("reload", &["Plan"])["content"], "# Plan\n");
    assert_eq!(canvas("show", &["Plan"])["id"], opened["id"]);
    house.done(&["sessions", "canvas", "close", session, "Data"]);
    assert_eq!(titles(), json!(["Plan"]));
    let nowhere = "01980000-0000-7000-8000-000000000000";
    let refused = house.refused(&["sessions", "canvas", "list", nowhere]);
    assert_eq!(refused, "SESSION_NOT_FOUND");
    assert_eq!(house.done(&["canvas", "list", "team", "-q"]), "");
}
