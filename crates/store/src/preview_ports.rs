//! Previews: which dev server each port of ours showed last. Those that are open are
//! `hall::workbench`'s.

use guildhall_domain::{Result, Timestamp, workbench::PreviewPort};

use crate::{ReadTx, Tx};

/// Which dev server each port showed last, the one that was used longest ago first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn shown(db: &ReadTx<'_>) -> Result<Vec<PreviewPort>> {
    db.all(
        "SELECT listen_port, port FROM preview_ports ORDER BY used_at, listen_port",
        [],
        |row| {
            Ok(PreviewPort {
                listen_port: row.get(0)?,
                port: row.get(1)?,
            })
        },
    )
}

/// Notes that a port shows a dev server at `now`, or did until then; whichever it showed before
/// is forgotten.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn note_use(tx: &mut Tx<'_>, shown: PreviewPort, now: Timestamp) -> Result<()> {
    tx.run(
        "INSERT INTO preview_ports (listen_port, port, used_at) VALUES ($1, $2, $3)
         ON CONFLICT (listen_port) DO UPDATE
           SET port = excluded.port, used_at = excluded.used_at",
        (shown.listen_port, shown.port, now.as_millis()),
    )?;
    Ok(())
}
