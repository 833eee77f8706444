//! Rows about boundaries: what an agent's own commands cannot do, and what is left of it.

use std::{collections::BTreeMap, fs, net::TcpStream, path::Path, time::Duration};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use super::real_agent_server::{self, RealAgentServer, SECRETS};
use crate::workspace::until;

/// How long what was stopped may take to be gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// Asks both listeners as a command of the agent can: each route with no header, with the agent's
/// own and with a made-up one. `bash` speaks TCP by itself.
const KNOCK: &str = r#"
knock() {
  { exec 3<>"/dev/tcp/127.0.0.1/$port"; } 2> /dev/null || { echo "$port unreached"; return; }
  printf '%s %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n%sContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s' \
    "$2" "$3" "$port" "$1" "${#4}" "$4" >&3
  read -r _ status _ <&3
  echo "$port $status $2 $3"
  exec 3>&-
}
for port in $PORTS; do
  while read -r method path body; do
    knock '' "$method" "$path" "$body"
    knock "X-Service-Agent: $GUILDHALL_AGENT_TOKEN"$'\r\n' "$method" "$path" "$body"
    knock $'X-Service-Agent: gha_madeup\r\n' "$method" "$path" "$body"
  done < routes.txt
done
"#;

/// Row 16: the agent asks for another session's yes, a person's name and a token, in the plain
/// and in a session of its own without its variables.
pub(super) fn its_shell_cannot_decide_rename_or_mint(stage: &mut RealAgentServer) {
    let t = stage.t();
    let mut asking = stage.open_session();
    asking.send(&[&stage.agent.shell("touch sneaked.txt")]);
    let card = asking.card();
    let (_, me) = t.server.ask("GET", "/api/auth/whoami", None);
    let me = me["caller"]["authorId"].as_str().unwrap();
    let agent = asking.opened["agentId"].as_str().unwrap();
    let yes = json!({"toolCallId": card["toolCallId"], "digest": card["digest"]});
    let routes = [
        format!("POST /api/sessions/{}/approve {yes}", asking.id),
        format!(
            "PATCH /api/rooms/authors/{me}/handle {}",
            json!({"handle": "sneak"})
        ),
        format!(
            "POST /api/agents/{agent}/tokens {}",
            json!({"name": "sneak"})
        ),
    ];
    t.write("routes.txt", &format!("{}\n", routes.join("\n")));
    let main = t.server.port().to_string();
    let agents = t.server.agent_url();
    let agents = agents.rsplit(':').next().unwrap();
    t.write("knock.sh", &format!("PORTS='{main} {agents}'\n{KNOCK}"));
    let mut talk = stage.open_session();
    let line = "bash knock.sh > plain.out 2>&1; setsid -w bash knock.sh > away.out 2>&1; \
                setsid -w env -i bash knock.sh > bare.out 2>&1; echo knocked";
    talk.run(&stage.agent.shell(line));
    for name in ["plain.out", "away.out", "bare.out"] {
        let said = t.file(name).unwrap_or_default();
        let answers: Vec<_> = said.lines().collect();
        assert_eq!(answers.len(), 18, "{name}: {said}");
        for answer in answers {
            let (port, status) = answer.split_once(' ').unwrap();
            let status = status.split(' ').next().unwrap();
            let is_refused = match port == main {
                true => status == "unreached",
                false => ["401", "403", "404"].contains(&status),
            };
            assert!(is_refused, "{name}: {answer}");
        }
    }
    let asks = t.asks();
    let still = asks
        .iter()
        .find(|ask| ask["id"] == card["id"])
        .expect("the card is there");
    assert_eq!(still["state"], "pending");
    let (_, tokens) = t
        .server
        .ask("GET", &format!("/api/agents/{agent}/tokens"), None);
    assert!(!tokens.to_string().contains("sneak"), "{tokens}");
    asking.decide("deny", &card, &json!({}));
    asking.end();
    assert_eq!(t.file("sneaked.txt"), None);
}

