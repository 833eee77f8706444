//! What is secret of flows and connections: sealed in the store, each for its own row. Without
//! `Debug`.

use guildhall_domain::{
    Fault, Result, Timestamp,
    connectors::toolkits::ToolkitSlug,
    device_grant::PollingPace,
    ids::{AuthFlowId, ConnectorConnectionId, ProviderId},
};
use guildhall_world::{
    oauth::{
        DeviceCodeResponse, IssuedTokens, IssuerClient, PreparedTokenEndpoint, TokenEndpointAccess,
    },
    seal::{Seal, SealContext},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::oauth_callback::PendingAuthorization;

/// An account that is signed in.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct AccountSecrets {
    /// How a request says that it is of the account.
    pub(super) credentials: Credentials,
    /// What the service calls the account, by which another one is told from it; `None` where it
    /// does not say.
    pub(super) name: Option<String>,
}

/// How a request says of which account it is.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Credentials {
    /// It does not.
    None,
    /// By a key that a person typed.
    Key(String),
    /// By a token of a sign-in.
    Granted(Box<GrantedTokens>),
}

/// Tokens, and where they come from.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct GrantedTokens {
    /// Who may be asked for the next ones.
    pub(super) access: TokenEndpointAccess,
    /// The tokens.
    pub(super) tokens: IssuedTokens,
}

/// What is secret of a flow that waits.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum FlowSecrets {
    /// For a person who comes back with a code.
    Browser(Box<BrowserFlowSecrets>),
    /// For a person who types a code elsewhere.
    Device(Box<DeviceFlowSecrets>),
}

/// A flow that waits for a person who comes back with a code.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct BrowserFlowSecrets {
    /// Where the person signs in.
    pub(super) arranged: PreparedTokenEndpoint,
    /// Whether the authorization server has a name: one that the owner described place by place
    /// has none.
    pub(super) has_issuer: bool,
    /// Where the answer comes.
    pub(super) redirect_uri: String,
    /// What the link ends with.
    pub(super) ticket: String,
    /// What the person was sent away with, once it was.
    pub(super) opened: Option<PendingAuthorization>,
}

/// A flow that waits for a person who types a code elsewhere.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct DeviceFlowSecrets {
    /// Who asks for tokens.
    pub(super) access: TokenEndpointAccess,
    /// The codes.
    pub(super) device: DeviceCodeResponse,
    /// How often the service is asked.
    pub(super) pace: PollingPace,
}

impl GrantedTokens {
    /// The same with the tokens that a refresh brought; a refresh token that was not replaced
    /// goes on counting.
    pub(super) fn rotated(self, new: IssuedTokens) -> Self {
        let refresh = new.refresh.or(self.tokens.refresh);
        Self {
            tokens: IssuedTokens { refresh, ..new },
            ..self
        }
    }
}

impl Credentials {
    /// When the token among them ends, counted from `now`.
    pub(super) fn end(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::None | Self::Key(_) => None,
            Self::Granted(granted) => {
                let seconds = granted.tokens.expires_in_s?;
                Some(now.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX / 2_000)))
            }
        }
    }

    /// Whether there is a place to give them back.
    pub(super) fn can_be_returned(&self) -> bool {
        match self {
            Self::None | Self::Key(_) => false,
            Self::Granted(granted) => granted.access.revocation_endpoint.is_some(),
        }
    }
}

impl AccountSecrets {
    pub(super) fn seal(&self, seal: &Seal, id: ConnectorConnectionId) -> Result<Vec<u8>, Fault> {
        seal_json(seal, &[b"connector_connections", id.as_bytes()], self)
    }

    pub(super) fn unseal(
        seal: &Seal,
        id: ConnectorConnectionId,
        sealed: Option<&[u8]>,
    ) -> Option<Self> {
        unseal_json(seal, &[b"connector_connections", id.as_bytes()], sealed?)
    }
}

impl FlowSecrets {
    pub(super) fn seal(&self, seal: &Seal, id: AuthFlowId) -> Result<Vec<u8>, Fault> {
        seal_json(seal, &[b"connector_flows", id.as_bytes()], self)
    }

    pub(super) fn unseal(seal: &Seal, id: AuthFlowId, sealed: Option<&[u8]>) -> Option<Self> {
        unseal_json(seal, &[b"connector_flows", id.as_bytes()], sealed?)
    }
}

pub(super) fn seal_client(
    seal: &Seal,
    (provider, toolkit): (ProviderId, &ToolkitSlug),
    client: &IssuerClient,
) -> Result<Vec<u8>, Fault> {
    let place = [
        b"connector_clients".as_slice(),
        provider.as_bytes(),
        toolkit.as_str().as_bytes(),
    ];
    seal_json(seal, &place, client)
}

pub(super) fn unseal_client(
    seal: &Seal,
    (provider, toolkit): (ProviderId, &ToolkitSlug),
    sealed: &[u8],
) -> Option<IssuerClient> {
    let place = [
        b"connector_clients".as_slice(),
        provider.as_bytes(),
        toolkit.as_str().as_bytes(),
    ];
    unseal_json(seal, &place, sealed)
}

fn seal_json<T: Serialize>(seal: &Seal, place: &[&[u8]], secret: &T) -> Result<Vec<u8>, Fault> {
    let text =
        serde_json::to_vec(secret).map_err(|error| Fault::broken("sealing a sign-in", error))?;
    seal.seal(SealContext(place), &text)
}

fn unseal_json<T: DeserializeOwned>(seal: &Seal, place: &[&[u8]], sealed: &[u8]) -> Option<T> {
    serde_json::from_slice(&seal.unseal(SealContext(place), sealed)?).ok()
}
