//! Provider instances, their toolkits and the catalog. Source: contract 5.1 and 5.3.

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

use crate::{
    dev_servers::{DevServerStub, ok},
    mcp_server_stub::{McpServerStub, tool},
    test_values::{column, list, text},
};

const PROVIDERS: &str = "/api/connectors/providers";
const CATALOG: &str = "/api/connectors/catalog";

/// A document with one operation of each class.
fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "7"},
        "servers": [{"url": "https://pets.example/v1"}],
        "paths": {"/pets": {
            "get": {"operationId": "listPets", "summary": "List the pets"},
            "post": {"operationId": "addPet"},
            "delete": {"operationId": "clearPets"},
            "put": {"operationId": "photo", "requestBody": {"required": true,
                "content": {"multipart/form-data": {}}}},
        }},
    })
}

/// A new instance of this type; its address.
async fn made(owner: &TestCaller, of: &str) -> String {
    let body = json!({"type": of, "label": "Shops"});
    let made = owner.post(PROVIDERS, body).await.ok(201);
    format!("{PROVIDERS}/{}", text(&made["id"]))
}

/// An instance as it is listed.
async fn seen(owner: &TestCaller, at: &str) -> Value {
    let all = owner.get(PROVIDERS).await.ok(200);
    let all = list(&all["providers"]).clone();
    let found = all
        .into_iter()
        .find(|it| at.ends_with(it["id"].as_str().unwrap()));
    found.unwrap()
}

#[tokio::test]
async fn every_installation_has_the_scripted_instance_which_stays_as_it_is() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let first = owner.get(PROVIDERS).await.ok(200);
    let [rehearsal] = list(&first["providers"]).as_slice() else {
        panic!("{first}");
    };
    assert_eq!(
        (
            &rehearsal["type"],
            &rehearsal["status"],
            &rehearsal["generation"]
        ),
        (&json!("rehearsal"), &json!("available"), &json!(1))
    );
    let toolkit = &rehearsal["toolkits"][0];
    assert_eq!(
        (
            &toolkit["slug"],
            &toolkit["version"],
            &toolkit["operationCount"],
            &toolkit["auth"]
        ),
        (
            &json!("rehearsal"),
            &json!("1"),
            &json!(3),
            &json!({"kind": "none"})
        )
    );
    let at = format!("{PROVIDERS}/{}", text(&rehearsal["id"]));
    let rows = t.rows();
    let slug = format!("{at}/toolkits/rehearsal");
    for answer in [
        owner.delete(&at).await,
        owner.patch(&at, json!({"label": "Mine"})).await,
        owner.put(&slug, json!({"document": {}})).await,
        owner.delete(&slug).await,
        owner
            .put(&format!("{slug}/credential"), json!({"secret": "s"}))
            .await,
    ] {
        answer.refused(409, "PROVIDER_FIXED");
    }
    assert_eq!(t.rows(), rows);
    t.restart().await;
    assert_eq!(t.owner().get(PROVIDERS).await.ok(200), first);
}

