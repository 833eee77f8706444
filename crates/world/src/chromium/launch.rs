//! Starting Chromium: below a keeper, in a group of its own, with a clean environment.
//! Source: contract 7.3, "Launch item".

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use guildhall_domain::browser::{DisplayMode, Viewport};
use tokio::time::timeout;

use super::{Chromium, ChromiumDriver, ChromiumExit, EventReceiver, connect, talk};
use crate::{
    enclosure::Enclosure,
    guarded_process::{GuardedLaunch, GuardedProcess, StdioPipes},
    ids,
    process_guard::GuardCommand,
    process_tree::{ProcessTrees, TreeOwner},
    stderr_tail::StderrTail,
};

/// Bytes of its standard error that are kept.
const TAIL_BYTES_MAX: usize = 8 * 1_024;
/// How long it may take to end by itself once it says nothing more.
const LEAVING_MAX: Duration = Duration::from_secs(2);
/// The variable by which what a killed keeper left behind is found.
const MARK: &str = "LOCAL_BROWSER_MARK";

/// What is started, and how.
#[derive(Clone, Debug)]
pub struct ChromiumLaunch {
    /// The executable, see [`super::executable`].
    pub program: PathBuf,
    /// The folder of its profile, see [`super::profile`]; both modes share it.
    pub profile: PathBuf,
    /// Where it is shown.
    pub mode: DisplayMode,
    /// The size of an embedded page, or of a window.
    pub viewport: Viewport,
    /// Its complete environment, see [`crate::process_environment::of_browser`].
    pub env: Vec<(String, String)>,
    /// Whether its sandbox is switched off: only where a person said so.
    pub is_unsandboxed: bool,
    /// A port that nothing in it reaches, whatever name or address stands before it.
    pub walled_port: Option<u16>,
    /// What it is kept from, see [`Enclosure::of_browser`].
    pub enclosure: Enclosure,
    /// What keeps it.
    pub keeper: GuardCommand,
    /// Where its connections are known by.
    pub trees: ProcessTrees,
}

/// Starts Chromium below a keeper. It has a tab when [`super::BrowserEvent::Ready`] is told.
///
/// It is killed with all it started as soon as the server is gone, [`ChromiumDriver`] is dropped or
/// [`Chromium::kill`] is called. A program that does not exist shows as [`ChromiumExit`] with code 127.
///
/// # Errors
/// When the keeper cannot be started.
pub async fn launch(
    launch: &ChromiumLaunch,
) -> io::Result<(Chromium, EventReceiver, ChromiumDriver)> {
    let secret = ids::new();
    let mut env = launch.env.clone();
    env.push((MARK.to_owned(), secret.to_string()));
    let args = arguments(launch);
    let start = GuardedLaunch {
        program: &launch.program,
        name: None,
        args: &args,
        cwd: Path::new("/"),
        env: &env,
        keeper: &launch.keeper,
        enclosure: &launch.enclosure,
        whose: TreeOwner::Browser,
        trees: &launch.trees,
        mark: Some(format!("{MARK}={secret}")),
        // It was asked to close before; who is asked no more is killed at once.
        grace: Duration::ZERO,
        is_at_pipes: true,
    };
    let (process, pipes) = GuardedProcess::start(&start).await?;
    let (chromium, happenings, written) = connect(launch.mode);
    let shared = Arc::clone(&chromium.shared);
    if launch.mode == DisplayMode::Embedded {
        shared.book.open().viewport = Some(launch.viewport);
    }
    let running = ChromiumDriver(Box::pin(async move {
        let StdioPipes {
            mut stdin,
            stdout,
            stderr,
        } = pipes;
        let tail = StderrTail::keeping(TAIL_BYTES_MAX);
        let mut is_garbage = false;
        let talk = async {
            let mut stop = shared.stop.subscribe();
            is_garbage = talk(&shared, written, stdout, &mut stdin).await;
            if !is_garbage {
                // It is about to end by itself, and how is worth knowing: our own end of the pipe
                // is what it would be killed for. That it stopped or that it hangs is the same.
                let _ = timeout(LEAVING_MAX, stop.wait_for(|stop| *stop)).await;
            }
            drop(stdin);
        };
        let over = process.wait_until_ended(talk, || {}, &tail, stderr).await;
        ChromiumExit {
            code: over.code,
            is_garbage,
            last_words: tail.plain_text(),
        }
    }));
    Ok((chromium, happenings, running))
}

fn arguments(launch: &ChromiumLaunch) -> Vec<String> {
    let mut args: Vec<String> = [
        "--remote-debugging-pipe",
        "--no-first-run",
        "--no-default-browser-check",
        "--password-store=basic",
        "--disable-background-networking",
        "--disable-sync",
        "--disable-extensions",
        // What a page had in memory shall not be written down when it crashes.
        "--disable-breakpad",
        // A page that is brought back from the cache tells nothing of itself.
        "--disable-features=Translate,BackForwardCache",
    ]
    .map(str::to_owned)
    .into();
    args.push(format!("--user-data-dir={}", launch.profile.display()));
    let Viewport { width, height, .. } = launch.viewport;
    args.push(format!("--window-size={width},{height}"));
    if launch.mode == DisplayMode::Embedded {
        args.push("--headless=new".to_owned());
    }
    if launch.is_unsandboxed {
        args.push("--no-sandbox".to_owned());
    }
    if let Some(port) = launch.walled_port {
        args.push(format!("--host-resolver-rules=MAP *:{port} ~NOTFOUND"));
    }
    // The page of a new tab would ask the network at once.
    args.push("about:blank".to_owned());
    args
}
