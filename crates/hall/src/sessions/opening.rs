//! Opening: getting a session's agent ready for a turn.

use std::path::PathBuf;

use guildhall_domain::{
    Error, Refusal, Result,
    ids::{AuthorId, SessionId},
    outcome::Thing,
    runtimes::Capabilities,
    sessions::Session,
    usage::UsageScope,
};
use guildhall_store::agents;
use guildhall_world::acp::{self, How, LinkError, OpenSession, OptionCategory};

use super::processes::{Process, Seat, Use};
use crate::{Hall, runtimes::note_probed};

/// An agent that is ready for a turn of a session.
pub(super) struct Stage {
    pub(super) process: Process,
    /// The agent's id of the session.
    pub(super) native: String,
    /// The agent's author.
    pub(super) author: AuthorId,
    pub(super) capabilities: Capabilities,
    pub(super) usage_scope: UsageScope,
    /// Keeps the process from idling.
    _use: Use,
}

impl Stage {
    /// Notes the mode that is in force.
    pub(super) fn note_mode(&self, session: SessionId, native: String) {
        if let Some(seat) = self.process.seat(session) {
            let mode = Some(native);
            self.process.take_seat(session, Seat { mode, ..seat });
        }
    }
}

impl Hall {
    /// Gets the session's agent ready: its process runs, the session is open in it, and mode,
    /// model and effort are in force.
    ///
    /// # Errors
    /// Why it is not, for a person.
    pub(super) async fn open_stage(&self, session: &Session) -> Result<Stage, String> {
        let (id, kind) = (session.agent_id, session.runtime.clone());
        let hall = self.clone();
        let found = self.store().read(move |db| {
            let agent = agents::by_id(db, id)?.ok_or(Refusal::NotFound(Thing::Agent))?;
            Ok((agent, hall.capabilities_in(db, &kind)?))
        });
        let (agent, capabilities) = found.await.map_err(said)?.value;
        let profile = self
            .runtimes()
            .find(&session.runtime)
            .map_err(|refusal| said(refusal.into()))?;
        let usage_scope = profile.usage_scope;
        let (process, in_use) = self.process_of(&agent).await?;
        let mut stage = Stage {
            native: String::new(),
            author: agent.author_id,
            capabilities,
            usage_scope,
            process,
            _use: in_use,
        };
        match stage.process.seat(session.id) {
            Some(seat) => stage.native = seat.native,
            None => self.seat(&mut stage, session).await?,
        }
        self.apply(&mut stage, session).await?;
        Ok(stage)
    }

    /// Opens the session in its agent's process: the one of before where the agent can, else a
    /// new one, which a notice says.
    async fn seat(&self, stage: &mut Stage, session: &Session) -> Result<(), String> {
        let facts = &stage.process.facts;
        let known = &session.runtime_session_id;
        let can_resume = facts.load_session || facts.resume_session;
        let ask = |how| OpenSession {
            cwd: PathBuf::from(&session.cwd),
            how,
            mcp_servers: Vec::new(),
        };
        let link = &stage.process.link;
        let resumed = if !known.is_empty() && can_resume {
            link.open(ask(How::Resume(known.clone()))).await.ok()
        } else {
            None
        };
        let opened = match resumed {
            // What mode an agent takes up again, and what it says of it, differs.
            Some(opened) => acp::Opened {
                current_mode: None,
                ..opened
            },
            None => {
                let opened = link
                    .open(ask(How::New))
                    .await
                    .map_err(|error| error.to_string())?;
                if !known.is_empty() {
                    self.say_forgotten(session.id).await;
                }
                opened
            }
        };
        stage.capabilities = self.learn(&session.runtime, facts, &opened).await?;
        stage.native = opened.session.clone();
        let seat = Seat {
            native: opened.session,
            mode: opened.current_mode,
            ..Seat::default()
        };
        stage.process.take_seat(session.id, seat);
        Ok(())
    }

    /// Puts the session's mode, model and effort in force. Source: contract 3.3.3, 3.6.4.
    pub(super) async fn apply(&self, stage: &mut Stage, session: &Session) -> Result<(), String> {
        let Some(mut seat) = stage.process.seat(session.id) else {
            return Err("the session is not open in its agent".to_owned());
        };
        let link = &stage.process.link;
        if !session.permission_mode.is_empty() {
            let mode = stage.capabilities.mode(&session.permission_mode);
            let native = mode.map_err(|refusal| said(refusal.into()))?.native.clone();
            if seat.mode.as_deref() != Some(native.as_str()) {
                link.set_mode(&seat.native, &native)
                    .await
                    .map_err(|error| {
                        let mode = &session.permission_mode;
                        format!("MODE_NOT_APPLIED: the agent did not take the mode {mode}: {error}")
                    })?;
                seat.mode = Some(native);
                stage.process.take_seat(session.id, seat.clone());
            }
        }
        for (category, wanted, what) in [
            (OptionCategory::Model, &session.model, "model"),
            (OptionCategory::Effort, &session.effort, "effort"),
        ] {
            let known = match category {
                OptionCategory::Effort => &mut seat.effort,
                OptionCategory::Model | OptionCategory::Mode => &mut seat.model,
            };
            if wanted.is_empty() || known == wanted {
                continue;
            }
            match link.set_option(&seat.native, category, wanted).await {
                Ok(()) => known.clone_from(wanted),
                Err(LinkError::NotOffered(_)) => {
                    return Err(format!("the agent does not let its {what} be chosen"));
                }
                Err(error) => {
                    return Err(format!(
                        "the agent did not take the {what} {wanted}: {error}"
                    ));
                }
            }
            stage.process.take_seat(session.id, seat.clone());
        }
        Ok(())
    }

    async fn say_forgotten(&self, session: SessionId) {
        let now = self.now();
        let text = "The agent could not take its earlier conversation up again; it does not \
                    remember what was said before.";
        self.insist(move |tx| super::notice(tx, session, "history_lost", text, now))
            .await;
    }

    /// Keeps what a runtime said of itself; answers what it can do.
    async fn learn(
        &self,
        kind: &str,
        facts: &acp::Initialized,
        opened: &acp::Opened,
    ) -> Result<Capabilities, String> {
        let probed = crate::runtimes::probed(facts, opened);
        let (hall, kind, now) = (self.clone(), kind.to_owned(), self.now());
        self.store()
            .write(move |tx| {
                note_probed(tx, hall.runtimes(), &kind, probed, None, now)?;
                hall.capabilities_in(tx, &kind)
            })
            .await
            .map_err(said)
    }
}

/// What a refusal or fault says to a person who looks at a session.
fn said(error: Error) -> String {
    match error {
        Error::Refusal(refusal) => format!("{refusal:?}"),
        Error::Fault(fault) => fault.to_string(),
        Error::Repeated(_) => String::new(),
    }
}
