//! The place an answer to an agent goes; parked by whoever waits for a person.

use agent_client_protocol::v1::{
    Responder,
    schema::{
        CreateElicitationResponse, ElicitationAcceptAction, ElicitationAction,
        RequestPermissionOutcome, RequestPermissionResponse, SelectedPermissionOutcome,
    },
};
use guildhall_domain::interactions::InteractionResponse;

use super::elicitation_forms;

/// Where the answer to one question of an agent goes. Dropped, it answers "cancelled".
#[derive(Debug)]
pub struct ResponseSlot(Option<PendingResponder>);

#[derive(Debug)]
enum PendingResponder {
    Permission(Responder<RequestPermissionResponse>),
    Form(Responder<CreateElicitationResponse>),
}

impl ResponseSlot {
    pub(super) fn permission(responder: Responder<RequestPermissionResponse>) -> Self {
        Self(Some(PendingResponder::Permission(responder)))
    }

    pub(super) fn form(responder: Responder<CreateElicitationResponse>) -> Self {
        Self(Some(PendingResponder::Form(responder)))
    }

    /// Answers the agent. An answer of the other kind counts as "cancelled".
    ///
    /// Never waits; an agent that is gone is told nothing.
    pub fn send(mut self, answer: InteractionResponse) {
        self.answer(answer);
    }

    fn answer(&mut self, answer: InteractionResponse) {
        let sent = match self.0.take() {
            None => Ok(()),
            Some(PendingResponder::Permission(responder)) => {
                responder.respond(RequestPermissionResponse::new(match answer {
                    InteractionResponse::Selected(option) => {
                        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option))
                    }
                    InteractionResponse::Accepted(_)
                    | InteractionResponse::Declined
                    | InteractionResponse::Cancelled => RequestPermissionOutcome::Cancelled,
                }))
            }
            Some(PendingResponder::Form(responder)) => {
                responder.respond(CreateElicitationResponse::new(match answer {
                    InteractionResponse::Accepted(values) if values.is_empty() => {
                        ElicitationAction::Accept(ElicitationAcceptAction::new())
                    }
                    InteractionResponse::Accepted(values) => ElicitationAction::Accept(
                        ElicitationAcceptAction::new().content(elicitation_forms::content(values)),
                    ),
                    InteractionResponse::Declined => ElicitationAction::Decline,
                    InteractionResponse::Selected(_) | InteractionResponse::Cancelled => {
                        ElicitationAction::Cancel
                    }
                }))
            }
        };
        // An error means that the connection is over, and with it the question.
        let _ = sent;
    }
}

impl Drop for ResponseSlot {
    fn drop(&mut self) {
        self.answer(InteractionResponse::Cancelled);
    }
}
