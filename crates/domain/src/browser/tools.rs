//! What an agent asks for in a shared tab, and what it is answered. Whether it may is
//! `hall::browser` to say, how it is written `wire::browser`. Source: contract 7.8, "Tool".

use super::{BrowserAddress, MouseButton, ToolDenial};
use crate::{Error, Refusal, ids::TabId};

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BrowserTool {
    /// Lists the tabs within reach.
    Tabs,
    /// Reads a page.
    Snapshot,
    /// Takes a picture of a page.
    Screenshot,
    /// Sends a tab somewhere.
    Navigate,
    /// Clicks.
    Click,
    /// Points at something.
    Hover,
    /// Writes into a field.
    Type,
    /// Presses a key.
    PressKey,
    /// Chooses in a list.
    SelectOption,
    /// Turns the wheel.
    Scroll,
    /// Waits for a text, or a while.
    WaitFor,
    /// Reads the console.
    Console,
    /// Opens a tab.
    TabNew,
    /// Shows a tab.
    TabSelect,
    /// Closes a tab.
    TabClose,
}

impl BrowserTool {
    /// Every tool with its name, in the order in which agents read them.
    pub const NAMES: [(Self, &str); 15] = [
        (Self::Tabs, "browser_tabs"),
        (Self::Snapshot, "browser_snapshot"),
        (Self::Screenshot, "browser_screenshot"),
        (Self::Navigate, "browser_navigate"),
        (Self::Click, "browser_click"),
        (Self::Hover, "browser_hover"),
        (Self::Type, "browser_type"),
        (Self::PressKey, "browser_press_key"),
        (Self::SelectOption, "browser_select_option"),
        (Self::Scroll, "browser_scroll"),
        (Self::WaitFor, "browser_wait_for"),
        (Self::Console, "browser_console"),
        (Self::TabNew, "browser_tab_new"),
        (Self::TabSelect, "browser_tab_select"),
        (Self::TabClose, "browser_tab_close"),
    ];

    /// The tool of this name.
    pub fn find(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(_, known)| *known == name);
        found.map(|(tool, _)| *tool)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(tool, _)| *tool == self);
        found.map_or("", |(_, name)| name)
    }

    /// Whether it does something: such a one waits for its turn, and is told of.
    pub fn acts(self) -> bool {
        !matches!(
            self,
            Self::Tabs | Self::Snapshot | Self::Screenshot | Self::WaitFor | Self::Console
        )
    }
}

/// The number of a ref, see [`super::ref_number`].
pub type ElementRef = u64;

/// A way along a tab's history that an agent may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryMove {
    /// To the page before.
    Back,
    /// To the page after.
    Forward,
    /// The same page anew.
    Reload,
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitCondition {
    /// A text shall be there.
    Text(String),
    /// A text shall not be there any more.
    TextGone(String),
    /// Milliseconds shall pass.
    Ms(u64),
}

