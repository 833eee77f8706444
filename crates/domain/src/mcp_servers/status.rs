//! How an entry stands, and what moves it: the table of contract 4.4, "Status transitions".

use serde::{Deserialize, Serialize};

/// How an entry stands. Source: contract 4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ServerStatus {
    /// It was reached, and its tools are the approved ones.
    Ready,
    /// It is switched off.
    Disabled,
    /// It was never reached.
    Unknown,
    /// Somebody has to sign in.
    NeedsSignIn,
    /// It is not what a person approved.
    NeedsApproval,
    /// Its program is not there.
    CommandMissing,
    /// It cannot be reached.
    Failing,
}

impl ServerStatus {
    /// Every status with its word.
    pub const WORDS: [(Self, &str); 7] = [
        (Self::Ready, "ready"),
        (Self::Disabled, "disabled"),
        (Self::Unknown, "unknown"),
        (Self::NeedsSignIn, "needsSignIn"),
        (Self::NeedsApproval, "needsApproval"),
        (Self::CommandMissing, "commandMissing"),
        (Self::Failing, "failing"),
    ];
}

/// What is known of an entry apart from its status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusFacts {
    /// It is a program that nobody has seen, because it was not there.
    pub is_missing: bool,
    /// Somebody has to sign in.
    pub wants_sign_in: bool,
    /// Its tools were listed once.
    pub was_listed: bool,
}

impl StatusFacts {
    /// The status of an entry that is switched on.
    pub fn status(self) -> ServerStatus {
        match self {
            Self {
                is_missing: true, ..
            } => ServerStatus::CommandMissing,
            Self {
                wants_sign_in: true,
                ..
            } => ServerStatus::NeedsSignIn,
            Self {
                was_listed: true, ..
            } => ServerStatus::Ready,
            Self { .. } => ServerStatus::Unknown,
        }
    }
}

/// What can happen to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusTrigger {
    /// It is switched off.
    Disabled,
    /// It is switched on.
    Enabled,
    /// Its connection is another one.
    Reconnected,
    /// A test or a use reached it, and its tools match or were never seen.
    Connected,
    /// It wants a sign-in: 401, a refused refresh, a scope that does not reach.
    SignInWanted,
    /// Somebody signed in.
    SignedIn,
    /// Program, script or tools are not the approved ones.
    PinDiffers,
    /// The owner approved what it is now.
    RepinGranted,
    /// The owner refused what it is now.
    RepinDenied,
    /// Its program is not there.
    CommandMissing,
    /// It could not be reached as often as counts.
    FailedOften,
}

