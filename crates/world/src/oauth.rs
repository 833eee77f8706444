//! OAuth: what goes over the wire when somebody signs in with a tool server or a connector. Asks
//! only where `domain::mcp_signins` lets it, follows no redirect, and bounds what it reads. Which
//! sign-ins there are, and where tokens are kept, is `hall::mcp_signins` and `hall::connectors`.
//! Source: contract 4.8, 5.4.

mod authorization_request;
mod connector_authorization;
mod device_grant;
mod discovery;
mod token_requests;

use std::{net::IpAddr, time::Duration};

use bytes::Bytes;
use guildhall_domain::{
    limits::{OAUTH_BODY_BYTES_MAX, OAUTH_WAIT_S},
    mcp_signins::{AddressReach, SigninFailure, address_policy::may_be_a_guildhall},
};
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, USER_AGENT},
};
use tokio::{net::lookup_host, time::timeout};
use url::{Host, Origin, Url};

pub use self::{
    authorization_request::{IssuerClient, PreparedAuthorization, SigninClientOptions},
    connector_authorization::{
        AuthorizationServerSource, ConnectorClientOptions, PreparationError, PreparedTokenEndpoint,
    },
    device_grant::{DeviceCodeResponse, DevicePollResult},
    discovery::DiscoveryResult,
    token_requests::{
        CodeExchangeError, IssuedTokens, OauthClient, Pkce, RefreshError, TokenEndpointAccess,
        authorization_url, pkce,
    },
};
use crate::http_client::{HttpClient, read};

/// What is said of us.
const AGENT: &str = concat!("guildhall/", env!("CARGO_PKG_VERSION"));

/// A request that got no answer.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
struct OauthRequestError {
    why: SigninFailure,
    /// What happened, for the log. It holds nothing of what was asked.
    cause: String,
}

impl From<SigninFailure> for OauthRequestError {
    fn from(why: SigninFailure) -> Self {
        Self {
            why,
            cause: why.code().to_owned(),
        }
    }
}

/// A conversation about signing in with one server, no further away than that server.
#[derive(Debug)]
pub struct OauthHttpClient {
    outgoing: HttpClient,
    reach: AddressReach,
    /// Where the server is that a person named.
    server: Origin,
}

impl OauthHttpClient {
    /// Finds out how far the server is away.
    ///
    /// # Errors
    /// [`SigninFailure::Unreachable`] when its name is unknown; [`SigninFailure::InsecureAddress`] for an
    /// address nobody may be sent to.
    pub async fn for_server(outgoing: &HttpClient, server: &Url) -> Result<Self, SigninFailure> {
        let addresses: Vec<IpAddr> = match server.host() {
            Some(Host::Ipv4(ip)) => vec![ip.into()],
            Some(Host::Ipv6(ip)) => vec![ip.into()],
            Some(Host::Domain(name)) => {
                let port = server.port_or_known_default().unwrap_or(443);
                let looking = timeout(wait(), lookup_host((name, port))).await;
                let found = looking.map_err(|_| SigninFailure::Unreachable)?;
                let found = found.map_err(|_| SigninFailure::Unreachable)?;
                found.map(|address| address.ip()).collect()
            }
            None => Vec::new(),
        };
        let reach = AddressReach::of(&addresses).ok_or(SigninFailure::InsecureAddress)?;
        reach.check(server)?;
        Ok(Self {
            outgoing: outgoing.within_reach(reach),
            reach,
            server: server.origin(),
        })
    }

    /// Holds an address that a browser will be sent to against the rules of those we ask.
    ///
    /// # Errors
    /// [`SigninFailure::InsecureAddress`], [`SigninFailure::NoSigninSupport`] for what is none.
    pub fn checked(&self, address: &str) -> Result<Url, SigninFailure> {
        let url = Url::parse(address).map_err(|_| SigninFailure::NoSigninSupport)?;
        self.require_allowed(&url)?;
        Ok(url)
    }

    /// What a server says of others leads neither further away than it is, nor to a guildhall.
    fn require_allowed(&self, url: &Url) -> Result<(), SigninFailure> {
        self.reach.check(url)?;
        match may_be_a_guildhall(url) && url.origin() != self.server {
            true => Err(SigninFailure::InsecureAddress),
            false => Ok(()),
        }
    }

    /// The whole answer to one request.
    pub(crate) async fn ask(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<Vec<u8>>, SigninFailure> {
        self.answer(request).await.map_err(|error| error.why)
    }

    /// The same, and what happened where there is none.
    async fn answer(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<Vec<u8>>, OauthRequestError> {
        let url =
            Url::parse(&request.uri().to_string()).map_err(|_| SigninFailure::InsecureAddress)?;
        self.require_allowed(&url)?;
        let asking = async {
            let answer = self.outgoing.send_once(request).await?;
            let (head, body) = answer.into_parts();
            let body = read(body, OAUTH_BODY_BYTES_MAX).await?;
            Ok::<_, crate::http_client::HttpClientError>(Response::from_parts(head, body))
        };
        let unanswered = |cause: String| OauthRequestError {
            why: SigninFailure::Unreachable,
            cause,
        };
        let answer = timeout(wait(), asking).await;
        let answer = answer.map_err(|_| unanswered("it did not answer in time".to_owned()))?;
        answer.map_err(|error| unanswered(error.to_string()))
    }

    /// The JSON at an address; `None` where there is none.
    async fn json(&self, url: &Url) -> Result<Option<Vec<u8>>, SigninFailure> {
        let answer = self.ask(request(Method::GET, url, Bytes::new())?).await?;
        Ok((answer.status() == StatusCode::OK).then(|| answer.into_body()))
    }
}

fn wait() -> Duration {
    Duration::from_secs(OAUTH_WAIT_S)
}

pub(crate) fn request(
    method: Method,
    url: &Url,
    body: Bytes,
) -> Result<Request<Bytes>, SigninFailure> {
    let mut request = Request::builder()
        .method(method)
        .uri(url.as_str())
        .header(USER_AGENT, HeaderValue::from_static(AGENT))
        .header(ACCEPT, HeaderValue::from_static("application/json"));
    if !body.is_empty() {
        request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    request
        .body(body)
        .map_err(|_| SigninFailure::InsecureAddress)
}
