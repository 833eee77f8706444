//! What is kept of saves.

use guildhall_domain::{
    Timestamp,
    files::{
        FileIdentity, LastSave, SaveRoute, digest,
        recovery::{PersistentInode, SaveIntent},
    },
    ids::{AuthorId, DocumentId},
    limits,
};
use guildhall_store::{
    Store,
    files::{self, SaveIntentRow},
};
use guildhall_world::scratch::Scratch;

fn id(name: &str) -> FileIdentity {
    FileIdentity::new(name)
}

fn at(day: i64) -> Timestamp {
    Timestamp::from_millis(0).plus_seconds(day * 86_400)
}

#[tokio::test]
async fn an_identity_is_known_as_the_files_for_seven_days_after_it_was_left() {
    let scratch = Scratch::new("lineage");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    let held = |of: &'static str| {
        let asked = ["a", "b", "c", "d", "x"].map(id).to_vec();
        let store = &store;
        async move {
            let read = store.read(move |db| files::lineage(db, &id(of), &asked));
            let names = read.await.unwrap().value.0;
            names
                .iter()
                .map(|name| name.as_str().to_owned())
                .collect::<String>()
        }
    };
    for (from, to, day) in [("a", "b", 0), ("b", "c", 3), ("x", "y", 3), ("c", "c", 4)] {
        let step = move |tx: &mut guildhall_store::Tx<'_>| {
            files::add_identity(tx, &id(from), &id(to), at(day))
        };
        store.write(step).await.unwrap();
    }
    assert_eq!(
        [held("a").await, held("b").await, held("c").await],
        ["", "a", "ab"]
    );
    assert_eq!(
        [held("x").await, held("y").await],
        ["", "x"],
        "another file's are not this one's"
    );
    let forget = |day: i64| {
        let before = at(day).plus_seconds(-limits::LINEAGE_KEEP_S);
        store.write(move |tx| files::drop_old(tx, before))
    };
    forget(7).await.unwrap();
    assert_eq!(held("c").await, "ab");
    forget(8).await.unwrap();
    assert_eq!(held("c").await, "b");
    forget(11).await.unwrap();
    assert_eq!(held("c").await, "");
}

#[tokio::test]
async fn what_is_noted_of_a_save_reads_back_until_it_is_over() {
    let scratch = Scratch::new("intents");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    let intent = |mark: &str, document| SaveIntentRow {
        mark: mark.to_owned(),
        path: "/desk/a.md".to_owned(),
        meant: SaveIntent {
            identity: id("a"),
            inode: PersistentInode::new("7:1"),
            folder: PersistentInode::new("8:"),
            old: digest(b"old"),
            new: digest(b"new"),
        },
        size: 3,
        request: digest(b"request"),
        via: SaveRoute::Checkbox,
        author: AuthorId::from_bytes([1; 16]),
        document,
        is_undone: false,
    };
    let one = intent("1", None);
    let two = intent(
        "2",
        Some((DocumentId::from_bytes([2; 16]), "event".to_owned())),
    );
    let last = LastSave {
        request: None,
        hash: digest(b"old"),
    };
    let (noted, kept) = ([one.clone(), two.clone()], last.clone());
    let found = store
        .write(move |tx| {
            for intent in &noted {
                files::insert_intent(tx, intent, at(0))?;
            }
            files::put_last_save(tx, "/desk/a.md", &kept, at(0))?;
            let of = [
                files::intents(tx)?,
                files::intents_of(tx, "/desk/a.md")?,
                files::intents_of(tx, "/desk/b.md")?,
            ];
            files::remove_intent(tx, "1")?;
            files::undo_intent(tx, "2")?;
            Ok((of, files::intents(tx)?, files::last_save(tx, "/desk/a.md")?))
        })
        .await
        .unwrap();
    let both = vec![one, two.clone()];
    let undone = SaveIntentRow {
        is_undone: true,
        ..two
    };
    assert_eq!(
        found,
        ([both.clone(), both, Vec::new()], vec![undone], Some(last))
    );
    // One that cannot be settled is forgotten with the lineage.
    let forgotten = store.write(|tx| {
        files::drop_old(tx, at(0))?;
        let still = files::intents(tx)?.len();
        files::drop_old(tx, at(1))?;
        Ok((still, files::intents(tx)?.len()))
    });
    assert_eq!(forgotten.await.unwrap(), (1, 0));
}
