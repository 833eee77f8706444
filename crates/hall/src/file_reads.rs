//! File reads: the text, the bytes and the tree of people's files.

use guildhall_domain::{
    Result,
    callers::{AnyCaller, Gate, Identity},
    file_reads::{FileContent, FileTree, RawMediaType},
};
use guildhall_world::{
    confined_fs::{ConfinedFs, Folder},
    file_reads::{self, TreeQuery},
};

use crate::{
    Hall,
    file_io_pool::{FileReader, TextReadSlot},
    visibility,
};

/// The text of a file on its way to a client.
#[derive(Debug)]
pub struct FileText {
    /// The text, with what a save needs to know of it.
    pub content: FileContent,
    /// To be kept until the client has it.
    pub place: TextReadSlot,
}

/// A file that is shown as it is.
#[derive(Clone, Debug)]
pub struct RawFile {
    /// Its bytes.
    pub bytes: FileReader,
    /// What it is shown as.
    pub kind: RawMediaType,
}

impl Hall {
    /// Whether the caller may name any file or folder at all. The store is asked for those alone
    /// who need it.
    ///
    /// # Errors
    /// [`guildhall_domain::Refusal::OwnerOnly`] for people to whom the owner's are not opened.
    ///
    /// Source: contract 1.3, row 6, and 6.1.
    pub async fn require_file_access(&self, by: &AnyCaller) -> Result<()> {
        let by = *by.caller();
        match by.identity {
            Identity::Owner | Identity::Agent(_) => Ok(()),
            Identity::Person(_) => {
                let asked = self
                    .store()
                    .read(move |db| visibility::require_file_access(db, &by));
                asked.await.map(|asked| asked.value)
            }
        }
    }

    /// The text of the file at `path` in the folder `cwd`.
    ///
    /// # Errors
    /// [`guildhall_domain::Refusal::OwnerOnly`]; those of a path; `NotADirectory` of the folder
    /// and `NotAFile` of the file; `FileTooLarge`, `BinaryFile`, `NotUtf8`;
    /// [`guildhall_domain::Refusal::Overloaded`].
    ///
    /// Source: contract 6.3.
    pub async fn file_content(
        &self,
        by: &AnyCaller,
        cwd: String,
        path: String,
    ) -> Result<FileText> {
        let place = self.text_read_slot().await?;
        let content = self.in_folder(by, cwd, move |confined, cwd| {
            file_reads::content(confined, cwd, &path)
        });
        Ok(FileText {
            content: content.await?,
            place,
        })
    }

    /// The file at `path` in the folder `cwd`, to be shown as it is.
    ///
    /// # Errors
    /// As [`Hall::file_content`] up to `NotAFile`; then `UnsupportedType`.
    ///
    /// Source: contract 6.3.
    pub async fn raw_file(&self, by: &AnyCaller, cwd: String, path: String) -> Result<RawFile> {
        let find =
            move |_: &ConfinedFs, cwd: &Folder| Ok((cwd.file(&path)?, RawMediaType::of(&path)?));
        let (file, kind) = self.in_folder(by, cwd, find).await?;
        Ok(RawFile {
            bytes: self.file_reader(file),
            kind,
        })
    }

    /// What lies in the folder `cwd` and below it.
    ///
    /// # Errors
    /// As [`Hall::file_content`] up to `NotADirectory`.
    ///
    /// Source: contract 6.3.
    pub async fn file_tree(&self, by: &AnyCaller, cwd: String, ask: TreeQuery) -> Result<FileTree> {
        self.in_folder(by, cwd, move |_, cwd| file_reads::tree(cwd, &ask))
            .await
    }

    /// Opens the folder `cwd` of the caller and does something in it.
    async fn in_folder<T: Send + 'static>(
        &self,
        by: &AnyCaller,
        cwd: String,
        deed: impl FnOnce(&ConfinedFs, &Folder) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let by = *by.caller();
        let reach = self
            .store()
            .read(move |db| visibility::file_scope(db, &by))
            .await?;
        self.with_files(move |confined, _| {
            let cwd = confined.open_folder(&reach.value, &cwd)?;
            deed(confined, &cwd)
        })
        .await
    }
}
