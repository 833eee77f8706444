//! Usage: what agents' turns used.

use guildhall_domain::{
    Result, Timestamp,
    callers::Human,
    usage::{self, GroupBy, TimeRange, UsageReport},
};
use guildhall_store::{ReadSnapshot, usage as rows};

use crate::Hall;

impl Hall {
    /// What the turns that ended in a stretch of time used, the last thirty days unless named.
    ///
    /// # Errors
    /// `Validation` when the stretch does not begin before it ends.
    ///
    /// Source: contract 3.10.
    pub async fn usage(
        &self,
        _by: &Human,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
        by: GroupBy,
    ) -> Result<ReadSnapshot<UsageReport>> {
        let span = TimeRange::new(from, to, self.now())?;
        self.store()
            .read(move |db| {
                let rows = usage::rows(rows::parts(db, span, by)?);
                Ok(UsageReport { span, rows })
            })
            .await
    }
}
