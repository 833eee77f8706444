//! Who is calling, on the wire. Source: contract 1.4, `GET /api/auth/whoami`.

use guildhall_domain::callers;
use serde::Serialize;
use utoipa::ToSchema;

/// What kind of caller it is.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallerKind {
    /// The person the installation belongs to.
    Owner,
    /// Another person with an account.
    Person,
    /// A registered coding agent.
    Agent,
}

/// How a caller showed who it is.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Credential {
    /// A loopback connection of the owner's OS user.
    Loopback,
    /// The cookie of a sign-in.
    Cookie,
    /// An API key.
    ApiKey,
    /// The token of the discovery file.
    LocalToken,
    /// An agent token.
    AgentToken,
    /// A process of the agent's own tree.
    Process,
}

/// A caller whose identity is established.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Caller {
    /// What kind.
    pub kind: CallerKind,
    /// The author it writes as.
    pub author_id: String,
    /// That author's name.
    pub display_name: String,
    /// How it showed who it is.
    pub credential: Credential,
}

impl Caller {
    /// The caller, under its author's name.
    pub fn new(caller: &callers::Caller, display_name: String) -> Self {
        Self {
            kind: match caller.identity {
                callers::Identity::Owner => CallerKind::Owner,
                callers::Identity::Person(_) => CallerKind::Person,
                callers::Identity::Agent(_) => CallerKind::Agent,
            },
            author_id: caller.author.to_string(),
            display_name,
            credential: match caller.credential {
                callers::Credential::Loopback => Credential::Loopback,
                callers::Credential::Cookie(_) => Credential::Cookie,
                callers::Credential::ApiKey(_) => Credential::ApiKey,
                callers::Credential::LocalToken => Credential::LocalToken,
                callers::Credential::AgentToken(_) => Credential::AgentToken,
                callers::Credential::Process => Credential::Process,
            },
        }
    }
}

/// Who the server takes the caller for.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Whoami {
    /// How callers are told apart; `local` or `login`.
    #[schema(example = "local")]
    pub mode: String,
    /// Null for nobody.
    #[schema(required = true)]
    pub caller: Option<Caller>,
    /// Whether this is the owner, at this computer, with no proxy between.
    pub owner_here: bool,
    /// Whether a first account can be made; never in mode `local`.
    pub registration_open: bool,
}
