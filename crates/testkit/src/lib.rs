//! A whole hall in one test: real store, real front door, typed callers.
//! Nothing of ours is mocked; scripted are only the clock and the kernel's word on who is
//! behind a socket. Everything here panics when it is disappointed: it is only for tests.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod approval_requests;
mod callers;
mod event_log;
pub mod fault_proxy;
mod interactions;
mod multipart;
mod packed;
mod raw_http;
mod received_request;
mod responses;
mod stream_client;
pub mod stripe_stub;
mod test_hall;

pub use callers::{TestCaller, TestRequest, UnreadResponse};
pub use event_log::{APPROVED, Cell, EventLog, Table, columns, first_column, tables_of};
pub use interactions::{OpenInteraction, call, usual_options};
pub use multipart::{BOUNDARY, UploadFile, form};
pub use packed::{compress, decompress, pack, unpack};
pub use responses::TestResponse;
pub use stream_client::{SseClient, StreamFrame, WebSocketClient};
pub use test_hall::{HallOptions, LOCAL_TOKEN, PASSWORD, TestHall};

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
