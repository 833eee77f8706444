//! Reaching a server once: the test that somebody asks for, and the short look before an address
//! is added. Neither keeps a connection. Source: contract 4.4.

use std::{path::PathBuf, time::Duration};

use guildhall_domain::{
    Fault, Result,
    agents::Agent,
    callers::ForAgent,
    limits,
    mcp_servers::{
        Connection, HeldBack, McpServer, Program, Remote, Stdio, Tested, Verdict,
        connection::Values,
        tested::{self, without_values},
    },
    mcp_tools::ToolDefinition,
};
use guildhall_store::mcp_servers::{self as rows, Kept};
use guildhall_world::{
    mcp::{self, Address, Checked, Greeting, Hooks, McpError, Target},
    outgoing::Outgoing,
};

use super::{deeds::is_same, existing, registered, write};
use crate::{Hall, repeats::Once};

impl Hall {
    /// Reaches a server and lists its tools; what comes of it is noted in the entry.
    ///
    /// What is switched off, or is not what was approved, is not reached at all.
    ///
    /// # Errors
    /// `NotFound` for agent or entry. A test that fails is no error.
    ///
    /// Source: contract 4.4, "test".
    pub async fn test_mcp_server(
        &self,
        by: &ForAgent,
        name: &str,
        once: Once<Tested>,
    ) -> Result<Tested> {
        let found = self
            .look(by, name, &Default::default(), once.peek())
            .await?;
        let (agent, server) = (&found.agent, &found.kept.server);
        let (tested, outcome) = match HeldBack::of(server) {
            Some(why) => (Tested::held_back(why), Outcome::Nothing),
            None => self.reach(agent, server).await?,
        };
        self.note(by, found.kept, (tested, outcome), once).await
    }

    /// Whether an address that says nothing of who asks wants a sign-in; whatever else comes of
    /// asking changes nothing.
    pub(super) async fn wants_sign_in(&self, agent: &Agent, connection: &Connection) -> bool {
        if !connection.may_be_asked_for_sign_in() {
            return false;
        }
        let within = Duration::from_millis(limits::MCP_PROBE_WAIT_MS);
        let target = self.target(agent, connection, (None, None)).await;
        let Ok(Some(target)) = target else {
            return false;
        };
        match check(&target, agent, within).await.tools {
            Err(McpError::NeedsAuth {
                www_authenticate: Some(challenge),
            }) => tested::is_bearer(&challenge),
            Ok(_) | Err(_) => false,
        }
    }

    /// What a server answers that is shown this token.
    ///
    /// # Errors
    /// Faults alone; whatever the server does is the inner answer.
    pub(crate) async fn ask_with(
        &self,
        agent: &Agent,
        connection: &Connection,
        bearer: String,
        within: Duration,
    ) -> Result<Result<Vec<ToolDefinition>, McpError>, Fault> {
        let target = self.target(agent, connection, (None, Some(bearer))).await?;
        Ok(match target {
            Some(target) => check(&target, agent, within).await.tools,
            None => Err(McpError::NotFound),
        })
    }

    async fn reach(&self, agent: &Agent, server: &McpServer) -> Result<(Tested, Outcome), Fault> {
        let program = self.program_of(agent, &server.connection).await?;
        if server.connection.stdio().is_some() {
            match server.pin.compare(program.as_ref()) {
                Verdict::Same => {}
                Verdict::Missing => {
                    let tested = Tested::held_back(HeldBack::CommandNotFound);
                    return Ok((tested, Outcome::Missing));
                }
                Verdict::Unseen | Verdict::Differs => {
                    return Ok((Tested::held_back(HeldBack::PinChanged), Outcome::Nothing));
                }
            }
        }
        let bearer = self.credential_of(agent.id, server).await?;
        let target = (program, bearer);
        let target = self.target(agent, &server.connection, target).await?;
        let Some(target) = target else {
            let tested = Tested::held_back(HeldBack::CommandNotFound);
            return Ok((tested, Outcome::Missing));
        };
        let within = Duration::from_secs(limits::MCP_TEST_WAIT_S);
        let Checked {
            tools, duration, ..
        } = check(&target, agent, within).await;
        let (tested, outcome) = match tools {
            Ok(tools) => {
                let tested = Tested {
                    tools: Some(tools),
                    ..Tested::default()
                };
                (tested, Outcome::Listed)
            }
            Err(error) => failed(server, &error),
        };
        Ok((
            Tested {
                duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
                ..tested
            },
            outcome,
        ))
    }

    /// How a server is reached; `None` when its program is not there.
    async fn target(
        &self,
        agent: &Agent,
        connection: &Connection,
        (program, bearer): (Option<Program>, Option<String>),
    ) -> Result<Option<Target>, Fault> {
        Ok(match (connection, program) {
            (Connection::Stdio(stdio), Some(program)) => Some(self.process(agent, stdio, program)),
            (Connection::Stdio(_), None) => None,
            (Connection::Http(remote), _) => {
                Some(Target::Http(self.address(remote, bearer).await?))
            }
            (Connection::Sse(remote), _) => Some(Target::Sse(self.address(remote, bearer).await?)),
        })
    }

