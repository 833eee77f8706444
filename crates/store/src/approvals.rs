//! Approvals: what a person must decide, and what became of it; one table for all kinds.
//! Here are the listing of all kinds and the rows of deeds; those of sessions' asks are written
//! by `interactions`. What may follow on what is `domain::approvals`; who may decide is
//! `hall::approvals`.

use guildhall_domain::{
    Fault, Result, Timestamp,
    approvals::{
        Approval, ApprovalDisplay, ApprovalKind, ApprovalState, ApprovalVisibility, ApprovalsQuery,
        Capability, Requester,
    },
    ids::{AgentId, ApprovalId, AuthorId, RoomId, SessionId},
};
use rusqlite::{Row, ToSql, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ReadTx, Tx, authors,
    interactions::ASKED,
    transactions::{self, enum_column, enum_text, maybe_id, maybe_moment, moment},
};

/// Until when a row counts: a deadline of its own once it is granted.
const DEADLINE: &str = "COALESCE(p.grant_expires_at, p.expires_at)";

fn select(condition: &str) -> String {
    format!(
        "SELECT p.id, p.kind, p.state, p.capability, p.agent_id, p.session_id, p.room_id, p.digest,
           p.opened_at, {DEADLINE}, p.parked_at, p.decided_at, p.consumed_at, p.deny_reason,
           p.requester, COALESCE(p.requested_by, g.author_id), p.decided_by, p.tool_call_id,
           p.options, p.body
         FROM approvals p LEFT JOIN agents g ON g.id = p.agent_id WHERE {condition}"
    )
}

/// A row with whose request it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRow {
    /// As it is stored: its state may be over already.
    pub approval: Approval,
    /// Whose request it is; `None` where a session or the server asks.
    pub requester: Option<Requester>,
}

/// A new row of a deed.
#[derive(Clone, Debug)]
pub struct NewApproval {
    /// The row.
    pub id: ApprovalId,
    /// What it is about.
    pub kind: ApprovalKind,
    /// The deed.
    pub capability: Capability,
    /// Who asks.
    pub requested_by: AuthorId,
    /// Whose request it is, and the digest of its token; `None` where the server asks.
    pub requester: Option<(Requester, [u8; 32])>,
    /// The agent it is about.
    pub agent_id: Option<AgentId>,
    /// The session that asks.
    pub session_id: Option<SessionId>,
    /// 64 hex digits over what is asked.
    pub digest: String,
    /// One line.
    pub summary: String,
    /// What is to be shown.
    pub card: Value,
    /// The rules that led to the question.
    pub why: Vec<String>,
    /// When it is asked.
    pub requested_at: Timestamp,
    /// Until when it may be decided.
    pub expires_at: Timestamp,
}

/// What a row of a deed shows, as it is stored.
#[derive(Serialize, Deserialize)]
struct DisplayColumns {
    summary: String,
    card: Value,
    why: Vec<String>,
}

/// How a row moves on.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalTransition<'a> {
    /// The state it is known in.
    pub from: ApprovalState,
    /// The state that follows.
    pub to: ApprovalState,
    /// When.
    pub at: Timestamp,
    /// Who moves it; `None` for the clock and the server.
    pub by: Option<AuthorId>,
    /// Until when a yes may be used.
    pub expires_at: Option<Timestamp>,
    /// Why a person said no.
    pub deny_reason: &'a str,
}

/// One row of any kind.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, id: ApprovalId) -> Result<Option<ApprovalRow>> {
    one(db, "p.id = $1", &[id.as_bytes()])
}

/// The requester's row with this digest of its token.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_token(
    db: &ReadTx<'_>,
    requester: Requester,
    token: &[u8; 32],
) -> Result<Option<Approval>> {
    let condition = "p.token_digest = $1 AND p.requester = $2";
    let found = one(db, condition, &[token, requester.as_bytes()])?;
    Ok(found.map(|stored| stored.approval))
}

/// The requester's newest row for exactly this that is pending or granted, expired or not.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn open_for(db: &ReadTx<'_>, requester: Requester, digest: &str) -> Result<Option<Approval>> {
    newest_for(db, requester, digest, "'pending', 'granted'")
}

