//! Settings: what they are now, and changing them.

use std::sync::Arc;

use guildhall_domain::{
    Fault, Refusal, Result, Timestamp,
    agents::AgentState,
    callers::{Gate, Owner, OwnerDecider},
    events::Event,
    ids::{AgentId, AuthorId},
    revisions::{Precondition, Revised},
    rooms::Room,
    settings::{
        self as rules, BACKUP_FOLDER, DEFAULT_AGENT, DEFAULT_RUNTIME, EffectiveSetting,
        FILES_ROOTS, Setting, SettingValue, SettingsPatch,
    },
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx, agents, installation, rooms as room_rows,
    settings::{self, ConfiguredSettings},
};
use guildhall_world::confined_fs::ConfinedFs;

use crate::{Hall, callers, runtimes::Registry};

impl Hall {
    /// Every setting with its value and who said so, by key.
    ///
    /// # Errors
    /// Faults alone.
    ///
    /// Source: contract 1.12b.
    pub async fn settings(
        &self,
        _by: &Owner,
    ) -> Result<ReadSnapshot<Revised<Vec<EffectiveSetting>>>> {
        self.store().read(revised).await
    }

    /// What one setting is now.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn setting(&self, setting: &'static Setting) -> Result<SettingValue> {
        let seen = self
            .store()
            .read(move |db| settings::get(db, setting))
            .await?;
        Ok(seen.value.value)
    }

    /// Changes settings, all or none; every room whose answer this changes is told of.
    ///
    /// # Errors
    /// [`Refusal::UnknownSetting`], [`Refusal::Validation`], the refusals of the gate
    /// `owner-decider` for a setting that takes a person, [`Refusal::SettingFixed`],
    /// [`Refusal::PreconditionFailed`].
    ///
    /// Source: contract 1.12b and 2.9.
    pub async fn change_settings(
        &self,
        by: &Owner,
        precondition: Precondition,
        patch: SettingsPatch,
    ) -> Result<Revised<Vec<EffectiveSetting>>> {
        rules::check(&patch)?;
        if patch.iter().any(|(key, _)| rules::is_for_people_only(key)) {
            OwnerDecider::admit(*by.caller())?;
        }
        require_folders(&patch).await?;
        self.require_backup_folder(&patch).await?;
        let names_backup_folder = patch.iter().any(|(key, _)| *key == BACKUP_FOLDER.key);
        self.rescan_runtimes().await?;
        let registry = Arc::clone(self.runtimes());
        let (by, now) = (*by.caller(), self.now());
        let changed = self
            .store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                require_known(tx, &registry, &patch)?;
                let before = revised(tx)?;
                require_free(&before.value, &patch)?;
                precondition.check(before.rev)?;
                let is_of_rooms =
                    |(key, _): &(String, Option<SettingValue>)| key.starts_with("rooms.");
                let rooms = if patch.iter().any(is_of_rooms) {
                    room_rows::all(tx)?
                } else {
                    Vec::new()
                };
                apply(tx, &patch)?;
                tell_changes(tx, Some(by.author), &before, &rooms, now)?;
                revised(tx)
            })
            .await?;
        if names_backup_folder {
            self.copy_backups();
        }
        Ok(changed)
    }
}

fn revised(db: &ReadTx<'_>) -> Result<Revised<Vec<EffectiveSetting>>> {
    Ok(Revised {
        rev: installation::settings_rev(db)?,
        value: settings::all(db)?,
    })
}

/// Holds back roots that are no folders: the server would not start with them.
async fn require_folders(patch: &SettingsPatch) -> Result<()> {
    let named = patch.iter().filter(|(key, _)| *key == FILES_ROOTS.key);
    let mut roots: Vec<String> = named
        .filter_map(|(_, value)| value.as_ref())
        .flat_map(SettingValue::texts)
        .cloned()
        .collect();
    // A folder may lie on a disk that does not answer.
    let look = move || {
        roots.retain(|root| !ConfinedFs::is_folder(root));
        roots.into_iter().next()
    };
    let missing = tokio::task::spawn_blocking(look)
        .await
        .map_err(|error| Fault::broken("looking for a folder", error))?;
    match missing {
        None => Ok(()),
        Some(root) => {
            Err(Refusal::field(FILES_ROOTS.key, format!("{root} is no folder here")).into())
        }
    }
}

/// Holds back values that name what there is not.
fn require_known(db: &ReadTx<'_>, registry: &Registry, patch: &SettingsPatch) -> Result<()> {
    for (key, value) in patch {
        let text = value.as_ref().map(SettingValue::text).unwrap_or_default();
        if text.is_empty() {
            continue;
        }
        if *key == DEFAULT_RUNTIME.key && registry.find(text).is_err() {
            return Err(Refusal::field(key, "no runtime of this type is registered").into());
        }
        if *key == DEFAULT_AGENT.key {
            let agent = agents::by_id(db, AgentId::named(text))?;
            if agent.is_none_or(|agent| agent.state == AgentState::Retired) {
                return Err(Refusal::field(key, "there is no such agent").into());
            }
        }
    }
    Ok(())
}

/// Holds back settings that a flag or the environment sets.
fn require_free(now: &[EffectiveSetting], patch: &SettingsPatch) -> Result<(), Refusal> {
    let is_asked =
        |current: &&EffectiveSetting| patch.iter().any(|(key, _)| key == current.setting.key);
    let fixed: Vec<String> = now
        .iter()
        .filter(is_asked)
        .filter(|current| current.source.is_fixed())
        .map(|current| current.setting.key.to_owned())
        .collect();
    if fixed.is_empty() {
        Ok(())
    } else {
        Err(Refusal::SettingFixed(fixed))
    }
}

fn apply(tx: &mut Tx<'_>, patch: &SettingsPatch) -> Result<()> {
    for (key, value) in patch {
        if let Some(setting) = rules::find(key) {
            settings::store(tx, setting, value.as_ref())?;
        }
    }
    Ok(())
}

/// Takes over what file, environment and flags say at this start, and tells what that changes.
pub(crate) fn configure(
    tx: &mut Tx<'_>,
    configured: &ConfiguredSettings,
    now: Timestamp,
) -> Result<()> {
    let (before, rooms) = (revised(tx)?, room_rows::all(tx)?);
    settings::configure(tx, configured)?;
    tell_changes(tx, None, &before, &rooms, now)
}

/// Counts and tells what became of the settings, and of `rooms` by them, since `before`.
fn tell_changes(
    tx: &mut Tx<'_>,
    actor: Option<AuthorId>,
    before: &Revised<Vec<EffectiveSetting>>,
    rooms: &[Room],
    now: Timestamp,
) -> Result<()> {
    let after = settings::all(tx)?;
    let keys: Vec<String> = before
        .value
        .iter()
        .zip(&after)
        .filter(|(was, is)| was != is)
        .map(|(_, is)| is.setting.key.to_owned())
        .collect();
    if keys.is_empty() {
        return Ok(());
    }
    installation::set_settings_rev(tx, before.rev + 1)?;
    tx.append(now, actor, &Event::SettingsChanged { keys })?;
    if rooms.is_empty() {
        return Ok(());
    }
    for (was, room) in rooms.iter().zip(room_rows::all(tx)?) {
        if room != *was {
            tx.append(now, actor, &Event::RoomUpdated { room })?;
        }
    }
    Ok(())
}
