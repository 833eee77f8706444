//! The specification's own operations, as `specification.tsv` writes them down, against the
//! interface document: each is there, under these names, with as many bodies as are counted.

use serde_json::{Value, json};

const TABLE: &str = include_str!("../specification.tsv");

/// One operation of the specification.
struct SpecifiedOperation<'a> {
    method: String,
    path: &'a str,
    in_path: Vec<&'a str>,
    in_query: Vec<&'a str>,
    fields: Vec<&'a str>,
    /// How many answers have a body, where that is counted.
    bodies: Option<usize>,
    statuses: Vec<&'a str>,
}

fn rows() -> impl Iterator<Item = SpecifiedOperation<'static>> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let columns: Vec<_> = line.split('\t').collect();
        let [method, path, in_path, in_query, fields, bodies, statuses] = columns[..] else {
            panic!("seven columns: {line}");
        };
        let words = |text: &'static str| match text {
            "-" => Vec::new(),
            text => text.split(' ').collect(),
        };
        SpecifiedOperation {
            method: method.to_lowercase(),
            path,
            in_path: words(in_path),
            in_query: words(in_query),
            fields: words(fields),
            bodies: bodies.parse().ok(),
            statuses: words(statuses),
        }
    })
}

/// The names of the parameters that stand there, with their format, else their type where `asked`
/// names one.
fn parameters(operation: &Value, place: &str) -> Vec<(String, String)> {
    let all = operation["parameters"].as_array().into_iter().flatten();
    all.filter(|parameter| parameter["in"] == place)
        .map(|parameter| {
            let schema = &parameter["schema"];
            let kinds = match &schema["type"] {
                Value::Array(kinds) => kinds.iter().find(|kind| **kind != "null"),
                kind => Some(kind),
            };
            let form = schema["format"]
                .as_str()
                .or_else(|| kinds.and_then(Value::as_str));
            let name = parameter["name"].as_str().unwrap();
            (name.to_owned(), form.unwrap_or_default().to_owned())
        })
        .collect()
}

/// Every field that a schema names, in whichever of its forms.
fn fields(schema: &Value, schemas: &Value) -> Vec<String> {
    if let Some(target) = schema["$ref"].as_str() {
        return fields(&schemas[target.rsplit('/').next().unwrap()], schemas);
    }
    let own = schema["properties"].as_object().into_iter().flatten();
    let mut names: Vec<_> = own.map(|(name, _)| name.clone()).collect();
    for parts in ["allOf", "oneOf"] {
        for part in schema[parts].as_array().into_iter().flatten() {
            names.extend(fields(part, schemas));
        }
    }
    names
}

#[test]
fn the_interface_document_has_the_operations_of_the_specification_under_their_names() {
    let document = guildhall_http::openapi::json();
    let schemas = &document["components"]["schemas"];
    let mut wrong = Vec::new();
    for row in rows() {
        let named = format!("{} {}", row.method, row.path);
        let operation = &document["paths"][row.path][&row.method];
        if !operation.is_object() {
            wrong.push(format!("{named} is not there"));
            continue;
        }
        // In the path nothing else can stand; a query may take more.
        let in_path = parameters(operation, "path");
        if in_path.len() != row.in_path.len() {
            wrong.push(format!("{named}: {in_path:?} in its path"));
        }
        let in_query = parameters(operation, "query");
        for (asked, there) in [(&row.in_path, &in_path), (&row.in_query, &in_query)] {
            for asked in asked {
                let (name, form) = asked.split_once(':').unwrap_or((asked, ""));
                let found = there.iter().find(|(known, _)| known == name);
                if !found.is_some_and(|(_, known)| form.is_empty() || known == form) {
                    wrong.push(format!("{named}: no parameter {asked}, but {there:?}"));
                }
            }
        }
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        let body = fields(body, schemas);
        for field in &row.fields {
            if !body.iter().any(|known| known == field) {
                wrong.push(format!("{named}: no field {field} in {body:?}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn as_many_bodies_are_listed_as_the_specification_counts() {
    let document = guildhall_http::openapi::json();
    let mut counted = 0;
    for row in rows() {
        let Some(bodies) = row.bodies else { continue };
        counted += 1;
        let operation = &document["paths"][row.path][&row.method];
        let responses = operation["responses"].as_object().unwrap();
        let listed = responses.keys().filter(|status| *status != "default");
        let listed: Vec<_> = listed.collect();
        assert_eq!(listed, row.statuses, "{}", row.path);
        assert_eq!(listed.len(), bodies, "{}", row.path);
        assert!(responses["default"].is_object(), "{}", row.path);
    }
    assert_eq!(counted, 10);
}

#[test]
fn what_is_not_counted_stands_under_default_with_its_codes() {
    let document = guildhall_http::openapi::json();
    for (path, codes) in [
        ("/api/local-browser/open", &["404 SESSION_NOT_FOUND"][..]),
        (
            "/api/connectors/cli/executions",
            &["202 when", "403 OWNER_ONLY", "429 TOO_MANY_APPROVALS"],
        ),
        (
            "/api/connectors/connections",
            &["422 AUTHENTICATION_UNAVAILABLE", "429 TOO_MANY_FLOWS"],
        ),
    ] {
        let operation = &document["paths"][path]["post"];
        let told = operation["responses"]["default"]["description"].as_str();
        let known = operation["x-codes"].as_array().unwrap();
        for told_code in codes {
            assert!(told.unwrap().contains(told_code), "{path}: {told:?}");
            let (_, code) = told_code.split_once(' ').unwrap();
            assert!(code == "when" || known.contains(&json!(code)), "{path}");
        }
        assert_eq!(operation.get("x-beside"), None);
    }
}

#[test]
fn a_served_file_is_described_with_its_statuses_and_headers() {
    let document = guildhall_http::openapi::json();
    let operation = &document["paths"]["/api/workbench/serve/{token}/{splat}"]["get"];
    let responses = &operation["responses"];
    for (status, header) in [
        ("200", "ETag"),
        ("206", "Content-Range"),
        ("304", "ETag"),
        ("308", "Location"),
        ("416", "Content-Range"),
    ] {
        assert!(responses[status]["headers"][header].is_object(), "{status}");
    }
    for status in ["400", "401", "403", "404"] {
        assert!(responses[status].is_object(), "{status}");
    }
}
