//! The tools for a tab that is shared with a session: they have no twin among the routes, and
//! only the agent of that session is told of them. Source: contract 7.8.

use base64::{Engine, engine::general_purpose::STANDARD};
use guildhall_domain::{
    Refusal,
    browser::{
        ToolDenial,
        tools::{BrowserTool as Kind, BrowserToolError, BrowserToolResult},
    },
    callers::Agent,
};
use guildhall_hall::Hall;
use guildhall_wire::browser::tools as wire;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};

use super::tool_routes;
use crate::errors::ApiError;

/// What an agent is told of them.
pub(super) fn all() -> impl Iterator<Item = Tool> {
    Kind::NAMES.into_iter().map(|(kind, _)| tool(kind))
}

/// What an agent is told of one.
pub(super) fn tool(kind: Kind) -> Tool {
    let wire::ToolDescription {
        title,
        about,
        input,
    } = wire::describe(kind);
    let mut tool = Tool::new(kind.name(), about, input);
    tool.title = Some(title.to_owned());
    // What a click does, only its page knows.
    let hints = ToolAnnotations::new()
        .read_only(!kind.acts())
        .destructive(kind.acts())
        .idempotent(!kind.acts())
        .open_world(true);
    tool.annotations = Some(hints);
    tool
}

/// Answers a call.
pub(super) async fn call(
    hall: &Hall,
    by: &Agent,
    kind: Kind,
    arguments: &JsonObject,
) -> CallToolResult {
    match call_tool(hall, by, kind, arguments).await {
        Ok(answer) => to_result(&answer),
        Err(BrowserToolError::Denied(denied)) => refused(denied.code(), denied.message()),
        Err(BrowserToolError::NotComeAbout) => {
            let sentence = "It did not come about within ten seconds. Look at the page.";
            refused(ToolDenial::Timeout.code(), sentence)
        }
        Err(BrowserToolError::Error(error)) => tool_routes::broken(&ApiError::from(error)),
    }
}

async fn call_tool(
    hall: &Hall,
    by: &Agent,
    kind: Kind,
    arguments: &JsonObject,
) -> Result<BrowserToolResult, BrowserToolError> {
    // Who has none of the tools learns nothing of what they take.
    if !hall.has_browser_tools(by, false).await? {
        return Err(ToolDenial::NotShared.into());
    }
    let call = wire::call(kind, arguments).map_err(Refusal::Validation)?;
    hall.use_browser(by, call).await
}

fn to_result(answer: &BrowserToolResult) -> CallToolResult {
    let mut result = tool_routes::result_of(wire::to_result(answer), false);
    if let BrowserToolResult::Picture { jpeg, .. } = answer {
        let picture = ContentBlock::image(STANDARD.encode(jpeg), "image/jpeg");
        result.content.push(picture);
    }
    result
}

fn refused(code: &str, sentence: &str) -> CallToolResult {
    tool_routes::result_of(wire::to_denial(code, sentence), true)
}
