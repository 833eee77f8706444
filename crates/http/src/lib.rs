//! The front door: listener, guards, gates, routes, errors, streams.
//! A request passes limits, guards and its route's gate before anything of it is read; a
//! handler turns wire into domain, asks the hall once, and turns the answer back.

pub mod answers;
pub mod approving;
pub mod areas;
pub mod body;
pub mod catalogue;
pub mod cookies;
pub mod docs;
pub mod errors;
pub mod faults;
pub mod form;
pub mod gates;
pub mod guards;
pub mod listener;
mod mcp;
pub mod metrics;
pub mod openapi;
pub mod origin;
pub mod page;
mod page_cursor;
pub mod path;
pub mod preconditions;
pub mod previews;
mod problem;
pub mod query;
pub mod ranges;
pub mod rate_limit;
pub mod repeats;
pub mod request_id;
pub mod routes;
pub mod state;
