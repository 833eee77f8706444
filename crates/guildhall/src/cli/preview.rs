//! `guildhall preview`. An address is printed as it is, so that a script can open it: whoever has
//! it sees what it shows, for half an hour.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    cli_context::CliContext,
    downloads::DownloadTarget,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_bodies::absolute,
    request_target::RequestTarget,
};

/// What can be shown to a browser.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Shows a dev server of this computer: prints an address that counts for half an hour
    #[command(after_help = "Example:\n  guildhall preview open 5173")]
    Open(PortArg),
    /// Shows a folder: prints an address that counts for half an hour
    #[command(
        after_help = "Examples:\n  guildhall preview serve .\n  guildhall preview serve ~/site docs/start.html"
    )]
    Serve(ServeFolderArgs),
    /// Reads a file of a folder that is shown, by its address
    #[command(
        after_help = "Example:\n  guildhall preview read \"$(guildhall preview serve ~/site index.html -q)\" --out page.html"
    )]
    Read(ReadServedFileArgs),
    /// Lists the dev servers that are shown
    #[command(after_help = "Example:\n  guildhall preview list")]
    List,
    /// Stops showing a dev server, and cuts every connection through its preview
    #[command(after_help = "Example:\n  guildhall preview close 5173")]
    Close(PortArg),
    /// Lists the ports that programs of the server's user listen on
    #[command(after_help = "Example:\n  guildhall preview ports")]
    Ports,
    /// Says whether somebody listens on a port
    #[command(after_help = "Example:\n  guildhall preview probe 5173")]
    Probe(PortArg),
    /// Lets no address made so far count any more, and closes every preview
    #[command(after_help = "Example:\n  guildhall preview revoke")]
    Revoke,
}

/// A dev server.
#[derive(Clone, Debug, Args)]
pub(crate) struct PortArg {
    /// The port it listens on
    port: u16,
}

/// A folder and the file of it that is shown first.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServeFolderArgs {
    /// The folder
    folder: PathBuf,
    /// The file to begin with, in the folder [default: its index.html]
    #[arg(default_value = "", hide_default_value = true)]
    file: String,
}

/// An address of a folder that is shown.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReadServedFileArgs {
    /// The address, as `preview serve` prints it
    address: String,
    #[command(flatten)]
    place: DownloadTarget,
}

/// Where the addresses of folders begin.
const SERVED: &str = "/api/workbench/serve/";

const SIGNED: TableLayout = TableLayout {
    list: None,
    id: "/url",
    columns: &[],
};

const LIST: TableLayout = TableLayout {
    list: Some("previews"),
    id: "/port",
    columns: &[
        ("PORT", CellSource::At("/port")),
        ("SHOWN ON", CellSource::At("/listenPort")),
        ("OPENED", CellSource::At("/openedAt")),
        ("LAST ASKED", CellSource::At("/lastRequestAt")),
        ("CONNECTIONS", CellSource::At("/openSockets")),
    ],
};

const PORTS: TableLayout = TableLayout {
    list: Some("ports"),
    id: "/port",
    columns: &[
        ("PORT", CellSource::At("/port")),
        ("PROGRAM", CellSource::At("/process")),
    ],
};

const PROBED: TableLayout = TableLayout {
    list: None,
    id: "/listening",
    columns: &[("Listening", CellSource::At("/listening"))],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Open(ask) => sign(desk, &json!({"kind": "proxy", "port": ask.port})).await,
        Verb::Serve(ask) => {
            let cwd = absolute(&ask.folder)?;
            let body = json!({"kind": "serve", "cwd": cwd, "path": ask.file});
            sign(desk, &body).await
        }
        Verb::Read(ask) => {
            let target = served(&ask.address)?;
            let mut arriving = ask.place.open()?;
            let mut opened = desk.open(&target).await?;
            while let Some(bytes) = opened.next().await? {
                arriving.write(&bytes)?;
            }
            match arriving.keep()? {
                Some(path) => desk.output.done(&format!("It is in {}.", path.display())),
                None => Ok(()),
            }
        }
        Verb::List => {
            let answer = desk.get(&workbench().push_segment("previews")).await?;
            desk.output.show(&answer, &LIST)
        }
        Verb::Close(ask) => {
            let target = workbench()
                .push_segment("previews")
                .push_segment(&ask.port.to_string());
            desk.delete(&target, None).await?;
            let said = format!("The preview of port {} is closed.", ask.port);
            desk.output.done(&said)
        }
        Verb::Ports => {
            let answer = desk.get(&workbench().push_segment("ports")).await?;
            desk.output.show(&answer, &PORTS)
        }
        Verb::Probe(ask) => {
            let body = json!({"port": ask.port});
            let answer = desk
                .post_with_new_key(&workbench().push_segment("probe"), Some(&body))
                .await?;
            desk.output.show(&answer, &PROBED)
        }
        Verb::Revoke => {
            desk.post_with_new_key(&workbench().push_segment("revoke"), None)
                .await?;
            desk.output
                .done("No address made so far counts any more; every preview is closed.")
        }
    }
}

/// Asks for an address and prints it; that there is none is no success, whatever is printed.
async fn sign(desk: &CliContext, body: &Value) -> Result<(), Failure> {
    let answer = desk
        .post_with_new_key(&workbench().push_segment("sign"), Some(body))
        .await?;
    let signed: Value = answer.json()?;
    let Some(url) = signed["url"].as_str() else {
        if !desk.output.is_for_people() && !desk.output.is_ids() {
            desk.output.show(&answer, &SIGNED)?;
        }
        let why = why_not(signed["unavailable"].as_str());
        return Err(Failure::Declined(format!("There is no address: {why}.")));
    };
    if !desk.output.is_for_people() {
        return desk.output.show(&answer, &SIGNED);
    }
    desk.output.line(&desk.output.safe_line(url))?;
    let until = signed["expiresAt"].as_str().unwrap_or_default();
    desk.output.note(&format!("It counts until {until}."));
    Ok(())
}

/// What an address of a folder asks this server for.
fn served(address: &str) -> Result<RequestTarget, Failure> {
    let rest = address.trim().split_once(SERVED).map(|(_, rest)| rest);
    let rest = rest.map(|rest| rest.split(['?', '#']).next().unwrap_or(rest));
    let is_path =
        |rest: &&str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_graphic());
    let rest = rest.filter(is_path).ok_or_else(|| {
        Failure::Usage("an address of a folder is what `preview serve` prints.".to_owned())
    })?;
    Ok(RequestTarget::new(&format!("{SERVED}{rest}")))
}

fn why_not(unavailable: Option<&str>) -> &'static str {
    match unavailable {
        Some("tunnel") => "the public address of this server shows no previews",
        Some("insecure") => "a page on https shows no preview",
        Some("no-port") => "every port of workbench.previewPorts is taken",
        _ => "the server says no more",
    }
}

fn workbench() -> RequestTarget {
    RequestTarget::new("/api/workbench")
}