/// A call of a tool, its arguments within their limits.
#[derive(Clone, Debug, PartialEq)]
pub enum BrowserToolCall {
    /// [`BrowserTool::Tabs`].
    Tabs,
    /// [`BrowserTool::Snapshot`] of a tab.
    Snapshot(Option<TabId>),
    /// [`BrowserTool::Screenshot`] of a tab.
    Screenshot {
        /// Which one.
        tab: Option<TabId>,
        /// Whether of all of the page.
        is_whole_page: bool,
    },
    /// [`BrowserTool::Navigate`] to what an agent wrote as an address.
    Visit(String),
    /// [`BrowserTool::Navigate`] along the history.
    Turn(HistoryMove),
    /// [`BrowserTool::Click`].
    Click {
        /// On what.
        on: ElementRef,
        /// With which button.
        button: MouseButton,
        /// Whether twice.
        is_double: bool,
    },
    /// [`BrowserTool::Hover`] over something.
    Hover(ElementRef),
    /// [`BrowserTool::Type`]; its text stands in no log and no event.
    Type {
        /// Into what.
        into: ElementRef,
        /// What.
        text: String,
        /// Whether Enter is pressed behind it.
        submits: bool,
    },
    /// [`BrowserTool::PressKey`].
    PressKey {
        /// Its UI Events `key` value.
        key: String,
        /// See [`super::KeyModifiers`].
        modifiers: u8,
    },
    /// [`BrowserTool::SelectOption`].
    SelectOption {
        /// In which list.
        list: ElementRef,
        /// Values or labels.
        values: Vec<String>,
    },
    /// [`BrowserTool::Scroll`].
    Scroll {
        /// Over what; the middle of the page.
        over: Option<ElementRef>,
        /// CSS pixels to the right.
        delta_x: f64,
        /// CSS pixels down.
        delta_y: f64,
    },
    /// [`BrowserTool::WaitFor`].
    WaitFor(WaitCondition),
    /// [`BrowserTool::Console`], the newest so many lines.
    Console(usize),
    /// [`BrowserTool::TabNew`] with what an agent wrote as an address.
    TabNew(Option<String>),
    /// [`BrowserTool::TabSelect`].
    TabSelect(TabId),
    /// [`BrowserTool::TabClose`].
    TabClose(TabId),
}

impl BrowserToolCall {
    /// Its tool.
    pub fn tool(&self) -> BrowserTool {
        match self {
            Self::Tabs => BrowserTool::Tabs,
            Self::Snapshot(_) => BrowserTool::Snapshot,
            Self::Screenshot { .. } => BrowserTool::Screenshot,
            Self::Visit(_) | Self::Turn(_) => BrowserTool::Navigate,
            Self::Click { .. } => BrowserTool::Click,
            Self::Hover(_) => BrowserTool::Hover,
            Self::Type { .. } => BrowserTool::Type,
            Self::PressKey { .. } => BrowserTool::PressKey,
            Self::SelectOption { .. } => BrowserTool::SelectOption,
            Self::Scroll { .. } => BrowserTool::Scroll,
            Self::WaitFor(_) => BrowserTool::WaitFor,
            Self::Console(_) => BrowserTool::Console,
            Self::TabNew(_) => BrowserTool::TabNew,
            Self::TabSelect(_) => BrowserTool::TabSelect,
            Self::TabClose(_) => BrowserTool::TabClose,
        }
    }

    /// The element it is about.
    pub fn element(&self) -> Option<ElementRef> {
        match *self {
            Self::Click { on, .. } => Some(on),
            Self::Hover(over) => Some(over),
            Self::Type { into, .. } => Some(into),
            Self::SelectOption { list, .. } => Some(list),
            Self::Scroll { over, .. } => over,
            Self::Tabs
            | Self::Snapshot(_)
            | Self::Screenshot { .. }
            | Self::Visit(_)
            | Self::Turn(_)
            | Self::PressKey { .. }
            | Self::WaitFor(_)
            | Self::Console(_)
            | Self::TabNew(_)
            | Self::TabSelect(_)
            | Self::TabClose(_) => None,
        }
    }

    /// The tab it names.
    pub fn tab(&self) -> Option<TabId> {
        match *self {
            Self::Snapshot(tab) | Self::Screenshot { tab, .. } => tab,
            Self::TabSelect(tab) | Self::TabClose(tab) => Some(tab),
            Self::Tabs
            | Self::Visit(_)
            | Self::Turn(_)
            | Self::Click { .. }
            | Self::Hover(_)
            | Self::Type { .. }
            | Self::PressKey { .. }
            | Self::SelectOption { .. }
            | Self::Scroll { .. }
            | Self::WaitFor(_)
            | Self::Console(_)
            | Self::TabNew(_) => None,
        }
    }
}

