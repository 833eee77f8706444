//! Entries: posting in a room and reading what was posted.

use guildhall_domain::{
    Refusal, Result,
    callers::{AnyCaller, Caller, Gate},
    entries::{EntriesAsk, EntriesPage, Entry, PostText},
    events::Event,
    ids::{EntryId, RoomId},
    mentions::{self, MentionSpan},
    outcome::Thing,
};
use guildhall_store::{
    Rx, Seen,
    entries::{self, NewPost},
    members, settings,
};

use crate::{
    Hall,
    repeats::Once,
    sight::{self, Sight},
};

impl Hall {
    /// Writes a post; its mentions are resolved now and for good.
    ///
    /// # Errors
    /// `NotFound`, [`Refusal::RoomArchived`], [`Refusal::NotAMember`].
    pub async fn post(
        &self,
        by: &AnyCaller,
        room: RoomId,
        text: PostText,
        once: Once<Entry>,
    ) -> Result<Entry> {
        let (by, now) = (*by.caller(), self.now());
        let id = Self::new_id(EntryId::from_bytes);
        self.store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    let sight = sight::room(tx, &by, room)?;
                    sight.writable()?;
                    let post = NewPost {
                        id,
                        room,
                        author: by.author,
                        mention_spans: resolve(tx, room, text.as_str())?,
                        text: text.into_string(),
                        cascade_depth: depth(tx, &by, &sight)?,
                        now,
                    };
                    let entry = entries::insert(tx, post)?;
                    let event = Event::EntryAdded {
                        entry: entry.clone(),
                    };
                    tx.append(now, Some(by.author), &event)?;
                    Ok(entry)
                })
            })
            .await
    }

    /// A run of a room's entries, oldest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn entries(
        &self,
        by: &AnyCaller,
        room: RoomId,
        ask: EntriesAsk,
    ) -> Result<Seen<EntriesPage>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                let floor = sight::room(db, &by, room)?.floor;
                entries::page(db, room, floor, ask)
            })
            .await
    }

    /// One entry of a room.
    ///
    /// # Errors
    /// `NotFound` for room or entry.
    pub async fn entry(&self, by: &AnyCaller, room: RoomId, id: EntryId) -> Result<Seen<Entry>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                let floor = sight::room(db, &by, room)?.floor;
                let entry = entries::find(db, room, floor, id)?;
                Ok(entry.ok_or(Refusal::NotFound(Thing::Entry))?)
            })
            .await
    }
}

/// Whom the text names among the room's members.
fn resolve(db: &Rx<'_>, room: RoomId, text: &str) -> Result<Vec<MentionSpan>> {
    if !text.contains('@') {
        return Ok(Vec::new());
    }
    let members = members::by_handle(db, room)?;
    Ok(mentions::find(text, |name| {
        name.parse()
            .ok()
            .and_then(|handle| members.get(&handle).copied())
    }))
}

/// A person's post begins a cascade; an agent's post outside a turn ends one, so that it
/// starts nobody.
pub(crate) fn depth(db: &Rx<'_>, by: &Caller, sight: &Sight) -> Result<u32> {
    match sight.standing.max_agent_depth {
        _ if by.is_human() => Ok(0),
        Some(depth) => Ok(depth),
        None => Ok(settings::turn_limits(db)?.max_agent_depth),
    }
}
