//! The front door as its callers meet it: one file an area, each test a rule.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod accounts;
mod agents;
mod approvals;
mod attachments;
mod authority;
mod authors;
mod backups;
mod bodies;
mod browser;
mod browser_tools;
mod build_script;
mod canvas;
mod canvas_changes;
mod canvas_limits;
mod canvas_order;
mod capabilities;
mod cloud_kit;
mod cloud_link;
#[cfg(feature = "real-servers")]
mod cloud_link_real;
mod cloud_pages;
mod commands;
mod connector_devices;
mod connector_documents;
mod connector_executions;
mod connector_faults;
mod connector_flows;
#[cfg(feature = "real-servers")]
mod connector_flows_real;
mod connector_grants;
mod connector_holders;
mod connector_kit;
mod connector_landing;
mod connector_lists;
#[cfg(feature = "real-servers")]
mod connector_mcp_real;
mod connector_providers;
mod connector_tools;
mod consent;
mod damaged_store;
mod dev_servers;
mod directories;
mod enclosure;
mod entries;
mod envelope;
mod export;
mod file_reads;
mod folding;
mod foreign;
mod handles;
mod interactions;
mod interactions_list;
mod interactions_time;
mod keys;
mod mcp;
mod mcp_approvals;
mod mcp_cards;
mod mcp_counterpart;
mod mcp_door;
mod mcp_gated;
mod mcp_gateway;
mod mcp_questions;
mod mcp_secrets;
mod mcp_servers;
mod mcp_signin;
mod mcp_signin_ends;
mod mcp_signin_found;
#[cfg(feature = "real-servers")]
mod mcp_signin_real;
mod mcp_signin_used;
mod mcp_started;
mod mcp_tested;
mod members;
mod messages;
mod openapi;
mod people;
mod picking;
mod previews;
mod previews_life;
mod previews_sockets;
mod processes;
mod race;
mod reactions;
mod read_cursors;
mod reading;
mod redaction;
mod repeats;
mod restores;
mod rooms;
mod rooms_changes;
mod rooms_making;
mod runtimes;
mod saves;
mod saves_checkbox;
mod saves_documents;
mod search;
mod second_folder;
mod session_canvas;
mod session_tasks;
mod sessions;
mod sessions_changes;
mod settings;
mod sign_in_place;
mod sign_ins;
mod signals;
mod specification;
mod storage;
mod stored_data;
mod streams;
mod streams_at_rest;
mod streams_limits;
mod streams_sight;
mod threads;
mod tokens;
mod turns;
mod turns_ends;
mod usage;
mod validators;
mod websockets;
mod workbench;
