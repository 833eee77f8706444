//! State: what every handler is handed.

use std::sync::Arc;

use axum::extract::FromRef;
use guildhall_hall::Hall;
use guildhall_wire::health::PeerCheck;

use crate::{guards::Guards, idempotency::RunningKeys, metrics::Metrics, rate_limit::RateLimit};

/// What the routes of one server share.
#[derive(Clone)]
pub struct ServerState {
    /// What one can do.
    pub hall: Hall,
    /// What this server is.
    pub about: Arc<AboutServer>,
    /// Where answers are counted.
    pub metrics: Arc<Metrics>,
    /// How often agents may ask for changes.
    pub rate_limit: Arc<RateLimit>,
    /// What requests pass before they come here; those of previews as well.
    pub guards: Guards,
    /// The posts with an idempotency key that are being answered now.
    pub running: Arc<RunningKeys>,
}

/// What a server says of itself; without `Debug`, because it holds a secret.
#[derive(Clone)]
pub struct AboutServer {
    /// Its version.
    pub version: String,
    /// The port it listens on, which names its cookie.
    pub port: u16,
    /// Whether the kernel is asked about connections.
    pub peer_check: PeerCheck,
    /// The bearer token that opens `/metrics` beside the owner, if one is configured.
    pub metrics_token: Option<String>,
}

impl FromRef<ServerState> for Hall {
    fn from_ref(state: &ServerState) -> Self {
        state.hall.clone()
    }
}
