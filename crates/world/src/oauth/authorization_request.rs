//! Before a person leaves: where to sign in, who asks there, and the address the person is sent
//! to. Source: contract 4.8, "client" and "request".

use guildhall_domain::{
    mcp_servers::AuthClientOrigin,
    mcp_signins::{
        ManualOauthClient, SigninFailure,
        metadata::{AuthorizationServerMetadata, TokenAuthMethod, is_same_issuer},
    },
};
use serde::{Deserialize, Serialize};
use url::Url;

use super::{
    DiscoveryResult, OauthClient, OauthHttpClient, Pkce, TokenEndpointAccess, authorization_url,
};

/// A client, and where it counts. Without `Debug`, because it holds a secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct IssuerClient {
    /// The client.
    pub client: OauthClient,
    /// Who registered it; `""` for one that a person typed and that nobody was shown yet.
    pub issuer: String,
    /// Where it comes back to; `""` for one that a person typed.
    pub redirect_uri: String,
}

impl IssuerClient {
    /// One that a person typed: it counts where the server sends to first, and only there.
    pub fn manual_client(client: ManualOauthClient) -> Self {
        Self {
            client: OauthClient {
                method: match client.secret {
                    Some(_) => TokenAuthMethod::Basic,
                    None => TokenAuthMethod::None,
                },
                id: client.id,
                secret: client.secret,
            },
            issuer: String::new(),
            redirect_uri: String::new(),
        }
    }

    pub(super) fn of(
        client: OauthClient,
        metadata: &AuthorizationServerMetadata,
        redirect_uri: &str,
    ) -> Self {
        Self {
            client,
            issuer: metadata.issuer.clone(),
            redirect_uri: redirect_uri.to_owned(),
        }
    }
}

/// Who asks.
pub struct SigninClientOptions<'a> {
    /// The client that was kept of before, and where it comes from.
    pub stored: Option<(AuthClientOrigin, IssuerClient)>,
    /// Where the answer comes.
    pub redirect_uri: &'a str,
    /// The address of our own metadata, which is our client id where that is taken; `None` where
    /// nobody else can read it.
    pub document: Option<&'a str>,
}

/// What was prepared for a person to be sent away. Without `Debug`, because it holds secrets.
pub struct PreparedAuthorization {
    /// Where to.
    pub location: Url,
    /// Who answers.
    pub issuer: String,
    /// Whether the answer says who it is from.
    pub says_issuer: bool,
    /// Who asks for tokens, and for what.
    pub access: TokenEndpointAccess,
    /// Where the client comes from.
    pub origin: AuthClientOrigin,
    /// The client, where it is new, or counts at one place from now on.
    pub new_client: Option<IssuerClient>,
}

impl OauthHttpClient {
    /// Everything that goes out before the person does: finds out where to sign in with
    /// `server`, and registers where that is needed. `scope` is what a challenge of before
    /// wanted.
    ///
    /// # Errors
    /// Those of [`OauthHttpClient::discover`] and [`OauthHttpClient::register`].
    pub async fn prepare(
        &self,
        (server, scope): (&Url, Option<String>),
        own: SigninClientOptions<'_>,
        (state, pkce): (&str, &Pkce),
    ) -> Result<PreparedAuthorization, SigninFailure> {
        let found = self.discover(server, scope).await?;
        let redirect_uri = own.redirect_uri;
        let (origin, kept, is_new) = self.client(&found, own).await?;
        let location = authorization_url(
            &found.metadata,
            &kept.client,
            (redirect_uri, state),
            pkce,
            (Some(&found.resource), found.scope.as_deref()),
        )?;
        let metadata = found.metadata;
        Ok(PreparedAuthorization {
            location,
            issuer: metadata.issuer,
            says_issuer: metadata.authorization_response_iss_parameter_supported,
            access: TokenEndpointAccess {
                client: kept.client.clone(),
                token_endpoint: metadata.token_endpoint,
                revocation_endpoint: metadata.revocation_endpoint,
                resource: Some(found.resource),
            },
            origin,
            new_client: is_new.then_some(kept),
        })
    }

    /// The client that asks, where it comes from, and whether it is new: the one a person typed,
    /// else our own metadata's address, else one that is registered.
    async fn client(
        &self,
        found: &DiscoveryResult,
        own: SigninClientOptions<'_>,
    ) -> Result<(AuthClientOrigin, IssuerClient, bool), SigninFailure> {
        let metadata = &found.metadata;
        match own.stored {
            Some((AuthClientOrigin::Manual, mut kept)) => {
                let is_first = kept.issuer.is_empty();
                if is_first {
                    metadata.issuer.clone_into(&mut kept.issuer);
                }
                // Its secret is for the one who was named when a person typed it.
                if !is_same_issuer(&kept.issuer, &metadata.issuer) {
                    return Err(SigninFailure::NoAppRegistration);
                }
                kept.client.method = metadata.auth_method(kept.client.secret.is_some());
                return Ok((AuthClientOrigin::Manual, kept, is_first));
            }
            Some((AuthClientOrigin::Registered, kept))
                if is_same_issuer(&kept.issuer, &metadata.issuer)
                    && kept.redirect_uri == own.redirect_uri =>
            {
                return Ok((AuthClientOrigin::Registered, kept, false));
            }
            Some(_) | None => {}
        }
        let document = own.document;
        if let Some(id) = document.filter(|_| metadata.client_id_metadata_document_supported) {
            let client = OauthClient {
                id: id.to_owned(),
                secret: None,
                method: TokenAuthMethod::None,
            };
            let kept = IssuerClient::of(client, metadata, own.redirect_uri);
            return Ok((AuthClientOrigin::Metadata, kept, true));
        }
        let scope = found.scope.as_deref();
        let client = self
            .register(metadata, Some(own.redirect_uri), scope)
            .await?;
        let kept = IssuerClient::of(client, metadata, own.redirect_uri);
        Ok((AuthClientOrigin::Registered, kept, true))
    }
}
