//! Runtimes: which there are, what each can do, and trying one out.

mod check;
mod registry;

use std::sync::Arc;

use guildhall_domain::{
    Fault, Refusal, Result, Timestamp,
    callers::AnyCaller,
    events::Event,
    ids::AuthorId,
    runtimes::{
        Capabilities, NativeMode, OptionValue, REHEARSAL, ReportedCapabilities, ReportedOption,
        RuntimeProfile, RuntimeStatus, capabilities,
    },
    settings::DEFAULT_RUNTIME,
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx,
    runtimes::{self, ReportedRuntimeRow, RuntimeCheckRow},
    settings,
};
use guildhall_world::acp::{AgentCapabilities, OpenedSession};

use crate::Hall;

pub use registry::Registry;

/// What every registered runtime can do.
#[derive(Clone, Debug)]
pub struct AllCapabilities {
    /// In the order of the table, then by type.
    pub entries: Vec<Capabilities>,
    /// The runtime of agents that name none.
    pub default_kind: String,
}

impl Hall {
    /// The registry of runtimes.
    pub fn runtimes(&self) -> &Arc<Registry> {
        &self.inner.runtimes
    }

    /// Looks for the programs of all runtimes anew.
    ///
    /// # Errors
    /// Faults alone.
    pub(crate) async fn rescan_runtimes(&self) -> Result<()> {
        let registry = Arc::clone(self.runtimes());
        // A folder of PATH may lie on a disk that does not answer.
        tokio::task::spawn_blocking(move || registry.rescan())
            .await
            .map_err(|error| Fault::broken("looking for programs", error).into())
    }

    /// What every registered runtime can do, and which one is the default.
    ///
    /// # Errors
    /// Faults alone.
    ///
    /// Source: spec, "GET /api/capabilities"; contract 3.4.
    pub async fn capabilities(&self, _by: &AnyCaller) -> Result<ReadSnapshot<AllCapabilities>> {
        self.rescan_runtimes().await?;
        let registry = Arc::clone(self.runtimes());
        self.store()
            .read(move |db| {
                let facts = runtimes::all_reported(db)?;
                let configured = settings::get(db, &DEFAULT_RUNTIME)?.value;
                let registered = registry.profiles().iter();
                let entries = registered
                    .filter(|profile| registry.is_registered(profile))
                    .map(|profile| capabilities(profile, last_reported(&registry, &facts, profile)))
                    .collect();
                Ok(AllCapabilities {
                    entries,
                    default_kind: registry.default_kind(configured.text()).to_owned(),
                })
            })
            .await
    }

    /// Every runtime there can be, unregistered ones too.
    ///
    /// # Errors
    /// Faults alone.
    ///
    /// Source: contract 3.3.1.
    pub async fn runtime_list(&self, _by: &AnyCaller) -> Result<ReadSnapshot<Vec<RuntimeStatus>>> {
        self.rescan_runtimes().await?;
        let registry = Arc::clone(self.runtimes());
        self.store()
            .read(move |db| {
                let (facts, told) = (runtimes::all_reported(db)?, runtimes::all_checks(db)?);
                let profiles = registry.profiles().iter();
                let status = |profile: &RuntimeProfile| {
                    let told = told.iter().find(|told| told.runtime == profile.kind);
                    status(
                        &registry,
                        profile,
                        last_reported(&registry, &facts, profile),
                        told,
                    )
                };
                Ok(profiles.map(status).collect())
            })
            .await
    }
}

/// What a registered runtime can do, by what it said last.
///
/// # Errors
/// [`Refusal::UnknownRuntime`].
pub(crate) fn capabilities_of(
    db: &ReadTx<'_>,
    registry: &Registry,
    kind: &str,
) -> Result<Capabilities> {
    let profile = registry.find(kind)?;
    let probed = runtimes::probed(db, kind, &registry.installed_version(kind))?;
    Ok(capabilities(profile, probed.as_ref()))
}

/// Holds back a model or effort that the runtime is known not to offer; what it never told is
/// not known.
///
/// # Errors
/// [`Refusal::Validation`] on `model` or `effort`. Source: contract 3.6.4.
pub(crate) fn require_offered(
    db: &ReadTx<'_>,
    registry: &Registry,
    kind: &str,
    model: Option<&str>,
    effort: Option<&str>,
) -> Result<()> {
    let is_asked = |value: &Option<&str>| value.is_some_and(|value| !value.is_empty());
    if ![model, effort].iter().any(is_asked) {
        return Ok(());
    }
    let Some(probed) = runtimes::probed(db, kind, &registry.installed_version(kind))? else {
        return Ok(());
    };
    for (field, value, offered) in [
        ("model", model, probed.models()),
        ("effort", effort, probed.efforts()),
    ] {
        let offered = offered.unwrap_or_default();
        if let Some(value) = value.filter(|value| !value.is_empty())
            && !offered.contains(&value)
        {
            let known = offered.join(", ");
            let problem = if known.is_empty() {
                "cannot be chosen with this runtime".to_owned()
            } else {
                format!("must be one of {known}")
            };
            return Err(Refusal::field(field, problem).into());
        }
    }
    Ok(())
}

