//! What is secret of flows and connections: sealed in the store, each for its own row. Without
//! `Debug`.

use guildhall_domain::{
    Fault, Moment, Result,
    connectors::toolkits::Slug,
    device_grant::Pace,
    ids::{AuthFlowId, ConnectorConnectionId, ProviderId},
};
use guildhall_world::{
    oauth::{Access, Arranged, Device, KeptClient, Tokens},
    seal::{Place, Seal},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::oauth_callback::Opened;

/// An account that is signed in.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Account {
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
    Granted(Box<Granted>),
}

/// Tokens, and where they come from.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Granted {
    /// Who may be asked for the next ones.
    pub(super) access: Access,
    /// The tokens.
    pub(super) tokens: Tokens,
}

/// What is secret of a flow that waits.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Step {
    /// For a person who comes back with a code.
    Browser(Box<Browser>),
    /// For a person who types a code elsewhere.
    Device(Box<Typing>),
}

/// A flow that waits for a person who comes back with a code.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Browser {
    /// Where the person signs in.
    pub(super) arranged: Arranged,
    /// Whether the authorization server has a name: one that the owner described place by place
    /// has none.
    pub(super) has_issuer: bool,
    /// Where the answer comes.
    pub(super) redirect_uri: String,
    /// What the link ends with.
    pub(super) ticket: String,
    /// What the person was sent away with, once it was.
    pub(super) opened: Option<Opened>,
}

/// A flow that waits for a person who types a code elsewhere.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Typing {
    /// Who asks for tokens.
    pub(super) access: Access,
    /// The codes.
    pub(super) device: Device,
    /// How often the service is asked.
    pub(super) pace: Pace,
}

impl Granted {
    /// The same with the tokens that a refresh brought; a refresh token that was not replaced
    /// goes on counting.
    pub(super) fn rotated(self, new: Tokens) -> Self {
        let refresh = new.refresh.or(self.tokens.refresh);
        Self {
            tokens: Tokens { refresh, ..new },
            ..self
        }
    }
}

impl Credentials {
    /// When the token among them ends, counted from `now`.
    pub(super) fn end(&self, now: Moment) -> Option<Moment> {
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

impl Account {
    pub(super) fn close(&self, seal: &Seal, id: ConnectorConnectionId) -> Result<Vec<u8>, Fault> {
        close(seal, &[b"connector_connections", id.as_bytes()], self)
    }

    pub(super) fn open(
        seal: &Seal,
        id: ConnectorConnectionId,
        sealed: Option<&[u8]>,
    ) -> Option<Self> {
        open(seal, &[b"connector_connections", id.as_bytes()], sealed?)
    }
}

impl Step {
    pub(super) fn close(&self, seal: &Seal, id: AuthFlowId) -> Result<Vec<u8>, Fault> {
        close(seal, &[b"connector_flows", id.as_bytes()], self)
    }

    pub(super) fn open(seal: &Seal, id: AuthFlowId, sealed: Option<&[u8]>) -> Option<Self> {
        open(seal, &[b"connector_flows", id.as_bytes()], sealed?)
    }
}

pub(super) fn close_client(
    seal: &Seal,
    (provider, toolkit): (ProviderId, &Slug),
    client: &KeptClient,
) -> Result<Vec<u8>, Fault> {
    let place = [
        b"connector_clients".as_slice(),
        provider.as_bytes(),
        toolkit.as_str().as_bytes(),
    ];
    close(seal, &place, client)
}

pub(super) fn open_client(
    seal: &Seal,
    (provider, toolkit): (ProviderId, &Slug),
    sealed: &[u8],
) -> Option<KeptClient> {
    let place = [
        b"connector_clients".as_slice(),
        provider.as_bytes(),
        toolkit.as_str().as_bytes(),
    ];
    open(seal, &place, sealed)
}

fn close<T: Serialize>(seal: &Seal, place: &[&[u8]], secret: &T) -> Result<Vec<u8>, Fault> {
    let text =
        serde_json::to_vec(secret).map_err(|error| Fault::broken("sealing a sign-in", error))?;
    seal.seal(Place(place), &text)
}

fn open<T: DeserializeOwned>(seal: &Seal, place: &[&[u8]], sealed: &[u8]) -> Option<T> {
    serde_json::from_slice(&seal.unseal(Place(place), sealed)?).ok()
}
