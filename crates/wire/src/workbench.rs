//! The workbench on the wire. Source: contract 6.7 and 6.9.

use guildhall_domain::{Moment, workbench};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Ask, Fields};

/// Asks for an address that shows a folder or a dev server for half an hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Sign {
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
enum Kind {
    Serve,
    Proxy,
}

impl Ask for Sign {
    fn read(fields: &mut Fields) -> Self {
        let words = [(Kind::Serve, "serve"), (Kind::Proxy, "proxy")];
        match fields.known_word("kind", &words) {
            Some(Kind::Serve) => Self::Serve {
                cwd: fields.folder("cwd"),
                path: fields.maybe_path("path").unwrap_or_default(),
            },
            Some(Kind::Proxy) => Self::Proxy {
                port: fields.port("port"),
            },
            None => Self::Proxy { port: 1 },
        }
    }
}

/// An address, or why there is none.
#[derive(Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Signed {
    /// An address.
    At(SignedAddress),
    /// None.
    Unavailable(NoAddress),
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
    pub expires_at: Moment,
}

/// Why there is no address.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoAddress {
    /// Null.
    #[schema(required = true, value_type = Option<String>)]
    pub url: (),
    /// `tunnel`, `insecure` or `no-port`.
    pub unavailable: &'static str,
    /// Null.
    #[schema(required = true, value_type = Option<String>)]
    pub expires_at: (),
}

impl Signed {
    /// An address that counts until then.
    pub fn at(url: String, expires_at: Moment) -> Self {
        Self::At(SignedAddress { url, expires_at })
    }

    /// No address, for this reason.
    pub fn unavailable(why: workbench::Unavailable) -> Self {
        Self::Unavailable(NoAddress {
            url: (),
            unavailable: why.word(),
            expires_at: (),
        })
    }
}

/// Asks whether somebody listens on a port of this computer.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Probe {
    /// 1 to 65535.
    #[schema(minimum = 1, example = 5173)]
    pub port: u16,
}

impl Ask for Probe {
    fn read(fields: &mut Fields) -> Self {
        Self {
            port: fields.port("port"),
        }
    }
}

/// Whether somebody listens on a port.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Probed {
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
    pub opened_at: Moment,
    /// When something was asked for last; null before that.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_request_at: Option<Moment>,
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
            request_fields::read::<Sign>(json).map_err(|invalid| {
                let fields = invalid.field_errors.into_keys();
                fields.collect::<Vec<_>>().join(" ")
            })
        };
        let serve = |cwd: &str, path: &str| {
            let (cwd, path) = (cwd.to_owned(), path.to_owned());
            Ok(Sign::Serve { cwd, path })
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
                Ok(Sign::Proxy { port: 1 }),
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
