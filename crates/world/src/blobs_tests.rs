//! Blobs under test: kept, shared, removed, and never reached through a link.

use std::path::PathBuf;

use super::*;
use crate::scratch::Scratch;

struct BlobFolder {
    scratch: Scratch,
    blobs: Arc<Blobs>,
}

impl BlobFolder {
    fn open() -> Self {
        let scratch = Scratch::new("blobs");
        let blobs = Arc::new(Blobs::open(scratch.path()).unwrap());
        Self { scratch, blobs }
    }

    fn keep(&self, bytes: &[u8]) -> StoredBlob {
        let mut draft = self.blobs.draft().unwrap();
        // In two parts, so that head and digest are made of more than one.
        let (first, second) = bytes.split_at(bytes.len() / 2);
        draft.write(first).unwrap();
        draft.write(second).unwrap();
        self.blobs.store(&draft).unwrap()
    }

    fn place(&self, digest: Digest) -> PathBuf {
        let digest = digest.to_string();
        self.scratch
            .path()
            .join("blobs")
            .join(&digest[..2])
            .join(digest)
    }

    fn drafts(&self) -> usize {
        let folder = self.scratch.path().join("uploads");
        std::fs::read_dir(folder).unwrap().count()
    }
}

#[test]
fn a_blob_lies_under_the_digest_of_its_bytes_and_equal_ones_are_one() {
    let house = BlobFolder::open();
    let kept = house.keep(b"GIF89a and so on");
    let same = house.keep(b"GIF89a and so on");
    let written = "9e2319b83a7cbd733c0ce908e079f3861bdf43588a6da9dc7c404a82d28621ad";
    assert_eq!(kept.digest.to_string(), written);
    assert_eq!((kept.digest, kept.size), (same.digest, 16));
    assert_eq!(kept.picture, Some(ImageFormat::Gif));
    assert_eq!(
        std::fs::read(house.place(kept.digest)).unwrap(),
        b"GIF89a and so on"
    );
    assert_eq!(house.drafts(), 0);
    let [first, ..] = *kept.digest.as_bytes();
    assert_eq!(house.blobs.list_digests(first).unwrap(), [kept.digest]);
    let blob = house.blobs.read(kept.digest).unwrap().unwrap();
    assert_eq!(blob.read(3, 3).unwrap(), b"89a");
    assert!(blob.read(3, 14).is_err(), "it is shorter than that");
}

#[test]
fn a_draft_that_is_not_kept_leaves_nothing_not_even_after_a_crash() {
    let house = BlobFolder::open();
    let mut draft = house.blobs.draft().unwrap();
    draft.write(b"half").unwrap();
    assert_eq!((house.drafts(), draft.size()), (1, 4));
    drop(draft);
    assert_eq!(house.drafts(), 0);
    std::mem::forget(house.blobs.draft().unwrap());
    assert_eq!(house.drafts(), 1);
    Blobs::open(house.scratch.path()).unwrap();
    assert_eq!(house.drafts(), 0);
}

#[test]
fn a_removal_spares_what_is_needed_or_claimed_before_or_since() {
    let house = BlobFolder::open();
    let gone = house.keep(b"gone").digest;
    let needed = house.keep(b"needed").digest;
    let held = house.keep(b"held");
    let since = house.keep(b"since").digest;
    let all = vec![gone, needed, held.digest, since];
    let doom = house.blobs.schedule_removal(all.clone());
    assert_eq!(doom.digests(), [gone, needed, since]);
    drop(house.keep(b"since"));
    house.blobs.remove(&doom, &[needed]).unwrap();
    let left: Vec<bool> = all
        .iter()
        .map(|digest| house.place(*digest).exists())
        .collect();
    assert_eq!(left, [false, true, true, true]);
    assert!(house.blobs.read(gone).unwrap().is_none());
}

#[test]
fn a_removal_that_was_overtaken_by_another_removes_nothing() {
    let house = BlobFolder::open();
    let digest = house.keep(b"again").digest;
    let first = house.blobs.schedule_removal(vec![digest]);
    // Uploaded again after the first one asked what is needed, and doomed a second time.
    drop(house.keep(b"again"));
    let second = house.blobs.schedule_removal(vec![digest]);
    house.blobs.remove(&first, &[]).unwrap();
    assert!(house.place(digest).exists());
    house.blobs.remove(&second, &[]).unwrap();
    assert!(!house.place(digest).exists());
}

#[test]
fn a_link_in_the_place_of_a_blob_leads_nowhere() {
    let house = BlobFolder::open();
    let digest = house.keep(b"mine").digest;
    let secret = house.scratch.path().join("secret");
    std::fs::write(&secret, "theirs").unwrap();
    std::fs::remove_file(house.place(digest)).unwrap();
    std::os::unix::fs::symlink(&secret, house.place(digest)).unwrap();
    assert!(house.blobs.read(digest).is_err());
}

#[test]
fn a_part_of_a_verified_file_is_read_without_the_rest_until_the_file_changes() {
    let house = BlobFolder::open();
    let kept = house.keep(b"the plan");
    let state = |house: &BlobFolder| house.blobs.open_blob(kept.digest).unwrap().unwrap().1;
    assert!(!house.blobs.verified.holds(state(&house), kept.digest));
    house.blobs.read(kept.digest).unwrap().unwrap();
    assert!(house.blobs.verified.holds(state(&house), kept.digest));
    std::fs::write(house.place(kept.digest), "the plot").unwrap();
    let damaged = house.blobs.read(kept.digest).unwrap_err();
    assert_eq!(damaged.kind, FaultKind::AttachmentDamaged);
    assert_eq!(
        house.blobs.check(kept.digest, &|_| true),
        BlobState::Damaged
    );
}

#[test]
fn a_damaged_blob_is_replaced_by_a_whole_copy_alone() {
    let house = BlobFolder::open();
    let kept = house.keep(b"the plan");
    std::fs::write(house.place(kept.digest), "the plot").unwrap();
    let copy = house.scratch.path().join("copy");
    assert!(!house.blobs.replace(kept.digest, &copy).unwrap(), "no copy");
    for (bytes, found) in [
        ("the plot", BlobState::Damaged),
        ("the plan", BlobState::Whole),
    ] {
        std::fs::write(&copy, bytes).unwrap();
        let is_replaced = house.blobs.replace(kept.digest, &copy).unwrap();
        assert_eq!(is_replaced, found == BlobState::Whole);
        assert_eq!(house.blobs.check(kept.digest, &|_| true), found);
    }
    std::fs::remove_file(house.place(kept.digest)).unwrap();
    let missing = house.blobs.check(kept.digest, &|_| true);
    assert_eq!(missing, BlobState::Missing);
    assert_eq!(house.drafts(), 0);
}
