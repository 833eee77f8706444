//! Files: saving those that are there.
//! What becomes of a save is `domain::files`, its effect `world::save`; here is the order:
//! admission, blocking work, and one transaction with its events.

mod commit;
mod file_locks;
mod recovery;
mod save;
mod save_job;
mod text_file;

pub use file_locks::Gate;
pub(crate) use file_locks::Locked;
pub(crate) use recovery::recover;
pub use save::{DocumentSave, SaveFile, Saved, SetCheckbox};
pub(crate) use text_file::TextFile;
