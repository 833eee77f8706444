//! How one operation is asked: its parameters and its body as one flat object of arguments.
//! Source: OpenAPI 3.1.1, "Parameter Object", "Request Body Object", "Encoding Object".

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{
    ReadBudget, ReferenceResolver, ToolkitAuth,
    schemas::{OpenapiVersion, SchemaCollector},
};
use crate::connectors::{
    operations::{
        BodyEncoding, HttpBinding, HttpMethod, Operation, OperationParameter, ParameterLocation,
        ParameterStyle,
    },
    toolkits::KeyLocation,
};

/// The header by which a service knows a repeat.
pub(super) const KEY_HEADER: &str = "idempotency-key";
/// Headers that OpenAPI says nothing about in parameters.
const OF_OPENAPI: [&str; 3] = ["accept", "content-type", "authorization"];
/// Headers that belong to the connection or to this computer.
const OF_TRANSPORT: [&str; 12] = [
    "host",
    "connection",
    "content-length",
    "content-encoding",
    "transfer-encoding",
    "upgrade",
    "te",
    "trailer",
    "keep-alive",
    "cookie",
    "expect",
    "accept-encoding",
];

/// How an operation is asked.
#[derive(Debug)]
pub(super) struct BoundOperation {
    pub(super) input_schema: Value,
    pub(super) binding: HttpBinding,
}

/// A parameter on its way, by its name and place.
struct FoundParameter<'a> {
    parameter: &'a Value,
    name: &'a str,
    place: ParameterLocation,
    is_required: bool,
}

/// What every operation is read by.
#[derive(Clone, Copy)]
pub(super) struct OperationReader<'a> {
    pub(super) resolving: ReferenceResolver<'a>,
    pub(super) dialect: OpenapiVersion,
    pub(super) auth: &'a ToolkitAuth,
    pub(super) budget: &'a ReadBudget<'a>,
}

/// Reads how an operation is asked.
///
/// # Errors
/// Why it cannot be asked, for people.
pub(super) fn read(
    reader: OperationReader<'_>,
    (method, path): (HttpMethod, &str),
    (item, operation): (&Value, &Value),
) -> Result<BoundOperation, String> {
    let mut schemas =
        SchemaCollector::new(reader.resolving.document, reader.dialect, reader.budget);
    let mut arguments = ArgumentsSchema::default();
    let (found, takes_key) = parameters(reader, (item, operation))?;
    check_path(path, &found)?;
    let body = body(reader, method, operation)?;
    let names = argument_names(&found, body.is_some())?;
    let mut sent = Vec::with_capacity(found.len());
    for (found, argument) in found.iter().zip(names) {
        let Some((schema, style, explode)) = written(found)? else {
            continue;
        };
        let mut schema = schemas.take(schema)?;
        describe(&mut schema, found.parameter);
        arguments.add(&argument, schema, found.is_required);
        sent.push(OperationParameter {
            argument,
            name: found.name.to_owned(),
            place: found.place,
            style,
            explode,
        });
    }
    let media = match body {
        None => None,
        Some(body) => {
            let mut schema = match body.schema {
                Some(schema) => schemas.take(schema)?,
                None => body.media.any(),
            };
            describe(&mut schema, body.whole);
            arguments.add(Operation::BODY, schema, body.is_required);
            Some(body.media)
        }
    };
    Ok(BoundOperation {
        input_schema: arguments.done(schemas.defs()?),
        binding: HttpBinding {
            method,
            path: path.to_owned(),
            parameters: sent,
            body: media,
            takes_key,
        },
    })
}

