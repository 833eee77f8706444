//! The link to a cloud service. Secrets are sealed before they come here.

use guildhall_domain::{Result, cloud::link::Link};
use rusqlite::types::Type;

use crate::{ReadTx, Tx, transactions};

/// A link with what is secret of it.
#[derive(Clone, Default)]
pub struct CloudLinkRow {
    /// The link.
    pub link: Link,
    /// The key that is held, sealed.
    pub key: Option<Vec<u8>>,
    /// What the service is asked with while a code waits, sealed.
    pub device: Option<Vec<u8>>,
}

/// The link to the service at `url`; one that says nothing before there was any.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(db: &ReadTx<'_>, url: &str) -> Result<CloudLinkRow> {
    let sql = "SELECT link, key, device FROM cloud_links WHERE url = $1";
    let kept = db.first(sql, [url], |row| {
        let link: String = row.get(0)?;
        let unreadable = |error| {
            rusqlite::Error::FromSqlConversionFailure(
                0,
                Type::Text,
                Box::<serde_json::Error>::new(error),
            )
        };
        Ok(CloudLinkRow {
            link: serde_json::from_str(&link).map_err(unreadable)?,
            key: row.get(1)?,
            device: row.get(2)?,
        })
    })?;
    Ok(kept.unwrap_or_default())
}

/// Keeps this instead.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn keep(tx: &mut Tx<'_>, url: &str, kept: &CloudLinkRow) -> Result<()> {
    let link = serde_json::to_string(&kept.link);
    let link = link.map_err(|error| transactions::broken("writing a link", error))?;
    tx.run(
        "INSERT INTO cloud_links (url, link, key, device) VALUES ($1, $2, $3, $4)
         ON CONFLICT (url) DO UPDATE SET link = excluded.link, key = excluded.key,
           device = excluded.device",
        (url, link, &kept.key, &kept.device),
    )?;
    Ok(())
}
