//! A damaged file is noticed, nothing is acknowledged from then on, and reading goes on where it
//! can.

use std::{
    fs::OpenOptions,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use guildhall_domain::{
    Error, Fault, Result, Timestamp,
    errors::FaultKind,
    events::Event,
    ids::{AgentId, AgentTokenId, LogId},
};
use guildhall_store::{CheckDepth, Store, events, installation};
use guildhall_world::scratch::Scratch;
use rusqlite::Connection;

const PAGE: usize = 4_096;
const NOW: Timestamp = Timestamp::from_millis(1_000);
const EVENTS: u64 = 3_000;

/// What becomes of pages.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Zeroed,
    Overwritten,
    Swapped,
    Truncated,
    Torn,
}

const DAMAGES: [Damage; 5] = [
    Damage::Zeroed,
    Damage::Overwritten,
    Damage::Swapped,
    Damage::Truncated,
    Damage::Torn,
];

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }
}

fn damage(path: &Path, kind: Damage, seed: u64) {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ (seed + 1));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let pages = usize::try_from(file.metadata().unwrap().len()).unwrap() / PAGE;
    let at = |page: usize| (page * PAGE) as u64;
    if matches!(kind, Damage::Truncated) {
        file.set_len(at(pages / 2 + numbers.below(pages / 2)))
            .unwrap();
        return;
    }
    let mut left = 1 + numbers.below(34);
    while left > 0 {
        // The first page is the schema's root; without it nothing opens at all.
        let page = 1 + numbers.below(pages - 1);
        let mut bytes = vec![0; PAGE];
        file.read_exact_at(&mut bytes, at(page)).unwrap();
        let before = bytes.clone();
        match kind {
            Damage::Zeroed => bytes.fill(0),
            Damage::Overwritten => bytes.fill_with(|| u8::try_from(numbers.below(256)).unwrap()),
            Damage::Torn => bytes[PAGE / 2..].fill(0),
            Damage::Swapped => {
                let other = 1 + (page + numbers.below(pages - 2)) % (pages - 1);
                let mut others = vec![0; PAGE];
                file.read_exact_at(&mut others, at(other)).unwrap();
                file.write_all_at(&bytes, at(other)).unwrap();
                bytes = others;
            }
            Damage::Truncated => {}
        }
        file.write_all_at(&bytes, at(page)).unwrap();
        // Of an empty table's page nothing may have changed.
        left -= usize::from(bytes != before);
    }
}

/// A store in one file without free pages, which damage could hit unseen.
async fn whole_store(scratch: &Scratch) -> PathBuf {
    let path = scratch.path().join("whole.sqlite");
    let store = Store::open(&path).unwrap();
    let fill = store.write(|tx| {
        installation::set_log_id(tx, LogId::from_bytes([7; 16]))?;
        (0..EVENTS).try_for_each(|n| append(tx, n))
    });
    fill.await.unwrap();
    drop(store);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("VACUUM").unwrap();
    path
}

fn append(tx: &mut guildhall_store::Tx<'_>, n: u64) -> Result<()> {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&n.to_be_bytes());
    let event = Event::AgentTokenRevoked {
        agent_id: AgentId::from_bytes([1; 16]),
        token_id: AgentTokenId::from_bytes(bytes),
    };
    tx.append(NOW, None, &event).map(|_| ())
}

/// Damages the pages of the table of accounts and its indexes, which no start reads.
fn damage_accounts(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'accounts'";
    let mut statement = connection.prepare(sql).unwrap();
    let roots = statement.query_map([], |row| row.get(0)).unwrap();
    let roots: Vec<u32> = roots.map(Result::unwrap).collect();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    for root in roots {
        let at = u64::from(root - 1) * PAGE as u64;
        file.write_all_at(&[0xff; PAGE], at).unwrap();
    }
}

fn is_damage(fault: &Fault) -> bool {
    fault.kind == FaultKind::StoreDamaged
}