/// The arguments of an operation as one object.
#[derive(Default)]
struct ArgumentsSchema {
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl ArgumentsSchema {
    fn add(&mut self, name: &str, schema: Value, is_required: bool) {
        self.properties.insert(name.to_owned(), schema);
        if is_required {
            self.required.push(name.to_owned());
        }
    }

    fn done(self, defs: Map<String, Value>) -> Value {
        let mut schema = json!({
            "type": "object",
            "properties": self.properties,
            "additionalProperties": false,
        });
        if !self.required.is_empty() {
            schema["required"] = json!(self.required);
        }
        if !defs.is_empty() {
            schema["$defs"] = Value::Object(defs);
        }
        schema
    }
}

/// The parameters that arguments go to, and whether a key for repeats is one of those declared.
fn parameters<'a>(
    reader: OperationReader<'a>,
    (item, operation): (&'a Value, &'a Value),
) -> Result<(Vec<FoundParameter<'a>>, bool), String> {
    // Those of the operation take the place of the path's.
    let mut all: BTreeMap<(&str, &str), &Value> = BTreeMap::new();
    for holder in [item, operation] {
        let listed = match holder.get("parameters") {
            None => continue,
            Some(Value::Array(listed)) => listed,
            Some(_) => return Err("its parameters are no list".to_owned()),
        };
        for parameter in listed {
            reader.budget.spend(0)?;
            let parameter = reader.resolving.resolve(parameter)?;
            let text = |member: &str| parameter.get(member).and_then(Value::as_str);
            match (text("name"), text("in")) {
                (Some(name), Some(place)) => all.insert((name, place), parameter),
                _ => return Err("a parameter has no name or no place".to_owned()),
            };
        }
    }
    let mut takes_key = false;
    let mut found = Vec::new();
    for ((name, place), parameter) in all {
        let is_required = parameter.get("required") == Some(&Value::Bool(true));
        let place = match place {
            "path" => ParameterLocation::Path,
            "query" => ParameterLocation::Query,
            "header" => ParameterLocation::Header,
            _ if is_required => return Err(format!("it needs the {place} parameter {name}")),
            _ => continue,
        };
        if place == ParameterLocation::Header && name.eq_ignore_ascii_case(KEY_HEADER) {
            takes_key = true;
            continue;
        }
        if is_of_sign_in(reader.auth, place, name) || is_of_openapi(place, name) {
            continue;
        }
        if place == ParameterLocation::Header && !is_header(name) {
            match is_required {
                true => return Err(format!("it needs the header {name}")),
                false => continue,
            }
        }
        found.push(FoundParameter {
            parameter,
            name,
            place,
            is_required: is_required || place == ParameterLocation::Path,
        });
    }
    Ok((found, takes_key))
}

/// Whether signing in writes it.
fn is_of_sign_in(auth: &ToolkitAuth, place: ParameterLocation, name: &str) -> bool {
    match (auth, place) {
        (ToolkitAuth::ApiKey { r#in, name: of, .. }, _) => match (r#in, place) {
            (KeyLocation::Header, ParameterLocation::Header) => of.eq_ignore_ascii_case(name),
            (KeyLocation::Query, ParameterLocation::Query) => of == name,
            _ => false,
        },
        (ToolkitAuth::None | ToolkitAuth::Oauth2(_), _) => false,
    }
}

fn is_of_openapi(place: ParameterLocation, name: &str) -> bool {
    let folded = name.to_ascii_lowercase();
    place == ParameterLocation::Header && OF_OPENAPI.contains(&folded.as_str())
}

/// Whether an argument may be sent as a header of this name.
pub(in crate::connectors) fn is_header(name: &str) -> bool {
    let folded = name.to_ascii_lowercase();
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=128).contains(&name.len())
        && name.bytes().all(is_token)
        && !OF_TRANSPORT.contains(&folded.as_str())
        && !["proxy-", "sec-"].iter().any(|of| folded.starts_with(of))
}

