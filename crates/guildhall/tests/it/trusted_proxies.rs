//! Proxies before the server: whom it believes where a request comes from.

use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::server_process::ServerProcess;

const WHOAMI: &str = "/api/auth/whoami";

fn told(server: &ServerProcess, lines: &str) -> (u16, Value) {
    server.ask_with(lines, "GET", WHOAMI, None)
}

#[test]
fn whom_a_trusted_proxy_speaks_for_is_not_the_owner_at_this_computer() {
    let scratch = Scratch::new("proxies");
    let args = ["--trusted-proxy", "127.0.0.1,10.0.0.0/8"];
    let named = ["--allowed-host", "hall.example"];
    let args = [&args[..], &named].concat();
    let server = ServerProcess::start_with(&scratch.path().join("data"), 0, &args);
    assert_eq!(told(&server, "").1["caller"]["kind"], "owner");
    for lines in [
        "X-Forwarded-For: 192.0.2.7\r\n",
        "X-Forwarded-For: 127.0.0.1, 192.0.2.7\r\n",
        "X-Forwarded-For: unknown\r\n",
        "X-Forwarded-Proto: https\r\n",
        "Forwarded: for=192.0.2.7\r\n",
        "Forwarded: for=\"127.0.0.1\r\n",
        "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Host: hall.example\r\n",
    ] {
        let (status, who) = told(&server, lines);
        assert_eq!((status, &who["caller"]), (200, &Value::Null), "{lines}");
    }
    let foreign = "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Host: other.example\r\n";
    assert_eq!(told(&server, foreign).1["code"], "HOST_NOT_ALLOWED");
}

#[test]
fn guesses_through_a_trusted_proxy_count_where_it_says_they_come_from() {
    let scratch = Scratch::new("proxies");
    let args = ["--bind", "127.0.0.1:0", "--auth", "login"];
    let args = [&args[..], &["--trusted-proxy", "127.0.0.1"]].concat();
    let server = ServerProcess::start_with_log(&scratch.path().join("data"), &args, None);
    let guess = |from: &str, code: &str| {
        let ask = json!({"email": "ada@example.org", "password": "long enough a password",
            "displayName": "Ada", "setupCode": code});
        let lines = format!("X-Forwarded-For: {from}\r\n");
        let (_, answer) = server.ask_with(&lines, "POST", "/api/auth/register", Some(&ask));
        answer["code"].as_str().map(str::to_owned)
    };
    let first = guess("192.0.2.1", "wrong");
    for _ in 1..10 {
        assert_eq!(guess("192.0.2.1", "wrong"), first);
    }
    assert_eq!(guess("192.0.2.1", "wrong").as_deref(), Some("RATE_LIMITED"));
    assert_eq!(guess("192.0.2.2", "wrong"), first);
    assert_ne!(first.as_deref(), Some("RATE_LIMITED"));
}

#[test]
fn a_proxy_that_nobody_named_is_believed_nothing() {
    let scratch = Scratch::new("proxies");
    let server = ServerProcess::start(&scratch.path().join("data"), 0);
    let lines = "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Host: other.example\r\n";
    assert_eq!(told(&server, lines).1["caller"]["kind"], "owner");
}
