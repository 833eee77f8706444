//! Tests of [`super`]: which toolkits can be kept.

use serde_json::json;

use super::*;
use crate::connectors::classification::Classification;

/// Nobody stops the reading.
static GO_ON: AtomicBool = AtomicBool::new(false);

/// An `openapi` toolkit that can be kept.
fn openapi() -> ToolkitRequest {
    ToolkitRequest {
        slug: ToolkitSlug::parse("pets").unwrap(),
        display_name: None,
        description: None,
        document: Some(json!({})),
        document_url: None,
        base_url: Some("https://a.example/v1/".to_owned()),
        url: None,
        auth: ToolkitAuth::None,
        account: None,
        overrides: BTreeMap::new(),
    }
}

/// An `mcp` toolkit that can be kept.
fn mcp() -> ToolkitRequest {
    ToolkitRequest {
        document: None,
        base_url: None,
        url: Some("http://127.0.0.1:3000/mcp".to_owned()),
        ..openapi()
    }
}

/// The fields that `ask` is refused for.
fn fields(ask: &ToolkitRequest, of: ProviderType) -> Vec<String> {
    match ask.check(of) {
        Ok(()) => Vec::new(),
        Err(refusal) => fields_of(&refusal),
    }
}

fn fields_of(refusal: &Refusal) -> Vec<String> {
    match refusal {
        Refusal::Validation(invalid) => {
            let mut fields: Vec<_> = invalid.field_errors.keys().cloned().collect();
            fields.sort();
            fields
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_type_wants_its_own_fields() {
    let url = || Some("https://a.example/x".to_owned());
    let cases = [
        (openapi(), ProviderType::Openapi, vec![]),
        (mcp(), ProviderType::Mcp, vec![]),
        (mcp(), ProviderType::Openapi, vec!["document", "url"]),
        (
            openapi(),
            ProviderType::Mcp,
            vec!["baseUrl", "document", "url"],
        ),
        (
            ToolkitRequest {
                document_url: url(),
                ..openapi()
            },
            ProviderType::Openapi,
            vec!["document"],
        ),
        (
            ToolkitRequest {
                document: None,
                document_url: url(),
                ..openapi()
            },
            ProviderType::Openapi,
            vec![],
        ),
        (
            ToolkitRequest {
                display_name: Some("a\nb".to_owned()),
                ..openapi()
            },
            ProviderType::Openapi,
            vec!["displayName"],
        ),
    ];
    for (ask, of, expected) in cases {
        assert_eq!(fields(&ask, of), expected, "{ask:?}");
    }
    assert_eq!(
        openapi().check(ProviderType::Rehearsal),
        Err(Refusal::Connector(ConnectorRefusal::ProviderFixed))
    );
}

#[test]
fn addresses_are_protected_or_on_this_computer() {
    let cases = [
        ("https://a.example/v1", true),
        ("http://127.0.0.1:8080", true),
        ("http://[::1]:8080/v1", true),
        ("http://localhost:1", true),
        ("http://a.example/v1", false),
        ("http://10.0.0.1/v1", false),
        ("ftp://a.example", false),
        ("https://u:p@a.example", false),
        ("https://u@a.example", false),
        ("https://a.example/#x", false),
        ("https://a.example/?x", false),
        ("https://a.example\\b", false),
        ("https://a.example/ b", false),
        ("a.example", false),
        ("", false),
        ("javascript:alert(1)", false),
        ("file:///etc/passwd", false),
    ];
    for (url, is_fine) in cases {
        let ask = ToolkitRequest {
            base_url: Some(url.to_owned()),
            ..openapi()
        };
        assert_eq!(ask.check(ProviderType::Openapi).is_ok(), is_fine, "{url}");
    }
}

#[test]
fn an_mcp_server_may_say_itself_where_one_signs_in() {
    let ask = |token_url: Option<&str>| ToolkitRequest {
        auth: ToolkitAuth::Oauth2(OauthConfig {
            flow: OauthFlow::AuthorizationCode,
            issuer: None,
            authorization_url: None,
            token_url: token_url.map(str::to_owned),
            device_url: None,
            client_id: None,
            scopes: Vec::new(),
        }),
        ..mcp()
    };
    assert_eq!(ask(None).check(ProviderType::Mcp), Ok(()));
    assert!(
        ask(Some("https://a.example/t"))
            .check(ProviderType::Mcp)
            .is_err()
    );
}

#[test]
fn a_sign_in_names_what_no_issuer_tells() {
    let oauth = |flow, issuer: Option<&str>| OauthConfig {
        flow,
        issuer: issuer.map(str::to_owned),
        authorization_url: None,
        token_url: None,
        device_url: None,
        client_id: None,
        scopes: vec!["read".to_owned()],
    };
    let url = || Some("https://a.example/x".to_owned());
    let cases = [
        (
            oauth(OauthFlow::AuthorizationCode, Some("https://a.example")),
            vec![],
        ),
        (
            oauth(OauthFlow::DeviceCode, Some("https://a.example")),
            vec![],
        ),
        (
            oauth(OauthFlow::AuthorizationCode, None),
            vec!["auth.authorizationUrl", "auth.clientId", "auth.tokenUrl"],
        ),
        (
            oauth(OauthFlow::DeviceCode, None),
            vec!["auth.clientId", "auth.deviceUrl", "auth.tokenUrl"],
        ),
        (
            OauthConfig {
                device_url: url(),
                token_url: url(),
                client_id: Some("guildhall".to_owned()),
                ..oauth(OauthFlow::DeviceCode, None)
            },
            vec![],
        ),
        (
            OauthConfig {
                scopes: vec!["two words".to_owned()],
                ..oauth(OauthFlow::DeviceCode, Some("http://a.example"))
            },
            vec!["auth.issuer", "auth.scopes"],
        ),
    ];
    for (oauth, expected) in cases {
        let ask = ToolkitRequest {
            auth: ToolkitAuth::Oauth2(oauth),
            ..openapi()
        };
        assert_eq!(fields(&ask, ProviderType::Openapi), expected, "{ask:?}");
    }
}

#[test]
fn a_key_stands_where_it_can_be_sent() {
    let key = |r#in, name: &str, prefix: &str| ToolkitAuth::ApiKey {
        r#in,
        name: name.to_owned(),
        prefix: prefix.to_owned(),
    };
    let cases = [
        (key(KeyLocation::Header, "X-Key", "Bearer "), vec![]),
        (key(KeyLocation::Header, "Authorization", ""), vec![]),
        (key(KeyLocation::Header, "Host", ""), vec!["auth.name"]),
        (key(KeyLocation::Header, "x key", ""), vec!["auth.name"]),
        (key(KeyLocation::Query, "api key", ""), vec![]),
        (key(KeyLocation::Query, "", ""), vec!["auth.name"]),
        (
            key(KeyLocation::Header, "X-Key", "a\r\nb"),
            vec!["auth.prefix"],
        ),
    ];
    for (auth, expected) in cases {
        let ask = ToolkitRequest {
            auth: auth.clone(),
            ..openapi()
        };
        assert_eq!(fields(&ask, ProviderType::Openapi), expected, "{auth:?}");
    }
    let ask = ToolkitRequest {
        auth: key(KeyLocation::Query, "key", ""),
        ..mcp()
    };
    assert_eq!(fields(&ask, ProviderType::Mcp), ["auth.in"]);
}

#[test]
fn an_account_is_read_at_a_path_by_a_pointer() {
    let cases = [
        ("/me", "/login", vec![]),
        ("/me?fields=id", "", vec![]),
        ("me", "/login", vec!["account.path"]),
        ("/users/{id}", "/login", vec!["account.path"]),
        ("/me", "login", vec!["account.pointer"]),
    ];
    for (path, pointer, expected) in cases {
        let ask = ToolkitRequest {
            account: Some(AccountProbe {
                path: path.to_owned(),
                pointer: pointer.to_owned(),
            }),
            ..openapi()
        };
        assert_eq!(
            fields(&ask, ProviderType::Openapi),
            expected,
            "{path} {pointer}"
        );
    }
}

#[test]
fn a_document_fills_in_what_the_request_leaves_out() {
    let mut document = json!({"openapi": "3.0.0", "info": {"version": "7"},
        "servers": [{"url": "/v2/"}], "paths": {"/x": {"get": {"operationId": "r"}}}});
    let at = ToolkitRequest {
        base_url: None,
        document_url: Some("https://a.example/docs/openapi.json".to_owned()),
        ..openapi()
    };
    let (toolkit, operations) = at.with_document(&document, &GO_ON).unwrap();
    assert_eq!(toolkit.base_url.as_deref(), Some("https://a.example/v2"));
    assert_eq!((&toolkit.version[..], toolkit.operation_count), ("7", 1));
    assert_eq!((&toolkit.display_name[..], operations.len()), ("pets", 1));

    let without = ToolkitRequest {
        base_url: None,
        ..openapi()
    };
    let refused = without
        .clone()
        .with_document(&document, &GO_ON)
        .unwrap_err();
    assert_eq!(fields_of(&refused), ["baseUrl"]);
    document["servers"][0]["url"] = json!("http://10.0.0.1/");
    let refused = without.with_document(&document, &GO_ON).unwrap_err();
    assert_eq!(fields_of(&refused), ["baseUrl"]);

    let wrong = ToolkitRequest {
        overrides: [("gone".to_owned(), OperationOverride::default())].into(),
        ..openapi()
    };
    let refused = wrong.with_document(&document, &GO_ON).unwrap_err();
    assert_eq!(fields_of(&refused), ["overrides.gone"]);
    let refused = openapi().with_document(&json!({}), &GO_ON).unwrap_err();
    assert!(matches!(
        refused,
        Refusal::Connector(ConnectorRefusal::DocumentInvalid(_))
    ));
}

#[test]
fn a_raised_class_holds_when_the_tools_are_listed_anew() {
    use crate::{connectors::mcp_operations, mcp_tools::ToolDefinition};
    let tools: Vec<_> = ["a", "b"]
        .map(|name| json!({"name": name, "annotations": {"readOnlyHint": true}}))
        .iter()
        .map(|tool| ToolDefinition::of(tool).unwrap())
        .collect();
    let raised = OperationOverride {
        classification: Some(Classification::Destructive),
    };
    let ask = ToolkitRequest {
        overrides: [
            ("b".to_owned(), raised),
            ("later".to_owned(), OperationOverride::default()),
        ]
        .into(),
        ..mcp()
    };
    let (toolkit, none) = ask
        .with_tools(OperationListing::default(), "0".to_owned(), false)
        .unwrap();
    assert!(none.is_empty());
    let (toolkit, operations) = toolkit.listing(mcp_operations::operations(&tools), "1".to_owned());
    let classes: Vec<_> = operations.iter().map(|it| it.classification).collect();
    assert_eq!(classes, [Classification::Read, Classification::Destructive]);
    assert_eq!((&toolkit.version[..], toolkit.operation_count), ("1", 2));
}
