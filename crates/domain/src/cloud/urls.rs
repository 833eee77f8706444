//! Addresses: where the cloud service may be, and where it may send a person.
//! Source: contract 5.9 and 5.11, "Acceptable address".

use url::Url;

use crate::{limits::cloud::BILLING_URL_CHARS_MAX, mcp_signins::address_policy::is_loopback_host};

/// The address of a cloud service: https, or http on this computer; no user info, query or
/// fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudUrl(Url);

impl CloudUrl {
    /// Reads the setting `cloud.url`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let refused = || {
            "must be an https address, or http on this computer, without user, query and fragment"
                .to_owned()
        };
        let url = Url::parse(text.trim()).map_err(|_| refused())?;
        let is_plain = url.query().is_none() && url.fragment().is_none() && has_no_user(&url);
        if is_plain && (url.scheme() == "https" || is_http_here(&url)) {
            Ok(Self(url))
        } else {
            Err(refused())
        }
    }

    /// The address.
    pub fn as_url(&self) -> &Url {
        &self.0
    }

    /// Whether the service is on this computer.
    pub fn is_loopback(&self) -> bool {
        is_loopback_host(&self.0)
    }

    /// The address of a route of the service.
    pub fn route(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/{}", path.trim_start_matches('/')));
        url
    }

    /// `text`, where it is an address to which a person may be sent: https, or http on this
    /// computer when the service itself is here; without user info; at most
    /// [`BILLING_URL_CHARS_MAX`] characters.
    pub fn acceptable(&self, text: &str) -> Option<Url> {
        if text.chars().count() > BILLING_URL_CHARS_MAX || text.chars().any(char::is_control) {
            return None;
        }
        let url = Url::parse(text).ok().filter(has_no_user)?;
        let is_fit = match url.scheme() {
            "https" => url.has_host(),
            "http" => self.is_loopback() && is_loopback_host(&url),
            _ => false,
        };
        is_fit.then_some(url)
    }
}

impl std::fmt::Display for CloudUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

fn has_no_user(url: &Url) -> bool {
    url.username().is_empty() && url.password().is_none()
}

fn is_http_here(url: &Url) -> bool {
    url.scheme() == "http" && is_loopback_host(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_is_at_https_or_on_this_computer() {
        for (text, is_fit) in [
            ("https://cloud.example", true),
            ("https://cloud.example/base/", true),
            ("http://127.0.0.1:4780", true),
            ("http://[::1]:4780", true),
            ("http://localhost:4780", true),
            ("http://cloud.example", false),
            ("http://192.168.1.4", false),
            ("https://me@cloud.example", false),
            ("https://cloud.example/?a=b", false),
            ("https://cloud.example/#a", false),
            ("ftp://cloud.example", false),
            ("cloud.example", false),
            ("", false),
        ] {
            assert_eq!(CloudUrl::parse(text).is_ok(), is_fit, "{text}");
        }
    }

    #[test]
    fn a_route_goes_below_the_base() {
        let base = |text| CloudUrl::parse(text).unwrap();
        let want = "https://cloud.example/base/v1/offers";
        for text in ["https://cloud.example/base", "https://cloud.example/base/"] {
            assert_eq!(base(text).route("/v1/offers").as_str(), want);
        }
        let plain = base("http://127.0.0.1:9").route("v1/offers");
        assert_eq!(plain.as_str(), "http://127.0.0.1:9/v1/offers");
    }

    #[test]
    fn a_person_is_sent_to_acceptable_addresses_alone() {
        let far = CloudUrl::parse("https://cloud.example").unwrap();
        let here = CloudUrl::parse("http://127.0.0.1:4780").unwrap();
        let long = format!("https://pay.example/{}", "a".repeat(BILLING_URL_CHARS_MAX));
        for (text, from_far, from_here) in [
            ("https://pay.example/s/1?x=y#z", true, true),
            ("http://127.0.0.1:9/pay", false, true),
            ("http://localhost:9/pay", false, true),
            ("http://pay.example/", false, false),
            ("http://192.168.1.4/", false, false),
            ("https://a:b@pay.example/", false, false),
            ("javascript:alert(1)", false, false),
            ("data:text/html,x", false, false),
            ("file:///etc/passwd", false, false),
            ("//pay.example", false, false),
            ("https://pay.example/\n", false, false),
            ("", false, false),
            (&long, false, false),
        ] {
            assert_eq!(far.acceptable(text).is_some(), from_far, "{text}");
            assert_eq!(here.acceptable(text).is_some(), from_here, "{text}");
        }
    }
}
