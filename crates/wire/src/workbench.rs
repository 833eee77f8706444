//! The workbench on the wire. Source: contract 6.7 and 6.9.

use guildhall_domain::{Timestamp, workbench};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// Asks for an address that shows a folder or a dev server for half an hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum SignAddress {
    /// A folder.
    Serve {
        /// The folder: absolute, `~` or `~/…`.
        #[schema(example = "~/project/site")]
        cwd: String,
        /// The first file to show, in the folder; `""` is the folder itself.
        #[schema(required = false)]
        path: String,
    },
    /// A dev server of this computer.
    Proxy {
        /// Its port, 1 to 65535.
        #[schema(minimum = 1, example = 5173)]
        port: u16,
    },
}

#[derive(Clone, Copy)]
enum AddressKind {
    Serve,
    Proxy,
}

impl FromFields for SignAddress {
    fn read(fields: &mut Fields) -> Self {
        let words = [(AddressKind::Serve, "serve"), (AddressKind::Proxy, "proxy")];
        match fields.known_choice("kind", &words) {
            Some(AddressKind::Serve) => Self::Serve {
                cwd: fields.folder("cwd"),
                path: fields.maybe_path("path").unwrap_or_default(),
            },
            Some(AddressKind::Proxy) => Self::Proxy {
                port: fields.port("port"),
            },
            None => Self::Proxy { port: 1 },
        }
    }
}

/// An address, or why there is none.
#[derive(Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum SignResult {
    /// An address.
    At(SignedAddress),
    /// None.
    Unavailable(AddressUnavailable),
}

/// An address; `unavailable` is absent.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignedAddress {
    /// The address.
    #[schema(example = "http://localhost:4748/?__guildhall_preview=v4.local.…")]
    pub url: String,
    /// Until when it counts.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

/// Why there is no address.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddressUnavailable {
    /// Null.
    #[schema(required = true, value_type = Option<String>)]
    pub url: (),
    /// `tunnel`, `insecure` or `no-port`.
    pub unavailable: &'static str,
    /// Null.
    #[schema(required = true, value_type = Option<String>)]
    pub expires_at: (),
}

impl SignResult {
    /// An address that counts until then.
    pub fn at(url: String, expires_at: Timestamp) -> Self {
        Self::At(SignedAddress { url, expires_at })
    }

    /// No address, for this reason.
    pub fn unavailable(why: workbench::PreviewUnavailable) -> Self {
        Self::Unavailable(AddressUnavailable {
            url: (),
            unavailable: why.as_str(),
            expires_at: (),
        })
    }
}

/// Asks whether somebody listens on a port of this computer.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ProbePort {
    /// 1 to 65535.
    #[schema(minimum = 1, example = 5173)]
    pub port: u16,
}

impl FromFields for ProbePort {
    fn read(fields: &mut Fields) -> Self {
        Self {
            port: fields.port("port"),
        }
    }
}

/// Whether somebody listens on a port.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct PortStatus {
    /// Whether a loopback address takes a connection.
    pub listening: bool,
}

/// A port that a program listens on.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ListeningPort {
    /// The port.
    pub port: u16,
    /// The program's name; null where it cannot be seen.
    #[schema(required = true)]
    pub process: Option<String>,
}

/// What programs of the server's own user listen on.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ListeningPorts {
    /// In order, without the server's own.
    pub ports: Vec<ListeningPort>,
}

/// A preview that is open.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenPreview {
    /// The dev server's port.
    pub port: u16,
    /// The port it is shown on.
    pub listen_port: u16,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub opened_at: Timestamp,
    /// When something was asked for last; null before that.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_request_at: Option<Timestamp>,
    /// Open connections.
    pub open_sockets: usize,
}

/// The previews that are open.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Previews {
    /// By the dev server's port.
    pub previews: Vec<OpenPreview>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request_fields;

    #[test]
    fn a_sign_is_read_by_its_kind() {
        let read = |value: serde_json::Value| {
            let json = serde_json::from_value(value).unwrap();
            request_fields::read::<SignAddress>(json).map_err(|invalid| {
                let fields = invalid.field_errors.into_keys();
                fields.collect::<Vec<_>>().join(" ")
            })
        };
        let serve = |cwd: &str, path: &str| {
            let (cwd, path) = (cwd.to_owned(), path.to_owned());
            Ok(SignAddress::Serve { cwd, path })
        };
        for (value, expected) in [
            (json!({"kind": "serve", "cwd": "/a"}), serve("/a", "")),
            (
                json!({"kind": "serve", "cwd": "/a", "path": "b"}),
                serve("/a", "b"),
            ),
            (json!({"kind": "serve", "cwd": "/a\0"}), serve("/a\0", "")),
            (
                json!({"kind": "proxy", "port": 1}),
                Ok(SignAddress::Proxy { port: 1 }),
            ),
            (json!({"kind": "serve"}), Err("cwd".to_owned())),
            (json!({"kind": "serve", "cwd": ""}), Err("cwd".to_owned())),
            (
                json!({"kind": "serve", "cwd": 1, "path": 2}),
                Err("cwd path".to_owned()),
            ),
            (json!({"kind": "proxy"}), Err("port".to_owned())),
            (json!({"kind": "proxy", "port": 0}), Err("port".to_owned())),
            (
                json!({"kind": "proxy", "port": 65536}),
                Err("port".to_owned()),
            ),
            (
                json!({"kind": "proxy", "port": "80"}),
                Err("port".to_owned()),
            ),
            (
                json!({"kind": "other", "cwd": "/a"}),
                Err("kind".to_owned()),
            ),
            (json!({}), Err("kind".to_owned())),
        ] {
            assert_eq!(read(value.clone()), expected, "{value}");
        }
    }
}
