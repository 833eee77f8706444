//! The life of one line: its program is looked at and started, its tools are held against the
//! approved ones, and it is ended with the last who uses it.

use std::{
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use guildhall_domain::{limits, mcp_servers::PinComparison, mcp_tools};
use guildhall_world::{
    mcp::{
        self, ClientCallbacks, ConnectOptions, ConnectedServer, ConnectionDriver, McpError,
        RawNotifications, ServerTarget, ToolListing,
    },
    server_programs::ProgramStamps,
};
use tokio::{sync::watch, time::Instant};

use super::{
    ServerUnavailable, broken, disconnected, elicitation,
    mcp_connections::{CheckedListing, ConnectAttempt, McpConnection, PendingCalls, ServerKey},
};
use crate::{
    Hall,
    mcp_servers::{ConfiguredServer, Observation, ObservationOutcome},
};

/// How long connecting may take, and how long a list of tools.
const CONNECT_WAIT: Duration = Duration::from_secs(limits::MCP_CONNECT_WAIT_S);
/// How long a list of tools holds of a server that tells when it does not.
const FRESH: Duration = Duration::from_secs(limits::MCP_TOOLS_FRESH_S);

/// When a listing is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListingPolicy {
    /// In any case.
    Now,
    /// Unless the last one is known to hold.
    IfDue,
}

impl Hall {
    /// Opens a line in a task of its own, which lives as long as it.
    pub(super) fn start_connection(
        &self,
        entry: ConfiguredServer,
        key: ServerKey,
        starting: ConnectAttempt,
    ) {
        let hall = self.clone();
        self.tasks().spawn("tool server", self.now(), async move {
            hall.run_connection(entry, key, starting).await;
        });
    }

    async fn run_connection(
        self,
        entry: ConfiguredServer,
        key: ServerKey,
        starting: ConnectAttempt,
    ) {
        let ConnectAttempt {
            tell,
            cut,
            lifecycle,
        } = starting;
        let mut stopping = self.tasks().stopping();
        let greeting = ConnectOptions {
            lifecycle,
            within: CONNECT_WAIT,
        };
        let brought = tokio::select! {
            biased;
            closed = disconnected(cut.subscribe()) => Err(closed),
            () = is_true(&mut stopping) => Err(ServerUnavailable::new("STOPPING", "The server stops.")),
            brought = self.connect_and_check(&entry, &key, greeting) => brought,
        };
        let (parts, notices, running) = match brought {
            Ok(brought) => brought,
            Err(closed) => {
                self.inner.gateways.ended(&key, &cut);
                // Whoever waited may be gone.
                let _ = tell.send(Some(Err(closed)));
                return;
            }
        };
        let up = McpConnection {
            cut: Arc::clone(&cut),
            ..parts
        };
        if !self.inner.gateways.started(&key, &up) {
            up.client.stop();
        }
        let _ = tell.send(Some(Ok(up.clone())));
        self.supervise_connection(&entry, &up, notices, running)
            .await;
        self.inner.gateways.ended(&key, &cut);
    }

    /// Drives a line until it has ended; looks at the tools whenever the server says that they
    /// are others.
    async fn supervise_connection(
        &self,
        entry: &ConfiguredServer,
        up: &McpConnection,
        notices: RawNotifications,
        running: ConnectionDriver,
    ) {
        let mut stopping = self.tasks().stopping();
        let mut cut = pin!(disconnected(up.cut.subscribe()));
        let mut running = pin!(running);
        let mut looks = FuturesUnordered::new();
        let (mut is_listening, mut is_ending) = (true, false);
        // Every branch only waits: each future is kept from one look to the next.
        loop {
            tokio::select! {
                ended = &mut running => {
                    tracing::info!(
                        agent = %entry.agent.id, server = %entry.kept.server.name,
                        code = ended.code, "a tool server ended"
                    );
                    return;
                }
                notice = notices.next(), if is_listening => match notice {
                    Some(notice) if notice.is_tools_changed() && looks.is_empty() => {
                        looks.push(self.check_tools(entry, up, ListingPolicy::Now));
                    }
                    Some(_) => {}
                    None => is_listening = false,
                },
                // What came of it is noted and told.
                Some(_) = looks.next() => {}
                _ = &mut cut, if !is_ending => {
                    is_ending = true;
                    up.client.stop();
                }
                () = is_true(&mut stopping), if !is_ending => {
                    is_ending = true;
                    up.client.stop();
                }
            }
        }
    }

