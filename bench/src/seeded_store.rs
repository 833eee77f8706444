//! Filling: a house with rooms and entries, made before anything is measured.
//! Rooms come in through the front door; entries go straight into the store, as fast as it takes them.

use guildhall_domain::{
    authors::{Author, AuthorKind},
    entries::Entry,
    events::Event,
    ids::{AuthorId, EntryId, RoomId},
};
use guildhall_store::{
    Store, Tx, authors,
    entries::{self, Cascade, NewPost},
    rooms::{self, RoomsQuery},
};
use guildhall_world::{clock::Clock, ids};
use serde_json::{Value, json};

use crate::{
    Result,
    http_client::{HttpClient, get, post},
    server::{ServerFolder, ServerProcess},
};

/// What every post says: as long as a few spoken sentences.
pub(crate) const TEXT: &str = "The build is green again: the flaky test waited for a timer that \
    nobody had started. I moved it to an event, ran it a thousand times, and it held.";

/// A word that one post of each commit says, and none of the others.
pub(crate) const RARE: &str = "quokka";

/// Posts that one commit takes while the store is filled.
const BATCH: u64 = 1_000;

/// Makes channels until the caller belongs to `count` rooms; answers the ids of the new ones.
pub(crate) async fn make_rooms(server: &ServerProcess, count: usize) -> Result<Vec<RoomId>> {
    let mut client = HttpClient::connect(server.address).await?;
    let there = unread_counts(server).await?.len();
    let mut made = Vec::with_capacity(count);
    for n in there..count {
        let ask = json!({
            "kind": "channel",
            "title": format!("Room {n}"),
            "topic": "What we do about the things that are ours to do",
        });
        let request = post(server.address, "/api/rooms", &ask);
        let room: Value = serde_json::from_slice(client.expect(&request, 201).await?)?;
        let id = room["id"].as_str().and_then(RoomId::parse);
        made.push(id.ok_or("a new room has no id")?);
    }
    Ok(made)
}

/// The unread count of every room, as the listing tells them.
pub(crate) async fn unread_counts(server: &ServerProcess) -> Result<Vec<u64>> {
    let mut client = HttpClient::connect(server.address).await?;
    let request = get(server.address, "/api/rooms");
    let listing: Value = serde_json::from_slice(client.expect(&request, 200).await?)?;
    let rooms = listing["rooms"].as_array().ok_or("no rooms are listed")?;
    let counts = rooms.iter().map(|room| room["unreadCount"].as_u64());
    let counts: Option<Vec<u64>> = counts.collect();
    Ok(counts.ok_or("a listed room has no unread count")?)
}

/// An open store of a house that nobody serves, and two authors to write as.
pub(crate) struct SeededStore {
    /// The store.
    pub(crate) store: Store,
    /// The owner, who belongs to every room.
    pub(crate) owner: AuthorId,
    /// Somebody else, whose posts are unread to the owner.
    pub(crate) guest: AuthorId,
}

impl SeededStore {
    /// Opens the store and adds the guest.
    pub(crate) async fn open(house: &ServerFolder) -> Result<Self> {
        let store = Store::open(&house.database())?;
        let id = AuthorId::from_bytes(ids::new().into_bytes());
        let guest = Author::new(id, AuthorKind::Human, "Guest".to_owned());
        let owner = store
            .write(move |tx| {
                authors::insert(tx, &guest)?;
                guildhall_store::installation::owner(tx)
            })
            .await
            .map_err(crate::broken)?;
        Ok(Self {
            store,
            owner: owner.ok_or("the store has no owner")?,
            guest: id,
        })
    }

    /// Posts `each` times in every room as the guest, events included.
    pub(crate) async fn post_in(&self, rooms: &[RoomId], each: u64) -> Result<()> {
        for room in rooms {
            let mut left = each;
            while left > 0 {
                let count = left.min(BATCH);
                self.post_batch(*room, count).await?;
                left -= count;
            }
        }
        Ok(())
    }

    /// Writes `count` posts and their events in one commit.
    pub(crate) async fn post_batch(&self, room: RoomId, count: u64) -> Result<()> {
        let author = self.guest;
        let batch = self.store.write(move |tx| {
            post_one(tx, room, author, format!("{TEXT} {RARE}"))?;
            for _ in 1..count {
                post_one(tx, room, author, TEXT.to_owned())?;
            }
            Ok(())
        });
        batch.await.map_err(crate::broken)
    }

    /// Lists the rooms as the front door does for the owner, without what the door adds.
    pub(crate) async fn list_rooms(&self) -> Result<()> {
        let owner = self.owner;
        let ask = RoomsQuery::default();
        let read = self.store.read(move |db| rooms::list(db, owner, ask));
        read.await.map_err(crate::broken).map(drop)
    }
}

/// The rows of one post: the entry, the counts it moves, and its event.
fn post_one(
    tx: &mut Tx<'_>,
    room: RoomId,
    author: AuthorId,
    text: String,
) -> guildhall_domain::Result<Entry> {
    let now = Clock::System.now();
    let post = NewPost {
        id: EntryId::from_bytes(ids::new().into_bytes()),
        room,
        author,
        text,
        thread_root: None,
        mention_spans: Vec::new(),
        cascade: Cascade::default(),
        now,
    };
    let entry = entries::insert(tx, post)?;
    let event = Event::EntryAdded {
        entry: entry.clone(),
    };
    tx.append(now, Some(author), &event)?;
    Ok(entry)
}
