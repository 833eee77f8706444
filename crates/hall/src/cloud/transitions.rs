//! The moves of the link: each is written with its events and with what becomes of its keys.
//! Source: contract 5.10; 5.11, "Events of part B".

use guildhall_domain::{
    Fault, Result, Timestamp,
    callers::Caller,
    cloud::{
        event_payloads::HeartbeatChanged,
        link::{KeyEffect, Link, LinkEvent},
    },
    events::Event,
};
use guildhall_store::{
    Tx,
    cloud::{self as rows, CloudLinkRow},
};
use guildhall_world::{
    cloud_client::{CloudKey, PendingLink},
    seal::{Seal, SealContext},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Hall, callers};

/// What comes with a happening.
pub(super) enum NewSecret {
    /// Nothing.
    Nothing,
    /// What the service is asked with from now on.
    Device(PendingLink),
    /// The key that came.
    Key(CloudKey),
}

/// What a happening came to.
pub(super) struct TransitionOutcome {
    /// The link after it.
    pub(super) link: Link,
    /// The keys that are to be given back: none of them is kept any more.
    pub(super) given_up: Vec<CloudKey>,
    /// The key that just came and that nobody wants: what comes of giving it back is the next
    /// answer.
    pub(super) unwanted: Option<CloudKey>,
}

impl Hall {
    /// Lets something happen to the link with the service at `url`; one that somebody does is
    /// done while their credential counts.
    pub(super) async fn apply_to_link(
        &self,
        url: String,
        happening: LinkEvent,
        with: NewSecret,
        by: Option<Caller>,
    ) -> Result<TransitionOutcome> {
        let (seal, now) = (self.inner.seal.clone(), self.now());
        self.store()
            .write(move |tx| {
                if let Some(caller) = &by {
                    callers::require_live_credential(tx, caller, now)?;
                }
                apply(tx, &seal, &url, (happening, with), (by, now))
            })
            .await
    }
}

fn apply(
    tx: &mut Tx<'_>,
    seal: &Seal,
    url: &str,
    (happening, with): (LinkEvent, NewSecret),
    (by, now): (Option<Caller>, Timestamp),
) -> Result<TransitionOutcome> {
    let mut kept = rows::find(tx, url)?;
    let before = kept.link.clone();
    let mut given_up = Vec::new();
    let Some(moved) = before.next(happening, now) else {
        // A key that nobody expects is nobody's.
        if let NewSecret::Key(key) = with {
            given_up.push(key);
        }
        return Ok(TransitionOutcome {
            link: before,
            given_up,
            unwanted: None,
        });
    };
    kept.link = moved.link;
    let (mut new, mut unwanted) = (None, None);
    match with {
        NewSecret::Nothing => {}
        NewSecret::Device(device) => kept.device = Some(close(seal, url, DEVICE, &device)?),
        NewSecret::Key(key) => new = Some(key),
    }
    for effect in moved.effects {
        match effect {
            KeyEffect::Keep => {
                let key = new.take();
                kept.key = key.map(|key| close(seal, url, KEY, &key)).transpose()?;
            }
            KeyEffect::GiveBackNew => unwanted = new.take(),
            KeyEffect::GiveBackHeld => given_up.extend(key_of(seal, url, &kept)),
            KeyEffect::EraseHeld => {}
        }
        if matches!(effect, KeyEffect::GiveBackHeld | KeyEffect::EraseHeld) {
            kept.key = None;
        }
    }
    if kept.link.flow.is_none() {
        kept.device = None;
    }
    rows::keep(tx, url, &kept)?;
    append_changed(tx, &before, &kept.link, (by, now))?;
    Ok(TransitionOutcome {
        link: kept.link,
        given_up,
        unwanted,
    })
}

/// Tells what changed for those who watch.
fn append_changed(
    tx: &mut Tx<'_>,
    before: &Link,
    after: &Link,
    (by, now): (Option<Caller>, Timestamp),
) -> Result<()> {
    let actor = by.map(|caller| caller.author);
    if before.changed_event() != after.changed_event() {
        tx.append(now, actor, &Event::CloudLinkChanged(after.changed_event()))?;
    }
    if let (Some(ok), true) = (after.is_heard, before.is_heard != after.is_heard) {
        let event = Event::CloudHeartbeatChanged(HeartbeatChanged { ok });
        tx.append(now, None, &event)?;
    }
    Ok(())
}

const KEY: &[u8] = b"key";
const DEVICE: &[u8] = b"device";

/// The key that is held; `None` where there is none, or where it was sealed elsewhere.
pub(super) fn key_of(seal: &Seal, url: &str, kept: &CloudLinkRow) -> Option<CloudKey> {
    open(seal, url, KEY, kept.key.as_deref()?)
}

/// What the service is asked with while a code waits.
pub(super) fn device_of(seal: &Seal, url: &str, kept: &CloudLinkRow) -> Option<PendingLink> {
    open(seal, url, DEVICE, kept.device.as_deref()?)
}

fn close(seal: &Seal, url: &str, what: &[u8], secret: &impl Serialize) -> Result<Vec<u8>, Fault> {
    let text = serde_json::to_vec(secret);
    let text = text.map_err(|error| Fault::broken("writing a secret", error))?;
    seal.seal(SealContext(&[b"cloud", url.as_bytes(), what]), &text)
}

fn open<T: DeserializeOwned>(seal: &Seal, url: &str, what: &[u8], sealed: &[u8]) -> Option<T> {
    let text = seal.unseal(SealContext(&[b"cloud", url.as_bytes(), what]), sealed)?;
    serde_json::from_slice(&text).ok()
}
