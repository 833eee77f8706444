//! The workbench: addresses that show a folder or a dev server to a browser for a while.
//! What a token says is `domain::workbench`, making and reading it `world::address_tokens`; serving files
//! is [`served_folders`], the listeners of dev servers are [`previews`].

pub mod previews;
pub mod served_folders;

use std::{sync::Arc, time::Duration};

use guildhall_domain::{
    Error, Fault, Refusal, Result, Timestamp,
    callers::{Caller, Gate, Human, Identity, Owner},
    settings::{PUBLIC_URL, WORKBENCH_PEOPLE},
    workbench::{AddressClaims, AddressTarget, PreviewEnd, PreviewUnavailable, first_file},
};
use guildhall_store::{ReadSnapshot, ReadTx, api_keys, settings, sign_ins};
use guildhall_world::{
    address_tokens::AddressTokenError,
    confined_fs::ConfinedFs,
    dev_server,
    listening_ports::{self, OwnListeningPort},
};
use tokio::time::{MissedTickBehavior, timeout};

use crate::{Hall, visibility};

use self::previews::{NewPreview, Preview};

/// The address of a served folder.
pub struct ServedFolderAddress {
    /// What stands in the address.
    pub token: String,
    /// The first file to show, percent-encoded; `""` is the folder itself.
    pub file: String,
    /// Until when it counts.
    pub expires_at: Timestamp,
}

/// The address of a preview.
pub struct PreviewAddress {
    /// What stands in the address.
    pub token: String,
    /// Where the preview is.
    pub listen_port: u16,
    /// Until when it counts.
    pub expires_at: Timestamp,
}

/// From where a person asks for a preview.
#[derive(Clone, Debug)]
pub struct PageOrigin {
    /// The `Host` of the request.
    pub host: String,
    /// Whether the page is on https.
    pub is_secure: bool,
}

impl Hall {
    /// Makes the address of a folder; its first file need not exist.
    ///
    /// # Errors
    /// In this order: [`Refusal::OwnerOnly`] for people who reach no files, then
    /// [`Refusal::NullByte`], [`Refusal::InvalidPath`], [`Refusal::OutsideBoundary`],
    /// [`Refusal::PermissionDenied`], `NotFound` and [`Refusal::NotADirectory`].
    ///
    /// Source: contract 6.7.
    pub async fn sign_folder(
        &self,
        by: &Human,
        cwd: String,
        path: String,
    ) -> Result<ServedFolderAddress> {
        let by = *by.caller();
        let reach = self
            .store()
            .read(move |db| visibility::file_scope(db, &by))
            .await?;
        if cwd.contains('\0') {
            return Err(Refusal::NullByte.into());
        }
        if !path.starts_with('/') {
            // What leads out of any folder is told before this one is looked for.
            first_file("", &path)?;
        }
        let reach = reach.value;
        let open = move |confined: &ConfinedFs| {
            let folder = confined.open_folder(&reach, &cwd)?;
            let file = first_file(folder.path(), &path)?;
            let identity = folder.identity()?;
            let target = AddressTarget::Serve {
                cwd: folder.path().to_owned(),
                dev: identity.dev,
                ino: identity.ino,
            };
            Ok((target, file))
        };
        let (target, file) = self.with_files(move |confined, _| open(confined)).await?;
        let grant = AddressClaims::new(target, &by, self.now());
        Ok(ServedFolderAddress {
            token: self.inner.grants.mint(&grant)?,
            file,
            expires_at: grant.expires_at,
        })
    }

