//! Restores: the credentials that going back to a backup makes count again, and what the owner
//! decides about each.
//! Pure: finding them is `store::revived`, deciding is `hall::revived`.

use serde::{Deserialize, Serialize};

/// What kind of credential a restore revived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RevivedKind {
    /// An agent's token that was revoked since.
    AgentToken,
    /// An API key that was revoked since.
    ApiKey,
    /// A sign-in that was ended since.
    SignIn,
    /// The password of before, of an account whose password was changed since.
    Password,
    /// An account that was removed since.
    Account,
    /// Browsers opened by `guildhall open` that were forgotten since.
    TrustedBrowsers,
}

impl RevivedKind {
    /// Its word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::AgentToken => "agentToken",
            Self::ApiKey => "apiKey",
            Self::SignIn => "signIn",
            Self::Password => "password",
            Self::Account => "account",
            Self::TrustedBrowsers => "trustedBrowsers",
        }
    }
}

/// A credential that counts again, although it was ended after the backup was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevivedCredential {
    /// What it is.
    pub kind: RevivedKind,
    /// The id of the token, key, sign-in or account; [`TRUSTED_BROWSERS_ID`] for browsers.
    pub id: String,
    /// Its label, or the account's address.
    pub label: String,
    /// Whom it stands for; empty where the label says that.
    pub holder: String,
}

/// The id of the one row that stands for all trusted browsers.
pub const TRUSTED_BROWSERS_ID: &str = "trusted-browsers";

/// What the owner decides about a revived credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevivedDecision {
    /// It ends again.
    Revoke,
    /// It counts on.
    Keep,
}

impl RevivedDecision {
    /// Their words on the wire.
    pub const WORDS: [(Self, &'static str); 2] = [(Self::Revoke, "revoke"), (Self::Keep, "keep")];
}
