//! `guildhall browser`: the local browser of this computer, from the terminal.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{
    cli_context::CliContext,
    downloads::DownloadTarget,
    failure::Failure,
    http_client::HttpResponse,
    output::{CellSource, TableLayout},
    request_bodies,
    request_target::RequestTarget,
    terminal_input,
};

/// What one does with the local browser.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Shows what the browser is now, and its tabs
    #[command(after_help = "Example:\n  guildhall browser state")]
    State,
    /// Opens the browser, and waits until it is
    #[command(
        after_help = "Examples:\n  guildhall browser open\n  guildhall browser open https://example.org --window"
    )]
    Open(OpenBrowserArgs),
    /// Looks for the browser's program
    #[command(after_help = "Example:\n  guildhall browser prepare")]
    Prepare(PrepareArgs),
    /// Closes the browser
    #[command(after_help = "Example:\n  guildhall browser close")]
    Close,
    /// Shares a tab with a session, or no tab any more
    #[command(
        after_help = "Examples:\n  guildhall browser share 01920000-0000-7000-8000-000000000000\n  guildhall browser share none"
    )]
    Share(ShareArgs),
    /// Refuses agents' tools for the browser, or lets them on
    #[command(
        after_help = "Examples:\n  guildhall browser pause on\n  guildhall browser pause off"
    )]
    Pause(PauseArgs),
    /// Opens a tab at the end, and shows it
    #[command(after_help = "Example:\n  guildhall browser tab https://example.org")]
    Tab(NewTabArgs),
    /// Shows a tab
    #[command(
        after_help = "Example:\n  guildhall browser select 01920000-0000-7000-8000-000000000000"
    )]
    Select(TabArg),
    /// Closes a tab
    #[command(
        after_help = "Example:\n  guildhall browser close-tab 01920000-0000-7000-8000-000000000000"
    )]
    CloseTab(TabArg),
    /// Sends a tab to an address, or back, forward, reload or stop
    #[command(
        after_help = "Examples:\n  guildhall browser go 01920000-0000-7000-8000-000000000000 https://example.org\n  guildhall browser go 01920000-0000-7000-8000-000000000000 --action back"
    )]
    Go(NavigateArgs),
    /// Does steps of mouse and keyboard in a tab, as JSON
    #[command(
        after_help = "Example:\n  guildhall browser input 01920000-0000-7000-8000-000000000000 '[{\"type\":\"text\",\"text\":\"hello\"}]'"
    )]
    Input(InputArgs),
    /// Gives pages another size
    #[command(
        after_help = "Example:\n  guildhall browser resize 01920000-0000-7000-8000-000000000000 1280 800"
    )]
    Resize(ResizeArgs),
    /// Answers the dialog that a tab shows
    #[command(
        after_help = "Examples:\n  guildhall browser dialog 01920000-0000-7000-8000-000000000000 yes\n  guildhall browser dialog 01920000-0000-7000-8000-000000000000 yes --text Ada"
    )]
    Dialog(AnswerDialogArgs),
    /// Answers a tab's request for a name and a password, which is read and never shown
    #[command(
        after_help = "Examples:\n  guildhall browser auth 01920000-0000-7000-8000-000000000000 ada\n  guildhall browser auth 01920000-0000-7000-8000-000000000000 --cancel"
    )]
    Auth(AnswerAuthArgs),
    /// Prints the text that is selected in a tab
    #[command(
        after_help = "Example:\n  guildhall browser selection 01920000-0000-7000-8000-000000000000"
    )]
    Selection(TabArg),
    /// Takes a picture of a tab
    #[command(
        after_help = "Example:\n  guildhall browser screenshot 01920000-0000-7000-8000-000000000000 --out page.jpeg"
    )]
    Screenshot(ScreenshotArgs),
}

/// How to open it.
#[derive(Clone, Debug, Args)]
pub(crate) struct OpenBrowserArgs {
    /// In a window of its own, and not in the page
    #[arg(long)]
    window: bool,
    /// The session a tab is shared with; without it no session shares one any more
    #[arg(long, value_name = "SESSION")]
    share: Option<String>,
    /// What to open
    // Not called `url`: that is the server's, in every command.
    #[arg(value_name = "URL")]
    page: Option<String>,
    /// How long to wait until it is open, 0 to 60
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=60))]
    wait: u32,
}

/// Whether to fetch it.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct PrepareArgs {
    /// Fetch it from the network when there is none and that is possible
    #[arg(long)]
    download: bool,
}

