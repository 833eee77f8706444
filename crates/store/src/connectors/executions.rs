//! Executions and their attempts. What follows an attempt is `domain::connectors::retries`.

use guildhall_domain::{
    Result, Timestamp,
    approvals::Requester,
    connectors::{
        classification::Classification,
        event_payloads::{ExecutionStatus, ExecutionSurface},
        results::{ExecutionOutcome, ExecutionResult},
        usage::{ConnectorUsageQuery, ExecutionAttempt},
    },
    idempotency::IdempotencyClaim,
    ids::{AgentId, AuthorId, ConnectorConnectionId, LogicalOperationId, OperationRevisionId},
};
use rusqlite::{Row, ToSql, params_from_iter, types::ValueRef};

use crate::{
    ReadTx, Tx,
    transactions::{count, enum_column, enum_text, id, maybe_moment, moment, stored},
};

/// An execution as it begins.
#[derive(Clone, Debug)]
pub struct NewExecution {
    /// Its id.
    pub id: LogicalOperationId,
    /// For which agent.
    pub agent_id: AgentId,
    /// With which account.
    pub connection_id: ConnectorConnectionId,
    /// Which operation.
    pub revision_id: OperationRevisionId,
    /// Where it was asked for.
    pub surface: ExecutionSurface,
    /// What the operation does.
    pub classification: Classification,
    /// Who asked for it.
    pub author_id: AuthorId,
    /// Whose request it is.
    pub requester: Requester,
    /// Under which key.
    pub claim: Option<IdempotencyClaim>,
}

/// An execution whose end is not known.
#[derive(Clone, Debug)]
pub struct UnfinishedExecution {
    /// What it began as.
    pub new: NewExecution,
    /// How many attempts were noted.
    pub attempt_count: u8,
    /// What the last of them came to, where that is known: its status and code.
    pub last: Option<(ExecutionStatus, Option<String>)>,
}

/// Adds an execution without an attempt.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, new: &NewExecution, now: Timestamp) -> Result<()> {
    tx.run(
        "INSERT INTO connector_executions (id, agent_id, connection_id, revision_id, surface,
           classification, author_id, requester, claim, fingerprint, attempt_count, started_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $11)",
        (
            new.id.as_bytes(),
            new.agent_id.as_bytes(),
            new.connection_id.as_bytes(),
            new.revision_id.as_bytes(),
            enum_text(new.surface, &ExecutionSurface::WORDS),
            enum_text(new.classification, &Classification::WORDS),
            new.author_id.as_bytes(),
            new.requester.as_bytes(),
            new.claim.map(|claim| claim.id),
            new.claim.map(|claim| claim.fingerprint),
            now.as_millis(),
        ),
    )?;
    Ok(())
}

/// Notes that an attempt of an execution is about to be sent.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn begin(tx: &mut Tx<'_>, new: &NewExecution, attempt: u8, now: Timestamp) -> Result<()> {
    tx.run(
        "INSERT INTO connector_attempts (execution, attempt, agent_id, connection_id, requester,
           started_at)
         SELECT number, $1, agent_id, connection_id, requester, $2
         FROM connector_executions WHERE id = $3",
        (attempt, now.as_millis(), new.id.as_bytes()),
    )?;
    tx.run(
        "UPDATE connector_executions SET attempt_count = $1 WHERE id = $2",
        (attempt, new.id.as_bytes()),
    )?;
    Ok(())
}

/// Notes how an attempt ended.
///
/// # Errors
/// A fault when the engine refuses.
pub fn end_attempt(
    tx: &mut Tx<'_>,
    execution: LogicalOperationId,
    attempt: u8,
    outcome: &ExecutionOutcome,
    now: Timestamp,
) -> Result<()> {
    tx.run(
        "UPDATE connector_attempts SET status = $1, code = $2, ended_at = $3
         WHERE execution = (SELECT number FROM connector_executions WHERE id = $4)
           AND attempt = $5 AND ended_at IS NULL",
        (
            enum_text(outcome.status(), &ExecutionStatus::WORDS),
            outcome.code(),
            now.as_millis(),
            execution.as_bytes(),
            attempt,
        ),
    )?;
    Ok(())
}

