//! The route table: every address of the service, from top to bottom.

use axum::{
    Json, Router,
    extract::Request,
    middleware::{self, Next},
    response::Response,
};
use guildhall_world::ids;
use http::{HeaderMap, HeaderValue, header};
use serde_json::{Value, json};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    accounts, activation, billing, instances, oauth, openapi, pages, problems::Problem,
    service_state::ServiceState,
};

/// The documented routes; the interface document is made of them.
pub(crate) fn documented() -> OpenApiRouter<ServiceState> {
    OpenApiRouter::new()
        // Linking
        .routes(routes!(oauth::metadata))
        .routes(routes!(oauth::device_authorization))
        .routes(routes!(oauth::token))
        .routes(routes!(oauth::revoke))
        // Pages
        .routes(routes!(accounts::home))
        .routes(routes!(accounts::login_page, accounts::login))
        .routes(routes!(accounts::logout))
        .routes(routes!(accounts::welcome_page, accounts::welcome))
        .routes(routes!(activation::page, activation::decide))
        .routes(routes!(billing::payment_ended))
        .routes(routes!(pages::stylesheet::style))
        // Instances
        .routes(routes!(instances::heartbeat))
        .routes(routes!(billing::list))
        .routes(routes!(billing::checkout))
        .routes(routes!(billing::topup))
        .routes(routes!(billing::portal))
        // Operating
        .routes(routes!(health))
        .routes(routes!(openapi::document))
}

/// The service, to be served.
pub(crate) fn router(house: ServiceState) -> Router {
    let (router, _) = documented().split_for_parts();
    router
        .fallback(|| async { Problem::NoRoute })
        .method_not_allowed_fallback(|| async { Problem::WrongMethod })
        .layer(middleware::from_fn(sign))
        .with_state(house)
}

/// Whether the service runs.
#[utoipa::path(get, path = "/health", tag = "operating", operation_id = "health",
    responses((status = 200, description = "It does", body = Value,
        example = json!({"status": "ok", "version": "0.1.0"}))))]
async fn health() -> Json<Value> {
    Json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}))
}

/// Puts on each answer what all have.
async fn sign(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let id = HeaderValue::try_from(ids::new().to_string());
    headers.extend(id.ok().map(|id| (REQUEST_ID, id)));
    put(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(headers, header::REFERRER_POLICY, "no-referrer");
    // Keys, codes and addresses of payment pages are nobody's to keep.
    put(headers, header::CACHE_CONTROL, "no-store");
    response
}

const REQUEST_ID: header::HeaderName = header::HeaderName::from_static("x-request-id");

fn put(headers: &mut HeaderMap, name: header::HeaderName, value: &'static str) {
    headers
        .entry(name)
        .or_insert(HeaderValue::from_static(value));
}
