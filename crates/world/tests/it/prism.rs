//! Prism, which plays any service out of its document and holds requests against it: what is
//! made of a document's operations is what the document wants.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::AtomicBool,
    time::Duration,
};

use guildhall_domain::connectors::{
    operations::Operation,
    send_result::SendResult,
    toolkit_requests::ToolkitRequest,
    toolkits::{KeyLocation, Toolkit, ToolkitAuth, ToolkitSlug},
};
use guildhall_world::{
    connectors::{AccountCredentials, OutgoingOperation, ServiceClients},
    http_client::{HttpClient, ListenerPorts},
    scratch::Scratch,
};
use serde_json::{Value, json};

/// Where `cargo xtask counterparts install` put it.
fn program() -> PathBuf {
    let below = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../counterparts/prism");
    let program = below.join("node_modules/@stoplight/prism-cli/dist/index.js");
    assert!(
        program.is_file(),
        "it is not installed: `cargo xtask counterparts install`"
    );
    program
}

/// Prism over a document; it ends with the test.
struct PrismProcess {
    process: Child,
    toolkit: Toolkit,
    operations: Vec<Operation>,
    services: ServiceClients,
    _folder: Scratch,
}

impl Drop for PrismProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl PrismProcess {
    fn over(document: &Value) -> Self {
        let folder = Scratch::new("prism");
        let file = folder.path().join("openapi.json");
        std::fs::write(&file, document.to_string()).unwrap();
        let mut process = Command::new("node")
            .arg(program())
            .args(["mock", "-h", "127.0.0.1", "-p", "0", "--errors"])
            .arg(&file)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        // A port that was free a moment ago may be another's; the system chose the one it tells.
        let address = |line: String| Some(line.split_once("Prism is listening on ")?.1.to_owned());
        let mut lines = said.lines().map_while(Result::ok);
        let base_url = lines.find_map(address).expect("it starts");
        // What it says later is read, so that it never waits for a reader.
        std::thread::spawn(move || lines.count());
        let ask = ToolkitRequest {
            slug: ToolkitSlug::parse("shop").unwrap(),
            display_name: None,
            description: None,
            document: None,
            document_url: None,
            base_url: Some(base_url),
            url: None,
            auth: ToolkitAuth::ApiKey {
                r#in: KeyLocation::Header,
                name: "Authorization".to_owned(),
                prefix: "Bearer ".to_owned(),
            },
            account: None,
            overrides: Default::default(),
        };
        let go_on = AtomicBool::new(false);
        let (toolkit, operations) = ask.with_document(document, &go_on).unwrap();
        Self {
            process,
            toolkit,
            operations,
            services: ServiceClients::new(&HttpClient::open(ListenerPorts::default()).unwrap()),
            _folder: folder,
        }
    }

    async fn send(
        &self,
        operation: &str,
        arguments: Value,
        credentials: &AccountCredentials,
    ) -> SendResult {
        let found = self.operations.iter().find(|it| it.slug == operation);
        let sending = OutgoingOperation {
            toolkit: &self.toolkit,
            binding: &found.unwrap().binding,
            arguments: arguments.as_object().unwrap(),
            credentials,
            key: Some("guildhall:0192f0c1"),
            within: Duration::from_secs(20),
        };
        self.services.send(sending).await
    }
}

fn document() -> Value {
    let ok = json!({"200": {"description": "d", "content": {"application/json": {
        "example": {"id": "p1"}, "schema": {"type": "object"}}}}});
    let text = json!({"type": "string"});
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "1"},
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
        "security": [{"bearer": []}],
        "paths": {
            "/pets/{id}": {"get": {"operationId": "get", "responses": ok, "parameters": [
                {"name": "id", "in": "path", "required": true,
                 "schema": {"type": "string", "maxLength": 20}},
                {"name": "tags", "in": "query", "required": true, "explode": false,
                 "schema": {"type": "array", "items": text, "minItems": 2}},
                {"name": "filter", "in": "query", "required": true, "style": "deepObject",
                 "schema": {"type": "object", "required": ["kind"],
                    "properties": {"kind": text}}},
                {"name": "X-Trace", "in": "header", "required": true, "schema": text},
            ]}},
            "/pets": {"post": {"operationId": "add", "responses": ok,
                "parameters": [{"name": "Idempotency-Key", "in": "header", "required": true,
                    "schema": text}],
                "requestBody": {"required": true, "content": {"application/json": {"schema":
                    {"type": "object", "required": ["name"], "additionalProperties": false,
                     "properties": {"name": text}}}}}}},
            "/orders": {"post": {"operationId": "order", "responses": ok,
                "requestBody": {"required": true, "content": {
                    "application/x-www-form-urlencoded": {"schema": {"type": "object",
                        "required": ["amount"],
                        "properties": {"amount": {"type": "integer"}}}}}}}},
        },
    })
}

#[tokio::test]
async fn prism_takes_what_is_made_of_its_documents_operations() {
    let prism = PrismProcess::over(&document());
    let key = AccountCredentials::Key("canary-77aa".to_owned());
    let done = SendResult::Done {
        data: Some(json!({"id": "p1"})),
    };
    for (operation, arguments) in [
        (
            "get",
            json!({"id": "a/b", "tags": ["x", "y z"], "filter": {"kind": "cat"},
                "X-Trace": "t"}),
        ),
        ("add", json!({"body": {"name": "Tom"}})),
        ("order", json!({"body": {"amount": 3}})),
    ] {
        let sent = prism.send(operation, arguments, &key).await;
        assert_eq!(sent, done, "{operation}");
    }
}

#[tokio::test]
async fn prism_refuses_what_does_not_fit_its_document() {
    let prism = PrismProcess::over(&document());
    let key = AccountCredentials::Key("canary-77aa".to_owned());
    for (operation, arguments, credentials, expected) in [
        ("add", json!({"body": {"nam": "Tom"}}), &key, 422),
        ("order", json!({"body": {"amount": "much"}}), &key, 422),
        (
            "get",
            json!({"id": "a", "tags": ["x"], "filter": {"kind": "cat"}, "X-Trace": "t"}),
            &key,
            422,
        ),
        (
            "add",
            json!({"body": {"name": "Tom"}}),
            &AccountCredentials::None,
            401,
        ),
    ] {
        match prism.send(operation, arguments, credentials).await {
            SendResult::Refused { status, .. } => assert_eq!(status, Some(expected), "{operation}"),
            other => panic!("{operation}: {other:?}"),
        }
    }
}
