//! The scripted agent `rehearsal`: it speaks the Agent Client Protocol over its standard input
//! and output, and what it does stands in the prompt, as directives.
//! It has real tools on real files, and no model, no key and no network; every surface calls it
//! scripted. Source: contract "Testing with coding agents" 2, contract 3.3.1.

mod agent;
mod client_requests;
mod clock;
mod connection;
pub mod directives;
mod modes;
mod session_history;
mod tool_calls;
mod tool_servers;
mod tools;
mod turn;

use std::{path::PathBuf, process::ExitCode};

use tokio::io::{AsyncRead, AsyncWrite};

pub use connection::ConnectionEnd;

/// What the agent calls itself.
pub const NAME: &str = "rehearsal";

/// Names the folder for stored sessions, before the usual places.
pub const STATE_VARIABLE: &str = "REHEARSAL_STATE_DIR";

/// The folder for stored sessions: `$REHEARSAL_STATE_DIR`, else
/// `$XDG_STATE_HOME/guildhall-rehearsal`, else `$HOME/.local/state/guildhall-rehearsal`;
/// `None` without any of them, and then sessions end with the process.
pub fn state_dir() -> Option<PathBuf> {
    let named = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    named(STATE_VARIABLE)
        .or_else(|| named("XDG_STATE_HOME").map(|dir| dir.join("guildhall-rehearsal")))
        .or_else(|| named("HOME").map(|dir| dir.join(".local/state/guildhall-rehearsal")))
}

/// Serves one client over standard input and output until its input ends.
///
/// The status is 0 after the input's end, 1 after the directive `#crash` and when the connection
/// broke. After `#hang` it ends by a signal only.
pub fn main() -> ExitCode {
    let Ok(runtime) = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
    else {
        return ExitCode::FAILURE;
    };
    let ending = runtime.block_on(run(tokio::io::stdin(), tokio::io::stdout(), state_dir()));
    // A thread that still reads the standard input must not hold the process.
    runtime.shutdown_background();
    match ending {
        ConnectionEnd::Closed => ExitCode::SUCCESS,
        ConnectionEnd::Crashed | ConnectionEnd::Broken => ExitCode::FAILURE,
    }
}

/// Serves one client over `reader` and `writer` until `reader` ends; sessions are stored below
/// `state_dir`, and nowhere without one.
pub async fn run(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    state_dir: Option<PathBuf>,
) -> ConnectionEnd {
    agent::serve(connection::open(reader, writer), state_dir).await
}
