//! Toolkits on the wire. Source: contract 5.3, the toolkit table.

use std::collections::BTreeMap;

use guildhall_domain::connectors::{
    classification::Classification,
    operations::OmittedOperation,
    toolkit_requests::ToolkitRequest,
    toolkits::{self as rules, ToolkitAuthKind, ToolkitSlug},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::reviews::OperationClassification;
use crate::{
    approvals::wire_enums,
    request_fields::{Fields, FromFields},
};

wire_enums! {
    /// Where a key stands in a request.
    ToolkitKeyPlace = rules::KeyLocation {
        /// In a header.
        Header,
        /// In the query; not of an MCP server.
        Query,
    }
    /// The way of an OAuth sign-in.
    ToolkitOauthFlow = rules::OauthFlow {
        /// A person is sent to a page and comes back with a code.
        AuthorizationCode,
        /// A person types a code elsewhere (RFC 8628).
        DeviceCode,
    }
}

/// How a request to a service says who asks.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum ToolkitAuth {
    /// It does not.
    None,
    /// By a key that a person types.
    ApiKey {
        /// Where it stands; an MCP server takes it in a header alone.
        r#in: ToolkitKeyPlace,
        /// The name of the header or of the query's member.
        name: String,
        /// What stands before it, such as `Bearer `.
        #[schema(required = false)]
        prefix: String,
    },
    /// By a token that a person's sign-in brings.
    Oauth2 {
        /// Its way.
        flow: ToolkitOauthFlow,
        /// Whose metadata names the endpoints.
        issuer: Option<String>,
        /// Where a person is sent, where no issuer says it.
        #[serde(rename = "authorizationUrl")]
        // The document does not follow `rename_all_fields`.
        authorization_url: Option<String>,
        /// Where tokens are asked for, where no issuer says it.
        #[serde(rename = "tokenUrl")] // The document does not follow `rename_all_fields`.
        token_url: Option<String>,
        /// Where a device code is asked for, where no issuer says it.
        #[serde(rename = "deviceUrl")] // The document does not follow `rename_all_fields`.
        device_url: Option<String>,
        /// The client registered there; null registers one.
        #[serde(rename = "clientId")] // The document does not follow `rename_all_fields`.
        client_id: Option<String>,
        /// What is asked for.
        #[schema(required = false)]
        scopes: Vec<String>,
    },
}

impl From<rules::ToolkitAuth> for ToolkitAuth {
    fn from(auth: rules::ToolkitAuth) -> Self {
        match auth {
            rules::ToolkitAuth::None => Self::None,
            rules::ToolkitAuth::ApiKey { r#in, name, prefix } => Self::ApiKey {
                r#in: r#in.into(),
                name,
                prefix,
            },
            rules::ToolkitAuth::Oauth2(oauth) => Self::Oauth2 {
                flow: oauth.flow.into(),
                issuer: oauth.issuer,
                authorization_url: oauth.authorization_url,
                token_url: oauth.token_url,
                device_url: oauth.device_url,
                client_id: oauth.client_id,
                scopes: oauth.scopes,
            },
        }
    }
}

/// Where the label of an account is read.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AccountProbe {
    /// A path below the base address; of an MCP server the name of a tool.
    #[schema(example = "/me")]
    pub path: String,
    /// A JSON Pointer into its answer.
    #[schema(example = "/login")]
    pub pointer: String,
}

/// What the owner says of one operation.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OperationOverride {
    /// What it does to the service; at or above the operation's own.
    #[schema(required = false)]
    pub classification: Option<OperationClassification>,
}

/// An operation that cannot be run from here.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LeftOutOperation {
    /// Its name.
    pub operation: String,
    /// Why, for people.
    pub reason: String,
}

impl From<OmittedOperation> for LeftOutOperation {
    fn from(left: OmittedOperation) -> Self {
        Self {
            operation: left.operation,
            reason: left.reason,
        }
    }
}

