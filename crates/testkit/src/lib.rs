//! A whole hall in one test: real store, real front door, typed callers.
//! Nothing of ours is mocked; scripted are only the clock and the kernel's word on who is
//! behind a socket. Everything here panics when it is disappointed: it is only for tests.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod answers;
mod asks;
mod callers;
pub mod fault_proxy;
mod forms;
mod frames;
mod gated;
mod hall;
mod incoming;
mod log;
mod packed;
mod raw;
pub mod stripe_stub;

pub use answers::Answer;
pub use asks::{Waiting, call, usual_options};
pub use callers::{Ask, Caller, Unread};
pub use forms::{BOUNDARY, File, form};
pub use frames::{Frame, Socket, Stream};
pub use hall::{LOCAL_TOKEN, Options, PASSWORD, TestHall};
pub use log::{APPROVED, Cell, EventLog, Table, columns, first_column, tables_of};
pub use packed::{compress, decompress, pack, unpack};

use std::{future::Future, time::Duration};

/// How long a test waits for something that must come.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for `what`, at most [`PATIENCE`].
///
/// # Panics
/// When it does not come.
pub async fn soon<T>(what: &str, it: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, it)
        .await
        .unwrap_or_else(|_| panic!("{what} did not come within {PATIENCE:?}"))
}

/// Waits until something is so, by looking again whenever other tasks had their turn.
///
/// # Panics
/// When it is not so within [`PATIENCE`].
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    soon(what, async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
