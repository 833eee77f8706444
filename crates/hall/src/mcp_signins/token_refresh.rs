//! Tokens of tool servers in use: a fresh one for each request, one refresh at a time for each
//! entry, and giving them back. Source: contract 4.8, "refresh".

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use guildhall_domain::{Fault, Result, Timestamp, ids::AgentId, limits, mcp_servers::McpServer};
use guildhall_store::mcp_signins::{self as rows, SigninRow};
use guildhall_world::oauth::{IssuedTokens, OauthHttpClient, RefreshError};
use tokio::time::timeout;
use url::Url;

use super::{
    address_text,
    secrets::{GrantedTokens, stored_tokens, unseal_tokens},
    signed_out, write_if_changed,
};
use crate::{Hall, mcp_servers};

/// How long nobody asks again after nobody answered, so that not everybody waits in vain in turn.
const PAUSE_S: i64 = 30;
/// How long is waited before an unanswered refresh is tried again, the first time.
const BACK_OFF: Duration = Duration::from_secs(1);

/// What those wait for who want the token of one entry replaced.
type RefreshLock = Arc<tokio::sync::Mutex<()>>;

/// Which entries' tokens are being replaced now.
#[derive(Default)]
pub struct TokenRefreshes {
    /// A std mutex: held for single look-ups and never over an await.
    entries: Mutex<HashMap<(AgentId, String), RefreshLock>>,
    /// Of which nobody answered, and until when that counts.
    unanswered: Mutex<HashMap<(AgentId, String), Timestamp>>,
}

impl TokenRefreshes {
    /// The turn of those who want the token of an entry replaced.
    fn lock_for(&self, agent: AgentId, server: &McpServer) -> RefreshLock {
        let mut entries = held(&self.entries);
        entries.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(entries.entry((agent, server.name.folded())).or_default())
    }

    /// Nobody answered at `now`.
    fn nobody_answered(&self, agent: AgentId, server: &McpServer, now: Timestamp) {
        let mut unanswered = held(&self.unanswered);
        unanswered.retain(|_, until| now < *until);
        let until = now.plus_seconds(PAUSE_S);
        unanswered.insert((agent, server.name.folded()), until);
    }

