//! Makes sure that there is a page to embed. Never builds the page: `cargo xtask web` does.
//! A debug build without the page gets a placeholder; a build to be used fails.

use std::{env, fs, io, path::Path};

#[path = "build/page.rs"]
mod page;

use page::{EmbedDecision, PLACEHOLDER, page};

fn main() -> io::Result<()> {
    let root = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let dist = Path::new(&root).join("../../web/dist");
    let index = dist.join("index.html");
    // Made in any case: cargo runs this again when something in the folder changes.
    fs::create_dir_all(&dist)?;
    println!("cargo::rerun-if-changed={}", dist.display());
    let profile = env::var("PROFILE").unwrap_or_default();
    match page(&profile, fs::read_to_string(&index).ok().as_deref()) {
        EmbedDecision::Embed => {}
        EmbedDecision::EmbedPlaceholder => fs::write(&index, PLACEHOLDER)?,
        EmbedDecision::Fail => {
            println!(
                "cargo::error=the web page is not built: run `cargo xtask web` and build again"
            );
        }
    }
    Ok(())
}
