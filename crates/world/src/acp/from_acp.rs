//! What an agent says, in the words of `domain`: lenient where agents differ, and silent about
//! what it does not know.

use agent_client_protocol::v1::schema::{
    AvailableCommandInput, ContentBlock, Cost, EmbeddedResourceResource, Meta,
    PermissionOptionKind, PlanEntryPriority, PlanEntryStatus, PromptResponse,
    RequestPermissionRequest, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOption, SessionConfigSelectOptions, SessionModeState, SessionUpdate,
    StopReason, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use guildhall_domain::{
    interactions::{InteractionRequest, PermissionChoice, PermissionChoiceKind},
    limits,
    sessions::TurnOutcome,
    transcript::{self, PlanEntry, ToolCallPatch, ToolContent, ToolLocation, ToolStatus},
    usage::{self, TokenCounts},
};
use serde_json::Value;

use super::{
    AgentCommand, AgentUpdate, ConfigOption, ConfigValue, NativeMode, OpenedSession, PromptResult,
};

/// What a `session/update` says; nothing for one this version does not know.
pub(super) fn updates(raw: Value) -> Vec<AgentUpdate> {
    let title = raw.get("title").and_then(Value::as_str).map(str::to_owned);
    let is_untitled = raw.get("title").is_some_and(Value::is_null);
    let Ok(update) = serde_json::from_value::<SessionUpdate>(raw) else {
        return Vec::new();
    };
    match update {
        SessionUpdate::AgentMessageChunk(chunk) => one(said(&chunk.content)),
        SessionUpdate::AgentThoughtChunk(chunk) => {
            one(text(&chunk.content).map(|text| AgentUpdate::Thinking(text.to_owned())))
        }
        // Our own message row is the record.
        SessionUpdate::UserMessageChunk(_) => Vec::new(),
        SessionUpdate::ToolCall(call) => vec![AgentUpdate::ToolCall(announced(call))],
        SessionUpdate::ToolCallUpdate(update) => {
            vec![AgentUpdate::ToolCall(tool_call_patch(update))]
        }
        SessionUpdate::Plan(plan) => vec![AgentUpdate::Plan(
            plan.entries.into_iter().map(plan_entry).collect(),
        )],
        SessionUpdate::AvailableCommandsUpdate(update) => vec![AgentUpdate::Commands(
            update
                .available_commands
                .into_iter()
                .map(|command| AgentCommand {
                    name: command.name,
                    description: command.description,
                    hint: match command.input {
                        Some(AvailableCommandInput::Unstructured(input)) => input.hint,
                        _ => String::new(),
                    },
                })
                .collect(),
        )],
        SessionUpdate::CurrentModeUpdate(update) => {
            vec![AgentUpdate::Mode(update.current_mode_id.to_string())]
        }
        SessionUpdate::ConfigOptionUpdate(update) => {
            vec![AgentUpdate::Options(options(update.config_options))]
        }
        SessionUpdate::SessionInfoUpdate(_) => match (title, is_untitled) {
            (Some(title), _) => vec![AgentUpdate::Title(title)],
            (None, true) => vec![AgentUpdate::Title(String::new())],
            (None, false) => Vec::new(),
        },
        SessionUpdate::UsageUpdate(update) => {
            let context = AgentUpdate::Context {
                used: counted(update.used),
                size: counted(update.size),
            };
            let cost = update.cost.as_ref().and_then(cost).map(AgentUpdate::Cost);
            [Some(context), cost].into_iter().flatten().collect()
        }
        SessionUpdate::Notice(notice) => vec![AgentUpdate::Notice(match notice.description {
            Some(description) if !description.is_empty() => {
                format!("{}: {description}", notice.title)
            }
            Some(_) | None => notice.title,
        })],
        _ => Vec::new(),
    }
}

/// Tokens as far as a figure is believed.
fn counted(tokens: u64) -> u64 {
    tokens.min(limits::TOKENS_TOLD_MAX)
}

/// A cost as far as it is believed; one that is no amount, or of no known length, was not told.
fn cost(told: &Cost) -> Option<usage::Cost> {
    let is_amount = told.amount.is_finite() && told.amount >= 0.0;
    let is_named = told.currency.chars().count() <= limits::CURRENCY_CHARS_MAX;
    let amount = told.amount.min(limits::COST_TOLD_MAX);
    (is_amount && is_named).then(|| usage::Cost::new(amount, told.currency.to_ascii_uppercase()))
}

fn one(update: Option<AgentUpdate>) -> Vec<AgentUpdate> {
    update.into_iter().collect()
}

/// The words of a block; `None` when it has none.
fn text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(&text.text),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => Some(&text.text),
            _ => None,
        },
        _ => None,
    }
}

