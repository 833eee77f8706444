//! Connections: how a tool server is reached, what each field may hold, and values nobody may
//! read.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use url::Url;

use crate::{Refusal, errors::ValidationErrors, field_validation::FieldValidator, limits};

/// What stands for a value that is not shown; sent in a PATCH it keeps the stored value.
pub const HIDDEN: &str = "***";
/// Variables that begin like this are ours.
const OURS: &str = "GUILDHALL_";
/// Headers that the transport itself writes.
const OF_TRANSPORT: [&str; 6] = [
    "host",
    "content-length",
    "connection",
    "transfer-encoding",
    "mcp-session-id",
    "mcp-protocol-version",
];
/// Headers that begin like this name a caller of ours.
const OF_SERVICE: &str = "x-service-";

/// How a server is spoken with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A child process, by its standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// The older transport of two endpoints.
    Sse,
}

impl Transport {
    /// Every transport with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Stdio, "stdio"),
        (Self::Http, "http"),
        (Self::Sse, "sse"),
    ];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// Which sign-in a server wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerAuthKind {
    /// OAuth 2.
    Oauth2,
}

/// A value of env or headers. Whatever writes it by way of serde or `Debug` writes `"***"`, so
/// that no event, log or card can hold one; only [`SecretText::reveal`] shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(Option<String>);

impl SecretText {
    /// A value that is known; `"***"` is none.
    pub fn sent(text: String) -> Self {
        Self((text != HIDDEN).then_some(text))
    }

    /// A value that is not known, or not shown.
    pub fn redacted() -> Self {
        Self(None)
    }

    /// The value itself, when it is known here.
    pub fn reveal(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The value, or what stands for one that is not shown.
    pub fn shown(&self) -> &str {
        self.reveal().unwrap_or(HIDDEN)
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HIDDEN)
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|_| Self::redacted())
    }
}

/// Names with their values.
pub type SecretValues = BTreeMap<String, SecretText>;

/// A child process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StdioConfig {
    /// The program: 1..=4096 bytes.
    pub command: String,
    /// Its arguments: at most 128 of at most 8192 bytes.
    pub args: Vec<String>,
    /// Its variables beside the agent's: at most 128.
    pub env: SecretValues,
}

/// An address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteConfig {
    /// An http or https URL of at most 2048 characters, without a fragment.
    pub url: String,
    /// What is sent with every request: at most 32.
    pub headers: SecretValues,
    /// Which sign-in it wants, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_kind: Option<ServerAuthKind>,
}

/// How a server is reached. Source: contract 4.3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "transport", rename_all = "lowercase")]
pub enum ConnectionConfig {
    /// See [`Transport::Stdio`].
    Stdio(StdioConfig),
    /// See [`Transport::Http`].
    Http(RemoteConfig),
    /// See [`Transport::Sse`].
    Sse(RemoteConfig),
}

impl ConnectionConfig {
    /// How it is spoken with.
    pub fn transport(&self) -> Transport {
        match self {
            Self::Stdio(_) => Transport::Stdio,
            Self::Http(_) => Transport::Http,
            Self::Sse(_) => Transport::Sse,
        }
    }

    /// The program, when it is one.
    pub fn stdio(&self) -> Option<&StdioConfig> {
        match self {
            Self::Stdio(stdio) => Some(stdio),
            Self::Http(_) | Self::Sse(_) => None,
        }
    }

    /// The address, when it is one.
    pub fn remote(&self) -> Option<&RemoteConfig> {
        match self {
            Self::Stdio(_) => None,
            Self::Http(remote) | Self::Sse(remote) => Some(remote),
        }
    }

