//! Questions of servers: each is put to a person as a question of the session whose call it came
//! of. Source: contract 4.4, "elicitation becomes a question of the session".

use std::sync::Arc;

use guildhall_domain::{
    Result,
    ids::{ApprovalId, SessionId},
    interactions::{Answer, Asked, Question, QuestionType},
    sessions::SessionState,
};
use guildhall_world::mcp::{self, Elicit, Elicitation, Elicited};
use serde_json::Value;

use super::mcp_connections::Askers;
use crate::{
    Hall,
    interactions::{self, Opening},
    mcp_servers::Entry,
    sessions,
};

/// What puts the questions of an entry's server to people.
pub(super) fn to_people(hall: &Hall, entry: &Entry, askers: &Arc<Askers>) -> Elicit {
    let (hall, askers) = (hall.clone(), Arc::clone(askers));
    let name = entry.kept.server.name.clone();
    Arc::new(move |elicitation: Elicitation| {
        let session = askers.only(&elicitation.tags);
        let (hall, name, askers) = (hall.clone(), name.clone(), Arc::clone(&askers));
        Box::pin(async move {
            // Of which session it is nobody can say.
            let Some(session) = session else {
                return Elicited::Cancel;
            };
            let Some((message, questions)) = mcp::form(&elicitation.params) else {
                return Elicited::Cancel;
            };
            let message = format!("{name} asks: {message}");
            let answer = tokio::select! {
                answer = hall.put_to_person(session, message, questions) => answer,
                // Whoever called is gone; a server may ask on all the same.
                () = askers.left(&elicitation.tags) => Ok(Elicited::Cancel),
            };
            match answer {
                Ok(answer) => answer,
                Err(error) => {
                    tracing::warn!(?error, "a tool server's question could not be asked");
                    Elicited::Cancel
                }
            }
        })
    })
}

/// A question that somebody waits for; dropped before it is over, it is withdrawn.
struct Waited {
    hall: Hall,
    id: ApprovalId,
    is_over: bool,
}

impl Drop for Waited {
    fn drop(&mut self) {
        if !self.is_over {
            self.hall.asker_left(self.id);
        }
    }
}

impl Hall {
    /// Asks in a session, and waits for the answer; dropped, the question is withdrawn.
    async fn put_to_person(
        &self,
        session: SessionId,
        message: String,
        questions: Vec<Question>,
    ) -> Result<Elicited> {
        let is_link = matches!(
            questions[..],
            [Question {
                kind: QuestionType::Link,
                ..
            }]
        );
        let asked = Asked::Form {
            tool_call_id: None,
            message,
            questions,
        };
        // Parked before its row is written, so that no decision finds nobody to tell.
        let id = Self::new_id(ApprovalId::from_bytes);
        let answer = self.inner.waiting.park(id);
        let mut waited = Waited {
            hall: self.clone(),
            id,
            is_over: false,
        };
        let (digests, now) = (self.inner.digests.clone(), self.now());
        let opening = self
            .store()
            .write(move |tx| {
                let session = sessions::again(tx, session)?;
                if !matches!(session.state, SessionState::Running | SessionState::Waiting) {
                    return Ok(Opening::Refused);
                }
                let opening =
                    interactions::open_of_server(tx, &session, &asked, &digests, id, now)?;
                if matches!(opening, Opening::Asked(_)) {
                    sessions::recount(tx, session.id, None, now)?;
                }
                Ok(opening)
            })
            .await?;
        if !matches!(opening, Opening::Asked(_)) {
            waited.is_over = true;
            return Ok(Elicited::Cancel);
        }
        let answer = answer.await;
        waited.is_over = true;
        Ok(match answer {
            Ok(Answer::Accepted(_)) if is_link => Elicited::Accept(Value::Null),
            Ok(Answer::Accepted(values)) => Elicited::Accept(Value::Object(values)),
            Ok(Answer::Declined) => Elicited::Decline,
            Ok(Answer::Selected(_) | Answer::Cancelled) | Err(_) => Elicited::Cancel,
        })
    }
}
