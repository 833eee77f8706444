//! What happens in the browser, told in the house's own words and in order.
//!
//! A page can make things happen as often as it likes: what is only the newest of its kind
//! replaces what was not heard yet, and when too much waits, Chromium is no longer read.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use guildhall_domain::{browser::PageState, ids::TabId};
use tokio::sync::Notify;

/// Happenings that wait to be heard.
const WAITING_MAX: usize = 1_024;

/// Something that happened in the browser.
#[derive(Clone, Debug, PartialEq)]
pub enum BrowserEvent {
    /// It answered, and its first tab is there; holds its version.
    Ready(String),
    /// There is a new tab; `opener` is the one it was opened from.
    TabOpened {
        /// The new one.
        tab: TabId,
        /// Where it was opened from.
        opener: Option<TabId>,
    },
    /// What is in a tab is different now; told as a whole.
    TabChanged {
        /// Which one.
        tab: TabId,
        /// What is in it.
        page: PageState,
    },
    /// Another document is in a tab, also the same one loaded anew: what was meant for the one
    /// before is too late.
    NewDocument(TabId),
    /// A tab is gone.
    TabClosed(TabId),
    /// A picture, which wants to be acknowledged: [`super::Chromium::acknowledge_frame`].
    Frame(ScreencastFrame),
    /// In mode window: the person used mouse or keyboard in this tab.
    HumanInput(TabId),
    /// In mode window: this tab is the one that is visible.
    Visible(TabId),
}

/// One picture of a tab.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreencastFrame {
    /// Of which.
    pub tab: TabId,
    /// The picture, at most [`guildhall_domain::limits::BROWSER_FRAME_BYTES_MAX`] bytes.
    pub jpeg: Bytes,
    /// CSS pixels it shows.
    pub width: u16,
    /// CSS pixels it shows.
    pub height: u16,
    /// What Chromium calls it.
    pub(super) number: i64,
}

/// What happens, for one listener. It must be heard all the while.
#[derive(Debug)]
pub struct EventReceiver(pub(super) Arc<EventInbox>);

impl EventReceiver {
    /// The next happening; `None` once the browser is gone. Cancel-safe.
    pub async fn next(&mut self) -> Option<BrowserEvent> {
        loop {
            let news = self.0.news.notified();
            {
                let mut waiting = self.0.waiting();
                if let Some(happening) = waiting.happenings.pop_front() {
                    self.0.room.notify_one();
                    return Some(happening);
                }
                if waiting.is_over {
                    return None;
                }
            }
            news.await;
        }
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        // Nobody hears anything any more, and Chromium is not to wait for it.
        let mut waiting = self.0.waiting();
        waiting.is_over = true;
        waiting.happenings.clear();
        self.0.room.notify_one();
    }
}

/// Between who reads Chromium and who hears what happens.
#[derive(Debug, Default)]
pub(super) struct EventInbox {
    // A std mutex: held for a look and never over an await.
    waiting: Mutex<PendingEvents>,
    news: Notify,
    room: Notify,
}

#[derive(Debug, Default)]
struct PendingEvents {
    happenings: VecDeque<BrowserEvent>,
    is_over: bool,
}

impl PendingEvents {
    /// Puts a newer happening where an older one stood; a picture or a document at the end, so
    /// that no picture gets before the document it shows, nor stays behind one it does not show.
    /// Answers the picture that is replaced.
    fn replace(&mut self, at: usize, newer: BrowserEvent) -> Option<ScreencastFrame> {
        if matches!(newer, BrowserEvent::Frame(_) | BrowserEvent::NewDocument(_)) {
            let older = self.happenings.remove(at);
            self.happenings.push_back(newer);
            return match older {
                Some(BrowserEvent::Frame(frame)) => Some(frame),
                _ => None,
            };
        }
        if let Some(older) = self.happenings.get_mut(at) {
            *older = newer;
        }
        None
    }
}

impl EventInbox {
    /// Tells something, and waits for room. Answers the picture that this one replaces.
    pub(super) async fn push(&self, happening: BrowserEvent) -> Option<ScreencastFrame> {
        loop {
            let room = self.room.notified();
            {
                let mut waiting = self.waiting();
                if waiting.is_over {
                    return None;
                }
                let mut older = waiting.happenings.iter();
                if let Some(at) = older.rposition(|older| is_replaced(older, &happening)) {
                    self.news.notify_one();
                    return waiting.replace(at, happening);
                }
                if waiting.happenings.len() < WAITING_MAX {
                    waiting.happenings.push_back(happening);
                    self.news.notify_one();
                    return None;
                }
            }
            room.await;
        }
    }

