//! Reading a page for a model: its accessibility tree, without what is secret in it.
//! How that is written is `domain::browser::Outline`.

use std::collections::{HashMap, HashSet};

use futures_util::future::join_all;
use guildhall_domain::browser::{OutlineElement, may_load};
use serde_json::{Value, json};

use super::{BrowserError, Chromium, protocol_events::text, target_registry::RegisteredElement};

/// Frames of a page that are read.
const FRAMES_MAX: usize = 16;
/// Fields of a page that are looked at; those beyond count as secret.
const FIELDS_MAX: usize = 500;
/// Elements of a page that are read.
const NODES_MAX: usize = 20_000;
/// Characters from which on a secret is taken out of all other texts.
const SCRUBBED_CHARS_MIN: usize = 4;
/// What stands in place of a secret.
const SCRUBBED: &str = "•••";

/// Roles that are used, whether they say so or not.
const USABLE: [&str; 20] = [
    "button",
    "checkbox",
    "combobox",
    "gridcell",
    "link",
    "listbox",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "radio",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "textbox",
    "treeitem",
    "DisclosureTriangle",
    "MenuListPopup",
];
/// Roles that only hold others.
const PASSED: [&str; 8] = [
    "none",
    "generic",
    "presentation",
    "LabelText",
    "Pre",
    "InlineTextBox",
    "LineBreak",
    "LayoutTable",
];
/// Words of `autocomplete` that say that a field is for a secret.
const SECRET_WORDS: [&str; 4] = [
    "current-password",
    "new-password",
    "one-time-code",
    "cc-csc",
];

/// What was read of a page, each line beside the element it is about.
#[derive(Debug, Default)]
pub(super) struct PageReading {
    pub(super) lines: Vec<OutlineElement>,
    pub(super) elements: Vec<RegisteredElement>,
    pub(super) secrets: HashSet<i64>,
}

impl Chromium {
    /// Reads a page with the frames that live in its own process. Fields that were secret once,
    /// `known`, stay so, also when the page shows what is in them.
    pub(super) async fn read(
        &self,
        session: &str,
        known: HashSet<i64>,
    ) -> Result<PageReading, BrowserError> {
        let tree = self.call(session, "Page.getFrameTree", json!({})).await?;
        let mut frames = Vec::new();
        collect_frames(&tree["frameTree"], &mut frames);
        let mut read = PageReading {
            secrets: known,
            ..PageReading::default()
        };
        let mut hidden = Vec::new();
        for (place, (frame, url)) in frames.iter().enumerate() {
            let ask = json!({ "frameId": frame });
            let tree = match self.call(session, "Accessibility.getFullAXTree", ask).await {
                Ok(tree) => tree,
                // A frame may go at any time; the page itself is what was asked for.
                Err(BrowserError::Refused(_)) if place > 0 => continue,
                Err(error) => return Err(error),
            };
            let nodes = tree["nodes"].as_array().map(Vec::as_slice);
            let nodes = nodes.unwrap_or_default();
            self.find_secrets(session, nodes, &mut read.secrets).await;
            let mut walk = TreeWalk {
                by_id: nodes
                    .iter()
                    .map(|node| (text(node, "/nodeId"), node))
                    .collect(),
                frame,
                read: &mut read,
                hidden: &mut hidden,
            };
            let depth = usize::from(place > 0);
            if place > 0 {
                walk.frame_begins(url);
            }
            let roots = nodes.iter().filter(|node| node.get("parentId").is_none());
            for root in roots {
                walk.node(root, depth, "");
            }
        }
        scrub(&mut read.lines, &hidden);
        Ok(read)
    }

    /// Notes which fields are for secrets.
    async fn find_secrets(&self, session: &str, nodes: &[Value], secrets: &mut HashSet<i64>) {
        let fields = nodes.iter().filter(|node| is_field(node));
        let fields: Vec<i64> = fields
            .filter_map(|node| node["backendDOMNodeId"].as_i64())
            .collect();
        let looked_at = fields.iter().take(FIELDS_MAX);
        let looks = looked_at.map(async |field| {
            let is_secret = self.is_secret(session, *field).await;
            // What cannot be looked at is not shown.
            (*field, is_secret.unwrap_or(true))
        });
        let looks = join_all(looks).await;
        secrets.extend(looks.into_iter().filter(|look| look.1).map(|look| look.0));
        secrets.extend(fields.into_iter().skip(FIELDS_MAX));
    }

