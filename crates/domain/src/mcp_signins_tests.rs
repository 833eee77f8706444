//! What the rules of signing in with tool servers promise.

use std::net::IpAddr;

use super::{
    address_policy::{is_loopback_host, may_be_a_guildhall},
    metadata::{
        AuthChallenge, AuthorizationServerMetadata, TokenAuthMethod, is_at_origin, is_of,
        is_same_issuer, issuer_metadata_urls, resource_metadata_urls,
    },
    *,
};

const STEPS_OK: [SigninEvent; 3] = [
    SigninEvent::Opened,
    SigninEvent::Accepted,
    SigninEvent::Connected,
];

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[test]
fn a_sign_in_goes_by_its_table_and_no_other_way() {
    use SigninFailure::*;
    let go = [
        Unreachable,
        NoSigninSupport,
        NoAppRegistration,
        PkceUnsupported,
        InsecureAddress,
    ];
    let anytime = [Expired, Superseded, TargetChanged];
    let may_fail = |phase: SigninPhase, why: SigninFailure| match phase {
        SigninPhase::Waiting => go.contains(&why) || anytime.contains(&why),
        SigninPhase::Opened => anytime.contains(&why) || matches!(why, Refused | IssuerMismatch),
        SigninPhase::Exchanging => matches!(why, ExchangeFailed | Interrupted),
        SigninPhase::Done => false,
    };
    for (phase, _) in SigninPhase::WORDS {
        for (why, _) in SigninFailure::WORDS {
            let expected = may_fail(phase, *why).then_some(SigninPhase::Done);
            assert_eq!(
                next(phase, SigninEvent::Failed(*why)),
                expected,
                "{phase:?} {why:?}"
            );
        }
        for step in STEPS_OK {
            let expected = match (phase, step) {
                (SigninPhase::Waiting, SigninEvent::Opened) => Some(SigninPhase::Opened),
                (SigninPhase::Opened, SigninEvent::Accepted) => Some(SigninPhase::Exchanging),
                (SigninPhase::Exchanging, SigninEvent::Connected) => Some(SigninPhase::Done),
                _ => None,
            };
            assert_eq!(next(phase, step), expected, "{phase:?} {step:?}");
        }
    }
}

#[test]
fn failures_have_words_of_one_kind_and_sentences() {
    for (why, word) in SigninFailure::WORDS {
        assert_eq!(why.code(), *word);
        assert!(word.starts_with("SIGNIN_"));
        assert!(why.sentence().ends_with('.'), "{word}");
        assert_eq!(serde_json::to_value(why).unwrap(), *word);
    }
}

#[test]
fn a_sign_in_ends_with_its_time_but_not_while_it_is_exchanged() {
    let flow = |phase| SigninFlow {
        id: SigninFlowId::from_bytes([1; 16]),
        agent_id: AgentId::from_bytes([2; 16]),
        name: ServerName::parse("web").unwrap(),
        url: "https://a.example/mcp".to_owned(),
        session_id: None,
        phase,
        code: None,
        tool_count: None,
        created_at: Timestamp::from_millis(0),
        expires_at: Timestamp::from_millis(1_000),
    };
    let at = |phase, ms| flow(phase).at(Timestamp::from_millis(ms)).status();
    for phase in [SigninPhase::Waiting, SigninPhase::Opened] {
        assert_eq!(at(phase, 999), SigninStatus::Pending);
        assert_eq!(at(phase, 1_000), SigninStatus::Failed);
    }
    assert_eq!(at(SigninPhase::Exchanging, 5_000), SigninStatus::Pending);
    assert_eq!(at(SigninPhase::Done, 5_000), SigninStatus::Connected);
}

#[test]
fn how_far_a_server_is_away_decides_where_its_sign_in_may_lead() {
    use AddressReach::*;
    // An address, and the nearest kinds of server that may lead there.
    let rows: &[(&str, &[AddressReach])] = &[
        ("https://a.example/x", &[Public, Private, Loopback]),
        ("https://93.184.216.34/x", &[Public, Private, Loopback]),
        ("https://[2606:2800::1]/x", &[Public, Private, Loopback]),
        ("http://a.example/x", &[]),
        ("http://93.184.216.34/x", &[]),
        ("https://10.1.2.3/x", &[Private, Loopback]),
        ("https://172.16.0.1/x", &[Private, Loopback]),
        ("https://192.168.1.1/x", &[Private, Loopback]),
        ("https://100.64.0.1/x", &[Private, Loopback]),
        ("https://[fd00::1]/x", &[Private, Loopback]),
        ("https://[::ffff:10.0.0.1]/x", &[Private, Loopback]),
        ("https://[64:ff9b::a00:1]/x", &[Private, Loopback]),
        ("http://10.1.2.3/x", &[]),
        ("https://127.0.0.1/x", &[Loopback]),
        ("https://2130706433/x", &[Loopback]),
        ("https://[::1]/x", &[Loopback]),
        ("https://[::ffff:127.0.0.1]/x", &[Loopback]),
        ("https://localhost/x", &[Loopback]),
        ("https://x.localhost./x", &[Loopback]),
        ("http://127.0.0.1:81/x", &[Loopback]),
        ("http://localhost/x", &[Loopback]),
        ("https://169.254.169.254/x", &[]),
        ("https://[fe80::1]/x", &[]),
        ("https://0.0.0.0/x", &[]),
        ("https://255.255.255.255/x", &[]),
        ("https://[::]/x", &[]),
        ("https://u:p@a.example/x", &[]),
        ("https://u@a.example/x", &[]),
        ("javascript:alert(1)", &[]),
        ("file:///etc/passwd", &[]),
        ("ftp://127.0.0.1/x", &[]),
        ("data:text/html,x", &[]),
    ];
    for (address, allowed) in rows {
        for reach in [Public, Private, Loopback] {
            let verdict = reach.check(&url(address));
            assert_eq!(
                verdict.is_ok(),
                allowed.contains(&reach),
                "{address} from {reach:?}"
            );
        }
    }
}

