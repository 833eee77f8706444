//! The way of a person through a sign-in: what the link shows, what following it sets off, and
//! what the answer of the authorization server comes to. Source: contract 4.8.

use std::time::Duration;

use guildhall_domain::{
    Refusal, Result, Timestamp,
    agents::Agent,
    callers::OwnerInteractive,
    errors::ResourceKind,
    ids::MessageId,
    limits,
    mcp_servers::{AuthClientOrigin, McpServer},
    mcp_signins::{
        AuthorizationResponse, SigninEvent, SigninFailure, SigninFlow, SigninPhase, address,
        disclosure,
    },
};
use guildhall_store::{
    ReadTx, Tx, agents, mcp_servers as server_rows,
    mcp_signins::{self as rows, SigninFlowRow, SigninRow},
};
use guildhall_world::{
    mcp::McpError,
    oauth::{CodeExchangeError, IssuerClient, OauthHttpClient, SigninClientOptions},
    seal::Seal,
    secret_tokens,
};
use url::Url;

use super::{
    address_text,
    completion::connect,
    end, fail, next_phase,
    secrets::{FlowSecrets, GrantedTokens, SentAuthorization, seal_client, unseal_client},
};
use crate::{
    Hall,
    launch_config::public_base_url,
    mcp_servers,
    oauth_callback::{self, NewAuthorization, OauthCallback, OauthRedirect},
};

/// What a person reads before anything leaves this computer.
#[derive(Clone, Debug)]
pub struct SigninPage {
    /// The server.
    pub server: String,
    /// Whose it is.
    pub agent: String,
    /// Its address.
    pub address: String,
    /// What a person should know before.
    pub disclosure: String,
    /// Where browsers reach this server: the sign-in comes back there.
    pub base: String,
}

/// What came of following the link.
pub enum RedirectOutcome {
    /// The person is sent on.
    To(OauthRedirect),
    /// Nobody can be sent anywhere.
    Failed(SigninFailure),
}

/// What came of the answer.
pub type SigninOutcome = oauth_callback::CallbackOutcome<SigninFailure>;

/// A sign-in whose answer was taken.
struct AcceptedCallback {
    kept: SigninFlowRow,
    opened: SentAuthorization,
    code: String,
    agent: Agent,
    server: McpServer,
}

/// What was prepared for a person to be sent away.
struct PreparedRedirect {
    opened: SentAuthorization,
    /// The digest of the state that the answer will name.
    state: [u8; 32],
    /// A client that is new.
    new_client: Option<IssuerClient>,
}

impl Hall {
    /// What the page behind a link says. It does nothing.
    ///
    /// # Errors
    /// `NotFound` when the link is none, or its time is over.
    pub async fn mcp_signin_page(
        &self,
        _by: &OwnerInteractive,
        ticket: &str,
    ) -> Result<SigninPage> {
        let (digest, now) = (secret_tokens::digest(ticket), self.now());
        let own = self.inner.launching.url.clone();
        let seen = self
            .store()
            .read(move |db| {
                let flow = open_flow(db, &digest, now)?.flow;
                let agent = agents::by_id(db, flow.agent_id)?;
                Ok(SigninPage {
                    server: flow.name.as_str().to_owned(),
                    agent: agent.map(|agent| agent.name).unwrap_or_default(),
                    disclosure: disclosure(&flow.url),
                    address: flow.url,
                    base: public_base_url(db, &own)?,
                })
            })
            .await?;
        Ok(seen.value)
    }

