//! Starting a flow: everything that goes out before the person has something to do, and the end
//! of the flows that ask nothing of a person. Source: contract 5.4.

use guildhall_domain::{
    Result,
    connectors::{
        auth_flows::{CONFIGURATION_CHANGED, Flow, FlowEvent, FlowState, FlowStepKind},
        toolkits::{OauthConfig, OauthFlow, ToolkitAuth},
    },
    device_grant::PollingPace,
    ids::ConnectorConnectionId,
    mcp_signins::{
        SigninFailure,
        metadata::{AuthorizationServerMetadata, S256},
    },
};
use guildhall_store::connectors::connections as connection_rows;
use guildhall_world::{
    oauth::{
        AuthorizationServerSource, ConnectorClientOptions, IssuerClient, OauthHttpClient,
        PreparationError, PreparedTokenEndpoint,
    },
    secret_tokens,
};
use url::Url;

use super::{
    account_lookup::AccountLookupError,
    flow_transitions::{self, SignedInAccount},
    secrets::{
        AccountSecrets, BrowserFlowSecrets, Credentials, DeviceFlowSecrets, FlowSecrets,
        seal_client, unseal_client,
    },
    toolkit_targets::{self, ToolkitTarget},
};
use crate::{Hall, launch_config::public_base_url};

/// What a flow of the kind waits with, and the client that is new.
type PreparedFlow = (FlowSecrets, Option<IssuerClient>);

impl Hall {
    /// Has a flow go on behind the answer to its wish.
    pub(super) fn prepare_later(&self, flow: Flow) {
        let hall = self.clone();
        let mut stopping = self.tasks().stopping();
        let work = async move {
            tokio::select! {
                done = hall.prepare_flow(&flow) => if let Err(error) = done {
                    tracing::error!(?error, flow = %flow.id, "a flow could not be started");
                },
                // The next start says that nobody knows how far it came.
                _ = stopping.wait_for(|stop| *stop) => {}
            }
        };
        self.tasks().spawn("connector flow", self.now(), work);
    }

    async fn prepare_flow(&self, flow: &Flow) -> Result<()> {
        let (seal, own) = (self.inner.seal.clone(), self.inner.launching.url.clone());
        let (provider, toolkit) = (flow.provider_id, flow.toolkit.clone());
        let (target, base, client) = self
            .store()
            .read(move |db| {
                let client = connection_rows::client(db, provider, &toolkit)?;
                let client =
                    client.and_then(|sealed| unseal_client(&seal, (provider, &toolkit), &sealed));
                let target = toolkit_targets::find(db, &seal, provider, &toolkit)?;
                Ok((target, public_base_url(db, &own)?, client))
            })
            .await?
            .value;
        let Some(target) = target else {
            let why = FlowEvent::NotSent(CONFIGURATION_CHANGED.to_owned());
            self.apply_to_flow(flow, why, |_| ()).await?;
            return Ok(());
        };
        let prepared = match &target.toolkit.auth {
            ToolkitAuth::None => Ok((FlowStepKind::None, None)),
            ToolkitAuth::ApiKey { .. } => Ok((FlowStepKind::Credential, None)),
            ToolkitAuth::Oauth2(oauth) => {
                let ready = self.arrange(&target, oauth, (&base, client)).await?;
                ready.map(|ready| (kind_of(&ready.0), Some(ready)))
            }
        };
        self.note_prepared(flow, prepared).await
    }

    /// Notes what came of asking the service, and goes on where no person is needed.
    async fn note_prepared(
        &self,
        flow: &Flow,
        prepared: Result<(FlowStepKind, Option<PreparedFlow>), PreparationError>,
    ) -> Result<()> {
        let (step, ready) = match prepared {
            Ok(prepared) => prepared,
            Err(why) => {
                let happening = match why {
                    PreparationError::NotSent(why) => FlowEvent::NotSent(sentence(why).to_owned()),
                    PreparationError::Lost => FlowEvent::Lost,
                    PreparationError::Refused(word) => FlowEvent::Refused(refused(&word)),
                };
                self.apply_to_flow(flow, happening, |_| ()).await?;
                return Ok(());
            }
        };
        let (seal, before, now) = (self.inner.seal.clone(), flow.clone(), self.now());
        let moved = self
            .store()
            .write(move |tx| {
                let Some(kept) = flow_transitions::current_row(tx, &before)? else {
                    return Ok(None);
                };
                let (ticket, sealed, client) = match ready {
                    None => (None, None, None),
                    Some((step, client)) => {
                        let ticket = match &step {
                            FlowSecrets::Browser(browser) => {
                                Some(secret_tokens::digest(&browser.ticket))
                            }
                            FlowSecrets::Device(_) => None,
                        };
                        (ticket, Some(step.seal(&seal, before.id)?), client)
                    }
                };
                if let Some(client) = client {
                    let of = (before.provider_id, &before.toolkit);
                    connection_rows::put_client(tx, of, &seal_client(&seal, of, &client)?)?;
                }
                let happening = FlowEvent::Prepared(step);
                flow_transitions::apply(tx, &kept, happening, (None, now), |after| {
                    (after.ticket, after.sealed) = (ticket, sealed);
                })
            })
            .await?;
        if let Some(moved) = moved.filter(|moved| moved.flow.state == FlowState::Pending) {
            match step {
                FlowStepKind::None => self.go_on_without_sign_in(moved.flow),
                FlowStepKind::Device => self.poll_later(moved.flow),
                FlowStepKind::Browser | FlowStepKind::Credential => {}
            }
        }
        Ok(())
    }

