//! Asking again: an entry that is not what was approved, the two sides a person is shown of it,
//! and what becomes of it. Pure. Source: contract 4.6, "Change seen".

use serde_json::{Map, Value, json};

use super::{
    CardSubject, McpServer, Pin, ProgramFiles, ServerApprovalCard, ServerStatus, StatusTrigger,
    next,
};
use crate::{
    Fault, Timestamp,
    agents::Agent,
    ids::ApprovalId,
    limits::MCP_REPIN_CARD_BYTES_MAX,
    mcp_tools::{self, ToolDefinition},
};

/// How the sides of a card name a tool.
const TOOL: &str = "tool ";
/// What the sides of a card name the digest of all tools.
const TOOLS_SHA256: &str = "toolsSha256";

/// What differs from what was approved: the old side and the new one, by what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct PinDifference {
    before: Map<String, Value>,
    after: Map<String, Value>,
    detail: &'static str,
}

impl PinDifference {
    /// A program that is not the pinned one, or that nobody has seen yet.
    pub fn program(pin: &Pin, found: &ProgramFiles) -> Self {
        let now = Pin::of(Some(found), Timestamp::from_millis(0));
        Self {
            before: sides_of(pin),
            after: sides_of(&now),
            detail: match pin.has_program() {
                true => "Its program is not the one that was approved.",
                false => "Nobody has seen its program yet.",
            },
        }
    }

    /// Tools that are not the approved ones: those that differ, each as it was and as it is. Where
    /// that is more than a card can show, their names stand for them.
    ///
    /// # Errors
    /// A fault when there is no digest of them.
    pub fn tools(approved: &[ToolDefinition], listed: &[ToolDefinition]) -> Result<Self, Fault> {
        let diff = mcp_tools::compare(approved, listed);
        let changed = diff.changed.iter().map(|changed| &changed.name);
        let names: Vec<&String> = diff
            .added
            .iter()
            .chain(changed)
            .chain(&diff.removed)
            .collect();
        let side = |tools: &[ToolDefinition]| -> Result<Map<String, Value>, Fault> {
            let mut side = Map::new();
            side.insert(TOOLS_SHA256.to_owned(), mcp_tools::digest(tools)?.into());
            for name in &names {
                let same: Vec<&ToolDefinition> =
                    tools.iter().filter(|tool| tool.name == **name).collect();
                let shown = match same[..] {
                    [] => Value::Null,
                    [one] => json!(one),
                    [_, _, ..] => json!(same),
                };
                side.insert(format!("{TOOL}{name}"), shown);
            }
            Ok(side)
        };
        let (mut before, mut after) = (side(approved)?, side(listed)?);
        let size = json!([before, after]).to_string().len();
        if size > MCP_REPIN_CARD_BYTES_MAX {
            for side in [&mut before, &mut after] {
                for (name, shown) in side.iter_mut().filter(|(_, shown)| !shown.is_null()) {
                    if name.starts_with(TOOL) {
                        *shown = "too long to be shown".into();
                    }
                }
            }
        }
        Ok(Self {
            before,
            after,
            detail: "Its tools are not those that were approved.",
        })
    }

    /// What a person is shown.
    ///
    /// # Errors
    /// A fault when there is no card.
    pub fn card(&self, agent: &Agent, server: &McpServer) -> Result<Value, Fault> {
        let program = server.pin.program();
        let place = CardSubject {
            agent,
            name: &server.name,
            program: program.as_ref(),
        };
        let mut card = serde_json::to_value(ServerApprovalCard::of(place, &server.connection))
            .map_err(|error| Fault::broken("making a card", error))?;
        card["before"] = Value::Object(self.before.clone());
        card["after"] = Value::Object(self.after.clone());
        Ok(card)
    }

    /// What the digest of the question is taken over.
    pub fn input(&self, server: &McpServer) -> Value {
        json!({
            "name": server.name,
            "connection": server.connection.to_plain_json(),
            "before": self.before,
            "after": self.after,
        })
    }