/// Row 17.
pub(super) fn its_shell_sees_only_what_is_listed(stage: &mut RealAgentServer) {
    let t = stage.t();
    let mut talk = stage.open_session();
    talk.run(&stage.agent.shell("env > env.txt"));
    let seen = t.file("env.txt").unwrap();
    let seen: BTreeMap<_, _> = seen
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let set = stage
        .agent
        .set_up(&t.home, &t.folder, &stage.llm.address())
        .unwrap();
    let given = [
        "HOME",
        "PATH",
        "LANG",
        "SHELL",
        "TMPDIR",
        "GUILDHALL_URL",
        "GUILDHALL_AGENT_TOKEN",
    ];
    let of_any_shell = ["PWD", "OLDPWD", "SHLVL", "_"];
    let is_listed = |name: &str| {
        given.contains(&name)
            || of_any_shell.contains(&name)
            || set.iter().any(|(known, _)| known == name)
            || stage
                .facts
                .own_variables
                .iter()
                .any(|known| match known.strip_suffix('*') {
                    Some(family) => name.starts_with(family),
                    None => *known == name,
                })
    };
    let strange: Vec<_> = seen.keys().filter(|name| !is_listed(name)).collect();
    assert!(strange.is_empty(), "{strange:?}");
    for (name, value) in SECRETS {
        assert_ne!(seen.get(name), Some(&value), "{name}");
    }
    assert!(
        seen.contains_key("GUILDHALL_AGENT_TOKEN"),
        "{:?}",
        seen.keys()
    );
    assert_eq!(seen.get("HOME"), t.home.to_str().as_ref());
}

/// Row 18: the server stops, and with it everything it started.
pub(super) fn nothing_is_left(stage: &mut RealAgentServer) {
    stage.open_session().send(&["#say Last."]);
    let before = stage.home_before.clone();
    let t = stage.take();
    let (port, pid) = (t.server.port(), t.server.pid());
    let below = below(pid);
    assert!(!agents_of(pid).is_empty(), "an agent runs");
    assert_eq!(t.server.stop(), Some(0));
    for pid in below {
        until_gone(pid);
    }
    let scratch = t.scratch.path().to_str().unwrap();
    let left: Vec<_> = processes()
        .into_keys()
        .filter(|pid| mentions(*pid, scratch))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    assert_eq!(
        real_agent_server::real_home(),
        before,
        "the home of who runs the tests is as it was"
    );
}

/// Whether a process was started with, or works below, this folder.
fn mentions(pid: i32, folder: &str) -> bool {
    let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let cwd = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    String::from_utf8_lossy(&environ).contains(folder) || cwd.starts_with(folder)
}

/// The agents that a server runs in a folder: what stands below its keepers.
pub(super) fn agents_in(server: u32, folder: &Path) -> Vec<i32> {
    let works_there =
        |pid: &i32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
    agents_of(server).into_iter().filter(works_there).collect()
}

/// All agents that a server runs.
fn agents_of(server: u32) -> Vec<i32> {
    let all = processes();
    let children = |of: i32| -> Vec<i32> {
        let own = all.iter().filter(|(_, parent)| **parent == of);
        own.map(|(pid, _)| *pid).collect()
    };
    let keepers = children(i32::try_from(server).unwrap());
    keepers.into_iter().flat_map(children).collect()
}

/// Everything below a process.
fn below(server: u32) -> Vec<i32> {
    let all = processes();
    let mut found = vec![i32::try_from(server).unwrap()];
    let mut next = 0;
    while let Some(of) = found.get(next).copied() {
        let own = all.iter().filter(|(_, parent)| **parent == of);
        found.extend(own.map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

/// Every process that is no mere remnant, with its parent.
fn processes() -> BTreeMap<i32, i32> {
    let entries = fs::read_dir("/proc").unwrap();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let pids = names.filter_map(|name| name.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, parent(pid)?))).collect()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (state != "Z").then_some(parent)
}

pub(super) fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

fn until_gone(pid: i32) {
    let is_there = || {
        Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
            && parent(pid).is_some()
    };
    until(&format!("the process {pid} is gone"), PATIENCE, || {
        !is_there()
    });
}
