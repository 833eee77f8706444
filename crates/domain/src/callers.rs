//! Callers and gates: who is calling, and the proof that this kind of caller may ask.
//! Holding a gate is the proof; a gate is made by [`Gate::admit`] and nowhere else.
//! Finding out who is calling from a socket and its headers is `hall::callers`.

use crate::{
    Refusal,
    ids::{AccountId, AgentId, AgentTokenId, ApiKeyId, AuthorId, SignInId},
};

/// How the owner and other people are told apart. Source: contract 1.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMode {
    /// Whoever runs as the server's own OS user on this computer is the owner; no other people.
    Local,
    /// People have accounts and sign in; the first account is the owner's.
    Login,
}

impl AuthMode {
    /// Its word on the wire and in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Login => "login",
        }
    }
}

/// How a caller showed who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A loopback connection of the owner's operating-system user.
    Loopback,
    /// The cookie of a sign-in, live when it was looked up.
    Cookie(SignInId),
    /// An API key.
    ApiKey(ApiKeyId),
    /// The token of the discovery file, over a loopback connection of the owner's OS user.
    LocalToken,
    /// An agent token, live when it was looked up.
    AgentToken(AgentTokenId),
    /// A connection made by a process of the agent's own tree, as the kernel tells.
    Process,
}

/// Who the caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// The one person the installation belongs to.
    Owner,
    /// Another person with an account.
    Person(AccountId),
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
    /// Whether it is a person who still has the password of the invitation, and may do nothing
    /// before choosing another.
    pub is_invited: bool,
}

impl Caller {
    /// Whether this is a person and not an agent.
    pub fn is_human(&self) -> bool {
        match self.identity {
            Identity::Owner | Identity::Person(_) => true,
            Identity::Agent(_) => false,
        }
    }

