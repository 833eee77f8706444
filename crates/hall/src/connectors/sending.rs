//! Sending: the way of one attempt to its service, with the account's credentials.
//! Source: contract 5.6.

use std::time::Duration;

use guildhall_domain::{
    Result,
    connectors::{
        ConnectorRefusal,
        connections::{Readiness, ReadinessState},
        executions::OperationCall,
        operations::Operation,
        send_result::SendResult,
        toolkits::Toolkit,
    },
    ids::{ConnectorConnectionId, LogicalOperationId},
};
use guildhall_store::connectors::{operation_revisions, operations, toolkits};
use guildhall_world::connectors::{AccountCredentials, OutgoingOperation as OnItsWay};
use serde_json::{Map, Value};

use super::authorization;
use crate::Hall;

/// What an attempt is sent with.
pub(super) struct PreparedAttempt {
    toolkit: Toolkit,
    operation: Operation,
    credentials: AccountCredentials,
}

impl Hall {
    /// Gets ready what an attempt needs; a token may be renewed, but nothing of the operation is
    /// sent yet.
    ///
    /// # Errors
    /// [`ConnectorRefusal::TargetNotFound`], [`ConnectorRefusal::RevisionMismatch`], [`ConnectorRefusal::NotExecutable`].
    pub(super) async fn prepare_attempt(&self, ask: &OperationCall) -> Result<PreparedAttempt> {
        let (id, revision) = (ask.connection_id, ask.revision_id);
        let credentials = self.connector_credentials(id).await?;
        let found = self.store().read(move |db| {
            let (connection, provider) =
                authorization::connection(db, id)?.ok_or(ConnectorRefusal::TargetNotFound)?;
            let revision = operation_revisions::by_id(db, revision)?
                .ok_or(ConnectorRefusal::TargetNotFound)?;
            let (provider_id, toolkit) = (connection.provider_id, &connection.toolkit);
            let slug = &revision.identity.operation_slug;
            let operation = operations::find(db, provider_id, toolkit, slug)?;
            let found = toolkits::find(db, provider_id, toolkit)?.zip(operation);
            let readiness = Readiness::of(&connection, provider.unavailable.as_deref());
            Ok((found.ok_or(ConnectorRefusal::RevisionMismatch)?, readiness))
        });
        let ((toolkit, operation), readiness) = found.await?.value;
        let credentials =
            credentials.ok_or_else(|| ConnectorRefusal::NotExecutable(unusable(readiness)))?;
        Ok(PreparedAttempt {
            toolkit,
            operation,
            credentials,
        })
    }

    /// Sends an attempt. The key is the same in both attempts of an execution.
    pub(super) async fn send_operation(
        &self,
        sending: PreparedAttempt,
        arguments: &Map<String, Value>,
        (connection, id): (ConnectorConnectionId, LogicalOperationId),
        within: Duration,
    ) -> SendResult {
        let services = match self.services().await {
            Ok(services) => services,
            Err(error) => {
                tracing::error!(?error, "there is no way to services");
                return SendResult::NotSent {
                    message: "There is no way to the service from here.".to_owned(),
                };
            }
        };
        let key = format!("guildhall:{id}");
        let one = OnItsWay {
            toolkit: &sending.toolkit,
            binding: &sending.operation.binding,
            arguments,
            credentials: &sending.credentials,
            key: Some(&key),
            within,
        };
        let sent = Box::pin(services.send(one)).await;
        if let SendResult::Refused {
            status: Some(401), ..
        } = sent
        {
            let noted = self.connector_credentials_refused(connection, &sending.credentials);
            if let Err(error) = noted.await {
                tracing::warn!(?error, "that a service takes no credentials was not noted");
            }
        }
        sent
    }

    /// Lists what a connection's service can do anew, where that is told by a live server.
    ///
    /// # Errors
    /// [`ConnectorRefusal::ConnectionNotFound`], [`ConnectorRefusal::CatalogIncomplete`],
    /// [`ConnectorRefusal::ToolkitUnreachable`].
    pub(super) async fn relist_operations(&self, id: ConnectorConnectionId) -> Result<()> {
        let found = self.store().read(move |db| {
            let (connection, _) =
                authorization::connection(db, id)?.ok_or(ConnectorRefusal::ConnectionNotFound)?;
            Ok((connection.provider_id, connection.toolkit))
        });
        let (provider, toolkit) = found.await?.value;
        let credentials = self.connector_credentials(id).await?;
        let credentials = credentials.unwrap_or(AccountCredentials::None);
        Box::pin(self.relist_toolkit(provider, toolkit, &credentials)).await
    }
}

/// Why a connection without credentials cannot be used.
fn unusable(readiness: Readiness) -> Readiness {
    match readiness.state {
        ReadinessState::Ready => Readiness {
            state: ReadinessState::NeedsYou,
            reason: Some("Its credentials cannot be used.".to_owned()),
            fix: Some("Reconnect it and sign in again.".to_owned()),
        },
        ReadinessState::Paused
        | ReadinessState::NeedsYou
        | ReadinessState::Unavailable
        | ReadinessState::Gone => readiness,
    }
}
