//! Arranging a sign-in with a connector: where an account signs in, and who asks there. What
//! costs nothing is told apart from what may have begun something over there.
//! Source: contract 5.3, "auth", and 5.4.

use guildhall_domain::mcp_signins::{
    SigninFailure,
    metadata::{AuthorizationServerMetadata, TokenAuthMethod, is_same_issuer},
};
use serde::{Deserialize, Serialize};
use url::Url;

use super::{IssuerClient, OauthClient, OauthHttpClient, TokenEndpointAccess};

/// Who says where one signs in.
pub enum AuthorizationServerSource<'a> {
    /// The metadata of this issuer (RFC 8414).
    Issuer(&'a Url),
    /// The owner, place by place.
    Places(Box<AuthorizationServerMetadata>),
    /// The MCP server at this address (RFC 9728).
    Server(&'a Url),
}

/// Who asks.
pub struct ConnectorClientOptions<'a> {
    /// The client that the owner registered: its id, and its secret where it has one.
    pub typed: Option<(String, Option<String>)>,
    /// The client that registered itself before.
    pub kept: Option<IssuerClient>,
    /// Where answers come; `None` where a code is typed elsewhere.
    pub redirect_uri: Option<&'a str>,
    /// The address of our own metadata; `None` where nobody else can read it.
    pub document: Option<&'a str>,
}

/// What was arranged. Without `Debug`, because it holds a secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct PreparedTokenEndpoint {
    /// Who gives the tokens.
    pub metadata: AuthorizationServerMetadata,
    /// Who asks for them, and for what.
    pub access: TokenEndpointAccess,
    /// Which scope is asked for.
    pub scope: Option<String>,
}

/// Why nothing was arranged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreparationError {
    /// Nothing was begun.
    NotSent(SigninFailure),
    /// Something may have been begun, and no answer came.
    Lost,
    /// The answer was a no; holds its word.
    Refused(String),
}

impl From<SigninFailure> for PreparationError {
    fn from(why: SigninFailure) -> Self {
        Self::NotSent(why)
    }
}

impl OauthHttpClient {
    /// Finds out where one signs in, and registers a client where that is needed; answers the
    /// client beside it where it is new.
    ///
    /// # Errors
    /// See [`PreparationError`].
    pub async fn prepare_connector(
        &self,
        authority: AuthorizationServerSource<'_>,
        (resource, scopes): (Option<&Url>, &[String]),
        asker: ConnectorClientOptions<'_>,
    ) -> Result<(PreparedTokenEndpoint, Option<IssuerClient>), PreparationError> {
        let wanted = (!scopes.is_empty()).then(|| scopes.join(" "));
        let mut scope = wanted.clone();
        let mut resource = resource.map(Url::to_string);
        let metadata = match authority {
            AuthorizationServerSource::Issuer(url) => {
                let is_theirs = |told: &str| is_same_issuer(told, url.as_str());
                let found = self.issuer(url, is_theirs).await?;
                found.ok_or(SigninFailure::NoSigninSupport)?
            }
            AuthorizationServerSource::Places(metadata) => *metadata,
            AuthorizationServerSource::Server(url) => {
                let found = self.discover(url, wanted).await?;
                (resource, scope) = (Some(found.resource), found.scope);
                found.metadata
            }
        };
        self.usable(&metadata, asker.redirect_uri.is_some())?;
        let (client, new) = self.asking(&metadata, asker, scope.as_deref()).await?;
        let access = TokenEndpointAccess {
            client,
            token_endpoint: metadata.token_endpoint.clone(),
            revocation_endpoint: metadata.revocation_endpoint.clone(),
            resource,
        };
        let arranged = PreparedTokenEndpoint {
            metadata,
            access,
            scope,
        };
        Ok((arranged, new))
    }

    /// Holds the places of a way to sign in against the rules.
    fn usable(
        &self,
        metadata: &AuthorizationServerMetadata,
        is_browser: bool,
    ) -> Result<(), SigninFailure> {
        let first = match is_browser {
            true => Some(&metadata.authorization_endpoint).filter(|place| !place.is_empty()),
            false => metadata.device_authorization_endpoint.as_ref(),
        };
        self.checked(first.ok_or(SigninFailure::NoSigninSupport)?)?;
        self.checked(&metadata.token_endpoint)?;
        Ok(())
    }

    /// The client that asks, and once more where it is new: the one a person typed, one of
    /// before, our own metadata's address, else one that is registered.
    async fn asking(
        &self,
        metadata: &AuthorizationServerMetadata,
        asker: ConnectorClientOptions<'_>,
        scope: Option<&str>,
    ) -> Result<(OauthClient, Option<IssuerClient>), PreparationError> {
        if let Some((id, secret)) = asker.typed {
            let method = metadata.auth_method(secret.is_some());
            return Ok((OauthClient { id, secret, method }, None));
        }
        let back = asker.redirect_uri.unwrap_or_default();
        let counts = |kept: &IssuerClient| {
            is_same_issuer(&kept.issuer, &metadata.issuer) && kept.redirect_uri == back
        };
        if let Some(kept) = asker.kept.filter(counts) {
            return Ok((kept.client, None));
        }
        let document = asker.document.filter(|_| asker.redirect_uri.is_some());
        if let Some(id) = document.filter(|_| metadata.client_id_metadata_document_supported) {
            let client = OauthClient {
                id: id.to_owned(),
                secret: None,
                method: TokenAuthMethod::None,
            };
            return Ok((client, None));
        }
        let registered = self.register(metadata, asker.redirect_uri, scope).await;
        let client = registered.map_err(|why| match why {
            // The request may have been read before nobody answered.
            SigninFailure::Unreachable => PreparationError::Lost,
            why => PreparationError::NotSent(why),
        })?;
        let kept = IssuerClient::of(client.clone(), metadata, back);
        Ok((client, Some(kept)))
    }
}
