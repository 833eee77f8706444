//! Parameters: what the interface document says of an address's parts beyond their names, taken
//! from the constants that the code reads them by.

use guildhall_domain::{
    approvals::{ApprovalKind, ApprovalState},
    authors::AuthorKind,
    limits,
    rooms::RoomKind,
    sessions::SessionState,
    turns::TurnState,
    usage::GroupBy,
};
use guildhall_hall::sessions::SessionSource;
use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{ObjectBuilder, Type},
    },
};

use crate::areas::commands::REFRESH;

/// Where the id of a session stands: `path::SessionPath` reads it below here, and it is the one
/// id that must be a UUID.
const OF_SESSION: &str = "/api/sessions/{id}";

macro_rules! schemas {
    ($($(#[$doc:meta])* $name:ident = $schema:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema.into()
            }
        }

        impl ToSchema for $name {}
    )+};
}

schemas! {
    /// How many items a page holds.
    PageLimit = whole(&limits::PAGE_ITEMS);
    /// How many services a page of the catalog holds.
    CatalogLimit = whole(&limits::connectors::CATALOG_ITEMS);
    /// How many items a page of a search holds.
    SearchLimit = whole(&limits::SEARCH_ITEMS);
    /// A kind of author.
    AuthorKindWord = closed(&AuthorKind::WORDS);
    /// A kind of room.
    RoomKindWord = closed(&RoomKind::WORDS);
    /// Where a session stands.
    SessionStateWord = closed(&SessionState::WORDS);
    /// Where sessions come from.
    SourceWord = closed(&SessionSource::WORDS);
    /// Where a turn of a room stands.
    TurnStateWord = closed(&TurnState::WORDS);
    /// Where an approval stands.
    ApprovalStateWord = closed(&ApprovalState::WORDS);
    /// What an approval is about.
    ApprovalKindWord = closed(&ApprovalKind::WORDS);
    /// What usage is summed up under.
    GroupByWord = closed(&GroupBy::WORDS);
    /// How many levels a tree of files has.
    TreeDepth = whole(&limits::TREE_DEPTH);
    /// Whether commands are looked for now.
    RefreshWord = closed(&REFRESH);
}

fn whole<N: Copy + Into<utoipa::Number>>(range: &std::ops::RangeInclusive<N>) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(*range.start()))
        .maximum(Some(*range.end()))
}

fn closed<T>(words: &[(T, &str)]) -> ObjectBuilder {
    let words = words.iter().map(|(_, word)| *word);
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(words))
}

/// Bounds what stands in an operation's path: nothing there is empty.
pub(super) fn bound(path: &str, operation: &mut Value) {
    let parameters = operation.get_mut("parameters");
    let parameters = parameters.and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        if parameter["in"] != "path" {
            continue;
        }
        let is_session = parameter["name"] == "id" && path.starts_with(OF_SESSION);
        let schema = &mut parameter["schema"];
        if is_session {
            schema["format"] = json!("uuid");
        }
        schema["minLength"] = json!(1);
    }
}
