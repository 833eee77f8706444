//! Tests of real tool servers, from the terminal: the reference server over each transport.
//! Source: contract 4.4, "test"; 5.12.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use serde_json::{Value, json};

use crate::{cli_server::ServerForCli, mcp_gateway::node};

/// Where `cargo xtask counterparts install` put it.
pub(crate) fn program() -> PathBuf {
    let below = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../counterparts/everything");
    let program = below.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    assert!(
        program.is_file(),
        "it is not installed: `cargo xtask counterparts install`"
    );
    program.canonicalize().unwrap()
}

/// Makes a server tell at which port it listens.
const TOLD_PORT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/tools/told-port.mjs"
);

/// The server at a port that the system chooses; killed when dropped.
pub(crate) struct ReferenceServerProcess {
    process: Child,
    port: u16,
}

impl ReferenceServerProcess {
    /// Starts it with the word for a transport.
    pub(crate) fn start(word: &str) -> Self {
        let mut process = Command::new(node())
            .args(["--import", TOLD_PORT])
            .arg(program())
            .arg(word)
            .env("PORT", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut words = BufReader::new(process.stderr.take().unwrap()).lines();
        let port = words.find_map(|line| line.unwrap().strip_prefix("listens at ")?.parse().ok());
        // It waits for whoever reads what it says.
        thread::spawn(move || words.for_each(drop));
        Self {
            process,
            port: port.expect("it listens"),
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for ReferenceServerProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_real_server_is_tested_over_each_transport_with_the_same_result() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let (http, sse) = (
        ReferenceServerProcess::start("streamableHttp"),
        ReferenceServerProcess::start("sse"),
    );
    let (node, program) = (node(), program());
    let (node, program) = (node.to_str().unwrap(), program.to_str().unwrap());
    let mcp = |args: &[&str]| house.approved(&[&["mcp", "add", "ada"], args].concat());
    mcp(&["stdio", "--", node, program, "stdio"]);
    mcp(&["http", "--address", &http.url("/mcp")]);
    mcp(&["sse", "--transport", "sse", "--address", &sse.url("/sse")]);
    let tested = |name: &str| house.json(&["mcp", "test", "ada", name]);
    let first = tested("stdio");
    assert_eq!(first["ok"], true, "{first}");
    let tools = first["tools"].as_array().unwrap();
    assert_eq!(first["toolCount"], json!(tools.len()));
    assert!(tools.iter().any(|tool| tool["name"] == "echo"), "{first}");
    for name in ["http", "sse"] {
        let other = tested(name);
        assert_eq!(
            (&other["ok"], &other["tools"]),
            (&json!(true), &first["tools"])
        );
    }
    let listed = house.json(&["mcp", "list", "ada"]);
    let entries = listed.as_array().unwrap();
    let pins: Vec<&Value> = entries.iter().map(|it| &it["pin"]["toolsSha256"]).collect();
    assert!(
        pins[0].is_string() && pins.iter().all(|pin| *pin == pins[0]),
        "{listed}"
    );
    assert!(entries.iter().all(|it| it["status"] == "ready"), "{listed}");
    // A server that went away fails its test, and is what it was.
    drop(http);
    let gone = house.run(&["mcp", "test", "ada", "http", "--json"]);
    assert_eq!(gone.code, 1);
    let gone: Value = serde_json::from_str(&gone.stdout).unwrap();
    assert_eq!(gone["code"], "UNREACHABLE", "{gone}");
    let shown = house.json(&["mcp", "show", "ada", "http"]);
    assert_eq!(
        (&shown["status"], &shown["rev"]),
        (&json!("ready"), &json!(1))
    );
}
