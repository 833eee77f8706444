//! One page of the log, as far as a caller may see it at this moment.

use std::{collections::HashMap, sync::Arc};

use guildhall_domain::{
    Result, Timestamp,
    callers::{Caller, Identity},
    events::{Event, EventAudience, EventScope},
    ids::{RoomId, SessionId},
    limits,
};
use guildhall_store::{
    ReadTx, authors, entries,
    events::{self, PageSize, StoredEvent},
    members::{self, MembershipWindow},
    sessions,
};

use crate::callers;

/// What reading one page gave.
pub(super) enum VisiblePage {
    /// The caller's credential no longer counts.
    CredentialLost,
    /// The events after the reader's place are no longer kept.
    Dropped,
    /// What the caller may see, in order.
    Events {
        /// The visible events.
        events: Vec<Arc<StoredEvent>>,
        /// Everything up to here was read.
        position: u64,
        /// Nothing the caller asked for can come any more.
        nothing_left: bool,
    },
}

/// Reads the page after `last` for a caller that asked for `scopes`, `None` for all.
pub(super) fn read(
    db: &ReadTx<'_>,
    by: &Caller,
    scopes: Option<&[EventScope]>,
    last: u64,
    now: Timestamp,
) -> Result<VisiblePage> {
    if !callers::is_live(db, by, now)? {
        return Ok(VisiblePage::CredentialLost);
    }
    if last + 1 < events::retained_from(db)? {
        return Ok(VisiblePage::Dropped);
    }
    let size = PageSize {
        events: limits::EVENTS_PAGE,
        bytes: limits::EVENTS_PAGE_BYTES,
    };
    let read = match scopes {
        None => events::after(db, last, size)?,
        Some(scopes) => events::after_in(db, scopes, last, size)?,
    };
    let position = match read.events.last() {
        Some(event) if read.is_full => event.seq,
        _ => events::newest(db)?,
    };
    let mut eyes = EventFilter {
        db,
        by,
        scopes,
        windows: HashMap::new(),
        sessions: HashMap::new(),
    };
    let mut visible = Vec::with_capacity(read.events.len());
    for event in read.events {
        if eyes.is_visible(&event)? {
            visible.push(event);
        }
    }
    let nothing_left = eyes.has_lost_everything()?;
    Ok(VisiblePage::Events {
        events: visible,
        position,
        nothing_left,
    })
}

/// One caller's rights while one page is read.
struct EventFilter<'a> {
    db: &'a ReadTx<'a>,
    by: &'a Caller,
    scopes: Option<&'a [EventScope]>,
    /// Rooms already looked up.
    windows: HashMap<RoomId, Option<MembershipWindow>>,
    /// Sessions already looked up, and whether they are the caller's.
    sessions: HashMap<SessionId, bool>,
}

impl EventFilter<'_> {
    /// Whether the caller may hear of the event. Source: contract 1.10, the table of scopes.
    fn is_visible(&mut self, event: &StoredEvent) -> Result<bool> {
        match event.audience {
            EventAudience::Author(author) => Ok(author == self.by.author),
            EventAudience::Owner if self.by.identity == Identity::Owner => Ok(true),
            EventAudience::Owner => self.sees_owner_event(event),
            EventAudience::Scope if self.by.is_human() => Ok(true),
            EventAudience::Scope => self.agent_sees(event),
        }
    }

    /// The chapters name an agent for its own scope alone, and for a session's whoever sees it.
    fn sees_owner_event(&mut self, event: &StoredEvent) -> Result<bool> {
        let scopes: Vec<EventScope> = self.asked_scopes(event).collect();
        for scope in scopes {
            let hears = match scope {
                EventScope::Session(_) if self.by.is_human() => true,
                EventScope::Session(session) => self.is_own_session(session)?,
                EventScope::Agent(_) | EventScope::Room(_) | EventScope::Hall => self.is_own(scope),
            };
            if hears {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn agent_sees(&mut self, event: &StoredEvent) -> Result<bool> {
        let scopes: Vec<EventScope> = self.asked_scopes(event).collect();
        for scope in scopes {
            let visible = match scope {
                EventScope::Agent(_) => self.is_own(scope),
                EventScope::Room(room) => self.in_room(room, event)?,
                EventScope::Hall => self.concerns(event)?,
                EventScope::Session(session) => self.is_own_session(session)?,
            };
            if visible {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_own_session(&mut self, session: SessionId) -> Result<bool> {
        if let Some(known) = self.sessions.get(&session) {
            return Ok(*known);
        }
        let is_own = sessions::agent(self.db, session)? == self.by.agent();
        self.sessions.insert(session, is_own);
        Ok(is_own)
    }

    /// An agent sees a room's events from the one that let it in, and its own leaving.
    fn in_room(&mut self, room: RoomId, event: &StoredEvent) -> Result<bool> {
        match self.window(room)? {
            Some(window) if event.seq >= window.seen_from => Ok(self
                .entry_changed(event)?
                .is_none_or(|seq| seq > window.joined_seq)),
            _ => self.is_own_leaving(event),
        }
    }

    /// The seq of the entry that an event changes, which can be older than the agent's joining.
    fn entry_changed(&self, event: &StoredEvent) -> Result<Option<u64>> {
        if !matches!(event.name.as_str(), "entry_redacted" | "entry_reactions") {
            return Ok(None);
        }
        match event.event()? {
            Event::EntryRedacted { entry } => Ok(Some(entry.seq)),
            Event::EntryReactions { entry_id, .. } => entries::seq(self.db, entry_id).map(Some),
            _ => Ok(None),
        }
    }

    fn is_own_leaving(&self, event: &StoredEvent) -> Result<bool> {
        if event.name != "room_member_removed" {
            return Ok(false);
        }
        match event.event()? {
            Event::RoomMemberRemoved { author_id, .. } => Ok(author_id == self.by.author),
            _ => Ok(false),
        }
    }

    /// Whether an event of the hall is about something this agent may see.
    fn concerns(&mut self, event: &StoredEvent) -> Result<bool> {
        if let EventScope::Room(room) = event.scope {
            return self.in_room(room, event);
        }
        match event.event()? {
            Event::AuthorUpdated { author } => {
                authors::is_visible_to(self.db, author.id, self.by.author)
            }
            Event::RuntimeChanged { .. } => Ok(true),
            _ => Ok(false),
        }
    }

    /// The event's scopes that were asked for.
    fn asked_scopes<'e>(
        &self,
        event: &'e StoredEvent,
    ) -> impl Iterator<Item = EventScope> + use<'e, '_> {
        let asked = self.scopes;
        std::iter::once(&event.scope)
            .chain(&event.also)
            .copied()
            .filter(move |scope| asked.is_none_or(|asked| asked.contains(scope)))
    }

    fn is_own(&self, scope: EventScope) -> bool {
        matches!(scope, EventScope::Agent(agent) if self.by.agent() == Some(agent))
    }

    /// Whether every scope asked for is a room the caller has lost sight of.
    fn has_lost_everything(&mut self) -> Result<bool> {
        let Some(scopes) = self.scopes else {
            return Ok(false);
        };
        if self.by.is_human() {
            return Ok(false);
        }
        for scope in scopes {
            match scope {
                EventScope::Room(room) if self.window(*room)?.is_none() => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    fn window(&mut self, room: RoomId) -> Result<Option<MembershipWindow>> {
        if let Some(window) = self.windows.get(&room) {
            return Ok(*window);
        }
        let window = members::window(self.db, room, self.by.author)?;
        self.windows.insert(room, window);
        Ok(window)
    }
}