    /// Makes the address of a dev server's preview, and opens the preview unless it is open. Who
    /// opened it is handed what to serve.
    ///
    /// # Errors
    /// In this order: [`Refusal::OwnerOnly`] for people to whom dev servers are not opened,
    /// [`Refusal::PortNotAllowed`] for a port of this server's own.
    ///
    /// Source: contract 6.7, 6.9.
    pub async fn sign_preview(
        &self,
        by: &Human,
        port: u16,
        from: PageOrigin,
    ) -> Result<(
        Result<PreviewAddress, PreviewUnavailable>,
        Option<NewPreview>,
    )> {
        self.require_dev_servers(by).await?;
        if self.inner.previews.is_own_port(port) {
            return Err(Refusal::PortNotAllowed.into());
        }
        let public = self
            .store()
            .read(|db| settings::get(db, &PUBLIC_URL))
            .await?;
        let public = public.value.value;
        let is_through_tunnel = is_tunnel(public.text(), &from.host, self.inner.previews.port());
        if let Some(why) = PreviewUnavailable::of(is_through_tunnel, from.is_secure) {
            return Ok((Err(why), None));
        }
        let by = by.caller();
        let grant = AddressClaims::new(AddressTarget::Proxy { port }, by, self.now());
        // Before the preview is opened: nothing may fail between that and its being served.
        let token = self.inner.grants.mint(&grant)?;
        let (preview, opened) = self.open_preview(by, port).await?;
        let Some(preview) = preview else {
            return Ok((Err(PreviewUnavailable::NoPort), None));
        };
        let signed = PreviewAddress {
            token,
            listen_port: preview.listen_port(),
            expires_at: grant.expires_at,
        };
        Ok((Ok(signed), opened))
    }

    /// Lets no address made so far count any more, and closes every preview.
    ///
    /// # Errors
    /// Faults alone; then the addresses still count.
    pub async fn revoke_addresses(&self, _by: &Owner) -> Result<()> {
        let grants = Arc::clone(&self.inner.grants);
        tokio::task::spawn_blocking(move || grants.revoke())
            .await
            .map_err(|error| Fault::broken("revoking addresses", error))??;
        for preview in self.inner.previews.open() {
            preview.end(PreviewEnd::Revoked);
            preview.ended().await;
        }
        Ok(())
    }

    /// Whether a dev server takes connections on this port.
    ///
    /// # Errors
    /// [`Refusal::OwnerOnly`] for people to whom dev servers are not opened.
    pub async fn probe_port(&self, by: &Human, port: u16) -> Result<bool> {
        self.require_dev_servers(by).await?;
        Ok(dev_server::is_listening(port).await)
    }

    /// The ports that programs of the server's own user listen on, without the server's own.
    ///
    /// # Errors
    /// [`Refusal::OwnerOnly`] for people to whom dev servers are not opened.
    pub async fn listening_ports(&self, by: &Human) -> Result<Vec<OwnListeningPort>> {
        self.require_dev_servers(by).await?;
        let mut found = tokio::task::spawn_blocking(listening_ports::ports)
            .await
            .map_err(|error| Fault::broken("looking for dev servers", error))?;
        found.retain(|one| !self.inner.previews.is_own_port(one.port));
        Ok(found)
    }

    /// Holds people other than the owner back from dev servers, unless a setting opens them: what
    /// listens on loopback takes whoever comes there for the owner.
    ///
    /// # Errors
    /// [`Refusal::OwnerOnly`].
    async fn require_dev_servers(&self, by: &Human) -> Result<ReadSnapshot<()>> {
        let by = *by.caller();
        self.store()
            .read(move |db| dev_servers_are_open(db, &by))
            .await
    }

    /// What the token of an address says, while it counts.
    ///
    /// # Errors
    /// [`Refusal::BadToken`], [`Refusal::TokenExpired`].
    pub(crate) async fn valid_claims(&self, token: &str) -> Result<AddressClaims> {
        let grant = self.read_claims(token)?;
        self.require_live(&grant).await?;
        Ok(grant)
    }

    /// What the token of an address says.
    pub(crate) fn read_claims(&self, token: &str) -> Result<AddressClaims, Refusal> {
        self.inner.grants.read(token).map_err(|why| match why {
            AddressTokenError::Broken => Refusal::BadToken,
            AddressTokenError::Revoked => Refusal::TokenExpired,
        })
    }