/// The requester's newest row for exactly this that was denied.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn denied_for(db: &ReadTx<'_>, requester: Requester, digest: &str) -> Result<Option<Approval>> {
    newest_for(db, requester, digest, "'denied'")
}

fn newest_for(
    db: &ReadTx<'_>,
    requester: Requester,
    digest: &str,
    states: &str,
) -> Result<Option<Approval>> {
    let condition = format!(
        "p.requester = $1 AND p.digest = $2 AND p.state IN ({states}) ORDER BY p.id DESC LIMIT 1"
    );
    let found = one(db, &condition, &[requester.as_bytes(), &digest])?;
    Ok(found.map(|stored| stored.approval))
}

/// How many rows of a requester a person has yet to decide at `now`, and when the first of them
/// expires.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn pending_of(
    db: &ReadTx<'_>,
    requester: Requester,
    now: Timestamp,
) -> Result<(u32, Option<Timestamp>)> {
    db.one(
        "SELECT COUNT(*), MIN(expires_at) FROM approvals
         WHERE requester = $1 AND state = 'pending' AND expires_at > $2",
        (requester.as_bytes(), now.as_millis()),
        |row| Ok((row.get(0)?, maybe_moment(row, 1)?)),
    )
}

/// A page of what is in sight, oldest first by id, one more than `limit` when there are more.
/// The state asked for is the one that counts at `now`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn list(
    db: &ReadTx<'_>,
    sight: ApprovalVisibility,
    ask: &ApprovalsQuery,
    now: Timestamp,
) -> Result<Vec<Approval>> {
    let mut found = Vec::new();
    // Each of these is one run along one index, so that a page costs what it holds.
    for (state, overdue) in stored_as(ask.state) {
        for (condition, param) in in_sight(&sight) {
            found.extend(run(db, ask, now, (*state, *overdue), (condition, param))?);
        }
    }
    found.sort_unstable_by_key(|raw| raw.id);
    found.truncate(ask.limit as usize + 1);
    let found = whole(db, found)?;
    Ok(found.into_iter().map(|stored| stored.approval).collect())
}

/// The stored states in which rows stand that count as `state`, and whether their deadline has
/// passed; `None` where it says nothing.
fn stored_as(state: ApprovalState) -> &'static [(ApprovalState, Option<bool>)] {
    match state {
        ApprovalState::Pending => &[(ApprovalState::Pending, Some(false))],
        ApprovalState::Granted => &[(ApprovalState::Granted, Some(false))],
        ApprovalState::Denied => &[(ApprovalState::Denied, None)],
        ApprovalState::Expired => &[
            (ApprovalState::Expired, None),
            (ApprovalState::Pending, Some(true)),
            (ApprovalState::Granted, Some(true)),
        ],
        ApprovalState::Withdrawn => &[(ApprovalState::Withdrawn, None)],
        ApprovalState::Consumed => &[(ApprovalState::Consumed, None)],
    }
}

/// Conditions that no row meets twice, each with its parameter.
fn in_sight(sight: &ApprovalVisibility) -> Vec<(&'static str, Option<&[u8; 16]>)> {
    match sight {
        ApprovalVisibility::All => vec![("1", None)],
        ApprovalVisibility::Own(requester, agent) => {
            let mut own = vec![("p.requester = ", Some(requester.as_bytes()))];
            if let Some(agent) = agent {
                own.push((
                    "p.requester IS NULL AND p.agent_id = ",
                    Some(agent.as_bytes()),
                ));
            }
            own
        }
    }
}

