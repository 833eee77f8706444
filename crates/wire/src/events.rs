//! Frames of streams on the wire. Source: contract 1.10, "Frames".
//! An event's `data` was made by the domain when it happened and is sent as it was stored.

use guildhall_domain::{Timestamp, ids::AuthorId, signals};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::{
    browser::BrowserState, canvas::CanvasDocument, entries::Entry, rooms::RoomDetail,
    sessions::SessionSnapshot, turns::Turn,
};

/// A durable event, as a frame's `data` brings it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventFrame<'a> {
    /// Its place in the log.
    pub seq: u64,
    /// Its name.
    #[serde(rename = "type")]
    #[schema(example = "entry_added")]
    pub name: &'a str,
    /// Its main scope.
    pub scope: String,
    /// When it happened.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The author who caused it; null for the server itself.
    #[schema(required = true, value_type = Option<String>)]
    pub actor_id: Option<AuthorId>,
    /// What happened; its shape follows from the name.
    #[schema(value_type = Value)]
    pub data: &'a RawValue,
}

/// An ephemeral signal, as a frame's `data` brings it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignalFrame {
    /// `signal`.
    #[serde(rename = "type")]
    pub name: &'static str,
    /// The room's scope.
    pub scope: String,
    /// When it was sent.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Who sent it.
    #[schema(value_type = String)]
    pub actor_id: AuthorId,
    /// What it says.
    #[schema(value_type = Value)]
    pub data: signals::SignalData,
}

/// What the local browser is now, as a frame's `data` brings it; for its owner at this computer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserFrame {
    /// `browser_state`.
    #[serde(rename = "type")]
    pub name: &'static str,
    /// `hall`.
    pub scope: String,
    /// The whole state.
    pub data: BrowserState,
}

/// Why a client must drop its state.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResetReason {
    /// The events after its cursor are no longer kept.
    Retention,
    /// Its cursor is not of this log.
    UnknownLog,
    /// Its cursor is no position.
    BadCursor,
}

/// Drop your state; a snapshot follows.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResetFrame {
    /// Why.
    pub reason: ResetReason,
    /// The oldest event still kept.
    pub retained_from: u64,
    /// The newest event.
    pub cursor: u64,
}

/// One room, as a snapshot brings it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomSnapshot {
    /// Events up to here are in it.
    pub cursor: u64,
    /// The room with its members.
    pub room: RoomDetail,
    /// The newest 100 entries, oldest first.
    pub entries: Vec<Entry>,
    /// Thread roots that the entries name and do not hold.
    pub thread_roots: Vec<Entry>,
    /// Canvas documents in their order.
    pub documents: Vec<CanvasDocument>,
    /// Turns that have not ended.
    pub turns: Vec<Turn>,
}

/// Where a stream goes on from.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Events up to here are in it.
    pub cursor: u64,
    /// The oldest event still kept.
    pub retained_from: u64,
    /// The log's id.
    pub log_id: String,
    /// By scope, only those that the query named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<std::collections::BTreeMap<String, ScopeSnapshot>>,
}

/// The state of one scope; `{}` where it has none of its own.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ScopeSnapshot {
    /// A room.
    Room(Box<RoomSnapshot>),
    /// A session.
    Session(Box<SessionSnapshot>),
    /// The installation or an agent.
    Nothing {},
}