/// A block of the agent's message; what is not shown is named.
fn said(block: &ContentBlock) -> Option<AgentUpdate> {
    match block {
        ContentBlock::ResourceLink(link) => {
            Some(AgentUpdate::Text(format!("[{}]({})", link.name, link.uri)))
        }
        _ => Some(match text(block) {
            Some("") => return None,
            Some(text) => AgentUpdate::Text(text.to_owned()),
            None => AgentUpdate::Notice(format!(
                "The agent sent {}, which is not shown.",
                kind(block)
            )),
        }),
    }
}

fn kind(block: &ContentBlock) -> &'static str {
    match block {
        ContentBlock::Text(_) => "text",
        ContentBlock::Image(_) => "image",
        ContentBlock::Audio(_) => "audio",
        ContentBlock::ResourceLink(_) => "resource_link",
        ContentBlock::Resource(_) => "resource",
        _ => "something",
    }
}

fn plan_entry(entry: agent_client_protocol::v1::schema::PlanEntry) -> PlanEntry {
    PlanEntry {
        content: entry.content,
        status: match entry.status {
            PlanEntryStatus::InProgress => "in_progress",
            PlanEntryStatus::Completed => "completed",
            _ => "pending",
        }
        .to_owned(),
        priority: match entry.priority {
            PlanEntryPriority::High => "high",
            PlanEntryPriority::Medium => "medium",
            PlanEntryPriority::Low => "low",
            _ => "",
        }
        .to_owned(),
    }
}

/// Whether `id` can be the id of a tool call: asks and answers name calls by it, and each of its
/// events repeats it.
pub(super) fn is_call_id(id: &str) -> bool {
    limits::TOOL_CALL_ID_CHARS.contains(&id.chars().count())
}

/// A call as it is announced; fields that only have their default say nothing.
fn announced(call: ToolCall) -> ToolCallPatch {
    let patch = tool_call_patch(call.into());
    ToolCallPatch {
        status: patch.status.filter(|status| *status != ToolStatus::Pending),
        ..patch
    }
}

/// What is said of a tool call, in an update or a permission request.
pub(super) fn tool_call_patch(update: ToolCallUpdate) -> ToolCallPatch {
    let ToolCallUpdateFields {
        kind,
        status,
        title,
        name,
        content,
        locations,
        raw_input,
        raw_output,
        ..
    } = update.fields;
    ToolCallPatch {
        tool_call_id: update.tool_call_id.to_string(),
        title,
        tool_name: name
            .filter(|name| !name.is_empty())
            .or_else(|| update.meta.as_ref().and_then(tool_name)),
        kind: kind.map(tool_kind),
        status: status.map(tool_status),
        input: raw_input,
        output: raw_output,
        content: content.map(|content| content.into_iter().map(tool_content).collect()),
        locations: locations.map(|places| places.iter().map(location).collect()),
    }
}

/// A tool's own name out of what adapters add, such as `_meta.claudeCode.toolName`.
fn tool_name(meta: &Meta) -> Option<String> {
    let named = |members: &serde_json::Map<String, Value>| {
        ["toolName", "tool_name"]
            .iter()
            .find_map(|key| members.get(*key)?.as_str().map(str::to_owned))
            .filter(|name| !name.is_empty())
    };
    let within = || meta.values().filter_map(Value::as_object).find_map(named);
    named(meta).or_else(within)
}

