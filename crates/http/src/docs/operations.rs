//! Operations: the paths of the interface document, grouped by their first tag.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    html::{Html, anchor},
    schemas,
};

/// One method of one path.
pub(super) struct Operation<'a> {
    method: String,
    path: &'a str,
    value: &'a Value,
    /// Parameters that the path has for all its methods.
    path_parameters: &'a Value,
}

/// A tag with its operations in the document's order.
pub(super) struct Group<'a> {
    name: &'a str,
    description: &'a str,
    operations: Vec<Operation<'a>>,
}

/// In the order they are read.
const METHODS: [&str; 7] = ["get", "head", "post", "put", "patch", "delete", "options"];

/// The operations by tag: first the tags that the document lists, then the others by name.
pub(super) fn groups(interface: &Value) -> Vec<Group<'_>> {
    let listed = interface["tags"].as_array().map_or(&[][..], Vec::as_slice);
    let mut groups: Vec<_> = listed
        .iter()
        .filter_map(|tag| {
            Some(Group {
                name: tag["name"].as_str()?,
                description: tag["description"].as_str().unwrap_or_default(),
                operations: Vec::new(),
            })
        })
        .collect();
    let mut unlisted: BTreeMap<&str, Vec<Operation<'_>>> = BTreeMap::new();
    for (path, item) in interface["paths"].as_object().into_iter().flatten() {
        for method in METHODS {
            let Some(value) = item.get(method) else {
                continue;
            };
            let operation = Operation {
                method: method.to_ascii_uppercase(),
                path,
                value,
                path_parameters: &item["parameters"],
            };
            let tag = value["tags"][0].as_str().unwrap_or("other");
            match groups.iter_mut().find(|group| group.name == tag) {
                Some(group) => group.operations.push(operation),
                None => unlisted.entry(tag).or_default().push(operation),
            }
        }
    }
    groups.extend(unlisted.into_iter().map(|(name, operations)| Group {
        name,
        description: "",
        operations,
    }));
    groups.retain(|group| !group.operations.is_empty());
    groups
}

/// The contents of the page: each group with its operations.
pub(super) fn contents(nav: &mut Html, groups: &[Group<'_>]) {
    for group in groups {
        nav.raw("<h2><a href=\"#tag-")
            .raw(&anchor(group.name))
            .raw("\">")
            .text(group.name)
            .raw("</a></h2><ul>");
        for operation in &group.operations {
            nav.raw("<li><a href=\"#")
                .raw(&operation.anchor())
                .raw("\">")
                .text(operation.title())
                .raw("</a></li>");
        }
        nav.raw("</ul>");
    }
}

/// Each group as a section.
pub(super) fn sections(main: &mut Html, groups: &[Group<'_>]) {
    for group in groups {
        main.raw("<section id=\"tag-")
            .raw(&anchor(group.name))
            .raw("\"><h2>")
            .text(group.name)
            .raw("</h2>")
            .prose(group.description);
        for operation in &group.operations {
            operation.article(main);
        }
        main.raw("</section>");
    }
}

impl Operation<'_> {
    fn anchor(&self) -> String {
        match self.value["operationId"].as_str() {
            Some(id) => anchor(&format!("op-{id}")),
            None => anchor(&format!("op-{}-{}", self.method, self.path)),
        }
    }

    fn title(&self) -> &str {
        let id = || self.value["operationId"].as_str();
        let summary = self.value["summary"].as_str();
        summary.or_else(id).unwrap_or(self.path)
    }

    fn article(&self, main: &mut Html) {
        main.raw("<article id=\"")
            .raw(&self.anchor())
            .raw("\"><h3>")
            .line(self.title())
            .raw("</h3><p class=\"address\"><span class=\"method\">")
            .text(&self.method)
            .raw("</span> <code>")
            .text(self.path)
            .raw("</code>");
        if let Some(gate) = self.value["x-gate"].as_str() {
            main.raw(" <span class=\"badge\" title=\"Who may ask\">")
                .text(gate)
                .raw("</span>");
        }
        main.raw("</p>")
            .prose(self.value["description"].as_str().unwrap_or_default());
        self.parameters(main);
        self.body(main);
        self.responses(main);
        self.codes(main);
        main.raw("</article>");
    }

    fn parameters(&self, main: &mut Html) {
        let all = [&self.value["parameters"], self.path_parameters];
        let mut parameters = all
            .into_iter()
            .filter_map(Value::as_array)
            .flatten()
            .peekable();
        if parameters.peek().is_none() {
            return;
        }
        main.raw("<h4>Parameters</h4><div class=\"wide\"><table><thead><tr><th>Name</th><th>In</th><th>Type</th><th>Meaning</th></tr></thead><tbody>");
        for parameter in parameters {
            let is_required = parameter["required"].as_bool().unwrap_or(false);
            main.raw("<tr><td><code>")
                .text(parameter["name"].as_str().unwrap_or_default())
                .raw("</code>")
                .raw(if is_required {
                    ""
                } else {
                    " <small>optional</small>"
                })
                .raw("</td><td>")
                .text(parameter["in"].as_str().unwrap_or_default())
                .raw("</td><td>");
            schemas::kind(main, &parameter["schema"]);
            main.raw("</td><td>")
                .line(parameter["description"].as_str().unwrap_or_default())
                .raw("</td></tr>");
        }
        main.raw("</tbody></table></div>");
    }

    fn body(&self, main: &mut Html) {
        let body = &self.value["requestBody"];
        if body.is_null() {
            return;
        }
        main.raw("<h4>Body</h4>")
            .prose(body["description"].as_str().unwrap_or_default());
        content(main, &body["content"]);
    }

    fn responses(&self, main: &mut Html) {
        let Some(responses) = self.value["responses"].as_object() else {
            return;
        };
        main.raw("<h4>Answers</h4><dl>");
        for (status, response) in responses {
            main.raw("<dt>")
                .text(status)
                .raw("</dt><dd>")
                .prose(response["description"].as_str().unwrap_or_default());
            content(main, &response["content"]);
            main.raw("</dd>");
        }
        main.raw("</dl>");
    }

    fn codes(&self, main: &mut Html) {
        let codes = self.value["x-codes"].as_array();
        let mut codes = codes
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .peekable();
        if codes.peek().is_none() {
            return;
        }
        main.raw("<h4>Refusals</h4><p class=\"codes\">");
        for code in codes {
            main.error_link(code).raw(" ");
        }
        main.raw("</p>");
    }
}

/// The media types of a body, each with its shape and its example.
fn content(main: &mut Html, content: &Value) {
    for (media_type, body) in content.as_object().into_iter().flatten() {
        main.raw("<p>").text(media_type).raw(": ");
        schemas::kind(main, &body["schema"]);
        main.raw("</p>");
        schemas::fields(main, &body["schema"]);
        let named = body["examples"].as_object().into_iter().flatten();
        let examples = named.map(|(_, example)| &example["value"]);
        for example in examples.chain(body.get("example")) {
            let text = match example {
                Value::String(text) => text.clone(),
                other => format!("{other:#}"),
            };
            main.raw("<details><summary>Example</summary><pre><code>")
                .text(&text)
                .raw("</code></pre></details>");
        }
    }
}
