//! The service behind its listener: where a request comes from, and how many run at one moment.
//! Sockets, deadlines and bounds are `guildhall_listener`'s, the same as the server's.

use std::{
    convert::Infallible,
    net::{IpAddr, Ipv4Addr},
    panic::AssertUnwindSafe,
    sync::Arc,
};

use axum::{
    Router,
    body::Body,
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use guildhall_domain::trusted_proxies::TrustedProxies;
use guildhall_listener::{
    Admission, Application, Connection, Forwarded, InFlight, Limits, Rejection, with_close,
};
use http::{Request, request::Parts};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tower::Service;

use crate::problems::Problem;

/// Whose word on where a request comes from counts: a proxy on this computer.
const TRUSTED_PROXIES: [&str; 2] = ["127.0.0.0/8", "::1"];
/// Where everybody who asks has shown the key of an instance before a body is read.
const WITH_A_KEY: &str = "/v1/";

/// Serves until `stop`, then lets what runs come to its end within its grace.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: impl Future<Output = ()>,
) {
    let service = CompanionApplication {
        router,
        // Both are networks.
        trusted: TrustedProxies::parse(TRUSTED_PROXIES).unwrap_or_default(),
        in_flight: Arc::new(InFlight::new(limits.requests_in_flight_max)),
    };
    guildhall_listener::serve(service, limits, vec![listener], stop).await;
}

struct CompanionApplication {
    router: Router,
    trusted: TrustedProxies,
    in_flight: Arc<InFlight>,
}

impl Application for CompanionApplication {
    type Peer = IpAddr;
    type Body = Body;

    fn connected(&self, connection: Arc<Connection>) -> IpAddr {
        connection.peer().ip().to_canonical()
    }

    async fn answer(&self, peer: &IpAddr, mut request: Request<Incoming>) -> Response {
        let forwarded = Forwarded::read(request.headers(), *peer, &self.trusted);
        let source = forwarded.and_then(|forwarded| forwarded.client);
        let source = source.unwrap_or(*peer);
        request.extensions_mut().insert(ClientAddress(source));
        let admission = Admission {
            from: source,
            is_open: !request.uri().path().starts_with(WITH_A_KEY),
            is_passed_on: false,
        };
        let run = self.in_flight.run(request, admission, |request, place| {
            let routed = self.router.clone().call(request.map(Body::new));
            async move {
                let _place = place;
                // Nothing of a panicked request is used again, so its broken state is not seen.
                let answered = AssertUnwindSafe(routed).catch_unwind().await;
                answered
                    .ok()
                    .map(|answered: Result<_, Infallible>| match answered {
                        Ok(response) => response,
                        Err(never) => match never {},
                    })
            }
        });
        run.await
            .unwrap_or_else(|rejection| with_close(Problem::from(rejection).into_response()))
    }

    fn rejection(&self, rejection: Rejection) -> Vec<u8> {
        Problem::from(rejection).to_raw_response()
    }
}

/// Where a request comes from: the address that wrong guesses count against.
///
/// A proxy on this computer is believed whom it speaks for; anybody else's word is worth nothing,
/// since it would let everyone guess under ever new addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

impl<S: Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let source = parts.extensions.get().copied();
        Ok(source.unwrap_or(Self(Ipv4Addr::UNSPECIFIED.into())))
    }
}

#[cfg(test)]
#[path = "listener_tests.rs"]
mod tests;
