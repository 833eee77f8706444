//! Sending: the way of one attempt to its service, with the account's credentials.

use guildhall_domain::{
    Result,
    connectors::{
        Refused,
        executions::Ask,
        operations::{Binding, Operation},
        rehearsal,
        sent::Sent,
    },
    ids::{ConnectorConnectionId, LogicalOperationId},
};
use guildhall_store::connectors::{operations, revisions};
use serde_json::{Map, Value};

use super::facts;
use crate::Hall;

/// What an attempt is sent with.
pub(super) struct Sending {
    operation: Operation,
}

impl Hall {
    /// Gets ready what an attempt needs; nothing of the operation is sent yet.
    ///
    /// # Errors
    /// [`Refused::TargetNotFound`], [`Refused::RevisionMismatch`].
    pub(super) async fn prepare_sending(&self, ask: &Ask) -> Result<Sending> {
        let (connection, revision) = (ask.connection_id, ask.revision_id);
        let found = self.store().read(move |db| {
            let (connection, _) =
                facts::connection(db, connection)?.ok_or(Refused::TargetNotFound)?;
            let revision = revisions::by_id(db, revision)?.ok_or(Refused::TargetNotFound)?;
            let slug = &revision.identity.operation_slug;
            let found = operations::find(db, connection.provider_id, &connection.toolkit, slug)?;
            Ok(found.ok_or(Refused::RevisionMismatch)?)
        });
        let operation = found.await?.value;
        Ok(Sending { operation })
    }

    /// Sends an attempt.
    pub(super) async fn send_operation(
        &self,
        sending: Sending,
        arguments: &Map<String, Value>,
        id: LogicalOperationId,
    ) -> Sent {
        let _ = id;
        match sending.operation.binding {
            Binding::Rehearsal { deed } => rehearsal::play(deed, arguments),
            Binding::Http(_) | Binding::Mcp { .. } => Sent::Unsupported {
                reason: "The provider instance cannot run operations.".to_owned(),
            },
        }
    }

    /// Lists what a connection's service can do anew, where that is told by a live server.
    ///
    /// # Errors
    /// [`Refused::CatalogIncomplete`], [`Refused::ToolkitUnreachable`].
    pub(super) async fn list_anew(&self, connection: ConnectorConnectionId) -> Result<()> {
        let _ = connection;
        Ok(())
    }
}
