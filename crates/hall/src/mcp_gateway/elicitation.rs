//! Questions of servers: each is put to a person as a question of the session whose call it came
//! of. Source: contract 4.4, "elicitation becomes a question of the session".

use std::sync::Arc;

use guildhall_domain::{
    Result,
    ids::{ApprovalId, SessionId},
    interactions::{InteractionRequest, InteractionResponse, Question, QuestionType},
    sessions::SessionState,
};
use guildhall_world::mcp::{self, ElicitationHandler, ElicitationRequest, ElicitationResult};
use serde_json::Value;

use super::mcp_connections::PendingCalls;
use crate::{
    Hall,
    interactions::{self, OpenOutcome},
    mcp_servers::ConfiguredServer,
    sessions,
};

/// What puts the questions of an entry's server to people.
pub(super) fn elicitation_handler(
    hall: &Hall,
    entry: &ConfiguredServer,
    askers: &Arc<PendingCalls>,
) -> ElicitationHandler {
    let (hall, askers) = (hall.clone(), Arc::clone(askers));
    let name = entry.kept.server.name.clone();
    Arc::new(move |elicitation: ElicitationRequest| {
        let session = askers.only(&elicitation.tags);
        let (hall, name, askers) = (hall.clone(), name.clone(), Arc::clone(&askers));
        Box::pin(async move {
            // Of which session it is nobody can say.
            let Some(session) = session else {
                return ElicitationResult::Cancel;
            };
            let Some((message, questions)) = mcp::form(&elicitation.params) else {
                return ElicitationResult::Cancel;
            };
            let message = format!("{name} asks: {message}");
            let answer = tokio::select! {
                answer = hall.elicit(session, message, questions) => answer,
                // Whoever called is gone; a server may ask on all the same.
                () = askers.left(&elicitation.tags) => Ok(ElicitationResult::Cancel),
            };
            match answer {
                Ok(answer) => answer,
                Err(error) => {
                    tracing::warn!(?error, "a tool server's question could not be asked");
                    ElicitationResult::Cancel
                }
            }
        })
    })
}

/// A question that somebody waits for; dropped before it is over, it is withdrawn.
struct PendingElicitation {
    hall: Hall,
    id: ApprovalId,
    is_over: bool,
}

impl Drop for PendingElicitation {
    fn drop(&mut self) {
        if !self.is_over {
            self.hall.withdraw_unawaited(self.id);
        }
    }
}

impl Hall {
    /// Asks in a session, and waits for the answer; dropped, the question is withdrawn.
    async fn elicit(
        &self,
        session: SessionId,
        message: String,
        questions: Vec<Question>,
    ) -> Result<ElicitationResult> {
        let is_link = matches!(
            questions[..],
            [Question {
                kind: QuestionType::Link,
                ..
            }]
        );
        let asked = InteractionRequest::Form {
            tool_call_id: None,
            message,
            questions,
        };
        // Parked before its row is written, so that no decision finds nobody to tell.
        let id = Self::new_id(ApprovalId::from_bytes);
        let answer = self.inner.waiting.register(id);
        let mut waited = PendingElicitation {
            hall: self.clone(),
            id,
            is_over: false,
        };
        let (digests, now) = (self.inner.digests.clone(), self.now());
        let opening = self
            .store()
            .write(move |tx| {
                let session = sessions::reload(tx, session)?;
                if !matches!(session.state, SessionState::Running | SessionState::Waiting) {
                    return Ok(OpenOutcome::Refused);
                }
                let opening =
                    interactions::open_elicitation(tx, &session, &asked, &digests, id, now)?;
                if matches!(opening, OpenOutcome::Asked(_)) {
                    sessions::append_counts_changed(tx, session.id, None, now)?;
                }
                Ok(opening)
            })
            .await?;
        if !matches!(opening, OpenOutcome::Asked(_)) {
            waited.is_over = true;
            return Ok(ElicitationResult::Cancel);
        }
        let answer = answer.await;
        waited.is_over = true;
        Ok(match answer {
            Ok(InteractionResponse::Accepted(_)) if is_link => {
                ElicitationResult::Accept(Value::Null)
            }
            Ok(InteractionResponse::Accepted(values)) => {
                ElicitationResult::Accept(Value::Object(values))
            }
            Ok(InteractionResponse::Declined) => ElicitationResult::Decline,
            Ok(InteractionResponse::Selected(_) | InteractionResponse::Cancelled) | Err(_) => {
                ElicitationResult::Cancel
            }
        })
    }
}
