//! The registry of agents: rows and look-ups.
//! Folders are checked by `world::confined_fs`; who may register is `hall::agents`.

use guildhall_domain::{
    Result, Timestamp,
    agents::{Agent, AgentState, ResponseMode},
    ids::{AgentId, AuthorId},
    runtimes::{AutonomyLevel, EffectReach, PromptPolicy, StopPoint},
    sessions::AutonomyConsent,
    settings::DEFAULT_AGENT,
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx, authors, settings,
    transactions::{self, enum_column, enum_text, maybe_moment, moment},
};

const SELECT: &str = "SELECT g.id, g.author_id, h.handle, g.name, g.description, g.runtime, g.cwd,
    g.response_mode, g.permission_mode, g.model, g.effort, g.created_at, g.updated_at, g.retired_at,
    g.enclosed
    FROM agents g LEFT JOIN handles h ON h.author_id = g.author_id AND h.released_at IS NULL";

/// All agents in the order they were registered.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn list(db: &ReadTx<'_>, include_retired: bool) -> Result<Vec<Agent>> {
    db.all(
        &format!("{SELECT} WHERE $1 OR g.retired_at IS NULL ORDER BY g.created_at, g.id"),
        [include_retired],
        read,
    )
}

/// The agent with this id, retired or not.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, id: AgentId) -> Result<Option<Agent>> {
    db.first(&format!("{SELECT} WHERE g.id = $1"), [id.as_bytes()], read)
}

/// The agent of this folder and runtime that is not retired.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_folder(db: &ReadTx<'_>, cwd: &str, runtime: &str) -> Result<Option<AgentId>> {
    db.first(
        "SELECT id FROM agents WHERE cwd = $1 AND runtime = $2 AND retired_at IS NULL",
        (cwd, runtime),
        |row| transactions::id(row, 0, AgentId::from_bytes),
    )
}

/// The agent of this folder that is not retired, the one registered first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn first_of_folder(db: &ReadTx<'_>, cwd: &str) -> Result<Option<AgentId>> {
    db.first(
        "SELECT id FROM agents WHERE cwd = $1 AND retired_at IS NULL
         ORDER BY created_at, id LIMIT 1",
        [cwd],
        |row| transactions::id(row, 0, AgentId::from_bytes),
    )
}

/// The retired author that a new agent in this folder revives: of the same runtime first,
/// then the newest.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn retired_author(db: &ReadTx<'_>, cwd: &str, runtime: &str) -> Result<Option<AuthorId>> {
    db.first(
        "SELECT g.author_id FROM agents g JOIN authors a ON a.id = g.author_id
         WHERE g.cwd = $1 AND a.retired = 1
         ORDER BY g.runtime = $2 DESC, g.created_at DESC LIMIT 1",
        (cwd, runtime),
        |row| transactions::id(row, 0, AuthorId::from_bytes),
    )
}

/// The author of the default agent, which answers in `team`: the one the settings name, else
/// the first registered; retired ones do not count.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn default_author(db: &ReadTx<'_>) -> Result<Option<AuthorId>> {
    let named = settings::get(db, &DEFAULT_AGENT)?.value;
    db.first(
        "SELECT author_id FROM agents WHERE retired_at IS NULL
         ORDER BY id = $1 DESC, created_at, id LIMIT 1",
        [AgentId::named(named.text()).as_bytes()],
        |row| transactions::id(row, 0, AuthorId::from_bytes),
    )
}

/// How often an agent's stored fields changed.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn rev(db: &ReadTx<'_>, id: AgentId) -> Result<u64> {
    db.one(
        "SELECT rev FROM agents WHERE id = $1",
        [id.as_bytes()],
        |row| transactions::count(row, 0),
    )
}

/// Adds an agent.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, agent: &Agent) -> Result<()> {
    tx.run(
        "INSERT INTO agents (id, author_id, name, description, runtime, cwd, response_mode,
           permission_mode, model, effort, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        (
            agent.id.as_bytes(),
            agent.author_id.as_bytes(),
            &agent.name,
            &agent.description,
            &agent.runtime,
            &agent.cwd,
            enum_text(agent.response_mode, &ResponseMode::WORDS),
            &agent.permission_mode,
            &agent.model,
            &agent.effort,
            agent.created_at.as_millis(),
            agent.updated_at.as_millis(),
        ),
    )?;
    Ok(())
}

