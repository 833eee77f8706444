//! The interface document as it is checked in, and held against the running door.

use std::collections::BTreeSet;

use guildhall_testkit::{TestHall, TestResponse};
use serde_json::{Value, json};

/// Where the checked-in document lies.
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.json");
/// An id that names nothing.
const NOTHING: &str = "01980000-0000-7000-8000-000000000000";

#[test]
fn the_checked_in_document_is_the_one_the_code_makes() {
    let made = guildhall_http::openapi::text();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(PATH, &made).unwrap();
    }
    let kept = std::fs::read_to_string(PATH).unwrap();
    assert!(
        kept == made,
        "openapi.json differs from the code: run `UPDATE_OPENAPI=1 cargo test -p guildhall-http --test it openapi`"
    );
}

#[tokio::test]
async fn the_served_document_is_the_checked_in_one() {
    let t = TestHall::open().await;
    let served = t.stranger().get("/api/openapi.json").await.ok(200);
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(PATH).unwrap()).unwrap();
    assert_eq!(served, kept);
}

/// Every operation of the document: its method, its path and itself.
fn operations(document: &Value) -> impl Iterator<Item = (String, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (method.to_uppercase(), path.as_str(), operation))
    })
}

/// What stands in an operation's path: its names, with their schemas.
fn in_path(operation: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters
        .filter(|parameter| parameter["in"] == "path")
        .map(|parameter| (parameter["name"].as_str().unwrap(), &parameter["schema"]))
}

/// The names of the shapes that `value` is made of.
fn shapes<'a>(value: &'a Value, schemas: &'a Value, known: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str);
            let name = name.and_then(|path| path.rsplit('/').next());
            if let Some(name) = name.filter(|name| known.insert(*name)) {
                shapes(&schemas[name], schemas, known);
            }
            fields
                .values()
                .for_each(|field| shapes(field, schemas, known));
        }
        Value::Array(items) => items.iter().for_each(|item| shapes(item, schemas, known)),
        _ => {}
    }
}

/// The fields of answers that are left out where they say nothing.
const MAY_BE_ABSENT: [&str; 5] = [
    "dataOmitted",
    "documentReceipt",
    "editingBy",
    "incarnation",
    "treeKind",
];

/// Whether every field of the objects in `schema` is required.
fn is_whole(schema: &Value) -> bool {
    let required: Vec<&Value> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let fields = schema["properties"].as_object().into_iter().flatten();
    let mut parts = ["allOf", "oneOf"]
        .into_iter()
        .flat_map(|parts| schema[parts].as_array().into_iter().flatten());
    fields
        .into_iter()
        .all(|(name, _)| required.contains(&&json!(name)) || MAY_BE_ABSENT.contains(&&**name))
        && parts.all(is_whole)
}

