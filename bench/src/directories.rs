//! Directories: a folder with very many others in it, listed for many clients.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    thread::available_parallelism,
};

use serde::Serialize;
use serde_json::Value;

use crate::{
    Result, Scale,
    http_client::{HttpClient, get},
    measure,
    result_table::{Measurement, ResultRow, Target},
    server::{ServerFolder, ServerProcess},
};

/// Folders in the one that is listed.
const FOLDERS: usize = 2_000;
/// Clients that ask at the same time.
const CLIENTS: usize = 32;
/// Turns of the two.
const ROUNDS: u32 = 3;

/// The row of the listing, beside the same folder read by as many threads as there are cores.
pub(crate) async fn listing(
    house: &ServerFolder,
    server: &ServerProcess,
    scale: &Scale,
) -> Result<ResultRow> {
    let folder = house.home().join("many");
    for n in 0..FOLDERS {
        fs::create_dir_all(folder.join(format!("folder-{n:04}")))?;
    }
    let request = get(
        server.address,
        &format!("/api/directory?path={}", folder.display()),
    );
    let mut clients = HttpClient::connect_many(server.address, CLIENTS).await?;
    let first = clients.first_mut().ok_or("there is no client")?;
    let listing: Value = serde_json::from_slice(first.expect(&request, 200).await?)?;
    if listing["entries"].as_array().map(Vec::len) != Some(FOLDERS) {
        return Err("folders are missing in their listing".into());
    }

    let folder: Arc<Path> = folder.into();
    let deed = move || {
        let folder = Arc::clone(&folder);
        async move {
            let listing = tokio::task::spawn_blocking(move || list_bare(&folder)).await??;
            std::hint::black_box(listing);
            Ok(())
        }
    };
    let cores = available_parallelism()?.get();
    let span = scale.span.rounds(ROUNDS);
    let (mut rate, mut bare) = (0.0, 0.0);
    for _ in 0..ROUNDS {
        bare += measure::operation_rate(cores, 1, span, deed.clone()).await?;
        rate += measure::rate(&mut clients, &request, 200, span).await?;
    }
    let rounds = f64::from(ROUNDS);
    Ok(ResultRow {
        work: format!("folder of {FOLDERS} folders, {CLIENTS} clients"),
        measured: Measurement::PerSecond(rate / rounds),
        limit: Some((
            Measurement::PerSecond(bare / rounds),
            "bare readdir, stat, JSON",
        )),
        targets: vec![
            Target::AtLeast(Measurement::PerSecond(700.0)),
            Target::ShareAtLeast(0.4),
        ],
    })
}

/// What is told of each folder.
#[derive(Serialize)]
struct DirectoryRow {
    name: String,
    path: PathBuf,
    is_directory: bool,
}

/// Reads the folder, looks at everything in it, and makes JSON of it.
fn list_bare(folder: &Path) -> Result<Vec<u8>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string();
        entries.push(DirectoryRow {
            name: name.map_err(|name| format!("{} is no text", name.display()))?,
            path: entry.path(),
            is_directory: entry.metadata()?.is_dir(),
        });
    }
    Ok(serde_json::to_vec(&entries)?)
}
