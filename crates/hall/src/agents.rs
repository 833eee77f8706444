//! Agents: registering coding agents, changing them, taking them off the registry.

use std::sync::Arc;

use guildhall_domain::{
    Fault, Moment, Refusal, Result,
    agents::{Agent, AgentPatch, AgentState, NewAgent, REHEARSAL, ResponseMode, Runtime},
    authors::{Author, AuthorKind},
    callers::{AnyCaller, Caller, Gate, Owner},
    events::Event,
    ids::{AgentId, AuthorId},
    outcome::Thing,
    revisions::{Precondition, Revised},
    settings::DEFAULT_RUNTIME,
};
use guildhall_store::{
    Rx, Seen, Tx, agents, authors, members as member_rows, tokens as token_rows,
};

use crate::{Hall, members, repeats::Once, rooms, tokens, turns};

impl Hall {
    /// The registry in the order of registration; an agent sees its own row.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn agents(&self, by: &AnyCaller, include_retired: bool) -> Result<Seen<Vec<Agent>>> {
        let own = by.caller().agent();
        self.store()
            .read(move |db| {
                let mut agents = agents::list(db, include_retired)?;
                agents.retain(|agent| own.is_none_or(|own| own == agent.id));
                Ok(agents)
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
    ) -> Result<Seen<Revised<Agent>>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                let agent = visible(db, &by, id)?;
                revised(db, agent)
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
        once: Once<Agent>,
    ) -> Result<Agent> {
        ask.check()?;
        let default = self.setting(&DEFAULT_RUNTIME).await?;
        let default = Some(default.text()).filter(|kind| !kind.is_empty());
        let runtime = ask.runtime.as_deref().or(default);
        let runtime = Runtime::find(runtime.unwrap_or(REHEARSAL.kind))?;
        let mode = ask
            .permission_mode
            .as_deref()
            .unwrap_or(runtime.default_mode());
        let mode = runtime.mode(mode)?;
        let cwd = self.working_folder(ask.cwd.clone()).await?;
        let (actor, now) = (by.caller().author, self.now());
        let id = Self::new_id(AgentId::from_bytes);
        let new_author = Self::new_id(AuthorId::from_bytes);
        self.store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    if let Some(known) = agents::by_folder(tx, &cwd, runtime.kind)? {
                        return Err(Refusal::AgentExists(known).into());
                    }
                    mode.require_acknowledged(ask.acknowledged_autonomy)?;
                    let name = ask.name.trim().to_owned();
                    let revived = agents::retired_author(tx, &cwd, runtime.kind)?;
                    let author = appear(tx, revived, new_author, id, &name, now)?;
                    let agent = Agent {
                        id,
                        author_id: author.id,
                        handle: author.handle.clone(),
                        name,
                        description: ask.description,
                        runtime: runtime.kind.to_owned(),
                        cwd,
                        response_mode: ask.response_mode.unwrap_or(ResponseMode::Engaged),
                        permission_mode: mode.id.to_owned(),
                        model: ask.model,
                        effort: ask.effort,
                        state: AgentState::Ready,
                        live_process: false,
                        created_at: now,
                        updated_at: now,
                    };
                    settle(tx, actor, &agent, &author, ask.join_team)?;
                    Ok(agent)
                })
            })
            .await
    }

    /// Changes an agent; a name its author still goes by changes there too.
    ///
    /// # Errors
    /// [`Refusal::Validation`], `NotFound`, [`Refusal::AgentRetired`],
    /// [`Refusal::UnsupportedPermissionMode`], [`Refusal::AutonomyNotAcknowledged`],
    /// [`Refusal::PreconditionFailed`].
    pub async fn change_agent(
        &self,
        by: &Owner,
        id: AgentId,
        precondition: Precondition,
        patch: AgentPatch,
    ) -> Result<Revised<Agent>> {
        patch.check()?;
        let (actor, now) = (by.caller().author, self.now());
        self.store()
            .write(move |tx| {
                let before = existing(tx, id)?;
                let mut agent = patch.apply(&before)?;
                precondition.check(agents::rev(tx, id)?)?;
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
        let retired = self
            .store()
            .write(move |tx| {
                let before = existing(tx, id)?;
                precondition.check(agents::rev(tx, id)?)?;
                if before.state == AgentState::Retired {
                    return revised(tx, before);
                }
                for token in token_rows::of_agent(tx, id)? {
                    tokens::revoke(tx, Some(actor), id, token.id, now)?;
                }
                turns::dismiss_agent(tx, before.author_id, now)?;
                for room in member_rows::rooms_of(tx, before.author_id)? {
                    members::leave(tx, Some(actor), room, before.author_id, now)?;
                }
                let team = rooms::existing(tx, guildhall_store::rooms::team(tx)?)?;
                agents::retire(tx, id, now)?;
                rooms::tell_if_changed(tx, now, Some(actor), &team)?;
                crate::authors::retire(tx, actor, before.author_id, now)?;
                let agent = existing(tx, id)?;
                let event = Event::AgentRetired {
                    agent: agent.clone(),
                };
                tx.append(now, Some(actor), &event)?;
                revised(tx, agent)
            })
            .await?;
        self.wake_turns();
        Ok(retired)
    }

    /// The canonical form of an agent's folder; the file system is asked off the async threads.
    async fn working_folder(&self, cwd: String) -> Result<String> {
        let confined = Arc::clone(&self.inner.confined);
        tokio::task::spawn_blocking(move || confined.working_folder(&cwd))
            .await
            .map_err(|error| Fault::broken("checking a working folder", error))?
    }
}

/// Writes a new agent, tells of it and its author, and gives it its seat in `team`.
fn settle(
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
    rooms::tell_if_changed(tx, now, actor, &team)
}

/// Makes the author of a new agent, or revives the one that worked here before.
fn appear(
    tx: &mut Tx<'_>,
    revived: Option<AuthorId>,
    new: AuthorId,
    agent: AgentId,
    name: &str,
    now: Moment,
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
    now: Moment,
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
    crate::authors::tell_renamed(tx, now, actor, &author)
}

fn revised(db: &Rx<'_>, agent: Agent) -> Result<Revised<Agent>> {
    Ok(Revised {
        rev: agents::rev(db, agent.id)?,
        value: agent,
    })
}

fn existing(db: &Rx<'_>, id: AgentId) -> Result<Agent> {
    Ok(agents::by_id(db, id)?.ok_or(Refusal::NotFound(Thing::Agent))?)
}

fn existing_author(db: &Rx<'_>, id: AuthorId) -> Result<Author> {
    Ok(authors::by_id(db, id)?.ok_or(Refusal::NotFound(Thing::Author))?)
}

fn visible(db: &Rx<'_>, by: &Caller, id: AgentId) -> Result<Agent> {
    match by.agent() {
        Some(own) if own != id => Err(Refusal::NotFound(Thing::Agent).into()),
        _ => existing(db, id),
    }
}
