//! Saves: a small file given other content, durably, by one client.

use guildhall_domain::files::digest;
use serde_json::json;

use crate::{
    Result, Scale,
    http_client::{HttpClient, put},
    machine,
    measure::{self, DurationSamples},
    result_table::{Measurement, ResultRow, Target},
    server::{ServerFolder, ServerProcess},
};

/// Bytes of the file.
const BYTES: usize = 4_096;
/// Its name.
const NAME: &str = "notes.md";
/// Turns of the two.
const ROUNDS: u32 = 3;

/// The row of a save, each with what the last one wrote as its baseline, beside the syncs of a
/// file and of the folder it lies in.
pub(crate) async fn by_one(
    house: &ServerFolder,
    server: &ServerProcess,
    scale: &Scale,
) -> Result<ResultRow> {
    let folder = house.home().join("saves");
    std::fs::create_dir_all(&folder)?;
    let mut content = text(0);
    std::fs::write(folder.join(NAME), &content)?;
    let mut count = 0;
    let mut next = || {
        count += 1;
        let before = std::mem::replace(&mut content, text(count));
        let ask = json!({"cwd": folder, "path": NAME, "content": content,
            "expectedHash": digest(before.as_bytes()).to_string()});
        put(server.address, "/api/files/content", &ask)
    };
    let mut client = HttpClient::connect(server.address).await?;
    let span = scale.span.rounds(ROUNDS);
    let (mut saves, mut syncs) = (DurationSamples::default(), DurationSamples::default());
    for _ in 0..ROUNDS {
        syncs.add(machine::file_and_folder_syncs(&folder, span.measured / 2)?);
        saves.add(measure::times(&mut client, &mut next, 200, span).await?);
    }
    if std::fs::read_to_string(folder.join(NAME))? != content {
        return Err("the last save is not in its file".into());
    }
    Ok(ResultRow {
        work: "durable save of 4 KB, 1 client, p50".to_owned(),
        measured: Measurement::Millis(saves.percentile_ms(50.0)),
        limit: Some((
            Measurement::Millis(syncs.percentile_ms(50.0)),
            "syncs of file and folder",
        )),
        targets: vec![Target::TimesAtMost(3.0)],
    })
}

/// A text that no other number gives.
fn text(number: u64) -> String {
    let mut text = format!("# Notes, version {number}\n");
    let line = "Something that was worth writing down, and was.\n";
    while text.len() < BYTES {
        text.push_str(line);
    }
    text.truncate(BYTES);
    text
}
