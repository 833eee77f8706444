//! The link to a cloud service: optional, and where none is configured nothing is ever sent.
//!
//! One actor owns the link, see `cloud_client::actor`: what changes it is asked there, what reads it reads
//! the store. The rules are `domain::cloud_client::link`, the packets `world::cloud_client`.
//! Source: contract 5.9 and 5.10.

mod actor;
mod billing;
mod transitions;

use std::time::Duration;

use guildhall_domain::{
    Error, Fault, Refusal, Result, Timestamp,
    callers::{Caller, Gate, Human, OwnerInteractive},
    cloud::{
        CloudRefusal,
        link::{Link, LinkCode},
        urls::CloudUrl,
    },
    limits::cloud::CLOUD_CHECK_WAIT_S,
};
use guildhall_store::cloud as rows;
use guildhall_world::cloud_client::{CloudClient, CloudKey};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

pub use self::billing::OffersView;
use crate::Hall;

/// Asks that wait for the actor; one more is refused as overload.
const ASKS_MAX: usize = 64;

/// The way to the actor.
pub(crate) struct CloudLinkHandle {
    url: Option<CloudUrl>,
    asks: mpsc::Sender<LinkRequest>,
}

/// What is asked of the actor, and where its answer goes.
enum LinkRequest {
    /// A code, in the place of any that waits.
    Start(Caller, oneshot::Sender<Result<LinkCode>>),
    /// That no code waits, and that no note is left.
    Cancel(Caller, oneshot::Sender<Result<Link>>),
    /// That no key is held.
    Unlink(Caller, oneshot::Sender<Result<()>>),
    /// A heartbeat now, unless there was one just now.
    Check(oneshot::Sender<()>),
    /// A heartbeat now, because the key was refused elsewhere.
    Doubt,
}

impl CloudLinkHandle {
    /// The way, and what the actor takes its asks from.
    pub(crate) fn new(url: Option<CloudUrl>) -> (Self, LinkRequests) {
        let (asks, asked) = mpsc::channel(ASKS_MAX);
        (Self { url, asks }, LinkRequests(asked))
    }
}

/// The asks on their way to the actor.
pub(crate) struct LinkRequests(mpsc::Receiver<LinkRequest>);

/// The link as a person sees it.
#[derive(Clone)]
pub struct LinkView {
    /// The link.
    pub link: Link,
    /// Whether the codes in it are for whoever asks.
    pub has_codes: bool,
}

/// Whether this instance is linked, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSummary {
    /// Whether a service is configured.
    pub is_configured: bool,
    /// Whether a key is held.
    pub is_linked: bool,
    /// Whose it is.
    pub account_label: Option<String>,
    /// When the service last took it.
    pub last_heartbeat_at: Option<Timestamp>,
}

/// Starts the actor, where a service is configured.
pub(crate) fn start(hall: &Hall, asked: LinkRequests) {
    if let Some(url) = hall.inner.cloud.url.clone() {
        let actor = actor::Actor::new(hall.clone(), url, asked.0);
        hall.tasks().spawn("cloud link", hall.now(), actor.run());
    }
}

impl Hall {
    /// Asks the service for a code; one that waits is stopped and settled before.
    ///
    /// # Errors
    /// [`CloudRefusal::NotConfigured`], [`CloudRefusal::Unreachable`], [`CloudRefusal::AnswerInvalid`].
    ///
    /// Source: contract 5.10.
    pub async fn start_cloud_link(&self, by: &OwnerInteractive) -> Result<LinkCode> {
        let caller = *by.caller();
        self.ask_cloud(|reply| LinkRequest::Start(caller, reply))
            .await?
    }

    /// Stops a flow that waits, or dismisses the note that one left. With a request on its way
    /// this waits for its end, at most 30 seconds, and a key that it brings by then is kept.
    /// Nothing further is sent.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    ///
    /// Source: spec, `POST /api/cloud_client/link/cancel`; contract 5.10.
    pub async fn cancel_cloud_link(&self, by: &OwnerInteractive) -> Result<LinkView> {
        let caller = *by.caller();
        let cancelled = self
            .ask_cloud(|reply| LinkRequest::Cancel(caller, reply))
            .await;
        let link = match cancelled {
            Err(Error::Refusal(Refusal::Cloud(CloudRefusal::NotConfigured))) => Link::default(),
            cancelled => cancelled??,
        };
        Ok(LinkView {
            link,
            has_codes: true,
        })
    }

