//! What the actor answers to whom.

use futures_util::FutureExt;
use guildhall_domain::{
    Refusal, Result,
    browser::{
        BrowserAddress, CloseReason, MachineEffect, MachineEvent, OpenRequest, SavedTab, ToolDenial,
    },
    ids::AuthorId,
};
use tokio::time::Instant;

use super::Actor;
use crate::browser::{
    actor_requests::{ActorRequest, BrowserAction, ChromiumAccess, ChromiumNeed, ReplySender},
    input_queue::{InputWaiter, QueuedInput},
    jobs, launch,
    screencast::{ViewRequest, ViewerId},
};

impl Actor {
    pub(super) async fn handle(&mut self, ask: ActorRequest) {
        self.catch_up();
        match ask {
            ActorRequest::Do { deed, by, reply } => {
                let done = self.perform(deed, by).await;
                self.follow_up().await;
                let answer = match done {
                    Ok(()) => Ok(self.flush().await),
                    Err(error) => Err(error),
                };
                send_reply(reply, answer);
            }
            ActorRequest::Reach { need, reply } => {
                let reached = self.chromium_access(need);
                send_reply(reply, reached);
            }
            ActorRequest::Settle { shows, gone, reply } => {
                if let Some(tab) = gone {
                    self.tab_closed(tab);
                }
                if let Some(tab) = shows {
                    // One that is gone again is shown to nobody.
                    let _ = self.tabs.select(tab);
                }
                self.alarms.lonely = None;
                self.follow_up().await;
                let state = self.flush().await;
                send_reply(reply, Ok(state));
            }
            ActorRequest::Input {
                tab,
                connection,
                steps,
                reply,
            } => match self.require_may_type(tab, connection) {
                Ok(()) => {
                    let waits = InputWaiter::Route(reply);
                    self.queue_input(tab, QueuedInput { steps, waits });
                }
                Err(refusal) => send_reply(reply, Err(refusal.into())),
            },
            ActorRequest::Enter { reply } => {
                for viewer in self.cinema.absent() {
                    self.leave(viewer);
                }
                let entered = self.cinema.enter();
                send_reply(reply, entered.map_err(Into::into));
            }
            ActorRequest::View(viewer, ask) => self.set_view(viewer, ask),
            ActorRequest::Seen(viewer, sequence) => {
                for frame in self.cinema.acknowledge(viewer, sequence, Instant::now()) {
                    self.spawn_job(|chromium| jobs::acknowledge(chromium, frame).boxed());
                }
            }
            ActorRequest::Typed {
                viewer,
                id,
                view,
                steps,
            } => self.viewer_input(viewer, (id, view), steps),
            ActorRequest::SessionEnded(session) => {
                self.due.push_back(MachineEvent::SessionEnded(session));
            }
            ActorRequest::Cursor(said) => self.cinema.broadcast_cursor(&said),
            ActorRequest::Look {
                session,
                tab,
                reply,
            } => {
                // Who asked may be gone.
                let _ = reply.send(self.tab_access(session, tab));
            }
            ActorRequest::Act {
                session,
                tab,
                reply,
            } => self.queue_action(session, tab, reply),
            ActorRequest::Adopt {
                session,
                tab,
                reply,
            } => {
                // Who asked may be gone.
                let _ = reply.send(self.adopt(session, tab));
            }
        }
    }

    pub(super) async fn perform(&mut self, deed: BrowserAction, by: AuthorId) -> Result<()> {
        let event = match deed {
            BrowserAction::Open(ask) => {
                let open = OpenRequest {
                    mode: ask.mode,
                    session: ask.session,
                    url: ask.url,
                    tabs: self.kept_tabs(),
                };
                let event = MachineEvent::Open(open);
                let (_, effects) = self.machine.next(event.clone(), self.hall.now())?;
                let starts = effects
                    .iter()
                    .any(|one| matches!(one, MachineEffect::Start(_)));
                // What is left of our own is waited for.
                if starts && self.process.is_none() && launch::is_profile_in_use(&self.hall).await {
                    return Err(Refusal::BrowserProfileInUse.into());
                }
                event
            }
            BrowserAction::Prepare { download } => MachineEvent::Prepare { download },
            BrowserAction::Close => MachineEvent::Close(CloseReason::Person),
            BrowserAction::Share { session, tab } => {
                if let Some(tab) = tab {
                    self.tabs.get(tab)?;
                }
                MachineEvent::Share { session, tab }
            }
            BrowserAction::Pause(paused) => {
                self.machine.connected()?;
                if paused {
                    self.refuse_waiting(ToolDenial::Paused);
                }
                MachineEvent::Pause(paused)
            }
        };
        self.alarms.lonely = None;
        self.step(event, Some(by), false).await
    }

    /// The tabs that can be opened again.
    pub(super) fn kept_tabs(&self) -> Vec<SavedTab> {
        let tabs = self.tabs.all().iter();
        tabs.filter_map(|tab| {
            let address = BrowserAddress::typed(&tab.page.url).ok()?;
            (address != BrowserAddress::blank()).then_some(SavedTab {
                address,
                shared: tab.shared,
            })
        })
        .collect()
    }

    pub(super) fn chromium_access(&mut self, need: ChromiumNeed) -> Result<ChromiumAccess> {
        if let ChromiumNeed::Tab(tab) | ChromiumNeed::Size(tab, _) = need {
            self.tabs.get(tab)?;
        }
        self.machine.connected()?;
        let chromium = self
            .process
            .as_ref()
            .map(|process| process.chromium.clone());
        let chromium = chromium.ok_or(Refusal::BrowserNotConnected)?;
        match need {
            ChromiumNeed::Tab(_) => {}
            ChromiumNeed::Room => self.tabs.has_room()?,
            ChromiumNeed::Size(..) if self.is_window() => {
                return Err(Refusal::BrowserWrongMode.into());
            }
            ChromiumNeed::Size(_, viewport) => self.viewport = viewport,
        }
        self.alarms.lonely = None;
        Ok(ChromiumAccess {
            chromium,
            is_last: !self.is_window() && self.tabs.all().len() == 1,
        })
    }

    pub(super) fn set_view(&mut self, viewer: ViewerId, ask: Option<ViewRequest>) {
        let connection = self.machine.connected().ok();
        let known = ask.filter(|ask| self.tabs.get(ask.tab).is_ok());
        let view = known.zip(connection).filter(|_| !self.is_window());
        let turns_to = view.map(|(ask, _)| ask.tab);
        let turns_to = turns_to.filter(|tab| self.cinema.sees(viewer) != Some(*tab));
        if let Some(tab) = turns_to {
            // Only what is in front can be filmed. It is there: it was looked up just now.
            let _ = self.tabs.select(tab);
        }
        if let Some((tab, steps)) = self.cinema.set_view(viewer, view, Instant::now()) {
            self.release_held(tab, &steps);
        }
    }
}

fn send_reply<T>(reply: ReplySender<T>, answer: Result<T>) {
    // Who asked may be gone.
    let _ = reply.send(answer);
}
