//! Tests of [`super`]: which operations documents hold and how each is asked.

use serde_json::json;

use super::*;
use crate::connectors::{
    classification::Classification,
    operations::{
        BodyEncoding, HttpBinding, OperationParameter, ParameterLocation, ParameterStyle,
    },
    toolkits::KeyLocation,
};

/// A document of 3.1 with these paths.
pub(super) fn document(paths: &Value) -> Value {
    json!({"openapi": "3.1.0", "info": {"title": "Pets", "version": "1.2"}, "paths": paths})
}

/// What a document says, where nobody stops the reading.
pub(super) fn read(
    document: &Value,
    auth: &ToolkitAuth,
) -> Result<OpenapiDocument, Vec<ValidationProblem>> {
    let stop = AtomicBool::new(false);
    super::read(document, auth, &stop).map_err(|unread| match unread {
        OpenapiError::Invalid(problems) => problems,
        OpenapiError::Stopped => panic!("nobody stopped it"),
    })
}

fn listed(paths: &Value) -> OperationListing {
    read(&document(paths), &ToolkitAuth::None).unwrap().listed
}

/// The one operation of a path `/x` with these members.
fn only(members: &Value) -> Result<Operation, String> {
    let listed = listed(&json!({"/x": {"post": members}}));
    match (listed.operations.as_slice(), listed.left_out.as_slice()) {
        ([operation], []) => Ok(operation.clone()),
        ([], [left]) => Err(left.reason.clone()),
        other => panic!("{other:?}"),
    }
}