/// The status after `trigger`; `None` when it changes nothing.
///
/// `facts` are those after what happened.
///
/// Source: contract 4.4, "Status transitions of an entry".
pub fn next(
    from: ServerStatus,
    trigger: StatusTrigger,
    facts: StatusFacts,
) -> Option<ServerStatus> {
    use ServerStatus::{
        CommandMissing, Disabled, Failing, NeedsApproval, NeedsSignIn, Ready, Unknown,
    };
    let to = match (from, trigger) {
        (_, StatusTrigger::Disabled) => Disabled,
        (Disabled, StatusTrigger::Enabled) => facts.status(),
        // What is switched off is moved by nothing else.
        (Disabled, _) | (_, StatusTrigger::Enabled) => return None,
        (_, StatusTrigger::Reconnected) => facts.status(),
        (_, StatusTrigger::PinDiffers) => NeedsApproval,
        (NeedsApproval, StatusTrigger::RepinGranted) => match facts.was_listed {
            true => Ready,
            false => Unknown,
        },
        (NeedsApproval, StatusTrigger::RepinDenied) => Disabled,
        (_, StatusTrigger::RepinGranted | StatusTrigger::RepinDenied) => return None,
        (_, StatusTrigger::CommandMissing) => CommandMissing,
        (_, StatusTrigger::SignInWanted) => NeedsSignIn,
        (NeedsSignIn, StatusTrigger::SignedIn) => Ready,
        (_, StatusTrigger::SignedIn) => return None,
        (Unknown | Failing | CommandMissing, StatusTrigger::Connected) => Ready,
        (Ready | NeedsSignIn | NeedsApproval, StatusTrigger::Connected) => return None,
        (Ready | Unknown, StatusTrigger::FailedOften) => Failing,
        (NeedsSignIn | NeedsApproval | CommandMissing | Failing, StatusTrigger::FailedOften) => {
            return None;
        }
    };
    (to != from).then_some(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ServerStatus::*;

    const ENABLED: [ServerStatus; 6] = [
        Ready,
        Unknown,
        NeedsSignIn,
        NeedsApproval,
        CommandMissing,
        Failing,
    ];
    const NEW: StatusFacts = StatusFacts {
        is_missing: false,
        wants_sign_in: false,
        was_listed: false,
    };
    const LISTED: StatusFacts = StatusFacts {
        was_listed: true,
        ..NEW
    };

    /// The rows of the table, in its order: from, trigger, facts, to.
    fn rows() -> Vec<(ServerStatus, StatusTrigger, StatusFacts, ServerStatus)> {
        let mut rows = Vec::new();
        let mut any_enabled = |trigger, to| {
            let from = ENABLED.into_iter().filter(|from| *from != to);
            rows.extend(from.map(|from| (from, trigger, NEW, to)));
        };
        any_enabled(StatusTrigger::Disabled, Disabled);
        any_enabled(StatusTrigger::SignInWanted, NeedsSignIn);
        any_enabled(StatusTrigger::PinDiffers, NeedsApproval);
        any_enabled(StatusTrigger::CommandMissing, CommandMissing);
        any_enabled(StatusTrigger::Reconnected, Unknown);
        let missing = StatusFacts {
            is_missing: true,
            ..LISTED
        };
        let wanted = StatusFacts {
            wants_sign_in: true,
            ..LISTED
        };
        rows.extend([
            (Disabled, StatusTrigger::Enabled, NEW, Unknown),
            (Disabled, StatusTrigger::Enabled, LISTED, Ready),
            (Disabled, StatusTrigger::Enabled, wanted, NeedsSignIn),
            (Disabled, StatusTrigger::Enabled, missing, CommandMissing),
            (Unknown, StatusTrigger::Connected, LISTED, Ready),
            (Failing, StatusTrigger::Connected, LISTED, Ready),
            (CommandMissing, StatusTrigger::Connected, LISTED, Ready),
            (NeedsSignIn, StatusTrigger::SignedIn, LISTED, Ready),
            (NeedsApproval, StatusTrigger::RepinGranted, LISTED, Ready),
            (NeedsApproval, StatusTrigger::RepinGranted, NEW, Unknown),
            (NeedsApproval, StatusTrigger::RepinDenied, LISTED, Disabled),
            (Ready, StatusTrigger::FailedOften, LISTED, Failing),
            (Unknown, StatusTrigger::FailedOften, NEW, Failing),
        ]);
        rows
    }

    const TRIGGERS: [StatusTrigger; 11] = [
        StatusTrigger::Disabled,
        StatusTrigger::Enabled,
        StatusTrigger::Reconnected,
        StatusTrigger::Connected,
        StatusTrigger::SignInWanted,
        StatusTrigger::SignedIn,
        StatusTrigger::PinDiffers,
        StatusTrigger::RepinGranted,
        StatusTrigger::RepinDenied,
        StatusTrigger::CommandMissing,
        StatusTrigger::FailedOften,
    ];

    #[test]
    fn every_row_of_the_table_moves_the_entry_where_it_says() {
        for (from, trigger, facts, to) in rows() {
            assert_eq!(
                next(from, trigger, facts),
                Some(to),
                "{from:?} by {trigger:?} with {facts:?}"
            );
        }
    }

    #[test]
    fn what_stands_in_no_row_changes_nothing() {
        let known = rows();
        for (from, _) in ServerStatus::WORDS {
            for trigger in TRIGGERS {
                let is_row = known.iter().any(|row| (row.0, row.1) == (from, trigger));
                let found = next(from, trigger, NEW);
                assert_eq!(
                    found.is_some(),
                    is_row,
                    "{from:?} by {trigger:?}: {found:?}"
                );
            }
        }
    }
}