/// Notes what an execution came to. The key of one that was never sent is free again.
///
/// # Errors
/// A fault when the engine refuses.
pub fn end(
    tx: &mut Tx<'_>,
    execution: LogicalOperationId,
    outcome: &ExecutionOutcome,
    now: Timestamp,
) -> Result<()> {
    let keeps_claim = outcome.status() != ExecutionStatus::Cancelled;
    tx.run(
        "UPDATE connector_executions SET status = $1, code = $2, message = $3, ended_at = $4,
           claim = CASE WHEN $5 THEN claim END
         WHERE id = $6 AND ended_at IS NULL",
        (
            enum_text(outcome.status(), &ExecutionStatus::WORDS),
            outcome.code(),
            outcome.message(),
            now.as_millis(),
            keeps_claim,
            execution.as_bytes(),
        ),
    )?;
    Ok(())
}

/// Drops at most `max` executions that ended before `before`, with their attempts; answers how
/// many.
///
/// # Errors
/// A fault when the engine refuses.
pub fn drop_ended(tx: &mut Tx<'_>, before: Timestamp, max: u32) -> Result<usize> {
    const ENDED: &str = "SELECT number FROM connector_executions WHERE ended_at < $1
        ORDER BY ended_at, number LIMIT $2";
    let which = (before.as_millis(), max);
    tx.run(
        &format!("DELETE FROM connector_attempts WHERE execution IN ({ENDED})"),
        which,
    )?;
    tx.run(
        &format!("DELETE FROM connector_executions WHERE number IN ({ENDED})"),
        which,
    )
}

const NEW: &str = "e.id, e.agent_id, e.connection_id, e.revision_id, e.surface, e.classification,
    e.author_id, e.requester, e.claim, e.fingerprint, e.attempt_count";

/// The executions whose end is not known, oldest first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn open(db: &ReadTx<'_>) -> Result<Vec<UnfinishedExecution>> {
    db.all(
        &format!(
            "SELECT {NEW}, t.status, t.code
             FROM connector_executions e LEFT JOIN connector_attempts t
               ON t.execution = e.number AND t.attempt = e.attempt_count
             WHERE e.ended_at IS NULL ORDER BY e.number"
        ),
        [],
        |row| {
            let claim: Option<[u8; 32]> = row.get(8)?;
            let fingerprint: Option<[u8; 32]> = row.get(9)?;
            Ok(UnfinishedExecution {
                new: NewExecution {
                    id: id(row, 0, LogicalOperationId::from_bytes)?,
                    agent_id: id(row, 1, AgentId::from_bytes)?,
                    connection_id: id(row, 2, ConnectorConnectionId::from_bytes)?,
                    revision_id: id(row, 3, OperationRevisionId::from_bytes)?,
                    surface: enum_column(row, 4, &ExecutionSurface::WORDS)?,
                    classification: enum_column(row, 5, &Classification::WORDS)?,
                    author_id: id(row, 6, AuthorId::from_bytes)?,
                    requester: id(row, 7, Requester::from_bytes)?,
                    claim: claim
                        .zip(fingerprint)
                        .map(|(id, fingerprint)| IdempotencyClaim { id, fingerprint }),
                },
                attempt_count: row.get(10)?,
                last: match maybe_status(row, 11)? {
                    None => None,
                    Some(status) => Some((status, row.get(12)?)),
                },
            })
        },
    )
}

/// An execution that was asked for under a key.
#[derive(Clone, Debug)]
pub struct ClaimedExecution {
    /// SHA-256 of the request's body.
    pub fingerprint: [u8; 32],
    /// What it came to, without its data; `None` while it is under way.
    pub executed: Option<ExecutionResult>,
}

