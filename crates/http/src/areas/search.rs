//! Search.

use axum::{extract::State, http::Uri, response::Response};
use guildhall_domain::{
    Refusal,
    callers::AnyCaller,
    ids::RoomId,
    limits,
    search::{SearchQuery, SearchTerms},
};
use guildhall_hall::Hall;
use guildhall_wire::{errors::ErrorEnvelope, search::SearchPage};

use crate::{
    errors::ApiResult,
    gates::By,
    openapi::parameters::SearchLimit,
    page_cursor,
    query::{FromQuery, Params, Query},
    responses::page_response,
};

/// What is searched; `None` with a note when the query is no search.
pub struct SearchEntries(Option<SearchQuery>);

impl FromQuery for SearchEntries {
    fn read(params: &mut Params) -> Self {
        let wanted = match SearchTerms::parse(&params.text("q").unwrap_or_default()) {
            Ok(wanted) => Some(wanted),
            Err(Refusal::Validation(invalid)) => {
                params.merge(invalid);
                None
            }
            Err(_) => None,
        };
        let room = params.text("roomId").map(|room| RoomId::named(&room));
        let limit = params.limit_of(limits::SEARCH_ITEMS, limits::SEARCH_ITEMS_DEFAULT);
        let below = params.place_after(filters(&wanted, room));
        Self(wanted.map(|wanted| SearchQuery {
            wanted,
            room,
            below,
            limit,
        }))
    }
}

/// What a cursor of a search is bound to.
fn filters(wanted: &Option<SearchTerms>, room: Option<RoomId>) -> impl std::hash::Hash + use<'_> {
    ("search", wanted, room)
}

/// Finds entries by their words, newest first.
///
/// All words must be in an entry, whatever their case and accents; the last one also finds
/// words that begin with it, unless white space or a mark follows it.
/// An agent finds what it may read: entries of its rooms since it joined.
#[utoipa::path(get, path = "/api/search", tag = "search", operation_id = "search",
    params(
        ("q" = String, Query, description = "1 to 200 characters, a word of at least two letters or digits"),
        ("roomId" = Option<String>, Query, description = "Only this room"),
        ("limit" = inline(Option<SearchLimit>), Query, description = "1 to 50; 20"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
    ),
    responses((status = 200, body = SearchPage),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn find(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    uri: Uri,
    Query(SearchEntries(ask)): Query<SearchEntries>,
) -> ApiResult<Response> {
    let ask = ask.ok_or_else(|| Refusal::field("q", "is required"))?;
    let (wanted, room) = (Some(ask.wanted.clone()), ask.room);
    let seen = hall.search(&by, ask).await?;
    let last = seen.value.hits.last().filter(|_| seen.value.has_more);
    let next_cursor = last.map(|hit| page_cursor::write_place(hit.place, filters(&wanted, room)));
    Ok(page_response(
        &uri,
        next_cursor,
        seen,
        |page, next_cursor| SearchPage {
            results: page.hits.into_iter().map(Into::into).collect(),
            next_cursor,
            warnings: Vec::new(),
        },
    ))
}
