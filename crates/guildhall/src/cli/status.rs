//! `guildhall status`.

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use http::Method;
use serde_json::Value;

use super::{
    client::{Answer, Load},
    desk::Desk,
    failures::{Failure, code_of},
    output::{Cell, View},
};

const STORAGE_PATH: &str = "/api/storage";

/// Which of the server's own answers about itself.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Ask {
    #[command(subcommand)]
    part: Option<Part>,
}

/// One of the answers.
#[derive(Clone, Copy, Debug, Subcommand)]
enum Part {
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

const STATUS: View = View {
    list: None,
    id: "/status",
    columns: &[
        ("Status", Cell::At("/status")),
        ("Store", Cell::At("/checks/store")),
        ("Disk", Cell::At("/checks/disk")),
        ("Tasks", Cell::At("/checks/tasks")),
        ("Enclosure", Cell::Of(enclosure)),
        ("Version", Cell::At("/version")),
        ("Mode", Cell::At("/mode")),
        ("Peer check", Cell::At("/peerCheck")),
        ("Started", Cell::At("/startedAt")),
        ("Log", Cell::At("/logId")),
    ],
};

const HEALTH: View = View {
    list: None,
    id: "/logId",
    columns: &[
        ("Name", Cell::At("/name")),
        ("Version", Cell::At("/version")),
        ("Mode", Cell::At("/mode")),
        ("Peer check", Cell::At("/peerCheck")),
        ("Started", Cell::At("/startedAt")),
        ("Log", Cell::At("/logId")),
    ],
};

const READY: View = View {
    list: None,
    id: "/status",
    columns: &[
        ("Status", Cell::At("/status")),
        ("Store", Cell::At("/checks/store")),
        ("Disk", Cell::At("/checks/disk")),
        ("Tasks", Cell::At("/checks/tasks")),
        ("Enclosure", Cell::Of(enclosure)),
    ],
};

const ALIVE: View = View {
    list: None,
    id: "/status",
    columns: &[("Status", Cell::At("/status"))],
};

const STORAGE: View = View {
    list: None,
    id: "/freeBytes",
    columns: &[
        ("Free", Cell::At("/freeBytes")),
        ("Disk", Cell::At("/diskBytes")),
        ("Reserve given back", Cell::At("/isReserveReleased")),
        ("Attachments checked", Cell::At("/attachmentsCheckedAt")),
        ("Damaged attachments", Cell::Of(damaged)),
        ("Second backup folder", Cell::Of(second_folder)),
    ],
};

const AREAS: View = View {
    list: Some("areas"),
    id: "/name",
    columns: &[
        ("PART", Cell::At("/name")),
        ("BYTES", Cell::At("/bytes")),
        ("AT MOST", Cell::At("/bytesMax")),
        ("BOUNDED BY", Cell::At("/boundedBy")),
    ],
};

/// The exit code tells whether the server can work.
pub(super) async fn run(desk: &Desk, ask: &Ask) -> Result<u8, Failure> {
    let (answer, view) = match ask.part {
        None if desk.output.is_for_people() => return whole(desk).await,
        None | Some(Part::Health) => (about(desk, "/api/health").await?.success()?, HEALTH),
        Some(Part::Storage) if desk.output.is_for_people() => {
            let storage = about(desk, STORAGE_PATH).await?.success()?.json()?;
            show_storage(desk, &storage)?;
            return Ok(0);
        }
        Some(Part::Storage) => (about(desk, STORAGE_PATH).await?.success()?, STORAGE),
        Some(Part::Alive) => (about(desk, "/healthz").await?.success()?, ALIVE),
        Some(Part::Ready) => (readiness(desk).await?, READY),
    };
    desk.output.show(&answer, &view)?;
    Ok(code_of(answer.status))
}

async fn whole(desk: &Desk) -> Result<u8, Failure> {
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

fn show_storage(desk: &Desk, storage: &Value) -> Result<(), Failure> {
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
async fn readiness(desk: &Desk) -> Result<Answer, Failure> {
    let answer = about(desk, "/readyz").await?;
    let body: Option<Value> = answer.json().ok();
    match body {
        Some(body) if body["checks"].is_object() => Ok(answer),
        _ => answer.success(),
    }
}

async fn about(desk: &Desk, path: &str) -> Result<Answer, Failure> {
    desk.client.ask(Method::GET, path, Load::default()).await
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
