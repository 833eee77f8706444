//! Signing in with tool servers: starting a sign-in, asking after it, signing out, and the
//! client a person registered. Starting sends nothing: packets leave when a person has followed
//! the link. Source: contract 4.8.

mod completion;
mod secrets;
mod signin_pages;
mod token_refresh;

use std::time::Duration;

use guildhall_domain::{
    Refusal, Result, Timestamp,
    agents::Agent,
    approvals::is_person,
    callers::{ForAgent, OwnerInteractive},
    errors::{Fault, ResourceKind},
    events::Event,
    ids::{AgentId, SessionId, SigninFlowId},
    limits,
    mcp_servers::{AuthClientOrigin, AuthStatus, McpServer, ServerStatus, server_test},
    mcp_signins::{
        ManualOauthClient, SigninEvent, SigninFailure, SigninFlow, SigninPhase, address,
        disclosure, metadata::AuthChallenge, next,
    },
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx,
    mcp_servers::McpServerRow as KeptServer,
    mcp_signins::{self as rows, SigninFlowRow, SigninRow},
    sessions,
};
use guildhall_world::{mcp::McpError, oauth::IssuerClient, secret_tokens};

pub(crate) use self::secrets::record_wider_scope;
use self::secrets::{FlowSecrets, WiderScope, seal_client};
pub use self::{
    signin_pages::{RedirectOutcome, SigninOutcome, SigninPage},
    token_refresh::TokenRefreshes,
};
use crate::{
    Hall, callers,
    idempotency::IdempotentWrite,
    launch_config::public_base_url,
    mcp_servers::{self, session_of},
};

/// The name that stands in an address for whichever server a sign-in is for.
pub const ANY_SERVER: &str = "~";

/// What came of asking for a sign-in.
#[derive(Clone, Debug)]
pub struct StartedSignin {
    /// The sign-in; `None` when there was one already.
    pub flow_id: Option<SigninFlowId>,
    /// What its link ends with.
    pub ticket: Option<String>,
    /// How its link begins, unless it is shown on a page of another address of ours.
    pub base: String,
    /// What a person should know before.
    pub disclosure: String,
    /// Until when it can go on.
    pub expires_at: Option<Timestamp>,
}

/// What a check with the stored token came to.
enum TokenCheck {
    /// The server takes it.
    Accepted,
    /// The server does not; this is what it wants, if it says so.
    Refused(Option<String>),
    /// There is none, or nobody answers.
    Unknown,
}

