//! Answers kept for repeated posts.

use guildhall_domain::{
    Timestamp,
    idempotency::{IdempotencyClaim, RecordedBody, RecordedResponse},
};
use guildhall_store::{Store, idempotency};
use guildhall_world::scratch::Scratch;

#[tokio::test]
async fn answers_go_when_they_are_old_a_batch_at_a_time() {
    let scratch = Scratch::new("repeats");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    let at = Timestamp::from_millis;
    let answered = RecordedResponse {
        status: 201,
        body: RecordedBody::Json(b"{}".to_vec()),
    };
    let (kept, dropped) = store
        .write(move |tx| {
            for n in 0..4 {
                let claim = IdempotencyClaim {
                    id: [n; 32],
                    fingerprint: [9; 32],
                };
                idempotency::keep(tx, &claim, &answered, at(i64::from(n)))?;
            }
            let dropped = [
                idempotency::drop_before(tx, at(2), 2)?,
                idempotency::drop_before(tx, at(2), 2)?,
            ];
            let mut kept = Vec::new();
            for n in 0..4 {
                kept.push(idempotency::find(tx, &[n; 32], at(-1))?.is_some());
            }
            Ok((kept, dropped))
        })
        .await
        .unwrap();
    assert_eq!((kept, dropped), (vec![false, false, false, true], [2, 1]));
}

#[tokio::test]
async fn the_oldest_answers_make_room_for_new_ones() {
    let scratch = Scratch::new("repeats");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    let left = store
        .write(|tx| {
            for n in 0..200_u8 {
                let claim = IdempotencyClaim {
                    id: [n; 32],
                    fingerprint: [9; 32],
                };
                let answered = RecordedResponse {
                    status: 201,
                    body: RecordedBody::Json(vec![b' '; 1_000]),
                };
                let at = Timestamp::from_millis(i64::from(n));
                // Kept anew, it counts once.
                idempotency::keep(tx, &claim, &answered, at)?;
                idempotency::keep(tx, &claim, &answered, at)?;
                idempotency::make_room(tx, 50_000)?;
            }
            let mut left = Vec::new();
            for n in 0..200_u8 {
                if idempotency::find(tx, &[n; 32], Timestamp::from_millis(-1))?.is_some() {
                    left.push(n);
                }
            }
            Ok(left)
        })
        .await
        .unwrap();
    assert!((30..=50).contains(&left.len()), "{left:?}");
    assert_eq!(
        left.first().copied(),
        Some(200 - u8::try_from(left.len()).unwrap())
    );
}
