//! Attachments: which blobs are free once rows are gone, and how many bytes they take.

use guildhall_domain::{
    Result, Timestamp,
    attachments::{Attachment, Digest},
    authors::{Author, AuthorKind},
    entries::{EntriesQuery, Entry},
    ids::{AttachmentId, AuthorId, EntryId, RoomId},
    limits,
    rooms::{LimitOverrides, Room, RoomKind, TURN_LIMITS_DEFAULT},
};
use guildhall_store::{
    Store, Tx,
    attachments::{self, NewAttachment},
    authors,
    entries::{self, NewPost},
    rooms,
};
use guildhall_world::scratch::Scratch;

const ROOM: RoomId = RoomId::from_bytes([1; 16]);
const AUTHOR: AuthorId = AuthorId::from_bytes([2; 16]);
const NOW: Timestamp = Timestamp::from_millis(1_000);

fn found(tx: &mut Tx<'_>) -> Result<()> {
    let author = Author::new(AUTHOR, AuthorKind::Human, "Ada".to_owned());
    authors::insert(tx, &author)?;
    let limits = TURN_LIMITS_DEFAULT;
    let room = Room {
        id: ROOM,
        kind: RoomKind::Channel,
        slug: "ops".to_owned(),
        title: "Ops".to_owned(),
        topic: String::new(),
        archived: false,
        ambient_max_entries: limits::AMBIENT_ENTRIES_DEFAULT,
        well_known: String::new(),
        fallback_seat_author_id: None,
        turn_limits_enabled: limits.turn_limits_enabled,
        max_agent_depth: limits.max_agent_depth,
        max_turns_per_agent_per_cascade: limits.max_turns_per_agent_per_cascade,
        max_auto_turns_per_hour: limits.max_auto_turns_per_hour,
        limit_overrides: LimitOverrides::default(),
        created_at: NOW,
        last_activity_at: NOW,
        bridge: None,
    };
    rooms::insert(tx, &room, Some("Ops"), false)
}

/// Uploads files of these digests, 10 bytes each, and posts them.
fn post(tx: &mut Tx<'_>, n: u8, digests: &[u8]) -> Result<Entry> {
    let mut files = Vec::new();
    for (place, digest) in (0..).zip(digests) {
        files.push(upload(tx, [n, place], *digest)?);
    }
    let new = NewPost {
        id: EntryId::from_bytes([n; 16]),
        room: ROOM,
        author: AUTHOR,
        text: "look".to_owned(),
        thread_root: None,
        mention_spans: Vec::new(),
        cascade: Default::default(),
        now: NOW,
    };
    let mut entry = entries::insert(tx, new)?;
    attachments::post(tx, &mut entry, files)?;
    Ok(entry)
}

fn upload(tx: &mut Tx<'_>, [n, place]: [u8; 2], digest: u8) -> Result<Attachment> {
    let mut id = [n; 16];
    id[15] = place;
    let new = NewAttachment {
        id: AttachmentId::from_bytes(id),
        room: ROOM,
        uploader: AUTHOR,
        name: "a".to_owned(),
        mime_type: "x/y".to_owned(),
        picture: None,
        size: 10,
        sha256: digest_of(digest),
        now: NOW,
    };
    attachments::insert(tx, new)
}

fn digest_of(n: u8) -> Digest {
    Digest::from_bytes([n; 32])
}

#[tokio::test]
async fn an_entrys_files_are_forgotten_and_only_blobs_that_nobody_needs_are_free() {
    let scratch = Scratch::new("attachments");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    let test = store.write(|tx| {
        found(tx)?;
        let first = post(tx, 1, &[10, 11, 10])?;
        let second = post(tx, 2, &[11, 12])?;
        upload(tx, [3, 0], 13)?;
        assert_eq!(attachments::bytes_stored(tx)?, 40);
        let ask = EntriesQuery {
            limit: 9,
            ..EntriesQuery::default()
        };
        let page = entries::page(tx, ROOM, 0, ask)?;
        assert_eq!(
            page.entries,
            [first.clone(), second.clone()],
            "in their order"
        );

        let free = attachments::forget_of_entry(tx, first.id)?;
        assert_eq!(free, [digest_of(10)], "another entry has the other one");
        assert_eq!(attachments::bytes_stored(tx)?, 30);
        assert_eq!(attachments::forget_of_entry(tx, first.id)?, []);
        let left = entries::find(tx, ROOM, 0, first.id)?.unwrap();
        assert_eq!(left.attachments, []);
        assert_eq!(entries::find(tx, ROOM, 0, second.id)?, Some(second));

        let later = NOW.plus_seconds(1);
        assert_eq!(attachments::forget_unposted(tx, NOW, 9)?, (0, vec![]));
        let unposted = attachments::forget_unposted(tx, later, 9)?;
        assert_eq!(unposted, (1, vec![digest_of(13)]));
        assert_eq!(attachments::needed_on_shelf(tx, 11)?, [digest_of(11)]);
        assert_eq!(attachments::needed_on_shelf(tx, 10)?, []);
        assert_eq!(attachments::bytes_stored(tx)?, 20);
        Ok(())
    });
    test.await.unwrap();
}
