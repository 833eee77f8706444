//! Settings: what a person stored here, and what was configured at the last start.

use std::collections::HashMap;

use guildhall_domain::{
    Error, Result,
    attachments::AttachmentLimits,
    rooms::TurnLimits,
    settings::{self, ALL, EffectiveSetting, Setting, SettingSource, SettingValue},
};

use crate::{
    ReadTx, Tx,
    transactions::{self, enum_column, enum_text},
};

/// What was configured outside: by the file, the environment or a flag.
pub type ConfiguredSettings = Vec<(&'static Setting, SettingSource, SettingValue)>;

/// A setting's row.
struct SettingRow {
    stored: Option<SettingValue>,
    configured: Option<(SettingSource, SettingValue)>,
}

/// What every setting is now, by key.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn all(db: &ReadTx<'_>) -> Result<Vec<EffectiveSetting>> {
    let mut rows = rows_by_key(db)?;
    Ok(ALL
        .iter()
        .map(|setting| current(setting, rows.remove(setting.key)))
        .collect())
}

/// What one setting is now.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn get(db: &ReadTx<'_>, setting: &'static Setting) -> Result<EffectiveSetting> {
    let row = db.first(
        "SELECT key, stored, configured, source FROM settings WHERE key = $1",
        [setting.key],
        read,
    )?;
    Ok(current(setting, row.map(|(_, row)| row)))
}

/// The installation's turn limits.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn turn_limits(db: &ReadTx<'_>) -> Result<TurnLimits> {
    let mut rows = rows_by_key(db)?;
    let mut value = |setting: &'static Setting| current(setting, rows.remove(setting.key)).value;
    let small = |value: SettingValue| u32::try_from(value.number()).unwrap_or(u32::MAX);
    Ok(TurnLimits {
        turn_limits_enabled: value(&settings::TURN_LIMITS_ENABLED).is_on(),
        max_agent_depth: small(value(&settings::MAX_AGENT_DEPTH)),
        max_turns_per_agent_per_cascade: small(value(&settings::MAX_TURNS_PER_AGENT_PER_CASCADE)),
        max_auto_turns_per_hour: small(value(&settings::MAX_AUTO_TURNS_PER_ROOM_PER_HOUR)),
    })
}

/// The automatic turns all rooms together may take in an hour.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn turns_total_per_hour(db: &ReadTx<'_>) -> Result<u32> {
    small(db, &settings::MAX_AUTO_TURNS_TOTAL_PER_HOUR)
}

/// A setting that is a small whole number.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn small(db: &ReadTx<'_>, setting: &'static Setting) -> Result<u32> {
    Ok(u32::try_from(get(db, setting)?.value.number()).unwrap_or(u32::MAX))
}

/// How much may be attached.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn attachment_limits(db: &ReadTx<'_>) -> Result<AttachmentLimits> {
    let number = |setting| Ok::<_, Error>(get(db, setting)?.value.number());
    let per_entry = number(&settings::ATTACHMENTS_PER_ENTRY_MAX)?;
    Ok(AttachmentLimits {
        bytes_max: number(&settings::ATTACHMENT_BYTES_MAX)?,
        per_entry_max: usize::try_from(per_entry).unwrap_or(usize::MAX),
        store_bytes_max: number(&settings::ATTACHMENT_STORE_BYTES_MAX)?,
    })
}

/// Stores a value, or drops the stored one.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn store(tx: &mut Tx<'_>, setting: &Setting, value: Option<&SettingValue>) -> Result<()> {
    let json = value.map(text).transpose()?;
    tx.run(
        "INSERT INTO settings (key, stored) VALUES ($1, $2)
         ON CONFLICT (key) DO UPDATE SET stored = excluded.stored",
        (setting.key, json),
    )?;
    Ok(())
}

/// Notes what is configured at this start, and forgets what was at the last.
///
/// # Errors
/// A fault when the engine refuses a row.
pub fn configure(tx: &mut Tx<'_>, configured: &ConfiguredSettings) -> Result<()> {
    tx.run("UPDATE settings SET configured = NULL, source = ''", [])?;
    for (setting, source, value) in configured {
        tx.run(
            "INSERT INTO settings (key, configured, source) VALUES ($1, $2, $3)
             ON CONFLICT (key) DO UPDATE
             SET configured = excluded.configured, source = excluded.source",
            (
                setting.key,
                text(value)?,
                enum_text(*source, &SettingSource::WORDS),
            ),
        )?;
    }
    Ok(())
}

fn text(value: &SettingValue) -> Result<String> {
    serde_json::to_string(value).map_err(|error| transactions::broken("writing a setting", error))
}

fn rows_by_key(db: &ReadTx<'_>) -> Result<HashMap<String, SettingRow>> {
    let rows = db.all(
        "SELECT key, stored, configured, source FROM settings",
        [],
        read,
    )?;
    Ok(rows.into_iter().collect())
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<(String, SettingRow)> {
    let value = |column: usize| -> rusqlite::Result<Option<SettingValue>> {
        let text: Option<String> = row.get(column)?;
        Ok(text.as_deref().and_then(parse))
    };
    let configured = match value(2)? {
        Some(value) => Some((enum_column(row, 3, &SettingSource::WORDS)?, value)),
        None => None,
    };
    Ok((
        row.get(0)?,
        SettingRow {
            stored: value(1)?,
            configured,
        },
    ))
}

/// Reads a value back; one of a form that no setting has counts as not there.
fn parse(text: &str) -> Option<SettingValue> {
    match serde_json::from_str(text).ok()? {
        serde_json::Value::Bool(flag) => Some(SettingValue::Flag(flag)),
        serde_json::Value::Number(number) => number.as_u64().map(SettingValue::Number),
        serde_json::Value::String(text) => Some(SettingValue::Text(text)),
        serde_json::Value::Array(items) => items
            .into_iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .map(SettingValue::Texts),
        serde_json::Value::Null | serde_json::Value::Object(_) => None,
    }
}

/// A value that a newer or older version wrote and this one would not take is not used.
fn current(setting: &'static Setting, row: Option<SettingRow>) -> EffectiveSetting {
    let fits = |value: &SettingValue| setting.check(value).is_ok();
    let (stored, configured) = row.map_or((None, None), |row| (row.stored, row.configured));
    EffectiveSetting::join(
        setting,
        stored.filter(fits),
        configured.filter(|(_, value)| fits(value)),
    )
}
