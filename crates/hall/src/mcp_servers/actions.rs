//! Adding, importing, changing and removing entries: checks, a person's word where one is
//! needed, and the change with its events in one transaction. Source: contract 4.4.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    agents::Agent,
    approvals::{Capability, is_person},
    callers::{Caller, ForAgent},
    errors::ResourceKind,
    ids::{AgentId, SessionId},
    mcp_servers::{
        AuthStatus, ConnectionConfig, McpServer, McpServerPatch, NewMcpServer, Pin, PinComparison,
        ProgramFiles, ServerAuthKind, ServerName, ServerStatus, StatusTrigger,
        approval_card::current_state, event_payloads, name_to_make, next, server_test,
    },
    revisions::Precondition,
};
use guildhall_store::mcp_servers::{self as rows, McpServerRow};
use guildhall_world::seal::Seal;
use serde_json::{Value, json};

use super::{
    RevisedServers, all, existing, parse_name,
    preflight::{GatedAction, session_of},
    registered, require_capacity, sealed_values, write,
};
use crate::{
    Hall,
    approvals::{Permit, PresentedApproval},
    callers,
    idempotency::{IdempotentWrite, ReplayCheck},
};

/// How often a deed begins anew because its entry changed while it was under way.
const TRIES_MAX: usize = 4;

/// A new entry on its way.
struct ServerAddition {
    capability: Capability,
    verb: &'static str,
    name: ServerName,
    connection: ConnectionConfig,
}

/// What came of trying to commit a deed.
enum CommitOutcome {
    Done(RevisedServers),
    /// The entry is another one than that which was looked at.
    Moved(IdempotentWrite<RevisedServers>),
}

/// What is to be done with an entry.
enum ServerAction {
    /// The change, and the program that was seen for it.
    Change(Box<PlannedChange>, Option<ProgramFiles>),
    Remove,
}

/// An entry as a deed found it.
pub(super) struct LoadedServer {
    pub(super) agent: Agent,
    pub(super) kept: McpServerRow,
    session: Option<SessionId>,
}

impl Hall {
    /// Adds an entry; answers all entries of the agent, the new one last.
    ///
    /// # Errors
    /// In the order of contract 4.4: [`Refusal::Validation`], [`Refusal::AgentIdMismatch`],
    /// [`Refusal::ReservedName`], `NotFound`, [`Refusal::DuplicateName`],
    /// [`Refusal::TooManyServers`], those of [`Hall::permit`].
    ///
    /// Source: spec, "POST /api/agents/{agentId}/mcp-servers".
    pub async fn add_mcp_server(
        &self,
        by: &ForAgent,
        ask: NewMcpServer,
        presented: PresentedApproval,
        once: IdempotentWrite<RevisedServers>,
    ) -> Result<RevisedServers> {
        let name = ask.check(by.agent())?;
        let adding = ServerAddition {
            capability: Capability::McpAdd,
            verb: "Add",
            name,
            connection: ask.connection.without_fragment(),
        };
        let once = self.sealed_once(by, once);
        self.add(by, adding, presented, once).await
    }

    /// Adds an entry that the agent's folder names.
    ///
    /// # Errors
    /// Those of [`Hall::add_mcp_server`], and `NotFound` when the folder names none of this name.
    pub async fn import_mcp_server(
        &self,
        by: &ForAgent,
        name: &str,
        presented: PresentedApproval,
        once: IdempotentWrite<RevisedServers>,
    ) -> Result<RevisedServers> {
        let name = name_to_make(name)?;
        let once = self.sealed_once(by, once);
        let (peek, agent, now) = (once.replay_check(), by.agent(), self.now());
        let agent = self
            .store()
            .read(move |db| {
                peek.check(db, now)?;
                registered(db, agent)
            })
            .await?
            .value;
        let found = self.discovered(&agent).await?.named(&name);
        let found = found.ok_or(Refusal::NotFound(ResourceKind::McpServer))?;
        let adding = ServerAddition {
            capability: Capability::McpImport,
            verb: "Import",
            name: found.name,
            connection: found.connection,
        };
        self.add(by, adding, presented, once).await
    }