    /// The field that holds values: `env` or `headers`.
    pub fn values_field(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "env",
            Self::Http(_) | Self::Sse(_) => "headers",
        }
    }

    /// Its env or headers.
    pub fn values(&self) -> &SecretValues {
        match self {
            Self::Stdio(stdio) => &stdio.env,
            Self::Http(remote) | Self::Sse(remote) => &remote.headers,
        }
    }

    /// The same with these values.
    #[must_use]
    pub fn with_values(mut self, values: SecretValues) -> Self {
        match &mut self {
            Self::Stdio(stdio) => stdio.env = values,
            Self::Http(remote) | Self::Sse(remote) => remote.headers = values,
        }
        self
    }

    /// The same with every value hidden.
    #[must_use]
    pub fn redacted(self) -> Self {
        let names = self.values().keys().cloned();
        let values = names.map(|name| (name, SecretText::redacted())).collect();
        self.with_values(values)
    }

    /// The same as it is stored: the fragment of an address goes.
    #[must_use]
    pub fn without_fragment(mut self) -> Self {
        if let Self::Http(remote) | Self::Sse(remote) = &mut self
            && let Some(end) = remote.url.find('#')
        {
            remote.url.truncate(end);
        }
        self
    }

    /// The same, wanting this sign-in.
    #[must_use]
    pub fn with_auth_kind(mut self, auth_kind: Option<ServerAuthKind>) -> Self {
        if let Self::Http(remote) | Self::Sse(remote) = &mut self {
            remote.auth_kind = auth_kind;
        }
        self
    }

    /// The names of values that are not known here, in order.
    pub fn lost_values(&self) -> Vec<&str> {
        let lost = self.values().iter();
        lost.filter(|(_, value)| value.reveal().is_none())
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// The same with each value that is to be kept taken from the stored connection of the
    /// entry; header names have no case.
    ///
    /// # Errors
    /// [`Refusal::Validation`] for a name without a stored value that can be read.
    ///
    /// Source: contract 4.3.
    pub fn complete(self, stored: &Self) -> Result<Self, Refusal> {
        let field = self.values_field();
        let is_same_field = stored.values_field() == field;
        let of_stored = |name: &str| {
            let mut known = stored.values().iter().filter(|_| is_same_field);
            let is_named = |known: &str| match field {
                "headers" => known.eq_ignore_ascii_case(name),
                _ => known == name,
            };
            let (_, value) = known.find(|(known, _)| is_named(known))?;
            value.reveal().map(|text| SecretText(Some(text.to_owned())))
        };
        let mut invalid = ValidationErrors::default();
        let mut values = SecretValues::new();
        for (name, value) in self.values() {
            let kept = match value.reveal() {
                Some(_) => Some(value.clone()),
                None => of_stored(name),
            };
            match kept {
                Some(kept) => {
                    values.insert(name.clone(), kept);
                }
                None => invalid.field(&format!("connection.{field}.{name}"), NOTHING_KEPT),
            }
        }
        if !invalid.is_empty() {
            return Err(Refusal::Validation(invalid));
        }
        Ok(self.with_values(values))
    }

    /// The request with its secrets in clear: what a digest is taken over, never stored.
    ///
    /// Source: contract 4.6.
    pub fn to_plain_json(&self) -> Value {
        let values: BTreeMap<&str, &str> = self
            .values()
            .iter()
            .map(|(name, value)| (name.as_str(), value.shown()))
            .collect();
        let transport = self.transport().as_str();
        match self {
            Self::Stdio(StdioConfig { command, args, .. }) => {
                json!({"transport": transport, "command": command, "args": args, "env": values})
            }
            Self::Http(RemoteConfig { url, .. }) | Self::Sse(RemoteConfig { url, .. }) => {
                json!({"transport": transport, "url": url, "headers": values})
            }
        }
    }

    /// Whether its own headers say who asks, so that no sign-in is looked for.
    pub fn says_who_asks(&self) -> bool {
        let mut names = self.remote().into_iter().flat_map(|it| it.headers.keys());
        names.any(|name| name.eq_ignore_ascii_case("authorization"))
    }

    /// Whether nobody can sign in: no such way is known, or it carries its own word about who
    /// asks.
    pub fn has_no_sign_in(&self) -> bool {
        let is_unknown = self.remote().is_none_or(|it| it.auth_kind.is_none());
        is_unknown || self.says_who_asks()
    }

    /// Whether the server may be asked, before anybody signed in, which sign-in it wants: an
    /// address of which that is not known, and that carries no word of its own about who asks.
    pub fn may_be_asked_for_sign_in(&self) -> bool {
        let is_unknown = self.remote().is_some_and(|it| it.auth_kind.is_none());
        is_unknown && !self.says_who_asks()
    }

    /// Whether a sign-in for this connection is one for the other, too: it is bound to the exact
    /// address.
    pub fn shares_sign_in(&self, other: &Self) -> bool {
        let url = |it: &Self| it.remote().map(|remote| remote.url.clone());
        let is_same = (self.transport(), url(self)) == (other.transport(), url(other));
        is_same && !self.says_who_asks() && !other.says_who_asks()
    }

    /// Checks every field against its limits; problems are noted below `at`.
    pub(super) fn check(&self, check: &mut FieldValidator, at: &str) {
        match self {
            Self::Stdio(stdio) => check_stdio(check, at, stdio),
            Self::Http(remote) | Self::Sse(remote) => check_remote(check, at, remote),
        }
    }

    /// Checks that no value stands for a stored one: there is none yet.
    pub(super) fn check_nothing_kept(&self, check: &mut FieldValidator, at: &str) {
        let field = self.values_field();
        for name in self.lost_values() {
            check.fail(&format!("{at}.{field}.{name}"), NOTHING_KEPT);
        }
    }
}

