//! Requests for operations: the path, the query, the head and the body, as bytes.

use serde_json::Value;

use crate::{
    callers::CallerCredentials, json_values::ValueGenerator, operations::Operation, rng::Rng,
};

/// How much of a request follows the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Validity {
    /// Everything does.
    Whole,
    /// Nearly everything does.
    Bent,
    /// It is refused wherever anything of it is read: what is named does not exist, and the body
    /// cannot be read.
    Broken,
}

/// Characters of a path that need no escape.
const PLAIN: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
/// What stands for a value in a path in place of one.
const ODD_PARTS: &[&str] = &[
    "",
    ".",
    "..",
    "%2e%2e",
    "%2F",
    "%00",
    "%ff",
    "%",
    "%zz",
    "*",
    "{id}",
    "me",
    "0",
    "-1",
    ";a=b",
    "a%20b",
    "%F0%9F%91%8D",
    "null",
    "01980000-0000-7000-8000-000000000000",
    "%E2%80%AE",
    "a?b",
    "a#b",
    "99999999999999999999999999",
];

/// The bytes of a request, and the path that is in them.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) bytes: Vec<u8>,
    pub(crate) path: String,
}

/// A request for the operation by a caller who shows this.
pub(crate) fn request(
    maker: &mut ValueGenerator<'_>,
    operation: &Operation,
    shape: Validity,
    shown: &CallerCredentials,
) -> Request {
    let mut path = filled(maker, &operation.path, shape);
    path.push_str(&query(maker, operation, shape));
    let (body, media_type) = body(maker, operation, shape);
    let mut head = format!(
        "{} {path} HTTP/1.1\r\nHost: {}\r\n",
        operation.method, shown.host
    );
    for line in &shown.lines {
        head.push_str(line);
        head.push_str("\r\n");
    }
    // Without it the answer may wait for a person's word.
    head.push_str("Prefer: wait=0\r\n");
    for line in further_lines(maker.rng, shape) {
        head.push_str(&line);
        head.push_str("\r\n");
    }
    if let Some(body) = &body {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        if !media_type.is_empty() {
            head.push_str(&format!("Content-Type: {media_type}\r\n"));
        }
    }
    head.push_str("\r\n");
    let bytes = [head.into_bytes(), body.unwrap_or_default()].concat();
    Request { bytes, path }
}

/// The path of going back to a backup, which ends the server as it should: no backup is named there
/// that exists.
const RESTORE: &str = "/api/backups/{id}/restore";

/// The path with something in place of each parameter.
fn filled(maker: &mut ValueGenerator<'_>, path: &str, shape: Validity) -> String {
    let mut collection = "";
    let mut parts = Vec::new();
    for part in path.split('/') {
        let Some(name) = part
            .strip_prefix('{')
            .and_then(|part| part.strip_suffix('}'))
        else {
            collection = part;
            parts.push(part.to_owned());
            continue;
        };
        let is_odd = match shape {
            Validity::Whole => false,
            Validity::Bent => maker.rng.chance(15),
            Validity::Broken => true,
        };
        let known = maker.known.of_parameter(collection, name, maker.rng);
        let known = known.filter(|_| path != RESTORE);
        parts.push(match known {
            Some(known) if !is_odd => escaped(&known),
            _ if maker.rng.chance(3) => "y".repeat(9_000),
            None if !is_odd => escaped(&maker.text(name)),
            _ => maker.rng.pick(ODD_PARTS).to_string(),
        });
    }
    parts.join("/")
}

fn query(maker: &mut ValueGenerator<'_>, operation: &Operation, shape: Validity) -> String {
    let mut pairs = Vec::new();
    for (name, schema) in &operation.query {
        if !maker.rng.chance(if is_needed(name) { 95 } else { 30 }) {
            continue;
        }
        let value = maker.valid(name, schema);
        let value = match shape {
            Validity::Bent | Validity::Broken if maker.rng.chance(30) => {
                Value::String(maker.odd_text())
            }
            _ => value,
        };
        let values = match value {
            Value::Array(several) => several,
            one => vec![one],
        };
        for value in values {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            // A head holds no more than a part of it.
            let text: String = text.chars().take(8_000).collect();
            pairs.push(format!("{name}={}", escaped(&text)));
        }
    }
    if shape == Validity::Bent && maker.rng.chance(10) {
        pairs.push(
            maker
                .rng
                .pick(&["x=1", "&&", "limit=1&limit=2", "%=%", "cwd[]=1"])
                .to_string(),
        );
    }
    if pairs.is_empty() {
        return String::new();
    }
    format!("?{}", pairs.join("&"))
}

