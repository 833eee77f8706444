//! Saves, decided: each row of the table, and what no write may lose.

use proptest::prelude::*;

use super::{
    document_saves::{
        ClaimedIncarnation, CompletedSave, DocumentBinding, Incarnation, IncarnationClaim,
        ReplayOutcome,
    },
    *,
};
use crate::{Timestamp, ids::DocumentId};

const DOCUMENT: DocumentId = DocumentId::from_bytes([7; 16]);
const NOW: Timestamp = Timestamp::from_millis(1_000_000);
const MADE: Timestamp = Timestamp::from_millis(500_000);

fn id(name: &str) -> FileIdentity {
    FileIdentity::new(name)
}

fn hash(content: &str) -> Digest {
    digest(content.as_bytes())
}

fn disk(name: &str, content: &str) -> CurrentFile {
    CurrentFile {
        identity: id(name),
        hash: hash(content),
    }
}

fn asked(baseline: Option<&str>, identity: Option<&str>, content: &str) -> SaveRequest {
    SaveRequest {
        content: hash(content),
        baseline: baseline.map(hash),
        identity: identity.map(id),
        lane: SaveTarget::Ordinary(fingerprint(&[content.as_bytes()])),
    }
}

fn last(content: &str) -> LastSave {
    LastSave {
        request: Some(fingerprint(&[content.as_bytes()])),
        hash: hash(content),
    }
}

#[test]
fn a_save_is_decided_by_the_first_row_that_fits() {
    let lineage = IdentityHistory(vec![id("a"), id("b")]);
    let now = disk("c", "disk");
    let table = [
        // (baseline, identity, new content, last save, outcome)
        (None, None, "new", None, Ok(SaveVerdict::Write)),
        (Some("disk"), None, "new", None, Ok(SaveVerdict::Write)),
        (Some("disk"), Some("c"), "new", None, Ok(SaveVerdict::Write)),
        (Some("disk"), Some("a"), "new", None, Ok(SaveVerdict::Write)),
        (
            Some("disk"),
            Some("x"),
            "new",
            None,
            Err(SaveConflict::IdentityChanged),
        ),
        (
            Some("other"),
            Some("x"),
            "disk",
            Some("disk"),
            Err(SaveConflict::IdentityChanged),
        ),
        (
            Some("other"),
            None,
            "new",
            None,
            Err(SaveConflict::Conflict),
        ),
        (
            Some("other"),
            None,
            "disk",
            None,
            Err(SaveConflict::Conflict),
        ),
        (
            Some("other"),
            Some("b"),
            "disk",
            Some("disk"),
            Ok(SaveVerdict::Retried),
        ),
        // Another save came between, though the disk holds that content again.
        (
            Some("other"),
            None,
            "disk",
            Some("between"),
            Err(SaveConflict::Conflict),
        ),
        (Some("disk"), None, "disk", None, Ok(SaveVerdict::Same)),
        (None, None, "disk", None, Ok(SaveVerdict::Same)),
        // The last save was this one, but the disk holds something else by now.
        (
            Some("old"),
            None,
            "new",
            Some("new"),
            Err(SaveConflict::Conflict),
        ),
    ];
    for (baseline, identity, content, saved, expected) in table {
        let asked = asked(baseline, identity, content);
        let saved = saved.map(last);
        let found = decide(&asked, &now, saved.as_ref(), &lineage);
        assert_eq!(
            found, expected,
            "{baseline:?} {identity:?} {content} {saved:?}"
        );
    }
}

fn binding(path: &str, identity: &str) -> DocumentBinding {
    DocumentBinding::first(DOCUMENT, path.to_owned(), id(identity), MADE, NOW)
}

