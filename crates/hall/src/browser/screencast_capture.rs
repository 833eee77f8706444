//! The film: which tab Chromium takes pictures of, and what is to change in that. Pure.

use std::time::Duration;

use guildhall_domain::ids::TabId;
use tokio::time::Instant;

use super::screencast::ViewRequest;

/// After how long a film that Chromium refused is asked for again. It refuses for a moment where
/// a page is just being replaced by the next one.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// What is filmed, and what could not be.
#[derive(Default)]
pub(super) struct ScreencastCapture {
    now: Option<ViewRequest>,
    is_changing: bool,
    /// What was refused last, and when it is asked for again.
    refused: Option<(ViewRequest, Instant)>,
}

/// What Chromium is to film, and what no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CaptureChange {
    pub(super) before: Option<ViewRequest>,
    pub(super) wanted: Option<ViewRequest>,
}

impl ScreencastCapture {
    /// What is to be changed for `wanted`, if anything; it counts as begun.
    pub(super) fn change(
        &mut self,
        wanted: Option<ViewRequest>,
        now: Instant,
    ) -> Option<CaptureChange> {
        let waits = |(ask, until): &(ViewRequest, Instant)| wanted == Some(*ask) && now < *until;
        self.refused = self.refused.filter(waits);
        if self.is_changing || wanted == self.now || self.refused.is_some() {
            return None;
        }
        self.is_changing = true;
        Some(CaptureChange {
            before: self.now,
            wanted,
        })
    }

    /// What came of a change; an error is what could not be filmed.
    pub(super) fn capture_changed(
        &mut self,
        filmed: Result<Option<ViewRequest>, ViewRequest>,
        now: Instant,
    ) {
        self.is_changing = false;
        match filmed {
            Ok(film) => self.now = film,
            Err(ask) => (self.now, self.refused) = (None, Some((ask, now + AGAIN_AFTER))),
        }
    }

    /// Another document is in a tab, which may be filmed where the one before was not.
    pub(super) fn document_replaced(&mut self, tab: TabId) {
        self.refused = self.refused.filter(|(ask, _)| ask.tab != tab);
    }

    /// When what was refused is asked for again.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.refused.map(|(_, until)| until)
    }

    /// Chromium has ended, and its film with it.
    pub(super) fn end(&mut self) {
        (self.now, self.refused) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAB: TabId = TabId::from_bytes([1; 16]);
    const ASK: ViewRequest = ViewRequest {
        tab: TAB,
        width: 800,
        height: 600,
    };

    fn change(before: Option<ViewRequest>, wanted: Option<ViewRequest>) -> Option<CaptureChange> {
        Some(CaptureChange { before, wanted })
    }

    #[test]
    fn a_film_that_was_refused_is_asked_for_again() {
        let (mut film, now) = (ScreencastCapture::default(), Instant::now());
        assert_eq!(film.change(Some(ASK), now), change(None, Some(ASK)));
        assert_eq!(film.change(Some(ASK), now), None, "it is being changed");
        film.capture_changed(Err(ASK), now);
        assert_eq!(film.change(Some(ASK), now), None, "not at once");
        let later = film.next_retry().unwrap();
        assert_eq!(film.change(Some(ASK), later), change(None, Some(ASK)));
        film.capture_changed(Ok(Some(ASK)), later);
        assert_eq!(
            (film.change(Some(ASK), later), film.next_retry()),
            (None, None)
        );
        assert_eq!(film.change(None, later), change(Some(ASK), None));
    }

    #[test]
    fn another_document_or_another_wish_is_filmed_at_once() {
        let (mut film, now) = (ScreencastCapture::default(), Instant::now());
        film.change(Some(ASK), now);
        film.capture_changed(Err(ASK), now);
        film.document_replaced(TabId::from_bytes([2; 16]));
        assert_eq!(
            film.change(Some(ASK), now),
            None,
            "another tab is another film"
        );
        film.document_replaced(TAB);
        assert_eq!(film.change(Some(ASK), now), change(None, Some(ASK)));
        film.capture_changed(Err(ASK), now);
        let wider = ViewRequest { width: 900, ..ASK };
        assert_eq!(film.change(Some(wider), now), change(None, Some(wider)));
        film.capture_changed(Ok(Some(wider)), now);
        assert_eq!(film.next_retry(), None, "nobody wants what was refused");
    }
}