fn run(
    db: &ReadTx<'_>,
    ask: &ApprovalsQuery,
    now: Timestamp,
    (state, overdue): (ApprovalState, Option<bool>),
    (in_sight, whose): (&str, Option<&[u8; 16]>),
) -> Result<Vec<ApprovalColumns>> {
    let mut conditions = String::new();
    let mut params: Vec<Box<dyn ToSql>> = Vec::new();
    let mut add = |condition: &str, param: Box<dyn ToSql>| {
        params.push(param);
        conditions.push_str(&format!(" AND {condition}${}", params.len()));
    };
    add(
        "p.state = ",
        Box::new(enum_text(state, &ApprovalState::WORDS)),
    );
    match overdue {
        Some(true) => add(&format!("{DEADLINE} <= "), Box::new(now.as_millis())),
        Some(false) => add(&format!("{DEADLINE} > "), Box::new(now.as_millis())),
        None => {}
    }
    if let Some(whose) = whose {
        add(in_sight, Box::new(*whose));
    }
    if let Some(kind) = ask.kind {
        add("p.kind = ", Box::new(enum_text(kind, &ApprovalKind::WORDS)));
    }
    if let Some(agent) = ask.agent {
        add("p.agent_id = ", Box::new(*agent.as_bytes()));
    }
    if let Some(session) = ask.session {
        add("p.session_id = ", Box::new(*session.as_bytes()));
    }
    if let Some(after) = ask.after {
        add("p.id > ", Box::new(*after.as_bytes()));
    }
    let limit = i64::from(ask.limit) + 1;
    let condition = format!("1{conditions} ORDER BY p.id LIMIT {limit}");
    db.all(&select(&condition), params_from_iter(params), raw)
}

/// The pending rows about an agent, or asked for by its author, that no session asks.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn pending_about(db: &ReadTx<'_>, agent: AgentId, author: AuthorId) -> Result<Vec<Approval>> {
    let about = format!("p.state = 'pending' AND p.agent_id = $1 AND NOT p.{ASKED}");
    let mut found = db.all(&select(&about), [agent.as_bytes()], raw)?;
    let by = "p.state = 'pending' AND p.requester = $1 AND p.agent_id IS NOT $2";
    let params = [author.as_bytes(), agent.as_bytes()];
    found.extend(db.all(&select(by), params, raw)?);
    let found = whole(db, found)?;
    Ok(found.into_iter().map(|stored| stored.approval).collect())
}

/// The rows of a kind that a person has yet to decide, expired or not.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn pending_of_kind(db: &ReadTx<'_>, kind: ApprovalKind) -> Result<Vec<Approval>> {
    let condition = "p.kind = $1 AND p.state = 'pending' ORDER BY p.id";
    let params = [enum_text(kind, &ApprovalKind::WORDS)];
    let found = whole(db, db.all(&select(condition), params, raw)?)?;
    Ok(found.into_iter().map(|stored| stored.approval).collect())
}

/// Rows of deeds whose time is over at `now` and not yet written so, at most `limit` of those
/// that were pending and of those that were granted.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn expired(db: &ReadTx<'_>, now: Timestamp, limit: u32) -> Result<Vec<Approval>> {
    let mut found = Vec::new();
    for (state, deadline) in [("pending", "expires_at"), ("granted", "grant_expires_at")] {
        let condition = format!(
            "p.state = '{state}' AND p.{deadline} <= $1 AND NOT p.{ASKED}
             ORDER BY p.{deadline} LIMIT $2"
        );
        let params = (now.as_millis(), i64::from(limit));
        found.extend(db.all(&select(&condition), params, raw)?);
    }
    let found = whole(db, found)?;
    Ok(found.into_iter().map(|stored| stored.approval).collect())
}

/// Adds a pending row.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, new: &NewApproval) -> Result<()> {
    let body = DisplayColumns {
        summary: new.summary.clone(),
        card: new.card.clone(),
        why: new.why.clone(),
    };
    let body = serde_json::to_string(&body)
        .map_err(|error| transactions::broken("writing an approval", error))?;
    tx.run(
        "INSERT INTO approvals (id, kind, state, capability, requested_by, agent_id, session_id,
           room_id, tool_call_id, digest, opened_at, expires_at, deny_reason, requester,
           token_digest, options, body)
         VALUES ($1, $2, 'pending', $3, $4, $5, $6, (SELECT room_id FROM sessions WHERE id = $6),
           '', $7, $8, $9, '', $10, $11, '[]', $12)",
        (
            new.id.as_bytes(),
            enum_text(new.kind, &ApprovalKind::WORDS),
            new.capability.as_str(),
            new.requested_by.as_bytes(),
            new.agent_id.as_ref().map(AgentId::as_bytes),
            new.session_id.as_ref().map(SessionId::as_bytes),
            &new.digest,
            new.requested_at.as_millis(),
            new.expires_at.as_millis(),
            new.requester
                .as_ref()
                .map(|(requester, _)| requester.as_bytes()),
            new.requester.as_ref().map(|(_, token)| token),
            body,
        ),
    )?;
    Ok(())
}