#[test]
fn a_save_of_a_document_is_held_against_its_binding_and_knows_no_retry() {
    let lineage = IdentityHistory(vec![id("a")]);
    let now = disk("b", "disk");
    let right = Incarnation::of(DOCUMENT, NOW, MADE).generation.to_string();
    for (bound, generation, baseline, content, expected) in [
        (
            Some(("/f", "b")),
            &*right,
            "disk",
            "new",
            Ok(SaveVerdict::Write),
        ),
        (
            Some(("/f", "a")),
            &right,
            "disk",
            "new",
            Ok(SaveVerdict::Write),
        ),
        (
            Some(("/f", "b")),
            &right,
            "disk",
            "disk",
            Ok(SaveVerdict::Same),
        ),
        (
            Some(("/f", "x")),
            &right,
            "disk",
            "new",
            Err(SaveConflict::IdentityChanged),
        ),
        (
            Some(("/f", "x")),
            "0",
            "other",
            "new",
            Err(SaveConflict::IdentityChanged),
        ),
        (
            Some(("/g", "b")),
            &right,
            "disk",
            "new",
            Err(SaveConflict::DocumentFileMismatch),
        ),
        (
            Some(("/g", "x")),
            "0",
            "disk",
            "new",
            Err(SaveConflict::DocumentFileMismatch),
        ),
        (
            Some(("/f", "b")),
            "0",
            "other",
            "new",
            Err(SaveConflict::IncarnationChanged),
        ),
        (
            None,
            &right,
            "disk",
            "new",
            Err(SaveConflict::IncarnationChanged),
        ),
        (
            Some(("/f", "b")),
            &right,
            "other",
            "disk",
            Err(SaveConflict::Conflict),
        ),
    ] {
        let asked = SaveRequest {
            lane: SaveTarget::Document(Box::new(DocumentSave {
                binding: bound.map(|(path, identity)| binding(path, identity)),
                claimed: IncarnationClaim::Generation(generation.to_owned()),
                path: "/f".to_owned(),
            })),
            ..asked(Some(baseline), None, content)
        };
        let found = decide(&asked, &now, Some(&last(content)), &lineage);
        assert_eq!(
            found, expected,
            "{bound:?} {generation} {baseline} {content}"
        );
    }
}

#[test]
fn every_member_of_an_incarnation_counts() {
    let real = Incarnation::of(DOCUMENT, NOW, MADE);
    let claimed = ClaimedIncarnation {
        v: 1,
        document_id: DOCUMENT.to_string(),
        physical_opened_at: NOW.to_string(),
        channel_created_at: MADE.to_string(),
        generation: real.generation.to_string(),
    };
    assert!(IncarnationClaim::Whole(claimed.clone()).matches(&real));
    let change: [fn(&mut ClaimedIncarnation); 5] = [
        |claimed| claimed.v = 2,
        |claimed| claimed.document_id.push('0'),
        |claimed| claimed.physical_opened_at = MADE.to_string(),
        |claimed| claimed.channel_created_at = NOW.to_string(),
        |claimed| claimed.generation = "0".repeat(64),
    ];
    for change in change {
        let mut other = claimed.clone();
        change(&mut other);
        assert!(
            !IncarnationClaim::Whole(other.clone()).matches(&real),
            "{other:?}"
        );
    }
    let generations = [
        real.generation,
        Incarnation::of(DocumentId::from_bytes([8; 16]), NOW, MADE).generation,
        Incarnation::of(DOCUMENT, MADE, MADE).generation,
        Incarnation::of(DOCUMENT, NOW, NOW).generation,
    ];
    let different: std::collections::BTreeSet<_> = generations.iter().collect();
    assert_eq!(different.len(), generations.len());
}

#[test]
fn our_own_saves_keep_an_incarnation_and_a_foreign_file_ends_it_also_within_a_millisecond() {
    let first = binding("/f", "a");
    let lineage = IdentityHistory(vec![id("a")]);
    let kept = first
        .clone()
        .renewed("/f".to_owned(), &id("b"), &lineage, NOW);
    assert_eq!(kept.incarnation, first.incarnation);
    assert_eq!(kept.identity, id("b"));
    for (path, identity) in [("/f", "stranger"), ("/g", "b")] {
        let (now, none) = (id(identity), IdentityHistory::default());
        let lineage = if path == "/g" { &lineage } else { &none };
        let other = first.clone().renewed(path.to_owned(), &now, lineage, NOW);
        assert_ne!(other.incarnation.generation, first.incarnation.generation);
        assert_eq!((other.doc_seq, other.identity.as_str()), (0, identity));
    }
}

