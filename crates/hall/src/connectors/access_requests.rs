//! Access: an agent asks to use a service, and the owner settles it by granting something there,
//! or says no. Source: contract 5.8, `connector_request_access`.

use guildhall_domain::{
    Result,
    approvals::Approval,
    callers::{Agent, Gate},
    connectors::{ConnectorRefusal, toolkits::ToolkitSlug},
    field_validation::FieldValidator,
    limits::connectors::CONNECTOR_PURPOSE_CHARS_MAX,
    mcp_servers::approval_card::legible,
};
use guildhall_store::connectors::toolkits;
use serde_json::json;

use super::authorization;
use crate::{Hall, approvals, callers};

/// What an agent asks for.
#[derive(Clone, Debug)]
pub struct AccessRequest {
    /// The service.
    pub toolkit: String,
    /// Whether it wants to change something there.
    pub wants_to_write: bool,
    /// What for.
    pub purpose: String,
}

/// What became of the wish: the question that a person has.
pub type AccessApproval = Approval;

impl Hall {
    /// Asks the owner to grant the calling agent something of a service; asked twice, it is one
    /// question.
    ///
    /// # Errors
    /// `Validation`, [`ConnectorRefusal::ToolkitNotFound`], `ApprovalDenied` when a person said no not
    /// long ago, `TooManyApprovals`.
    pub async fn request_connector_access(
        &self,
        by: &Agent,
        wish: AccessRequest,
    ) -> Result<AccessApproval> {
        let AccessRequest {
            toolkit,
            wants_to_write,
            purpose,
        } = wish;
        let mut check = FieldValidator::new();
        check.chars("purpose", &purpose, 0, CONNECTOR_PURPOSE_CHARS_MAX);
        check.finish()?;
        let slug = ToolkitSlug::parse(&toolkit).ok_or(ConnectorRefusal::ToolkitNotFound)?;
        let (caller, now) = (*by.caller(), self.now());
        let digests = self.inner.digests.clone();
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &caller, now)?;
                let agent = caller
                    .agent()
                    .ok_or(guildhall_domain::Refusal::AgentTokenRequired)?;
                let agent = authorization::registered(tx, agent)?;
                let mut services = toolkits::all(tx)?.into_iter().map(|(_, service)| service);
                let service = services.find(|service| service.slug == slug);
                let service = service.ok_or(ConnectorRefusal::ToolkitNotFound)?;
                let access = match wants_to_write {
                    true => "read-write",
                    false => "read",
                };
                let name = legible(&service.display_name);
                let asked = approvals::AccessApprovalRequest {
                    agent_id: agent.id,
                    session_id: authorization::session_of(tx, &caller)?,
                    toolkit: slug.as_str(),
                    summary: format!("{} wants to use {name} ({access})", legible(&agent.name)),
                    card: json!({
                        "agentId": agent.id,
                        "agentName": agent.name,
                        "toolkit": slug,
                        "displayName": service.display_name,
                        "access": access,
                        "purpose": legible(&purpose),
                    }),
                };
                approvals::request_access(tx, &digests, &caller, asked, now)
            })
            .await
    }
}