/// Holds the names in a path's braces against its parameters.
fn check_path(path: &str, found: &[FoundParameter<'_>]) -> Result<(), String> {
    if path.contains(['?', '#']) {
        return Err("its path holds a query".to_owned());
    }
    let mut rest = path;
    let mut named = BTreeSet::new();
    while let Some((before, after)) = rest.split_once('{') {
        let unbalanced = || "the braces of its path do not fit".to_owned();
        let (name, after) = after.split_once('}').ok_or_else(unbalanced)?;
        if before.contains('}') || name.contains('{') {
            return Err(unbalanced());
        }
        named.insert(name);
        rest = after;
    }
    let known: BTreeSet<&str> = found
        .iter()
        .filter(|found| found.place == ParameterLocation::Path)
        .map(|found| found.name)
        .collect();
    match named.symmetric_difference(&known).next() {
        None => Ok(()),
        Some(name) => Err(format!("its path and its parameters differ in {name}")),
    }
}

/// The argument of each parameter: its name, with its place before it where two share one.
fn argument_names(found: &[FoundParameter<'_>], has_body: bool) -> Result<Vec<String>, String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for found in found {
        *counts.entry(found.name).or_default() += 1;
    }
    if has_body {
        *counts.entry(Operation::BODY).or_default() += 1;
    }
    let names: Vec<String> = found
        .iter()
        .map(|found| {
            let place = match found.place {
                ParameterLocation::Path => "path",
                ParameterLocation::Query => "query",
                ParameterLocation::Header => "header",
            };
            match counts.get(found.name) {
                Some(2..) => format!("{place}_{}", found.name),
                _ => found.name.to_owned(),
            }
        })
        .collect();
    let different: BTreeSet<&String> = names.iter().collect();
    match different.len() == names.len() {
        true => Ok(names),
        false => Err("its parameters cannot be told apart".to_owned()),
    }
}

/// The schema of a parameter and how it is written; `None` for one that can be left out, because
/// it is written in a way that is not known here.
fn written<'a>(
    found: &FoundParameter<'a>,
) -> Result<Option<(&'a Value, ParameterStyle, bool)>, String> {
    const ANY: &Value = &Value::Bool(true);
    let parameter = found.parameter;
    if let Some(content) = parameter.get("content") {
        let only = content.as_object().filter(|content| content.len() == 1);
        let media = only.and_then(|content| content.iter().next());
        return match media {
            Some((name, media)) if is_json(name) => Ok(Some((
                media.get("schema").unwrap_or(ANY),
                ParameterStyle::Json,
                false,
            ))),
            _ => unknown(found),
        };
    }
    let usual = match found.place {
        ParameterLocation::Path | ParameterLocation::Header => "simple",
        ParameterLocation::Query => "form",
    };
    let named = parameter.get("style").map_or(Some(usual), Value::as_str);
    let style = match (found.place, named) {
        (ParameterLocation::Path | ParameterLocation::Header, Some("simple")) => {
            ParameterStyle::Simple
        }
        (ParameterLocation::Query, Some("form")) => ParameterStyle::Form,
        (ParameterLocation::Query, Some("spaceDelimited")) => ParameterStyle::SpaceDelimited,
        (ParameterLocation::Query, Some("pipeDelimited")) => ParameterStyle::PipeDelimited,
        (ParameterLocation::Query, Some("deepObject")) => ParameterStyle::DeepObject,
        _ => return unknown(found),
    };
    let explode = match parameter.get("explode") {
        Some(Value::Bool(explode)) => *explode,
        _ => style == ParameterStyle::Form,
    };
    let schema = parameter.get("schema").unwrap_or(ANY);
    Ok(Some((schema, style, explode)))
}

fn unknown<T>(found: &FoundParameter<'_>) -> Result<Option<T>, String> {
    match found.is_required {
        true => Err(format!(
            "its parameter {} is written in a way that is not known here",
            found.name
        )),
        false => Ok(None),
    }
}

/// A body on its way.
struct BodySchema<'a> {
    whole: &'a Value,
    schema: Option<&'a Value>,
    media: BodyEncoding,
    is_required: bool,
}

