//! Chromium itself, without a window, and the pages of a site on loopback.

mod agent_tools;
mod lifecycle;
mod loopback_site;
mod pages;
mod scripted_devtools_peer;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use guildhall_domain::{
    browser::{BrowserAddress, DisplayMode, PageState, Viewport},
    ids::TabId,
};
use guildhall_world::{
    chromium::{
        self, BrowserEvent, Chromium, ChromiumDriver, ChromiumExit, ChromiumLaunch, EventReceiver,
        ScreencastFrame, SearchPaths, launch,
    },
    enclosure::Enclosure,
    process_environment,
    process_guard::GuardCommand,
    process_tree::ProcessTrees,
    scratch::Scratch,
};
use tokio::task::JoinHandle;

use crate::fake_agents::{puppet, soon};

/// How long an action of a page may wait for something.
const A_WHILE: Duration = Duration::from_secs(20);

/// The executable, or `None` with a word about it where there is none to test with.
#[expect(clippy::print_stdout, reason = "a test that does not run says so")]
fn executable() -> Option<PathBuf> {
    let named = std::env::var_os("GUILDHALL_CHROMIUM").filter(|named| !named.is_empty());
    let found = chromium::executable(&SearchPaths {
        configured: named.map(PathBuf::from),
        path: std::env::var_os("PATH"),
        fetched: None,
    });
    match found {
        Ok(program) => Some(program),
        Err(searched) if std::env::var_os("CI").is_some_and(|ci| ci == "true") => {
            panic!("Chromium is not installed: {searched:?}")
        }
        Err(_) => {
            println!("skipped: Chromium not installed");
            None
        }
    }
}

/// A running browser as a test meets it, with what it has told.
struct StartedChromium {
    chromium: Chromium,
    happenings: EventReceiver,
    running: JoinHandle<ChromiumExit>,
    trees: ProcessTrees,
    /// Its home, profile included.
    home: Scratch,
    version: Option<String>,
    tabs: BTreeMap<TabId, (Option<TabId>, PageState)>,
    frames: Vec<ScreencastFrame>,
}

fn launch_in(home: &Path, program: PathBuf, trees: &ProcessTrees) -> ChromiumLaunch {
    let mut server = process_environment::of_server();
    server.insert("HOME".to_owned(), home.display().to_string());
    ChromiumLaunch {
        program,
        profile: home.join("profile"),
        mode: DisplayMode::Embedded,
        viewport: Viewport::default(),
        env: process_environment::of_browser(&server),
        is_unsandboxed: !chromium::can_be_sandboxed(),
        walled_port: None,
        enclosure: Enclosure::disabled(),
        keeper: GuardCommand {
            program: puppet(),
            args: vec!["keeper".into()],
        },
        trees: trees.clone(),
    }
}

impl StartedChromium {
    /// A browser with one blank tab.
    async fn open() -> Option<Self> {
        Self::open_in(Scratch::new("chromium")).await
    }

    async fn open_in(home: Scratch) -> Option<Self> {
        let program = executable()?;
        let trees = ProcessTrees::default();
        let ask = launch_in(home.path(), program, &trees);
        chromium::profile(&ask.profile).unwrap();
        let (chromium, happenings, running) = launch(&ask).await.unwrap();
        let mut browser = Self::of(chromium, happenings, running, trees, home);
        browser
            .until(|browser| browser.version.is_some().then_some(()))
            .await;
        Some(browser)
    }

    #[expect(clippy::disallowed_methods, reason = "a test has no supervisor")]
    fn of(
        chromium: Chromium,
        happenings: EventReceiver,
        running: ChromiumDriver,
        trees: ProcessTrees,
        home: Scratch,
    ) -> Self {
        Self {
            chromium,
            happenings,
            running: tokio::spawn(running),
            trees,
            home,
            version: None,
            tabs: BTreeMap::new(),
            frames: Vec::new(),
        }
    }

    /// Hears what happens until something is true of it.
    async fn until<T>(&mut self, mut look: impl FnMut(&mut Self) -> Option<T>) -> T {
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            let happening = soon(self.happenings.next()).await;
            self.note(happening.expect("the browser goes on"));
        }
    }

    fn note(&mut self, happening: BrowserEvent) {
        match happening {
            BrowserEvent::Ready(version) => self.version = Some(version),
            BrowserEvent::TabOpened { tab, opener } => {
                self.tabs.insert(tab, (opener, PageState::default()));
            }
            BrowserEvent::TabChanged { tab, page } => {
                self.tabs.get_mut(&tab).expect("a tab that was told of").1 = page;
            }
            BrowserEvent::TabClosed(tab) => {
                self.tabs.remove(&tab);
            }
            BrowserEvent::Frame(frame) => self.frames.push(frame),
            // What is in it is told beside.
            BrowserEvent::NewDocument(_) => {}
            BrowserEvent::HumanInput(_) | BrowserEvent::Visible(_) => panic!("{happening:?}"),
        }
    }

    /// The only tab.
    fn tab(&self) -> TabId {
        assert_eq!(self.tabs.len(), 1, "{:?}", self.tabs);
        *self.tabs.keys().next().unwrap()
    }

    fn page(&self, tab: TabId) -> &PageState {
        &self.tabs[&tab].1
    }

    /// Goes somewhere, and waits for its title.
    async fn visit(&mut self, tab: TabId, url: &str, title: &str) {
        let address = BrowserAddress::typed(url).unwrap();
        self.chromium.navigate(tab, &address).await.unwrap();
        self.until_title(tab, title).await;
    }

    async fn until_title(&mut self, tab: TabId, title: &str) {
        self.until_page(tab, |page| page.title == title && !page.loading)
            .await;
    }

    async fn until_page(&mut self, tab: TabId, is_there: impl Fn(&PageState) -> bool) -> PageState {
        self.until(|browser| {
            let page = browser.tabs.get(&tab).map(|(_, page)| page);
            page.filter(|page| is_there(page)).cloned()
        })
        .await
    }

    /// Closes it, and answers how it ended.
    async fn close(self) -> ChromiumExit {
        self.chromium.close().await;
        soon(self.running).await.unwrap()
    }

    /// The number of every living process of its profile.
    fn processes(&self) -> Vec<u32> {
        processes_of(self.home.path(), "")
    }
}

/// Every living process whose command line names this folder and this word.
fn processes_of(home: &Path, word: &str) -> Vec<u32> {
    let home = home.display().to_string();
    let all = std::fs::read_dir("/proc").unwrap();
    all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            let is_keeper = line.contains("keeper");
            line.contains(&home) && line.contains(word) && !is_keeper
        })
        .filter(|pid| crate::fake_agents::lives(*pid))
        .collect()
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    // It may have ended by itself.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}
