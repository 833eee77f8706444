//! Search: finding entries by their words, among those the caller may read.

use guildhall_domain::{
    Error, Result,
    callers::{AnyCaller, Caller, Gate},
    search::{SearchPage, SearchQuery},
};
use guildhall_store::{
    ReadSnapshot, ReadTx,
    search::{self, SearchScope},
};

use crate::{Hall, visibility};

impl Hall {
    /// The newest entries that hold all wanted words; none in a room that is not there for the
    /// caller.
    ///
    /// # Errors
    /// Faults alone.
    ///
    /// Source: contract 2.3, "Search".
    pub async fn search(
        &self,
        by: &AnyCaller,
        ask: SearchQuery,
    ) -> Result<ReadSnapshot<SearchPage>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                let fields = search_scopes(db, &by, &ask)?;
                let below = ask.below.unwrap_or(u64::MAX);
                let mut hits = search::find(db, &ask.wanted, &fields, below, ask.limit + 1)?;
                let has_more = hits.len() > ask.limit as usize;
                hits.truncate(ask.limit as usize);
                Ok(SearchPage { hits, has_more })
            })
            .await
    }
}

/// Where the caller may look: a person everywhere, an agent in its rooms from its joining on.
fn search_scopes(db: &ReadTx<'_>, by: &Caller, ask: &SearchQuery) -> Result<Vec<SearchScope>> {
    if let Some(room) = ask.room {
        let floor = match visibility::room(db, by, room) {
            Ok(sight) => sight.floor,
            Err(Error::Refusal(_)) => return Ok(Vec::new()),
            Err(fault) => return Err(fault),
        };
        return Ok(vec![SearchScope {
            room: Some(room),
            above: search::place(db, room, floor)?,
        }]);
    }
    if by.is_human() {
        return Ok(vec![SearchScope {
            room: None,
            above: 0,
        }]);
    }
    search::fields_of(db, by.author)
}
