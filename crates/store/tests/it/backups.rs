//! Copies of a store: one snapshot, made while the store is written, checked before they count.

use guildhall_domain::{
    Result, Timestamp,
    errors::FaultKind,
    events::Event,
    ids::{AgentId, AgentTokenId, LogId},
};
use guildhall_store::{CheckDepth, Store, Tx, backups, events, installation};
use guildhall_world::scratch::Scratch;
use rusqlite::Connection;

const LOG: LogId = LogId::from_bytes([7; 16]);

fn append(tx: &mut Tx<'_>, n: u64) -> Result<u64> {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&n.to_be_bytes());
    let event = Event::AgentTokenRevoked {
        agent_id: AgentId::from_bytes([1; 16]),
        token_id: AgentTokenId::from_bytes(bytes),
    };
    tx.append(Timestamp::from_millis(1_000), None, &event)
}

async fn filled(scratch: &Scratch, count: u64) -> Store {
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    let fill = store.write(move |tx| {
        installation::set_log_id(tx, LOG)?;
        (0..count).try_for_each(|n| append(tx, n).map(|_| ()))
    });
    fill.await.unwrap();
    store
}

#[tokio::test]
async fn a_copy_holds_one_moment_while_the_store_is_written() {
    let scratch = Scratch::new("copies");
    let store = filled(&scratch, 20_000).await;
    let to = scratch.path().join("copy.sqlite");
    let is_copied = std::cell::Cell::new(false);
    let copying = async {
        let copy = store.copy_to(to.clone()).await;
        is_copied.set(true);
        copy.unwrap()
    };
    let writing = async {
        let mut written = 0;
        while !is_copied.get() {
            store.write(move |tx| append(tx, written)).await.unwrap();
            written += 1;
        }
        written
    };
    let (copy, written) = tokio::join!(copying, writing);
    assert!(written > 0, "writing goes on meanwhile");

    let (newest, held) = (20_000 + written, copy.holds.event_seq);
    assert!((20_000..=newest).contains(&held), "{held} of {newest}");
    assert_eq!(copy.holds.log_id, Some(LOG));
    let opened = Store::open(&to).unwrap();
    opened.check(CheckDepth::Whole).await.unwrap();
    assert_eq!(opened.read(events::newest).await.unwrap().value, held);
}

#[tokio::test]
async fn a_restored_copy_begins_a_log_of_its_own() {
    let scratch = Scratch::new("copies");
    let store = filled(&scratch, 10).await;
    let to = scratch.path().join("copy.sqlite");
    store.copy_to(to.clone()).await.unwrap();
    let other = LogId::from_bytes([8; 16]);
    backups::begin_new_log(&to, other).unwrap();
    assert!(!scratch.path().join("copy.sqlite-wal").exists());
    assert_eq!(backups::inspect(&to).unwrap().holds.log_id, Some(other));
    assert_eq!(
        store.read(installation::log_id).await.unwrap().value,
        Some(LOG)
    );
}

#[tokio::test]
async fn a_copy_that_is_damaged_or_of_a_newer_guildhall_is_none() {
    let scratch = Scratch::new("copies");
    let store = filled(&scratch, 3_000).await;
    let to = scratch.path().join("copy.sqlite");
    store.copy_to(to.clone()).await.unwrap();
    let mut bytes = std::fs::read(&to).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0);
    std::fs::write(&to, bytes).unwrap();
    let fault = backups::inspect(&to).unwrap_err();
    assert_eq!(fault.kind, FaultKind::StoreDamaged);

    let newer = scratch.path().join("newer.sqlite");
    store.copy_to(newer.clone()).await.unwrap();
    let connection = Connection::open(&newer).unwrap();
    connection
        .pragma_update(None, "user_version", 1_000)
        .unwrap();
    drop(connection);
    assert!(backups::inspect(&newer).is_err());
}

#[tokio::test]
async fn a_store_of_an_older_guildhall_awaits_its_migration_and_can_be_copied_before() {
    let scratch = Scratch::new("copies");
    let path = scratch.path().join("store.sqlite");
    assert!(
        !backups::awaits_migration(&path).unwrap(),
        "there is none yet"
    );
    drop(filled(&scratch, 10).await);
    assert!(!backups::awaits_migration(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    let version: u32 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    connection
        .pragma_update(None, "user_version", version - 1)
        .unwrap();
    drop(connection);
    assert!(backups::awaits_migration(&path).unwrap());
    let copy = backups::copy_closed(&path, &scratch.path().join("copy.sqlite")).unwrap();
    assert_eq!(
        (copy.holds.schema_version, copy.holds.event_seq),
        (version - 1, 10)
    );
}
