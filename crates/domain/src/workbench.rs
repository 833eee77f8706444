//! The workbench: what an address of a served folder or of a preview stands for, and how long;
//! which part of a folder an address asks for, and of which type it is.
//! Pure: tokens are made and read by `world::address_tokens`, files are opened by `hall::workbench`.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::{
    Refusal, Timestamp,
    callers::{Caller, Credential},
    ids::{ApiKeyId, AuthorId, SignInId},
    limits,
    port_ranges::PortRange,
};

/// What an address opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum AddressTarget {
    /// The files beneath one folder.
    Serve {
        /// Its canonical path.
        cwd: String,
        /// The file system it lies on; the folder counts only while it is the same one.
        dev: u64,
        /// Its number there.
        ino: u64,
    },
    /// A dev server of this computer.
    Proxy {
        /// Its port on loopback.
        port: u16,
    },
}

/// What the token in an address says. Source: contract 6.7, "Token".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressClaims {
    /// What it opens.
    #[serde(flatten)]
    pub target: AddressTarget,
    /// Who asked for it.
    #[serde(rename = "sub")]
    pub author: AuthorId,
    /// The sign-in it was asked for with; it ends with that one.
    #[serde(rename = "sid", default, skip_serializing_if = "Option::is_none")]
    pub sign_in: Option<SignInId>,
    /// The API key it was asked for with; it ends with that one.
    #[serde(rename = "key", default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ApiKeyId>,
    /// When it was made.
    #[serde(rename = "iat")]
    pub issued_at: Timestamp,
    /// From when on it no longer counts.
    #[serde(rename = "exp")]
    pub expires_at: Timestamp,
}

impl AddressClaims {
    /// A grant for `by`, made at `now`: it counts for [`limits::SIGN_TTL_S`] seconds.
    pub fn new(target: AddressTarget, by: &Caller, now: Timestamp) -> Self {
        let (sign_in, key) = match by.credential {
            Credential::Cookie(id) => (Some(id), None),
            Credential::ApiKey(id) => (None, Some(id)),
            Credential::Loopback
            | Credential::LocalToken
            | Credential::AgentToken(_)
            | Credential::Process => (None, None),
        };
        Self {
            target,
            author: by.author,
            sign_in,
            key,
            issued_at: now,
            expires_at: now.plus_seconds(limits::SIGN_TTL_S),
        }
    }

    /// Whether it counts at `now`, as far as its own time says.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// Why a preview cannot be shown where it was asked for. Source: contract 6.7, "unavailable".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreviewUnavailable {
    /// The request came through the public address, which carries one port alone.
    Tunnel,
    /// The page is on https, and a browser shows no plain-http preview in it.
    Insecure,
    /// Every port of the range is taken.
    NoPort,
}

impl PreviewUnavailable {
    /// Its word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tunnel => "tunnel",
            Self::Insecure => "insecure",
            Self::NoPort => "no-port",
        }
    }

    /// What can be told before a port is looked for.
    pub fn of(is_through_tunnel: bool, is_secure: bool) -> Option<Self> {
        match (is_through_tunnel, is_secure) {
            (true, _) => Some(Self::Tunnel),
            (false, true) => Some(Self::Insecure),
            (false, false) => None,
        }
    }
}

/// Why a preview is no longer listened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PreviewEnd {
    /// Nobody asked for anything for a while.
    Idle,
    /// A person closed it.
    Person,
    /// Every address was revoked.
    Revoked,
    /// The server stopped.
    Shutdown,
}

/// The ports previews are listened for on, at most [`limits::PREVIEW_LISTENERS_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreviewPorts(PortRange);

impl PreviewPorts {
    /// The ports unless a setting names others. Source: contract 6.9.
    pub const DEFAULT: &'static str = "4748-4779";

    /// Reads `4748-4779`, or one port alone.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let range: PortRange = text.parse()?;
        if range.count() > limits::PREVIEW_LISTENERS_MAX {
            return Err(format!(
                "must span at most {} ports",
                limits::PREVIEW_LISTENERS_MAX
            ));
        }
        Ok(Self(range))
    }

    /// All of them, in order.
    pub fn ports(self) -> RangeInclusive<u16> {
        self.0.ports()
    }

    /// The ports in the order they are tried for the dev server on `port`: those it was shown on,
    /// the latest first; those nobody was shown on; then those of others, the one that was used
    /// longest ago first. A browser keeps what pages left there, a service worker too, by the
    /// port: whoever gets the port of another meets it.
    ///
    /// `shown` is in the order of use, the one of longest ago first.
    pub fn tried(self, port: u16, shown: &[PreviewPort]) -> Vec<u16> {
        let is_here = |one: &&PreviewPort| self.ports().contains(&one.listen_port);
        let (own, others): (Vec<&PreviewPort>, Vec<&PreviewPort>) = shown
            .iter()
            .filter(is_here)
            .partition(|one| one.port == port);
        let is_known = |port: &u16| shown.iter().any(|one| one.listen_port == *port);
        let own = own.into_iter().rev().map(|one| one.listen_port);
        let unknown = self.ports().filter(|port| !is_known(port));
        let others = others.into_iter().map(|one| one.listen_port);
        own.chain(unknown).chain(others).collect()
    }
}

/// Which dev server was shown last on a port of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreviewPort {
    /// Our port.
    pub listen_port: u16,
    /// The dev server's.
    pub port: u16,
}

