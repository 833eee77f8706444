//! `guildhall sessions canvas`: the documents of a session. What is done is `canvas`'s.

use clap::Subcommand;
use serde_json::json;

use super::{
    canvas::{
        self, CanvasOwner, ChangeDocumentArgs, DocumentArg, DocumentRequestArgs, OpenDocumentArgs,
        ReplaceDocumentArgs,
    },
    cli_context::CliContext,
    failure::Failure,
    request_target::RequestTarget,
    sessions::{self, SessionArg},
};

/// What can be done with a session's canvas.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the documents of a session, the front one first
    #[command(after_help = "Example:\n  guildhall sessions canvas list 0199…")]
    List(SessionArg),
    /// Shows one document
    #[command(after_help = "Example:\n  guildhall sessions canvas show 0199… Plan")]
    Show(DocumentArg<SessionArg>),
    /// Opens a document in front of the others; the same one again brings it to the front
    #[command(
        after_help = "Examples:\n  guildhall sessions canvas open 0199… file src/main.rs\n  guildhall sessions canvas open 0199… markdown plan.md --title Plan --pin"
    )]
    Open(OpenDocumentArgs<SessionArg>),
    /// Replaces what a document shows
    #[command(
        after_help = "Example:\n  guildhall sessions canvas replace 0199… Plan markdown plan.md"
    )]
    Replace(ReplaceDocumentArgs<SessionArg>),
    /// Keeps a document however full the canvas is
    #[command(after_help = "Example:\n  guildhall sessions canvas pin 0199… Plan")]
    Pin(ChangeDocumentArgs<SessionArg>),
    /// Lets a document go when the canvas is full
    #[command(after_help = "Example:\n  guildhall sessions canvas unpin 0199… Plan")]
    Unpin(ChangeDocumentArgs<SessionArg>),
    /// Moves a document to the front of the list
    #[command(after_help = "Example:\n  guildhall sessions canvas activate 0199… Plan")]
    Activate(ChangeDocumentArgs<SessionArg>),
    /// Closes a document
    #[command(after_help = "Example:\n  guildhall sessions canvas close 0199… Plan")]
    Close(ChangeDocumentArgs<SessionArg>),
    /// Keeps others from changing a document for 45 seconds; repeat it to keep on
    #[command(after_help = "Example:\n  guildhall sessions canvas lock 0199… Plan")]
    Lock(DocumentRequestArgs<SessionArg>),
    /// Lets others change a document again
    #[command(after_help = "Example:\n  guildhall sessions canvas unlock 0199… Plan")]
    Unlock(DocumentRequestArgs<SessionArg>),
    /// Reads a document's file anew, after another file took its place
    #[command(after_help = "Example:\n  guildhall sessions canvas reload 0199… Plan --json")]
    Reload(DocumentRequestArgs<SessionArg>),
}

impl CanvasOwner for SessionArg {
    async fn canvas(&self, _desk: &CliContext) -> Result<RequestTarget, Failure> {
        Ok(sessions::target(self).push_segment("canvas"))
    }
}

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
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