/// Moves a row on from the state it is known in; answers whether it was still in it.
///
/// # Errors
/// A fault when the engine refuses.
pub fn advance(tx: &mut Tx<'_>, id: ApprovalId, step: &ApprovalTransition<'_>) -> Result<bool> {
    let at = step.at.as_millis();
    let by = step.by.as_ref().map(AuthorId::as_bytes);
    let is_decided = step.from == ApprovalState::Pending
        && !matches!(step.to, ApprovalState::Withdrawn | ApprovalState::Expired);
    let (decided_at, decided_by) = if is_decided {
        (Some(at), by)
    } else {
        (None, None)
    };
    let is_withdrawn = step.to == ApprovalState::Withdrawn;
    let (withdrawn_at, withdrawn_by) = if is_withdrawn {
        (Some(at), by)
    } else {
        (None, None)
    };
    let consumed_at = (step.to == ApprovalState::Consumed).then_some(at);
    let moved = tx.run(
        "UPDATE approvals SET state = $1, decided_at = COALESCE($2, decided_at),
           decided_by = COALESCE($3, decided_by), withdrawn_at = COALESCE($4, withdrawn_at),
           withdrawn_by = COALESCE($5, withdrawn_by), consumed_at = COALESCE($6, consumed_at),
           grant_expires_at = COALESCE($7, grant_expires_at), deny_reason = $8
         WHERE id = $9 AND state = $10",
        (
            enum_text(step.to, &ApprovalState::WORDS),
            decided_at,
            decided_by,
            withdrawn_at,
            withdrawn_by,
            consumed_at,
            step.expires_at.map(Timestamp::as_millis),
            step.deny_reason,
            id.as_bytes(),
            enum_text(step.from, &ApprovalState::WORDS),
        ),
    )?;
    Ok(moved == 1)
}

/// Drops rows of all kinds whose time was over before `before`, and which ended by then; answers
/// how many, at most `limit`.
///
/// # Errors
/// A fault when the engine refuses.
pub fn drop_over(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<usize> {
    tx.run(
        "DELETE FROM approvals WHERE id IN (
           SELECT id FROM approvals WHERE state IN ('denied', 'expired', 'withdrawn', 'consumed')
             AND COALESCE(grant_expires_at, expires_at) < $1 LIMIT $2)",
        (before.as_millis(), i64::from(limit)),
    )
}

/// A row whose authors are still missing.
struct ApprovalColumns {
    id: ApprovalId,
    kind: ApprovalKind,
    state: ApprovalState,
    /// The deed; `None` where the kind is all there is.
    capability: Option<Capability>,
    agent_id: Option<AgentId>,
    session_id: Option<SessionId>,
    room_id: Option<RoomId>,
    digest: String,
    requested_at: Timestamp,
    expires_at: Timestamp,
    parked_at: Option<Timestamp>,
    decided_at: Option<Timestamp>,
    consumed_at: Option<Timestamp>,
    deny_reason: String,
    requester: Option<Requester>,
    requested_by: AuthorId,
    decided_by: Option<AuthorId>,
    shown: ApprovalDisplay,
}

fn one(db: &ReadTx<'_>, condition: &str, params: &[&dyn ToSql]) -> Result<Option<ApprovalRow>> {
    let found = db.first(&select(condition), params, raw)?;
    Ok(whole(db, found.into_iter().collect())?.pop())
}

