//! Tokens: sending a person to an authorization server, and exchanging, refreshing and giving
//! back what comes of it. Source: RFC 6749, 7636, 8707, 7009.

use std::pin::Pin;

use bytes::Bytes;
use guildhall_domain::{
    Fault,
    mcp_signins::{
        SigninFailure,
        metadata::{AuthorizationServerMetadata, TokenAuthMethod},
    },
};
use http::{
    HeaderValue, Method, Request,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use oauth2::{
    AsyncHttpClient, AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken,
    EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, PkceCodeChallenge, PkceCodeVerifier,
    RedirectUrl, RefreshToken, RequestTokenError, Scope, TokenResponse, TokenUrl,
    basic::{BasicClient, BasicErrorResponse, BasicErrorResponseType, BasicTokenResponse},
};
use serde::{Deserialize, Serialize};
use url::{Url, form_urlencoded};

use super::{OauthHttpClient, OauthRequestError, request};
use crate::secret_tokens;

/// A client at an authorization server. Without `Debug`, because it holds a secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct OauthClient {
    /// Its id.
    pub id: String,
    /// Its secret, where it has one.
    pub secret: Option<String>,
    /// How it shows itself.
    pub method: TokenAuthMethod,
}

/// Who may be asked for tokens, and for what. Without `Debug`, because it holds a secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct TokenEndpointAccess {
    /// Who asks.
    pub client: OauthClient,
    /// Where codes and refresh tokens become tokens.
    pub token_endpoint: String,
    /// Where tokens are given back.
    pub revocation_endpoint: Option<String>,
    /// What the tokens are for; `None` where the service does not want to be told.
    pub resource: Option<String>,
}

/// What came of a code or a refresh token. Without `Debug`, because it is secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct IssuedTokens {
    /// What the server is shown.
    pub access: String,
    /// What buys the next one.
    pub refresh: Option<String>,
    /// In how many seconds it ends.
    pub expires_in_s: Option<u64>,
}

/// Why there is no new token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefreshError {
    /// The refresh token counts no more.
    Rejected,
    /// Nobody answered, or not well: it may count still.
    Unreachable,
}

/// The two halves of a proof key (RFC 7636). Without `Debug`, because one is secret.
pub struct Pkce {
    /// What is kept.
    pub verifier: String,
    /// What is sent before.
    pub challenge: String,
}

/// A new proof key, by S256.
///
/// # Errors
/// A fault when the machine gives no randomness.
pub fn pkce() -> Result<Pkce, Fault> {
    let verifier = PkceCodeVerifier::new(secret_tokens::mint("")?.reveal());
    let challenge = PkceCodeChallenge::from_code_verifier_sha256(&verifier);
    Ok(Pkce {
        verifier: verifier.into_secret(),
        challenge: challenge.as_str().to_owned(),
    })
}

/// Where a person is sent.
///
/// # Errors
/// [`SigninFailure::NoSigninSupport`] when the authorization server's address is none.
pub fn authorization_url(
    metadata: &AuthorizationServerMetadata,
    client: &OauthClient,
    (redirect_uri, state): (&str, &str),
    pkce: &Pkce,
    (resource, scope): (Option<&str>, Option<&str>),
) -> Result<Url, SigninFailure> {
    let none = |_| SigninFailure::NoSigninSupport;
    let verifier = PkceCodeVerifier::new(pkce.verifier.clone());
    let authorization = AuthUrl::new(metadata.authorization_endpoint.clone()).map_err(none)?;
    let back = RedirectUrl::new(redirect_uri.to_owned()).map_err(none)?;
    let basic = BasicClient::new(ClientId::new(client.id.clone()))
        .set_auth_uri(authorization)
        .set_redirect_uri(back);
    let state = state.to_owned();
    let mut asked = basic
        .authorize_url(|| CsrfToken::new(state))
        .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
    if let Some(resource) = resource {
        asked = asked.add_extra_param("resource", resource.to_owned());
    }
    for word in scope.unwrap_or_default().split(' ') {
        if !word.is_empty() {
            asked = asked.add_scope(Scope::new(word.to_owned()));
        }
    }
    // OpenID providers give no refresh token to a client for which nobody is asked.
    if scope.is_some_and(|scope| scope.split(' ').any(|word| word == "offline_access")) {
        asked = asked.add_extra_param("prompt", "consent");
    }
    Ok(asked.url().0)
}

type TokenClient =
    BasicClient<EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

fn client_of(access: &TokenEndpointAccess) -> Result<TokenClient, SigninFailure> {
    let endpoint = TokenUrl::new(access.token_endpoint.clone());
    let endpoint = endpoint.map_err(|_| SigninFailure::ExchangeFailed)?;
    let mut client = BasicClient::new(ClientId::new(access.client.id.clone()));
    if let Some(secret) = &access.client.secret {
        client = client.set_client_secret(ClientSecret::new(secret.clone()));
    }
    let by = match access.client.method {
        TokenAuthMethod::Basic => AuthType::BasicAuth,
        TokenAuthMethod::None | TokenAuthMethod::Post => AuthType::RequestBody,
    };
    Ok(client.set_auth_type(by).set_token_uri(endpoint))
}

/// A failure as the crate wants it.
#[derive(Debug, thiserror::Error)]
#[error("it could not be asked: {0}")]
pub struct OauthTransportError(OauthRequestError);

type TokenError = RequestTokenError<OauthTransportError, BasicErrorResponse>;

/// Why a code bought no token, for the log: it holds nothing that was sent, and of what was
/// answered the word of the error alone.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CodeExchangeError(String);