/// Which part of a served folder an address asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedPath {
    /// Relative to the folder; `""` is the folder itself.
    pub path: String,
    /// Whether a folder is asked for, whose page is shown.
    pub is_folder: bool,
}

impl ServedPath {
    /// Reads what stands behind the token in an address, percent-encoded. Nothing of it is ever
    /// absolute; that dots stay inside the folder is seen when it is opened.
    ///
    /// # Errors
    /// [`Refusal::NullByte`]; [`Refusal::InvalidPath`] for what does not decode, and for a name
    /// that holds `/`; `NotFound` for the folder of a repository's own files.
    ///
    /// Source: contract 6.8.
    pub fn read(raw: &str) -> Result<Self, Refusal> {
        let mut names = Vec::new();
        for segment in raw.split('/').filter(|segment| !segment.is_empty()) {
            let name = decoded(segment).ok_or(Refusal::InvalidPath("EILSEQ"))?;
            if name.contains('\0') {
                return Err(Refusal::NullByte);
            }
            if name.contains('/') {
                return Err(Refusal::InvalidPath("EINVAL"));
            }
            names.push(name);
        }
        let is_folder = names.is_empty() || raw.ends_with('/');
        Ok(Self {
            path: names.join("/"),
            is_folder,
        })
    }

    /// The file to open: of a folder its page.
    pub fn file(&self) -> String {
        match (self.is_folder, self.path.as_str()) {
            (false, path) => path.to_owned(),
            (true, "") => INDEX.to_owned(),
            (true, path) => format!("{path}/{INDEX}"),
        }
    }
}

/// The page of a folder.
const INDEX: &str = "index.html";

/// Whether a path leads through the folder of a repository's own files, which is never served.
pub fn is_git_internal(path: &str) -> bool {
    path.split('/')
        .any(|name| name.eq_ignore_ascii_case(".git"))
}

fn decoded(segment: &str) -> Option<String> {
    if !segment.contains('%') {
        return Some(segment.to_owned());
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let [high, low] = *after.first_chunk::<2>()?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
        rest = after.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

/// The first file to show of a folder, as the address names it: percent-encoded names with `/`
/// between, and one at the end where `path` has one. Whether it exists is not asked.
///
/// `cwd` is the folder's canonical path.
///
/// # Errors
/// [`Refusal::NullByte`]; [`Refusal::OutsideBoundary`] when the path leads out of the folder.
pub fn first_file(cwd: &str, path: &str) -> Result<String, Refusal> {
    if path.contains('\0') {
        return Err(Refusal::NullByte);
    }
    let rest = if path.starts_with('/') {
        let rest = path.strip_prefix(cwd.trim_end_matches('/'));
        rest.filter(|rest| rest.is_empty() || rest.starts_with('/'))
            .ok_or(Refusal::OutsideBoundary)?
    } else {
        path
    };
    let mut names: Vec<&str> = Vec::new();
    for name in rest.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop().ok_or(Refusal::OutsideBoundary)?;
            }
            name => names.push(name),
        }
    }
    let mut address = names
        .iter()
        .map(|name| encoded(name))
        .collect::<Vec<_>>()
        .join("/");
    if !names.is_empty() && (rest.ends_with('/') || rest.ends_with("/.") || rest.ends_with("/..")) {
        address.push('/');
    }
    Ok(address)
}

/// A name as one segment of an address (RFC 3986 §3.3).
fn encoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// The media type a served file has, by the ending of its name. Source: contract 6.8, "Types".
pub fn media_type(path: &str) -> &'static str {
    const TYPES: &[(&[&str], &str)] = &[
        (&["html", "htm"], "text/html; charset=utf-8"),
        (&["css"], "text/css; charset=utf-8"),
        (&["js", "mjs"], "text/javascript; charset=utf-8"),
        (&["json", "map"], "application/json; charset=utf-8"),
        (&["svg"], "image/svg+xml; charset=utf-8"),
        (&["txt"], "text/plain; charset=utf-8"),
        (&["md"], "text/markdown; charset=utf-8"),
        (&["xml"], "text/xml; charset=utf-8"),
        (&["png"], "image/png"),
        (&["jpg", "jpeg"], "image/jpeg"),
        (&["gif"], "image/gif"),
        (&["webp"], "image/webp"),
        (&["avif"], "image/avif"),
        (&["ico"], "image/x-icon"),
        (&["bmp"], "image/bmp"),
        (&["woff"], "font/woff"),
        (&["woff2"], "font/woff2"),
        (&["ttf"], "font/ttf"),
        (&["otf"], "font/otf"),
        (&["wasm"], "application/wasm"),
        (&["pdf"], "application/pdf"),
        (&["mp4"], "video/mp4"),
        (&["webm"], "video/webm"),
        (&["mp3"], "audio/mpeg"),
        (&["ogg"], "audio/ogg"),
        (&["wav"], "audio/wav"),
        (&["glb"], "model/gltf-binary"),
        (&["gltf"], "model/gltf+json"),
    ];
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    TYPES
        .iter()
        .find(|(endings, _)| {
            endings
                .iter()
                .any(|known| known.eq_ignore_ascii_case(ending))
        })
        .map_or("application/octet-stream", |(_, media_type)| media_type)
}

#[cfg(test)]
#[path = "workbench_tests.rs"]
mod tests;
