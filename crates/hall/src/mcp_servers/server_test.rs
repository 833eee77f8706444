//! Reaching a server once: the test that somebody asks for, and the short look before an address
//! is added. Neither keeps a connection. Source: contract 4.4.

use std::{path::PathBuf, sync::Arc, time::Duration};

use guildhall_domain::{
    Fault, Result,
    agents::Agent,
    callers::ForAgent,
    limits,
    mcp_servers::{
        Connection, HeldBack, McpServer, Remote, Stdio, Tested, Verdict,
        connection_config::Values,
        server_test::{self, without_values},
    },
    mcp_tools::ToolDefinition,
};
use guildhall_world::{
    http_client::Outgoing,
    mcp::{self, Address, Bearer, Checked, Greeting, Hooks, McpError, Target},
    server_programs::Found,
};

use super::{Entry, Learned, Noted};
use crate::{Hall, idempotency::Once};

impl Hall {
    /// Reaches a server and lists its tools; what comes of it is noted in the entry.
    ///
    /// What is switched off, or is not what was approved, is not reached at all. An entry is
    /// tested by one at a time; what others find meanwhile is what stands there then.
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
        let anything = Default::default();
        let mut found = self.look(by, name, &anything, once.peek()).await?;
        let within = Duration::from_secs(limits::MCP_TEST_WAIT_S);
        let line = &self.inner.testing;
        let turn = line.turn(by.agent(), &found.kept.server.name, within).await;
        if turn.is_some() {
            found = self.look(by, name, &anything, once.peek()).await?;
        }
        let entry = Entry {
            agent: found.agent,
            kept: found.kept,
        };
        let held_back = match turn {
            Some(_) => HeldBack::of(&entry.kept.server),
            None => Some(HeldBack::Busy),
        };
        let (tested, learned) = match held_back {
            // Where nobody can answer its question any more it is asked once more.
            Some(HeldBack::NeedsApproval) => (
                Tested::held_back(HeldBack::NeedsApproval),
                Some(Learned::Lapsed),
            ),
            Some(why) => (Tested::held_back(why), None),
            None => self.reach(&entry).await?,
        };
        let tested = match learned {
            Some(learned) => self.learn_by_test(&entry, tested, learned).await?,
            None => tested,
        };
        let now = self.now();
        self.store()
            .write(move |tx| once.run(tx, now, |_| Ok(tested)))
            .await
    }

    /// Notes what a test showed; says what came of that.
    async fn learn_by_test(
        &self,
        entry: &Entry,
        mut tested: Tested,
        learned: Learned,
    ) -> Result<Tested> {
        let is_listed = matches!(learned, Learned::Listed(_));
        let noted = self.note_learned(entry, learned).await?;
        let Noted::Held(why) = noted else {
            tested.ok = is_listed;
            return Ok(tested);
        };
        let (agent, name) = (entry.agent.id, &entry.kept.server.name);
        let now = self.entry_named(agent, name.as_str()).await?;
        self.tool_server_changed(agent, name, Some(&now.kept.server));
        Ok(match why {
            HeldBack::NeedsApproval if is_listed => {
                tested.are_not_approved();
                tested
            }
            why => Tested {
                duration_ms: tested.duration_ms,
                ..Tested::held_back(why)
            },
        })
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
            }) => server_test::is_bearer(&challenge),
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

    async fn reach(&self, entry: &Entry) -> Result<(Tested, Option<Learned>)> {
        let (agent, server) = (&entry.agent, &entry.kept.server);
        let found = self.find_program(agent, &server.connection).await?;
        if server.connection.stdio().is_some() {
            let program = found.as_ref().map(|found| &found.program);
            match (server.pin.compare(program), program) {
                (Verdict::Same, _) => {}
                (Verdict::Missing, _) | (_, None) => return Ok(missing()),
                (Verdict::Unseen | Verdict::Differs, Some(program)) => {
                    let tested = Tested::held_back(HeldBack::PinChanged);
                    return Ok((tested, Some(Learned::Program(program.clone()))));
                }
            }
        }
        let seen = found.as_ref().map(|found| found.sighting.clone());
        let bearer = self.mcp_bearer(agent.id, server).await?;
        let target = self.target(agent, &server.connection, (found, bearer));
        let Some(target) = target.await? else {
            return Ok(missing());
        };
        let within = Duration::from_secs(limits::MCP_TEST_WAIT_S);
        let Checked {
            tools, duration, ..
        } = check(&target, agent, within).await;
        if !self.was_seen(agent, &server.connection, seen).await? {
            let why = "The program was changed while it was started; try again.";
            return Ok((Tested::failed("CHANGED", why), None));
        }
        let (tested, learned) = match tools {
            Ok(tools) => {
                self.tool_server_reached(entry);
                let tested = Tested {
                    tools: Some(tools.clone()),
                    ..Tested::default()
                };
                (tested, Some(Learned::Listed(tools)))
            }
            Err(error) => {
                let (tested, learned) = failed(server, &error);
                let counted = || self.tool_server_failed(entry, &error);
                (tested, learned.or_else(counted))
            }
        };
        Ok((
            Tested {
                duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
                ..tested
            },
            learned,
        ))
    }

    /// How a server is reached; `None` when its program is not there.
    pub(crate) async fn target(
        &self,
        agent: &Agent,
        connection: &Connection,
        (found, bearer): (Option<Found>, Option<String>),
    ) -> Result<Option<Target>, Fault> {
        Ok(match (connection, found) {
            (Connection::Stdio(stdio), Some(found)) => {
                Some(self.process(agent, stdio, found).await?)
            }
            (Connection::Stdio(_), None) => None,
            (Connection::Http(remote), _) => {
                Some(Target::Http(self.address(remote, bearer).await?))
            }
            (Connection::Sse(remote), _) => Some(Target::Sse(self.address(remote, bearer).await?)),
        })
    }

    async fn process(&self, agent: &Agent, stdio: &Stdio, found: Found) -> Result<Target, Fault> {
        let enclosure = self.enclosure(Some(agent.id)).await?;
        let own = revealed(&stdio.env);
        let of_agent = self.environment_of(agent).into_iter();
        let kept = of_agent.filter(|(name, _)| !own.iter().any(|(other, _)| other == name));
        Ok(Target::Stdio {
            // The very file that was looked at, called as whoever follows the link calls it.
            program: found.program.executable_path.into(),
            name: Some(found.place),
            args: stdio.args.clone(),
            env: kept.chain(own.iter().cloned()).collect(),
            cwd: PathBuf::from(&agent.cwd),
            keeper: self.inner.launching.keeper.clone(),
            enclosure,
            agent: Some(agent.id),
            trees: self.inner.trees.clone(),
        })
    }

    async fn address(&self, remote: &Remote, bearer: Option<String>) -> Result<Address, Fault> {
        Ok(Address {
            url: remote.url.clone(),
            headers: revealed(&remote.headers),
            bearer: Bearer::of(bearer),
            outgoing: self.outgoing().await?,
        })
    }

    /// The way out, made when it is first needed: that reads the computer's certificates.
    pub(crate) async fn outgoing(&self) -> Result<Outgoing, Fault> {
        let cell = &self.inner.outgoing;
        let opened = cell.get_or_try_init(|| async {
            let own = self.inner.own_ports.clone();
            let opened = self.off_the_threads(|| Outgoing::open(own)).await?;
            opened.map_err(|error| Fault::broken("opening the way out", error))
        });
        opened.await.cloned()
    }
}

