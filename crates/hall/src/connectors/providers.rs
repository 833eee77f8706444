//! Provider instances: making, naming and removing them, and the scripted one that every
//! installation has. Source: contract 5.3.

use std::collections::HashMap;

use guildhall_domain::{
    Refusal, Result, Timestamp,
    callers::{Caller, Gate, Owner, OwnerInteractive},
    connectors::{
        ConnectorRefusal,
        event_payloads::ProviderChanged,
        providers::{Provider, ProviderChange, ProviderType},
        scripted_toolkit,
        toolkits::Toolkit,
    },
    errors::ValidationErrors,
    events::Event,
    field_validation::FieldValidator,
    ids::{AuthorId, ProviderId},
    limits::connectors as limits,
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx,
    connectors::{connections, operations, providers as rows, toolkits as toolkit_rows},
};
use guildhall_world::seal::Seal;

use super::toolkits;
use crate::{Hall, callers, idempotency::IdempotentWrite};

/// An instance with its toolkits.
#[derive(Clone, Debug)]
pub struct ProviderView {
    /// The instance.
    pub provider: Provider,
    /// Its toolkits in the order they were put.
    pub toolkits: Vec<Toolkit>,
}

impl Hall {
    /// All instances in the order they were made.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn connector_providers(
        &self,
        _by: &Owner,
    ) -> Result<ReadSnapshot<Vec<ProviderView>>> {
        self.store()
            .read(|db| {
                let mut toolkits: HashMap<ProviderId, Vec<Toolkit>> = HashMap::new();
                for (provider, toolkit) in toolkit_rows::all(db)? {
                    toolkits.entry(provider).or_default().push(toolkit);
                }
                let seen = rows::all(db)?.into_iter().map(|provider| ProviderView {
                    toolkits: toolkits.remove(&provider.id).unwrap_or_default(),
                    provider,
                });
                Ok(seen.collect())
            })
            .await
    }

    /// Makes an instance, which has no toolkits yet.
    ///
    /// # Errors
    /// [`Refusal::Validation`], also for one more than may be.
    pub async fn make_connector_provider(
        &self,
        by: &OwnerInteractive,
        (provider_type, label): (ProviderType, &str),
        once: IdempotentWrite<ProviderView>,
    ) -> Result<ProviderView> {
        let label = checked(label)?;
        if provider_type == ProviderType::Rehearsal {
            return Err(Refusal::field("type", "must be openapi or mcp").into());
        }
        let (by, now) = (*by.caller(), self.now());
        let provider = Provider {
            id: Self::new_id(ProviderId::from_bytes),
            provider_type,
            label,
            unavailable: None,
            generation: 1,
            created_at: now,
            updated_at: now,
        };
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                once.run(tx, now, |tx| {
                    if rows::count(tx)? >= limits::PROVIDERS_MAX {
                        let most = limits::PROVIDERS_MAX;
                        let problem = format!("there are {most} instances, and no more may be");
                        return Err(Refusal::Validation(ValidationErrors::form(problem)).into());
                    }
                    rows::insert(tx, &provider)?;
                    append_changed(
                        tx,
                        &provider,
                        ProviderChange::Created,
                        (Some(by.author), now),
                    )?;
                    Ok(ProviderView {
                        provider,
                        toolkits: Vec::new(),
                    })
                })
            })
            .await
    }

    /// Gives an instance another label, which changes nothing of what it is: its generation stays.
    ///
    /// # Errors
    /// [`Refusal::Validation`], [`ConnectorRefusal::ProviderNotFound`], [`ConnectorRefusal::ProviderFixed`].
    pub async fn change_connector_provider(
        &self,
        by: &OwnerInteractive,
        id: ProviderId,
        label: Option<String>,
    ) -> Result<ProviderView> {
        let label = label.map(|label| checked(&label)).transpose()?;
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                let mut provider = changeable(tx, id)?;
                if let Some(label) = label.filter(|label| *label != provider.label) {
                    provider.label = label;
                    provider.updated_at = now;
                    rows::update(tx, &provider)?;
                    append_changed(
                        tx,
                        &provider,
                        ProviderChange::Updated,
                        (Some(by.author), now),
                    )?;
                }
                let toolkits = toolkit_rows::of_provider(tx, provider.id)?;
                Ok(ProviderView { provider, toolkits })
            })
            .await
    }

    /// Removes an instance with its toolkits and secrets.
    ///
    /// # Errors
    /// [`ConnectorRefusal::ProviderNotFound`], [`ConnectorRefusal::ProviderFixed`], [`ConnectorRefusal::ProviderInUse`].
    pub async fn remove_connector_provider(
        &self,
        by: &OwnerInteractive,
        id: ProviderId,
    ) -> Result<()> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                let mut provider = changeable(tx, id)?;
                if connections::live(tx, provider.id, None)? > 0 {
                    return Err(ConnectorRefusal::ProviderInUse.into());
                }
                connections::forget_clients(tx, provider.id, None)?;
                rows::remove(tx, provider.id)?;
                provider.generation += 1;
                append_changed(
                    tx,
                    &provider,
                    ProviderChange::Removed,
                    (Some(by.author), now),
                )
            })
            .await
    }
}

