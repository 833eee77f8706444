//! Provider instances of connectors, their toolkits, and the catalog.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, Uri},
    response::Response,
};
use guildhall_domain::{
    Refusal,
    callers::{Owner, OwnerInteractive},
    connectors::toolkits::ToolkitSlug,
    ids::ProviderId,
    limits::connectors::{CATALOG_ITEMS, OPENAPI_DOCUMENT_BYTES_MAX},
};
use guildhall_hall::{Hall, connectors::ProviderView};
use guildhall_wire::{
    connectors::{
        catalog::Catalog,
        providers::{CreateProvider, ProviderInstance, ProviderInstances, UpdateProvider},
        toolkits::{PutToolkit, SavedToolkitCredential, SetToolkitCredential, Toolkit},
    },
    errors::ErrorEnvelope,
};

use crate::{
    body::{Body, RawBody},
    errors::ApiResult,
    gates::By,
    idempotency::IdempotentBody,
    openapi::parameters::CatalogLimit,
    page_cursor,
    path_ids::Path,
    query::{FromQuery, Params, Query},
    responses::{ReadResponse, page_response},
};

/// Bytes of a toolkit's body: its document and what stands beside it.
const TOOLKIT_BYTES_MAX: usize = OPENAPI_DOCUMENT_BYTES_MAX + 64 * 1024;
/// Values of a toolkit's body: as many as its bytes can hold, because a document that its owner
/// sends is bounded by its bytes alone. Each takes a byte at least.
const TOOLKIT_VALUES_MAX: usize = TOOLKIT_BYTES_MAX;
/// Services of a page, unless asked otherwise.
const CATALOG_ITEMS_DEFAULT: u32 = 50;

fn to_wire(seen: ProviderView) -> ProviderInstance {
    (seen.provider, seen.toolkits).into()
}

/// Lists the provider instances in the order they were made.
///
/// The scripted one, type `rehearsal`, is of every installation: no packet leaves it.
#[utoipa::path(get, path = "/api/connectors/providers", tag = "connectors", operation_id = "listConnectorProviders",
    responses((status = 200, body = ProviderInstances),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<Owner>,
) -> ApiResult<ReadResponse<ProviderInstances>> {
    let seen = hall.connector_providers(&by).await?;
    Ok(ReadResponse(seen.map(|all| ProviderInstances {
        providers: all.into_iter().map(to_wire).collect(),
    })))
}

