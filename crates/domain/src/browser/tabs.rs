//! Tabs: their visual order, which one is shown, and which an agent may reach.
//! Source: contract 7.2 "tabs", 7.8 "Reach".

use serde::{Deserialize, Serialize};

use crate::{Refusal, errors::ResourceKind, ids::TabId, limits};

/// What a page asks in a box of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DialogKind {
    /// It tells something.
    Alert,
    /// It asks yes or no.
    Confirm,
    /// It asks for a text.
    Prompt,
    /// It asks whether it may be left.
    #[serde(rename = "beforeunload")]
    BeforeUnload,
}

/// A dialog that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialog {
    /// What it asks.
    pub kind: DialogKind,
    /// Its words, at most [`limits::BROWSER_DIALOG_CHARS_MAX`] characters.
    pub message: String,
    /// What stands in its field, as long at most.
    pub default_text: String,
}

/// A request for a name and a password (RFC 7235).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAuthRequest {
    /// Who asks.
    pub origin: String,
    /// What for, in the words of who asks.
    pub realm: String,
    /// How: `basic`, `digest` …
    pub scheme: String,
}

/// What is known of a page at one moment; texts are cut and plain, see [`truncated`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageState {
    /// Its address; `""` for one that is not told.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Whether it is loading.
    pub loading: bool,
    /// Whether there is a page before it.
    pub can_go_back: bool,
    /// Whether there is a page after it.
    pub can_go_forward: bool,
    /// The dialog it shows.
    pub dialog: Option<Dialog>,
    /// The password it asks for.
    pub auth: Option<HttpAuthRequest>,
    /// What went wrong with its last load, or was refused since.
    pub error: Option<String>,
}

/// A tab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tab {
    /// Its id.
    pub id: TabId,
    /// The page in it.
    pub page: PageState,
    /// Whether an agent may reach it.
    pub shared: bool,
}

/// What the end of a tab means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TabClosure {
    /// Whether it was the last one.
    pub was_last: bool,
    /// Whether it was the last one that was shared.
    pub was_last_shared: bool,
    /// Whether the one that is shown is another one now.
    pub selects: Option<TabId>,
}

/// The tabs of one browser process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tabs {
    tabs: Vec<Tab>,
    selected: Option<TabId>,
}

impl Tabs {
    /// All, in visual order.
    pub fn all(&self) -> &[Tab] {
        &self.tabs
    }

    /// The one that is shown.
    pub fn selected(&self) -> Option<TabId> {
        self.selected
    }

    /// One of them.
    ///
    /// # Errors
    /// `TAB_NOT_FOUND`.
    pub fn get(&self, id: TabId) -> Result<&Tab, Refusal> {
        let found = self.tabs.iter().find(|tab| tab.id == id);
        found.ok_or(Refusal::NotFound(ResourceKind::Tab))
    }

    /// One that an agent may reach; others do not exist for it.
    pub fn reached(&self, id: TabId) -> Option<&Tab> {
        self.tabs.iter().find(|tab| tab.id == id && tab.shared)
    }

    /// Those an agent may reach.
    pub fn shared(&self) -> impl Iterator<Item = &Tab> {
        self.tabs.iter().filter(|tab| tab.shared)
    }

    /// Whether one more may be opened.
    ///
    /// # Errors
    /// [`Refusal::BrowserTabLimit`] with [`limits::BROWSER_TABS_MAX`].
    pub fn has_room(&self) -> Result<(), Refusal> {
        if self.tabs.len() < limits::BROWSER_TABS_MAX {
            Ok(())
        } else {
            Err(Refusal::BrowserTabLimit)
        }
    }

    /// Takes note of a new tab, at the end. It is shared when `opener` is; the first one is
    /// selected.
    ///
    /// False when it was known; one too many is for the caller to close, see
    /// [`Self::has_room`].
    pub fn opened(&mut self, id: TabId, opener: Option<TabId>) -> bool {
        if self.get(id).is_ok() {
            return false;
        }
        let shared = opener.is_some_and(|opener| self.reached(opener).is_some());
        self.tabs.push(Tab {
            id,
            page: PageState::default(),
            shared,
        });
        self.selected.get_or_insert(id);
        true
    }

    /// Takes note of what is in a tab; whether that is news.
    pub fn changed(&mut self, id: TabId, page: PageState) -> bool {
        let Some(tab) = self.tabs.iter_mut().find(|tab| tab.id == id) else {
            return false;
        };
        let is_news = tab.page != page;
        tab.page = page;
        is_news
    }

    /// Takes note that a tab is gone. Its right neighbour is selected in its place, else its left
    /// one. `None` when it was not known.
    pub fn closed(&mut self, id: TabId) -> Option<TabClosure> {
        let place = self.tabs.iter().position(|tab| tab.id == id)?;
        let tab = self.tabs.remove(place);
        let is_selected = self.selected == Some(id);
        if is_selected {
            let left = place.checked_sub(1).and_then(|left| self.tabs.get(left));
            self.selected = self.tabs.get(place).or(left).map(|tab| tab.id);
        }
        Some(TabClosure {
            was_last: self.tabs.is_empty(),
            was_last_shared: tab.shared && self.shared().next().is_none(),
            selects: self.selected.filter(|_| is_selected),
        })
    }

    /// Shows another tab; whether that is news.
    ///
    /// # Errors
    /// `TAB_NOT_FOUND`.
    pub fn select(&mut self, id: TabId) -> Result<bool, Refusal> {
        self.get(id)?;
        Ok(self.selected.replace(id) != Some(id))
    }

