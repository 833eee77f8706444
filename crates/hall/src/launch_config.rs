//! Launching: what every agent process is started with, whoever starts it.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use guildhall_domain::{
    Fault, Result, agents::Agent, ids::AgentId, runtimes::RuntimeProfile, settings::PUBLIC_URL,
};
use guildhall_store::{ReadTx, settings};
use guildhall_world::{
    acp::{AgentLaunch, SessionMcpServer},
    enclosure::Enclosure,
    process_environment::{self, EnvironmentSources},
    process_guard::GuardCommand,
};

use crate::Hall;

/// The word of the hidden subcommand that agents start as a tool server.
pub const BRIDGE: &str = "bridge";
/// The id of what a bridge asks for itself, and not for its client.
pub const LOOK_OF_BRIDGE: &str = "guildhall-bridge";
/// What agents know the house's own tool server by.
pub const OWN_TOOL_SERVER: &str = "guildhall";

/// What the server hands to the agents it starts.
#[derive(Clone)]
pub struct LaunchConfig {
    /// Where the owner's browser reaches the server.
    pub url: String,
    /// Where agents reach it: the listener for agents.
    pub agent_url: String,
    /// The server's own environment, of which agents get what they may have.
    pub environment: BTreeMap<String, String>,
    /// The program agents are kept by.
    pub keeper: GuardCommand,
    /// What agents and their tool servers are kept from.
    pub enclosure: Enclosure,
    /// The program that agents start with [`BRIDGE`]; absolute.
    pub bridge: PathBuf,
}

impl fmt::Debug for LaunchConfig {
    /// Without the environment's values: they are the server's own secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launching")
            .field("url", &self.url)
            .field("agent_url", &self.agent_url)
            .field("environment", &self.environment.keys())
            .field("keeper", &self.keeper)
            .field("enclosure", &self.enclosure)
            .field("bridge", &self.bridge)
            .finish()
    }
}

/// Where browsers reach this server; `own` is where those of this computer do.
pub(crate) fn public_base_url(db: &ReadTx<'_>, own: &str) -> Result<String> {
    let set = settings::get(db, &PUBLIC_URL)?.value;
    let set = set.text().trim().trim_end_matches('/');
    Ok(if set.is_empty() { own } else { set }.to_owned())
}

impl Hall {
    /// The environment of `agent`'s processes, without any token.
    pub(crate) fn environment_of(&self, agent: &Agent) -> Vec<(String, String)> {
        let launching = &self.inner.launching;
        let profile = self.runtimes().profile(&agent.runtime);
        process_environment::of_agent(EnvironmentSources {
            server: &launching.environment,
            provider: profile.map_or(&[], |profile| &profile.provider_variables),
            profile: profile.map_or(&[], |profile| &profile.env),
            url: &launching.agent_url,
            token: None,
        })
    }

    /// The tool server through which the agent of a session reaches the house.
    pub(crate) fn own_tool_server(&self, token: &str) -> SessionMcpServer {
        self.tool_server(OWN_TOOL_SERVER, token)
    }

    /// The way of a session's agent to the tool server `name`, with the session's token in its
    /// environment: other users see what a program is called with.
    pub(crate) fn tool_server(&self, name: &str, token: &str) -> SessionMcpServer {
        let launching = &self.inner.launching;
        SessionMcpServer::Stdio {
            name: name.to_owned(),
            command: launching.bridge.clone(),
            args: vec![BRIDGE.to_owned(), name.to_owned()],
            env: vec![
                (
                    process_environment::URL.to_owned(),
                    launching.agent_url.clone(),
                ),
                (
                    process_environment::AGENT_TOKEN.to_owned(),
                    token.to_owned(),
                ),
            ],
        }
    }

    /// How `program` is started in `cwd` as `agent`, with its token; a check of a runtime is
    /// nobody and has none.
    ///
    /// # Errors
    /// Faults alone.
    pub(crate) async fn launch(
        &self,
        profile: &RuntimeProfile,
        program: &Path,
        (cwd, agent, token): (&str, Option<AgentId>, Option<&str>),
    ) -> Result<AgentLaunch, Fault> {
        let enclosure = self.enclosure(agent).await?;
        let launching = &self.inner.launching;
        Ok(AgentLaunch {
            program: program.to_owned(),
            args: profile.args.clone(),
            cwd: cwd.into(),
            env: process_environment::of_agent(EnvironmentSources {
                server: &launching.environment,
                provider: &profile.provider_variables,
                profile: &profile.env,
                url: &launching.agent_url,
                token,
            }),
            keeper: launching.keeper.clone(),
            enclosure,
            agent,
            trees: self.inner.trees.clone(),
        })
    }
}
