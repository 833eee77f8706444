//! Why a verb stopped: one plain sentence that `main` prints once.

use std::fmt;

/// What every fallible function of these commands returns.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// One sentence without a final stop that says what to do or which step failed.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    /// A failure that reads as `sentence`.
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Gives an error of the operating system the words for what was being done.
pub(crate) trait WithContext<T> {
    /// Turns the error into "could not `deed`: cause".
    fn with_context(self, deed: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> WithContext<T> for std::result::Result<T, E> {
    fn with_context(self, deed: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| Failure::new(format!("could not {deed}: {cause}")))
    }
}
