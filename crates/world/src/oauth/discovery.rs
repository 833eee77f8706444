//! Discovery: where to sign in with a server, and registering there. Source: RFC 9728, 8414,
//! 7591; the 2025-03-26 revision of MCP, "Fallbacks for Servers without Metadata Discovery".

use bytes::Bytes;
use guildhall_domain::mcp_signins::{
    SigninFailure,
    metadata::{
        AuthChallenge, AuthorizationServerMetadata, ProtectedResourceMetadata, TokenAuthMethod,
        is_at_origin, is_of, is_same_issuer, issuer_metadata_urls, resource_metadata_urls,
    },
};
use http::{HeaderValue, Method, StatusCode, header::ACCEPT, header::WWW_AUTHENTICATE};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::{OauthClient, OauthHttpClient, device_grant::DEVICE_GRANT, request};

/// What was found out about signing in with a server.
#[derive(Clone, Debug)]
pub struct DiscoveryResult {
    /// Who gives the tokens.
    pub metadata: AuthorizationServerMetadata,
    /// What the tokens are for.
    pub resource: String,
    /// Which scope to ask for.
    pub scope: Option<String>,
}

impl OauthHttpClient {
    /// Finds out where to sign in with `server`; `scope` is what a challenge of before wanted.
    ///
    /// # Errors
    /// [`SigninFailure::Unreachable`], [`SigninFailure::NoSigninSupport`], [`SigninFailure::PkceUnsupported`],
    /// [`SigninFailure::InsecureAddress`].
    pub async fn discover(
        &self,
        server: &Url,
        scope: Option<String>,
    ) -> Result<DiscoveryResult, SigninFailure> {
        let challenge = self.challenge(server).await?;
        let own = self.resource(server, challenge.as_ref()).await?;
        let metadata = match &own {
            Some(own) => {
                let issuer = own.authorization_servers.first();
                let issuer = issuer.ok_or(SigninFailure::NoSigninSupport)?;
                let url = self.checked(issuer)?;
                let is_theirs = |told: &str| is_same_issuer(told, issuer);
                let found = self.issuer(&url, is_theirs).await?;
                found.ok_or(SigninFailure::NoSigninSupport)?
            }
            None => self.of_origin(server, challenge.is_some()).await?,
        };
        metadata.check()?;
        self.checked(&metadata.authorization_endpoint)?;
        self.checked(&metadata.token_endpoint)?;
        let supported = |scopes: &[String]| (!scopes.is_empty()).then(|| scopes.join(" "));
        let scope = scope
            .or_else(|| challenge.and_then(|challenge| challenge.scope))
            .or_else(|| supported(&own.as_ref()?.scopes_supported));
        let mut plain = server.clone();
        plain.set_fragment(None);
        Ok(DiscoveryResult {
            metadata,
            resource: own.map_or_else(|| plain.to_string(), |own| own.resource),
            scope,
        })
    }