/// With whom, and what.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShareArgs {
    /// The session, or none
    session: String,
    /// The tab [default: the one that is shown]
    #[arg(long)]
    tab: Option<String>,
}

/// Whether agents' tools are refused.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct PauseArgs {
    /// Refuse them, or let them on
    switch: AgentToolsSwitch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AgentToolsSwitch {
    On,
    Off,
}

/// What the tab shows.
#[derive(Clone, Debug, Args)]
pub(crate) struct NewTabArgs {
    /// An address [default: a blank page]
    #[arg(value_name = "URL")]
    page: Option<String>,
}

/// A tab.
#[derive(Clone, Debug, Args)]
pub(crate) struct TabArg {
    /// Its id
    tab: String,
}

/// Where a tab goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct NavigateArgs {
    /// The tab
    tab: String,
    /// An address
    #[arg(
        value_name = "URL",
        required_unless_present = "action",
        conflicts_with = "action"
    )]
    page: Option<String>,
    /// A way along its history
    #[arg(long)]
    action: Option<NavigationAction>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NavigationAction {
    Back,
    Forward,
    Reload,
    Stop,
}

/// What is done in a tab.
#[derive(Clone, Debug, Args)]
pub(crate) struct InputArgs {
    /// The tab
    tab: String,
    /// The steps: a list of objects with a type
    steps: String,
}

/// How large pages are.
#[derive(Clone, Debug, Args)]
pub(crate) struct ResizeArgs {
    /// A tab
    tab: String,
    /// CSS pixels
    width: u32,
    /// CSS pixels
    height: u32,
    /// Physical pixels of one of them
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
}