/// A service inside a provider instance.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Toolkit {
    /// Its name inside its instance.
    #[schema(example = "pets")]
    pub slug: String,
    /// What people call it.
    pub display_name: String,
    /// What it is for.
    pub description: String,
    /// Where the document was fetched, or null.
    #[schema(required = true)]
    pub document_url: Option<String>,
    /// Where requests go; null of an MCP server.
    #[schema(required = true)]
    pub base_url: Option<String>,
    /// Where the MCP server answers, or null.
    #[schema(required = true)]
    pub url: Option<String>,
    /// How a request says who asks.
    pub auth: ToolkitAuth,
    /// Where the label of an account is read, or null.
    #[schema(required = true)]
    pub account: Option<AccountProbe>,
    /// What the owner says of single operations.
    pub overrides: BTreeMap<String, OperationOverride>,
    /// The document's own, the SHA-256 of the list of tools, or `1` of the scripted one.
    pub version: String,
    /// How many operations it has.
    pub operation_count: u32,
    /// How many more there are that cannot be run from here.
    pub left_out_count: u32,
    /// The first 20 of those.
    pub left_out: Vec<LeftOutOperation>,
    /// Whether a client secret is kept for it.
    pub has_credential: bool,
}

impl From<rules::Toolkit> for Toolkit {
    fn from(toolkit: rules::Toolkit) -> Self {
        let overrides = toolkit.overrides.into_iter().map(|(operation, wanted)| {
            let classification = wanted.classification.map(Into::into);
            (operation, OperationOverride { classification })
        });
        Self {
            slug: toolkit.slug.to_string(),
            display_name: toolkit.display_name,
            description: toolkit.description,
            document_url: toolkit.document_url,
            base_url: toolkit.base_url,
            url: toolkit.url,
            auth: toolkit.auth.into(),
            account: toolkit.account.map(|account| AccountProbe {
                path: account.path,
                pointer: account.pointer,
            }),
            overrides: overrides.collect(),
            version: toolkit.version,
            operation_count: toolkit.operation_count,
            left_out_count: toolkit.left_out_count,
            left_out: toolkit.left_out.into_iter().map(Into::into).collect(),
            has_credential: toolkit.has_credential,
        }
    }
}

/// Puts a toolkit.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PutToolkit {
    /// 1 to 200 characters; the slug unless it is said.
    #[schema(required = false, example = "Pet shop")]
    pub display_name: Option<String>,
    /// At most 2000 characters.
    #[schema(required = false)]
    pub description: Option<String>,
    /// An OpenAPI document of 3.0 or 3.1, at most 4 MiB; of an `openapi` instance.
    #[schema(required = false, value_type = Option<Object>)]
    pub document: Option<Value>,
    /// Where the document is fetched once instead, https or http on this computer.
    #[schema(required = false, example = "https://pets.example/openapi.json")]
    pub document_url: Option<String>,
    /// Where requests go, https or http on this computer; the document's first server unless it
    /// is said.
    #[schema(required = false)]
    pub base_url: Option<String>,
    /// Where the MCP server answers; of an `mcp` instance.
    #[schema(required = false)]
    pub url: Option<String>,
    /// How a request says who asks; kind `none` unless it is said.
    #[schema(required = false, value_type = ToolkitAuth)]
    pub auth: Option<ToolkitAuth>,
    /// Where the label of an account is read.
    #[schema(required = false)]
    pub account: Option<AccountProbe>,
    /// What the owner says of single operations.
    #[schema(required = false)]
    pub overrides: BTreeMap<String, OperationOverride>,
}

impl FromFields for PutToolkit {
    fn read(fields: &mut Fields) -> Self {
        let document = fields.is_set("document");
        Self {
            display_name: fields.maybe_text("displayName"),
            description: fields.maybe_text("description"),
            document: document.then(|| Value::Object(fields.any_object("document"))),
            document_url: filled(fields, "documentUrl"),
            base_url: filled(fields, "baseUrl"),
            url: filled(fields, "url"),
            auth: optional(fields, "auth", auth).flatten(),
            account: optional(fields, "account", |fields| AccountProbe {
                path: fields.text("path"),
                pointer: fields.text("pointer"),
            }),
            overrides: optional(fields, "overrides", overrides).unwrap_or_default(),
        }
    }
}

/// A text that may be absent or null, as answers show it.
fn filled(fields: &mut Fields, name: &str) -> Option<String> {
    fields.is_set(name).then(|| fields.maybe_text(name))?
}

/// An object that may be absent or null, as answers show it.
fn optional<T>(fields: &mut Fields, name: &str, read: impl FnOnce(&mut Fields) -> T) -> Option<T> {
    fields
        .is_set(name)
        .then(|| fields.maybe_object(name, read))?
}

