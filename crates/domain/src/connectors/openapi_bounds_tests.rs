//! Tests of [`super`]: how far documents are read that describe more than they hold.

use serde_json::json;

use super::{
    tests::{document, read},
    *,
};

/// What a short document describes may be much longer: it is read up to a bound, and each of these
/// takes a moment.
#[test]
fn a_document_that_multiplies_is_read_up_to_a_bound() {
    let properties: serde_json::Map<String, Value> = (0..2_000)
        .map(|n| (format!("p{n}"), json!({"description": "x".repeat(300)})))
        .collect();
    let body = json!({"content": {"application/json": {"schema": {
        "$ref": "#/components/schemas/Large"}}}});
    let with_paths = |paths: serde_json::Map<String, Value>| {
        let mut whole = document(&Value::Object(paths));
        whole["components"] = json!({"schemas": {"Large": {"properties": properties}}});
        read(&whole, &ToolkitAuth::None)
    };
    let few = (0..120).map(|n| (format!("/a{n}"), json!({"post": {"requestBody": body}})));
    let few = with_paths(few.collect()).unwrap().listed;
    assert_eq!((few.operations.len(), few.left_out_count), (0, 120));
    let many = (0..60_000).map(|n| {
        (
            format!("/{}", "/".repeat(n % 9) + &n.to_string()),
            json!({"$ref": "#/paths/~10"}),
        )
    });
    let mut many: serde_json::Map<String, Value> = many.collect();
    many.insert("/0".to_owned(), json!({"get": {}, "put": {}, "post": {}}));
    assert_eq!(with_paths(many).unwrap_err()[0].pointer, "/paths");
    // Names of which none is free.
    let alike = (0..2_000).map(|n| (format!("/{}", "+".repeat(n)), json!({"get": {}})));
    assert_eq!(
        with_paths(alike.collect()).unwrap().listed.operations.len(),
        2_000
    );
    let parameters: Vec<Value> = (0..60_000)
        .map(|n| json!({"name": format!("q{n}"), "in": "query"}))
        .collect();
    let wide = (0..9_000).map(|n| (format!("/b{n}"), json!({"$ref": "#/paths/~1b"})));
    let mut wide: serde_json::Map<String, Value> = wide.collect();
    wide.insert(
        "/b".to_owned(),
        json!({"parameters": parameters, "get": {}}),
    );
    assert_eq!(with_paths(wide).unwrap_err()[0].pointer, "/paths");
}

/// Each path refers to the same long chain of references.
#[test]
fn references_that_are_followed_again_and_again_are_read_up_to_a_bound() {
    let name = |n: usize| format!("{n}{}", "~1a".repeat(600));
    let chain = (0..14).map(|n| {
        let next = json!({"$ref": format!("#/x/{}", name(n + 1))});
        (name(n).replace("~1", "/"), next)
    });
    let mut chain: Map<String, Value> = chain.collect();
    chain.insert(name(14).replace("~1", "/"), json!({}));
    let paths = (0..40_000).map(|n| {
        let first = json!({"$ref": format!("#/x/{}", name(0))});
        (format!("/{n}"), first)
    });
    let mut whole = document(&Value::Object(paths.collect()));
    whole["x"] = Value::Object(chain);
    let problems = read(&whole, &ToolkitAuth::None).unwrap_err();
    assert_eq!(problems[0].pointer, "/paths");
}

/// Each name of `required` makes its property's reference be looked up.
#[test]
fn what_is_required_again_and_again_is_looked_up_up_to_a_bound() {
    let long = "a".repeat(1_800);
    let body = json!({"type": "object", "required": vec!["p"; 5_000],
        "properties": {"p": {"$ref": format!("#/x/{long}")}}});
    let operation = json!({"requestBody": {"content": {"application/json": {"schema": body}}}});
    let paths = (0..100).map(|n| (format!("/{n}"), json!({"post": operation})));
    let mut whole = document(&Value::Object(paths.collect()));
    whole["x"] = json!({ long: {} });
    let problems = read(&whole, &ToolkitAuth::None).unwrap_err();
    assert_eq!(problems[0].pointer, "/paths");
}

#[test]
fn paths_that_hold_nothing_are_counted() {
    let paths = (0..66_000).map(|n| (format!("/{n:01000}"), Value::Null));
    let whole = document(&Value::Object(paths.collect()));
    let problems = read(&whole, &ToolkitAuth::None).unwrap_err();
    assert_eq!(problems[0].pointer, "/paths");
}

#[test]
fn a_reading_that_is_stopped_ends() {
    let whole = document(&json!({"/x": {"get": {}}}));
    let stop = AtomicBool::new(true);
    let read = super::read(&whole, &ToolkitAuth::None, &stop);
    assert_eq!(read, Err(OpenapiError::Stopped));
    let budget = ReadBudget::new(&stop);
    budget.spend_of_all(0);
    assert!(budget.is_over());
}