impl Hall {
    /// Starts a sign-in with a tool server; an older one of the same server is over then.
    ///
    /// With a stored sign-in the server is asked once whether it still counts.
    ///
    /// # Errors
    /// `NotFound` for agent, entry or session; [`Refusal::NotOauthServer`],
    /// [`Refusal::SigninInsecureAddress`].
    ///
    /// Source: contract 4.8.
    pub async fn start_mcp_signin(
        &self,
        by: &ForAgent,
        name: &str,
        session: Option<SessionId>,
        once: IdempotentWrite<StartedSignin>,
    ) -> Result<StartedSignin> {
        let once = once.sealed(&self.inner.seal, is_person(by.caller()));
        let (by, seal, now) = (*by, self.inner.seal.clone(), self.now());
        let (peek, id) = (once.replay_check(), by.agent());
        let named = mcp_servers::parse_name(name);
        let (agent, kept, session) = self
            .store()
            .read(move |db| {
                peek.check(db, now)?;
                let agent = mcp_servers::registered(db, id)?;
                let kept = mcp_servers::existing(db, &seal, id, named.as_ref())?;
                address(&kept.server.connection)?;
                let session = match session {
                    Some(session) => Some(own_session(db, session, id)?),
                    None => session_of(db, by.caller())?,
                };
                Ok((agent, kept, session))
            })
            .await?
            .value;
        let (is_connected, scope) = match self.check_signin(&agent, &kept.server).await? {
            TokenCheck::Accepted => (true, None),
            TokenCheck::Refused(scope) => (false, scope),
            TokenCheck::Unknown => (false, None),
        };
        let ticket = secret_tokens::mint("")?.reveal();
        let digest = secret_tokens::digest(&ticket);
        let asked = FlowSecrets {
            scope,
            opened: None,
        };
        let flow_id = Self::new_id(SigninFlowId::from_bytes);
        let (seal, now) = (self.inner.seal.clone(), self.now());
        let url = self.inner.launching.url.clone();
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, by.caller(), now)?;
                once.run(tx, now, |tx| {
                    let name = kept.server.name.clone();
                    let standing = mcp_servers::existing(tx, &seal, id, Some(&name))?;
                    let address = address(&standing.server.connection)?;
                    let base = public_base_url(tx, &url)?;
                    if is_connected {
                        restore_signed_in(tx, &seal, (id, standing), now)?;
                        return Ok(StartedSignin {
                            flow_id: None,
                            ticket: None,
                            base,
                            disclosure: disclosure(address.as_str()),
                            expires_at: None,
                        });
                    }
                    let mut session = session;
                    for older in rows::open_flows(tx, id, &name)? {
                        // Whoever asked first still wants to hear of the end.
                        session = session.or(older.flow.session_id);
                        fail(tx, older, SigninFailure::Superseded, now)?;
                    }
                    let flow = SigninFlow {
                        id: flow_id,
                        agent_id: id,
                        name,
                        url: address_text(&standing.server),
                        session_id: session,
                        phase: SigninPhase::Waiting,
                        code: None,
                        tool_count: None,
                        created_at: now,
                        expires_at: now.plus_seconds(limits::SIGNIN_FLOW_TTL_S),
                    };
                    let kept = SigninFlowRow {
                        sealed: Some(asked.seal(&seal, flow.id)?),
                        ticket: digest,
                        state: None,
                        flow,
                    };
                    rows::insert(tx, &kept)?;
                    let required = kept.flow.required(&base, &ticket);
                    let disclosure = required.disclosure.clone();
                    let event = Event::McpSigninRequired(required);
                    tx.append(now, Some(by.caller().author), &event)?;
                    Ok(StartedSignin {
                        flow_id: Some(flow_id),
                        ticket: Some(ticket),
                        base,
                        disclosure,
                        expires_at: Some(kept.flow.expires_at),
                    })
                })
            })
            .await
    }

    /// Asks the server once whether it takes the stored token; one it does not take is forgotten,
    /// unless it only allows too little. One that a call wanted more of is not asked about: the
    /// check lists the tools, which it may well allow.
    async fn check_signin(&self, agent: &Agent, server: &McpServer) -> Result<TokenCheck> {
        let Some(bearer) = self.mcp_bearer(agent.id, server).await? else {
            return Ok(TokenCheck::Unknown);
        };
        if let Some(wider) = self.wider_scope(agent.id, server).await? {
            return Ok(TokenCheck::Refused(wider.scope));
        }
        let within = Duration::from_secs(limits::MCP_TEST_WAIT_S);
        let asking = self.list_tools_with_token(agent, &server.connection, bearer.clone(), within);
        let wanted = match asking.await? {
            Ok(_) => return Ok(TokenCheck::Accepted),
            Err(McpError::NeedsAuth { www_authenticate }) => {
                self.forget_tokens(agent.id, server, Some(bearer)).await?;
                www_authenticate
            }
            Err(McpError::InsufficientScope { www_authenticate }) => Some(www_authenticate),
            Err(_) => return Ok(TokenCheck::Unknown),
        };
        let scope = wanted.and_then(|header| AuthChallenge::read(&header).scope);
        Ok(TokenCheck::Refused(scope))
    }

    async fn wider_scope(&self, agent: AgentId, server: &McpServer) -> Result<Option<WiderScope>> {
        let (seal, server) = (self.inner.seal.clone(), server.clone());
        let seen = self
            .store()
            .read(move |db| secrets::stored_tokens(db, &seal, (agent, &server.name), &server))
            .await?;
        Ok(seen.value.and_then(|granted| granted.wider))
    }

    /// How a sign-in stands. `name` may be [`ANY_SERVER`].
    ///
    /// # Errors
    /// `NotFound` for the agent, its entry, and a sign-in that is not theirs.
    pub async fn mcp_signin(
        &self,
        by: &ForAgent,
        name: &str,
        flow: &str,
    ) -> Result<ReadSnapshot<SigninFlow>> {
        let (id, now) = (by.agent(), self.now());
        let (name, flow) = (name.to_owned(), SigninFlowId::named(flow));
        let seal = self.inner.seal.clone();
        self.store()
            .read(move |db| {
                mcp_servers::registered(db, id)?;
                let wanted = match name.as_str() {
                    ANY_SERVER => None,
                    name => {
                        let named = mcp_servers::parse_name(name);
                        Some(mcp_servers::existing(db, &seal, id, named.as_ref())?)
                    }
                };
                let is_of = |flow: &SigninFlow| {
                    let folded = wanted.as_ref().map(|kept| kept.server.name.folded());
                    flow.agent_id == id && folded.is_none_or(|it| it == flow.name.folded())
                };
                let found = rows::flow(db, flow)?.map(|kept| kept.flow);
                let found = found.filter(is_of);
                Ok(found
                    .ok_or(Refusal::NotFound(ResourceKind::Signin))?
                    .at(now))
            })
            .await
    }

    /// Signs out: the tokens are forgotten, then given back. Answers whether there were any.
    ///
    /// # Errors
    /// `NotFound` for agent or entry.
    pub async fn sign_out_of_mcp(&self, by: &ForAgent, name: &str) -> Result<bool> {
        let (id, named, seal) = (
            by.agent(),
            mcp_servers::parse_name(name),
            self.inner.seal.clone(),
        );
        let seen = self
            .store()
            .read(move |db| {
                mcp_servers::registered(db, id)?;
                mcp_servers::existing(db, &seal, id, named.as_ref())
            })
            .await?;
        let server = seen.value.server;
        let granted = self.forget_tokens(id, &server, None).await?;
        let was_signed_in = granted.is_some();
        self.revoke_later(&server, granted);
        Ok(was_signed_in)
    }

    /// Keeps the client that a person registered at the server's authorization server; tokens
    /// and open sign-ins of before are dropped.
    ///
    /// # Errors
    /// [`Refusal::Validation`], `NotFound` for agent or entry, [`Refusal::NotOauthServer`],
    /// [`Refusal::SigninInsecureAddress`].
    pub async fn set_mcp_client(
        &self,
        _by: &OwnerInteractive,
        (agent, name): (AgentId, &str),
        client: ManualOauthClient,
    ) -> Result<()> {
        client.check()?;
        let kept = IssuerClient::manual_client(client);
        self.replace_client(agent, name, Some(kept)).await
    }

    /// Forgets the client of a server, with its tokens and open sign-ins.
    ///
    /// # Errors
    /// `NotFound` for agent or entry.
    pub async fn remove_mcp_client(
        &self,
        _by: &OwnerInteractive,
        (agent, name): (AgentId, &str),
    ) -> Result<()> {
        self.replace_client(agent, name, None).await
    }

    async fn replace_client(
        &self,
        agent: AgentId,
        name: &str,
        client: Option<IssuerClient>,
    ) -> Result<()> {
        let (seal, now) = (self.inner.seal.clone(), self.now());
        let named = mcp_servers::parse_name(name);
        let (server, granted) = self
            .store()
            .write(move |tx| {
                mcp_servers::registered(tx, agent)?;
                let standing = mcp_servers::existing(tx, &seal, agent, named.as_ref())?;
                let name = standing.server.name.clone();
                if client.is_some() {
                    address(&standing.server.connection)?;
                }
                let place = (agent, &name);
                let granted = secrets::stored_tokens(tx, &seal, place, &standing.server)?;
                for open in rows::open_flows(tx, agent, &name)? {
                    fail(tx, open, SigninFailure::TargetChanged, now)?;
                }
                let origin = client.as_ref().map(|_| AuthClientOrigin::Manual);
                let client = client
                    .map(|client| seal_client(&client, &seal, place))
                    .transpose()?;
                let kept = SigninRow {
                    url: address_text(&standing.server),
                    client: origin.zip(client),
                    access: None,
                    expires_at: None,
                };
                rows::put(tx, agent, &name, &kept)?;
                let mut after = standing.clone();
                after.server.auth_client_origin = origin;
                signed_out(&mut after.server, granted.is_some());
                write_if_changed(tx, &seal, agent, (standing.clone(), after), now)?;
                Ok((standing.server, granted))
            })
            .await?;
        self.tool_server_signed_out(agent, &server.name);
        self.revoke_later(&server, granted);
        Ok(())
    }

    /// Writes the end of sign-ins whose time is over, and drops old ones.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub async fn end_due_mcp_signins(&self) -> Result<()> {
        let now = self.now();
        self.store()
            .write(move |tx| {
                for due in rows::expired(tx, now)? {
                    fail(tx, due, SigninFailure::Expired, now)?;
                }
                rows::drop_over(tx, now.plus_seconds(-limits::SIGNIN_FLOW_KEPT_S))
            })
            .await
    }
}

