//! Settings: what they are now, and changing them.

use guildhall_domain::{
    Refusal, Result,
    agents::{AgentState, Runtime},
    callers::{Gate, Owner},
    events::Event,
    ids::AgentId,
    revisions::{Precondition, Revised},
    settings::{
        self as rules, Current, DEFAULT_AGENT, DEFAULT_RUNTIME, FILES_ROOTS, Setting,
        SettingsPatch, Value,
    },
};
use guildhall_store::{Rx, Seen, Tx, agents, installation, rooms as room_rows, settings};
use guildhall_world::confined::Confined;

use crate::Hall;

impl Hall {
    /// Every setting with its value and who said so, by key.
    ///
    /// # Errors
    /// Faults alone.
    ///
    /// Source: contract 1.12b.
    pub async fn settings(&self, _by: &Owner) -> Result<Seen<Revised<Vec<Current>>>> {
        self.store().read(revised).await
    }

    /// What one setting is now.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn setting(&self, setting: &'static Setting) -> Result<Value> {
        let seen = self
            .store()
            .read(move |db| settings::get(db, setting))
            .await?;
        Ok(seen.value.value)
    }

    /// Changes settings, all or none; every room whose answer this changes is told of.
    ///
    /// # Errors
    /// [`Refusal::UnknownSetting`], [`Refusal::Validation`], [`Refusal::SettingFixed`],
    /// [`Refusal::PreconditionFailed`].
    ///
    /// Source: contract 1.12b and 2.9.
    pub async fn change_settings(
        &self,
        by: &Owner,
        precondition: Precondition,
        patch: SettingsPatch,
    ) -> Result<Revised<Vec<Current>>> {
        rules::check(&patch)?;
        require_folders(&patch)?;
        let (actor, now) = (by.caller().author, self.now());
        self.store()
            .write(move |tx| {
                require_known(tx, &patch)?;
                let before = revised(tx)?;
                require_free(&before.value, &patch)?;
                precondition.check(before.rev)?;
                let rooms = room_rows::all(tx)?;
                let keys = apply(tx, &patch)?;
                if keys.is_empty() {
                    return Ok(before);
                }
                installation::set_settings_rev(tx, before.rev + 1)?;
                tx.append(now, Some(actor), &Event::SettingsChanged { keys })?;
                for (was, room) in rooms.iter().zip(room_rows::all(tx)?) {
                    if room != *was {
                        tx.append(now, Some(actor), &Event::RoomUpdated { room })?;
                    }
                }
                revised(tx)
            })
            .await
    }
}

fn revised(db: &Rx<'_>) -> Result<Revised<Vec<Current>>> {
    Ok(Revised {
        rev: installation::settings_rev(db)?,
        value: settings::all(db)?,
    })
}

/// Holds back roots that are no folders: the server would not start with them.
fn require_folders(patch: &SettingsPatch) -> Result<(), Refusal> {
    let named = patch.iter().filter(|(key, _)| *key == FILES_ROOTS.key);
    let mut roots = named
        .filter_map(|(_, value)| value.as_ref())
        .flat_map(Value::texts);
    match roots.find(|root| !Confined::is_folder(root)) {
        None => Ok(()),
        Some(root) => Err(Refusal::field(
            FILES_ROOTS.key,
            format!("{root} is no folder here"),
        )),
    }
}

/// Holds back values that name what there is not.
fn require_known(db: &Rx<'_>, patch: &SettingsPatch) -> Result<()> {
    for (key, value) in patch {
        let text = value.as_ref().map(Value::text).unwrap_or_default();
        if text.is_empty() {
            continue;
        }
        if *key == DEFAULT_RUNTIME.key && Runtime::find(text).is_err() {
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
fn require_free(now: &[Current], patch: &SettingsPatch) -> Result<(), Refusal> {
    let is_asked = |current: &&Current| patch.iter().any(|(key, _)| key == current.setting.key);
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

/// Stores the values and says which settings are not what they were.
fn apply(tx: &mut Tx<'_>, patch: &SettingsPatch) -> Result<Vec<String>> {
    let mut changed = Vec::new();
    for (key, value) in patch {
        let Some(setting) = rules::find(key) else {
            continue;
        };
        let before = settings::get(tx, setting)?;
        settings::store(tx, setting, value.as_ref())?;
        if settings::get(tx, setting)? != before {
            changed.push(key.clone());
        }
    }
    Ok(changed)
}
