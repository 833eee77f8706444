//! Executions: what must be true for an operation to be sent, asked twice: when it is asked for,
//! and right before it is sent.
//! Source: contract 5.6, checks 4 to 9.

pub mod approval_card;

use serde_json::{Map, Value, json};

use super::{
    classification::Classification,
    connections::{Connection, Readiness, ReadinessState},
    operation_revisions::{OperationIdentity, OperationRevision},
    refusals::{ConnectorRefusal, ValidationProblem},
};
use crate::{
    Refusal,
    ids::{AgentId, ConnectorConnectionId, OperationRevisionId},
    limits::connectors as limits,
};

/// What is asked to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationCall {
    /// For which agent.
    pub agent_id: AgentId,
    /// With which account.
    pub connection_id: ConnectorConnectionId,
    /// Which operation.
    pub revision_id: OperationRevisionId,
    /// With what.
    pub arguments: Map<String, Value>,
}

/// Everything that decides whether an operation may be sent, as it stands at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationFacts {
    /// The account.
    pub connection: Connection,
    /// Whether the account can be used.
    pub readiness: Readiness,
    /// The generation of its instance.
    pub generation: u64,
    /// What was reviewed.
    pub revision: OperationRevision,
    /// The operation of that name in the connection's own service as it is listed now.
    pub listed: Option<OperationIdentity>,
    /// Whether it is granted to the agent, by itself or as one of all.
    pub is_granted: bool,
    /// Whether a session that counts turned the connection off.
    pub is_turned_off: bool,
}

/// That an operation may be sent, and what that rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    generation: u64,
    identity: OperationIdentity,
}

impl AuthorizationFacts {
    /// Whether the operation may be sent as things stand.
    ///
    /// # Errors
    /// [`ConnectorRefusal::RevisionMismatch`], [`ConnectorRefusal::NotExecutable`], [`ConnectorRefusal::GrantRequired`], in
    /// this order.
    pub fn authorize(&self) -> Result<Authorization, ConnectorRefusal> {
        let identity = &self.revision.identity;
        let is_of_connection = identity.provider_id == self.connection.provider_id
            && identity.toolkit == self.connection.toolkit;
        if !is_of_connection || self.listed.as_ref() != Some(identity) {
            return Err(ConnectorRefusal::RevisionMismatch);
        }
        if self.readiness.state != ReadinessState::Ready {
            return Err(ConnectorRefusal::NotExecutable(self.readiness.clone()));
        }
        if !self.is_granted || self.is_turned_off {
            return Err(ConnectorRefusal::GrantRequired);
        }
        Ok(Authorization {
            generation: self.generation,
            identity: identity.clone(),
        })
    }
}

impl Authorization {
    /// Holds what stands now against what was found before; to be asked in the transaction that
    /// notes the attempt.
    ///
    /// # Errors
    /// [`ConnectorRefusal::AuthorityChanged`].
    pub fn still_holds(&self, now: &AuthorizationFacts) -> Result<(), ConnectorRefusal> {
        match now.authorize() {
            Ok(now) if now == *self => Ok(()),
            Ok(_) | Err(_) => Err(ConnectorRefusal::AuthorityChanged),
        }
    }

    /// What the operation does.
    pub fn classification(&self) -> Classification {
        self.identity.classification
    }

    /// What a person's word on it is bound to, beside the arguments: another generation or
    /// another revision asks anew. Source: contract 5.6, check 8.
    pub fn pin(&self) -> Value {
        json!({
            "generation": self.generation,
            "provider": self.identity.provider_id,
            "toolkit": self.identity.toolkit,
            "operation": self.identity.operation_slug,
            "version": self.identity.toolkit_version,
            "schema": self.identity.schema_hash,
            "classification": self.identity.classification,
        })
    }
}

/// Checks the bounds of arguments, which hold whatever the operation says of them.
///
/// # Errors
/// [`Refusal::Validation`].
///
/// Source: contract 5.6, "Body".
pub fn within_bounds(arguments: &Map<String, Value>) -> Result<(), Refusal> {
    let (mut keys, mut bytes) = (arguments.len(), "{}".len());
    let mut is_shallow = true;
    for (name, value) in arguments {
        bytes += Value::from(name.as_str()).to_string().len() + value.to_string().len() + 2;
        is_shallow &= nests(value, limits::CONNECTOR_ARGUMENT_DEPTH_MAX - 1, &mut keys);
    }
    // The last member has no comma behind it.
    bytes -= usize::from(!arguments.is_empty());
    let problem = if !is_shallow {
        "must not nest deeper than 32"
    } else if keys > limits::CONNECTOR_ARGUMENT_KEYS_MAX {
        "must have at most 200 keys"
    } else if bytes > limits::CONNECTOR_ARGUMENT_BYTES_MAX {
        "must have at most 256 KiB"
    } else {
        return Ok(());
    };
    Err(Refusal::field("arguments", problem))
}

/// Whether `value` nests at most `left` objects and lists; counts the keys on the way.
fn nests(value: &Value, left: usize, keys: &mut usize) -> bool {
    match value {
        Value::Object(members) => {
            *keys += members.len();
            left > 0 && members.values().all(|member| nests(member, left - 1, keys))
        }
        Value::Array(items) => left > 0 && items.iter().all(|item| nests(item, left - 1, keys)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// The refusal of arguments with these problems; `Ok` where there are none.
///
/// # Errors
/// [`ConnectorRefusal::ArgumentsInvalid`] with the first of them.
pub fn check_arguments(mut problems: Vec<ValidationProblem>) -> Result<(), ConnectorRefusal> {
    if problems.is_empty() {
        return Ok(());
    }
    problems.truncate(limits::CONNECTOR_PROBLEMS_MAX);
    Err(ConnectorRefusal::ArgumentsInvalid(problems))
}

#[cfg(test)]
#[path = "executions_tests.rs"]
mod tests;