/// Writes the fields of an agent that can change.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn update(tx: &mut Tx<'_>, agent: &Agent) -> Result<()> {
    tx.run(
        "UPDATE agents SET name = $1, description = $2, response_mode = $3, permission_mode = $4,
           model = $5, effort = $6, enclosed = $7, updated_at = $8, rev = rev + 1 WHERE id = $9",
        (
            &agent.name,
            &agent.description,
            enum_text(agent.response_mode, &ResponseMode::WORDS),
            &agent.permission_mode,
            &agent.model,
            &agent.effort,
            agent.enclosed,
            agent.updated_at.as_millis(),
            agent.id.as_bytes(),
        ),
    )?;
    Ok(())
}

/// Takes an agent off the registry.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn retire(tx: &mut Tx<'_>, id: AgentId, now: Timestamp) -> Result<()> {
    tx.run(
        "UPDATE agents SET retired_at = $1, updated_at = $1, rev = rev + 1
         WHERE id = $2 AND retired_at IS NULL",
        (now.as_millis(), id.as_bytes()),
    )?;
    Ok(())
}

/// The modes in which an agent may act unattended, and who said so.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn acknowledgements(db: &ReadTx<'_>, id: AgentId) -> Result<Vec<AutonomyConsent>> {
    db.all(
        "SELECT mode, stop, asks, reach, author_id, at FROM agent_acknowledgements
         WHERE agent_id = $1 ORDER BY mode",
        [id.as_bytes()],
        |row| {
            Ok(AutonomyConsent {
                mode: row.get(0)?,
                width: AutonomyLevel {
                    stop: enum_column(row, 1, &StopPoint::WORDS)?,
                    asks: enum_column(row, 2, &PromptPolicy::WORDS)?,
                    reach: enum_column(row, 3, &EffectReach::WORDS)?,
                },
                by: transactions::id(row, 4, AuthorId::from_bytes)?,
                at: moment(row, 5)?,
            })
        },
    )
}

/// Keeps a person's word that an agent may act unattended in a mode; it replaces an earlier one.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn acknowledge(tx: &mut Tx<'_>, id: AgentId, given: &AutonomyConsent) -> Result<()> {
    tx.run(
        "INSERT INTO agent_acknowledgements (agent_id, mode, stop, asks, reach, author_id, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (agent_id, mode) DO UPDATE SET stop = excluded.stop, asks = excluded.asks,
           reach = excluded.reach, author_id = excluded.author_id, at = excluded.at",
        (
            id.as_bytes(),
            &given.mode,
            enum_text(given.width.stop, &StopPoint::WORDS),
            enum_text(given.width.asks, &PromptPolicy::WORDS),
            enum_text(given.width.reach, &EffectReach::WORDS),
            given.by.as_bytes(),
            given.at.as_millis(),
        ),
    )?;
    Ok(())
}

/// Reads an agent; whether its runtime is there and a process of it runs, the store does not know.
fn read(row: &Row<'_>) -> rusqlite::Result<Agent> {
    let state = match maybe_moment(row, 13)? {
        Some(_) => AgentState::Retired,
        None => AgentState::Ready,
    };
    Ok(Agent {
        id: transactions::id(row, 0, AgentId::from_bytes)?,
        author_id: transactions::id(row, 1, AuthorId::from_bytes)?,
        handle: authors::maybe_handle(row, 2)?,
        name: row.get(3)?,
        description: row.get(4)?,
        runtime: row.get(5)?,
        cwd: row.get(6)?,
        response_mode: enum_column(row, 7, &ResponseMode::WORDS)?,
        permission_mode: row.get(8)?,
        model: row.get(9)?,
        effort: row.get(10)?,
        enclosed: row.get(14)?,
        state,
        live_process: false,
        created_at: moment(row, 11)?,
        updated_at: moment(row, 12)?,
    })
}