    /// Whether nobody is to be asked yet, because nobody answered a moment ago.
    fn is_paused(&self, agent: AgentId, server: &McpServer, now: Timestamp) -> bool {
        let unanswered = held(&self.unanswered);
        let until = unanswered.get(&(agent, server.name.folded()));
        until.is_some_and(|until| now < *until)
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of an entry's token.
enum StoredToken {
    None,
    /// It counts for a while.
    Fresh(String),
    /// It ends soon, or did.
    Stale(Box<GrantedTokens>, Option<Timestamp>),
}

impl Hall {
    /// The token that requests to an entry carry, fresh for a minute at least where it can be
    /// replaced; `None` when nobody is signed in.
    ///
    /// A token that is refused for good is forgotten, and the entry wants a sign-in then; when
    /// nobody answers, the old one stays and is tried.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub(crate) async fn mcp_bearer(
        &self,
        agent: AgentId,
        server: &McpServer,
    ) -> Result<Option<String>> {
        match self.stored_token(agent, server).await? {
            StoredToken::None => return Ok(None),
            StoredToken::Fresh(token) => return Ok(Some(token)),
            StoredToken::Stale(..) => {}
        }
        let (hall, server) = (self.clone(), server.clone());
        // A token that was replaced over there and not kept here would be lost, so that this
        // comes to its end also when nobody waits for it.
        let replacing = async move {
            let turn = hall.inner.refreshing.lock_for(agent, &server);
            let _turn = turn.lock().await;
            match hall.stored_token(agent, &server).await? {
                StoredToken::None => Ok(None),
                StoredToken::Fresh(token) => Ok(Some(token)),
                StoredToken::Stale(granted, ends) => {
                    hall.replace(agent, &server, *granted, ends).await
                }
            }
        };
        let replaced = self.tasks().finish(replacing).await;
        let broken = || Fault::broken("refreshing a token", "it ended badly");
        replaced.unwrap_or_else(|| Err(broken().into()))
    }

    async fn stored_token(&self, agent: AgentId, server: &McpServer) -> Result<StoredToken> {
        let (seal, server, now) = (self.inner.seal.clone(), server.clone(), self.now());
        let seen = self
            .store()
            .read(move |db| {
                let Some(kept) = rows::find(db, agent, &server.name)? else {
                    return Ok(StoredToken::None);
                };
                let of = (agent, &server.name);
                let Some(granted) = unseal_tokens(&seal, of, &server, &kept) else {
                    return Ok(StoredToken::None);
                };
                let early = now.plus_seconds(limits::OAUTH_REFRESH_EARLY_S);
                Ok(match kept.expires_at {
                    Some(ends) if ends <= early => {
                        StoredToken::Stale(Box::new(granted), kept.expires_at)
                    }
                    Some(_) | None => StoredToken::Fresh(granted.tokens.access),
                })
            })
            .await?;
        Ok(seen.value)
    }

    async fn replace(
        &self,
        agent: AgentId,
        server: &McpServer,
        granted: GrantedTokens,
        ends: Option<Timestamp>,
    ) -> Result<Option<String>> {
        let Some(refresh) = granted.tokens.refresh.clone() else {
            if ends.is_some_and(|ends| ends > self.now()) {
                return Ok(Some(granted.tokens.access));
            }
            self.forget_tokens(agent, server, Some(granted.tokens.access))
                .await?;
            return self.current_token(agent, server).await;
        };
        let began = granted.tokens.access.clone();
        let refreshing = &self.inner.refreshing;
        if refreshing.is_paused(agent, server, self.now()) {
            return Ok(Some(began));
        }
        match self.refreshed(server, &granted, &refresh).await {
            Ok(tokens) => {
                let granted = granted.rotated(tokens);
                self.store_refreshed(agent, server, (began, granted))
                    .await?;
            }
            Err(RefreshError::Rejected) => {
                self.forget_tokens(agent, server, Some(began)).await?;
            }
            Err(RefreshError::Unreachable) => {
                refreshing.nobody_answered(agent, server, self.now());
                return Ok(Some(began));
            }
        }
        self.current_token(agent, server).await
    }

    /// The token that is kept now, however long it counts.
    async fn current_token(&self, agent: AgentId, server: &McpServer) -> Result<Option<String>> {
        Ok(match self.stored_token(agent, server).await? {
            StoredToken::None => None,
            StoredToken::Fresh(token) => Some(token),
            StoredToken::Stale(granted, _) => Some(granted.tokens.access),
        })
    }

    async fn refreshed(
        &self,
        server: &McpServer,
        granted: &GrantedTokens,
        refresh: &str,
    ) -> Result<IssuedTokens, RefreshError> {
        let mut back_off = BACK_OFF;
        let mut tries = 1;
        let mut stopping = self.tasks().stopping();
        loop {
            let tried = match self.mcp_oauth_client(server).await {
                Some(talk) => talk.refresh(&granted.access, refresh).await,
                None => Err(RefreshError::Unreachable),
            };
            match tried {
                Err(RefreshError::Unreachable) if tries < limits::OAUTH_REFRESH_TRIES_MAX => {
                    let stopped = stopping.wait_for(|stop| *stop);
                    if timeout(back_off, stopped).await.is_ok() {
                        return tried;
                    }
                    (back_off, tries) = (back_off * 2, tries + 1);
                }
                tried => return tried,
            }
        }
    }

    /// Keeps what a refresh brought, unless the token it began with is not the one that stands
    /// any more: somebody signed out, or in anew, meanwhile.
    async fn store_refreshed(
        &self,
        agent: AgentId,
        server: &McpServer,
        (began, new): (String, GrantedTokens),
    ) -> Result<()> {
        let (seal, server, now) = (self.inner.seal.clone(), server.clone(), self.now());
        self.store()
            .write(move |tx| {
                let of = (agent, &server.name);
                let Some(before) = rows::find(tx, agent, &server.name)? else {
                    return Ok(());
                };
                let standing = unseal_tokens(&seal, of, &server, &before);
                if standing.is_none_or(|it| it.tokens.access != began) {
                    return Ok(());
                }
                let kept = SigninRow {
                    access: Some(new.seal(&seal, of)?),
                    expires_at: new.ends(now),
                    ..before
                };
                rows::put(tx, agent, &server.name, &kept)
            })
            .await
    }

    /// Forgets the tokens of an entry, which wants a sign-in then; answers them, to be given back.
    /// With `only` that one alone: one that took its place meanwhile stays.
    pub(super) async fn forget_tokens(
        &self,
        agent: AgentId,
        server: &McpServer,
        only: Option<String>,
    ) -> Result<Option<GrantedTokens>> {
        let (seal, server, now) = (self.inner.seal.clone(), server.clone(), self.now());
        let name = server.name.clone();
        let forgotten = self
            .store()
            .write(move |tx| {
                let of = (agent, &server.name);
                let standing = mcp_servers::existing(tx, &seal, agent, Some(&server.name))?;
                let granted = stored_tokens(tx, &seal, of, &standing.server)?;
                let is_other = |only: String| {
                    let access = granted.as_ref().map(|granted| &granted.tokens.access);
                    access.is_some_and(|access| *access != only)
                };
                if only.is_some_and(is_other) {
                    return Ok(None);
                }
                let before = rows::find(tx, agent, &server.name)?;
                let had_some = before.as_ref().is_some_and(|kept| kept.access.is_some());
                if let Some(before) = before {
                    let kept = SigninRow {
                        access: None,
                        expires_at: None,
                        ..before
                    };
                    rows::put(tx, agent, &server.name, &kept)?;
                }
                let mut after = standing.clone();
                signed_out(&mut after.server, had_some);
                write_if_changed(tx, &seal, agent, (standing, after), now)?;
                Ok(Some(granted))
            })
            .await?;
        if forgotten.is_some() {
            self.tool_server_signed_out(agent, &name);
        }
        Ok(forgotten.flatten())
    }

    /// The tokens of an entry, before it goes.
    pub(crate) async fn take_tokens(
        &self,
        agent: AgentId,
        server: &McpServer,
    ) -> Result<RemovedTokens> {
        let (seal, copy) = (self.inner.seal.clone(), server.clone());
        let seen = self
            .store()
            .read(move |db| stored_tokens(db, &seal, (agent, &copy.name), &copy))
            .await?;
        Ok(RemovedTokens {
            server: server.clone(),
            granted: seen.value,
        })
    }

    /// Gives the tokens of an entry back that is gone.
    pub(crate) fn revoke_removed_tokens(&self, parting: RemovedTokens) {
        self.revoke_later(&parting.server, parting.granted);
    }

    /// Gives tokens back that are forgotten here already; whether that worked is logged alone.
    pub(super) fn revoke_later(&self, server: &McpServer, granted: Option<GrantedTokens>) {
        let Some(granted) = granted else {
            return;
        };
        let (hall, server) = (self.clone(), server.clone());
        self.tasks()
            .spawn("mcp revocation", self.now(), async move {
                let Some(talk) = hall.mcp_oauth_client(&server).await else {
                    return;
                };
                let GrantedTokens { access, tokens, .. } = granted;
                // A server that takes a refresh token back takes its access tokens with it.
                for token in tokens.refresh.iter().chain([&tokens.access]) {
                    if let Err(why) = talk.revoke(&access, token).await {
                        let server = server.name.as_str();
                        tracing::warn!(server, ?why, "a token could not be given back");
                    }
                }
            });
    }

    /// A conversation about signing in with a server; `None` when it cannot be reached.
    pub(super) async fn mcp_oauth_client(&self, server: &McpServer) -> Option<OauthHttpClient> {
        let url = Url::parse(&address_text(server)).ok()?;
        let outgoing = self.outgoing().await.ok()?;
        OauthHttpClient::for_server(&outgoing, &url).await.ok()
    }
}

/// The tokens of an entry that goes. Without `Debug`, because they are secret.
pub(crate) struct RemovedTokens {
    server: McpServer,
    granted: Option<GrantedTokens>,
}