    /// Shares a tab: the named one, else the one that is shown. No other is shared afterwards.
    ///
    /// # Errors
    /// `TAB_NOT_FOUND`, also when there is none.
    pub fn share(&mut self, id: Option<TabId>) -> Result<TabId, Refusal> {
        let id = id
            .or(self.selected)
            .ok_or(Refusal::NotFound(ResourceKind::Tab))?;
        self.get(id)?;
        for tab in &mut self.tabs {
            tab.shared = tab.id == id;
        }
        Ok(id)
    }

    /// Takes note that an agent opened this tab: it is within its reach as well.
    ///
    /// # Errors
    /// `TAB_NOT_FOUND`.
    pub fn adopt(&mut self, id: TabId) -> Result<(), Refusal> {
        let tab = self.tabs.iter_mut().find(|tab| tab.id == id);
        tab.ok_or(Refusal::NotFound(ResourceKind::Tab))?.shared = true;
        Ok(())
    }

    /// Shares none any more.
    pub fn unshare(&mut self) {
        for tab in &mut self.tabs {
            tab.shared = false;
        }
    }
}

/// What a page says of itself, as it is shown: no control characters and no marks that turn the
/// direction of text, at most `chars_max` characters.
pub fn truncated(text: &str, chars_max: usize) -> String {
    let is_plain = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().filter(is_plain).take(chars_max).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(number: u8) -> TabId {
        TabId::from_bytes([number; 16])
    }

    fn tabs(count: u8) -> Tabs {
        let mut tabs = Tabs::default();
        for number in 0..count {
            assert!(tabs.opened(id(number), None));
        }
        tabs
    }

    #[test]
    fn the_neighbour_of_a_closed_tab_is_shown() {
        for (count, selected, closed, expected) in [
            (3, 1, 1, Some(2)),
            (3, 2, 2, Some(1)),
            (3, 0, 0, Some(1)),
            (3, 0, 2, Some(0)),
            (1, 0, 0, None),
        ] {
            let mut tabs = tabs(count);
            tabs.select(id(selected)).unwrap();
            let gone = tabs.closed(id(closed)).unwrap();
            assert_eq!(tabs.selected(), expected.map(id));
            let selects = expected.filter(|_| selected == closed).map(id);
            assert_eq!((gone.was_last, gone.selects), (count == 1, selects));
        }
    }

    #[test]
    fn an_agent_reaches_the_shared_tab_and_what_was_opened_from_it() {
        let mut tabs = tabs(2);
        assert_eq!(tabs.share(None), Ok(id(0)));
        tabs.opened(id(10), Some(id(0)));
        tabs.opened(id(11), Some(id(10)));
        tabs.opened(id(12), None);
        tabs.adopt(id(12)).unwrap();
        tabs.opened(id(13), Some(id(1)));
        let reached: Vec<TabId> = tabs.shared().map(|tab| tab.id).collect();
        assert_eq!(reached, [0, 10, 11, 12].map(id));
        assert!(tabs.reached(id(1)).is_none());
        for (closed, is_last) in [(0, false), (1, false), (10, false), (12, false), (11, true)] {
            let gone = tabs.closed(id(closed)).unwrap();
            assert_eq!(gone.was_last_shared, is_last, "{closed}");
        }
        assert_eq!(
            tabs.share(Some(id(0))),
            Err(Refusal::NotFound(ResourceKind::Tab))
        );
    }

    #[test]
    fn sharing_another_tab_ends_the_reach_of_the_first() {
        let mut tabs = tabs(2);
        tabs.share(Some(id(0))).unwrap();
        tabs.opened(id(10), Some(id(0)));
        tabs.share(Some(id(1))).unwrap();
        assert_eq!(tabs.shared().map(|tab| tab.id).collect::<Vec<_>>(), [id(1)]);
        tabs.unshare();
        assert_eq!(tabs.shared().count(), 0);
        assert_eq!(
            Tabs::default().share(None),
            Err(Refusal::NotFound(ResourceKind::Tab))
        );
    }

    #[test]
    fn twenty_tabs_are_enough() {
        let mut tabs = tabs(19);
        assert_eq!(tabs.has_room(), Ok(()));
        tabs.opened(id(19), None);
        assert_eq!(tabs.has_room(), Err(Refusal::BrowserTabLimit));
    }

    #[test]
    fn a_change_is_news_once() {
        let mut tabs = tabs(1);
        let page = PageState {
            title: "hello".to_owned(),
            ..PageState::default()
        };
        assert!(tabs.changed(id(0), page.clone()));
        assert!(!tabs.changed(id(0), page.clone()));
        assert!(!tabs.changed(id(9), page));
        assert!(!tabs.opened(id(0), None));
        assert_eq!(tabs.adopt(id(9)), Err(Refusal::NotFound(ResourceKind::Tab)));
        assert_eq!(tabs.closed(id(9)), None);
    }

    #[test]
    fn what_a_page_says_is_shown_plain_and_short() {
        assert_eq!(truncated("a\u{0}b\nc\u{202e}d\u{2066}", 9), "abcd");
        assert_eq!(truncated("ääää", 2), "ää");
    }

    proptest! {
        #[test]
        fn a_tab_is_shown_as_long_as_there_is_one(deeds in prop::collection::vec((0_u8..4, 0_u8..6), 0..60)) {
            let mut tabs = Tabs::default();
            for (deed, number) in deeds {
                match deed {
                    0 => { tabs.opened(id(number), Some(id(number / 2))); }
                    1 => { tabs.closed(id(number)); }
                    2 => { let _ = tabs.select(id(number)); }
                    _ => { let _ = tabs.share(Some(id(number))); }
                }
                prop_assert_eq!(tabs.selected().is_some(), !tabs.all().is_empty());
                if let Some(selected) = tabs.selected() {
                    prop_assert!(tabs.get(selected).is_ok());
                }
            }
        }
    }
}