/// A program that is not there.
fn missing() -> (Tested, Option<Learned>) {
    let tested = Tested::held_back(HeldBack::CommandNotFound);
    (tested, Some(Learned::Missing))
}

async fn check(target: &Target, agent: &Agent, within: Duration) -> Checked {
    // Some servers offer other tools to a client that takes no questions: what is pinned must be
    // what the gateway is offered.
    let hooks = Hooks {
        root: Some(PathBuf::from(&agent.cwd)),
        elicit: Some(Arc::new(|_| Box::pin(async { mcp::Elicited::Cancel }))),
    };
    let greeting = Greeting {
        lifecycle: None,
        within,
    };
    mcp::check(target, hooks, greeting).await
}

fn failed(server: &McpServer, error: &McpError) -> (Tested, Option<Learned>) {
    let text = without_values(server, &error.to_string());
    let text = match error {
        McpError::Ended { stderr, .. } => server_test::with_last_words(server, &text, stderr),
        _ => text,
    };
    let tested = Tested {
        needs_auth: error.needs_sign_in(),
        ..Tested::failed(error.code(), &text)
    };
    let learned = match error {
        McpError::NotFound => Some(Learned::Missing),
        McpError::NeedsAuth { www_authenticate } => Some(Learned::SignIn(www_authenticate.clone())),
        McpError::InsufficientScope { www_authenticate } => {
            Some(Learned::WiderScope(www_authenticate.clone()))
        }
        McpError::NotStarted(_)
        | McpError::Unreachable(_)
        | McpError::Status { .. }
        | McpError::Refused { .. }
        | McpError::Timeout
        | McpError::TooLarge
        | McpError::Protocol(_)
        | McpError::Ended { .. } => None,
    };
    (tested, learned)
}

fn revealed(values: &Values) -> Vec<(String, String)> {
    let known = |(name, value): (&String, &guildhall_domain::mcp_servers::SecretText)| {
        Some((name.clone(), value.reveal()?.to_owned()))
    };
    values.iter().filter_map(known).collect()
}
