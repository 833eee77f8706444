//! Toolkits: putting and removing them, their client secrets, and listing anew what an MCP server
//! can do. What is fetched is fetched before the transaction that keeps it. Source: contract 5.3.

use std::{sync::atomic::AtomicBool, time::Duration};

use guildhall_domain::{
    Refusal, Result,
    callers::{Gate, OwnerInteractive},
    connectors::{
        ConnectorRefusal,
        catalog::folded,
        mcp_operations,
        operations::{Operation, OperationListing},
        providers::{Provider, ProviderChange, ProviderType},
        refusals::ValidationProblem,
        toolkit_requests::ToolkitRequest,
        toolkits::{Toolkit, ToolkitAuth, ToolkitSlug},
    },
    field_validation::FieldValidator,
    ids::ProviderId,
    limits::connectors as limits,
    mcp_tools,
};
use guildhall_store::{
    ReadTx, Tx,
    connectors::{connections, operations, toolkits as rows},
};
use guildhall_world::{
    connectors::{AccountCredentials, DocumentError, ServiceClients, ToolListError},
    seal::{Seal, SealContext},
};
use url::Url;

use super::{
    cancellable_blocking,
    providers::{bump_generation, changeable, existing},
};
use crate::{Hall, callers};

/// How long a server may take to list its tools.
const LIST_WAIT: Duration = Duration::from_secs(60);

