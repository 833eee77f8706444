//! Auth flows: beginning one, asking after it, typing a key, and cancelling. What goes out is
//! sent by tasks of their own, after the row is committed. Source: contract 5.4.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    callers::{Gate, Owner, OwnerInteractive},
    connectors::{
        ConnectorRefusal,
        auth_flows::{
            ConnectionRequest, Flow, FlowEvent, FlowInstructions, FlowState, FlowStepKind,
            check_key,
        },
        connections::ConnectionAction,
        toolkits::ToolkitSlug,
    },
    events::Event,
    ids::{AuthFlowId, ConnectorConnectionId, ProviderId},
    limits::connectors as limits,
    mcp_signins::sign_in_url,
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx,
    connectors::auth_flows::{self as rows, AuthFlowRow},
};
use guildhall_world::seal::Seal;

use super::{
    connections,
    flow_transitions::{ActorAndTime, apply},
    secrets::{Credentials, FlowSecrets},
    toolkit_targets,
};
use crate::{Hall, callers, launch_config::public_base_url};

/// A flow as its owner sees it. Without `Debug`, because of what is shown.
#[derive(Clone)]
pub struct FlowView {
    /// The flow.
    pub flow: Flow,
    /// What the person needs for its step.
    pub shown: FlowInstructions,
}

/// A flow that was begun, or that the same wish began before.
#[derive(Clone)]
pub struct StartedFlow {
    /// The flow.
    pub seen: FlowView,
    /// Whether it was begun before.
    pub is_replay: bool,
}

/// What a new flow is for.
struct NewFlow {
    provider_id: ProviderId,
    toolkit: ToolkitSlug,
    generation: u64,
    label: Option<String>,
    reconnect_of: Option<ConnectorConnectionId>,
}

impl Hall {
    /// Begins to sign in; the same wish under the same key is begun once.
    ///
    /// # Errors
    /// [`Refusal::Validation`], [`ConnectorRefusal::IdempotencyConflict`], [`ConnectorRefusal::ProviderNotFound`],
    /// [`ConnectorRefusal::ToolkitNotFound`], [`ConnectorRefusal::AuthenticationUnavailable`],
    /// [`ConnectorRefusal::TooManyFlows`].
    ///
    /// Source: contract 5.4, the checks in their order.
    pub async fn connect(
        &self,
        by: &OwnerInteractive,
        wish: ConnectionRequest,
    ) -> Result<StartedFlow> {
        wish.check()?;
        let (by, id, now) = (
            *by.caller(),
            Self::new_id(AuthFlowId::from_bytes),
            self.now(),
        );
        let provider_id = ProviderId::named(&wish.provider);
        let is_same = move |flow: &Flow, wish: &ConnectionRequest| {
            flow.provider_id == provider_id
                && flow.toolkit.as_str() == wish.toolkit
                && flow.label == wish.label
                && flow.reconnect_of.is_none()
        };
        self.begin_flow(move |tx| {
            callers::require_live_credential(tx, &by, now)?;
            if let Some(kept) = rows::by_key(tx, &wish.key)? {
                return repeat_of(kept, |flow| is_same(flow, &wish));
            }
            let toolkit = ToolkitSlug::parse(&wish.toolkit);
            let generation = toolkit_targets::available(tx, provider_id, toolkit.as_ref())?;
            let content = NewFlow {
                provider_id,
                toolkit: toolkit.ok_or(ConnectorRefusal::ToolkitNotFound)?,
                generation,
                label: wish.label,
                reconnect_of: None,
            };
            let kept = begin(tx, content, (wish.key, id), (Some(by.author), now))?;
            Ok((kept, false))
        })
        .await
    }

    /// Begins to sign in anew with a connection, which is paused until that is done.
    ///
    /// # Errors
    /// Those of [`Hall::connect`], [`ConnectorRefusal::ConnectionNotFound`], [`ConnectorRefusal::Disconnected`].
    pub async fn reconnect(
        &self,
        by: &OwnerInteractive,
        connection: ConnectorConnectionId,
        key: String,
    ) -> Result<StartedFlow> {
        check_key(&key)?;
        let (by, id, now) = (
            *by.caller(),
            Self::new_id(AuthFlowId::from_bytes),
            self.now(),
        );
        self.begin_flow(move |tx| {
            callers::require_live_credential(tx, &by, now)?;
            let mut kept = connections::existing(tx, connection)?;
            if let Some(flow) = rows::by_key(tx, &key)? {
                return repeat_of(flow, |flow| flow.reconnect_of == Some(connection));
            }
            let doing = (Some(by.author), now);
            let before = kept.connection.lifecycle;
            kept.connection.lifecycle = before.on(ConnectionAction::Reconnect)?;
            let (provider_id, toolkit) =
                (kept.connection.provider_id, kept.connection.toolkit.clone());
            let content = NewFlow {
                provider_id,
                generation: toolkit_targets::available(tx, provider_id, Some(&toolkit))?,
                toolkit,
                label: None,
                reconnect_of: Some(connection),
            };
            let flow = begin(tx, content, (key, id), doing)?;
            if before != kept.connection.lifecycle {
                kept.connection.updated_at = now;
                connections::write(tx, &kept, doing)?;
            }
            Ok((flow, false))
        })
        .await
    }

