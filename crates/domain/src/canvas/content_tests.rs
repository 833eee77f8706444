//! What each kind of content may hold, what it is called, and when it is the same again.

use serde_json::json;

use super::*;

fn of(json: Value) -> Content {
    let mut json = json;
    let defaults = match json["type"].as_str().unwrap() {
        "markdown" => json!({"sourcePath": ""}),
        "file" => json!({"language": "", "readOnly": false}),
        "diff" => json!({"mediaKind": "text"}),
        "image" => json!({"alt": ""}),
        _ => json!({}),
    };
    let given = json.as_object_mut().unwrap();
    given.entry("title").or_insert(json!(""));
    for (name, value) in defaults.as_object().unwrap() {
        given.entry(name.clone()).or_insert(value.clone());
    }
    serde_json::from_value(json).unwrap()
}

#[test]
fn each_kind_has_its_title_key_and_file() {
    let long = format!("/{}", "x".repeat(300));
    let cut = "x".repeat(200);
    for (content, title, key, path) in [
        (
            json!({"type": "url", "url": "https://Docs.RS/serde"}),
            "docs.rs",
            "url:https://Docs.RS/serde",
            "",
        ),
        (
            json!({"type": "url", "url": "HTTP://a@evil.example:8080?q"}),
            "evil.example",
            "url:HTTP://a@evil.example:8080?q",
            "",
        ),
        (
            json!({"type": "url", "url": "http://[::1]:80/x"}),
            "[::1]",
            "url:http://[::1]:80/x",
            "",
        ),
        (
            json!({"type": "browser", "url": "localhost:5173/a"}),
            "localhost",
            "browser:localhost:5173/a",
            "",
        ),
        (
            json!({"type": "browser", "url": "/api/workbench/serve/t/index.html"}),
            "index.html",
            "browser:/api/workbench/serve/t/index.html",
            "",
        ),
        (
            json!({"type": "browser", "url": "/"}),
            "Browser",
            "browser:/",
            "",
        ),
        (
            json!({"type": "markdown", "content": "# x"}),
            "Document",
            "",
            "",
        ),
        (
            json!({"type": "markdown", "content": "", "sourcePath": "/w/a.md"}),
            "a.md",
            "markdown:/w/a.md",
            "/w/a.md",
        ),
        (
            json!({"type": "file", "sourcePath": "/w/main.rs"}),
            "main.rs",
            "file:/w/main.rs",
            "/w/main.rs",
        ),
        (
            json!({"type": "file", "sourcePath": long}),
            &cut,
            &format!("file:{long}"),
            &long,
        ),
        (
            json!({"type": "diff", "sourcePath": "/w/main.rs"}),
            "main.rs",
            "diff:/w/main.rs",
            "/w/main.rs",
        ),
        (json!({"type": "json", "data": null}), "JSON data", "", ""),
        (
            json!({"type": "widget", "definition": {}}),
            "Widget",
            "",
            "",
        ),
        (
            json!({"type": "image", "src": "/w/a.png"}),
            "a.png",
            "image:/w/a.png",
            "/w/a.png",
        ),
        (
            json!({"type": "image", "src": "https://x.example/p/a.png?s=1"}),
            "a.png",
            "image:https://x.example/p/a.png?s=1",
            "",
        ),
        (
            json!({"type": "image", "src": "https://x.example"}),
            "Image",
            "image:https://x.example",
            "",
        ),
        (
            json!({"type": "image", "src": "data:image/png;base64,AA/BB"}),
            "Image",
            "image:data:image/png;base64,AA/BB",
            "",
        ),
        (
            json!({"type": "pdf", "src": "/w/a.pdf"}),
            "PDF",
            "pdf:/w/a.pdf",
            "/w/a.pdf",
        ),
        (
            json!({"type": "model3d", "src": "/w/a.glb"}),
            "3D model",
            "model3d:/w/a.glb",
            "/w/a.glb",
        ),
        (
            json!({"type": "audio", "src": "/w/a.ogg"}),
            "Audio",
            "audio:/w/a.ogg",
            "/w/a.ogg",
        ),
        (
            json!({"type": "video", "src": "/w/a.mp4"}),
            "Video",
            "video:/w/a.mp4",
            "/w/a.mp4",
        ),
        (
            json!({"type": "csv", "src": "/w/a.csv"}),
            "CSV",
            "csv:/w/a.csv",
            "/w/a.csv",
        ),
        (
            json!({"type": "mcp_app", "serverName": "s", "uri": "ui://x"}),
            "App",
            "mcp_app:s\nui://x",
            "",
        ),
        (
            json!({"type": "pdf", "src": "/w/a.pdf", "title": "Mine"}),
            "Mine",
            "pdf:/w/a.pdf",
            "/w/a.pdf",
        ),
    ] {
        let read = of(content.clone());
        assert_eq!(read.check(), Ok(()), "{content}");
        assert_eq!(read.key().unwrap_or_default(), key, "{content}");
        assert_eq!(read.path().unwrap_or_default(), path, "{content}");
        assert_eq!(read.content_type().as_str(), content["type"], "{content}");
        let entitled = read.with_default_title();
        assert_eq!(entitled.title(), title, "{content}");
        assert_eq!(entitled.clone().with_default_title(), entitled, "{content}");
    }
}

