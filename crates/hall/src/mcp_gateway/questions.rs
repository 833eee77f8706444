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

use super::lines::Askers;
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
        let (hall, name) = (hall.clone(), name.clone());
        Box::pin(async move {
            // Of which session it is nobody can say.
            let Some(session) = session else {
                return Elicited::Cancel;
            };
            let Some((message, questions)) = mcp::form(&elicitation.params) else {
                return Elicited::Cancel;
            };
            let message = format!("{name} asks: {message}");
            match hall.put_to_person(session, message, questions).await {
                Ok(answer) => answer,
                Err(error) => {
                    tracing::warn!(?error, "a tool server's question could not be asked");
                    Elicited::Cancel
                }
            }
        })
    })
}

impl Hall {
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
        let (digests, now) = (self.inner.digests.clone(), self.now());
        let opening = self
            .store()
            .write(move |tx| {
                let session = sessions::again(tx, session)?;
                if !matches!(session.state, SessionState::Running | SessionState::Waiting) {
                    return Ok(Opening::Refused);
                }
                let opening = interactions::open(tx, &session, None, &asked, &digests, id, now)?;
                if matches!(opening, Opening::Asked(_)) {
                    sessions::recount(tx, session.id, None, now)?;
                }
                Ok(opening)
            })
            .await?;
        if !matches!(opening, Opening::Asked(_)) {
            return Ok(Elicited::Cancel);
        }
        Ok(match answer.await {
            Ok(Answer::Accepted(_)) if is_link => Elicited::Accept(Value::Null),
            Ok(Answer::Accepted(values)) => Elicited::Accept(Value::Object(values)),
            Ok(Answer::Declined) => Elicited::Decline,
            Ok(Answer::Selected(_) | Answer::Cancelled) | Err(_) => Elicited::Cancel,
        })
    }
}
