//! A turn: the directives of one prompt, carried out in order until one ends it or a cancel does.

use std::time::Duration;

use agent_client_protocol::{
    Error,
    v1::{
        ConnectionTo,
        schema::{
            AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ContentBlock,
            ContentChunk, Cost, CurrentModeUpdate, Plan, PlanEntry, SessionModeId,
            SessionNotification, SessionUpdate, TextContent, ToolCallStatus, ToolCallUpdate,
            ToolCallUpdateFields, UnstructuredCommandInput, UsageUpdate,
        },
    },
};
use serde_json::Value;
use tokio::sync::watch;

use crate::{
    agent::AgentSession,
    client_requests::{self, PermissionResponse},
    clock,
    connection::{ClientRole, ConnectionFault},
    directives::{self, Directive, StopReason, UsageDirective},
    modes::{AgentMode, CallEffect, ModeDecision},
    session_history::{HistoryFolder, RecordedCall},
    tool_calls::{self, PlannedCall, ToolInput},
    tools::ToolOutcome,
};

/// The size of the context that the agent claims to have, in tokens.
const CONTEXT_SIZE: u64 = 200_000;
/// What a turn used when no directive says so.
const USUAL: UsageDirective = UsageDirective {
    input: 10,
    output: 5,
    cost: 0.0,
};

/// A turn under way.
pub(crate) struct TurnRun<'a> {
    pub(crate) session: &'a AgentSession,
    pub(crate) history: &'a HistoryFolder,
    pub(crate) to: &'a ConnectionTo<ClientRole>,
    /// Whether the client takes forms.
    pub(crate) has_forms: bool,
    /// When the prompt came, see [`clock::now_ns`].
    pub(crate) came_ns: u64,
    cancelled: watch::Receiver<bool>,
    figures: UsageDirective,
    has_spoken: bool,
    is_late: bool,
    partial: Option<bool>,
    is_twice: bool,
}

/// How a turn ended.
pub(crate) struct TurnResult {
    /// Why.
    pub(crate) reason: StopReason,
    /// What it used.
    pub(crate) figures: UsageDirective,
    /// Whether it goes on talking although it was cancelled.
    pub(crate) is_late: bool,
}

/// Whether the turn goes on after a step.
enum StepOutcome {
    On,
    End(StopReason),
}

impl<'a> TurnRun<'a> {
    /// A turn of `session`, before its first step.
    pub(crate) fn new(
        session: &'a AgentSession,
        history: &'a HistoryFolder,
        to: &'a ConnectionTo<ClientRole>,
        has_forms: bool,
        came_ns: u64,
    ) -> Self {
        Self {
            session,
            history,
            to,
            has_forms,
            came_ns,
            cancelled: session.cancelled(),
            figures: USUAL,
            has_spoken: false,
            is_late: false,
            partial: None,
            is_twice: false,
        }
    }

    /// Carries out what `prompt` says.
    ///
    /// # Errors
    /// With the line, when a directive cannot be read or carried out; nothing has happened when
    /// one could not be read. When the client is gone or answers with an error.
    pub(crate) async fn run_directives(
        mut self,
        prompt: &str,
        approved: &str,
    ) -> Result<TurnResult, Error> {
        let script = directives::parse(prompt).map_err(|error| refusal(error.to_string()))?;
        let approved = approved_titles(approved);
        let calls = script.iter().filter_map(|directive| match directive {
            Directive::Call(call) => Some(call),
            _ => None,
        });
        for call in calls {
            read_call(call)?;
        }
        for title in &approved {
            self.repeat(title).await?;
        }
        if script.is_empty() && approved.is_empty() {
            self.say(&introduction())?;
        }
        let mut reason = StopReason::EndTurn;
        for directive in script {
            if self.is_cancelled() {
                break;
            }
            if let StepOutcome::End(why) = self.step(directive).await? {
                reason = why;
                break;
            }
        }
        self.close(reason)
    }

    fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }

    async fn step(&mut self, directive: Directive) -> Result<StepOutcome, Error> {
        match directive {
            Directive::Say(text) => self.say(&text)?,
            Directive::Think(text) => self.tell(SessionUpdate::AgentThoughtChunk(chunk(&text)))?,
            Directive::Call(call) => {
                let call = read_call(&call)?;
                self.call(call).await?;
            }
            Directive::Plan(entries) => self.tell(plan(entries)?)?,
            Directive::Ask(schema) => self.ask(&schema).await?,
            Directive::Slow(ms) => self.pause(Duration::from_millis(ms)).await,
            Directive::Usage(figures) => self.figures = figures,
            Directive::Mode(id) => self.switch(&id)?,
            Directive::Commands(count) => self.tell(commands(count))?,
            Directive::Stop(reason) => return Ok(StepOutcome::End(reason)),
            Directive::Crash => return self.vanish(&ConnectionFault::Crash).await,
            Directive::Hang => return self.vanish(&ConnectionFault::Hang).await,
            Directive::Garbage(lines) => self.mischief(&ConnectionFault::Garbage(lines))?,
            Directive::Flood(mib) => {
                let session = self.session.id.clone();
                self.mischief(&ConnectionFault::Flood { session, mib })?;
            }
            Directive::LongLine(mib) => self.mischief(&ConnectionFault::LongLine(mib))?,
            Directive::Late => self.is_late = true,
            Directive::Partial { opaque } => self.partial = Some(opaque),
            Directive::Twice => self.is_twice = true,
            Directive::Clock => {
                let times = format!("clock {} {} ", self.came_ns, clock::now_ns());
                self.tell(SessionUpdate::AgentMessageChunk(chunk(&times)))?;
            }
            Directive::Status(_) => {
                return Err(refusal(
                    "#status is for the model server, and there is none here".to_owned(),
                ));
            }
        }
        Ok(StepOutcome::On)
    }

    /// Tells the client, and keeps it for the next replay.
    fn tell(&self, update: SessionUpdate) -> Result<(), Error> {
        self.session.note(serde_json::to_value(&update)?);
        self.send(update)
    }

    fn send(&self, update: SessionUpdate) -> Result<(), Error> {
        self.to
            .send_notification(SessionNotification::new(self.session.id.clone(), update))
    }

    /// Says `text` in word pieces, on a line of its own after the first.
    fn say(&mut self, text: &str) -> Result<(), Error> {
        if std::mem::replace(&mut self.has_spoken, true) {
            self.tell(SessionUpdate::AgentMessageChunk(chunk("\n")))?;
        }
        text.split_inclusive(' ')
            .try_for_each(|piece| self.tell(SessionUpdate::AgentMessageChunk(chunk(piece))))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "pausing is what the directive #slow is for"
    )]
    async fn pause(&mut self, time: Duration) {
        self.unless_cancelled(tokio::time::sleep(time)).await;
    }

    /// What `waiting` comes to; `None` when the cancel came first.
    async fn unless_cancelled<T>(&mut self, waiting: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            _ = self.cancelled.wait_for(|cancelled| *cancelled) => None,
            result = waiting => Some(result),
        }
    }

    fn mischief(&self, mischief: &ConnectionFault) -> Result<(), Error> {
        self.to.send_notification(mischief.message()?)
    }

    /// Does what the process does not come back from.
    async fn vanish(&self, mischief: &ConnectionFault) -> Result<StepOutcome, Error> {
        self.keep();
        self.mischief(mischief)?;
        std::future::pending().await
    }

    fn switch(&self, id: &str) -> Result<(), Error> {
        let mode = AgentMode::named(id).ok_or_else(|| {
            refusal(format!(
                "cannot carry out the line `#mode {id}`: there is no such mode"
            ))
        })?;
        self.session.set_mode(mode);
        let update = CurrentModeUpdate::new(SessionModeId::new(mode.id()));
        self.send(SessionUpdate::CurrentModeUpdate(update))
    }

    async fn ask(&mut self, schema: &Value) -> Result<(), Error> {
        if !self.has_forms {
            return Err(refusal(
                "cannot carry out #ask: the client takes no forms".to_owned(),
            ));
        }
        let (to, session) = (self.to, self.session.id.as_str());
        let asking = client_requests::form(to, session, None, schema);
        match self.unless_cancelled(asking).await.transpose()? {
            Some(Some(answers)) => self.say(&format!("Answers: {answers}")),
            Some(None) => self.say("Nobody answered."),
            None => Ok(()),
        }
    }

    /// Makes again, exactly, the last call that was asked about under this title.
    async fn repeat(&mut self, title: &str) -> Result<(), Error> {
        let known = self.session.with_record(|record| {
            let same = |call: &&RecordedCall| call.title == title;
            record.unanswered.iter().rev().find(same).cloned()
        });
        let Some(known) = known else {
            return self.say(&format!("I did not ask about \"{title}\"."));
        };
        let asked = directives::CallDirective {
            tool: known.tool,
            arguments: known.arguments,
        };
        let call = read_call(&asked)?;
        self.call(call).await
    }

    /// Announces a call, asks when the mode says so, carries it out, and tells what came of it.
    async fn call(&mut self, mut call: PlannedCall) -> Result<(), Error> {
        let number = self.session.with_record(|record| {
            record.calls += 1;
            record.calls
        });
        call.id = format!("call-{number}");
        let partial = self.partial.take();
        let is_twice = std::mem::take(&mut self.is_twice);
        if is_twice {
            self.tell(SessionUpdate::ToolCall(
                call.tool_call_announcement(&self.session.workspace, true),
            ))?;
        }
        let announcement =
            SessionUpdate::ToolCall(call.tool_call_announcement(&self.session.workspace, false));
        if partial == Some(true) {
            // The next replay shows it although this client was not told.
            self.session.note(serde_json::to_value(&announcement)?);
        } else {
            self.tell(announcement)?;
        }
        let outcome = match self.may(&call, partial.is_some(), number).await? {
            Ok(()) => self.carried_out(&call).await?,
            Err(why) => ToolOutcome::failed(why),
        };
        self.keep();
        self.tell(result(&call, &outcome))
    }

    /// Whether the call may happen, else why not.
    async fn may(
        &mut self,
        call: &PlannedCall,
        is_bare: bool,
        number: u64,
    ) -> Result<Result<(), String>, Error> {
        let reach = match self.reach(call).await {
            Ok(reach) => reach,
            Err(why) => return Ok(Err(why)),
        };
        match self.session.mode().verdict(reach) {
            ModeDecision::Go => return Ok(Ok(())),
            ModeDecision::Refuse => {
                return Ok(Err("Plan mode only reads: nothing was done.".to_owned()));
            }
            ModeDecision::Ask => {}
        }
        if self
            .session
            .with_record(|record| record.always.contains(&call.remembered))
        {
            return Ok(Ok(()));
        }
        self.session
            .with_record(|record| record.add_unanswered(call.remembered.clone()));
        self.keep();
        let shown = call.permission_update(&self.session.workspace, is_bare);
        let (to, session) = (self.to, self.session.id.as_str());
        let asking = client_requests::permission(to, session, shown, number);
        let answer = self.unless_cancelled(asking).await.transpose()?;
        let Some(answer) = answer.filter(|_| !self.is_cancelled()) else {
            return Ok(Err("Cancelled: nothing was done.".to_owned()));
        };
        if answer == PermissionResponse::No {
            return Ok(Err("Refused: nothing was done.".to_owned()));
        }
        self.session.with_record(|record| {
            record.remove_unanswered(&call.remembered);
            if answer == PermissionResponse::Always {
                record.always.push(call.remembered.clone());
            }
        });
        self.keep();
        Ok(Ok(()))
    }

    /// How far a call reaches; a tool server is asked for what it says of its tool.
    async fn reach(&mut self, call: &PlannedCall) -> Result<CallEffect, String> {
        let ToolInput::CallMcp { server, tool, .. } = &call.tool else {
            return Ok(call.tool.effect());
        };
        let asking = self.session.servers.find_tool(server, tool);
        let cancelled = || Err("Cancelled: nothing was done.".to_owned());
        self.unless_cancelled(asking)
            .await
            .unwrap_or_else(cancelled)
    }

    async fn carried_out(&mut self, call: &PlannedCall) -> Result<ToolOutcome, Error> {
        let started = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
        self.tell(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(
            call.id.clone(),
            started,
        )))?;
        let workspace = self.session.workspace.clone();
        Ok(match &call.tool {
            ToolInput::ReadFile { path } => ToolOutcome::of(workspace.read(path)),
            ToolInput::WriteFile { path, content } => {
                ToolOutcome::of(workspace.write(path, content))
            }
            ToolInput::EditFile { path, old, new } => ToolOutcome::of(
                workspace
                    .edited(path, old, new)
                    .and_then(|text| workspace.write(path, &text)),
            ),
            ToolInput::RunCommand { command } => {
                let running = workspace.run(command);
                let cancelled = || ToolOutcome::failed("Cancelled: the program was killed.");
                self.unless_cancelled(running)
                    .await
                    .unwrap_or_else(cancelled)
            }
            ToolInput::CallMcp {
                server,
                tool,
                arguments,
            } => {
                let calling = self.session.servers.call(server, tool, arguments);
                let cancelled = || ToolOutcome::failed("Cancelled: the answer was not waited for.");
                self.unless_cancelled(calling)
                    .await
                    .unwrap_or_else(cancelled)
            }
            ToolInput::AskPerson { question, options } => {
                self.asked(call, question, options).await?
            }
            ToolInput::TodoWrite { todos } => {
                ToolOutcome::done(format!("The list has {} todos", todos.len()))
            }
            ToolInput::TaskCreate(_) => {
                let number = self.session.with_record(|record| {
                    record.tasks += 1;
                    record.tasks
                });
                ToolOutcome::done(format!("Task #{number} created"))
            }
            ToolInput::TaskUpdate(change) => self.task_updated(&change.task_id),
        })
    }

    fn task_updated(&self, id: &str) -> ToolOutcome {
        let last = self.session.with_record(|record| record.tasks);
        match id.parse::<u64>() {
            Ok(number) if (1..=last).contains(&number) => {
                ToolOutcome::done(format!("Task #{number} updated"))
            }
            _ => ToolOutcome::failed(format!("There is no task {id}")),
        }
    }

    async fn asked(
        &mut self,
        call: &PlannedCall,
        question: &str,
        options: &[String],
    ) -> Result<ToolOutcome, Error> {
        if !self.has_forms {
            return Ok(ToolOutcome::failed("The client takes no forms."));
        }
        let schema = client_requests::question(question, options);
        let (to, session) = (self.to, self.session.id.as_str());
        let asking = client_requests::form(to, session, Some(&call.id), &schema);
        Ok(match self.unless_cancelled(asking).await.transpose()? {
            Some(Some(answers)) => match answers.get("answer").and_then(Value::as_str) {
                Some(answer) => ToolOutcome::done(answer),
                None => ToolOutcome::done(answers.to_string()),
            },
            Some(None) => ToolOutcome::failed("Nobody answered."),
            None => ToolOutcome::failed("Cancelled: nobody was asked any more."),
        })
    }

    /// Adds up what the turn used and tells the session's figures.
    fn close(self, reason: StopReason) -> Result<TurnResult, Error> {
        let reason = if self.is_cancelled() {
            StopReason::Cancelled
        } else {
            reason
        };
        let figures = self.figures;
        let (used, cost) = self.session.with_record(|record| {
            record.tokens = record
                .tokens
                .saturating_add(figures.input)
                .saturating_add(figures.output);
            record.cost += figures.cost;
            (record.tokens.min(CONTEXT_SIZE), record.cost)
        });
        let update = UsageUpdate::new(used, CONTEXT_SIZE).cost(Cost::new(cost, "USD"));
        self.send(SessionUpdate::UsageUpdate(update))?;
        if self.is_late && reason == StopReason::Cancelled {
            self.send(SessionUpdate::AgentMessageChunk(chunk(
                "late before the end ",
            )))?;
        }
        self.keep();
        Ok(TurnResult {
            reason,
            figures,
            is_late: self.is_late && reason == StopReason::Cancelled,
        })
    }

    /// Stores the session; without its history an agent still works, so a full disk is no reason
    /// to fail a turn.
    fn keep(&self) {
        let _ = self.session.with_record(|record| self.history.save(record));
    }
}

