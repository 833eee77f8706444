//! `guildhall attachments`.

use std::path::PathBuf;

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use guildhall_world::{digests::DigestBuilder, secret_tokens};
use serde_json::Value;

use super::{
    cli_context::CliContext,
    common_args::{self, IdempotencyArgs},
    downloads::DownloadTarget,
    failure::Failure,
    http_client::HttpResponse,
    output::{CellSource, TableLayout},
    request_body::RequestBody,
    request_target::RequestTarget,
};

/// What can be done with attachments.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Uploads files into a room, all or none; `guildhall post --attach` posts them too
    #[command(after_help = "Example:\n  guildhall attachments upload ops build.log plan.pdf")]
    Upload(UploadArgs),
    /// Downloads a file that was posted
    #[command(
        after_help = "Example:\n  guildhall attachments download ops 01920000-0000-7000-8000-000000000000 --out build.log"
    )]
    Download(DownloadAttachmentArgs),
}

/// Files for a room.
#[derive(Clone, Debug, Args)]
pub(crate) struct UploadArgs {
    #[command(flatten)]
    room: common_args::RoomArg,
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A file of a room.
#[derive(Clone, Debug, Args)]
pub(crate) struct DownloadAttachmentArgs {
    #[command(flatten)]
    room: common_args::RoomArg,
    /// The attachment's id, as `entries show` prints it
    #[arg(value_name = "ATTACHMENT_ID", value_parser = NonEmptyStringValueParser::new())]
    attachment: String,
    #[command(flatten)]
    place: DownloadTarget,
}

const LIST: TableLayout = TableLayout {
    list: Some("attachments"),
    id: "/id",
    columns: &[
        ("NAME", CellSource::At("/name")),
        ("BYTES", CellSource::At("/size")),
        ("KIND", CellSource::At("/mimeType")),
        ("SHA-256", CellSource::At("/sha256")),
        ("ID", CellSource::At("/id")),
    ],
};

/// What an upload led to.
pub(super) struct UploadResponse(HttpResponse);

impl UploadResponse {
    /// The ids of the files.
    pub(super) fn ids(&self) -> Result<Vec<Value>, Failure> {
        let sent: Value = self.0.json()?;
        let files = sent["attachments"].as_array().into_iter().flatten();
        Ok(files.map(|file| file["id"].clone()).collect())
    }
}

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Upload(ask) => {
            let room = desk.room_id(&ask.room.room).await?;
            let sent = send(desk, &room, &ask.files, &ask.once.key()).await?;
            desk.output.show(&sent.0, &LIST)
        }
        Verb::Download(ask) => {
            let room = desk.room_id(&ask.room.room).await?;
            let target = RequestTarget::room(&room)
                .push_segment("attachments")
                .push_segment(&ask.attachment);
            download(desk, &target, &ask.place).await
        }
    }
}

/// Uploads files as they are read.
///
/// # Errors
/// [`Failure::Usage`] for what is no file.
pub(super) async fn send(
    desk: &CliContext,
    room: &str,
    files: &[PathBuf],
    key: &str,
) -> Result<UploadResponse, Failure> {
    // Made of the key, so that a repeat is the same bytes; no file can know a new key.
    let boundary: String = secret_tokens::digest(key)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let payload = RequestBody::form(&boundary, files)?;
    let target = RequestTarget::room(room).push_segment("attachments");
    let answer = desk.post_payload(&target, payload, key.to_owned()).await?;
    Ok(UploadResponse(answer))
}

pub(super) async fn download(
    desk: &CliContext,
    target: &RequestTarget,
    place: &DownloadTarget,
) -> Result<(), Failure> {
    let mut arriving = place.open()?;
    let mut opened = desk.open(target).await?;
    let (mut size, mut digest) = (0, DigestBuilder::default());
    while let Some(bytes) = opened.next().await? {
        size += bytes.len();
        digest.add(&bytes);
        arriving.write(&bytes)?;
    }
    // The tag of bytes that never change is their digest.
    let digest = format!("\"{}\"", digest.finish());
    if opened.etag().is_some_and(|etag| etag != digest) {
        return Err(Failure::Unreadable(
            "the file is not what the server keeps: its digest differs.".to_owned(),
        ));
    }
    if let Some(path) = arriving.keep()? {
        let path = path.display();
        desk.output.done(&format!("{size} bytes are in {path}."))?;
    }
    Ok(())
}
