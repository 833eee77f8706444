//! The place an answer to an agent goes; parked by whoever waits for a person.

use agent_client_protocol::v1::{
    Responder,
    schema::{
        CreateElicitationResponse, ElicitationAcceptAction, ElicitationAction,
        RequestPermissionOutcome, RequestPermissionResponse, SelectedPermissionOutcome,
    },
};
use guildhall_domain::interactions::Answer;

use super::elicitation_forms;

/// Where the answer to one question of an agent goes. Dropped, it answers "cancelled".
#[derive(Debug)]
pub struct Reply(Option<Waiting>);

#[derive(Debug)]
enum Waiting {
    Permission(Responder<RequestPermissionResponse>),
    Form(Responder<CreateElicitationResponse>),
}

impl Reply {
    pub(super) fn permission(responder: Responder<RequestPermissionResponse>) -> Self {
        Self(Some(Waiting::Permission(responder)))
    }

    pub(super) fn form(responder: Responder<CreateElicitationResponse>) -> Self {
        Self(Some(Waiting::Form(responder)))
    }

    /// Answers the agent. An answer of the other kind counts as "cancelled".
    ///
    /// Never waits; an agent that is gone is told nothing.
    pub fn send(mut self, answer: Answer) {
        self.answer(answer);
    }

    fn answer(&mut self, answer: Answer) {
        let sent = match self.0.take() {
            None => Ok(()),
            Some(Waiting::Permission(responder)) => {
                responder.respond(RequestPermissionResponse::new(match answer {
                    Answer::Selected(option) => {
                        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option))
                    }
                    Answer::Accepted(_) | Answer::Declined | Answer::Cancelled => {
                        RequestPermissionOutcome::Cancelled
                    }
                }))
            }
            Some(Waiting::Form(responder)) => {
                responder.respond(CreateElicitationResponse::new(match answer {
                    Answer::Accepted(values) if values.is_empty() => {
                        ElicitationAction::Accept(ElicitationAcceptAction::new())
                    }
                    Answer::Accepted(values) => ElicitationAction::Accept(
                        ElicitationAcceptAction::new().content(elicitation_forms::content(values)),
                    ),
                    Answer::Declined => ElicitationAction::Decline,
                    Answer::Selected(_) | Answer::Cancelled => ElicitationAction::Cancel,
                }))
            }
        };
        // An error means that the connection is over, and with it the question.
        let _ = sent;
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.answer(Answer::Cancelled);
    }
}