    /// Finds out where to sign in, registers where that is needed, and says where the person is
    /// sent; following the link again sends to the same place.
    ///
    /// # Errors
    /// `NotFound` when the link is none, or its time is over. A sign-in that cannot go on is no
    /// error: see [`RedirectOutcome::Failed`].
    pub async fn start_mcp_redirect(
        &self,
        _by: &OwnerInteractive,
        ticket: &str,
    ) -> Result<RedirectOutcome> {
        let (digest, now) = (secret_tokens::digest(ticket), self.now());
        let (seal, own) = (self.inner.seal.clone(), self.inner.launching.url.clone());
        let (kept, asked, server, stored, base) = self
            .store()
            .read(move |db| {
                let kept = open_flow(db, &digest, now)?;
                let asked = FlowSecrets::unseal(&seal, kept.flow.id, kept.sealed.as_deref());
                let asked = asked.ok_or(Refusal::NotFound(ResourceKind::Signin))?;
                let (agent, name) = (kept.flow.agent_id, &kept.flow.name);
                let server = mcp_servers::existing(db, &seal, agent, Some(name))?.server;
                let stored = rows::find(db, agent, name)?.and_then(|row| row.client);
                let stored = stored.and_then(|(origin, sealed)| {
                    Some((origin, unseal_client(&seal, (agent, name), &sealed)?))
                });
                Ok((kept, asked, server, stored, public_base_url(db, &own)?))
            })
            .await?
            .value;
        if let Some(opened) = asked.opened {
            let leaving = opened.browser.redirect(kept.flow.expires_at, now);
            return Ok(RedirectOutcome::To(leaving));
        }
        let scope = asked.scope.clone();
        let hall = self.clone();
        // It comes to its end also when the browser goes away: a client that was registered is
        // kept, and the sign-in says why it failed.
        let opening = async move {
            let mut stopping = hall.tasks().stopping();
            let prepared = tokio::select! {
                prepared = hall.prepare_signin(&server, scope, stored, &base) => prepared?,
                // Nothing was noted, so that the link goes on counting.
                _ = stopping.wait_for(|stop| *stop) => return Err(Refusal::ShuttingDown.into()),
            };
            hall.record_redirect(kept, asked, prepared).await
        };
        let opened = self.tasks().finish(opening).await;
        opened.unwrap_or_else(|| Ok(RedirectOutcome::Failed(SigninFailure::Unreachable)))
    }

    /// Everything that leaves this computer before the person does.
    async fn prepare_signin(
        &self,
        server: &McpServer,
        scope: Option<String>,
        stored: Option<(AuthClientOrigin, IssuerClient)>,
        base: &str,
    ) -> Result<Result<PreparedRedirect, SigninFailure>> {
        let url = address(&server.connection)?;
        let outgoing = self.outgoing().await?;
        let redirect_uri = format!("{base}/api/oauth/callback");
        let document = base.starts_with("https://");
        let document = document.then(|| format!("{base}/api/oauth/client"));
        let own = SigninClientOptions {
            stored,
            redirect_uri: &redirect_uri,
            document: document.as_deref(),
        };
        let parting = NewAuthorization::new()?;
        let asking = async {
            let talk = OauthHttpClient::for_server(&outgoing, &url).await?;
            let shown = (parting.state.as_str(), &parting.pkce);
            talk.prepare((&url, scope), own, shown).await
        };
        let prepared = match asking.await {
            Ok(prepared) => prepared,
            Err(why) => return Ok(Err(why)),
        };
        let (browser, state) = parting.into_pending(prepared.location.into());
        let opened = SentAuthorization {
            browser,
            redirect_uri,
            issuer: prepared.issuer,
            says_issuer: prepared.says_issuer,
            access: prepared.access,
            origin: prepared.origin,
        };
        Ok(Ok(PreparedRedirect {
            opened,
            state,
            new_client: prepared.new_client,
        }))
    }

    /// Notes where the person is sent, or why nowhere; whoever was quicker decides.
    async fn record_redirect(
        &self,
        kept: SigninFlowRow,
        asked: FlowSecrets,
        prepared: Result<PreparedRedirect, SigninFailure>,
    ) -> Result<RedirectOutcome> {
        let (seal, now) = (self.inner.seal.clone(), self.now());
        self.store()
            .write(move |tx| {
                let standing = open_flow(tx, &kept.ticket, now)?;
                if standing.flow.phase != SigninPhase::Waiting {
                    let asked =
                        FlowSecrets::unseal(&seal, kept.flow.id, standing.sealed.as_deref());
                    let opened = asked.and_then(|asked| asked.opened);
                    let opened = opened.ok_or(Refusal::NotFound(ResourceKind::Signin))?;
                    let leaving = opened.browser.redirect(standing.flow.expires_at, now);
                    return Ok(RedirectOutcome::To(leaving));
                }
                let PreparedRedirect {
                    opened,
                    state,
                    new_client,
                } = match prepared {
                    Ok(prepared) => prepared,
                    Err(why) => {
                        fail(tx, standing, why, now)?;
                        return Ok(RedirectOutcome::Failed(why));
                    }
                };
                if let Some(client) = new_client {
                    keep_client(tx, &seal, &standing.flow, &client, opened.origin)?;
                }
                let mut flow = standing.flow;
                flow.phase = next_phase(flow.phase, SigninEvent::Opened)?;
                flow.expires_at = now.plus_seconds(limits::SIGNIN_FLOW_TTL_S);
                let leaving = opened.browser.redirect(flow.expires_at, now);
                let asked = FlowSecrets {
                    opened: Some(opened),
                    ..asked
                };
                let after = SigninFlowRow {
                    sealed: Some(asked.seal(&seal, flow.id)?),
                    state: Some(state),
                    ticket: standing.ticket,
                    flow,
                };
                rows::update(tx, &after)?;
                Ok(RedirectOutcome::To(leaving))
            })
            .await
    }

