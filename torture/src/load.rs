//! The load: several clients that ask for changes and one that follows the events, for as long as
//! a campaign does its work.

use std::{
    net::SocketAddr,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    client::Client,
    event_stream,
    ledger::{Ledger, locked},
    rng::Rng,
    server::Workspace,
};

/// Clients that ask at once.
pub(crate) const CLIENTS: usize = 4;

/// Lets the clients ask until `work` is done, which ends with the end of the server.
pub(crate) fn run_beside<T>(
    server: SocketAddr,
    workspace: &Workspace,
    ledger: &Mutex<Ledger>,
    mut rng: Rng,
    work: impl FnOnce() -> T,
) -> T {
    let is_done = AtomicBool::new(false);
    let mut first = Client::new(0, server, workspace, ledger, rng.clone());
    if let Err(error) = first.deny_pending() {
        locked(ledger).unanswered(&error);
    }
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let client = Client::new(
                number,
                server,
                workspace,
                ledger,
                Rng::of_attempt(rng.next(), 0),
            );
            scope.spawn(|| ask_until(&is_done, client, ledger));
        }
        scope.spawn(|| event_stream::follow(server, ledger));
        let outcome = work();
        is_done.store(true, Ordering::SeqCst);
        outcome
    })
}

/// Asks until it is done or no answer comes.
fn ask_until(is_done: &AtomicBool, mut client: Client<'_>, ledger: &Mutex<Ledger>) {
    let mut outcome = Ok(());
    while outcome.is_ok() && !is_done.load(Ordering::SeqCst) {
        let change = client.pick();
        outcome = client.ask(change);
    }
    if let Err(error) = outcome {
        locked(ledger).unanswered(&error);
    }
}

/// Waits for that long: the moment of a fault is a time and nothing tells of it.
pub(crate) fn pause(span: Duration) {
    let until = Instant::now() + span;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}
