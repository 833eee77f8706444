//! Gates: the extractor that finds out who is calling and lets only that kind through.
//! It is the first argument of every handler, so that it runs before path, query and body.

use std::{net::IpAddr, time::Instant};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, header, request::Parts},
};
use guildhall_domain::{
    approvals::refuse_other_requester,
    callers::{AnyCaller, ForAgent, Gate, OwnerDecider, OwnerHere},
    ids::AgentId,
};
use guildhall_hall::callers::{CredentialHeader, PeerIdentity, RequestCredentials};

use crate::{
    approval_headers::SERVICE_APPROVAL,
    cookies,
    errors::{ApiError, internal},
    idempotency::AskingAuthor,
    listener, origin,
    path_ids::first_id,
    state::ServerState,
};

/// The header that carries an agent's token. Source: spec, "Authentication".
pub const SERVICE_AGENT: HeaderName = HeaderName::from_static("x-service-agent");

/// A caller that passed the gate `G`.
pub struct By<G>(pub G);

impl<G: Gate> FromRequestParts<ServerState> for By<G> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, ApiError> {
        let caller = state
            .hall
            .caller(&request_credentials(parts, state)?)
            .await?;
        let gate = G::admit(caller)?;
        if let Some(agent) = caller.agent()
            && !parts.method.is_safe()
        {
            state.rate_limit.take(agent, Instant::now())?;
        }
        parts.extensions.insert(AskingAuthor(caller.author));
        Ok(Self(gate))
    }
}

/// A caller that may ask about the agent its path begins with. Whether it may is said before
/// the body is read, and before anything is said about that agent.
pub struct ByForAgent(pub ForAgent);

impl FromRequestParts<ServerState> for ByForAgent {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, ApiError> {
        let By(by) = By::<AnyCaller>::from_request_parts(parts, state).await?;
        let agent: AgentId = first_id(parts, state).await?;
        Ok(Self(ForAgent::admit(&by, agent)?))
    }
}

/// A caller that may name files. Whether it may name any at all is said before query and body are
/// read; how far it reaches, when one is.
pub struct ByFileAccess(pub AnyCaller);

impl FromRequestParts<ServerState> for ByFileAccess {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, ApiError> {
        let By(by) = By::from_request_parts(parts, state).await?;
        state.hall.require_file_access(&by).await?;
        Ok(Self(by))
    }
}

/// The owner who decides on what others ask for: it shows no token of an approval, because who
/// asks does not decide. Source: contract 4.5, "Check on grant and deny", row 2.
pub struct ByOwnerDecider(pub OwnerDecider);

impl FromRequestParts<ServerState> for ByOwnerDecider {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, ApiError> {
        let caller = state
            .hall
            .caller(&request_credentials(parts, state)?)
            .await?;
        let shows_token = parts.headers.contains_key(&SERVICE_APPROVAL);
        refuse_other_requester(&caller, shows_token)?;
        let By(gate) = By::from_request_parts(parts, state).await?;
        Ok(Self(gate))
    }
}

/// The owner at this computer itself. Source: contract 7.1.
pub struct ByOwnerHere(pub OwnerHere);

impl FromRequestParts<ServerState> for ByOwnerHere {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, ApiError> {
        let caller = state
            .hall
            .caller(&request_credentials(parts, state)?)
            .await?;
        Ok(Self(OwnerHere::admit(caller, is_here(parts))?))
    }
}

/// Whether a request comes from this computer, to a name of its own, and by way of nobody.
///
/// Source: contract 1.5, owner-here.
pub fn is_here(parts: &Parts) -> bool {
    let peer = parts.extensions.get::<listener::ConnectionPeer>();
    let host = parts.headers.get(header::HOST);
    let is_own_name = host
        .and_then(|host| host.to_str().ok())
        .is_some_and(|host| origin::host_allowed(host, &origin::AllowedSources::default()));
    peer.is_some_and(listener::ConnectionPeer::is_loopback)
        && is_own_name
        && !is_forwarded(&parts.headers)
}

/// Whether a proxy says that it stands between.
fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| {
        let name = name.as_str();
        matches!(name, "forwarded" | "x-real-ip" | "via") || name.starts_with("x-forwarded-")
    })
}

/// What a request shows of its caller.
///
/// # Errors
/// Our own fault when the listener said nothing about the connection.
pub fn request_credentials(
    parts: &Parts,
    state: &ServerState,
) -> Result<RequestCredentials, ApiError> {
    let peer = peer(parts)?;
    Ok(RequestCredentials {
        peer: PeerIdentity::of(peer.word),
        service_agent: credential_header(&parts.headers, &SERVICE_AGENT),
        authorization: credential_header(&parts.headers, &header::AUTHORIZATION),
        cookies: cookies::sign_in_cookies(&parts.headers, state.about.port),
        trusted: cookies::trusted_browser_cookies(&parts.headers, state.about.port),
    })
}

/// Where somebody guesses a password or setup code from, who is no agent; it runs before the body
/// is read.
pub struct AttemptAddress(pub IpAddr);

impl FromRequestParts<ServerState> for AttemptAddress {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, ApiError> {
        state
            .hall
            .require_may_sign_in(&request_credentials(parts, state)?)
            .await?;
        Ok(Self(peer(parts)?.addr.ip()))
    }
}

/// The other end of the request's connection.
fn peer(parts: &Parts) -> Result<&listener::ConnectionPeer, ApiError> {
    parts.extensions.get().ok_or_else(internal)
}

/// One credential header: there once as text, or unreadable, or absent; never two of them.
fn credential_header(headers: &HeaderMap, name: &HeaderName) -> CredentialHeader {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => CredentialHeader::Absent,
        (Some(value), None) => match value.to_str() {
            Ok(text) if !text.trim().is_empty() => CredentialHeader::Text(text.trim().to_owned()),
            Ok(_) | Err(_) => CredentialHeader::Unreadable,
        },
        (Some(_), Some(_)) => CredentialHeader::Unreadable,
    }
}