/// Joins rows with their authors, which are looked up at once.
fn whole(db: &ReadTx<'_>, found: Vec<ApprovalColumns>) -> Result<Vec<ApprovalRow>> {
    let named = found
        .iter()
        .flat_map(|raw| std::iter::once(raw.requested_by).chain(raw.decided_by));
    let authors = authors::summaries(db, named)?;
    let author = |id: AuthorId| {
        let missing = || Fault::broken("reading an approval", "an author is missing");
        authors.get(&id).cloned().ok_or_else(missing)
    };
    let whole = |raw: ApprovalColumns| {
        let approval = Approval {
            id: raw.id,
            kind: raw.kind,
            state: raw.state,
            capability: raw
                .capability
                .map_or_else(
                    || enum_text(raw.kind, &ApprovalKind::WORDS),
                    Capability::as_str,
                )
                .to_owned(),
            title: raw.shown.title,
            tier: raw
                .capability
                .map_or_else(|| raw.kind.tier(), Capability::tier),
            summary: raw.shown.summary,
            card: raw.shown.card,
            why: raw.shown.why,
            digest: raw.digest,
            requested_by: author(raw.requested_by)?,
            agent_id: raw.agent_id,
            session_id: raw.session_id,
            room_id: raw.room_id,
            requested_at: raw.requested_at,
            expires_at: raw.expires_at,
            parked_at: raw.parked_at,
            decided_at: raw.decided_at,
            consumed_at: raw.consumed_at,
            decided_by: raw.decided_by.map(author).transpose()?,
            deny_reason: Some(raw.deny_reason).filter(|reason| !reason.is_empty()),
        };
        Ok(ApprovalRow {
            approval,
            requester: raw.requester,
        })
    };
    found.into_iter().map(whole).collect()
}

fn raw(row: &Row<'_>) -> rusqlite::Result<ApprovalColumns> {
    let kind = enum_column(row, 1, &ApprovalKind::WORDS)?;
    let state = enum_column(row, 2, &ApprovalState::WORDS)?;
    let capability = if kind.is_of_session() {
        None
    } else {
        Some(enum_column(row, 3, &Capability::WORDS)?)
    };
    Ok(ApprovalColumns {
        id: transactions::id(row, 0, ApprovalId::from_bytes)?,
        kind,
        state,
        capability,
        agent_id: maybe_id(row, 4, AgentId::from_bytes)?,
        session_id: maybe_id(row, 5, SessionId::from_bytes)?,
        room_id: maybe_id(row, 6, RoomId::from_bytes)?,
        digest: row.get(7)?,
        requested_at: moment(row, 8)?,
        expires_at: moment(row, 9)?,
        parked_at: maybe_moment(row, 10)?,
        decided_at: maybe_moment(row, 11)?,
        // Of a denied ask the column says when its agent heard of it.
        consumed_at: maybe_moment(row, 12)?.filter(|_| state == ApprovalState::Consumed),
        deny_reason: row.get(13)?,
        requester: maybe_id(row, 14, Requester::from_bytes)?,
        requested_by: transactions::id(row, 15, AuthorId::from_bytes)?,
        decided_by: maybe_id(row, 16, AuthorId::from_bytes)?,
        shown: shown(row, capability)?,
    })
}

fn shown(row: &Row<'_>, capability: Option<Capability>) -> rusqlite::Result<ApprovalDisplay> {
    let text = row.get_ref(19)?.as_str()?;
    let Some(capability) = capability else {
        let card =
            serde_json::from_str(text).map_err(|error| transactions::unreadable(19, error))?;
        let options = serde_json::from_str(row.get_ref(18)?.as_str()?)
            .map_err(|error| transactions::unreadable(18, error))?;
        return Ok(ApprovalDisplay::of_session(card, row.get(17)?, options));
    };
    let body: DisplayColumns =
        serde_json::from_str(text).map_err(|error| transactions::unreadable(19, error))?;
    Ok(ApprovalDisplay {
        title: capability.title().to_owned(),
        summary: body.summary,
        card: body.card,
        why: body.why,
    })
}