/// Talks on after a cancelled turn was answered.
pub(crate) fn send_after_end(to: &ConnectionTo<ClientRole>, session: &str) -> Result<(), Error> {
    let update = SessionUpdate::AgentMessageChunk(chunk("late after the end "));
    to.send_notification(SessionNotification::new(session.to_owned(), update))
}

/// The error of a turn that cannot go on.
fn refusal(why: String) -> Error {
    Error::new(
        agent_client_protocol::ErrorCode::INVALID_PARAMS.value(),
        why,
    )
}

fn read_call(asked: &directives::CallDirective) -> Result<PlannedCall, Error> {
    PlannedCall::read(asked).map_err(|why| {
        let arguments = Value::Object(asked.arguments.clone());
        refusal(format!(
            "cannot carry out the line `#call {} {arguments}`: {why}",
            asked.tool
        ))
    })
}

/// The titles of calls that a prompt says are approved now. Source: contract 3.8.3.
fn approved_titles(prompt: &str) -> Vec<String> {
    let titles = prompt.lines().filter_map(|line| {
        let (title, _) = line
            .trim()
            .strip_prefix("The call \"")?
            .rsplit_once("\" you asked about was approved")?;
        Some(title.to_owned())
    });
    titles.collect()
}

/// What the agent says of itself when no directive tells it anything else.
fn introduction() -> String {
    format!(
        "I am the rehearsal agent, which is scripted: no model answers here, and I do only what \
         the lines of a prompt say that are one of {}.",
        directives::FORMS.join(", ")
    )
}