    /// Holds back a grant whose time is over, or that of what it was asked for with.
    pub(crate) async fn require_live(&self, grant: &AddressClaims) -> Result<()> {
        let now = self.now();
        let is_live = grant.is_live(now)
            && match (grant.sign_in, grant.key) {
                (None, None) => true,
                (sign_in, key) => {
                    let look = move |db: &ReadTx<'_>| {
                        let signed_in = match sign_in {
                            Some(id) => {
                                sign_ins::by_id(db, id)?.is_some_and(|one| one.is_live(now))
                            }
                            None => true,
                        };
                        let has_key = match key {
                            Some(id) => api_keys::by_id(db, id)?.is_some(),
                            None => true,
                        };
                        Ok(signed_in && has_key)
                    };
                    self.store().read(look).await?.value
                }
            };
        match is_live {
            true => Ok(()),
            false => Err(Refusal::TokenExpired.into()),
        }
    }

    /// The grant with which a token opens this preview now; `None` when it does not.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn preview_claims(
        &self,
        token: &str,
        preview: &Preview,
    ) -> Result<Option<AddressClaims>> {
        let port = preview.port();
        match self.valid_claims(token).await {
            Ok(grant) => {
                Ok(Some(grant).filter(|grant| grant.target == AddressTarget::Proxy { port }))
            }
            Err(Error::Refusal(_)) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Waits until a grant no longer counts: its time is over, or what it was asked for with
    /// ended.
    pub async fn address_ended(&self, grant: &AddressClaims) {
        /// What ends a sign-in or a key is an event like any other: it is looked for at most this
        /// often.
        const LOOKED_EVERY: Duration = Duration::from_secs(1);
        let mut looks = tokio::time::interval(LOOKED_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut head = self.store().head();
        loop {
            looks.tick().await;
            head.borrow_and_update();
            match self.require_live(grant).await {
                Ok(()) => {}
                Err(Error::Refusal(_)) => return,
                Err(error) => tracing::error!(?error, "a grant could not be looked up"),
            }
            let left = grant.expires_at.as_millis() - self.now().as_millis();
            let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
            // Either way it is time to look: its time is over, or something happened.
            let _ = timeout(left, head.changed()).await;
        }
    }
}

fn dev_servers_are_open(db: &ReadTx<'_>, by: &Caller) -> Result<()> {
    match by.identity {
        Identity::Owner => Ok(()),
        Identity::Person(_) => match settings::get(db, &WORKBENCH_PEOPLE)?.value.text() {
            "previews" => Ok(()),
            _ => Err(Refusal::OwnerOnly.into()),
        },
        Identity::Agent(_) => Err(Refusal::HumansOnly.into()),
    }
}

/// Whether a request with this `Host` came through the public address, and that one is not this
/// very listener: it carries one port alone.
fn is_tunnel(public: &str, host: &str, own_port: u16) -> bool {
    let Ok(public) = url::Url::parse(public.trim()) else {
        return false;
    };
    let is_this_listener =
        public.scheme() == "http" && public.port_or_known_default() == Some(own_port);
    let asked = url::Url::parse(&format!("http://{host}/")).ok();
    let asked = asked.as_ref().and_then(url::Url::host);
    let is_own_name = asked.as_ref().is_none_or(|asked| match asked {
        url::Host::Domain(name) => *name == "localhost",
        url::Host::Ipv4(address) => address.is_loopback(),
        url::Host::Ipv6(address) => address.is_loopback(),
    });
    !is_own_name && !is_this_listener && public.host() == asked
}

#[cfg(test)]
mod tests {
    use super::is_tunnel;

    #[test]
    fn a_tunnel_is_the_public_address_that_is_not_this_listener() {
        for (public, host, expected) in [
            ("https://hall.example.org", "hall.example.org", true),
            ("https://hall.example.org/", "HALL.example.org:443", true),
            ("http://hall.example.org", "hall.example.org", true),
            (
                "http://hall.example.org:4747",
                "hall.example.org:4747",
                false,
            ),
            ("https://hall.example.org", "localhost:4747", false),
            ("https://hall.example.org", "192.168.0.2:4747", false),
            ("https://localhost:8443", "localhost:8443", false),
            ("", "hall.example.org", false),
            ("nonsense", "hall.example.org", false),
        ] {
            assert_eq!(is_tunnel(public, host, 4747), expected, "{public} {host}");
        }
    }
}