/// The body and its media type.
fn body(
    maker: &mut ValueGenerator<'_>,
    operation: &Operation,
    shape: Validity,
) -> (Option<Vec<u8>>, String) {
    let Some((schema, media_type)) = &operation.body else {
        // Some clients send one where nobody reads it.
        let sends_one = shape != Validity::Whole && maker.rng.chance(10);
        return (sends_one.then(|| b"{}".to_vec()), String::new());
    };
    if media_type.starts_with("multipart/") {
        return multipart(maker, shape);
    }
    let mut value = maker.valid("", schema);
    let mut media_type = media_type.clone();
    let body = match shape {
        Validity::Whole => value.to_string().into_bytes(),
        Validity::Bent => {
            for _ in 0..=maker.rng.below(3) {
                maker.mutate(&mut value);
            }
            if maker.rng.chance(8) {
                let others = [
                    "text/plain",
                    "",
                    "application/json; charset=utf-16",
                    "application/xml",
                    "a/b/c",
                ];
                media_type = maker.rng.pick(&others).to_string();
            }
            value.to_string().into_bytes()
        }
        Validity::Broken => maker.broken(&value),
    };
    (Some(body), media_type)
}

fn multipart(maker: &mut ValueGenerator<'_>, shape: Validity) -> (Option<Vec<u8>>, String) {
    let name = if shape == Validity::Whole {
        "notes.txt".to_owned()
    } else {
        maker.odd_text()
    };
    let name: String = name
        .chars()
        .filter(|sign| !sign.is_control())
        .take(2_000)
        .collect();
    let field = if maker.rng.chance(80) {
        "files"
    } else {
        "other"
    };
    let mut body = format!(
        "--edge\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\
         Content-Type: text/plain\r\n\r\nhello\r\n--edge--\r\n"
    )
    .into_bytes();
    if shape == Validity::Broken {
        let place = maker.rng.below(body.len() - 20);
        body.truncate(place);
    }
    let boundary = if shape != Validity::Whole && maker.rng.chance(10) {
        ""
    } else {
        "; boundary=edge"
    };
    (Some(body), format!("multipart/form-data{boundary}"))
}

/// Further lines of the head: repeated writes, conditions, ranges.
fn further_lines(rng: &mut Rng, shape: Validity) -> Vec<String> {
    let mut lines = Vec::new();
    if rng.chance(10) {
        // Few keys, so that some are used again with another body.
        let key = match shape {
            Validity::Whole => format!("fuzzer-{}", rng.below(20)),
            _ => rng
                .pick(&["", "a", "fuzzer-1", "\"quoted\"", "é"])
                .to_string(),
        };
        lines.push(format!("Idempotency-Key: {key}"));
    }
    let others: &[&str] = &[
        "If-Match: \"1\"",
        "If-Match: *",
        "If-Match: W/\"",
        "If-None-Match: \"x\"",
        "Range: bytes=0-1",
        "Range: bytes=9-1",
        "Range: bytes=0-0,-1,5-",
        "Range: bytes=18446744073709551615-",
        "If-Range: \"x\"",
        "Last-Event-ID: -1",
        "Last-Event-ID: 18446744073709551616",
        "Accept: application/problem+json",
        "Accept: */*;q=x",
        "Accept-Encoding: zstd;q=0.5, br, identity;q=0",
        "Origin: null",
        "Origin: http://evil.test",
        "Sec-Fetch-Site: cross-site",
        "X-Service-Approval: gap_x",
        "X-Forwarded-For: 10.0.0.1",
        "Content-Encoding: gzip",
        "X-Request-Id: \u{e9}",
        "Traceparent: 00-zz-zz-01",
        "X-HTTP-Method-Override: DELETE",
        "Cookie: guildhall_0=a; guildhall_0=b; =; ;;",
    ];
    while shape != Validity::Whole && rng.chance(15) {
        lines.push(rng.pick(others).to_string());
    }
    lines
}

/// The text with every byte escaped that a path or a query does not hold.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if PLAIN.contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// Whether an operation that has a query parameter of that name seldom does anything without it.
fn is_needed(name: &str) -> bool {
    ["cwd", "path", "q", "agentId"].contains(&name)
}
