//! Tool servers of agents on the wire. Source: spec, "Managed MCP server entry"; contract 4.2 to
//! 4.4.

use std::collections::BTreeMap;

use guildhall_domain::{
    Timestamp,
    ids::{AgentId, ApprovalId, AuthorId},
    mcp_servers::{
        self as rules, RemoteConfig, SecretText, StdioConfig, Transport,
        connection_config::SecretValues,
    },
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// How a server is reached. Values of `env` and `headers` are `"***"` to everybody but the owner
/// at a screen; sent in a change, `"***"` keeps the stored value.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(tag = "transport", rename_all = "lowercase")]
pub enum McpConnection {
    /// A program, by its standard input and output.
    Stdio {
        /// The program: 1 to 4096 bytes.
        #[schema(example = "npx")]
        command: String,
        /// At most 128, of at most 8192 bytes each.
        #[schema(required = false, example = json!(["-y", "@modelcontextprotocol/server-everything"]))]
        args: Vec<String>,
        /// At most 128; values of at most 32 KiB.
        #[schema(required = false, example = json!({}))]
        env: BTreeMap<String, String>,
    },
    /// Streamable HTTP.
    Http {
        /// An http or https URL of at most 2048 characters.
        url: String,
        /// At most 32.
        #[schema(required = false)]
        headers: BTreeMap<String, String>,
        /// `oauth2` when the server needs a sign-in; ignored in requests.
        #[serde(rename = "authKind", skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false, value_type = Option<String>)]
        auth_kind: Option<rules::ServerAuthKind>,
    },
    /// The older transport of two endpoints.
    Sse {
        /// An http or https URL of at most 2048 characters.
        url: String,
        /// At most 32.
        #[schema(required = false)]
        headers: BTreeMap<String, String>,
        /// `oauth2` when the server needs a sign-in; ignored in requests.
        #[serde(rename = "authKind", skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false, value_type = Option<String>)]
        auth_kind: Option<rules::ServerAuthKind>,
    },
}

impl From<rules::ConnectionConfig> for McpConnection {
    fn from(connection: rules::ConnectionConfig) -> Self {
        let shown = |values: SecretValues| {
            let one = |(name, value): (String, SecretText)| (name, value.shown().to_owned());
            values.into_iter().map(one).collect()
        };
        match connection {
            rules::ConnectionConfig::Stdio(StdioConfig { command, args, env }) => Self::Stdio {
                command,
                args,
                env: shown(env),
            },
            rules::ConnectionConfig::Http(RemoteConfig {
                url,
                headers,
                auth_kind,
            }) => Self::Http {
                url,
                headers: shown(headers),
                auth_kind,
            },
            rules::ConnectionConfig::Sse(RemoteConfig {
                url,
                headers,
                auth_kind,
            }) => Self::Sse {
                url,
                headers: shown(headers),
                auth_kind,
            },
        }
    }
}

/// What a person approved. Each is null until it was seen.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpPin {
    /// The program's file.
    #[schema(required = true)]
    pub executable_path: Option<String>,
    /// Its SHA-256.
    #[schema(required = true)]
    pub executable_sha256: Option<String>,
    /// The script an interpreter is given.
    #[schema(required = true)]
    pub script_path: Option<String>,
    /// Its SHA-256.
    #[schema(required = true)]
    pub script_sha256: Option<String>,
    /// The SHA-256 of the list of tools.
    #[schema(required = true)]
    pub tools_sha256: Option<String>,
    /// When it was last set.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub pinned_at: Option<Timestamp>,
}

impl From<rules::Pin> for McpPin {
    fn from(pin: rules::Pin) -> Self {
        Self {
            executable_path: pin.executable_path,
            executable_sha256: pin.executable_sha256,
            script_path: pin.script_path,
            script_sha256: pin.script_sha256,
            tools_sha256: pin.tools_sha256,
            pinned_at: pin.pinned_at,
        }
    }
}

