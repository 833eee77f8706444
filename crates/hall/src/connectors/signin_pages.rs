//! The way of a person through a sign-in in a browser: what the link shows, where following it
//! leads, and what the answer comes to. Source: contract 4.8 and 5.4.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    callers::OwnerInteractive,
    connectors::auth_flows::{CONFIGURATION_CHANGED, FlowEvent, FlowState},
    errors::ResourceKind,
    mcp_signins::{AuthorizationResponse, SigninFailure, disclosure},
};
use guildhall_store::{
    ReadTx,
    connectors::auth_flows::{self as rows, AuthFlowRow},
};
use guildhall_world::{
    oauth::{OauthHttpClient, authorization_url},
    seal::Seal,
    secret_tokens,
};
use url::Url;

use super::{
    flow_start::{UNREACHABLE, sentence},
    flow_transitions::apply,
    secrets::{BrowserFlowSecrets, Credentials, FlowSecrets, GrantedTokens},
    toolkit_targets,
};
use crate::{
    Hall,
    launch_config::public_base_url,
    oauth_callback::{self, NewAuthorization, OauthCallback, OauthRedirect, PendingAuthorization},
};

/// What a person reads before leaving.
#[derive(Clone, Debug)]
pub struct ConnectorSigninPage {
    /// The service.
    pub service: String,
    /// Where one signs in.
    pub address: String,
    /// What a person should know before.
    pub disclosure: String,
    /// Where browsers reach this server: the sign-in comes back there.
    pub base: String,
}

/// What came of the answer; people are told why not.
pub type SigninOutcome = oauth_callback::CallbackOutcome<String>;

/// A flow whose answer was taken.
struct AcceptedCallback {
    kept: AuthFlowRow,
    browser: Box<BrowserFlowSecrets>,
    code: String,
    verifier: String,
}

impl Hall {
    /// What the page behind a link says. It does nothing.
    ///
    /// # Errors
    /// `NotFound` when the link is none, or its time is over.
    pub async fn connector_sign_in_page(
        &self,
        _by: &OwnerInteractive,
        ticket: &str,
    ) -> Result<ConnectorSigninPage> {
        let (digest, now) = (secret_tokens::digest(ticket), self.now());
        let (seal, own) = (self.inner.seal.clone(), self.inner.launching.url.clone());
        let seen = self
            .store()
            .read(move |db| {
                let (kept, browser) = open_flow(db, &seal, &digest, now)?;
                let flow = kept.flow;
                let address = browser.arranged.metadata.authorization_endpoint;
                let origin = Url::parse(&address).map(|url| url.origin().ascii_serialization());
                let uses = toolkit_targets::find(db, &seal, flow.provider_id, &flow.toolkit)?;
                let uses = uses.and_then(|target| target.address());
                Ok(ConnectorSigninPage {
                    service: toolkit_targets::display_name(db, flow.provider_id, &flow.toolkit)?,
                    address: origin.unwrap_or(address),
                    disclosure: disclosure(&uses.unwrap_or_default()),
                    base: public_base_url(db, &own)?,
                })
            })
            .await?;
        Ok(seen.value)
    }

    /// Says where the person is sent; following the link again sends to the same place.
    ///
    /// # Errors
    /// `NotFound` when the link is none, or its time is over.
    pub async fn start_connector_redirect(
        &self,
        _by: &OwnerInteractive,
        ticket: &str,
    ) -> Result<OauthRedirect> {
        let (digest, now) = (secret_tokens::digest(ticket), self.now());
        let seal = self.inner.seal.clone();
        let parting = NewAuthorization::new()?;
        self.store()
            .write(move |tx| {
                let (mut kept, mut browser) = open_flow(tx, &seal, &digest, now)?;
                let until = kept.flow.expires_at;
                if let Some(opened) = browser.opened {
                    return Ok(opened.redirect(until, now));
                }
                let arranged = &browser.arranged;
                let location = authorization_url(
                    &arranged.metadata,
                    &arranged.access.client,
                    (&browser.redirect_uri, &parting.state),
                    &parting.pkce,
                    (
                        arranged.access.resource.as_deref(),
                        arranged.scope.as_deref(),
                    ),
                );
                let location = location.map_err(|_| Refusal::NotFound(ResourceKind::Signin))?;
                let (opened, state) = parting.into_pending(location.into());
                let leaving = opened.redirect(until, now);
                browser.opened = Some(opened);
                kept.answer_state = Some(state);
                kept.sealed = Some(FlowSecrets::Browser(browser).seal(&seal, kept.flow.id)?);
                rows::reseal(tx, &kept)?;
                Ok(leaving)
            })
            .await
    }

    /// Takes the answer of the authorization server: of the browser that was sent away, and once.
    ///
    /// # Errors
    /// `ShuttingDown`, faults, and `Overloaded`. What is wrong with the answer is no error: see [`crate::oauth_callback::CallbackOutcome`].
    pub async fn finish_connector_sign_in(
        &self,
        answer: AuthorizationResponse,
        cookie: Option<String>,
    ) -> Result<SigninOutcome> {
        let Some(landed) = OauthCallback::of(answer, cookie) else {
            return Ok(SigninOutcome::Unknown);
        };
        let (hall, buyer) = (self.clone(), self.clone());
        let accepting = async move { hall.accept_answer(landed).await };
        let buying = |accepted| async move { buyer.exchange_code(accepted).await };
        self.finish_callback(accepting, buying, UNREACHABLE.to_owned())
            .await
    }