#[tokio::test]
async fn every_damage_is_noticed_and_nothing_is_acknowledged_after() {
    let scratch = Scratch::new("damage");
    let whole = whole_store(&scratch).await;
    let (mut at_start, mut by_check, mut read) = (0, 0, 0);
    for seed in 0..100_u64 {
        let kind = DAMAGES[usize::try_from(seed).unwrap() % DAMAGES.len()];
        let path = scratch.path().join(format!("{seed}.sqlite"));
        std::fs::copy(&whole, &path).unwrap();
        damage(&path, kind, seed);
        let store = match Store::open(&path) {
            Ok(store) => store,
            Err(fault) => {
                assert!(is_damage(&fault), "{seed} {kind:?}: {fault:?}");
                at_start += 1;
                continue;
            }
        };
        let checked = store.check(CheckDepth::Quick).await;
        let fault = checked.expect_err(&format!("{seed} {kind:?} is noticed"));
        assert!(is_damage(&fault), "{seed} {kind:?}: {fault:?}");
        by_check += 1;
        for n in 0..3 {
            match store.write(move |tx| append(tx, n)).await {
                Err(Error::Fault(fault)) if is_damage(&fault) => {}
                other => panic!("{seed} {kind:?}: {other:?}"),
            }
        }
        // Reading answers, or says that it met the damage.
        match store.read(installation::log_id).await {
            Ok(_) => read += 1,
            Err(Error::Fault(fault)) if is_damage(&fault) => {}
            other => panic!("{seed} {kind:?}: {other:?}"),
        }
        drop(store);
        std::fs::remove_file(&path).unwrap();
    }
    assert_eq!(at_start + by_check, 100, "every one is noticed");
    assert!(
        by_check >= 30 && read >= 25,
        "noticed at start {at_start}, by the check {by_check}; still read {read}"
    );
}

#[tokio::test]
async fn what_a_reader_meets_stops_every_change() {
    let scratch = Scratch::new("damage");
    let path = whole_store(&scratch).await;
    damage_accounts(&path);
    let store = Store::open(&path).unwrap();
    store.write(|tx| append(tx, 0)).await.unwrap();
    assert_eq!(*store.damage().borrow(), None);
    match store.read(guildhall_store::accounts::exist).await {
        Err(Error::Fault(fault)) => assert!(is_damage(&fault), "{fault:?}"),
        other => panic!("{other:?}"),
    }
    let refused = store.write(|tx| append(tx, 1)).await;
    assert!(matches!(&refused, Err(Error::Fault(fault)) if is_damage(fault)));
    let kept = store.read(events::newest).await.unwrap();
    assert_eq!(
        kept.value,
        EVENTS + 1,
        "reading goes on, and nothing was added"
    );
}

#[tokio::test]
async fn a_job_that_swallows_damage_is_not_committed() {
    let scratch = Scratch::new("damage");
    let path = whole_store(&scratch).await;
    damage_accounts(&path);
    let store = Store::open(&path).unwrap();
    let swallowed = store.write(|tx| {
        append(tx, 0)?;
        Ok(guildhall_store::accounts::exist(tx).unwrap_or(false))
    });
    assert!(matches!(swallowed.await, Err(Error::Fault(fault)) if is_damage(&fault)));
    assert!(store.damage().borrow().is_some());
    let kept = store.read(events::newest).await.unwrap();
    assert_eq!(kept.value, EVENTS);
}

#[tokio::test]
async fn a_whole_file_passes_both_checks() {
    let scratch = Scratch::new("damage");
    let path = whole_store(&scratch).await;
    let store = Store::open(&path).unwrap();
    for check in [CheckDepth::Quick, CheckDepth::Whole] {
        store.check(check).await.unwrap();
    }
    store.notice_damage("an earlier run noticed it");
    assert!(store.write(|tx| append(tx, 0)).await.is_err());
    store.forget_damage();
    store.write(|tx| append(tx, 0)).await.unwrap();
}
