//! Asking a service whether the person has typed the code: as often as it wants to be asked,
//! over restarts, until it says or the flow's time is over. Source: contract 5.4; RFC 8628 §3.5.

use std::time::Duration;

use guildhall_domain::{
    Result,
    connectors::auth_flows::{Flow, FlowEvent, FlowState},
    device_grant::PollStatus,
};
use guildhall_world::oauth::DevicePollResult;

use super::{
    flow_start::{UNREACHABLE, refused},
    flow_transitions::{apply, current_row},
    secrets::{Credentials, DeviceFlowSecrets, FlowSecrets, GrantedTokens},
};
use crate::Hall;

impl Hall {
    /// Polls for a flow until it is over.
    pub(super) fn poll_later(&self, flow: Flow) {
        let hall = self.clone();
        let work = async move {
            if let Err(error) = hall.poll(&flow).await {
                tracing::error!(?error, flow = %flow.id, "a flow is no longer polled for");
            }
        };
        self.tasks().spawn("connector polling", self.now(), work);
    }

    async fn poll(&self, flow: &Flow) -> Result<()> {
        let mut stopping = self.tasks().stopping();
        let Some(mut typing) = self.device_flow(flow).await? else {
            return Ok(());
        };
        loop {
            let wait = Duration::from_secs(typing.pace.wait_s.unsigned_abs());
            tokio::select! {
                biased;
                _ = stopping.wait_for(|stop| *stop) => return Ok(()),
                () = self.inner.clock.wait(wait) => {}
            }
            // Somebody may have cancelled it, and its time may be over.
            if self.device_flow(flow).await?.is_none() {
                return Ok(());
            }
            let answer = match self.connector_oauth_client(&typing.access).await? {
                Some(talk) => {
                    talk.poll_device(&typing.access, &typing.device.device_code)
                        .await
                }
                None => DevicePollResult::Nobody(None),
            };
            let polled = match answer {
                DevicePollResult::Granted(tokens) => {
                    let access = typing.access.clone();
                    let granted = GrantedTokens { access, tokens };
                    return self.finish_device_flow(flow, granted).await;
                }
                DevicePollResult::Refused(word) => {
                    let why = FlowEvent::Refused(refused(&word));
                    self.apply_to_flow(flow, why, |_| ()).await?;
                    return Ok(());
                }
                DevicePollResult::Waiting => PollStatus::Waiting,
                DevicePollResult::TooOften => PollStatus::TooOften,
                DevicePollResult::Nobody(wanted_s) => PollStatus::Nobody(wanted_s),
            };
            let pace = typing.pace.after(polled);
            if pace != typing.pace {
                typing.pace = pace;
                self.store_device_flow(flow, typing.clone()).await?;
            }
        }
    }

    async fn finish_device_flow(&self, flow: &Flow, granted: GrantedTokens) -> Result<()> {
        let credentials = Credentials::Granted(Box::new(granted));
        if !self.finish_flow(flow, credentials.clone()).await? {
            let why = FlowEvent::Refused(UNREACHABLE.to_owned());
            self.apply_to_flow(flow, why, |_| ()).await?;
            self.revoke_credentials_later(credentials);
        }
        Ok(())
    }

    /// What is polled with, as long as the flow waits; one whose time is over is ended.
    async fn device_flow(&self, flow: &Flow) -> Result<Option<DeviceFlowSecrets>> {
        let (seal, flow, now) = (self.inner.seal.clone(), flow.clone(), self.now());
        self.store()
            .write(move |tx| {
                let Some(kept) = current_row(tx, &flow)? else {
                    return Ok(None);
                };
                if apply(tx, &kept, FlowEvent::Looked, (None, now), |_| ())?.is_some() {
                    return Ok(None);
                }
                let step = FlowSecrets::unseal(&seal, flow.id, kept.sealed.as_deref());
                Ok(match (kept.flow.state, step) {
                    (FlowState::Pending, Some(FlowSecrets::Device(typing))) => Some(*typing),
                    _ => None,
                })
            })
            .await
    }

    async fn store_device_flow(&self, flow: &Flow, typing: DeviceFlowSecrets) -> Result<()> {
        let (seal, flow) = (self.inner.seal.clone(), flow.clone());
        self.store()
            .write(move |tx| {
                if let Some(mut kept) = current_row(tx, &flow)? {
                    let step = FlowSecrets::Device(Box::new(typing));
                    kept.sealed = Some(step.seal(&seal, flow.id)?);
                    guildhall_store::connectors::auth_flows::reseal(tx, &kept)?;
                }
                Ok(())
            })
            .await
    }
}