    /// Commits the row of a flow, and has it go on behind the answer.
    async fn begin_flow(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<(AuthFlowRow, bool)> + Send + 'static,
    ) -> Result<StartedFlow> {
        let (seal, own) = (self.inner.seal.clone(), self.inner.launching.url.clone());
        let now = self.now();
        let (begun, flow) = self
            .store()
            .write(move |tx| {
                let (kept, is_replay) = job(tx)?;
                let flow = kept.flow.clone();
                let seen = view(tx, (&seal, &own), kept, now)?;
                Ok((StartedFlow { seen, is_replay }, flow))
            })
            .await?;
        if !begun.is_replay {
            self.prepare_later(flow);
        }
        Ok(begun)
    }

    /// A flow as it stands.
    ///
    /// # Errors
    /// [`ConnectorRefusal::FlowNotFound`].
    pub async fn connector_flow(
        &self,
        _by: &Owner,
        id: AuthFlowId,
    ) -> Result<ReadSnapshot<FlowView>> {
        let (seal, own) = (self.inner.seal.clone(), self.inner.launching.url.clone());
        let now = self.now();
        self.store()
            .read(move |db| view(db, (&seal, &own), existing(db, id)?, now))
            .await
    }

    /// The flows of the last half hour: those that are open, and what came of the others.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub async fn connector_flows(&self, _by: &Owner) -> Result<ReadSnapshot<Vec<FlowView>>> {
        let (seal, own) = (self.inner.seal.clone(), self.inner.launching.url.clone());
        let now = self.now();
        let since = now.plus_seconds(-limits::CONNECTOR_FLOWS_LISTED_S);
        self.store()
            .read(move |db| {
                let base = public_base_url(db, &own)?;
                let all = rows::since(db, since, limits::CONNECTOR_FLOWS_LISTED_MAX)?;
                Ok(all
                    .into_iter()
                    .map(|kept| view_at(&seal, &base, kept, now))
                    .collect())
            })
            .await
    }

    /// Takes the key that a person typed, and holds it against the service where that says whose
    /// it is.
    ///
    /// # Errors
    /// [`Refusal::Validation`], [`ConnectorRefusal::FlowNotFound`], [`ConnectorRefusal::FlowNotWaiting`];
    /// [`ConnectorRefusal::AuthenticationUnavailable`] when nobody says whose the key is: the flow goes
    /// on waiting then.
    pub async fn enter_connector_key(
        &self,
        by: &OwnerInteractive,
        id: AuthFlowId,
        secret: String,
    ) -> Result<FlowView> {
        if secret.is_empty() || secret.len() > limits::CONNECTOR_SECRET_BYTES_MAX {
            return Err(Refusal::field("secret", "must have 1 to 8192 bytes").into());
        }
        if secret.chars().any(char::is_control) {
            return Err(Refusal::field("secret", "must not hold control characters").into());
        }
        let (by, now) = (*by.caller(), self.now());
        let flow = self
            .store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                let flow = existing(tx, id)?.flow.at(now);
                match (flow.state, flow.step) {
                    (FlowState::Pending, FlowStepKind::Credential) => Ok(flow),
                    _ => Err(ConnectorRefusal::FlowNotWaiting.into()),
                }
            })
            .await?;
        let hall = self.clone();
        let concluding = async move { hall.finish_flow(&flow, Credentials::Key(secret)).await };
        match self.tasks().finish(concluding).await {
            Some(Ok(true)) => {}
            Some(Ok(false)) | None => {
                return Err(ConnectorRefusal::AuthenticationUnavailable.into());
            }
            Some(Err(error)) => return Err(error),
        }
        let (seal, own) = (self.inner.seal.clone(), self.inner.launching.url.clone());
        let read = move |db: &ReadTx<'_>| view(db, (&seal, &own), existing(db, id)?, now);
        Ok(self.store().read(read).await?.value)
    }

    /// Cancels a flow; one that is over stays as it is.
    ///
    /// # Errors
    /// [`ConnectorRefusal::FlowNotFound`].
    pub async fn cancel_connector_flow(
        &self,
        by: &OwnerInteractive,
        id: AuthFlowId,
    ) -> Result<FlowView> {
        let (seal, own) = (self.inner.seal.clone(), self.inner.launching.url.clone());
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                let kept = existing(tx, id)?;
                let doing = (Some(by.author), now);
                let moved = apply(tx, &kept, FlowEvent::Cancelled, doing, |_| ())?;
                view(tx, (&seal, &own), moved.unwrap_or(kept), now)
            })
            .await
    }
}