/// Ends what was in the middle of an exchange when the server ended: nobody knows whether the
/// code was used.
pub(crate) fn recover(tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
    for kept in rows::exchanging(tx)? {
        fail(tx, kept, SigninFailure::Interrupted, now)?;
    }
    Ok(())
}

/// Starts the chore.
pub(crate) fn start(hall: &Hall) {
    /// How often it looks. Ours, as for approvals.
    const PERIOD: Duration = Duration::from_secs(60);
    let mut stopping = hall.tasks().stopping();
    let chore = hall.clone();
    hall.tasks().spawn("mcp sign-ins", hall.now(), async move {
        let mut period = tokio::time::interval(PERIOD);
        period.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = period.tick() => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
            if let Err(guildhall_domain::Error::Fault(fault)) = chore.end_due_mcp_signins().await {
                tracing::error!(error = ?fault, "due sign-ins could not be ended");
            }
        }
    });
}

/// Forgets all of an entry's sign-in, because the entry goes or leads elsewhere.
pub(crate) fn forget(
    tx: &mut Tx<'_>,
    agent: AgentId,
    server: &McpServer,
    now: Timestamp,
) -> Result<()> {
    if server.connection.remote().is_none() {
        return Ok(());
    }
    for open in rows::open_flows(tx, agent, &server.name)? {
        fail(tx, open, SigninFailure::TargetChanged, now)?;
    }
    rows::remove(tx, agent, &server.name)
}