fn tool_kind(kind: ToolKind) -> transcript::ToolKind {
    use transcript::ToolKind as Ours;
    match kind {
        ToolKind::Read => Ours::Read,
        ToolKind::Edit => Ours::Edit,
        ToolKind::Delete => Ours::Delete,
        ToolKind::Move => Ours::Move,
        ToolKind::Search => Ours::Search,
        ToolKind::Execute => Ours::Execute,
        ToolKind::Think => Ours::Think,
        ToolKind::Fetch => Ours::Fetch,
        ToolKind::SwitchMode => Ours::SwitchMode,
        _ => Ours::Other,
    }
}

fn tool_status(status: ToolCallStatus) -> ToolStatus {
    match status {
        ToolCallStatus::InProgress => ToolStatus::InProgress,
        ToolCallStatus::Completed => ToolStatus::Completed,
        ToolCallStatus::Failed => ToolStatus::Failed,
        _ => ToolStatus::Pending,
    }
}

fn tool_content(content: ToolCallContent) -> ToolContent {
    match content {
        ToolCallContent::Content(content) => match text(&content.content) {
            Some(text) => ToolContent::Text {
                text: text.to_owned(),
            },
            None => ToolContent::Unshown {
                kind: kind(&content.content).to_owned(),
            },
        },
        ToolCallContent::Diff(diff) => ToolContent::Diff {
            path: diff.path.to_string_lossy().into_owned(),
            old_text: diff.old_text,
            new_text: diff.new_text,
        },
        ToolCallContent::Terminal(_) => ToolContent::Unshown {
            kind: "terminal".to_owned(),
        },
        _ => ToolContent::Unshown {
            kind: "other".to_owned(),
        },
    }
}

fn location(place: &ToolCallLocation) -> ToolLocation {
    ToolLocation {
        path: place.path.to_string_lossy().into_owned(),
        line: place.line,
    }
}

/// A permission request: its session, what it asks, and what it tells of the call.
pub(super) fn permission(
    request: RequestPermissionRequest,
) -> (String, InteractionRequest, Option<ToolCallPatch>) {
    let call = tool_call_patch(request.tool_call);
    let options = request.options.into_iter().filter_map(|option| {
        Some(PermissionChoice {
            option_id: option.option_id.to_string(),
            name: option.name,
            kind: match option.kind {
                PermissionOptionKind::AllowOnce => PermissionChoiceKind::AllowOnce,
                PermissionOptionKind::AllowAlways => PermissionChoiceKind::AllowAlways,
                PermissionOptionKind::RejectOnce => PermissionChoiceKind::RejectOnce,
                PermissionOptionKind::RejectAlways => PermissionChoiceKind::RejectAlways,
                // What we do not know is not offered to anybody.
                _ => return None,
            },
        })
    });
    let asked = InteractionRequest::Permission {
        tool_call_id: call.tool_call_id.clone(),
        options: options.collect(),
    };
    (request.session_id.to_string(), asked, Some(call))
}

/// What can be set in a session.
pub(super) fn options(options: Vec<SessionConfigOption>) -> Vec<ConfigOption> {
    options.into_iter().filter_map(option).collect()
}

fn option(option: SessionConfigOption) -> Option<ConfigOption> {
    let (current, values) = match option.kind {
        SessionConfigKind::Select(select) => (
            select.current_value.to_string(),
            match select.options {
                SessionConfigSelectOptions::Ungrouped(options) => {
                    options.into_iter().map(value).collect()
                }
                SessionConfigSelectOptions::Grouped(groups) => groups
                    .into_iter()
                    .flat_map(|group| group.options)
                    .map(value)
                    .collect(),
                _ => Vec::new(),
            },
        ),
        SessionConfigKind::Boolean(switch) => (
            switch.current_value.to_string(),
            ["true", "false"].map(bare).into(),
        ),
        // Nobody could set it.
        _ => return None,
    };
    Some(ConfigOption {
        id: option.id.to_string(),
        name: option.name,
        category: match option.category {
            Some(SessionConfigOptionCategory::Mode) => "mode".to_owned(),
            Some(SessionConfigOptionCategory::Model) => "model".to_owned(),
            Some(SessionConfigOptionCategory::ModelConfig) => "model_config".to_owned(),
            Some(SessionConfigOptionCategory::ThoughtLevel) => "thought_level".to_owned(),
            Some(SessionConfigOptionCategory::Other(word)) => word,
            _ => String::new(),
        },
        current,
        values,
    })
}

