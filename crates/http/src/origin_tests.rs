//! Every Host and Origin that passes, and a few hundred that do not.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::*;

fn allowed() -> AllowedSources {
    AllowedSources {
        hosts: vec!["hall.example".to_owned(), "[fd00::7]".to_owned()],
        origins: vec!["https://tools.example:8443".to_owned()],
        ..AllowedSources::default()
    }
}

/// Every `Host` that names a server allowed to answer to `hall.example` and `[fd00::7]`.
fn hosts_that_pass() -> Vec<String> {
    let names = [
        "localhost",
        "LocalHost",
        "127.0.0.1",
        "[::1]",
        "hall.example",
        "HALL.Example",
        "[fd00::7]",
        "[FD00::7]",
    ];
    let ports = ["", ":1", ":80", ":4747", ":65535"];
    pairs(&names, &ports)
}

/// Hosts of rebinding attacks, other spellings of our addresses, and plain nonsense.
pub(crate) fn hosts_that_fail() -> Vec<String> {
    let foreign = [
        "evil.test",
        "localhost.evil.test",
        "evil.localhost",
        "127.evil.test",
        "127.0.0.1.evil.test",
        "127.0.0.1.nip.io",
        "a127.0.0.1",
        "1127.0.0.1",
        "127.0.0.11",
        "127.0.0.1x",
        "xlocalhost",
        "localhostx",
        "local-host",
        "local host",
        "localhos",
        "ocalhost",
        "localhost.",
        "localhost..",
        ".localhost",
        "localhost.localdomain",
        "localdomain",
        "ip6-localhost",
        "127.0.0.1.",
        "127.0.0.2",
        "127.1",
        "127.0.1",
        "127",
        "127.0.0.01",
        "127.00.0.1",
        "0127.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "0x7f.0.0.1",
        "0x7f.1",
        "0x7f000001",
        "0X7F000001",
        "7f000001",
        "2130706433",
        "4294967296",
        "0.0.0.0",
        "0",
        "00.0.0.0",
        "0.0.0",
        "[::]",
        "[0:0:0:0:0:0:0:0]",
        "[0:0:0:0:0:0:0:1]",
        "[::0001]",
        "[::01]",
        "[0::1]",
        "[::1%25lo]",
        "[::1%lo]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[::ffff:0:127.0.0.1]",
        "[fe80::1]",
        "[fd00::8]",
        "[fd00:0::7]",
        "[127.0.0.1]",
        "[localhost]",
        "[::1",
        "::1]",
        "::1",
        "[]",
        "[::1]]",
        "[[::1]]",
        "x[::1]",
        "[::1]x",
        "[::1].evil.test",
        "user@localhost",
        "localhost@evil.test",
        "user:pass@localhost",
        "evil.test#localhost",
        "evil.test/localhost",
        "localhost/",
        "localhost/evil.test",
        "localhost?",
        "localhost#",
        "localhost\\",
        "localhost,evil.test",
        "localhost, evil.test",
        "localhost;evil.test",
        "localhost evil.test",
        "localhost\tevil.test",
        "http://localhost",
        "//localhost",
        "hall.example.",
        "hall.example.evil.test",
        "xhall.example",
        "sub.hall.example",
        "example",
        "hallxexample",
        "hall%2eexample",
        "%6cocalhost",
        "local%00host",
        "127%2e0.0.1",
        "*",
        "*.example",
        "null",
        "_",
        "-",
        "\"localhost\"",
        "'localhost'",
        "(localhost)",
        "$localhost",
        "localhost~",
    ];
    let own_with_bad_port = [
        ":",
        ":0",
        ":00",
        ":080",
        ":65536",
        ":99999",
        ":655350",
        ":-1",
        ":+80",
        ":8o",
        ":80x",
        ":x",
        ": 80",
        ":80 ",
        " :80",
        "::80",
        ":80:80",
        ":0x50",
        ":80/",
        ":80?",
        ":80#",
        ":80@evil",
        ":80,81",
        ":*",
        ":8.0",
        ":%38",
        ":http",
        ":4747.",
        ":18446744073709551616",
        ".:80",
    ];
    let mut hosts = pairs(&foreign, &["", ":80", ":4747"]);
    hosts.extend(pairs(
        &["localhost", "127.0.0.1", "[::1]", "hall.example"],
        &own_with_bad_port,
    ));
    hosts.extend(["", " ", ":", ":80", "."].map(str::to_owned));
    hosts
}

fn pairs(names: &[&str], endings: &[&str]) -> Vec<String> {
    names
        .iter()
        .flat_map(|name| endings.iter().map(move |ending| format!("{name}{ending}")))
        .collect()
}

#[test]
fn only_the_listed_names_pass() {
    let (pass, fail) = (hosts_that_pass(), hosts_that_fail());
    assert!(pass.len() + fail.len() >= 300);
    for host in pass {
        assert!(host_allowed(&host, &allowed()), "{host:?}");
    }
    for host in fail {
        assert!(!host_allowed(&host, &allowed()), "{host:?}");
    }
}

#[test]
fn every_address_at_once_is_no_name_even_when_listed() {
    let allowed = AllowedSources {
        hosts: vec!["0.0.0.0".to_owned(), "[::]".to_owned()],
        ..AllowedSources::default()
    };
    assert!(!host_allowed("0.0.0.0:4747", &allowed));
    assert!(!host_allowed("[::]", &allowed));
}