    /// One sentence of what is not as it was.
    pub fn detail(&self) -> &'static str {
        self.detail
    }

    /// Why a person is asked.
    pub fn why(&self) -> Vec<String> {
        vec![
            self.detail.to_owned(),
            "The agent cannot use it until you decide.".to_owned(),
        ]
    }

    /// Takes over that this waits for a person under `question`.
    pub fn hold_for_approval(&self, server: &mut McpServer, question: ApprovalId) {
        if let Some(status) = next(server.status, StatusTrigger::PinDiffers, server.facts()) {
            server.status = status;
        }
        server.status_detail = Some(self.detail.to_owned());
        server.approval_id = Some(question);
    }
}

/// The program's part of a pin as a side of a card.
fn sides_of(pin: &Pin) -> Map<String, Value> {
    let mut side = Map::new();
    for (name, value) in [
        ("executablePath", &pin.executable_path),
        ("executableSha256", &pin.executable_sha256),
        ("scriptPath", &pin.script_path),
        ("scriptSha256", &pin.script_sha256),
    ] {
        side.insert(name.to_owned(), json!(value));
    }
    side
}

/// Takes over that the owner approved what `card` shows; answers the tools to keep, where they
/// are others. Tools that were too many to be shown are pinned when they are next listed.
///
/// # Errors
/// A fault when the card is not of ours.
pub fn granted(
    server: &mut McpServer,
    card: &Value,
    approved: Option<Vec<ToolDefinition>>,
    now: Timestamp,
) -> Result<Option<Vec<ToolDefinition>>, Fault> {
    let Value::Object(after) = &card["after"] else {
        return Err(Fault::broken("reading a card", "it has no new side"));
    };
    let mut tools = None;
    if after.contains_key(TOOLS_SHA256) {
        tools = tools_after(approved.unwrap_or_default(), after);
        server.pin.tools_sha256 = tools.as_deref().map(mcp_tools::digest).transpose()?;
        if let Some(tools) = &tools {
            server.tool_count = u32::try_from(tools.len()).ok();
        }
    } else {
        let text = |name: &str| after.get(name).and_then(Value::as_str).map(str::to_owned);
        server.pin.executable_path = text("executablePath");
        server.pin.executable_sha256 = text("executableSha256");
        server.pin.script_path = text("scriptPath");
        server.pin.script_sha256 = text("scriptSha256");
    }
    server.pin.pinned_at = Some(now);
    move_on(server, StatusTrigger::RepinGranted);
    Ok(tools)
}

/// Takes over that the owner refused what it is now.
pub fn denied(server: &mut McpServer) {
    move_on(server, StatusTrigger::RepinDenied);
    server.enabled = false;
    server.rev += 1;
}

fn move_on(server: &mut McpServer, trigger: StatusTrigger) {
    if let Some(status) = next(server.status, trigger, server.facts()) {
        server.status = status;
    }
    server.status_detail = None;
    if server.status != ServerStatus::NeedsApproval {
        server.approval_id = None;
    }
}

/// The approved tools with those of the new side in their place; `None` when it does not show
/// them.
fn tools_after(
    approved: Vec<ToolDefinition>,
    after: &Map<String, Value>,
) -> Option<Vec<ToolDefinition>> {
    let mut tools = approved;
    for (name, shown) in after {
        let Some(name) = name.strip_prefix(TOOL) else {
            continue;
        };
        tools.retain(|tool| tool.name != name);
        match shown {
            Value::Null => {}
            Value::Array(same) => {
                for one in same {
                    tools.push(serde_json::from_value(one.clone()).ok()?);
                }
            }
            one => tools.push(serde_json::from_value(one.clone()).ok()?),
        }
    }
    let is_shown = after.get(TOOLS_SHA256).and_then(Value::as_str);
    let digest = mcp_tools::digest(&tools).ok()?;
    (is_shown == Some(&digest)).then_some(tools)
}

#[cfg(test)]
#[path = "repin_tests.rs"]
mod tests;