impl From<TokenError> for CodeExchangeError {
    fn from(error: TokenError) -> Self {
        /// Characters of a word that are told.
        const WORD_CHARS_MAX: usize = 60;
        Self(match error {
            RequestTokenError::Request(error) => error.to_string(),
            RequestTokenError::ServerResponse(told) => {
                let word = told.error().to_string();
                let shown = word.chars().filter(|c| !c.is_control());
                let word: String = shown.take(WORD_CHARS_MAX).collect();
                format!("it answered with the error {word:?}")
            }
            RequestTokenError::Parse(..) => "its answer is no token".to_owned(),
            RequestTokenError::Other(_) => "its answer is empty, or no JSON".to_owned(),
        })
    }
}

impl From<SigninFailure> for CodeExchangeError {
    fn from(why: SigninFailure) -> Self {
        Self(why.code().to_owned())
    }
}

impl OauthHttpClient {
    /// Exchanges the code of an answer for tokens.
    ///
    /// # Errors
    /// [`CodeExchangeError`]: for people that is [`SigninFailure::ExchangeFailed`].
    pub async fn exchange(
        &self,
        access: &TokenEndpointAccess,
        (code, verifier): (&str, &str),
        redirect_uri: &str,
    ) -> Result<IssuedTokens, CodeExchangeError> {
        let back = RedirectUrl::new(redirect_uri.to_owned());
        let back = back.map_err(|_| CodeExchangeError("our own address is none".to_owned()))?;
        let client = client_of(access)?.set_redirect_uri(back);
        let mut asked = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .set_pkce_verifier(PkceCodeVerifier::new(verifier.to_owned()));
        if let Some(resource) = &access.resource {
            asked = asked.add_extra_param("resource", resource.clone());
        }
        let told: Result<BasicTokenResponse, TokenError> = asked.request_async(self).await;
        Ok(tokens_of(&told?))
    }

    /// Buys new tokens.
    ///
    /// # Errors
    /// See [`RefreshError`].
    pub async fn refresh(
        &self,
        access: &TokenEndpointAccess,
        refresh: &str,
    ) -> Result<IssuedTokens, RefreshError> {
        let client = client_of(access).map_err(|_| RefreshError::Rejected)?;
        let refresh = RefreshToken::new(refresh.to_owned());
        let mut asked = client.exchange_refresh_token(&refresh);
        if let Some(resource) = &access.resource {
            asked = asked.add_extra_param("resource", resource.clone());
        }
        let told: Result<BasicTokenResponse, TokenError> = asked.request_async(self).await;
        match told {
            Ok(told) => Ok(tokens_of(&told)),
            Err(RequestTokenError::ServerResponse(error)) => match error.error() {
                // A server that is out of order says so in these words, too.
                BasicErrorResponseType::Extension(word)
                    if word == "temporarily_unavailable" || word == "server_error" =>
                {
                    Err(RefreshError::Unreachable)
                }
                _ => Err(RefreshError::Rejected),
            },
            Err(
                RequestTokenError::Request(_)
                | RequestTokenError::Parse(..)
                | RequestTokenError::Other(_),
            ) => Err(RefreshError::Unreachable),
        }
    }

    /// Gives a token back; what comes of it does not matter, since it is forgotten here already.
    ///
    /// # Errors
    /// Why nobody was told.
    ///
    /// Source: RFC 7009. The crate does that for https alone.
    pub async fn revoke(
        &self,
        access: &TokenEndpointAccess,
        token: &str,
    ) -> Result<(), SigninFailure> {
        let Some(endpoint) = &access.revocation_endpoint else {
            return Ok(());
        };
        let endpoint = self.checked(endpoint)?;
        let asked = form_of(&access.client, &endpoint, &[("token", token)])?;
        match self.ask(asked).await?.status().is_success() {
            true => Ok(()),
            false => Err(SigninFailure::Refused),
        }
    }
}

impl<'c> AsyncHttpClient<'c> for OauthHttpClient {
    type Error = OauthTransportError;
    type Future =
        Pin<Box<dyn Future<Output = Result<HttpResponse, OauthTransportError>> + Send + 'c>>;

    fn call(&'c self, asked: HttpRequest) -> Self::Future {
        Box::pin(async move {
            self.answer(asked.map(Bytes::from))
                .await
                .map_err(OauthTransportError)
        })
    }
}

pub(super) fn tokens_of(told: &BasicTokenResponse) -> IssuedTokens {
    IssuedTokens {
        access: told.access_token().secret().clone(),
        refresh: told.refresh_token().map(|token| token.secret().clone()),
        expires_in_s: told.expires_in().map(|left| left.as_secs()),
    }
}

/// A form of a client, which shows itself by a header or in the form, as it does.
pub(super) fn form_of(
    client: &OauthClient,
    endpoint: &Url,
    pairs: &[(&str, &str)],
) -> Result<Request<Bytes>, SigninFailure> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(pairs);
    let shown = match (client.method, &client.secret) {
        (TokenAuthMethod::Basic, Some(secret)) => Some(basic(&client.id, secret)),
        (_, secret) => {
            form.append_pair("client_id", &client.id);
            form.extend_pairs(secret.iter().map(|secret| ("client_secret", secret)));
            None
        }
    };
    let mut asked = request(Method::POST, endpoint, Bytes::from(form.finish()))?;
    let headers = asked.headers_mut();
    let media_type = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(CONTENT_TYPE, media_type);
    if let Some(Ok(mut value)) = shown.map(|text| HeaderValue::from_str(&text)) {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(asked)
}

fn basic(id: &str, secret: &str) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let encoded =
        |text: &str| -> String { form_urlencoded::byte_serialize(text.as_bytes()).collect() };
    let pair = format!("{}:{}", encoded(id), encoded(secret));
    format!("Basic {}", STANDARD.encode(pair))
}