/// A tool server of an agent.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    /// Unique for the agent; letters have no case.
    #[schema(example = "files")]
    pub name: String,
    /// Whether it is used.
    pub enabled: bool,
    /// How it is reached.
    pub connection: McpConnection,
    /// When it was added.
    #[schema(value_type = String, format = DateTime)]
    pub added_at: Timestamp,
    /// Who asked for it.
    #[schema(value_type = String)]
    pub added_by: AuthorId,
    /// How often connection or `enabled` changed, from 1; the entity tag.
    pub rev: u64,
    /// `ready`, `disabled`, `unknown`, `needsSignIn`, `needsApproval`, `commandMissing` or
    /// `failing`.
    #[schema(value_type = String, example = "unknown")]
    pub status: rules::ServerStatus,
    /// One sentence for people, or null.
    #[schema(required = true)]
    pub status_detail: Option<String>,
    /// `connected`, `needs-auth`, or null when no sign-in is known to be wanted.
    #[schema(required = true, value_type = Option<String>)]
    pub auth_status: Option<rules::AuthStatus>,
    /// `registered`, `metadata`, `manual`, or null.
    #[schema(required = true, value_type = Option<String>)]
    pub auth_client_origin: Option<rules::AuthClientOrigin>,
    /// The approval that waits while the status is `needsApproval`.
    #[schema(required = true, value_type = Option<String>)]
    pub approval_id: Option<ApprovalId>,
    /// Null until its tools were listed once.
    #[schema(required = true)]
    pub tool_count: Option<u32>,
    /// What a person approved.
    pub pin: McpPin,
}

impl From<rules::McpServer> for McpServer {
    fn from(server: rules::McpServer) -> Self {
        Self {
            name: server.name.as_str().to_owned(),
            enabled: server.enabled,
            connection: server.connection.into(),
            added_at: server.added_at,
            added_by: server.added_by,
            rev: server.rev,
            status: server.status,
            status_detail: server.status_detail,
            auth_status: server.auth_status,
            auth_client_origin: server.auth_client_origin,
            approval_id: server.approval_id,
            tool_count: server.tool_count,
            pin: server.pin.into(),
        }
    }
}

/// Adds a tool server to an agent.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"name": "everything", "connection": {"transport": "stdio",
    "command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"]}}))]
pub struct AddMcpServer {
    /// The agent of the address, if it is named at all.
    #[schema(nullable = false)]
    pub agent_id: Option<String>,
    /// 1 to 64 of letters, digits, dot, underscore and hyphen; not `guildhall`.
    pub name: String,
    /// How it is reached.
    pub connection: McpConnection,
    #[serde(skip)]
    #[schema(ignore)]
    asked: rules::ConnectionConfig,
}

impl FromFields for AddMcpServer {
    fn read(fields: &mut Fields) -> Self {
        let asked = fields.object("connection", connection);
        let asked = asked.unwrap_or_else(nothing);
        Self {
            agent_id: fields.maybe_text("agentId"),
            name: fields.text("name"),
            connection: asked.clone().into(),
            asked,
        }
    }
}

impl From<AddMcpServer> for rules::NewMcpServer {
    fn from(ask: AddMcpServer) -> Self {
        Self {
            agent_id: ask.agent_id.as_deref().map(AgentId::named),
            name: ask.name,
            connection: ask.asked,
        }
    }
}

/// Changes a tool server; absent fields stay.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"enabled": false}))]
pub struct UpdateMcpServer {
    /// How it is reached, as a whole; a value of `"***"` keeps the stored one.
    #[schema(nullable = false)]
    pub connection: Option<McpConnection>,
    /// Whether it is used.
    #[schema(nullable = false)]
    pub enabled: Option<bool>,
    #[serde(skip)]
    #[schema(ignore)]
    asked: Option<rules::ConnectionConfig>,
}

impl FromFields for UpdateMcpServer {
    fn read(fields: &mut Fields) -> Self {
        let asked = fields.maybe_object("connection", connection);
        Self {
            enabled: fields.maybe_flag("enabled"),
            connection: asked.clone().map(Into::into),
            asked,
        }
    }
}

impl From<UpdateMcpServer> for rules::McpServerPatch {
    fn from(ask: UpdateMcpServer) -> Self {
        Self {
            connection: ask.asked,
            enabled: ask.enabled,
        }
    }
}

/// A tool of a server that was tested.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestedTool {
    /// What it is called by.
    #[schema(example = "echo")]
    pub name: String,
    /// What a person reads.
    #[schema(example = "Echo")]
    pub title: String,
    /// Whether the server says that it changes nothing.
    pub read_only: bool,
    /// Whether the server says, by a word or by none, that it may destroy.
    pub destructive: bool,
}

