//! `/mcp` of a started server against the protocol's own conformance suite. Which scenarios run,
//! and why the others do not, stands in `docs/conformance.md`. Source: contract 5.12.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use guildhall_world::scratch::Scratch;
use serde_json::Value;

use crate::{server_process::ServerProcess, stdio_relay::agent};

/// The scenarios of this file.
const RUN: [&str; 4] = [
    "dns-rebinding-protection",
    "ping",
    "server-initialize",
    "tools-list",
];

/// Where `cargo xtask counterparts install` put it.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../counterparts/conformance/node_modules")
}

/// The suite with these words, on the Node.js of its folder where there is one.
fn suite(words: &[&str]) -> Command {
    let program = folder().join("@modelcontextprotocol/conformance/dist/index.js");
    assert!(
        program.is_file(),
        "it is not installed: `cargo xtask counterparts install`"
    );
    let own = ["x64", "arm64"].map(|kind| folder().join(format!("node-linux-{kind}/bin/node")));
    let node = own.into_iter().find(|node| node.is_file());
    let mut suite = Command::new(node.unwrap_or_else(|| "node".into()));
    suite.arg(program).args(words);
    suite
}

/// Passes requests on to a server with one more line, since the suite shows nothing of itself.
/// Everything else, `Host` and `Origin` among it, reaches the server as it was sent.
fn relay(to: u16, line: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let (socket, line) = (socket.unwrap(), line.clone());
            // Either end may go away first.
            thread::spawn(move || pass(&socket, to, &line).unwrap_or_default());
        }
    });
    port
}

/// One request and its answer, with which both connections end.
fn pass(client: &TcpStream, to: u16, line: &str) -> io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", to))?;
    let mut from = BufReader::new(client.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    while from.read_line(&mut head)? > 2 {
        let last = head.lines().next_back().unwrap_or_default();
        let last = last.to_ascii_lowercase();
        if let Some(value) = last.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let kept = head.lines().filter(|line| {
        let line = line.to_ascii_lowercase();
        !line.starts_with("connection:") && !line.is_empty()
    });
    let kept: Vec<&str> = kept.chain([line, "Connection: close"]).collect();
    let mut whole = format!("{}\r\n\r\n", kept.join("\r\n")).into_bytes();
    let body = whole.len();
    whole.resize(body + length, 0);
    from.read_exact(&mut whole[body..])?;
    server.write_all(&whole)?;
    io::copy(&mut server, &mut &*client)?;
    client.shutdown(Shutdown::Both)
}

#[test]
fn our_endpoint_answers_as_the_protocol_says() {
    let scratch = Scratch::new("conformance");
    let roots = [("GUILDHALL_FILES_ROOTS", scratch.path().to_str().unwrap())];
    let server = ServerProcess::start_in(&scratch.path().join("data"), &roots);
    let token = agent(&server, &scratch);
    let port = relay(server.port(), format!("X-Service-Agent: {token}"));
    let url = format!("http://127.0.0.1:{port}/mcp");
    for (scenario, checks_min) in RUN.into_iter().zip([2, 1, 1, 1]) {
        let results = scratch.path().join(scenario);
        let told_to = results.to_str().unwrap();
        let words = ["server", "--url", &url, "--scenario", scenario];
        let output = suite(&[&words[..], &["--output-dir", told_to]].concat())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{told}");
        // A scenario that looked at nothing passes as well.
        let checks = checks(&results);
        let count = |status: &str| checks.iter().filter(|it| it["status"] == status).count();
        assert!(count("SUCCESS") >= checks_min, "{told}");
        assert_eq!((count("FAILURE"), count("WARNING")), (0, 0), "{told}");
    }
}

/// What the suite wrote down, from the only folder below `results`.
fn checks(results: &Path) -> Vec<Value> {
    let mut folders = fs::read_dir(results).unwrap();
    let folder = folders.next().unwrap().unwrap().path();
    let text = fs::read_to_string(folder.join("checks.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn each_server_scenario_is_run_or_left_out_with_a_reason() {
    let listed = suite(&["list", "--server"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names = listed
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    let mut known: Vec<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    known.sort_unstable();
    assert!(known.len() > 20, "{listed}");
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let document = fs::read_to_string(document).unwrap();
    let (_, part) = document.split_once("## Our endpoint").unwrap();
    let part = part.split("\n## ").next().unwrap();
    let rows: Vec<[&str; 3]> = part.lines().filter_map(row).collect();
    let mut told: Vec<&str> = rows.iter().map(|[name, ..]| *name).collect();
    told.sort_unstable();
    assert_eq!(told, known);
    for [name, what, why] in rows {
        let is_run = what == "run";
        assert_eq!(is_run, RUN.contains(&name), "{name}");
        assert!(
            is_run || why.len() > 20,
            "{name} is left out without a reason"
        );
    }
}

/// A row of the document's tables: scenario, what is done with it, why.
fn row(line: &str) -> Option<[&str; 3]> {
    let line = line.strip_prefix("| `")?.strip_suffix(" |")?;
    let (name, rest) = line.split_once("` | ")?;
    let (what, why) = rest.split_once(" | ")?;
    Some([name, what, why])
}
