//! Signing in with tool servers by OAuth: how a sign-in goes from its link to its end, why it
//! can fail, and which addresses may be asked on the way.
//! Pure: packets are `world::oauth`, rows are `store::mcp_signins`, deeds are `hall::mcp_signins`.
//! Source: contract 4.8.

pub mod address_policy;
pub mod metadata;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::{
    Refusal, Timestamp,
    field_validation::FieldValidator,
    ids::{AgentId, SessionId, SigninFlowId},
    limits,
    mcp_servers::{ConnectionConfig, ServerName},
};

pub use address_policy::AddressReach;

/// Where a sign-in is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SigninPhase {
    /// Nobody has opened its link.
    Waiting,
    /// A person was sent to the authorization server.
    Opened,
    /// The code is being exchanged for tokens.
    Exchanging,
    /// It is over.
    Done,
}

impl SigninPhase {
    /// Every phase with its word.
    pub const WORDS: [(Self, &str); 4] = [
        (Self::Waiting, "waiting"),
        (Self::Opened, "opened"),
        (Self::Exchanging, "exchanging"),
        (Self::Done, "done"),
    ];
}

/// How a sign-in stands, for whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SigninStatus {
    /// It is on its way.
    Pending,
    /// The server takes the token.
    Connected,
    /// It is over without a token.
    Failed,
}

macro_rules! failures {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $sentence:literal;)+) => {
        /// Why a sign-in failed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum SigninFailure {
            $($(#[$doc])* #[serde(rename = $word)] $name,)+
        }

        impl SigninFailure {
            /// Every failure with its word.
            pub const WORDS: &[(Self, &'static str)] = &[$((Self::$name, $word),)+];

            /// Its word for programs.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// Its sentence for people.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$name => $sentence,)+ }
            }
        }
    };
}

failures! {
    /// Its time was over.
    Expired = "SIGNIN_EXPIRED",
        "Nobody finished this sign-in in time. Start it again.";
    /// Another sign-in with the same server was started.
    Superseded = "SIGNIN_SUPERSEDED",
        "A newer sign-in with the same server was started. Use its link.";
    /// The server was removed, or has another address.
    TargetChanged = "SIGNIN_TARGET_CHANGED",
        "The tool server was removed or changed. Start the sign-in again.";
    /// The authorization server said no.
    Refused = "SIGNIN_REFUSED",
        "The sign-in page answered that access was not given.";
    /// The answer came from another authorization server than was asked.
    IssuerMismatch = "SIGNIN_ISSUER_MISMATCH",
        "The answer came from another sign-in page than the one that was opened.";
    /// The code bought no token, or the server does not take the token.
    ExchangeFailed = "SIGNIN_EXCHANGE_FAILED",
        "The sign-in could not be turned into a token that the tool server takes.";
    /// This server ended while the code was exchanged.
    Interrupted = "SIGNIN_INTERRUPTED",
        "guildhall was restarted while it was signing in. Start the sign-in again.";
    /// Nobody answers.
    Unreachable = "SIGNIN_UNREACHABLE",
        "The tool server or its sign-in page could not be reached.";
    /// The server names no authorization server.
    NoSigninSupport = "SIGNIN_NO_SIGNIN_SUPPORT",
        "The tool server does not say where to sign in.";
    /// There is no client id to be had.
    NoAppRegistration = "SIGNIN_NO_APP_REGISTRATION",
        "The sign-in page takes registered apps alone. Register one there and enter its client id at the tool server.";
    /// The authorization server does not take S256.
    PkceUnsupported = "SIGNIN_PKCE_UNSUPPORTED",
        "The sign-in page does not protect codes with PKCE, so guildhall does not use it.";
    /// An address on the way is not protected, or leads into a private network.
    InsecureAddress = "SIGNIN_INSECURE_ADDRESS",
        "The sign-in would lead over an address that is not safe to use.";
}

/// What can happen to a sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigninEvent {
    /// A person is sent to the authorization server.
    Opened,
    /// The answer of the authorization server is taken.
    Accepted,
    /// The server takes the token.
    Connected,
    /// It failed.
    Failed(SigninFailure),
}

