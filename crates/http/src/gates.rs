//! Gates: the extractor that finds out who is calling and lets only that kind through.
//! It is the first argument of every handler, so that it runs before path, query and body.

use std::time::Instant;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, header, request::Parts},
};
use guildhall_domain::callers::Gate;
use guildhall_hall::callers::{Approach, Peer, Shown};

use crate::{
    errors::{ApiError, internal},
    listener,
    repeats::Asking,
    state::State,
};

/// The header that carries an agent's token. Source: spec, "Authentication".
pub const SERVICE_AGENT: HeaderName = HeaderName::from_static("x-service-agent");

/// A caller that passed the gate `G`.
pub struct By<G>(pub G);

impl<G: Gate> FromRequestParts<State> for By<G> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, ApiError> {
        let caller = state.hall.caller(&approach(parts)?).await?;
        let gate = G::admit(caller)?;
        if let Some(agent) = caller.agent()
            && !parts.method.is_safe()
        {
            state.rate_limit.take(agent, Instant::now())?;
        }
        parts.extensions.insert(Asking(caller.author));
        Ok(Self(gate))
    }
}

/// What a request shows of its caller.
///
/// # Errors
/// Our own fault when the listener said nothing about the connection.
pub fn approach(parts: &Parts) -> Result<Approach, ApiError> {
    let peer = parts
        .extensions
        .get::<listener::Peer>()
        .ok_or_else(internal)?;
    Ok(Approach {
        peer: Peer::of(peer.is_loopback(), peer.word),
        service_agent: shown(&parts.headers, &SERVICE_AGENT),
        authorization: shown(&parts.headers, &header::AUTHORIZATION),
    })
}

/// One credential header: there once as text, or unreadable, or absent; never two of them.
fn shown(headers: &HeaderMap, name: &HeaderName) -> Shown {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Shown::Absent,
        (Some(value), None) => match value.to_str() {
            Ok(text) if !text.trim().is_empty() => Shown::Text(text.trim().to_owned()),
            Ok(_) | Err(_) => Shown::Unreadable,
        },
        (Some(_), Some(_)) => Shown::Unreadable,
    }
}