    async fn add(
        &self,
        by: &ForAgent,
        adding: ServerAddition,
        presented: PresentedApproval,
        once: IdempotentWrite<RevisedServers>,
    ) -> Result<RevisedServers> {
        let ServerAddition {
            capability,
            verb,
            name,
            connection,
        } = adding;
        let (caller, id) = (*by.caller(), by.agent());
        let (peek, now, asked) = (once.replay_check(), self.now(), name.clone());
        let (agent, session) = self
            .store()
            .read(move |db| {
                peek.check(db, now)?;
                let agent = registered(db, id)?;
                require_capacity(db, id, &asked)?;
                Ok((agent, session_of(db, &caller)?))
            })
            .await?
            .value;
        let program = self.program_of(&agent, &connection).await?;
        let deed = GatedAction {
            capability,
            verb,
            agent: &agent,
            name: &name,
            connection: &connection,
            program: program.as_ref(),
            session,
            asked: Value::Null,
            standing: Value::Null,
        };
        let permit = self
            .permit(&caller, deed.approval_request()?, presented)
            .await?;
        let wants_sign_in = self.wants_sign_in(&agent, &connection).await;
        let (now, seal) = (self.now(), self.inner.seal.clone());
        let mut server = new_server(name, connection, program.as_ref(), &caller, now);
        if wants_sign_in {
            server_test::wants_sign_in(&mut server, Some("Bearer"));
        }
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &caller, now)?;
                once.run(tx, now, |tx| {
                    registered(tx, id)?;
                    require_capacity(tx, id, &server.name)?;
                    permit.spend(tx, now)?;
                    let kept = McpServerRow {
                        sealed: sealed_values::seal(&seal, id, &server)?,
                        server,
                    };
                    rows::insert(tx, id, &kept)?;
                    for event in event_payloads::of_added(id, &kept.server) {
                        tx.append(now, Some(caller.author), &event)?;
                    }
                    Ok(RevisedServers {
                        rev: kept.server.rev,
                        value: all(tx, &seal, id, &caller)?,
                    })
                })
            })
            .await
    }

    /// Changes an entry; answers all entries of the agent.
    ///
    /// # Errors
    /// In this order: [`Refusal::Validation`], `NotFound`, [`Refusal::Validation`] of a value
    /// that cannot be kept, [`Refusal::PreconditionFailed`], those of [`Hall::permit`].
    ///
    /// Source: contract 4.4.
    pub async fn change_mcp_server(
        &self,
        by: &ForAgent,
        name: &str,
        (patch, precondition): (McpServerPatch, Precondition),
        presented: PresentedApproval,
        once: IdempotentWrite<RevisedServers>,
    ) -> Result<RevisedServers> {
        patch.check()?;
        let mut once = self.sealed_once(by, once);
        for _ in 0..TRIES_MAX {
            let found = self
                .load_for_action(by, name, &precondition, once.replay_check())
                .await?;
            let change = PlannedChange::plan(&patch, &found.kept.server)?;
            let program = match change.is_seen {
                true => self.program_of(&found.agent, &change.connection).await?,
                false => None,
            };
            let LoadedServer { kept, .. } = &found;
            let permit = if patch.needs_card(&kept.server) {
                let deed = GatedAction {
                    asked: json!({"enabled": patch.enabled}),
                    verb: change.verb,
                    ..found.gated_action(
                        Capability::McpUpdate,
                        &change.connection,
                        program.as_ref(),
                    )
                };
                let wanted = deed.approval_request()?;
                let permit = self.permit(by.caller(), wanted, presented.clone()).await?;
                Some(permit)
            } else {
                None
            };
            let is_asked = change.connection != found.kept.server.connection;
            let change = PlannedChange {
                wants_sign_in: is_asked
                    && self.wants_sign_in(&found.agent, &change.connection).await,
                ..change
            };
            let doing = ServerAction::Change(Box::new(change), program);
            match self.commit(by, permit, (found.kept, doing), once).await? {
                CommitOutcome::Done(entries) => return Ok(entries),
                CommitOutcome::Moved(again) => once = again,
            }
        }
        Err(Refusal::Overloaded.into())
    }

    /// Removes an entry with its secrets; answers the entries that are left.
    ///
    /// # Errors
    /// `NotFound`, [`Refusal::PreconditionFailed`], and for an agent those of [`Hall::permit`].
    ///
    /// Source: contract 4.4.
    pub async fn remove_mcp_server(
        &self,
        by: &ForAgent,
        name: &str,
        precondition: Precondition,
        presented: PresentedApproval,
    ) -> Result<Vec<McpServer>> {
        let mut once = IdempotentWrite::without_key();
        for _ in 0..TRIES_MAX {
            let found = self
                .load_for_action(by, name, &precondition, once.replay_check())
                .await?;
            let permit = match by.caller().agent() {
                None => None,
                // An agent may switch an entry off; what it removes nobody can look at again.
                Some(_) => {
                    let connection = &found.kept.server.connection;
                    let program = self.program_of(&found.agent, connection).await?;
                    let deed =
                        found.gated_action(Capability::McpRemove, connection, program.as_ref());
                    let wanted = GatedAction {
                        verb: "Remove",
                        ..deed
                    }
                    .approval_request()?;
                    let permit = self.permit(by.caller(), wanted, presented.clone()).await?;
                    Some(permit)
                }
            };
            let parting = self.take_tokens(by.agent(), &found.kept.server).await?;
            match self
                .commit(by, permit, (found.kept, ServerAction::Remove), once)
                .await?
            {
                CommitOutcome::Done(entries) => {
                    self.revoke_removed_tokens(parting);
                    return Ok(entries.value);
                }
                CommitOutcome::Moved(again) => once = again,
            }
        }
        Err(Refusal::Overloaded.into())
    }

    /// Answers that may hold secrets are kept sealed.
    fn sealed_once(
        &self,
        by: &ForAgent,
        once: IdempotentWrite<RevisedServers>,
    ) -> IdempotentWrite<RevisedServers> {
        once.sealed(&self.inner.seal, is_person(by.caller()))
    }

    /// The entry that a deed is about, if it may be done at all.
    pub(super) async fn load_for_action(
        &self,
        by: &ForAgent,
        name: &str,
        precondition: &Precondition,
        peek: ReplayCheck,
    ) -> Result<LoadedServer> {
        let (by, name, seal) = (*by, parse_name(name), self.inner.seal.clone());
        let (precondition, now) = (precondition.clone(), self.now());
        let seen = self
            .store()
            .read(move |db| {
                peek.check(db, now)?;
                let agent = registered(db, by.agent())?;
                let kept = existing(db, &seal, by.agent(), name.as_ref())?;
                precondition.check(kept.server.rev)?;
                Ok(LoadedServer {
                    agent,
                    kept,
                    session: session_of(db, by.caller())?,
                })
            })
            .await?;
        Ok(seen.value)
    }

    /// Does what was planned for the entry `before`, if that is still what stands there.
    async fn commit(
        &self,
        by: &ForAgent,
        permit: Option<Permit>,
        (before, doing): (McpServerRow, ServerAction),
        once: IdempotentWrite<RevisedServers>,
    ) -> Result<CommitOutcome> {
        let (by, seal, now) = (*by, self.inner.seal.clone(), self.now());
        let (caller, id) = (*by.caller(), by.agent());
        let name = before.server.name.clone();
        let committed = self
            .store()
            .write(move |tx| {
                callers::require_live_credential(tx, &caller, now)?;
                registered(tx, id)?;
                let name = before.server.name.clone();
                let standing = existing(tx, &seal, id, Some(&name))?;
                if !is_same(&standing, &before) {
                    return Ok(CommitOutcome::Moved(once));
                }
                let done = once.run(tx, now, |tx| {
                    if let Some(permit) = permit {
                        permit.spend(tx, now)?;
                    }
                    let rev = match doing {
                        ServerAction::Remove => {
                            super::remove(tx, id, &standing.server, caller.author, now)?;
                            standing.server.rev
                        }
                        ServerAction::Change(change, program) => {
                            let after = change.after(&standing, program.as_ref(), now);
                            let rev = after.server.rev;
                            write_change(tx, &seal, (id, &caller), (&standing, after), now)?;
                            rev
                        }
                    };
                    Ok(RevisedServers {
                        rev,
                        value: all(tx, &seal, id, &caller)?,
                    })
                })?;
                Ok(CommitOutcome::Done(done))
            })
            .await?;
        if let CommitOutcome::Done(entries) = &committed {
            let now = entries.value.iter().find(|entry| entry.name == name);
            self.tool_server_changed(id, &name, now);
        }
        Ok(committed)
    }
}

