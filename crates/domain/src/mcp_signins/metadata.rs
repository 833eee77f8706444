//! Metadata: where a tool server and its authorization server say how to sign in, and what of it
//! is believed. Source: RFC 9728, RFC 8414, OpenID Connect Discovery; contract 4.8, "discovery".

use serde::{Deserialize, Serialize};
use url::Url;

use super::SigninFailure;

/// What a server says to a request without a token. Source: RFC 9728 §5.1, RFC 6750 §3.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthChallenge {
    /// Where its metadata is.
    pub resource_metadata: Option<String>,
    /// Which scope it wants.
    pub scope: Option<String>,
}

impl AuthChallenge {
    /// Reads the parameters of a `WWW-Authenticate` header; those of other schemes than
    /// `Bearer` do not count.
    pub fn read(header: &str) -> Self {
        let mut challenge = Self::default();
        let mut rest = header.trim();
        let mut is_bearer = false;
        while !rest.is_empty() {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            let end = rest
                .find(|c: char| c.is_whitespace() || c == ',' || c == '=')
                .unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let Some(value) = after.trim_start().strip_prefix('=') else {
                is_bearer = word.eq_ignore_ascii_case("bearer");
                rest = after;
                continue;
            };
            let (value, after) = value_of(value.trim_start());
            rest = after;
            if is_bearer && word.eq_ignore_ascii_case("resource_metadata") {
                challenge.resource_metadata.get_or_insert(value);
            } else if is_bearer && word.eq_ignore_ascii_case("scope") {
                challenge.scope.get_or_insert(value);
            }
        }
        challenge
    }
}

/// A token or quoted string, and what follows it.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return (value.to_owned(), rest);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, quoted.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    (value, "")
}

/// What a tool server says of itself. Source: RFC 9728 §2.
#[derive(Clone, Debug, Deserialize)]
pub struct ProtectedResourceMetadata {
    /// Its own address.
    pub resource: String,
    /// Who gives tokens for it.
    #[serde(default)]
    pub authorization_servers: Vec<String>,
    /// Which scopes there are.
    #[serde(default)]
    pub scopes_supported: Vec<String>,
}

/// What an authorization server says of itself. Source: RFC 8414 §2.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct AuthorizationServerMetadata {
    /// Who it is.
    pub issuer: String,
    /// Where a person goes.
    #[serde(default)]
    pub authorization_endpoint: String,
    /// Where a code becomes a token.
    #[serde(default)]
    pub token_endpoint: String,
    /// Where clients register themselves.
    #[serde(default)]
    pub registration_endpoint: Option<String>,
    /// Where tokens are given back.
    #[serde(default)]
    pub revocation_endpoint: Option<String>,
    /// Where a device asks for a code that a person types elsewhere (RFC 8628 §4).
    #[serde(default)]
    pub device_authorization_endpoint: Option<String>,
    /// Which kinds of PKCE it takes; `None` when it does not say.
    #[serde(default)]
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// How clients show themselves; `None` when it does not say.
    #[serde(default)]
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// Which scopes there are.
    #[serde(default)]
    pub scopes_supported: Vec<String>,
    /// Whether its answers say who it is (RFC 9207).
    #[serde(default)]
    pub authorization_response_iss_parameter_supported: bool,
    /// Whether a client's id may be the address of its own metadata.
    #[serde(default)]
    pub client_id_metadata_document_supported: bool,
}

impl AuthorizationServerMetadata {
    /// What an authorization server is taken for that says nothing: the places that revision
    /// 2025-03-26 of MCP names, at the origin of the tool server.
    pub fn fallback(origin: &Url) -> Option<Self> {
        let at = |path: &str| Some(origin.join(path).ok()?.to_string());
        Some(Self {
            issuer: origin.origin().ascii_serialization(),
            authorization_endpoint: at("/authorize")?,
            token_endpoint: at("/token")?,
            registration_endpoint: at("/register"),
            revocation_endpoint: None,
            device_authorization_endpoint: None,
            code_challenge_methods_supported: Some(vec![S256.to_owned()]),
            token_endpoint_auth_methods_supported: None,
            scopes_supported: Vec::new(),
            authorization_response_iss_parameter_supported: false,
            client_id_metadata_document_supported: false,
        })
    }