    /// Nothing will happen any more.
    pub(super) fn close(&self) {
        self.waiting().is_over = true;
        self.news.notify_one();
    }

    fn waiting(&self) -> MutexGuard<'_, PendingEvents> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether who hears the newer one need not have heard the older one.
fn is_replaced(older: &BrowserEvent, newer: &BrowserEvent) -> bool {
    match (older, newer) {
        (BrowserEvent::TabChanged { tab: a, .. }, BrowserEvent::TabChanged { tab: b, .. }) => {
            a == b
        }
        (BrowserEvent::Frame(_), BrowserEvent::Frame(_)) => true,
        (BrowserEvent::HumanInput(a), BrowserEvent::HumanInput(b))
        | (BrowserEvent::NewDocument(a), BrowserEvent::NewDocument(b)) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tab(number: u8) -> TabId {
        TabId::from_bytes([number; 16])
    }

    fn changed(number: u8, title: &str) -> BrowserEvent {
        let title = title.to_owned();
        let page = PageState {
            title,
            ..PageState::default()
        };
        let tab = tab(number);
        BrowserEvent::TabChanged { tab, page }
    }

    #[tokio::test]
    async fn a_page_that_changes_all_the_time_takes_one_place() {
        let mailbox = Arc::new(EventInbox::default());
        let mut happenings = EventReceiver(Arc::clone(&mailbox));
        mailbox.push(changed(1, "first")).await;
        mailbox.push(changed(2, "other")).await;
        for number in 0..10_000 {
            mailbox.push(changed(1, &number.to_string())).await;
        }
        mailbox.close();
        assert_eq!(happenings.next().await, Some(changed(1, "9999")));
        assert_eq!(happenings.next().await, Some(changed(2, "other")));
        assert_eq!(happenings.next().await, None);
    }

    fn frame(number: i64) -> BrowserEvent {
        BrowserEvent::Frame(ScreencastFrame {
            tab: tab(1),
            jpeg: Bytes::from_static(b"jpeg"),
            width: 1,
            height: 1,
            number,
        })
    }

    #[tokio::test]
    async fn a_picture_stays_behind_the_document_it_shows() {
        let mailbox = Arc::new(EventInbox::default());
        let mut happenings = EventReceiver(Arc::clone(&mailbox));
        let document = BrowserEvent::NewDocument(tab(1));
        mailbox.push(frame(1)).await;
        mailbox.push(document.clone()).await;
        let replaced = mailbox.push(frame(2)).await;
        assert_eq!(replaced.map(BrowserEvent::Frame), Some(frame(1)));
        assert_eq!(happenings.next().await, Some(document.clone()));
        assert_eq!(happenings.next().await, Some(frame(2)));
        // One of the document before does not count as one of the next.
        mailbox.push(document.clone()).await;
        mailbox.push(frame(3)).await;
        assert_eq!(mailbox.push(document.clone()).await, None);
        assert_eq!(happenings.next().await, Some(frame(3)));
        assert_eq!(happenings.next().await, Some(document));
    }

    #[tokio::test]
    async fn who_tells_too_much_waits_for_who_hears() {
        let mailbox = Arc::new(EventInbox::default());
        let mut happenings = EventReceiver(Arc::clone(&mailbox));
        let tell = async {
            for _ in 0..2 * WAITING_MAX {
                mailbox.push(BrowserEvent::TabClosed(tab(1))).await;
            }
            mailbox.close();
        };
        let hear = async {
            let mut count = 0;
            while happenings.next().await.is_some() {
                count += 1;
            }
            count
        };
        let (_, count) = tokio::join!(tell, hear);
        assert_eq!(count, 2 * WAITING_MAX);
    }

    #[tokio::test]
    async fn nobody_waits_for_a_listener_that_is_gone() {
        let mailbox = Arc::new(EventInbox::default());
        drop(EventReceiver(Arc::clone(&mailbox)));
        for _ in 0..=WAITING_MAX {
            mailbox.push(BrowserEvent::TabClosed(tab(1))).await;
        }
    }
}
