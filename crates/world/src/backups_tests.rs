//! Backups' files under test: what an opening drops, what a removal keeps, and which files a
//! restore takes.

use std::os::unix::fs::MetadataExt;

use guildhall_domain::{
    Timestamp,
    backups::{BackupReason, SnapshotContents},
};

use super::*;
use crate::scratch::Scratch;

struct Folder {
    scratch: Scratch,
    files: BackupFiles,
}

impl Folder {
    fn open() -> Self {
        let scratch = Scratch::new("backups");
        let files = BackupFiles::open(scratch.path()).unwrap();
        Self { scratch, files }
    }

    fn put(path: &Path, bytes: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// A file of the data with a name in the backups as well.
    fn attachment(&self, bytes: &str) -> Digest {
        let mut digesting = DigestBuilder::default();
        digesting.add(bytes.as_bytes());
        let digest = digesting.finish();
        Self::put(&self.blob(digest), bytes);
        assert_eq!(self.files.keep_attachments(&[digest]).unwrap(), []);
        digest
    }

    fn blob(&self, digest: Digest) -> PathBuf {
        blob(&self.scratch.path().join("blobs"), digest)
    }

    fn backup(&self, number: u8, attachments: &[Digest]) -> BackupId {
        let backup = Backup {
            id: BackupId::from_bytes([number; 16]),
            created_at: Timestamp::from_millis(i64::from(number)),
            reason: BackupReason::Manual,
            bytes: 1,
            sha256: String::new(),
            attachments: attachments.len() as u64,
            holds: SnapshotContents {
                log_id: None,
                schema_version: 1,
                event_seq: 0,
                entries: 0,
            },
        };
        fs::write(self.files.packed(backup.id), "x").unwrap();
        self.files.describe(&backup, attachments).unwrap();
        backup.id
    }
}

fn go_on(_: Duration) -> bool {
    true
}

#[test]
fn a_folder_that_is_called_like_a_draft_costs_no_backup() {
    let scratch = Scratch::new("backups");
    let data = scratch.path().join("x.drafts").join("guildhall");
    let files = BackupFiles::open(&data).unwrap();
    let id = BackupId::from_bytes([1; 16]);
    fs::write(files.packed(id), "x").unwrap();
    fs::write(files.draft(id), "x").unwrap();
    fs::create_dir(files.folder.join("my.drafts")).unwrap();
    let files = BackupFiles::open(&data).unwrap();
    assert!(files.packed(id).exists() && files.folder.join("my.drafts").exists());
    assert!(!files.draft(id).exists());
}

#[test]
fn a_removal_keeps_the_attachments_of_a_backup_whose_description_is_damaged() {
    let folder = Folder::open();
    let (kept, gone) = (folder.attachment("kept"), folder.attachment("gone"));
    let damaged = folder.backup(1, &[kept]);
    let old = folder.backup(2, &[gone]);
    fs::write(folder.files.file(damaged, "json"), "{").unwrap();
    folder.files.remove(&[old]).unwrap();
    assert_eq!(folder.files.list().unwrap(), []);
    assert!(folder.files.attachment(kept).exists());
    assert!(!folder.files.attachment(gone).exists());
}

#[test]
fn a_removal_keeps_every_attachment_while_one_list_is_damaged() {
    let folder = Folder::open();
    let (first, second) = (folder.attachment("first"), folder.attachment("second"));
    let damaged = folder.backup(1, &[first, second]);
    let list = folder.files.file(damaged, "attachments");
    let whole = fs::read_to_string(&list).unwrap();
    for text in ["\0\0\0", &whole[..65], &whole[..100]] {
        fs::write(&list, text).unwrap();
        let old = folder.backup(2, &[]);
        folder.files.remove(&[old]).unwrap();
        assert!(!folder.files.packed(old).exists(), "the backup is removed");
        for digest in [first, second] {
            assert!(folder.files.attachment(digest).exists(), "{text:?}");
        }
    }
}

#[test]
fn a_damaged_copy_is_renewed_from_the_file_in_use_where_that_is_another_one() {
    let folder = Folder::open();
    let digest = folder.attachment("the plan");
    let copy = folder.files.attachment(digest);
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    assert_eq!(inode(&copy), inode(&folder.blob(digest)));
    assert!(!folder.files.renew_attachment(digest, &go_on).unwrap());

    fs::write(&copy, "the plot").unwrap();
    fs::remove_file(folder.blob(digest)).unwrap();
    fs::write(folder.blob(digest), "the plan").unwrap();
    assert_eq!(folder.files.damaged_attachments(&[digest]), [digest]);
    assert!(folder.files.renew_attachment(digest, &go_on).unwrap());
    assert_eq!(folder.files.damaged_attachments(&[digest]), []);
    assert!(!folder.files.renew_attachment(digest, &go_on).unwrap());
}

#[test]
fn a_restore_takes_a_file_of_the_data_of_before_where_the_copy_cannot_be_read() {
    let folder = Folder::open();
    let files = &folder.files;
    let (whole, unreadable) = (folder.attachment("whole"), folder.attachment("unreadable"));
    let lost = folder.attachment("lost");
    for digest in [unreadable, lost] {
        // What no reading of it gives any bytes of.
        fs::remove_file(files.attachment(digest)).unwrap();
        fs::create_dir(files.attachment(digest)).unwrap();
    }
    fs::remove_file(folder.blob(lost)).unwrap();
    let all = [whole, unreadable, lost];
    let damaged = files.damaged_attachments(&all);
    assert_eq!(damaged, [unreadable, lost]);
    let (before, to) = (
        folder.scratch.path().join("blobs"),
        folder.scratch.path().join("restored"),
    );
    let missing = files.restore_attachments(&all, &damaged, Some(&before), &to);
    assert_eq!(missing.unwrap(), [lost]);
    assert!(holds(&blob(&to, whole), whole) && holds(&blob(&to, unreadable), unreadable));
}