#[test]
fn a_used_event_id_answers_its_own_request_alone() {
    let completion = |is_told| CompletedSave {
        request: hash("request"),
        incarnation: Incarnation::of(DOCUMENT, NOW, MADE),
        doc_seq: 1,
        file_hash: hash("new"),
        identity: id("a"),
        is_told,
    };
    assert_eq!(
        completion(true).replay(&hash("request")),
        ReplayOutcome::Duplicate
    );
    assert_eq!(
        completion(false).replay(&hash("request")),
        ReplayOutcome::First
    );
    for is_told in [true, false] {
        assert_eq!(
            completion(is_told).replay(&hash("other")),
            ReplayOutcome::Conflict
        );
    }
}

#[test]
fn parts_of_a_request_do_not_run_into_each_other() {
    assert_ne!(fingerprint(&[b"ab", b"c"]), fingerprint(&[b"a", b"bc"]));
    assert_ne!(fingerprint(&[b"ab", b""]), fingerprint(&[b"ab"]));
}

#[test]
fn text_is_small_whole_utf8_without_nul() {
    let max = usize::try_from(limits::FILE_SIZE_MAX).unwrap();
    assert_eq!(text(vec![b'a'; max + 1]), Err(TextError::TooLarge));
    assert!(text(vec![b'a'; max]).is_ok());
    assert_eq!(text(b"a\0".to_vec()), Err(TextError::Binary));
    assert_eq!(text(vec![0xff, 0]), Err(TextError::Binary));
    assert_eq!(text(vec![0xff]), Err(TextError::NotUtf8));
    assert_eq!(text("\u{feff}a\r\n😀".into()).unwrap(), "\u{feff}a\r\n😀");
}

proptest! {
    /// Whatever is asked of whatever is there: a write destroys nothing that the caller, by a
    /// baseline, said it had not seen, and a file that is left alone holds what was asked for.
    #[test]
    fn no_write_loses_what_a_baseline_did_not_know(
        contents in proptest::collection::vec(0u8..4, 4),
        has_baseline: bool,
        expected in proptest::option::of(0u8..4),
        ancestors in proptest::collection::vec(0u8..4, 0..3),
        current in 0u8..4,
        saved in proptest::option::of(0u8..4),
    ) {
        let content = |n: u8| format!("c{n}");
        let name = |n: u8| format!("i{n}");
        let now = disk(&name(current), &content(contents[0]));
        let baseline = has_baseline.then(|| content(contents[1]));
        let asked = asked(baseline.as_deref(), expected.map(name).as_deref(), &content(contents[2]));
        let saved = saved.map(|n| last(&content(n)));
        let lineage = IdentityHistory(ancestors.iter().map(|n| id(&name(*n))).collect());
        match decide(&asked, &now, saved.as_ref(), &lineage) {
            Ok(SaveVerdict::Write) => {
                prop_assert!(asked.baseline.is_none_or(|baseline| baseline == now.hash));
                prop_assert!(asked.content != now.hash);
            }
            Ok(SaveVerdict::Same | SaveVerdict::Retried) => prop_assert_eq!(asked.content, now.hash),
            Err(SaveConflict::IdentityChanged) => {
                prop_assert!(expected.is_some_and(|n| n != current && !ancestors.contains(&n)));
            }
            Err(SaveConflict::Conflict) => prop_assert!(asked.baseline != Some(now.hash)),
            Err(SaveConflict::DocumentFileMismatch | SaveConflict::IncarnationChanged) => {
                prop_assert!(false, "no document is saved");
            }
        }
    }
}
