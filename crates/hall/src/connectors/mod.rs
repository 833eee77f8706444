//! Connectors: services outside this computer whose operations people grant to agents, and
//! running them.
//! Source: contract 5 part A.

mod access;
mod accounts;
mod browser;
mod catalog;
mod connections;
mod credentials;
mod executions;
mod facts;
mod flows;
mod moving;
mod polling;
mod providers;
mod reviews;
mod running;
mod secrets;
mod sending;
mod starting;
mod targets;
mod toolkits;
mod usage;

use std::time::Duration;

use guildhall_domain::{
    Error, Moment, Result,
    connectors::{
        connections::Cleanup,
        flows::{FlowState, Happening, StepKind},
    },
};
use guildhall_store::{
    Tx,
    connectors::{connections as connection_rows, flows as rows},
};

pub(crate) use self::providers::found;
pub use self::{
    access::{Wish, Wished},
    browser::{ConnectorPage, Finished, Leaving},
    catalog::CatalogPage,
    connections::ConnectionSeen,
    credentials::Renewing,
    executions::Execute,
    facts::Accessible,
    flows::{Begun, FlowSeen},
    providers::ProviderSeen,
    reviews::{Granted, Reviewed},
    usage::UsagePage,
};
use crate::Hall;

/// Ends what a server that ended left in the middle: what was being started or run is never sent
/// again,
/// and what was being given back is not known to have arrived.
pub(crate) fn recover(tx: &mut Tx<'_>, now: Moment) -> Result<()> {
    running::recover(tx, now)?;
    for open in rows::open(tx)? {
        moving::happen(tx, &open, Happening::Restarted, (None, now), |_| ())?;
    }
    for mut kept in connection_rows::to_clean(tx)? {
        kept.connection.external_cleanup = Cleanup::Failed;
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
                StepKind::None => hall.go_on_without_sign_in(open.flow),
                StepKind::Device => hall.poll_later(open.flow),
                StepKind::Browser | StepKind::Credential => {}
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
                    moving::happen(tx, &open, Happening::Looked, (None, now), |_| ())?;
                }
                Ok(())
            })
            .await
    }
}