fn auth(fields: &mut Fields) -> Option<ToolkitAuth> {
    use ToolkitKeyPlace as Place;
    use ToolkitOauthFlow as Flow;
    const PLACES: [(Place, &str); 2] = [(Place::Header, "header"), (Place::Query, "query")];
    const FLOWS: [(Flow, &str); 2] = [
        (Flow::AuthorizationCode, "authorization_code"),
        (Flow::DeviceCode, "device_code"),
    ];
    Some(
        match fields.known_choice("kind", &ToolkitAuthKind::WORDS)? {
            ToolkitAuthKind::None => ToolkitAuth::None,
            ToolkitAuthKind::ApiKey => ToolkitAuth::ApiKey {
                r#in: fields.choice("in", &PLACES, Place::Header),
                name: fields.text("name"),
                prefix: fields.maybe_text("prefix").unwrap_or_default(),
            },
            ToolkitAuthKind::Oauth2 => ToolkitAuth::Oauth2 {
                flow: fields.choice("flow", &FLOWS, Flow::AuthorizationCode),
                issuer: filled(fields, "issuer"),
                authorization_url: filled(fields, "authorizationUrl"),
                token_url: filled(fields, "tokenUrl"),
                device_url: filled(fields, "deviceUrl"),
                client_id: filled(fields, "clientId"),
                scopes: fields.texts("scopes"),
            },
        },
    )
}

fn overrides(fields: &mut Fields) -> BTreeMap<String, OperationOverride> {
    let read = fields.drain(|fields, operation, value| {
        let known = |word: &Value| {
            let word = word.as_str()?;
            let words = Classification::WORDS.iter();
            words
                .copied()
                .find_map(|(class, its)| (its == word).then_some(class))
        };
        let classification = match value.get("classification") {
            None | Some(Value::Null) => None,
            Some(word) => {
                let class = known(word);
                if class.is_none() {
                    let field = format!("{operation}.classification");
                    fields.fail_field(&field, "must be read, write or destructive");
                }
                class
            }
        };
        if !value.is_object() {
            fields.fail_field(operation, "must be an object");
        }
        let classification = classification.map(Into::into);
        (operation.to_owned(), OperationOverride { classification })
    });
    read.into_iter().collect()
}

impl PutToolkit {
    /// It as the toolkit of this name.
    pub fn named(self, slug: ToolkitSlug) -> ToolkitRequest {
        let overrides = self.overrides.into_iter().map(|(operation, wanted)| {
            let classification = wanted.classification.map(Into::into);
            (operation, rules::OperationOverride { classification })
        });
        ToolkitRequest {
            slug,
            display_name: self.display_name,
            description: self.description,
            document: self.document,
            document_url: self.document_url,
            base_url: self.base_url,
            url: self.url,
            auth: self.auth.map_or(rules::ToolkitAuth::None, Into::into),
            account: self.account.map(|account| rules::AccountProbe {
                path: account.path,
                pointer: account.pointer,
            }),
            overrides: overrides.collect(),
        }
    }
}

impl From<ToolkitAuth> for rules::ToolkitAuth {
    fn from(auth: ToolkitAuth) -> Self {
        match auth {
            ToolkitAuth::None => Self::None,
            ToolkitAuth::ApiKey { r#in, name, prefix } => Self::ApiKey {
                r#in: r#in.into(),
                name,
                prefix,
            },
            ToolkitAuth::Oauth2 {
                flow,
                issuer,
                authorization_url,
                token_url,
                device_url,
                client_id,
                scopes,
            } => Self::Oauth2(rules::OauthConfig {
                flow: flow.into(),
                issuer,
                authorization_url,
                token_url,
                device_url,
                client_id,
                scopes,
            }),
        }
    }
}

/// Saves the client secret of a toolkit. Without `Debug`, because it holds it.
#[derive(Clone, Serialize, ToSchema)]
#[schema(example = json!({"secret": "of the client"}))]
pub struct SetToolkitCredential {
    /// 1 byte to 8 KiB.
    pub secret: String,
}

impl FromFields for SetToolkitCredential {
    fn read(fields: &mut Fields) -> Self {
        Self {
            secret: fields.text("secret"),
        }
    }
}

/// A client secret was saved.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct SavedToolkitCredential {
    /// True.
    pub saved: bool,
}
