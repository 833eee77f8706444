//! What a request says of a toolkit, and what of it can be kept.
//! Source: contract 5.3, the toolkit table.

use std::{collections::BTreeMap, sync::atomic::AtomicBool};

use serde_json::Value;
use url::Url;

use super::{
    ConnectorRefusal,
    openapi::{self, OpenapiDocument, OpenapiError},
    operations::{Operation, OperationListing},
    providers::ProviderType,
    toolkits::{
        AccountProbe, KeyLocation, OauthConfig, OauthFlow, OperationOverride, Toolkit, ToolkitAuth,
        ToolkitSlug,
    },
};
use crate::{
    Refusal, errors::ValidationErrors, field_validation::FieldValidator,
    limits::connectors as limits, mcp_signins::address_policy::is_loopback_host,
};

/// A toolkit as a request describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolkitRequest {
    /// Its name inside its instance.
    pub slug: ToolkitSlug,
    /// What people call it; the slug unless it is said.
    pub display_name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The document; of an `openapi` toolkit.
    pub document: Option<Value>,
    /// Where the document is fetched; of an `openapi` toolkit.
    pub document_url: Option<String>,
    /// Where requests go; of an `openapi` toolkit.
    pub base_url: Option<String>,
    /// Where the server answers; of an `mcp` toolkit.
    pub url: Option<String>,
    /// How a request says who asks.
    pub auth: ToolkitAuth,
    /// How the account's label is read.
    pub account: Option<AccountProbe>,
    /// What the owner says of single operations.
    pub overrides: BTreeMap<String, OperationOverride>,
}

