//! The calls of one turn, as far as they must be remembered: a call that is over is forgotten
//! when the others need its place, so that a long turn costs no more memory than a short one.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::{ToolCall, ToolCallPatch, ToolContent, ToolStatus};
use crate::limits;

/// The calls of a turn, by the agent's ids.
#[derive(Debug, Default)]
pub struct TurnCalls {
    known: HashMap<String, RememberedCall>,
    /// Those that are over, the oldest first.
    over: VecDeque<String>,
    forgotten: HashSet<String>,
    /// Bytes held by the known ones, roughly.
    held: usize,
}

#[derive(Debug)]
struct RememberedCall {
    place: u32,
    weight: usize,
    call: ToolCall,
}

/// A call after something was said of it.
#[derive(Debug)]
pub struct MergedCall<'a> {
    /// The call as it is known now.
    pub call: &'a ToolCall,
    /// Whether it is the first that was said of it.
    pub is_new: bool,
    /// Whether its status is another than before.
    pub has_moved: bool,
}

impl TurnCalls {
    /// Takes in what is said of a call; one that is new gets this place in its message. `None`
    /// for a call that was over and is forgotten.
    pub fn join(&mut self, patch: ToolCallPatch, place: u32) -> Option<MergedCall<'_>> {
        let id = patch.tool_call_id.clone();
        if self.forgotten.contains(&id) {
            return None;
        }
        let is_new = !self.known.contains_key(&id);
        let known = self
            .known
            .entry(id.clone())
            .or_insert_with(|| RememberedCall {
                place,
                weight: 0,
                call: ToolCall::unannounced(id.clone()),
            });
        let before = known.call.status;
        known.call.join(patch);
        let weight = weight(&known.call);
        self.held = self.held + weight - known.weight;
        known.weight = weight;
        let has_moved = known.call.status != before;
        if has_moved && known.call.status.is_final() {
            self.over.push_back(id);
        }
        Some(MergedCall {
            call: &known.call,
            is_new,
            has_moved,
        })
    }

    /// Says where a call stands, whatever the agent says of it; answers whether that is another
    /// status than before. A final one stays.
    pub fn set_status(&mut self, id: &str, status: ToolStatus) -> bool {
        let Some(known) = self.known.get_mut(id) else {
            return false;
        };
        let has_moved = !known.call.status.is_final() && known.call.status != status;
        if has_moved {
            known.call.status = status;
            if status.is_final() {
                self.over.push_back(id.to_owned());
            }
        }
        has_moved
    }

    /// A call as it is known now, and its place in the message.
    pub fn get(&self, id: &str) -> Option<(u32, &ToolCall)> {
        self.known.get(id).map(|known| (known.place, &known.call))
    }

    /// Whether one is at work, or waits for a person.
    pub fn has_work(&self) -> bool {
        let is_at_work = |known: &RememberedCall| {
            matches!(
                known.call.status,
                ToolStatus::InProgress | ToolStatus::Waiting
            )
        };
        self.known.values().any(is_at_work)
    }

    /// Whether they hold more than [`limits::TURN_CALLS_HELD_MAX`].
    pub fn is_heavy(&self) -> bool {
        self.held > limits::TURN_CALLS_HELD_MAX
    }

    /// Forgets calls that are over, the oldest first, until the others hold little enough.
    pub fn forget(&mut self) {
        while self.is_heavy()
            && let Some(id) = self.over.pop_front()
        {
            if let Some(known) = self.known.remove(&id) {
                self.held -= known.weight;
            }
            self.forgotten.insert(id);
        }
    }

    /// Whether there are more than [`limits::TURN_CALLS_MAX`] of them, or those that are not
    /// over hold too much.
    pub fn is_too_much(&self) -> bool {
        let is_many = self.known.len() + self.forgotten.len() > limits::TURN_CALLS_MAX;
        is_many || (self.is_heavy() && self.over.is_empty())
    }
}

/// Bytes a call holds, roughly.
fn weight(call: &ToolCall) -> usize {
    let texts = call.title.len() + call.tool_name.len() + call.tool_call_id.len();
    let content = call.content.iter().map(|content| match content {
        ToolContent::Diff {
            path,
            old_text,
            new_text,
        } => path.len() + old_text.as_ref().map_or(0, String::len) + new_text.len(),
        ToolContent::Text { text } => text.len(),
        ToolContent::Unshown { kind } => kind.len(),
    });
    let locations = call.locations.iter().map(|location| location.path.len());
    texts
        + bytes(&call.input)
        + bytes(&call.output)
        + content.sum::<usize>()
        + locations.sum::<usize>()
}

fn bytes(value: &Value) -> usize {
    let inside = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len() + bytes(value))
            .sum(),
    };
    size_of::<Value>() + inside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(id: &str, bytes: usize, status: ToolStatus) -> ToolCallPatch {
        ToolCallPatch {
            input: Some(Value::String("x".repeat(bytes))),
            status: Some(status),
            ..ToolCallPatch::of(id.to_owned())
        }
    }

    const QUARTER: usize = limits::TURN_CALLS_HELD_MAX / 4;

    #[test]
    fn a_call_that_is_over_makes_place_and_stays_over() {
        let mut calls = TurnCalls::default();
        for (place, id) in (0..).zip(["a", "b", "c", "d"]) {
            let joined = calls.join(said(id, QUARTER, ToolStatus::Completed), place);
            assert!(joined.unwrap().is_new);
        }
        calls.forget();
        assert!(calls.get("a").is_none(), "the oldest makes place");
        assert_eq!(calls.get("b").unwrap().0, 1, "and no other one");
        assert!(calls.join(said("a", 1, ToolStatus::Failed), 9).is_none());
        assert!(!calls.is_too_much());
    }

    #[test]
    fn what_is_not_over_is_not_forgotten_and_may_be_too_much() {
        let mut calls = TurnCalls::default();
        for id in ["a", "b", "c"] {
            calls.join(said(id, QUARTER, ToolStatus::Waiting), 0);
        }
        assert!(!calls.is_too_much());
        calls.join(said("d", QUARTER, ToolStatus::InProgress), 0);
        calls.forget();
        assert!(calls.get("a").is_some());
        assert!(calls.is_too_much());
        assert!(calls.set_status("a", ToolStatus::Denied));
        assert!(!calls.set_status("a", ToolStatus::InProgress), "it is over");
        calls.forget();
        assert!(calls.get("a").is_none());
        assert!(!calls.is_too_much());
    }

    #[test]
    fn what_is_said_again_is_held_once() {
        let mut calls = TurnCalls::default();
        for _ in 0..9 {
            calls.join(said("a", QUARTER, ToolStatus::Pending), 0);
        }
        assert!(!calls.is_heavy());
    }

    #[test]
    fn there_are_only_so_many() {
        let mut calls = TurnCalls::default();
        for at in 0..=limits::TURN_CALLS_MAX {
            assert!(!calls.is_too_much(), "{at}");
            calls.join(said(&at.to_string(), 0, ToolStatus::Completed), 0);
        }
        assert!(calls.is_too_much());
    }
}