/// Ends a sign-in without a token; one whose time was over before ended by that.
fn fail(tx: &mut Tx<'_>, kept: SigninFlowRow, why: SigninFailure, now: Timestamp) -> Result<()> {
    let is_late = kept.flow.clone().at(now).code == Some(SigninFailure::Expired);
    let why = if is_late { SigninFailure::Expired } else { why };
    end(tx, kept, SigninEvent::Failed(why), now)
}

/// Ends a sign-in and tells of it; what was secret of it goes.
fn end(tx: &mut Tx<'_>, mut kept: SigninFlowRow, step: SigninEvent, now: Timestamp) -> Result<()> {
    kept.flow.phase = next_phase(kept.flow.phase, step)?;
    kept.flow.code = match step {
        SigninEvent::Failed(why) => Some(why),
        SigninEvent::Opened | SigninEvent::Accepted | SigninEvent::Connected => None,
    };
    (kept.state, kept.sealed) = (None, None);
    rows::update(tx, &kept)?;
    if let Some(resolved) = kept.flow.resolved() {
        tx.append(now, None, &Event::McpSigninResolved(resolved))?;
    }
    Ok(())
}

fn next_phase(from: SigninPhase, step: SigninEvent) -> Result<SigninPhase, Fault> {
    let to = next(from, step);
    let why = || format!("{step:?} cannot follow {from:?}");
    to.ok_or_else(|| Fault::broken("moving a sign-in", why()))
}

/// Takes a sign-in up again that the server takes, after all: an entry may have been told
/// otherwise meanwhile.
fn restore_signed_in(
    tx: &mut Tx<'_>,
    seal: &guildhall_world::seal::Seal,
    (agent, standing): (AgentId, KeptServer),
    now: Timestamp,
) -> Result<()> {
    let of = (agent, &standing.server.name);
    if secrets::stored_tokens(tx, seal, of, &standing.server)?.is_none() {
        return Ok(());
    }
    let mut after = standing.clone();
    after.server.auth_status = Some(AuthStatus::Connected);
    completion::signed_in(&mut after.server);
    write_if_changed(tx, seal, agent, (standing, after), now)
}

/// An entry without tokens; `had_some` says whether it had any.
fn signed_out(server: &mut McpServer, had_some: bool) {
    if !had_some && server.auth_status != Some(AuthStatus::Connected) {
        return;
    }
    if server.status == ServerStatus::NeedsApproval {
        // What a person has to look at stays that: the question still stands.
        server.auth_status = Some(AuthStatus::NeedsAuth);
    } else {
        server_test::wants_sign_in(server, None);
    }
}

/// Writes what became of an entry by a sign-in, if anything.
fn write_if_changed(
    tx: &mut Tx<'_>,
    seal: &guildhall_world::seal::Seal,
    agent: AgentId,
    (before, after): (KeptServer, KeptServer),
    now: Timestamp,
) -> Result<()> {
    if before.server == after.server {
        return Ok(());
    }
    mcp_servers::write(tx, seal, agent, (&before.server, after), (None, now))
}

/// The session, if it is the agent's.
fn own_session(db: &ReadTx<'_>, session: SessionId, agent: AgentId) -> Result<SessionId> {
    let found = sessions::by_id(db, session)?.filter(|session| session.agent_id == agent);
    Ok(found.ok_or(Refusal::NotFound(ResourceKind::Session))?.id)
}

/// The exact address that a sign-in is bound to.
fn address_text(server: &McpServer) -> String {
    let remote = server.connection.remote();
    remote.map(|remote| remote.url.clone()).unwrap_or_default()
}
