//! Addresses: what a person and an agent may open, and what a page may load of itself.
//! Source: contract 7.9, "Who / what".

use url::{Host, Url};

use crate::{Refusal, limits};

/// The page every tab begins with.
const BLANK: &str = "about:blank";

/// An address the browser may be sent to: `http` or `https` without userinfo, or `about:blank`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BrowserAddress(String);

impl BrowserAddress {
    /// `about:blank`.
    pub fn blank() -> Self {
        Self(BLANK.to_owned())
    }

    /// Reads what a person typed, at most [`limits::BROWSER_URL_CHARS_MAX`] characters.
    ///
    /// A bare host gets `https://`; `localhost`, names beneath it and IP literals get `http://`.
    ///
    /// # Errors
    /// [`Refusal::BrowserUrlNotAllowed`] for every other scheme, for userinfo, and for what is no
    /// address.
    ///
    /// Source: contract 7.9.
    pub fn typed(raw: &str) -> Result<Self, Refusal> {
        Self::read(raw).ok_or(Refusal::BrowserUrlNotAllowed)
    }

    fn read(raw: &str) -> Option<Self> {
        let raw = raw.trim_matches(' ');
        // The parser passes over tabs and line ends, and `java\nscript:` would be read as one.
        if raw.chars().count() > limits::BROWSER_URL_CHARS_MAX || raw.chars().any(char::is_control)
        {
            return None;
        }
        if raw.eq_ignore_ascii_case(BLANK) {
            return Some(Self::blank());
        }
        let url = match scheme(raw) {
            Some(_) => Url::parse(raw).ok()?,
            None => bare(raw)?,
        };
        let is_plain = url.username().is_empty() && url.password().is_none();
        let url = (is_web(&url) && is_plain).then(|| String::from(url))?;
        (url.chars().count() <= limits::BROWSER_URL_CHARS_MAX).then_some(Self(url))
    }

    /// Reads what an agent asks for; with `origins`, only addresses of those.
    ///
    /// # Errors
    /// [`Refusal::BrowserUrlNotAllowed`], as for a person.
    pub fn for_agent(raw: &str, origins: &AllowedOrigins) -> Result<Self, Refusal> {
        let address = Self::typed(raw)?;
        if origins.allow(&address.0) {
            Ok(address)
        } else {
            Err(Refusal::BrowserUrlNotAllowed)
        }
    }

    /// It as text, normalised.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its origin, such as `https://example.org`; `null` for `about:blank`. The only part of an
    /// address that events tell.
    pub fn origin(&self) -> String {
        Url::parse(&self.0).map_or_else(
            |_| "null".to_owned(),
            |url| url.origin().ascii_serialization(),
        )
    }
}

impl std::fmt::Display for BrowserAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The scheme of an address that names the web; every other one makes a text a bare host, whose
/// port must be one.
fn scheme(raw: &str) -> Option<&str> {
    let (scheme, rest) = raw.split_once(':')?;
    let is_web = ["http", "https"]
        .iter()
        .any(|web| web.eq_ignore_ascii_case(scheme));
    (is_web && rest.starts_with("//")).then_some(scheme)
}

/// A host, perhaps with a port, and what follows it.
fn bare(raw: &str) -> Option<Url> {
    let host = raw.split(['/', '?', '#', '\\']).next()?;
    let after = host.rsplit(']').next()?;
    if let Some((_, port)) = after.split_once(':')
        && (port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return None;
    }
    if host.is_empty() {
        return None;
    }
    let url = Url::parse(&format!("http://{raw}")).ok()?;
    let is_near = match url.host()? {
        Host::Ipv4(_) | Host::Ipv6(_) => true,
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
    };
    if is_near {
        return Some(url);
    }
    Url::parse(&format!("https://{raw}")).ok()
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.host().is_some()
}

/// The origins agents are kept to, when any are configured: a guard rail, no boundary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedOrigins(Vec<String>);

impl AllowedOrigins {
    /// Reads origins such as `https://example.org` or `http://localhost:3000`.
    ///
    /// # Errors
    /// The first text that is none.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let origins = texts.into_iter().map(|text| {
            let url = Url::parse(text).ok().filter(is_web);
            let origin = url.map(|url| (url.origin().ascii_serialization(), String::from(url)));
            origin
                .filter(|(origin, whole)| *whole == format!("{origin}/"))
                .map(|(origin, _)| origin)
                .ok_or_else(|| text.to_owned())
        });
        Ok(Self(origins.collect::<Result<_, _>>()?))
    }

    /// Whether agents may be at this address: `about:blank`, one of these, or any when there are
    /// none.
    pub fn allow(&self, address: &str) -> bool {
        if self.0.is_empty() || address == BLANK {
            return true;
        }
        let origin = Url::parse(address).map(|url| url.origin().ascii_serialization());
        origin.is_ok_and(|origin| self.0.contains(&origin))
    }
}

