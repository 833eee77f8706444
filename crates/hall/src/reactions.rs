//! Reactions: answering an entry with an emoji, and taking that back.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    callers::{AnyCaller, Caller, Gate},
    errors::ResourceKind,
    events::Event,
    ids::{AuthorId, EntryId, RoomId},
    limits,
    reactions::{Emoji, Reaction, Reactions},
};
use guildhall_store::{ReadTx, Tx, entries, reactions};

use crate::{Hall, visibility};

impl Hall {
    /// Reacts to an entry; who has reacted so already stays as it is.
    ///
    /// # Errors
    /// `NotFound` for room or entry, [`Refusal::RoomArchived`], [`Refusal::NotAMember`],
    /// [`Refusal::TooManyReactions`], [`Refusal::ReactionRateLimited`].
    ///
    /// Source: contract 2.3, "Reactions".
    pub async fn react(
        &self,
        by: &AnyCaller,
        room: RoomId,
        entry: EntryId,
        emoji: Emoji,
    ) -> Result<Vec<Reaction>> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                let mut all = reactable(tx, &by, room, entry)?;
                if all.has(&emoji, by.author) {
                    return Ok(all.summaries());
                }
                all.add(emoji, by.author, now)?;
                if !by.is_human() {
                    count_addition(tx, room, by.author, now)?;
                }
                store_reactions(tx, &by, room, entry, &all, now)
            })
            .await
    }

    /// Takes a reaction back; one that is not there stays away.
    ///
    /// # Errors
    /// `NotFound` for room or entry, [`Refusal::RoomArchived`], [`Refusal::NotAMember`].
    pub async fn unreact(
        &self,
        by: &AnyCaller,
        room: RoomId,
        entry: EntryId,
        emoji: Emoji,
    ) -> Result<Vec<Reaction>> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                let mut all = reactable(tx, &by, room, entry)?;
                if !all.remove(&emoji, by.author) {
                    return Ok(all.summaries());
                }
                store_reactions(tx, &by, room, entry, &all, now)
            })
            .await
    }
}

/// The reactions to an entry that the caller may change.
fn reactable(db: &ReadTx<'_>, by: &Caller, room: RoomId, entry: EntryId) -> Result<Reactions> {
    let sight = visibility::room(db, by, room)?;
    entries::find(db, room, sight.floor, entry)?.ok_or(Refusal::NotFound(ResourceKind::Entry))?;
    sight.require_writable()?;
    reactions::of(db, entry)
}

/// Counts one more reaction of an agent; taking one back gives nothing back.
fn count_addition(tx: &mut Tx<'_>, room: RoomId, agent: AuthorId, now: Timestamp) -> Result<()> {
    let since = now.plus_seconds(-limits::REACTION_WINDOW_S);
    let lately = reactions::added_since(tx, room, agent, since)?;
    if let Some(first_at) = lately.first_at
        && lately.added >= limits::AGENT_REACTIONS_MAX
    {
        // The first of them leaves the window when that has moved on to its moment.
        let wait = since.seconds_until(first_at);
        return Err(Refusal::ReactionRateLimited(wait).into());
    }
    reactions::note(tx, room, agent, now, since)
}

fn store_reactions(
    tx: &mut Tx<'_>,
    by: &Caller,
    room: RoomId,
    entry: EntryId,
    all: &Reactions,
    now: Timestamp,
) -> Result<Vec<Reaction>> {
    reactions::keep(tx, entry, all)?;
    let shown = all.summaries();
    let event = Event::EntryReactions {
        room_id: room,
        entry_id: entry,
        reactions: shown.clone(),
    };
    tx.append(now, Some(by.author), &event)?;
    Ok(shown)
}
