//! Previews: dev servers, each on a port of this server's own, shown to whoever has the address.
//! Which are open is `hall::workbench::previews`; here is what goes through. Source: contract 6.9.

mod error_pages;
mod header_rewrite;
mod proxy;
mod websocket_upgrades;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    http::{HeaderMap, HeaderName, Method, StatusCode},
};
use guildhall_domain::limits;
use guildhall_hall::{
    Hall,
    dev_server::DevServerClient,
    peer_lookup::PeerLookup,
    workbench::previews::{NewPreview, Preview},
};

use crate::{
    guards::Guards,
    listener::{Limits, Listener, ListenerMetrics},
};

use proxy::PreviewProxy;

/// The parameter that brings the token of an address.
pub const PARAMETER: &str = "__guildhall_preview";

/// How an installation's name in `Via` begins.
const STATION: &str = "guildhall-";
/// Lets a browser clear what an origin left with it.
const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// Whether a request came through a preview, of this installation or another one.
pub fn came_through_a_preview(headers: &HeaderMap) -> bool {
    header_rewrite::came_through_any(headers)
}

/// The bounds of a preview: few connections, and none is waited for at the end.
const LIMITS: Limits = Limits {
    connections_max: limits::PREVIEW_SOCKETS_MAX,
    requests_in_flight_max: limits::PREVIEW_SOCKETS_MAX,
    shutdown_grace: Duration::ZERO,
    ..Limits::DEFAULT
};

/// Serves a preview that was opened just now, until it ends; `guards` are the server's own.
pub fn serve(hall: &Hall, guards: Guards, opened: NewPreview) {
    let NewPreview { listeners, preview } = opened;
    let proxy = Arc::new(PreviewProxy {
        hall: hall.clone(),
        preview: Arc::clone(&preview),
        upstream: DevServerClient::new(preview.port()),
        own_name: format!("{STATION}{}", hall.log_id()),
    });
    let listener = Listener {
        router: Router::new().fallback(proxy::answer).with_state(proxy),
        guards: guards.for_preview(preview.listen_port()),
        limits: LIMITS,
        // The token decides, whoever shows it.
        peers: PeerLookup::Off,
        metrics: Arc::new(PreviewMetrics(Arc::clone(&preview))),
        tasks: hall.tasks().clone(),
    };
    let ends = hall.clone();
    hall.run_preview(Arc::clone(&preview), async move {
        listener
            .serve(listeners, ends.preview_ending(&preview))
            .await;
    });
}

/// Tells a preview of its connections.
struct PreviewMetrics(Arc<Preview>);

impl ListenerMetrics for PreviewMetrics {
    fn connections(&self, open: usize) {
        self.0.set_open_sockets(open);
    }

    fn answered(&self, _method: &Method, _status: StatusCode, _took: Duration) {}

    fn tidy(&self) {}
}
