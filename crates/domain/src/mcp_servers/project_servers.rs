//! Tool servers that a project's own `.mcp.json` names. Strings are literal: nothing in them is
//! expanded. Pure: the file is read by `world::project_servers`. Source: contract 4.4.

use serde_json::{Map, Value};

use super::{
    ConnectionConfig, NewMcpServer, RemoteConfig, SecretText, ServerName, StdioConfig,
    approval_card::legible, connection_config::SecretValues,
};
use crate::{Refusal, ids::AgentId, limits};

/// What a project names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectServers {
    /// In the order of their names.
    pub servers: Vec<ProjectServer>,
    /// What cannot be used, and why; without values.
    pub warnings: Vec<String>,
}

/// One server of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectServer {
    /// Its name.
    pub name: ServerName,
    /// How it is reached.
    pub connection: ConnectionConfig,
}

impl ProjectServers {
    /// Nothing, and why.
    pub fn warning(why: &str) -> Self {
        Self {
            servers: Vec::new(),
            warnings: vec![why.to_owned()],
        }
    }

    /// Reads the text of a `.mcp.json`: `{"mcpServers": {name: {type?, command?, args?, env?,
    /// url?, headers?}}}`. What breaks a limit of an entry is left out with a warning.
    pub fn parse(text: &str) -> Self {
        let Ok(Value::Object(mut whole)) = serde_json::from_str(text) else {
            return Self::warning(".mcp.json is no JSON object.");
        };
        let named = match whole.remove("mcpServers") {
            Some(Value::Object(named)) => named,
            None => return Self::default(),
            Some(_) => return Self::warning(".mcp.json: mcpServers is no object."),
        };
        let mut discovered = Self::default();
        let mut taken = Vec::new();
        for (name, value) in named {
            if discovered.servers.len() == limits::MCP_DISCOVERED_MAX {
                let most = limits::MCP_DISCOVERED_MAX;
                let why =
                    format!(".mcp.json names more than {most} servers; the rest is left out.");
                discovered.warnings.push(why);
                break;
            }
            match read(&name, value) {
                Ok(found) if taken.contains(&found.name.folded()) => {
                    let why = format!("{}: another server has this name.", shown(&name));
                    discovered.warnings.push(why);
                }
                Ok(found) => {
                    taken.push(found.name.folded());
                    discovered.servers.push(found);
                }
                Err(why) => discovered
                    .warnings
                    .push(format!("{}: {why}.", shown(&name))),
            }
            discovered.warnings.truncate(limits::MCP_DISCOVERED_MAX);
        }
        discovered
    }

    /// The server of this name.
    pub fn named(self, name: &ServerName) -> Option<ProjectServer> {
        let mut servers = self.servers.into_iter();
        servers.find(|found| found.name.folded() == name.folded())
    }
}

fn read(name: &str, value: Value) -> Result<ProjectServer, String> {
    let Value::Object(fields) = value else {
        return Err("is no object".to_owned());
    };
    let connection = connection(fields)?.without_fragment();
    let ask = NewMcpServer {
        agent_id: None,
        name: name.to_owned(),
        connection,
    };
    match ask.check(AgentId::named("")) {
        Ok(name) => Ok(ProjectServer {
            name,
            connection: ask.connection,
        }),
        Err(Refusal::Validation(invalid)) => {
            let first = invalid.field_errors.into_iter().next();
            let (field, problems) = first.unwrap_or_default();
            let field = field.strip_prefix("connection.").unwrap_or(&field);
            Err(format!("{} {}", legible(field), problems.join(", and ")))
        }
        Err(_) => Err("this name is reserved".to_owned()),
    }
}

fn connection(mut fields: Map<String, Value>) -> Result<ConnectionConfig, String> {
    let kind = match fields.remove("type") {
        None => None,
        Some(Value::String(kind)) => Some(kind),
        Some(_) => return Err("type must be text".to_owned()),
    };
    let is_remote = kind.is_none() && fields.contains_key("url") && !fields.contains_key("command");
    match kind.as_deref() {
        None if is_remote => Ok(ConnectionConfig::Http(remote(fields)?)),
        None | Some("stdio") => Ok(ConnectionConfig::Stdio(stdio(fields)?)),
        Some("http" | "streamable-http") => Ok(ConnectionConfig::Http(remote(fields)?)),
        Some("sse") => Ok(ConnectionConfig::Sse(remote(fields)?)),
        Some(_) => Err("type must be stdio, http or sse".to_owned()),
    }
}

fn stdio(mut fields: Map<String, Value>) -> Result<StdioConfig, String> {
    let args = match fields.remove("args") {
        None => Vec::new(),
        Some(Value::Array(args)) => args
            .into_iter()
            .map(|arg| text("args", arg))
            .collect::<Result<_, _>>()?,
        Some(_) => return Err("args must be a list of texts".to_owned()),
    };
    Ok(StdioConfig {
        command: text("command", fields.remove("command").unwrap_or_default())?,
        args,
        env: values("env", fields.remove("env"))?,
    })
}

