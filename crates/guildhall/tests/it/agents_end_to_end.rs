//! What must be true of agents at work and only shows on the whole: real processes, real tools.
//! Source: contract 3.12.

use std::{
    collections::BTreeMap,
    fs,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use rustix::{event, process};
use serde_json::json;

use crate::workspace::{ServerWithFolder, until};

/// How long a process may outlive its server or agent. Source: contract 3.12 (10).
const AFTERLIFE: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(30);

fn command(words: &[&str]) -> String {
    format!("#call run_command {}", json!({"command": words}))
}

#[test]
fn of_racing_decisions_one_counts_and_the_tool_runs_at_most_once() {
    let t = ServerWithFolder::open("race");
    let session = t.session();
    let mut approved = 0;
    for turn in 1..=6 {
        t.send(&session, &[&command(&["sh", "-c", "echo ran >> runs"])]);
        let ask = t.until(&session, "interaction_opened", |data| {
            t.asks()
                .iter()
                .any(|ask| ask["id"] == data["interaction"]["id"])
        });
        let ask = &ask["interaction"];
        let body = json!({"toolCallId": ask["toolCallId"], "digest": ask["digest"]});
        let verbs = ["approve", "deny"].repeat(4);
        let start = Barrier::new(verbs.len());
        let race = |verb| {
            start.wait();
            (verb, t.decide(&session, verb, &body).0)
        };
        let race = &race;
        let answers: Vec<_> = thread::scope(|scope| {
            let racers: Vec<_> = verbs
                .iter()
                .map(|verb| scope.spawn(move || race(*verb)))
                .collect();
            racers
                .into_iter()
                .map(|racer| racer.join().unwrap())
                .collect()
        });
        let won: Vec<_> = answers
            .iter()
            .filter(|(_, status)| *status == 200)
            .collect();
        assert_eq!(won.len(), 1, "{answers:?}");
        assert!(
            answers
                .iter()
                .all(|(_, status)| [200, 409].contains(status)),
            "{answers:?}"
        );
        t.turn_ended(&session, turn);
        approved += usize::from(won[0].0 == "approve");
        let runs = t.file("runs").unwrap_or_default();
        assert_eq!(runs.lines().count(), approved, "{answers:?}");
    }
}

#[test]
fn an_agent_sees_the_listed_variables_of_the_server_and_no_other() {
    let canaries = [
        ("GUILDHALL_API_KEY", "canary"),
        ("GUILDHALL_SECRET", "canary"),
        ("ANTHROPIC_API_KEY", "canary"),
        ("AWS_SECRET_ACCESS_KEY", "canary"),
        ("GITHUB_TOKEN", "canary"),
        ("SSH_AUTH_SOCK", "canary"),
        ("LD_PRELOAD_OF_NOBODY", "canary"),
        ("LC_TIME", "C"),
    ];
    let t = ServerWithFolder::open_with("variables", &canaries);
    let session = t.unattended();
    t.send(
        &session,
        &[&command(&["cp", "/proc/self/environ", "variables"])],
    );
    t.turn_ended(&session, 1);
    let text = t.file("variables").expect("the command ran");
    let variables: BTreeMap<_, _> = text
        .split('\0')
        .filter_map(|entry| entry.split_once('='))
        .collect();
    assert!(!text.contains("canary"), "{text}");
    assert_eq!(variables["LC_TIME"], "C");
    assert_eq!(variables["GUILDHALL_URL"], t.server.agent_url());
    assert!(variables["GUILDHALL_AGENT_TOKEN"].starts_with("gha_"));
    let listed = [
        "HOME PATH USER LOGNAME SHELL LANG TZ TERM TMPDIR SSL_CERT_FILE SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE",
        "GUILDHALL_URL GUILDHALL_AGENT_TOKEN",
    ];
    let listed: Vec<_> = listed.iter().flat_map(|line| line.split(' ')).collect();
    for name in variables.keys() {
        let is_of_a_family = name.starts_with("LC_")
            || name.starts_with("XDG_")
            || name.to_ascii_uppercase().ends_with("_PROXY");
        assert!(is_of_a_family || listed.contains(name), "{name}");
    }
}

#[test]
fn a_stopped_server_leaves_nothing_of_an_agents_tree_alive() {
    let (t, _, tree) = deep("stop");
    assert_eq!(t.server.stop(), Some(0));
    gone(&tree);
}

#[test]
fn a_killed_server_leaves_nothing_of_an_agents_tree_alive() {
    let (t, _, tree) = deep("sigkill");
    t.server.kill();
    gone(&tree);
}

#[test]
fn a_retired_agent_leaves_nothing_of_its_tree_alive() {
    let (t, session, tree) = deep("retire");
    let agent = t.look(&session)["agentId"].as_str().unwrap().to_owned();
    let (status, retired) = t
        .server
        .ask("DELETE", &format!("/api/agents/{agent}"), None);
    assert_eq!(status, 200, "{retired}");
    gone(&tree);
}

/// What holds when an agent kills its own keeper: all that carries its token ends, and nothing
/// that waits for a person is decided by that. What dropped its environment before lives on.
#[test]
fn an_agent_that_kills_its_keeper_ends_itself_and_decides_nothing() {
    let (t, session, tree) = deep("keeper");
    let asking = t.session();
    t.send(&asking, &[&command(&["touch", "fell"])]);
    let ask = t.ask(&asking);
    let kill = "read -r _ _ _ keeper _ < /proc/$PPID/stat; kill -9 $keeper; sleep 600";
    t.send(&session, &[&command(&["sh", "-c", kill])]);
    assert_eq!(t.turn_ended(&session, 2)["outcome"], "interrupted");
    let mark = format!("GUILDHALL_URL={}\0", t.server.agent_url());
    let carriers = || {
        below(1).into_iter().filter(|pid| {
            let its = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&its).contains(&mark)
        })
    };
    until("they are gone", AFTERLIFE, || carriers().next().is_none());
    let asks = t.asks();
    for member in ["id", "digest", "state", "expiresAt"] {
        assert_eq!(asks[0][member], ask[member], "{member}");
    }
    assert_eq!(t.file("fell"), None);
    for pid in tree.into_iter().filter(|pid| below(1).contains(pid)) {
        let pid = process::Pid::from_raw(pid).unwrap();
        // One that has ended is what we want.
        let _ = process::kill_process(pid, process::Signal::KILL);
    }
}