/// The phase behind `step`; `None` where it cannot happen.
///
/// Source: contract 4.8, the table of phases.
pub fn next(from: SigninPhase, step: SigninEvent) -> Option<SigninPhase> {
    use SigninFailure as F;
    match (from, step) {
        (SigninPhase::Waiting, SigninEvent::Opened) => Some(SigninPhase::Opened),
        (SigninPhase::Opened, SigninEvent::Accepted) => Some(SigninPhase::Exchanging),
        (SigninPhase::Exchanging, SigninEvent::Connected) => Some(SigninPhase::Done),
        (SigninPhase::Waiting, SigninEvent::Failed(why)) => match why {
            F::Expired
            | F::Superseded
            | F::TargetChanged
            | F::Unreachable
            | F::NoSigninSupport
            | F::NoAppRegistration
            | F::PkceUnsupported
            | F::InsecureAddress => Some(SigninPhase::Done),
            F::Refused | F::IssuerMismatch | F::ExchangeFailed | F::Interrupted => None,
        },
        (SigninPhase::Opened, SigninEvent::Failed(why)) => match why {
            F::Expired | F::Superseded | F::TargetChanged | F::Refused | F::IssuerMismatch => {
                Some(SigninPhase::Done)
            }
            F::ExchangeFailed
            | F::Interrupted
            | F::Unreachable
            | F::NoSigninSupport
            | F::NoAppRegistration
            | F::PkceUnsupported
            | F::InsecureAddress => None,
        },
        (SigninPhase::Exchanging, SigninEvent::Failed(F::ExchangeFailed | F::Interrupted)) => {
            Some(SigninPhase::Done)
        }
        (SigninPhase::Waiting, SigninEvent::Accepted | SigninEvent::Connected)
        | (SigninPhase::Opened, SigninEvent::Opened | SigninEvent::Connected)
        | (SigninPhase::Exchanging, _)
        | (SigninPhase::Done, _) => None,
    }
}

/// A sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigninFlow {
    /// Its id.
    pub id: SigninFlowId,
    /// Whose server it is.
    pub agent_id: AgentId,
    /// The server.
    pub name: ServerName,
    /// The exact address it is for.
    pub url: String,
    /// The session that asked for it.
    pub session_id: Option<SessionId>,
    /// Where it is.
    pub phase: SigninPhase,
    /// Why it failed.
    pub code: Option<SigninFailure>,
    /// How many tools the server has; `None` until they were listed.
    pub tool_count: Option<u32>,
    /// When it was started.
    pub created_at: Timestamp,
    /// Until when it can go on.
    pub expires_at: Timestamp,
}

impl SigninFlow {
    /// As it stands at `now`: one whose time is over has failed, whether or not that is written.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        let is_over = now >= self.expires_at;
        if is_over && matches!(self.phase, SigninPhase::Waiting | SigninPhase::Opened) {
            (self.phase, self.code) = (SigninPhase::Done, Some(SigninFailure::Expired));
        }
        self
    }

    /// How it stands.
    pub fn status(&self) -> SigninStatus {
        match (self.phase, self.code) {
            (SigninPhase::Done, None) => SigninStatus::Connected,
            (SigninPhase::Done, Some(_)) => SigninStatus::Failed,
            (SigninPhase::Waiting | SigninPhase::Opened | SigninPhase::Exchanging, _) => {
                SigninStatus::Pending
            }
        }
    }

    /// What is told of it being wanted.
    pub fn required(&self, base: &str, ticket: &str) -> SigninRequired {
        SigninRequired {
            agent_id: self.agent_id,
            name: self.name.clone(),
            flow_id: self.id,
            sign_in_url: sign_in_url(base, ticket),
            disclosure: disclosure(&self.url),
            expires_at: self.expires_at,
            session: self.session_id,
        }
    }

    /// What is told of its end; `None` while it has none.
    pub fn resolved(&self) -> Option<SigninResolved> {
        let outcome = match self.status() {
            SigninStatus::Pending => return None,
            SigninStatus::Connected => SigninResult::Connected,
            SigninStatus::Failed => SigninResult::Failed,
        };
        Some(SigninResolved {
            agent_id: self.agent_id,
            name: self.name.clone(),
            flow_id: self.id,
            outcome,
            code: self.code,
            session: self.session_id,
        })
    }
}

/// The link that a person opens.
pub fn sign_in_url(base: &str, ticket: &str) -> String {
    format!("{base}/api/oauth/start/{ticket}")
}

/// What a person should know before signing in with the server at `url`.
pub fn disclosure(url: &str) -> String {
    let origin = Url::parse(url).map_or_else(
        |_| "the tool server".to_owned(),
        |url| url.origin().ascii_serialization(),
    );
    format!(
        "guildhall keeps a token encrypted on this computer and sends it to {origin} alone; it \
         never sees your password, and signing out in guildhall removes the token."
    )
}

