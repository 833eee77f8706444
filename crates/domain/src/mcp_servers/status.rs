//! How an entry stands, and what moves it: the table of contract 4.4, "Status transitions".

use serde::{Deserialize, Serialize};

/// How an entry stands. Source: contract 4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
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

impl Status {
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
pub struct Facts {
    /// It is a program that nobody has seen, because it was not there.
    pub is_missing: bool,
    /// Somebody has to sign in.
    pub wants_sign_in: bool,
    /// Its tools were listed once.
    pub was_listed: bool,
}

impl Facts {
    /// The status of an entry that is switched on.
    pub fn status(self) -> Status {
        match self {
            Self {
                is_missing: true, ..
            } => Status::CommandMissing,
            Self {
                wants_sign_in: true,
                ..
            } => Status::NeedsSignIn,
            Self {
                was_listed: true, ..
            } => Status::Ready,
            Self { .. } => Status::Unknown,
        }
    }
}

/// What can happen to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
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
pub fn next(from: Status, trigger: Trigger, facts: Facts) -> Option<Status> {
    use Status::{CommandMissing, Disabled, Failing, NeedsApproval, NeedsSignIn, Ready, Unknown};
    let to = match (from, trigger) {
        (_, Trigger::Disabled) => Disabled,
        (Disabled, Trigger::Enabled) => facts.status(),
        // What is switched off is moved by nothing else.
        (Disabled, _) | (_, Trigger::Enabled) => return None,
        (_, Trigger::Reconnected) => facts.status(),
        (_, Trigger::PinDiffers) => NeedsApproval,
        (NeedsApproval, Trigger::RepinGranted) => match facts.was_listed {
            true => Ready,
            false => Unknown,
        },
        (NeedsApproval, Trigger::RepinDenied) => Disabled,
        (_, Trigger::RepinGranted | Trigger::RepinDenied) => return None,
        (_, Trigger::CommandMissing) => CommandMissing,
        (_, Trigger::SignInWanted) => NeedsSignIn,
        (NeedsSignIn, Trigger::SignedIn) => Ready,
        (_, Trigger::SignedIn) => return None,
        (Unknown | Failing | CommandMissing, Trigger::Connected) => Ready,
        (Ready | NeedsSignIn | NeedsApproval, Trigger::Connected) => return None,
        (Ready | Unknown, Trigger::FailedOften) => Failing,
        (NeedsSignIn | NeedsApproval | CommandMissing | Failing, Trigger::FailedOften) => {
            return None;
        }
    };
    (to != from).then_some(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::*;

    const ENABLED: [Status; 6] = [
        Ready,
        Unknown,
        NeedsSignIn,
        NeedsApproval,
        CommandMissing,
        Failing,
    ];
    const NEW: Facts = Facts {
        is_missing: false,
        wants_sign_in: false,
        was_listed: false,
    };
    const LISTED: Facts = Facts {
        was_listed: true,
        ..NEW
    };

    /// The rows of the table, in its order: from, trigger, facts, to.
    fn rows() -> Vec<(Status, Trigger, Facts, Status)> {
        let mut rows = Vec::new();
        let mut any_enabled = |trigger, to| {
            let from = ENABLED.into_iter().filter(|from| *from != to);
            rows.extend(from.map(|from| (from, trigger, NEW, to)));
        };
        any_enabled(Trigger::Disabled, Disabled);
        any_enabled(Trigger::SignInWanted, NeedsSignIn);
        any_enabled(Trigger::PinDiffers, NeedsApproval);
        any_enabled(Trigger::CommandMissing, CommandMissing);
        any_enabled(Trigger::Reconnected, Unknown);
        let missing = Facts {
            is_missing: true,
            ..LISTED
        };
        let wanted = Facts {
            wants_sign_in: true,
            ..LISTED
        };
        rows.extend([
            (Disabled, Trigger::Enabled, NEW, Unknown),
            (Disabled, Trigger::Enabled, LISTED, Ready),
            (Disabled, Trigger::Enabled, wanted, NeedsSignIn),
            (Disabled, Trigger::Enabled, missing, CommandMissing),
            (Unknown, Trigger::Connected, LISTED, Ready),
            (Failing, Trigger::Connected, LISTED, Ready),
            (CommandMissing, Trigger::Connected, LISTED, Ready),
            (NeedsSignIn, Trigger::SignedIn, LISTED, Ready),
            (NeedsApproval, Trigger::RepinGranted, LISTED, Ready),
            (NeedsApproval, Trigger::RepinGranted, NEW, Unknown),
            (NeedsApproval, Trigger::RepinDenied, LISTED, Disabled),
            (Ready, Trigger::FailedOften, LISTED, Failing),
            (Unknown, Trigger::FailedOften, NEW, Failing),
        ]);
        rows
    }

    const TRIGGERS: [Trigger; 11] = [
        Trigger::Disabled,
        Trigger::Enabled,
        Trigger::Reconnected,
        Trigger::Connected,
        Trigger::SignInWanted,
        Trigger::SignedIn,
        Trigger::PinDiffers,
        Trigger::RepinGranted,
        Trigger::RepinDenied,
        Trigger::CommandMissing,
        Trigger::FailedOften,
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
        for (from, _) in Status::WORDS {
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