/// What is answered.
#[derive(Clone, Debug, Args)]
pub(crate) struct AnswerDialogArgs {
    /// The tab
    tab: String,
    /// Yes or no
    answer: DialogAnswer,
    /// What goes into its field
    #[arg(long)]
    text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DialogAnswer {
    Yes,
    No,
}

/// Who one is there.
#[derive(Clone, Debug, Args)]
pub(crate) struct AnswerAuthArgs {
    /// The tab
    tab: String,
    /// The name
    #[arg(required_unless_present = "cancel", conflicts_with = "cancel")]
    username: Option<String>,
    /// No answer at all
    #[arg(long)]
    cancel: bool,
}

/// Of what, and where to.
#[derive(Clone, Debug, Args)]
pub(crate) struct ScreenshotArgs {
    /// The tab
    tab: String,
    #[command(flatten)]
    place: DownloadTarget,
}

/// The tabs, which are most of what a person asks for.
const STATE: TableLayout = TableLayout {
    list: None,
    id: "/connectionId",
    columns: &[
        ("Status", CellSource::At("/status")),
        ("Mode", CellSource::At("/mode")),
        ("Preparation", CellSource::At("/preparation/stage")),
        ("Shared with", CellSource::At("/sessionId")),
        ("Paused", CellSource::At("/paused")),
        ("Selected tab", CellSource::At("/selectedTabId")),
        ("Error", CellSource::At("/lastError/message")),
    ],
};

const TABS: TableLayout = TableLayout {
    list: Some("tabs"),
    id: "/id",
    columns: &[
        ("TITLE", CellSource::At("/title")),
        ("ADDRESS", CellSource::At("/url")),
        ("SHARED", CellSource::At("/shared")),
        ("ID", CellSource::At("/id")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    let (target, body) = match verb {
        Verb::State => return show(desk, &desk.get(&browser()).await?),
        Verb::Open(ask) => return open(desk, ask).await,
        Verb::Selection(ask) => return selection(desk, &ask).await,
        Verb::Screenshot(ask) => return screenshot(desk, &ask).await,
        Verb::CloseTab(ask) => return show(desk, &desk.delete(&tab(&ask.tab), None).await?),
        Verb::Prepare(ask) => {
            let body = json!({"download": ask.download});
            (browser().push_segment("prepare"), body)
        }
        Verb::Close => (browser().push_segment("close"), json!({})),
        Verb::Share(ask) => {
            let mut body = request_bodies::only_given(json!({"tabId": ask.tab}));
            body["sessionId"] = match ask.session.as_str() {
                "none" => Value::Null,
                session => session.into(),
            };
            (browser().push_segment("share"), body)
        }
        Verb::Pause(ask) => {
            let body = json!({"paused": ask.switch == AgentToolsSwitch::On});
            (browser().push_segment("pause"), body)
        }
        Verb::Tab(ask) => {
            let body = request_bodies::only_given(json!({"url": ask.page}));
            (browser().push_segment("tabs"), body)
        }
        Verb::Select(ask) => (tab(&ask.tab).push_segment("select"), json!({})),
        Verb::Go(ask) => {
            let action = ask.action.map(|action| match action {
                NavigationAction::Back => "back",
                NavigationAction::Forward => "forward",
                NavigationAction::Reload => "reload",
                NavigationAction::Stop => "stop",
            });
            let body = request_bodies::only_given(json!({"url": ask.page, "action": action}));
            (tab(&ask.tab).push_segment("navigate"), body)
        }
        Verb::Input(ask) => (
            tab(&ask.tab).push_segment("input"),
            steps(desk, &ask).await?,
        ),
        Verb::Resize(ask) => {
            let body = json!({"width": ask.width, "height": ask.height, "scale": ask.scale});
            (tab(&ask.tab).push_segment("viewport"), body)
        }
        Verb::Dialog(ask) => {
            let accept = ask.answer == DialogAnswer::Yes;
            let body = request_bodies::only_given(json!({"accept": accept, "text": ask.text}));
            (tab(&ask.tab).push_segment("dialog"), body)
        }
        Verb::Auth(ask) => {
            let body = match ask.username {
                Some(username) => {
                    let password = terminal_input::secret("Password")?;
                    json!({"username": username, "password": password})
                }
                None => json!({"cancel": true}),
            };
            (tab(&ask.tab).push_segment("auth"), body)
        }
    };
    show(desk, &desk.post_with_new_key(&target, Some(&body)).await?)
}

async fn open(desk: &CliContext, ask: OpenBrowserArgs) -> Result<(), Failure> {
    let mode = if ask.window { "window" } else { "embedded" };
    let body =
        request_bodies::only_given(json!({"mode": mode, "sessionId": ask.share, "url": ask.page}));
    let target = browser().push_segment("open");
    let answer = desk.post_and_wait(&target, &body, ask.wait).await?;
    show(desk, &answer)?;
    let state: Value = answer.json()?;
    match (state["status"].as_str(), ask.wait) {
        (Some("connected"), _) | (_, 0) => Ok(()),
        (Some("failed"), _) => {
            let why = state["lastError"]["message"].as_str();
            Err(Failure::Declined(
                why.unwrap_or("The browser did not open.").to_owned(),
            ))
        }
        _ => Err(Failure::Declined(format!(
            "The browser is not open after {} s; `guildhall browser state` shows how far it is.",
            ask.wait
        ))),
    }
}

fn show(desk: &CliContext, answer: &HttpResponse) -> Result<(), Failure> {
    desk.output.show(answer, &STATE)?;
    if desk.output.is_for_people() {
        desk.output.show(answer, &TABS)?;
    }
    Ok(())
}

/// The steps, for the process that runs now.
async fn steps(desk: &CliContext, ask: &InputArgs) -> Result<Value, Failure> {
    let steps: Value = serde_json::from_str(&ask.steps)
        .map_err(|error| Failure::Usage(format!("the steps are no JSON: {error}.")))?;
    let state: Value = desk.get(&browser()).await?.json()?;
    Ok(json!({"connectionId": state["connectionId"], "steps": steps}))
}

async fn selection(desk: &CliContext, ask: &TabArg) -> Result<(), Failure> {
    let answer = desk.get(&tab(&ask.tab).push_segment("selection")).await?;
    let selected: Value = answer.json()?;
    match selected["text"].as_str() {
        Some(text) if desk.output.is_for_people() => desk.output.content(text),
        _ => desk.output.body(&answer.body),
    }
}

async fn screenshot(desk: &CliContext, ask: &ScreenshotArgs) -> Result<(), Failure> {
    let mut arriving = ask.place.open()?;
    let mut opened = desk.open(&tab(&ask.tab).push_segment("screenshot")).await?;
    while let Some(bytes) = opened.next().await? {
        arriving.write(&bytes)?;
    }
    if let Some(path) = arriving.keep()? {
        let path = path.display();
        desk.output.done(&format!("The picture is in {path}."))?;
    }
    Ok(())
}

fn browser() -> RequestTarget {
    RequestTarget::new("/api/local-browser")
}

fn tab(id: &str) -> RequestTarget {
    browser().push_segment("tabs").push_segment(id)
}
