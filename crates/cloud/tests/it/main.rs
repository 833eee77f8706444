//! The companion service as its callers meet it: real listener, real database, a browser's cookies
//! and forms. Faked are the payment service, which costs money, and in most tests the clock.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod accounts;
mod billing;
mod binary;
mod browser;
mod companion;
mod linking;
mod oauth2_crate;
mod openapi_document;
#[cfg(feature = "real-servers")]
mod prism;
#[cfg(feature = "real-servers")]
mod stripe_package;

use std::time::Duration;

/// How long a test waits for something that must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for `what`, at most [`PATIENCE`].
async fn soon<T>(what: &str, it: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, it)
        .await
        .unwrap_or_else(|_| panic!("{what} did not come"))
}