impl Hall {
    /// Puts a toolkit, in the place of the one of its name; its document is fetched, or its
    /// server's tools are listed, before that.
    ///
    /// # Errors
    /// [`ConnectorRefusal::ProviderNotFound`], [`ConnectorRefusal::ProviderFixed`], [`Refusal::Validation`],
    /// [`ConnectorRefusal::ToolkitUnreachable`], [`ConnectorRefusal::DocumentInvalid`], [`ConnectorRefusal::ProviderInUse`]
    /// where connections would send their secrets elsewhere.
    pub async fn put_connector_toolkit(
        &self,
        by: &OwnerInteractive,
        id: ProviderId,
        ask: ToolkitRequest,
    ) -> Result<Toolkit> {
        let provider = self.store().read(move |db| changeable(db, id)).await?.value;
        ask.check(provider.provider_type)?;
        let (toolkit, listed) = match provider.provider_type {
            ProviderType::Openapi => self.with_document(ask).await?,
            ProviderType::Mcp | ProviderType::Rehearsal => self.with_tools(ask).await?,
        };
        let (by, now, seal) = (*by.caller(), self.now(), self.inner.seal.clone());
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                let provider = changeable(tx, id)?;
                let slug = toolkit.slug.clone();
                put(tx, &provider, (&toolkit, &listed))?;
                bump_generation(
                    tx,
                    &seal,
                    provider,
                    ProviderChange::ToolkitPut,
                    (Some(&by), now),
                )
                .and_then(|provider| existing_toolkit(tx, provider.id, Some(&slug)))
            })
            .await
    }

    /// Removes a toolkit with its operations and secrets.
    ///
    /// # Errors
    /// [`ConnectorRefusal::ProviderNotFound`], [`ConnectorRefusal::ProviderFixed`], [`ConnectorRefusal::ToolkitNotFound`],
    /// [`ConnectorRefusal::ProviderInUse`].
    pub async fn remove_connector_toolkit(
        &self,
        by: &OwnerInteractive,
        (id, slug): (ProviderId, Option<ToolkitSlug>),
    ) -> Result<()> {
        let (by, now, seal) = (*by.caller(), self.now(), self.inner.seal.clone());
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                let provider = changeable(tx, id)?;
                let slug = existing_toolkit(tx, provider.id, slug.as_ref())?.slug;
                if connections::live(tx, provider.id, Some(&slug))? > 0 {
                    return Err(ConnectorRefusal::ProviderInUse.into());
                }
                connections::forget_clients(tx, provider.id, Some(&slug))?;
                rows::remove(tx, provider.id, &slug)?;
                let change = ProviderChange::ToolkitRemoved;
                bump_generation(tx, &seal, provider, change, (Some(&by), now)).map(|_| ())
            })
            .await
    }

    /// Keeps the client secret of a toolkit that people sign in to by OAuth; `None` erases it.
    ///
    /// # Errors
    /// [`Refusal::Validation`], [`ConnectorRefusal::ProviderNotFound`], [`ConnectorRefusal::ProviderFixed`],
    /// [`ConnectorRefusal::ToolkitNotFound`].
    pub async fn set_connector_toolkit_credential(
        &self,
        by: &OwnerInteractive,
        (id, slug): (ProviderId, Option<ToolkitSlug>),
        secret: Option<String>,
    ) -> Result<()> {
        if let Some(secret) = &secret {
            check_secret(secret)?;
        }
        let (by, now, seal) = (*by.caller(), self.now(), self.inner.seal.clone());
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                let provider = changeable(tx, id)?;
                let toolkit = existing_toolkit(tx, provider.id, slug.as_ref())?;
                if secret.is_some() && !matches!(toolkit.auth, ToolkitAuth::Oauth2(_)) {
                    let problem = "is for toolkits that people sign in to by oauth2";
                    return Err(Refusal::field("secret", problem).into());
                }
                if secret.is_none() && !toolkit.has_credential {
                    return Ok(());
                }
                let slug = toolkit.slug;
                let sealed = secret
                    .map(|secret| {
                        seal.seal(
                            SealContext(&seal_context(&provider.id, &slug)),
                            secret.as_bytes(),
                        )
                    })
                    .transpose()?;
                rows::set_credential(tx, provider.id, &slug, sealed.as_deref())?;
                let change = ProviderChange::CredentialChanged;
                bump_generation(tx, &seal, provider, change, (Some(&by), now)).map(|_| ())
            })
            .await
    }

    /// Lists anew what a toolkit can do, with the account of a connection, and keeps what is
    /// another list than before. Only an MCP server can say something else than it did. Whoever
    /// reviews a connection has shown a gate already.
    ///
    /// # Errors
    /// [`ConnectorRefusal::ProviderNotFound`], [`ConnectorRefusal::ToolkitNotFound`],
    /// [`ConnectorRefusal::CatalogIncomplete`], [`ConnectorRefusal::ToolkitUnreachable`].
    pub(crate) async fn relist_toolkit(
        &self,
        id: ProviderId,
        slug: ToolkitSlug,
        credentials: &AccountCredentials,
    ) -> Result<()> {
        let wanted = slug.clone();
        let read = self.store().read(move |db| {
            let provider = existing(db, id)?;
            Ok((
                provider.provider_type,
                existing_toolkit(db, id, Some(&wanted))?,
            ))
        });
        let (provider_type, toolkit) = read.await?.value;
        match provider_type {
            ProviderType::Mcp => {}
            ProviderType::Openapi | ProviderType::Rehearsal => return Ok(()),
        }
        let services = self.services().await?;
        let listed = services.tools(&toolkit, credentials, LIST_WAIT).await;
        let listed = listed.map_err(|error| match error {
            ToolListError::TooMany => ConnectorRefusal::CatalogIncomplete,
            ToolListError::SignInNeeded | ToolListError::Unreachable(_) => {
                ConnectorRefusal::ToolkitUnreachable
            }
        })?;
        let version = mcp_tools::digest(&listed)?;
        let listed = mcp_operations::operations(&listed);
        let (now, seal) = (self.now(), self.inner.seal.clone());
        self.store()
            .write(move |tx| {
                let provider = existing(tx, id)?;
                let standing = existing_toolkit(tx, id, Some(&slug))?;
                // The list is of the server as it was configured then.
                if standing.url != toolkit.url {
                    return Err(ConnectorRefusal::ToolkitUnreachable.into());
                }
                if standing.version == version {
                    return Ok(());
                }
                let (toolkit, listed) = standing.listing(listed, version);
                store_toolkit(tx, id, &toolkit, &listed)?;
                bump_generation(tx, &seal, provider, ProviderChange::ToolkitPut, (None, now))
                    .map(|_| ())
            })
            .await
    }

    /// The ways to services, made when they are first needed.
    pub(crate) async fn services(&self) -> Result<ServiceClients> {
        let outgoing = self.outgoing().await?;
        let cell = &self.inner.services;
        let made = cell.get_or_init(|| async move { ServiceClients::new(&outgoing) });
        Ok(made.await.clone())
    }

    async fn with_document(&self, mut ask: ToolkitRequest) -> Result<(Toolkit, Vec<Operation>)> {
        let document = match (ask.document.take(), &ask.document_url) {
            (Some(document), _) => document,
            (None, None) => serde_json::Value::Null,
            (None, Some(url)) => {
                let read = self.services().await?.fetch_document(url).await;
                read.map_err(|error| match error {
                    DocumentError::Unreachable(_) => ConnectorRefusal::ToolkitUnreachable,
                    DocumentError::Unreadable(_) => {
                        ConnectorRefusal::DocumentInvalid(vec![ValidationProblem {
                            pointer: String::new(),
                            message: error.to_string(),
                        }])
                    }
                })?
            }
        };
        // A long document takes a while, in which others are answered.
        let stopping = self.tasks().stopping();
        let read = move |stop: &AtomicBool| ask.with_document(&document, stop);
        Ok(cancellable_blocking::run(stopping, read).await??)
    }

    async fn with_tools(&self, ask: ToolkitRequest) -> Result<(Toolkit, Vec<Operation>)> {
        let services = self.services().await?;
        let wants_sign_in = !matches!(ask.auth, ToolkitAuth::None);
        let none = || (OperationListing::default(), Vec::new());
        let (asked, _) = ask.clone().with_tools(none().0, String::new(), false)?;
        let listed = services
            .tools(&asked, &AccountCredentials::None, LIST_WAIT)
            .await;
        let (listed, tools, is_complete) = match listed {
            Ok(tools) => (mcp_operations::operations(&tools), tools, true),
            // What it can do is listed when somebody has signed in.
            Err(ToolListError::SignInNeeded) if wants_sign_in => {
                let (listed, tools) = none();
                (listed, tools, false)
            }
            Err(_) => return Err(ConnectorRefusal::ToolkitUnreachable.into()),
        };
        let version = mcp_tools::digest(&tools)?;
        Ok(ask.with_tools(listed, version, is_complete)?)
    }
}

