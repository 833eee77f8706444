//! Everything guildhall does not own: the clock, ids, randomness, users, sockets and paths.
//! Each port has a real form and, where tests need one, a scripted form.

pub mod acp;
mod beneath;
pub mod blobs;
pub mod clock;
pub mod commands;
pub mod confined;
pub mod data_dir;
pub mod digests;
pub mod disk;
pub mod environment;
pub mod host_key;
pub mod ids;
pub mod keeper;
mod kept;
pub mod mcp;
pub mod mcp_discovered;
pub mod oauth;
pub mod outgoing;
pub mod passwords;
pub mod peers;
pub mod places;
pub mod process_tree;
pub mod programs;
pub mod runtimes;
pub mod scratch;
pub mod seal;
pub mod setup_code;
mod tail;
pub mod tokens;
pub mod transcripts;
pub mod users;
pub mod watching;
