//! The interface document: OpenAPI 3.1, made of the route table.

use std::sync::OnceLock;

use axum::Json;
use serde_json::Value;
use utoipa::{
    Modify, OpenApi, ToSchema,
    openapi::security::{Http, HttpAuthScheme, SecurityScheme},
};
use utoipa_axum::router::OpenApiRouter;

use crate::routes;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "guildhall-cloud",
        description = "The small companion service: links instances of guildhall to accounts and \
            knows the payment pages.",
        license(name = "MIT", identifier = "MIT"),
    ),
    modifiers(&InstanceKeyScheme),
    tags(
        (name = "linking", description = "OAuth: the device grant (RFC 8628) and giving back"),
        (name = "instances", description = "What a linked instance says of itself"),
        (name = "billing", description = "Offers and the addresses of payment pages"),
        (name = "pages", description = "What people see in a browser"),
        (name = "operating", description = "Health and this document"),
    )
)]
struct InterfaceDocument;

/// The key of a linked instance.
struct InstanceKeyScheme;

impl Modify for InstanceKeyScheme {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.add_security_scheme("key", scheme);
    }
}

/// What `/oauth/device` takes.
#[derive(Debug, ToSchema)]
pub struct DeviceForm {
    /// `guildhall-instance`
    pub client_id: String,
    /// `instance`, also when it is absent
    pub scope: Option<String>,
    /// What people call the instance; shown to the person who decides
    #[schema(max_length = 200)]
    pub name: Option<String>,
}

/// What `/oauth/token` takes.
#[derive(Debug, ToSchema)]
pub struct TokenForm {
    /// `urn:ietf:params:oauth:grant-type:device_code`
    pub grant_type: String,
    /// As it was answered by `/oauth/device`
    pub device_code: String,
    /// `guildhall-instance`
    pub client_id: String,
}

/// What `/oauth/revoke` takes.
#[derive(Debug, ToSchema)]
pub struct RevokeForm {
    /// The key
    pub token: String,
}

/// What `/login` takes.
#[derive(Debug, ToSchema)]
pub struct LoginForm {
    /// The e-mail address
    pub email: String,
    /// The password
    pub password: String,
    /// Taken along to `/activate`
    pub user_code: Option<String>,
}

/// What `/logout` takes.
#[derive(Debug, ToSchema)]
pub struct LogoutForm {
    /// The session's own, from the page
    pub token: String,
}

/// What `/welcome/{link}` takes.
#[derive(Debug, ToSchema)]
pub struct WelcomeForm {
    /// 12 to 256 characters
    pub password: String,
    /// The same again
    pub again: String,
}

/// What `/activate` takes.
#[derive(Debug, ToSchema)]
pub struct ActivateForm {
    /// The session's own, from the page
    pub token: String,
    /// The code
    pub user_code: String,
    /// `approve` or `deny`; without it the page asks
    pub decision: Option<String>,
}

/// The interface document; made when it is first asked for.
pub fn json() -> &'static Value {
    static JSON: OnceLock<Value> = OnceLock::new();
    JSON.get_or_init(|| {
        let mut router =
            OpenApiRouter::with_openapi(InterfaceDocument::openapi()).merge(routes::documented());
        // A document of plain values always serializes.
        serde_json::to_value(router.to_openapi()).unwrap_or_default()
    })
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "operating", operation_id = "openapi",
    responses((status = 200, description = "OpenAPI 3.1", body = Value)))]
pub(crate) async fn document() -> Json<&'static Value> {
    Json(json())
}