fn value(option: SessionConfigSelectOption) -> ConfigValue {
    ConfigValue {
        value: option.value.to_string(),
        name: option.name,
        description: option.description.unwrap_or_default(),
    }
}

fn bare(word: &str) -> ConfigValue {
    ConfigValue {
        value: word.to_owned(),
        name: word.to_owned(),
        description: String::new(),
    }
}

/// A session as its agent describes it when opening it.
pub(super) fn opened(
    session: String,
    modes: Option<SessionModeState>,
    config: Option<Vec<SessionConfigOption>>,
) -> OpenedSession {
    let options = options(config.unwrap_or_default());
    let by_option = || {
        let option = options.iter().find(|option| option.category == "mode");
        option.map(|option| option.current.clone())
    };
    let (current_mode, modes) = match modes {
        Some(state) => (
            Some(state.current_mode_id.to_string()),
            state
                .available_modes
                .into_iter()
                .map(|mode| NativeMode {
                    id: mode.id.to_string(),
                    name: mode.name,
                    description: mode.description.unwrap_or_default(),
                })
                .collect(),
        ),
        None => (by_option(), Vec::new()),
    };
    OpenedSession {
        session,
        modes,
        current_mode,
        options,
    }
}

/// How a prompt ended; `None` for a stop reason this version does not know.
pub(super) fn prompt_end(response: PromptResponse) -> Option<PromptResult> {
    Some(PromptResult {
        stop: match response.stop_reason {
            StopReason::EndTurn => TurnOutcome::EndTurn,
            StopReason::MaxTokens => TurnOutcome::MaxTokens,
            StopReason::MaxTurnRequests => TurnOutcome::MaxTurnRequests,
            StopReason::Refusal => TurnOutcome::Refusal,
            StopReason::Cancelled => TurnOutcome::Cancelled,
            _ => return None,
        },
        tokens: match response.usage {
            Some(usage) => Some(TokenCounts {
                input: counted(usage.input_tokens),
                output: counted(usage.output_tokens),
                cached_read: counted(usage.cached_read_tokens.unwrap_or_default()),
                cached_write: counted(usage.cached_write_tokens.unwrap_or_default()),
                thought: counted(usage.thought_tokens.unwrap_or_default()),
                total: counted(usage.total_tokens),
            }),
            None => response.meta.as_ref().and_then(quota),
        },
    })
}

/// Figures under `_meta.quota.token_count`. Source: contract 3.10.
fn quota(meta: &Meta) -> Option<TokenCounts> {
    let counts = meta.get("quota")?.get("token_count")?.as_object()?;
    let count = |names: [&str; 2]| {
        let told = names.iter().find_map(|name| counts.get(*name)?.as_u64());
        told.map(counted)
    };
    let input = count(["input_tokens", "inputTokens"]);
    let output = count(["output_tokens", "outputTokens"]);
    if input.is_none() && output.is_none() {
        return None;
    }
    let cached_read = count(["cached_read_tokens", "cachedReadTokens"]).unwrap_or_default();
    let thought = count(["thought_tokens", "thoughtTokens"]).unwrap_or_default();
    let (input, output) = (input.unwrap_or_default(), output.unwrap_or_default());
    Some(TokenCounts {
        input,
        output,
        cached_read,
        cached_write: 0,
        thought,
        total: count(["total_tokens", "totalTokens"])
            .unwrap_or_else(|| counted(input.saturating_add(output).saturating_add(thought))),
    })
}

#[cfg(test)]
#[path = "from_acp_tests.rs"]
mod tests;