/// Source: contract 1.1: fields of an answer are always present. What a body may be made of too
/// says only what is required there.
#[test]
fn every_field_of_an_answer_is_required() {
    let document = guildhall_http::openapi::json();
    let schemas = &document["components"]["schemas"];
    let (mut asked, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for (_, _, operation) in operations(document) {
        shapes(&operation["requestBody"], schemas, &mut asked);
        shapes(&operation["responses"], schemas, &mut answered);
    }
    let answers: Vec<&str> = answered.difference(&asked).copied().collect();
    assert!(
        answers.contains(&"Runtime") && answers.contains(&"Usage"),
        "{answers:?}"
    );
    for name in answers {
        assert!(is_whole(&schemas[name]), "{name}");
    }
}

#[tokio::test]
async fn an_id_must_be_a_uuid_where_the_document_says_so_and_nowhere_else() {
    let t = TestHall::open().await;
    let document = guildhall_http::openapi::json();
    let mut uuids = 0;
    for (method, path, operation) in operations(document) {
        let mut address = path.to_owned();
        for (name, schema) in in_path(operation) {
            assert_eq!(schema["minLength"], 1, "{method} {path}");
            address = address.replace(&format!("{{{name}}}"), "none");
        }
        if address == path {
            continue;
        }
        let mut ask = t.owner().ask(&method, &address);
        if operation["requestBody"].is_object() {
            ask = ask.json(&json!({}));
        }
        let answer = ask.send().await;
        assert!(answer.status >= 400, "{method} {path}");
        let wrong = &answer.body["details"]["fieldErrors"];
        for (name, schema) in in_path(operation) {
            let is_uuid = schema["format"] == "uuid";
            assert_eq!(wrong[name].is_array(), is_uuid, "{method} {path}: {wrong}");
            uuids += u32::from(is_uuid);
        }
    }
    assert!(uuids > 10, "{uuids}");
}

#[tokio::test]
async fn a_body_may_be_left_out_where_the_document_says_so_and_nowhere_else() {
    let t = TestHall::open().await;
    let document = guildhall_http::openapi::json();
    let mut optional = Vec::new();
    for (method, path, operation) in operations(document) {
        let body = &operation["requestBody"];
        if !body["content"]["application/json"].is_object() {
            continue;
        }
        let mut address = path.to_owned();
        for (name, _) in in_path(operation) {
            address = address.replace(&format!("{{{name}}}"), NOTHING);
        }
        let ask = || t.owner().ask(&method, &address);
        let (without, empty) = (ask().send().await, ask().json(&json!({})).send().await);
        let told = |answer: &TestResponse| (answer.status, answer.body.clone());
        assert_eq!(told(&without), told(&empty), "{method} {path}");
        // Where nobody signs in, no body is read of who wants to.
        if without.body["code"] == "AUTH_MODE_LOCAL" {
            continue;
        }
        let is_invalid = without.body["code"] == "VALIDATION_FAILED";
        assert_eq!(
            body["required"], is_invalid,
            "{method} {path}: {}",
            without.body
        );
        if !is_invalid {
            optional.push(operation["operationId"].as_str().unwrap());
        }
    }
    assert!(optional.contains(&"cancelTurn"), "{optional:?}");
}

#[tokio::test]
async fn the_example_of_a_body_has_the_shape_the_server_takes() {
    let t = TestHall::open().await;
    let document = guildhall_http::openapi::json();
    let mut refused = Vec::new();
    for (method, path, operation) in operations(document) {
        let example = &operation["requestBody"]["content"]["application/json"]["example"];
        if !example.is_object() {
            continue;
        }
        let mut address = path.to_owned();
        for (name, _) in in_path(operation) {
            address = address.replace(&format!("{{{name}}}"), NOTHING);
        }
        let answer = t.owner().ask(&method, &address).json(example).send().await;
        if answer.body["code"] == "VALIDATION_FAILED" {
            refused.push(format!("{method} {path}: {}", answer.body));
        }
    }
    assert_eq!(refused, Vec::<String>::new());
}

#[tokio::test]
async fn a_query_takes_what_the_document_allows_and_nothing_beyond() {
    let t = TestHall::open().await;
    let room = t.team().await;
    let document = guildhall_http::openapi::json();
    let mut closed = Vec::new();
    for (method, path, operation) in operations(document) {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
            let (name, schema) = (parameter["name"].as_str().unwrap(), &parameter["schema"]);
            let bound = |bound: &str| schema[bound].as_i64();
            let values = match (&schema["enum"], bound("minimum"), bound("maximum")) {
                (Value::Array(words), ..) => {
                    let words = words.iter().map(|word| word.as_str().unwrap().to_owned());
                    let words = words.map(|word| (word, true));
                    words.chain([("none".to_owned(), false)]).collect()
                }
                (_, Some(least), Some(most)) => vec![
                    ((least - 1).to_string(), false),
                    (least.to_string(), true),
                    (most.to_string(), true),
                    ((most + 1).to_string(), false),
                ],
                _ => continue,
            };
            closed.push(name.to_owned());
            for (value, is_fine) in values {
                let address = format!("{}?{name}={value}", path.replace("{id}", &room));
                let answer = t.owner().ask(&method, &address).send().await;
                let refused = &answer.body["details"]["fieldErrors"][name];
                assert_eq!(refused.is_array(), !is_fine, "{address}: {}", answer.body);
            }
        }
    }
    for name in ["state", "source", "groupBy", "refresh", "kind", "limit"] {
        assert!(closed.iter().any(|known| known == name), "{name}");
    }
}
