//! The mode of a session: under whose word it runs, and who changes it beside a person.

use std::time::Duration;

use guildhall_domain::{
    Result, Timestamp,
    callers::Caller,
    events::{ChangedBy, Event},
    ids::SessionId,
    limits,
    runtimes::{Capabilities, PermissionMode, may_use},
    sessions::{AutonomyConsent, Session, SessionOrigin},
};
use guildhall_store::{ReadTx, Tx, agents, sessions};

use super::{agent_processes::AgentProcess, driver::WriteResult, reload, write_session};
use crate::{Hall, interactions};

impl Hall {
    /// The agent says that it switched the mode of a session by itself: that stays only where a
    /// person's word allows it. Answers whether it may; else it is to be set back.
    pub(super) async fn agent_switched(
        &self,
        process: &AgentProcess,
        id: SessionId,
    ) -> WriteResult<bool> {
        // The one in force now: what was said may be older than what was set since.
        let Some(native) = process.mode(id) else {
            return Ok(true);
        };
        let (hall, now) = (self.clone(), self.now());
        self.write_until_accepted(move |tx| {
            let session = reload(tx, id)?;
            let capabilities = hall.capabilities_in(tx, &session.runtime)?;
            follow_mode(tx, session, &capabilities.mode_of_native(&native), now)
        })
        .await
    }

    /// Sets a session's mode back between turns; what fails is tried again before the next one.
    pub(super) async fn restore_mode(&self, process: &AgentProcess, id: SessionId) {
        let grace = Duration::from_secs(limits::CANCEL_GRACE_S);
        match tokio::time::timeout(grace, self.apply(process, id)).await {
            Ok(Ok(_)) => {}
            Ok(Err(why)) => tracing::warn!(session = %id, why, "a mode was not set back"),
            Err(_) => tracing::warn!(session = %id, "a mode was not set back in time"),
        }
    }
}

/// Lets a session run in `mode`: with a person's word now, or one given before to its agent or
/// to itself.
pub(super) fn allow_mode(
    tx: &mut Tx<'_>,
    by: &Caller,
    session: &Session,
    capabilities: &Capabilities,
    mode: &str,
    acknowledged: bool,
    now: Timestamp,
) -> Result<()> {
    let mode = capabilities.mode(mode)?;
    let standing = autonomy_consents(tx, session)?;
    if let Some(word) = crate::agents::new_autonomy_consent(by, mode, acknowledged, &standing, now)?
    {
        sessions::acknowledge(tx, session.id, &word)?;
    }
    Ok(())
}

/// Whether a person's word stands for `mode`.
pub(super) fn has_consent(
    capabilities: &Capabilities,
    mode: &str,
    standing: &[AutonomyConsent],
) -> bool {
    let mode = capabilities.mode(mode);
    mode.is_ok_and(|mode| mode.width.needs_consent() && may_use(mode, false, standing).is_ok())
}

/// The words that stand for a session's modes: its own and its agent's.
pub(super) fn autonomy_consents(
    db: &ReadTx<'_>,
    session: &Session,
) -> Result<Vec<AutonomyConsent>> {
    let own = sessions::acknowledgement(db, session.id)?;
    let of_agent = agents::acknowledgements(db, session.agent_id)?;
    Ok(own.into_iter().chain(of_agent).collect())
}

/// A room's session runs in the mode, and with model and effort, that its agent has now,
/// whatever it had before.
///
/// Source: contract 3.6.4.
pub(super) fn follow_agent(
    tx: &mut Tx<'_>,
    hall: &Hall,
    session: Session,
    now: Timestamp,
) -> Result<Session> {
    let agent = match session.origin {
        SessionOrigin::Room => agents::by_id(tx, session.agent_id)?,
        SessionOrigin::Person | SessionOrigin::Terminal => None,
    };
    let Some(agent) = agent else {
        return Ok(session);
    };
    if agent.permission_mode != session.permission_mode {
        let capabilities = hall.capabilities_in(tx, &session.runtime)?;
        let standing = autonomy_consents(tx, &session)?;
        let acknowledged = has_consent(&capabilities, &agent.permission_mode, &standing);
        let to = &agent.permission_mode;
        append_mode_changed(tx, &session, to, ChangedBy::Server, acknowledged, now)?;
    }
    Ok(Session {
        permission_mode: agent.permission_mode,
        model: agent.model,
        effort: agent.effort,
        ..session
    })
}

/// Takes over the mode an agent took by itself; answers false when no person's word allows it,
/// and it has to be set back.
fn follow_mode(
    tx: &mut Tx<'_>,
    session: Session,
    to: &PermissionMode,
    now: Timestamp,
) -> Result<bool> {
    if session.permission_mode == to.id {
        return Ok(true);
    }
    let standing = autonomy_consents(tx, &session)?;
    if may_use(to, false, &standing).is_err() {
        let event = Event::SessionModeRefused {
            session_id: session.id,
            attempted: to.id.clone(),
            kept: session.permission_mode,
        };
        tx.append(now, None, &event)?;
        return Ok(false);
    }
    let acknowledged = to.width.needs_consent();
    append_mode_changed(tx, &session, &to.id, ChangedBy::Agent, acknowledged, now)?;
    let session = Session {
        permission_mode: to.id.clone(),
        ..session
    };
    write_session(tx, session, None, now).map(|_| true)
}

/// Tells that a session's mode changes without a person; what was granted under the one before
/// counts no longer.
///
/// Source: contract 3.6.3, 3.8.3.
fn append_mode_changed(
    tx: &mut Tx<'_>,
    session: &Session,
    to: &str,
    by: ChangedBy,
    acknowledged: bool,
    now: Timestamp,
) -> Result<()> {
    let event = Event::SessionModeChanged {
        session_id: session.id,
        from: session.permission_mode.clone(),
        to: to.to_owned(),
        by,
        acknowledged,
    };
    tx.append(now, None, &event)?;
    interactions::withdraw_grants(tx, session.id, None, now)
}
