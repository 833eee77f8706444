//! What the enclosure of agents leaves to the owner.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use guildhall_domain::port_ranges::ReservedPorts;
use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::{
    hostile_agent::ENCLOSED,
    server_process::{ServerProcess, ask},
    workspace::ServerWithFolder,
};

const TUNNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/enclosure/tunnel.py");
const TOUCH: &str = r#"#call run_command {"command":["touch","done"]}"#;

/// A program of the owner that passes connections on, as `ssh -L` does.
struct ForwardingProcess {
    child: Child,
    port: u16,
}

impl ForwardingProcess {
    fn to(server: &ServerProcess) -> Self {
        let mut child = Command::new("python3")
            .args([TUNNEL, &server.port().to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut said).unwrap();
        let port = said.trim().parse().unwrap();
        Self { child, port }
    }
}

impl Drop for ForwardingProcess {
    fn drop(&mut self) {
        // One that ended already is what we want.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Who asks here is the owner, who decides on what an enclosed agent waits for.
fn owner_decides(t: &ServerWithFolder, port: u16) {
    let (status, who) = ask(port, "GET", "/api/auth/whoami", None).unwrap();
    assert_eq!((status, &who["ownerHere"]), (200, &json!(true)), "{who}");
    let session = t.session();
    t.send(&session, &[TOUCH]);
    let asked = t.ask(&session);
    let path = format!("/api/sessions/{session}/approve");
    let body = json!({"toolCallId": asked["toolCallId"], "digest": asked["digest"]});
    let (status, granted) = ask(port, "POST", &path, Some(&body)).unwrap();
    assert_eq!(status, 200, "{granted}");
    t.turn_ended(&session, 1);
    assert_eq!(t.file("done").as_deref(), Some(""));
}

#[test]
fn through_a_tunnel_of_the_owner_the_owner_decides() {
    let t = ServerWithFolder::open_configured("tunnel", ENCLOSED);
    let tunnel = ForwardingProcess::to(&t.server);
    owner_decides(&t, tunnel.port);
}

#[test]
fn at_each_of_two_guildhalls_the_owner_decides() {
    let one = ServerWithFolder::open_configured("first", ENCLOSED);
    let other = ServerWithFolder::open_configured("second", ENCLOSED);
    for t in [&one, &other] {
        owner_decides(t, t.server.port());
    }
}

/// Also where the ports that the system gives away are reserved ones: agents could not come there.
#[test]
fn the_listener_for_agents_has_no_reserved_port() {
    let scratch = Scratch::new("range");
    let serve = "ip link set lo up
        echo 61000 65200 > /proc/sys/net/ipv4/ip_local_port_range
        exec \"$0\" serve --data-dir \"$1\" --bind 127.0.0.1:0";
    let data = scratch.path().join("data");
    let mut child = Command::new("unshare")
        .args(["-rn", "sh", "-c", serve, env!("CARGO_BIN_EXE_guildhall")])
        .arg(&data)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines
        .map_while(Result::ok)
        .find(|line| line.starts_with("Press"));
    let told = std::fs::read(data.join("run/server.json")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said.is_some());
    let told: Value = serde_json::from_slice(&told).unwrap();
    let url = told["agentUrl"].as_str().unwrap();
    let port = url.rsplit(':').next().unwrap().parse().unwrap();
    assert!(!ReservedPorts::default().contains(port), "{url}");
}
