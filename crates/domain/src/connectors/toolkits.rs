//! Toolkits: one service inside a provider instance, and how one signs in with it.
//! Source: contract 5.1 and 5.3, the toolkit table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{classification::Classification, operations::OmittedOperation};

/// The name of a toolkit: `[a-z0-9][a-z0-9-]{0,63}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ToolkitSlug(String);

impl ToolkitSlug {
    /// The slug of the scripted toolkit.
    pub const REHEARSAL: &'static str = "rehearsal";

    /// Reads a slug; `None` where `text` breaks the grammar.
    pub fn parse(text: &str) -> Option<Self> {
        let is_alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = text.as_bytes();
        let is_slug = bytes.len() <= crate::limits::connectors::TOOLKIT_SLUG_CHARS_MAX
            && bytes.first().is_some_and(is_alphanumeric)
            && bytes
                .iter()
                .all(|byte| is_alphanumeric(byte) || *byte == b'-');
        is_slug.then(|| Self(text.to_owned()))
    }

    /// It as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for ToolkitSlug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a request says who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum ToolkitAuth {
    /// It does not.
    None,
    /// By a key that a person types.
    ApiKey {
        /// Where it stands.
        r#in: KeyLocation,
        /// The name of the header or of the query's member.
        name: String,
        /// What stands before it, such as `Bearer `.
        #[serde(default)]
        prefix: String,
    },
    /// By a token that a person's sign-in brings.
    Oauth2(OauthConfig),
}

/// Where a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyLocation {
    /// In a header.
    Header,
    /// In the query.
    Query,
}

/// How a person signs in by OAuth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OauthConfig {
    /// By which flow.
    pub flow: OauthFlow,
    /// Whose metadata names the endpoints (RFC 8414).
    #[serde(default)]
    pub issuer: Option<String>,
    /// Where a person is sent, where no issuer says it.
    #[serde(default)]
    pub authorization_url: Option<String>,
    /// Where tokens are asked for, where no issuer says it.
    #[serde(default)]
    pub token_url: Option<String>,
    /// Where a device code is asked for, where no issuer says it.
    #[serde(default)]
    pub device_url: Option<String>,
    /// The client registered there; `None` registers one by RFC 7591.
    #[serde(default)]
    pub client_id: Option<String>,
    /// What is asked for.
    #[serde(default)]
    pub scopes: Vec<String>,
}

/// The way of an OAuth sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OauthFlow {
    /// A person is sent to a page and comes back with a code.
    AuthorizationCode,
    /// A person types a code elsewhere (RFC 8628).
    DeviceCode,
}

/// The kind of an [`ToolkitAuth`], as listings name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolkitAuthKind {
    /// None.
    None,
    /// A key.
    ApiKey,
    /// A sign-in.
    Oauth2,
}

impl ToolkitAuthKind {
    /// Every kind with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::None, "none"),
        (Self::ApiKey, "api-key"),
        (Self::Oauth2, "oauth2"),
    ];
}

impl ToolkitAuth {
    /// Its kind.
    pub const fn kind(&self) -> ToolkitAuthKind {
        match self {
            Self::None => ToolkitAuthKind::None,
            Self::ApiKey { .. } => ToolkitAuthKind::ApiKey,
            Self::Oauth2(_) => ToolkitAuthKind::Oauth2,
        }
    }
}

/// Which read operation tells the account's label, and where in its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountProbe {
    /// The path that is read, below the base address; of an `mcp` toolkit the tool's name.
    pub path: String,
    /// Where the label stands (RFC 6901).
    pub pointer: String,
}

/// What the owner says of one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationOverride {
    /// A class at or above the one it has.
    #[serde(default)]
    pub classification: Option<Classification>,
}

/// A toolkit as people see it: all but its document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolkit {
    /// Its name inside its instance.
    pub slug: ToolkitSlug,
    /// What people call it.
    pub display_name: String,
    /// What it is for.
    pub description: String,
    /// Where the document was fetched, if it was; of an `openapi` toolkit.
    pub document_url: Option<String>,
    /// Where requests go; of an `openapi` toolkit.
    pub base_url: Option<String>,
    /// Where the MCP server answers; of an `mcp` toolkit.
    pub url: Option<String>,
    /// How a request says who asks.
    pub auth: ToolkitAuth,
    /// How the account's label is read.
    pub account: Option<AccountProbe>,
    /// What the owner says of single operations.
    pub overrides: BTreeMap<String, OperationOverride>,
    /// `info.version` of the document, the SHA-256 of the tool list, or `1` of the scripted one.
    pub version: String,
    /// How many operations it has.
    pub operation_count: u32,
    /// The first of those that cannot be run, with their reasons.
    pub left_out: Vec<OmittedOperation>,
    /// How many those are in all.
    pub left_out_count: u32,
    /// Whether a client secret is kept for it.
    pub has_credential: bool,
}
