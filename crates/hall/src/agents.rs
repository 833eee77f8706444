//! Agents: registering coding agents, changing them, taking them off the registry.

use std::{collections::HashSet, sync::Arc};

use guildhall_domain::{
    Refusal, Result, Timestamp,
    agents::{Agent, AgentPatch, AgentState, NewAgent, ResponseMode},
    authors::{Author, AuthorKind},
    callers::{AnyCaller, Caller, Decider, Gate, Owner, OwnerDecider},
    errors::ResourceKind,
    events::Event,
    ids::{AgentId, AuthorId},
    revisions::{Precondition, Revised},
    runtimes::{PermissionMode, may_use},
    sessions::AutonomyConsent,
    settings::DEFAULT_RUNTIME,
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx, agent_tokens as token_rows, agents, authors, members as member_rows,
    sessions as session_rows, settings,
};

use crate::{
    Hall, agent_tokens, approvals,
    idempotency::IdempotentWrite,
    mcp_servers, members, rooms,
    runtimes::{Registry, capabilities_of, require_offered},
    sessions, turns,
};

impl Hall {
    /// The registry in the order of registration; an agent sees its own row.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn agents(
        &self,
        by: &AnyCaller,
        include_retired: bool,
    ) -> Result<ReadSnapshot<AgentList>> {
        self.rescan_runtimes().await?;
        let (own, now_true) = (by.caller().agent(), self.live_status());
        self.store()
            .read(move |db| {
                let mut agents = agents::list(db, include_retired)?;
                agents.retain(|agent| own.is_none_or(|own| own == agent.id));
                let agents: Vec<Agent> = agents
                    .into_iter()
                    .map(|agent| now_true.complete(agent))
                    .collect();
                let warnings = now_true.warnings(&agents);
                Ok(AgentList { agents, warnings })
            })
            .await
    }

    /// One agent.
    ///
    /// # Errors
    /// `NotFound` when there is none or this caller may not know of it.
    pub async fn agent_of_registry(
        &self,
        by: &AnyCaller,
        id: AgentId,
    ) -> Result<ReadSnapshot<Revised<Agent>>> {
        self.rescan_runtimes().await?;
        let (by, now_true) = (*by.caller(), self.live_status());
        self.store()
            .read(move |db| {
                let agent = visible(db, &by, id)?;
                revised(db, now_true.complete(agent))
            })
            .await
    }

    /// Registers an agent: its author with a derived handle, and its seat in `team`.
    ///
    /// The author of an agent that worked in this folder before is revived.
    ///
    /// # Errors
    /// In this order: [`Refusal::Validation`], [`Refusal::UnknownRuntime`],
    /// [`Refusal::UnsupportedPermissionMode`], the refusals of a folder,
    /// [`Refusal::AgentExists`], [`Refusal::AutonomyNotAcknowledged`].
    ///
    /// Source: contract 3.2.
    pub async fn register_agent(
        &self,
        by: &Owner,
        ask: NewAgent,
        once: IdempotentWrite<Agent>,
    ) -> Result<Agent> {
        ask.check()?;
        // A repeat is answered as before, whatever became of runtime and folder.
        let place = self.resolve_placement(&ask).await;
        let (by, now) = (*by.caller(), self.now());
        let now_true = self.live_status();
        self.store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    let place = place?;
                    if let Some(known) = agents::by_folder(tx, &place.cwd, &place.runtime)? {
                        return Err(Refusal::AgentExists(known).into());
                    }
                    let agent = register(tx, &by, ask, place, now)?;
                    Ok(now_true.complete(agent))
                })
            })
            .await
    }

    /// Changes an agent; a name its author still goes by changes there too.
    ///
    /// # Errors
    /// In this order: [`Refusal::Validation`], `NotFound`, [`Refusal::Validation`] of a model or
    /// effort that is not offered, [`Refusal::UnknownRuntime`] and
    /// [`Refusal::UnsupportedPermissionMode`] of a mode that is asked for,
    /// [`Refusal::AgentRetired`], the refusals of the gate `owner-decider` for an agent that is no
    /// longer to be enclosed, [`Refusal::AutonomyNotAcknowledged`],
    /// [`Refusal::PreconditionFailed`].
    ///
    /// Source: contract 3.2.
    pub async fn change_agent(
        &self,
        by: &Owner,
        id: AgentId,
        precondition: Precondition,
        patch: AgentPatch,
    ) -> Result<Revised<Agent>> {
        patch.check()?;
        self.rescan_runtimes().await?;
        let (by, now) = (*by.caller(), self.now());
        let now_true = self.live_status();
        self.store()
            .write(move |tx| {
                let actor = by.author;
                let before = now_true.complete(existing(tx, id)?);
                let (model, effort) = (patch.model.as_deref(), patch.effort.as_deref());
                require_offered(tx, &now_true.registry, &before.runtime, model, effort)?;
                let mode = mode_to_use(tx, &now_true.registry, &before, &patch)?;
                let mut agent = patch.apply(&before)?;
                if before.enclosed && !agent.enclosed {
                    OwnerDecider::admit(by)?;
                }
                let standing = agents::acknowledgements(tx, id)?;
                let is_said = patch.acknowledged_autonomy;
                let word = match &mode {
                    Some(mode) => new_autonomy_consent(&by, mode, is_said, &standing, now)?,
                    None => None,
                };
                precondition.check(agents::rev(tx, id)?)?;
                if let Some(word) = &word {
                    agents::acknowledge(tx, id, word)?;
                }
                if agent == before {
                    return revised(tx, agent);
                }
                agent.updated_at = now;
                agents::update(tx, &agent)?;
                rename_author(tx, actor, &before, &agent, now)?;
                let event = Event::AgentUpdated {
                    agent: agent.clone(),
                };
                tx.append(now, Some(actor), &event)?;
                revised(tx, agent)
            })
            .await
    }

    /// Takes an agent off the registry: its tokens end, its memberships end, its author is
    /// retired and its handle kept for it. Retiring twice changes nothing.
    ///
    /// # Errors
    /// `NotFound`, [`Refusal::PreconditionFailed`].
    pub async fn retire_agent(
        &self,
        by: &Owner,
        id: AgentId,
        precondition: Precondition,
    ) -> Result<Revised<Agent>> {
        let (actor, now) = (by.caller().author, self.now());
        let now_true = self.live_status();
        let (retired, ended) = self
            .store()
            .write(move |tx| {
                let before = now_true.complete(existing(tx, id)?);
                precondition.check(agents::rev(tx, id)?)?;
                let mut ended = Vec::new();
                if before.state == AgentState::Retired {
                    return Ok((revised(tx, before)?, ended));
                }
                for session in session_rows::open_of_agent(tx, id)? {
                    let (session, asks) = sessions::close(tx, session, Some(actor), now)?;
                    ended.push((session.id, asks));
                }
                for token in token_rows::of_agent(tx, id)? {
                    agent_tokens::revoke(tx, Some(actor), id, token.id, now)?;
                }
                approvals::withdraw_about(tx, id, before.author_id, Some(actor), now)?;
                mcp_servers::remove_all(tx, id, actor, now)?;
                turns::dismiss_agent(tx, before.author_id, now)?;
                for room in member_rows::rooms_of(tx, before.author_id)? {
                    members::leave(tx, Some(actor), room, before.author_id, now)?;
                }
                let team = rooms::existing(tx, guildhall_store::rooms::team(tx)?)?;
                agents::retire(tx, id, now)?;
                rooms::append_if_changed(tx, now, Some(actor), &team)?;
                crate::authors::retire(tx, actor, before.author_id, now)?;
                let agent = now_true.complete(existing(tx, id)?);
                let event = Event::AgentRetired {
                    agent: agent.clone(),
                };
                tx.append(now, Some(actor), &event)?;
                Ok((revised(tx, agent)?, ended))
            })
            .await?;
        for (session, asks) in ended {
            self.answer_withdrawn(session, &asks);
            self.inner.live.close(session);
            self.unshare_browser_of(session).await;
        }
        self.inner.processes.stop(id);
        self.inner.holds.wake_all();
        self.wake_turns();
        Ok(retired)
    }

    /// What is true of agents only now.
    fn live_status(&self) -> LiveStatus {
        LiveStatus {
            registry: Arc::clone(self.runtimes()),
            live: self.inner.processes.live(),
        }
    }

    /// The runtime, the mode and the folder of a registration, with their defaults.
    async fn resolve_placement(&self, ask: &NewAgent) -> Result<AgentPlacement> {
        self.rescan_runtimes().await?;
        let registry = Arc::clone(self.runtimes());
        let (runtime, mode) = (ask.runtime.clone(), ask.permission_mode.clone());
        let (model, effort) = (ask.model.clone(), ask.effort.clone());
        let seen = self
            .store()
            .read(move |db| {
                let configured = settings::get(db, &DEFAULT_RUNTIME)?.value;
                let kind = runtime.as_deref();
                let kind = kind.unwrap_or_else(|| registry.default_kind(configured.text()));
                let known = capabilities_of(db, &registry, kind)?;
                require_offered(db, &registry, kind, Some(&model), Some(&effort))?;
                let id = mode.as_deref().unwrap_or(&known.default_mode);
                let mode = known.mode(id)?.clone();
                Ok((kind.to_owned(), mode))
            })
            .await?;
        let (runtime, mode) = seen.value;
        let cwd = self.working_folder(ask.cwd.clone()).await?;
        Ok(AgentPlacement { runtime, mode, cwd })
    }

    /// The canonical form of an agent's folder; the file system is asked off the async threads.
    pub(crate) async fn working_folder(&self, cwd: String) -> Result<String> {
        self.with_files(move |confined, _| confined.working_folder(&cwd))
            .await
    }
}

