//! The client that a conformance suite drives: it does with a server at an address what the
//! scenario named in the environment asks for, signs in where the server wants that, and fails
//! when something cannot be done.

use std::{process::ExitCode, time::Duration};

use bytes::Bytes;
use guildhall_domain::{
    mcp_servers::AuthClientOrigin,
    mcp_signins::{AuthorizationResponse, ManualOauthClient, metadata::AuthChallenge},
};
use guildhall_world::{
    http_client::{HttpClient, ListenerPorts},
    mcp::{
        ClientCallbacks, ConnectOptions, ConnectedServer, McpError, RequestOptions, ServerAddress,
        ServerTarget, SharedBearerToken, connect,
    },
    oauth::{IssuerClient, OauthHttpClient, SigninClientOptions, pkce},
    secret_tokens,
};
use http::header::LOCATION;
use http_body_util::Empty;
use hyper_util::{client::legacy::Client as Browser, rt::TokioExecutor};
use serde_json::{Value, json};
use url::Url;

/// How long any one step may take.
const STEP: Duration = Duration::from_secs(20);
/// Where the answer to a sign-in comes; nobody listens there, because it is read on its way.
const REDIRECT_URI: &str = "http://127.0.0.1:4141/api/oauth/callback";
/// Where the suite takes a client's metadata to be.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

pub(crate) fn run(url: &str) -> ExitCode {
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap();
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(act(url, &scenario));
    ExitCode::SUCCESS
}

/// Does the deeds; signs in when the server asks for that, and once more for a wider scope.
async fn act(url: &str, scenario: &str) {
    let mut person = AutoConsent {
        server: Url::parse(url).unwrap(),
        client: typed_client(),
    };
    let mut token = None;
    let mut has_stepped_up = false;
    loop {
        let scope = match visit(url, scenario, token.clone()).await {
            Ok(()) => return,
            Err(McpError::NeedsAuth { .. }) if token.is_none() => None,
            Err(McpError::InsufficientScope { www_authenticate }) if !has_stepped_up => {
                has_stepped_up = true;
                AuthChallenge::read(&www_authenticate).scope
            }
            Err(error) => panic!("{error:?}"),
        };
        token = Some(person.sign_in(scope).await);
    }
}

/// One connection, with what the scenario wants done on it.
async fn visit(url: &str, scenario: &str, token: Option<String>) -> Result<(), McpError> {
    let target = ServerTarget::Http(ServerAddress {
        url: url.to_owned(),
        headers: Vec::new(),
        bearer: SharedBearerToken::of(token),
        outgoing: HttpClient::open(ListenerPorts::default()).unwrap(),
    });
    let greeting = ConnectOptions {
        lifecycle: None,
        within: STEP,
    };
    let ConnectedServer {
        client,
        mut running,
        ..
    } = connect(&target, ClientCallbacks::default(), greeting).await?;
    let call = match scenario {
        "tools_call" => Some(("add_numbers", json!({"a": 5, "b": 3}))),
        "sse-retry" => Some(("test_reconnection", json!({}))),
        auth if auth.starts_with("auth/") => Some(("test-tool", json!({}))),
        _ => None,
    };
    let deeds = async {
        client.tools(STEP).await?;
        if let Some((name, Value::Object(arguments))) = call {
            let answer = client
                .call(name, arguments, RequestOptions::default())
                .await;
            crate::write(&answer?);
        }
        Ok(())
    };
    let done = tokio::select! {
        done = deeds => done,
        ended = &mut running => panic!("the connection ended: {ended:?}"),
    };
    client.stop();
    running.await;
    done
}

/// The client that the suite has registered already, where the scenario has one.
fn typed_client() -> Option<(AuthClientOrigin, IssuerClient)> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").ok()?;
    let context: Value = serde_json::from_str(&context).unwrap();
    let client = ManualOauthClient {
        id: context["client_id"].as_str()?.to_owned(),
        secret: context["client_secret"].as_str().map(str::to_owned),
    };
    Some((
        AuthClientOrigin::Manual,
        IssuerClient::manual_client(client),
    ))
}

/// Somebody who agrees to every sign-in.
struct AutoConsent {
    server: Url,
    client: Option<(AuthClientOrigin, IssuerClient)>,
}

impl AutoConsent {
    /// Signs in as a person would by the pages; answers the token.
    async fn sign_in(&mut self, scope: Option<String>) -> String {
        let talk = OauthHttpClient::for_server(
            &HttpClient::open(ListenerPorts::default()).unwrap(),
            &self.server,
        )
        .await
        .unwrap();
        let (state, pkce) = (secret_tokens::mint("").unwrap().reveal(), pkce().unwrap());
        let own = SigninClientOptions {
            stored: self.client.clone(),
            redirect_uri: REDIRECT_URI,
            document: Some(DOCUMENT),
        };
        let prepared = talk.prepare((&self.server, scope), own, (&state, &pkce));
        let prepared = prepared.await.unwrap_or_else(|why| panic!("{why:?}"));
        if let Some(client) = prepared.new_client {
            self.client = Some((prepared.origin, client));
        }
        let answer = agree(&prepared.location).await;
        assert_eq!(answer.state, Some(state));
        let code = answer.code(&prepared.issuer, prepared.says_issuer).unwrap();
        let proof = (code, pkce.verifier.as_str());
        let bought = talk.exchange(&prepared.access, proof, REDIRECT_URI).await;
        bought.map(|tokens| tokens.access).unwrap()
    }
}

/// Follows the link to the authorization server, which asks nobody and sends back at once.
async fn agree(location: &Url) -> AuthorizationResponse {
    let browser = Browser::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let page = browser.get(location.as_str().parse().unwrap());
    let page = page.await.unwrap();
    assert!(page.status().is_redirection(), "{}", page.status());
    let back = Url::parse(page.headers()[LOCATION].to_str().unwrap()).unwrap();
    assert!(back.as_str().starts_with(REDIRECT_URI), "{back}");
    let told = |name: &str| {
        let mut pairs = back.query_pairs();
        pairs
            .find(|(word, _)| word == name)
            .map(|(_, value)| value.into_owned())
    };
    AuthorizationResponse {
        state: told("state"),
        code: told("code"),
        iss: told("iss"),
        error: told("error"),
    }
}