    /// Whether a field is for a password or a code.
    pub(super) async fn is_secret(&self, session: &str, node: i64) -> Result<bool, BrowserError> {
        let node = json!({ "backendNodeId": node });
        let described = self.call(session, "DOM.describeNode", node).await?;
        Ok(is_secret(&described))
    }
}

/// Whether what `DOM.describeNode` answered is a field for a password or a code.
pub(super) fn is_secret(described: &Value) -> bool {
    let attributes = described
        .pointer("/node/attributes")
        .and_then(Value::as_array);
    let words = attributes.into_iter().flatten().filter_map(Value::as_str);
    let words: Vec<&str> = words.collect();
    words.chunks_exact(2).any(|pair| {
        let value = pair[1].trim().to_ascii_lowercase();
        match pair[0] {
            "type" => value == "password",
            "autocomplete" => value
                .split_ascii_whitespace()
                .any(|word| SECRET_WORDS.contains(&word)),
            _ => false,
        }
    })
}

/// The page and its frames that may be read, each with its address.
fn collect_frames(tree: &Value, frames: &mut Vec<(String, String)>) {
    let (id, url) = (text(tree, "/frame/id"), text(tree, "/frame/url"));
    let is_page = frames.is_empty();
    if frames.len() == FRAMES_MAX || (!is_page && !may_load(url, true)) {
        return;
    }
    frames.push((id.to_owned(), url.to_owned()));
    for child in tree["childFrames"].as_array().into_iter().flatten() {
        collect_frames(child, frames);
    }
}

fn is_field(node: &Value) -> bool {
    let is_role = matches!(
        text(node, "/role/value"),
        "textbox" | "searchbox" | "combobox" | "spinbutton"
    );
    is_role || property(node, "editable").is_some()
}

fn property<'a>(node: &'a Value, name: &str) -> Option<&'a Value> {
    let mut all = node["properties"].as_array()?.iter();
    all.find(|property| property["name"] == name)?
        .pointer("/value/value")
}

struct TreeWalk<'a> {
    by_id: HashMap<&'a str, &'a Value>,
    frame: &'a str,
    read: &'a mut PageReading,
    /// What stands in fields for secrets.
    hidden: &'a mut Vec<String>,
}

impl TreeWalk<'_> {
    fn frame_begins(&mut self, url: &str) {
        let line = OutlineElement {
            role: "frame".to_owned(),
            name: url.to_owned(),
            ..OutlineElement::default()
        };
        self.push(line, 0);
    }

    fn push(&mut self, line: OutlineElement, node: i64) {
        self.read.lines.push(line);
        self.read.elements.push(RegisteredElement {
            node,
            frame: self.frame.to_owned(),
        });
    }

    /// Reads a node and what is below it; `above` is the name of the line it stands below.
    fn node(&mut self, node: &Value, depth: usize, above: &str) {
        // Chromium's own depth is bounded far below what would be too deep for us.
        if self.read.lines.len() >= NODES_MAX || depth > 200 {
            return;
        }
        let (role, name) = (text(node, "/role/value"), text(node, "/name/value").trim());
        let is_text = role == "StaticText";
        let is_passed = node["ignored"] == true
            || role.is_empty()
            || (PASSED.contains(&role) && !is_focusable(node))
            || (is_text && (name.is_empty() || above.contains(name)));
        if is_passed {
            if !is_text {
                self.children(node, depth, above);
            }
            return;
        }
        let id = node["backendDOMNodeId"].as_i64().unwrap_or_default();
        let is_field = is_field(node);
        let is_secret = self.read.secrets.contains(&id);
        let value = match &node["value"]["value"] {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        if is_secret {
            self.hidden.extend(value.clone());
        }
        let mut states = states(node);
        if is_secret {
            states.push("secret".to_owned());
        }
        let is_page = role == "RootWebArea";
        let line = OutlineElement {
            depth,
            role: word(role).to_owned(),
            name: name.to_owned(),
            value: value.filter(|value| !is_secret && !value.is_empty()),
            states,
            is_usable: id != 0
                && !is_page
                && !is_text
                && (USABLE.contains(&role) || is_focusable(node)),
        };
        self.push(line, id);
        // What stands in a field is its value.
        if !is_field {
            self.children(node, depth + 1, name);
        }
    }

    fn children(&mut self, node: &Value, depth: usize, above: &str) {
        for child in node["childIds"].as_array().into_iter().flatten() {
            // Each is looked at once, whatever the tree says of itself.
            let child = child.as_str().and_then(|id| self.by_id.remove(id));
            if let Some(child) = child {
                self.node(child, depth, above);
            }
        }
    }
}