impl BodyEncoding {
    /// The schema of a body that nobody describes.
    fn any(&self) -> Value {
        match self {
            Self::Json { .. } => json!({}),
            Self::Form { .. } => json!({"type": "object"}),
            Self::Text { .. } => json!({"type": "string"}),
        }
    }
}

fn body<'a>(
    reader: OperationReader<'a>,
    method: HttpMethod,
    operation: &'a Value,
) -> Result<Option<BodySchema<'a>>, String> {
    let Some(whole) = operation.get("requestBody") else {
        return Ok(None);
    };
    let whole = reader.resolving.resolve(whole)?;
    let is_required = whole.get("required") == Some(&Value::Bool(true));
    let content = whole.get("content").and_then(Value::as_object);
    reader.budget.spend(content.map_or(0, Map::len))?;
    let known = match method {
        // Nobody agrees on what a body would mean there.
        HttpMethod::Get | HttpMethod::Head => None,
        HttpMethod::Post | HttpMethod::Put | HttpMethod::Patch | HttpMethod::Delete => {
            content.and_then(best)
        }
    };
    match known {
        Some((name, media)) => {
            let encoding = media.get("encoding").and_then(Value::as_object);
            reader.budget.spend(encoding.map_or(0, Map::len))?;
            Ok(Some(BodySchema {
                whole,
                schema: media.get("schema"),
                media: body_media(name, media),
                is_required,
            }))
        }
        None if is_required => {
            let names = content.into_iter().flat_map(Map::keys);
            let names: Vec<&str> = names.map(String::as_str).collect();
            Err(format!(
                "its body is written in a way that is not known here: {}",
                names.join(", ")
            ))
        }
        None => Ok(None),
    }
}

/// The media type that is written best: JSON, then a form, then text.
fn best(content: &Map<String, Value>) -> Option<(&String, &Value)> {
    let ranked = |name: &str| match plain(name).as_str() {
        "application/json" => Some(0),
        name if is_json(name) => Some(1),
        "*/*" | "application/*" => Some(2),
        "application/x-www-form-urlencoded" => Some(3),
        "text/plain" => Some(4),
        _ => None,
    };
    let known = content
        .iter()
        .filter_map(|found| Some((ranked(found.0)?, found)));
    Some(known.min_by_key(|(rank, _)| *rank)?.1)
}

fn body_media(name: &str, media: &Value) -> BodyEncoding {
    let name = plain(name);
    match name.as_str() {
        "application/x-www-form-urlencoded" => BodyEncoding::Form { deep: deep(media) },
        "text/plain" => BodyEncoding::Text { media_type: name },
        "*/*" | "application/*" => BodyEncoding::Json {
            media_type: "application/json".to_owned(),
        },
        _ => BodyEncoding::Json { media_type: name },
    }
}

/// The members of a form that are written as `name[member]`.
fn deep(media: &Value) -> Vec<String> {
    let encoding = media.get("encoding").and_then(Value::as_object);
    let deep = encoding.into_iter().flatten().filter(|(_, encoding)| {
        encoding.get("style").and_then(Value::as_str) == Some("deepObject")
    });
    deep.map(|(name, _)| name.clone()).collect()
}

/// A media type without its parameters.
fn plain(name: &str) -> String {
    let name = name.split(';').next().unwrap_or_default();
    name.trim().to_ascii_lowercase()
}

fn is_json(name: &str) -> bool {
    let name = plain(name);
    name == "application/json" || (name.starts_with("application/") && name.ends_with("+json"))
}

/// Says what an argument is for, where its schema does not.
fn describe(schema: &mut Value, holder: &Value) {
    let Some(description) = holder.get("description").and_then(Value::as_str) else {
        return;
    };
    match schema {
        Value::Object(members) => {
            members
                .entry("description")
                .or_insert_with(|| json!(description));
        }
        Value::Bool(true) => *schema = json!({"description": description}),
        _ => {}
    }
}
