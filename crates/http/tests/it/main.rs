//! The front door as its callers meet it: one file an area, each test a rule.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod accounts;
mod agent_tokens;
mod agents;
mod api_keys;
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
mod cloud_link;
#[cfg(feature = "real-servers")]
mod cloud_link_real;
mod cloud_pages;
mod cloud_service_stub;
mod commands;
mod connector_auth_flows;
#[cfg(feature = "real-servers")]
mod connector_auth_flows_real;
mod connector_callback;
mod connector_devices;
mod connector_documents;
mod connector_executions;
mod connector_faults;
mod connector_fixtures;
mod connector_grant_counts;
mod connector_grants;
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
mod entity_tags;
mod entries;
mod error_envelope;
mod export;
mod file_reads;
mod foreign_origins;
mod handles;
mod idempotency;
mod interactions;
mod interactions_list;
mod interactions_time;
mod mcp;
mod mcp_addition_approvals;
mod mcp_approvals;
mod mcp_elicitation;
mod mcp_endpoint;
mod mcp_gated_actions;
mod mcp_gateway;
mod mcp_program_start;
mod mcp_secrets;
mod mcp_server_stub;
mod mcp_server_test;
mod mcp_servers;
mod mcp_signin;
mod mcp_signin_discovery;
mod mcp_signin_outcomes;
#[cfg(feature = "real-servers")]
mod mcp_signin_real;
mod mcp_signin_tokens;
mod members;
mod messages;
mod openapi;
mod path_swap_race;
mod previews;
mod previews_lifecycle;
mod previews_sockets;
mod process_identity;
mod reactions;
mod read_cursors;
mod read_only_requests;
mod redaction;
mod remote_person;
mod restores;
mod rooms;
mod rooms_changes;
mod rooms_creation;
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
mod sign_ins;
mod signals;
mod signin_server_stub;
mod specification;
mod storage;
mod stored_data;
mod stream_replica;
mod streams;
mod streams_heartbeat;
mod streams_limits;
mod streams_visibility;
mod test_values;
mod threads;
mod turns;
mod turns_end;
mod usage;
mod websockets;
mod workbench;
