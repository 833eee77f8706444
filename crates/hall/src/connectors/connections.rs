//! Connections: listing them, holding and giving up. Credentials are erased here before they are
//! given back over there. Source: contract 5.4.

use guildhall_domain::{
    Result, Timestamp,
    callers::{Gate, Owner, OwnerInteractive},
    connectors::{
        ConnectorRefusal,
        connections::{
            Connection, ConnectionAction, ConnectionLifecycle, ConnectionPatch, ExternalCleanup,
            Readiness,
        },
    },
    events::Event,
    ids::ConnectorConnectionId,
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx,
    connectors::{
        connections::{self as rows, ConnectionRow},
        grants, session_connections,
    },
};

use super::{
    auth_flows,
    flow_transitions::ActorAndTime,
    reviews,
    secrets::{AccountSecrets, Credentials},
    toolkit_targets,
};
use crate::{Hall, callers};

/// A connection, and what is found out about it when it is read.
#[derive(Clone, Debug)]
pub struct ConnectionView {
    /// The connection.
    pub connection: Connection,
    /// Whether it can be used.
    pub readiness: Readiness,
    /// How many grants rest on it.
    pub grant_count: u32,
}

impl Hall {
    /// All connections, the oldest first.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub async fn connections(&self, _by: &Owner) -> Result<ReadSnapshot<Vec<ConnectionView>>> {
        self.store()
            .read(|db| {
                let availability = toolkit_targets::availability(db)?;
                let counts = grants::counts(db)?;
                let all = rows::all(db)?.into_iter();
                let seen = all.map(|connection| {
                    let why = match availability.get(&connection.provider_id) {
                        Some(why) => why.as_deref(),
                        None => Some(toolkit_targets::GONE),
                    };
                    let readiness = Readiness::of(&connection, why);
                    ConnectionView {
                        grant_count: counts.get(&connection.id).copied().unwrap_or_default(),
                        connection,
                        readiness,
                    }
                });
                Ok(seen.collect())
            })
            .await
    }

    /// One connection.
    ///
    /// # Errors
    /// [`ConnectorRefusal::ConnectionNotFound`].
    pub async fn connection(
        &self,
        _by: &Owner,
        id: ConnectorConnectionId,
    ) -> Result<ReadSnapshot<ConnectionView>> {
        self.store()
            .read(move |db| view(db, existing(db, id)?))
            .await
    }

    /// Gives a connection another name, or switches it on or off.
    ///
    /// # Errors
    /// [`guildhall_domain::Refusal::Validation`], [`ConnectorRefusal::ConnectionNotFound`],
    /// [`ConnectorRefusal::Disconnected`].
    pub async fn change_connection(
        &self,
        by: &OwnerInteractive,
        id: ConnectorConnectionId,
        change: ConnectionPatch,
    ) -> Result<ConnectionView> {
        change.check()?;
        self.change_and_append(by, id, move |connection| {
            if connection.lifecycle == ConnectionLifecycle::Disconnected {
                return Err(ConnectorRefusal::Disconnected);
            }
            let ConnectionPatch { label, enabled } = change;
            connection.label = label.unwrap_or_else(|| connection.label.clone());
            connection.enabled = enabled.unwrap_or(connection.enabled);
            Ok(())
        })
        .await
    }

    /// Holds a connection, or goes on with it.
    ///
    /// # Errors
    /// [`ConnectorRefusal::ConnectionNotFound`], [`ConnectorRefusal::Disconnected`].
    pub async fn pause_connection(
        &self,
        by: &OwnerInteractive,
        id: ConnectorConnectionId,
        is_paused: bool,
    ) -> Result<ConnectionView> {
        let deed = if is_paused {
            ConnectionAction::Pause
        } else {
            ConnectionAction::Resume
        };
        self.change_and_append(by, id, move |connection| {
            connection.lifecycle = connection.lifecycle.on(deed)?;
            Ok(())
        })
        .await
    }

    async fn change_and_append(
        &self,
        by: &OwnerInteractive,
        id: ConnectorConnectionId,
        alter: impl FnOnce(&mut Connection) -> Result<(), ConnectorRefusal> + Send + 'static,
    ) -> Result<ConnectionView> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                let mut kept = existing(tx, id)?;
                let before = kept.connection.clone();
                alter(&mut kept.connection)?;
                if before != kept.connection {
                    kept.connection.updated_at = now;
                    write(tx, &kept, (Some(by.author), now))?;
                }
                view(tx, kept)
            })
            .await
    }

    /// Gives a connection up: its credentials are erased and its grants taken away here, then the
    /// credentials are given back over there.
    ///
    /// # Errors
    /// [`ConnectorRefusal::ConnectionNotFound`]. That the service did not take them back is no error.
    pub async fn disconnect(
        &self,
        by: &OwnerInteractive,
        id: ConnectorConnectionId,
    ) -> Result<ConnectionView> {
        let (by, now, seal) = (*by.caller(), self.now(), self.inner.seal.clone());
        let hall = self.clone();
        // Once they are erased here, they are given back also when nobody waits for the answer.
        let disconnecting = async move {
            let (gone, credentials) = hall
                .store()
                .write(move |tx| {
                    callers::require_live_credential(tx, &by, now)?;
                    let doing = (Some(by.author), now);
                    let mut kept = existing(tx, id)?;
                    if kept.connection.lifecycle == ConnectionLifecycle::Disconnected {
                        return Ok((view(tx, kept)?, None));
                    }
                    let account = AccountSecrets::unseal(&seal, id, kept.credentials.as_deref());
                    let credentials = account.map(|account| account.credentials);
                    let credentials = credentials.filter(Credentials::can_be_returned);
                    let connection = &mut kept.connection;
                    connection.lifecycle = connection.lifecycle.on(ConnectionAction::Disconnect)?;
                    connection.external_cleanup = match credentials {
                        Some(_) => ExternalCleanup::Pending,
                        None => ExternalCleanup::NotRequired,
                    };
                    connection.updated_at = now;
                    (kept.credentials, kept.credentials_end) = (None, None);
                    write(tx, &kept, doing)?;
                    reviews::revoke_grants(tx, id, doing)?;
                    auth_flows::end_flows_of(tx, id, doing)?;
                    Ok((view(tx, kept)?, credentials))
                })
                .await?;
            match credentials {
                Some(credentials) => hall.clean_up_at_service(id, credentials).await,
                None => Ok(gone),
            }
        };
        let gone = self.tasks().finish(disconnecting).await;
        let broken = || guildhall_domain::Fault::broken("disconnecting", "it ended badly");
        gone.unwrap_or_else(|| Err(broken().into()))
    }

    /// Gives the credentials of a disconnected connection back, and notes what came of it.
    async fn clean_up_at_service(
        &self,
        id: ConnectorConnectionId,
        credentials: Credentials,
    ) -> Result<ConnectionView> {
        let came = match self.revoke_credentials(credentials).await {
            true => ExternalCleanup::Complete,
            false => ExternalCleanup::Failed,
        };
        let now = self.now();
        self.store()
            .write(move |tx| {
                let mut kept = existing(tx, id)?;
                if kept.connection.external_cleanup == ExternalCleanup::Pending {
                    kept.connection.external_cleanup = came;
                    kept.connection.updated_at = now;
                    write(tx, &kept, (None, now))?;
                }
                view(tx, kept)
            })
            .await
    }

    /// Drops what is left of a connection that was given up.
    ///
    /// # Errors
    /// [`ConnectorRefusal::ConnectionNotFound`], [`ConnectorRefusal::NotDisconnected`].
    pub async fn remove_connection(
        &self,
        by: &OwnerInteractive,
        id: ConnectorConnectionId,
    ) -> Result<()> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                let kept = existing(tx, id)?;
                if kept.connection.lifecycle != ConnectionLifecycle::Disconnected {
                    return Err(ConnectorRefusal::NotDisconnected.into());
                }
                auth_flows::end_flows_of(tx, id, (Some(by.author), now))?;
                session_connections::drop_of(tx, id)?;
                rows::remove(tx, id)
            })
            .await
    }
}

