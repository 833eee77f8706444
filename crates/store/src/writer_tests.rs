//! The writer's promises, on a real file.

use std::sync::Arc;

use guildhall_domain::{Error, Refusal, Timestamp, events::Event, ids::AgentTokenId};
use guildhall_world::scratch::Scratch;

use super::*;
use crate::{Store, events as log};

const NOW: Timestamp = Timestamp::from_millis(1_000);

fn open(scratch: &Scratch) -> Arc<Store> {
    Arc::new(Store::open(&scratch.path().join("test.sqlite")).unwrap())
}

fn event(n: u64) -> Event {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&n.to_be_bytes());
    Event::AgentTokenRevoked {
        agent_id: guildhall_domain::ids::AgentId::from_bytes([1; 16]),
        token_id: AgentTokenId::from_bytes(bytes),
    }
}

async fn seqs(store: &Store) -> Vec<u64> {
    let all = log::PageSize {
        events: 10_000,
        bytes: usize::MAX,
    };
    let page = store.read(move |db| log::after(db, 0, all)).await;
    let events = page.unwrap().value.events;
    events.iter().map(|event| event.seq).collect()
}

#[tokio::test]
async fn the_writer_syncs_every_commit_of_its_write_ahead_log() {
    let scratch = Scratch::new("store");
    let store = open(&scratch);
    let pragmas = store.write(|tx| {
        let synchronous: i64 = tx.one("PRAGMA synchronous", [], |row| row.get(0))?;
        let journal: String = tx.one("PRAGMA journal_mode", [], |row| row.get(0))?;
        Ok((synchronous, journal))
    });
    assert_eq!(pragmas.await.unwrap(), (2, "wal".to_owned()));
}

fn log_bytes(scratch: &Scratch) -> u64 {
    let log = scratch.path().join("test.sqlite-wal");
    std::fs::metadata(log).unwrap().len()
}

#[tokio::test]
async fn pages_to_be_forgotten_leave_the_write_ahead_log_before_the_answer() {
    let scratch = Scratch::new("store");
    let store = open(&scratch);
    let append = |forgets: bool| {
        store.write(move |tx| {
            if forgets {
                tx.forget_pages();
            }
            tx.append(NOW, None, &event(1))
        })
    };
    append(false).await.unwrap();
    assert!(log_bytes(&scratch) > 0);
    append(true).await.unwrap();
    assert_eq!(log_bytes(&scratch), 0);
    let refused = store.write(|tx| -> Result<()> {
        tx.forget_pages();
        Err(Refusal::RoomArchived.into())
    });
    append(false).await.unwrap();
    refused.await.unwrap_err();
    assert!(log_bytes(&scratch) > 0, "what was refused asks for nothing");
}

#[tokio::test]
async fn pages_that_a_reader_holds_are_forgotten_once_it_ends() {
    let scratch = Scratch::new("store");
    let store = open(&scratch);
    let append = |forgets: bool| {
        store.write(move |tx| {
            if forgets {
                tx.forget_pages();
            }
            tx.append(NOW, None, &event(1))
        })
    };
    append(false).await.unwrap();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let (begin, begun) = oneshot::channel();
    let reading = store.read(move |_| {
        let _ = begin.send(());
        let _ = ended.recv();
        Ok(())
    });
    let writing = async {
        begun.await.unwrap();
        append(true).await.unwrap();
        for _ in 0..100 {
            append(false).await.unwrap();
        }
        drop(end);
    };
    let (read, ()) = tokio::join!(reading, writing);
    read.unwrap();
    // A store that never rests tries again as well: its log begins anew.
    let held = log_bytes(&scratch);
    let began = std::time::Instant::now();
    while log_bytes(&scratch) >= held {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "it is tried again"
        );
        append(false).await.unwrap();
    }
}

#[tokio::test]
async fn pages_of_the_last_run_leave_the_write_ahead_log_at_the_start() {
    let scratch = Scratch::new("store");
    let store = open(&scratch);
    store
        .write(|tx| tx.append(NOW, None, &event(1)))
        .await
        .unwrap();
    // What a killed server leaves behind: the files as they are now.
    let left = Scratch::new("left");
    for file in ["test.sqlite", "test.sqlite-wal"] {
        std::fs::copy(scratch.path().join(file), left.path().join(file)).unwrap();
    }
    assert!(log_bytes(&left) > 0);
    let store = open(&left);
    assert_eq!((log_bytes(&left), seqs(&store).await), (0, vec![1]));
}

