//! `guildhall open`: an address by which the owner's browser is known as the owner's, also where
//! nobody can tell whose its connections are.

use std::{
    io::IsTerminal,
    process::{Command, Stdio},
};

use clap::Args;
use serde_json::Value;

use super::{
    cli_context::CliContext,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

/// What to do with the address.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OpenArgs {
    /// Prints the address, and opens no browser
    #[arg(long)]
    print: bool,
}

const LINK: TableLayout = TableLayout {
    list: None,
    id: "/url",
    columns: &[
        ("Address", CellSource::At("/url")),
        ("Counts once, until", CellSource::At("/expiresAt")),
    ],
};

pub(super) async fn run(desk: &CliContext, ask: OpenArgs) -> Result<(), Failure> {
    let answer = desk.post_with_new_key(&target(), None).await?;
    if !desk.output.is_for_people() && !desk.output.is_ids() {
        return desk.output.show(&answer, &LINK);
    }
    let mut link: Value = answer.json()?;
    let path = link["path"].as_str().unwrap_or_default();
    let url = format!("{}{path}", desk.client.address()?);
    link["url"] = url.clone().into();
    let is_read = desk.output.is_for_people() && std::io::stdout().is_terminal();
    if !ask.print && is_read && has_desktop() {
        show_in_browser(&url);
    }
    desk.output.show_value(&link, &LINK)
}

/// Runs `guildhall forget-browsers`.
pub(super) async fn forget(desk: &CliContext) -> Result<(), Failure> {
    desk.delete(&target(), None).await?;
    desk.output
        .done("Every browser that an address of guildhall open made yours is forgotten.")
}

fn target() -> RequestTarget {
    RequestTarget::new("/api/auth/open")
}

/// Whether there is a desktop to hand the address to. Without one `xdg-open` takes a browser of
/// the terminal, which would use up an address that the person opens elsewhere.
fn has_desktop() -> bool {
    let is_set =
        |name| std::env::var_os(name).is_some_and(|value: std::ffi::OsString| !value.is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Hands the address to the desktop. Where that fails, the printed one is all there is.
fn show_in_browser(url: &str) {
    let opener = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    let _ = Command::new(opener)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}
