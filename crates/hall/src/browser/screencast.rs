//! The cinema: who looks on, at which tab, and which picture each has. Pictures are handed on or
//! left out, never queued: the fastest viewer sets the pace. Source: contract 7.6.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use bytes::Bytes;
use guildhall_domain::{
    Refusal, Result, Timestamp,
    browser::{InputStep, PressedInputs},
    ids::{BrowserConnectionId, TabId},
    limits,
};
use guildhall_world::chromium::ScreencastFrame;
use tokio::{sync::mpsc, time::Instant};

const ACK_WAIT: Duration = Duration::from_secs(limits::BROWSER_FRAME_ACK_S);
/// What may wait for a viewer's socket: pictures are few, see
/// [`limits::BROWSER_FRAMES_IN_FLIGHT`]; the rest are words about its input.
const WAITING_MAX: usize = 256;

/// One who looks on.
pub(super) type ViewerId = u64;

/// What a viewer wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ViewRequest {
    pub(super) tab: TabId,
    /// Pixels at most.
    pub(super) width: u32,
    /// Pixels at most.
    pub(super) height: u32,
}

/// A picture of a tab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewerFrame {
    /// The view it belongs to.
    pub view: u32,
    /// One more with each picture.
    pub sequence: u32,
    /// CSS pixels it shows.
    pub width: u16,
    /// CSS pixels it shows.
    pub height: u16,
    /// When it was taken.
    pub at: Timestamp,
    /// The picture, at most [`limits::BROWSER_FRAME_BYTES_MAX`] bytes.
    pub jpeg: Bytes,
}

/// What a viewer is told beside the state.
#[derive(Clone, Debug, PartialEq)]
pub enum ViewerUpdate {
    /// What pictures with this number show.
    View {
        /// The number.
        view: u32,
        /// The tab.
        tab: TabId,
        /// The process.
        connection: BrowserConnectionId,
    },
    /// A picture.
    Picture(ViewerFrame),
    /// What became of some steps.
    Typed {
        /// As the viewer called them.
        id: u32,
        /// Why they were not done.
        refused: Option<Refusal>,
    },
    /// Where an agent does something.
    AgentCursor {
        /// In which tab.
        tab: TabId,
        /// CSS pixels from the left.
        x: f64,
        /// CSS pixels from above.
        y: f64,
        /// What.
        action: &'static str,
    },
}

struct ViewerSlot {
    tell: mpsc::Sender<ViewerUpdate>,
    view: Option<CurrentView>,
    /// Pictures it has not acknowledged, the oldest first, whatever it saw then.
    in_flight: VecDeque<(u32, Instant)>,
    /// What it holds down, in the tab it sees.
    held: PressedInputs,
}

struct CurrentView {
    id: u32,
    ask: ViewRequest,
    /// The last picture it was sent.
    last: Option<u32>,
}

impl ViewerSlot {
    fn takes_more(&self, now: Instant) -> bool {
        let is_stuck = |(_, at): &(u32, Instant)| *at + ACK_WAIT <= now;
        self.in_flight.len() < limits::BROWSER_FRAMES_IN_FLIGHT
            && !self.in_flight.front().is_some_and(is_stuck)
    }
}

/// The newest picture.
struct LatestFrame {
    frame: ScreencastFrame,
    sequence: u32,
    at: Timestamp,
}

/// Everybody who looks on.
#[derive(Default)]
pub(super) struct Screencast {
    seats: BTreeMap<ViewerId, ViewerSlot>,
    last_viewer: ViewerId,
    last_view: u32,
    last_sequence: u32,
    shown: Option<LatestFrame>,
    /// The pictures nobody has seen yet, the oldest first. Chromium takes two ahead, and waits to
    /// be told of each: one that it is never told of is one it never takes again.
    unseen: VecDeque<(u32, ScreencastFrame)>,
}

impl Screencast {
    pub(super) fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    /// Lets one more in.
    ///
    /// # Errors
    /// [`Refusal::BrowserTooManyViewers`].
    pub(super) fn enter(&mut self) -> Result<(ViewerId, mpsc::Receiver<ViewerUpdate>), Refusal> {
        if self.seats.len() >= limits::BROWSER_VIEWERS_MAX {
            return Err(Refusal::BrowserTooManyViewers);
        }
        self.last_viewer += 1;
        let (tell, told) = mpsc::channel(WAITING_MAX);
        let seat = ViewerSlot {
            tell,
            view: None,
            in_flight: VecDeque::new(),
            held: PressedInputs::default(),
        };
        self.seats.insert(self.last_viewer, seat);
        Ok((self.last_viewer, told))
    }

    /// Those whose socket is gone, but who have not left yet.
    pub(super) fn absent(&self) -> Vec<ViewerId> {
        let seats = self.seats.iter();
        let absent = seats.filter(|(_, seat)| seat.tell.is_closed());
        absent.map(|(viewer, _)| *viewer).collect()
    }

