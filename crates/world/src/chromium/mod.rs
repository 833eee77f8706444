//! The local browser itself: one Chromium, driven over a pipe in the Chrome DevTools Protocol.
//! Nothing above this module knows that protocol, or what Chromium calls its tabs.
//!
//! No TCP port is ever opened for it: any user of the computer could attach there.
//! What is to be done, when, and for whom is `hall::browser`. Source: contract chapter 7.

mod accessibility_tree;
mod agent_tools;
mod browser_commands;
mod click_count;
mod devtools_pipe;
mod element_location;
mod event_inbox;
mod executable_search;
mod input_events;
mod isolated_scripts;
mod keys;
mod launch;
mod page_events;
mod protocol_events;
mod target_registry;

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use guildhall_domain::{
    browser::{DisplayMode, ToolDenial},
    limits::CDP_GARBAGE_MESSAGES_MAX,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{mpsc, watch},
};

pub use agent_tools::{
    ConsoleLine, DispatchOutcome, NavigationResult, PageSnapshot, TextCondition,
};
pub use browser_commands::{HistoryNavigation, ScreenshotOptions};
pub use event_inbox::{BrowserEvent, EventReceiver, ScreencastFrame};
pub use executable_search::{
    ProfileError, SearchPaths, can_be_sandboxed, executable, has_display, profile,
};
pub use launch::{ChromiumLaunch, launch};

use self::{
    devtools_pipe::{DevtoolsClient, DevtoolsMessage, MessageReader, PipeRead},
    event_inbox::EventInbox,
    protocol_events::ProtocolEventHandler,
    target_registry::TargetRegistry,
};

/// Why the browser did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrowserError {
    /// It is gone.
    #[error("the browser is gone")]
    Gone,
    /// It did not answer in time; what was asked for may happen still.
    #[error("the browser did not answer in time")]
    Timeout,
    /// There is no such tab any more.
    #[error("there is no such tab")]
    NoTab,
    /// The tab shows no dialog, or asks for no password.
    #[error("nothing waits for an answer")]
    NothingAsked,
    /// It said no; holds its reason.
    #[error("the browser refused: {0}")]
    Refused(String),
    /// It is not for agents.
    #[error("{}", .0.code())]
    Denied(ToolDenial),
}

impl From<ToolDenial> for BrowserError {
    fn from(denied: ToolDenial) -> Self {
        Self::Denied(denied)
    }
}

/// A running browser. Cheap to clone; all clones share it.
///
/// Every question waits at most [`guildhall_domain::limits::CDP_CALL_MAX_S`] seconds.
#[derive(Clone, Debug)]
pub struct Chromium {
    shared: Arc<ChromiumState>,
}

/// What all clones and the listener share.
#[derive(Debug)]
struct ChromiumState {
    wire: DevtoolsClient,
    book: TargetRegistry,
    mailbox: Arc<EventInbox>,
    mode: DisplayMode,
    /// Turns true when the process shall end at once.
    stop: watch::Sender<bool>,
}

/// How a browser ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChromiumExit {
    /// Its exit code, 128 and the signal when one ended it; `None` when nobody knows.
    pub code: Option<i32>,
    /// Whether it wrote what is not the protocol, and was ended for it.
    pub is_garbage: bool,
    /// The end of its standard error, to explain why.
    pub last_words: String,
}

/// Drives the browser until it has ended and nothing of its tree lives any more.
/// Must be polled for anything to happen; dropped, it lets the keeper end the process.
#[must_use = "nothing happens unless it is driven"]
pub struct ChromiumDriver(Pin<Box<dyn Future<Output = ChromiumExit> + Send>>);

impl fmt::Debug for ChromiumDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Running")
    }
}

impl Future for ChromiumDriver {
    type Output = ChromiumExit;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ChromiumExit> {
        self.0.as_mut().poll(cx)
    }
}

/// Speaks with a browser at the other end of two pipes, whoever started it: what [`launch`] does
/// with a process, and tests with a script.
pub fn over(
    mode: DisplayMode,
    from: impl AsyncRead + Unpin + Send + 'static,
    to: impl AsyncWrite + Unpin + Send + 'static,
) -> (Chromium, EventReceiver, ChromiumDriver) {
    let (chromium, happenings, written) = connect(mode);
    let shared = Arc::clone(&chromium.shared);
    let running = ChromiumDriver(Box::pin(async move {
        let is_garbage = talk(&shared, written, from, to).await;
        ChromiumExit {
            code: None,
            is_garbage,
            last_words: String::new(),
        }
    }));
    (chromium, happenings, running)
}

fn connect(mode: DisplayMode) -> (Chromium, EventReceiver, mpsc::Receiver<Vec<u8>>) {
    let (wire, written) = DevtoolsClient::new();
    let mailbox = Arc::new(EventInbox::default());
    let shared = Arc::new(ChromiumState {
        wire,
        book: TargetRegistry::default(),
        mailbox: Arc::clone(&mailbox),
        mode,
        stop: watch::Sender::new(false),
    });
    (Chromium { shared }, EventReceiver(mailbox), written)
}

/// Ends everybody's waiting, also when nobody drives the browser any more.
struct BrowserEndNotifier<'a>(&'a ChromiumState);

impl Drop for BrowserEndNotifier<'_> {
    fn drop(&mut self) {
        self.0.wire.close();
        self.0.mailbox.close();
    }
}

/// Talks until either side ends it; answers whether it was ended for garbage.
async fn talk(
    shared: &Arc<ChromiumState>,
    written: mpsc::Receiver<Vec<u8>>,
    from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin,
) -> bool {
    let _over = BrowserEndNotifier(shared);
    let mut stop = shared.stop.subscribe();
    tokio::select! {
        is_garbage = listen(shared, from) => is_garbage,
        // Nobody reads what is said, so it is over as soon as nothing is heard either; but what
        // ended it may still be in the other pipe.
        () = async {
            devtools_pipe::write_all(to, written).await;
            std::future::pending::<()>().await;
        } => false,
        // An error means that every handle is gone, which is a stop as well.
        _ = stop.wait_for(|stop| *stop) => false,
    }
}

/// Hears everything, and does what each message asks for.
async fn listen(shared: &Arc<ChromiumState>, from: impl AsyncRead + Unpin) -> bool {
    let mut messages = MessageReader::new(from);
    let mut listener = ProtocolEventHandler::new(Arc::clone(shared));
    let mut garbage = 0;
    loop {
        let heard = tokio::select! {
            heard = messages.next() => heard,
            () = listener.work() => continue,
        };
        let Some(heard) = heard else {
            return false;
        };
        let bytes = match heard {
            PipeRead::Message(bytes) => bytes,
            PipeRead::TooLong => Vec::new(),
        };
        let Some(message) = DevtoolsMessage::parse(&bytes) else {
            garbage += 1;
            if garbage == CDP_GARBAGE_MESSAGES_MAX {
                return true;
            }
            continue;
        };
        garbage = 0;
        if !shared.wire.resolve(&message) {
            listener.handle(&message).await;
        }
    }
}