/// Why `"***"` cannot be taken.
const NOTHING_KEPT: &str = "is *** and no value of this name is stored that could be kept";

fn check_stdio(check: &mut FieldValidator, at: &str, stdio: &StdioConfig) {
    let command = &stdio.command;
    check_bytes(
        check,
        &format!("{at}.command"),
        command,
        (1, limits::MCP_COMMAND_BYTES_MAX),
    );
    let args = format!("{at}.args");
    if stdio.args.len() > limits::MCP_ARGS_MAX {
        check.fail(
            &args,
            format!("must hold at most {} texts", limits::MCP_ARGS_MAX),
        );
    }
    for (n, arg) in stdio.args.iter().enumerate() {
        check_bytes(
            check,
            &format!("{args}.{n}"),
            arg,
            (0, limits::MCP_ARG_BYTES_MAX),
        );
    }
    let env = format!("{at}.env");
    if stdio.env.len() > limits::MCP_ENV_MAX {
        check.fail(
            &env,
            format!("must hold at most {} names", limits::MCP_ENV_MAX),
        );
    }
    for (name, value) in &stdio.env {
        let field = format!("{env}.{name}");
        if !is_variable(name) {
            check.fail(
                &field,
                "must be named by at most 128 letters, digits and underscores, no digit first",
            );
        }
        if name.starts_with(OURS) {
            check.fail(&field, "must not begin with GUILDHALL_");
        }
        let value = value.reveal().unwrap_or_default();
        check_bytes(check, &field, value, (0, limits::MCP_ENV_VALUE_BYTES_MAX));
    }
}

fn check_remote(check: &mut FieldValidator, at: &str, remote: &RemoteConfig) {
    if let Err(problem) = check_address(&remote.url) {
        check.fail(&format!("{at}.url"), problem);
    }
    let headers = format!("{at}.headers");
    if remote.headers.len() > limits::MCP_HEADERS_MAX {
        check.fail(
            &headers,
            format!("must hold at most {} names", limits::MCP_HEADERS_MAX),
        );
    }
    let mut seen = Vec::new();
    for (name, value) in &remote.headers {
        let field = format!("{headers}.{name}");
        let folded = name.to_ascii_lowercase();
        if !is_token(name) {
            check.fail(
                &field,
                "must be named as RFC 9110 allows, at most 128 characters",
            );
        }
        if OF_TRANSPORT.contains(&folded.as_str()) || folded.starts_with(OF_SERVICE) {
            check.fail(&field, "is written by the server itself");
        }
        if seen.contains(&folded) {
            check.fail(&field, "is there twice");
        }
        seen.push(folded);
        let value = value.reveal().unwrap_or_default();
        check_bytes(
            check,
            &field,
            value,
            (0, limits::MCP_HEADER_VALUE_BYTES_MAX),
        );
        if value.chars().any(|c| c.is_control() && c != '\t') || value.trim() != value {
            check.fail(
                &field,
                "must be a header's value without line ends or outer spaces",
            );
        }
    }
}

fn check_bytes(check: &mut FieldValidator, field: &str, text: &str, (min, max): (usize, usize)) {
    if !(min..=max).contains(&text.len()) {
        check.fail(field, format!("must have {min} to {max} bytes"));
    }
    check.no_null(field, text);
}

fn is_variable(name: &str) -> bool {
    let first = name.bytes().next();
    name.len() <= limits::MCP_VALUE_NAME_CHARS_MAX
        && first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether `name` is a token of RFC 9110 §5.6.2.
fn is_token(name: &str) -> bool {
    (1..=limits::MCP_VALUE_NAME_CHARS_MAX).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Reads an address as the client that dials it does, so that what is shown is what is meant.
fn check_address(url: &str) -> Result<(), String> {
    let most = limits::MCP_URL_CHARS_MAX;
    if url.chars().count() > most {
        return Err(format!("must have at most {most} characters"));
    }
    // Parsers drop some of these silently, so that what is dialled is not what is read.
    let is_plain = !url.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\');
    let parsed = Url::parse(url).ok().filter(|_| is_plain);
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    let is_web = scheme.is_some_and(|scheme| {
        ["http", "https"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    });
    let authority = url.split("://").nth(1).unwrap_or_default();
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let names_a_host = |parsed: &Url| parsed.has_host() && !authority.is_empty();
    let Some(parsed) = parsed.filter(|parsed| is_web && names_a_host(parsed)) else {
        return Err("must be an absolute http or https URL".to_owned());
    };
    let names_a_user = authority.contains('@') || !parsed.username().is_empty();
    if names_a_user || parsed.password().is_some() {
        return Err("must not name a user".to_owned());
    }
    Ok(())
}
