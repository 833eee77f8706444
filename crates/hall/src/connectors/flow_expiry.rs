//! The life of flows beyond one request: what a restart makes of them, and the chore that ends
//! those whose time is over. Source: contract 5.4.

use std::time::Duration;

use guildhall_domain::{
    Error, Result, Timestamp,
    connectors::{
        auth_flows::{FlowEvent, FlowState, FlowStepKind},
        connections::ExternalCleanup,
    },
};
use guildhall_store::{
    Tx,
    connectors::{auth_flows as rows, connections as connection_rows},
};

use super::{connections, execution_attempts, flow_transitions};
use crate::Hall;

/// Ends what a server that ended left in the middle: what was being started or run is never
/// sent again, and what was being given back is not known to have arrived.
pub(crate) fn recover(tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
    execution_attempts::recover(tx, now)?;
    for open in rows::open(tx)? {
        flow_transitions::apply(tx, &open, FlowEvent::Restarted, (None, now), |_| ())?;
    }
    for mut kept in connection_rows::to_clean(tx)? {
        kept.connection.external_cleanup = ExternalCleanup::Failed;
        connections::write(tx, &kept, (None, now))?;
    }
    Ok(())
}

/// Goes on with the flows that wait, and starts the chore that ends those whose time is over.
pub(crate) async fn start(hall: &Hall) -> Result<()> {
    /// How often it looks. Source: contract 5.4.
    const PERIOD: Duration = Duration::from_secs(60);
    for open in hall.store().read(rows::open).await?.value {
        if open.flow.state == FlowState::Pending {
            match open.flow.step {
                FlowStepKind::None => hall.go_on_without_sign_in(open.flow),
                FlowStepKind::Device => hall.poll_later(open.flow),
                FlowStepKind::Browser | FlowStepKind::Credential => {}
            }
        }
    }
    let mut stopping = hall.tasks().stopping();
    let chore = hall.clone();
    let work = async move {
        let mut period = tokio::time::interval(PERIOD);
        period.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = period.tick() => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
            if let Err(Error::Fault(fault)) = chore.end_due_connector_flows().await {
                tracing::error!(error = ?fault, "due flows could not be ended");
            }
        }
    };
    hall.tasks().spawn("connector flows", hall.now(), work);
    Ok(())
}

impl Hall {
    /// Ends the flows whose time is over, or whose instance changed.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub async fn end_due_connector_flows(&self) -> Result<()> {
        let now = self.now();
        self.store()
            .write(move |tx| {
                for open in rows::open(tx)? {
                    flow_transitions::apply(tx, &open, FlowEvent::Looked, (None, now), |_| ())?;
                }
                Ok(())
            })
            .await
    }
}