/// What a runtime said of itself when it was greeted and opened a session.
pub(crate) fn reported_capabilities(
    facts: &AgentCapabilities,
    opened: &OpenedSession,
) -> ReportedCapabilities {
    let modes = opened.modes.iter().map(|mode| NativeMode {
        id: mode.id.clone(),
        name: mode.name.clone(),
        description: mode.description.clone(),
    });
    let options = opened.options.iter().map(|option| ReportedOption {
        id: option.id.clone(),
        name: option.name.clone(),
        category: option.category.clone(),
        current: option.current.clone(),
        values: option
            .values
            .iter()
            .map(|value| OptionValue {
                value: value.value.clone(),
                name: value.name.clone(),
            })
            .collect(),
    });
    ReportedCapabilities {
        agent_version: facts.version.clone(),
        load_session: facts.load_session,
        resume: facts.resume_session,
        modes: modes.collect(),
        current_mode: opened.current_mode.clone(),
        options: options.collect(),
    }
}

/// Keeps what a runtime said at a successful start, and tells when its version is another.
///
/// Nothing is written when it said the same before. `actor` is who had it started, `None` for
/// the server itself.
///
/// # Errors
/// [`Refusal::UnknownRuntime`].
pub(crate) fn record_reported(
    tx: &mut Tx<'_>,
    registry: &Registry,
    kind: &str,
    probed: ReportedCapabilities,
    actor: Option<AuthorId>,
    now: Timestamp,
) -> Result<()> {
    save_reported(tx, registry, kind, probed, now)?;
    let before = runtimes::last_check(tx, kind)?;
    let checked_at = before.as_ref().and_then(|told| told.checked_at);
    append_changed(tx, registry, kind, (checked_at, String::new()), actor, now)
}

fn save_reported(
    tx: &mut Tx<'_>,
    registry: &Registry,
    kind: &str,
    probed: ReportedCapabilities,
    now: Timestamp,
) -> Result<()> {
    let version = registry.installed_version(kind);
    if runtimes::probed(tx, kind, &version)?.as_ref() == Some(&probed) {
        return Ok(());
    }
    let facts = ReportedRuntimeRow {
        runtime: kind.to_owned(),
        version,
        probed,
    };
    runtimes::save_reported(tx, &facts, now)
}

/// Keeps what came of a check, and appends `runtime_changed` when the runtime is there, gone or
/// of another version than was told last.
fn append_changed(
    tx: &mut Tx<'_>,
    registry: &Registry,
    kind: &str,
    (checked_at, problem): (Option<Timestamp>, String),
    actor: Option<AuthorId>,
    now: Timestamp,
) -> Result<()> {
    let profile = registry.profile(kind).ok_or(Refusal::UnknownRuntime)?;
    let before = runtimes::last_check(tx, kind)?;
    let probed = runtimes::probed(tx, kind, &registry.installed_version(kind))?;
    let told = RuntimeCheckRow {
        runtime: kind.to_owned(),
        checked_at,
        problem,
        installed: registry.is_installed(kind),
        version: version(registry, profile, probed.as_ref()),
    };
    if before.as_ref() == Some(&told) {
        return Ok(());
    }
    // Our own program is there before anybody looked.
    let (was_installed, old_version) = match &before {
        Some(told) => (told.installed, told.version.clone()),
        None if kind == REHEARSAL => (true, registry.installed_version(kind)),
        None => (false, String::new()),
    };
    if (told.installed, &told.version) != (was_installed, &old_version) {
        let event = Event::RuntimeChanged {
            kind: kind.to_owned(),
            installed: told.installed,
            version: told.version.clone(),
        };
        tx.append(now, actor, &event)?;
    }
    runtimes::save_check(tx, &told)
}

/// What a runtime said last in the version that is installed now.
fn last_reported<'a>(
    registry: &Registry,
    facts: &'a [ReportedRuntimeRow],
    profile: &RuntimeProfile,
) -> Option<&'a ReportedCapabilities> {
    let version = registry.installed_version(&profile.kind);
    let is_it =
        |facts: &&ReportedRuntimeRow| facts.runtime == profile.kind && facts.version == version;
    facts.iter().find(is_it).map(|facts| &facts.probed)
}

/// The version the runtime named itself, else the one its package says; `""` of one that is gone.
fn version(
    registry: &Registry,
    profile: &RuntimeProfile,
    probed: Option<&ReportedCapabilities>,
) -> String {
    let Some(place) = registry.place(&profile.kind) else {
        return String::new();
    };
    let named = probed.map(|probed| probed.agent_version.clone());
    named
        .filter(|named| !named.is_empty())
        .unwrap_or(place.version)
}

fn status(
    registry: &Registry,
    profile: &RuntimeProfile,
    probed: Option<&ReportedCapabilities>,
    told: Option<&RuntimeCheckRow>,
) -> RuntimeStatus {
    let registered = registry.is_registered(profile);
    let installed = registry.is_installed(&profile.kind);
    let checked_at = told.and_then(|told| told.checked_at);
    let problem = match told {
        Some(told) if installed => told.problem.clone(),
        None if installed => String::new(),
        Some(_) | None if registered || checked_at.is_some() => profile.missing(),
        Some(_) | None => String::new(),
    };
    RuntimeStatus {
        kind: profile.kind.clone(),
        label: profile.label.clone(),
        registered,
        installed,
        command: profile.command_line(),
        version: version(registry, profile, probed),
        problem,
        install_hint: profile.install_hint.clone(),
        checked_at,
    }
}