/// Whether a document of this address may load in embedded mode or in a shared tab.
///
/// `is_frame` is true for a document inside another one, which may also be `data:` or `blob:`.
///
/// Source: contract 7.9, "documents loaded".
pub fn may_load(address: &str, is_frame: bool) -> bool {
    // Until something loads, a tab has no address at all.
    if matches!(address, "" | BLANK | "about:srcdoc") {
        return true;
    }
    // One that cannot be read is nothing that is known to be allowed.
    Url::parse(address).is_ok_and(|url| match url.scheme() {
        "http" | "https" => true,
        "data" | "blob" => is_frame,
        _ => address.starts_with("about:blank#") || address.starts_with("about:blank?"),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(raw: &str) -> Option<String> {
        BrowserAddress::typed(raw)
            .ok()
            .map(|address| address.to_string())
    }

    #[test]
    fn an_address_is_http_https_or_blank() {
        for (raw, expected) in [
            ("https://example.org", "https://example.org/"),
            ("  HTTP://Example.org/A?b#c ", "http://example.org/A?b#c"),
            ("example.org", "https://example.org/"),
            ("example.org:8443/a:b", "https://example.org:8443/a:b"),
            ("example.org?q=a:b", "https://example.org/?q=a:b"),
            ("bücher.example", "https://xn--bcher-kva.example/"),
            ("localhost", "http://localhost/"),
            ("localhost:3000/x", "http://localhost:3000/x"),
            ("app.localhost:1", "http://app.localhost:1/"),
            ("127.0.0.1:4747", "http://127.0.0.1:4747/"),
            ("0x7f000001", "http://127.0.0.1/"),
            ("[::1]:80/a", "http://[::1]/a"),
            ("about:blank", BLANK),
            ("About:Blank", BLANK),
        ] {
            assert_eq!(read(raw).as_deref(), Some(expected), "{raw}");
        }
    }

    #[test]
    fn no_other_scheme_is_opened_however_it_is_written() {
        for raw in [
            "",
            " ",
            "file:///etc/passwd",
            "FILE:/etc/passwd",
            "file:etc",
            "chrome://version",
            "devtools://devtools/bundled/inspector.html",
            "view-source:http://example.org",
            "javascript:alert(1)",
            "java\nscript:alert(1)",
            "\u{1}javascript:alert(1)",
            "data:text/html,x",
            "blob:https://example.org/1",
            "ftp://example.org",
            "ws://example.org",
            "about:version",
            "about:blank#x",
            "http:example.org",
            "https:/example.org",
            "//example.org",
            "/etc/passwd",
            "\\\\host\\share",
            "https://",
            "https://ada@example.org",
            "https://ada:x@example.org",
            "ada@example.org",
            "ada:x@example.org",
            "two words",
            "example.org:",
            "example.org:99999",
            "example.org:8o",
        ] {
            assert_eq!(read(raw), None, "{raw}");
        }
        assert_eq!(read(&format!("https://a/{}", "x".repeat(2_048))), None);
        // Each becomes three characters.
        assert_eq!(read(&format!("https://a/{}", "ä".repeat(1_000))), None);
    }

    #[test]
    fn an_agent_stays_at_the_origins_that_are_named() {
        let origins =
            AllowedOrigins::parse(["https://example.org", "http://localhost:3000"]).unwrap();
        for (raw, is_allowed) in [
            ("https://example.org/a", true),
            ("https://example.org:443/a", true),
            ("localhost:3000", true),
            ("about:blank", true),
            ("http://example.org", false),
            ("https://www.example.org", false),
            ("localhost:3001", false),
            ("file:///etc/passwd", false),
        ] {
            assert_eq!(
                BrowserAddress::for_agent(raw, &origins).is_ok(),
                is_allowed,
                "{raw}"
            );
        }
        assert!(
            BrowserAddress::for_agent("https://any.example", &AllowedOrigins::default()).is_ok()
        );
        for no in [
            "example.org",
            "https://a/b",
            "file:///x",
            "*",
            "https://u@a",
        ] {
            assert_eq!(AllowedOrigins::parse([no]), Err(no.to_owned()));
        }
    }

    #[test]
    fn a_document_is_of_the_web_and_frames_of_their_own_making_too() {
        for (address, alone, framed) in [
            ("http://a/", true, true),
            ("https://a/", true, true),
            ("about:blank", true, true),
            ("", true, true),
            ("about:srcdoc", true, true),
            ("data:text/html,x", false, true),
            ("blob:https://a/1", false, true),
            ("file:///etc/passwd", false, false),
            ("chrome://version/", false, false),
            ("chrome-error://chromewebdata/", false, false),
            ("chrome-untrusted://x/", false, false),
            ("devtools://devtools/", false, false),
            ("view-source:http://a/", false, false),
            ("filesystem:http://a/t", false, false),
            ("javascript:1", false, false),
            ("about:version", false, false),
            ("nonsense", false, false),
        ] {
            assert_eq!(may_load(address, false), alone, "{address}");
            assert_eq!(may_load(address, true), framed, "{address}");
        }
    }

    #[test]
    fn events_tell_the_origin_alone() {
        let address = BrowserAddress::typed("https://example.org/secret?token=1").unwrap();
        assert_eq!(address.origin(), "https://example.org");
        assert_eq!(BrowserAddress::blank().origin(), "null");
    }

    proptest! {
        #[test]
        fn what_is_let_through_may_load_and_reads_the_same_again(raw in "\\PC{0,40}|[a-z:/.@\\[\\]0-9?#\\\\-]{0,30}") {
            if let Ok(address) = BrowserAddress::typed(&raw) {
                prop_assert!(may_load(address.as_str(), false), "{}", address);
                prop_assert!(!address.as_str().contains('@') || address.as_str().contains('/'));
                prop_assert_eq!(BrowserAddress::typed(address.as_str()).unwrap(), address);
            }
        }
    }
}
