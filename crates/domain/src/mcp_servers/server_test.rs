//! What a test of a tool server shows, and what it changes of the entry.
//! Pure: reaching the server is `world::mcp`. Source: contract 4.4, "test"; 4.6.

use super::{AuthStatus, McpServer, ServerAuthKind, ServerStatus, StatusTrigger, next};
use crate::{
    Fault, Timestamp, limits,
    mcp_tools::{self, ToolDefinition},
};

/// Why a server is not reached at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestBlocker {
    /// It is switched off.
    Disabled,
    /// A person has to look at it first.
    NeedsApproval,
    /// Its secrets cannot be read.
    ValuesLost,
    /// Its program is not there.
    CommandNotFound,
    /// Its program is not the approved one.
    PinChanged,
    /// It is being tested, and that takes too long.
    Busy,
}

impl TestBlocker {
    /// A word for programs, and a sentence for people.
    pub fn code_and_message(self) -> (&'static str, &'static str) {
        match self {
            Self::Disabled => ("DISABLED", "The server is switched off."),
            Self::NeedsApproval => (
                "NEEDS_APPROVAL",
                "The server is not what was approved; a person has to look at it first.",
            ),
            Self::ValuesLost => (
                "VALUES_LOST",
                "The key for its secrets is lost; a person has to enter them again.",
            ),
            Self::CommandNotFound => ("COMMAND_NOT_FOUND", "The program cannot be found."),
            Self::PinChanged => (
                "PIN_CHANGED",
                "The program is not the one that was approved; it was not started.",
            ),
            Self::Busy => ("BUSY", "Another test of this server is under way."),
        }
    }

    /// Why this entry is not reached, as far as it tells by itself.
    pub fn of(server: &McpServer) -> Option<Self> {
        if !server.enabled {
            Some(Self::Disabled)
        } else if server.status == ServerStatus::NeedsApproval {
            Some(Self::NeedsApproval)
        } else if !server.connection.lost_values().is_empty() {
            Some(Self::ValuesLost)
        } else {
            None
        }
    }
}

/// What a test shows. Source: contract 4.4.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerTestResult {
    /// The tools, when they could be listed.
    pub tools: Option<Vec<ToolDefinition>>,
    /// Whether it was reached and is what was approved.
    pub ok: bool,
    /// Whether somebody has to sign in.
    pub needs_auth: bool,
    /// Why it is not ok, for programs.
    pub code: Option<String>,
    /// The same for people, at most 400 characters.
    pub error: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
    /// Whether program or tools are not the approved ones.
    pub pin_changed: bool,
}

impl ServerTestResult {
    /// A test that reached nothing.
    pub fn failed(code: &str, error: &str) -> Self {
        Self {
            code: Some(code.to_owned()),
            error: Some(error.chars().take(limits::MCP_UPSTREAM_CHARS_MAX).collect()),
            ..Self::default()
        }
    }

    /// Takes back that it went well: its tools, which are still shown, are not the approved ones.
    pub fn are_not_approved(&mut self) {
        let failed = Self::failed(
            "TOOLS_CHANGED",
            "The server's tools are not those that were approved.",
        );
        *self = Self {
            tools: self.tools.take(),
            duration_ms: self.duration_ms,
            pin_changed: true,
            ..failed
        };
    }

    /// A server that was not reached at all.
    pub fn held_back(why: TestBlocker) -> Self {
        let (code, error) = why.code_and_message();
        Self {
            pin_changed: why == TestBlocker::PinChanged,
            ..Self::failed(code, error)
        }
    }
}

/// Shorter ones stand in too many words to be told apart from them.
const VALUE_CHARS_MIN: usize = 4;

/// The text without the values of the entry's env and headers, which a server may say back.
/// A value that the end of the text cuts off is hidden as well.
pub fn without_values(server: &McpServer, text: &str) -> String {
    let values = server.connection.values().values();
    let known = values.filter_map(|value| value.reveal());
    // A scheme in front of a token is no part of the secret.
    let tokens = known.clone().filter_map(|value| value.split_once(' '));
    let tokens = tokens.map(|(_, token)| token);
    let mut secrets: Vec<&str> = known.chain(tokens).collect();
    secrets.retain(|secret| secret.chars().count() >= VALUE_CHARS_MIN);
    // One value may begin with another, whose place must not split it.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let mut shown = text.to_owned();
    let ends = secrets
        .iter()
        .filter_map(|secret| standing_at_the_end(text, secret));
    if let Some(length) = ends.max() {
        shown.truncate(text.len() - length);
        shown.push_str(super::connection_config::HIDDEN);
    }
    for secret in secrets {
        shown = shown.replace(secret, super::connection_config::HIDDEN);
    }
    shown
}