/// Makes the scripted instance where there is none, and says of every other one whether its
/// secrets can still be read.
pub(crate) fn ensure_scripted_provider(tx: &mut Tx<'_>, seal: &Seal, now: Timestamp) -> Result<()> {
    let all = rows::all(tx)?;
    let is_scripted = |it: &Provider| it.provider_type == ProviderType::Rehearsal;
    if !all.iter().any(is_scripted) {
        add_rehearsal(tx, now)?;
    }
    for mut provider in all {
        let unavailable = why_unavailable(tx, seal, provider.id)?;
        if unavailable != provider.unavailable {
            provider.unavailable = unavailable;
            provider.updated_at = now;
            rows::update(tx, &provider)?;
            append_changed(tx, &provider, ProviderChange::Updated, (None, now))?;
        }
    }
    Ok(())
}

fn add_rehearsal(tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
    let Some(toolkit) = scripted_toolkit::toolkit() else {
        return Ok(());
    };
    let provider = Provider {
        id: Hall::new_id(ProviderId::from_bytes),
        provider_type: ProviderType::Rehearsal,
        label: scripted_toolkit::LABEL.to_owned(),
        unavailable: None,
        generation: 1,
        created_at: now,
        updated_at: now,
    };
    let listed = scripted_toolkit::operations().operations;
    rows::insert(tx, &provider)?;
    toolkit_rows::put(tx, provider.id, &toolkit, &toolkits::search_words(&listed))?;
    // No event: whoever could hear of it reads the instances when they first look.
    operations::replace(tx, provider.id, &toolkit.slug, &listed)
}

/// The instance, if there is one that may be changed.
pub(super) fn changeable(db: &ReadTx<'_>, id: ProviderId) -> Result<Provider> {
    let provider = existing(db, id)?;
    match provider.provider_type {
        ProviderType::Rehearsal => Err(ConnectorRefusal::ProviderFixed.into()),
        ProviderType::Openapi | ProviderType::Mcp => Ok(provider),
    }
}

pub(super) fn existing(db: &ReadTx<'_>, id: ProviderId) -> Result<Provider> {
    Ok(rows::find(db, id)?.ok_or(ConnectorRefusal::ProviderNotFound)?)
}

/// Counts a change of an instance's toolkits or secrets, and tells of it.
pub(super) fn bump_generation(
    tx: &mut Tx<'_>,
    seal: &Seal,
    mut provider: Provider,
    change: ProviderChange,
    (by, now): (Option<&Caller>, Timestamp),
) -> Result<Provider> {
    provider.generation += 1;
    provider.updated_at = now;
    provider.unavailable = why_unavailable(tx, seal, provider.id)?;
    rows::update(tx, &provider)?;
    append_changed(tx, &provider, change, (by.map(|by| by.author), now))?;
    Ok(provider)
}

fn append_changed(
    tx: &mut Tx<'_>,
    provider: &Provider,
    change: ProviderChange,
    (by, now): (Option<AuthorId>, Timestamp),
) -> Result<()> {
    let event = Event::ConnectorProviderChanged(ProviderChanged {
        provider_instance_id: provider.id,
        generation: provider.generation,
        change,
    });
    tx.append(now, by, &event)?;
    Ok(())
}

/// Why an instance cannot be used: a secret of it was sealed with a key that is lost.
fn why_unavailable(db: &ReadTx<'_>, seal: &Seal, id: ProviderId) -> Result<Option<String>> {
    for toolkit in toolkit_rows::of_provider(db, id)? {
        if toolkit.has_credential && toolkits::credential(db, seal, id, &toolkit.slug)?.is_none() {
            return Ok(Some(format!(
                "The client secret of {} can no longer be read; save it again.",
                toolkit.display_name
            )));
        }
    }
    Ok(None)
}

fn checked(label: &str) -> Result<String, Refusal> {
    let label = label.trim().to_owned();
    let mut check = FieldValidator::new();
    let range = limits::CONNECTOR_LABEL_CHARS;
    check.chars("label", &label, *range.start(), *range.end());
    check.one_line("label", &label);
    check.finish()?;
    Ok(label)
}