impl ToolkitRequest {
    /// Holds what can be told without asking anybody against the rules of an instance's type.
    ///
    /// # Errors
    /// [`Refusal::Validation`]; [`ConnectorRefusal::ProviderFixed`] for the scripted instance.
    pub fn check(&self, of: ProviderType) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        match of {
            ProviderType::Openapi => self.check_openapi(&mut check),
            ProviderType::Mcp => self.check_mcp(&mut check),
            ProviderType::Rehearsal => {
                return Err(Refusal::Connector(ConnectorRefusal::ProviderFixed));
            }
        }
        let names = limits::TOOLKIT_DISPLAY_NAME_CHARS;
        if let Some(name) = &self.display_name {
            check.chars("displayName", name, *names.start(), *names.end());
            check.one_line("displayName", name);
        }
        if let Some(description) = &self.description {
            let most = limits::TOOLKIT_DESCRIPTION_CHARS_MAX;
            check.chars("description", description, 0, most);
        }
        if self.overrides.len() > limits::TOOLKIT_OVERRIDES_MAX {
            let most = limits::TOOLKIT_OVERRIDES_MAX;
            check.fail("overrides", format!("must name at most {most} operations"));
        }
        check_auth(&mut check, &self.auth, of);
        if let Some(account) = &self.account {
            check_account(&mut check, account, of);
        }
        check.finish()
    }

    fn check_openapi(&self, check: &mut FieldValidator) {
        match (&self.document, &self.document_url) {
            (Some(_), None) => {}
            (None, Some(url)) => check_url(check, "documentUrl", url),
            _ => check.fail("document", "is given either as document or as documentUrl"),
        }
        if let Some(url) = &self.base_url {
            check_base(check, url);
        }
        if self.url.is_some() {
            check.fail("url", "is for instances of type mcp");
        }
    }

    fn check_mcp(&self, check: &mut FieldValidator) {
        match &self.url {
            Some(url) => check_url(check, "url", url),
            None => check.fail("url", "is missing"),
        }
        for (field, is_given) in [
            ("document", self.document.is_some()),
            ("documentUrl", self.document_url.is_some()),
            ("baseUrl", self.base_url.is_some()),
        ] {
            if is_given {
                check.fail(field, "is for instances of type openapi");
            }
        }
        if let ToolkitAuth::ApiKey {
            r#in: KeyLocation::Query,
            ..
        } = self.auth
        {
            check.fail("auth.in", "must be header for an MCP server");
        }
    }

    /// The toolkit that this and its document make, with its operations. The reading ends soon
    /// after `stop` turns true.
    ///
    /// # Errors
    /// [`Refusal::ShuttingDown`] when it was stopped, [`ConnectorRefusal::DocumentInvalid`], [`Refusal::Validation`] for a base address that nobody says
    /// and for overrides that fit no operation.
    pub fn with_document(
        self,
        document: &Value,
        stop: &AtomicBool,
    ) -> Result<(Toolkit, Vec<Operation>), Refusal> {
        let OpenapiDocument {
            version,
            server,
            listed,
        } = openapi::read(document, &self.auth, stop).map_err(|unread| match unread {
            OpenapiError::Invalid(problems) => {
                Refusal::Connector(ConnectorRefusal::DocumentInvalid(problems))
            }
            OpenapiError::Stopped => Refusal::ShuttingDown,
        })?;
        let base_url = match &self.base_url {
            Some(given) => given.clone(),
            None => {
                let at = self.document_url.as_deref();
                let said = server.and_then(|server| openapi::absolute(&server, at));
                let mut check = FieldValidator::new();
                match &said {
                    Some(said) => check_base(&mut check, said),
                    None => check.fail("baseUrl", "is missing, and the document names no server"),
                }
                check.finish()?;
                said.unwrap_or_default()
            }
        };
        let base_url = Some(base_url.trim_end_matches('/').to_owned());
        self.made(listed, version, base_url)
    }

    /// The toolkit that this and the tools of its server make, with its operations.
    /// `is_complete` says whether the tools are known yet; overrides of others wait for them.
    ///
    /// # Errors
    /// [`Refusal::Validation`] for overrides that fit no operation.
    pub fn with_tools(
        self,
        listed: OperationListing,
        version: String,
        is_complete: bool,
    ) -> Result<(Toolkit, Vec<Operation>), Refusal> {
        match is_complete {
            true => self.made(listed, version, None),
            false => Ok(self.toolkit(listed, version, None)),
        }
    }

    fn made(
        self,
        mut listed: OperationListing,
        version: String,
        base_url: Option<String>,
    ) -> Result<(Toolkit, Vec<Operation>), Refusal> {
        let mut invalid = ValidationErrors::default();
        for (operation, problem) in listed.raise(&self.overrides) {
            invalid.field(&format!("overrides.{operation}"), problem);
        }
        match invalid.is_empty() {
            true => Ok(self.toolkit(listed, version, base_url)),
            false => Err(Refusal::Validation(invalid)),
        }
    }

    fn toolkit(
        self,
        listed: OperationListing,
        version: String,
        base_url: Option<String>,
    ) -> (Toolkit, Vec<Operation>) {
        let toolkit = Toolkit {
            display_name: self.display_name.unwrap_or_else(|| self.slug.to_string()),
            slug: self.slug,
            description: self.description.unwrap_or_default(),
            document_url: self.document_url,
            base_url,
            url: self.url,
            auth: self.auth,
            account: self.account,
            overrides: self.overrides,
            version,
            operation_count: u32::try_from(listed.operations.len()).unwrap_or(u32::MAX),
            left_out: listed.left_out,
            left_out_count: listed.left_out_count,
            has_credential: false,
        };
        (toolkit, listed.operations)
    }
}

impl Toolkit {
    /// The same toolkit after its server listed its tools anew; overrides that fit no longer
    /// count nothing. Source: contract 5.1, "mcp".
    pub fn listing(self, mut listed: OperationListing, version: String) -> (Self, Vec<Operation>) {
        listed.raise(&self.overrides);
        let toolkit = Self {
            version,
            operation_count: u32::try_from(listed.operations.len()).unwrap_or(u32::MAX),
            left_out: listed.left_out,
            left_out_count: listed.left_out_count,
            ..self
        };
        (toolkit, listed.operations)
    }
}

fn check_auth(check: &mut FieldValidator, auth: &ToolkitAuth, of: ProviderType) {
    match auth {
        ToolkitAuth::None => {}
        ToolkitAuth::ApiKey { r#in, name, prefix } => {
            let is_name = match r#in {
                KeyLocation::Header => openapi::is_header(name),
                KeyLocation::Query => is_word(name),
            };
            if !is_name {
                check.fail(
                    "auth.name",
                    "is no name of a header or member that can be sent",
                );
            }
            if prefix.chars().count() > limits::TOOLKIT_WORD_CHARS_MAX
                || prefix.chars().any(char::is_control)
            {
                check.fail(
                    "auth.prefix",
                    "must be a short text without control characters",
                );
            }
        }
        ToolkitAuth::Oauth2(oauth) => check_oauth(check, oauth, of),
    }
}