#[tokio::test]
async fn a_refusal_or_panic_undoes_itself_and_no_neighbour() {
    let scratch = Scratch::new("store");
    let store = open(&scratch);
    let jobs: Vec<_> = (0..300_u64)
        .map(|n| {
            let store = Arc::clone(&store);
            async move {
                let outcome = store
                    .write(move |tx| {
                        let seq = tx.append(NOW, None, &event(n))?;
                        match n % 3 {
                            0 => Ok(seq),
                            1 => Err(Refusal::RoomArchived.into()),
                            _ => panic!("a change that panics"),
                        }
                    })
                    .await;
                match (n % 3, outcome) {
                    (0, Ok(seq)) => Some(seq),
                    (1, Err(Error::Refusal(Refusal::RoomArchived))) | (2, Err(Error::Fault(_))) => {
                        None
                    }
                    (_, other) => panic!("{n}: {other:?}"),
                }
            }
        })
        .collect();
    let mut tasks = tokio::task::JoinSet::new();
    for job in jobs {
        tasks.spawn(job);
    }
    let mut kept: Vec<u64> = tasks.join_all().await.into_iter().flatten().collect();
    kept.sort_unstable();
    assert_eq!(kept, (1..=100).collect::<Vec<_>>());
    assert_eq!(seqs(&store).await, kept);
    assert_eq!(*store.head().borrow(), 100);
}

#[tokio::test]
async fn an_answer_leaves_after_the_commit_and_the_head_before_the_answer() {
    let scratch = Scratch::new("store");
    let store = open(&scratch);
    let head = store.head();
    let path = scratch.path().join("test.sqlite");
    for n in 1..=50 {
        let seq = store
            .write(move |tx| tx.append(NOW, None, &event(n)))
            .await
            .unwrap();
        assert_eq!(*head.borrow(), seq);
        let other = Connection::open(&path).unwrap();
        let found: i64 = other
            .query_row("SELECT MAX(seq) FROM events", [], |row| row.get(0))
            .unwrap();
        assert_eq!(
            found.unsigned_abs(),
            seq,
            "another connection sees what was answered"
        );
    }
    assert!(store.write_counts().commits >= 1 && store.write_counts().events == 50);
}

#[tokio::test]
async fn a_full_disk_is_told_and_heals() {
    let scratch = Scratch::new("store");
    let store = open(&scratch);
    let big = |n: u64| {
        let text = "x".repeat(1_000_000);
        move |tx: &mut Tx<'_>| {
            tx.append(NOW, None, &event(n))?;
            tx.run(
                "INSERT INTO installation (key, value) VALUES ($1, $2)",
                (n.to_string(), text),
            )
        }
    };
    let limit = store.write(|tx| {
        let pages: i64 = tx.one("PRAGMA page_count", [], |row| row.get(0))?;
        tx.one(
            &format!("PRAGMA max_page_count = {}", pages + 10),
            [],
            |row| row.get::<_, i64>(0),
        )
    });
    limit.await.unwrap();
    match store.write(big(1)).await {
        Err(Error::Fault(fault)) => assert_eq!(fault.kind, FaultKind::StorageFull),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        seqs(&store).await,
        [0_u64; 0],
        "nothing was changed, and reading goes on"
    );
    // The store was reopened, and its new connection has room again.
    store.write(big(2)).await.unwrap();
    assert_eq!(seqs(&store).await, [1]);
}

#[tokio::test]
async fn a_store_opened_again_goes_on_where_it_ended() {
    let scratch = Scratch::new("store");
    let first = open(&scratch);
    for n in 0..5 {
        first
            .write(move |tx| tx.append(NOW, None, &event(n)))
            .await
            .unwrap();
    }
    drop(first);
    let second = open(&scratch);
    let seq = second
        .write(|tx| tx.append(NOW, None, &event(5)))
        .await
        .unwrap();
    assert_eq!(seq, 6);
}
