//! Identifiers: UUIDv7 everywhere, one type per kind of thing.
//! Making a new one needs the clock and randomness, so that is `world::ids`.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID that names such a thing.
            pub const fn new(id: Uuid) -> Self {
                Self(id)
            }

            /// Reads the one written form: lower case with hyphens, 36 characters.
            ///
            /// `None` for every other text: such an id cannot exist, so the caller
            /// answers 404 and not 400.
            ///
            /// Source: contract 1.1, "Ids".
            pub fn parse(text: &str) -> Option<Self> {
                let id = Uuid::try_parse(text).ok()?;
                let mut written = [0; 36];
                (id.hyphenated().encode_lower(&mut written) == text).then_some(Self(id))
            }

            /// Reads an id as a request names it: a text that cannot be an id names nothing,
            /// so that its absence is told where existence is checked and not before.
            pub fn named(text: &str) -> Self {
                Self::parse(text).unwrap_or(Self(Uuid::nil()))
            }

            /// The 16 bytes under which the store keeps it.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// The id behind 16 stored bytes.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    )+};
}

ids! {
    /// A registered agent.
    AgentId;
    /// A file of a room.
    AttachmentId;
    /// A backup of the installation.
    BackupId;
    /// Who writes: a person, an agent or the system.
    AuthorId;
    /// A canvas document of a room or session.
    DocumentId;
    /// One post or notice in a room.
    EntryId;
    /// The event log of one installation; a restored backup gets another.
    LogId;
    /// A chat room.
    RoomId;
    /// An agent token (its row, never its secret).
    AgentTokenId;
    /// An agent's turn in a room.
    TurnId;
    /// One message to or from an agent in a session.
    MessageId;
    /// One turn of a session: a prompt and what came of it.
    SessionTurnId;
    /// What a person must decide.
    ApprovalId;
    /// A session of an agent.
    SessionId;
    /// A person's account, in mode `login`.
    AccountId;
    /// An API key (its row, never its secret).
    ApiKeyId;
    /// One sign-in of a person, which a cookie stands for.
    SignInId;
    /// One sign-in of a person with a tool server, from its link to its end.
    SigninFlowId;
    /// One process of the local browser.
    BrowserConnectionId;
    /// A tab of the local browser; never what the browser calls it itself.
    TabId;
    /// A configured backend of the connectors.
    ProviderId;
    /// An external account that is signed in through a connector.
    ConnectorConnectionId;
    /// One sign-in with a connector, from its beginning to its end.
    AuthFlowId;
    /// One listing of what a connection can do, for the owner to grant from.
    ReviewId;
    /// A description of one operation of a connector as it was reviewed.
    OperationRevisionId;
    /// One execution of an operation, with its one or two attempts.
    LogicalOperationId;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_written_form_names_a_thing() {
        let text = "0192f0c1-2d3e-7abc-8def-0123456789ab";
        assert_eq!(AuthorId::parse(text).unwrap().to_string(), text);
        for other in [
            "",
            "0192F0C1-2D3E-7ABC-8DEF-0123456789AB",
            "0192f0c12d3e7abc8def0123456789ab",
            "{0192f0c1-2d3e-7abc-8def-0123456789ab}",
            "urn:uuid:0192f0c1-2d3e-7abc-8def-0123456789ab",
            "no-such-thing",
        ] {
            assert_eq!(AuthorId::parse(other), None, "{other}");
        }
    }
}
