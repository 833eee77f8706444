//! Offers and billing pages: asked of the service by whoever holds its key, and answered as it
//! says. No payment is made here, and no address but an acceptable one is ever answered.
//! Source: contract 5.11.

use guildhall_domain::{
    Result,
    callers::{Gate, Human, OwnerInteractive},
    cloud::{
        CloudRefusal,
        billing::{
            BillingPage, BillingPageOutcome, NOT_CONFIGURED, NOT_LINKED, UNREACHABLE, UNUSABLE,
        },
        event_payloads::{BillingOpened, BillingOutcome},
        offers::Offers,
    },
    events::Event,
};
use guildhall_world::cloud_client::{BillingPageResult, CloudCallError, CloudClient, CloudKey};
use serde_json::{Map, Value};

use super::{LinkRequest, transitions::key_of};
use crate::Hall;

/// What the service sells; `None` where nothing is to be had.
pub type OffersView = Option<Offers>;

impl Hall {
    /// What the service sells; nothing is sent where this instance is not linked.
    ///
    /// # Errors
    /// [`CloudRefusal::Unreachable`], [`CloudRefusal::AnswerInvalid`].
    ///
    /// Source: contract 5.11.
    pub async fn cloud_offers(&self, by: &Human) -> Result<OffersView> {
        let _ = by;
        let Some((service, key)) = self.linked_service().await? else {
            return Ok(None);
        };
        let offers = service.offers(&key).await;
        Ok(offers.map_err(|why| match why {
            CloudCallError::Unreachable => CloudRefusal::Unreachable,
            CloudCallError::Invalid => CloudRefusal::AnswerInvalid,
            CloudCallError::NotTaken => {
                self.recheck_cloud_key();
                CloudRefusal::AnswerInvalid
            }
        })?)
    }

    /// Asks the service where a billing page is, and tells that somebody did.
    ///
    /// # Errors
    /// Faults, and `Overloaded`: what the service refuses is an answer.
    ///
    /// Source: spec, `POST /api/cloud_client/billing/{page}`; contract 5.11.
    pub async fn open_billing(
        &self,
        by: &OwnerInteractive,
        page: BillingPage,
        sku_id: Option<String>,
    ) -> Result<BillingPageOutcome<Map<String, Value>>> {
        if self.inner.cloud.url.is_none() {
            return Ok(BillingPageOutcome::Message(NOT_CONFIGURED));
        }
        let Some((service, key)) = self.linked_service().await? else {
            return Ok(BillingPageOutcome::Message(NOT_LINKED));
        };
        let answer = match service.page(&key, page, sku_id.as_deref()).await {
            Ok(BillingPageResult::Url(url)) => BillingPageOutcome::Url(url),
            Ok(BillingPageResult::Problem(problem)) => BillingPageOutcome::Problem(problem),
            Ok(BillingPageResult::Missing) => BillingPageOutcome::Message(page.missing()),
            Err(CloudCallError::Unreachable) => BillingPageOutcome::Message(UNREACHABLE),
            Err(CloudCallError::Invalid) => BillingPageOutcome::Message(UNUSABLE),
            Err(CloudCallError::NotTaken) => {
                self.recheck_cloud_key();
                BillingPageOutcome::Message(NOT_LINKED)
            }
        };
        let outcome = match &answer {
            BillingPageOutcome::Url(_) => BillingOutcome::Url,
            BillingPageOutcome::Problem(_) => BillingOutcome::Problem,
            BillingPageOutcome::Message(_) => BillingOutcome::Message,
        };
        let (actor, now) = (by.caller().author, self.now());
        let event = Event::CloudBillingOpened(BillingOpened { page, outcome });
        self.store()
            .write(move |tx| tx.append(now, Some(actor), &event).map(|_| ()))
            .await?;
        Ok(answer)
    }

    /// The service, and the key that this instance holds of it.
    async fn linked_service(&self) -> Result<Option<(CloudClient, CloudKey)>> {
        let Some(url) = &self.inner.cloud.url else {
            return Ok(None);
        };
        let kept = self.stored_cloud_link().await?;
        let key = key_of(&self.inner.seal, &url.to_string(), &kept);
        let Some(key) = key.filter(|_| kept.link.held.is_some()) else {
            return Ok(None);
        };
        Ok(Some((self.cloud_service(url).await?, key)))
    }

    /// Has the actor see for itself whether the key no longer counts.
    fn recheck_cloud_key(&self) {
        // Where it has too much to do, its own next heartbeat will see it.
        let _ = self.inner.cloud.asks.try_send(LinkRequest::Doubt);
    }
}
