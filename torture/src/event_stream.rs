//! The event stream: read at once up to an event, or followed as long as the server lives.

use std::{
    io::{self, BufRead},
    net::SocketAddr,
    sync::Mutex,
};

use serde_json::Value;

use crate::{
    http::open_stream,
    ledger::{Ledger, Phase, locked, number_of},
};

/// An event as it was sent.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) seq: u64,
    pub(crate) kind: String,
    pub(crate) data: Value,
    /// What follows from every letter of it.
    pub(crate) fingerprint: u64,
}

/// The events behind `after` up to `until`.
///
/// # Errors
/// When the stream ends or says nothing for long before it comes to `until`.
pub(crate) fn read(server: SocketAddr, after: u64, until: u64) -> io::Result<Vec<Event>> {
    let mut events = Vec::new();
    if until <= after {
        return Ok(events);
    }
    let mut stream = open_stream(server, after)?;
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some(event) = event_in(&line) else {
            continue;
        };
        let is_last = event.seq >= until;
        events.push(event);
        if is_last {
            return Ok(events);
        }
    }
}

/// Follows the stream behind what the ledger has heard, until the connection ends.
pub(crate) fn follow(server: SocketAddr, ledger: &Mutex<Ledger>) {
    let after = locked(ledger).heard.last().map_or(0, |(seq, _)| *seq);
    let Ok(mut stream) = open_stream(server, after) else {
        return;
    };
    let mut line = String::new();
    while stream.read_line(&mut line).is_ok_and(|length| length > 0) {
        // A frame that a kill cut has no whole line; its event comes again.
        if let Some(event) = event_in(&line) {
            let mut ledger = locked(ledger);
            if ledger.phase == Phase::Working || ledger.counts_while_breaking {
                ledger.heard.push((event.seq, event.fingerprint));
            }
        }
        line.clear();
    }
}

/// The event that a line of the stream holds, if it is the whole data of one.
fn event_in(line: &str) -> Option<Event> {
    let text = line.strip_prefix("data: ")?.strip_suffix('\n')?;
    let mut event: Value = serde_json::from_str(text).ok()?;
    Some(Event {
        seq: event["seq"].as_u64()?,
        kind: event["type"].as_str()?.to_owned(),
        data: event["data"].take(),
        fingerprint: number_of(text.trim_end()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_whole_line_of_data() {
        let event = event_in("data: {\"seq\":3,\"type\":\"a\",\"data\":{\"b\":1}}\n").unwrap();
        assert_eq!((event.seq, &*event.kind), (3, "a"));
        assert_eq!(event.data["b"], 1);
        assert!(event_in("data: {\"seq\":3,\"type\":\"a\"").is_none());
        assert!(event_in("id: 3\n").is_none());
    }
}