    async fn accept_answer(
        &self,
        landed: OauthCallback,
    ) -> Result<Result<AcceptedCallback, SigninOutcome>> {
        let (seal, now) = (self.inner.seal.clone(), self.now());
        self.store()
            .write(move |tx| {
                let Some(mut kept) = rows::by_answer_state(tx, &landed.state)? else {
                    return Ok(Err(SigninOutcome::Unknown));
                };
                let Some((mut browser, opened)) = pending_authorization(&seal, &kept) else {
                    return Ok(Err(SigninOutcome::Unknown));
                };
                if !landed.is_from_same_browser(&opened) {
                    return Ok(Err(SigninOutcome::Unknown));
                }
                if let Some(moved) = apply(tx, &kept, FlowEvent::Looked, (None, now), |_| ())? {
                    return Ok(Err(ended(&moved)));
                }
                let answer = landed.answer;
                let answer = match browser.has_issuer {
                    true => answer,
                    false => AuthorizationResponse {
                        iss: None,
                        ..answer
                    },
                };
                let metadata = &browser.arranged.metadata;
                let says = metadata.authorization_response_iss_parameter_supported;
                let code = match answer.code(&metadata.issuer, says) {
                    Ok(code) => code.to_owned(),
                    Err(why) => {
                        let why = FlowEvent::Refused(sentence(why).to_owned());
                        let moved = apply(tx, &kept, why, (None, now), |_| ())?;
                        return Ok(Err(moved.as_ref().map_or(SigninOutcome::Unknown, ended)));
                    }
                };
                // An answer counts once; should this server end now, the link leads there anew.
                browser.opened = None;
                kept.answer_state = None;
                kept.sealed =
                    Some(FlowSecrets::Browser(browser.clone()).seal(&seal, kept.flow.id)?);
                rows::reseal(tx, &kept)?;
                Ok(Ok(AcceptedCallback {
                    kept,
                    browser,
                    code,
                    verifier: opened.verifier,
                }))
            })
            .await
    }

    async fn exchange_code(&self, accepted: AcceptedCallback) -> Result<SigninOutcome> {
        let AcceptedCallback {
            kept,
            browser,
            code,
            verifier,
        } = accepted;
        let access = browser.arranged.access;
        let bought = match self.connector_oauth_client(&access).await? {
            Some(talk) => {
                let proof = (code.as_str(), verifier.as_str());
                let bought = talk.exchange(&access, proof, &browser.redirect_uri).await;
                bought.map_err(|why| {
                    tracing::warn!(flow = %kept.flow.id, %why, "a code bought no token");
                    SigninFailure::ExchangeFailed
                })
            }
            None => Err(SigninFailure::Unreachable),
        };
        match bought {
            Err(why) => {
                let why = FlowEvent::Refused(sentence(why).to_owned());
                self.apply_to_flow(&kept.flow, why, |_| ()).await?;
            }
            Ok(tokens) => {
                let credentials = Credentials::Granted(Box::new(GrantedTokens { access, tokens }));
                if !self.finish_flow(&kept.flow, credentials.clone()).await? {
                    let why = FlowEvent::Refused(UNREACHABLE.to_owned());
                    self.apply_to_flow(&kept.flow, why, |_| ()).await?;
                    self.revoke_credentials_later(credentials);
                }
            }
        }
        let id = kept.flow.id;
        let seen = self
            .store()
            .read(move |db| {
                let kept = super::auth_flows::existing(db, id)?;
                let (provider, toolkit) = (kept.flow.provider_id, kept.flow.toolkit.clone());
                match kept.flow.state {
                    FlowState::Connected => {
                        let name = toolkit_targets::display_name(db, provider, &toolkit)?;
                        Ok(SigninOutcome::Connected(name))
                    }
                    _ => Ok(ended(&kept)),
                }
            })
            .await?;
        Ok(seen.value)
    }

    /// A conversation with who gives the tokens; `None` when they cannot be reached.
    pub(super) async fn connector_oauth_client(
        &self,
        access: &guildhall_world::oauth::TokenEndpointAccess,
    ) -> Result<Option<OauthHttpClient>> {
        let Ok(url) = Url::parse(&access.token_endpoint) else {
            return Ok(None);
        };
        let outgoing = self.outgoing().await?;
        Ok(OauthHttpClient::for_server(&outgoing, &url).await.ok())
    }
}

fn ended(kept: &AuthFlowRow) -> SigninOutcome {
    let reason = kept.flow.reason.clone();
    SigninOutcome::Failed(reason.unwrap_or_else(|| CONFIGURATION_CHANGED.to_owned()))
}

fn pending_authorization(
    seal: &Seal,
    kept: &AuthFlowRow,
) -> Option<(Box<BrowserFlowSecrets>, PendingAuthorization)> {
    match FlowSecrets::unseal(seal, kept.flow.id, kept.sealed.as_deref())? {
        FlowSecrets::Browser(browser) => {
            let opened = browser.opened.clone()?;
            Some((browser, opened))
        }
        FlowSecrets::Device(_) => None,
    }
}

/// The flow of a link, as long as it can go on.
fn open_flow(
    db: &ReadTx<'_>,
    seal: &Seal,
    ticket: &[u8; 32],
    now: Timestamp,
) -> Result<(AuthFlowRow, Box<BrowserFlowSecrets>)> {
    let kept = rows::by_ticket(db, ticket)?;
    let kept = kept.filter(|kept| kept.flow.clone().at(now).state == FlowState::Pending);
    let kept = kept.ok_or(Refusal::NotFound(ResourceKind::Signin))?;
    match FlowSecrets::unseal(seal, kept.flow.id, kept.sealed.as_deref()) {
        Some(FlowSecrets::Browser(browser)) => Ok((kept, browser)),
        Some(FlowSecrets::Device(_)) | None => Err(Refusal::NotFound(ResourceKind::Signin).into()),
    }
}
