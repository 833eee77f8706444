//! Reaching a server once: the test that somebody asks for, and the short look before an address
//! is added. Neither keeps a connection. Source: contract 4.4.

use std::{path::PathBuf, sync::Arc, time::Duration};

use guildhall_domain::{
    Fault, Result,
    agents::Agent,
    callers::ForAgent,
    limits,
    mcp_servers::{
        ConnectionConfig, McpServer, PinComparison, RemoteConfig, ServerTestResult, StdioConfig,
        TestBlocker,
        connection_config::SecretValues,
        server_test::{self, without_values},
    },
    mcp_tools::ToolDefinition,
};
use guildhall_world::{
    http_client::HttpClient,
    mcp::{
        self, CheckResult, ClientCallbacks, ConnectOptions, McpError, ServerAddress, ServerTarget,
        SharedBearerToken,
    },
    server_programs::ResolvedProgram,
};

use super::{ConfiguredServer, Observation, ObservationOutcome};
use crate::{Hall, idempotency::IdempotentWrite};

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
        once: IdempotentWrite<ServerTestResult>,
    ) -> Result<ServerTestResult> {
        let anything = Default::default();
        let mut found = self
            .load_for_action(by, name, &anything, once.replay_check())
            .await?;
        let within = Duration::from_secs(limits::MCP_TEST_WAIT_S);
        let line = &self.inner.testing;
        let turn = line.turn(by.agent(), &found.kept.server.name, within).await;
        if turn.is_some() {
            found = self
                .load_for_action(by, name, &anything, once.replay_check())
                .await?;
        }
        let entry = ConfiguredServer {
            agent: found.agent,
            kept: found.kept,
        };
        let held_back = match turn {
            Some(_) => TestBlocker::of(&entry.kept.server),
            None => Some(TestBlocker::Busy),
        };
        let (tested, learned) = match held_back {
            // Where nobody can answer its question any more it is asked once more.
            Some(TestBlocker::NeedsApproval) => (
                ServerTestResult::held_back(TestBlocker::NeedsApproval),
                Some(Observation::Lapsed),
            ),
            Some(why) => (ServerTestResult::held_back(why), None),
            None => self.connect_once(&entry).await?,
        };
        let tested = match learned {
            Some(learned) => self.record_test(&entry, tested, learned).await?,
            None => tested,
        };
        let now = self.now();
        self.store()
            .write(move |tx| once.run(tx, now, |_| Ok(tested)))
            .await
    }

    /// Notes what a test showed; says what came of that.
    async fn record_test(
        &self,
        entry: &ConfiguredServer,
        mut tested: ServerTestResult,
        learned: Observation,
    ) -> Result<ServerTestResult> {
        let is_listed = matches!(learned, Observation::Listed(_));
        let noted = self.record_observation(entry, learned).await?;
        let ObservationOutcome::Held(why) = noted else {
            tested.ok = is_listed;
            return Ok(tested);
        };
        let (agent, name) = (entry.agent.id, &entry.kept.server.name);
        let now = self.configured_server(agent, name.as_str()).await?;
        self.tool_server_changed(agent, name, Some(&now.kept.server));
        Ok(match why {
            TestBlocker::NeedsApproval if is_listed => {
                tested.are_not_approved();
                tested
            }
            why => ServerTestResult {
                duration_ms: tested.duration_ms,
                ..ServerTestResult::held_back(why)
            },
        })
    }

    /// Whether an address that says nothing of who asks wants a sign-in; whatever else comes of
    /// asking changes nothing.
    pub(super) async fn wants_sign_in(&self, agent: &Agent, connection: &ConnectionConfig) -> bool {
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
    pub(crate) async fn list_tools_with_token(
        &self,
        agent: &Agent,
        connection: &ConnectionConfig,
        bearer: String,
        within: Duration,
    ) -> Result<Result<Vec<ToolDefinition>, McpError>, Fault> {
        let target = self.target(agent, connection, (None, Some(bearer))).await?;
        Ok(match target {
            Some(target) => check(&target, agent, within).await.tools,
            None => Err(McpError::NotFound),
        })
    }

    async fn connect_once(
        &self,
        entry: &ConfiguredServer,
    ) -> Result<(ServerTestResult, Option<Observation>)> {
        let (agent, server) = (&entry.agent, &entry.kept.server);
        let found = self.find_program(agent, &server.connection).await?;
        if server.connection.stdio().is_some() {
            let program = found.as_ref().map(|found| &found.program);
            match (server.pin.compare(program), program) {
                (PinComparison::Same, _) => {}
                (PinComparison::Missing, _) | (_, None) => return Ok(missing()),
                (PinComparison::Unseen | PinComparison::Differs, Some(program)) => {
                    let tested = ServerTestResult::held_back(TestBlocker::PinChanged);
                    return Ok((tested, Some(Observation::Program(program.clone()))));
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
        let CheckResult {
            tools, duration, ..
        } = check(&target, agent, within).await;
        if !self
            .is_checked_program(agent, &server.connection, seen)
            .await?
        {
            let why = "The program was changed while it was started; try again.";
            return Ok((ServerTestResult::failed("CHANGED", why), None));
        }
        let (tested, learned) = match tools {
            Ok(tools) => {
                self.tool_server_reached(entry);
                let tested = ServerTestResult {
                    tools: Some(tools.clone()),
                    ..ServerTestResult::default()
                };
                (tested, Some(Observation::Listed(tools)))
            }
            Err(error) => {
                let (tested, learned) = failed(server, &error);
                let counted = || self.tool_server_failed(entry, &error);
                (tested, learned.or_else(counted))
            }
        };
        Ok((
            ServerTestResult {
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
        connection: &ConnectionConfig,
        (found, bearer): (Option<ResolvedProgram>, Option<String>),
    ) -> Result<Option<ServerTarget>, Fault> {
        Ok(match (connection, found) {
            (ConnectionConfig::Stdio(stdio), Some(found)) => {
                Some(self.process(agent, stdio, found).await?)
            }
            (ConnectionConfig::Stdio(_), None) => None,
            (ConnectionConfig::Http(remote), _) => {
                Some(ServerTarget::Http(self.address(remote, bearer).await?))
            }
            (ConnectionConfig::Sse(remote), _) => {
                Some(ServerTarget::Sse(self.address(remote, bearer).await?))
            }
        })
    }

    async fn process(
        &self,
        agent: &Agent,
        stdio: &StdioConfig,
        found: ResolvedProgram,
    ) -> Result<ServerTarget, Fault> {
        let enclosure = self.enclosure(Some(agent.id)).await?;
        let own = revealed(&stdio.env);
        let of_agent = self.environment_of(agent).into_iter();
        let kept = of_agent.filter(|(name, _)| !own.iter().any(|(other, _)| other == name));
        Ok(ServerTarget::Stdio {
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

    async fn address(
        &self,
        remote: &RemoteConfig,
        bearer: Option<String>,
    ) -> Result<ServerAddress, Fault> {
        Ok(ServerAddress {
            url: remote.url.clone(),
            headers: revealed(&remote.headers),
            bearer: SharedBearerToken::of(bearer),
            outgoing: self.outgoing().await?,
        })
    }

    /// The way out, made when it is first needed: that reads the computer's certificates.
    pub(crate) async fn outgoing(&self) -> Result<HttpClient, Fault> {
        let cell = &self.inner.outgoing;
        let opened = cell.get_or_try_init(|| async {
            let own = self.inner.own_ports.clone();
            let opened = self.run_blocking(|| HttpClient::open(own)).await?;
            opened.map_err(|error| Fault::broken("opening the way out", error))
        });
        opened.await.cloned()
    }
}

/// A program that is not there.
fn missing() -> (ServerTestResult, Option<Observation>) {
    let tested = ServerTestResult::held_back(TestBlocker::CommandNotFound);
    (tested, Some(Observation::Missing))
}

async fn check(target: &ServerTarget, agent: &Agent, within: Duration) -> CheckResult {
    // Some servers offer other tools to a client that takes no questions: what is pinned must be
    // what the gateway is offered.
    let hooks = ClientCallbacks {
        root: Some(PathBuf::from(&agent.cwd)),
        elicit: Some(Arc::new(|_| {
            Box::pin(async { mcp::ElicitationResult::Cancel })
        })),
    };
    let greeting = ConnectOptions {
        lifecycle: None,
        within,
    };
    mcp::check(target, hooks, greeting).await
}

fn failed(server: &McpServer, error: &McpError) -> (ServerTestResult, Option<Observation>) {
    let text = without_values(server, &error.to_string());
    let text = match error {
        McpError::Ended { stderr, .. } => server_test::with_last_words(server, &text, stderr),
        _ => text,
    };
    let tested = ServerTestResult {
        needs_auth: error.needs_sign_in(),
        ..ServerTestResult::failed(error.code(), &text)
    };
    let learned = match error {
        McpError::NotFound => Some(Observation::Missing),
        McpError::NeedsAuth { www_authenticate } => {
            Some(Observation::SignIn(www_authenticate.clone()))
        }
        McpError::InsufficientScope { www_authenticate } => {
            Some(Observation::WiderScope(www_authenticate.clone()))
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

fn revealed(values: &SecretValues) -> Vec<(String, String)> {
    let known = |(name, value): (&String, &guildhall_domain::mcp_servers::SecretText)| {
        Some((name.clone(), value.reveal()?.to_owned()))
    };
    values.iter().filter_map(known).collect()
}
