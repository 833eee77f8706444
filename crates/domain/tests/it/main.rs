//! The rules as other floors use them: one file an area, each test a rule.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod commands;
mod session_tasks;
mod session_tasks_log;
mod session_tasks_pieces;
