//! The local browser: what it is, what a person and an agent may do with it, and what follows.
//! Pure: Chromium itself is `world::chromium`, the actor that owns it is `hall::browser`.
//!
//! Source: contract chapter 7.

mod addresses;
pub mod event_payloads;
mod input;
mod machine_events;
mod mouse_control;
mod page_outline;
mod state;
mod state_machine;
mod tabs;
pub mod tools;

pub use addresses::{AllowedOrigins, BrowserAddress, may_load};
pub use input::{InputStep, InputSteps, KeyModifiers, MouseButton, PressedInputs, Viewport};
pub use machine_events::{
    CloseReason, LogEvent, MachineEffect, MachineEvent, OpenRequest, SavedTab, UnshareReason,
};
pub use mouse_control::{ActionDecision, ActionRateLimiter, ActionTicket, MouseControl};
pub use page_outline::{OutlineElement, PageOutline, quoted, ref_number};
pub use state::{
    BrowserFailure, BrowserState, BrowserStatus, ControlHolder, DisplayMode, LastError,
    LaunchFault, Preparation, PreparationStage, PreparedComponent,
};
pub use state_machine::StateMachine;
pub use tabs::{Dialog, DialogKind, HttpAuthRequest, PageState, Tab, TabClosure, Tabs, truncated};

/// Why a tool of an agent did not do what it was asked for. Source: contract 7.8, "Codes".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolDenial {
    /// No tab is shared with the session.
    NotShared,
    /// The person paused the tools.
    Paused,
    /// The person was active for as long as the action would wait.
    PersonActive,
    /// There is no such tab within the agent's reach.
    TabNotFound,
    /// The ref is of another snapshot, or of an element that is gone.
    StaleRef,
    /// Another element would receive the click.
    Covered,
    /// A field for a password or code: the person types into it.
    SecretField,
    /// An address, or a page, that is not for agents.
    UrlNotAllowed,
    /// A dialog waits for an answer.
    DialogOpen,
    /// Chromium did not answer in time.
    Timeout,
    /// Too many actions in a row.
    RateLimited,
}

impl ToolDenial {
    /// Every reason with its code.
    pub const CODES: [(Self, &str); 11] = [
        (Self::NotShared, "NOT_SHARED"),
        (Self::Paused, "PAUSED"),
        (Self::PersonActive, "PERSON_ACTIVE"),
        (Self::TabNotFound, "TAB_NOT_FOUND"),
        (Self::StaleRef, "STALE_REF"),
        (Self::Covered, "COVERED"),
        (Self::SecretField, "SECRET_FIELD"),
        (Self::UrlNotAllowed, "URL_NOT_ALLOWED"),
        (Self::DialogOpen, "DIALOG_OPEN"),
        (Self::Timeout, "BROWSER_TIMEOUT"),
        (Self::RateLimited, "RATE_LIMITED"),
    ];

    /// Its code.
    pub fn code(self) -> &'static str {
        let found = Self::CODES.iter().find(|(denied, _)| *denied == self);
        found.map_or("", |(_, code)| code)
    }

    /// One sentence for a model, which says what to do next.
    pub fn message(self) -> &'static str {
        match self {
            Self::NotShared => "No tab is shared with this session. Ask the person to share one.",
            Self::Paused => "The person paused the browser tools. Wait until they go on.",
            Self::PersonActive => "The person is using the browser. Try again later.",
            Self::TabNotFound => "There is no such tab. List them with browser_tabs.",
            Self::StaleRef => "The page changed since that snapshot. Take a new one.",
            Self::Covered => "Something lies over that element. Take a snapshot or a screenshot.",
            Self::SecretField => "That field is for a secret. Ask the person to fill it in.",
            Self::UrlNotAllowed => "That address is not open to agents.",
            Self::DialogOpen => "A dialog waits for the person's answer.",
            Self::Timeout => "The browser did not answer in time. Look before you try again.",
            Self::RateLimited => "Too many actions in a row. Wait some seconds.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_one_codes_own() {
        let codes: std::collections::BTreeSet<_> =
            ToolDenial::CODES.iter().map(|row| row.1).collect();
        assert_eq!(codes.len(), ToolDenial::CODES.len());
        for (denied, code) in ToolDenial::CODES {
            assert_eq!(denied.code(), code);
            assert!(denied.message().ends_with('.'), "{code}");
        }
    }
}
