//! What is asked of a server that was just connected to: its tools, once it has made up its mind,
//! or anything else while its connection is driven; then it is let go.

use std::{pin::pin, time::Duration};

use tokio::time::{Instant, timeout, timeout_at};

use super::{
    CheckResult, ClientCallbacks, ConnectOptions, ConnectedServer, ConnectionDriver, McpClient,
    McpError, RawNotifications, ServerTarget, ToolListing,
    connect::{CLOSE_WAIT, connect},
};

/// How long a server that tells of changes may need until its list of tools is whole.
const SETTLE_WAIT: Duration = Duration::from_secs(1);

/// The tools of a server that was just connected to, once it has made up its mind: one that tells
/// of changes may have more to offer when it has looked at its client. It is asked again when it
/// says so, until `is_known` knows the list or a second has gone by.
///
/// # Errors
/// Those of [`McpClient::listing`].
pub async fn list_until_settled(
    client: &McpClient,
    notices: &RawNotifications,
    is_known: impl Fn(&ToolListing) -> bool,
    within: Duration,
) -> Result<ToolListing, McpError> {
    let end = Instant::now() + within;
    let settled_at = end.min(Instant::now() + SETTLE_WAIT);
    let tells = client.server().capabilities["tools"]["listChanged"] == true;
    loop {
        let changes = client.tools_changes();
        let left = end.saturating_duration_since(Instant::now());
        let listing = client.listing(left).await?;
        if !tells || is_known(&listing) {
            return Ok(listing);
        }
        let is_other = async {
            while client.tools_changes() == changes && notices.next().await.is_some() {}
            client.tools_changes() != changes
        };
        if !timeout_at(settled_at, is_other).await.unwrap_or(false) {
            return Ok(listing);
        }
    }
}

/// Connects, lists the tools, and goes again.
///
/// Takes no longer than `greeting.within`, a short goodbye aside.
pub async fn check(
    target: &ServerTarget,
    hooks: ClientCallbacks,
    greeting: ConnectOptions,
) -> CheckResult {
    let begun = Instant::now();
    let connected = match connect(target, hooks, greeting).await {
        Ok(connected) => connected,
        Err(error) => {
            return CheckResult {
                tools: Err(error),
                server: None,
                duration: begun.elapsed(),
            };
        }
    };
    let ConnectedServer {
        client,
        notices,
        running,
    } = connected;
    let left = greeting.within.saturating_sub(begun.elapsed());
    let listing = async {
        let listed = list_until_settled(&client, &notices, |_| false, left).await;
        (listed.map(|listing| listing.tools), begun.elapsed())
    };
    let (tools, duration) = drive_while(&client, running, listing).await;
    CheckResult {
        tools,
        server: Some(client.server().clone()),
        duration,
    }
}

/// What `work` comes to, which asks over the connection of `client`; the connection is driven
/// meanwhile, and let go behind it.
pub(crate) async fn drive_while<T>(
    client: &McpClient,
    mut running: ConnectionDriver,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    let (done, is_over) = tokio::select! {
        done = work.as_mut() => (done, false),
        // What is asked learns of the end by itself.
        _ = &mut running => (work.await, true),
    };
    client.stop();
    if !is_over && client.guard_pid().is_none() {
        // A session is closed; a program ends by itself once it is let go.
        let _ = timeout(CLOSE_WAIT, running).await;
    }
    done
}
