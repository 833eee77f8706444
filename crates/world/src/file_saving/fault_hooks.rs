//! The steps of a save, and the hook that lets a test end the process or fail at one of them.
//! The hook is there under the feature `fault-hooks` alone.

use std::io;

macro_rules! steps {
    ($($(#[$doc:meta])* $step:ident = $word:literal;)+) => {
        /// A step that was done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum SaveStep {
            $($(#[$doc])* $step,)+
        }

        impl SaveStep {
            /// Every step with its word.
            pub const WORDS: &'static [(Self, &'static str)] = &[$((Self::$step, $word)),+];
        }
    };
}

steps! {
    /// The file was found, and its locks are not held yet.
    Admitted = "admitted";
    /// The save was noted.
    Intended = "intended";
    /// The temporary file was made.
    TempMade = "temp-made";
    /// Half of the content is in it.
    TempHalfWritten = "temp-half-written";
    /// All of the content is in it.
    TempWritten = "temp-written";
    /// It has the mode, owner, access list and attributes of the file.
    AttributesCopied = "attributes-copied";
    /// It is on the disk.
    TempSynced = "temp-synced";
    /// It holds what was written.
    ReadBack = "read-back";
    /// It has the name from which it is exchanged.
    Ready = "ready";
    /// It has taken the file's place.
    Exchanged = "exchanged";
    /// What was displaced is what was meant.
    Checked = "checked";
    /// The folder is on the disk.
    FolderSynced = "folder-synced";
    /// What was displaced is gone.
    Unlinked = "unlinked";
    /// In place: half of the old bytes are set aside.
    JournalHalfWritten = "journal-half-written";
    /// In place: the old bytes are set aside.
    Journaled = "journaled";
    /// In place: half of the content is in the file.
    HalfWritten = "half-written";
    /// In place: the content is in the file.
    Written = "written";
    /// The file is saved, and nothing was committed of it.
    Saved = "saved";
    /// It was committed.
    Committed = "committed";
}

/// Does nothing, in a build without the feature `fault-hooks`.
///
/// # Errors
/// None.
#[cfg(not(feature = "fault-hooks"))]
pub fn at(_step: SaveStep) -> io::Result<()> {
    Ok(())
}

/// Does at this step what the variable `GUILDHALL_FAULT` asks for.
///
/// `kill:<step>` ends the process as the kernel would; `hang:<step>` never goes on, as on a disk
/// that does not answer; `fail:<step>` fails, `full:<step>` fails as a full disk does. The others
/// are done to the file that `GUILDHALL_FAULT_FILE` names: `replace:<step>` and `write:<step>` let
/// another writer come in, who gives it the content `theirs` by a rename or in place;
/// `move:<step>` moves it to the same name with `.moved` and leaves a link; `wait:<step>` goes on
/// when there is the same name with `.go`.
///
/// # Errors
/// What was asked for.
#[cfg(feature = "fault-hooks")]
pub fn at(step: SaveStep) -> io::Result<()> {
    let Ok(asked) = std::env::var("GUILDHALL_FAULT") else {
        return Ok(());
    };
    let word = SaveStep::WORDS.iter().find(|(known, _)| *known == step);
    match asked.split_once(':') {
        Some((deed, name)) if word.is_some_and(|(_, word)| *word == name) => done(deed),
        _ => Ok(()),
    }
}

#[cfg(feature = "fault-hooks")]
fn done(deed: &str) -> io::Result<()> {
    use rustix::process::{Signal, getpid, kill_process};
    use std::fs;
    let file = || std::env::var("GUILDHALL_FAULT_FILE").map_err(io::Error::other);
    match deed {
        "kill" => {
            kill_process(getpid(), Signal::KILL)?;
            never()
        }
        "hang" => never(),
        "full" => Err(rustix::io::Errno::NOSPC.into()),
        "replace" => {
            let (file, other) = (file()?, format!("{}.other", file()?));
            fs::write(&other, "theirs")?;
            fs::rename(other, file)
        }
        "write" => fs::write(file()?, "theirs"),
        "move" => {
            let (file, moved) = (file()?, format!("{}.moved", file()?));
            fs::rename(&file, &moved)?;
            std::os::unix::fs::symlink(moved, file)
        }
        "wait" => {
            let go = format!("{}.go", file()?);
            while !fs::exists(&go)? {
                std::thread::yield_now();
            }
            Ok(())
        }
        _ => Err(io::Error::other("a fault was asked for")),
    }
}

#[cfg(feature = "fault-hooks")]
fn never() -> ! {
    loop {
        std::thread::park();
    }
}
