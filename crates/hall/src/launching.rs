//! Launching: what every agent process is started with, whoever starts it.

use std::{collections::BTreeMap, fmt, path::Path};

use guildhall_domain::{ids::AgentId, runtimes::Profile};
use guildhall_world::{
    acp::Launch,
    environment::{self, Sources},
    keeper::KeeperCommand,
};

use crate::Hall;

/// What the server hands to the agents it starts.
#[derive(Clone)]
pub struct Launching {
    /// Where agents reach the server.
    pub url: String,
    /// The server's own environment, of which agents get what they may have.
    pub environment: BTreeMap<String, String>,
    /// The program agents are kept by.
    pub keeper: KeeperCommand,
}

impl fmt::Debug for Launching {
    /// Without the environment's values: they are the server's own secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launching")
            .field("url", &self.url)
            .field("environment", &self.environment.keys())
            .field("keeper", &self.keeper)
            .finish()
    }
}

impl Hall {
    /// How `program` is started in `cwd` as `agent`, with its token; a check of a runtime is
    /// nobody and has none.
    pub(crate) fn launch(
        &self,
        profile: &Profile,
        program: &Path,
        (cwd, agent, token): (&str, Option<AgentId>, Option<&str>),
    ) -> Launch {
        let launching = &self.inner.launching;
        Launch {
            program: program.to_owned(),
            args: profile.args.clone(),
            cwd: cwd.into(),
            env: environment::of_agent(Sources {
                server: &launching.environment,
                provider: &profile.provider_variables,
                profile: &profile.env,
                url: &launching.url,
                token,
            }),
            keeper: launching.keeper.clone(),
            agent,
            trees: self.inner.trees.clone(),
        }
    }
}
