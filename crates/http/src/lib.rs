//! The front door: listener, guards, gates, routes, errors, streams.
//! A request passes limits, guards and its route's gate before anything of it is read; a
//! handler turns wire into domain, asks the hall once, and turns the answer back.

pub mod approval_headers;
pub mod areas;
pub mod body;
pub mod browser_faults;
pub mod byte_ranges;
pub mod cookies;
pub mod docs;
pub mod error_catalogue;
pub mod errors;
pub mod gates;
pub mod guards;
pub mod idempotency;
pub mod listener;
mod mcp;
pub mod metrics;
pub mod multipart;
pub mod openapi;
pub mod origin;
mod page_cursor;
pub mod path_ids;
pub mod preconditions;
pub mod previews;
mod problem_json;
pub mod query;
pub mod rate_limit;
pub mod request_id;
pub mod responses;
pub mod routes;
pub mod state;
pub mod web_page;
