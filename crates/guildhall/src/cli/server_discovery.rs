//! Which server a command speaks to. Source: contract 1.13, "CLI finds the server".

use std::path::PathBuf;

use guildhall_world::data_dir;
use http::{Uri, uri::Scheme};
use serde_json::Value;

use super::failure::Failure;
use crate::config;

/// Where a server listens, and what its own computer's programs show it in mode `login`.
pub(super) struct RunningServer {
    /// Its address.
    pub(super) url: Uri,
    /// The token that stands for the owner; only the data folder tells it.
    pub(super) local_token: Option<String>,
}

/// A server, by its address or by its data folder.
#[derive(Clone, Debug)]
pub(super) enum ServerLocation {
    /// At this address.
    At(Uri),
    /// The one that uses this data folder, wherever it listens now.
    Of(PathBuf),
}

impl ServerLocation {
    /// The server that the arguments and the environment name.
    ///
    /// # Errors
    /// [`Failure::Usage`] when they name none.
    pub(super) fn named(url: Option<&str>, data_dir: Option<PathBuf>) -> Result<Self, Failure> {
        match url {
            Some(url) => Ok(Self::At(address(url)?)),
            None => config::data_dir_of(data_dir)
                .map(Self::Of)
                .map_err(|error| Failure::Usage(error.to_string())),
        }
    }

    /// Where it listens now.
    ///
    /// # Errors
    /// [`Failure::Unreached`] when no server uses the data folder.
    pub(super) fn find(&self) -> Result<RunningServer, Failure> {
        let data_dir = match self {
            Self::At(url) => {
                let (url, local_token) = (url.clone(), None);
                return Ok(RunningServer { url, local_token });
            }
            Self::Of(data_dir) => data_dir,
        };
        let announced = data_dir::read_discovery_file(data_dir).and_then(|json| {
            let server: Value = serde_json::from_str(&json).ok()?;
            Some(RunningServer {
                url: server["url"].as_str()?.parse().ok()?,
                local_token: server["localToken"].as_str().map(str::to_owned),
            })
        });
        announced.ok_or_else(|| {
            Failure::Unreached(format!(
                "no server uses the data folder {}; start one with `guildhall serve`, \
                 or name one with --url.",
                data_dir.display()
            ))
        })
    }
}

fn address(text: &str) -> Result<Uri, Failure> {
    let url: Option<Uri> = text.parse().ok();
    let is_plain = |url: &Uri| {
        url.scheme() == Some(&Scheme::HTTP)
            && url.host().is_some_and(|host| !host.is_empty())
            && url.path_and_query().is_none_or(|rest| rest == "/")
            // A name and password before the host would be sent nowhere and shown everywhere.
            && !url.authority().is_some_and(|authority| authority.as_str().contains('@'))
    };
    url.filter(is_plain).ok_or_else(|| {
        Failure::Usage(
            "the server's address must look like http://127.0.0.1:4747; only http:// is spoken."
                .to_owned(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_count() {
        for good in [
            "http://127.0.0.1:4747",
            "http://[::1]:1/",
            "http://localhost",
        ] {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in [
            "https://localhost",
            "localhost:4747",
            "/x",
            "http://",
            "http://a/b",
            "http://me:word@localhost",
        ] {
            assert!(
                matches!(address(bad), Err(Failure::Usage(ref why)) if !why.contains("word")),
                "{bad}"
            );
        }
    }
}
