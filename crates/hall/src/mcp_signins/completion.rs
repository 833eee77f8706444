//! The end of a sign-in that connected: the tokens are kept, the entry stands otherwise, and the
//! session that asked hears of it. Source: contract 4.8.

use guildhall_domain::{
    Result, Timestamp,
    ids::{AuthorId, MessageId, SessionId},
    mcp_servers::{
        AuthClientOrigin, AuthStatus, McpServer, ServerAuthKind, ServerStatus, StatusTrigger,
        next as next_status,
    },
    mcp_signins::SigninEvent,
    mcp_tools::ToolDefinition,
    sessions::SessionState,
};
use guildhall_store::{
    Tx, authors, mcp_servers as server_rows,
    mcp_signins::{self as rows, SigninFlowRow, SigninRow},
    messages, sessions,
};
use guildhall_world::{digests::ApprovalDigests, seal::Seal};

use super::{SigninOutcome, end, secrets::GrantedTokens, write_if_changed};
use crate::{
    mcp_servers::{self, ToolsOutcome},
    sessions::{NewMessage, QueueRank, enqueue},
};

/// Keeps the tokens, and notes that the server takes them.
pub(super) fn connect(
    tx: &mut Tx<'_>,
    (seal, digests): (&Seal, &ApprovalDigests),
    (mut kept, origin): (SigninFlowRow, AuthClientOrigin),
    (granted, tools): (GrantedTokens, Vec<ToolDefinition>),
    (message, now): (MessageId, Timestamp),
) -> Result<(SigninOutcome, Option<SessionId>)> {
    let (agent, name) = (kept.flow.agent_id, kept.flow.name.clone());
    let of = (agent, &name);
    let client = rows::find(tx, agent, &name)?.and_then(|before| before.client);
    let stored = SigninRow {
        url: kept.flow.url.clone(),
        client,
        access: Some(granted.seal(seal, of)?),
        expires_at: granted.ends(now),
    };
    rows::put(tx, agent, &name, &stored)?;
    let standing = mcp_servers::existing(tx, seal, agent, Some(&name))?;
    let mut after = standing.clone();
    let server = &mut after.server;
    server.connection = server
        .connection
        .clone()
        .with_auth_kind(Some(ServerAuthKind::Oauth2));
    server.auth_status = Some(AuthStatus::Connected);
    server.auth_client_origin = Some(origin);
    kept.flow.tool_count = u32::try_from(tools.len()).ok();
    let registered = mcp_servers::registered(tx, agent)?;
    // What it has for those who signed in, nobody may have approved.
    let taken = mcp_servers::accept_or_ask_tools(tx, digests, &registered, server, tools, now)?;
    if matches!(taken, ToolsOutcome::Over(_)) {
        signed_in(server);
    }
    write_if_changed(tx, seal, agent, (standing, after), now)?;
    let session = match taken {
        ToolsOutcome::Asked => None,
        ToolsOutcome::Over(keep) => {
            if let Some(tools) = keep {
                server_rows::set_tools(tx, agent, &name, &tools)?;
            }
            kept.flow.session_id
        }
    };
    end(tx, kept, SigninEvent::Connected, now)?;
    let woken = queue_for_session(tx, session, name.as_str(), (message, now))?;
    Ok((SigninOutcome::Connected(name.as_str().to_owned()), woken))
}

/// An entry whose sign-in connected.
pub(super) fn signed_in(server: &mut McpServer) {
    if let Some(status) = next_status(server.status, StatusTrigger::SignedIn, server.facts()) {
        server.status = status;
        server.status_detail = None;
    }
    if server.status == ServerStatus::Unknown && server.tool_count.is_some() {
        server.status = ServerStatus::Ready;
    }
}

/// Gives the session that asked one input, if it has nothing else to do.
fn queue_for_session(
    tx: &mut Tx<'_>,
    session: Option<SessionId>,
    server: &str,
    (id, now): (MessageId, Timestamp),
) -> Result<Option<SessionId>> {
    let Some(session) = session
        .map(|id| sessions::by_id(tx, id))
        .transpose()?
        .flatten()
    else {
        return Ok(None);
    };
    if session.state != SessionState::Idle || messages::queued(tx, session.id)? > 0 {
        return Ok(None);
    }
    let author: AuthorId = authors::system(tx)?;
    let content = format!(
        "The sign-in with the tool server \"{server}\" is finished; its tools are there from this turn on."
    );
    let message = NewMessage {
        id,
        session: session.id,
        author,
        content,
        context: String::new(),
        room_turn: None,
        rank: QueueRank::Usual,
    };
    enqueue(tx, message, now)?;
    Ok(Some(session.id))
}