#[test]
fn a_server_of_several_addresses_is_as_far_away_as_the_farthest() {
    let ip = |text: &str| -> IpAddr { text.parse().unwrap() };
    for (addresses, expected) in [
        (vec!["127.0.0.1", "::1"], Some(AddressReach::Loopback)),
        (vec!["10.0.0.1", "127.0.0.1"], Some(AddressReach::Private)),
        (
            vec!["127.0.0.1", "93.184.216.34"],
            Some(AddressReach::Public),
        ),
        (vec!["93.184.216.34", "169.254.169.254"], None),
        (vec![], None),
    ] {
        let addresses: Vec<IpAddr> = addresses.into_iter().map(ip).collect();
        assert_eq!(AddressReach::of(&addresses), expected, "{addresses:?}");
    }
    assert!(is_loopback_host(&url("http://a.localhost/")));
    assert!(!is_loopback_host(&url("http://localhost.example/")));
}

#[test]
fn a_challenge_is_read_as_far_as_it_is_of_bearer() {
    let read = |header: &str| {
        let challenge = AuthChallenge::read(header);
        (challenge.resource_metadata, challenge.scope)
    };
    let some = |text: &str| Some(text.to_owned());
    for (header, expected) in [
        ("", (None, None)),
        ("Bearer", (None, None)),
        (
            "Bearer resource_metadata=\"https://a/b\"",
            (some("https://a/b"), None),
        ),
        (
            "bearer scope=\"a b\", Resource_Metadata = \"x\"",
            (some("x"), some("a b")),
        ),
        ("Bearer scope=a", (None, some("a"))),
        ("Basic realm=\"x, scope=y\"", (None, None)),
        ("Basic scope=no, Bearer scope=yes", (None, some("yes"))),
        (
            "Bearer realm=\"a \\\" scope=no\", scope=\"yes\"",
            (None, some("yes")),
        ),
        (
            "Bearer scope=\"first\", scope=\"second\"",
            (None, some("first")),
        ),
        ("Bearer scope=\"open", (None, some("open"))),
        ("Bearer =, = ,,", (None, None)),
    ] {
        assert_eq!(read(header), expected, "{header}");
    }
}

proptest::proptest! {
    #[test]
    fn no_challenge_is_too_strange_to_be_read(header in "\\PC*") {
        AuthChallenge::read(&header);
        AuthChallenge::read(&format!("Bearer {header}"));
    }

    #[test]
    fn a_quoted_scope_is_read_as_it_was_meant(scope in "[a-z :/.\\\\\"]{0,20}") {
        let quoted = scope.replace('\\', "\\\\").replace('"', "\\\"");
        let read = AuthChallenge::read(&format!("Bearer scope=\"{quoted}\", x=y"));
        proptest::prop_assert_eq!(read.scope, Some(scope));
    }
}

#[test]
fn metadata_is_looked_for_at_the_places_of_the_standards() {
    let texts = |places: Vec<Url>| places.iter().map(Url::to_string).collect::<Vec<_>>();
    assert_eq!(
        texts(resource_metadata_urls(&url("https://a.example/x/mcp/?q=1"))),
        [
            "https://a.example/.well-known/oauth-protected-resource/x/mcp",
            "https://a.example/.well-known/oauth-protected-resource",
        ]
    );
    assert_eq!(
        texts(resource_metadata_urls(&url("https://a.example"))),
        ["https://a.example/.well-known/oauth-protected-resource"]
    );
    assert_eq!(
        texts(issuer_metadata_urls(&url("https://a.example:8443/t"))),
        [
            "https://a.example:8443/.well-known/oauth-authorization-server/t",
            "https://a.example:8443/.well-known/openid-configuration/t",
            "https://a.example:8443/t/.well-known/openid-configuration",
        ]
    );
}