    /// Whether it can be used at all.
    ///
    /// # Errors
    /// [`SigninFailure::PkceUnsupported`] unless it says that it takes S256;
    /// [`SigninFailure::NoSigninSupport`] without its two places.
    pub fn check(&self) -> Result<(), SigninFailure> {
        if self.authorization_endpoint.is_empty() || self.token_endpoint.is_empty() {
            return Err(SigninFailure::NoSigninSupport);
        }
        let methods = self.code_challenge_methods_supported.iter().flatten();
        match methods.into_iter().any(|method| method == S256) {
            true => Ok(()),
            false => Err(SigninFailure::PkceUnsupported),
        }
    }

    /// How a client without a secret of its own shows itself, where it may choose.
    pub fn auth_method(&self, has_secret: bool) -> TokenAuthMethod {
        let Some(methods) = &self.token_endpoint_auth_methods_supported else {
            return match has_secret {
                true => TokenAuthMethod::Basic,
                false => TokenAuthMethod::None,
            };
        };
        let takes = |method: TokenAuthMethod| methods.iter().any(|word| word == method.as_str());
        match has_secret {
            false => TokenAuthMethod::None,
            true if takes(TokenAuthMethod::Basic) || !takes(TokenAuthMethod::Post) => {
                TokenAuthMethod::Basic
            }
            true => TokenAuthMethod::Post,
        }
    }

    /// The ways in which a client may show itself that has yet to register: without a secret,
    /// where that is taken.
    pub fn registration_auth_method(&self) -> TokenAuthMethod {
        let Some(methods) = &self.token_endpoint_auth_methods_supported else {
            return TokenAuthMethod::None;
        };
        let order = [
            TokenAuthMethod::None,
            TokenAuthMethod::Basic,
            TokenAuthMethod::Post,
        ];
        let taken = |method: &TokenAuthMethod| methods.iter().any(|word| word == method.as_str());
        order
            .into_iter()
            .find(taken)
            .unwrap_or(TokenAuthMethod::None)
    }
}

/// The one kind of PKCE that is used (RFC 7636 §4.2).
pub const S256: &str = "S256";

/// How a client shows itself where tokens are given. Source: RFC 7591 §2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenAuthMethod {
    /// By its id alone.
    #[serde(rename = "none")]
    None,
    /// By its secret in a header.
    #[serde(rename = "client_secret_basic")]
    Basic,
    /// By its secret in the body.
    #[serde(rename = "client_secret_post")]
    Post,
}

impl TokenAuthMethod {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }
}

/// Where a tool server's metadata is looked for when it does not say: below its own path first.
pub fn resource_metadata_urls(server: &Url) -> Vec<Url> {
    places(server, "oauth-protected-resource")
}

/// Where an authorization server's metadata is looked for, in this order.
pub fn issuer_metadata_urls(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/openid-configuration"));
    }
    paths
        .iter()
        .filter_map(|path| with_path(issuer, path))
        .collect()
}

fn places(server: &Url, word: &str) -> Vec<Url> {
    let path = server.path().trim_end_matches('/');
    let own = format!("/.well-known/{word}{path}");
    let root = format!("/.well-known/{word}");
    let mut places: Vec<Url> = [own, root]
        .iter()
        .filter_map(|path| with_path(server, path))
        .collect();
    places.dedup();
    places
}

fn with_path(base: &Url, path: &str) -> Option<Url> {
    let mut url = base.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.set_path(path);
    (url.host_str() == base.host_str()).then_some(url)
}

/// Whether metadata of `resource` is that of the server at `server`: its own address, or one
/// that its path lies below.
pub fn is_of(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let theirs = resource.path().trim_end_matches('/');
    let ours = server.path().trim_end_matches('/');
    let is_below = ours
        .strip_prefix(theirs)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_same_query = resource.query().is_none() || resource.query() == server.query();
    resource.origin() == server.origin() && is_below && is_same_query
}

/// Whether `issuer` lies at the origin of the server at `server`: there, the server itself says
/// who it is.
pub fn is_at_origin(issuer: &str, server: &Url) -> bool {
    Url::parse(issuer).is_ok_and(|issuer| issuer.origin() == server.origin())
}

/// Whether two texts name one issuer: a slash at the end makes no difference.
pub fn is_same_issuer(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}
