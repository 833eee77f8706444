//! What the browser is asked beside the actor, and what comes of it.

use guildhall_domain::{
    browser::{InputSteps, SavedTab, Viewport},
    ids::{BrowserConnectionId, TabId},
};
use guildhall_world::chromium::{BrowserError, Chromium, ScreencastFrame};

use super::{input_queue::InputWaiter, screencast::ViewRequest, screencast_capture::CaptureChange};

/// What came of a job.
pub(super) enum JobOutcome {
    /// Nothing that is not told by itself.
    Nothing,
    /// Tabs were opened: the one that is to be shared, and the one that is shown now.
    Opened {
        shared: Option<TabId>,
        shows: Option<TabId>,
    },
    /// The size of the window.
    Measured(Viewport),
    /// The process answered, or did not.
    Pinged(BrowserConnectionId, Result<(), BrowserError>),
    /// This is filmed by that process now; an error is what could not be.
    Filmed(
        BrowserConnectionId,
        Result<Option<ViewRequest>, ViewRequest>,
    ),
    /// Somebody's steps in a tab are done.
    Typed(TabId, InputWaiter, Result<(), BrowserError>),
}

/// What a page asks that nobody answered.
#[derive(Clone, Copy)]
pub(super) enum UnansweredPrompt {
    Dialog,
    Auth,
}

/// What a tab shows, or whether it is there at all, is told by the browser: what becomes of a
/// job is seen there, and an error adds nothing to it.
fn without_outcome(_: Result<(), BrowserError>) -> JobOutcome {
    JobOutcome::Nothing
}

pub(super) async fn close(chromium: Chromium) -> JobOutcome {
    chromium.close().await;
    JobOutcome::Nothing
}

pub(super) async fn new_tab(chromium: Chromium) -> JobOutcome {
    without_outcome(chromium.new_tab().await.map(|_| ()))
}

pub(super) async fn close_tab(chromium: Chromium, tab: TabId) -> JobOutcome {
    without_outcome(chromium.close_tab(tab).await)
}

pub(super) async fn select(chromium: Chromium, tab: TabId) -> JobOutcome {
    without_outcome(chromium.select(tab).await)
}

pub(super) async fn acknowledge(chromium: Chromium, frame: ScreencastFrame) -> JobOutcome {
    chromium.acknowledge_frame(&frame).await;
    JobOutcome::Nothing
}

/// Opens each in a tab of its own, the first one in the blank one there is.
pub(super) async fn open(
    chromium: Chromium,
    mut blank: Option<TabId>,
    tabs: Vec<SavedTab>,
) -> JobOutcome {
    let (mut shared, mut shows) = (None, None);
    for one in tabs {
        let tab = match blank.take() {
            Some(tab) => Ok(tab),
            None => chromium.new_tab().await,
        };
        // One tab too many, or a browser that is gone: the others have no better chance.
        let Ok(tab) = tab else { break };
        // What becomes of the load is told by the browser.
        let _ = chromium.navigate(tab, &one.address).await;
        shows = Some(tab);
        if one.shared {
            shared = Some(tab);
        }
    }
    JobOutcome::Opened { shared, shows }
}

pub(super) async fn ping(chromium: Chromium, id: BrowserConnectionId) -> JobOutcome {
    JobOutcome::Pinged(id, chromium.ping().await)
}

pub(super) async fn measure(chromium: Chromium, tab: TabId) -> JobOutcome {
    match chromium.window_size(tab).await {
        Ok(viewport) => JobOutcome::Measured(viewport),
        // It is measured again with the next ping.
        Err(_) => JobOutcome::Nothing,
    }
}

/// Films what is wanted instead of what was filmed.
pub(super) async fn change_capture(
    chromium: Chromium,
    id: BrowserConnectionId,
    change: CaptureChange,
) -> JobOutcome {
    if let Some(before) = change.before {
        // A tab that is gone is filmed no more.
        let _ = chromium.stop_screencast(before.tab).await;
    }
    let filmed = match change.wanted {
        None => Ok(None),
        Some(ask) => match chromium
            .start_screencast(ask.tab, ask.width, ask.height)
            .await
        {
            Ok(()) => Ok(Some(ask)),
            Err(_) => Err(ask),
        },
    };
    JobOutcome::Filmed(id, filmed)
}

pub(super) async fn input(
    chromium: Chromium,
    tab: TabId,
    steps: InputSteps,
    waits: InputWaiter,
) -> JobOutcome {
    let answer = chromium.input(tab, &steps).await;
    JobOutcome::Typed(tab, waits, answer)
}

/// Answers in place of a person who did not.
pub(super) async fn decline(
    chromium: Chromium,
    tab: TabId,
    question: UnansweredPrompt,
) -> JobOutcome {
    without_outcome(match question {
        UnansweredPrompt::Dialog => chromium.answer_dialog(tab, false, None).await,
        UnansweredPrompt::Auth => chromium.answer_auth(tab, None).await,
    })
}
