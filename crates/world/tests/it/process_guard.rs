//! Nothing of an agent's tree outlives its end, however it comes. Source: contract 3.12 (10).

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use guildhall_domain::ids::AgentId;
use guildhall_world::acp::{ExitCause, launch};

use crate::fake_agents::{FakeAgentProcess, PATIENCE, launch_of, lives, puppet, soon};

/// A keeper of a shell that runs `script`, as a server starts one.
fn kept(script: &str) -> (Child, impl Iterator<Item = String>) {
    let mut keeper = Command::new(puppet())
        .args(["keeper", "--", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    keeper.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    let lines = BufReader::new(keeper.stdout.take().unwrap()).lines();
    (keeper, lines.map_while(Result::ok))
}

fn pids(lines: &mut impl Iterator<Item = String>, count: usize) -> Vec<u32> {
    lines
        .take(count)
        .map(|line| line.trim().parse().unwrap())
        .collect()
}

#[test]
fn a_keeper_ends_with_the_code_of_its_agent() {
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)] {
        let (mut keeper, _) = kept(script);
        assert_eq!(keeper.wait().unwrap().code(), Some(code), "{script}");
    }
}

#[test]
fn what_is_kept_is_called_by_the_name_it_was_found_by() {
    for (words, expected) in [(&["--name", "/links/tool"][..], "/links/tool"), (&[], "sh")] {
        let mut keeper = Command::new(puppet())
            .arg("keeper")
            .args(words)
            .args(["--", "sh", "-c", "echo \"$0\""])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        keeper.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let told = keeper.wait_with_output().unwrap().stdout;
        assert_eq!(String::from_utf8(told).unwrap().trim(), expected);
    }
}

#[test]
fn an_agent_does_not_begin_before_the_server_says_so() {
    let mut keeper = Command::new(puppet())
        .args(["keeper", "--", "sh", "-c", "exit 7"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // Without a word of ours there is no agent, and so no code of it.
    drop(keeper.stdin.take());
    assert_eq!(keeper.wait().unwrap().code(), Some(0));
}

#[test]
fn who_left_its_group_and_lost_its_parent_dies_with_the_agent() {
    let (mut keeper, mut lines) = kept(
        "setsid sh -c 'echo $$; (sh -c \"echo \\$\\$; exec sleep 600\" &) ; exec sleep 600' & \
         (env -i setsid sleep 600 & echo $!); read word; exit 4",
    );
    let below = pids(&mut lines, 3);
    keeper.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    assert_eq!(keeper.wait().unwrap().code(), Some(4));
    assert!(below.iter().all(|pid| !lives(*pid)), "{below:?}");
}

#[test]
fn a_closed_pipe_ends_an_agent_that_listens_to_nothing() {
    let (mut keeper, mut lines) = kept(
        "trap '' TERM HUP INT; echo $$; (sh -c 'echo $$; exec sleep 600' &); \
         while :; do sleep 1; done",
    );
    let below = pids(&mut lines, 2);
    drop(keeper.stdin.take());
    assert_eq!(keeper.wait().unwrap().code(), Some(137));
    assert!(below.iter().all(|pid| !lives(*pid)), "{below:?}");
}

#[test]
fn an_agent_that_ends_with_its_input_is_given_the_time() {
    let (mut keeper, mut lines) = kept("echo up; cat; exit 5");
    assert_eq!(lines.next().as_deref(), Some("up"));
    drop(keeper.stdin.take());
    assert_eq!(keeper.wait().unwrap().code(), Some(5));
}

/// The server is a puppet's shell here, which starts a keeper and is killed.
#[test]
fn a_killed_server_leaves_nothing_alive() {
    let script = format!(
        "mkfifo \"$0\"; {puppet} keeper -- sh -c 'trap \"\" TERM; echo $$; \
         exec 3<>/proc/self/fd/0; while :; do sleep 1; done' < \"$0\" & \
         exec 4>\"$0\"; echo $!; echo >&4; wait",
        puppet = puppet().display()
    );
    let fifo = std::env::temp_dir().join(format!("guildhall-fifo-{}", std::process::id()));
    let mut server = Command::new("sh")
        .arg("-c")
        .arg(script)
        .arg(&fifo)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let below = pids(&mut lines, 2);
    std::fs::remove_file(&fifo).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    for pid in below {
        wait_for_end_of(pid);
    }
}

#[tokio::test]
async fn the_end_of_an_agent_is_noticed_whoever_brings_it_about() {
    let puppet = FakeAgentProcess::open().await;
    let keeper = puppet.link.guard_pid();
    kill(child_of(keeper));
    let ended = puppet.ended().await;
    assert_eq!((ended.kind, ended.code), (ExitCause::Exited, Some(137)));
    assert!(!lives(keeper));
}

#[tokio::test]
async fn a_killed_keeper_leaves_nothing_alive_that_carries_the_agents_token() {
    let mut ask = launch_of(puppet(), &["agent"]);
    let token = format!("gha_of_{}", std::process::id());
    ask.env.push(("GUILDHALL_AGENT_TOKEN".to_owned(), token));
    let puppet = FakeAgentProcess::start(ask).await;
    puppet.greet().await;
    let keeper = puppet.link.guard_pid();
    let agent = child_of(keeper);
    kill(keeper);
    let ended = puppet.ended().await;
    assert_eq!((ended.kind, ended.code), (ExitCause::Lost, Some(137)));
    assert!(!lives(agent));
}

#[tokio::test]
async fn a_keeper_that_nobody_drives_any_more_stands_in_the_trees_until_its_end() {
    let mut ask = launch_of("sh".into(), &["-c", "trap '' TERM; read word; sleep 600"]);
    ask.agent = Some(AgentId::from_bytes([1; 16]));
    let trees = ask.trees.clone();
    let (link, heard, running) = launch(ask).await.unwrap();
    let keeper = link.guard_pid();
    drop((link, heard, running));
    assert!(!trees.is_empty(), "its agent may live for two graces");
    wait_for_end_of(keeper);
    assert!(trees.is_empty());
}

#[tokio::test]
async fn a_keeper_stands_in_the_trees_as_long_as_it_lives() {
    let mut ask = launch_of(puppet(), &["agent"]);
    ask.agent = Some(AgentId::from_bytes([1; 16]));
    let trees = ask.trees.clone();
    assert!(trees.is_empty());
    let puppet = FakeAgentProcess::start(ask).await;
    assert!(!trees.is_empty());
    puppet.link.stop();
    soon(puppet.ended()).await;
    assert!(trees.is_empty());
}

/// Waits until a process that is no child of ours has ended.
fn wait_for_end_of(pid: u32) {
    use rustix::{event, process};
    let pid = process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    // One that is not there has ended.
    if let Ok(handle) = process::pidfd_open(pid, process::PidfdFlags::empty()) {
        let patience = event::Timespec::try_from(PATIENCE).unwrap();
        let mut watched = [event::PollFd::new(&handle, event::PollFlags::IN)];
        assert_eq!(event::poll(&mut watched, Some(&patience)), Ok(1), "{pid:?}");
    }
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// The one child of a process.
fn child_of(parent: u32) -> u32 {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .find(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let after = stat.rsplit(") ").next().unwrap_or_default().to_owned();
            after.split(' ').nth(1) == Some(&parent.to_string())
        })
        .expect("a child")
}