#[test]
fn what_a_kind_may_not_hold_is_told_by_field() {
    let wide = format!("https://x.example/{}", "x".repeat(8_192));
    for (content, field) in [
        (json!({"type": "url", "url": ""}), "content.url"),
        (
            json!({"type": "url", "url": "javascript:alert(1)"}),
            "content.url",
        ),
        (
            json!({"type": "url", "url": "ftp://x.example"}),
            "content.url",
        ),
        (json!({"type": "url", "url": "https://"}), "content.url"),
        (json!({"type": "url", "url": "https:///x"}), "content.url"),
        (
            json!({"type": "url", "url": "https://x.example/a b"}),
            "content.url",
        ),
        (json!({"type": "url", "url": "localhost:1"}), "content.url"),
        (json!({"type": "url", "url": wide}), "content.url"),
        (
            json!({"type": "browser", "url": "localhosts"}),
            "content.url",
        ),
        (
            json!({"type": "browser", "url": "//x.example"}),
            "content.url",
        ),
        (
            json!({"type": "browser", "url": "/\\x.example"}),
            "content.url",
        ),
        (
            json!({"type": "browser", "url": "file:///etc/passwd"}),
            "content.url",
        ),
        (
            json!({"type": "markdown", "content": "", "sourcePath": "a.md"}),
            "content.sourcePath",
        ),
        (
            json!({"type": "file", "sourcePath": ""}),
            "content.sourcePath",
        ),
        (
            json!({"type": "file", "sourcePath": "a\u{0}"}),
            "content.sourcePath",
        ),
        (
            json!({"type": "file", "sourcePath": "/a", "language": "x".repeat(65)}),
            "content.language",
        ),
        (
            json!({"type": "diff", "sourcePath": "../a"}),
            "content.sourcePath",
        ),
        (
            json!({"type": "image", "src": "http://x.example/a.png"}),
            "content.src",
        ),
        (
            json!({"type": "image", "src": "/a", "alt": "x".repeat(1_001)}),
            "content.alt",
        ),
        (
            json!({"type": "audio", "src": "data:nothing"}),
            "content.src",
        ),
        (json!({"type": "pdf", "src": ""}), "content.src"),
        (
            json!({"type": "mcp_app", "serverName": "", "uri": "x"}),
            "content.serverName",
        ),
        (
            json!({"type": "mcp_app", "serverName": "a\nb", "uri": "x"}),
            "content.serverName",
        ),
        (
            json!({"type": "mcp_app", "serverName": "a", "uri": ""}),
            "content.uri",
        ),
        (
            json!({"type": "json", "data": 1, "title": "x".repeat(201)}),
            "content.title",
        ),
        (
            json!({"type": "json", "data": 1, "title": "a\nb"}),
            "content.title",
        ),
    ] {
        let Err(Refusal::Validation(invalid)) = of(content.clone()).check() else {
            panic!("{content} must be refused")
        };
        let fields: Vec<&String> = invalid.field_errors.keys().collect();
        assert_eq!(fields, [field], "{content}");
    }
}

#[test]
fn a_file_found_elsewhere_is_shown_from_there() {
    for kind in ["file", "diff"] {
        let content = of(json!({"type": kind, "sourcePath": "/a"})).at("/b".to_owned());
        assert_eq!(content.path(), Some("/b"));
    }
    let content = of(json!({"type": "csv", "src": "/a"})).at("/b".to_owned());
    assert_eq!(content.path(), Some("/b"));
}