/// Where a new agent works, and how.
pub(crate) struct AgentPlacement {
    /// The runtime's type.
    pub(crate) runtime: String,
    /// The mode of its sessions.
    pub(crate) mode: PermissionMode,
    /// Its folder, in its canonical form.
    pub(crate) cwd: String,
}

/// Puts an agent on the registry.
///
/// # Errors
/// [`Refusal::AutonomyNotAcknowledged`].
pub(crate) fn register(
    tx: &mut Tx<'_>,
    by: &Caller,
    ask: NewAgent,
    place: AgentPlacement,
    now: Timestamp,
) -> Result<Agent> {
    let AgentPlacement { runtime, mode, cwd } = place;
    let word = new_autonomy_consent(by, &mode, ask.acknowledged_autonomy, &[], now)?;
    let name = ask.name.trim().to_owned();
    let id = Hall::new_id(AgentId::from_bytes);
    let new_author = Hall::new_id(AuthorId::from_bytes);
    let revived = agents::retired_author(tx, &cwd, &runtime)?;
    let author = create_or_revive_author(tx, revived, new_author, id, &name, now)?;
    let agent = Agent {
        id,
        author_id: author.id,
        handle: author.handle.clone(),
        name,
        description: ask.description,
        runtime,
        cwd,
        response_mode: ask.response_mode.unwrap_or(ResponseMode::Engaged),
        permission_mode: mode.id,
        model: ask.model,
        effort: ask.effort,
        enclosed: true,
        state: AgentState::Ready,
        live_process: false,
        created_at: now,
        updated_at: now,
    };
    insert_agent(tx, by.author, &agent, &author, ask.join_team)?;
    if let Some(word) = &word {
        agents::acknowledge(tx, agent.id, word)?;
    }
    Ok(agent)
}