    /// Takes the answer of the authorization server: of the browser that was sent away, and once.
    ///
    /// # Errors
    /// `ShuttingDown`, faults, and `Overloaded`. What is wrong with the answer is no error: see [`crate::oauth_callback::CallbackOutcome`].
    pub async fn finish_mcp_signin(
        &self,
        answer: AuthorizationResponse,
        cookie: Option<String>,
    ) -> Result<SigninOutcome> {
        let Some(landed) = OauthCallback::of(answer, cookie) else {
            return Ok(SigninOutcome::Unknown);
        };
        let (hall, buyer) = (self.clone(), self.clone());
        let accepting = async move { hall.accept_callback(landed).await };
        let buying = |accepted| async move { buyer.exchange(accepted).await };
        self.finish_callback(accepting, buying, SigninFailure::ExchangeFailed)
            .await
    }

    async fn accept_callback(
        &self,
        landed: OauthCallback,
    ) -> Result<Result<Box<AcceptedCallback>, SigninOutcome>> {
        let (seal, now) = (self.inner.seal.clone(), self.now());
        self.store()
            .write(move |tx| {
                let found = rows::by_state(tx, &landed.state)?;
                let found =
                    found.filter(|kept| kept.flow.clone().at(now).phase == SigninPhase::Opened);
                let known = found.and_then(|kept| {
                    let asked = FlowSecrets::unseal(&seal, kept.flow.id, kept.sealed.as_deref())?;
                    Some((kept, asked.opened?))
                });
                let Some((mut kept, opened)) = known else {
                    return Ok(Err(SigninOutcome::Unknown));
                };
                if !landed.is_from_same_browser(&opened.browser) {
                    return Ok(Err(SigninOutcome::Unknown));
                }
                let target = target(tx, &seal, &kept.flow)?;
                let code = landed.answer.code(&opened.issuer, opened.says_issuer);
                let code = match (code, &target) {
                    (_, None) => Err(SigninFailure::TargetChanged),
                    (code, Some(_)) => code,
                };
                match (code, target) {
                    (Ok(code), Some((agent, server))) => {
                        kept.flow.phase = next_phase(kept.flow.phase, SigninEvent::Accepted)?;
                        (kept.state, kept.sealed) = (None, None);
                        rows::update(tx, &kept)?;
                        Ok(Ok(Box::new(AcceptedCallback {
                            kept,
                            opened,
                            code: code.to_owned(),
                            agent,
                            server,
                        })))
                    }
                    (code, _) => {
                        let why = code.err().unwrap_or(SigninFailure::TargetChanged);
                        fail(tx, kept, why, now)?;
                        Ok(Err(SigninOutcome::Failed(why)))
                    }
                }
            })
            .await
    }

