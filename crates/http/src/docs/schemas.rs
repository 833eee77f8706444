//! Schemas: the shapes of the interface document, each told in a phrase and a table of fields.

use serde_json::Value;

use super::html::{Html, anchor};

/// Shapes within shapes are told this deep; deeper ones are read in the document itself.
const DEPTH_MAX: usize = 6;

/// The named shapes, for the contents of the page.
pub(super) fn contents(nav: &mut Html, interface: &Value) {
    let mut named = named(interface).peekable();
    if named.peek().is_none() {
        return;
    }
    nav.raw("<h2><a href=\"#shapes\">Shapes</a></h2><ul>");
    for (name, _) in named {
        nav.raw("<li>");
        link(nav, name);
        nav.raw("</li>");
    }
    nav.raw("</ul>");
}

/// The named shapes, one after the other.
pub(super) fn section(main: &mut Html, interface: &Value) {
    let mut named = named(interface).peekable();
    if named.peek().is_none() {
        return;
    }
    main.raw("<section id=\"shapes\"><h2>Shapes</h2>");
    for (name, schema) in named {
        main.raw("<article id=\"shape-")
            .raw(&anchor(name))
            .raw("\"><h3>")
            .text(name)
            .raw("</h3>")
            .prose(schema["description"].as_str().unwrap_or_default());
        if !schema["properties"].is_object() {
            main.raw("<p>");
            kind(main, schema);
            main.raw("</p>");
        }
        fields(main, schema);
        main.raw("</article>");
    }
    main.raw("</section>");
}

fn named(interface: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let schemas = interface["components"]["schemas"].as_object();
    schemas.into_iter().flatten()
}

fn link(html: &mut Html, name: &str) {
    html.raw("<a href=\"#shape-")
        .raw(&anchor(name))
        .raw("\">")
        .text(name)
        .raw("</a>");
}

/// What a schema is, in a phrase: "list of Room", "text (uuid) or null".
pub(super) fn kind(html: &mut Html, schema: &Value) {
    kind_within(html, schema, DEPTH_MAX);
}

fn kind_within(html: &mut Html, schema: &Value, depth: usize) {
    if depth == 0 {
        html.raw("…");
        return;
    }
    if let Some(target) = schema["$ref"].as_str() {
        link(html, target.rsplit('/').next().unwrap_or(target));
        return;
    }
    for (key, between) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " with ")] {
        if let Some(parts) = schema[key].as_array() {
            joined(html, parts, between, |html, part| {
                kind_within(html, part, depth - 1);
            });
            return;
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        joined(html, values, ", ", literal);
        return;
    }
    if !schema["const"].is_null() {
        literal(html, &schema["const"]);
        return;
    }
    match &schema["type"] {
        Value::Array(types) => joined(html, types, " or ", |html, one| {
            simple(html, one.as_str().unwrap_or("any"), schema, depth);
        }),
        Value::String(one) => simple(html, one, schema, depth),
        _ => {
            html.raw("any value");
        }
    }
}

fn simple(html: &mut Html, kind: &str, schema: &Value, depth: usize) {
    match kind {
        "array" => {
            html.raw("list of ");
            kind_within(html, &schema["items"], depth - 1);
        }
        "object" if schema["additionalProperties"].is_object() => {
            html.raw("map of ");
            kind_within(html, &schema["additionalProperties"], depth - 1);
        }
        "null" => {
            html.raw("null");
        }
        other => {
            html.text(if other == "string" { "text" } else { other });
            bounds(html, schema);
        }
    }
}

/// Format and limits, as far as the schema names them.
fn bounds(html: &mut Html, schema: &Value) {
    let mut words: Vec<String> = Vec::new();
    words.extend(schema["format"].as_str().map(str::to_owned));
    for (least, most, unit) in [
        ("minLength", "maxLength", " characters"),
        ("minimum", "maximum", ""),
    ] {
        match (schema[least].as_number(), schema[most].as_number()) {
            (Some(least), Some(most)) => words.push(format!("{least} to {most}{unit}")),
            (Some(least), None) if least.as_u64() == Some(1) && !unit.is_empty() => {
                words.push("not empty".to_owned());
            }
            (Some(least), None) => words.push(format!("{least}{unit} or more")),
            (None, Some(most)) => words.push(format!("up to {most}{unit}")),
            (None, None) => {}
        }
    }
    words.extend(
        schema["pattern"]
            .as_str()
            .map(|pattern| format!("matches {pattern}")),
    );
    if !words.is_empty() {
        html.raw(" <small>").text(&words.join(", ")).raw("</small>");
    }
}

fn literal(html: &mut Html, value: &Value) {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    html.raw("<code>").text(&text).raw("</code>");
}

fn joined(html: &mut Html, parts: &[Value], between: &str, each: impl Fn(&mut Html, &Value)) {
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            html.raw(between);
        }
        each(html, part);
    }
}

/// The fields of an object, as a table; nothing for any other schema.
pub(super) fn fields(html: &mut Html, schema: &Value) {
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    let is_required = |name: &str| {
        let required = schema["required"].as_array();
        required.is_some_and(|names| names.iter().any(|required| required == name))
    };
    html.raw("<div class=\"wide\"><table><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>");
    for (name, field) in properties {
        html.raw("<tr><td><code>")
            .text(name)
            .raw("</code>")
            .raw(if is_required(name) {
                ""
            } else {
                " <small>optional</small>"
            })
            .raw("</td><td>");
        kind(html, field);
        html.raw("</td><td>")
            .line(field["description"].as_str().unwrap_or_default())
            .raw("</td></tr>");
    }
    html.raw("</tbody></table></div>");
}