/// The registry, as a caller sees it.
#[derive(Clone, Debug)]
pub struct AgentList {
    /// In the order of registration.
    pub agents: Vec<Agent>,
    /// What is wrong with single runtimes; empty when all is well.
    pub warnings: Vec<String>,
}

/// What is true of agents only now, and stands in no row.
struct LiveStatus {
    registry: Arc<Registry>,
    live: HashSet<AgentId>,
}

impl LiveStatus {
    fn complete(&self, agent: Agent) -> Agent {
        self.registry.complete(agent, &self.live)
    }

    /// One sentence for each runtime that is gone.
    fn warnings(&self, agents: &[Agent]) -> Vec<String> {
        let gone = agents
            .iter()
            .filter(|agent| agent.state == AgentState::RuntimeMissing);
        let mut kinds: Vec<&str> = gone.map(|agent| agent.runtime.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let warning = |kind| match self.registry.profile(kind) {
            Some(profile) => format!("{}: {}", profile.label, profile.missing()),
            None => format!("{kind}: no runtime of this type is configured any more."),
        };
        kinds.into_iter().map(warning).collect()
    }
}

/// The mode a change asks for; a bare word of consent is about the mode the agent has.
fn mode_to_use(
    db: &ReadTx<'_>,
    registry: &Registry,
    agent: &Agent,
    patch: &AgentPatch,
) -> Result<Option<PermissionMode>> {
    let asked = patch.permission_mode.as_deref();
    let own = patch
        .acknowledged_autonomy
        .then_some(&*agent.permission_mode);
    let Some(id) = asked.or(own) else {
        return Ok(None);
    };
    let capabilities = match capabilities_of(db, registry, &agent.runtime) {
        Err(_) if asked.is_none() => return Ok(None),
        known => known?,
    };
    match capabilities.mode(id) {
        Err(_) if asked.is_none() => Ok(None),
        known => Ok(Some(known?.clone())),
    }
}

/// A person's word for `mode` that must be kept, when one is needed that was not given before.
///
/// # Errors
/// [`Refusal::AutonomyNotAcknowledged`], and the refusals of the gate `decider` for a caller
/// that cannot give it. Source: contract 3.1, 3.6.4.
pub(crate) fn new_autonomy_consent(
    by: &Caller,
    mode: &PermissionMode,
    is_said: bool,
    standing: &[AutonomyConsent],
    now: Timestamp,
) -> Result<Option<AutonomyConsent>, Refusal> {
    if !may_use(mode, is_said, standing)? {
        return Ok(None);
    }
    let decider = Decider::admit(*by)?;
    Ok(Some(AutonomyConsent {
        mode: mode.id.clone(),
        width: mode.width,
        by: decider.caller().author,
        at: now,
    }))
}

/// Writes a new agent, tells of it and its author, and gives it its seat in `team`.
fn insert_agent(
    tx: &mut Tx<'_>,
    actor: AuthorId,
    agent: &Agent,
    author: &Author,
    join_team: bool,
) -> Result<()> {
    let (now, actor) = (agent.created_at, Some(actor));
    let team = rooms::existing(tx, guildhall_store::rooms::team(tx)?)?;
    agents::insert(tx, agent)?;
    let appeared = Event::AuthorUpdated {
        author: author.clone(),
    };
    tx.append(now, actor, &appeared)?;
    let created = Event::AgentCreated {
        agent: agent.clone(),
    };
    tx.append(now, actor, &created)?;
    if join_team {
        members::join(tx, actor, team.id, author, None, now)?;
    }
    rooms::append_if_changed(tx, now, actor, &team)
}

/// Makes the author of a new agent, or revives the one that worked here before.
fn create_or_revive_author(
    tx: &mut Tx<'_>,
    revived: Option<AuthorId>,
    new: AuthorId,
    agent: AgentId,
    name: &str,
    now: Timestamp,
) -> Result<Author> {
    let mut author = match revived {
        Some(known) => existing_author(tx, known)?,
        None => Author::new(new, AuthorKind::Agent, String::new()),
    };
    author.display_name = name.to_owned();
    author.agent_ref = Some(agent);
    author.retired = false;
    match revived {
        Some(_) => authors::update(tx, &author)?,
        None => authors::insert(tx, &author)?,
    }
    author.handle = crate::authors::derive_handle(tx, author.id, name, now)?;
    Ok(author)
}

fn rename_author(
    tx: &mut Tx<'_>,
    actor: AuthorId,
    before: &Agent,
    after: &Agent,
    now: Timestamp,
) -> Result<()> {
    let author = existing_author(tx, after.author_id)?;
    if after.name == before.name || author.display_name != before.name {
        return Ok(());
    }
    let author = Author {
        display_name: after.name.clone(),
        ..author
    };
    authors::update(tx, &author)?;
    crate::authors::append_renamed_events(tx, now, actor, &author)
}

fn revised(db: &ReadTx<'_>, agent: Agent) -> Result<Revised<Agent>> {
    Ok(Revised {
        rev: agents::rev(db, agent.id)?,
        value: agent,
    })
}

fn existing(db: &ReadTx<'_>, id: AgentId) -> Result<Agent> {
    Ok(agents::by_id(db, id)?.ok_or(Refusal::NotFound(ResourceKind::Agent))?)
}

fn existing_author(db: &ReadTx<'_>, id: AuthorId) -> Result<Author> {
    Ok(authors::by_id(db, id)?.ok_or(Refusal::NotFound(ResourceKind::Author))?)
}

fn visible(db: &ReadTx<'_>, by: &Caller, id: AgentId) -> Result<Agent> {
    match by.agent() {
        Some(own) if own != id => Err(Refusal::NotFound(ResourceKind::Agent).into()),
        _ => existing(db, id),
    }
}
