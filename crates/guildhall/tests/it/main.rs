//! The binary as its users meet it: started, killed, and asked from outside.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says what went wrong by failing"
)]

mod kill;
mod server;