fn binding(operation: &Operation) -> &HttpBinding {
    match &operation.binding {
        OperationBinding::Http(binding) => binding,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_method_has_its_class() {
    let mut item = Map::new();
    for word in [
        "get", "head", "post", "put", "patch", "delete", "options", "trace",
    ] {
        item.insert(word.to_owned(), json!({"operationId": word}));
    }
    let listed = listed(&json!({"/x": item}));
    let classes: Vec<_> = listed
        .operations
        .iter()
        .map(|it| (it.slug.as_str(), it.classification))
        .collect();
    assert_eq!(
        classes,
        [
            ("get", Classification::Read),
            ("head", Classification::Read),
            ("post", Classification::Write),
            ("put", Classification::Write),
            ("patch", Classification::Write),
            ("delete", Classification::Destructive),
        ]
    );
    let left: Vec<_> = listed.left_out.iter().map(|it| &it.operation[..]).collect();
    assert_eq!((left, listed.left_out_count), (vec!["options", "trace"], 2));
}

#[test]
fn an_operation_without_a_name_is_named_by_method_and_path() {
    let listed = listed(&json!({
        "/pets/{id}/toys": {"get": {"parameters": [{"name": "id", "in": "path"}]}},
        "/pets/id/toys": {"get": {}},
        "/": {"get": {"operationId": "get_pets_id_toys"}},
    }));
    let mut slugs: Vec<_> = listed.operations.iter().map(|it| &it.slug[..]).collect();
    slugs.sort_unstable();
    assert_eq!(
        slugs,
        [
            "get_pets_id_toys",
            "get_pets_id_toys_2",
            "get_pets_id_toys_3"
        ]
    );
}

#[test]
fn a_declared_key_for_repeats_is_the_policy_and_no_argument() {
    let operation = only(&json!({"parameters": [
        {"name": "idempotency-key", "in": "header", "required": true, "schema": {"type": "string"}},
    ]}))
    .unwrap();
    assert_eq!(operation.retry_policy, RetryPolicy::ProviderIdempotencyKey);
    assert!(binding(&operation).takes_key);
    assert_eq!(operation.input_schema["properties"], json!({}));
    let without = only(&json!({})).unwrap();
    assert_eq!(without.retry_policy, RetryPolicy::Never);
    assert!(!binding(&without).takes_key);
}

#[test]
fn arguments_are_one_flat_object() {
    let listed = listed(&json!({"/pets/{id}": {
        "parameters": [
            {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
            {"name": "limit", "in": "query", "schema": {"type": "string"}},
        ],
        "put": {
            "summary": "Change a pet",
            "description": "All of it.",
            "parameters": [
                {"name": "id", "in": "query", "schema": {"type": "integer"}},
                {"name": "limit", "in": "query", "description": "How many",
                 "schema": {"type": "integer"}},
                {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
            ],
            "requestBody": {"required": true, "content": {
                "application/xml": {},
                "application/merge-patch+json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
        },
    }}));
    // The document has no components: the operation is left out and says so.
    assert_eq!(
        listed.left_out[0].reason,
        "#/components/schemas/Pet is not there"
    );

    let mut whole = document(&json!({}));
    whole["components"] = json!({"schemas": {"Pet": {"type": "object"}}});
    whole["paths"] = json!({"/pets/{id}": {
        "parameters": [{"name": "id", "in": "path", "schema": {"type": "string"}}],
        "put": {
            "summary": "Change a pet",
            "description": "All of it.",
            "parameters": [
                {"name": "id", "in": "query", "schema": {"type": "integer"}},
                {"name": "limit", "in": "query", "description": "How many", "required": true},
                {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
            ],
            "requestBody": {"required": true, "description": "The pet", "content": {
                "application/xml": {},
                "application/merge-patch+json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
        },
    }});
    let found = read(&whole, &ToolkitAuth::None).unwrap();
    let [operation] = found.listed.operations.as_slice() else {
        panic!("{:?}", found.listed);
    };
    let parameter = |argument: &str, name: &str, place, style, explode| OperationParameter {
        argument: argument.to_owned(),
        name: name.to_owned(),
        place,
        style,
        explode,
    };
    assert_eq!(
        operation,
        &Operation {
            slug: "put_pets_id".to_owned(),
            title: "Change a pet".to_owned(),
            description: "All of it.".to_owned(),
            classification: Classification::Write,
            retry_policy: RetryPolicy::Never,
            input_schema: json!({
                "type": "object",
                "properties": {
                    "X-Trace": {"type": "string"},
                    "path_id": {"type": "string"},
                    "query_id": {"type": "integer"},
                    "limit": {"description": "How many"},
                    "body": {"$ref": "#/$defs/Pet", "description": "The pet"},
                },
                "required": ["path_id", "limit", "body"],
                "additionalProperties": false,
                "$defs": {"Pet": {"type": "object"}},
            }),
            binding: OperationBinding::Http(HttpBinding {
                method: HttpMethod::Put,
                path: "/pets/{id}".to_owned(),
                parameters: vec![
                    parameter(
                        "X-Trace",
                        "X-Trace",
                        ParameterLocation::Header,
                        ParameterStyle::Simple,
                        false
                    ),
                    parameter(
                        "path_id",
                        "id",
                        ParameterLocation::Path,
                        ParameterStyle::Simple,
                        false
                    ),
                    parameter(
                        "query_id",
                        "id",
                        ParameterLocation::Query,
                        ParameterStyle::Form,
                        true
                    ),
                    parameter(
                        "limit",
                        "limit",
                        ParameterLocation::Query,
                        ParameterStyle::Form,
                        true
                    ),
                ],
                body: Some(BodyEncoding::Json {
                    media_type: "application/merge-patch+json".to_owned(),
                }),
                takes_key: false,
            }),
        }
    );
    assert_eq!(found.version, "1.2");
}

#[test]
fn parameters_are_written_as_the_document_says() {
    let operation = only(&json!({"parameters": [
        {"name": "a", "in": "query", "style": "pipeDelimited", "schema": {"type": "array"}},
        {"name": "b", "in": "query", "style": "deepObject", "explode": true},
        {"name": "c", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
        {"name": "d", "in": "query", "explode": false},
        {"name": "e", "in": "query", "style": "matrix"},
        {"name": "f", "in": "cookie"},
        {"name": "g", "in": "query", "content": {"text/plain": {}}},
    ]}))
    .unwrap();
    let styles: Vec<_> = binding(&operation)
        .parameters
        .iter()
        .map(|it| (it.name.as_str(), it.style, it.explode))
        .collect();
    assert_eq!(
        styles,
        [
            ("a", ParameterStyle::PipeDelimited, false),
            ("b", ParameterStyle::DeepObject, true),
            ("c", ParameterStyle::Json, false),
            ("d", ParameterStyle::Form, false),
        ]
    );
    assert_eq!(
        operation.input_schema["properties"]["c"],
        json!({"type": "object"})
    );
}

#[test]
fn bodies_are_written_as_json_else_as_a_form_else_as_text() {
    let json = |media_type: &str| BodyEncoding::Json {
        media_type: media_type.to_owned(),
    };
    let cases = [
        (
            vec!["application/x-www-form-urlencoded", "application/json"],
            json("application/json"),
        ),
        (
            vec!["application/json; charset=utf-8"],
            json("application/json"),
        ),
        (
            vec!["application/vnd.a+json", "text/plain"],
            json("application/vnd.a+json"),
        ),
        (vec!["*/*"], json("application/json")),
        (
            vec!["text/plain", "application/x-www-form-urlencoded"],
            BodyEncoding::Form { deep: Vec::new() },
        ),
        (
            vec!["text/plain", "multipart/form-data"],
            BodyEncoding::Text {
                media_type: "text/plain".to_owned(),
            },
        ),
    ];
    for (names, expected) in cases {
        let content: Map<_, _> = names
            .iter()
            .map(|name| ((*name).to_owned(), json!({})))
            .collect();
        let operation = only(&json!({"requestBody": {"content": content}})).unwrap();
        assert_eq!(
            binding(&operation).body.as_ref(),
            Some(&expected),
            "{names:?}"
        );
    }
    let form = json!({"requestBody": {"content": {"application/x-www-form-urlencoded": {
        "encoding": {"card": {"style": "deepObject", "explode": true}, "name": {}}}}}});
    assert_eq!(
        binding(&only(&form).unwrap()).body,
        Some(BodyEncoding::Form {
            deep: vec!["card".to_owned()]
        })
    );
}

#[test]
fn what_cannot_be_run_is_left_out_with_its_reason() {
    let cases = [
        (
            json!({"requestBody": {"required": true, "content": {"multipart/form-data": {}}}}),
            "its body is written in a way that is not known here: multipart/form-data",
        ),
        (
            json!({"parameters": [{"name": "sid", "in": "cookie", "required": true}]}),
            "it needs the cookie parameter sid",
        ),
        (
            json!({"parameters": [{"name": "Host", "in": "header", "required": true}]}),
            "it needs the header Host",
        ),
        (
            json!({"parameters": [{"name": "q", "in": "query", "style": "x", "required": true}]}),
            "its parameter q is written in a way that is not known here",
        ),
        (
            json!({"parameters": [{"name": "id", "in": "path"}]}),
            "its path and its parameters differ in id",
        ),
        (
            json!({"parameters": [{"$ref": "#/components/parameters/Gone"}]}),
            "the reference \"#/components/parameters/Gone\" leads nowhere",
        ),
        (
            json!({"servers": [{"url": "https://b.example"}]}),
            "it has a server of its own",
        ),
        (
            json!({"parameters": [{"in": "query"}]}),
            "a parameter has no name or no place",
        ),
        (
            json!({"operationId": "a\nb"}),
            "its name does not have 1 to 200 characters without control characters",
        ),
        (
            json!({"parameters": [
                {"name": "query_id", "in": "query"},
                {"name": "id", "in": "query"},
                {"name": "id", "in": "header"}]}),
            "its parameters cannot be told apart",
        ),
    ];
    for (members, expected) in cases {
        assert_eq!(only(&members), Err(expected.to_owned()), "{members}");
    }
    let many: Map<_, _> = (0..30)
        .map(|n| (format!("/{n}/{{x}}"), json!({"get": {}})))
        .collect();
    let listed = listed(&Value::Object(many));
    assert_eq!((listed.left_out.len(), listed.left_out_count), (20, 30));
}

#[test]
fn what_a_sign_in_writes_is_no_argument() {
    let paths = json!({"/x": {"get": {"parameters": [
        {"name": "x-key", "in": "header", "required": true},
        {"name": "key", "in": "query"},
        {"name": "Authorization", "in": "header", "required": true},
        {"name": "Accept", "in": "header"},
    ]}}});
    let key = |r#in, name: &str| ToolkitAuth::ApiKey {
        r#in,
        name: name.to_owned(),
        prefix: String::new(),
    };
    for (auth, expected) in [
        (ToolkitAuth::None, vec!["key", "x-key"]),
        (key(KeyLocation::Header, "X-Key"), vec!["key"]),
        (key(KeyLocation::Query, "key"), vec!["x-key"]),
        (key(KeyLocation::Query, "x-key"), vec!["key", "x-key"]),
    ] {
        let found = read(&document(&paths), &auth).unwrap().listed;
        let names: Vec<_> = binding(&found.operations[0])
            .parameters
            .iter()
            .map(|it| it.name.as_str())
            .collect();
        assert_eq!(names, expected, "{auth:?}");
    }
}

#[test]
fn a_document_that_cannot_be_used_says_where() {
    let problems = |document: Value| -> Vec<(String, String)> {
        let problems = read(&document, &ToolkitAuth::None).unwrap_err();
        problems
            .into_iter()
            .map(|it| (it.pointer, it.message))
            .collect()
    };
    let one = |pointer: &str, message: &str| vec![(pointer.to_owned(), message.to_owned())];
    let with = |member: &str, value: Value| {
        let mut document = document(&json!({}));
        document[member] = value;
        document
    };
    assert_eq!(
        problems(with("openapi", json!("3.2.0"))),
        one("/openapi", "3.2.0 is neither 3.0 nor 3.1")
    );
    assert_eq!(
        problems(json!({"swagger": "2.0", "info": {"version": "1"}, "paths": {}})),
        one("/swagger", "Swagger 2 is not read; convert it to OpenAPI 3")
    );
    assert_eq!(
        problems(with("info", json!({"version": 1}))),
        one("/info/version", "is no text")
    );
    assert_eq!(
        problems(document(&json!({"pets": {}}))),
        one("/paths/pets", "a path begins with /")
    );
    assert_eq!(
        problems(document(&json!({
            "/a": {"get": {"operationId": "same"}},
            "/b/c": {"put": {"operationId": "same"}},
        }))),
        one("/paths/~1b~1c/put/operationId", "same names two operations")
    );
    assert_eq!(
        problems(document(&json!({"/a": {"get": {"responses": {"200":
            {"$ref": "https://b.example/r.json#/A"}}}}}))),
        one(
            "/paths/~1a/get/responses/200/$ref",
            "https://b.example/r.json#/A is outside of the document"
        )
    );
    assert_eq!(problems(json!([])).len(), 2);
    let many: Map<_, _> = (0..30).map(|n| (format!("p{n}"), json!({}))).collect();
    assert_eq!(problems(document(&Value::Object(many))).len(), 20);
}

#[test]
fn an_example_may_look_like_a_reference() {
    let found = read(
        &document(
            &json!({"/a": {"post": {"requestBody": {"content": {"application/json": {
            "example": {"$ref": "https://b.example/x"}}}}}}}),
        ),
        &ToolkitAuth::None,
    );
    assert_eq!(found.unwrap().listed.operations.len(), 1);
}

#[test]
fn a_server_is_read_with_its_variables() {
    let mut document = document(&json!({}));
    document["servers"] = json!([{"url": "https://{region}.a.example/{v}",
        "variables": {"region": {"default": "eu"}, "v": {"default": "v2"}}}]);
    let found = read(&document, &ToolkitAuth::None).unwrap();
    assert_eq!(found.server.as_deref(), Some("https://eu.a.example/v2"));
    let cases = [
        ("https://a.example/v1", None, Some("https://a.example/v1")),
        (
            "/v1",
            Some("https://a.example/docs/openapi.json"),
            Some("https://a.example/v1"),
        ),
        (
            "v1",
            Some("https://a.example/docs/openapi.json"),
            Some("https://a.example/docs/v1"),
        ),
        ("/v1", None, None),
    ];
    for (server, at, expected) in cases {
        assert_eq!(
            absolute(server, at).as_deref(),
            expected,
            "{server} at {at:?}"
        );
    }
}

#[test]
fn classes_are_raised_and_never_lowered() {
    use crate::connectors::toolkits::OperationOverride;
    let mut listed = listed(&json!({"/x": {"get": {"operationId": "r"},
        "post": {"operationId": "w"}, "delete": {"operationId": "d"}}}));
    let wanted = |class| OperationOverride {
        classification: Some(class),
    };
    let overrides = [
        ("r".to_owned(), wanted(Classification::Destructive)),
        ("w".to_owned(), wanted(Classification::Write)),
        ("d".to_owned(), wanted(Classification::Write)),
        ("x".to_owned(), OperationOverride::default()),
    ];
    assert_eq!(
        listed.raise(&overrides.into()),
        [
            ("d".to_owned(), "is milder than the operation itself"),
            ("x".to_owned(), "names no operation that can be run"),
        ]
    );
    let classes: Vec<_> = listed
        .operations
        .iter()
        .map(|it| it.classification)
        .collect();
    assert_eq!(
        classes,
        [
            Classification::Destructive,
            Classification::Write,
            Classification::Destructive
        ]
    );
}

proptest::proptest! {
    /// Whatever a document holds, reading it ends and what it lists refers to nothing outside.
    #[test]
    fn any_document_is_read_or_refused(
        style in "[a-z]{0,6}",
        name in "[a-zA-Z~/%{}#. -]{0,12}",
        reference in "#?/?[a-z~/%{}]{0,20}",
        place in proptest::sample::select(vec!["path", "query", "header", "cookie", "body"]),
    ) {
        let mut whole = document(&json!({format!("/{name}"): {"post": {
            "parameters": [{"name": name, "in": place, "style": style,
                "schema": {"$ref": reference}}],
            "requestBody": {"content": {"application/json": {"schema": {"$ref": reference}}}},
        }}}));
        whole["a"] = json!({"$ref": "#/a"});
        if let Ok(found) = read(&whole, &ToolkitAuth::None) {
            for operation in found.listed.operations {
                let text = operation.input_schema.to_string();
                proptest::prop_assert!(!text.contains("$ref\":\"#/components"));
                let references = text.matches("\"$ref\":\"").count();
                let own = text.matches("\"$ref\":\"#/$defs/").count();
                proptest::prop_assert_eq!(references, own);
            }
        }
    }
}

#[test]
fn the_variables_of_a_server_are_filled_in_once() {
    let mut document = document(&json!({}));
    document["servers"] = json!([{"url": "https://{a}.example/{c",
        "variables": {"a": {"default": "{b}{b}"}, "b": {"default": "{a}"}}}]);
    let server = read(&document, &ToolkitAuth::None).unwrap().server;
    assert_eq!(server.as_deref(), Some("https://{b}{b}.example/{c"));
    let long = "x".repeat(100);
    document["servers"] = json!([{"url": "{a}".repeat(21), "variables": {"a": {"default": long}}}]);
    assert_eq!(read(&document, &ToolkitAuth::None).unwrap().server, None);
}

#[test]
fn problems_are_told_in_few_words_and_long_references_are_refused() {
    let name = "n".repeat(3_000);
    let mut paths = Map::new();
    for n in 0..30 {
        paths.insert(format!("{n}{name}"), json!({}));
    }
    let problems = read(&document(&Value::Object(paths)), &ToolkitAuth::None).unwrap_err();
    assert_eq!(problems.len(), limits::CONNECTOR_PROBLEMS_MAX);
    assert!(problems.iter().all(|it| it.pointer.len() == 500));
    let paths = json!({"/x": {"$ref": format!("#/{name}")}});
    let problems = read(&document(&paths), &ToolkitAuth::None).unwrap_err();
    assert_eq!(problems[0].message, "is too long");
}
