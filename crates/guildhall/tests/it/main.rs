//! The binary as its users meet it: started, killed, and asked from outside.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says what went wrong by failing"
)]

mod bridge;
mod browser;
mod browser_house;
mod browser_life;
mod browser_outside;
mod browser_shop;
mod browser_sites;
mod browser_stream;
mod browser_tools;
mod browser_walls;
mod browser_window;
mod cli_accounts;
mod cli_agents;
mod cli_asks;
mod cli_backups;
mod cli_browser;
mod cli_canvas;
mod cli_connections;
mod cli_directories;
mod cli_events;
mod cli_files;
mod cli_house;
mod cli_mcp;
mod cli_open;
mod cli_output;
mod cli_parity;
mod cli_preview;
mod cli_rooms;
mod cli_saves;
mod cli_settings;
mod cli_talk;
mod cli_terminal;
mod cli_turns;
mod cloud_alone;
mod cloud_canaries;
mod cloud_kills;
mod cloud_way;
mod companion;
#[cfg(feature = "real-servers")]
mod conformance;
mod connector_canaries;
mod connector_kills;
mod damaged_starts;
mod enclosed;
mod enclosure;
mod enclosure_attacks;
mod enclosure_browser;
mod enclosure_owner;
mod enclosure_programs;
mod enclosure_rows;
mod hostile;
mod hostile_operations;
mod intruder;
mod io_errors;
mod kill;
mod listening;
mod login;
#[cfg(feature = "real-servers")]
mod mcp_everything;
mod mcp_gateway;
mod modes;
mod process_trees;
mod promises;
#[cfg(feature = "real-agents")]
mod real_agents;
mod rehearsal;
mod rooms_of_agents;
mod runtimes;
#[cfg(feature = "fault-hooks")]
mod saves_killed;
mod server;
mod sessions;
mod stored_data;
#[cfg(feature = "real-servers")]
mod tested_servers;
mod trusted_proxies;
mod workspace;
