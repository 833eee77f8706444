//! What an agent asks for in a shared tab, and what it is answered. Whether it may is
//! `hall::browser` to say, how it is written `wire::browser`. Source: contract 7.8, "Tool".

use super::{Address, Button, Denied};
use crate::{Error, Refusal, ids::TabId};

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
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

impl Tool {
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
pub type Ref = u64;

/// A way along a tab's history that an agent may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turnback {
    /// To the page before.
    Back,
    /// To the page after.
    Forward,
    /// The same page anew.
    Reload,
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A text shall be there.
    Text(String),
    /// A text shall not be there any more.
    TextGone(String),
    /// Milliseconds shall pass.
    Ms(u64),
}

/// A call of a tool, its arguments within their limits.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// [`Tool::Tabs`].
    Tabs,
    /// [`Tool::Snapshot`] of a tab.
    Snapshot(Option<TabId>),
    /// [`Tool::Screenshot`] of a tab.
    Screenshot {
        /// Which one.
        tab: Option<TabId>,
        /// Whether of all of the page.
        is_whole_page: bool,
    },
    /// [`Tool::Navigate`] to what an agent wrote as an address.
    Visit(String),
    /// [`Tool::Navigate`] along the history.
    Turn(Turnback),
    /// [`Tool::Click`].
    Click {
        /// On what.
        on: Ref,
        /// With which button.
        button: Button,
        /// Whether twice.
        is_double: bool,
    },
    /// [`Tool::Hover`] over something.
    Hover(Ref),
    /// [`Tool::Type`]; its text stands in no log and no event.
    Type {
        /// Into what.
        into: Ref,
        /// What.
        text: String,
        /// Whether Enter is pressed behind it.
        submits: bool,
    },
    /// [`Tool::PressKey`].
    PressKey {
        /// Its UI Events `key` value.
        key: String,
        /// See [`super::Modifiers`].
        modifiers: u8,
    },
    /// [`Tool::SelectOption`].
    SelectOption {
        /// In which list.
        list: Ref,
        /// Values or labels.
        values: Vec<String>,
    },
    /// [`Tool::Scroll`].
    Scroll {
        /// Over what; the middle of the page.
        over: Option<Ref>,
        /// CSS pixels to the right.
        delta_x: f64,
        /// CSS pixels down.
        delta_y: f64,
    },
    /// [`Tool::WaitFor`].
    WaitFor(Awaited),
    /// [`Tool::Console`], the newest so many lines.
    Console(usize),
    /// [`Tool::TabNew`] with what an agent wrote as an address.
    TabNew(Option<String>),
    /// [`Tool::TabSelect`].
    TabSelect(TabId),
    /// [`Tool::TabClose`].
    TabClose(TabId),
}

impl Call {
    /// Its tool.
    pub fn tool(&self) -> Tool {
        match self {
            Self::Tabs => Tool::Tabs,
            Self::Snapshot(_) => Tool::Snapshot,
            Self::Screenshot { .. } => Tool::Screenshot,
            Self::Visit(_) | Self::Turn(_) => Tool::Navigate,
            Self::Click { .. } => Tool::Click,
            Self::Hover(_) => Tool::Hover,
            Self::Type { .. } => Tool::Type,
            Self::PressKey { .. } => Tool::PressKey,
            Self::SelectOption { .. } => Tool::SelectOption,
            Self::Scroll { .. } => Tool::Scroll,
            Self::WaitFor(_) => Tool::WaitFor,
            Self::Console(_) => Tool::Console,
            Self::TabNew(_) => Tool::TabNew,
            Self::TabSelect(_) => Tool::TabSelect,
            Self::TabClose(_) => Tool::TabClose,
        }
    }

    /// The element it is about.
    pub fn element(&self) -> Option<Ref> {
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
pub enum Outcome {
    /// Chromium took it.
    Done,
    /// Nothing was done.
    Rejected,
    /// It was handed over, and Chromium did not say: it may happen still, and is not repeated.
    Uncertain,
}

impl Outcome {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Rejected => "rejected",
            Self::Uncertain => "uncertain",
        }
    }
}

/// A tab as an agent is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TabLine {
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
pub enum Answer {
    /// The tabs within reach.
    Tabs(Vec<TabLine>),
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
    /// [`Outcome::Done`] or [`Outcome::Uncertain`].
    Came(Outcome),
}

impl Answer {
    /// What became of the action behind it.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Came(outcome) => *outcome,
            Self::Tabs(_) | Self::Text(_) | Self::Picture { .. } | Self::Visited { .. } => {
                Outcome::Done
            }
        }
    }
}

/// Why a tool answers nothing; then nothing was done.
#[derive(Debug)]
pub enum NotDone {
    /// A reason of the browser's own.
    Denied(Denied),
    /// What was waited for did not come about in time.
    NotComeAbout,
    /// A reason that the routes have too, or a fault.
    Error(Error),
}

impl From<Denied> for NotDone {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied)
    }
}

impl From<Error> for NotDone {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Refusal> for NotDone {
    fn from(refusal: Refusal) -> Self {
        Self::Error(refusal.into())
    }
}

/// The origin of an address, the only part of it that events tell; `null` for one that has none.
pub fn origin_of(url: &str) -> String {
    Address::typed(url).map_or_else(|_| "null".to_owned(), |address| address.origin())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_are_fifteen_and_ten_of_them_act() {
        let names: std::collections::BTreeSet<_> = Tool::NAMES.iter().map(|row| row.1).collect();
        assert_eq!(names.len(), 15);
        for (tool, name) in Tool::NAMES {
            assert_eq!((tool.name(), Tool::find(name)), (name, Some(tool)));
            assert!(name.starts_with("browser_"), "{name}");
        }
        let acting = Tool::NAMES.iter().filter(|(tool, _)| tool.acts());
        assert_eq!(acting.count(), 10);
        assert_eq!(Tool::find("browser_evaluate"), None);
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