    /// The agent, when it is one.
    pub fn agent(&self) -> Option<AgentId> {
        match self.identity {
            Identity::Owner | Identity::Person(_) => None,
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
    AnyCaller = settled;
    /// Owner or person; an agent is refused.
    Human = |caller| humans_only(caller).or_else(|| settled(caller));
    /// Owner or person, also one who still has the password of the invitation.
    Arrived = humans_only;
    /// Owner or person by cookie, also one who still has the password of the invitation.
    ///
    /// The owner by loopback comes through too: there is no sign-in in mode `local`, which is
    /// for the use case to say.
    SignedIn = |caller| humans_only(caller).or(match caller.credential {
        Credential::Cookie(_) | Credential::Loopback => None,
        Credential::ApiKey(_)
        | Credential::LocalToken
        | Credential::AgentToken(_)
        | Credential::Process => Some(Refusal::InteractiveOnly),
    });
    /// Owner or person at a screen: no agent, and no API key.
    Decider = |caller| match caller.credential {
        _ if !caller.is_human() => Some(Refusal::AgentCannotDecide),
        Credential::ApiKey(_) => Some(Refusal::InteractiveOnly),
        Credential::Loopback
        | Credential::Cookie(_)
        | Credential::LocalToken
        | Credential::AgentToken(_)
        | Credential::Process => settled(caller),
    };
    /// The owner at a screen: no agent, and no API key.
    OwnerInteractive = |caller| match (caller.identity, caller.credential) {
        (Identity::Person(_) | Identity::Agent(_), _) => Some(Refusal::OwnerOnly),
        (Identity::Owner, Credential::ApiKey(_)) => Some(Refusal::InteractiveOnly),
        (
            Identity::Owner,
            Credential::Loopback
            | Credential::Cookie(_)
            | Credential::LocalToken
            | Credential::AgentToken(_)
            | Credential::Process,
        ) => settled(caller),
    };
    /// An agent, whatever it showed; nobody else.
    Agent = |caller| match caller.identity {
        Identity::Agent(_) => None,
        Identity::Owner | Identity::Person(_) => Some(Refusal::AgentTokenRequired),
    };
    /// The owner at a screen, who decides: no agent, and no API key.
    OwnerDecider = |caller| match (caller.identity, caller.credential) {
        _ if !caller.is_human() => Some(Refusal::AgentCannotDecide),
        (_, Credential::ApiKey(_)) => Some(Refusal::InteractiveOnly),
        (Identity::Person(_) | Identity::Agent(_), _) => Some(Refusal::OwnerOnly),
        (
            Identity::Owner,
            Credential::Loopback
            | Credential::Cookie(_)
            | Credential::LocalToken
            | Credential::AgentToken(_)
            | Credential::Process,
        ) => settled(caller),
    };
    /// The owner alone.
    Owner = |caller| match caller.identity {
        Identity::Owner => settled(caller),
        Identity::Person(_) | Identity::Agent(_) => Some(Refusal::OwnerOnly),
    };
}

/// A caller that may ask about what is an agent's own: a person about every agent, an agent about
/// itself alone. Whether there is such an agent is asked later, so that an agent learns nothing
/// of others. Source: contract 4.4, row 2.
#[derive(Clone, Copy, Debug)]
pub struct ForAgent {
    caller: Caller,
    agent: AgentId,
}

impl ForAgent {
    /// Lets `by` ask about `agent`.
    ///
    /// # Errors
    /// [`Refusal::AgentSelfOnly`].
    pub fn admit(by: &AnyCaller, agent: AgentId) -> Result<Self, Refusal> {
        let caller = *by.caller();
        match caller.agent() {
            Some(own) if own != agent => Err(Refusal::AgentSelfOnly),
            Some(_) | None => Ok(Self { caller, agent }),
        }
    }

    /// Who came through.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Whom it is about.
    pub fn agent(&self) -> AgentId {
        self.agent
    }
}

/// The owner at this computer itself: no agent, and nothing that hands on what somebody elsewhere
/// asks. Source: contract 1.5, owner-here; 7.1.
#[derive(Clone, Copy, Debug)]
pub struct OwnerHere(Caller);

impl OwnerHere {
    /// Lets `caller` through; `is_here` says that it came to this computer's own name from this
    /// computer, and by way of nobody.
    ///
    /// # Errors
    /// [`Refusal::OwnerHereOnly`].
    pub fn admit(caller: Caller, is_here: bool) -> Result<Self, Refusal> {
        if caller.identity != Identity::Owner || !is_here {
            return Err(Refusal::OwnerHereOnly);
        }
        settled(&caller).map_or(Ok(Self(caller)), Err)
    }

    /// Who came through.
    pub fn caller(&self) -> &Caller {
        &self.0
    }
}

fn humans_only(caller: &Caller) -> Option<Refusal> {
    (!caller.is_human()).then_some(Refusal::HumansOnly)
}

/// Holds back who has yet to choose a password.
fn settled(caller: &Caller) -> Option<Refusal> {
    caller.is_invited.then_some(Refusal::PasswordChangeRequired)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One kind of caller, and what each gate says to it, in the order of [`verdicts`].
    type Row = (Caller, [Option<Refusal>; 8]);

    fn verdicts(caller: Caller) -> [Option<Refusal>; 8] {
        [
            AnyCaller::admit(caller).err(),
            Human::admit(caller).err(),
            Arrived::admit(caller).err(),
            SignedIn::admit(caller).err(),
            Owner::admit(caller).err(),
            Decider::admit(caller).err(),
            OwnerInteractive::admit(caller).err(),
            OwnerDecider::admit(caller).err(),
        ]
    }

    fn rows() -> Vec<Row> {
        let caller = |identity, credential| Caller {
            identity,
            author: AuthorId::from_bytes([1; 16]),
            credential,
            is_invited: false,
        };
        let (owner, person, agent) = (
            Identity::Owner,
            Identity::Person(AccountId::from_bytes([2; 16])),
            Identity::Agent(AgentId::from_bytes([3; 16])),
        );
        let cookie = Credential::Cookie(SignInId::from_bytes([4; 16]));
        let key = Credential::ApiKey(ApiKeyId::from_bytes([5; 16]));
        let token = Credential::AgentToken(AgentTokenId::from_bytes([6; 16]));
        let humans = || Some(Refusal::HumansOnly);
        let owners = || Some(Refusal::OwnerOnly);
        let screen = || Some(Refusal::InteractiveOnly);
        let invited = || Some(Refusal::PasswordChangeRequired);
        let deciders = || Some(Refusal::AgentCannotDecide);
        let agents = || {
            let no = [
                humans(),
                humans(),
                humans(),
                owners(),
                deciders(),
                owners(),
                deciders(),
            ];
            let [
                human,
                arrived,
                signed_in,
                owner,
                decider,
                interactive,
                owner_decider,
            ] = no;
            [
                None,
                human,
                arrived,
                signed_in,
                owner,
                decider,
                interactive,
                owner_decider,
            ]
        };
        vec![
            (caller(owner, Credential::Loopback), [const { None }; 8]),
            (caller(owner, cookie), [const { None }; 8]),
            (
                caller(owner, key),
                [
                    None,
                    None,
                    None,
                    screen(),
                    None,
                    screen(),
                    screen(),
                    screen(),
                ],
            ),
            (
                caller(owner, Credential::LocalToken),
                [None, None, None, screen(), None, None, None, None],
            ),
            (
                caller(person, cookie),
                [None, None, None, None, owners(), None, owners(), owners()],
            ),
            (
                caller(person, key),
                [
                    None,
                    None,
                    None,
                    screen(),
                    owners(),
                    screen(),
                    owners(),
                    screen(),
                ],
            ),
            (
                Caller {
                    is_invited: true,
                    ..caller(person, cookie)
                },
                [
                    invited(),
                    invited(),
                    None,
                    None,
                    owners(),
                    invited(),
                    owners(),
                    owners(),
                ],
            ),
            (caller(agent, token), agents()),
            (caller(agent, Credential::Process), agents()),
        ]
    }

    #[test]
    fn what_is_for_agents_lets_in_agents_alone() {
        for (caller, _) in rows() {
            let refused = caller.is_human().then_some(Refusal::AgentTokenRequired);
            assert_eq!(Agent::admit(caller).err(), refused, "{caller:?}");
        }
    }

    #[test]
    fn each_gate_lets_in_exactly_its_callers() {
        for (caller, expected) in rows() {
            assert_eq!(verdicts(caller), expected, "{caller:?}");
        }
    }

    #[test]
    fn the_owner_alone_is_here() {
        let owner = Caller {
            identity: Identity::Owner,
            author: AuthorId::from_bytes([1; 16]),
            credential: Credential::Loopback,
            is_invited: false,
        };
        let refused = |caller, is_here| OwnerHere::admit(caller, is_here).err();
        assert_eq!(refused(owner, true), None);
        assert_eq!(refused(owner, false), Some(Refusal::OwnerHereOnly));
        for other in [
            Caller {
                identity: Identity::Agent(AgentId::from_bytes([2; 16])),
                ..owner
            },
            Caller {
                identity: Identity::Person(AccountId::from_bytes([3; 16])),
                ..owner
            },
        ] {
            assert_eq!(refused(other, true), Some(Refusal::OwnerHereOnly));
        }
        let invited = Caller {
            is_invited: true,
            ..owner
        };
        assert_eq!(
            refused(invited, true),
            Some(Refusal::PasswordChangeRequired)
        );
    }
}
