//! Landings: how a person is sent to an authorization server and comes back, for every area whose
//! sign-ins go through a browser. The browser that left is known by its cookie when it returns,
//! its answer counts once, and what that sets off comes to its end without the browser.
//! Which sign-in it is, and what becomes of it, is for `mcp_signins` and `connectors`.
//! Source: contract 4.8 and 5.4.

use guildhall_domain::{Fault, Refusal, Result, Timestamp, mcp_signins::AuthorizationResponse};
use guildhall_world::{
    oauth::{Pkce, pkce},
    secret_tokens,
};
use serde::{Deserialize, Serialize};

use crate::Hall;

/// Where a person is sent. Without `Debug`, because the cookie is secret.
pub struct OauthRedirect {
    /// Where.
    pub location: String,
    /// What the browser keeps until the answer comes.
    pub cookie: String,
    /// For how many seconds.
    pub seconds: i64,
}

/// What came of an answer; `W` says why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallbackOutcome<W> {
    /// What has this name is signed in.
    Connected(String),
    /// It is not.
    Failed(W),
    /// It answers nothing that this browser asked.
    Unknown,
}

/// What a browser is sent away with, made anew for each.
pub(crate) struct NewAuthorization {
    /// What the answer will name.
    pub(crate) state: String,
    /// The proof key.
    pub(crate) pkce: Pkce,
    cookie: String,
}

/// What is kept of it until the answer comes; sealed wherever that is.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct PendingAuthorization {
    /// Where the person was sent.
    location: String,
    /// What the browser keeps.
    cookie: String,
    /// The half of the proof key that is kept.
    pub(crate) verifier: String,
}

/// An answer that names a state and comes with a cookie.
pub(crate) struct OauthCallback {
    /// The answer.
    pub(crate) answer: AuthorizationResponse,
    /// The digest of its state.
    pub(crate) state: [u8; 32],
    cookie: [u8; 32],
}

impl NewAuthorization {
    pub(crate) fn new() -> Result<Self, Fault> {
        Ok(Self {
            state: secret_tokens::mint("")?.reveal(),
            cookie: secret_tokens::mint("")?.reveal(),
            pkce: pkce()?,
        })
    }

    /// What is kept when the person is sent to `location`, and the digest of the state by which
    /// the answer finds it.
    pub(crate) fn into_pending(self, location: String) -> (PendingAuthorization, [u8; 32]) {
        let opened = PendingAuthorization {
            location,
            cookie: self.cookie,
            verifier: self.pkce.verifier,
        };
        (opened, secret_tokens::digest(&self.state))
    }
}

impl PendingAuthorization {
    /// Where the person is sent, also when the link is followed again.
    pub(crate) fn redirect(&self, until: Timestamp, now: Timestamp) -> OauthRedirect {
        let left_ms = until.as_millis() - now.as_millis();
        OauthRedirect {
            location: self.location.clone(),
            cookie: self.cookie.clone(),
            seconds: (left_ms / 1_000).max(1),
        }
    }
}

impl OauthCallback {
    /// `None` where it answers nothing that was ever asked.
    pub(crate) fn of(answer: AuthorizationResponse, cookie: Option<String>) -> Option<Self> {
        let (state, cookie) = answer.state.as_deref().zip(cookie)?;
        Some(Self {
            state: secret_tokens::digest(state),
            cookie: secret_tokens::digest(&cookie),
            answer,
        })
    }

    /// Whether it comes from the browser that was sent away.
    pub(crate) fn is_from_same_browser(&self, opened: &PendingAuthorization) -> bool {
        secret_tokens::digest(&opened.cookie) == self.cookie
    }
}

impl Hall {
    /// Takes an answer and buys with it. Since it counts once, both are done also when the
    /// browser goes away; when the server stops, buying is left, and what was kept tells the
    /// next start how far it came. `broken` is why not when the work itself failed.
    ///
    /// # Errors
    /// Those of the two, and `ShuttingDown`.
    pub(crate) async fn finish_callback<A, W, B>(
        &self,
        accepting: impl Future<Output = Result<Result<A, CallbackOutcome<W>>>> + Send + 'static,
        buying: impl FnOnce(A) -> B + Send + 'static,
        broken: W,
    ) -> Result<CallbackOutcome<W>>
    where
        A: Send + 'static,
        W: Send + 'static,
        B: Future<Output = Result<CallbackOutcome<W>>> + Send + 'static,
    {
        let mut stopping = self.tasks().stopping();
        let landing = async move {
            let accepted = match accepting.await? {
                Ok(accepted) => accepted,
                Err(finished) => return Ok(finished),
            };
            tokio::select! {
                finished = buying(accepted) => finished,
                _ = stopping.wait_for(|stop| *stop) => Err(Refusal::ShuttingDown.into()),
            }
        };
        let finished = self.tasks().finish(landing).await;
        finished.unwrap_or(Ok(CallbackOutcome::Failed(broken)))
    }
}
