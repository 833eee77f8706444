//! From the start to the end of a process. Source: contract 7.3, 7.12 (5, 6, 7).

use guildhall_world::{
    chromium::{self, launch},
    process_tree::{ProcessTrees, SocketHolder},
    scratch::Scratch,
};

use super::{
    StartedChromium, kill, launch_in,
    loopback_site::{LoopbackSite, html},
    processes_of,
};
use crate::fake_agents::soon;

/// The inode of each TCP socket in one of these states, with its own port.
fn tcp_sockets(state: &str) -> Vec<(u16, u64)> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(std::fs::read_to_string);
    let rows = tables
        .iter()
        .flatten()
        .flat_map(|table| table.lines().skip(1));
    rows.filter_map(|row| {
        let fields: Vec<&str> = row.split_ascii_whitespace().collect();
        let port = fields[1].rsplit(':').next()?;
        let port = u16::from_str_radix(port, 16).ok()?;
        (fields[3] == state).then_some((port, fields[9].parse().ok()?))
    })
    .collect()
}

const NOBODY: [u32; 0] = [];
const LISTENING: &str = "0A";
const CONNECTED: &str = "01";

#[tokio::test]
async fn it_comes_up_on_the_pipe_with_one_blank_tab_and_no_port() {
    let Some(browser) = StartedChromium::open().await else {
        return;
    };
    let version = browser.version.clone().unwrap();
    assert!(version.contains("Chrome/"), "{version}");
    let tab = browser.tab();
    assert_eq!(browser.page(tab).url, "about:blank");
    for (port, inode) in tcp_sockets(LISTENING) {
        let holder = browser.trees.holder(inode).await;
        assert_ne!(holder, SocketHolder::Browser, "it listens at {port}");
    }
    browser.chromium.ping().await.unwrap();
    let home = browser.home.path().to_owned();
    let ended = browser.close().await;
    assert_eq!((ended.code, ended.is_garbage), (Some(0), false));
    assert_eq!(processes_of(&home, ""), NOBODY);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_page_asks_for_is_known_as_the_browsers() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let site = LoopbackSite::new().page("/held", html("<title>held</title>"));
    let tab = browser.tab();
    let address = guildhall_domain::browser::BrowserAddress::typed(&site.url("/held")).unwrap();
    browser.chromium.navigate(tab, &address).await.unwrap();
    let (trees, asked) = (browser.trees.clone(), &site.asked);
    let port = tokio::task::block_in_place(|| asked.recv().unwrap().from.port());
    let socket = tcp_sockets(CONNECTED).into_iter().find(|row| row.0 == port);
    assert_eq!(trees.holder(socket.unwrap().1).await, SocketHolder::Browser);
    site.release.send(()).unwrap();
    browser.until_title(tab, "held").await;
    browser.close().await;
}

#[tokio::test]
async fn killed_by_us_nothing_of_it_is_left() {
    let Some(browser) = StartedChromium::open().await else {
        return;
    };
    assert_ne!(browser.processes(), NOBODY);
    let home = browser.home.path().to_owned();
    browser.chromium.kill();
    let ended = soon(browser.running).await.unwrap();
    assert_eq!(ended.code, Some(137));
    assert_eq!(processes_of(&home, ""), NOBODY);
    assert!(browser.trees.is_empty());
}

#[tokio::test]
async fn killed_by_somebody_nothing_of_it_is_left_and_it_opens_again() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let all = processes_of(browser.home.path(), "--remote-debugging-pipe");
    let main = all.into_iter().min().unwrap();
    kill(main);
    while browser.happenings.next().await.is_some() {}
    let asked = browser.chromium.ping().await;
    assert_eq!(asked, Err(chromium::BrowserError::Gone));
    let ended = soon(browser.running).await.unwrap();
    assert_eq!(ended.code, Some(137));
    assert_eq!(processes_of(browser.home.path(), ""), NOBODY);
    let lock = browser.home.path().join("profile/SingletonLock");
    assert!(lock.symlink_metadata().is_ok(), "it left its lock");
    let again = StartedChromium::open_in(browser.home).await.unwrap();
    assert_eq!(again.close().await.code, Some(0));
}

#[tokio::test]
async fn one_that_nobody_drives_any_more_ends() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let home = browser.home.path().to_owned();
    browser.running.abort();
    while browser.happenings.next().await.is_some() {}
    for pid in processes_of(&home, "") {
        let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
        let Ok(handle) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
        else {
            continue;
        };
        let patience = rustix::event::Timespec::try_from(super::A_WHILE).unwrap();
        let mut watched = [rustix::event::PollFd::new(
            &handle,
            rustix::event::PollFlags::IN,
        )];
        assert_eq!(rustix::event::poll(&mut watched, Some(&patience)), Ok(1));
    }
}

#[tokio::test]
async fn a_profile_in_use_is_known_and_a_second_browser_does_not_start() {
    let Some(browser) = StartedChromium::open().await else {
        return;
    };
    let profile = browser.home.path().join("profile");
    let refused = chromium::profile(&profile);
    assert!(matches!(refused, Err(chromium::ProfileError::InUse)));
    browser.close().await;
    chromium::profile(&profile).unwrap();
}

#[tokio::test]
async fn a_program_that_is_none_says_so_at_its_end() {
    let home = Scratch::new("chromium");
    let ask = launch_in(
        home.path(),
        home.path().join("none"),
        &ProcessTrees::default(),
    );
    let (_, mut happenings, running) = launch(&ask).await.unwrap();
    let ended = soon(running).await;
    assert_eq!(ended.code, Some(127));
    assert!(ended.last_words.contains("could not be started"));
    assert_eq!(happenings.next().await, None);
}