/// How many bytes at the end of the text are the secret, or so much of its beginning as counts.
fn standing_at_the_end(text: &str, secret: &str) -> Option<usize> {
    let ends = secret.char_indices().map(|(place, _)| place);
    let ends = ends.skip(VALUE_CHARS_MIN).chain([secret.len()]);
    ends.filter(|end| secret.get(..*end).is_some_and(|part| text.ends_with(part)))
        .max()
}

/// The sentence with the last lines a program wrote to its standard error, as far as
/// [`limits::MCP_UPSTREAM_CHARS_MAX`] reaches; values of the entry are hidden in them.
pub fn with_last_words(server: &McpServer, sentence: &str, stderr: &str) -> String {
    let lines = stderr.lines().map(str::trim_end);
    let mut lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.drain(..lines.len().saturating_sub(LAST_LINES_MAX));
    let said = without_values(server, &lines.join("\n"));
    // Two characters stand between the two.
    let room = limits::MCP_UPSTREAM_CHARS_MAX.saturating_sub(sentence.chars().count() + 2);
    let over = said.chars().count().saturating_sub(room);
    let said: String = said
        .chars()
        .skip(over)
        .map(|c| if c.is_control() && c != '\n' { ' ' } else { c })
        .collect();
    match said.trim() {
        "" => sentence.to_owned(),
        said => format!("{sentence}:\n{said}"),
    }
}

/// As many lines tell why a program ended.
const LAST_LINES_MAX: usize = 6;

/// Takes over the tools that were listed: the first ones are pinned, missing ones narrow the pin,
/// others are not the approved ones. Answers the tools to keep, when they are other ones.
///
/// # Errors
/// A fault when there is no digest of them.
pub fn listed(
    server: &mut McpServer,
    tested: &mut ServerTestResult,
    approved: Option<&[ToolDefinition]>,
    now: Timestamp,
) -> Result<Option<Vec<ToolDefinition>>, Fault> {
    let Some(tools) = tested.tools.clone() else {
        return Ok(None);
    };
    let needs_approval =
        approved.is_some_and(|approved| mcp_tools::compare(approved, &tools).needs_approval());
    if needs_approval {
        tested.are_not_approved();
        return Ok(None);
    }
    tested.ok = true;
    server.tool_count = u32::try_from(tools.len()).ok();
    if server.connection.has_no_sign_in() && server.auth_status.is_some() {
        // It refused what it is told of who asks, and takes it now: nobody could sign in.
        server.auth_status = None;
        move_on(server, StatusTrigger::SignedIn, None);
    }
    move_on(server, StatusTrigger::Connected, None);
    let digest = mcp_tools::digest(&tools)?;
    if server.pin.tools_sha256.as_ref() == Some(&digest) {
        return Ok(None);
    }
    server.pin.tools_sha256 = Some(digest);
    server.pin.pinned_at = Some(now);
    Ok(Some(tools))
}

/// Takes over that a server wants a sign-in; a challenge of scheme `Bearer` says of which kind.
pub fn wants_sign_in(server: &mut McpServer, challenge: Option<&str>) {
    if challenge.is_some_and(is_bearer) {
        let connection = server.connection.clone();
        server.connection = connection.with_auth_kind(Some(ServerAuthKind::Oauth2));
    }
    server.auth_status = Some(AuthStatus::NeedsAuth);
    move_on(
        server,
        StatusTrigger::SignInWanted,
        Some("Somebody has to sign in."),
    );
}

/// Takes over that the program is not there.
pub fn is_missing(server: &mut McpServer) {
    move_on(server, StatusTrigger::CommandMissing, None);
}

/// Whether a challenge (RFC 9110 §11.6.1) is of the scheme `Bearer`.
pub fn is_bearer(challenge: &str) -> bool {
    let scheme = challenge.split([' ', ',']).next().unwrap_or_default();
    scheme.eq_ignore_ascii_case("bearer")
}

fn move_on(server: &mut McpServer, trigger: StatusTrigger, detail: Option<&str>) {
    if let Some(status) = next(server.status, trigger, server.facts()) {
        server.status = status;
        server.status_detail = detail.map(str::to_owned);
    }
}