    /// Somebody leaves: the steps that let go of what it held down, and where.
    pub(super) fn leave(&mut self, viewer: ViewerId) -> Option<(TabId, Vec<InputStep>)> {
        let seat = self.seats.remove(&viewer)?;
        Some((seat.view?.ask.tab, seat.held.releases()))
    }

    /// Shows a viewer something else, or nothing; answers what leaving the tab it saw means, as
    /// [`Self::leave`] does.
    pub(super) fn set_view(
        &mut self,
        viewer: ViewerId,
        ask: Option<(ViewRequest, BrowserConnectionId)>,
        now: Instant,
    ) -> Option<(TabId, Vec<InputStep>)> {
        let seat = self.seats.get_mut(&viewer)?;
        if let (Some(view), Some((ask, _))) = (&mut seat.view, &ask)
            && view.ask.tab == ask.tab
        {
            view.ask = *ask;
            return None;
        }
        let held = std::mem::take(&mut seat.held);
        let left = seat.view.take().map(|view| (view.ask.tab, held.releases()));
        if let Some((ask, connection)) = ask {
            self.last_view += 1;
            seat.view = Some(CurrentView {
                id: self.last_view,
                ask,
                last: None,
            });
            send_message(
                seat,
                ViewerUpdate::View {
                    view: self.last_view,
                    tab: ask.tab,
                    connection,
                },
            );
            if let Some(shown) = &self.shown {
                send_frame(seat, shown, now);
            }
        }
        left
    }

    /// Another document is in a tab: whoever sees it has a new view, so that what was meant for the
    /// old one is known by its number. Answers the steps that let go of what was held down there,
    /// and the pictures that nobody will have seen, for Chromium to be told.
    pub(super) fn document_replaced(
        &mut self,
        tab: TabId,
        connection: BrowserConnectionId,
    ) -> (Vec<InputStep>, Vec<ScreencastFrame>) {
        let mut held = Vec::new();
        for seat in self.seats.values_mut() {
            let Some(view) = seat.view.as_mut().filter(|view| view.ask.tab == tab) else {
                continue;
            };
            self.last_view += 1;
            view.id = self.last_view;
            let view = view.id;
            held.extend(std::mem::take(&mut seat.held).releases());
            send_message(
                seat,
                ViewerUpdate::View {
                    view,
                    tab,
                    connection,
                },
            );
        }
        self.shown.take_if(|shown| shown.frame.tab == tab);
        (held, self.drop_unseen(tab))
    }

    /// The tab that a viewer sees.
    pub(super) fn sees(&self, viewer: ViewerId) -> Option<TabId> {
        let view = self.seats.get(&viewer)?.view.as_ref()?;
        Some(view.ask.tab)
    }

    /// What is to be filmed while this tab is selected: it and no other, as large as anybody who
    /// sees it wants it. A film of another one would bring that to the front, and take back what
    /// was selected since somebody turned to it.
    pub(super) fn wanted(&self, selected: Option<TabId>) -> Option<ViewRequest> {
        let tab = selected?;
        let views = || self.seats.values().filter_map(|seat| seat.view.as_ref());
        let of_tab = || views().map(|view| view.ask).filter(|ask| ask.tab == tab);
        Some(ViewRequest {
            tab,
            width: of_tab().map(|ask| ask.width).max()?,
            height: of_tab().map(|ask| ask.height).max()?,
        })
    }

    /// A new picture: whoever sees its tab and takes more has it.
    pub(super) fn publish_frame(&mut self, frame: ScreencastFrame, at: Timestamp, now: Instant) {
        self.last_sequence = self.last_sequence.wrapping_add(1);
        let shown = LatestFrame {
            frame,
            sequence: self.last_sequence,
            at,
        };
        self.unseen.push_back((shown.sequence, shown.frame.clone()));
        for seat in self.seats.values_mut() {
            send_frame(seat, &shown, now);
        }
        self.shown = Some(shown);
    }

    /// A viewer has seen a picture; answers those of which Chromium is to be told: that one and
    /// what came before it.
    pub(super) fn acknowledge(
        &mut self,
        viewer: ViewerId,
        sequence: u32,
        now: Instant,
    ) -> Vec<ScreencastFrame> {
        let Some(seat) = self.seats.get_mut(&viewer) else {
            return Vec::new();
        };
        let mut in_flight = seat.in_flight.iter();
        let Some(place) = in_flight.position(|(sent, _)| *sent == sequence) else {
            return Vec::new();
        };
        seat.in_flight.drain(..=place);
        // Meanwhile there may be a newer one, which it has not had.
        if let Some(shown) = &self.shown {
            send_frame(seat, shown, now);
        }
        let mut unseen = self.unseen.iter();
        match unseen.position(|(sent, _)| *sent == sequence) {
            Some(place) => self
                .unseen
                .drain(..=place)
                .map(|(_, frame)| frame)
                .collect(),
            None => Vec::new(),
        }
    }

