//! `guildhall rooms export`: a room as lines, checked against the digest in its last one.

use clap::Args;
use guildhall_world::digests::DigestBuilder;
use serde_json::Value;

use super::{
    cli_context::CliContext, common_args, downloads::DownloadTarget, failure::Failure,
    request_target::RequestTarget,
};

/// A room, and where its export goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    room: common_args::RoomArg,
    #[command(flatten)]
    place: DownloadTarget,
}

pub(super) async fn run(desk: &CliContext, ask: ExportArgs) -> Result<(), Failure> {
    let room = desk.room_id(&ask.room.room).await?;
    let mut arriving = ask.place.open()?;
    let mut opened = desk
        .open(&RequestTarget::room(&room).push_segment("export"))
        .await?;
    let mut check = ExportVerifier::default();
    while let Some(bytes) = opened.next().await? {
        check.add(&bytes);
        arriving.write(&bytes)?;
    }
    let entries = check.finish()?;
    if let Some(path) = arriving.keep()? {
        let (room, path) = (&ask.room.room, path.display());
        desk.output.done(&format!(
            "{entries} entries of {room} are in {path}; their digest is as the server says."
        ))?;
    }
    Ok(())
}

/// Whether an export is whole: its last line tells the digest of all before it.
#[derive(Default)]
struct ExportVerifier {
    before: DigestBuilder,
    /// The line that came last; held back, for it may be the last one.
    line: Vec<u8>,
}

impl ExportVerifier {
    fn add(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.ends_with(b"\n") {
                self.before.add(&self.line);
                self.line.clear();
            }
            self.line.extend_from_slice(part);
        }
    }

    /// How many entries the export holds.
    ///
    /// # Errors
    /// [`Failure::Unreadable`] when it is not whole, or not what the server wrote.
    fn finish(self) -> Result<u64, Failure> {
        let summary: Value = serde_json::from_slice(&self.line).unwrap_or_default();
        if summary["type"] != "summary" {
            return Err(Failure::Unreadable(
                "the export has no end; nothing was kept.".to_owned(),
            ));
        }
        if summary["sha256"] != self.before.finish().to_string() {
            return Err(Failure::Unreadable(
                "the export is not what the server wrote: its digest differs.".to_owned(),
            ));
        }
        Ok(summary["entryCount"].as_u64().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> String {
        let mut digest = DigestBuilder::default();
        digest.add(text.as_bytes());
        digest.finish().to_string()
    }

    fn checked(export: &str, size: usize) -> Result<u64, Failure> {
        let mut check = ExportVerifier::default();
        for bytes in export.as_bytes().chunks(size) {
            check.add(bytes);
        }
        check.finish()
    }

    #[test]
    fn an_export_is_whole_or_refused_however_it_comes() {
        let lines = "{\"type\":\"room-export\"}\n{\"type\":\"entry\"}\n";
        let summary = |sha256: &str| {
            format!("{lines}{{\"type\":\"summary\",\"entryCount\":1,\"sha256\":\"{sha256}\"}}\n")
        };
        let (whole, other) = (summary(&digest(lines)), summary(&digest("")));
        for size in 1..whole.len() {
            assert_eq!(checked(&whole, size).unwrap(), 1);
            assert!(checked(&other, size).is_err());
            assert!(checked(lines, size).is_err());
        }
        assert!(checked("", 1).is_err());
    }
}