    /// What the server answers to a request without a token; `None` when it asks for none.
    async fn challenge(&self, server: &Url) -> Result<Option<AuthChallenge>, SigninFailure> {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let mut asked = request(Method::POST, server, Bytes::from(ping.to_string()))?;
        let accepted = HeaderValue::from_static("application/json, text/event-stream");
        asked.headers_mut().insert(ACCEPT, accepted);
        let answer = self.ask(asked).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(None);
        }
        let mut read = AuthChallenge::default();
        for header in answer.headers().get_all(WWW_AUTHENTICATE) {
            let one = AuthChallenge::read(header.to_str().unwrap_or_default());
            read.resource_metadata = read.resource_metadata.or(one.resource_metadata);
            read.scope = read.scope.or(one.scope);
        }
        Ok(Some(read))
    }

    /// What the server says of itself; metadata of another address is none of its.
    async fn resource(
        &self,
        server: &Url,
        challenge: Option<&AuthChallenge>,
    ) -> Result<Option<ProtectedResourceMetadata>, SigninFailure> {
        let told = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
        let places = match told {
            Some(told) => vec![self.checked(told)?],
            None => resource_metadata_urls(server),
        };
        for place in &places {
            let Some(body) = self.json(place).await? else {
                continue;
            };
            let Ok(own) = serde_json::from_slice::<ProtectedResourceMetadata>(&body) else {
                continue;
            };
            return match is_of(&own.resource, server) {
                true => Ok(Some(own)),
                false => Err(SigninFailure::NoSigninSupport),
            };
        }
        Ok(None)
    }

    /// What an authorization server says of itself; `is_theirs` says whether it may have the
    /// name it gives itself.
    pub(super) async fn issuer(
        &self,
        url: &Url,
        is_theirs: impl Fn(&str) -> bool,
    ) -> Result<Option<AuthorizationServerMetadata>, SigninFailure> {
        for place in issuer_metadata_urls(url) {
            let Some(body) = self.json(&place).await? else {
                continue;
            };
            let Ok(metadata) = serde_json::from_slice::<AuthorizationServerMetadata>(&body) else {
                continue;
            };
            return match is_theirs(&metadata.issuer) {
                true => Ok(Some(metadata)),
                false => Err(SigninFailure::NoSigninSupport),
            };
        }
        Ok(None)
    }

    /// The authorization server at the origin of the server, as revisions of old had it: by its
    /// metadata, else at the places that were usual.
    async fn of_origin(
        &self,
        server: &Url,
        is_wanted: bool,
    ) -> Result<AuthorizationServerMetadata, SigninFailure> {
        let mut origin = server.clone();
        origin.set_path("/");
        origin.set_query(None);
        origin.set_fragment(None);
        // Nobody named it before, so that it may lie below a path there.
        let is_theirs = |told: &str| is_at_origin(told, &origin);
        if let Some(metadata) = self.issuer(&origin, is_theirs).await? {
            return Ok(metadata);
        }
        // Whoever asks for no token has no such places either.
        let usual = AuthorizationServerMetadata::fallback(&origin).filter(|_| is_wanted);
        usual.ok_or(SigninFailure::NoSigninSupport)
    }

    /// Registers a client that comes back to `redirect_uri`, or, without one, that shows codes
    /// to be typed elsewhere.
    ///
    /// # Errors
    /// [`SigninFailure::NoAppRegistration`] where nobody may register or the answer is none;
    /// [`SigninFailure::Unreachable`], [`SigninFailure::InsecureAddress`].
    ///
    /// Source: RFC 7591.
    pub async fn register(
        &self,
        metadata: &AuthorizationServerMetadata,
        redirect_uri: Option<&str>,
        scope: Option<&str>,
    ) -> Result<OauthClient, SigninFailure> {
        let endpoint = metadata.registration_endpoint.as_deref();
        let endpoint = self.checked(endpoint.ok_or(SigninFailure::NoAppRegistration)?)?;
        let is_native = redirect_uri.is_none_or(|uri| uri.starts_with("http:"));
        let (grant, responses) = match redirect_uri {
            Some(_) => ("authorization_code", vec!["code"]),
            None => (DEVICE_GRANT, Vec::new()),
        };
        let mut ask = json!({
            "client_name": "guildhall",
            "redirect_uris": Vec::from_iter(redirect_uri),
            "grant_types": [grant, "refresh_token"],
            "response_types": responses,
            "token_endpoint_auth_method": metadata.registration_auth_method().as_str(),
            "application_type": if is_native { "native" } else { "web" },
        });
        if let Some(scope) = scope {
            ask["scope"] = scope.into();
        }
        let asked = request(Method::POST, &endpoint, Bytes::from(ask.to_string()))?;
        let answer = self.ask(asked).await?;
        if !answer.status().is_success() {
            return Err(SigninFailure::NoAppRegistration);
        }
        let told: RegistrationResponse =
            serde_json::from_slice(answer.body()).map_err(|_| SigninFailure::NoAppRegistration)?;
        let method = told.token_endpoint_auth_method;
        let method = method.unwrap_or_else(|| metadata.auth_method(told.client_secret.is_some()));
        Ok(OauthClient {
            id: told.client_id,
            secret: told.client_secret,
            method,
        })
    }
}

/// The part of an answer to a registration that matters.
#[derive(Deserialize)]
struct RegistrationResponse {
    client_id: String,
    #[serde(default)]
    client_secret: Option<String>,
    #[serde(default)]
    token_endpoint_auth_method: Option<TokenAuthMethod>,
}