    async fn exchange(&self, accepted: Box<AcceptedCallback>) -> Result<SigninOutcome> {
        let AcceptedCallback {
            kept,
            opened,
            code,
            agent,
            server,
        } = *accepted;
        let name = &kept.flow.name;
        let bought = match self.mcp_oauth_client(&server).await {
            Some(talk) => {
                let proof = (code.as_str(), opened.browser.verifier.as_str());
                let back = &opened.redirect_uri;
                let bought = talk.exchange(&opened.access, proof, back).await;
                let untold =
                    |why: &CodeExchangeError| tracing::warn!(%name, %why, "a code bought no token");
                bought.inspect_err(untold).ok()
            }
            None => {
                tracing::warn!(%name, "whoever gives the tokens cannot be reached");
                None
            }
        };
        let mut listed = None;
        if let Some(tokens) = &bought {
            let within = Duration::from_secs(limits::MCP_TEST_WAIT_S);
            let asking = self.list_tools_with_token(
                &agent,
                &server.connection,
                tokens.access.clone(),
                within,
            );
            let untold = |why: &McpError| {
                // A server's own words may repeat what it was shown.
                let why = why.to_string().replace(&tokens.access, "[hidden]");
                tracing::warn!(%name, why, "a tool server does not take a new token");
            };
            listed = asking.await?.inspect_err(untold).ok();
        }
        let granted = bought.map(|tokens| GrantedTokens {
            access: opened.access,
            tokens,
            wider: None,
        });
        let came = granted.zip(listed);
        let (seal, now) = (self.inner.seal.clone(), self.now());
        let digests = self.inner.digests.clone();
        let message = Self::new_id(MessageId::from_bytes);
        let (finished, woken) = self
            .store()
            .write(move |tx| {
                let kept = rows::flow(tx, kept.flow.id)?;
                let kept = kept.filter(|kept| kept.flow.phase == SigninPhase::Exchanging);
                let Some(kept) = kept else {
                    return Ok((SigninOutcome::Failed(SigninFailure::ExchangeFailed), None));
                };
                let is_there = target(tx, &seal, &kept.flow)?.is_some();
                match came.filter(|_| is_there) {
                    Some((granted, tools)) => connect(
                        tx,
                        (&seal, &digests),
                        (kept, opened.origin),
                        (granted, tools),
                        (message, now),
                    ),
                    None => {
                        end(
                            tx,
                            kept,
                            SigninEvent::Failed(SigninFailure::ExchangeFailed),
                            now,
                        )?;
                        Ok((SigninOutcome::Failed(SigninFailure::ExchangeFailed), None))
                    }
                }
            })
            .await?;
        if let Some(session) = woken {
            self.wake_session(session);
        }
        Ok(finished)
    }
}

/// The sign-in of a link, as long as it can go on.
fn open_flow(db: &ReadTx<'_>, ticket: &[u8; 32], now: Timestamp) -> Result<SigninFlowRow> {
    let kept = rows::by_ticket(db, ticket)?;
    let kept = kept.filter(|kept| {
        let phase = kept.flow.clone().at(now).phase;
        matches!(phase, SigninPhase::Waiting | SigninPhase::Opened)
    });
    Ok(kept.ok_or(Refusal::NotFound(ResourceKind::Signin))?)
}

fn keep_client(
    tx: &mut Tx<'_>,
    seal: &Seal,
    flow: &SigninFlow,
    client: &IssuerClient,
    origin: AuthClientOrigin,
) -> Result<()> {
    let of = (flow.agent_id, &flow.name);
    let before = rows::find(tx, flow.agent_id, &flow.name)?;
    let before = before.filter(|before| before.url == flow.url);
    let kept = SigninRow {
        url: flow.url.clone(),
        client: Some((origin, seal_client(client, seal, of)?)),
        access: before.as_ref().and_then(|before| before.access.clone()),
        expires_at: before.and_then(|before| before.expires_at),
    };
    rows::put(tx, flow.agent_id, &flow.name, &kept)
}

/// The agent and entry a sign-in is for, if they still are what they were.
fn target(db: &ReadTx<'_>, seal: &Seal, flow: &SigninFlow) -> Result<Option<(Agent, McpServer)>> {
    let Some(agent) = agents::by_id(db, flow.agent_id)? else {
        return Ok(None);
    };
    let found = server_rows::find(db, flow.agent_id, &flow.name)?;
    let server = found.map(|_| mcp_servers::existing(db, seal, flow.agent_id, Some(&flow.name)));
    let server = server.transpose()?.map(|kept| kept.server);
    let is_bound = |server: &McpServer| {
        address_text(server) == flow.url && address(&server.connection).is_ok()
    };
    Ok(server.filter(is_bound).map(|server| (agent, server)))
}

impl Hall {
    /// Where browsers reach this server, for the document that is our client id; `None` unless
    /// that is over https.
    ///
    /// # Errors
    /// Faults.
    pub async fn oauth_client_base(&self) -> Result<Option<String>> {
        let own = self.inner.launching.url.clone();
        let seen = self
            .store()
            .read(move |db| public_base_url(db, &own))
            .await?;
        let is_public = Url::parse(&seen.value).is_ok_and(|url| url.scheme() == "https");
        Ok(is_public.then_some(seen.value))
    }
}