fn is_focusable(node: &Value) -> bool {
    property(node, "focusable") == Some(&Value::Bool(true))
}

/// The word for a role; those of Chromium's own are written with capitals.
fn word(role: &str) -> &str {
    match role {
        "RootWebArea" => "page",
        "StaticText" => "text",
        "DisclosureTriangle" => "button",
        role => role,
    }
}

fn states(node: &Value) -> Vec<String> {
    const SHOWN: [&str; 10] = [
        "checked", "disabled", "expanded", "focused", "invalid", "level", "pressed", "readonly",
        "required", "selected",
    ];
    let shown = SHOWN.iter().filter_map(|name| {
        match property(node, name)? {
            Value::Bool(true) => Some((*name).to_owned()),
            Value::String(word) if word == "true" => Some((*name).to_owned()),
            Value::String(word) if word != "false" => Some(format!("{name}={word}")),
            Value::Number(number) => Some(format!("{name}={number}")),
            // That something could be open and is not, is worth a word.
            Value::Bool(false) if *name == "expanded" => Some("collapsed".to_owned()),
            _ => None,
        }
    });
    shown.collect()
}

/// Takes what stands in secret fields out of every text: a page may repeat it.
fn scrub(lines: &mut [OutlineElement], hidden: &[String]) {
    let hidden: Vec<&str> = hidden
        .iter()
        .map(|secret| secret.trim())
        .filter(|secret| secret.chars().count() >= SCRUBBED_CHARS_MIN)
        .collect();
    for line in lines {
        for secret in &hidden {
            if line.name.contains(secret) {
                line.name = line.name.replace(secret, SCRUBBED);
            }
            if let Some(value) = &mut line.value
                && value.contains(secret)
            {
                *value = value.replace(secret, SCRUBBED);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_for_a_secret_says_so() {
        for (attributes, expected) in [
            (&["type", "password"][..], true),
            (&["type", "PassWord "], true),
            (&["autocomplete", "one-time-code"], true),
            (&["autocomplete", "section-a current-password"], true),
            (&["autocomplete", "off", "type", "text"], false),
            (&["value", "password", "id", "type"], false),
            (&["name", "password", "type"], false),
            (&[], false),
        ] {
            let described = json!({ "node": { "attributes": attributes } });
            assert_eq!(is_secret(&described), expected, "{attributes:?}");
        }
        assert!(!is_secret(&json!({})));
    }

    #[test]
    fn a_tree_that_is_a_circle_has_an_end() {
        let nodes = [
            json!({ "nodeId": "1", "role": { "value": "main" }, "childIds": ["2"] }),
            json!({ "nodeId": "2", "role": { "value": "button" }, "childIds": ["1", "2"] }),
        ];
        let mut read = PageReading::default();
        let mut walk = TreeWalk {
            by_id: nodes
                .iter()
                .map(|node| (text(node, "/nodeId"), node))
                .collect(),
            frame: "f",
            read: &mut read,
            hidden: &mut Vec::new(),
        };
        walk.node(&nodes[0], 0, "");
        assert!(read.lines.len() <= 3, "{:?}", read.lines);
    }

    #[test]
    fn what_a_page_repeats_of_a_secret_is_taken_out() {
        let mut lines = [OutlineElement {
            name: "Your code 123456".to_owned(),
            value: Some("x123456".to_owned()),
            ..OutlineElement::default()
        }];
        scrub(&mut lines, &["123456".to_owned(), "1".to_owned()]);
        assert_eq!(lines[0].name, "Your code •••");
        assert_eq!(lines[0].value.as_deref(), Some("x•••"));
    }
}
