//! The catalog: every service one can connect. Source: contract 5.3.

use guildhall_domain::{
    Result,
    callers::Owner,
    connectors::catalog::{self, CatalogService},
};
use guildhall_store::{ReadSnapshot, connectors::toolkits as rows};

use crate::Hall;

/// One page of the catalog.
#[derive(Clone, Debug)]
pub struct CatalogPage {
    /// The services in the order they were put.
    pub services: Vec<CatalogService>,
    /// Whether more follow.
    pub has_more: bool,
}

impl Hall {
    /// A page of the services that hold every word of `search`.
    ///
    /// # Errors
    /// [`guildhall_domain::Refusal::Validation`].
    pub async fn connector_catalog(
        &self,
        _by: &Owner,
        search: &str,
        (after, limit): (Option<u64>, u32),
    ) -> Result<ReadSnapshot<CatalogPage>> {
        let words = catalog::words(search)?;
        self.store()
            .read(move |db| {
                let mut services = rows::catalog(db, &words, after, limit + 1)?;
                let has_more = services.len() > limit as usize;
                services.truncate(limit as usize);
                Ok(CatalogPage { services, has_more })
            })
            .await
    }
}