/// What became of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionOutcome {
    /// Chromium took it.
    Done,
    /// Nothing was done.
    Rejected,
    /// It was handed over, and Chromium did not say: it may happen still, and is not repeated.
    Uncertain,
}

impl ActionOutcome {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Rejected => "rejected",
            Self::Uncertain => "uncertain",
        }
    }
}

/// A tab as an agent is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TabSummary {
    /// Which.
    pub id: TabId,
    /// Its address; `""` for one that is not for agents.
    pub url: String,
    /// Its title; `""` with such an address.
    pub title: String,
    /// Whether it is the one that is shown.
    pub is_selected: bool,
}

/// Text of a page, in a block whose end the page cannot know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageText {
    /// Where.
    pub tab: TabId,
    /// The page's.
    pub origin: String,
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// See [`super::quoted`].
    pub text: String,
    /// Whether there was more.
    pub truncated: bool,
}

/// What a tool answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrowserToolResult {
    /// The tabs within reach.
    Tabs(Vec<TabSummary>),
    /// What a page, or its console, says.
    Text(PageText),
    /// A picture.
    Picture {
        /// Of which tab.
        tab: TabId,
        /// Of whose page.
        origin: String,
        /// The picture.
        jpeg: Vec<u8>,
    },
    /// Where a navigation led.
    Visited {
        /// Which tab.
        tab: TabId,
        /// The page's.
        origin: String,
        /// The address it ended at.
        url: String,
        /// Its title.
        title: String,
        /// The status of its answer, when it had one.
        status: Option<u16>,
        /// What went wrong with it.
        error: Option<String>,
    },
    /// [`ActionOutcome::Done`] or [`ActionOutcome::Uncertain`].
    Came(ActionOutcome),
}

impl BrowserToolResult {
    /// What became of the action behind it.
    pub fn outcome(&self) -> ActionOutcome {
        match self {
            Self::Came(outcome) => *outcome,
            Self::Tabs(_) | Self::Text(_) | Self::Picture { .. } | Self::Visited { .. } => {
                ActionOutcome::Done
            }
        }
    }
}

/// Why a tool answers nothing; then nothing was done.
#[derive(Debug)]
pub enum BrowserToolError {
    /// A reason of the browser's own.
    Denied(ToolDenial),
    /// What was waited for did not come about in time.
    NotComeAbout,
    /// A reason that the routes have too, or a fault.
    Error(Error),
}

impl From<ToolDenial> for BrowserToolError {
    fn from(denied: ToolDenial) -> Self {
        Self::Denied(denied)
    }
}

impl From<Error> for BrowserToolError {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Refusal> for BrowserToolError {
    fn from(refusal: Refusal) -> Self {
        Self::Error(refusal.into())
    }
}

/// The origin of an address, the only part of it that events tell; `null` for one that has none.
pub fn origin_of(url: &str) -> String {
    BrowserAddress::typed(url).map_or_else(|_| "null".to_owned(), |address| address.origin())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_are_fifteen_and_ten_of_them_act() {
        let names: std::collections::BTreeSet<_> =
            BrowserTool::NAMES.iter().map(|row| row.1).collect();
        assert_eq!(names.len(), 15);
        for (tool, name) in BrowserTool::NAMES {
            assert_eq!((tool.name(), BrowserTool::find(name)), (name, Some(tool)));
            assert!(name.starts_with("browser_"), "{name}");
        }
        let acting = BrowserTool::NAMES.iter().filter(|(tool, _)| tool.acts());
        assert_eq!(acting.count(), 10);
        assert_eq!(BrowserTool::find("browser_evaluate"), None);
    }

    #[test]
    fn events_tell_an_origin_and_nothing_else_of_an_address() {
        for (url, origin) in [
            ("https://example.org/a?secret=1#b", "https://example.org"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            ("about:blank", "null"),
            ("file:///etc/passwd", "null"),
            ("", "null"),
        ] {
            assert_eq!(origin_of(url), origin, "{url}");
        }
    }
}