    fn process(&self, agent: &Agent, stdio: &Stdio, program: Program) -> Target {
        let own = revealed(&stdio.env);
        let of_agent = self.environment_of(agent).into_iter();
        let kept = of_agent.filter(|(name, _)| !own.iter().any(|(other, _)| other == name));
        Target::Stdio {
            program: program.executable_path.into(),
            args: stdio.args.clone(),
            env: kept.chain(own.iter().cloned()).collect(),
            cwd: PathBuf::from(&agent.cwd),
            keeper: self.inner.launching.keeper.clone(),
            agent: Some(agent.id),
            trees: self.inner.trees.clone(),
        }
    }

    async fn address(&self, remote: &Remote, bearer: Option<String>) -> Result<Address, Fault> {
        Ok(Address {
            url: remote.url.clone(),
            headers: revealed(&remote.headers),
            bearer,
            outgoing: self.outgoing().await?,
        })
    }

    /// The way out, made when it is first needed: that reads the computer's certificates.
    pub(crate) async fn outgoing(&self) -> Result<Outgoing, Fault> {
        let cell = &self.inner.outgoing;
        let opened = cell.get_or_try_init(|| async {
            let opened = self.off_the_threads(Outgoing::open).await?;
            opened.map_err(|error| Fault::broken("opening the way out", error))
        });
        opened.await.cloned()
    }

    /// Notes what came of a test, unless the entry is another one by now.
    async fn note(
        &self,
        by: &ForAgent,
        before: Kept,
        (tested, outcome): (Tested, Outcome),
        once: Once<Tested>,
    ) -> Result<Tested> {
        let (id, seal, now) = (by.agent(), self.inner.seal.clone(), self.now());
        self.store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    registered(tx, id)?;
                    let name = before.server.name.clone();
                    let standing = existing(tx, &seal, id, Some(&name))?;
                    let mut tested = tested;
                    if !is_same(&standing, &before) {
                        tested.ok = outcome == Outcome::Listed;
                        return Ok(tested);
                    }
                    let mut after = standing.clone();
                    let server = &mut after.server;
                    let mut tools = None;
                    match outcome {
                        Outcome::Nothing => {}
                        Outcome::Missing => tested::is_missing(server),
                        Outcome::SignIn(challenge) => {
                            tested::wants_sign_in(server, challenge.as_deref());
                        }
                        Outcome::Listed => {
                            let approved = rows::tools(tx, id, &name)?;
                            tools = tested::listed(server, &mut tested, approved.as_deref(), now)?;
                        }
                    }
                    if after.server != standing.server {
                        write(tx, &seal, id, (&standing.server, after), (None, now))?;
                    }
                    if let Some(tools) = tools {
                        rows::set_tools(tx, id, &name, &tools)?;
                    }
                    Ok(tested)
                })
            })
            .await
    }
}

/// What is to be noted of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Nothing,
    /// The program is not there.
    Missing,
    /// A sign-in is wanted, by this challenge.
    SignIn(Option<String>),
    /// Its tools were listed.
    Listed,
}

async fn check(target: &Target, agent: &Agent, within: Duration) -> Checked {
    let hooks = Hooks {
        root: Some(PathBuf::from(&agent.cwd)),
        elicit: None,
    };
    let greeting = Greeting {
        lifecycle: None,
        within,
    };
    mcp::check(target, hooks, greeting).await
}

fn failed(server: &McpServer, error: &McpError) -> (Tested, Outcome) {
    let text = without_values(server, &error.to_string());
    let tested = Tested {
        needs_auth: error.needs_sign_in(),
        ..Tested::failed(error.code(), &text)
    };
    let outcome = match error {
        McpError::NotFound => Outcome::Missing,
        McpError::NeedsAuth { www_authenticate } => Outcome::SignIn(www_authenticate.clone()),
        McpError::InsufficientScope { www_authenticate } => {
            Outcome::SignIn(Some(www_authenticate.clone()))
        }
        McpError::NotStarted(_)
        | McpError::Unreachable(_)
        | McpError::Status { .. }
        | McpError::Refused { .. }
        | McpError::Timeout
        | McpError::TooLarge
        | McpError::Protocol(_)
        | McpError::Ended { .. } => Outcome::Nothing,
    };
    (tested, outcome)
}

fn revealed(values: &Values) -> Vec<(String, String)> {
    let known = |(name, value): (&String, &guildhall_domain::mcp_servers::SecretText)| {
        Some((name.clone(), value.reveal()?.to_owned()))
    };
    values.iter().filter_map(known).collect()
}