#[test]
fn nothing_but_our_own_names_passes_without_a_list() {
    let none = AllowedSources::default();
    assert!(host_allowed("localhost:4747", &none));
    assert!(!host_allowed("hall.example", &none));
}

struct OriginRequest {
    host: &'static str,
    method: Method,
    path: &'static str,
    headers: HeaderMap,
}

impl OriginRequest {
    fn new(method: Method, path: &'static str) -> Self {
        Self {
            host: "localhost:4747",
            method,
            path,
            headers: HeaderMap::new(),
        }
    }

    fn host(mut self, host: &'static str) -> Self {
        self.host = host;
        self
    }

    fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.append(
            HeaderName::from_static(name),
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        );
        self
    }

    fn passes(&self) -> bool {
        let uri = self.path.parse().unwrap();
        origin_allowed(self.host, &self.method, &uri, &self.headers, &allowed())
    }
}

fn post() -> OriginRequest {
    OriginRequest::new(Method::POST, "/api/rooms")
}

#[test]
fn a_program_without_origin_passes() {
    assert!(post().passes());
    assert!(OriginRequest::new(Method::GET, "/api/rooms").passes());
}

#[test]
fn our_own_page_passes() {
    for (host, origin) in [
        ("localhost:4747", "http://localhost:4747"),
        ("LOCALHOST:4747", "http://localhost:4747"),
        ("[::1]:4747", "http://[::1]:4747"),
        ("localhost", "http://localhost"),
        ("localhost:80", "http://localhost"),
        ("hall.example", "https://hall.example"),
        ("hall.example:443", "https://hall.example"),
        // A proxy that ends TLS leaves host and port as they were.
        ("localhost:4747", "https://localhost:4747"),
    ] {
        let same = post().host(host).with("origin", origin);
        assert!(
            same.with("sec-fetch-site", "same-origin").passes(),
            "{origin}"
        );
    }
}

#[test]
fn a_foreign_page_is_refused() {
    for origin in [
        "null",
        "",
        "http://evil.test",
        "http://localhost",
        "http://localhost:4748",
        "http://127.0.0.1:4747",
        "http://localhost:4747.evil.test",
        "http://localhost:4747@evil.test",
        "http://localhost:4747/",
        "http://localhost:04747",
        "http://evil.test/http://localhost:4747",
        "ftp://localhost:4747",
        "file://",
        "localhost:4747",
        "//localhost:4747",
        "http://localhost:4747 http://evil.test",
        "chrome-extension://abcdefgh",
        "https://tools.example",
        "http://tools.example:8443",
        "\u{e9}",
    ] {
        assert!(!post().with("origin", origin).passes(), "{origin:?}");
    }
}

#[test]
fn two_origins_are_refused() {
    let twice = post()
        .with("origin", "http://localhost:4747")
        .with("origin", "http://localhost:4747");
    assert!(!twice.passes());
}

#[test]
fn a_foreign_websocket_is_refused_by_its_origin_alone() {
    let ask = |origin| {
        OriginRequest::new(Method::GET, "/api/events")
            .with("upgrade", "websocket")
            .with("origin", origin)
    };
    assert!(!ask("http://evil.test").passes());
    assert!(ask("http://localhost:4747").passes());
}

#[test]
fn a_request_from_another_site_or_port_is_refused_without_a_listed_origin() {
    for site in ["same-site", "cross-site", "Cross-Site"] {
        assert!(!post().with("sec-fetch-site", site).passes(), "{site}");
        let same = post().with("origin", "http://localhost:4747");
        assert!(!same.with("sec-fetch-site", site).passes(), "{site}");
        let listed = post().with("origin", "https://tools.example:8443");
        assert!(listed.with("sec-fetch-site", site).passes(), "{site}");
    }
    let twice = post()
        .with("sec-fetch-site", "same-origin")
        .with("sec-fetch-site", "cross-site");
    assert!(!twice.passes());
    for site in ["same-origin", "none"] {
        assert!(post().with("sec-fetch-site", site).passes(), "{site}");
    }
}

#[test]
fn a_link_from_another_site_opens_the_page_and_nothing_else() {
    let link = |method: Method, path: &'static str, mode, dest| {
        OriginRequest::new(method, path)
            .with("sec-fetch-site", "cross-site")
            .with("sec-fetch-mode", mode)
            .with("sec-fetch-dest", dest)
    };
    for path in ["/", "/rooms/0192f0c1", "/?from=mail"] {
        assert!(
            link(Method::GET, path, "navigate", "document").passes(),
            "{path}"
        );
        for (mode, dest) in [
            ("navigate", "iframe"),
            ("navigate", "embed"),
            ("no-cors", "document"),
            ("no-cors", "image"),
            ("websocket", "websocket"),
        ] {
            assert!(
                !link(Method::GET, path, mode, dest).passes(),
                "{path} {mode} {dest}"
            );
        }
        assert!(
            !link(Method::POST, path, "navigate", "document").passes(),
            "{path}"
        );
    }
    for path in [
        "/api/rooms",
        "/api",
        "/metrics",
        "/healthz",
        "/docs",
        "/assets/a.js",
        "/mcp",
    ] {
        assert!(
            !link(Method::GET, path, "navigate", "document").passes(),
            "{path}"
        );
    }
}
