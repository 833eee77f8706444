//! Tables of header fields on their way.

use super::*;

const WAY: ProxyRoute<'static> = ProxyRoute {
    origin: "http://localhost:4748",
    port: 5173,
    own_name: "guildhall-01",
};

fn fields(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_static(value));
    }
    headers
}

fn lines(headers: &HeaderMap) -> Vec<String> {
    let mut lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    lines.sort();
    lines
}

/// What becomes of one field on the way to the dev server.
fn sent(name: &'static str, value: &'static str) -> Vec<String> {
    let mut headers = fields(&[(name, value)]);
    to_dev_server(&mut headers, &WAY);
    headers.remove(VIA);
    headers.remove(HOST);
    lines(&headers)
}

/// What becomes of one field on the way back.
fn told(name: &'static str, value: &'static str) -> Vec<String> {
    let mut headers = fields(&[(name, value)]);
    to_browser(&mut headers, WAY.port);
    lines(&headers)
}

#[test]
fn a_request_loses_what_is_ours_and_what_is_of_this_connection() {
    let mut headers = fields(&[
        ("host", "localhost:4748"),
        ("connection", "keep-alive, X-Hop"),
        ("x-hop", "1"),
        ("keep-alive", "timeout=5"),
        ("proxy-authorization", "Basic eA=="),
        ("te", "trailers"),
        ("trailer", "x"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("expect", "100-continue"),
        ("authorization", "Bearer ghk_x"),
        ("x-service-agent", "gha_x"),
        ("x-service-approval", "gap_x"),
        ("x-servicing", "kept"),
        ("accept", "*/*"),
        ("via", "1.0 fred"),
    ]);
    to_dev_server(&mut headers, &WAY);
    let expected = [
        "accept: */*",
        "host: localhost:5173",
        "via: 1.0 fred",
        "via: 1.1 guildhall-01",
        "x-servicing: kept",
    ];
    assert_eq!(lines(&headers), expected);
}

#[test]
fn no_cookie_of_ours_reaches_a_dev_server() {
    for (line, kept) in [
        ("a=1; guildhall_4747=s; b=2", Some("a=1; b=2")),
        ("guildhall_preview_4748=t", None),
        ("a=1;guildhall_preview_4748=t;  ;b", Some("a=1; b")),
        ("Guildhall_x=1; GUILDHALL_y=2", None),
        (
            "__Host-guildhall=s; __Host-theirs=1",
            Some("__Host-theirs=1"),
        ),
        ("gh_flow=f; gh_flower=1", Some("gh_flower=1")),
        ("=guildhall_4747=s; guildhall_4747", None),
        (" guildhall_4747 = s", None),
        ("x=guildhall_4747", Some("x=guildhall_4747")),
        ("", None),
    ] {
        let expected: Vec<_> = kept.iter().map(|kept| format!("cookie: {kept}")).collect();
        assert_eq!(sent("cookie", line), expected, "{line}");
    }
}

#[test]
fn the_previews_own_origin_becomes_the_dev_servers() {
    for (origin, expected) in [
        ("http://localhost:4748", "http://localhost:5173"),
        ("http://LOCALHOST:4748", "http://localhost:5173"),
        ("http://localhost:4749", "http://localhost:4749"),
        ("https://localhost:4748", "https://localhost:4748"),
        ("null", "null"),
    ] {
        assert_eq!(sent("origin", origin), [format!("origin: {expected}")]);
    }
    for (from, expected) in [
        (
            "http://localhost:4748/a?b=1",
            Some("http://localhost:5173/a?b=1"),
        ),
        ("http://localhost:4748", Some("http://localhost:5173")),
        ("http://localhost:47480/a", Some("http://localhost:47480/a")),
        ("http://localhost:4748/?__guildhall_preview=t", None),
        ("http://localhost:4747/?__guildhall_preview=t", None),
        ("https://example.org/", Some("https://example.org/")),
    ] {
        let expected: Vec<_> = expected.iter().map(|to| format!("referer: {to}")).collect();
        assert_eq!(sent("referer", from), expected, "{from}");
    }
}

#[test]
fn a_request_that_came_through_here_is_known() {
    for (via, expected) in [
        ("1.1 guildhall-01", true),
        ("1.0 fred, 1.1 GUILDHALL-01 (comment)", true),
        ("1.1 fred,1.1   guildhall-01", true),
        ("1.1 guildhall-02", false),
        ("guildhall-01", false),
        ("1.1 fred (1.1 guildhall-01)", false),
        ("", false),
    ] {
        let headers = fields(&[("via", "1.1 other"), ("via", via)]);
        assert_eq!(came_through(&headers, WAY.own_name), expected, "{via}");
    }
}

#[test]
fn an_answer_may_be_framed_and_keeps_the_rest_of_its_policy() {
    assert!(told("x-frame-options", "DENY").is_empty());
    for (policy, expected) in [
        ("frame-ancestors 'none'", None),
        (
            "default-src 'self'; Frame-Ancestors 'none'; img-src *",
            Some("default-src 'self'; img-src *"),
        ),
        (
            "frame-ancestors 'none', default-src 'self'",
            Some("default-src 'self'"),
        ),
        ("default-src 'self'", Some("default-src 'self'")),
        ("frame-ancestors-x y", Some("frame-ancestors-x y")),
    ] {
        for name in [
            "content-security-policy",
            "content-security-policy-report-only",
        ] {
            let expected: Vec<_> = expected.iter().map(|it| format!("{name}: {it}")).collect();
            assert_eq!(told(name, policy), expected, "{policy}");
        }
    }
}

#[test]
fn a_place_of_the_dev_server_is_one_of_the_preview() {
    for (place, expected) in [
        ("http://localhost:5173/a?b#c", "/a?b#c"),
        ("http://127.0.0.1:5173", "/"),
        ("HTTP://LocalHost:5173?x", "/?x"),
        ("http://[::1]:5173/a", "/a"),
        ("//localhost:5173/a", "/a"),
        ("http://localhost:5173//evil.example/", "/.//evil.example/"),
        ("http://localhost:5174/a", "http://localhost:5174/a"),
        ("http://localhost/a", "http://localhost/a"),
        ("https://localhost:5173/a", "https://localhost:5173/a"),
        (
            "http://localhost:5173@evil.example/",
            "http://localhost:5173@evil.example/",
        ),
        ("http://evil.example:5173/", "http://evil.example:5173/"),
        ("/a", "/a"),
        ("a//localhost:5173/", "a//localhost:5173/"),
    ] {
        assert_eq!(told("location", place), [format!("location: {expected}")]);
    }
    let mut usual = fields(&[("location", "http://localhost/a")]);
    to_browser(&mut usual, 80);
    assert_eq!(lines(&usual), ["location: /a"]);
}

#[test]
fn a_dev_server_sets_its_own_cookies_alone_and_for_this_host() {
    for (line, expected) in [
        (
            "a=1; Path=/; Domain=localhost; HttpOnly",
            Some("a=1; Path=/; HttpOnly"),
        ),
        ("a=1;domain=.example.org", Some("a=1")),
        ("a=domain=x", Some("a=domain=x")),
        ("guildhall_4747=x; Path=/", None),
        ("=guildhall_4747=x", None),
        ("GUILDHALL_PREVIEW_4748=x", None),
        ("gh_flow=x", None),
    ] {
        let expected: Vec<_> = expected
            .iter()
            .map(|it| format!("set-cookie: {it}"))
            .collect();
        assert_eq!(told("set-cookie", line), expected, "{line}");
    }
    let mut two = fields(&[("set-cookie", "a=1"), ("set-cookie", "b=2")]);
    to_browser(&mut two, 1);
    assert_eq!(lines(&two), ["set-cookie: a=1", "set-cookie: b=2"]);
}

#[test]
fn a_dev_server_clears_what_is_its_own_and_no_cookies_of_the_host() {
    for (sent, expected) in [
        (&["\"cookies\""][..], None),
        (&["\"cache\", \"cookies\""], Some("\"cache\"")),
        (&["\"cookies\",\"storage\""], Some("\"storage\"")),
        (
            &["\"*\""],
            Some("\"cache\", \"storage\", \"executionContexts\""),
        ),
        (&["cookies"], None),
        (&["\"Cookies\", \"something-new\""], None),
        (&["\"cookies\"", "\"cache\""], Some("\"cache\"")),
    ] {
        let mut headers = HeaderMap::new();
        for line in sent {
            headers.append("clear-site-data", HeaderValue::from_static(line));
        }
        to_browser(&mut headers, 5173);
        let left = headers
            .get("clear-site-data")
            .map(|left| left.to_str().unwrap());
        assert_eq!(left, expected, "{sent:?}");
    }
}

#[test]
fn a_request_that_came_through_any_preview_is_known() {
    for (via, expected) in [
        ("1.1 guildhall-7", true),
        ("1.0 fred, 1.1 GUILDHALL-x (a comment)", true),
        ("HTTP/1.1 guildhall-", true),
        ("1.1 guildhall", false),
        ("1.1 my-guildhall-7", false),
        ("guildhall-7", false),
        ("", false),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(VIA, HeaderValue::from_static(via));
        assert_eq!(came_through_any(&headers), expected, "{via}");
    }
    assert!(!came_through_any(&HeaderMap::new()));
}