    /// Connects and looks at the tools for the first time.
    async fn connect_and_check(
        &self,
        entry: &ConfiguredServer,
        key: &ServerKey,
        greeting: ConnectOptions,
    ) -> Result<(McpConnection, RawNotifications, ConnectionDriver), ServerUnavailable> {
        let (target, seen) = self.connection_target(entry, key).await?;
        let askers = Arc::<PendingCalls>::default();
        let hooks = ClientCallbacks {
            root: Some(entry.agent.cwd.clone().into()),
            elicit: Some(elicitation::elicitation_handler(self, entry, &askers)),
        };
        let begun = Instant::now();
        let connected = mcp::connect(&target, hooks, greeting).await;
        let ConnectedServer {
            client,
            notices,
            mut running,
        } = match connected {
            Ok(connected) => connected,
            Err(error) => return Err(self.record_unreachable(entry, key, &error).await),
        };
        let up = McpConnection {
            client,
            bearer: target.bearer().cloned(),
            // The one that others cut it by is put in its place by whoever started it.
            cut: Arc::new(watch::Sender::new(None)),
            seen: Arc::new(Mutex::new(CheckedListing {
                changes: 0,
                at: begun,
                listing: Arc::default(),
            })),
            askers,
        };
        let listed = {
            let mut listing = pin!(self.check_first_listing(entry, seen, &up, &notices));
            tokio::select! {
                listed = &mut listing => listed,
                // What is asked learns of the end by itself.
                _ = &mut running => listing.await,
            }
        };
        match listed {
            Ok(()) => Ok((up, notices, running)),
            Err(FirstListingError::Closed(closed)) => Err(closed),
            Err(FirstListingError::Failed(error)) => {
                Err(self.record_unreachable(entry, key, &error).await)
            }
        }
    }

    /// Lists the tools of a new line, which counts as use.
    async fn check_first_listing(
        &self,
        entry: &ConfiguredServer,
        seen: Option<ProgramStamps>,
        up: &McpConnection,
        notices: &RawNotifications,
    ) -> Result<(), FirstListingError> {
        let pinned = entry.kept.server.pin.tools_sha256.as_deref();
        let is_pinned = |listing: &ToolListing| {
            let digest = mcp_tools::digest(&listing.tools).ok();
            pinned.is_some() && digest.as_deref() == pinned
        };
        let changes = up.client.tools_changes();
        let listing = mcp::list_until_settled(&up.client, notices, is_pinned, CONNECT_WAIT).await;
        let listing = Arc::new(listing.map_err(FirstListingError::Failed)?);
        let connection = &entry.kept.server.connection;
        match self
            .is_checked_program(&entry.agent, connection, seen)
            .await
        {
            Ok(true) => {}
            Ok(false) => return Err(FirstListingError::Closed(ServerUnavailable::moved())),
            Err(fault) => return Err(FirstListingError::Closed(broken(&fault.into()))),
        }
        match self
            .try_record_observation(entry, Observation::Listed(listing.tools.clone()))
            .await
        {
            ObservationOutcome::Fine => {
                up.record_listing(changes, listing);
                Ok(())
            }
            ObservationOutcome::Held(why) => {
                Err(FirstListingError::Closed(ServerUnavailable::held_back(why)))
            }
            ObservationOutcome::Moved => Err(FirstListingError::Closed(ServerUnavailable::moved())),
        }
    }