pub(super) fn existing(db: &ReadTx<'_>, id: ConnectorConnectionId) -> Result<ConnectionRow> {
    Ok(rows::find(db, id)?.ok_or(ConnectorRefusal::ConnectionNotFound)?)
}

/// Adds a connection and tells of it.
pub(super) fn add(tx: &mut Tx<'_>, kept: &ConnectionRow, now: Timestamp) -> Result<()> {
    rows::insert(tx, kept)?;
    append_changed(tx, &kept.connection, (None, now))
}

/// Writes what a connection became and tells of it.
pub(super) fn write(tx: &mut Tx<'_>, kept: &ConnectionRow, doing: ActorAndTime) -> Result<()> {
    rows::update(tx, kept)?;
    append_changed(tx, &kept.connection, doing)
}

fn append_changed(
    tx: &mut Tx<'_>,
    connection: &Connection,
    (actor, now): ActorAndTime,
) -> Result<()> {
    let unavailable = toolkit_targets::why_unavailable(tx, connection.provider_id)?;
    let agents = grants::holders(tx, connection.id)?;
    let told = connection.changed_event(unavailable.as_deref(), agents);
    tx.append(now, actor, &Event::ConnectorConnectionChanged(told))?;
    Ok(())
}

fn view(db: &ReadTx<'_>, kept: ConnectionRow) -> Result<ConnectionView> {
    let connection = kept.connection;
    let unavailable = toolkit_targets::why_unavailable(db, connection.provider_id)?;
    let readiness = Readiness::of(&connection, unavailable.as_deref());
    Ok(ConnectionView {
        grant_count: grants::count_of(db, connection.id)?,
        connection,
        readiness,
    })
}
