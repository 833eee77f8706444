//! Launching: what every agent process is started with, whoever starts it.

use std::{collections::BTreeMap, path::Path};

use guildhall_domain::{ids::AgentId, runtimes::Profile};
use guildhall_world::{
    acp::Launch,
    environment::{self, Sources},
    keeper::KeeperCommand,
};

use crate::Hall;

/// What the server hands to the agents it starts.
#[derive(Clone, Debug)]
pub struct Launching {
    /// Where agents reach the server.
    pub url: String,
    /// The server's own environment, of which agents get what they may have.
    pub environment: BTreeMap<String, String>,
    /// The program agents are kept by.
    pub keeper: KeeperCommand,
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