impl LoadedServer {
    fn gated_action<'a>(
        &'a self,
        capability: Capability,
        connection: &'a ConnectionConfig,
        program: Option<&'a ProgramFiles>,
    ) -> GatedAction<'a> {
        GatedAction {
            capability,
            verb: "Change",
            agent: &self.agent,
            name: &self.kept.server.name,
            connection,
            program,
            session: self.session,
            asked: Value::Null,
            standing: current_state(&self.kept.server),
        }
    }
}

/// A change as it was planned.
struct PlannedChange {
    /// The connection afterwards.
    connection: ConnectionConfig,
    /// Whether the connection was asked for.
    is_connection: bool,
    /// Whether somebody is shown what the program is now.
    is_seen: bool,
    enabled: bool,
    /// Whether another address was found to want a sign-in.
    wants_sign_in: bool,
    verb: &'static str,
}

impl PlannedChange {
    fn plan(patch: &McpServerPatch, stored: &McpServer) -> Result<Self> {
        let connection = match &patch.connection {
            Some(asked) => asked.clone().complete(&stored.connection)?,
            None => stored.connection.clone(),
        };
        let connection = connection.without_fragment();
        let auth_kind = stored
            .connection
            .remote()
            .filter(|_| connection.shares_sign_in(&stored.connection))
            .and_then(|before| before.auth_kind);
        let enabled = patch.enabled.unwrap_or(stored.enabled);
        Ok(Self {
            connection: connection.with_auth_kind(auth_kind),
            is_connection: patch.connection.is_some(),
            is_seen: patch.connection.is_some() || (enabled && !stored.enabled),
            enabled,
            wants_sign_in: false,
            verb: match patch.connection {
                Some(_) => "Change",
                None => "Switch on",
            },
        })
    }

