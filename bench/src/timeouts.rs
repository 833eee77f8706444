//! Waiting, never for ever: what hangs ends the run with a sentence that says what it was.

use std::time::Duration;

use tokio::time::timeout;

use crate::{Failure, Result};

/// How long anything may say nothing before the run is given up. Nothing that is measured here
/// comes near it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What `awaited` comes to, within [`PATIENCE`].
///
/// # Errors
/// Its own, and that `what` says nothing.
pub(crate) async fn with_timeout<T, E: Into<Failure>>(
    what: &str,
    awaited: impl Future<Output = std::result::Result<T, E>>,
) -> Result<T> {
    within(PATIENCE, what, awaited).await
}

async fn within<T, E: Into<Failure>>(
    limit: Duration,
    what: &str,
    awaited: impl Future<Output = std::result::Result<T, E>>,
) -> Result<T> {
    match timeout(limit, awaited).await {
        Ok(outcome) => outcome.map_err(Into::into),
        Err(_) => Err(format!("{what}: nothing came for {} s", limit.as_secs()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_never_comes_is_told_by_its_name() {
        let never = std::future::pending::<Result<()>>();
        let failure = within(Duration::ZERO, "the answer", never).await;
        let failure = failure.unwrap_err().to_string();
        assert_eq!(failure, "the answer: nothing came for 0 s");
        let there = with_timeout("the answer", async { Ok::<_, Failure>(3) }).await;
        assert_eq!(there.unwrap(), 3);
    }
}