    /// Forgets the key, and gives it back after.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    ///
    /// Source: contract 5.10.
    pub async fn unlink_cloud(&self, by: &OwnerInteractive) -> Result<()> {
        let caller = *by.caller();
        match self
            .ask_cloud(|reply| LinkRequest::Unlink(caller, reply))
            .await
        {
            Err(Error::Refusal(Refusal::Cloud(CloudRefusal::NotConfigured))) => Ok(()),
            unlinked => unlinked?,
        }
    }

    /// Asks the service whether it takes the key, unless it said so just now; waits for its
    /// word for at most 10 seconds.
    ///
    /// # Errors
    /// Faults, and `Overloaded`; never one of the service.
    ///
    /// Source: contract 5.10.
    pub async fn check_cloud_link(&self, by: &OwnerInteractive) -> Result<LinkSummary> {
        let _ = by;
        let wait = Duration::from_secs(CLOUD_CHECK_WAIT_S);
        match timeout(wait, self.ask_cloud(LinkRequest::Check)).await {
            Ok(Err(Error::Refusal(Refusal::Cloud(CloudRefusal::NotConfigured)))) | Err(_) => {}
            Ok(checked) => checked?,
        }
        self.cloud_link_summary().await
    }

    /// The link as it stands; its codes are for the interactive owner alone.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub async fn cloud_link(&self, by: &Human) -> Result<LinkView> {
        Ok(LinkView {
            link: self.stored_cloud_link().await?.link,
            has_codes: OwnerInteractive::admit(*by.caller()).is_ok(),
        })
    }

    /// Whether a service is configured and this instance linked.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub async fn cloud_status(&self, by: &Human) -> Result<LinkSummary> {
        let _ = by;
        self.cloud_link_summary().await
    }

    async fn cloud_link_summary(&self) -> Result<LinkSummary> {
        let link = self.stored_cloud_link().await?.link;
        Ok(LinkSummary {
            is_configured: self.inner.cloud.url.is_some(),
            is_linked: link.held.is_some(),
            account_label: link.account_label,
            last_heartbeat_at: link.last_heartbeat_at,
        })
    }

    /// The link with what is sealed of it; one that says nothing where no service is configured.
    async fn stored_cloud_link(&self) -> Result<rows::CloudLinkRow> {
        let Some(url) = &self.inner.cloud.url else {
            return Ok(rows::CloudLinkRow::default());
        };
        let url = url.to_string();
        let seen = self.store().read(move |db| rows::find(db, &url)).await?;
        Ok(seen.value)
    }

    /// The way to the service at `url`.
    async fn cloud_service(&self, url: &CloudUrl) -> Result<CloudClient> {
        Ok(CloudClient::new(url.clone(), self.outgoing().await?))
    }

    /// Gives back a key that is kept no more; what comes of it changes nothing here.
    async fn revoke_cloud_key(&self, url: &CloudUrl, key: CloudKey) -> Result<()> {
        let service = self.cloud_service(url).await?;
        let work = async move {
            if let Err(why) = service.revoke_key(&key).await {
                tracing::warn!(
                    why = why.code(),
                    "a key of the cloud service was not given back"
                );
            }
        };
        self.tasks().spawn("cloud revocation", self.now(), work);
        Ok(())
    }

    async fn ask_cloud<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> LinkRequest) -> Result<T> {
        let cloud = &self.inner.cloud;
        if cloud.url.is_none() {
            return Err(CloudRefusal::NotConfigured.into());
        }
        let (reply, answer) = oneshot::channel();
        let full = |_| Error::Refusal(Refusal::Overloaded);
        cloud.asks.try_send(ask(reply)).map_err(full)?;
        let gone = |_| Fault::broken("asking the cloud link", "it ended");
        Ok(answer.await.map_err(gone)?)
    }
}