/// What a test of a tool server showed.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestedMcpServer {
    /// Whether it was reached and is what was approved.
    pub ok: bool,
    /// Null when its tools could not be listed.
    #[schema(required = true)]
    pub tool_count: Option<usize>,
    /// Its tools.
    pub tools: Vec<TestedTool>,
    /// Whether somebody has to sign in.
    pub needs_auth: bool,
    /// Why it is not ok, for programs; or null.
    #[schema(required = true)]
    pub code: Option<String>,
    /// The same for people.
    #[schema(required = true)]
    pub error: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
    /// Whether program or tools are not the approved ones.
    pub pin_changed: bool,
}

impl From<rules::ServerTestResult> for TestedMcpServer {
    fn from(tested: rules::ServerTestResult) -> Self {
        let tools = tested.tools.as_deref().unwrap_or_default();
        Self {
            ok: tested.ok,
            tool_count: tested.tools.as_ref().map(Vec::len),
            tools: tools
                .iter()
                .map(|tool| TestedTool {
                    name: tool.name.clone(),
                    title: tool.display_name().to_owned(),
                    read_only: tool.is_read_only(),
                    destructive: tool.is_destructive(),
                })
                .collect(),
            needs_auth: tested.needs_auth,
            code: tested.code,
            error: tested.error,
            duration_ms: tested.duration_ms,
            pin_changed: tested.pin_changed,
        }
    }
}

/// Asks for nothing but the deed of the address.
#[derive(Clone, Copy, Debug)]
pub struct EmptyMcpServerRequest;

impl FromFields for EmptyMcpServerRequest {
    fn read(_fields: &mut Fields) -> Self {
        Self
    }
}

/// Adds a tool server that the agent's folder names.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({"name": "files"}))]
pub struct ImportMcpServer {
    /// Its name there.
    pub name: String,
}

impl FromFields for ImportMcpServer {
    fn read(fields: &mut Fields) -> Self {
        Self {
            name: fields.text("name"),
        }
    }
}

/// A tool server that the agent's folder names.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveredMcpServer {
    /// Its name there.
    #[schema(example = "files")]
    pub name: String,
    /// How it is reached; every value is `"***"`.
    pub connection: McpConnection,
    /// Whether the agent has an entry of this name.
    pub already_added: bool,
}

/// What the `.mcp.json` of the agent's folder names.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DiscoveredMcpServers {
    /// In the order of their names.
    pub servers: Vec<DiscoveredMcpServer>,
    /// What cannot be used, and why.
    pub warnings: Vec<String>,
}

/// Reads a connection: its own transport's fields, and none of the other one's.
fn connection(fields: &mut Fields) -> rules::ConnectionConfig {
    let Some(transport) = fields.known_choice("transport", &Transport::WORDS) else {
        return nothing();
    };
    let foreign: &[&str] = match transport {
        Transport::Stdio => &["url", "headers"],
        Transport::Http | Transport::Sse => &["command", "args", "env"],
    };
    for field in foreign
        .iter()
        .filter(|field| fields.holds(field))
        .collect::<Vec<_>>()
    {
        fields.fail_field(field, &format!("does not belong to {}", transport.as_str()));
    }
    match transport {
        Transport::Stdio => rules::ConnectionConfig::Stdio(StdioConfig {
            command: fields.text("command"),
            args: fields.texts("args"),
            env: values(fields, "env"),
        }),
        Transport::Http => rules::ConnectionConfig::Http(remote(fields)),
        Transport::Sse => rules::ConnectionConfig::Sse(remote(fields)),
    }
}

fn remote(fields: &mut Fields) -> RemoteConfig {
    RemoteConfig {
        url: fields.text("url"),
        headers: values(fields, "headers"),
        auth_kind: None,
    }
}

fn values(fields: &mut Fields, name: &str) -> SecretValues {
    let texts = fields.text_map(name).into_iter();
    texts
        .map(|(name, text)| (name, SecretText::sent(text)))
        .collect()
}

/// Stands for a connection that could not be read and was noted as wrong.
fn nothing() -> rules::ConnectionConfig {
    rules::ConnectionConfig::Stdio(StdioConfig {
        command: String::new(),
        args: Vec::new(),
        env: SecretValues::new(),
    })
}