#[tokio::test]
async fn every_change_of_toolkit_or_secret_raises_the_generation_and_a_label_does_not() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let at = made(&owner, "openapi").await;
    let mut events = t.events();
    let slug = format!("{at}/toolkits/pets");
    let sign_in = json!({"kind": "oauth2", "flow": "device_code", "clientId": "c",
        "issuer": "https://id.example"});
    let put = json!({"document": document(), "auth": sign_in});
    let toolkit = owner.put(&slug, put.clone()).await.ok(200);
    assert_eq!(
        toolkit,
        json!({
            "slug": "pets", "displayName": "pets", "description": "", "documentUrl": null,
            "baseUrl": "https://pets.example/v1", "url": null,
            "auth": {"kind": "oauth2", "flow": "device_code", "issuer": "https://id.example",
                "authorizationUrl": null, "tokenUrl": null, "deviceUrl": null, "clientId": "c",
                "scopes": []},
            "account": null, "overrides": {}, "version": "7", "operationCount": 3,
            "leftOutCount": 1, "leftOut": [{"operation": "photo", "reason":
                "its body is written in a way that is not known here: multipart/form-data"}],
            "hasCredential": false,
        })
    );
    owner
        .patch(&at, json!({"label": "Pet shops"}))
        .await
        .ok(200);
    let credential = format!("{slug}/credential");
    let saved = owner
        .put(&credential, json!({"secret": "canary-5f1c"}))
        .await;
    assert_eq!(saved.ok(200), json!({"saved": true}));
    assert_eq!(
        seen(&owner, &at).await["toolkits"][0]["hasCredential"],
        json!(true)
    );
    owner.delete(&credential).await.ok(204);
    owner.delete(&credential).await.ok(204);
    owner.delete(&slug).await.ok(204);
    owner.delete(&slug).await.refused(404, "TOOLKIT_NOT_FOUND");
    owner.delete(&at).await.ok(204);
    owner.delete(&at).await.refused(404, "PROVIDER_NOT_FOUND");
    let told: Vec<_> = events
        .all()
        .iter()
        .filter(|event| event["type"] == "connector_provider_changed")
        .map(|event| {
            (
                text(&event["data"]["change"]),
                event["data"]["generation"].clone(),
            )
        })
        .collect();
    let expected = [
        ("toolkit_put", 2),
        ("updated", 2),
        ("credential_changed", 3),
        ("credential_changed", 4),
        ("toolkit_removed", 5),
        ("removed", 6),
    ];
    let expected = expected.map(|(change, generation)| (change.to_owned(), json!(generation)));
    assert_eq!(told, expected);
    assert!(!t.rows().contains("canary-5f1c"));
}

#[tokio::test]
async fn a_toolkit_that_cannot_be_used_leaves_everything_as_it_was() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let at = made(&owner, "openapi").await;
    let rows = t.rows();
    let slug = format!("{at}/toolkits/pets");
    let with = |member: &str, value: Value| {
        let mut body = json!({"document": document()});
        body[member] = value;
        body
    };
    for (body, field) in [
        (json!({}), "document"),
        (
            with("documentUrl", json!("https://a.example/x")),
            "document",
        ),
        (with("baseUrl", json!("http://a.example")), "baseUrl"),
        (with("auth", json!({"kind": "own"})), "auth.kind"),
        (
            with("overrides", json!({"addPet": {"classification": "read"}})),
            "overrides.addPet",
        ),
        (
            with("overrides", json!({"addPet": {"classification": "mild"}})),
            "overrides.addPet.classification",
        ),
        (with("overrides", json!({"gone": {}})), "overrides.gone"),
    ] {
        let details = owner
            .put(&slug, body.clone())
            .await
            .refused(400, "VALIDATION_FAILED");
        assert!(
            details["fieldErrors"][field].is_array(),
            "{body}: {details}"
        );
    }
    let wrong = format!("{at}/toolkits/Pets");
    let refused = owner.put(&wrong, with("url", json!(null))).await;
    refused.refused(400, "VALIDATION_FAILED");
    let mut outside = document();
    outside["paths"]["/pets"]["get"]["responses"] = json!({"200": {"$ref": "r.json"}});
    let refused = owner.put(&slug, json!({"document": outside})).await;
    assert_eq!(
        refused.refused(400, "TOOLKIT_DOCUMENT_INVALID")["problems"],
        json!([{"pointer": "/paths/~1pets/get/responses/200/$ref",
            "message": "r.json is outside of the document"}])
    );
    let gone = "http://127.0.0.1:9/openapi.json";
    let refused = owner.put(&slug, json!({"documentUrl": gone})).await;
    refused.refused(422, "TOOLKIT_UNREACHABLE");
    assert_eq!(t.rows(), rows);
}

