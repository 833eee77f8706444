//! The documentation pages, as a browser is answered.

use std::sync::LazyLock;

use axum::http::Request;
use serde_json::json;
use tower::ServiceExt;

use super::*;

const ERRORS: &[ErrorDoc] = &[
    ErrorDoc {
        code: "ROOM_NOT_FOUND",
        status: 404,
        title: "Room not found",
        meaning: "The room does not exist, or you may not see it.",
        advice: "List the rooms with `GET /api/rooms`.",
    },
    ErrorDoc {
        code: "ODD_ONE",
        status: 400,
        title: "<b>Odd</b>",
        meaning: "a & b",
        advice: "\"quoted\"",
    },
];

const FAULTS: &[ErrorDoc] = &[ErrorDoc {
    code: "IT_RAINED",
    status: 200,
    title: "Rain",
    meaning: "It rained.",
    advice: "Wait.",
}];

fn interface() -> &'static Value {
    static INTERFACE: LazyLock<Value> = LazyLock::new(made);
    &INTERFACE
}

fn made() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "guildhall", "version": "0.1.0", "description": "A house.\n\nWith `rooms`."},
        "tags": [{"name": "rooms", "description": "Where people talk."}],
        "paths": {
            "/api/rooms/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}}],
                "get": {
                    "tags": ["rooms"],
                    "operationId": "room",
                    "summary": "One room",
                    "description": "As <script>alert(1)</script> sees it.",
                    "x-gate": "caller",
                    "x-codes": ["ROOM_NOT_FOUND"],
                    "parameters": [{
                        "name": "limit", "in": "query", "description": "How many.",
                        "schema": {"type": "integer", "minimum": 1, "maximum": 200}
                    }],
                    "responses": {
                        "200": {"description": "The room.", "content": {"application/json": {
                            "schema": {"$ref": "#/components/schemas/Room"},
                            "example": {"title": "</code><img>"}
                        }}},
                        "default": {"description": "A refusal."}
                    }
                }
            },
            "/api/odd": {"post": {
                "requestBody": {"content": {"application/json": {"schema": {
                    "type": "object",
                    "required": ["labels"],
                    "properties": {
                        "labels": {"type": "array", "items": {"oneOf": [
                            {"type": ["string", "null"], "format": "uuid"},
                            {"enum": ["a", "b"]}
                        ]}},
                        "extra": {"type": "object", "additionalProperties": {"type": "boolean"}}
                    }
                }}}},
                "responses": {}
            }}
        },
        "components": {"schemas": {"Room": {
            "type": "object",
            "description": "A room.",
            "required": ["title"],
            "properties": {
                "title": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Its name."},
                "parent": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Room"}]}
            }
        }}}
    })
}

async fn get_page(path: &str) -> (Response<()>, String) {
    let docs = Arc::new(Docs::new(interface, ERRORS.to_vec(), FAULTS));
    let request = Request::builder().uri(path).body(Body::empty()).unwrap();
    let router: Router = routes(docs);
    let (head, body) = router.oneshot(request).await.unwrap().into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let text = String::from_utf8(body.to_vec()).unwrap();
    (Response::from_parts(head, ()), text)
}

#[tokio::test]
async fn an_operation_is_told_whole() {
    let (head, page) = get_page("/docs").await;
    assert_eq!(head.status(), 200);
    for told in [
        "<a href=\"#op-room\">One room</a>",
        "<span class=\"method\">GET</span> <code>/api/rooms/{id}</code>",
        ">caller</span>",
        "<code>limit</code> <small>optional</small></td><td>query</td><td>integer <small>1 to 200</small></td><td>How many.</td>",
        "<code>id</code></td><td>path</td><td>text <small>not empty</small></td>",
        "<dt>200</dt><dd><p>The room.</p><p>application/json: <a href=\"#shape-Room\">Room</a></p>",
        "<dt>default</dt><dd><p>A refusal.</p>",
        "<a href=\"/docs/errors/ROOM_NOT_FOUND\"><code>ROOM_NOT_FOUND</code></a>",
        "<p>With <code>rooms</code>.</p>",
        "<p>Where people talk.</p>",
    ] {
        assert!(page.contains(told), "{told}\nis missing in\n{page}");
    }
}

#[tokio::test]
async fn a_shape_is_told_in_words() {
    let (_, page) = get_page("/docs").await;
    for told in [
        "<article id=\"shape-Room\"><h3>Room</h3><p>A room.</p>",
        "<code>title</code></td><td>text <small>1 to 200 characters</small></td><td>Its name.</td>",
        "<code>parent</code> <small>optional</small></td><td>null or <a href=\"#shape-Room\">Room</a></td>",
        "<td>list of text <small>uuid</small> or null or <code>a</code>, <code>b</code></td>",
        "<td>map of boolean</td>",
    ] {
        assert!(page.contains(told), "{told}\nis missing in\n{page}");
    }
}

#[tokio::test]
async fn nothing_of_the_document_becomes_markup() {
    let (_, page) = get_page("/docs").await;
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<b>"));
    assert!(page.contains("As &lt;script&gt;alert(1)&lt;/script&gt; sees it."));
}

#[tokio::test]
async fn the_pages_ask_nobody_else() {
    for path in ["/docs", "/docs/errors/ODD_ONE", "/docs/assets/docs.css"] {
        let (head, text) = get_page(path).await;
        let policy = head.headers()["content-security-policy"].to_str().unwrap();
        assert!(
            policy.starts_with("default-src 'none'; style-src 'self'"),
            "{policy}"
        );
        assert!(
            !text.contains("http://") && !text.contains("https://"),
            "{path}"
        );
        assert!(!text.contains("style=") && !text.contains("url("), "{path}");
    }
}

#[tokio::test]
async fn each_code_has_its_page() {
    let (head, page) = get_page("/docs/errors/ROOM_NOT_FOUND").await;
    assert_eq!(head.status(), 200);
    assert_eq!(head.headers()["content-type"], "text/html; charset=utf-8");
    for told in [
        "<h1>Room not found</h1>",
        "404",
        "The room does not exist, or you may not see it.",
        "<p>List the rooms with <code>GET /api/rooms</code>.</p>",
    ] {
        assert!(page.contains(told), "{told}");
    }
    let (head, fault) = get_page("/docs/errors/IT_RAINED").await;
    assert_eq!(head.status(), 200);
    assert!(fault.contains("<h1>Rain</h1>"));
    let (_, odd) = get_page("/docs/errors/ODD_ONE").await;
    assert!(odd.contains("<h1>&lt;b&gt;Odd&lt;/b&gt;</h1>") && odd.contains("a &amp; b"));
}

#[tokio::test]
async fn a_code_that_does_not_exist_has_none() {
    for code in ["NO_SUCH_CODE", "room_not_found", "%3Cscript%3E"] {
        let (head, body) = get_page(&format!("/docs/errors/{code}")).await;
        assert_eq!(head.status(), 404);
        assert!(body.contains("\"NOT_FOUND\"") && !body.contains("script"));
    }
}

#[test]
fn a_shape_without_end_ends() {
    let deep = (0..100).fold(
        json!({"type": "string"}),
        |inner, _| json!({"type": "array", "items": inner}),
    );
    let mut html = Html::default();
    schemas::kind(&mut html, &deep);
    assert_eq!(html.as_str(), format!("{}…", "list of ".repeat(6)));
}
