//! The event log: scopes, pages and retention.

use std::sync::Arc;

use guildhall_domain::{
    Timestamp,
    events::{Event, EventScope},
    ids::{AgentId, AgentTokenId, AuthorId, RoomId},
};
use guildhall_store::{
    Store,
    events::{self, PageSize},
};
use guildhall_world::scratch::Scratch;
use proptest::prelude::*;

fn room(n: u8) -> RoomId {
    RoomId::from_bytes([n; 16])
}

fn left(n: u8) -> Event {
    Event::RoomMemberRemoved {
        room_id: room(n),
        author_id: AuthorId::from_bytes([9; 16]),
    }
}

fn token(n: u8) -> Event {
    Event::AgentTokenCreated {
        agent_id: AgentId::from_bytes([n; 16]),
        token_id: AgentTokenId::from_bytes([7; 16]),
    }
}

async fn store_of(scratch: &Scratch, events: Vec<(i64, Event)>) -> Arc<Store> {
    let store = Arc::new(Store::open(&scratch.path().join("events.sqlite")).unwrap());
    let append = store.write(move |tx| {
        for (at, event) in &events {
            tx.append(Timestamp::from_millis(*at), None, event)?;
        }
        Ok(())
    });
    append.await.unwrap();
    store
}

/// Pages of so many events, whatever their bytes.
fn size(events: usize) -> PageSize {
    PageSize {
        events,
        bytes: usize::MAX,
    }
}

async fn in_scopes(store: &Store, scopes: Vec<EventScope>, after: u64, limit: usize) -> Vec<u64> {
    let read = store.read(move |db| events::after_in(db, &scopes, after, size(limit)));
    read.await
        .unwrap()
        .value
        .events
        .iter()
        .map(|event| event.seq)
        .collect()
}

#[tokio::test]
async fn an_event_stands_in_each_of_its_scopes_and_comes_once() {
    let scratch = Scratch::new("events");
    let script = vec![left(1), token(5), left(2), left(1), token(6)];
    let store = store_of(
        &scratch,
        script.into_iter().map(|event| (0, event)).collect(),
    )
    .await;
    let agent = EventScope::Agent(AgentId::from_bytes([5; 16]));
    for (scopes, after, limit, expected) in [
        (vec![EventScope::Room(room(1))], 0, 10, vec![1, 4]),
        (vec![EventScope::Room(room(1))], 1, 10, vec![4]),
        (vec![EventScope::Hall], 0, 10, vec![2, 5]),
        (vec![EventScope::Hall, agent], 0, 10, vec![2, 5]),
        (
            vec![EventScope::Room(room(2)), EventScope::Room(room(1))],
            0,
            2,
            vec![1, 3],
        ),
        (vec![EventScope::Room(room(3))], 0, 10, vec![]),
    ] {
        assert_eq!(
            in_scopes(&store, scopes.clone(), after, limit).await,
            expected,
            "{scopes:?}"
        );
    }
    let seen = store
        .read(|db| events::after(db, 1, size(2)))
        .await
        .unwrap();
    assert_eq!(seen.seq, 5);
    let first = &seen.value.events[0];
    assert_eq!((first.seq, first.name.as_str()), (2, "agent_token_created"));
    assert_eq!(first.event().unwrap(), token(5));
    assert_eq!(
        (first.scope, first.also.as_slice()),
        (EventScope::Hall, [agent].as_slice())
    );
}

#[tokio::test]
async fn retention_drops_what_is_old_and_not_among_the_newest() {
    let scratch = Scratch::new("events");
    let script = (0..10).map(|n| (i64::from(n) * 1_000, token(n))).collect();
    let store = store_of(&scratch, script).await;
    let drop_due = |before: i64, newest: u64, bytes: u64, batch: u32| {
        store.write(move |tx| {
            events::drop_oldest(tx, Timestamp::from_millis(before), newest, bytes, batch)
        })
    };
    assert_eq!(
        drop_due(0, 0, u64::MAX, 100).await.unwrap(),
        0,
        "nothing is old"
    );
    assert_eq!(
        drop_due(i64::MAX, 20, u64::MAX, 100).await.unwrap(),
        0,
        "all are among the newest"
    );
    assert_eq!(
        drop_due(i64::MAX, 7, u64::MAX, 2).await.unwrap(),
        2,
        "a batch at a time"
    );
    assert_eq!(drop_due(i64::MAX, 7, u64::MAX, 2).await.unwrap(), 1);
    let retained = store.read(events::retained_from).await.unwrap();
    assert_eq!((retained.value, retained.seq), (4, 10));
    assert_eq!(
        in_scopes(&store, vec![EventScope::Hall], 0, 100).await,
        [4, 5, 6, 7, 8, 9, 10]
    );
    let one = EventScope::Agent(AgentId::from_bytes([0; 16]));
    assert_eq!(
        in_scopes(&store, vec![one], 0, 100).await,
        [0_u64; 0],
        "further scopes are dropped too"
    );

    let bytes = store
        .read(|db| Ok(events::after(db, 9, size(1))?.events[0].data.len()))
        .await
        .unwrap()
        .value;
    assert_eq!(
        drop_due(0, 100, 3 * bytes as u64, 100).await.unwrap(),
        4,
        "the log has its most"
    );
    assert_eq!(store.read(events::retained_from).await.unwrap().value, 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn paging_a_set_of_scopes_brings_each_event_once_in_order(
        rooms in proptest::collection::vec(0_u8..4, 0..60),
        limit in 1_usize..7,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let scratch = Scratch::new("events");
            let script = rooms.iter().map(|n| (0, left(*n))).collect();
            let store = store_of(&scratch, script).await;
            let scopes = vec![EventScope::Room(room(1)), EventScope::Room(room(2))];
            let mut found = Vec::new();
            loop {
                let after = found.last().copied().unwrap_or(0);
                let page = in_scopes(&store, scopes.clone(), after, limit).await;
                if page.is_empty() {
                    break;
                }
                found.extend(page);
            }
            let expected: Vec<u64> = (1..)
                .zip(&rooms)
                .filter(|(_, room)| matches!(room, 1 | 2))
                .map(|(seq, _)| seq)
                .collect();
            assert_eq!(found, expected);
        });
    }
}

#[tokio::test]
async fn a_page_ends_at_its_bytes_and_the_next_one_goes_on_behind_it() {
    let scratch = Scratch::new("events");
    let script: Vec<(i64, Event)> = (0..40)
        .map(|n| (0, if n % 3 == 0 { left(1) } else { left(2) }))
        .collect();
    let store = store_of(&scratch, script).await;
    let both = [EventScope::Room(room(1)), EventScope::Room(room(2))];
    for bytes in [0, 1, 300, 5_000, usize::MAX] {
        for events in [1, 7, 500] {
            for scopes in [None, Some(both)] {
                let size = PageSize { events, bytes };
                let seqs = store
                    .read(move |db| {
                        let (mut seqs, mut last) = (Vec::new(), 0);
                        loop {
                            let page = match scopes {
                                None => events::after(db, last, size)?,
                                Some(scopes) => events::after_in(db, &scopes, last, size)?,
                            };
                            assert!(page.events.len() <= size.events);
                            seqs.extend(page.events.iter().map(|event| event.seq));
                            last = seqs.last().copied().unwrap_or_default();
                            if !page.is_full {
                                return Ok(seqs);
                            }
                        }
                    })
                    .await
                    .unwrap()
                    .value;
                assert_eq!(seqs, (1..=40).collect::<Vec<u64>>(), "{size:?}");
            }
        }
    }
}
