//! The one who owns the link: asks the service whether a code was typed, says that this instance
//! lives, and does what people ask for one after the other. A request that is on its way is
//! waited for before anything that it could decide is decided otherwise.
//! Source: contract 5.10; RFC 8628 §3.5.

use std::{future::pending, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use guildhall_domain::{
    Result, Timestamp,
    callers::Caller,
    cloud::{
        CloudRefusal,
        link::{HeartbeatResult, KeyDisposition, Link, LinkCode, LinkEvent, LinkPollResult},
        urls::CloudUrl,
    },
    device_grant,
    limits::cloud::{
        CLOUD_CHECK_REUSE_S, CLOUD_HEARTBEAT_CHANCE_PERCENT, CLOUD_HEARTBEAT_PERIOD_S,
        CLOUD_REQUEST_WAIT_S,
    },
};
use guildhall_world::{
    cloud_client::{CloudCallError, CloudClient, CloudKey},
    os_users,
};
use tokio::sync::{mpsc, oneshot};

use super::{
    LinkRequest,
    transitions::{NewSecret, TransitionOutcome, device_of, key_of},
};
use crate::Hall;

/// The answer to a poll, with the key that it brought.
type PollReply = (LinkPollResult, Option<CloudKey>);
/// The number of a key, and what the service said of it.
type HeartbeatReply = (u64, HeartbeatResult);

pub(super) struct Actor {
    hall: Hall,
    url: CloudUrl,
    asked: mpsc::Receiver<LinkRequest>,
    /// As the store has it.
    link: Link,
    polling: Option<BoxFuture<'static, PollReply>>,
    next_poll: Option<BoxFuture<'static, ()>>,
    beating: Option<BoxFuture<'static, HeartbeatReply>>,
    next_beat: Option<BoxFuture<'static, ()>>,
    last_beat: Option<Timestamp>,
    /// Who waits for the heartbeat that is on its way.
    checks: Vec<oneshot::Sender<()>>,
}

impl Actor {
    pub(super) fn new(hall: Hall, url: CloudUrl, asked: mpsc::Receiver<LinkRequest>) -> Self {
        Self {
            hall,
            url,
            asked,
            link: Link::default(),
            polling: None,
            next_poll: None,
            beating: None,
            next_beat: None,
            last_beat: None,
            checks: Vec::new(),
        }
    }

    /// Works until the server stops.
    pub(super) async fn run(mut self) {
        let mut stopping = self.hall.tasks().stopping();
        let stop = stopping.wait_for(|stop| *stop);
        let working = async {
            let restarted = self
                .apply(LinkEvent::Restarted, NewSecret::Nothing, None)
                .await;
            self.log_failure(restarted);
            self.schedule_heartbeat(Duration::ZERO);
            loop {
                self.step().await;
            }
        };
        tokio::select! {
            _ = stop => {}
            () = working => {}
        }
    }

    async fn step(&mut self) {
        tokio::select! {
            biased;
            polled = done(&mut self.polling) => {
                self.polling = None;
                let polled = self.handle_poll(polled).await;
                self.log_failure(polled);
            }
            beaten = done(&mut self.beating) => {
                self.beating = None;
                let beaten = self.handle_heartbeat(beaten).await;
                self.log_failure(beaten);
            }
            ask = self.asked.recv() => match ask {
                Some(ask) => self.handle(ask).await,
                None => pending().await,
            },
            () = done(&mut self.next_poll) => {
                self.next_poll = None;
                let polling = self.poll().await;
                self.log_failure(polling);
            }
            () = done(&mut self.next_beat) => {
                self.next_beat = None;
                let beating = self.send_heartbeat().await;
                self.log_failure(beating);
            }
        }
    }

    async fn handle(&mut self, ask: LinkRequest) {
        match ask {
            LinkRequest::Start(by, reply) => {
                let _ = reply.send(self.start(by).await);
            }
            LinkRequest::Cancel(by, reply) => {
                let cancelled = self.cancel(by).await;
                let _ = reply.send(cancelled.map(|()| self.link.clone()));
            }
            LinkRequest::Unlink(by, reply) => {
                let unlinked = self
                    .apply(LinkEvent::Unlinked, NewSecret::Nothing, Some(by))
                    .await;
                let _ = reply.send(unlinked);
            }
            LinkRequest::Check(reply) => {
                let (now, reuse_s) = (self.hall.now(), CLOUD_CHECK_REUSE_S.unsigned_abs());
                let is_new = self
                    .last_beat
                    .is_some_and(|at| at <= now && at.seconds_until(now) < reuse_s);
                if self.link.held.is_none() || (is_new && self.beating.is_none()) {
                    let _ = reply.send(());
                    return;
                }
                self.checks.push(reply);
                let beating = self.send_heartbeat().await;
                self.log_failure(beating);
            }
            LinkRequest::Doubt => {
                let beating = self.send_heartbeat().await;
                self.log_failure(beating);
            }
        }
    }

    async fn start(&mut self, by: Caller) -> Result<LinkCode> {
        self.cancel(by).await?;
        if self.link.flow.is_some() {
            // An answer of before was lost: whether it held a key is asked once more.
            self.poll().await?;
            self.settle().await?;
        }
        let service = self.hall.cloud_service(&self.url).await?;
        let begun = service
            .request_device_code(&os_users::computer_name(), self.hall.now())
            .await;
        let (code, pace, device) = begun.map_err(|why| match why {
            CloudCallError::Unreachable => CloudRefusal::Unreachable,
            CloudCallError::Invalid | CloudCallError::NotTaken => CloudRefusal::AnswerInvalid,
        })?;
        let started = LinkEvent::Started(code.clone(), pace);
        self.apply(started, NewSecret::Device(device), Some(by))
            .await?;
        Ok(code)
    }

    /// Asks nothing more; waits for a request that is on its way, as long as one may take, and
    /// keeps a key that it brings.
    async fn cancel(&mut self, by: Caller) -> Result<()> {
        self.apply(LinkEvent::Cancelled, NewSecret::Nothing, Some(by))
            .await?;
        let flow = self.link.flow.as_ref();
        if !flow.is_some_and(|flow| flow.aim == KeyDisposition::Settle) {
            return Ok(());
        }
        let waited = self.after(Duration::from_secs(CLOUD_REQUEST_WAIT_S));
        let mut polling = self.polling.take();
        tokio::select! {
            biased;
            polled = done(&mut polling) => self.handle_poll(polled).await,
            () = waited => self.apply(LinkEvent::Abandoned, NewSecret::Nothing, None).await,
        }
    }

    /// Waits for the request that is on its way, does what its answer says, and waits for what
    /// comes of that.
    async fn settle(&mut self) -> Result<()> {
        while let Some(polling) = self.polling.take() {
            let polled = polling.await;
            self.handle_poll(polled).await?;
        }
        Ok(())
    }

    /// Asks whether the code was typed, unless its time is over.
    async fn poll(&mut self) -> Result<()> {
        if self.polling.is_some() {
            return Ok(());
        }
        self.apply(LinkEvent::Looked, NewSecret::Nothing, None)
            .await?;
        if self.link.flow.is_none() {
            return Ok(());
        }
        let kept = self.hall.stored_cloud_link().await?;
        let Some(device) = device_of(&self.hall.inner.seal, &self.url.to_string(), &kept) else {
            // What it was asked with cannot be read any more: nothing can come of this code.
            self.apply(LinkEvent::Asking, NewSecret::Nothing, None)
                .await?;
            let failed = LinkEvent::Answered(LinkPollResult::Failed);
            return self.apply(failed, NewSecret::Nothing, None).await;
        };
        let service = self.hall.cloud_service(&self.url).await?;
        self.apply(LinkEvent::Asking, NewSecret::Nothing, None)
            .await?;
        self.polling = Some(async move { service.poll(&device).await }.boxed());
        Ok(())
    }

    async fn handle_poll(&mut self, (answer, key): PollReply) -> Result<()> {
        let held = self.link.held;
        let with = key.map_or(NewSecret::Nothing, NewSecret::Key);
        self.apply(LinkEvent::Answered(answer), with, None).await?;
        if self.link.held != held && self.link.held.is_some() {
            self.schedule_heartbeat(Duration::ZERO);
        }
        Ok(())
    }

    async fn send_heartbeat(&mut self) -> Result<()> {
        let Some(number) = self.link.held.filter(|_| self.beating.is_none()) else {
            return Ok(());
        };
        let kept = self.hall.stored_cloud_link().await?;
        let Some(key) = key_of(&self.hall.inner.seal, &self.url.to_string(), &kept) else {
            // The key was sealed with another key of this host: it is lost.
            return self
                .handle_heartbeat((number, HeartbeatResult::NotTaken))
                .await;
        };
        let service = self.hall.cloud_service(&self.url).await?;
        let name = os_users::computer_name();
        self.beating = Some(async move { (number, service.heartbeat(&key, &name).await) }.boxed());
        Ok(())
    }

    async fn handle_heartbeat(&mut self, (number, heard): HeartbeatReply) -> Result<()> {
        self.last_beat = Some(self.hall.now());
        let told = self
            .apply(
                LinkEvent::Heartbeat(number, heard),
                NewSecret::Nothing,
                None,
            )
            .await;
        for check in self.checks.drain(..) {
            let _ = check.send(());
        }
        // A key that came meanwhile has its own heartbeat already.
        if self.next_beat.is_none() {
            self.schedule_heartbeat(self.period());
        }
        told
    }

    fn schedule_heartbeat(&mut self, within: Duration) {
        self.next_beat = self.link.held.map(|_| self.after(within));
    }

    /// The time until the next heartbeat: a quarter of an hour, and as chance has it a fifth
    /// more or less, so that many instances do not come at once.
    fn period(&self) -> Duration {
        let most = CLOUD_HEARTBEAT_PERIOD_S * CLOUD_HEARTBEAT_CHANCE_PERCENT / 100;
        let [.., a, b, c, d] = guildhall_world::ids::new().into_bytes();
        let chance = i64::from(u32::from_be_bytes([a, b, c, d])) % (2 * most + 1) - most;
        Duration::from_secs((CLOUD_HEARTBEAT_PERIOD_S + chance).unsigned_abs())
    }

    /// Lets something happen, gives back what is given up, and sees when to ask again.
    async fn apply(&mut self, what: LinkEvent, with: NewSecret, by: Option<Caller>) -> Result<()> {
        let moving = self
            .hall
            .apply_to_link(self.url.to_string(), what, with, by);
        let TransitionOutcome {
            link,
            given_up,
            unwanted,
        } = moving.await?;
        self.link = link;
        for key in given_up {
            self.hall.revoke_cloud_key(&self.url, key).await?;
        }
        if let Some(key) = unwanted {
            let service = self.hall.cloud_service(&self.url).await?;
            self.polling = Some(async move { revoke_unwanted_key(&service, &key).await }.boxed());
        }
        self.next_poll = self.next_poll();
        if self.link.held.is_none() {
            self.next_beat = None;
        }
        Ok(())
    }

    /// When the service is asked next: as it wants it, and never after the code's time, whose end
    /// is seen then.
    fn next_poll(&self) -> Option<BoxFuture<'static, ()>> {
        let flow = self.link.flow.as_ref().filter(|flow| !flow.is_asking())?;
        let left_s = self.hall.now().seconds_until(flow.code.expires_at);
        let wait_s = flow.pace.wait_s.unsigned_abs().min(left_s);
        Some(self.after(Duration::from_secs(wait_s)))
    }

    fn after(&self, wait: Duration) -> BoxFuture<'static, ()> {
        let clock = self.hall.inner.clock.clone();
        async move { clock.wait(wait).await }.boxed()
    }

    /// What goes wrong here is for nobody who asked: it is tried again at the next turn.
    fn log_failure(&mut self, done: Result<()>) {
        if let Err(error) = done {
            tracing::error!(?error, "the cloud link could not go on");
            let later = Duration::from_secs(60);
            if self.next_poll.is_none() && self.link.flow.is_some() && self.polling.is_none() {
                self.next_poll = Some(self.after(later));
            }
            if self.next_beat.is_none() && self.link.held.is_some() && self.beating.is_none() {
                self.next_beat = Some(self.after(later));
            }
        }
    }
}

/// What comes of giving back a key that nobody wants. Where nobody was told, the code is asked
/// with once more: that says the key was lost, and the service lets it count no more.
async fn revoke_unwanted_key(service: &CloudClient, key: &CloudKey) -> PollReply {
    let answer = match service.revoke_key(key).await {
        Ok(()) => LinkPollResult::Over,
        Err(_) => LinkPollResult::Again(device_grant::PollStatus::Nobody(None)),
    };
    (answer, None)
}

async fn done<T>(work: &mut Option<BoxFuture<'static, T>>) -> T {
    match work {
        Some(work) => work.await,
        None => pending().await,
    }
}
