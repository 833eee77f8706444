//! The binary as its users meet it: started, killed, and asked from outside.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says what went wrong by failing"
)]

mod agents_end_to_end;
mod browser;
mod browser_isolation;
mod browser_lifecycle;
mod browser_observation;
mod browser_server;
mod browser_session;
mod browser_stream;
mod browser_tools;
mod browser_window;
mod cli_accounts;
mod cli_agents;
mod cli_backups;
mod cli_browser;
mod cli_canvas;
mod cli_connections;
mod cli_directories;
mod cli_events;
mod cli_files;
mod cli_interactions;
mod cli_mcp;
mod cli_open;
mod cli_output;
mod cli_parity;
mod cli_preview;
mod cli_rooms;
mod cli_saves;
mod cli_server;
mod cli_settings;
mod cli_terminal;
mod cli_threads_and_reactions;
mod cli_turns;
mod cloud_boundaries;
mod cloud_crashes;
mod cloud_secret_leaks;
mod companion;
#[cfg(feature = "real-servers")]
mod conformance;
mod connector_crashes;
mod connector_secret_leaks;
mod damaged_starts;
mod enclosed_scripts;
mod enclosure;
mod enclosure_attacks;
mod enclosure_browser;
mod enclosure_owner;
mod enclosure_programs;
mod hostile_agent;
mod hostile_operations;
mod hostile_program;
mod impersonation_attempts;
mod intercepting_proxy;
mod io_errors;
mod login;
mod mcp_gateway;
#[cfg(feature = "real-servers")]
mod mcp_reference_server;
mod permission_modes;
mod process_trees;
#[cfg(feature = "real-agents")]
mod real_agents;
mod recording_client;
mod rooms_of_agents;
mod runtimes;
#[cfg(feature = "fault-hooks")]
mod save_crashes;
mod scripted_agent_process;
mod server_crashes;
mod server_process;
#[cfg(feature = "real-servers")]
mod server_tests;
mod sessions;
mod stdio_relay;
mod stored_data;
mod test_sites;
mod trusted_proxies;
mod workspace;