    /// The entry afterwards.
    fn after(
        self,
        before: &McpServerRow,
        program: Option<&ProgramFiles>,
        now: Timestamp,
    ) -> McpServerRow {
        let mut after = before.clone();
        let server = &mut after.server;
        if self.is_connection {
            if !self.connection.shares_sign_in(&server.connection) {
                (server.auth_status, server.auth_client_origin) = (None, None);
            }
            if self.wants_sign_in {
                server.auth_status = Some(AuthStatus::NeedsAuth);
            }
            let is_other = server.connection != self.connection;
            let has_program = self.connection.stdio().is_some();
            let is_pinned = !has_program
                || matches!(server.pin.compare(program), PinComparison::Same)
                || (program.is_none() && !server.pin.has_program());
            if is_other || !is_pinned {
                // Whoever allowed this has seen the program as it is now.
                server.pin = Pin::of(program, now);
                server.tool_count = None;
            }
            server.connection = match self.wants_sign_in {
                true => self.connection.with_auth_kind(Some(ServerAuthKind::Oauth2)),
                false => self.connection,
            };
            if is_other || !is_pinned {
                move_by(server, StatusTrigger::Reconnected);
            }
        }
        match (before.server.enabled, self.enabled) {
            (true, false) => move_by(server, StatusTrigger::Disabled),
            (false, true) => move_by(server, StatusTrigger::Enabled),
            (true, true) | (false, false) => {}
        }
        server.enabled = self.enabled;
        if !before.server.changed(&after.server).is_empty() {
            after.server.rev += 1;
        }
        after
    }
}

/// Moves an entry along its table; what was said of its state before is over then.
fn move_by(server: &mut McpServer, trigger: StatusTrigger) {
    if let Some(status) = next(server.status, trigger, server.facts()) {
        server.status = status;
        server.status_detail = None;
    }
    if server.status != ServerStatus::NeedsApproval {
        server.approval_id = None;
    }
}

/// Whether nothing of an entry changed that a deed on it rests on.
pub(super) fn is_same(one: &McpServerRow, other: &McpServerRow) -> bool {
    let rests_on = |kept: &McpServerRow| {
        let server = &kept.server;
        (server.rev, server.added_at, server.enabled)
    };
    rests_on(one) == rests_on(other) && one.server.connection == other.server.connection
}

/// Writes what became of an entry, unless nothing did.
fn write_change(
    tx: &mut guildhall_store::Tx<'_>,
    seal: &Seal,
    (id, by): (AgentId, &Caller),
    (standing, after): (&McpServerRow, McpServerRow),
    now: Timestamp,
) -> Result<()> {
    if standing.server == after.server {
        return Ok(());
    }
    write(
        tx,
        seal,
        id,
        (&standing.server, after),
        (Some(by.author), now),
    )
}

fn new_server(
    name: ServerName,
    connection: ConnectionConfig,
    program: Option<&ProgramFiles>,
    by: &Caller,
    now: Timestamp,
) -> McpServer {
    let mut server = McpServer {
        name,
        enabled: true,
        connection: connection.with_auth_kind(None),
        added_at: now,
        added_by: by.author,
        rev: 1,
        status: ServerStatus::Unknown,
        status_detail: None,
        auth_status: None,
        auth_client_origin: None,
        approval_id: None,
        tool_count: None,
        pin: Pin::of(program, now),
    };
    server.status = server.facts().status();
    server
}
