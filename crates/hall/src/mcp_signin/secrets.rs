//! What is secret of a sign-in: sealed in the store, each for its own place. Without `Debug`.

use guildhall_domain::{
    Fault, Moment, Result,
    ids::{AgentId, FlowId},
    mcp_servers::{AuthClientOrigin, McpServer, ServerName},
};
use guildhall_store::{
    Rx,
    mcp_signins::{self as rows, Kept},
};
use guildhall_world::{
    oauth::{Access, Client, Tokens},
    seal::{Place, Seal},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Whose sign-in it is.
pub(super) type Of<'a> = (AgentId, &'a ServerName);

/// A client, and where it counts.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct KeptClient {
    /// The client.
    pub(super) client: Client,
    /// Who registered it; `""` for one that a person typed.
    pub(super) issuer: String,
    /// Where it comes back to; `""` for one that a person typed.
    pub(super) redirect_uri: String,
}

/// Tokens, and where they come from.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Granted {
    /// Who may be asked for the next ones.
    pub(super) access: Access,
    /// The tokens.
    pub(super) tokens: Tokens,
}

/// What is secret of a sign-in on its way.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Asked {
    /// The scope that a challenge wanted.
    pub(super) scope: Option<String>,
    /// What a person was sent away with.
    pub(super) opened: Option<Opened>,
}

/// What a person was sent away with, and what the answer is held against.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Opened {
    /// Where to.
    pub(super) location: String,
    /// What the opening browser keeps.
    pub(super) cookie: String,
    /// The half of the proof key that is kept.
    pub(super) verifier: String,
    /// Where the answer comes.
    pub(super) redirect_uri: String,
    /// Who answers.
    pub(super) issuer: String,
    /// Whether the answer says who it is from.
    pub(super) says_issuer: bool,
    /// Who asks for tokens, and for what.
    pub(super) access: Access,
    /// Where the client comes from.
    pub(super) origin: AuthClientOrigin,
}

impl KeptClient {
    pub(super) fn close(&self, seal: &Seal, of: Of<'_>) -> Result<Vec<u8>, Fault> {
        close(seal, &place(b"client", of), self)
    }

    pub(super) fn open(seal: &Seal, of: Of<'_>, sealed: &[u8]) -> Option<Self> {
        open(seal, &place(b"client", of), sealed)
    }
}

impl Granted {
    pub(super) fn close(&self, seal: &Seal, of: Of<'_>) -> Result<Vec<u8>, Fault> {
        close(seal, &place(b"access", of), self)
    }

    /// The same with the tokens that a refresh brought; a refresh token that was not replaced
    /// goes on counting.
    pub(super) fn rotated(self, new: Tokens) -> Self {
        let refresh = new.refresh.or(self.tokens.refresh);
        Self {
            access: self.access,
            tokens: Tokens { refresh, ..new },
        }
    }

    /// When its token ends, counted from `now`.
    pub(super) fn ends(&self, now: Moment) -> Option<Moment> {
        let seconds = self.tokens.expires_in_s?;
        Some(now.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX / 2_000)))
    }
}

impl Asked {
    pub(super) fn close(&self, seal: &Seal, id: FlowId) -> Result<Vec<u8>, Fault> {
        close(seal, &[b"mcp_flows".as_slice(), id.as_bytes()], self)
    }

    pub(super) fn open(seal: &Seal, id: FlowId, sealed: Option<&[u8]>) -> Option<Self> {
        open(seal, &[b"mcp_flows".as_slice(), id.as_bytes()], sealed?)
    }
}

/// The tokens that count for an entry, as it is now; what cannot be read any more is none.
pub(super) fn granted(
    db: &Rx<'_>,
    seal: &Seal,
    of: Of<'_>,
    server: &McpServer,
) -> Result<Option<Granted>> {
    let kept = rows::find(db, of.0, of.1)?;
    Ok(kept.and_then(|kept| granted_by(seal, of, server, &kept)))
}

/// The same of what was read already.
pub(super) fn granted_by(
    seal: &Seal,
    of: Of<'_>,
    server: &McpServer,
    kept: &Kept,
) -> Option<Granted> {
    let connection = &server.connection;
    let is_bound = connection
        .remote()
        .is_some_and(|remote| remote.url == kept.url);
    if !is_bound || connection.says_who_asks() {
        return None;
    }
    open(seal, &place(b"access", of), kept.access.as_deref()?)
}

fn place<'a>(field: &'a [u8], (agent, name): Of<'a>) -> PlaceOf {
    [
        b"mcp_signins".to_vec(),
        agent.as_bytes().to_vec(),
        name.folded().into_bytes(),
        field.to_vec(),
    ]
}

/// Agent, name and field: what was sealed for one entry opens at no other one.
type PlaceOf = [Vec<u8>; 4];

fn close<T: Serialize>(
    seal: &Seal,
    place: &[impl AsRef<[u8]>],
    secret: &T,
) -> Result<Vec<u8>, Fault> {
    let text =
        serde_json::to_vec(secret).map_err(|error| Fault::broken("sealing a sign-in", error))?;
    let parts: Vec<&[u8]> = place.iter().map(AsRef::as_ref).collect();
    seal.seal(Place(&parts), &text)
}

fn open<T: DeserializeOwned>(seal: &Seal, place: &[impl AsRef<[u8]>], sealed: &[u8]) -> Option<T> {
    let parts: Vec<&[u8]> = place.iter().map(AsRef::as_ref).collect();
    serde_json::from_slice(&seal.unseal(Place(&parts), sealed)?).ok()
}
