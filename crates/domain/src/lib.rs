//! The rules of guildhall: values, gates, refusals, events.
//! Pure: no I/O, no async, no clock; time and randomness are arguments.

pub mod accounts;
pub mod agents;
pub mod approvals;
pub mod attachments;
pub mod authors;
pub mod callers;
pub mod canvas;
pub mod commands;
pub mod entries;
pub mod events;
pub mod export;
pub mod ids;
pub mod interactions;
pub mod keys;
pub mod limits;
pub mod mcp_gateway;
pub mod mcp_servers;
pub mod mcp_signin;
pub mod mcp_tools;
pub mod members;
pub mod mentions;
pub mod moment;
pub mod outcome;
pub mod reactions;
pub mod read_cursors;
pub mod repeats;
pub mod revisions;
pub mod rooms;
pub mod runtimes;
pub mod search;
pub mod session_tasks;
pub mod sessions;
pub mod settings;
pub mod sign_ins;
pub mod signals;
pub mod text;
pub mod threads;
pub mod tokens;
pub mod transcript;
pub mod turns;
pub mod usage;

pub use moment::Moment;
pub use outcome::{Error, Fault, Refusal, Result};
