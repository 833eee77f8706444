//! Services outside this computer: reading what they can do, and sending one operation once.
//! Nothing is sent further than the service's own address is away, no secret leaves in an answer,
//! and what comes back says as precisely as it can be known whether anything was sent.
//! Which services there are, and who may use them, is `hall::connectors`.

pub mod argument_validation;
mod http_execution;
mod mcp_tools;
mod openapi_documents;

use std::{
    cmp::Reverse,
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use guildhall_domain::{
    connectors::{
        http_requests, operations::OperationBinding, scripted_toolkit, send_result::SendResult,
        toolkits::Toolkit,
    },
    mcp_signins::{AddressReach, address_policy::is_loopback_host},
};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use url::{Host, Url, form_urlencoded};

pub use self::{mcp_tools::ToolListError, openapi_documents::DocumentError};
use crate::http_client::HttpClient;

/// What is said of us.
const AGENT: &str = concat!("guildhall/", env!("CARGO_PKG_VERSION"));

/// The ways to services, one for each distance. Cheap to clone; all clones share connections.
#[derive(Clone, Debug)]
pub struct ServiceClients {
    public: HttpClient,
    private: HttpClient,
    loopback: HttpClient,
    /// How MCP servers were spoken with before, by their addresses. Held for a look at a time.
    spoken: Arc<Mutex<HashMap<String, mcp_tools::KnownTransport>>>,
    /// The turns in which documents are parsed.
    parsing: Arc<Semaphore>,
}

/// What an account is shown by. Without `Debug`, because it is secret.
#[derive(Clone)]
pub enum AccountCredentials {
    /// Nothing.
    None,
    /// A key that a person typed.
    Key(String),
    /// A token of a sign-in.
    Token(String),
}

impl fmt::Debug for AccountCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Key(_) => "Key",
            Self::Token(_) => "Token",
        })
    }
}

impl AccountCredentials {
    fn secret(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Key(secret) | Self::Token(secret) => Some(secret),
        }
    }
}

/// One operation on its way.
#[derive(Debug)]
pub struct OutgoingOperation<'a> {
    /// The toolkit it belongs to.
    pub toolkit: &'a Toolkit,
    /// How it is sent.
    pub binding: &'a OperationBinding,
    /// What it is sent with; they fit its schema.
    pub arguments: &'a Map<String, Value>,
    /// Whose account it is.
    pub credentials: &'a AccountCredentials,
    /// The key by which the service knows a repeat; sent where the operation takes one.
    pub key: Option<&'a str>,
    /// How long it may take.
    pub within: Duration,
}

impl ServiceClients {
    /// The ways to services by this way out.
    pub fn new(outgoing: &HttpClient) -> Self {
        Self {
            public: outgoing.within_reach(AddressReach::Public),
            private: outgoing.within_reach(AddressReach::Private),
            loopback: outgoing.within_reach(AddressReach::Loopback),
            spoken: Arc::default(),
            parsing: Arc::new(Semaphore::new(openapi_documents::PARSED_AT_ONCE_MAX)),
        }
    }

    /// Sends an operation once.
    ///
    /// Cancel-safe in that nothing is sent after it is dropped; what was sent before stays sent.
    pub async fn send(&self, sending: OutgoingOperation<'_>) -> SendResult {
        match sending.binding {
            OperationBinding::Http(binding) => self.request(binding, &sending).await,
            OperationBinding::Mcp { tool } => self.call(tool, &sending).await,
            OperationBinding::Rehearsal { deed } => scripted_toolkit::run(*deed, sending.arguments),
        }
    }