/// Keeps a toolkit that a person put.
fn put(
    tx: &mut Tx<'_>,
    provider: &Provider,
    (toolkit, listed): (&Toolkit, &[Operation]),
) -> Result<()> {
    let (id, slug) = (provider.id, &toolkit.slug);
    match rows::find(tx, id, slug)? {
        Some(before) => {
            let is_other = before.auth != toolkit.auth || origin(&before) != origin(toolkit);
            if is_other {
                if connections::live(tx, id, Some(slug))? > 0 {
                    return Err(ConnectorRefusal::ProviderInUse.into());
                }
                connections::forget_clients(tx, id, Some(slug))?;
                rows::set_credential(tx, id, slug, None)?;
            }
        }
        None if rows::count(tx, id)? >= limits::TOOLKITS_MAX => {
            let most = limits::TOOLKITS_MAX;
            let problem = format!("the instance has {most} toolkits, and no more may be");
            return Err(Refusal::field("slug", problem).into());
        }
        None => {}
    }
    store_toolkit(tx, id, toolkit, listed)
}

fn store_toolkit(
    tx: &mut Tx<'_>,
    id: ProviderId,
    toolkit: &Toolkit,
    listed: &[Operation],
) -> Result<()> {
    rows::put(tx, id, toolkit, &search_words(listed))?;
    operations::replace(tx, id, &toolkit.slug, listed)
}

/// What a search in the catalog looks at of operations.
pub(super) fn search_words(listed: &[Operation]) -> String {
    let each = listed.iter().map(|it| match it.title == it.slug {
        true => folded(&it.slug),
        false => format!("{} {}", folded(&it.slug), folded(&it.title)),
    });
    each.collect::<Vec<_>>().join("\n")
}

/// Where the secrets of a toolkit's connections are sent.
fn origin(toolkit: &Toolkit) -> Option<String> {
    let address = toolkit.base_url.as_deref().or(toolkit.url.as_deref())?;
    Some(Url::parse(address).ok()?.origin().ascii_serialization())
}

fn existing_toolkit(
    db: &ReadTx<'_>,
    id: ProviderId,
    slug: Option<&ToolkitSlug>,
) -> Result<Toolkit> {
    let found = slug.map(|slug| rows::find(db, id, slug)).transpose()?;
    Ok(found.flatten().ok_or(ConnectorRefusal::ToolkitNotFound)?)
}

/// The client secret of a toolkit; `None` where there is none that can be read.
pub(super) fn credential(
    db: &ReadTx<'_>,
    seal: &Seal,
    id: ProviderId,
    slug: &ToolkitSlug,
) -> Result<Option<String>> {
    let sealed = rows::credential(db, id, slug)?;
    let secret =
        sealed.and_then(|sealed| seal.unseal(SealContext(&seal_context(&id, slug)), &sealed));
    Ok(secret.and_then(|secret| String::from_utf8(secret).ok()))
}

/// Where the client secret of a toolkit is kept.
fn seal_context<'a>(id: &'a ProviderId, slug: &'a ToolkitSlug) -> [&'a [u8]; 3] {
    [
        b"connector_toolkits",
        id.as_bytes(),
        slug.as_str().as_bytes(),
    ]
}

fn check_secret(secret: &str) -> Result<(), Refusal> {
    let mut check = FieldValidator::new();
    let most = limits::CONNECTOR_SECRET_BYTES_MAX;
    if !(1..=most).contains(&secret.len()) {
        check.fail("secret", format!("must have 1 to {most} bytes"));
    }
    check.one_line("secret", secret);
    check.finish()
}