/// Makes a provider instance without toolkits.
#[utoipa::path(post, path = "/api/connectors/providers", tag = "connectors", operation_id = "makeConnectorProvider",
    request_body = CreateProvider,
    responses((status = 201, body = ProviderInstance),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn make(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    IdempotentBody { ask, repeat }: IdempotentBody<CreateProvider>,
) -> ApiResult<(StatusCode, Json<ProviderInstance>)> {
    let once =
        repeat.answered_by(|seen: &ProviderView| (StatusCode::CREATED, to_wire(seen.clone())));
    let wanted = (ask.provider_type.into(), ask.label.as_str());
    let made = hall.make_connector_provider(&by, wanted, once).await?;
    Ok((StatusCode::CREATED, Json(to_wire(made))))
}

/// Gives a provider instance another label.
#[utoipa::path(patch, path = "/api/connectors/providers/{id}", tag = "connectors", operation_id = "changeConnectorProvider",
    params(("id" = String, Path, description = "The provider instance")),
    request_body = UpdateProvider,
    responses((status = 200, body = ProviderInstance),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "PROVIDER_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "PROVIDER_FIXED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn change(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(id): Path<ProviderId>,
    Body(ask): Body<UpdateProvider>,
) -> ApiResult<Json<ProviderInstance>> {
    let changed = hall.change_connector_provider(&by, id, ask.label).await?;
    Ok(Json(to_wire(changed)))
}

/// Removes a provider instance with its toolkits and secrets.
#[utoipa::path(delete, path = "/api/connectors/providers/{id}", tag = "connectors", operation_id = "removeConnectorProvider",
    params(("id" = String, Path, description = "The provider instance")),
    responses((status = 204),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "PROVIDER_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "PROVIDER_IN_USE, PROVIDER_FIXED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn remove(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(id): Path<ProviderId>,
) -> ApiResult<StatusCode> {
    hall.remove_connector_provider(&by, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Puts a toolkit, in the place of the one of its name.
///
/// A document's address is fetched once, and an MCP server is asked for its tools; one that wants
/// a sign-in is asked again when a connection is reviewed. While connections go through a toolkit,
/// neither its sign-in nor where it answers can change.
#[utoipa::path(put, path = "/api/connectors/providers/{id}/toolkits/{slug}", tag = "connectors", operation_id = "putConnectorToolkit",
    params(("id" = String, Path, description = "The provider instance"), ("slug" = String, Path, description = "The toolkit, `[a-z0-9][a-z0-9-]{0,63}`")),
    request_body = PutToolkit,
    responses((status = 200, body = Toolkit),
        (status = 400, description = "VALIDATION_FAILED, TOOLKIT_DOCUMENT_INVALID", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "PROVIDER_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "PROVIDER_IN_USE, PROVIDER_FIXED", body = ErrorEnvelope),
        (status = 422, description = "TOOLKIT_UNREACHABLE", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn put_toolkit(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path((id, slug)): Path<(ProviderId, String)>,
    body: RawBody<TOOLKIT_BYTES_MAX, TOOLKIT_VALUES_MAX>,
) -> ApiResult<Json<Toolkit>> {
    let ask: PutToolkit = body.read()?;
    let wrong = || Refusal::field("slug", "must be 1 to 64 of a-z, 0-9 and -, no - first");
    let slug = ToolkitSlug::parse(&slug).ok_or_else(wrong)?;
    let toolkit = hall.put_connector_toolkit(&by, id, ask.named(slug)).await?;
    Ok(Json(toolkit.into()))
}

/// Removes a toolkit with its operations and secrets.
#[utoipa::path(delete, path = "/api/connectors/providers/{id}/toolkits/{slug}", tag = "connectors", operation_id = "removeConnectorToolkit",
    params(("id" = String, Path, description = "The provider instance"), ("slug" = String, Path, description = "The toolkit")),
    responses((status = 204),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "PROVIDER_NOT_FOUND, TOOLKIT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "PROVIDER_IN_USE, PROVIDER_FIXED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn remove_toolkit(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path((id, slug)): Path<(ProviderId, String)>,
) -> ApiResult<StatusCode> {
    hall.remove_connector_toolkit(&by, (id, ToolkitSlug::parse(&slug)))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Saves the OAuth client secret of a toolkit; it is never shown again.
#[utoipa::path(put, path = "/api/connectors/providers/{id}/toolkits/{slug}/credential", tag = "connectors", operation_id = "setConnectorToolkitCredential",
    params(("id" = String, Path, description = "The provider instance"), ("slug" = String, Path, description = "The toolkit")),
    request_body = SetToolkitCredential,
    responses((status = 200, body = SavedToolkitCredential),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "PROVIDER_NOT_FOUND, TOOLKIT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "PROVIDER_FIXED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn set_credential(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path((id, slug)): Path<(ProviderId, String)>,
    Body(ask): Body<SetToolkitCredential>,
) -> ApiResult<Json<SavedToolkitCredential>> {
    let of = (id, ToolkitSlug::parse(&slug));
    hall.set_connector_toolkit_credential(&by, of, Some(ask.secret))
        .await?;
    Ok(Json(SavedToolkitCredential { saved: true }))
}

/// Erases the OAuth client secret of a toolkit.
#[utoipa::path(delete, path = "/api/connectors/providers/{id}/toolkits/{slug}/credential", tag = "connectors", operation_id = "removeConnectorToolkitCredential",
    params(("id" = String, Path, description = "The provider instance"), ("slug" = String, Path, description = "The toolkit")),
    responses((status = 204),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "PROVIDER_NOT_FOUND, TOOLKIT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "PROVIDER_FIXED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn remove_credential(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path((id, slug)): Path<(ProviderId, String)>,
) -> ApiResult<StatusCode> {
    let of = (id, ToolkitSlug::parse(&slug));
    hall.set_connector_toolkit_credential(&by, of, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which page of the catalog.
pub struct ListCatalog {
    search: String,
    after: Option<u64>,
    limit: u32,
}

impl FromQuery for ListCatalog {
    fn read(params: &mut Params) -> Self {
        let search = params.text("q").unwrap_or_default();
        Self {
            after: params.place_after(("catalog", search.as_str())),
            limit: params.limit_of(CATALOG_ITEMS, CATALOG_ITEMS_DEFAULT),
            search,
        }
    }
}

/// Lists the services one can connect, over all provider instances.
///
/// A search finds services that hold each of its words in their names, their descriptions, or the
/// names and titles of their operations.
#[utoipa::path(get, path = "/api/connectors/catalog", tag = "connectors", operation_id = "listConnectorCatalog",
    params(
        ("q" = Option<String>, Query, description = "What to look for, at most 200 characters"),
        ("limit" = inline(Option<CatalogLimit>), Query, description = "1 to 100; 50"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
    ),
    responses((status = 200, body = Catalog),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn catalog(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    uri: Uri,
    Query(ask): Query<ListCatalog>,
) -> ApiResult<Response> {
    let seen = hall
        .connector_catalog(&by, &ask.search, (ask.after, ask.limit))
        .await?;
    let last = seen.value.services.last().filter(|_| seen.value.has_more);
    let list = ("catalog", ask.search.as_str());
    let next_cursor = last.map(|last| page_cursor::write_place(last.place, list));
    Ok(page_response(
        &uri,
        next_cursor,
        seen,
        |page, next_cursor| Catalog {
            warnings: page.services.iter().filter_map(|it| it.warning()).collect(),
            services: page.services.into_iter().map(Into::into).collect(),
            next_cursor,
        },
    ))
}