    /// How the entry's server is reached, its program looked at right before it is started.
    async fn connection_target(
        &self,
        entry: &ConfiguredServer,
        key: &ServerKey,
    ) -> Result<(ServerTarget, Option<ProgramStamps>), ServerUnavailable> {
        let server = &entry.kept.server;
        let connection = &server.connection;
        let found = self.find_program(&entry.agent, connection).await;
        let found = found.map_err(|fault| broken(&fault.into()))?;
        let program = found.as_ref().map(|found| &found.program);
        if connection.stdio().is_some() && server.pin.compare(program) != PinComparison::Same {
            self.is_approved_program(entry, key).await?;
        }
        let seen = found.as_ref().map(|found| found.sighting.clone());
        let bearer = self.mcp_bearer(entry.agent.id, server).await;
        let bearer = bearer.map_err(|error| broken(&error))?;
        let target = self.target(&entry.agent, connection, (found, bearer));
        let target = target.await.map_err(|fault| broken(&fault.into()))?;
        Ok((target.ok_or_else(ServerUnavailable::moved)?, seen))
    }

    /// Notes that a server could not be reached.
    async fn record_unreachable(
        &self,
        entry: &ConfiguredServer,
        key: &ServerKey,
        error: &McpError,
    ) -> ServerUnavailable {
        let closed = ServerUnavailable::of(entry, error);
        match error {
            McpError::NotFound => {
                self.try_record_observation(entry, Observation::Missing)
                    .await;
            }
            _ if error.needs_sign_in() => self.record_failure(entry, error).await,
            _ => {
                if self.inner.gateways.failed(key) {
                    let why = closed.sentence.clone();
                    self.try_record_observation(entry, Observation::FailedOften(why))
                        .await;
                }
            }
        }
        closed
    }

    /// What is learned of a test that could not reach the server: once that happened as often as
    /// may be, together with its uses.
    pub(crate) fn tool_server_failed(
        &self,
        entry: &ConfiguredServer,
        error: &McpError,
    ) -> Option<Observation> {
        let has_often = self.inner.gateways.failed(&ServerKey::of(entry));
        has_often.then(|| Observation::FailedOften(ServerUnavailable::of(entry, error).sentence))
    }

    /// A test reached the server: what failed before counts no longer.
    pub(crate) fn tool_server_reached(&self, entry: &ConfiguredServer) {
        self.inner.gateways.reached(&ServerKey::of(entry));
    }

    /// The tools of a line, seen to be the approved ones; others cut the entry off.
    pub(super) async fn check_tools(
        &self,
        entry: &ConfiguredServer,
        up: &McpConnection,
        look: ListingPolicy,
    ) -> Result<Arc<ToolListing>, ServerUnavailable> {
        let (last, is_fresh) = up.last_seen(FRESH);
        if is_fresh && look == ListingPolicy::IfDue {
            return Ok(last);
        }
        let changes = up.client.tools_changes();
        let listing = tokio::select! {
            biased;
            closed = disconnected(up.cut.subscribe()) => return Err(closed),
            listing = up.client.listing(CONNECT_WAIT) => listing,
        };
        let listing = match listing {
            Ok(listing) => Arc::new(listing),
            Err(error) => {
                self.record_failure(entry, &error).await;
                return Err(ServerUnavailable::of(entry, &error));
            }
        };
        if mcp_tools::compare(&last.tools, &listing.tools).is_empty() {
            up.record_listing(changes, Arc::clone(&listing));
            return Ok(listing);
        }
        let learned = Observation::Listed(listing.tools.clone());
        let closed = match self.try_record_observation(entry, learned).await {
            ObservationOutcome::Fine => {
                up.record_listing(changes, Arc::clone(&listing));
                return Ok(listing);
            }
            ObservationOutcome::Held(why) => ServerUnavailable::held_back(why),
            ObservationOutcome::Moved => ServerUnavailable::moved(),
        };
        self.inner
            .gateways
            .disconnect(&ServerKey::of(entry), &closed);
        Err(closed)
    }
}

/// Why a new line is of no use.
enum FirstListingError {
    Closed(ServerUnavailable),
    Failed(McpError),
}

/// Waits for a flag; what it looked at is let go at once.
async fn is_true(flag: &mut watch::Receiver<bool>) {
    // An error means that the supervisor is gone, which ends the server as well.
    drop(flag.wait_for(|flag| *flag).await);
}
