//! The limits of automatic turns: which one a turn meets first. Source: contract 2.9.

use super::{LimitSource, ReachedLimit, TurnRule};
use crate::rooms::{LimitOverrides, TurnLimits};

/// What bounds the automatic turns of one room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnBounds {
    /// The room's own limits.
    pub own: LimitOverrides,
    /// The installation's.
    pub installation: TurnLimits,
    /// Automatic turns of all rooms in an hour.
    pub total_per_hour: u32,
}

/// What was used already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnCounts {
    /// The depth of the post that is answered.
    pub depth: u32,
    /// Turns the agent took in this cascade in this room.
    pub repeat: u32,
    /// Turns of this room in the last hour.
    pub hour_room: u32,
    /// Turns of all rooms in the last hour.
    pub hour_global: u32,
}

impl TurnBounds {
    /// The limits in force in the room.
    pub fn in_force(&self) -> TurnLimits {
        self.own.over(&self.installation)
    }

    /// The first limit an automatic turn meets, in the order depth, repeat, global hour, room
    /// hour.
    pub fn reached_limit(&self, used: &TurnCounts) -> Option<(TurnRule, ReachedLimit)> {
        let limits = self.in_force();
        if !self.installation.turn_limits_enabled {
            return None;
        }
        let depth = limits.turn_limits_enabled && used.depth >= limits.max_agent_depth;
        if depth {
            let met = self.own_or(
                self.own.max_agent_depth,
                limits.max_agent_depth,
                used.depth,
                ("maxAgentDepth", "rooms.maxAgentDepth"),
            );
            return Some((TurnRule::Depth, met));
        }
        let repeat = limits.max_turns_per_agent_per_cascade;
        if limits.turn_limits_enabled && used.repeat >= repeat {
            let met = self.own_or(
                self.own.max_turns_per_agent_per_cascade,
                repeat,
                used.repeat,
                (
                    "maxTurnsPerAgentPerCascade",
                    "rooms.maxTurnsPerAgentPerCascade",
                ),
            );
            return Some((TurnRule::Repeat, met));
        }
        self.reached_hourly_limit(used)
    }

    /// The first hourly limit a turn meets; a person's run passes the others.
    pub fn reached_hourly_limit(&self, used: &TurnCounts) -> Option<(TurnRule, ReachedLimit)> {
        let limits = self.in_force();
        if !self.installation.turn_limits_enabled {
            return None;
        }
        if used.hour_global >= self.total_per_hour {
            let met = ReachedLimit {
                name: "rooms.maxAutoTurnsTotalPerHour".to_owned(),
                value: self.total_per_hour,
                used: used.hour_global,
                source: LimitSource::Install,
            };
            return Some((TurnRule::HourGlobal, met));
        }
        let most = limits.max_auto_turns_per_hour;
        if limits.turn_limits_enabled && used.hour_room >= most {
            let met = self.own_or(
                self.own.max_auto_turns_per_hour,
                most,
                used.hour_room,
                ("maxAutoTurnsPerHour", "rooms.maxAutoTurnsPerRoomPerHour"),
            );
            return Some((TurnRule::HourRoom, met));
        }
        None
    }

    /// The limit by its room field when the room sets it, else by its setting.
    fn own_or(
        &self,
        own: Option<u32>,
        value: u32,
        used: u32,
        (field, setting): (&str, &str),
    ) -> ReachedLimit {
        let (name, source) = match own {
            Some(_) => (field, LimitSource::Room),
            None => (setting, LimitSource::Install),
        };
        ReachedLimit {
            name: name.to_owned(),
            value,
            used,
            source,
        }
    }
}