    fn spoken(&self) -> MutexGuard<'_, HashMap<String, mcp_tools::KnownTransport>> {
        self.spoken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to an address: no further than that address itself is away, which is told from
    /// its text. A name that is not of this computer leads to the internet and nowhere else.
    fn way(&self, url: &Url) -> Option<&HttpClient> {
        let reach = match url.host()? {
            Host::Ipv4(ip) => AddressReach::of(&[ip.into()])?,
            Host::Ipv6(ip) => AddressReach::of(&[ip.into()])?,
            Host::Domain(_) if is_loopback_host(url) => AddressReach::Loopback,
            Host::Domain(_) => AddressReach::Public,
        };
        reach.check(url).ok()?;
        Some(match reach {
            AddressReach::Public => &self.public,
            AddressReach::Private => &self.private,
            AddressReach::Loopback => &self.loopback,
        })
    }
}

/// Takes a secret out of what a service said, which may well repeat what it was shown.
fn hidden(text: Vec<u8>, credentials: &AccountCredentials) -> Vec<u8> {
    /// Shorter ones would take words out of answers that hold no secret.
    const SECRET_BYTES_MIN: usize = 8;
    match credentials.secret() {
        Some(secret) if secret.len() >= SECRET_BYTES_MIN => shapes(secret)
            .iter()
            .fold(text, |text, shape| without(text, shape)),
        Some(_) | None => text,
    }
}

/// A secret as it is, as JSON holds it, and as an address and a form do; the longest first,
/// because another may stand within it.
fn shapes(secret: &str) -> Vec<String> {
    let json = Value::from(secret).to_string();
    // Without the quotation marks around it.
    let json = json.get(1..json.len() - 1).unwrap_or_default().to_owned();
    let form = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let mut shapes = vec![
        secret.to_owned(),
        json,
        http_requests::encoded(secret),
        form,
    ];
    shapes.sort_by_key(|shape| Reverse(shape.len()));
    shapes.dedup();
    shapes
}

fn without(text: Vec<u8>, secret: &str) -> Vec<u8> {
    const INSTEAD: &[u8] = b"[hidden]";
    let finder = memchr::memmem::Finder::new(secret);
    let mut shown = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in finder.find_iter(&text) {
        shown.extend_from_slice(text.get(from..at).unwrap_or_default());
        shown.extend_from_slice(INSTEAD);
        from = at + secret.len();
    }
    if from == 0 {
        return text;
    }
    shown.extend_from_slice(text.get(from..).unwrap_or_default());
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_sent_further_than_the_address_itself_is_away() {
        let services = ServiceClients::new(
            &HttpClient::open(crate::http_client::ListenerPorts::default()).unwrap(),
        );
        let cases = [
            ("https://a.example/v1", true),
            ("https://10.0.0.1/v1", true),
            ("http://127.0.0.1:1/v1", true),
            ("http://localhost:1/v1", true),
            ("http://10.0.0.1/v1", false),
            ("http://a.example/v1", false),
            ("https://169.254.169.254/latest", false),
            ("https://0.0.0.0/", false),
        ];
        for (url, is_way) in cases {
            let url = Url::parse(url).unwrap();
            assert_eq!(services.way(&url).is_some(), is_way, "{url}");
        }
    }

    #[test]
    fn a_secret_is_taken_out_of_what_a_service_says() {
        let hidden = |text: &str, secret: &str| {
            let credentials = AccountCredentials::Key(secret.to_owned());
            String::from_utf8(hidden(text.as_bytes().to_vec(), &credentials)).unwrap()
        };
        assert_eq!(
            hidden("a canary-123 b canary-123", "canary-123"),
            "a [hidden] b [hidden]"
        );
        // Also as it is written where some of it may not stand plainly.
        let odd = "\"1\" /é+";
        for said in [
            odd,
            r#"\"1\" /é+"#,
            "%221%22%20%2F%C3%A9%2B",
            "%221%22+%2F%C3%A9%2B",
        ] {
            assert_eq!(hidden(&format!("a {said} b"), odd), "a [hidden] b");
        }
        assert_eq!(hidden("nothing of it", "canary-123"), "nothing of it");
        assert_eq!(hidden("id 1", "1"), "id 1");
    }
}
