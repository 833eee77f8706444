//! Reviews, and which revisions each showed.

use guildhall_domain::{
    Result, Timestamp,
    connectors::{reviews::GrantReview, toolkits::ToolkitSlug},
    ids::{ConnectorConnectionId, OperationRevisionId, ProviderId, ReviewId},
};

use super::operation_revisions;
use crate::{
    ReadTx, Tx,
    transactions::{count, id, maybe_moment, moment, stored, unreadable},
};

/// Adds a review.
///
/// # Errors
/// A fault when the engine refuses a row.
pub fn insert(tx: &mut Tx<'_>, review: &GrantReview) -> Result<()> {
    tx.run(
        "INSERT INTO connector_reviews (id, connection_id, provider_id, toolkit, generation,
           expires_at, applied_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        (
            review.id.as_bytes(),
            review.connection_id.as_bytes(),
            review.provider_id.as_bytes(),
            review.toolkit.as_str(),
            stored(review.generation),
            review.expires_at.as_millis(),
            review.applied_at.map(|at| at.as_millis()),
        ),
    )?;
    for revision in review.shown.keys() {
        tx.run(
            "INSERT INTO connector_review_revisions (review_id, revision_id) VALUES ($1, $2)",
            (review.id.as_bytes(), revision.as_bytes()),
        )?;
    }
    Ok(())
}

/// The review with this id.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, review: ReviewId) -> Result<Option<GrantReview>> {
    let found = db.first(
        "SELECT id, connection_id, provider_id, toolkit, generation, expires_at, applied_at
         FROM connector_reviews WHERE id = $1",
        [review.as_bytes()],
        |row| {
            let toolkit = ToolkitSlug::parse(row.get_ref(3)?.as_str()?);
            Ok(GrantReview {
                id: id(row, 0, ReviewId::from_bytes)?,
                connection_id: id(row, 1, ConnectorConnectionId::from_bytes)?,
                provider_id: id(row, 2, ProviderId::from_bytes)?,
                toolkit: toolkit.ok_or_else(|| unreadable(3, "no name of a toolkit"))?,
                generation: count(row, 4)?,
                expires_at: moment(row, 5)?,
                applied_at: maybe_moment(row, 6)?,
                shown: std::collections::BTreeMap::new(),
            })
        },
    )?;
    let Some(mut found) = found else {
        return Ok(None);
    };
    let shown = db.all(
        "SELECT v.id, v.provider_id, v.toolkit, v.toolkit_version, v.operation_slug,
           v.schema_hash, v.classification, v.retry_policy
         FROM connector_review_revisions r JOIN connector_revisions v ON v.id = r.revision_id
         WHERE r.review_id = $1",
        [review.as_bytes()],
        |row| {
            let revision = id(row, 0, OperationRevisionId::from_bytes)?;
            Ok((revision, operation_revisions::identity(row, 1)?))
        },
    )?;
    found.shown = shown.into_iter().collect();
    Ok(Some(found))
}

/// Notes that a review is applied.
///
/// # Errors
/// A fault when the engine refuses.
pub fn apply(tx: &mut Tx<'_>, review: ReviewId, now: Timestamp) -> Result<()> {
    tx.run(
        "UPDATE connector_reviews SET applied_at = $1 WHERE id = $2",
        (now.as_millis(), review.as_bytes()),
    )?;
    Ok(())
}

/// Drops reviews whose time was over before `moment`.
///
/// # Errors
/// A fault when the engine refuses.
pub fn drop_over(tx: &mut Tx<'_>, moment: Timestamp) -> Result<()> {
    tx.run(
        "DELETE FROM connector_reviews WHERE expires_at < $1",
        [moment.as_millis()],
    )?;
    Ok(())
}
