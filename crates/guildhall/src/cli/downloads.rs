//! What a command downloads: into a file that appears only when it is whole, or to standard
//! output; never held whole.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use clap::Args;

use super::failure::Failure;

/// Where a download goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct DownloadTarget {
    /// The file to write [default: standard output, unless that is a terminal]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file when there is one
    #[arg(long, requires = "out")]
    force: bool,
}

/// A download that is still coming.
pub(super) enum DownloadSink {
    /// Goes on as it comes.
    Stdout,
    /// Comes into a file beside the one it will be.
    File {
        file: File,
        draft: PartialFile,
        path: PathBuf,
    },
}

/// An unfinished file; removed when dropped.
pub(super) struct PartialFile(PathBuf);

impl Drop for PartialFile {
    fn drop(&mut self) {
        // One that was kept has another name by now.
        let _ = fs::remove_file(&self.0);
    }
}

impl DownloadTarget {
    /// Begins a download.
    ///
    /// # Errors
    /// [`Failure::Usage`] when the file cannot be written, or there is one already.
    pub(super) fn open(&self) -> Result<DownloadSink, Failure> {
        let Some(path) = self.out.as_deref().filter(|path| *path != Path::new("-")) else {
            return if io::stdout().is_terminal() {
                Err(Failure::Usage(
                    "say which file it goes into with --out, or send it through a pipe.".to_owned(),
                ))
            } else {
                Ok(DownloadSink::Stdout)
            };
        };
        let name = path.display();
        if fs::symlink_metadata(path).is_ok() && !(self.force && path.is_file()) {
            return Err(Failure::Usage(if path.is_dir() {
                format!("{name} is a folder.")
            } else {
                format!("{name} exists already; --force replaces it.")
            }));
        }
        let mut draft = path.as_os_str().to_owned();
        draft.push(format!(".{}.part", std::process::id()));
        let draft = PathBuf::from(draft);
        let file = OpenOptions::new().write(true).create_new(true).open(&draft);
        let file = file.map_err(|error| {
            Failure::Usage(format!("{} cannot be written: {error}.", draft.display()))
        })?;
        Ok(DownloadSink::File {
            file,
            draft: PartialFile(draft),
            path: path.to_owned(),
        })
    }
}

impl DownloadSink {
    /// Takes the next bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout => io::stdout().write_all(bytes),
            Self::File { file, .. } => file.write_all(bytes),
        }
    }

    /// Keeps what came, now that it is whole; the file's name, if it is one.
    pub(super) fn keep(self) -> io::Result<Option<PathBuf>> {
        match self {
            Self::Stdout => {
                io::stdout().flush()?;
                Ok(None)
            }
            Self::File { file, draft, path } => {
                file.sync_all()?;
                fs::rename(&draft.0, &path)?;
                Ok(Some(path))
            }
        }
    }
}