#[test]
fn metadata_counts_for_its_own_server_alone() {
    let server = url("https://a.example/x/mcp?q=1");
    for (resource, expected) in [
        ("https://a.example/x/mcp?q=1", true),
        ("https://a.example/x/mcp", true),
        ("https://A.example:443/x/", true),
        ("https://a.example", true),
        ("https://a.example/x/mcp/deeper", false),
        ("https://a.example/x/mc", false),
        ("https://a.example/x/mcp?q=2", false),
        ("http://a.example/x/mcp", false),
        ("https://b.example/x/mcp", false),
        ("https://a.example:8443/x/mcp", false),
        ("nonsense", false),
    ] {
        assert_eq!(is_of(resource, &server), expected, "{resource}");
    }
    assert!(is_same_issuer("https://a.example", "https://a.example/"));
    assert!(!is_same_issuer("https://a.example", "https://a.example/t"));
    for (issuer, expected) in [
        ("https://a.example", true),
        ("https://a.example/t", true),
        ("https://a.example:8443", false),
        ("http://a.example", false),
        ("https://b.example", false),
        ("nonsense", false),
    ] {
        assert_eq!(is_at_origin(issuer, &server), expected, "{issuer}");
    }
}

#[test]
fn a_client_shows_itself_as_the_authorization_server_takes_it() {
    let of = |methods: Option<&[&str]>| {
        let origin = url("https://a.example");
        let methods = methods.map(|words| words.iter().map(|word| (*word).to_owned()).collect());
        AuthorizationServerMetadata {
            token_endpoint_auth_methods_supported: methods,
            ..AuthorizationServerMetadata::fallback(&origin).unwrap()
        }
    };
    for (methods, wished, secret, none) in [
        (
            None,
            TokenAuthMethod::None,
            TokenAuthMethod::Basic,
            TokenAuthMethod::None,
        ),
        (
            Some(&["none"][..]),
            TokenAuthMethod::None,
            TokenAuthMethod::Basic,
            TokenAuthMethod::None,
        ),
        (
            Some(&["client_secret_post"][..]),
            TokenAuthMethod::Post,
            TokenAuthMethod::Post,
            TokenAuthMethod::None,
        ),
        (
            Some(&["client_secret_post", "client_secret_basic"][..]),
            TokenAuthMethod::Basic,
            TokenAuthMethod::Basic,
            TokenAuthMethod::None,
        ),
    ] {
        let metadata = of(methods);
        assert_eq!(metadata.registration_auth_method(), wished, "{methods:?}");
        assert_eq!(metadata.auth_method(true), secret, "{methods:?}");
        assert_eq!(metadata.auth_method(false), none, "{methods:?}");
    }
}

#[test]
fn a_code_counts_from_the_one_that_was_asked_alone() {
    let asked = "https://a.example";
    let answer =
        |code: Option<&str>, iss: Option<&str>, error: Option<&str>| AuthorizationResponse {
            state: None,
            code: code.map(str::to_owned),
            iss: iss.map(str::to_owned),
            error: error.map(str::to_owned),
        };
    for (code, iss, error, says_issuer, expected) in [
        (Some("c"), None, None, false, Ok("c")),
        (Some("c"), Some("https://a.example/"), None, true, Ok("c")),
        (
            Some("c"),
            None,
            None,
            true,
            Err(SigninFailure::IssuerMismatch),
        ),
        (
            Some("c"),
            Some("https://b.example"),
            None,
            false,
            Err(SigninFailure::IssuerMismatch),
        ),
        (
            Some("c"),
            None,
            Some("denied"),
            false,
            Err(SigninFailure::Refused),
        ),
        (Some(""), None, None, false, Err(SigninFailure::Refused)),
        (None, None, None, false, Err(SigninFailure::Refused)),
    ] {
        let answer = answer(code, iss, error);
        assert_eq!(answer.code(asked, says_issuer), expected, "{answer:?}");
    }
}

#[test]
fn a_client_keeps_within_its_limits() {
    let check = |id: &str, secret: Option<&str>| {
        let client = ManualOauthClient {
            id: id.to_owned(),
            secret: secret.map(str::to_owned),
        };
        client.check().is_ok()
    };
    assert!(check("a", None) && check(&"a".repeat(512), Some(&"s".repeat(4_096))));
    assert!(!check("", None) && !check(&"a".repeat(513), None) && !check("a\n", None));
    assert!(!check("a", Some("")) && !check("a", Some(&"s".repeat(4_097))));
    assert!(!check("a", Some("s\r\nx")));
}

#[test]
fn a_guildhall_may_listen_at_reserved_ports_of_this_computer() {
    for (address, may) in [
        ("http://127.0.0.1:4747/x", true),
        ("http://[::1]:4780/x", true),
        ("https://localhost:61000/x", true),
        ("https://a.example:61000/x", false),
        ("http://127.0.0.1:8080/x", false),
        ("http://127.0.0.1/x", false),
    ] {
        assert_eq!(may_be_a_guildhall(&url(address)), may, "{address}");
    }
}
