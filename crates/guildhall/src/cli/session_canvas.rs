//! `guildhall sessions canvas`: the documents of a session. What is done is `canvas`'s.

use clap::Subcommand;
use serde_json::json;

use super::{
    canvas::{self, Ask, Change, Document, Open, Place, Replace},
    cli_context::Desk,
    failure::Failure,
    request_target::Target,
    sessions::{self, Session},
};

/// What can be done with a session's canvas.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the documents of a session, the front one first
    #[command(after_help = "Example:\n  guildhall sessions canvas list 0199…")]
    List(Session),
    /// Shows one document
    #[command(after_help = "Example:\n  guildhall sessions canvas show 0199… Plan")]
    Show(Document<Session>),
    /// Opens a document in front of the others; the same one again brings it to the front
    #[command(
        after_help = "Examples:\n  guildhall sessions canvas open 0199… file src/main.rs\n  guildhall sessions canvas open 0199… markdown plan.md --title Plan --pin"
    )]
    Open(Open<Session>),
    /// Replaces what a document shows
    #[command(
        after_help = "Example:\n  guildhall sessions canvas replace 0199… Plan markdown plan.md"
    )]
    Replace(Replace<Session>),
    /// Keeps a document however full the canvas is
    #[command(after_help = "Example:\n  guildhall sessions canvas pin 0199… Plan")]
    Pin(Change<Session>),
    /// Lets a document go when the canvas is full
    #[command(after_help = "Example:\n  guildhall sessions canvas unpin 0199… Plan")]
    Unpin(Change<Session>),
    /// Moves a document to the front of the list
    #[command(after_help = "Example:\n  guildhall sessions canvas activate 0199… Plan")]
    Activate(Change<Session>),
    /// Closes a document
    #[command(after_help = "Example:\n  guildhall sessions canvas close 0199… Plan")]
    Close(Change<Session>),
    /// Keeps others from changing a document for 45 seconds; repeat it to keep on
    #[command(after_help = "Example:\n  guildhall sessions canvas lock 0199… Plan")]
    Lock(Ask<Session>),
    /// Lets others change a document again
    #[command(after_help = "Example:\n  guildhall sessions canvas unlock 0199… Plan")]
    Unlock(Ask<Session>),
    /// Reads a document's file anew, after another file took its place
    #[command(after_help = "Example:\n  guildhall sessions canvas reload 0199… Plan --json")]
    Reload(Ask<Session>),
}

impl Place for Session {
    async fn canvas(&self, _desk: &Desk) -> Result<Target, Failure> {
        Ok(sessions::target(self).then("canvas"))
    }
}

pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(session) => canvas::list(desk, &session).await,
        Verb::Show(document) => canvas::get(desk, &document).await,
        Verb::Open(ask) => canvas::open(desk, ask).await,
        Verb::Replace(ask) => canvas::replace(desk, ask).await,
        Verb::Pin(ask) => canvas::change(desk, &ask, json!({"pinned": true})).await,
        Verb::Unpin(ask) => canvas::change(desk, &ask, json!({"pinned": false})).await,
        Verb::Activate(ask) => canvas::change(desk, &ask, json!({"activate": true})).await,
        Verb::Close(ask) => canvas::close(desk, &ask).await,
        Verb::Lock(ask) => canvas::edit(desk, &ask, true).await,
        Verb::Unlock(ask) => canvas::edit(desk, &ask, false).await,
        Verb::Reload(ask) => canvas::reload(desk, &ask).await,
    }
}
