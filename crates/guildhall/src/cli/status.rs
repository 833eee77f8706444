//! `guildhall status`.

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use http::Method;
use serde_json::Value;

use super::{
    cli_context::CliContext,
    failure::{Failure, code_of},
    http_client::{HttpResponse, RequestParts},
    output::{CellSource, TableLayout},
};

const STORAGE_PATH: &str = "/api/storage";

/// Which of the server's own answers about itself.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(subcommand)]
    part: Option<StatusPart>,
}

/// One of the answers.
#[derive(Clone, Copy, Debug, Subcommand)]
enum StatusPart {
    /// What the server is; what programs get when they name no part
    #[command(after_help = "Example:\n  guildhall status health --json")]
    Health,
    /// Whether it can work, with its checks; exit code 4 when it cannot
    #[command(after_help = "Example:\n  guildhall status ready")]
    Ready,
    /// What takes the disk, what bounds each part, and how much room there is
    #[command(after_help = "Example:\n  guildhall status storage")]
    Storage,
    /// Whether it listens
    #[command(after_help = "Example:\n  guildhall status alive")]
    Alive,
}

const STATUS: TableLayout = TableLayout {
    list: None,
    id: "/status",
    columns: &[
        ("Status", CellSource::At("/status")),
        ("Store", CellSource::At("/checks/store")),
        ("Disk", CellSource::At("/checks/disk")),
        ("Tasks", CellSource::At("/checks/tasks")),
        ("Enclosure", CellSource::Of(enclosure)),
        ("Version", CellSource::At("/version")),
        ("Mode", CellSource::At("/mode")),
        ("Peer check", CellSource::At("/peerCheck")),
        ("Started", CellSource::At("/startedAt")),
        ("Log", CellSource::At("/logId")),
    ],
};

const HEALTH: TableLayout = TableLayout {
    list: None,
    id: "/logId",
    columns: &[
        ("Name", CellSource::At("/name")),
        ("Version", CellSource::At("/version")),
        ("Mode", CellSource::At("/mode")),
        ("Peer check", CellSource::At("/peerCheck")),
        ("Started", CellSource::At("/startedAt")),
        ("Log", CellSource::At("/logId")),
    ],
};

const READY: TableLayout = TableLayout {
    list: None,
    id: "/status",
    columns: &[
        ("Status", CellSource::At("/status")),
        ("Store", CellSource::At("/checks/store")),
        ("Disk", CellSource::At("/checks/disk")),
        ("Tasks", CellSource::At("/checks/tasks")),
        ("Enclosure", CellSource::Of(enclosure)),
    ],
};

const ALIVE: TableLayout = TableLayout {
    list: None,
    id: "/status",
    columns: &[("Status", CellSource::At("/status"))],
};

const STORAGE: TableLayout = TableLayout {
    list: None,
    id: "/freeBytes",
    columns: &[
        ("Free", CellSource::At("/freeBytes")),
        ("Disk", CellSource::At("/diskBytes")),
        ("Reserve given back", CellSource::At("/isReserveReleased")),
        (
            "Attachments checked",
            CellSource::At("/attachmentsCheckedAt"),
        ),
        ("Damaged attachments", CellSource::Of(damaged)),
        ("Second backup folder", CellSource::Of(second_folder)),
    ],
};

const AREAS: TableLayout = TableLayout {
    list: Some("areas"),
    id: "/name",
    columns: &[
        ("PART", CellSource::At("/name")),
        ("BYTES", CellSource::At("/bytes")),
        ("AT MOST", CellSource::At("/bytesMax")),
        ("BOUNDED BY", CellSource::At("/boundedBy")),
    ],
};

/// The exit code tells whether the server can work.
pub(super) async fn run(desk: &CliContext, ask: &StatusArgs) -> Result<u8, Failure> {
    let (answer, view) = match ask.part {
        None if desk.output.is_for_people() => return whole(desk).await,
        None | Some(StatusPart::Health) => (about(desk, "/api/health").await?.success()?, HEALTH),
        Some(StatusPart::Storage) if desk.output.is_for_people() => {
            let storage = about(desk, STORAGE_PATH).await?.success()?.json()?;
            show_storage(desk, &storage)?;
            return Ok(0);
        }
        Some(StatusPart::Storage) => (about(desk, STORAGE_PATH).await?.success()?, STORAGE),
        Some(StatusPart::Alive) => (about(desk, "/healthz").await?.success()?, ALIVE),
        Some(StatusPart::Ready) => (readiness(desk).await?, READY),
    };
    desk.output.show(&answer, &view)?;
    Ok(code_of(answer.status))
}

async fn whole(desk: &CliContext) -> Result<u8, Failure> {
    let health: Value = about(desk, "/api/health").await?.success()?.json()?;
    let answer = readiness(desk).await?;
    let mut status: Value = answer.json()?;
    for (member, value) in health.as_object().into_iter().flatten() {
        status[member] = value.clone();
    }
    desk.output.show_value(&status, &STATUS)?;
    // Told to the owner alone.
    if let Ok(storage) = about(desk, STORAGE_PATH).await?.success() {
        show_storage(desk, &storage.json()?)?;
    }
    Ok(code_of(answer.status))
}

fn show_storage(desk: &CliContext, storage: &Value) -> Result<(), Failure> {
    desk.output.show_value(storage, &STORAGE)?;
    desk.output.show_value(storage, &AREAS)?;
    if storage["isPartial"] == true {
        desk.output
            .note("There are more files than are counted; the parts take more than this.");
    }
    Ok(())
}

fn second_folder(storage: &Value) -> String {
    let second = &storage["secondBackupFolder"];
    match (second["folder"].as_str(), second["problem"].as_str()) {
        (None, _) => "none".to_owned(),
        (Some(_), Some(problem)) => problem.to_owned(),
        (Some(folder), None) => folder.to_owned(),
    }
}

fn damaged(storage: &Value) -> String {
    let digests = storage["attachmentsDamaged"].as_array();
    let digests: Vec<&str> = digests
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    match digests.is_empty() {
        true => "none".to_owned(),
        false => digests.join(" "),
    }
}

/// "Not ready" is an answer too, although its status is that of a fault.
async fn readiness(desk: &CliContext) -> Result<HttpResponse, Failure> {
    let answer = about(desk, "/readyz").await?;
    let body: Option<Value> = answer.json().ok();
    match body {
        Some(body) if body["checks"].is_object() => Ok(answer),
        _ => answer.success(),
    }
}

async fn about(desk: &CliContext, path: &str) -> Result<HttpResponse, Failure> {
    desk.client
        .ask(Method::GET, path, RequestParts::default())
        .await
}

/// What agents are not kept from; `ok` when that is nothing.
fn enclosure(status: &Value) -> String {
    let checks = status["checks"]["enclosure"].as_object();
    let checks = checks.into_iter().flat_map(serde_json::Map::values);
    let problems: BTreeSet<&str> = checks
        .filter_map(Value::as_str)
        .filter(|check| *check != "ok")
        .collect();
    match problems.is_empty() {
        true => "ok".to_owned(),
        false => problems.into_iter().collect::<Vec<_>>().join(" "),
    }
}
