//! What goes over HTTP: the shapes of requests and answers, and how they follow from the
//! domain's values. Nothing here does anything.

pub mod accounts;
pub mod agents;
pub mod approvals;
pub mod attachments;
pub mod authors;
pub mod callers;
pub mod canvas;
pub mod capabilities;
pub mod commands;
pub mod entries;
pub mod errors;
pub mod events;
pub mod export;
pub mod fields;
pub mod health;
pub mod interactions;
pub mod keys;
pub mod mcp_servers;
pub mod mcp_signins;
pub mod members;
pub mod reactions;
pub mod read_cursors;
pub mod rooms;
pub mod runtimes;
pub mod search;
pub mod session_tasks;
pub mod sessions;
pub mod settings;
pub mod sign_ins;
pub mod signals;
pub mod threads;
pub mod tokens;
pub mod transcript;
pub mod turns;
pub mod usage;