/// A sign-in is wanted. Source: contract 4.7.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SigninRequired {
    /// Whose server it is.
    pub agent_id: AgentId,
    /// The server.
    pub name: ServerName,
    /// The sign-in.
    pub flow_id: SigninFlowId,
    /// The link that a person opens; of no use to an agent.
    pub sign_in_url: String,
    /// What a person should know before.
    pub disclosure: String,
    /// Until when it can go on.
    pub expires_at: Timestamp,
    /// The session that asked; filed, not told.
    #[serde(skip)]
    pub session: Option<SessionId>,
}

/// A sign-in is over. Source: contract 4.7.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SigninResolved {
    /// Whose server it is.
    pub agent_id: AgentId,
    /// The server.
    pub name: ServerName,
    /// The sign-in.
    pub flow_id: SigninFlowId,
    /// How it ended.
    pub outcome: SigninResult,
    /// Why it failed.
    pub code: Option<SigninFailure>,
    /// The session that asked; filed, not told.
    #[serde(skip)]
    pub session: Option<SessionId>,
}

/// How a sign-in ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SigninResult {
    /// The server takes the token.
    Connected,
    /// There is no token.
    Failed,
}

/// The address that can be signed in at.
///
/// # Errors
/// [`Refusal::NotOauthServer`] for a program, and for an address whose headers say who asks;
/// [`Refusal::SigninInsecureAddress`] for plain http to another computer.
///
/// Source: contract 4.8, "POST signin itself".
pub fn address(connection: &ConnectionConfig) -> Result<Url, Refusal> {
    let remote = connection.remote().ok_or(Refusal::NotOauthServer)?;
    if connection.says_who_asks() {
        return Err(Refusal::NotOauthServer);
    }
    let url = Url::parse(&remote.url).map_err(|_| Refusal::NotOauthServer)?;
    if url.scheme() != "https" && !address_policy::is_loopback_host(&url) {
        return Err(Refusal::SigninInsecureAddress);
    }
    Ok(url)
}

/// What an authorization server answered, by a person's browser.
#[derive(Clone, Debug, Default)]
pub struct AuthorizationResponse {
    /// What it was sent.
    pub state: Option<String>,
    /// What buys a token.
    pub code: Option<String>,
    /// Who it is.
    pub iss: Option<String>,
    /// Why it gives none.
    pub error: Option<String>,
}

impl AuthorizationResponse {
    /// The code, if it may be used: of the server that was asked, which names itself where
    /// `says_issuer` has it so.
    ///
    /// # Errors
    /// [`SigninFailure::IssuerMismatch`], [`SigninFailure::Refused`].
    ///
    /// Source: RFC 9207 §2.4.
    pub fn code(&self, issuer: &str, says_issuer: bool) -> Result<&str, SigninFailure> {
        match &self.iss {
            Some(iss) if !metadata::is_same_issuer(iss, issuer) => {
                return Err(SigninFailure::IssuerMismatch);
            }
            None if says_issuer => return Err(SigninFailure::IssuerMismatch),
            Some(_) | None => {}
        }
        match (&self.error, &self.code) {
            (None, Some(code)) if !code.is_empty() => Ok(code),
            _ => Err(SigninFailure::Refused),
        }
    }
}

/// A client that a person registered at an authorization server. Without `Debug`, because it
/// holds a secret.
#[derive(Clone)]
pub struct ManualOauthClient {
    /// Its id.
    pub id: String,
    /// Its secret, where it has one.
    pub secret: Option<String>,
}

impl ManualOauthClient {
    /// Checks its limits.
    ///
    /// # Errors
    /// [`Refusal::Validation`].
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        let visible = |text: &str| text.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
        if !limits::OAUTH_CLIENT_ID_CHARS.contains(&self.id.len()) || !visible(&self.id) {
            check.fail("clientId", "must be 1 to 512 visible ASCII characters");
        }
        if let Some(secret) = &self.secret
            && (!(1..=limits::OAUTH_CLIENT_SECRET_CHARS_MAX).contains(&secret.len())
                || !visible(secret))
        {
            check.fail("clientSecret", "must be 1 to 4096 visible ASCII characters");
        }
        check.finish()
    }
}

#[cfg(test)]
#[path = "mcp_signins_tests.rs"]
mod tests;
