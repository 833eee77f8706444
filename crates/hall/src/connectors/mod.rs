//! Connectors: services outside this computer whose operations people grant to agents, and
//! running them.
//! Source: contract 5 part A.

mod access_requests;
mod account_lookup;
mod auth_flows;
mod authorization;
mod cancellable_blocking;
mod catalog;
mod connections;
mod credentials;
mod device_polling;
mod execution_attempts;
mod executions;
mod flow_expiry;
mod flow_start;
mod flow_transitions;
mod providers;
mod reviews;
mod secrets;
mod sending;
mod session_connections;
mod signin_pages;
mod toolkit_targets;
mod toolkits;
mod usage;

pub use self::{
    access_requests::{AccessApproval, AccessRequest},
    auth_flows::{FlowView, StartedFlow},
    catalog::CatalogPage,
    connections::ConnectionView,
    credentials::CredentialRenewals,
    executions::ExecutionRequest,
    providers::ProviderView,
    reviews::{ConnectionGrants, ConnectionReview},
    session_connections::SessionConnectionState,
    signin_pages::{ConnectorSigninPage, SigninOutcome},
    usage::UsagePage,
};
pub(crate) use self::{
    flow_expiry::{recover, start},
    providers::ensure_scripted_provider,
};