    /// Finds out where one signs in, registers where that is needed, and asks for a code that is
    /// typed elsewhere where that is the way.
    async fn arrange(
        &self,
        target: &ToolkitTarget,
        oauth: &OauthConfig,
        (base, client): (&str, Option<IssuerClient>),
    ) -> Result<Result<PreparedFlow, PreparationError>> {
        let is_browser = oauth.flow == OauthFlow::AuthorizationCode;
        let redirect_uri = format!("{base}/api/oauth/callback");
        let document = base.starts_with("https://");
        let document = document.then(|| format!("{base}/api/oauth/client"));
        let secret = target.client_secret.clone();
        let asker = ConnectorClientOptions {
            typed: oauth.client_id.clone().map(|id| (id, secret)),
            kept: client,
            redirect_uri: is_browser.then_some(redirect_uri.as_str()),
            document: document.as_deref(),
        };
        let outgoing = self.outgoing().await?;
        let resource = target.mcp_url();
        let issuer = oauth.issuer.as_deref().and_then(|it| Url::parse(it).ok());
        let places = places(oauth);
        let has_issuer = issuer.is_some() || places.is_none();
        let asking = async {
            let (about, authority) = match (&issuer, places, &resource) {
                (Some(issuer), ..) => (issuer.clone(), AuthorizationServerSource::Issuer(issuer)),
                (None, Some(places), _) => {
                    let token = Url::parse(&places.token_endpoint);
                    let token = token.map_err(|_| SigninFailure::NoSigninSupport)?;
                    (token, AuthorizationServerSource::Places(Box::new(places)))
                }
                (None, None, Some(server)) => {
                    (server.clone(), AuthorizationServerSource::Server(server))
                }
                (None, None, None) => return Err(SigninFailure::NoSigninSupport.into()),
            };
            let talk = OauthHttpClient::for_server(&outgoing, &about).await?;
            let wanted = (resource.as_ref(), oauth.scopes.as_slice());
            let (arranged, new) = talk.prepare_connector(authority, wanted, asker).await?;
            if is_browser {
                return Ok((None, arranged, new));
            }
            let device = talk.request_device_code(&arranged, &[]).await?;
            Ok((Some(device), arranged, new))
        };
        Ok(match asking.await {
            Err(why) => Err(why),
            Ok((Some(device), arranged, new)) => {
                let pace = PollingPace::new(device.interval);
                let access = arranged.access;
                let typing = DeviceFlowSecrets {
                    access,
                    device,
                    pace,
                };
                Ok((FlowSecrets::Device(Box::new(typing)), new))
            }
            Ok((None, arranged, new)) => {
                let ticket = secret_tokens::mint("")?.reveal();
                let browser = browser(arranged, has_issuer, redirect_uri, ticket);
                Ok((FlowSecrets::Browser(Box::new(browser)), new))
            }
        })
    }

    /// Ends a flow that asks nothing of a person.
    pub(super) fn go_on_without_sign_in(&self, flow: Flow) {
        let hall = self.clone();
        let mut stopping = self.tasks().stopping();
        let work = async move {
            let concluding = async {
                let is_told = hall.finish_flow(&flow, Credentials::None).await?;
                if !is_told {
                    let why = FlowEvent::Refused(UNREACHABLE.to_owned());
                    hall.apply_to_flow(&flow, why, |_| ()).await?;
                }
                Ok::<_, guildhall_domain::Error>(())
            };
            tokio::select! {
                done = concluding => if let Err(error) = done {
                    tracing::error!(?error, flow = %flow.id, "a flow could not be ended");
                },
                // It waits as it is, and goes on at the next start.
                _ = stopping.wait_for(|stop| *stop) => {}
            }
        };
        self.tasks().spawn("connector flow", self.now(), work);
    }

