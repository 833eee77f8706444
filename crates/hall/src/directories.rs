//! Directories: looking into the folders of home, and making one.

use guildhall_domain::{
    Fault, Result,
    callers::{AnyCaller, Caller, Gate, Identity},
    directories::{Directory, FolderName},
    events::Event,
    settings::DEFAULT_DIRECTORY,
};
use guildhall_store::ReadTx;
use guildhall_world::{
    confined_fs::{ConfinedFs, FileScope},
    directories,
};

/// Which of the things in a folder are listed.
pub use guildhall_world::directories::ListFilter;

use crate::{Hall, idempotency::IdempotentWrite, visibility};

impl Hall {
    /// What lies in the folder at `path`, an absolute path or one that begins with `~`; absent is
    /// home, and for an agent its own folder.
    ///
    /// # Errors
    /// [`guildhall_domain::Refusal::OwnerOnly`]; those of a path, and [`guildhall_domain::Refusal::NotADirectory`].
    ///
    /// Source: contract 6.2.
    pub async fn directory(
        &self,
        by: &AnyCaller,
        path: Option<String>,
        listed: ListFilter,
    ) -> Result<Directory> {
        let reach = self.directory_scope(*by.caller()).await?;
        self.with_files(move |confined, _| {
            directories::list(confined, &reach, path.as_deref(), listed)
        })
        .await
    }

    /// Where new work begins: the folder of the setting when it lies in home, else home; for an
    /// agent its own folder.
    ///
    /// # Errors
    /// [`guildhall_domain::Refusal::OwnerOnly`]; [`guildhall_domain::Refusal::OutsideBoundary`] where there is no home.
    ///
    /// Source: contract 6.2, neighbours.
    pub async fn default_directory(&self, by: &AnyCaller) -> Result<String> {
        let by = *by.caller();
        let reach = self.directory_scope(by).await?;
        let setting = self.setting(&DEFAULT_DIRECTORY).await?;
        self.with_files(move |confined, _| {
            let configured = setting.text();
            if reach == FileScope::Home
                && !configured.is_empty()
                && let Ok(folder) = confined.folder(&reach, configured)
            {
                return Ok(folder);
            }
            Ok(confined.open_scope(&reach)?.path().to_owned())
        })
        .await
    }

    /// Makes the folder `name` in the one at `parent`; answers its path.
    ///
    /// # Errors
    /// [`guildhall_domain::Refusal::Validation`], [`guildhall_domain::Refusal::OwnerOnly`], those of a path,
    /// [`guildhall_domain::Refusal::NotADirectory`], [`guildhall_domain::Refusal::AlreadyExists`].
    ///
    /// Source: contract 6.2, neighbours.
    pub async fn make_directory(
        &self,
        by: &AnyCaller,
        parent: String,
        name: &str,
        once: IdempotentWrite<String>,
    ) -> Result<String> {
        let name = FolderName::parse(name)?;
        let (by, now, peek) = (*by.caller(), self.now(), once.replay_check());
        let reach = self.store().read(move |db| {
            peek.check(db, now)?;
            visibility::new_folder_scope(db, &by)
        });
        let reach = reach.await?.value;
        let hall = self.clone();
        // A folder that was made is told of, also when nobody waits for the answer any more.
        let work = async move {
            let path = hall
                .with_exclusive_names(move |confined| {
                    directories::make(confined, &reach, &parent, &name)
                })
                .await?;
            hall.store()
                .write(move |tx| {
                    once.run(tx, now, |tx| {
                        let event = Event::DirectoryCreated { path: path.clone() };
                        tx.append(now, Some(by.author), &event)?;
                        Ok(path)
                    })
                })
                .await
        };
        let done = self.tasks().finish(work).await;
        done.ok_or_else(|| Fault::broken("making a folder", "its task ended badly"))?
    }

    /// Does something that changes names beneath the roots, while nobody saves a file.
    async fn with_exclusive_names<T: Send + 'static>(
        &self,
        deed: impl FnOnce(&ConfinedFs) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let stopping = self.tasks().stopping();
        let _names = self.inner.gate.exclusive(stopping).await?;
        self.with_files(move |confined, _| deed(confined)).await
    }

    /// How far a caller looks into folders; the store is asked for those alone who need it.
    async fn directory_scope(&self, by: Caller) -> Result<FileScope> {
        match by.identity {
            Identity::Owner => Ok(FileScope::Home),
            Identity::Person(_) | Identity::Agent(_) => {
                let read = move |db: &ReadTx<'_>| visibility::directory_scope(db, &by);
                Ok(self.store().read(read).await?.value)
            }
        }
    }
}
