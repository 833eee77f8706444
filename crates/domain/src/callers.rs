//! Callers and gates: who is calling, and the proof that this kind of caller may ask.
//! Holding a gate is the proof; a gate is made by [`Gate::admit`] and nowhere else.
//! Finding out who is calling from a socket and its headers is `hall::callers`.

use crate::{
    Refusal,
    ids::{AgentId, AuthorId, TokenId},
};

/// How a caller showed who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A loopback connection of the owner's operating-system user.
    Loopback,
    /// An agent token, live when it was looked up.
    AgentToken(TokenId),
}

/// Who the caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The one person the installation belongs to.
    Owner,
    /// A registered coding agent.
    Agent(AgentId),
}

/// Somebody whose identity is established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Who it is.
    pub identity: Identity,
    /// The author it writes as.
    pub author: AuthorId,
    /// How it showed who it is.
    pub credential: Credential,
}

impl Caller {
    /// Whether this is a person and not an agent.
    pub fn is_human(&self) -> bool {
        match self.identity {
            Identity::Owner => true,
            Identity::Agent(_) => false,
        }
    }

    /// The agent, when it is one.
    pub fn agent(&self) -> Option<AgentId> {
        match self.identity {
            Identity::Owner => None,
            Identity::Agent(agent) => Some(agent),
        }
    }
}

/// A kind of caller a route lets in. Source: contract 1.5.
pub trait Gate: Sized {
    /// Lets `caller` through, or says why not.
    ///
    /// # Errors
    /// The refusal of contract 1.5 for this kind of caller.
    fn admit(caller: Caller) -> Result<Self, Refusal>;

    /// Who came through.
    fn caller(&self) -> &Caller;
}

macro_rules! gates {
    ($($(#[$doc:meta])* $gate:ident = $admit:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $gate(Caller);

        impl Gate for $gate {
            fn admit(caller: Caller) -> Result<Self, Refusal> {
                let refuse: fn(&Caller) -> Option<Refusal> = $admit;
                refuse(&caller).map_or(Ok(Self(caller)), Err)
            }

            fn caller(&self) -> &Caller {
                &self.0
            }
        }
    )+};
}

gates! {
    /// Owner, person or agent.
    AnyCaller = |_| None;
    /// Owner or person; an agent is refused.
    Human = |caller| (!caller.is_human()).then_some(Refusal::HumansOnly);
    /// The owner alone.
    Owner = |caller| (caller.identity != Identity::Owner).then_some(Refusal::OwnerOnly);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(identity: Identity) -> Caller {
        Caller {
            identity,
            author: AuthorId::from_bytes([1; 16]),
            credential: Credential::Loopback,
        }
    }

    #[test]
    fn each_gate_lets_in_exactly_its_callers() {
        let owner = caller(Identity::Owner);
        let agent = caller(Identity::Agent(AgentId::from_bytes([2; 16])));
        assert!(AnyCaller::admit(owner).is_ok() && AnyCaller::admit(agent).is_ok());
        assert!(Human::admit(owner).is_ok() && Owner::admit(owner).is_ok());
        assert_eq!(Human::admit(agent).err(), Some(Refusal::HumansOnly));
        assert_eq!(Owner::admit(agent).err(), Some(Refusal::OwnerOnly));
    }
}