#[tokio::test]
async fn a_documents_address_is_fetched_once_and_its_server_may_be_relative_to_it() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let service = DevServerStub::that(|request| match request.starts_with("GET /docs/api.yaml ") {
        true => ok(
            "content-type: application/yaml\r\n",
            "openapi: 3.0.3\ninfo: {title: P, version: '2'}\nservers: [{url: /v2}]\n\
             paths:\n  /x:\n    get: {operationId: x, responses: {200: {description: d}}}\n",
        ),
        false => {
            "HTTP/1.1 302 Found\r\nlocation: /docs/api.yaml\r\ncontent-length: 0\r\n\r\n".to_owned()
        }
    })
    .await;
    let at = made(&owner, "openapi").await;
    let url = format!("http://127.0.0.1:{}/docs/moved", service.port);
    let body = json!({"documentUrl": url});
    let toolkit = owner.put(&format!("{at}/toolkits/p"), body).await.ok(200);
    assert_eq!(
        (
            &toolkit["baseUrl"],
            &toolkit["version"],
            &toolkit["operationCount"]
        ),
        (
            &json!(format!("http://127.0.0.1:{}/v2", service.port)),
            &json!("2"),
            &json!(1)
        )
    );
    owner.get(PROVIDERS).await.ok(200);
    owner.get(CATALOG).await.ok(200);
    assert_eq!(service.seen().len(), 2);
}

#[tokio::test]
async fn an_mcp_server_is_asked_for_its_tools_or_waits_for_a_sign_in() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let server = McpServerStub::start(&[tool("a", "First"), tool("b", "Second")]).await;
    let at = made(&owner, "mcp").await;
    let slug = format!("{at}/toolkits/tools");
    let body = json!({"url": server.url});
    let toolkit = owner.put(&slug, body.clone()).await.ok(200);
    assert_eq!(toolkit["operationCount"], json!(2));
    let version = text(&toolkit["version"]);
    assert!(version.len() == 64, "{version}");

    *server.is.is_shut.lock().unwrap() = true;
    owner
        .put(&slug, body)
        .await
        .refused(422, "TOOLKIT_UNREACHABLE");
    let auth = json!({"kind": "api-key", "in": "header", "name": "X-Key"});
    let body = json!({"url": server.url, "auth": auth});
    let waiting = owner.put(&slug, body).await.ok(200);
    assert_eq!(waiting["operationCount"], json!(0));
    assert_ne!(text(&waiting["version"]), version);
}

#[tokio::test]
async fn the_catalog_is_searched_by_words_of_services_and_their_operations() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let at = made(&owner, "openapi").await;
    for slug in ["cats", "dogs"] {
        let body = json!({"document": document(), "displayName": slug.to_uppercase()});
        owner
            .put(&format!("{at}/toolkits/{slug}"), body)
            .await
            .ok(200);
    }
    let found = async |query: &str| {
        let page = owner.get(&format!("{CATALOG}{query}")).await.ok(200);
        (column(&page["services"], "toolkit"), page)
    };
    for (query, expected) in [
        ("", vec!["rehearsal", "cats", "dogs"]),
        ("?q=listpets", vec!["cats", "dogs"]),
        ("?q=PETS%20the%20Cats", vec!["cats"]),
        ("?q=clear", vec!["rehearsal", "cats", "dogs"]),
        ("?q=%25", vec![]),
    ] {
        assert_eq!(found(query).await.0, expected, "{query}");
    }
    let (first, page) = found("?limit=2").await;
    assert_eq!(first, ["rehearsal", "cats"]);
    assert_eq!(
        page["warnings"],
        json!(["CATS: 1 operation cannot be run from here and are left out."])
    );
    let cursor = text(&page["nextCursor"]);
    let (rest, page) = found(&format!("?limit=2&cursor={cursor}")).await;
    assert_eq!(
        (rest, &page["nextCursor"]),
        (vec!["dogs".to_owned()], &Value::Null)
    );
    let other = format!("{CATALOG}?q=x&cursor={cursor}");
    owner.get(&other).await.refused(400, "VALIDATION_FAILED");
}

#[tokio::test]
async fn a_repeated_post_makes_one_instance() {
    let t = TestHall::open().await;
    let owner = t.owner().with("idempotency-key", "once");
    let body = json!({"type": "mcp", "label": "Tools"});
    let first = owner.post(PROVIDERS, body.clone()).await.ok(201);
    assert_eq!(owner.post(PROVIDERS, body).await.ok(201), first);
    let all = owner.get(PROVIDERS).await.ok(200);
    assert_eq!(list(&all["providers"]).len(), 2);
    let fixed = json!({"type": "rehearsal", "label": "Mine"});
    let refused = t.owner().post(PROVIDERS, fixed).await;
    refused.refused(400, "VALIDATION_FAILED");
}
