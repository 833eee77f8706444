//! A program of an enclosed agent that tried to run as another user: said once, in the transcript.

use guildhall_domain::{
    Result,
    ids::MessageId,
    transcript::{Message, MessagePart, MessageRole, MessageState, ToolCall},
};
use guildhall_store::{Tx, authors, messages};

use super::{
    super::{self as sessions, driver::WriteResult},
    TurnLoop,
};
use crate::Hall;

/// What is said.
const PRIVILEGES_UNAVAILABLE: &str = "A program tried to run as another user, as sudo does. \
    Agents in the enclosure cannot do that. Run the command yourself if you expected it.";

impl TurnLoop {
    /// Says it when a call is the first of this process that failed for it.
    pub(super) async fn notice_privileges(&mut self, call: &ToolCall) -> WriteResult<()> {
        if !call.was_denied_privileges() || !self.stage.process.claim_privileges_notice() {
            return Ok(());
        }
        // The call first, then what is said about it.
        self.write().await?;
        let (session, turn, now) = (self.job.session.id, self.turn, self.hall.now());
        let id = Hall::new_id(MessageId::from_bytes);
        let say = move |tx: &mut Tx<'_>| -> Result<()> {
            let message = Message {
                id,
                seq: 0,
                session_id: session,
                turn_id: Some(turn),
                role: MessageRole::Notice,
                author_id: authors::system(tx)?,
                state: MessageState::Complete,
                created_at: now,
                parts: Vec::new(),
            };
            messages::insert(tx, &message)?;
            let text = PRIVILEGES_UNAVAILABLE.to_owned();
            messages::put_part(tx, id, 0, &MessagePart::Text { text })?;
            let code = "privileges_unavailable";
            sessions::notice(tx, session, code, PRIVILEGES_UNAVAILABLE, now)
        };
        self.hall.write_until_accepted(say).await
    }
}