fn remote(mut fields: Map<String, Value>) -> Result<RemoteConfig, String> {
    Ok(RemoteConfig {
        url: text("url", fields.remove("url").unwrap_or_default())?,
        headers: values("headers", fields.remove("headers"))?,
        auth_kind: None,
    })
}

fn values(field: &str, value: Option<Value>) -> Result<SecretValues, String> {
    match value {
        None => Ok(SecretValues::new()),
        Some(Value::Object(values)) => values
            .into_iter()
            .map(|(name, value)| Ok((name, SecretText::sent(text(field, value)?))))
            .collect(),
        Some(_) => Err(format!("{field} must be an object of texts")),
    }
}

fn text(field: &str, value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(format!("{field} must be text")),
    }
}

/// A name for a warning: it may be anything.
fn shown(name: &str) -> String {
    let most = *limits::MCP_SERVER_NAME_CHARS.end();
    legible(&name.chars().take(most).collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(text: &str) -> (Vec<Value>, Vec<String>) {
        let ProjectServers { servers, warnings } = ProjectServers::parse(text);
        let one = |found: &ProjectServer| json!([found.name, found.connection.to_plain_json()]);
        (servers.iter().map(one).collect(), warnings)
    }

    #[test]
    fn every_way_to_write_a_server_is_read_and_nothing_is_expanded() {
        let text = json!({"mcpServers": {
            "bare": {"command": "${HOME}/tool", "args": ["$X"], "env": {"A": "${B}"}, "cwd": "/x"},
            "event": {"type": "sse", "url": "http://localhost:1/sse#here"},
            "plain": {"type": "stdio", "command": "x"},
            "short": {"url": "https://x/mcp", "headers": {"Authorization": "Bearer ${T}"}},
            "stream": {"type": "streamable-http", "url": "https://x"},
        }, "other": 1});
        let (servers, warnings) = found(&text.to_string());
        assert_eq!(
            servers,
            [
                json!(["bare", {"transport": "stdio", "command": "${HOME}/tool", "args": ["$X"],
                    "env": {"A": "${B}"}}]),
                json!(["event", {"transport": "sse", "url": "http://localhost:1/sse", "headers": {}}]),
                json!(["plain", {"transport": "stdio", "command": "x", "args": [], "env": {}}]),
                json!(["short", {"transport": "http", "url": "https://x/mcp",
                    "headers": {"Authorization": "Bearer ${T}"}}]),
                json!(["stream", {"transport": "http", "url": "https://x", "headers": {}}]),
            ]
        );
        assert!(warnings.is_empty(), "{warnings:?}");
    }

    #[test]
    fn what_cannot_be_used_is_named_without_its_values() {
        let text = json!({"mcpServers": {
            "Good": {"command": "x"},
            "GUILDHALL": {"command": "x"},
            "a b": {"command": "x"},
            "args": {"command": "x", "args": "canary"},
            "env": {"command": "x", "env": {"1A": "canary"}},
            "good": {"command": "y"},
            "kept": {"command": "x", "env": {"A": "***"}},
            "kind": {"type": "canary", "command": "x"},
            "no": 1,
            "none": {},
            "url": {"url": "ftp://canary"},
        }});
        let (servers, warnings) = found(&text.to_string());
        assert_eq!(servers.len(), 1);
        let named: Vec<&str> = warnings
            .iter()
            .map(|warning| warning.split(':').next().unwrap())
            .collect();
        let expected = [
            "GUILDHALL",
            "a b",
            "args",
            "env",
            "good",
            "kept",
            "kind",
            "no",
            "none",
            "url",
        ];
        assert_eq!(named, expected);
        assert!(!warnings.join(" ").contains("canary"), "{warnings:?}");
    }

    #[test]
    fn what_is_no_list_of_servers_is_told_and_an_empty_one_is_fine() {
        for (text, warned) in [
            ("{}", false),
            (r#"{"mcpServers": {}}"#, false),
            ("", true),
            ("[]", true),
            (r#"{"mcpServers": []}"#, true),
        ] {
            let (servers, warnings) = found(text);
            assert_eq!((servers.len(), !warnings.is_empty()), (0, warned), "{text}");
        }
        let many: Map<String, Value> = (0..300)
            .map(|n| (format!("s{n}"), json!({"command": "x"})))
            .collect();
        let (servers, warnings) = found(&json!({"mcpServers": many}).to_string());
        assert_eq!(
            (servers.len(), warnings.len()),
            (limits::MCP_DISCOVERED_MAX, 1)
        );
    }
}
