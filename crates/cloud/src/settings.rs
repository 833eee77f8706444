//! Settings: flags over environment over defaults, and what of them can be used.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use clap::Args;
use guildhall_domain::{mcp_signins::address_policy::is_loopback_host, port_ranges::ReservedPorts};
use url::Url;

use crate::stripe::StripeKey;

/// Where everything is kept.
#[derive(Clone, Debug, Args)]
pub struct DataFolderArgs {
    /// Folder that holds everything the service keeps
    #[arg(long, env = "GUILDHALL_CLOUD_DATA_DIR", value_name = "FOLDER")]
    pub data_dir: PathBuf,
}

/// Where everything is kept, and under which address people reach it.
#[derive(Clone, Debug, Args)]
pub struct ServiceArgs {
    /// Where everything is kept.
    #[command(flatten)]
    pub folder: DataFolderArgs,
    /// Where browsers and instances reach the service, https unless it is this computer
    /// [default: the address it listens on]
    #[arg(long, env = "GUILDHALL_CLOUD_PUBLIC_URL", value_name = "ADDRESS")]
    pub public_url: Option<String>,
    /// Address to listen on, port 0 picks a free one
    #[arg(
        long,
        env = "GUILDHALL_CLOUD_BIND",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:4780"
    )]
    pub bind: SocketAddr,
    /// Ports of which a free one is picked, where no agent of this computer comes; what the
    /// servers of this computer are started with [default: 61000-64999]
    #[arg(long, env = "GUILDHALL_RESERVED_PORTS", value_name = "FIRST-LAST")]
    pub reserved_ports: Option<ReservedPorts>,
}

/// How the payment service is reached. Without a key there are no offers.
#[derive(Clone, Debug, Args)]
pub struct PaymentArgs {
    /// Where the payment service is
    #[arg(
        long,
        env = "GUILDHALL_CLOUD_STRIPE_BASE",
        value_name = "ADDRESS",
        default_value = "https://api.stripe.com"
    )]
    pub stripe_base: String,
    /// File that holds the secret key of the payment service
    #[arg(long, env = "GUILDHALL_CLOUD_STRIPE_KEY_FILE", value_name = "FILE")]
    pub stripe_key_file: Option<PathBuf>,
    /// Price with an amount that is chosen on the page, for top-ups
    #[arg(long, env = "GUILDHALL_CLOUD_TOPUP_PRICE", value_name = "PRICE")]
    pub topup_price: Option<String>,
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// It is no address of a service.
    #[error("{name} must be https, or http on this computer, without a path: {given}")]
    Address {
        /// The setting.
        name: &'static str,
        /// What it says.
        given: String,
    },
    /// Nobody said where people reach it.
    #[error(
        "{address} is beyond this computer: say with --public-url at which https address people \
         reach it"
    )]
    Unnamed {
        /// Where it listens.
        address: SocketAddr,
    },
    /// Nobody can listen there.
    #[error("the address {address} cannot be used: {source}")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The key cannot be read.
    #[error("the key of the payment service cannot be read from {}: {source}", .path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// An origin: https, or http on this computer; no path, no user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpOrigin(Url);

impl HttpOrigin {
    /// Reads the setting `name`.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn read(name: &'static str, given: &str) -> Result<Self, SettingError> {
        let url = Url::parse(given).ok().filter(is_origin);
        let wrong = || SettingError::Address {
            name,
            given: given.to_owned(),
        };
        url.map(Self).ok_or_else(wrong)
    }

    /// The origin of a service on plain http at `address`.
    ///
    /// # Errors
    /// When that is not this computer: what is said in clear on a network is everybody's.
    pub fn at(address: SocketAddr) -> Result<Self, SettingError> {
        let url = Url::parse(&format!("http://{address}"))
            .ok()
            .filter(is_origin);
        url.map(Self).ok_or(SettingError::Unnamed { address })
    }

    /// The address of `path`, which begins with a slash; of `""` the origin itself.
    pub fn address(&self, path: &str) -> String {
        format!("{}{path}", self.0.origin().ascii_serialization())
    }

    /// Whether it is spoken to in secret.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether it is this computer.
    pub fn is_loopback(&self) -> bool {
        is_loopback_host(&self.0)
    }
}

fn is_origin(url: &Url) -> bool {
    is_private(url, is_loopback_host(url))
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
}

/// Whether a page's address can be handed out: https, or http on this computer where
/// `may_be_here`; no user, at most 4096 characters.
pub fn is_page_address(address: &str, may_be_here: bool) -> bool {
    address.len() <= 4_096 && Url::parse(address).is_ok_and(|url| is_private(&url, may_be_here))
}

fn is_private(url: &Url, may_be_here: bool) -> bool {
    let is_plain = url.username().is_empty() && url.password().is_none();
    is_plain
        && match url.scheme() {
            "https" => url.has_host(),
            "http" => may_be_here && is_loopback_host(url),
            _ => false,
        }
}

/// Reads the secret key of the payment service.
///
/// # Errors
/// When the file cannot be read or holds none.
pub fn read_key(path: &Path) -> Result<StripeKey, SettingError> {
    let failed = |source| SettingError::Key {
        path: path.to_owned(),
        source,
    };
    let text = std::fs::read_to_string(path).map_err(failed)?;
    StripeKey::parse(text.trim()).ok_or_else(|| {
        failed(io::Error::new(
            io::ErrorKind::InvalidData,
            "it holds no key",
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_private_and_has_no_path() {
        for (given, expected) in [
            ("https://cloud.example", Some("https://cloud.example")),
            (
                "https://cloud.example:8443/",
                Some("https://cloud.example:8443"),
            ),
            ("http://127.0.0.1:4780", Some("http://127.0.0.1:4780")),
            ("http://[::1]:4780", Some("http://[::1]:4780")),
            ("http://localhost:4780", Some("http://localhost:4780")),
            ("http://cloud.example", None),
            ("https://cloud.example/a", None),
            ("https://cloud.example/?a", None),
            ("https://ada@cloud.example", None),
            ("ftp://127.0.0.1", None),
            ("cloud.example", None),
        ] {
            let read = HttpOrigin::read("it", given).ok();
            let read = read.map(|origin| origin.address(""));
            assert_eq!(read.as_deref(), expected, "{given}");
        }
    }

    #[test]
    fn only_private_addresses_are_handed_out() {
        for (address, here, elsewhere) in [
            ("https://checkout.stripe.com/c/pay/1", true, true),
            ("http://127.0.0.1:1/pay", true, false),
            ("http://pay.example/1", false, false),
            ("https://a:b@pay.example/1", false, false),
            ("javascript:alert(1)", false, false),
            ("data:text/html,x", false, false),
            ("/pay", false, false),
            ("", false, false),
        ] {
            assert_eq!(is_page_address(address, true), here, "{address}");
            assert_eq!(is_page_address(address, false), elsewhere, "{address}");
        }
        let long = format!("https://pay.example/{}", "a".repeat(4_096));
        assert!(!is_page_address(&long, true));
    }
}
