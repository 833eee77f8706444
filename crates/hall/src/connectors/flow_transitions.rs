//! The moves of a flow: each is compared with what it follows, written with its event, and, when
//! an account was signed in, with its connection. Source: contract 5.4.

use guildhall_domain::{
    Result, Timestamp,
    connectors::{
        auth_flows::{ANOTHER_ACCOUNT, Flow, FlowContext, FlowEvent, FlowState},
        connections::{
            AccountStatus, Connection, ConnectionAction, ConnectionLifecycle, ExternalCleanup,
        },
    },
    events::Event,
    ids::{AuthorId, ConnectorConnectionId},
};
use guildhall_store::{
    Tx,
    connectors::{
        auth_flows::{self as rows, AuthFlowRow},
        connections::{self as connection_rows, ConnectionRow as KeptConnection},
    },
};
use guildhall_world::seal::Seal;

use super::{connections, secrets::AccountSecrets, toolkit_targets};
use crate::Hall;

/// Who did something, if somebody did, and when.
pub(super) type ActorAndTime = (Option<AuthorId>, Timestamp);

/// Writes what a flow becomes by what happened, and tells of it; `None` where nothing moved.
/// `dress` puts on what is secret of one that goes on.
pub(super) fn apply(
    tx: &mut Tx<'_>,
    before: &AuthFlowRow,
    happening: FlowEvent,
    (actor, now): ActorAndTime,
    dress: impl FnOnce(&mut AuthFlowRow),
) -> Result<Option<AuthFlowRow>> {
    let flow = &before.flow;
    let around = FlowContext {
        now,
        generation: toolkit_targets::generation(tx, flow.provider_id, &flow.toolkit)?,
    };
    let Some(flow) = flow.next(happening, around) else {
        return Ok(None);
    };
    let mut after = AuthFlowRow {
        flow,
        ..before.clone()
    };
    dress(&mut after);
    if !rows::transition(tx, &before.flow, &after)? {
        return Ok(None);
    }
    let event = Event::ConnectorFlowChanged(after.flow.changed_event());
    tx.append(now, actor, &event)?;
    Ok(Some(after))
}

/// The row of a flow, if it still stands as `flow` was read.
pub(super) fn current_row(tx: &Tx<'_>, flow: &Flow) -> Result<Option<AuthFlowRow>> {
    let kept = rows::find(tx, flow.id)?;
    Ok(kept.filter(|kept| (kept.flow.state, kept.flow.attempt) == (flow.state, flow.attempt)))
}

/// An account that a flow signed in.
pub(super) struct SignedInAccount {
    /// The account.
    pub(super) account: AccountSecrets,
    /// What people are shown of it.
    pub(super) label: Option<String>,
    /// The id of its connection, if it is a new one.
    pub(super) id: ConnectorConnectionId,
}

/// Ends a flow whose account was read, and writes its connection in the same transaction.
pub(super) fn sign_in(
    tx: &mut Tx<'_>,
    seal: &Seal,
    kept: &AuthFlowRow,
    signed_in: &SignedInAccount,
    now: Timestamp,
) -> Result<Option<AuthFlowRow>> {
    let mut standing = None;
    let happening = match kept.flow.reconnect_of {
        None => FlowEvent::SignedIn(signed_in.id),
        Some(id) => {
            standing = connection_rows::find(tx, id)?;
            let standing = standing.as_ref().map(|kept| &kept.connection);
            match standing.map(|connection| connection.lifecycle.on(ConnectionAction::SignedIn)) {
                None | Some(Err(_)) => FlowEvent::ConnectionGone,
                Some(Ok(_)) => FlowEvent::SignedIn(id),
            }
        }
    };
    let happening = match (&standing, happening) {
        (Some(before), FlowEvent::SignedIn(id)) => {
            let before = AccountSecrets::unseal(seal, id, before.credentials.as_deref());
            let names = before
                .and_then(|before| before.name)
                .zip(signed_in.account.name.clone());
            match names.is_some_and(|(before, now)| before != now) {
                true => FlowEvent::Refused(ANOTHER_ACCOUNT.to_owned()),
                false => FlowEvent::SignedIn(id),
            }
        }
        (_, happening) => happening,
    };
    let Some(moved) = apply(tx, kept, happening, (None, now), |_| ())? else {
        return Ok(None);
    };
    if let (FlowState::Connected, Some(id)) = (moved.flow.state, moved.flow.connection_id) {
        let before = standing.map(|kept| kept.connection);
        let is_new = before.is_none();
        let connection = connected(tx, &moved.flow, (before, id), signed_in, now)?;
        let account = &signed_in.account;
        let kept = KeptConnection {
            connection,
            credentials: Some(account.seal(seal, id)?),
            credentials_end: account.credentials.end(now),
        };
        match is_new {
            true => connections::add(tx, &kept, now)?,
            false => connections::write(tx, &kept, (None, now))?,
        }
    }
    Ok(Some(moved))
}

/// The connection of a flow that is at its good end.
fn connected(
    tx: &Tx<'_>,
    flow: &Flow,
    (before, id): (Option<Connection>, ConnectorConnectionId),
    signed_in: &SignedInAccount,
    now: Timestamp,
) -> Result<Connection> {
    if let Some(before) = before {
        return Ok(Connection {
            account_label: signed_in.label.clone().or(before.account_label),
            lifecycle: ConnectionLifecycle::Connected,
            account_status: AccountStatus::Active,
            updated_at: now,
            ..before
        });
    }
    let name = toolkit_targets::display_name(tx, flow.provider_id, &flow.toolkit)?;
    Ok(Connection {
        id,
        provider_id: flow.provider_id,
        toolkit: flow.toolkit.clone(),
        label: flow.label.clone().unwrap_or(name),
        account_label: signed_in.label.clone(),
        lifecycle: ConnectionLifecycle::Connected,
        account_status: AccountStatus::Active,
        enabled: true,
        external_cleanup: ExternalCleanup::NotRequired,
        created_at: now,
        updated_at: now,
    })
}

impl Hall {
    /// Lets something happen to a flow that still stands as it was read.
    pub(super) async fn apply_to_flow(
        &self,
        flow: &Flow,
        happening: FlowEvent,
        dress: impl FnOnce(&mut AuthFlowRow) + Send + 'static,
    ) -> Result<Option<AuthFlowRow>> {
        let (flow, now) = (flow.clone(), self.now());
        self.store()
            .write(move |tx| match current_row(tx, &flow)? {
                Some(kept) => apply(tx, &kept, happening, (None, now), dress),
                None => Ok(None),
            })
            .await
    }
}
