//! The tools of a managed MCP server: their definitions, their digest, and what changed in them.
//! Pure: listing them is `world::mcp`, what a change leads to is the entry's pin.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::Fault;

/// A tool as its server describes it; the members that a pin covers, and no others.
///
/// Source: contract 4.6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// What it is called by; servers mean it to be unique.
    pub name: String,
    /// What a person reads.
    pub title: Option<String>,
    /// What a model reads.
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// JSON Schema of its result, where it has one.
    pub output_schema: Option<Value>,
    /// Hints of the server, not to be believed, where it gives any.
    pub annotations: Option<Value>,
}

impl ToolDefinition {
    /// A definition out of an element of a `tools/list` answer.
    ///
    /// A member that is null counts as absent; members that no pin covers are left out.
    ///
    /// # Errors
    /// What is wrong with it, in a few words for a person.
    pub fn of(listed: &Value) -> Result<Self, String> {
        let members = listed.as_object().ok_or("a tool is no object")?;
        let name = match members.get("name") {
            Some(Value::String(name)) if !name.is_empty() => name.clone(),
            _ => return Err("a tool has no name".to_owned()),
        };
        let text = |member: &str| match members.get(member) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("the {member} of a tool is no text")),
        };
        let object = |member: &str| match members.get(member) {
            None | Some(Value::Null) => Ok(None),
            Some(whole @ Value::Object(_)) => Ok(Some(whole.clone())),
            Some(_) => Err(format!("the {member} of a tool is no object")),
        };
        Ok(Self {
            title: text("title")?,
            description: text("description")?,
            input_schema: object("inputSchema")?.unwrap_or_else(|| Value::Object(Map::new())),
            output_schema: object("outputSchema")?,
            annotations: object("annotations")?,
            name,
        })
    }

    /// What a person reads: the title, that of the annotations, or the name.
    pub fn display_name(&self) -> &str {
        let titles = [self.title.as_deref(), self.hint("title", Value::as_str)];
        let title = titles
            .into_iter()
            .flatten()
            .find(|title| !title.trim().is_empty());
        title.unwrap_or(&self.name)
    }

    /// Whether the server says that it changes nothing; false when it says nothing.
    pub fn is_read_only(&self) -> bool {
        self.hint("readOnlyHint", Value::as_bool).unwrap_or(false)
    }

    /// Whether the server says that it may destroy; true when it says nothing and does not claim
    /// to change nothing, as MCP has it.
    pub fn is_destructive(&self) -> bool {
        let hint = self.hint("destructiveHint", Value::as_bool);
        !self.is_read_only() && hint.unwrap_or(true)
    }

    fn hint<'a, T>(&'a self, name: &str, read: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        read(self.annotations.as_ref()?.get(name)?)
    }

    fn canonical(&self) -> Result<Vec<u8>, Fault> {
        let during = "making a digest of tools";
        serde_jcs::to_vec(&json!(self)).map_err(|error| Fault::broken(during, error))
    }
}

/// The digest of a list of tools, 64 hex digits: SHA-256 over the RFC 8785 canonical JSON of the
/// definitions, sorted by name.
///
/// An absent member counts as null. The order in which a server lists its tools says nothing,
/// also where two share a name.
///
/// # Errors
/// A fault when there is no canonical form.
///
/// Source: contract 4.6.
pub fn digest(tools: &[ToolDefinition]) -> Result<String, Fault> {
    let mut sorted = Vec::with_capacity(tools.len());
    for tool in tools {
        sorted.push((tool.name.as_str(), tool.canonical()?));
    }
    sorted.sort_unstable();
    let mut hash = Sha256::new();
    hash.update(b"[");
    for (place, (_, canonical)) in sorted.iter().enumerate() {
        if place > 0 {
            hash.update(b",");
        }
        hash.update(canonical);
    }
    hash.update(b"]");
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// What may differ between two definitions of one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolField {
    /// Its title.
    Title,
    /// Its description.
    Description,
    /// The schema of its arguments.
    InputSchema,
    /// The schema of its result.
    OutputSchema,
    /// Its hints.
    Annotations,
    /// How many tools have this name.
    Count,
}

/// A tool whose definition is another than it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedTool {
    /// Its name.
    pub name: String,
    /// What differs.
    pub members: Vec<ToolField>,
}

/// How two lists of tools differ; each part sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolsDiff {
    /// Names that are new.
    pub added: Vec<String>,
    /// Tools that are not what they were.
    pub changed: Vec<ChangedTool>,
    /// Names that are gone.
    pub removed: Vec<String>,
}

impl ToolsDiff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a person must look at it: tools that are only gone ask nothing.
    ///
    /// Source: contract 4.6, "Change seen".
    pub fn needs_approval(&self) -> bool {
        !self.added.is_empty() || !self.changed.is_empty()
    }
}

/// Compares the tools that were approved with those listed now.
pub fn compare(approved: &[ToolDefinition], listed: &[ToolDefinition]) -> ToolsDiff {
    let (old, new) = (by_name(approved), by_name(listed));
    let missing = |of: &ByName<'_>, from: &ByName<'_>| {
        let names = of.keys().filter(|name| !from.contains_key(*name));
        names.map(|name| (*name).to_owned()).collect()
    };
    let changed = old.iter().filter_map(|(name, before)| {
        let members = differing(before, new.get(name)?);
        (!members.is_empty()).then(|| ChangedTool {
            name: (*name).to_owned(),
            members,
        })
    });
    ToolsDiff {
        added: missing(&new, &old),
        changed: changed.collect(),
        removed: missing(&old, &new),
    }
}

type ByName<'a> = BTreeMap<&'a str, Vec<&'a ToolDefinition>>;

fn by_name(tools: &[ToolDefinition]) -> ByName<'_> {
    let mut names = ByName::new();
    for tool in tools {
        names.entry(&tool.name).or_default().push(tool);
    }
    names
}

/// What differs between the tools of one name, of which a careless server may list several.
fn differing(before: &[&ToolDefinition], now: &[&ToolDefinition]) -> Vec<ToolField> {
    let (mut before, mut now) = (before.to_vec(), now.to_vec());
    // Their order says nothing, so those that stayed are paired first.
    before.retain(|tool| match now.iter().position(|other| other == tool) {
        Some(place) => {
            now.swap_remove(place);
            false
        }
        None => true,
    });
    if before.len() != now.len() {
        return vec![ToolField::Count];
    }
    type Read = fn(&ToolDefinition) -> Value;
    let differs = |member: Read| {
        before
            .iter()
            .zip(&now)
            .any(|(old, new)| member(old) != member(new))
    };
    let members: [(ToolField, Read); 5] = [
        (ToolField::Title, |tool| json!(tool.title)),
        (ToolField::Description, |tool| json!(tool.description)),
        (ToolField::InputSchema, |tool| tool.input_schema.clone()),
        (ToolField::OutputSchema, |tool| json!(tool.output_schema)),
        (ToolField::Annotations, |tool| json!(tool.annotations)),
    ];
    let found = members.into_iter().filter(|(_, member)| differs(*member));
    found.map(|(name, _)| name).collect()
}

#[cfg(test)]
#[path = "mcp_tools_tests.rs"]
mod tests;