/// A piece of text.
pub(crate) fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
}

fn plan(entries: Vec<directives::PlanEntry>) -> Result<SessionUpdate, Error> {
    let read = |entry: directives::PlanEntry| {
        let priority = serde_json::from_value(Value::String(entry.priority))?;
        let status = serde_json::from_value(Value::String(entry.status))?;
        Ok(PlanEntry::new(entry.content, priority, status))
    };
    let entries: Result<_, Error> = entries.into_iter().map(read).collect();
    Ok(SessionUpdate::Plan(Plan::new(entries?)))
}

fn commands(count: u32) -> SessionUpdate {
    let command = |number: u32| {
        let hint = AvailableCommandInput::Unstructured(UnstructuredCommandInput::new("[what]"));
        AvailableCommand::new(
            format!("rehearse-{number}"),
            format!("Scripted command {number}"),
        )
        .input(hint)
    };
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(
        (1..=count).map(command).collect(),
    ))
}

fn result(call: &PlannedCall, outcome: &ToolOutcome) -> SessionUpdate {
    let status = if outcome.is_done {
        ToolCallStatus::Completed
    } else {
        ToolCallStatus::Failed
    };
    let mut fields = ToolCallUpdateFields::new()
        .status(status)
        .raw_output(outcome.raw.clone());
    // A finished edit keeps its difference; everything else shows what came of it.
    if !(outcome.is_done && call.tool.effect() == CallEffect::Edits) {
        fields = fields.content(vec![tool_calls::text_content(&outcome.text)]);
    }
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.id.clone(), fields))
}
