//! Authors and handles.

use axum::{extract::State, http::Uri, response::Response};
use guildhall_domain::{
    authors::{AuthorKind, Handle},
    callers::{AnyCaller, Human},
    ids::AuthorId,
};
use guildhall_hall::{Hall, authors::AuthorsQuery};
use guildhall_wire::{
    authors::{Author, Authors, Handles, SetHandle, UpdateAuthor},
    errors::ErrorEnvelope,
};

use crate::{
    body::Body,
    errors::ApiResult,
    gates::By,
    openapi::parameters::{AuthorKindWord, PageLimit},
    page_cursor,
    path_ids::Path,
    preconditions::IfMatch,
    query::{FromQuery, Params, Query},
    responses::{ReadResponse, RevisedResponse, page_response},
};

/// Which authors, and from where on.
pub struct ListAuthors(AuthorsQuery);

impl FromQuery for ListAuthors {
    fn read(params: &mut Params) -> Self {
        let mut ask = AuthorsQuery {
            q: params.text("q"),
            kind: params.word("kind", &AuthorKind::WORDS),
            include_retired: params.flag("includeRetired").unwrap_or(false),
            after: None,
            limit: params.limit(),
        };
        ask.after = params.after(filters(&ask)).map(AuthorId::from_bytes);
        Self(ask)
    }
}

fn filters(ask: &AuthorsQuery) -> impl std::hash::Hash + use<> {
    let kind = ask.kind.map(|kind| kind as u8);
    ("authors", ask.q.clone(), kind, ask.include_retired)
}

/// Lists authors.
///
/// An agent sees itself, the system author and authors it shares a room with.
#[utoipa::path(get, path = "/api/rooms/authors", tag = "authors", operation_id = "listAuthors",
    params(
        ("q" = Option<String>, Query, description = "Part of the name or handle"),
        ("kind" = inline(Option<AuthorKindWord>), Query, description = "Only authors of this kind"),
        ("includeRetired" = Option<bool>, Query, description = "Retired authors too; false"),
        ("limit" = inline(Option<PageLimit>), Query, description = "1 to 200; 50"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
    ),
    responses((status = 200, body = Authors), (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    uri: Uri,
    Query(ListAuthors(ask)): Query<ListAuthors>,
) -> ApiResult<Response> {
    let list = filters(&ask);
    let seen = hall.authors(&by, ask).await?;
    let last = seen.value.authors.last().filter(|_| seen.value.has_more);
    let next_cursor = last.map(|author| page_cursor::write(author.id.as_bytes(), &list));
    Ok(page_response(
        &uri,
        next_cursor,
        seen,
        |page, next_cursor| Authors {
            authors: page.authors.into_iter().map(Into::into).collect(),
            next_cursor,
        },
    ))
}

/// The author the caller writes as.
#[utoipa::path(get, path = "/api/rooms/authors/me", tag = "authors", operation_id = "getOwnAuthor",
    responses((status = 200, body = Author)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn own(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
) -> ApiResult<RevisedResponse<Author>> {
    Ok(hall.own_author(&by).await?.into())
}

/// One author.
#[utoipa::path(get, path = "/api/rooms/authors/{authorId}", tag = "authors", operation_id = "getAuthor",
    params(("authorId" = String, Path, description = "The author")),
    responses((status = 200, body = Author), (status = 404, description = "AUTHOR_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(author): Path<AuthorId>,
) -> ApiResult<RevisedResponse<Author>> {
    Ok(hall.author(&by, author).await?.into())
}

/// Changes an author's name, emoji, colour or image.
#[utoipa::path(patch, path = "/api/rooms/authors/{authorId}", tag = "authors", operation_id = "changeAuthor",
    params(("authorId" = String, Path, description = "The author")),
    request_body = UpdateAuthor,
    responses((status = 200, body = Author),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AUTHOR_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "AUTHOR_NOT_CHANGEABLE", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn change(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path(author): Path<AuthorId>,
    IfMatch(precondition): IfMatch,
    Body(ask): Body<UpdateAuthor>,
) -> ApiResult<RevisedResponse<Author>> {
    let author = hall
        .change_author(&by, author, precondition, ask.into())
        .await?;
    Ok(author.into())
}

/// The handle an author has, and those it may take back.
#[utoipa::path(get, path = "/api/rooms/authors/{authorId}/handles", tag = "authors", operation_id = "listHandles",
    params(("authorId" = String, Path, description = "The author")),
    responses((status = 200, body = Handles),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AUTHOR_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn handles(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path(author): Path<AuthorId>,
) -> ApiResult<ReadResponse<Handles>> {
    let seen = hall.handles(&by, author).await?;
    Ok(ReadResponse(seen.map(|(author, reserved)| Handles {
        current: author.handle.map(Handle::into).unwrap_or_default(),
        reserved: reserved.into_iter().map(Into::into).collect(),
    })))
}

/// Sets or clears an author's handle.
///
/// The value is normalised, an empty one clears; a handle given up stays kept for its author.
#[utoipa::path(patch, path = "/api/rooms/authors/{authorId}/handle", tag = "authors", operation_id = "setHandle",
    params(("authorId" = String, Path, description = "The author")),
    request_body = SetHandle,
    responses((status = 200, body = Author),
        (status = 400, description = "VALIDATION_FAILED, INVALID_HANDLE", body = ErrorEnvelope),
        (status = 401, description = "AGENT_IDENTITY_UNVERIFIED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AUTHOR_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "AUTHOR_NOT_CHANGEABLE, HANDLE_TAKEN, HANDLE_RESERVED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn set_handle(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path(author): Path<AuthorId>,
    IfMatch(precondition): IfMatch,
    Body(ask): Body<SetHandle>,
) -> ApiResult<RevisedResponse<Author>> {
    let author = hall
        .set_handle(&by, author, precondition, &ask.handle)
        .await?;
    Ok(author.into())
}