fn check_oauth(check: &mut FieldValidator, oauth: &OauthConfig, of: ProviderType) {
    let urls = [
        ("auth.issuer", &oauth.issuer),
        ("auth.authorizationUrl", &oauth.authorization_url),
        ("auth.tokenUrl", &oauth.token_url),
        ("auth.deviceUrl", &oauth.device_url),
    ];
    for (field, url) in urls {
        if let Some(url) = url {
            check_url(check, field, url);
        }
    }
    // An MCP server says itself where one signs in (RFC 9728).
    let is_told = of == ProviderType::Mcp && urls.iter().all(|(_, url)| url.is_none());
    if oauth.issuer.is_none() && !is_told {
        let (field, first) = match oauth.flow {
            OauthFlow::AuthorizationCode => ("auth.authorizationUrl", &oauth.authorization_url),
            OauthFlow::DeviceCode => ("auth.deviceUrl", &oauth.device_url),
        };
        for (field, given) in [
            (field, first),
            ("auth.tokenUrl", &oauth.token_url),
            ("auth.clientId", &oauth.client_id),
        ] {
            if given.is_none() {
                check.fail(field, "is missing, and no issuer tells it");
            }
        }
    }
    if oauth.client_id.as_deref().is_some_and(|id| !is_word(id)) {
        check.fail(
            "auth.clientId",
            "must have 1 to 500 characters, no control characters",
        );
    }
    // RFC 6749 section 3.3.
    let is_scope = |scope: &String| {
        !scope.is_empty()
            && scope.len() <= limits::TOOLKIT_WORD_CHARS_MAX
            && scope
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
    };
    if oauth.scopes.len() > limits::OAUTH_SCOPES_MAX || !oauth.scopes.iter().all(is_scope) {
        check.fail("auth.scopes", "must be at most 100 words without spaces");
    }
}

fn check_account(check: &mut FieldValidator, account: &AccountProbe, of: ProviderType) {
    let is_path = match of {
        ProviderType::Openapi => {
            account.path.starts_with('/') && !account.path.contains(['#', '{', '}', '\\'])
        }
        ProviderType::Mcp | ProviderType::Rehearsal => true,
    };
    if !is_path || !is_word(&account.path) {
        check.fail(
            "account.path",
            "is no path of a read below the base address, and no tool",
        );
    }
    let is_pointer = account.pointer.is_empty() || account.pointer.starts_with('/');
    if !is_pointer || account.pointer.chars().count() > limits::TOOLKIT_WORD_CHARS_MAX {
        check.fail("account.pointer", "is no JSON Pointer");
    }
}

fn is_word(text: &str) -> bool {
    (1..=limits::TOOLKIT_WORD_CHARS_MAX).contains(&text.chars().count())
        && !text.chars().any(char::is_control)
}

fn check_base(check: &mut FieldValidator, url: &str) {
    check_url(check, "baseUrl", url);
    if url.contains(['?', '#']) {
        check.fail("baseUrl", "must not hold a query or fragment");
    }
}

/// Whether an address is one that secrets may be sent to: https, or http to this computer.
fn check_url(check: &mut FieldValidator, field: &str, url: &str) {
    let most = limits::TOOLKIT_URL_CHARS_MAX;
    // Parsers drop some of these silently, so that what is dialled is not what is read.
    let is_plain = !url.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\');
    let parsed = Url::parse(url)
        .ok()
        .filter(|_| is_plain && url.chars().count() <= most);
    let is_fine = parsed.is_some_and(|url| {
        let is_protected = match url.scheme() {
            "https" => true,
            "http" => is_loopback_host(&url),
            _ => false,
        };
        is_protected
            && url.host_str().is_some()
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
    });
    if !is_fine {
        check.fail(
            field,
            "must be an address with https, or http on this computer, without user or fragment",
        );
    }
}

#[cfg(test)]
#[path = "toolkit_requests_tests.rs"]
mod tests;
