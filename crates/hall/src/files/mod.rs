//! Files: saving those that are there.
//! What becomes of a save is `domain::files`, its effect `world::saving`; here is the order:
//! admission, blocking work, and one transaction with its events.

mod commit;
mod gate;
mod job;
mod recovery;
mod saving;
mod text;

pub use gate::Gate;
pub(crate) use gate::Locked;
pub(crate) use recovery::recover;
pub use saving::{DocumentSave, SaveFile, Saved, SetCheckbox};
pub(crate) use text::TextFile;
