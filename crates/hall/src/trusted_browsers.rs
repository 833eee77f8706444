//! Trusted browsers: whoever opened an address that `guildhall open` showed in the owner's own
//! terminal. The cookie that it got settles the doubt about its connections and says nothing else:
//! who is calling is found out as for every other connection.
//!
//! Such an address is opened once and counts for some minutes. It is shown to a caller beyond doubt
//! alone, and neither it nor the cookie is of use to a process in the tree of an agent.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    callers::{Gate, OwnerInteractive},
    limits,
};
use guildhall_store::trusted_browsers;
use guildhall_world::secret_tokens::{self, COOKIE_PREFIX, SecretToken};

use crate::{
    Hall,
    callers::{self, PeerIdentity},
};

/// What makes a browser a trusted one.
pub struct OpenLink {
    /// The last part of its address.
    pub token: SecretToken,
    /// Until when it counts.
    pub expires_at: Timestamp,
}

impl Hall {
    /// Makes an address for a browser of the owner.
    ///
    /// # Errors
    /// [`Refusal::AuthRequired`] when the caller's credential ended meanwhile.
    pub async fn make_open_link(&self, by: &OwnerInteractive) -> Result<OpenLink> {
        let (caller, now) = (*by.caller(), self.now());
        let token = secret_tokens::mint(COOKIE_PREFIX)?;
        let digest = token.digest();
        let expires_at = now.plus_seconds(limits::OPEN_LINK_AGE_S);
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &caller, now)?;
                trusted_browsers::add_link(tx, &digest, expires_at, now)
            })
            .await?;
        Ok(OpenLink { token, expires_at })
    }

    /// Uses up such an address; answers what the cookie of the browser is to hold.
    ///
    /// # Errors
    /// [`Refusal::CallerInDoubt`], [`Refusal::NotTheOwner`] or
    /// [`Refusal::AgentIdentityUnverified`] for a process in the tree of an agent, and whoever may
    /// be one; [`Refusal::TokenExpired`] for an address that does not count, or does not any more.
    pub async fn use_open_link(&self, token: &str, peer: PeerIdentity) -> Result<SecretToken> {
        match peer {
            PeerIdentity::InDoubt {
                can_be_settled: true,
                ..
            } => {}
            peer => peer.require_no_agent()?,
        }
        let (link, cookie, now) = (
            secret_tokens::digest(token),
            secret_tokens::mint(COOKIE_PREFIX)?,
            self.now(),
        );
        let digest = cookie.digest();
        self.store()
            .write(move |tx| {
                if !trusted_browsers::use_link(tx, &link, now)? {
                    return Err(Refusal::TokenExpired.into());
                }
                trusted_browsers::add(tx, &digest, now)
            })
            .await?;
        Ok(cookie)
    }

    /// Forgets all trusted browsers.
    ///
    /// # Errors
    /// As [`Self::make_open_link`].
    pub async fn forget_trusted_browsers(&self, by: &OwnerInteractive) -> Result<()> {
        let (caller, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &caller, now)?;
                trusted_browsers::forget_all(tx)
            })
            .await
    }

    /// Whether one of these cookies is that of a trusted browser.
    pub(crate) async fn is_trusted(&self, cookies: &[String]) -> Result<bool> {
        if cookies.is_empty() {
            return Ok(false);
        }
        let digests: Vec<_> = cookies.iter().map(|it| secret_tokens::digest(it)).collect();
        let now = self.now();
        let found = self.store().read(move |db| {
            for digest in &digests {
                if trusted_browsers::is_trusted(db, digest, now)? {
                    return Ok(true);
                }
            }
            Ok(false)
        });
        Ok(found.await?.value)
    }
}