    /// Reads whose the credentials are, and ends the flow by it. Answers false when nobody said
    /// whose they are, and the flow goes on waiting.
    pub(super) async fn finish_flow(&self, flow: &Flow, credentials: Credentials) -> Result<bool> {
        let (seal, now) = (self.inner.seal.clone(), self.now());
        let (provider, toolkit) = (flow.provider_id, flow.toolkit.clone());
        let found = self
            .store()
            .read(move |db| toolkit_targets::find(db, &seal, provider, &toolkit))
            .await?;
        let read = match &found.value {
            None => Err(AccountLookupError::Refused(
                CONFIGURATION_CHANGED.to_owned(),
            )),
            Some(target) => self.read_account(target, &credentials).await?,
        };
        let name = match read {
            Ok(name) => name,
            Err(AccountLookupError::Refused(why)) => {
                self.apply_to_flow(flow, FlowEvent::Refused(why), |_| ())
                    .await?;
                self.revoke_credentials_later(credentials);
                return Ok(true);
            }
            Err(AccountLookupError::Nobody) => return Ok(false),
        };
        let signed_in = SignedInAccount {
            account: AccountSecrets {
                credentials: credentials.clone(),
                name: name.clone(),
            },
            label: name,
            id: Self::new_id(ConnectorConnectionId::from_bytes),
        };
        let (seal, flow) = (self.inner.seal.clone(), flow.clone());
        let moved = self
            .store()
            .write(move |tx| match flow_transitions::current_row(tx, &flow)? {
                Some(kept) => flow_transitions::sign_in(tx, &seal, &kept, &signed_in, now),
                None => Ok(None),
            })
            .await?;
        // What comes too late, or is of another account, is of no use to anybody.
        if moved.is_none_or(|moved| moved.flow.state != FlowState::Connected) {
            self.revoke_credentials_later(credentials);
        }
        Ok(true)
    }
}

/// Why a flow ended whose account nobody said.
pub(super) const UNREACHABLE: &str = "The service could not be reached.";

fn kind_of(step: &FlowSecrets) -> FlowStepKind {
    match step {
        FlowSecrets::Browser(_) => FlowStepKind::Browser,
        FlowSecrets::Device(_) => FlowStepKind::Device,
    }
}

fn browser(
    arranged: PreparedTokenEndpoint,
    has_issuer: bool,
    redirect_uri: String,
    ticket: String,
) -> BrowserFlowSecrets {
    BrowserFlowSecrets {
        arranged,
        has_issuer,
        redirect_uri,
        ticket,
        opened: None,
    }
}

/// The places that the owner typed one by one; `None` without the one where tokens are given.
fn places(oauth: &OauthConfig) -> Option<AuthorizationServerMetadata> {
    let token_endpoint = oauth.token_url.clone()?;
    Some(AuthorizationServerMetadata {
        // It names itself by no text, and the address of its tokens tells it from others.
        issuer: token_endpoint.clone(),
        authorization_endpoint: oauth.authorization_url.clone().unwrap_or_default(),
        token_endpoint,
        registration_endpoint: None,
        revocation_endpoint: None,
        device_authorization_endpoint: oauth.device_url.clone(),
        // A proof key goes along always; whoever does not know it passes over it.
        code_challenge_methods_supported: Some(vec![S256.to_owned()]),
        token_endpoint_auth_methods_supported: None,
        scopes_supported: Vec::new(),
        authorization_response_iss_parameter_supported: false,
        client_id_metadata_document_supported: false,
    })
}

/// Why a sign-in does not work, for the owner of a connector.
pub(super) fn sentence(why: SigninFailure) -> &'static str {
    match why {
        SigninFailure::Expired => guildhall_domain::connectors::auth_flows::EXPIRED,
        SigninFailure::Superseded | SigninFailure::TargetChanged => CONFIGURATION_CHANGED,
        SigninFailure::Refused => "The sign-in page answered that access was not given.",
        SigninFailure::IssuerMismatch => {
            "The answer came from another sign-in page than the one that was opened."
        }
        SigninFailure::ExchangeFailed | SigninFailure::Interrupted => {
            "The sign-in could not be turned into a token."
        }
        SigninFailure::Unreachable => "The service or its sign-in page could not be reached.",
        SigninFailure::NoSigninSupport => "The service does not say where to sign in this way.",
        SigninFailure::NoAppRegistration => {
            "The sign-in page takes registered apps alone. Register one there and enter its \
             client id at the toolkit."
        }
        SigninFailure::PkceUnsupported => {
            "The sign-in page does not protect codes with PKCE, so guildhall does not use it."
        }
        SigninFailure::InsecureAddress => {
            "The sign-in would lead over an address that is not safe to use."
        }
    }
}

/// Why a sign-in does not work, by the service's own word.
pub(super) fn refused(word: &str) -> String {
    match word {
        "access_denied" => "The service answered that access was not given.".to_owned(),
        "expired_token" => "Nobody typed the code in time. Start it again.".to_owned(),
        word => format!("The service refused the sign-in ({word})."),
    }
}
