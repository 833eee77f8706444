//! Requests: what an operation's arguments are on the wire, before anybody signs in with them.
//! Source: OpenAPI 3.1.1, "Style Values" and "Encoding Object"; RFC 6570.

use serde_json::{Map, Value};

use super::operations::{
    BodyEncoding, HttpBinding, HttpMethod, Operation, OperationParameter, ParameterLocation,
    ParameterStyle,
};

/// A request that can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// Its method.
    pub method: HttpMethod,
    /// Its whole address.
    pub url: String,
    /// Its headers but those of signing in.
    pub headers: Vec<(String, String)>,
    /// Its body; empty where it has none.
    pub body: Vec<u8>,
}

/// Writes the request that these arguments make of an operation below `base`.
///
/// # Errors
/// Why it cannot be written, for people.
pub fn build(
    binding: &HttpBinding,
    base: &str,
    arguments: &Map<String, Value>,
) -> Result<HttpRequest, String> {
    let mut path = binding.path.clone();
    let mut query = Vec::new();
    let mut headers = Vec::new();
    for parameter in &binding.parameters {
        let given = arguments.get(&parameter.argument);
        match (parameter.place, given) {
            (ParameterLocation::Path, given) => {
                let written = in_path(parameter, given.unwrap_or(&Value::Null))?;
                path = path.replace(&format!("{{{}}}", parameter.name), &written);
            }
            (_, None | Some(Value::Null)) => {}
            (ParameterLocation::Query, Some(value)) => in_query(&mut query, parameter, value),
            (ParameterLocation::Header, Some(value)) => {
                headers.push((parameter.name.clone(), in_header(parameter, value)?));
            }
        }
    }
    if path.split('/').any(|part| part == "." || part == "..") {
        return Err("an argument would lead to another path".to_owned());
    }
    let mut url = format!("{}{path}", base.trim_end_matches('/'));
    if !query.is_empty() {
        url.push('?');
        url.push_str(&query.join("&"));
    }
    let mut body = Vec::new();
    if let (Some(media), Some(given)) = (&binding.body, arguments.get(Operation::BODY)) {
        let (media_type, written) = written_body(media, given)?;
        headers.push(("content-type".to_owned(), media_type));
        body = written;
    }
    Ok(HttpRequest {
        method: binding.method,
        url,
        headers,
        body,
    })
}

fn in_path(parameter: &OperationParameter, value: &Value) -> Result<String, String> {
    let written = match parameter.style {
        ParameterStyle::Json => encoded(&value.to_string()),
        _ => simple(value, parameter.explode, &encoded),
    };
    match written.is_empty() {
        // An empty part would make it the address of something larger.
        true => Err(format!(
            "the argument {} must not be empty",
            parameter.argument
        )),
        false => Ok(written),
    }
}

fn in_header(parameter: &OperationParameter, value: &Value) -> Result<String, String> {
    let written = match parameter.style {
        ParameterStyle::Json => value.to_string(),
        _ => simple(value, parameter.explode, &str::to_owned),
    };
    let is_plain = |byte: u8| (0x20..0x7f).contains(&byte) || byte == b'\t';
    match written.bytes().all(is_plain) {
        true => Ok(written.trim().to_owned()),
        false => Err(format!(
            "the argument {} holds signs that no header can",
            parameter.argument
        )),
    }
}

fn in_query(query: &mut Vec<String>, parameter: &OperationParameter, value: &Value) {
    let name = encoded(&parameter.name);
    let separator = match parameter.style {
        ParameterStyle::DeepObject => return deep(query, &name, value),
        ParameterStyle::Json => {
            return query.push(format!("{name}={}", encoded(&value.to_string())));
        }
        ParameterStyle::Simple | ParameterStyle::Form => ",",
        ParameterStyle::SpaceDelimited => "%20",
        ParameterStyle::PipeDelimited => "%7C",
    };
    match value {
        Value::Array(items) if parameter.explode => {
            query.extend(
                items
                    .iter()
                    .map(|item| format!("{name}={}", encoded(&text(item)))),
            );
        }
        Value::Object(members) if parameter.explode => {
            let each = members
                .iter()
                .map(|(member, value)| format!("{}={}", encoded(member), encoded(&text(value))));
            query.extend(each);
        }
        _ => {
            let parts = flat(value);
            let parts: Vec<_> = parts.iter().map(|part| encoded(part)).collect();
            query.push(format!("{name}={}", parts.join(separator)));
        }
    }
}

/// `name[member]=value`, and so on below; members of lists have their number.
fn deep(query: &mut Vec<String>, name: &str, value: &Value) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                deep(query, &format!("{name}%5B{}%5D", encoded(member)), value);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                deep(query, &format!("{name}%5B{n}%5D"), item);
            }
        }
        Value::Null => {}
        _ => query.push(format!("{name}={}", encoded(&text(value)))),
    }
}

/// A value with commas between its parts.
fn simple(value: &Value, explode: bool, encode: &dyn Fn(&str) -> String) -> String {
    let parts: Vec<String> = match value {
        Value::Object(members) if explode => members
            .iter()
            .map(|(member, value)| format!("{}={}", encode(member), encode(&text(value))))
            .collect(),
        _ => flat(value).iter().map(|part| encode(part)).collect(),
    };
    parts.join(",")
}

/// The parts of a value: those of a list, names and values of an object, else itself.
fn flat(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(member, value)| [member.clone(), text(value)])
            .collect(),
        _ => vec![text(value)],
    }
}

/// A value as text; one with parts as JSON, because nothing else says how.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        _ => value.to_string(),
    }
}

/// A text of which only letters, digits and `-._~` stand for themselves.
pub fn encoded(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => written.push(byte.into()),
            false => written.push_str(&format!("%{byte:02X}")),
        }
    }
    written
}

fn written_body(media: &BodyEncoding, value: &Value) -> Result<(String, Vec<u8>), String> {
    match (media, value) {
        (BodyEncoding::Json { media_type }, _) => {
            Ok((media_type.clone(), value.to_string().into_bytes()))
        }
        (BodyEncoding::Text { media_type }, Value::String(text)) => Ok((
            format!("{media_type}; charset=utf-8"),
            text.clone().into_bytes(),
        )),
        (BodyEncoding::Form { deep }, Value::Object(members)) => Ok((
            "application/x-www-form-urlencoded".to_owned(),
            form(members, deep).into_bytes(),
        )),
        (BodyEncoding::Text { .. }, _) => Err("the body must be a text".to_owned()),
        (BodyEncoding::Form { .. }, _) => Err("the body must be an object".to_owned()),
    }
}

fn form(members: &Map<String, Value>, as_deep: &[String]) -> String {
    let mut parts = Vec::new();
    for (member, value) in members {
        let name = encoded(member);
        match value {
            Value::Object(_) | Value::Array(_) if as_deep.contains(member) => {
                deep(&mut parts, &name, value);
            }
            Value::Array(items) => {
                parts.extend(
                    items
                        .iter()
                        .map(|item| format!("{name}={}", encoded(&text(item)))),
                );
            }
            _ => parts.push(format!("{name}={}", encoded(&text(value)))),
        }
    }
    parts.join("&")
}

#[cfg(test)]
#[path = "http_requests_tests.rs"]
mod tests;