/// Adds a flow, if there may be one more. Source: contract 5.4, checks 6 and 7.
fn begin(
    tx: &mut Tx<'_>,
    content: NewFlow,
    (key, id): (String, AuthFlowId),
    (actor, now): ActorAndTime,
) -> Result<AuthFlowRow> {
    if rows::open_count(tx, now)? >= limits::CONNECTOR_OPEN_FLOWS_MAX {
        return Err(ConnectorRefusal::TooManyFlows.into());
    }
    let flow = Flow {
        id,
        provider_id: content.provider_id,
        toolkit: content.toolkit,
        label: content.label,
        reconnect_of: content.reconnect_of,
        generation: content.generation,
        state: FlowState::Starting,
        attempt: 0,
        step: FlowStepKind::None,
        connection_id: None,
        reason: None,
        created_at: now,
        expires_at: now.plus_seconds(limits::CONNECTOR_FLOW_TTL_S),
        completed_at: None,
    };
    let event = Event::ConnectorFlowChanged(flow.changed_event());
    let kept = AuthFlowRow {
        flow,
        key,
        ticket: None,
        answer_state: None,
        sealed: None,
    };
    rows::insert(tx, &kept)?;
    tx.append(now, actor, &event)?;
    Ok(kept)
}

/// A flow that the key of a wish began before, if it is the same wish.
fn repeat_of(
    kept: AuthFlowRow,
    is_same: impl FnOnce(&Flow) -> bool,
) -> Result<(AuthFlowRow, bool)> {
    match is_same(&kept.flow) {
        true => Ok((kept, true)),
        false => Err(ConnectorRefusal::IdempotencyConflict.into()),
    }
}

/// Ends the flows that were to sign in anew with a connection that is given up.
pub(super) fn end_flows_of(
    tx: &mut Tx<'_>,
    id: ConnectorConnectionId,
    doing: ActorAndTime,
) -> Result<()> {
    for open in rows::open(tx)? {
        if open.flow.reconnect_of == Some(id) {
            apply(tx, &open, FlowEvent::ConnectionGone, doing, |_| ())?;
        }
    }
    Ok(())
}

pub(super) fn existing(db: &ReadTx<'_>, id: AuthFlowId) -> Result<AuthFlowRow> {
    Ok(rows::find(db, id)?.ok_or(ConnectorRefusal::FlowNotFound)?)
}

/// A flow as it stands at `now`, with what its person needs.
fn view(
    db: &ReadTx<'_>,
    (seal, own): (&Seal, &str),
    kept: AuthFlowRow,
    now: Timestamp,
) -> Result<FlowView> {
    Ok(view_at(seal, &public_base_url(db, own)?, kept, now))
}

/// The same, where browsers reach this server at `public_base_url`.
fn view_at(seal: &Seal, base: &str, kept: AuthFlowRow, now: Timestamp) -> FlowView {
    let flow = kept.flow.at(now);
    let step = match flow.state {
        FlowState::Pending => FlowSecrets::unseal(seal, flow.id, kept.sealed.as_deref()),
        _ => None,
    };
    let shown = match step {
        None => FlowInstructions::default(),
        Some(FlowSecrets::Browser(browser)) => FlowInstructions {
            authorize_url: Some(sign_in_url(base, &browser.ticket)),
            ..FlowInstructions::default()
        },
        Some(FlowSecrets::Device(typing)) => FlowInstructions {
            authorize_url: None,
            user_code: Some(typing.device.user_code),
            verification_uri: Some(typing.device.verification_uri),
            verification_uri_complete: typing.device.verification_uri_complete,
        },
    };
    FlowView { flow, shown }
}