/// A server with an agent whose command left a process in a session of its own, without
/// environment and without parents; answers all processes below the server.
fn deep(what: &str) -> (ServerWithFolder, String, Vec<i32>) {
    let t = ServerWithFolder::open(what);
    let session = t.unattended();
    let script = "setsid env -i sh -c 'echo $$ > part; mv part deep; exec sleep 600' \
                  > /dev/null 2>&1 < /dev/null &";
    t.send(&session, &[&command(&["sh", "-c", script])]);
    t.turn_ended(&session, 1);
    until("it works", PATIENCE, || t.file("deep").is_some());
    let deepest: i32 = t.file("deep").unwrap().trim().parse().unwrap();
    let tree = below(t.server.pid().try_into().unwrap());
    assert!(tree.contains(&deepest) && tree.len() >= 3, "{tree:?}");
    (t, session, tree)
}

/// Every process below this one.
fn below(root: i32) -> Vec<i32> {
    let mut parents = BTreeMap::<i32, Vec<i32>>::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let fields = stat.rsplit(") ").next().unwrap_or_default();
        if let Some(parent) = fields
            .split(' ')
            .nth(1)
            .and_then(|field| field.parse().ok())
        {
            parents.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut above = vec![root];
    while let Some(parent) = above.pop() {
        let children = parents.remove(&parent).unwrap_or_default();
        above.extend(&children);
        found.extend(children);
    }
    found
}

/// Waits until each of these has ended.
fn gone(processes: &[i32]) {
    let deadline = Instant::now() + AFTERLIFE;
    for pid in processes {
        let known = process::Pid::from_raw(*pid).unwrap();
        // One that is not there has ended.
        let Ok(handle) = process::pidfd_open(known, process::PidfdFlags::empty()) else {
            continue;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let left = event::Timespec::try_from(left).unwrap();
        let mut watched = [event::PollFd::new(&handle, event::PollFlags::IN)];
        assert_eq!(event::poll(&mut watched, Some(&left)), Ok(1), "{pid} lives");
    }
}
