//! What is secret of a sign-in: sealed in the store, each for its own place. Without `Debug`.

use guildhall_domain::{
    Fault, Result, Timestamp,
    ids::{AgentId, SigninFlowId},
    mcp_servers::{AuthClientOrigin, McpServer, ServerName},
};
use guildhall_store::{
    ReadTx, Tx,
    mcp_signins::{self as rows, SigninRow},
};
use guildhall_world::{
    oauth::{IssuedTokens, IssuerClient, TokenEndpointAccess},
    seal::{Seal, SealContext},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::oauth_callback;

/// Whose sign-in it is.
pub(crate) type SigninOwner<'a> = (AgentId, &'a ServerName);

/// Tokens, and where they come from.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct GrantedTokens {
    /// Who may be asked for the next ones.
    pub(super) access: TokenEndpointAccess,
    /// The tokens.
    pub(super) tokens: IssuedTokens,
    /// What a use of them wanted beyond what they allow; `None` while they allow enough.
    #[serde(default)]
    pub(super) wider: Option<WiderScope>,
}

/// More than some tokens allow.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct WiderScope {
    /// The scope that was wanted, if the server said which.
    pub(super) scope: Option<String>,
}

/// What is secret of a sign-in on its way.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct FlowSecrets {
    /// The scope that a challenge wanted.
    pub(super) scope: Option<String>,
    /// What a person was sent away with.
    pub(super) opened: Option<SentAuthorization>,
}

/// What a person was sent away with, and what the answer is held against.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SentAuthorization {
    /// Where to, and how its browser is known.
    pub(super) browser: oauth_callback::PendingAuthorization,
    /// Where the answer comes.
    pub(super) redirect_uri: String,
    /// Who answers.
    pub(super) issuer: String,
    /// Whether the answer says who it is from.
    pub(super) says_issuer: bool,
    /// Who asks for tokens, and for what.
    pub(super) access: TokenEndpointAccess,
    /// Where the client comes from.
    pub(super) origin: AuthClientOrigin,
}

pub(super) fn seal_client(
    client: &IssuerClient,
    seal: &Seal,
    of: SigninOwner<'_>,
) -> Result<Vec<u8>, Fault> {
    seal_json(seal, &seal_context(b"client", of), client)
}

pub(super) fn unseal_client(
    seal: &Seal,
    of: SigninOwner<'_>,
    sealed: &[u8],
) -> Option<IssuerClient> {
    unseal_json(seal, &seal_context(b"client", of), sealed)
}

impl GrantedTokens {
    pub(super) fn seal(&self, seal: &Seal, of: SigninOwner<'_>) -> Result<Vec<u8>, Fault> {
        seal_json(seal, &seal_context(b"access", of), self)
    }

    /// The same with the tokens that a refresh brought; a refresh token that was not replaced
    /// goes on counting.
    pub(super) fn rotated(self, new: IssuedTokens) -> Self {
        let refresh = new.refresh.or(self.tokens.refresh);
        Self {
            tokens: IssuedTokens { refresh, ..new },
            ..self
        }
    }

    /// When its token ends, counted from `now`.
    pub(super) fn ends(&self, now: Timestamp) -> Option<Timestamp> {
        let seconds = self.tokens.expires_in_s?;
        Some(now.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX / 2_000)))
    }
}

impl FlowSecrets {
    pub(super) fn seal(&self, seal: &Seal, id: SigninFlowId) -> Result<Vec<u8>, Fault> {
        seal_json(seal, &[b"mcp_flows".as_slice(), id.as_bytes()], self)
    }

    pub(super) fn unseal(seal: &Seal, id: SigninFlowId, sealed: Option<&[u8]>) -> Option<Self> {
        unseal_json(seal, &[b"mcp_flows".as_slice(), id.as_bytes()], sealed?)
    }
}

/// The tokens that count for an entry, as it is now; what cannot be read any more is none.
pub(super) fn stored_tokens(
    db: &ReadTx<'_>,
    seal: &Seal,
    of: SigninOwner<'_>,
    server: &McpServer,
) -> Result<Option<GrantedTokens>> {
    let kept = rows::find(db, of.0, of.1)?;
    Ok(kept.and_then(|kept| unseal_tokens(seal, of, server, &kept)))
}

/// The same of what was read already.
pub(super) fn unseal_tokens(
    seal: &Seal,
    of: SigninOwner<'_>,
    server: &McpServer,
    kept: &SigninRow,
) -> Option<GrantedTokens> {
    let connection = &server.connection;
    let is_bound = connection
        .remote()
        .is_some_and(|remote| remote.url == kept.url);
    if !is_bound || connection.says_who_asks() {
        return None;
    }
    unseal_json(seal, &seal_context(b"access", of), kept.access.as_deref()?)
}

/// Notes that the tokens of an entry allow too little, so that the next sign-in asks for more.
pub(crate) fn record_wider_scope(
    tx: &mut Tx<'_>,
    seal: &Seal,
    of: SigninOwner<'_>,
    server: &McpServer,
    scope: Option<String>,
) -> Result<()> {
    let Some(before) = rows::find(tx, of.0, of.1)? else {
        return Ok(());
    };
    let Some(mut granted) = unseal_tokens(seal, of, server, &before) else {
        return Ok(());
    };
    granted.wider = Some(WiderScope { scope });
    let kept = SigninRow {
        access: Some(granted.seal(seal, of)?),
        ..before
    };
    rows::put(tx, of.0, of.1, &kept)
}

fn seal_context<'a>(field: &'a [u8], (agent, name): SigninOwner<'a>) -> SigninSealContext {
    [
        b"mcp_signins".to_vec(),
        agent.as_bytes().to_vec(),
        name.folded().into_bytes(),
        field.to_vec(),
    ]
}

/// Agent, name and field: what was sealed for one entry opens at no other one.
type SigninSealContext = [Vec<u8>; 4];

fn seal_json<T: Serialize>(
    seal: &Seal,
    place: &[impl AsRef<[u8]>],
    secret: &T,
) -> Result<Vec<u8>, Fault> {
    let text =
        serde_json::to_vec(secret).map_err(|error| Fault::broken("sealing a sign-in", error))?;
    let parts: Vec<&[u8]> = place.iter().map(AsRef::as_ref).collect();
    seal.seal(SealContext(&parts), &text)
}

fn unseal_json<T: DeserializeOwned>(
    seal: &Seal,
    place: &[impl AsRef<[u8]>],
    sealed: &[u8],
) -> Option<T> {
    let parts: Vec<&[u8]> = place.iter().map(AsRef::as_ref).collect();
    serde_json::from_slice(&seal.unseal(SealContext(&parts), sealed)?).ok()
}
