//! Tools: reading and changing real files below the session's folder, and running programs in it.
//! Nothing goes through a shell; what a program prints is kept to a bound.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::Command,
};

/// The largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The most that is kept of what a program prints, in bytes.
const OUTPUT_BYTES_MAX: usize = 256 * 1024;
/// How long output is read after the program's end, for what its own children still hold open.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolOutcome {
    /// Whether it did what it should.
    pub(crate) is_done: bool,
    /// What a person reads.
    pub(crate) text: String,
    /// What is told as the raw output.
    pub(crate) raw: Value,
}

impl ToolOutcome {
    /// It did what it should.
    pub(crate) fn done(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            is_done: true,
            raw: Value::String(text.clone()),
            text,
        }
    }

    /// It did not.
    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self {
            is_done: false,
            ..Self::done(why)
        }
    }

    /// Done with the text, or failed with the reason.
    pub(crate) fn of(result: Result<String, String>) -> Self {
        result.map_or_else(Self::failed, Self::done)
    }
}

/// The folder that the tools work in.
#[derive(Clone, Debug)]
pub(crate) struct SessionFolder {
    root: PathBuf,
}

impl SessionFolder {
    /// The folder `cwd`, with its links followed.
    ///
    /// # Errors
    /// When it does not exist.
    pub(crate) fn at(cwd: &Path) -> io::Result<Self> {
        Ok(Self {
            root: fs::canonicalize(cwd)?,
        })
    }

    /// The absolute path of `path`, which stands below the folder; the file need not exist.
    ///
    /// # Errors
    /// In words, when it leads out of the folder, by itself or through a link.
    pub(crate) fn locate(&self, path: &str) -> Result<PathBuf, String> {
        let outside = || format!("{path} is outside of the session's folder");
        let given = Path::new(path);
        if path.is_empty() || given.components().any(|part| part == Component::ParentDir) {
            return Err(outside());
        }
        let full = self.root.join(given);
        let existing = full
            .ancestors()
            .find_map(|part| fs::canonicalize(part).ok())
            .ok_or_else(outside)?;
        // A dangling link has no real path, and writing through it would leave the folder.
        let is_link = fs::symlink_metadata(&full).is_ok_and(|about| about.is_symlink());
        let is_dangling = is_link && fs::metadata(&full).is_err();
        if is_dangling || !existing.starts_with(&self.root) || !full.starts_with(&self.root) {
            return Err(outside());
        }
        Ok(full)
    }

    /// The text of a file of at most 1 MiB.
    ///
    /// # Errors
    /// In words, when it is outside, missing, too large or no text.
    pub(crate) fn read(&self, path: &str) -> Result<String, String> {
        let file = self.locate(path)?;
        let told = |error: io::Error| format!("cannot read {path}: {error}");
        let about = fs::metadata(&file).map_err(told)?;
        if about.len() > FILE_BYTES_MAX {
            return Err(format!(
                "cannot read {path}: it is larger than {FILE_BYTES_MAX} bytes"
            ));
        }
        fs::read_to_string(&file).map_err(told)
    }

    /// Writes a file as a whole, with the folders that lead to it.
    ///
    /// # Errors
    /// In words, when it is outside or cannot be written.
    pub(crate) fn write(&self, path: &str, content: &str) -> Result<String, String> {
        let file = self.locate(path)?;
        let told = |error: io::Error| format!("cannot write {path}: {error}");
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(told)?;
        }
        fs::write(&file, content).map_err(told)?;
        Ok(format!("Wrote {} bytes to {path}", content.len()))
    }

    /// The text that a file would have with `old` replaced by `new`.
    ///
    /// # Errors
    /// In words, when it cannot be read or `old` does not stand in it exactly once.
    pub(crate) fn edited(&self, path: &str, old: &str, new: &str) -> Result<String, String> {
        let text = self.read(path)?;
        let found = if old.is_empty() {
            0
        } else {
            text.matches(old).count()
        };
        if found == 1 {
            Ok(text.replacen(old, new, 1))
        } else {
            Err(format!(
                "cannot edit {path}: the text to replace stands in it {found} times"
            ))
        }
    }

    /// Runs a program in the folder and waits for its end; dropping this future kills it.
    pub(crate) async fn run(&self, command: &[String]) -> ToolOutcome {
        let Some((program, arguments)) = command.split_first() else {
            return ToolOutcome::failed("the command has no program");
        };
        let started = Command::new(program)
            .args(arguments)
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) => return ToolOutcome::failed(format!("cannot start {program}: {error}")),
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let (from_out, from_err) = (child.stdout.take(), child.stderr.take());
        let status = {
            let reading = async {
                tokio::join!(kept(from_out, &mut out), kept(from_err, &mut err));
            };
            tokio::pin!(reading);
            let (status, is_read) = tokio::select! {
                status = child.wait() => (status, false),
                () = &mut reading => (child.wait().await, true),
            };
            if !is_read {
                // What is open after the grace belongs to children that outlive the program.
                let _ = tokio::time::timeout(OUTPUT_GRACE, reading).await;
            }
            status
        };
        match status {
            Ok(status) => told(status.code(), &out, &err),
            Err(error) => ToolOutcome::failed(format!("lost {program}: {error}")),
        }
    }
}

/// What a program's end and its two outputs come to.
fn told(code: Option<i32>, out: &[u8], err: &[u8]) -> ToolOutcome {
    let is_cut = out.len() > OUTPUT_BYTES_MAX || err.len() > OUTPUT_BYTES_MAX;
    let shown = |bytes: &[u8]| {
        let end = bytes.len().min(OUTPUT_BYTES_MAX);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let mut text = shown(out) + &shown(err);
    if is_cut {
        text.push_str("\n[the rest of the output is left out]");
    }
    ToolOutcome {
        is_done: code == Some(0),
        raw: json!({"exitCode": code, "output": text, "truncated": is_cut}),
        text,
    }
}

/// Reads until the end, and keeps one byte more than the bound at most.
async fn kept(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    let Some(mut from) = from else { return };
    let mut piece = vec![0; 8 * 1024];
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        let room = (OUTPUT_BYTES_MAX + 1).saturating_sub(into.len());
        into.extend_from_slice(&piece[..read.min(room)]);
    }
}
