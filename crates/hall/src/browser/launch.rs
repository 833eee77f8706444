//! Looking for Chromium and starting it. Source: contract 7.3, 7.10.

use std::path::PathBuf;

use guildhall_domain::browser::{BrowserFailure, DisplayMode, LaunchFault, Viewport};
use guildhall_world::{
    chromium::{
        self, Chromium, ChromiumDriver, ChromiumLaunch, EventReceiver, ProfileError, SearchPaths,
        can_be_sandboxed, has_display, launch,
    },
    process_environment,
};

use crate::Hall;

/// What came of it.
pub(super) enum LaunchOutcome {
    /// A process runs.
    Process(Chromium, EventReceiver, ChromiumDriver),
    /// There is an executable; it was only looked for.
    Found,
    /// No process runs.
    Failed(BrowserFailure),
}

/// Looks for executable, display and profile, and starts the process.
pub(super) async fn start(hall: Hall, mode: DisplayMode, viewport: Viewport) -> LaunchOutcome {
    let looker = hall.clone();
    let program = match run_blocking(move || look(&looker, mode)).await {
        Ok(program) => program,
        Err(failure) => return LaunchOutcome::Failed(failure),
    };
    let launching = &hall.inner.launching;
    let how = &hall.inner.browser.how;
    if how.is_unsandboxed {
        tracing::warn!("the local browser runs without Chromium's sandbox, as was configured");
    }
    let begun = launch(&ChromiumLaunch {
        program,
        profile: profile(&hall),
        mode,
        viewport,
        env: process_environment::of_browser(&launching.environment),
        is_unsandboxed: how.is_unsandboxed,
        walled_port: how.walled_port,
        enclosure: hall.enclosure_of_browser().await,
        keeper: launching.keeper.clone(),
        trees: hall.inner.trees.clone(),
    })
    .await;
    match begun {
        Ok((chromium, happenings, running)) => {
            LaunchOutcome::Process(chromium, happenings, running)
        }
        Err(error) => {
            tracing::warn!(%error, "the local browser's keeper could not be started");
            LaunchOutcome::Failed(BrowserFailure::LaunchFailed(LaunchFault::Start))
        }
    }
}

/// Looks for an executable, and does nothing with it. None can be fetched by this release, so
/// that a person's consent to that changes nothing.
pub(super) async fn prepare(hall: Hall) -> LaunchOutcome {
    match run_blocking(move || executable(&hall)).await {
        Ok(_) => LaunchOutcome::Found,
        Err(failure) => LaunchOutcome::Failed(failure),
    }
}

/// Whether another browser uses the profile.
pub(super) async fn is_profile_in_use(hall: &Hall) -> bool {
    let folder = profile(hall);
    let used = tokio::task::spawn_blocking(move || chromium::profile(&folder)).await;
    matches!(used, Ok(Err(ProfileError::InUse)))
}

async fn run_blocking<T: Send + 'static>(
    look: impl FnOnce() -> Result<T, BrowserFailure> + Send + 'static,
) -> Result<T, BrowserFailure> {
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or(Err(BrowserFailure::LaunchFailed(LaunchFault::Start)))
}

fn look(hall: &Hall, mode: DisplayMode) -> Result<PathBuf, BrowserFailure> {
    let program = executable(hall)?;
    if mode == DisplayMode::Window && !has_display(&hall.inner.launching.environment) {
        return Err(BrowserFailure::NoDisplay);
    }
    if !hall.inner.browser.how.is_unsandboxed && !can_be_sandboxed() {
        return Err(BrowserFailure::LaunchFailed(LaunchFault::Sandbox));
    }
    chromium::profile(&profile(hall)).map_err(|error| {
        tracing::warn!(%error, "the profile of the local browser cannot be used");
        BrowserFailure::LaunchFailed(LaunchFault::Start)
    })?;
    Ok(program)
}

fn executable(hall: &Hall) -> Result<PathBuf, BrowserFailure> {
    let path = hall.inner.launching.environment.get("PATH");
    let places = SearchPaths {
        configured: hall.inner.browser.how.executable.clone(),
        path: path.map(Into::into),
        fetched: None,
    };
    chromium::executable(&places).map_err(|searched| BrowserFailure::NotInstalled {
        searched,
        can_download: false,
    })
}

fn profile(hall: &Hall) -> PathBuf {
    hall.inner.data_dir.join("browser/profile")
}
