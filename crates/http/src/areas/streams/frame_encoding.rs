//! Frames: what each one says, whichever way it travels. Source: contract 1.10, "Frames".

use guildhall_domain::events::EventScope;
use guildhall_hall::streams::{
    Frame, ResetReason, RoomSnapshot, ScopeState, SessionSnapshot, Snapshot, SnapshotBody,
};
use guildhall_wire::{
    browser::BrowserState,
    entries::Entries,
    events::{self as wire, ScopeSnapshot},
    sessions as wire_sessions,
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::areas::messages;

/// A frame, encoded: its name, its place in the log and its data.
pub(super) struct EncodedFrame {
    pub(super) name: String,
    /// The client's new position.
    pub(super) id: Option<u64>,
    /// JSON text on one line; empty for frames without data.
    pub(super) data: String,
}

/// Encodes a frame.
///
/// # Errors
/// When a value does not serialize, which ends the stream.
pub(super) fn encode(frame: Frame) -> Result<EncodedFrame, serde_json::Error> {
    let named = |name: &str, id, data| EncodedFrame {
        name: name.to_owned(),
        id,
        data,
    };
    Ok(match frame {
        Frame::Event(event) => {
            let data: &RawValue = serde_json::from_str(&event.data)?;
            let body = wire::EventFrame {
                seq: event.seq,
                name: &event.name,
                scope: event.scope.to_string(),
                at: event.at,
                actor_id: event.actor,
                data,
            };
            named(&event.name, Some(event.seq), json(&body)?)
        }
        Frame::Snapshot(snapshot) => {
            let cursor = snapshot.cursor;
            named("snapshot", Some(cursor), snapshot_data(*snapshot)?)
        }
        Frame::Reset {
            reason,
            retained_from,
            cursor,
        } => {
            let reason = match reason {
                ResetReason::Retention => wire::ResetReason::Retention,
                ResetReason::UnknownLog => wire::ResetReason::UnknownLog,
                ResetReason::BadCursor => wire::ResetReason::BadCursor,
            };
            named(
                "reset",
                None,
                json(&wire::ResetFrame {
                    reason,
                    retained_from,
                    cursor,
                })?,
            )
        }
        Frame::Signal(signal) => {
            let body = wire::SignalFrame {
                name: "signal",
                scope: EventScope::Room(signal.room_id).to_string(),
                at: signal.at,
                actor_id: signal.data.author_id,
                data: signal.data,
            };
            named("signal", None, json(&body)?)
        }
        Frame::Browser(state) => {
            const NAME: &str = "browser_state";
            let body = wire::BrowserFrame {
                name: NAME,
                scope: EventScope::Hall.to_string(),
                data: BrowserState::from(&*state),
            };
            named(NAME, None, json(&body)?)
        }
        Frame::Position(seq) => named("position", Some(seq), String::new()),
        Frame::Heartbeat => named("heartbeat", None, String::new()),
    })
}

fn snapshot_data(snapshot: Snapshot) -> Result<String, serde_json::Error> {
    let cursor = snapshot.cursor;
    match snapshot.body {
        SnapshotBody::Room(room) => json(&room_data(cursor, *room)),
        SnapshotBody::Session(session) => json(&session_data(cursor, *session)),
        SnapshotBody::Scopes(scopes) => {
            let scopes = scopes.into_iter().map(|(scope, state)| {
                let state = match state {
                    ScopeState::Room(room) => {
                        ScopeSnapshot::Room(Box::new(room_data(cursor, *room)))
                    }
                    ScopeState::Session(session) => {
                        ScopeSnapshot::Session(Box::new(session_data(cursor, *session)))
                    }
                    ScopeState::Nothing => ScopeSnapshot::Nothing {},
                };
                (scope.to_string(), state)
            });
            let scopes: std::collections::BTreeMap<_, _> = scopes.collect();
            json(&wire::Snapshot {
                cursor,
                retained_from: snapshot.retained_from,
                log_id: snapshot.log_id.to_string(),
                scopes: (!scopes.is_empty()).then_some(scopes),
            })
        }
    }
}

fn room_data(cursor: u64, snapshot: RoomSnapshot) -> wire::RoomSnapshot {
    let page = Entries::from(snapshot.entries);
    wire::RoomSnapshot {
        cursor,
        room: snapshot.room.into(),
        entries: page.entries,
        thread_roots: page.thread_roots,
        documents: snapshot.documents.into_iter().map(Into::into).collect(),
        turns: snapshot.turns.into_iter().map(Into::into).collect(),
    }
}

fn session_data(cursor: u64, snapshot: SessionSnapshot) -> wire_sessions::SessionSnapshot {
    wire_sessions::SessionSnapshot {
        cursor,
        session: snapshot.session.into(),
        messages: snapshot.messages.into_iter().map(Into::into).collect(),
        pending_interactions: snapshot.pending.into_iter().map(Into::into).collect(),
        queue: snapshot.queue.into_iter().map(messages::queued).collect(),
    }
}

fn json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string(value)
}
