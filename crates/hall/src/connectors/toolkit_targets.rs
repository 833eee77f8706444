//! What a flow or connection goes through, as it is configured now.

use std::collections::HashMap;

use guildhall_domain::{
    Result,
    connectors::{
        ConnectorRefusal,
        providers::{Provider, ProviderType},
        toolkits::{Toolkit, ToolkitSlug},
    },
    ids::ProviderId,
};
use guildhall_store::{
    ReadTx,
    connectors::{providers, toolkits},
};
use guildhall_world::seal::Seal;
use url::Url;

use super::toolkits::credential;

/// A toolkit of an instance.
pub(super) struct ToolkitTarget {
    /// The instance.
    pub(super) provider: Provider,
    /// The toolkit.
    pub(super) toolkit: Toolkit,
    /// The secret of the client that the owner registered.
    pub(super) client_secret: Option<String>,
}

impl ToolkitTarget {
    /// Where its requests go.
    pub(super) fn address(&self) -> Option<String> {
        let toolkit = &self.toolkit;
        toolkit.base_url.clone().or_else(|| toolkit.url.clone())
    }

    /// Where its MCP server answers.
    pub(super) fn mcp_url(&self) -> Option<Url> {
        match self.provider.provider_type {
            ProviderType::Mcp => Url::parse(self.toolkit.url.as_deref()?).ok(),
            ProviderType::Openapi | ProviderType::Rehearsal => None,
        }
    }
}

/// The toolkit of an instance, with its secret; `None` when either is gone.
pub(super) fn find(
    db: &ReadTx<'_>,
    seal: &Seal,
    provider: ProviderId,
    slug: &ToolkitSlug,
) -> Result<Option<ToolkitTarget>> {
    let instance = providers::find(db, provider)?;
    let found = instance.zip(toolkits::find(db, provider, slug)?);
    let secret = credential(db, seal, provider, slug)?;
    Ok(found.map(|(provider, toolkit)| ToolkitTarget {
        provider,
        toolkit,
        client_secret: secret,
    }))
}

/// The generation of an instance; `None` when it or the toolkit is gone.
pub(super) fn generation(
    db: &ReadTx<'_>,
    provider: ProviderId,
    slug: &ToolkitSlug,
) -> Result<Option<u64>> {
    let found = providers::find(db, provider)?.zip(toolkits::find(db, provider, slug)?);
    Ok(found.map(|(provider, _)| provider.generation))
}

/// The generation of an instance through which one can sign in now.
///
/// # Errors
/// [`ConnectorRefusal::ProviderNotFound`], [`ConnectorRefusal::ToolkitNotFound`],
/// [`ConnectorRefusal::AuthenticationUnavailable`].
pub(super) fn available(
    db: &ReadTx<'_>,
    provider: ProviderId,
    slug: Option<&ToolkitSlug>,
) -> Result<u64> {
    let found = providers::find(db, provider)?.ok_or(ConnectorRefusal::ProviderNotFound)?;
    let toolkit = match slug {
        Some(slug) => toolkits::find(db, provider, slug)?,
        // A text that is no slug names no toolkit.
        None => None,
    };
    toolkit.ok_or(ConnectorRefusal::ToolkitNotFound)?;
    match found.unavailable {
        Some(_) => Err(ConnectorRefusal::AuthenticationUnavailable.into()),
        None => Ok(found.generation),
    }
}

/// What people call a toolkit; its slug when it is gone.
pub(super) fn display_name(
    db: &ReadTx<'_>,
    provider: ProviderId,
    slug: &ToolkitSlug,
) -> Result<String> {
    let found = toolkits::find(db, provider, slug)?;
    Ok(found.map_or_else(|| slug.as_str().to_owned(), |toolkit| toolkit.display_name))
}

/// Why an instance cannot be used; `None` while it can.
pub(super) fn why_unavailable(db: &ReadTx<'_>, provider: ProviderId) -> Result<Option<String>> {
    Ok(match providers::find(db, provider)? {
        Some(provider) => provider.unavailable,
        None => Some(GONE.to_owned()),
    })
}

/// Every instance, and why it cannot be used; `None` while it can.
pub(super) fn availability(db: &ReadTx<'_>) -> Result<HashMap<ProviderId, Option<String>>> {
    let all = providers::all(db)?.into_iter();
    Ok(all.map(|one| (one.id, one.unavailable)).collect())
}

/// Why a connection cannot be used whose instance is gone.
pub(super) const GONE: &str = "Its provider instance was removed.";