    /// The pictures of a tab that nobody will see any more.
    fn drop_unseen(&mut self, tab: TabId) -> Vec<ScreencastFrame> {
        let all = std::mem::take(&mut self.unseen);
        let (gone, kept) = all.into_iter().partition(|(_, frame)| frame.tab == tab);
        self.unseen = kept;
        let gone: VecDeque<(u32, ScreencastFrame)> = gone;
        gone.into_iter().map(|(_, frame)| frame).collect()
    }

    /// Which tab a viewer sees under this number.
    ///
    /// # Errors
    /// [`Refusal::BrowserStale`] when it sees another by now, or none.
    pub(super) fn tab_of(&self, viewer: ViewerId, view: u32) -> Result<TabId, Refusal> {
        let seat = self.seats.get(&viewer);
        let seen = seat.and_then(|seat| seat.view.as_ref());
        let seen = seen.filter(|known| known.id == view);
        seen.map(|view| view.ask.tab).ok_or(Refusal::BrowserStale)
    }

    /// Takes note of what a viewer presses and lets go.
    pub(super) fn record_input(&mut self, viewer: ViewerId, steps: &[InputStep]) {
        if let Some(seat) = self.seats.get_mut(&viewer) {
            for step in steps {
                seat.held.record(step);
            }
        }
    }

    /// Tells one viewer something.
    pub(super) fn send(&self, viewer: ViewerId, said: ViewerUpdate) {
        if let Some(seat) = self.seats.get(&viewer) {
            send_message(seat, said);
        }
    }

    /// Tells everybody who sees a tab where an agent does something.
    pub(super) fn broadcast_cursor(&self, said: &ViewerUpdate) {
        for seat in self.seats.values() {
            send_message(seat, said.clone());
        }
    }

    /// A tab is gone, and with it what was held down there.
    pub(super) fn forget(&mut self, tab: TabId) {
        for seat in self.seats.values_mut() {
            if seat.view.as_ref().is_some_and(|view| view.ask.tab == tab) {
                seat.view = None;
                seat.held = PressedInputs::default();
            }
        }
        if self
            .shown
            .as_ref()
            .is_some_and(|shown| shown.frame.tab == tab)
        {
            self.shown = None;
        }
        self.drop_unseen(tab);
    }

    /// Every tab is gone.
    pub(super) fn forget_all(&mut self) {
        for seat in self.seats.values_mut() {
            seat.view = None;
            seat.held = PressedInputs::default();
        }
        self.shown = None;
        self.unseen.clear();
    }
}

/// Hands a picture to a viewer that sees its tab, takes more and has not had it.
fn send_frame(seat: &mut ViewerSlot, shown: &LatestFrame, now: Instant) {
    let takes_more = seat.takes_more(now);
    let Some(view) = &mut seat.view else {
        return;
    };
    let is_old = view.last == Some(shown.sequence);
    if view.ask.tab != shown.frame.tab || is_old || !takes_more {
        return;
    }
    seat.in_flight.push_back((shown.sequence, now));
    view.last = Some(shown.sequence);
    let picture = ViewerFrame {
        view: view.id,
        sequence: shown.sequence,
        width: shown.frame.width,
        height: shown.frame.height,
        at: shown.at,
        jpeg: shown.frame.jpeg.clone(),
    };
    send_message(seat, ViewerUpdate::Picture(picture));
}

fn send_message(seat: &ViewerSlot, said: ViewerUpdate) {
    // One whose socket takes nothing for that long is ended by its own deadlines.
    let _ = seat.tell.try_send(said);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: TabId = TabId::from_bytes([1; 16]);
    const OTHER: TabId = TabId::from_bytes([2; 16]);
    const CONNECTION: BrowserConnectionId = BrowserConnectionId::from_bytes([3; 16]);

    fn ask(tab: TabId, width: u32) -> ViewRequest {
        let height = 600;
        ViewRequest { tab, width, height }
    }

    #[test]
    fn a_tab_is_filmed_while_it_is_selected_and_somebody_sees_it() {
        let (mut cinema, now) = (Screencast::default(), Instant::now());
        let (viewer, _told) = cinema.enter().unwrap();
        cinema.set_view(viewer, Some((ask(ONE, 800), CONNECTION)), now);
        assert_eq!(cinema.sees(viewer), Some(ONE));
        assert_eq!(cinema.wanted(Some(ONE)), Some(ask(ONE, 800)));
        // Another one was selected since; a new size of the first one does not take that back.
        assert_eq!(cinema.wanted(Some(OTHER)), None);
        cinema.set_view(viewer, Some((ask(ONE, 900), CONNECTION)), now);
        assert_eq!(cinema.wanted(Some(OTHER)), None);
        assert_eq!(cinema.wanted(Some(ONE)), Some(ask(ONE, 900)));
        let (second, _told) = cinema.enter().unwrap();
        cinema.set_view(second, Some((ask(OTHER, 700), CONNECTION)), now);
        assert_eq!(cinema.wanted(Some(OTHER)), Some(ask(OTHER, 700)));
        assert_eq!(cinema.wanted(None), None);
    }
}
