//! Trying a runtime out: it is started, asked who it is, and opens a session in an empty folder.

use std::{convert::Infallible, path::PathBuf, sync::Arc, time::Duration};

use guildhall_domain::{
    Refusal, Result,
    callers::{Gate, Owner},
    errors::ResourceKind,
    limits,
    runtimes::{ReportedCapabilities, RuntimeProfile, RuntimeStatus},
};
use guildhall_store::runtimes as rows;
use guildhall_world::{
    acp::{
        self, AgentCallError, AgentConnection, AgentDriver, AgentLaunch, AgentMessage, OpenMode,
        OpenSessionRequest,
    },
    runtime_programs::TempFolder,
};
use tokio::sync::mpsc;

use super::{append_changed, record_reported, reported_capabilities, status};
use crate::{Hall, idempotency::IdempotentWrite};

impl Hall {
    /// Starts a runtime, opens a session in an empty folder, and keeps what it said.
    ///
    /// What goes wrong is told in the answer's `problem` and is no error. A repeat is answered as
    /// the first time, though the runtime is started again before that is known.
    ///
    /// # Errors
    /// `NotFound` when there can be no such runtime.
    ///
    /// Source: contract 3.3.1.
    pub async fn check_runtime(
        &self,
        by: &Owner,
        kind: &str,
        once: IdempotentWrite<RuntimeStatus>,
    ) -> Result<RuntimeStatus> {
        self.rescan_runtimes().await?;
        let registry = Arc::clone(self.runtimes());
        let profile = registry
            .profile(kind)
            .ok_or(Refusal::NotFound(ResourceKind::Runtime))?;
        let profile = profile.clone();
        let permit = registry.checks.acquire().await;
        let tried = self.try_runtime(&profile).await;
        drop(permit);
        let (actor, now) = (by.caller().author, self.now());
        let of = Arc::clone(&registry);
        self.store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    let problem = match tried {
                        Ok(probed) => {
                            record_reported(tx, &of, &profile.kind, probed, Some(actor), now)?;
                            String::new()
                        }
                        Err(problem) => problem,
                    };
                    append_changed(
                        tx,
                        &of,
                        &profile.kind,
                        (Some(now), problem),
                        Some(actor),
                        now,
                    )?;
                    let version = of.installed_version(&profile.kind);
                    let probed = rows::probed(tx, &profile.kind, &version)?;
                    let told = rows::last_check(tx, &profile.kind)?;
                    Ok(status(&of, &profile, probed.as_ref(), told.as_ref()))
                })
            })
            .await
    }

    /// What the runtime says of itself, or one sentence on why it says nothing.
    async fn try_runtime(&self, profile: &RuntimeProfile) -> Result<ReportedCapabilities, String> {
        let place = self.runtimes().place(&profile.kind);
        let place = place.ok_or_else(|| profile.missing())?;
        let folder =
            TempFolder::new().map_err(|error| format!("No folder to try it in: {error}"))?;
        let cwd = folder.path().to_owned();
        let at = (cwd.to_str().unwrap_or_default(), None, None);
        let launch = self.launch(profile, &place.path, at).await;
        let launch = launch.map_err(|fault| sentence(&fault.to_string()))?;
        let (link, heard, running) = launch_it(launch).await?;
        self.tasks().spawn("runtime check", self.now(), async move {
            // How it ended is told by the answer it did not give.
            let _ = running.await;
            drop(folder);
        });
        let link = StopOnDrop(link);
        let limit = Duration::from_secs(limits::RUNTIME_CHECK_MAX_S);
        // Both branches may be dropped half way: the process is stopped in any case.
        let said = tokio::select! {
            said = tokio::time::timeout(limit, initialize(&link.0, cwd)) => said,
            never = discard_messages(heard) => match never {},
        };
        match said {
            Ok(said) => said.map_err(|error| sentence(&error.to_string())),
            Err(_) => Err(format!(
                "It did not answer within {} seconds.",
                limit.as_secs()
            )),
        }
    }
}

/// Stops the process when nobody waits for it any more.
struct StopOnDrop(AgentConnection);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

async fn launch_it(
    launch: AgentLaunch,
) -> Result<(AgentConnection, mpsc::Receiver<AgentMessage>, AgentDriver), String> {
    let launched = acp::launch(launch).await;
    launched.map_err(|error| sentence(&error.to_string()))
}

/// Greets the agent and opens a session in an empty folder.
async fn initialize(
    link: &AgentConnection,
    cwd: PathBuf,
) -> Result<ReportedCapabilities, AgentCallError> {
    let greeted = link.initialize().await?;
    let opened = link
        .open(OpenSessionRequest {
            cwd,
            how: OpenMode::New,
            mcp_servers: Vec::new(),
        })
        .await?;
    link.close_session(&opened.session).await;
    Ok(reported_capabilities(&greeted, &opened))
}

/// Takes what the agent says beside its answers; whatever it asks is answered as cancelled.
async fn discard_messages(mut heard: mpsc::Receiver<AgentMessage>) -> Infallible {
    while heard.recv().await.is_some() {}
    // Its end is told by the question that it leaves unanswered.
    std::future::pending().await
}

/// One line of bounded length, for a person.
fn sentence(text: &str) -> String {
    let is_shown = |letter: &char| !letter.is_control();
    let line: String = text
        .replace(['\n', '\r', '\t'], " ")
        .chars()
        .filter(is_shown)
        .take(limits::PROBLEM_CHARS_MAX)
        .collect();
    let mut letters = line.trim().chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    let mut sentence = first.unwrap_or_default() + letters.as_str();
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}