/// The execution that was asked for under this key since `not_before`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_claim(
    db: &ReadTx<'_>,
    claim: &[u8; 32],
    not_before: Timestamp,
) -> Result<Option<ClaimedExecution>> {
    db.first(
        "SELECT fingerprint, id, attempt_count, status, code, message
         FROM connector_executions WHERE claim = $1 AND started_at >= $2",
        (claim, not_before.as_millis()),
        |row| {
            let executed = match maybe_status(row, 3)? {
                None => None,
                Some(status) => Some(ExecutionResult {
                    id: id(row, 1, LogicalOperationId::from_bytes)?,
                    attempt_count: row.get(2)?,
                    outcome: ExecutionOutcome::from_stored(status, row.get(4)?, row.get(5)?),
                }),
            };
            Ok(ClaimedExecution {
                fingerprint: row.get(0)?,
                executed,
            })
        },
    )
}

/// Frees a key that was used before `moment`.
///
/// # Errors
/// A fault when the engine refuses.
pub fn free_claim(tx: &mut Tx<'_>, claim: &[u8; 32], moment: Timestamp) -> Result<()> {
    tx.run(
        "UPDATE connector_executions SET claim = NULL WHERE claim = $1 AND started_at < $2",
        (claim, moment.as_millis()),
    )?;
    Ok(())
}

/// Attempts, newest first; one more than asked for says that there are more.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn usage(db: &ReadTx<'_>, ask: &ConnectorUsageQuery) -> Result<Vec<ExecutionAttempt>> {
    let agent = ask.agent.as_ref().map(AgentId::as_bytes);
    let connection = ask.connection.as_ref().map(ConnectorConnectionId::as_bytes);
    let requester = ask.requester.as_ref().map(Requester::as_bytes);
    let before = ask.before.map(stored);
    let mut narrowed: Vec<(&str, &dyn ToSql)> = Vec::new();
    if let Some(agent) = &agent {
        narrowed.push(("t.agent_id =", agent));
    }
    if let Some(connection) = &connection {
        narrowed.push(("t.connection_id =", connection));
    }
    if let Some(requester) = &requester {
        narrowed.push(("t.requester =", requester));
    }
    if let Some(before) = &before {
        narrowed.push(("t.number <", before));
    }
    let conditions: Vec<String> = (1..)
        .zip(&narrowed)
        .map(|(place, (condition, _))| format!("{condition} ${place}"))
        .collect();
    let condition = match conditions.is_empty() {
        true => String::new(),
        false => format!("WHERE {}", conditions.join(" AND ")),
    };
    let more = ask.limit.saturating_add(1);
    let last = narrowed.len() + 1;
    let sql = format!(
        "SELECT t.number, e.id, t.attempt, t.agent_id, t.connection_id, e.revision_id, e.surface,
           e.classification, t.status, t.code, t.started_at, t.ended_at, v.operation_slug, v.title
         FROM connector_attempts t JOIN connector_executions e ON e.number = t.execution
           JOIN connector_revisions v ON v.id = e.revision_id
         {condition} ORDER BY t.number DESC LIMIT ${last}"
    );
    let parameters = narrowed.iter().map(|(_, value)| *value);
    let parameters = parameters.chain([&more as &dyn ToSql]);
    db.all(&sql, params_from_iter(parameters), |row| {
        Ok(ExecutionAttempt {
            number: count(row, 0)?,
            logical_operation_id: id(row, 1, LogicalOperationId::from_bytes)?,
            attempt: row.get(2)?,
            agent_id: id(row, 3, AgentId::from_bytes)?,
            connection_id: id(row, 4, ConnectorConnectionId::from_bytes)?,
            revision_id: id(row, 5, OperationRevisionId::from_bytes)?,
            operation_slug: row.get(12)?,
            title: row.get(13)?,
            surface: enum_column(row, 6, &ExecutionSurface::WORDS)?,
            classification: enum_column(row, 7, &Classification::WORDS)?,
            status: maybe_status(row, 8)?,
            code: row.get(9)?,
            started_at: moment(row, 10)?,
            ended_at: maybe_moment(row, 11)?,
        })
    })
}

fn maybe_status(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<ExecutionStatus>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => enum_column(row, column, &ExecutionStatus::WORDS).map(Some),
    }
}
