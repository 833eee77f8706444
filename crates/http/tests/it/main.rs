//! The front door as its callers meet it: one file an area, each test a rule.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod agents;
mod authority;
mod authors;
mod entries;
mod envelope;
mod folding;
mod handles;
mod members;
mod openapi;
mod read_cursors;
mod rooms;
mod rooms_changes;
mod shared;
mod signals;
mod streams;
mod streams_sight;
mod tokens;
mod websockets;
