//! Files: saving those that are there.
//! What becomes of a save is `domain::files`, its effect `world::save`; here is the order:
//! admission, blocking work, and one transaction with its events.

mod commit;
mod file_locks;
mod recovery;
mod save;
mod save_job;
mod text_file;

pub(crate) use file_locks::FileLockGuard;
pub use file_locks::FileLocks;
pub(crate) use recovery::recover;
pub use save::{DocumentSaveRequest, SaveFile, SaveOutcome, SetCheckbox};
pub(crate) use text_file::TextFile;
